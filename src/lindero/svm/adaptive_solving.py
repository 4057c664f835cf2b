"""How an adaptive machine solves for all that it holds, one problem for each machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import warn_user
from lindero.kernels.coupled import CoupledKernel
from lindero.kernels.operator import kernel_operator
from lindero.problems.dual_qp import Judgement, upper_bounds
from lindero.runtime.arrays import Array
from lindero.solvers.choose import SMALL_FIT_ROWS
from lindero.solvers.coupled_interior_point import CoupledInteriorPointSolver
from lindero.solvers.limits import Limits
from lindero.solvers.solution import Callback, Certificate, Status
from lindero.solvers.working_set import WorkingSetSolver
from lindero.svm.adaptive_graphs import time_links
from lindero.svm.adaptive_trail import Trail
from lindero.svm.fitting import warn_if_indefinite
from lindero.svm.progress import reporting
from lindero.validation import scale_advice

#: What to do where a fit stopped early, if not to allow more; who stops it by a callback knows.
_ADVICE = {Status.PRECISION: " Lower C or coupling, or raise tol.", Status.CALLBACK: ""}


class AdaptiveSolving:
    """Abstract: what `AdaptiveMachine` does once its samples are in the order of their graph."""

    tol: float
    cache_size: float
    verbose: bool
    max_iter: int
    time_limit: float | None
    callback: Callback | None
    coupling_: float
    n_scale_: float
    support_: Array
    _n_machines: Any
    _n_sides: ClassVar[int]
    _trail: Trail | None
    _path: Any
    _problem: Any
    _stated_dual: Any
    _function: Any
    _vectors: Any
    _kind: str
    _unit: float | None

    def _limits(self, callback: Callback | None) -> Limits:
        return Limits(
            max_iter=None if self.max_iter < 0 else self.max_iter,
            time_limit=self.time_limit,
            callback=callback,
            n_problems=self._n_machines,
        )

    def _solve(self, X: Any) -> bool:
        """Solve for everything held; whether the user interrupted."""
        with reporting(bool(self.verbose), self.callback) as callback:
            return self._solve_within(self._limits(callback), X)

    def _solve_within(self, limits: Limits, X: Any, n_before: int = 0) -> bool:
        """The same within limits that `n_before` other problems have been under."""
        begun = time.perf_counter()
        linear = self._function.name == "linear"
        solve = self._solve_linear if linear else self._solve_kernel
        found = [solve(machine, limits, n_before + machine) for machine in range(self._n_machines)]
        self.n_iter_ = np.array([max(1, n_iter) for _, n_iter, _, _ in found], dtype=np.int32)
        parts = [
            Certificate.of(judgement, n_iter, seconds, status.value)
            for judgement, n_iter, seconds, status in found
        ]
        self._certificate = self._in_words(parts, time.perf_counter() - begun)
        unfinished = [status for *_, status in found if status is not Status.OPTIMAL]
        self.fit_status_ = int(bool(unfinished))
        if unfinished and not limits.interrupted:
            self._warn_unfinished(X, unfinished)
        if self._vectors is not None:
            self._vectors = self._vectors[self.support_]
            warn_if_indefinite(self._function, X, self.support_)
        if self._kind == "time" and linear:
            self._trail = Trail(self._path.n_nodes)
        return limits.interrupted

    def _in_words(self, parts: Sequence[Certificate], seconds: float) -> Certificate:
        """One certificate for all machines; hyperplanes are judged by their duality gap."""
        joined = Certificate.joined(parts, seconds)
        if self._function.name != "linear":
            return joined
        worded = [replace(c, status=_worded(c.status)) for c in joined.parts]
        return replace(joined, status=_worded(joined.status), parts=tuple(worded))

    def _solve_linear(
        self, machine: int, limits: Limits, number: int
    ) -> tuple[Judgement, int, float, Status]:
        path = self._path
        problem = self._problem(machine)
        if limits.interrupted:
            path.theta[machine], path.a[machine] = 0.0, 0.0
            judgement = problem.judge(path.theta[machine], path.a[machine])
            return judgement, 0, 0.0, Status.INTERRUPTED
        solution = CoupledInteriorPointSolver(self.tol).solve(problem, limits, number)
        path.theta[machine], path.a[machine] = solution.theta, solution.a
        return solution.judgement, solution.n_iter, solution.seconds, solution.status

    def _solve_kernel(
        self, machine: int, limits: Limits, number: int
    ) -> tuple[Judgement, int, float, Status]:
        path = self._path
        links = time_links(path.times, self._unit)
        base = kernel_operator(self._vectors[path.rows], self._function)
        kernel = CoupledKernel(base, links, self.coupling_, self.n_scale_)
        bounds = upper_bounds(self._fitted_C, path.factors)  # type: ignore[attr-defined]
        problem = self._stated_dual(machine, kernel, path.targets, bounds)
        n_threads = 1 if problem.n_variables < SMALL_FIT_ROWS else None
        # The duality gap goes with the square of the gap in the conditions.
        solver = WorkingSetSolver(self.tol**0.5, self.cache_size, n_threads)
        solution = solver.solve(problem, None, limits, number)
        path.a[machine] = solution.a.reshape(self._n_sides, -1)
        z = problem.at_samples(problem.s * solution.a)
        path.theta[machine, :, -1] = kernel.offsets(z) + solution.bias
        judgement = problem.judge(solution.a, solution.f, solution.bias)
        return judgement, solution.n_iter, solution.seconds, solution.status

    def _warn_unfinished(self, X: Any, unfinished: Sequence[Status]) -> None:
        certificate, many = self._certificate, self._n_machines > 1
        which = f" ({len(unfinished)} of {self._n_machines} machines)" if many else ""
        advice = _ADVICE.get(unfinished[0], " Raise max_iter, time_limit or tol.")
        gap = certificate.duality_gap / max(abs(certificate.primal), 1e-300)
        warn_user(
            f"{certificate.status}{which} The duality gap left is {gap:.3g} of the objective, tol "
            f"is {self.tol:.3g}.{advice}" + scale_advice(X, self._function),
            ConvergenceWarning,
        )


def _worded(status: str) -> str:
    return status.replace("KKT gap", "duality gap")
