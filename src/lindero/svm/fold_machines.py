"""One split of a table as each estimator of a search sees it: its problems, its fitted models.

What is done here to the training part is what `fit` of the estimator does to a table, so that the
models are the same; only the solving is left to `fold_path`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from lindero.kernels.operator import KernelFunction, KernelOperator
from lindero.problems.dual_qp import DualQP
from lindero.problems.margin import margin_problem
from lindero.problems.tube import tube_problem
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Status
from lindero.svm.fold_path import Machine, Solved, Split
from lindero.svm.judging import certificate_of
from lindero.svm.multiclass import BinaryTask, binary_tasks
from lindero.svm.parameters import upper_bounds
from lindero.svm.svc import SVC
from lindero.svm.svr import SVR
from lindero.validation import class_weights, kernel_function, require_every_class

Estimator = TypeVar("Estimator")


class _KnowsValidationRows:
    """Put before an estimator: the outputs for its validation rows are known already.

    Scorers are given it with just those rows. For any others it is the estimator that it is.
    """

    _known: tuple[Any, Array] | None = None

    def know(self, X: Any, values: Array) -> None:
        """Remember the outputs for the rows of X."""
        self._known = (X, values)

    def _values(self, X: Any) -> Array:
        if self._known is not None and X is self._known[0]:
            return self._known[1]
        computed: Array = super()._values(X)  # type: ignore[misc]
        return computed


class FoldSVC(_KnowsValidationRows, SVC):
    """A classifier fitted to the training part of a fold."""


class FoldSVR(_KnowsValidationRows, SVR):
    """A regressor fitted to the training part of a fold."""


class ClassifierFold:
    """The binary problems of one split (see `fold_path.Fold`)."""

    def __init__(
        self,
        template: FoldSVC,
        X: Any,
        y: Array,
        weights: Array,
        classes: Array,
        codes: Array,
        split: Split,
    ) -> None:
        number, self.train, self.test = split
        self.X_train, self.X_test = parts(X, self.train, self.test, template.kernel)
        self.template = template
        self.classes = classes
        self.codes = codes[self.train]
        weights = weights[self.train]
        missing = np.bincount(self.codes, minlength=len(classes)) == 0
        if missing.any():
            raise ValueError(
                f"Fold {number} of cv has no training row of class "
                f"{classes[int(np.argmax(missing))]!s}. Use fewer folds, or a splitter that keeps "
                "the shares of the classes (sklearn.model_selection.StratifiedKFold), or leave "
                "classes of very few rows out."
            )
        where = f"In the training rows of fold {number} of cv, sample_weight"
        require_every_class(where, weights, self.codes, classes)
        self.row_weights = weights
        self.class_weight = class_weights(template.class_weight, classes, y[self.train], weights)
        self.weights = weights
        if template.class_weight is not None:
            self.weights = weights * self.class_weight[self.codes]
            require_every_class("class_weight", self.weights, self.codes, classes)
        self.tasks = binary_tasks(self.codes, len(classes), template.multiclass, self.weights > 0)
        self.machines: Sequence[Machine] = [
            Machine(task.rows, partial(self._state, task)) for task in self.tasks
        ]

    def _state(self, task: BinaryTask, kernel: KernelOperator, C: float) -> DualQP:
        return margin_problem(kernel, task.signs, upper_bounds(C, self.weights)[task.rows])

    def function(self, gamma: Any) -> KernelFunction:
        return kernel_function(at(self.template, 1.0, gamma), self.X_train, self.row_weights)

    def fitted(
        self, C: float, gamma: Any, function: KernelFunction, shift: Array | None, solved: Solved
    ) -> FoldSVC:
        model: FoldSVC = at(self.template, C, gamma)
        solutions = [solution for _, solution in solved]
        model.n_features_in_ = self.X_train.shape[1]
        model.class_weight_ = self.class_weight
        model._adopt_expansion(
            self.X_train, function, shift, self.classes, self.codes, self.tasks,
            [s.a for s in solutions], np.array([s.bias for s in solutions]),
        )  # fmt: skip
        model._split_support(self.tasks, solved)
        model._fitted_C = C
        model.certificate_ = certificate_of(solved, sum(s.seconds for s in solutions))
        model.n_iter_ = np.array([s.n_iter for s in solutions], dtype=np.int32)
        model.fit_status_ = int(any(s.status is not Status.OPTIMAL for s in solutions))
        return model


class RegressorFold:
    """The one problem of one split (see `fold_path.Fold`)."""

    def __init__(
        self,
        template: FoldSVR,
        X: Any,
        y: Array,
        weights: Array,
        split: Split,
    ) -> None:
        number, self.train, self.test = split
        self.X_train, self.X_test = parts(X, self.train, self.test, template.kernel)
        self.template = template
        self.weights = weights[self.train]
        self.rows = np.flatnonzero(self.weights > 0)
        if len(self.rows) == 0:
            raise ValueError(
                f"sample_weight is zero for all training rows of fold {number} of cv. Use other "
                "folds, or leave rows of weight zero out."
            )
        self.y = y[self.train[self.rows]]
        self.machines: Sequence[Machine] = [Machine(self.rows, self._state)]

    def _state(self, kernel: KernelOperator, C: float) -> DualQP:
        bounds = upper_bounds(C, self.weights)[self.rows]
        return tube_problem(kernel, self.y, bounds, self.template.epsilon)

    def function(self, gamma: Any) -> KernelFunction:
        return kernel_function(at(self.template, 1.0, gamma), self.X_train, self.weights)

    def fitted(
        self, C: float, gamma: Any, function: KernelFunction, shift: Array | None, solved: Solved
    ) -> FoldSVR:
        ((problem, solution),) = solved
        model: FoldSVR = at(self.template, C, gamma)
        model.n_features_in_ = self.X_train.shape[1]
        coefficients = problem.at_samples(problem.s * solution.a)
        held = np.flatnonzero(coefficients)
        support = self.rows[held]
        model._adopt_vectors(
            function,
            self.X_train[support] if function.name != "precomputed" else self.X_train[:0],
            support,
            coefficients[None, held],
            np.array([solution.bias]),
            self.X_train.shape,
            shift,
        )
        model._split_support(problem, solution, self.rows)
        model._fitted_C = C
        model._fitted_epsilon = model.epsilon
        model.certificate_ = certificate_of(solved, solution.seconds)
        model.n_iter_ = solution.n_iter
        model.fit_status_ = int(solution.status is not Status.OPTIMAL)
        return model


def parts(X: Any, train: Array, test: Array, kernel: Any) -> tuple[Any, Any]:
    """Training and validation rows; of a kernel matrix only the columns of training rows."""
    if isinstance(kernel, str) and kernel == "precomputed":
        return X[np.ix_(train, train)], X[np.ix_(test, train)]
    return X[train], X[test]


def at(template: Estimator, C: float, gamma: Any) -> Estimator:
    """A copy of an unfitted estimator at a point of the grid, without the checks of `set_params`:
    a search makes thousands."""
    copied = object.__new__(type(template))
    copied.__dict__ = {**vars(template), "C": C}
    if gamma is not None:
        copied.__dict__["gamma"] = gamma
    return copied
