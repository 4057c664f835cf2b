"""Two-level decomposition: a large working set outside, sequential minimal optimisation inside.

    repeat   v = K z + q at all variables; stop when the KKT gap is within tol
             W = the newer half of the last W, and the most violating variables on either side
             solve the problem restricted to W by SMO on the small block K_WW
             f += Σ_{j in W} Δz_j K_j      the only work that grows with n

The rows K_j of variables that moved are computed a tile at a time by matrix product, kept in a
least-recently-used cache, and added to f while they are hot. Never an n × n matrix.

Precision. Large problems compute rows in float32: half the memory traffic, twice the arithmetic.
Rounding then disturbs f by about ε₃₂ · max K · (Σ‖Δz‖²)^½ over all changes since f was last
exact. When that is not small beside tol, f is recomputed from z in float64, as in iterative
refinement, and the iteration goes on; if it then fails to halve the gap, rows are computed in
float64 from there on. Medium problems use float64 throughout.

Start. One-class and ν-machines fix the sum of their variables, a share of all bounds. Whichever
feasible point the iteration starts from, it has to compute the kernel rows of that share of the
samples. So it pays to guess which they will be: the problem over a thousand samples, its bounds
scaled up to the same sums, is solved in a moment. Its v at all samples says which variables gain
most; they are raised to their bounds until the sums are met.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from lindero.kernels.blocks import (
    RowCache,
    exact_sums,
    kernel_among,
    kernel_product,
    kernel_tile,
    tile_bounds,
)
from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP, centred_gap
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.smo import LANES, LARGEST_SCORE, add_rows, heights, longest_step, smo_block
from lindero.solvers.solution import Limits, Progress, Solution, Solver, Start, Status

#: From this size on kernel rows are computed in float32.
SINGLE_PRECISION_FROM = 1000

#: A share of the working set's own gap at which the inner solver is content.
INNER_SHARE = 0.1

#: Inner steps between two looks at the clock (some tenths of a second at most).
INNER_STEPS = 50_000

#: What float32 rounding does to the KKT gap, per unit of (Σ‖Δz‖²)^½ times `kernel.rounding()`: at
#: most 7.3 · 2⁻²⁴ on a9a, w8a, ijcnn1, cod-rna and synthetic data with C from 1 to 1 000.
SINGLE_ROUNDING = 8 * 2.0**-24

#: Above this, one coefficient of 1 blurs the gap by as much as it matters: rows in float64 then.
MOST_BLUR = 1e-2

#: Rows at either end of v, and in between, at which f is verified: one in so many, at most so many.
_ONE_VERIFIED_IN, _MOST_VERIFIED = 64, 64

#: What f may be off in float64, as a share of tol.
_DRIFT = 1e-3

#: Sums from scratch without a smaller gap, after which it is given up.
MOST_IDLE = 30

#: Steps over which the objective must fall.
MOST_STEPS = 10_000_000

#: Samples of the problem that finds a start; none is looked for in less than four times as many.
COARSE_SAMPLES = 1_000


def working_set_size(n_variables: int) -> int:
    """Larger sets need fewer passes over n, and more work inside; measured on 1 500 to 50 000."""
    for size, limit in ((256, 4_000), (512, 12_000), (1536, 30_000)):
        if n_variables < limit:
            return size
    return 2048


class WorkingSetSolver(Solver):
    """Solves any `DualQP` with s = ±1 to a KKT gap of `tol`."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        if start is None and not problem.starts_at_zero:
            first = coarse_start(problem, self, limits, number)
        else:
            first = problem.start(start.a if start else None)
        n_threads = 1 if problem.n_variables <= SINGLE_PRECISION_FROM else self.n_threads
        with TileThreads(n_threads) as threads:
            descent = _Descent(problem, self.tol, self.cache_size, first, threads)
            status = descent.run(limits, number, begun)
        a, f = problem.snap(problem.s * descent.z), descent.f
        bias, seconds = problem.bias(a, f), time.perf_counter() - begun
        counted = descent.statistics
        blur = descent.blur
        return Solution(a, f, bias, status, descent.n_iter, seconds, blur=blur, statistics=counted)


