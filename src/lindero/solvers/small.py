"""Problems of a few hundred variables: three methods, each for what the others are bad at.

1. A few rounds of SMO steps and faces (`OneBlockSolver`) solve most of them in a millisecond.
2. Their steps grow with C and with badly scaled data without limit. Those of interior points do
   not, and any kernel matrix is linear in the features Z of its factor K = ZZᵀ.
3. From there one more face makes the solution exact.

The first has the whole kernel matrix at hand:

    repeat   some SMO steps, which settle who is at which bound
             the optimum of that face by one linear system, kept if the objective falls

SMO alone is slow where the problem is badly conditioned; the linear system is not. Together a few
rounds end at a KKT gap of rounding size, so `tol` only decides when falling short of that is
reported. Everything is float64, and v = K z + q is recomputed each round: no error accumulates.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from lindero.kernels.operator import KernelFunction, KernelOperator, ProductKernel
from lindero.kernels.products import DenseProducts
from lindero.problems.dual_qp import DualQP, centred_gap
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, FAST, compiled
from lindero.runtime.threads import single_threaded_blas
from lindero.solvers.face import inside, solve_on_face
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.smo import LANES, LARGEST_SCORE, longest_step, smo_block
from lindero.solvers.solution import Limits, Progress, Solution, Solver, Start, Status

#: Problems up to this size are taken as small.
MOST_VARIABLES = 400

#: Rounds of the first method where another may follow.
_FIRST_ROUNDS = 8

#: Linear problems of more numbers than this go straight to interior points, whose steps are small.
_MOST_NUMBERS = 3_000

#: Linear problems of more features are solved by the features of their kernel matrix.
_WIDEST = 1_000

#: Rounds after the gap is within tol, in each of which it must be halved to go on.
_POLISHING_ROUNDS = 10

#: Steps of SMO after which a problem of this size is given up.
MOST_STEPS = 10_000_000

#: Calls without a smaller gap after which it is given up where rounding hides the objective, or no
#: step is taken.
_IDLE_CALLS = 20

#: Steps to the optimum of a face with sums in extended precision.
_REFINEMENTS = 5

#: Rounds between two looks at the clock.
_ROUNDS_AT_ONCE = 5


class SmallSolver(Solver):
    """Solves any small `DualQP`, mostly to rounding; `tol` is the gap that must be reached."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        kernel = problem.kernel
        if not problem.has_interior:
            return OneBlockSolver(self.tol).solve(problem, start, limits, number)
        n_features = linear_features(kernel)
        if n_features > _WIDEST:
            n_features = 0  # a Newton step of so many would not fit into memory; its factor does
        if kernel.n_samples * n_features > _MOST_NUMBERS:
            polished = PolishedInteriorPointSolver(self.tol, n_threads=1)
            return polished.solve(problem, start, limits, number)
        first = OneBlockSolver(self.tol, rounds=_FIRST_ROUNDS).solve(problem, start, limits, number)
        stuck = first.status in (Status.PRECISION, Status.ITERATION_LIMIT)
        if not stuck or limits.steps_left(first.n_iter, 1) == 0:
            return first
        rest = limits.deduct(first.n_iter)
        linear = problem
        if not n_features:
            features, rank = kernel_features(kernel)
            if rank == 0:  # no kernel value is positive
                return first
            linear = replace(problem, kernel=features)
        inner = InteriorPointSolver(self.tol, n_threads=1).solve(linear, start, rest, number)
        if linear is not problem:
            inner = judge_anew(problem, inner)
        second = polish(problem, inner, rest, self.tol, number)
        best = _choose_better(problem, first, second, self.tol)
        return replace(best, n_iter=first.n_iter + second.n_iter)


