"""What every solver returns, what it may report on the way, and when it must stop early."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from lindero.kernels.nystrom import KernelGap
from lindero.problems.dual_qp import DualQP, Judgement
from lindero.runtime.arrays import Array


class Status(Enum):
    """Why a solver stopped. The value is the sentence shown to the user."""

    OPTIMAL = "Optimal: the KKT gap is within tol."
    ITERATION_LIMIT = "Stopped at max_iter before the KKT gap was within tol."
    TIME_LIMIT = "Stopped at time_limit before the KKT gap was within tol."
    INTERRUPTED = "Interrupted before the KKT gap was within tol."
    CALLBACK = "Stopped by the callback before the KKT gap was within tol."
    PRECISION = "Stopped where rounding in double precision hides any further progress."
    STALLED = "Stopped after many steps without progress before the KKT gap was within tol."
    UNPROVEN = (
        "The KKT gap is within tol as far as double precision tells, but kernel values are rounded "
        "by more than that."
    )

    def certify(self, judgement: Judgement, tol: float) -> Status:
        """The status that a judgement leaves of one that a solver found."""
        if self not in (Status.OPTIMAL, Status.PRECISION, Status.STALLED):
            return self
        if not judgement.kkt_gap <= tol:
            return Status.PRECISION if self is Status.OPTIMAL else self
        return Status.OPTIMAL if judgement.accuracy <= tol else Status.UNPROVEN


#: Kernels whose largest value is between these are solved as they are.
LEAST_KERNEL, MOST_KERNEL = 2.0**-60, 2.0**60

#: Share of tol to which small problems are solved, where no solver is exact, and the least that it
#: may come to: beyond that rounding decides.
FINE_SHARE, LEAST_FINE = 1e-6, 1e-10

_UNFINISHED = tuple(status.value for status in Status if status is not Status.OPTIMAL)


@dataclass(frozen=True)
class Progress:
    """One report of a running solver, handed to the callback.

    Attributes
    ----------
    problem, n_problems : int
        Which of the binary problems of a fit is being solved, counted from 0.
    n_iter : int
        Steps taken so far on this problem.
    gap : float
        The optimality gap left, in the units of `tol`.
    tol : float
        The gap at which this problem is solved.
    seconds : float
        Time since this problem was begun.
    """

    n_iter: int
    gap: float
    tol: float
    seconds: float
    problem: int = 0
    n_problems: int = 1


#: Called with each report; returning True stops the solver with its best point so far.
Callback = Callable[[Progress], bool | None]


class _Stop:
    """Why everything must stop, shared by all copies."""

    reason: Status | None = None


@dataclass
class Limits:
    """Shared by all solvers of one fit, whichever threads they run in. `max_iter` and `time_limit`
    are None where there is no limit. The clock starts when the object is made. `interrupt` may be
    called from any thread."""

    max_iter: int | None = None
    time_limit: float | None = None
    callback: Callback | None = None
    n_problems: int = 1
    _stop: _Stop = field(default_factory=_Stop, init=False)
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

    def deduct(self, spent: int) -> Limits:
        """The same limits for a solver that follows another, which took `spent` steps."""
        rest = copy.copy(self)
        rest.max_iter = None if self.max_iter is None else self.max_iter - spent
        return rest

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        spent = time.perf_counter() - self._started
        return self.time_limit is not None and spent > self.time_limit

    def steps_left(self, n_iter: int, at_most: int) -> int:
        return at_most if self.max_iter is None else max(0, min(at_most, self.max_iter - n_iter))

    def check(self, report: Progress) -> Status | None:
        """Report progress; the reason to stop now, if there is one."""
        if self.callback is not None and self._stop.reason is None:
            with self._lock:
                if self.callback(replace(report, n_problems=self.n_problems)):
                    self._stop.reason = Status.CALLBACK
        if self._stop.reason is not None:
            return self._stop.reason
        if self.expired:
            return Status.TIME_LIMIT
        if self.max_iter is not None and report.n_iter >= self.max_iter:
            return Status.ITERATION_LIMIT
        return None


@dataclass(frozen=True)
class Solution:
    """A feasible point of a `DualQP`, f = K z at it, and its bias (one for each group). `n_iter`
    counts what the solver calls a step, `statistics` what else it counted. `interior` is where an
    interior-point solver was, for a later call to go on from; `weights` the w of a linear problem,
    where a solver has it at hand. The f of a start may be empty: not known, and nothing's end."""

    a: Array
    f: Array
    bias: Any
    status: Status
    n_iter: int
    seconds: float
    interior: tuple[Array, ...] | None = None
    blur: float = 0.0
    statistics: dict[str, Any] = field(default_factory=dict)
    weights: Array | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """With the status by its name: not every store knows enums. Weights follow from it."""
        state = {**vars(self), "status": self.status.name}
        state.pop("weights", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, status=Status[state["status"]])


