"""What a running evaluation of a stream reports, and a progress bar for those that last."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

#: Evaluations shorter than this show no bar, and bars are not drawn more often than the second.
_PATIENCE_SECONDS = 1.0
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class StreamProgress:
    """How far an evaluation is, handed to the callback after each batch.

    Attributes
    ----------
    n_done, n_total : int
        Rows tested so far and in all.
    accuracy : float
        Share of the rows tested so far that were predicted right.
    seconds : float
        Time since the evaluation was begun.
    """

    n_done: int
    n_total: int
    accuracy: float
    seconds: float


#: Called with each report; returning True ends the evaluation with the rows tested so far.
StreamCallback = Callable[[StreamProgress], bool | None]


@contextmanager
def reporting(verbose: bool, callback: StreamCallback | None) -> Iterator[StreamCallback]:
    """The user's callback, with a progress bar added when `verbose`."""
    bar = _Bar() if verbose else None

    def report(progress: StreamProgress) -> bool | None:
        if bar is not None:
            bar.update(progress)
        return callback(progress) if callback is not None else None

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()


class _Bar:
    """A bar over the rows, on standard error, so that the output of a script stays its own."""

    def __init__(self) -> None:
        self._drawn = time.perf_counter() + _PATIENCE_SECONDS - _PAUSE_SECONDS
        self._display: Any = None

    def update(self, progress: StreamProgress) -> None:
        ended = progress.n_done == progress.n_total
        if time.perf_counter() - self._drawn < _PAUSE_SECONDS and not (self._display and ended):
            return
        if self._display is None:
            self._open(progress.n_total)
        text = f"{progress.n_done} of {progress.n_total} rows, {progress.accuracy:.1%} right"
        self._display.update(self._task, completed=progress.n_done, text=text)
        self._drawn = time.perf_counter()

    def _open(self, total: int) -> None:
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
            TextColumn("testing"), *columns, TimeRemainingColumn(), console=Console(stderr=True)
        )
        self._display.start()
        self._task = self._display.add_task("testing", total=total, text="")

    def close(self) -> None:
        if self._display is not None:
            self._display.stop()