class _Descent:
    """The iterate (z, f = K z) and what is kept to move it."""

    def __init__(
        self, problem: DualQP, tol: float, cache_size: float, start: Array, threads: TileThreads
    ) -> None:
        self.problem = problem
        self.tol = tol
        self.cache_size = cache_size
        self.threads = threads
        self.n_iter = 0
        self.statistics = {"outer": 0, "rows_computed": 0, "rows_kept": 0, "refreshed": 0}
        self._group_of = problem.group_of
        self._middles = np.zeros(problem.n_groups)
        self._rising = np.empty(problem.n_variables)
        self._falling = np.empty(problem.n_variables)
        # z and f are replaced together, in one assignment, so that an interruption at any moment
        # leaves a consistent pair.
        self.state = (np.zeros(problem.n_variables), np.zeros(problem.kernel.n_samples))
        self._moved = 0.0  # Σ‖Δz‖² since f was last exact
        self.blur = 0.0  # what f was found to be off, when it was last looked at
        self._exact_gap = np.inf
        self._least_gap, self._idle = np.inf, 0  # of sums from scratch, and how often without less
        self._looked_at, self._objective = 0, np.inf  # n_iter at the last look, and what was seen
        self._use(np.float32 if problem.n_variables > SINGLE_PRECISION_FROM else np.float64)
        if self._single and not SINGLE_ROUNDING * self._rounded <= MOST_BLUR:
            self._use(np.float64)
        if start.any():
            self.state = (problem.s * start, self.f)
            self._refresh()

    @property
    def z(self) -> Array:
        return self.state[0]

    @property
    def f(self) -> Array:
        return self.state[1]

    @property
    def _single(self) -> bool:
        return self.kernel.dtype == np.float32

    def run(self, limits: Limits, number: int, begun: float) -> Status:
        """Improve until the gap is within tol or a limit is reached; z and f stay consistent."""
        problem = self.problem
        try:
            while True:
                v = problem.scores(self.f)
                gap = self._look_at(v)
                # What float32 may have done to f since it was last exact.
                rounding = SINGLE_ROUNDING * self._rounded * self._moved**0.5
                if rounding > 0.6 * max(gap, self.tol):
                    self._sharpen(gap)
                    continue
                if gap <= self.tol - rounding:
                    if self._moved == 0.0:
                        return Status.OPTIMAL
                    if self._verify(rounding):
                        continue
                    self._refresh()
                    continue
                if self._is_stalled(v) or self._goes_round(gap):
                    return Status.STALLED
                seconds = time.perf_counter() - begun
                reason = limits.check(Progress(self.n_iter, gap, self.tol, seconds, number))
                if reason is not None:
                    return reason
                if not self._improve(v, limits):
                    if not self._single and self._moved == 0.0:
                        return Status.PRECISION
                    self._sharpen(gap)
        except KeyboardInterrupt:
            limits.interrupt()
            return Status.INTERRUPTED

    def _is_stalled(self, v: Array) -> bool:
        """Whether the objective has not fallen over the last MOST_STEPS."""
        if self.n_iter < self._looked_at + MOST_STEPS:
            return False
        before, self._looked_at = self._objective, self.n_iter
        self._objective = 0.5 * float(self.z @ (v + self.problem.q))
        return not self._objective < before - 1e-10 * abs(before)

    def _goes_round(self, gap: float) -> bool:
        """Whether sums from scratch have shown a gap again and again that does not fall."""
        if self._moved == 0.0:
            self._idle = 0 if gap < 0.9 * self._least_gap else self._idle + 1
            self._least_gap = min(self._least_gap, gap)
        return self._idle > MOST_IDLE

    def _look_at(self, v: Array) -> float:
        """The KKT gap; who violates optimality how much is left in `_rising` and `_falling`."""
        problem, of, z = self.problem, self._group_of, self.z
        gap = centred_gap(v, z, problem.lower, problem.upper, of, self._middles)
        heights(v, z, problem.lower, problem.upper, of, self._middles, self._rising, self._falling)
        return float(gap)

    def _sharpen(self, gap: float) -> None:
        """Make f exact; where that did not help the last time, raise the precision of the rows."""
        if self._single and gap > 0.5 * self._exact_gap:
            self._use(np.float64)
        self._exact_gap = gap
        self._refresh()

    def _verify(self, rounding: float) -> bool:
        """Whether f is what it should be: recomputed from z in float64 where it is extreme, which
        is where the gap comes from, and at some rows in between. Those are then exact."""
        problem, z = self.problem, self.z
        kept = self._sum_kept_rows()
        if kept is not None:
            self.state = (z, kept)
            self._moved = self.blur = 0.0
            return True
        n_samples = problem.kernel.n_samples
        count = min(_MOST_VERIFIED, 1 + n_samples // _ONE_VERIFIED_IN)
        ends = np.concatenate([_least(self._rising, count), _least(self._falling, count)])
        spread = np.arange(0, n_samples, -(-n_samples // count))
        rows = np.concatenate([self._samples(ends), spread])
        exact = problem.kernel.astype(np.float64)
        sums = exact_sums(exact, problem.at_samples(z), rows)
        self.blur = float(np.abs(sums - self.f[rows]).max(initial=0.0))
        if not self.blur <= max(rounding, _DRIFT * self.tol):
            return False
        f = self.f.copy()
        f[rows] = sums
        self.state = (z, f)
        self._moved = 0.0
        return True

    def _sum_kept_rows(self) -> Array | None:
        """f anew from kernel rows in float64 that are all kept; None where they are not, or where
        there are so many that some values from scratch take less time."""
        n_samples = self.kernel.n_samples
        if self._single or n_samples > SINGLE_PRECISION_FROM:
            return None
        z = self.problem.at_samples(self.z)
        support = np.flatnonzero(z)
        slots = self._cache.find(support)
        if slots.min(initial=0) < 0:
            return None
        total = np.zeros(n_samples)
        add_rows(self._cache.values, slots, z[support], 0, n_samples, total)
        return total

    def _refresh(self) -> None:
        exact = self.problem.kernel.astype(np.float64)
        f = kernel_product(exact, self.problem.at_samples(self.z), self.threads)
        self.state = (self.z, f)
        self._moved = self.blur = 0.0
        self.statistics["refreshed"] += 1

    def _use(self, dtype: Any) -> None:
        """Compute kernel rows in this precision from now on."""
        self.kernel: KernelOperator = self.problem.kernel.astype(dtype)
        diagonal = self.kernel.diagonal()
        largest = self.kernel.largest()
        self._longest = longest_step(largest)
        self._rounded = self.kernel.rounding() if dtype == np.float32 else 0.0
        if self.problem.sample_of is not None:
            diagonal = diagonal[self.problem.sample_of]
        self._diagonal = diagonal.astype(dtype)
        believed = 2.0**-20 if dtype == np.float32 else 1e-14
        self._floor = dtype(max(believed * largest, np.finfo(dtype).tiny))
        self._cache = RowCache(self.kernel.n_samples, dtype, self.cache_size)
        self._set = np.empty(0, dtype=np.int64)
        self._block = np.empty((0, 0), dtype=dtype)

    def _improve(self, v: Array, limits: Limits) -> bool:
        """Solve one working set and carry its change to all samples; False if nothing moved."""
        problem, dtype = self.problem, self.kernel.dtype.type
        chosen = self._choose()
        before = self.z[chosen]
        after = before.copy()
        # Scores are small near the optimum once centred, where float32 has bits to spare.
        groups = self._group_of[chosen]
        centred = v[chosen] - self._middles[groups]
        scores = np.minimum(np.maximum(centred, -LARGEST_SCORE), LARGEST_SCORE).astype(dtype)
        self.n_iter += smo_block(
            self._block,
            self._diagonal[chosen],
            after,
            problem.lower[chosen],
            problem.upper[chosen],
            groups,
            problem.n_groups,
            scores,
            dtype(0.5 * self.tol),
            dtype(INNER_SHARE),
            self._floor,
            self._longest,
            limits.steps_left(self.n_iter, INNER_STEPS),
        )
        self.statistics["outer"] += 1
        change = after - before
        if not change.any():
            return False
        z = self.z.copy()
        z[chosen] = after
        self.state = (z, self.f + self._row_sums(chosen, change))
        self._moved += float(change @ change)
        return True

    def _choose(self) -> Array:
        """The next working set; its kernel block is left in `_block`."""
        size = working_set_size(self.problem.n_variables)
        kept = self._set[len(self._set) - size // 2 :] if len(self._set) == size else self._set[:0]
        half = (size - len(kept)) // 2
        self._rising[kept] = np.inf
        self._falling[kept] = np.inf
        up = _least(self._rising, half)
        self._falling[up] = np.inf
        down = _least(self._falling, half)
        again = slice(len(self._set) - len(kept), len(self._set))
        self._set = np.concatenate([kept, up, down])
        self._block = kernel_among(
            self.kernel, self._samples(self._set), self._block[again, again], self.threads, LANES
        )
        return self._set

    def _samples(self, variables: Array) -> Array:
        sample_of = self.problem.sample_of
        return variables if sample_of is None else sample_of[variables]

    def _row_sums(self, chosen: Array, change: Array) -> Array:
        """Σ change_j K_j over all samples, computing and keeping the rows not kept already."""
        moved = np.flatnonzero(change)
        rows, coefficients = self._samples(chosen[moved]), change[moved]
        if self.problem.sample_of is not None:
            rows, where = np.unique(rows, return_inverse=True)
            coefficients = np.bincount(where, weights=coefficients)
        slots = self._cache.find(rows)
        kept = slots >= 0
        kept_slots, kept_coefficients = slots[kept], coefficients[kept]
        new, new_coefficients = rows[~kept], coefficients[~kept]
        new_slots = self._cache.claim(new)
        stored = int(np.count_nonzero(new_slots >= 0))  # claimed slots come first
        probe = self.kernel.probe(new)
        total = np.zeros(self.kernel.n_samples)
        positions = np.arange(len(new))

        def add(bounds: tuple[int, int]) -> None:
            start, stop = bounds
            if len(new):
                tile = kernel_tile(self.kernel, probe, start, stop)
                self._cache.values[new_slots[:stored], start:stop] = tile[:stored]
                add_rows(tile, positions, new_coefficients, 0, stop - start, total[start:stop])
            add_rows(
                self._cache.values, kept_slots, kept_coefficients, start, stop, total[start:stop]
            )

        itemsize = self.kernel.dtype.itemsize
        try:
            self.threads.map(add, tile_bounds(self.kernel.n_samples, max(128, len(new)), itemsize))
        except BaseException:
            self._cache.release(new)
            raise
        self.statistics["rows_computed"] += len(new)
        self.statistics["rows_kept"] += len(kept_slots)
        return total


def _least(values: Array, count: int) -> Array:
    """Positions of the `count` least finite values."""
    whole = count >= len(values)
    chosen = np.arange(len(values)) if whole else np.argpartition(values, count)[:count]
    return chosen[np.isfinite(values[chosen])]


# -- where to start when zero is not feasible -----------------------------------------------------


def coarse_start(problem: DualQP, solver: Solver, limits: Limits, number: int) -> Array:
    """A feasible point near the optimum of a problem whose sums δ are not zero. An interruption on
    the way is kept in `limits`, for the solver to see."""
    n_samples = problem.kernel.n_samples
    if n_samples < 4 * COARSE_SAMPLES:
        return problem.start(None)
    rows = np.random.default_rng(0).choice(n_samples, COARSE_SAMPLES, replace=False)
    taken = np.zeros(n_samples, dtype=bool)
    taken[rows] = True
    variables = np.flatnonzero(taken if problem.sample_of is None else taken[problem.sample_of])
    coarse = over_some(problem, np.flatnonzero(taken), variables)
    if coarse is None:
        return problem.start(None)
    a = np.zeros(problem.n_variables)
    a[variables] = solver.solve(coarse, None, limits, number).a
    if limits.stopped:
        return problem.start(None)
    return problem.fill(problem.scores(problem.kernel_sums(a)))


def over_some(problem: DualQP, samples: Array, variables: Array) -> DualQP | None:
    """The problem over these samples and their variables, with bounds scaled up so that each
    group has as much room as in the whole; None if a group is left without any."""
    u = problem.u[variables].copy()
    sizes = []
    for members, _ in problem.groups:
        inside = np.arange(problem.n_variables)[members]
        held = np.isin(variables, inside, assume_unique=True)
        room = u[held].sum()
        if room <= 0:
            return None
        u[held] *= problem.u[members].sum() / room
        sizes.append(int(held.sum()))
    sample_of = None
    if problem.sample_of is not None:
        sample_of = np.searchsorted(samples, problem.sample_of[variables])
    return replace(
        problem,
        kernel=problem.kernel.subset(samples),
        p=problem.p[variables],
        s=problem.s[variables],
        u=u,
        sample_of=sample_of,
        group_sizes=None if problem.group_sizes is None else tuple(sizes),
    )
