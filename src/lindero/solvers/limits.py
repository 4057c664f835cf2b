"""When a solver must stop before it is done: steps, seconds, the user."""

from __future__ import annotations

import copy
import threading
import time
from dataclasses import dataclass, field, replace

from lindero.solvers.solution import Callback, Progress, Status


class _Stop:
    """Why everything must stop, shared by all copies."""

    reason: Status | None = None


@dataclass
class Limits:
    """Shared by all solvers of one fit, whichever threads they run in.

    `max_iter` and `time_limit` are None where there is no limit. The clock starts when the object
    is made. `interrupt` may be called from any thread.
    """

    max_iter: int | None = None
    time_limit: float | None = None
    callback: Callback | None = None
    n_problems: int = 1
    _stop: _Stop = field(default_factory=lambda: _Stop(), init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _started: float = field(default_factory=time.perf_counter, init=False)

    def interrupt(self) -> None:
        self._stop.reason = Status.INTERRUPTED

    @property
    def interrupted(self) -> bool:
        return self._stop.reason is Status.INTERRUPTED

    @property
    def stopped(self) -> bool:
        """Whether the user, or the callback, has asked to stop."""
        return self._stop.reason is not None

    def after(self, spent: int) -> Limits:
        """The same limits for a solver that follows another, with `spent` steps taken."""
        rest = copy.copy(self)
        rest.max_iter = None if self.max_iter is None else self.max_iter - spent
        return rest

    def steps_left(self, n_iter: int, at_most: int) -> int:
        return at_most if self.max_iter is None else max(0, min(at_most, self.max_iter - n_iter))

    def reached(self, report: Progress) -> Status | None:
        """Report progress; the reason to stop now, if there is one."""
        if self.callback is not None and self._stop.reason is None:
            with self._lock:
                if self.callback(replace(report, n_problems=self.n_problems)):
                    self._stop.reason = Status.CALLBACK
        if self._stop.reason is not None:
            return self._stop.reason
        if self.time_limit is not None and time.perf_counter() - self._started > self.time_limit:
            return Status.TIME_LIMIT
        if self.max_iter is not None and report.n_iter >= self.max_iter:
            return Status.ITERATION_LIMIT
        return None