class PolishedInteriorPointSolver(Solver):
    """`InteriorPointSolver`, with small problems made exact at its end; it keeps no kernel rows."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        solver = InteriorPointSolver(self.tol, n_threads=self.n_threads)
        solution = solver.solve(problem, start, limits, number)
        if problem.n_variables > MOST_VARIABLES:
            return solution
        return polish(problem, solution, limits, self.tol, number)


def polish(problem: DualQP, inner: Solution, limits: Limits, tol: float, number: int) -> Solution:
    """An interior-point solution moved to the optimum of the face it is near."""
    finished = inner.status in (Status.OPTIMAL, Status.PRECISION)
    if not finished or limits.steps_left(inner.n_iter, 1) == 0:
        return inner
    rest = limits.deduct(inner.n_iter)
    last = OneBlockSolver(tol, rounds=1).solve(problem, inner, rest, number)
    best = _choose_better(problem, inner, last, tol)
    return replace(best, n_iter=inner.n_iter + last.n_iter)


def linear_features(kernel: KernelOperator) -> int:
    """The number of features of a linear kernel, 0 for any other."""
    if isinstance(kernel, ProductKernel) and kernel.function.name == "linear":
        return int(kernel.products.n_features)
    return 0


def _choose_better(problem: DualQP, one: Solution, other: Solution, tol: float) -> Solution:
    """The one of less gap, if that is within tol; else the least gap of both and of the optima of
    their faces, in extended precision since large kernel values may have hidden it from both."""
    gaps = [problem.judge(each.a, each.f, each.bias).kkt_gap for each in (one, other)]
    if min(gaps) <= tol:
        return replace(one if gaps[0] <= gaps[1] else other, status=Status.OPTIMAL)

    def rank(each: Solution) -> tuple[float, float]:
        found = problem.certify(each.a, each.bias, tol, each.f)
        return found.kkt_gap + found.accuracy, -found.dual

    candidates = [_refine(problem, one), _refine(problem, other), one, other]
    return replace(min(candidates, key=rank), status=Status.PRECISION)


def _refine(problem: DualQP, solution: Solution) -> Solution:
    """The optimum of the face of a solution from extended sums. Sums of large kernel values in
    double precision do not show where it is; z itself has the digits for it."""
    rows = np.arange(problem.n_variables) if problem.sample_of is None else problem.sample_of
    K = problem.kernel.astype(np.float64).matrix(rows, len(rows))
    group_of, n_groups = problem.group_of, problem.n_groups
    z = start = problem.s * solution.a
    value, v = extended_objective(problem, z)
    for _ in range(_REFINEMENTS):
        moved = z.copy()
        solve_on_face(K, moved, v, problem.lower, problem.upper, group_of, n_groups)
        reached, v = extended_objective(problem, moved)
        if not reached < value:
            break
        value, z = reached, moved
    if z is start:
        return solution
    a = problem.snap(problem.s * z)
    f = problem.kernel_sums(a)
    return replace(solution, a=a, f=f, bias=problem.bias(a, f))


def extended_objective(problem: DualQP, z: Array) -> tuple[np.longdouble, Array]:
    """½ zᵀK z + qᵀz and v = K z + q, in extended precision where the kernel has it."""
    at_samples = problem.at_samples(z)
    known = problem.kernel.extended_sums(at_samples)
    sums = problem.kernel_sums(problem.s * z) if known is None else known[0]
    value = at_samples.astype(np.longdouble) @ sums / 2 + problem.q @ z.astype(np.longdouble)
    return value, problem.scores(sums.astype(np.float64))


def judge_anew(problem: DualQP, solution: Solution) -> Solution:
    """A solution found with features in the place of the kernel, as the kernel has it: features of
    one that is not positive semi-definite are those of another."""
    f = problem.kernel_sums(solution.a)
    return replace(solution, f=f, bias=problem.bias(solution.a, f))


def kernel_features(kernel: KernelOperator) -> tuple[ProductKernel, int]:
    """Z with K = ZZᵀ to rounding, by pivoted Cholesky, as a linear kernel; and its rank."""
    n = kernel.n_samples
    matrix = kernel.astype(np.float64).matrix(np.arange(n), n)
    factor, order, rank, _ = lapack.dpstrf(matrix, lower=1)
    Z = np.empty((n, rank))
    Z[order - 1] = np.tril(factor)[:, :rank]
    return ProductKernel(DenseProducts(Z, np.float64), KernelFunction("linear")), int(rank)


@dataclass(frozen=True)
class OneBlockSolver(Solver):
    """Solves a `DualQP` of some hundred variables; gives up after `rounds`, unless 0."""

    rounds: int = 0

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        z = problem.s * problem.start(start.a if start else None)
        rows = np.arange(len(z)) if problem.sample_of is None else problem.sample_of
        with single_threaded_blas:
            K = problem.kernel.astype(np.float64).matrix(rows, -(-len(z) // LANES) * LANES)
        group_of, most = problem.group_of, problem.kernel.largest()
        n_iter, status, blurred = 0, None, False
        gap = best = np.inf
        idle = 0
        if limits.callback is not None:  # the only one who would look at it
            gap = problem.judge(problem.s * z).kkt_gap
        try:
            while status is None:
                seconds = time.perf_counter() - begun
                status = limits.check(Progress(n_iter, gap, self.tol, seconds, number))
                if status is None:
                    taken, gap, settled, blurred = descend(
                        K, problem.q, z, problem.lower, problem.upper, group_of,
                        problem.n_groups, self.tol, most, self.rounds or _ROUNDS_AT_ONCE,
                        limits.steps_left(n_iter, 2**30),
                    )  # fmt: skip
                    n_iter += taken
                    idle = 0 if gap < 0.9 * best else idle + 1
                    best = min(best, gap)
                    if gap <= self.tol:
                        status = Status.OPTIMAL
                    elif settled:
                        status = Status.PRECISION
                    elif self.rounds:
                        status = Status.ITERATION_LIMIT
                    elif n_iter >= MOST_STEPS or (idle >= _IDLE_CALLS and (blurred or taken == 0)):
                        status = Status.STALLED
        except KeyboardInterrupt:
            limits.interrupt()
            status = Status.INTERRUPTED
        a = problem.snap(problem.s * z)
        f = block_scores(K, np.zeros(len(z)), problem.s * a)
        if problem.sample_of is not None:
            of_variable, f = f, np.empty(problem.kernel.n_samples)
            f[rows] = of_variable
        bias = problem.bias(a, f)
        if blurred and status is Status.OPTIMAL and problem.judge(a, f, bias).kkt_gap > self.tol:
            status = Status.PRECISION
        return Solution(a, f, bias, status, n_iter, time.perf_counter() - begun)


@compiled(FAST, error_model="numpy")
def descend(  # type: ignore[no-untyped-def]
    K, q, z, lower, upper, group_of, n_groups, tol, most, rounds, steps_left
):
    """Rounds of SMO steps and faces on z, in place, until it is exact or rounds or steps run out.

    `most` is the largest |K_ij|. Returns the SMO steps taken, the KKT gap, whether nothing more can
    be gained, and whether sums K z were too large to tell.
    """
    n = z.size
    diagonal = np.empty(n)
    largest = 0.0
    for i in range(n):
        diagonal[i] = K[i, i]
        largest = max(largest, abs(K[i, i]))
    floor = max(4e-16 * largest, 1e-300)
    v = block_scores(K, q, z)
    middles = np.zeros(n_groups)
    gap = centred_gap(v, z, lower, upper, group_of, middles)
    best_z, best_gap = z.copy(), gap
    value = first = objective(z, v, q)
    steps = 0
    settled = False
    blurred = False
    for number in range(rounds + _POLISHING_ROUNDS):
        if gap <= min(noise_of(z, largest), tol) or steps >= steps_left:
            break
        if number >= rounds and best_gap > tol:
            break
        # SMO steps: about as many as take the time of the linear system that follows
        n_free = inside(z, lower, upper).size
        burst = min(max(100, 2 * n, n_free * n_free // 8), steps_left - steps)
        scores = np.empty(n)
        for i in range(n):
            centred = v[i] - middles[group_of[i]]
            scores[i] = min(max(centred, -LARGEST_SCORE), LARGEST_SCORE)
        taken = smo_block(
            K, diagonal, z, lower, upper, group_of, n_groups, scores, min(0.5 * tol, 0.1 * gap),
            0.0, floor, longest_step(most), burst,
        )  # fmt: skip
        steps += taken
        before = value
        # Where K is so large that a sum K z is noise beside what is to be settled, v is carried
        # on from step to step, as SMO does by itself, and no face can be trusted.
        blurred = noise_of(z, largest) > 0.1 * max(gap, tol)
        if blurred:
            for i in range(n):
                v[i] = scores[i] + middles[group_of[i]]
            value = before - 1.0 if taken > 0 else before
        else:
            v = block_scores(K, q, z)
            face_z = z.copy()
            face_v = v.copy()
            solve_on_face(K, face_z, face_v, lower, upper, group_of, n_groups)
            face_v = block_scores(K, q, face_z)
            value = objective(z, v, q)
            if objective(face_z, face_v, q) <= value:
                value = objective(face_z, face_v, q)
                put(face_z, z)
                v = face_v
        gap = centred_gap(v, z, lower, upper, group_of, middles)
        halved = gap < 0.5 * best_gap
        if gap < best_gap:
            best_gap = gap
            put(z, best_z)
        if best_gap <= tol:
            if not halved:
                break
        elif value >= before:
            settled = True
            break
    # The objective falls in every round, the gap need not: the last point is the best one, except
    # among those that are good enough.
    if best_gap <= tol:
        put(best_z, z)
        gap = best_gap
    return steps, gap, settled or first - value <= 1e-14 * abs(value), blurred


@compiled(FAST)
def noise_of(z, largest):  # type: ignore[no-untyped-def]
    """What rounding does to a sum K z, at the most."""
    size = 0.0
    for i in range(z.size):
        size += abs(z[i])
    return 1e-15 * (1.0 + largest * size)


@compiled(EXACT)
def put(source, target):  # type: ignore[no-untyped-def]
    """target ← source."""
    for i in range(source.size):
        target[i] = source[i]


@compiled(FAST)
def block_scores(K, q, z):  # type: ignore[no-untyped-def]
    """v = K z + q, for a symmetric K with padded columns."""
    v = q.copy()
    for i in range(z.size):
        weight = z[i]
        if weight != 0.0:
            row = K[i]
            for j in range(v.size):
                v[j] += weight * row[j]
    return v


@compiled(FAST)
def objective(z, v, q):  # type: ignore[no-untyped-def]
    """½ zᵀK z + qᵀz, from v = K z + q."""
    total = 0.0
    for i in range(z.size):
        total += 0.5 * z[i] * (v[i] + q[i])
    return total
