"""How margin classifiers are fitted and certified: one binary problem after another, then put
together.

They differ in a few places only, which subclasses fill in: the weights of rows and classes, the
upper bounds, the statement of a binary problem, the solver, and what becomes of a solution.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.operator import KernelFunction, KernelOperator, kernel_operator, origin
from lindero.labels import class_labels, known_codes
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array, dense
from lindero.solvers.solution import Certificate, Solution, Solver, Status
from lindero.svm.judging import certificate_of, verdict
from lindero.svm.kernel_classifier import CALIBRATION, KernelClassifier
from lindero.svm.margin_machine import require_fitted_rows, warn_if_indefinite
from lindero.svm.multiclass import BinaryTask, binary_tasks, split
from lindero.svm.progress import reporting
from lindero.svm.training import solve_all
from lindero.validation import (
    class_weights,
    kernel_function,
    new_table,
    require_every_class,
    sample_weights,
    training_table,
)


class MarginClassifier(KernelClassifier):
    """Abstract: several classes as binary margin problems."""

    probability: Any
    class_weight: Any
    cache_size: float
    verbose: bool
    callback: Any
    warm_start: bool

    #: What a user gave that weighs rows, for messages.
    _row_weights_name = "sample_weight"

    # -- what subclasses fill in --------------------------------------------------------------

    def _row_weights(self, given: Any, X: Any) -> tuple[Array, Array]:
        """How many rows each row counts for, and its factor of C, from what `fit` was given."""
        weights = sample_weights(given, X)
        return weights, weights

    def _weighed(self, weights: Array, classes: Array, codes: Array, y: Array) -> Array:
        """Weights times the factors of the classes, which are kept."""
        self.class_weight_ = class_weights(self.class_weight, classes, y, weights)
        if self.class_weight is None:
            return weights
        weights = weights * self.class_weight_[codes]
        require_every_class("class_weight", weights, codes, classes)
        return weights

    def _bounds(self, weights: Array) -> Array:
        """Upper bounds of the dual variables for rows of these weights."""
        raise NotImplementedError

    def _problem(self, kernel: KernelOperator, task: BinaryTask, bounds: Array) -> DualQP:
        """The problem of a task, over its rows of the kernel."""
        raise NotImplementedError

    def _solver(self, function: KernelFunction, shape: tuple[int, int]) -> Callable[..., Solver]:
        """A constructor of solvers for problems of `shape` at the most."""
        raise NotImplementedError

    @property
    def _fine_gap(self) -> float:
        """The KKT gap at which a solver may stop."""
        return self.tol

    def _tasks(self, codes: Array, n_classes: int, scheme: str, used: Array) -> list[BinaryTask]:
        """The binary problems of a fit."""
        return binary_tasks(codes, n_classes, scheme, used)

    def _require_feasible(self, tasks: Sequence[BinaryTask], bounds: Array, classes: Array) -> None:
        """Refuse parameters that no solution can meet, before any work is done."""

    def _recovered(self, solved: Sequence[tuple[DualQP, Solution]]) -> tuple[list[Array], Array]:
        """Coefficients and intercept of each machine, from its solution."""
        return [s.a for _, s in solved], np.array([s.bias for _, s in solved])

    def _solution_of(
        self, problem: DualQP, number: int, a: Array, intercept: float
    ) -> tuple[Array, Any]:
        """The inverse: dual variables and bias of a machine."""
        return a, intercept

    # -- fitting ------------------------------------------------------------------------------

    def _require_consistent(self) -> None:
        """Refuse parameters that contradict each other."""
        if self.probability not in (False, "deprecated"):
            raise ValueError("probability=True is not supported. " + CALIBRATION)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': ties between "
                "classes are broken by the values of decision_function_shape='ovr'."
            )

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> bool:
        begun = time.perf_counter()
        X, y = training_table(self, X, y)
        classes, codes = class_labels(y)
        counts, weights = self._row_weights(sample_weight, X)
        require_every_class(self._row_weights_name, weights, codes, classes)
        function = kernel_function(self, X, counts)
        bounds = self._bounds(self._weighed(weights, classes, codes, y))
        tasks = self._tasks(codes, len(classes), self.multiclass, bounds > 0)
        self._require_feasible(tasks, bounds, classes)
        shift = origin(X, function)
        solved, interrupted = self._solve(X, function, shift, bounds, tasks)

        solutions = [solution for _, solution in solved]
        alphas, intercepts = self._recovered(solved)
        self._adopt_expansion(X, function, shift, classes, codes, tasks, alphas, intercepts)
        self._split_support(tasks, solved)
        self._last_solutions = list(zip(tasks, solutions, strict=True)) if self.warm_start else None
        self.certificate_ = certificate_of(solved, time.perf_counter() - begun)
        self.n_iter_ = np.array([solution.n_iter for solution in solutions], dtype=np.int32)
        n_unfinished = sum(solution.status is not Status.OPTIMAL for solution in solutions)
        self.fit_status_ = int(n_unfinished > 0)
        if n_unfinished and not interrupted:
            self._warn_unfinished(X, n_unfinished, len(solutions))
        warn_if_indefinite(self._function, X, self.support_)
        return interrupted

    def _solve(
        self,
        X: Any,
        function: KernelFunction,
        shift: Array | None,
        bounds: Array,
        tasks: list[BinaryTask],
    ) -> tuple[list[tuple[DualQP, Solution]], bool]:
        """Each task's problem and solution, and whether the user interrupted."""
        shape = (max(len(task.rows) for task in tasks), X.shape[1])
        make_solver = self._solver(function, shape)
        state = self._statement(kernel_operator(X, function, shift=shift), bounds)
        with reporting(bool(self.verbose), self.callback) as callback:
            limits = self._limits(callback, len(tasks))
            starts = self._starts(tasks)
            solved = solve_all(
                tasks, state, make_solver, self._fine_gap, self.cache_size, starts, limits
            )
        return solved, limits.interrupted

    def _statement(self, kernel: KernelOperator, bounds: Array) -> Callable[[BinaryTask], DualQP]:
        def state(task: BinaryTask) -> DualQP:
            whole = len(task.rows) == len(bounds) and task.in_order
            over = kernel if whole else kernel.subset(task.rows)
            return self._problem(over, task, bounds[task.rows])

        return state

    def _starts(self, tasks: list[BinaryTask]) -> list[Solution | None]:
        """Solutions of the last fit for tasks of the same rows and signs."""
        last = getattr(self, "_last_solutions", None) if self.warm_start else None
        if last is None or len(last) != len(tasks):
            return [None] * len(tasks)
        return [
            solution
            if np.array_equal(task.rows, old.rows) and np.array_equal(task.signs, old.signs)
            else None
            for task, (old, solution) in zip(tasks, last, strict=True)
        ]

    def _split_support(
        self, tasks: Sequence[BinaryTask], solved: Sequence[tuple[DualQP, Solution]]
    ) -> None:
        """Which support vectors are at their bound (in any machine), and which are not."""
        bounded = np.zeros(self.shape_fit_[0], dtype=bool)
        for task, (problem, solution) in zip(tasks, solved, strict=True):
            bounded[task.rows[solution.a >= problem.u]] = True  # u > 0 for the rows of a task
        at_bound = bounded[self.support_]
        self.bounded_support_ = self.support_[at_bound]
        self.free_support_ = self.support_[~at_bound]

    # -- judging ------------------------------------------------------------------------------

    def certify(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from scratch, in float64, from the coefficients alone.

        Nothing of the solver's state is used: the problem is stated again from the training data
        and judges the fitted coefficients.

        Parameters
        ----------
        X, y, sample_weight
            The data given to `fit`.

        Returns
        -------
        certificate : Certificate
        """
        begun = time.perf_counter()
        parts = []
        for number, (_, problem, a, bias) in enumerate(self._stated(X, y, sample_weight)):
            judgement = problem.judge(a, bias=bias)
            status = verdict(judgement, a, self.tol)
            parts.append(Certificate.of(judgement, int(self.n_iter_[number]), 0.0, status))
        return Certificate.joined(parts, time.perf_counter() - begun)

    def _stated(
        self, X: Any, y: Any, sample_weight: Any
    ) -> list[tuple[BinaryTask, DualQP, Array, Any]]:
        """The task and problem of each machine, stated again from the training data, and the
        fitted dual variables and bias."""
        check_is_fitted(self)
        X = new_table(self, X)
        codes = known_codes(y, self.classes_)
        require_fitted_rows(self, X, codes)
        _, weights = self._row_weights(sample_weight, X)
        bounds = self._bounds(weights * self.class_weight_[codes])
        n_classes = len(self.classes_)
        tasks = self._tasks(codes, n_classes, self._scheme, bounds > 0)
        coefficients = dense(self.dual_coef_)
        alphas = split(tasks, self.support_, coefficients, len(codes), n_classes, self._scheme)
        shift = origin(X, self._function)
        state = self._statement(kernel_operator(X, self._function, shift=shift), bounds)
        intercepts = self.intercept_ + self._bias_of_origin(shift)
        stated = []
        for number, task in enumerate(tasks):
            problem = state(task)
            intercept = float(intercepts[number])
            a, bias = self._solution_of(problem, number, alphas[number], intercept)
            stated.append((task, problem, a, bias))
        return stated
