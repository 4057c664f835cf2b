"""A progress bar for fits that take long enough to want one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lindero.solvers.solution import Callback, Progress

#: Fits shorter than this show nothing.
_PATIENCE_SECONDS = 1.0


@contextmanager
def reporting(verbose: bool, callback: Callback | None) -> Iterator[Callback | None]:
    """The user's callback, with a progress bar added when `verbose`."""
    if not verbose:
        yield callback
        return
    bar = _Bar()

    def both(report: Progress) -> bool | None:
        bar.update(report)
        return callback(report) if callback is not None else None

    finished = False
    try:
        yield both
        finished = True
    finally:
        bar.close(finished)


class _Bar:
    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self._display: Any = None
        self._largest_gap: dict[int, float] = {}
        self._share: dict[int, float] = {}

    def update(self, report: Progress) -> None:
        """Show how far the problems are, once the fit has taken long enough."""
        # Gaps first rise and then shrink geometrically, so their logarithm moves evenly.
        start = max(self._largest_gap.get(report.problem, 2 * report.tol), report.gap)
        if math.isfinite(start):
            self._largest_gap[report.problem] = start
            share = math.log(start / max(report.gap, report.tol)) / math.log(start / report.tol)
            self._share[report.problem] = share
        # Problems are taken in order: those before the first still open are done.
        done = (report.problem + self._share.get(report.problem, 0.0)) / report.n_problems
        if self._display is None and time.perf_counter() - self._begun > _PATIENCE_SECONDS:
            self._open()
        if self._display is not None:
            text = f"gap {report.gap:.1e} (tol {report.tol:.0e}), {report.n_iter} steps"
            self._display.update(self._task, completed=done, text=text)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), TextColumn("{task.fields[text]}"), TimeElapsedColumn())
        # On standard error, so that the output of a script stays its own.
        self._display = Progress(TextColumn("fitting"), *columns, console=Console(stderr=True))
        self._display.start()
        self._task = self._display.add_task("fitting", total=1.0, text="")

    def close(self, finished: bool) -> None:
        """Leave the bar where the fit ended: full, unless it was cut short by an error."""
        if self._display is not None:
            if finished:
                seconds = time.perf_counter() - self._begun
                self._display.update(self._task, completed=1.0, text=f"done in {seconds:.1f} s")
            self._display.stop()
