"""Linear machines over very many rows of few features in memory: most rows are decided in passes.

Of a `DualQP` over a linear kernel with finite bounds, hardly more variables than features end
between their bounds. `PassSolver` finds θ = (w, b) of rows that are only seen in passes: a few
steps on sums over all rows tell all residuals r so well that most variables are known to end at 0
or at u, and interior points solve for the others, some twenty thousand. A step of it costs n·d² for
the rows within its width only, where interior points on all rows take twenty steps for all.

Here the rows are in memory, in a few parts, which are answered side by side and merged in order:
the number of threads changes nothing. The dual variables are those of the last decision: at r ≤ 0
the bound, else zero, and for the others what interior points found. The problem judges that point
as any other; where it is not within `tol`, interior points on all rows have the last word.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from lindero.errors import SolverError
from lindero.kernels.operator import KernelOperator, ProductKernel
from lindero.kernels.products import DenseProducts
from lindero.problems.dual_qp import DualQP
from lindero.problems.formulation import DualPoint, Formulation, KernelExpansion
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.interior_point import DenseNewtonSystem, InteriorPointSolver
from lindero.solvers.passes import (
    PartRows,
    PassSolution,
    PassSolver,
    choose_fetched,
    choose_sampled,
)
from lindero.solvers.solution import Limits, Solution, Solver, Start, Status

#: Parts that rows are divided into, whatever the number of threads.
_PARTS = 8

#: So many times the rows that passes fetch are many rows.
_MANY = 5


def suits_sifting(problem: DualQP) -> bool:
    """Whether the rows are dense and so many that passes over them are faster."""
    kernel = problem.kernel
    if not (isinstance(kernel, ProductKernel) and isinstance(kernel.products, DenseProducts)):
        return False
    n, width = kernel.n_samples, kernel.products.n_features
    return n >= _MANY * choose_fetched(width) and _has_plain_pairs(problem)


def _has_plain_pairs(problem: DualQP) -> bool:
    """Whether variables are in the order of samples, once or twice, with one bound a sample."""
    n = problem.kernel.n_samples
    if problem.sample_of is None:
        return True
    rows = np.arange(n)
    return bool(
        len(problem.sample_of) == 2 * n
        and (problem.sample_of[:n] == rows).all()
        and (problem.sample_of[n:] == rows).all()
        and (problem.u[:n] == problem.u[n:]).all()
    )


@dataclass(frozen=True)
class _Stated(Formulation):
    """A problem as it was stated: targets are s and p of the `n_each` variables of each row."""

    n_each: int

    @property
    def per_sample(self) -> int:  # type: ignore[override]
        return self.n_each

    def bounds(self, weights: Array) -> Array:
        return weights

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        k, owners = self.n_each, None
        if k > 1:
            owners = np.tile(np.arange(len(bounds)), k)
        s, p = targets[:, :k].T.ravel(), targets[:, k:].T.ravel()
        return DualQP(kernel=kernel, p=p, s=s, u=np.tile(bounds, k), sample_of=owners)

    def recover(self, problem: DualQP, point: DualPoint, tol: float) -> KernelExpansion:
        return KernelExpansion(problem.at_samples(problem.s * point.a), point.bias)

    def restore(self, problem: DualQP, function: KernelExpansion) -> tuple[Array, Any]:
        return np.maximum(0.0, problem.s * function.coefficients), function.intercept


class SiftingSolver(Solver):
    """Solves a linear `DualQP` over dense rows, with δ = 0 and finite positive u, to a KKT gap of
    `tol`."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun, kernel = time.perf_counter(), problem.kernel
        if not (isinstance(kernel, ProductKernel) and kernel.function.name == "linear"):
            raise SolverError("Sifting needs a linear kernel over features.")
        plain = isinstance(kernel.products, DenseProducts) and _has_plain_pairs(problem)
        if problem.group_sizes is not None or not problem.has_interior or not plain:
            raise SolverError("Sifting needs dense rows, delta = 0 and finite positive u.")
        with TileThreads(self.n_threads) as threads:
            if start is not None and start.a.any():
                known = _judge(problem, start.a, Status.OPTIMAL, 0, begun, threads, self.tol)
                if known.status is Status.OPTIMAL:
                    return known
            rows = _divide(problem)
            try:
                found = self._pass(rows, limits, number, threads)
            except KeyboardInterrupt:
                limits.interrupt()
                a = problem.start(start.a if start is not None else None)
                seconds = time.perf_counter() - begun
                f = problem.kernel_sums(a, threads)
                return Solution(a, f, problem.bias(a, f), Status.INTERRUPTED, 0, seconds)
            a = _find_variables(problem, found, threads)
            solution = _judge(problem, a, found.status, found.n_passes, begun, threads, self.tol)
        if solution.status not in (Status.PRECISION, Status.STALLED):
            return solution
        whole = InteriorPointSolver(self.tol, n_threads=self.n_threads)
        last = whole.solve(problem, solution, limits.deduct(solution.n_iter), number)
        return replace(last, n_iter=last.n_iter + solution.n_iter)

    def _pass(
        self, rows: list[PartRows], limits: Limits, number: int, threads: TileThreads
    ) -> PassSolution:
        """What passes over the rows lead to."""
        n, width = sum(len(part.numbers) for part in rows), rows[0].X.shape[1]
        solver = PassSolver(
            rows[0].formulation, n, width, self.tol, choose_fetched(width), limits, number,
            threads.n_threads,
        )  # fmt: skip
        asking = solver.solve(_sample(rows, n, choose_sampled(width)))
        try:
            question = next(asking)
            while True:
                answers: list[Any] = [None] * len(rows)

                def answer(k: int, question: Any = question, answers: Any = answers) -> None:
                    answers[k] = question.answer(rows[k])

                threads.map(answer, range(len(rows)))
                question = asking.send(reduce(lambda one, other: one.merge(other), answers))
        except StopIteration as end:
            found: PassSolution = end.value
            return found


