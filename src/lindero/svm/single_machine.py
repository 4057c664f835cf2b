"""How machines with one problem are fitted and certified: regression and novelty detection.

Subclasses say what the problem is and what becomes of its bias; everything else is here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.operator import KernelFunction, KernelOperator, kernel_operator, origin
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array, dense
from lindero.solvers.solution import Certificate, Solution, Solver, Status
from lindero.svm.judging import certificate_of, verdict
from lindero.svm.margin_machine import MarginMachine, require_fitted_rows, warn_if_indefinite
from lindero.svm.progress import reporting
from lindero.svm.training import solve_one
from lindero.validation import kernel_function, new_table, sample_weights


class SingleMachine(MarginMachine):
    """Abstract: one `DualQP` over the rows of positive weight."""

    cache_size: float
    verbose: bool
    callback: Any
    warm_start: bool

    # -- what subclasses fill in --------------------------------------------------------------

    def _table(self, X: Any, y: Any) -> tuple[Any, Array | None]:
        """Clean training data."""
        raise NotImplementedError

    def _bounds(self, weights: Array) -> Array:
        """Upper bounds of the dual variables for rows of these weights."""
        raise NotImplementedError

    def _problem(self, kernel: KernelOperator, y: Array | None, bounds: Array) -> DualQP:
        raise NotImplementedError

    def _solver(self, function: KernelFunction, shape: tuple[int, int]) -> Callable[..., Solver]:
        raise NotImplementedError

    def _adopt_bias(self, problem: DualQP, solution: Solution) -> float:
        """Keep what the bias of a solution says besides the intercept, which is returned."""
        return float(solution.bias)

    def _bias_of(self, intercept: float) -> Any:
        """The inverse: the bias of the problem."""
        return intercept

    def _targets(self, y: Any) -> Array | None:
        """Clean targets for certificates."""
        raise NotImplementedError

    def _completed(self, problem: DualQP, a: Array) -> Array:
        """What coefficients do not tell of the dual variables they came from."""
        return a

    # -- fitting ------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> bool:
        begun = time.perf_counter()
        X, y = self._table(X, y)
        weights = sample_weights(sample_weight, X)
        function = kernel_function(self, X, weights)
        bounds = self._bounds(weights)
        rows = np.flatnonzero(bounds > 0)
        shift = self._origin(X, function)
        problem = self._stated_problem(X, y, function, shift, bounds, rows)
        make_solver = self._solver(function, (len(rows), X.shape[1]))
        with reporting(bool(self.verbose), self.callback) as callback:
            limits = self._limits(callback)
            start = self._start(problem)
            solution = solve_one(problem, make_solver, self.tol, self.cache_size, start, limits)

        coefficients = problem.at_samples(problem.s * solution.a)
        held = np.flatnonzero(coefficients)
        support = rows[held]
        self._adopt_vectors(
            function,
            X[support] if function.name != "precomputed" else X[:0],
            support,
            coefficients[None, held],
            np.array([self._adopt_bias(problem, solution)]),
            X.shape,
            shift,
        )
        self._split_support(problem, solution, rows)
        self._last_solution = solution if self.warm_start else None
        self.certificate_ = certificate_of([(problem, solution)], time.perf_counter() - begun)
        self.n_iter_ = solution.n_iter
        self.fit_status_ = int(solution.status is not Status.OPTIMAL)
        if self.fit_status_ and not limits.interrupted:
            self._warn_unfinished(X, 1, 1)
        warn_if_indefinite(function, X, self.support_)
        return limits.interrupted

    def _origin(self, X: Any, function: KernelFunction) -> Array | None:
        """Where the origin of the kernel may be moved to."""
        return origin(X, function)

    def _stated_problem(
        self,
        X: Any,
        y: Array | None,
        function: KernelFunction,
        shift: Array | None,
        bounds: Array,
        rows: Array,
    ) -> DualQP:
        kernel = kernel_operator(X, function, shift=shift)
        if len(rows) < len(bounds):
            kernel, bounds = kernel.subset(rows), bounds[rows]
            y = None if y is None else y[rows]
        return self._problem(kernel, y, bounds)

    def _start(self, problem: DualQP) -> Solution | None:
        """The solution of the last fit, if its problem had as many variables."""
        last = getattr(self, "_last_solution", None) if self.warm_start else None
        return last if last is not None and len(last.a) == problem.n_variables else None

    def _split_support(self, problem: DualQP, solution: Solution, rows: Array) -> None:
        """Which support vectors are at their bound, and which are not."""
        at_bound = (solution.a > 0) & (solution.a >= problem.u)
        bounded = np.zeros(self.shape_fit_[0], dtype=bool)
        samples = np.arange(len(rows)) if problem.sample_of is None else problem.sample_of
        bounded[rows[samples[at_bound]]] = True
        self.bounded_support_ = self.support_[bounded[self.support_]]
        self.free_support_ = self.support_[~bounded[self.support_]]

    @property
    def n_support_(self) -> Array:
        """Number of support vectors."""
        check_is_fitted(self)
        return np.array([len(self.support_)], dtype=np.int32)

    # -- judging ------------------------------------------------------------------------------

    def _certify(self, X: Any, y: Any, sample_weight: Any) -> Certificate:
        begun = time.perf_counter()
        problem, a, bias = self._stated(X, y, sample_weight)
        judgement = problem.judge(a, bias=bias)
        status = verdict(judgement, a, self.tol)
        return Certificate.of(judgement, self.n_iter_, time.perf_counter() - begun, status)

    def _stated(self, X: Any, y: Any, sample_weight: Any) -> tuple[DualQP, Array, Any]:
        """The problem stated again from the training data, and the fitted dual variables and
        bias."""
        check_is_fitted(self)
        X = new_table(self, X)
        targets = self._targets(y)
        require_fitted_rows(self, X, targets)
        bounds = self._bounds(sample_weights(sample_weight, X))
        rows = np.flatnonzero(bounds > 0)
        shift = self._origin(X, self._function)
        problem = self._stated_problem(X, targets, self._function, shift, bounds, rows)
        coefficients = np.zeros(X.shape[0])
        coefficients[self.support_] = dense(self.dual_coef_)[0]
        of_variables = coefficients[rows]
        if problem.sample_of is not None:
            of_variables = of_variables[problem.sample_of]
        a = np.maximum(0.0, problem.s * of_variables)
        a = self._completed(problem, a)
        intercept = float(self.intercept_[0] + self._bias_of_origin(shift)[0])
        return problem, a, self._bias_of(intercept)