#: An earlier solution to go on from, or nothing.
Start = Solution | None


@dataclass(frozen=True)
class Solver:
    """Abstract. Solves problems to a KKT gap of `tol`, with at most `cache_size` MB of kernel rows
    kept, in `n_threads` threads (None: as many as there are cores)."""

    tol: float = 1e-3
    cache_size: float = 200.0
    n_threads: int | None = None

    def solve(
        self,
        problem: DualQP,
        start: Start = None,
        limits: Limits | None = None,
        number: int = 0,
    ) -> Solution:
        """The solution. `start` is an earlier one to go on from, `number` the problem's place among
        those of a fit, for progress reports. Kernels of extreme size are solved in other units."""
        limits = limits or Limits()
        largest, problem = problem.kernel.largest(), problem.within_reach()
        if largest == 0.0 or LEAST_KERNEL <= largest <= MOST_KERNEL:
            return self._solve(problem, start, limits, number)
        unit = 4.0 ** math.floor(math.log(largest, 4.0))
        if start is not None:
            start = replace(start, a=start.a * unit, interior=None)
        solution = self._solve(problem.in_units(unit), start, limits, number)
        return replace(solution, a=solution.a / unit, interior=None, weights=None)

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        raise NotImplementedError


@dataclass(frozen=True)
class Certificate:
    """How near a fitted model is to the optimum of the problem it solves.

    Where a fit solves several problems (one per pair of classes, say) the gap is the largest, the
    objective values and counts are sums, and `parts` holds one certificate per problem.

    Attributes
    ----------
    kkt_gap : float
        Largest violation of the optimality conditions, in the units of `tol`.
    primal, dual : float
        Objective values; the optimum lies between them.
    infeasibility : float
        Largest violation of a constraint of the dual problem.
    n_iter : int
        Steps of the solver.
    seconds : float
        Time it took.
    status : str
        Why the solver stopped, in words.
    parts : tuple of Certificate
        One per problem, empty when there is only one.
    accuracy : float
        What rounding of kernel values may add to `kkt_gap`, at the most.
    kernel_gap : KernelGap or None
        Where landmarks stand for the kernel, what that does; all else is said of the kernel seen
        through them.
    """

    kkt_gap: float
    primal: float
    dual: float
    infeasibility: float
    n_iter: int
    seconds: float
    status: str
    parts: tuple[Certificate, ...] = field(default=(), repr=False)
    accuracy: float = 0.0
    kernel_gap: KernelGap | None = None

    @property
    def duality_gap(self) -> float:
        return self.primal - self.dual

    def __str__(self) -> str:
        lines = [
            self.status,
            f"KKT gap      {self.kkt_gap:.3g}" + self._rounding(),
            f"objective    between {self.dual:.9g} (dual) and {self.primal:.9g} (primal)",
            f"duality gap  {self.duality_gap:.3g}",
            f"steps        {self.n_iter} in {self.seconds:.3g} s",
        ]
        if self.kernel_gap is not None:
            lines += self.kernel_gap.describe(self.duality_gap)
        if self.parts:
            lines.append(f"problems     {len(self.parts)}, one certificate each in parts")
        return "\n".join(lines)

    def _rounding(self) -> str:
        known = self.accuracy <= 0.1 * self.kkt_gap or self.accuracy < 1e-9
        return "" if known else f" (rounding may add {self.accuracy:.1g})"

    @classmethod
    def of(cls, judgement: Judgement, n_iter: int, seconds: float, status: str) -> Certificate:
        return cls(**vars(judgement), n_iter=n_iter, seconds=seconds, status=status)

    @classmethod
    def join(cls, parts: Sequence[Certificate], seconds: float) -> Certificate:
        """One certificate for several problems; its status is that of the worst of them."""
        if len(parts) == 1:
            return replace(parts[0], seconds=seconds)
        worst = max(
            parts, key=lambda part: (part.infeasibility > 1e-6, part.kkt_gap + part.accuracy)
        )
        unfinished = [part for part in parts if part.status in _UNFINISHED]
        return cls(
            kkt_gap=max(part.kkt_gap for part in parts),
            primal=sum(part.primal for part in parts),
            dual=sum(part.dual for part in parts),
            infeasibility=max(part.infeasibility for part in parts),
            n_iter=sum(part.n_iter for part in parts),
            seconds=seconds,
            status=unfinished[0].status if unfinished else worst.status,
            parts=tuple(parts),
            accuracy=max(part.accuracy for part in parts),
        )