def _divide(problem: DualQP) -> list[PartRows]:
    """The rows of a problem in parts, with what was stated of them."""
    products: Any = problem.kernel.products  # type: ignore[attr-defined]
    X = products.source if products.rows is None else products.given()
    n, n_each = len(X), problem.n_variables // len(X)
    stated = np.concatenate([problem.s.reshape(n_each, n), problem.p.reshape(n_each, n)]).T
    formulation, ends = _Stated(n_each), np.linspace(0, n, _PARTS + 1).astype(np.intp)
    return [
        PartRows(
            part, np.arange(first, last), X[first:last], stated[first:last],
            problem.u[first:last], formulation, products.shift,
        )
        for part, (first, last) in enumerate(pairwise(ends))
    ]  # fmt: skip


def _sample(rows: list[PartRows], n: int, size: int) -> PartRows:
    """Rows from a fixed seed, whose bounds stand for all."""
    chosen = np.sort(np.random.default_rng(0).choice(n, min(size, n), replace=False))
    first = [part.numbers[0] for part in rows]
    parts = [
        part.take(chosen[(chosen >= start) & (chosen <= part.numbers[-1])] - start)
        for part, start in zip(rows, first, strict=True)
    ]
    return replace(
        rows[0],
        numbers=chosen,
        X=np.concatenate([part.X for part in parts]),
        targets=np.concatenate([part.targets for part in parts]),
        bounds=np.concatenate([part.bounds for part in parts]) * (n / len(chosen)),
    )


def _system(problem: DualQP, threads: TileThreads) -> DenseNewtonSystem:
    exact: Any = problem.kernel.astype(np.float64)
    return DenseNewtonSystem(exact.products, threads)


def _find_variables(problem: DualQP, found: PassSolution, threads: TileThreads) -> Array:
    """The dual variables that the last decision stands for."""
    r = problem.s * problem.scores(_system(problem, threads).forward(found.decided_at))
    a = np.where(r <= 0.0, problem.u, 0.0)
    n = problem.kernel.n_samples
    a[(found.kept + n * np.arange(len(a) // n)[:, None]).ravel()] = found.kept_a
    return a


def _judge(
    problem: DualQP,
    near: Array,
    status: Status,
    n_passes: int,
    begun: float,
    threads: TileThreads,
    tol: float,
) -> Solution:
    """The feasible point near the one given, and the status that its judgement leaves."""
    system, a = _system(problem, threads), problem.nearest_feasible(near)
    assert a is not None  # zero is feasible
    a = problem.snap(a)
    w = system.adjoint(problem.at_samples(problem.s * a))[:-1]
    f = system.forward(np.append(w, 0.0))
    status = status.certify(problem.judge(a, f), tol)
    seconds = time.perf_counter() - begun
    return Solution(a, f, problem.bias(a, f), status, n_passes, seconds, weights=w)
