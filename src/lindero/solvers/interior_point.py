"""Mehrotra's predictor–corrector method on the primal of a linear machine.

A `DualQP` with a linear kernel is the dual of

    min_{θ,ξ}  ½ θᵀHθ + δ b + Σ u_i ξ_i     s.t.  s_i x̃_i·θ + ξ_i ≥ −p_i,   ξ ≥ 0

With slack t ≥ 0 of the constraint, multipliers a of the constraint and β = u − a of ξ ≥ 0, the
conditions for an optimum, relaxed by μ, are

    Hθ = Σ a_i s_i x̃_i − δ e_b    s_i x̃_i·θ + ξ_i − t_i = −p_i    a_i t_i = μ    β_i ξ_i = μ

Eliminating everything but θ from Newton's equations leaves (H + Σ σ_i x̃_i x̃_iᵀ) Δθ = r with
σ_i = 1/(ξ_i/β_i + t_i/a_i): a small system, whatever n. Each iteration solves it twice: straight
for μ = 0 (predictor), then for a μ chosen from how far that got, with the second-order terms of the
predictor (corrector). 15 to 25 iterations reach any precision; the bias is not penalised.

The iterates are strictly inside the box, a machine's coefficients are mostly at its ends. So once μ
is small, coefficients whose residual r_i = t_i − ξ_i says on which side they end are put there, Σ z
= 0 is repaired on the others, and that point is judged by its own KKT gap.

The path is written for arrays of NumPy's and for tensors alike: those of its problem and its system
(on a device, `devices.linear`). Path, systems and factors are one file: none is read without the
others.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import blas, lapack

from lindero.errors import SolverError
from lindero.kernels.operator import ProductKernel
from lindero.kernels.products import DenseProducts, SparseProducts
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.solution import Limits, Progress, Solution, Solver, Start, Status

#: Data of fewer numbers than this are not worth starting threads for.
SMALL_DATA = 2**18

#: How much of the way to the boundary of the positive orthant a step may go.
_TO_BOUNDARY = 0.995

#: From this relative μ on it is worth trying whether the rounded point will do.
_ROUNDING_FROM = 1e-5

#: At the end of a path that has not come within tol, widths of what counts as undecided, in units
#: of the margins: a tol below what rounding does to r would leave nothing undecided.
_LAST_WIDTHS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)

#: So many of the last iterates are rounded then: the very last may be the worst of them.
_LAST_ITERATES = 4

#: Below this relative μ, rounding in the Newton system outweighs what a step gains.
_LEAST_RELATIVE_MU = 1e-17

STOPPED = (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED, Status.CALLBACK)

#: Numbers in a row block: it should stay in a core's own cache while it is used.
_BLOCK_ELEMENTS = 2**17

_PARTIAL_SUMS = 4

#: Rows that are gathered for one product.
_GATHERED = 512

#: Largest trace of a sum in single precision: rounding is 1/16 of the identity at the most.
_MOST_SINGLE_SUM = 2.0**20


@dataclass(frozen=True)
class InteriorPointSolver(Solver):
    """Solves a linear `DualQP` with one sum δ, strictly within what its variables can sum to, and
    finite u to a KKT gap of `tol`. A `pull` W is what rows outside of the problem, that are not to
    change, add to w: then f is X w of both, and so are v and the gap."""

    pull: Array | None = None

    def solve(
        self,
        problem: DualQP,
        start: Start = None,
        limits: Limits | None = None,
        number: int = 0,
    ) -> Solution:
        if self.pull is None:
            return super().solve(problem, start, limits, number)
        # In the units of the pull.
        return self._solve(problem.within_reach(), start, limits or Limits(), number)

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        kernel = problem.kernel
        if not (isinstance(kernel, ProductKernel) and kernel.function.name == "linear"):
            raise SolverError("The interior-point solver needs a linear kernel over features.")
        u = problem.u
        bounded = u.min(initial=1.0) > 0 and u.max(initial=0.0) < np.inf
        if problem.group_sizes is not None or not bounded:
            raise SolverError("The interior-point solver needs one sum and finite positive u.")
        small = kernel.n_samples * kernel.products.n_features <= SMALL_DATA
        with TileThreads(1 if small else self.n_threads) as threads:
            products = kernel.astype(np.float64).products
            system = make_newton_system(products, small, threads, problem.has_bias)
            path = PrimalPath(problem, system, self.tol, start, self.pull)
            status = path.run(limits, number, begun)
        a, f, seconds = path.best_a, path.best_f, time.perf_counter() - begun
        # An iterate at the end of its path is too near the boundary to start another.
        interior = path.state if status in STOPPED else None
        return Solution(a, f, problem.bias(a, f), status, path.n_iter, seconds, interior)


class LinearProblem(Protocol):
    """What the solvers of linear machines ask of a `DualQP`, or of one whose vectors are on a
    device."""

    @property
    def n_variables(self) -> int: ...
    @property
    def p(self) -> Any: ...
    @property
    def s(self) -> Any: ...
    @property
    def u(self) -> Any: ...
    @property
    def delta(self) -> Any: ...
    @property
    def sample_of(self) -> Any: ...

    def at_samples(self, z: Any) -> Any: ...
    def snap(self, a: Any) -> Any: ...
    def nearest_feasible(self, a: Any) -> Any: ...
    def bias(self, a: Any, f: Any) -> Any: ...
    def kkt_gap(self, a: Any, f: Any, wanted: float | None = None) -> float: ...


class PrimalPath:
    """The interior iterate, and the best rounded point found on the way. Multipliers and what they
    multiply are kept in pairs, M = (a, β) and S = (t, ξ), each 2 × n."""

    def __init__(
        self,
        problem: LinearProblem,
        system: NewtonSystem,
        tol: float,
        start: Solution | None,
        pull: Array | None = None,
    ) -> None:
        self.problem = problem
        self.system = system
        self.arrays = arrays = system.arrays
        self.pull = system.nothing()
        if pull is not None:
            self.pull[:-1] = pull
        self.tol = tol
        self.n_iter = 0
        n = problem.n_variables
        self.theta = system.nothing()
        share = arrays.full_like(problem.p, 0.5)
        self.S = arrays.stack([arrays.abs(problem.p).clip(1.0, None)] * 2)
        resumed = start.interior if start else None
        if resumed is not None and [part.shape[-1] for part in resumed] == [len(self.theta), n, n]:
            self.theta, share, self.S = resumed
        self.M = arrays.stack([share * problem.u, (1.0 - share) * problem.u])
        self.latest: deque[tuple[Any, Any]] = deque(maxlen=_LAST_ITERATES)  # M and S
        self.reach = self._reach(self.theta)  # s_i x̃_i·θ
        self.best_a, self.best_gap = arrays.zeros_like(problem.p), np.inf
        self.best_f = problem.at_samples(arrays.zeros_like(problem.p))
        if start is not None:
            self._consider(start.a)  # it may do as it is

    @property
    def state(self) -> tuple[Any, ...]:
        """What a later call needs to go on from here, for whatever bounds it has."""
        return self.theta, self.M[0] / self.problem.u, self.S

    def run(self, limits: Limits, number: int, begun: float) -> Status:
        """Follow the path until the rounded point is within tol, or a limit is reached."""
        try:
            mu = first_mu = self._mu()
            while True:
                if mu <= _ROUNDING_FROM * first_mu:
                    self.latest.append((self.M, self.S))
                    self._round()
                if self.best_gap <= self.tol:
                    return Status.OPTIMAL
                seconds = time.perf_counter() - begun
                # Until there is a rounded point, the largest product stands for its gap.
                gap = min(self.best_gap, max(2 * self.tol, float((self.M * self.S).max())))
                reason = limits.check(Progress(self.n_iter, gap, self.tol, seconds, number))
                if reason is not None:
                    self._round()
                    return reason
                length = self._step()
                self.n_iter += 1
                mu = self._mu()
                if length < 1e-8 or mu <= _LEAST_RELATIVE_MU * first_mu:
                    break
        except KeyboardInterrupt:
            limits.interrupt()
            self._round()
            return Status.INTERRUPTED
        except np.linalg.LinAlgError:
            pass  # rounding has made the system useless: the path ends here
        self.latest.append((self.M, self.S))
        self._conclude()
        return Status.OPTIMAL if self.best_gap <= self.tol else Status.PRECISION

    def _mu(self) -> float:
        return self._dot(self.M, self.S) / (2 * self.problem.n_variables)

    def _dot(self, left: Any, right: Any) -> float:
        return float(self.arrays.vdot(left.ravel(), right.ravel()))

    def _step(self) -> float:
        """Predictor, corrector, move; the length of the move."""
        problem, system, M, S = self.problem, self.system, self.M, self.S
        dual_residual = self._adjoint(M[0]) + self.pull - system.penalty(self.theta)
        dual_residual[-1] -= problem.delta  # of the bias, the last parameter
        primal_residual = S[0] - S[1] - problem.p - self.reach
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = S / M
            sigma = 1.0 / (ratio[0] + ratio[1])
        if not self.arrays.isfinite(sigma).all():
            raise np.linalg.LinAlgError("The iterate has reached the boundary.")
        system.factor(problem.at_samples(sigma))

        def direction(products: Any) -> tuple[Any, Any, Any, Any]:
            """The move towards M∗S = products."""
            dS = products / M - S
            r = primal_residual - dS[1] + dS[0]
            theta = system.solve(dual_residual + self._adjoint(sigma * r))
            reach = self._reach(theta)
            a = sigma * (r - reach)
            dM = self.arrays.stack([a, -a])
            dS -= ratio * dM
            return theta, reach, dM, dS

        _, _, dM, dS = direction(0.0)
        length = self._longest(dM, dS)
        mu = self._mu()
        reached = self._dot(M + length * dM, S + length * dS) / (2 * problem.n_variables)
        theta, reach, dM, dS = direction(mu * (reached / mu) ** 3 - dM * dS)
        length = self._longest(dM, dS)
        self.theta = self.theta + length * theta
        self.reach = self.reach + length * reach
        self.M = M + length * dM
        self.S = S + length * dS
        return length

    def _longest(self, dM: Any, dS: Any) -> float:
        steepest = -min(float((dM / self.M).min()), float((dS / self.S).min()))
        return min(1.0, _TO_BOUNDARY / steepest) if steepest > 0 else 1.0

    def _adjoint(self, c: Any) -> Any:
        return self.system.adjoint(self.problem.at_samples(self.problem.s * c))

    def _reach(self, theta: Any) -> Any:
        at_samples = self.system.forward(theta)
        sample_of = self.problem.sample_of
        return self.problem.s * (at_samples if sample_of is None else at_samples[sample_of])

    def _round(self) -> None:
        """Put decided coefficients on their bounds."""
        residual = self.S[0] - self.S[1]
        undecided = self.arrays.abs(residual) <= 0.5 * self.tol
        self._consider(self._decide(self.M[0], residual, undecided))

    def _decide(self, a: Any, residual: Any, undecided: Any) -> Any:
        """Coefficients with the decided ones on their bounds."""
        at_bound = self.arrays.where(residual > 0, 0.0, self.problem.u)
        return self.problem.snap(self.arrays.where(undecided, a, at_bound))

    def _conclude(self) -> None:
        """At the end of a path: round the last points in several ways. Where a plain sum does not
        show which point is the best one, it is computed with more digits."""
        if self.best_gap <= self.tol:
            return
        if np.isfinite(self.best_gap):
            self.best_gap = self._judge(self.best_a, self.best_f, extended=True)
        unit = float(self.arrays.abs(self.problem.p).max()) if self.problem.n_variables else 0.0
        for M, S in self.latest:
            residual, before = S[0] - S[1], -1
            for width in _LAST_WIDTHS:
                undecided = self.arrays.abs(residual) <= max(0.5 * self.tol, width * unit)
                n_undecided = int(undecided.sum())
                if n_undecided > before:  # else this is the point of the width before
                    self._consider(self._decide(M[0], residual, undecided), extended=True)
                before = n_undecided

    def _judge(self, a: Any, f: Any, extended: bool) -> float:
        """The KKT gap of a feasible point. Sums with more digits know of no pull."""
        gap = self.problem.kkt_gap(a, f)
        if not extended or self.pull.any():
            return gap
        return self.problem.kkt_gap(a, f, max(gap, self.tol))

    def _consider(self, near: Any, extended: bool = False) -> None:
        """Keep the feasible point near the one given, if its KKT gap is the best so far."""
        problem = self.problem
        a = problem.nearest_feasible(near)
        if a is None:
            return
        weights = self.system.adjoint(problem.at_samples(problem.s * a)) + self.pull
        weights[-1] = 0.0
        f = self.system.forward(weights)
        gap = self._judge(a, f, extended)
        if gap < self.best_gap or not np.isfinite(self.best_gap):
            self.best_a, self.best_f, self.best_gap = a, f, gap


# -- Newton systems -------------------------------------------------------------------------------


class NewtonSystem(Protocol):
    """What the solver asks of a model that is linear in its parameters θ.

    arrays            the library of its arrays: NumPy, or torch on a device
    nothing()         θ = 0
    forward(θ)        x̃_i·θ for each sample
    adjoint(c)        Σ c_i x̃_i
    penalty(θ)        H θ
    factor(weights)   prepare H + Σ weights_i x̃_i x̃_iᵀ, weights > 0
    solve(r)          apply the inverse of what was prepared
    """

    n_samples: int
    n_parameters: int

    @property
    def arrays(self) -> Any: ...

    def nothing(self) -> Any: ...
    def forward(self, theta: Any) -> Any: ...
    def adjoint(self, c: Any) -> Any: ...
    def penalty(self, theta: Any) -> Any: ...
    def factor(self, weights: Any) -> None: ...
    def solve(self, r: Any) -> Any: ...


class DenseNewtonSystem:
    """One hyperplane θ = (w, b), x̃ = (x, 1), penalty ½‖w‖²: the bias is free. The matrix is (d+1)
    × (d+1); the data are read in row blocks, without temporaries of their size. Without a bias
    x̃ = (x, 0), and the last parameter has a penalty, so that it stays zero."""

    arrays = np

    def __init__(
        self,
        products: DenseProducts | SparseProducts,
        threads: TileThreads,
        has_bias: bool = True,
    ) -> None:
        self.has_bias = has_bias
        self.products = products
        self.threads = threads
        self.n_samples = products.n_samples
        self.n_features = products.n_features
        self.n_parameters = self.n_features + 1
        height = max(256, _BLOCK_ELEMENTS // products.numbers_a_row)
        self._blocks = [
            (start, min(start + height, self.n_samples))
            for start in range(0, self.n_samples, height)
        ]

    def nothing(self) -> Array:
        return np.zeros(self.n_parameters)

    def forward(self, theta: Array) -> Array:
        result = np.empty(self.n_samples)

        def work(block: tuple[int, int]) -> None:
            self.products.times(theta[:-1], *block, out=result[slice(*block)])

        self.threads.map(work, self._blocks)
        if self.has_bias:
            result += theta[-1]
        return result

    def adjoint(self, c: Array) -> Array:
        parts = np.empty((len(self._blocks), self.n_features))

        def work(item: tuple[int, tuple[int, int]]) -> None:
            k, block = item
            self.products.transposed_times(c[slice(*block)], *block, out=parts[k])

        self.threads.map(work, enumerate(self._blocks))
        return np.append(parts.sum(axis=0), c.sum() if self.has_bias else 0.0)

    def penalty(self, theta: Array) -> Array:
        return np.append(theta[:-1], 0.0 if self.has_bias else theta[-1])

    def factor(self, weights: Array) -> None:
        # A few partial sums, each over a fixed share of the blocks: the order of additions, and so
        # the result, does not depend on the number of threads.
        shares = [self._blocks[k::_PARTIAL_SUMS] for k in range(_PARTIAL_SUMS)]
        partial = np.zeros((_PARTIAL_SUMS, self.n_parameters, self.n_parameters))

        def work(item: tuple[int, list[tuple[int, int]]]) -> None:
            k, blocks = item
            for block in blocks:
                self.products.add_weighted_gram(weights[slice(*block)], *block, out=partial[k])

        self.threads.map(work, enumerate(shares))
        penalty = np.append(np.ones(self.n_features), 0.0 if self.has_bias else 1.0)
        matrix = partial.sum(axis=0)
        if not self.has_bias:
            matrix[-1] = matrix[:, -1] = 0.0
        self._factor = scaled_cholesky(matrix, penalty)

    def solve(self, r: Array) -> Array:
        return scaled_solve(self._factor, r)


class SmallNewtonSystem:
    """The same system for data small enough to hold as one float64 array."""

    arrays = np

    def __init__(self, products: DenseProducts | SparseProducts, has_bias: bool = True) -> None:
        self.n_samples = products.n_samples
        self.n_parameters = products.n_features + 1
        self._A = np.full((self.n_samples, self.n_parameters), 1.0 if has_bias else 0.0)
        products.fill_rows(self._A[:, :-1])
        self._unit = np.append(np.ones(products.n_features), 0.0 if has_bias else 1.0)

    def nothing(self) -> Array:
        return np.zeros(self.n_parameters)

    def forward(self, theta: Array) -> Array:
        return self._A @ theta

    def adjoint(self, c: Array) -> Array:
        return c @ self._A

    def penalty(self, theta: Array) -> Array:
        return self._unit * theta

    def factor(self, weights: Array) -> None:
        matrix = self._A.T @ (self._A * weights[:, None])
        self._factor = scaled_cholesky(matrix, self._unit)

    def solve(self, r: Array) -> Array:
        return scaled_solve(self._factor, r)


def make_newton_system(
    products: DenseProducts | SparseProducts, small: bool, threads: TileThreads, has_bias: bool
) -> NewtonSystem:
    """The system of these rows."""
    if small:
        return SmallNewtonSystem(products, has_bias)
    return DenseNewtonSystem(products, threads, has_bias)


class GatheredGram:
    """Adds Σ σ_i x̃_i x̃_iᵀ of rows that come a few at a time, x̃ = (x, 1), to the lower triangle of
    `out`; no row has a larger ‖x̃‖² than `longest`. A product of a few rows takes as long to put its
    matrix into memory as to compute it: rows are gathered until they are many. An identity is added
    to the sum, and the slope of a step is exact, so that single precision will do wherever its
    rounding, 2⁻²⁴ Σ σ_i ‖x̃_i‖², is little beside one."""

    def __init__(self, out: Array, longest: float) -> None:
        self._out, self._longest = out, longest
        self._parts: list[Array] = []
        self._n_rows = 0

    def add(self, rows: Array, weights: Array, share: float) -> None:
        """Some rows of positive weights, found among this share of all."""
        if len(rows) == 0:
            return
        single = float(weights.sum()) * self._longest <= share * _MOST_SINGLE_SUM
        dtype = np.float32 if single else np.float64
        if self._parts and self._parts[0].dtype != dtype:
            self.flush()
        weighted = np.empty((len(rows), rows.shape[1] + 1), dtype)
        weighted[:, -1] = np.sqrt(weights)
        np.multiply(rows, weighted[:, -1:], out=weighted[:, :-1], casting="same_kind")
        self._parts.append(weighted)
        self._n_rows += len(rows)
        if self._n_rows >= _GATHERED:
            self.flush()

    def flush(self) -> None:
        """Add what was gathered."""
        if not self._parts:
            return
        weighted = np.concatenate(self._parts)
        self._parts, self._n_rows = [], 0
        # To BLAS, which goes by columns, the lower triangle is an upper one.
        if weighted.dtype == np.float32:
            self._out += blas.ssyrk(1.0, weighted.T, lower=0).T
        else:
            blas.dsyrk(1.0, weighted.T, beta=1.0, c=self._out.T, overwrite_c=1, lower=0)


def scaled_cholesky(matrix: Array, penalty: Array) -> tuple[Array, Array]:
    """Cholesky factor of matrix + diag(penalty), brought to unit diagonal first: features of very
    different scale would otherwise cost digits. Where rounding made it singular it gets the least
    ridge that helps. Only the lower triangle of `matrix` is read."""
    matrix.flat[:: len(matrix) + 1] += penalty
    scale = np.sqrt(matrix.diagonal())
    if not (scale > 0).all():
        raise np.linalg.LinAlgError("The Newton system has lost a parameter.")
    scaling = 1.0 / scale
    matrix *= scaling[:, None]
    matrix *= scaling
    ridge = 0.0
    while True:
        factor, failed = lapack.dpotrf(matrix, lower=1)
        if not failed:
            return factor, scaling
        ridge = max(1e-15, 10 * ridge)
        if not ridge < 1e-3:
            raise np.linalg.LinAlgError("The Newton system is not positive definite.")
        matrix.flat[:: len(matrix) + 1] += ridge


def scaled_solve(factor: tuple[Array, Array], r: Array) -> Array:
    triangle, scaling = factor
    solution, _ = lapack.dpotrs(triangle, scaling * r, lower=1)
    return np.asarray(scaling * solution)
