"""What users see of every machine that learns and forgets sample by sample.

Attributes that batch machines set are computed when looked at, from the machine that is held, so
that a stream of updates does not pay for them.

Insight comes without training again: leaving a sample out is the motion that forgets it, and going
back. The path in C is one motion of all bounds, from change to change of the active set; in
between, coefficients and intercept are linear in C. It is in one file with the estimators: it looks
at the same machine, and a third of the file is documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.errors import SolverError, warn_user
from lindero.kernels.growing import GrowingKernel
from lindero.kernels.operator import KernelFunction, kernel_operator, origin
from lindero.models.kernel_machine import KernelMachine
from lindero.notebook import link_documentation, write_card
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads, one_at_a_time
from lindero.solvers.active_set import BREAKDOWNS, ActiveSet
from lindero.solvers.solution import Certificate
from lindero.svm.incremental.machine import Answering, HeldModel, IncrementalMachine
from lindero.svm.incremental.window import WindowChoice, WindowLadder
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.twins import to_sklearn
from lindero.validation import (
    make_kernel_function,
    read_new_table,
    read_row_factors,
    validate_parameters,
)

#: Variables looked at when single samples are left out, at first.
_FEWEST_NEAR, _SHARE_NEAR = 64, 16

#: Fewer samples than this are left out before a second thread has started.
_FEW = 200

INCREMENTAL_CONSTRAINTS: dict[str, list[Any]] = {
    **{name: KERNEL_MACHINE_CONSTRAINTS[name] for name in ("degree", "gamma", "coef0")},
    "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid"}), callable],
    "window": [Interval(Integral, 2, None, closed="left"), None],
    "cache_size": KERNEL_MACHINE_CONSTRAINTS["cache_size"],
    "verbose": ["verbose"],
}

#: Of machines whose outputs can be judged by targets, which choose a window by that.
WINDOW_CONSTRAINTS: dict[str, list[Any]] = {
    "window": [*INCREMENTAL_CONSTRAINTS["window"], StrOptions({"auto"})],
    "max_window": [Interval(Integral, 2, None, closed="left")],
}


class IncrementalEstimator(BaseEstimator):  # type: ignore[misc]
    """Abstract. Subclasses say what a sample becomes, and what users may call to learn it."""

    #: The class of its formulation.
    _formulation: ClassVar[Any]

    #: The machine that answers, and those of other windows, where it is one of several.
    _machine: IncrementalMachine
    _windows: WindowLadder | None = None
    _function: KernelFunction

    _validate_params = validate_parameters
    _html_repr = write_card
    _get_doc_link = link_documentation

    def __lindero_kernel__(self) -> KernelFunction:
        return self._function

    # -- learning -----------------------------------------------------------------------------

    def _begin(self, X: Any, weights: Array, formulation: Any, may_shift: bool = True) -> None:
        """Hold an empty machine for rows like those of X."""
        function = self._choose_kernel(X, weights)
        shift = origin(X, function) if may_shift else None
        kernel = GrowingKernel(function, X.shape[1], shift, self.cache_size)
        active_set = ActiveSet(kernel, formulation.per_sample)
        self._function, self._gamma = function, function.gamma
        self.__dict__.pop("_windows", None)
        window = None if self.window == "auto" else self.window
        self._machine = IncrementalMachine(formulation, active_set, window, bool(self.verbose))
        if self.window == "auto":
            self._windows = WindowLadder(self._machine, self.max_window)

    def _learn(self, X: Any, targets: Array, factors: Array, ids: Any) -> None:
        """Learn samples that have been read, in all windows."""
        if self._windows is None:
            self._machine.learn(X, targets, factors, ids)
        else:
            self._windows.learn(X, targets, factors, ids)
            self._machine = self._windows.leading

    def _change(self, slots: Array, targets: Array, factors: Array) -> None:
        """Change samples, by their slots in the machine that holds all, in all windows."""
        if self._windows is None:
            self._machine.change(slots, targets, factors)
        else:
            self._windows.change(slots, targets, factors)
            self._machine = self._windows.leading

    @property
    def _all_machines(self) -> list[IncrementalMachine]:
        return [self._machine] if self._windows is None else self._windows.machines

    @property
    def _holder(self) -> IncrementalMachine:
        """The machine that holds all samples that any window holds."""
        machine = self._require_machine()
        return machine if self._windows is None else self._windows.longest

    def _choose_kernel(self, X: Any, weights: Array) -> KernelFunction:
        scaled = self.gamma == "scale" and self.kernel in ("rbf", "poly", "sigmoid")
        if not scaled or rows_vary(X[np.flatnonzero(weights)]):
            return make_kernel_function(self, X, weights)
        warn_user(
            "gamma='scale' is taken from the rows of the first call, and these do not vary: gamma "
            f"is 1/n_features = {1 / X.shape[1]:g} from now on, as if their variance were 1. Give "
            "more rows in the first call, or gamma a number.",
            UserWarning,
        )
        as_auto = copy(self)
        as_auto.gamma = "auto"
        return make_kernel_function(as_auto, X, weights)

    @one_at_a_time
    def forget(self, ids: Any) -> Self:
        """Remove samples: the model becomes the one that never saw them.

        Their rows, targets and ids, and all kernel values computed from them, are overwritten at
        once: neither the machine nor a file or pickle made from now on holds any of them. What the
        first rows have determined stays: `gamma`, where it is "scale", and the mean of rows that
        others are stored relative to, which is moved away where it is a row to be forgotten.

        Parameters
        ----------
        ids : int, str, or array-like of these
            Samples to forget, by their ids (see `sample_ids_`).

        Returns
        -------
        self : object
            The machine. A call that fails changes nothing at all.
        """
        machine = self._holder
        slots = machine.samples.find(ids)
        self._require_left(slots)
        if self._windows is None:
            machine.forget(slots)
        else:
            self._windows.forget(slots)
            self._machine = self._windows.leading
        return self

    def _require_left(self, slots: Array) -> None:
        """Refuse to forget everything."""
        if len(slots) >= len(self._holder.samples.slots):
            raise ValueError(
                "This would leave no sample at all. Learn another one first, or call fit to begin "
                "anew."
            )

    def _read_factors(self, values: Any, slots: Array, name: str) -> Array:
        """New factors of some samples held, one for all or a list."""
        return read_row_factors(give_each(values, slots, name), len(slots), name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_machine")

    def _require_machine(self) -> IncrementalMachine:
        if not hasattr(self, "_machine"):
            raise NotFittedError(
                f"This {type(self).__name__} holds no samples yet: call fit or partial_fit first."
            )
        return self._machine

    # -- attributes ---------------------------------------------------------------------------

    @property
    @one_at_a_time
    def _model(self) -> HeldModel:
        return self._require_machine().model

    @property
    @one_at_a_time
    def sample_ids_(self) -> Array:
        """Ids of the samples held, oldest first."""
        return self._require_machine().samples.ids

    @property
    def ids_(self) -> Array:
        """The same."""
        return self.sample_ids_

    @property
    @one_at_a_time
    def stored_ids_(self) -> Array:
        """The same, with samples of longer windows than the one that answers."""
        return self._holder.samples.ids

    @one_at_a_time
    def holds(self, id: int | str) -> bool:
        """Whether a sample is held, in any window, by its id: without listing all.

        Parameters
        ----------
        id : int or str
            An id, or anything else, which none is.

        Returns
        -------
        held : bool
        """
        return self._holder.samples.holds(id)

    @property
    @one_at_a_time
    def next_id_(self) -> int | None:
        """The id that the next sample gets where samples are counted; None where ids are chosen."""
        samples = self._holder.samples
        return None if samples.are_named else samples.next_id

    @one_at_a_time
    def name_samples(self) -> Self:
        """Choose the numbers of counted samples as their ids: further ones need ids, too.

        Returns
        -------
        self : estimator
        """
        self._require_machine()
        for machine in self._all_machines:
            machine.samples.name_by_numbers()
        return self

    @one_at_a_time
    def trim_updates(self, most: int) -> Self:
        """Keep the latest records of `updates_` only.

        Parameters
        ----------
        most : int
            Records to keep.

        Returns
        -------
        self : estimator
        """
        if most < 0:
            raise ValueError(f"most must be a number of records, not {most!r}.")
        self._require_machine()
        for machine in self._all_machines:
            machine.updates.keep_last(most, at_most=most)
        return self

    @property
    @one_at_a_time
    def window_(self) -> int | None:
        """The length of the window that answers."""
        return self._require_machine().window

    @property
    @one_at_a_time
    def window_history_(self) -> Array:
        """The length of the window over time."""
        return self._look_at_choice().make_history()

    @property
    @one_at_a_time
    def window_cuts_(self) -> Array:
        """Rows at which the window was cut."""
        return np.array(self._look_at_choice().cuts, dtype=np.int64)

    def _look_at_choice(self) -> WindowChoice:
        """That of windows, or one of which nothing has been asked."""
        self._require_machine()
        return WindowChoice([1]) if self._windows is None else self._windows.choice

    @property
    @one_at_a_time
    def updates_(self) -> Array:
        """A record for each update."""
        return self._require_machine().updates.as_array()

    @property
    @one_at_a_time
    def shape_fit_(self) -> tuple[int, int]:
        """Number of samples held, and of features."""
        return len(self._require_machine().samples.slots), self.n_features_in_

    @property
    def support_(self) -> Array:
        """Positions of the support vectors among the samples held."""
        return self._model.support

    @property
    @one_at_a_time
    def bounded_support_(self) -> Array:
        """Positions of the support vectors whose coefficients are at their bounds."""
        return self.support_[self._machine.find_bounded()[self.support_]]

    @property
    @one_at_a_time
    def free_support_(self) -> Array:
        """Positions of the support vectors whose coefficients are below their bounds."""
        return self.support_[~self._machine.find_bounded()[self.support_]]

    @property
    def support_vectors_(self) -> Any:
        """The support vectors."""
        return self._model.vectors

    @property
    def dual_coef_(self) -> Any:
        """Coefficients of the support vectors."""
        return self._like_vectors(self._model.coefficients)

    @property
    def coef_(self) -> Any:
        """Weights of the features; for the linear kernel only."""
        name = self._function.name if hasattr(self, "_machine") else self.kernel
        if name != "linear":
            raise AttributeError(
                f"coef_ is only available when kernel='linear', not kernel={name!r}."
            )
        return self._like_vectors(self._model.weights)

    def _like_vectors(self, values: Any) -> Any:
        return sp.csr_array(values) if sp.issparse(self._model.vectors) else values

    @property
    def intercept_(self) -> Array:
        """Constant of the function."""
        return np.array([self._model.intercept])

    # -- insight ------------------------------------------------------------------------------

    @one_at_a_time
    def leave_one_out(self) -> Array:
        """Decision values (of a regression, predictions) for each sample held, by the machine that
        never saw it. Exact.

        Returns
        -------
        values : ndarray of shape (n_held,)
            In the order of `sample_ids_`.
        """
        return leave_one_out(self._require_machine())

    @property
    def certificate_(self) -> Certificate:
        """How near the model is to the optimum: what `certify` says."""
        return self.certify()

    @one_at_a_time
    def certify(self) -> Certificate:
        """Compute the certificate from scratch, from the coefficients and the samples alone; in
        extended precision where rounding matters.

        The status says "Optimal" where the KKT gap is at most 1e-5, times the largest margin or
        target where that is larger than 1, and times the values of the function of a one-class
        machine where these are smaller.

        Returns
        -------
        certificate : Certificate
        """
        return self._require_machine().certify()

    # -- copies -------------------------------------------------------------------------------

    @one_at_a_time
    def freeze(self) -> Self:
        """A copy that predicts as the machine does now, whatever this learns or forgets later: for
        other threads, which then never wait for an update. It holds the support vectors and no
        other sample, so that it cannot learn, forget or certify.

        Returns
        -------
        frozen : object
        """
        frozen = type(self).__new__(type(self))
        state = {**vars(self), "_machine": Answering(self._require_machine().model)}
        state.pop("_windows", None)
        frozen.__dict__ = state
        return frozen

    to_sklearn = one_at_a_time(to_sklearn)

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        # Another thread may go on learning before this is written.
        if "_windows" in state:
            state = {**state, "_windows": state["_windows"].copy_whole()}
            del state["_machine"]
        elif "_machine" in state:
            state = {**state, "_machine": deepcopy(state["_machine"])}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._windows is not None:
            self._machine = self._windows.leading

    # -- for scikit-learn ---------------------------------------------------------------------

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """Names of the parameters, read once: that takes longer than a small fit."""
        return super()._get_param_names()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def rows_vary(X: Any) -> bool:
    """Whether two rows differ."""
    if sp.issparse(X):
        return bool((X.max(axis=0) != X.min(axis=0)).nnz) if X.shape[0] else False
    return bool((X[1:] != X[:1]).any())


def give_each(values: Any, slots: Array, name: str) -> Array:
    """A value for each of some samples, from one for all or a list."""
    given = np.atleast_1d(np.asarray(values))
    if given.shape == (1,) and len(slots) != 1:
        return np.repeat(given, len(slots))
    if given.shape != (len(slots),):
        raise ValueError(
            f"{name} has shape {given.shape}, but there are {len(slots)} ids: pass one value, "
            "or one for each id."
        )
    return given


# -- insight -------------------------------------------------------------------------------------


def leave_one_out(machine: IncrementalMachine) -> Array:
    """The output at each sample of the machine that never saw it."""
    point, samples, slots = machine.active_set.point, machine.samples, machine.samples.slots
    if len(slots) < 2:
        raise ValueError("leave_one_out needs two samples at least.")
    if machine.formulation.by_class:
        taking_part = samples.alive & (samples.factors > 0.0)
        counts = np.bincount(samples.targets[taking_part].astype(np.intp), minlength=2)
        if counts.min() < 2:
            raise ValueError(
                "leave_one_out needs two samples of each class at least, of positive cost: "
                f"{counts[0]} and {counts[1]} are held."
            )
    values: Array = point.f[slots] + machine.find_bias()
    free = (point.a > 0.0) & (point.a < point.u)
    carries = point.z[slots] != 0.0
    if not free.any() or point.delta != 0.0:
        # The bias lies between samples, any of which may be one of its ends; or the sum is a
        # share of all samples, and changes with any of them.
        carries[:] = True
    places = np.flatnonzero(carries)
    stop: list[bool] = []
    with TileThreads(1 if len(places) < _FEW else None) as threads:
        workers = [machine, *(machine.make_twin() for _ in range(threads.n_threads - 1))]

        def work(number: int) -> None:
            _leave_out(workers[number], places[number :: len(workers)], values, stop)

        try:
            threads.map(work, range(len(workers)))
        except BaseException:
            stop.append(True)
            raise
    return values


def _leave_out(machine: IncrementalMachine, places: Array, values: Array, stop: list[bool]) -> None:
    """Fill in `values` at some places among the samples held."""
    active_set, slots = machine.active_set, machine.samples.slots
    active_set.look_around(_FEWEST_NEAR + active_set.point.n_variables // _SHARE_NEAR)
    with active_set.try_out(often=True) as go_back:
        for place in places:
            if stop:
                break
            variables = machine.variables_of(slots[place : place + 1])
            machine.move(variables, np.zeros(len(variables)), gone=True)
            values[place] = active_set.point.f[slots[place]] + machine.find_bias()
            go_back()


@dataclass(frozen=True)
class PenaltyPath:
    """The solutions for all C between two values.

    Attributes
    ----------
    C : ndarray of shape (n_breakpoints,)
        The values of C at which the margin changes, with the two ends, in the order of the path;
        one is repeated where several samples change at once.
    coefficients : ndarray of shape (n_breakpoints, n_held)
        Signed coefficients of the samples held, in the order of `sample_ids_`.
    intercepts : ndarray of shape (n_breakpoints,)
        The constants.
    function : KernelFunction or None
        The kernel.
    vectors : ndarray or CSR array of shape (n_held, n_features) or None
        The samples held, which the path goes on holding when the machine forgets them.
    """

    C: Array
    coefficients: Array
    intercepts: Array
    function: KernelFunction | None = field(default=None, repr=False)
    vectors: Any = field(default=None, repr=False)

    def decision_function(self, X: Any) -> Array:
        """The values of all solutions of the path; between two they are linear in C.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows to judge.

        Returns
        -------
        values : ndarray of shape (n_breakpoints, n_rows)
            Of a regression, predictions.
        """
        if self.function is None:
            raise ValueError("This path knows no samples: take it from `path` of the machine.")
        used = np.flatnonzero(self.coefficients.any(axis=0))
        rows = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.vectors.shape[1]:
            raise ValueError(
                f"X has shape {rows.shape}, but the samples of the path have "
                f"{self.vectors.shape[1]} features."
            )
        if not len(used):
            return np.repeat(self.intercepts[:, None], rows.shape[0], axis=1)
        vectors = self.vectors[used]
        kernel = kernel_operator(vectors, self.function, shift=origin(vectors, self.function))
        machine = KernelMachine(kernel, self.coefficients[:, used], self.intercepts)
        return machine.decision_values(rows).T

    def at(self, C: float) -> tuple[Array, float]:
        """Coefficients and intercept for a value of C within the path.

        Parameters
        ----------
        C : float
            Between the ends of the path.

        Returns
        -------
        coefficients : ndarray of shape (n_held,)
        intercept : float
        """
        low, high = sorted((float(self.C[0]), float(self.C[-1])))
        if not low <= C <= high:
            raise ValueError(f"C={C:g} is not on the path, which goes from {low:g} to {high:g}.")
        rising = slice(None, None, 1 if self.C[-1] >= self.C[0] else -1)
        values, coefficients, b = self.C[rising], self.coefficients[rising], self.intercepts[rising]
        right = min(max(int(np.searchsorted(values, C)), 1), len(values) - 1)
        left = right - 1
        span = float(values[right] - values[left])
        share = 0.0 if span == 0.0 else (C - float(values[left])) / span
        between = (1 - share) * coefficients[left] + share * coefficients[right]
        return between, float((1 - share) * b[left] + share * b[right])


# -- what is saved --------------------------------------------------------------------------------


@one_at_a_time
def state_of(estimator: IncrementalEstimator) -> dict[str, Any]:
    """What is saved of an estimator beside its parameters."""
    state = {k: v for k, v in vars(estimator).items() if k not in estimator._get_param_names()}
    machine = state.pop("_machine", None)
    # A copy: another thread may go on learning before it is written.
    if "_windows" in state:
        windows = state["_windows"].copy_whole()
        return {**state, "_windows": windows, **windows.leading.state()}
    return state if machine is None else {**state, **machine.copy_whole().state()}


def restore_formulation(estimator: IncrementalEstimator, field: Callable[[str], Any]) -> Any:
    """The formulation of which `field` hands out what was saved."""
    kind = estimator._formulation
    return kind.from_fields({name: field(name) for name in kind.FIELDS.values()})


def adopt_state(estimator: IncrementalEstimator, state: dict[str, Any]) -> None:
    """Have an unfitted estimator take up what was saved."""
    if not state:
        return
    formulation = restore_formulation(estimator, state.__getitem__)
    machine = IncrementalMachine.from_state(formulation, state, bool(estimator.verbose))
    own = {name: value for name, value in state.items() if name not in machine.state()}
    estimator.__dict__.update(own, _machine=machine)
    if estimator._windows is not None:
        estimator._windows.complete(machine)


# -- methods that only some estimators have --------------------------------------------------------


def decision_function(self: IncrementalEstimator, X: Any) -> Array:
    """Signed values: positive on the side of ``classes_[1]``, or inside the region.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to judge.

    Returns
    -------
    values : ndarray of shape (n_samples,)
    """
    self._require_machine()
    return self._model.decision_values(read_new_table(self, X))


@one_at_a_time
def path(self: IncrementalEstimator, C_from: float, C_to: float) -> PenaltyPath:
    """The solutions for all values of C between two, exactly.

    Coefficients and intercept are piecewise linear in C; the path has a row for each
    breakpoint. The model itself stays as it is.

    Parameters
    ----------
    C_from, C_to : float
        The ends, positive and finite.

    Returns
    -------
    path : PenaltyPath
    """
    machine = self._require_machine()
    for name, value in (("C_from", C_from), ("C_to", C_to)):
        if not isinstance(value, Real) or not 0.0 < value < np.inf:
            raise ValueError(f"{name} must be positive and finite, got {value!r}.")
    active_set, point, slots = machine.active_set, machine.active_set.point, machine.samples.slots
    if point.lost:
        raise ValueError(
            f"The {machine.kernel.function.name} kernel is not positive semi-definite on these "
            "data: its solutions form no path in C."
        )
    samples, formulation = machine.samples, machine.formulation
    _, _, u = replace(formulation, C=1.0).state_samples(samples.targets, samples.factors)
    per_unit = np.where(np.repeat(samples.alive, formulation.per_sample), u, 0.0)
    taking_part = np.flatnonzero(per_unit > 0.0)
    first, last = C_from * per_unit[taking_part], C_to * per_unit[taking_part]
    rows: list[tuple[float, Array, float]] = []

    def record(share: float) -> None:
        # A variable that has just come to the margin fixes the constant from there on.
        bias = point.bias if len(point.free) else machine.find_bias()
        C = C_to if share == 1.0 else C_from + share * (C_to - C_from)
        rows.append((C, point.z[slots], bias - machine.bias_of_origin(point.z)))

    with active_set.try_out(often=False):
        machine.move(taking_part, first)
        record(0.0)
        try:
            active_set.scale_bounds(taking_part, last, record)
        except BREAKDOWNS:
            raise SolverError(
                f"Rounding in double precision hides the path in C beyond {rows[-1][0]:.6g}. "
                "Take a shorter path, or scale the features."
            ) from None
        while len(rows) > 1 and rows[-1][0] == C_to:
            rows.pop()
        record(1.0)  # again, with rounding settled
    values, coefficients, intercepts = zip(*rows, strict=True)
    return PenaltyPath(
        np.array(values), np.array(coefficients), np.array(intercepts), machine.kernel.function,
        machine.kernel.rows.take(slots),
    )  # fmt: skip
