"""What classifiers with a penalty C share, and those with ν lack: bounds, solver, leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindero.kernels.operator import KernelFunction
from lindero.runtime.arrays import Array
from lindero.solvers.choose import choose_solver
from lindero.solvers.solution import Solver
from lindero.svm.leave_one_out import left_out_values
from lindero.svm.margin_classifier import MarginClassifier
from lindero.svm.parameters import upper_bounds
from lindero.svm.progress import reporting


class PenaltyClassifier(MarginClassifier):
    """Abstract: binary margin problems whose errors cost C times a weight."""

    C: float
    solver: str

    def _bounds(self, weights: Array) -> Array:
        self._fitted_C = getattr(self, "_fitted_C", self.C)
        return upper_bounds(self._fitted_C, weights)

    def _solver(self, function: KernelFunction, shape: tuple[int, int]) -> Callable[..., Solver]:
        return choose_solver(self.solver, function, shape, hard=bool(np.isinf(self.C)))

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Decision values of each training row from a machine trained without that row. Exact.

        Rows that are not support vectors need no work: the machine is the same without them. All
        parameters of the fit are kept, those derived from data (``gamma="scale"``,
        ``class_weight="balanced"``) included, and so are `max_iter` and `time_limit`. Solutions
        go to a thousandth of `tol`.

        Parameters
        ----------
        X, y, sample_weight
            The data given to `fit`.

        Returns
        -------
        values : ndarray
            In the shape of `decision_function`. For two classes, their signs are the predictions,
            and ``np.mean((values > 0) != (y == model.classes_[1]))`` is the leave-one-out error.
        """
        stated = self._stated(X, y, sample_weight)
        for _, problem, _, _ in stated:
            if min((problem.s > 0).sum(), (problem.s < 0).sum()) < 2:
                raise ValueError(
                    "leave_one_out needs two samples of each class at least: a class has a single "
                    "sample of positive weight, and no machine can be trained without it."
                )
        values = self._values(X)
        with reporting(bool(self.verbose), self.callback) as callback:
            limits = self._limits(callback, len(self.support_))
            for number, (task, problem, a, _) in enumerate(stated):
                make_solver = self._solver(self._function, (len(task.rows), self.n_features_in_))
                values[task.rows, number] = left_out_values(
                    problem, a, make_solver, self._fine_gap, self.cache_size, limits
                )
        return self._shaped(values)
