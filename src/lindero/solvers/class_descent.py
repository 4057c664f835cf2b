"""The sequential dual method for one margin between all classes: rows are visited, the weights
kept.

The dual of `problems.class_margin` has one small problem for each sample, in the coefficients α_i
of all classes: with G_im = f_m(x_i) + e_im and h = ‖x_i‖², moving from α to α' changes the
objective by

    G·(α' − α) + ½ h ‖α' − α‖²,     Σ_m α'_m = 0,   α' ≤ bound

whose solution is known in closed form (`solve_row`). It costs a pass over the entries of the row,
of which each is multiplied by the weights of all classes at once, and another over the classes that
moved. A sample with only one class that can rise, and that ahead of all others, is left out until
the gap of the rest is below a level, which is halved each time. Rows come in a random order from
a fixed seed.

Intercepts without a penalty ask that Σ_i α_im = 0 for each class. The method of multipliers keeps
these sums S_m as `linear_descent` keeps its one: b_m = β_m + σ S_m, where a move of α_im by t adds
½ σ t² to the objective, and β_m ← b_m once that is what holds the others up.

On free coefficients the problem is a linear system, of which coordinates are slow to find the
solution. So now and then conjugate gradients on it give a direction, among those that keep the sum
of each sample; each sample follows it to the first of its own bounds, and all together as far as
the objective falls.

In the end the sums are repaired, the weights computed anew, and the problem judges that point. One
that it does not accept is where the next round begins, with a smaller goal. (h has a least value of
a tiny share of 1 / c_i: steps along a row of almost nothing would be rounding alone, and a larger h
changes the way, not the optimum.) Small problems are solved to a small share of tol, so that
weights of rows do what repeated rows do.

S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh and C.-J. Lin, "A sequential dual method
for large scale multi-class linear SVMs", KDD 2008.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.class_margin import ClassProblem
from lindero.problems.dual_qp import ROUNDING, Judgement
from lindero.runtime.arrays import Array
from lindero.solvers.class_loops import descend_classes
from lindero.solvers.linear_descent import LinearRows
from lindero.solvers.small import MOST_VARIABLES
from lindero.solvers.solution import FINE_SHARE, LEAST_FINE, Limits, Progress, Status

#: Entries, times classes, visited between two looks at the clock.
_PRODUCTS_AT_ONCE = 100_000_000

#: Epochs before the first conjugate gradients, and between them.
_FIRST_EPOCHS, _EPOCHS_BETWEEN = 160, 80

#: Steps of conjugate gradients, and the share of the squared residual at which they end.
_CG_STEPS, _CG_SHARE = 25, 1e-3

#: Epochs after which the method stops.
_MOST_EPOCHS = 20_000

#: Rounds without half the gap after which rounding is what is left of it.
_IDLE_ROUNDS = 6

#: How many times its first value the proximal term may have.
_MOST_PROXIMAL = 1e8

#: The least h, in units of 1 / c.
_LEAST_CURVATURE = 1e-10

#: Where it stands between calls.
_PROXIMAL, _WORST = 0, 1
_EPOCHS = 2


@dataclass(frozen=True)
class ClassSolution:
    """Coefficients of shape (n_samples, n_classes), the weights that they make, of shape
    (n_features, n_classes), an intercept for each class, and what the problem says of them."""

    A: Array
    W: Array
    b: Array
    judgement: Judgement
    status: Status
    n_iter: int
    seconds: float


@dataclass(frozen=True)
class ClassDescentSolver:
    """Solves a `ClassProblem` to a KKT gap of `tol`."""

    tol: float

    def solve(
        self,
        problem: ClassProblem,
        start: tuple[Array, Array] | None = None,
        limits: Limits | None = None,
    ) -> ClassSolution:
        """The solution; `start` are coefficients and intercepts to go on from."""
        begun = time.perf_counter()
        small = problem.n_classes * len(problem.codes) <= MOST_VARIABLES
        fine = min(self.tol, max(FINE_SHARE * self.tol, LEAST_FINE))
        descent = _ClassDescent(problem, fine if small else self.tol, start)
        status = descent.run(limits or Limits(), begun)
        A, W, b, judgement = descent.best
        if descent.gap <= self.tol:
            status = Status.OPTIMAL
        seconds = time.perf_counter() - begun
        return ClassSolution(A, W, b, judgement, status, descent.n_epochs, seconds)


class _ClassDescent:
    """The iterate, and the best judged point found on the way."""

    def __init__(
        self, problem: ClassProblem, tol: float, start: tuple[Array, Array] | None
    ) -> None:
        self.problem, self.tol = problem, tol
        n, n_classes = len(problem.codes), problem.n_classes
        self.rows = LinearRows.of(kernel_operator(problem.X, KernelFunction("linear")))
        self.codes = problem.codes.astype(np.int64)
        with np.errstate(over="ignore", divide="ignore"):
            least = np.minimum(_LEAST_CURVATURE / problem.c, 1e290)
        self.curvatures = np.maximum(self.rows.squares, least)
        proximal = (float(self.rows.squares.mean()) or 1.0) if problem.has_bias else 0.0
        self.numbers = np.array([proximal, np.inf, 1.0, np.inf, _MOST_PROXIMAL * proximal])
        self.counts = np.array([n, 1, 0], dtype=np.int64)
        self.order = np.arange(n, dtype=np.int32)
        self.A = np.zeros((n, n_classes))
        self.b, self.sums = np.zeros((2, n_classes))
        self.n_faces = 0
        self.W = np.zeros((problem.X.shape[1], n_classes))
        self.gap = np.inf
        if start is not None:
            self.A, self.b = start[0].copy(), start[1].copy()
            self._judge()

    @property
    def n_epochs(self) -> int:
        return int(self.counts[_EPOCHS])

    def run(self, limits: Limits, begun: float) -> Status:
        """Epochs until the judged gap is within tol, or a limit is reached."""
        goal, idle, until_face = 0.5 * self.tol, 0, _FIRST_EPOCHS
        size = float((self.rows.stops - self.rows.starts).sum()) * self.problem.n_classes
        at_once = max(1, int(_PRODUCTS_AT_ONCE / max(1.0, size)))
        try:
            while self.gap > self.tol:
                seconds = time.perf_counter() - begun
                gap = min(self.gap, max(2 * self.tol, 2.0 * self.numbers[_WORST]))
                gap = gap if np.isfinite(gap) else 1.0  # without coefficients it is that of e
                reason = limits.check(Progress(self.n_epochs, gap, self.tol, seconds))
                if reason is None and self.n_epochs >= _MOST_EPOCHS:
                    reason = Status.STALLED
                if reason is not None:
                    self._judge()
                    return Status.OPTIMAL if self.gap <= self.tol else reason
                first = self.n_epochs
                done = self._descend(
                    goal, limits.steps_left(self.n_epochs, min(at_once, until_face))
                )
                until_face -= self.n_epochs - first
                if not done and until_face <= 0:
                    until_face = _EPOCHS_BETWEEN
                    self._solve_face()
                if done:
                    before, reached = self.gap, self._judge()
                    idle = 0 if self.gap <= 0.5 * before else idle + 1
                    if idle == _IDLE_ROUNDS:
                        return Status.PRECISION
                    share = 0.5 * self.tol / reached if reached > 0.0 else 0.5
                    goal *= max(0.1, min(0.5, share))
            return Status.OPTIMAL
        except KeyboardInterrupt:
            limits.interrupt()
            self._judge()
            return Status.INTERRUPTED

    def _descend(self, goal: float, n_epochs: int) -> bool:
        rows = self.rows
        return bool(
            descend_classes(
                rows.data, rows.indices, rows.starts, rows.stops, self.codes, self.problem.c,
                self.curvatures, self.A, self.W, self.b, self.sums, self.order, self.numbers,
                self.counts, goal, n_epochs,
            )
        )  # fmt: skip

    def _solve_face(self) -> None:
        """A step towards the optimum over the free coefficients, with all others as they are."""
        problem, c = self.problem, self.problem.c
        free = (self.A < 0.0) & (-c[:, None] < self.A)
        own = self.A[problem.places, self.codes]
        free[problem.places, self.codes] = own < c
        chosen = np.flatnonzero((free.sum(axis=1) > 1) & (own > 0.0))
        if len(chosen) < 2:
            return
        self.n_faces += 1
        free, codes, c = free[chosen], self.codes[chosen], c[chosen]
        X, places = problem.X[chosen], np.arange(len(chosen))
        if not sp.issparse(X):
            X = X.astype(np.float64, copy=False)
        counts = free.sum(axis=1, keepdims=True)

        def project(D: Array) -> Array:
            """The nearest move that keeps the sum of each sample."""
            inside = np.where(free, D, 0.0)
            moved: Array = np.where(free, inside - inside.sum(axis=1, keepdims=True) / counts, 0.0)
            return moved

        def curve(D: Array) -> Array:
            """What a move by D adds to the values."""
            values = np.asarray(X @ np.asarray(X.T @ D))
            return project(values + self.numbers[_PROXIMAL] * D.sum(axis=0))

        G = np.asarray(X @ self.W) + self.b + 1.0
        G[places, codes] -= 1.0
        G = project(G)
        D = project(solve_by_gradients(curve, -G))
        # Each sample goes as far as its own bounds let it: its sum stays zero.
        A, bounds = self.A[chosen], np.zeros(D.shape)
        bounds[places, codes] = c
        least = np.where(bounds > 0.0, 0.0, -np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(D > 0.0, (bounds - A) / D, np.where(D < 0.0, (least - A) / D, np.inf))
        lengths, best = np.clip(room.min(axis=1), 0.0, 1.0)[:, None], 0.0
        for move in (lengths * D, float(lengths.min()) * D):
            downhill, bend = -float((G * move).sum()), float((move * curve(move)).sum())
            share = min(1.0, downhill / bend) if bend > 0.0 else 1.0
            gain = share * downhill - 0.5 * share * share * bend
            if gain > best:
                best, moved = gain, A + share * move
        if best == 0.0:
            return
        moved[np.abs(moved) <= ROUNDING * c[:, None]] = 0.0
        moved = np.minimum(moved, 0.0)
        moved[places, codes] = 0.0
        taken = -moved.sum(axis=1)
        moved[places, codes] = np.where(taken >= (1.0 - ROUNDING) * c, c, taken)
        D = moved - A
        self.A[chosen] = moved
        self.W += np.asarray(X.T @ D)
        self.sums += D.sum(axis=0)
        self.b += self.numbers[_PROXIMAL] * D.sum(axis=0)

    def _judge(self) -> float:
        """Repair the sums, and have the problem judge that point, which is the next one to go on
        from; its gap."""
        A = self.problem.nearest_feasible(self.A)
        sums = A.sum(axis=0)
        self.b += self.numbers[_PROXIMAL] * (sums - self.sums)
        self.A, self.sums = A, sums
        self.W = np.ascontiguousarray(self.problem.weigh(A).T)
        judgement = self.problem.judge(A, self.b)
        gap = judgement.kkt_gap
        if gap < self.gap or not np.isfinite(self.gap):
            self.best, self.gap = (A.copy(), self.W.copy(), self.b.copy(), judgement), gap
        return gap


def solve_by_gradients(times: Callable[[Array], Array], R: Array) -> Array:
    """Some conjugate gradients towards the solution of A D = R, for tables of any shape."""
    D, residual, direction = np.zeros_like(R), R.copy(), R.copy()
    size = first = float(np.vdot(R, R))
    for _ in range(_CG_STEPS):
        image = times(direction)
        bend = float(np.vdot(direction, image))
        if not bend > 0.0:
            break
        D += (size / bend) * direction
        residual -= (size / bend) * image
        before, size = size, float(np.vdot(residual, residual))
        if size <= _CG_SHARE * first:
            break
        direction = residual + (size / before) * direction
    return D
