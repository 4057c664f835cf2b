"""Progress bars for fits and searches that take long enough to want one, and what they report."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lindero.solvers.solution import Callback, Progress

#: What takes less time than this shows nothing.
_PATIENCE_SECONDS = 1.0


class ProgressBar:
    """A bar on standard error, so that the output of a script stays its own; it opens once the work
    has lasted a while."""

    def __init__(self, title: str, total: float, remaining: bool = False) -> None:
        self._title = title
        self._total = total
        self._remaining = remaining
        self._begun = time.perf_counter()
        self._display: Any = None

    def show(self, done: float, text: str) -> None:
        if self._display is None and time.perf_counter() - self._begun > _PATIENCE_SECONDS:
            self._open()
        if self._display is not None:
            self._display.update(self._task, completed=done, text=text)

    def close(self, full: bool = False) -> None:
        """Leave the bar where it is, or `full`."""
        if self._display is not None:
            if full:
                seconds = time.perf_counter() - self._begun
                self._display.update(
                    self._task, completed=self._total, text=f"done in {seconds:.1f} s"
                )
            self._display.stop()

    def _open(self) -> None:
        from rich import progress
        from rich.console import Console

        columns: list[Any] = [progress.BarColumn(), "{task.fields[text]}"]
        columns.append(progress.TimeElapsedColumn())
        if self._remaining:
            columns.append(progress.TimeRemainingColumn())
        self._display = progress.Progress(self._title, *columns, console=Console(stderr=True))
        self._display.start()
        self._task = self._display.add_task(self._title, total=self._total, text="")


# -- fits -----------------------------------------------------------------------------------------


@contextmanager
def reporting(verbose: bool, callback: Callback | None) -> Iterator[Callback | None]:
    """The user's callback, with a progress bar added when `verbose`."""
    if not verbose:
        yield callback
        return
    bar, shares = ProgressBar("fitting", 1.0), GapShares()

    def both(report: Progress) -> bool | None:
        text = f"gap {report.gap:.1e} (tol {report.tol:.0e}), {report.n_iter} steps"
        bar.show(shares.update(report), text)
        return callback(report) if callback is not None else None

    finished = False
    try:
        yield both
        finished = True
    finally:
        bar.close(full=finished)


class GapShares:
    """How much of a fit is done, by the gaps that its problems report."""

    def __init__(self) -> None:
        self._largest_gap: dict[int, float] = {}
        self._share: dict[int, float] = {}

    def update(self, report: Progress) -> float:
        # Gaps first rise and then shrink geometrically, so their logarithm moves evenly.
        start = max(self._largest_gap.get(report.problem, 2 * report.tol), report.gap)
        if math.isfinite(start):
            self._largest_gap[report.problem] = start
            share = math.log(start / max(report.gap, report.tol)) / math.log(start / report.tol)
            self._share[report.problem] = share
        # Problems are taken in order: those before the first still open are done.
        return (report.problem + self._share.get(report.problem, 0.0)) / report.n_problems


# -- searches -------------------------------------------------------------------------------------


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
def counting_fits(verbose: bool, total: int) -> Iterator[Callable[[float], None]]:
    """A function to call with the share of a fit that is done; draws a bar when `verbose`."""
    if not verbose:
        yield lambda share: None
        return
    bar, done, lock = ProgressBar("searching", total, remaining=True), 0.0, threading.Lock()

    def advance(share: float) -> None:
        nonlocal done
        with lock:
            done += share
            bar.show(done, f"{done:.0f} of {total} fits")

    try:
        yield advance
    finally:
        bar.close()
