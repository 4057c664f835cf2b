"""Coordinate descent over features for linear machines with few weights, with Newton's steps.

The problem of `problems.sparse_margin`, in units of its own: columns are divided by their largest
entries d_j (dense ones have their means taken out before, where there is an intercept to make up
for it), and prices by the largest of them, so that all entries and prices are at most 1 and

    min_{v,b}  Σ λ_j |v_j| + Σ c_i m_i₊²,    m_i = 1 − s_i (x_i·v + b),    λ_j = 1 / (d_j max c)

has the weights w_j = v_j / d_j. The missing parts m are kept. Along one weight the losses have the
slope g = −2 Σ c s x m over rows with errors, and the curvature h = 2 Σ c x² over these; the step is
where g t + ½ h t² + λ |v + t| is least, and is halved until the objective falls by a share of what
that promises. The curvature over all rows is an upper bound, which often tells without looking. It
is one pass over a column. The intercept is best after each epoch.

A weight of zero whose slope is well within ±λ is left out until the others are done. Columns come
in a random order from a fixed seed.

Weights that depend on each other take coordinates long. But once the rows with errors are known,
the losses are quadratic. So where few weights are in question (not zero, or with a slope beyond
±λ) rounds of epochs end with Newton's steps: the matrix H = 2 Σ c x xᵀ over these weights and rows
is formed once, coordinate descent on gᵀp + ½ pᵀHp + Σ λ |v + p| then needs no row, and the step is
halved until the objective falls.

G.-X. Yuan, K.-W. Chang, C.-J. Hsieh and C.-J. Lin, "A comparison of optimization methods and
software for large-scale L1-regularized linear classification", Journal of Machine Learning Research
11, 2010.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.problems.sparse_margin import SparseWeights
from lindero.runtime.arrays import Array, dense
from lindero.runtime.cached import cached_property
from lindero.solvers.column_loops import best_intercept, descend_columns, descend_matrix
from lindero.solvers.solution import Limits, Progress, Solution, Solver, Start, Status

#: Entries visited between two looks at the clock.
_ENTRIES_AT_ONCE = 20_000_000

#: Epochs between two judgements, at first and at most.
_FIRST_EPOCHS, _MOST_EPOCHS = 10, 200

#: Newton's steps are taken for at most this many weights.
_MOST_WEIGHTS = 2_000

#: Newton's steps in a row, halvings of each, and the share by which the objective must fall.
_NEWTON_STEPS, _HALVINGS, _LEAST_FALL = 20, 12, 1e-12

#: Epochs on the matrix of a Newton step, entries visited, and the share of the first violation at
#: which they end.
_MOST_INNER, _INNER_PRODUCTS, _INNER_SHARE = 2_000, 2e8, 1e-6

#: Share of the curvature over all rows that that over rows with errors has at least.
_LEAST_CURVATURE = 1e-12

#: Rounds without a tenth less gap after which rounding is what is left of it.
_IDLE_ROUNDS = 12

#: Where descent stands between calls: numbers and counts.
_INTERCEPT, _LEFT_OUT = 0, 2
_EPOCHS = 2


class SparseWeightsSolver(Solver):
    """Solves `SparseWeights` to a duality gap of `tol`, as a share of the objective. The `f` of its
    solutions are the weights."""

    def solve(
        self,
        problem: Any,
        start: Start = None,
        limits: Limits | None = None,
        number: int = 0,
    ) -> Solution:
        begun = time.perf_counter()
        descent = _ColumnDescent(problem, self.tol, start)
        status = descent.run(limits or Limits(), number, begun)
        w, b, a = descent.best
        statistics = {"newton_steps": descent.n_newton}
        seconds = time.perf_counter() - begun
        return Solution(a, w, b, status, descent.n_epochs, seconds, statistics=statistics)


class _ColumnDescent:
    """The iterate, and the best judged point found on the way."""

    def __init__(self, problem: SparseWeights, tol: float, start: Start) -> None:
        self.problem, self.tol = problem, tol
        self.s, n_features = problem.s, problem.n_features
        self.unit = float(problem.c.max())
        self.c = problem.c / self.unit
        self._scale_columns(problem.rows)
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            penalties = 1.0 / (self.sizes * self.unit)
        self.penalties = np.clip(penalties, 1e-290, 1e290)
        used = np.flatnonzero(self.curvatures > 0.0).astype(np.int32)
        self.order = used
        self.v = np.zeros(n_features)
        self.numbers = np.array([0.0, np.inf, 1.0])
        self.counts = np.array([len(used), 1, 0], dtype=np.int64)
        self.n_newton = 0
        if start is not None and len(start.f) == n_features:
            self.v[used] = start.f[used] * self.sizes[used]
            self.numbers[_INTERCEPT] = float(start.bias) + float(self.centre @ start.f)
        self._refresh()
        self.gap = np.inf
        self.best = (np.zeros(n_features), 0.0, np.zeros(len(self.s)))

    def _scale_columns(self, X: Any) -> None:
        """Columns with the signs of their rows, and their sizes."""
        n, n_features = X.shape
        self.centre = np.zeros(n_features)
        if sp.issparse(X):
            columns = sp.csc_array(X, dtype=np.float64, copy=True)
            columns.sum_duplicates()
            sizes = np.zeros(n_features)
            counts = np.diff(columns.indptr)
            filled = np.flatnonzero(counts)
            if len(filled):
                sizes[filled] = np.maximum.reduceat(np.abs(columns.data), columns.indptr[filled])
            self.sizes = np.where(sizes > 0.0, sizes, 1.0)
            columns.data *= self.s[columns.indices]
            columns.data /= np.repeat(self.sizes, counts)
            # The loops take columns without indices for dense ones.
            empty = not len(columns.data)
            self.data = np.zeros(1) if empty else columns.data
            self.indices = np.zeros(1, np.int32) if empty else columns.indices.astype(np.int32)
            self.starts = columns.indptr.astype(np.int64)
            self.matrix: Any = columns
            squares = columns.multiply(columns)
            curvatures = np.asarray(squares.T @ self.c).ravel()
        else:
            table = np.array(X, dtype=np.float64, order="F")
            if self.problem.has_intercept:
                self.centre = table.mean(axis=0)
                table -= self.centre
            sizes = np.abs(table).max(axis=0)
            self.sizes = np.where(sizes > 0.0, sizes, 1.0)
            table /= self.sizes
            table *= self.s[:, None]
            self.data, self.indices = table.ravel(order="F"), np.empty(0, dtype=np.int32)
            self.starts = np.arange(n_features + 1, dtype=np.int64) * n
            self.matrix = table
            curvatures = np.einsum("ij,ij,i->j", table, table, self.c)
        self.curvatures = 2.0 * curvatures

    @property
    def n_epochs(self) -> int:
        return int(self.counts[_EPOCHS])

    def _refresh(self) -> None:
        """What is missing to each margin, anew, with the intercept that is best."""
        self.missing = 1.0 - self.matrix @ self.v - self.numbers[_INTERCEPT] * self.s
        if self.problem.has_intercept:
            move = best_intercept(self.s, self.c, self.missing)
            self.numbers[_INTERCEPT] += move
            self.missing -= move * self.s

    def run(self, limits: Limits, number: int, begun: float) -> Status:
        """Epochs and Newton's steps until the judged gap is within tol, or a limit is reached."""
        goal, idle, n_epochs = 0.1, 0, _FIRST_EPOCHS
        at_once = max(1, _ENTRIES_AT_ONCE // max(1, len(self.data)))
        self._judge()
        try:
            while self.gap > self.tol:
                seconds = time.perf_counter() - begun
                gap = max(min(self.gap, 1.0), 2 * self.tol)
                reason = limits.check(Progress(self.n_epochs, gap, self.tol, seconds, number))
                if reason is not None:
                    return reason
                steps = limits.steps_left(self.n_epochs, min(at_once, n_epochs))
                done = descend_columns(
                    self.data, self.indices, self.starts, self.s, self.c, self.missing, self.v,
                    self.penalties, self.curvatures, self.order, self.numbers, self.counts,
                    self.problem.has_intercept, goal, steps,
                )  # fmt: skip
                self._refresh()
                self._solve_face()
                before = self.gap
                self._judge()
                if done:
                    goal *= 0.1
                idle = 0 if self.gap <= 0.9 * before else idle + 1
                n_epochs = min(n_epochs + _FIRST_EPOCHS, _MOST_EPOCHS)
                if idle == _IDLE_ROUNDS:
                    return Status.PRECISION if done else Status.STALLED
            return Status.OPTIMAL
        except KeyboardInterrupt:
            limits.interrupt()
            return Status.INTERRUPTED

    def _judge(self) -> None:
        """Have the problem judge where the iterate is."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            w = self.v / self.sizes
            b = float(self.numbers[_INTERCEPT] - self.centre @ w)
            a = 2.0 * self.problem.c * np.maximum(0.0, self.missing)
        if not (np.isfinite(w).all() and np.isfinite(b) and np.isfinite(a).all()):
            return
        a = self.problem.nearest_feasible(a)
        gap = self.problem.judge(w, b, a).kkt_gap
        if gap < self.gap or not np.isfinite(self.gap):
            self.best, self.gap = (w, b, a), gap

    def _objective(self, v: Array, missing: Array) -> float:
        errors = np.maximum(0.0, missing)
        return float(self.penalties @ np.abs(v)) + float((self.c * errors * errors).sum())

    def _solve_face(self) -> None:
        """Newton's steps over the weights that are in question, and the intercept."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
            for _ in range(_NEWTON_STEPS):
                if not self._take_newton_step():
                    return

    def _take_newton_step(self) -> bool:
        """One step; whether the objective fell, and more may follow."""
        wrong = np.flatnonzero(self.missing > 0.0)
        slopes = -2.0 * (self.matrix.T @ (self.c * np.maximum(0.0, self.missing)))
        free = np.flatnonzero((self.v != 0.0) | (np.abs(slopes) >= self.penalties))
        free = free[self.curvatures[free] > 0.0]
        if not 0 < len(free) <= _MOST_WEIGHTS or len(wrong) == 0:
            return False
        face = self._columns(free)
        errors, c = face[wrong], self.c[wrong]
        matrix = np.zeros((len(free) + 1, len(free) + 1))
        scaled = errors.multiply(c[:, None]).tocsr() if sp.issparse(errors) else errors * c[:, None]
        matrix[:-1, :-1] = 2.0 * dense(errors.T @ scaled)
        slope, penalties = np.append(slopes[free], 0.0), np.append(self.penalties[free], 0.0)
        if self.problem.has_intercept:
            side = self.s[wrong]
            matrix[-1, :-1] = matrix[:-1, -1] = 2.0 * (scaled.T @ side)
            matrix[-1, -1] = 2.0 * float(c.sum())
            slope[-1] = -2.0 * float((c * side) @ self.missing[wrong])
        matrix.flat[:: len(matrix) + 1] += _LEAST_CURVATURE * np.append(self.curvatures[free], 0.0)
        v = np.append(self.v[free], 0.0)
        n_epochs = max(10, min(_MOST_INNER, int(_INNER_PRODUCTS / len(matrix) ** 2)))
        descend_matrix(matrix, slope, penalties, v, _INNER_SHARE, n_epochs)
        step, last = v[:-1] - self.v[free], float(v[-1])
        if not (np.isfinite(step).all() and np.isfinite(last)):
            return False
        self.n_newton += 1
        along = face @ step + last * self.s
        before, length = self._objective(self.v, self.missing), 1.0
        for _ in range(_HALVINGS):
            moved = self.v.copy()
            moved[free] = v[:-1] if length == 1.0 else moved[free] + length * step
            missing = self.missing - length * along
            after = self._objective(moved, missing)
            if after < before:
                self.v, self.missing = moved, missing
                self.numbers[_INTERCEPT] += length * last
                self._refresh()
                return after < (1.0 - _LEAST_FALL) * before
            length *= 0.5
        return False

    def _columns(self, chosen: Array) -> Any:
        if len(chosen) == self.matrix.shape[1]:
            return self.rows if sp.issparse(self.matrix) else self.matrix
        part = self.matrix[:, chosen]
        return sp.csr_array(part) if sp.issparse(part) else part

    @cached_property
    def rows(self) -> Any:
        """The columns as rows."""
        return sp.csr_array(self.matrix)
