"""A progress bar for fits that take long enough to want one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

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

    try:
        yield both
    finally:
        bar.close()


class _Bar:
    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self._display: object | None = None
        self._first_gap: dict[int, float] = {}
        self._share: dict[int, float] = {}

    def update(self, report: Progress) -> None:
        first = self._first_gap.setdefault(report.problem, max(report.gap, report.tol * 1.01))
        # Gaps shrink geometrically, so their logarithm moves evenly.
        share = math.log(first / max(report.gap, report.tol)) / math.log(first / report.tol)
        self._share[report.problem] = max(self._share.get(report.problem, 0.0), share)
        # Problems are taken in order: those before the first still open are done.
        done = (report.problem + self._share[report.problem]) / report.n_problems
        if self._display is None and time.perf_counter() - self._begun > _PATIENCE_SECONDS:
            self._open()
        if self._display is not None:
            text = f"gap {report.gap:.1e} (tol {report.tol:.0e}), {report.n_iter} steps"
            self._display.update(self._task, completed=done, text=text)  # type: ignore[attr-defined]

    def _open(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._display = Progress(
            TextColumn("fitting"), BarColumn(), TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
        )  # fmt: skip
        self._display.start()
        self._task = self._display.add_task("fitting", total=1.0, text="")

    def close(self) -> None:
        if self._display is not None:
            self._display.stop()  # type: ignore[attr-defined]
