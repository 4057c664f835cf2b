"""What a running search reports, and a progress bar for those that last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

#: Searches shorter than this show no bar.
_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True)
class SearchProgress:
    """One scored point of a search, handed to the callback.

    Attributes
    ----------
    C, gamma : float, or "scale" or "auto"
        The point; gamma is None for a kernel that has none.
    fold : int
        Which split, counted from 0.
    score : float
        Its score.
    n_done, n_total : int
        Points scored so far, counting each fold, and in all.
    seconds : float
        Time since the search was begun.
    """

    C: float
    gamma: Any
    fold: int
    score: float
    n_done: int
    n_total: int
    seconds: float


#: Called with each report; returning True ends the search with the points scored so far.
SearchCallback = Callable[[SearchProgress], bool | None]


@contextmanager
def progress_bar(verbose: bool, total: int) -> Iterator[Callable[[float], None]]:
    """A function to call with the share of a point that is done; draws a bar when `verbose`."""
    if not verbose:
        yield lambda share: None
        return
    bar = _Bar(total)
    try:
        yield bar.advance
    finally:
        bar.close()


class _Bar:
    """A bar over gamma × fold × C on standard error, once the search has lasted."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0.0
        self._begun = time.perf_counter()
        self._display: Any = None
        self._lock = threading.Lock()

    def advance(self, share: float) -> None:
        with self._lock:
            self._done += share
            if self._display is None and time.perf_counter() - self._begun > _PATIENCE_SECONDS:
                self._open()
            if self._display is not None:
                text = f"{self._done:.0f} of {self._total} fits"
                self._display.update(self._task, completed=self._done, text=text)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )  # fmt: skip

        columns = (BarColumn(), TextColumn("{task.fields[text]}"), TimeElapsedColumn())
        self._display = Progress(
            TextColumn("searching"), *columns, TimeRemainingColumn(), console=Console(stderr=True)
        )
        self._display.start()
        self._task = self._display.add_task("searching", total=self._total, text="")

    def close(self) -> None:
        if self._display is not None:
            self._display.stop()
