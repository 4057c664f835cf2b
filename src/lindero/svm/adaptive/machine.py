"""What both adaptive estimators share: parameters, and what they say of the path they hold.

The work is done by the `CoupledPath` in `_path`. A fit is done on a copy, which the estimator
becomes at the end: a call that fails changes nothing. `partial_fit` changes the path at its end.
Threads that learn wait for each other; those that ask meanwhile have the model as it was.

On a stream the work is done by the `StreamedPath` in `_stream` instead. Everything that is asked of
a machine is answered here by one or the other: one class, and so one file, longer than most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lindero.errors import warn_user
from lindero.notebook import link_documentation, write_card
from lindero.problems.coupled import CoupledMargin, CoupledTube
from lindero.runtime.arrays import Array, dense
from lindero.runtime.threads import one_at_a_time
from lindero.solvers.solution import Certificate, Limits
from lindero.svm.adaptive.coupling import COUPLINGS, CouplingTrials
from lindero.svm.adaptive.drift import describe_stream, warn_of_speed
from lindero.svm.adaptive.path import CoupledPath, Effort, PathParameters
from lindero.svm.adaptive.places import METRICS, read_places
from lindero.svm.adaptive.stream import StreamedPath, StreamParameters
from lindero.svm.adaptive.stream_history import StreamCertificate, StreamHistory
from lindero.svm.adaptive.times import TimeAxis
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.progress import reporting
from lindero.transaction import changing_aside, fitting_aside, sharing_state
from lindero.validation import (
    read_further_table,
    read_new_table,
    read_row_factors,
    read_sample_weights,
    read_training_table,
    require_computable,
    validate_parameters,
)

#: Couplings, as numbers, up to which `partial_fit` extends an exact path.
_EXACT_UP_TO = 1e5

#: Numbers that no kernel's check need look at: their squares stay far from overflow.
_SURELY_COMPUTABLE = 1e60


def _find_on_path(name: str, meaning: str) -> Any:
    """A property that is an attribute of the path of a fitted machine."""

    def find(machine: AdaptiveMachine) -> Any:
        path = machine._fitted_path()
        with path.held():
            return getattr(path, name)

    return property(find, doc=meaning)


class AdaptiveMachine(BaseEstimator):  # type: ignore[misc]
    """Abstract. Subclasses read targets and say which problems their machines solve."""

    #: One of the two, once something was learned.
    _path: CoupledPath
    _stream: StreamedPath
    _fitted_state = ("_path", "_stream", "_labels", "_declared")

    _validate_params = validate_parameters
    _html_repr = write_card
    _get_doc_link = link_documentation

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: KERNEL_MACHINE_CONSTRAINTS[name]
            for name in (
                "degree", "gamma", "coef0", "tol", "cache_size", "verbose", "max_iter",
                "time_limit", "callback",
            )
        },
        "C": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
        "coupling": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
        "graph": [StrOptions({"time", "space"}), "sparse matrix", "array-like"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(set(METRICS))],
        "kernel": [StrOptions({"auto", "linear", "poly", "rbf", "sigmoid"}), callable],
        "time_weighted": ["boolean"],
        "blend": [Interval(Integral, 1, None, closed="left")],
        "n_scale": [Interval(Real, 0.0, None, closed="neither"), None],
        "horizon": [Interval(Integral, 1, None, closed="left"), None],
        "lag_tol": [Interval(Real, 0.0, None, closed="neither")],
        "online": [StrOptions({"auto", "exact", "filter"})],
        "scale": [StrOptions({"auto"}), "boolean"],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }  # fmt: skip

    # -- what subclasses fill in --------------------------------------------------------------

    def _read_first(self, X: Any, y: Any, classes: Any = None) -> tuple[Any, Array]:
        """The table of a first call, and a number for each target."""
        raise NotImplementedError

    def _read_further(self, X: Any, y: Any) -> tuple[Any, Array]:
        """The same of later calls."""
        raise NotImplementedError

    def _require_weights(self, weights: Array, targets: Array) -> None:
        """Refuse weights that leave a class without samples."""

    def _losses(self) -> Sequence[CoupledMargin | CoupledTube]:
        """What each machine asks of its hyperplanes."""
        raise NotImplementedError

    def _code_stream(self, y: Array, classes: Any) -> Array:
        """Targets of a stream as numbers; may change `classes_` and the labels of the stream."""
        raise NotImplementedError

    @property
    def _tube(self) -> float | None:
        """ε of a regression, in deviations of the targets where a stream is scaled."""
        return None

    # -- fitting ------------------------------------------------------------------------------

    def _effort(self) -> Effort:
        return Effort(self.tol, self.cache_size, self.horizon, self.lag_tol)

    @contextmanager
    def _limits(self, n_problems: int) -> Iterator[Limits]:
        """Limits of one call, which report to the callback, and to a progress bar if `verbose`."""
        most = None if self.max_iter < 0 else self.max_iter
        quiet = nullcontext(self.callback)
        with reporting(True, self.callback) if self.verbose else quiet as callback:
            yield Limits(most, self.time_limit, callback, n_problems)

    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        times: Any = None,
        positions: Any = None,
    ) -> Self:
        """Fit to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels, or targets of a regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for each row. A row of weight zero keeps its place in the graph, and has a
            hyperplane, but its label or target is ignored.
        times : array-like of shape (n_samples,), default=None
            When each row was seen: numbers, dates or durations, in any order. Rows of the same
            time follow each other as they are given. None is the order of the rows.
        positions : array-like of shape (n_samples, n_coordinates), default=None
            Where each row is, for graphs other than time: what neighbours are found by, and what
            predictions then need, too. None is the features themselves.

        Returns
        -------
        self : estimator
            The fitted estimator. A call that fails leaves it as it was; one that is interrupted
            (Ctrl-C) leaves the best model so far.
        """
        with fitting_aside(self) as attempt:
            fitted = attempt.estimator
            X, targets = fitted._read_first(X, y)
            weights = read_sample_weights(sample_weight, X)
            fitted._require_weights(weights, targets)
            attempt.interrupted = fitted._begin_path(X, targets, weights, times, positions)
        return self

    def _begin_path(
        self, X: Any, targets: Array, weights: Array, times: Any, positions: Any = None
    ) -> bool:
        """Hold samples, choose the coupling, solve for everything. Whether the user interrupted."""
        parameters, losses, effort = PathParameters.of(self), self._losses(), self._effort()
        places = None
        if positions is not None:
            places = read_places(positions, X.shape[0], self.metric)
        path = CoupledPath(parameters, losses, X, targets, weights, times, places)
        n_trials = len(COUPLINGS) if parameters.coupling == "auto" else 0
        with self._limits(n_trials + len(losses)) as limits:
            if n_trials:
                path.coupling = CouplingTrials(path, parameters, X, limits, effort).choose()
            path.solve(limits, effort, n_trials)
        self._path = path
        return limits.interrupted

    def _can_extend(self) -> bool:
        """Whether `partial_fit` is there: along time, with hyperplanes or features."""
        if not (isinstance(self.graph, str) and self.graph == "time"):
            raise AttributeError("partial_fit is for graph='time' only: call fit with all samples.")
        if callable(self.kernel):
            raise AttributeError(
                "partial_fit is for kernels that are named, 'auto', 'linear', 'rbf', 'poly' and "
                "'sigmoid': call fit with all samples."
            )
        if not self._follows_stream and self.kernel not in ("auto", "linear"):
            raise AttributeError(
                "partial_fit with online='exact' is for kernel='linear': call fit with all "
                "samples, or set online='filter'."
            )
        if hasattr(self, "_path") and self._path.trail is None:
            raise AttributeError(
                "The machine was fitted on another graph or kernel: call fit again."
            )
        return True

    @property
    def _follows_stream(self) -> bool:
        """Whether `partial_fit` follows the stream by filters, and does not extend a path."""
        if hasattr(self, "_stream") or self.online != "auto":
            return hasattr(self, "_stream") or bool(self.online == "filter")
        if self.coupling == "auto" or self.kernel not in ("auto", "linear"):
            return True
        return float(self.coupling) > _EXACT_UP_TO

    @property
    def _takes_missing(self) -> bool:
        """Whether values of X may be missing: on a stream that is scaled, where they are means."""
        return hasattr(self, "_stream") and self._stream.parameters.scaled

    @property
    def _begins_with_fit(self) -> bool:
        """Whether `partial_fit` needs a `fit` before it, to choose the coupling by."""
        begun = hasattr(self, "_path") or hasattr(self, "_stream")
        return not begun and not self._follows_stream and bool(self.coupling == "auto")

    @one_at_a_time
    def _extend_path(
        self, X: Any, y: Any, times: Any, sample_weight: Any, classes: Any = None
    ) -> Self:
        """What `partial_fit` does: begin a path with these samples, or append them to it; or let a
        stream go on."""
        if self._follows_stream:
            return self._extend_stream(X, y, times, sample_weight, classes)
        if hasattr(self, "_path"):
            X, targets = self._read_further(X, y)
            if sp.issparse(X):
                X = X.toarray()
            factors = read_row_factors(sample_weight, X.shape[0], "sample_weight")
            if not np.abs(X).max(initial=0.0) < _SURELY_COMPUTABLE:
                require_computable(X, self._path.function)
            with self._limits(len(self._path.losses)) as limits:
                self._path.extend(X, targets, factors, times, limits, self._effort())
            return self
        with fitting_aside(self) as attempt:
            fitted = attempt.estimator
            X, targets = fitted._read_first(X, y, classes)
            if self.coupling == "auto":
                raise ValueError(
                    "coupling='auto' needs samples to choose by: call fit with the first ones, "
                    "then partial_fit."
                )
            factors = read_row_factors(sample_weight, X.shape[0], "sample_weight")
            if fitted._begin_path(X, targets, factors, times):
                raise KeyboardInterrupt("Learning was interrupted. Nothing was changed.")
        return self

    def _extend_stream(self, X: Any, y: Any, times: Any, sample_weight: Any, classes: Any) -> Self:
        """Begin a stream with these samples, after those of a path if there is one, or go on."""
        known = hasattr(self, "_stream")
        read = read_further_table if known or hasattr(self, "_path") else read_training_table
        with changing_aside(self) as changed:
            if not known:
                changed._begin_stream(times)
            X, y = read(changed, X, y, y_numeric=changed._tube is not None)
            rows = np.ascontiguousarray(dense(X), dtype=np.float64)
            factors = read_row_factors(sample_weight, len(rows), "sample_weight")
            stream = changed._stream
            stream.require_computable(rows)
            numbers, order = stream.read_times(times, len(rows))
            codes = changed._code_stream(np.asarray(y)[order], classes)
            same = getattr(changed, "_labels", None) is getattr(self, "_labels", None)
            if known and not (same and stream.learns_at_once(len(rows))):
                changed._stream = stream = stream.copy()
            stream.learn(rows[order], codes, factors[order], numbers[order])
        self._tell_rescaled()
        return self

    def _begin_stream(self, times: Any) -> None:
        """A stream that has learned nothing, or the rows of the path."""
        gamma = None if isinstance(self.gamma, str) else float(self.gamma)
        parameters = StreamParameters(
            C=None if self.C == "auto" else float(self.C),
            coupling=None if self.coupling == "auto" else float(self.coupling),
            kernel=self.kernel, gamma=gamma, coef0=float(self.coef0), degree=float(self.degree),
            n_components=self.n_components, scaled=self.scale is not False,
            time_weighted=self.time_weighted, tube=self._tube,
        )  # fmt: skip
        path = self.__dict__.pop("_path", None)
        if path is None:
            self._stream = StreamedPath(parameters, TimeAxis.of(times))
            return
        samples = path.samples
        if not samples.X.shape[1]:
            raise ValueError("The machine was fitted with a kernel: call fit again.")
        self._stream = StreamedPath(parameters, path.axis)
        codes = samples.targets
        if self._tube is None:
            codes = self._code_stream(self.classes_[samples.targets.astype(np.intp)], None)
        self._stream.learn(samples.X, codes, samples.factors, samples.times)

    def _tell_rescaled(self) -> None:
        """Warn of columns that have had another unit or level lately."""
        names = getattr(self, "feature_names_in_", None)
        for row, column, before, after in self._stream.fetch_rescaled():
            title = f"{column}" if names is None else f"{names[column]!r}"
            warn_user(
                f"Column {title} has another scale from about row {row} of the stream on: its "
                f"values vary by {after:.3g}, before by {before:.3g}. Has its unit changed? It is "
                "scaled anew from there.",
                UserWarning,
            )

    def release_memory(self) -> Self:
        """Drop what is held only so that the next `partial_fit` begins quickly.

        It is as much as some rows times the square of the features, and is made anew when it is
        needed: predictions, and what is learned later, stay the same within the tolerance.

        Returns
        -------
        self : object
        """
        if not hasattr(self, "_stream"):  # which holds nothing of the kind
            self._fitted_path().release()
        return self

    # -- what was fitted ----------------------------------------------------------------------

    def _fitted_path(self, name: str = "", linear: bool = False, time: bool = False) -> CoupledPath:
        """The path; refused to `name` where it must be linear, or along time, and is not."""
        check_is_fitted(self)
        if hasattr(self, "_stream"):
            raise AttributeError(
                f"{name or 'This'} is not there on a stream, which keeps no rows: call fit, or set "
                "online='exact' and give coupling a number."
            )
        path = self._path
        if time and path.kind != "time":
            raise AttributeError(f"{name} is only available when graph='time'.")
        if linear and not path.linear:
            raise AttributeError(
                f"{name} is only available when kernel='linear', not kernel={path.function.name!r}."
            )
        return path

    def _outputs(self, X: Any, times: Any, positions: Any = None) -> Array:
        """The output of each machine for each row of X: (n_rows, n_machines)."""
        known = sharing_state(self)
        check_is_fitted(known)
        X = read_new_table(known, X)
        if hasattr(known, "_stream"):
            if positions is not None:
                raise ValueError("positions are for graphs other than 'time': leave them out.")
            rows = np.ascontiguousarray(dense(X), dtype=np.float64)
            return known._read_answers(known._stream.answer_at(rows, times))
        return known._path.values(X, times, positions)

    def _read_answers(self, answers: Array) -> Array:
        """What a stream answers, as outputs of machines."""
        return answers

    def _sort_planes(self, planes: Array) -> Array:
        """Hyperplanes of the machines of a stream, (machines, …), in the order of machines here."""
        return planes

    @property
    def coef_(self) -> Array:
        """Weights of the features at each row, for the linear kernel only."""
        if hasattr(self, "_stream"):
            return _one_or_all(self._sort_planes(self._stream.list_planes())[:, :, :-1])
        path = self._fitted_path("coef_", linear=True)
        with path.held():
            return path.samples.by_row(_one_or_all(path.theta[:, :, :-1]), -2)

    @property
    def intercept_(self) -> Array:
        """Constant of the decision function at each row."""
        if hasattr(self, "_stream"):
            return _one_or_all(self._sort_planes(self._stream.list_planes())[:, :, -1])
        path = self._fitted_path()
        with path.held():
            return path.samples.by_row(_one_or_all(path.theta[:, :, -1]), -1)

    @property
    def times_(self) -> Array:
        """The time of each row."""
        if hasattr(self, "_stream"):
            return self._stream.list_times()
        path = self._fitted_path("times_", time=True)
        with path.held():
            return path.samples.by_row(path.samples.given, 0)

    @property
    def coupling_(self) -> float:
        """The coupling used; on a stream the present one."""
        if hasattr(self, "_stream"):
            return self._stream.coupling
        return float(self._fitted_path("coupling_").coupling)

    @property
    def C_(self) -> float:  # noqa: N802
        """C as it is used; on a stream the present one."""
        if hasattr(self, "_stream"):
            return self._stream.C
        return float(self._fitted_path("C_").C)

    @property
    def n_scale_(self) -> float:
        """n of the penalty, as it was used; on a stream the rows that the coupling reaches."""
        if hasattr(self, "_stream"):
            return float(np.sqrt(self._stream.coupling))
        return float(self._fitted_path("n_scale_").n_scale)

    @property
    def history_(self) -> StreamHistory:
        """How the experts of a stream have fared."""
        check_is_fitted(self)
        if not hasattr(self, "_stream"):
            raise AttributeError("history_ is there on a stream only: learn by partial_fit.")
        return self._stream.tell_history()

    support_ = _find_on_path("support", "Rows that are support vectors.")
    n_iter_ = _find_on_path(
        "n_iter", "Steps of the solver for each machine in the last fit of everything."
    )

    @property
    def fit_status_(self) -> int:
        """0 if the optimum was reached, 1 otherwise."""
        return self._fitted_path().find_status(self.tol)

    @property
    def shape_fit_(self) -> tuple[int, int]:
        """Number of samples held, on a stream of those learned, and of features."""
        if hasattr(self, "_stream"):
            return self._stream.n_rows, self._stream.n_columns
        path = self._fitted_path()
        with path.held():
            return path.shape

    @property
    def support_vectors_(self) -> Any:
        """The support vectors."""
        path = self._fitted_path()
        if path.vectors is not None:
            return path.vectors
        with path.held():
            return path.samples.by_row(path.samples.X, 0)[path.support]

    @property
    def dual_coef_(self) -> Array:
        """Multipliers of the support vectors, with their signs."""
        path = self._fitted_path()
        with path.held():
            return path.dual_coefficients()

    # -- drift --------------------------------------------------------------------------------

    @property
    def drift_(self) -> Array:
        """How far the hyperplane of each row is from that of the instant before."""
        if hasattr(self, "_stream"):
            return self._stream.measure_drift()
        path = self._fitted_path("drift_", linear=True, time=True)
        with path.held():
            return path.samples.by_row(_find_drift(path.theta), 0)

    def changepoints(self, k: int = 1, separation: int | None = None) -> Array:
        """The rows at which hyperplanes changed most.

        First the stretch of time over which they moved farthest from where they were, so that
        samples which pull there and back do not count; in it the row of the largest `drift_`. Then
        the same again for what is far enough in time from it, and so on.

        Parameters
        ----------
        k : int, default=1
            How many to find.
        separation : int or None, default=None
            How many samples two stretches must be apart at the least; each is half as long. None
            is half of what `k` changes at equal distances would be apart.

        Returns
        -------
        rows : ndarray of shape (k,)
            In the order of time; ``times_[rows]`` are their times. Fewer where no more are that
            far apart. On a stream, numbers of rows at which changes were noticed to have begun, the
            `k` with the most evidence.
        """
        if hasattr(self, "_stream"):
            if not isinstance(k, Integral) or k < 1:
                raise ValueError(f"k={k!r} must be a whole number, at least 1.")
            return self._stream.find_changes(int(k))
        path = self._fitted_path("changepoints", linear=True, time=True)
        with path.held():
            n_nodes, theta, row_of = path.n_nodes, path.theta.copy(), path.samples.rows.copy()
        if not isinstance(k, Integral) or not 1 <= k < n_nodes:
            raise ValueError(
                f"k={k!r} must be a whole number between 1 and {n_nodes - 1}, one less than the "
                "number of rows."
            )
        if separation is not None and (not isinstance(separation, Integral) or separation < 1):
            raise ValueError(
                f"separation={separation!r} must be a whole number of samples, at least 1, or None."
            )
        apart = max(1, n_nodes // (2 * (k + 1))) if separation is None else int(separation)
        half = max(1, apart // 4)
        nodes = np.arange(n_nodes)
        ends = np.minimum(nodes + half - 1, n_nodes - 1), np.maximum(nodes - half, 0)
        moved = np.linalg.norm(theta[:, ends[0]] - theta[:, ends[1]], axis=(0, 2))
        moved[0] = -1.0
        drift = _find_drift(theta)
        found: list[int] = []
        while len(found) < k and moved.max() >= 0.0:
            at = int(np.argmax(moved))
            first = max(1, at - half + 1)
            found.append(first + int(np.argmax(drift[first : at + half])))
            moved[max(0, at - apart + 1) : at + apart] = -1.0
        rows: Array = row_of[np.unique(found)]
        return rows

    def describe_drift(self, feature_names: Any = None) -> list[str]:
        """Say when the boundary of a stream changed, along which columns, and how fast it moves.

        Parameters
        ----------
        feature_names : sequence of str or None, default=None
            What to call the columns; None is as they were named in X, or by number.

        Returns
        -------
        sentences : list of str
        """
        check_is_fitted(self)
        if not hasattr(self, "_stream"):
            raise AttributeError("describe_drift is for streams: learn by partial_fit.")
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        elif len(feature_names) != self.n_features_in_:
            raise ValueError(
                f"feature_names has {len(feature_names)} names, but there are "
                f"{self.n_features_in_} columns."
            )
        return describe_stream(self._stream, feature_names)

    def warn_unreliable(self) -> str | None:
        """Say so, where a stream changes faster than it can be learned.

        Returns
        -------
        warning : str or None
        """
        return warn_of_speed(self._stream) if hasattr(self, "_stream") else None

    # -- judging ------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate | StreamCertificate:
        """How near the model is to the optimum; after `partial_fit`, of the last window."""
        if hasattr(self, "_stream"):
            return self._stream.certify()
        return self._fitted_path().certificate(self.tol)

    def certify(self) -> Certificate | StreamCertificate:
        """Judge all hyperplanes from scratch, by nothing but the samples held and multipliers.

        After `partial_fit` this tells how far the path as a whole is from the one that `fit` would
        find with the scale ``n_scale_``.

        Returns
        -------
        certificate : Certificate
        """
        if hasattr(self, "_stream"):
            return self._stream.certify()
        path = self._fitted_path("certify", linear=True)
        with path.held():
            return path.judge(0, self.tol)

    # -- for scikit-learn ---------------------------------------------------------------------

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """Names of the parameters, read from the signature once."""
        return super()._get_param_names()

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())  # which is the very dict of the estimator
        if "_path" in state:
            state["_path"] = state["_path"].keep()
        if "_stream" in state:
            state["_stream"] = state["_stream"].copy()
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_path") or hasattr(self, "_stream")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _one_or_all(values: Array) -> Array:
    """Values of machines, without that axis where there is one machine only."""
    return values[0] if len(values) == 1 else values


def _find_drift(theta: Array) -> Array:
    """How far the hyperplane of each node is from that of the node before, over all machines."""
    steps = np.diff(theta, axis=1)
    drift = np.zeros(theta.shape[1])
    drift[1:] = np.sqrt(np.einsum("mij,mij->i", steps, steps))
    return drift
