"""The base of kernel machines: how they are fitted, asked and judged.

    rows, targets, weights  →  TrainingSet  →  fit_machines  →  fitted attributes

Estimators read their tables, choose a formulation and a solver, and leave the rest to
`KernelEstimator`, their only base. It goes this way on a copy of itself that it becomes at the
end, and answers for it afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lindero.devices.homes import Home, to_host
from lindero.devices.rows import DeviceRows
from lindero.errors import warn_user
from lindero.kernels.operator import KernelFunction, kernel_operator, origin
from lindero.models.kernel_machine import KernelMachine, linear_values
from lindero.notebook import link_documentation, write_card
from lindero.problems.formulation import Formulation
from lindero.runtime.arrays import Array, dense
from lindero.runtime.partitioned import answering_partitions, fitting_partitions
from lindero.solvers.solution import Callback, Certificate, Limits, Solver, Status
from lindero.svm.fitted_machines import FittedMachines, adopt_solutions, find_starts
from lindero.svm.fitting import Functions, Solved, TrainingSet, fit_machines
from lindero.svm.following import (
    answering_at_home,
    fit_at_home,
    pack_attributes,
    to_cpu,
    to_device,
    unpack_attributes,
)
from lindero.svm.judging import (
    certify_from_scratch,
    certify_solutions,
    name_gap,
    restate,
    warn_if_indefinite,
)
from lindero.svm.multiclass import pick_classes, shape_decisions, take_labels
from lindero.svm.probability import DEPRECATED, fit_curves
from lindero.svm.progress import reporting
from lindero.svm.twins import to_sklearn
from lindero.transaction import fitting_aside
from lindero.validation import (
    advise_scaling,
    encode_known_labels,
    read_new_table,
    read_numeric_targets,
    read_sample_weights,
    validate_parameters,
)

BREAK_TIES = (
    "break_ties must be False when decision_function_shape is 'ovo': ties between classes are "
    "broken by the values of decision_function_shape='ovr'."
)


class MachineOptions(NamedTuple):
    """Choices that only some estimators leave to the user, by the names of their parameters."""

    solver: str = "working_set"
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    probability: bool | str = "deprecated"
    random_state: Any = None


class KernelEstimator(BaseEstimator):  # type: ignore[misc]
    """Abstract. Estimators write `_read`, and the others of its first methods where they differ."""

    kernel: Any
    tol: float
    cache_size: float
    max_iter: int
    time_limit: float | None
    callback: Callback | None
    verbose: bool
    warm_start: bool
    certificate_: Certificate
    classes_: Array
    n_iter_: Any
    _machines_: FittedMachines
    _home_: Home

    #: The formulation that it solves.
    _formulation: ClassVar[type[Formulation]]

    #: Whether callable kernels may be over text and other objects.
    _takes_objects: ClassVar[bool] = True

    #: Whether machines keep their support vectors; those that do not keep weights alone.
    _keeps_vectors: ClassVar[bool] = True

    #: Whether fits may run on a device.
    _runs_on_devices: ClassVar[bool] = False

    #: Private names that only some fits set.
    _fitted_state: ClassVar[tuple[str, ...]] = ("_probA", "_probB", "_libsvm_order")

    _validate_params = validate_parameters
    _html_repr = write_card
    _get_doc_link = link_documentation

    # -- fitting ------------------------------------------------------------------------------

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        """Check the data of a fit, set what they determine, and say what is to be solved."""
        raise NotImplementedError

    def _options(self) -> MachineOptions:
        return MachineOptions()

    def _solve(
        self,
        training: TrainingSet,
        make_solver: Callable[..., Solver],
        tol: float,
        limits: Limits,
        last: FittedMachines | None,
    ) -> tuple[TrainingSet, Solved]:
        """The solutions of all tasks, and the rows as these see them: a machine that finds labels
        has more to say of them than before."""
        starts = find_starts(training, last)
        [solved] = fit_machines([training], make_solver, tol, self.cache_size, limits, starts)
        return training, solved

    def _finish(self, functions: Functions, training: TrainingSet, solved: Solved) -> None:
        """Set what only this kind of estimator has, from the function of each task."""

    def _make_feasible(self, training: TrainingSet) -> TrainingSet:
        """The problem of a part of the rows, changed where it has no solution."""
        return training

    def _approximate(self, training: TrainingSet) -> TrainingSet:
        """The rows of a fit, given once more, as they were seen in it."""
        return training

    def _find_widths(self, weights: Array) -> Iterable[float]:
        """What ν-machines found besides their functions (see `KernelExpansion`)."""
        return np.zeros(len(self.intercept_))

    @fitting_partitions
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) if precomputed. `SVC`
            and `SVR` with ``kernel="linear"`` take Dask arrays and dataframes too, and then y and
            weights of Dask's (see `lindero.scale.fit`). Tensors and arrays on a CUDA card are
            computed there by machines that can (see ``docs/devices.md``).
        y : array-like of shape (n_samples,)
            Class labels, or targets of a regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, a factor of C where there is one; rows of weight zero are left out.

        Returns
        -------
        self : object
            The fitted estimator: as it was if fit fails, with the best model so far on Ctrl-C.
        """
        return self._fit_aside(X, y, sample_weight)

    def _fit_aside(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit a copy where X is, and become it."""
        last = getattr(self, "_machines_", None) if self.warm_start else None

        def fit(read: Callable[[], tuple[Any, Any, Any]], settle: Callable[[Any], None]) -> None:
            with fitting_aside(self) as attempt:
                attempt.interrupted = attempt.estimator._fit(*read(), last)
                settle(attempt.estimator)

        fit_at_home(fit, X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, last: FittedMachines | None) -> bool:
        """Set all fitted attributes; whether the fit was interrupted. `last` is where a warm start
        goes on from."""
        begun, options = time.perf_counter(), self._options()
        if options.probability != "deprecated":
            warn_user(DEPRECATED, FutureWarning)
        training = self._read(X, y, sample_weight)
        make_solver = training.choose_solver(options.solver)
        tol = self.tol * training.formulation.unit
        with self._reporting() as callback:
            limits = self._limits(callback, len(training.tasks))
            training, solved = self._solve(training, make_solver, tol, limits, last)
        solved, parts = certify_solutions(solved, tol)
        functions = adopt_solutions(self, training, solved)
        self.certificate_ = Certificate.join(parts, time.perf_counter() - begun)
        n_unfinished = sum(solution.status is not Status.OPTIMAL for _, solution in solved)
        if n_unfinished and not limits.interrupted:
            self._warn_unfinished(training, n_unfinished)
        if training.features is None:
            warn_if_indefinite(training.function, training.X, self.support_)
        self.certificate_ = name_gap(self.certificate_, training.formulation)
        self._finish(functions, training, solved)
        if options.probability not in (False, "deprecated"):
            fit_curves(self, training, limits)
        return limits.interrupted

    def _limits(self, callback: Callback | None, n_problems: int) -> Limits:
        return Limits(
            max_iter=None if self.max_iter < 0 else self.max_iter,
            time_limit=self.time_limit,
            callback=callback,
            n_problems=n_problems,
        )

    def _reporting(self) -> AbstractContextManager[Callback | None]:
        """The user's callback, with a progress bar added if it is wanted."""
        return reporting(True, self.callback) if self.verbose else nullcontext(self.callback)

    def _warn_unfinished(self, training: TrainingSet, n_unfinished: int) -> None:
        certificate, n_machines = self.certificate_, len(training.tasks)
        which = f" ({n_unfinished} of {n_machines} machines)" if n_machines > 1 else ""
        if certificate.status in (Status.PRECISION.value, Status.UNPROVEN.value):
            scale_free = training.formulation.scale_free  # and so without a C
            advice = "Raise tol." if scale_free else "Lower C, or raise tol."
        else:
            advice = (
                "Raise max_iter or time_limit (warm_start=True goes on from here), or raise tol."
            )
        # The words that filters of warnings look for.
        first = ""
        if certificate.status == Status.ITERATION_LIMIT.value:
            first = (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing "
                "your data with StandardScaler or MinMaxScaler. "
            )
        warn_user(
            f"{first}{certificate.status}{which} The gap left is {certificate.kkt_gap:.3g}, tol is "
            f"{self.tol:.3g}. {advice}" + advise_scaling(training.X, training.function),
            ConvergenceWarning,
        )

    # -- the model ----------------------------------------------------------------------------

    def _values(self, X: Any) -> Array:
        """The output of each machine for each row of X: (n_rows, n_machines)."""
        values = self._outputs(X)
        return values if isinstance(values, np.ndarray) else np.asarray(to_host(values))

    def _outputs(self, X: Any) -> Any:
        """The same where X is: a tensor of rows on a device."""
        if not hasattr(self, "_machines_"):  # the check itself takes as long as a few rows
            check_is_fitted(self)
        machines = self._machines_
        if machines.known is not None and X is machines.known[0]:
            return machines.known[1]
        return self._evaluate(read_new_table(self, X))

    def _evaluate(self, X: Any) -> Any:
        """The same for checked rows."""
        machines = self._machines_
        if isinstance(X, DeviceRows):
            if machines.weights is not None:
                return X.products(machines.weights, self.intercept_)
            return X.evaluate(
                self.support_vectors_, machines.function, dense(self.dual_coef_), self.intercept_,
                machines.group_sizes,
            )  # fmt: skip
        if machines.weights is not None:
            return linear_values(X, machines.weights, self.intercept_)
        vectors, function = self.support_vectors_, machines.function
        if function.name == "precomputed":
            X = vectors = X[:, self.support_]
        machine = KernelMachine(
            kernel=kernel_operator(vectors, function, shift=origin(vectors, function)),
            coefficients=dense(self.dual_coef_),
            intercepts=self.intercept_,
            group_sizes=machines.group_sizes,
        )
        return machine.decision_values(X)

    @answering_partitions
    @answering_at_home
    def predict(self, X: Any) -> Any:
        """The class of each row, or the value of the regression there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
        """
        options = self._options()
        if options.break_ties and options.decision_function_shape == "ovo":
            raise ValueError(BREAK_TIES)
        values = self._outputs(X)
        if self._machines_.n_support is None:
            return values[:, 0]
        return take_labels(self.classes_, self._pick(values))

    def _pick(self, values: Any) -> Any:
        """The codes of the classes that the outputs of all machines decide for."""
        scheme, break_ties = self._machines_.scheme, self._options().break_ties
        return pick_classes(values, len(self.classes_), scheme, break_ties)

    def _shape(self, values: Any) -> Any:
        """The outputs of all machines as `decision_function` gives them."""
        if self._machines_.n_support is None:
            return values[:, 0]
        shape = self._options().decision_function_shape
        return shape_decisions(values, len(self.classes_), self._machines_.scheme, shape)

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row per machine; for the linear kernel only."""
        machines = getattr(self, "_machines_", None)
        kernel = machines.function.name if machines else self.kernel
        if kernel != "linear":
            raise AttributeError(
                f"coef_ is only available when kernel='linear', not kernel={kernel!r}."
            )
        check_is_fitted(self)
        weights = self._machines_.weights
        assert weights is not None
        if "_home_" in vars(self):
            return self._home_.give(weights)
        if sp.issparse(self.dual_coef_):
            return sp.csr_array(weights)
        coef = weights.view()
        coef.flags.writeable = False  # predictions would not follow what is written here
        return coef

    @property
    def n_support_(self) -> Array:
        """Number of support vectors, of each class if there are classes."""
        check_is_fitted(self)
        of_classes = self._machines_.n_support
        if of_classes is None:
            of_classes = np.array([self.support_.shape[0]], dtype=np.int32)
        return self._home_.give(of_classes) if "_home_" in vars(self) else of_classes

    def __lindero_kernel__(self) -> KernelFunction:
        """For `find_kernel`."""
        return self._machines_.function

    @property
    def _gamma(self) -> float:
        """The number that gamma was in the fit, by the name that scikit-learn has for it."""
        return self._machines_.function.gamma

    to_sklearn = to_sklearn
    to_cpu, to_device = to_cpu, to_device

    def __getstate__(self) -> Any:
        return pack_attributes(self, super().__getstate__())

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        unpack_attributes(self)

    # -- judging ------------------------------------------------------------------------------

    @answering_at_home
    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from scratch, from the coefficients alone.

        Nothing of the solver's state is used: the problem is stated again from the training data
        and judges the fitted coefficients. Kernel sums are in float64 or, where its rounding could
        matter to `tol`, in extended precision; where that cannot be had (see
        ``docs/reliability.md``), `accuracy` of the certificate says what rounding may add.

        Parameters
        ----------
        X, y, sample_weight
            The data given to `fit`.

        Returns
        -------
        certificate : Certificate
        """
        begun = time.perf_counter()
        training, restated = restate(self, *self._read_again(X, y, sample_weight))
        tol = self.tol * training.formulation.unit
        weights: Any = [None] * len(restated)
        if training.formulation.keeps_weights:
            weights = self._machines_.weights
        parts = [
            certify_from_scratch(problem, a, bias, int(n_iter), tol, w)
            for (_, problem, a, bias), n_iter, w in zip(
                restated, np.atleast_1d(self.n_iter_), weights, strict=True
            )
        ]
        certificate = Certificate.join(parts, time.perf_counter() - begun)
        return name_gap(certificate, training.formulation)

    def _read_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
        """Rows, targets and weights of the fit, given once more. Other data than those of the fit
        are refused, as far as their number tells."""
        check_is_fitted(self)
        X, targets, n_fitted = read_new_table(self, X), None, self.shape_fit_[0]
        if self._machines_.n_support is not None:
            targets = encode_known_labels(y, self.classes_)
        elif is_regressor(self):
            targets = read_numeric_targets(y)
        if n_fitted == 0:
            raise ValueError(
                f"This {type(self).__name__} was read from a model file, which does not say what "
                "it was trained with, or fitted to partitions, whose certificate_ is all there is: "
                "it can predict, but not be judged."
            )
        if X.shape[0] != n_fitted or (targets is not None and len(targets) != n_fitted):
            raise ValueError(
                f"The data given to fit are needed: {n_fitted} rows, but X has {X.shape[0]}"
                + ("." if targets is None else f" and y has {len(targets)}.")
            )
        return X, targets, self._weigh_again(X, targets, sample_weight)

    def _weigh_again(self, X: Any, targets: Any, sample_weight: Any) -> Array:
        weights = read_sample_weights(sample_weight, X)
        if self._machines_.n_support is None:
            return weights
        factors: Array = self.class_weight_[targets]
        return weights * factors

    # -- for scikit-learn ---------------------------------------------------------------------

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """Names of the parameters, read from the signature once: a small fit is shorter than
        looking at it."""
        return super()._get_param_names()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.array_api_support = True
        return tags


# Regions have one of their own, regressions none.
@answering_partitions
@answering_at_home
def decision_function(self: KernelEstimator, X: Any) -> Any:
    """Signed distance-like values: how far each row is on a class's side.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to judge; of shape (n_samples, n_training_rows) if the kernel is precomputed.

    Returns
    -------
    values : ndarray
        Shape (n_samples,) for two classes: positive on the side of ``classes_[1]``. With more,
        one column per class, or per pair of classes if ``decision_function_shape="ovo"`` (and
        ``multiclass="ovo"``).
    """
    return self._shape(self._outputs(X))
