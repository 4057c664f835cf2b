"""Classification by hyperplanes that follow a changing concept.

Half of it is documentation of what users touch, which belongs to one class, and so to one file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from lindero.problems.coupled import CoupledMargin
from lindero.runtime.arrays import Array, dense
from lindero.solvers.solution import Callback
from lindero.svm.adaptive.machine import AdaptiveMachine
from lindero.svm.adaptive.path import decide, make_margins
from lindero.transaction import sharing_state
from lindero.validation import (
    encode_labels,
    find_classes,
    keep_parameters,
    make_plain_labels,
    read_declared_classes,
    read_further_table,
    read_new_table,
    read_training_table,
    require_every_class,
    require_one_kind,
    require_same_kind,
)


def _answers_probabilities(machine: Any) -> bool:
    """Whether `predict_proba` is there: on a stream."""
    if not hasattr(machine, "_stream"):
        raise AttributeError(
            "predict_proba is there on a stream only, after partial_fit with coupling='auto': see "
            "lindero.svm.calibrated for probabilities of other machines."
        )
    return True


class AdaptiveSVC(ClassifierMixin, AdaptiveMachine):  # type: ignore[misc]
    """Support vector classification with a hyperplane for each sample, neighbours kept close.

    Where a concept changes in time or differs from place to place, no single hyperplane is right.
    Here sample i has its own, (w_i, b_i), and those of neighbours on a graph may differ, at a
    price::

        min  1/2n Σ ‖w_i‖² + coupling/2n Σ_links weight (‖w_i − w_j‖² + (b_i − b_j)²) + C Σ ξ_i
        s.t. y_i (w_i·x_i + b_i) ≥ 1 − ξ_i,  ξ_i ≥ 0

    A very large coupling gives the plain machine, a very small one a hyperplane for each sample.
    Along time the optimum is found in time linear in the number of samples. Several classes are
    one machine for each class against the rest.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Penalty of errors (C₃ in [1]_). ``"auto"`` is 1 in `fit`; on a stream, experts try 0.01 to
        10.
    coupling : float or "auto", default="auto"
        Price of a difference between neighbours (C₂ in [1]_). ``"auto"`` in `partial_fit`: experts
        with couplings from 10 to 1e9 learn side by side, weighted by how well they predict. In fit
        powers of ten are tried and the one that predicts best is taken; along time, each block of
        rows is predicted before it is learned; on other graphs, by 5-fold cross-validation. That
        takes about as long as 100 fits, but at most half of `time_limit`.
    graph : {"time", "space"} or sparse matrix, default="time"
        ``"time"`` links each sample to the next, in the order of the `times` given to `fit`, or of
        the rows. ``"space"`` links two rows if either is among the `n_neighbors` nearest of the
        other, by the `positions` given to `fit`, or by their features. A matrix holds the weight of
        the link between each two rows: symmetric, not negative; its diagonal is ignored. Parts that
        are not linked are independent; one with a single class has w = 0 and b = its label.
    n_neighbors : int, default=5
        Neighbours of each row for ``graph="space"``, fewer than there are rows; of ties the first.
    metric : {"euclidean", "great-circle"}, default="euclidean"
        How far apart two places are. ``"great-circle"`` is for `positions` that are latitude and
        longitude in degrees.
    kernel : {"auto", "linear", "poly", "rbf", "sigmoid"} or callable, default="auto"
        ``"auto"`` is linear in `fit`; on a stream, experts with hyperplanes and experts with
        features of the rbf kernel beside the columns. There other kernels are features, too, and a
        callable cannot be used. In `fit`, kernels other than the linear one are far slower, and on
        graphs other than time hold 16 bytes for each two rows that are linked, directly or not; a
        callable takes two arrays of rows and returns the kernel matrix between them.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"auto"`` is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    time_weighted : bool, default=False
        Whether links over long gaps of time weigh less: the median gap divided by the gap, between
        1e-9 and 1000. Samples of the same time get 1000. Otherwise all links weigh 1.
    blend : int, default=1
        For graphs other than time: predict by the functions of this many nearest training rows,
        weighted by 1/distance.
    n_scale : float or None, default=None
        n of the penalty. None is the number of samples; `partial_fit` then keeps it until their
        number has doubled. On a stream, set it to the length of the data that C was chosen for:
        otherwise errors weigh more and more as the stream goes on.
    horizon : int or None, default=None
        How many samples before the new ones `partial_fit` may change at most; None is as many as
        `lag_tol` requires. Older hyperplanes still influence new ones, but no longer change, which
        costs accuracy where the coupling reaches farther back. All change when n is updated.
    lag_tol : float, default=1e-3
        How far hyperplanes may be off after `partial_fit`, relative to their size, because they
        are no longer changed.
    online : {"auto", "exact", "filter"}, default="auto"
        What `partial_fit` does. ``"exact"`` extends the path of hyperplanes, all rows being kept.
        ``"filter"`` follows the stream by filters, in the same time for each row and in bounded
        memory (`n_scale`, `horizon`, `lag_tol`, `tol`, `max_iter`, `time_limit` and `callback` do
        nothing there): the last hyperplane points nearly to where the exact one does, and earlier
        ones are kept at some instants only. ``"auto"`` is exact for linear machines whose coupling
        is a number up to 1e5, and filters otherwise.
    scale : {"auto", True, False}, default="auto"
        Whether filters see columns in units of their running mean and deviation, in which outliers
        count little, a missing value is the mean, and a change of units is noticed. ``"auto"`` is
        True; use False in a pipeline that scales. `fit` and exact paths never scale.
    n_components : int or None, default=None
        Number of features of a kernel on a stream; None is 100, fewer on wide tables and with many
        classes.
    tol : float, default=1e-6
        Duality gap, relative to the objective, at which fitting stops. For kernels other than the
        linear one its square root is the tolerance of the optimality conditions.
    cache_size : float, default=200
        Megabytes for kernel rows, where the kernel is not linear.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit on the iterations of the solver for each machine; -1 is none.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress` as fitting goes on. Returning
        True stops it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_samples, n_features)
        The path of hyperplanes: weights of the features at each row, in the order of the rows
        given; on a stream at up to 513 instants, `times_`. A new array each time. With more than
        two classes of shape (n_classes, n_samples, n_features). For the linear kernel only.
    intercept_ : ndarray of shape (n_samples,)
        Their constants; with more than two classes of shape (n_classes, n_samples).
    times_ : ndarray of shape (n_samples,)
        The time of each row, or its number where none were given; for ``graph="time"`` only.
    drift_ : ndarray of shape (n_samples,)
        Distance of the hyperplane (w, b) of each row from that of the sample before, over all
        machines; 0 for the first. For ``graph="time"`` and the linear kernel only.
    coupling_ : float
        The coupling used; on a stream the mean over experts, by weight. Its square root is the
        number of rows that matter.
    C_ : float
        C as it is used; on a stream the same mean.
    history_ : StreamHistory
        On a stream: coupling, C and losses along the way, and the changes that were noticed.
    n_scale_ : float
        n of the penalty, as it was used; on a stream the rows that matter.
    certificate_ : Certificate
        KKT gap, primal and dual objective, iterations, seconds and why fitting stopped. After
        `partial_fit` that of the window solved last; `certify` judges everything. On a stream a
        StreamCertificate: how far behind the best single expert it is, and can be.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors, of any machine.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.
    dual_coef_ : ndarray of shape (n_machines, n_SV)
        Their multipliers times the label; at most C times their weight.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    n_iter_ : ndarray of shape (n_machines,)
        Iterations of the solver for each machine in the last fit of everything.
    fit_status_ : int
        0 if the optimum was reached, 1 otherwise.
    shape_fit_ : tuple of int
        Number of samples held, and of features.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    AdaptiveSVR : The same for numbers.
    IncrementalSVC : One hyperplane, to which samples are added and from which they are removed.
    lindero.evaluation.prequential : Test on a stream, then learn from it.

    Notes
    -----
    Offsets b are coupled like weights, so scale the features first, to the order of 1. On a stream
    that is done inside.

    After `partial_fit` the hyperplanes are those of a fit of all samples with the same `n_scale_`,
    up to `lag_tol`. If some features are many times larger than others, rounding can exceed it.

    Times are compared as float64. Dates are counted in seconds from the first, whole numbers beyond
    2**53 from the smallest. Times that still cannot be told apart are refused.

    References
    ----------
    .. [1] G. L. Grinblat, P. M. Granitto, H. A. Ceccatto, "Máquinas de Vectores Soporte
       Adaptativas", Inteligencia Artificial, Revista Iberoamericana de Inteligencia Artificial
       12(40), 39-52, 2008.
    .. [2] G. L. Grinblat, L. C. Uzal, H. A. Ceccatto, P. M. Granitto, "Solving Nonstationary
       Classification Problems With Coupled Support Vector Machines", IEEE Transactions on Neural
       Networks 22(1), 37-51, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import AdaptiveSVC
    >>> X = np.tile([[-1.0], [1.0]], (40, 1))
    >>> y = np.repeat([1, -1], 40) * X[:, 0]  # the concept turns around half way
    >>> model = AdaptiveSVC(coupling=10.0).fit(X, y)
    >>> model.predict([[1.0], [1.0]], times=[10, 70])
    array([ 1., -1.])
    >>> model.predict([[1.0]])  # the future: the last hyperplane
    array([-1.])
    >>> abs(int(model.changepoints(1)[0]) - 40) <= 1
    True
    """

    def __init__(
        self,
        *,
        C: float | str = "auto",
        coupling: float | str = "auto",
        graph: Any = "time",
        n_neighbors: int = 5,
        metric: str = "euclidean",
        kernel: str | Callable[[Any, Any], Any] = "auto",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        time_weighted: bool = False,
        blend: int = 1,
        n_scale: float | None = None,
        horizon: int | None = None,
        lag_tol: float = 1e-3,
        online: str = "auto",
        scale: bool | str = "auto",
        n_components: int | None = None,
        tol: float = 1e-6,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    # -- fitting ------------------------------------------------------------------------------

    @available_if(AdaptiveMachine._can_extend)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, times: Any = None
    ) -> AdaptiveSVC:
        """Learn the newest samples: follow the stream, or append them to the path.

        On a stream (see `online`), each row is predicted by all experts, which are weighed by it,
        and then learned; the number of rows in a call makes no difference, and classes may be new.
        `C`, `coupling`, `kernel`, `scale` and the like stay what they were in the first call. After
        `fit`, a stream begins with the rows of the fit.

        On a path the last hyperplanes are changed, as many as are needed for all others to stay
        within `lag_tol` of where a fit of everything would put them. `C`, `coupling`, `n_scale` and
        `time_weighted` stay what they were in the first call, whatever they are set to later.
        `horizon`, `lag_tol`, `tol`, the limits and the callback are those of each call.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels to expect. Needed in the first call of an exact path, unless its y holds all
            of them. On a stream, others than these are refused.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for each row, as in `fit`.
        times : array-like of shape (n_samples,), default=None
            Their times, none before the last one known; needed if there were any in the first
            call.

        Returns
        -------
        self : AdaptiveSVC
            A call that fails changes nothing. One that is interrupted changes nothing, or on a
            stream may have learned all of its rows.
        """
        if (hasattr(self, "_path") or hasattr(self, "_stream")) and classes is not None:
            self._require_same(classes)
        return self._extend_path(X, y, times, sample_weight, classes)

    def _require_same(self, classes: Any) -> None:
        known = self.classes_.tolist()
        if isinstance(classes, list) and classes == known:
            return  # as a stream gives them with every row: the rest takes longer than learning it
        given = read_declared_classes(classes)
        if not np.array_equal(given, self.classes_):
            raise ValueError(
                f"classes={given.tolist()} differs from the {self.classes_.tolist()} of the first "
                "call. Call fit to start over."
            )

    # -- what the base asks for ---------------------------------------------------------------

    def _read_first(self, X: Any, y: Any, classes: Any = None) -> tuple[Any, Array]:
        X, y = read_training_table(self, X, y)
        if classes is None:
            self.classes_, codes = find_classes(y)
            return X, codes.astype(np.float64)
        require_one_kind(y)
        check_classification_targets(y)
        self.classes_, _ = find_classes(read_declared_classes(classes))
        return X, self._code(y)

    def _read_further(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = read_further_table(self, X, y)
        return X, self._code(y)

    def _code(self, y: Array) -> Array:
        """The position of each label among the classes."""
        advice = (
            "Call fit with all samples to start over, or name all classes as classes= in the first "
            "call of partial_fit."
        )
        return encode_labels(y, self.classes_, advice).astype(np.float64)

    def _require_weights(self, weights: Array, targets: Array) -> None:
        require_every_class("sample_weight", weights, targets.astype(np.intp), self.classes_)

    def _losses(self) -> Sequence[CoupledMargin]:
        return make_margins(len(self.classes_))

    def _code_stream(self, y: Array, classes: Any) -> Array:
        """Labels in the order of their appearance; those not seen before are added."""
        y = make_plain_labels(y)
        if not hasattr(self, "_labels"):
            check_classification_targets(y)
            self._declared = classes is not None
            self._labels: Array = y[:0]
            if classes is not None:
                self.classes_ = find_classes(read_declared_classes(classes))[0]
                self._labels = make_plain_labels(self.classes_)
                self._stream.n_classes = len(self._labels)
        if len(self._labels):
            require_same_kind(y, self._labels, "Call fit to start over.")
        code_of = {label: code for code, label in enumerate(self._labels.tolist())}
        labels = y.tolist()
        if not all(label in code_of for label in labels):
            if self._declared:
                return self._code(y)  # which refuses them
            first: dict[Any, int] = {}
            for row, label in enumerate(labels):
                if label not in code_of:
                    first.setdefault(label, row)
            self._labels = np.concatenate([self._labels, y[list(first.values())]])
            self.classes_ = np.unique(self._labels)
            code_of = {label: code for code, label in enumerate(self._labels.tolist())}
        return np.array([code_of[label] for label in labels], dtype=np.float64)

    def _read_answers(self, answers: Array) -> Array:
        """Log-odds of two classes, or logarithms of probabilities."""
        P = self._sort_answers(answers)
        if P.shape[1] == 2:
            return np.log(P[:, 1:] / P[:, :1])
        return np.log(P)

    def _sort_answers(self, answers: Array) -> Array:
        """Probabilities in the order of `classes_`."""
        order = np.searchsorted(self.classes_, self._labels)
        P = np.empty_like(answers)
        P[:, order[: answers.shape[1]]] = answers
        return P

    def _sort_planes(self, planes: Array) -> Array:
        """Hyperplanes in the order of `classes_`: positive for the second of two."""
        order = np.searchsorted(self.classes_, self._labels)
        if len(planes) == 1:
            return -planes if order[0] == 1 else planes
        listed = np.empty_like(planes)
        listed[order[: len(planes)]] = planes
        return listed

    #: Streams take labels that were not there before.
    accepts_new_classes = property(lambda self: bool(self._follows_stream))

    # -- decisions ----------------------------------------------------------------------------

    def decision_function(self, X: Any, times: Any = None, *, positions: Any = None) -> Array:
        """How far each row is on a class's side, by the hyperplane of its instant or place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to judge.
        times : array-like of shape (n_samples,) or a single time, default=None
            For ``graph="time"``: when each row is seen. Between two instants the hyperplane is in
            between, before the first and after the last it is theirs. None is after the last.
        positions : array-like of shape (n_samples, n_coordinates), default=None
            Where each row is, if `fit` was given positions.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column per class where there are more than two.
        """
        values = self._outputs(X, times, positions)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any, times: Any = None, *, positions: Any = None) -> Array:
        """The class of each row, by the hyperplane of its instant or place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        times : array-like of shape (n_samples,) or a single time, default=None
            For ``graph="time"``: when each row is seen, as in `decision_function`. None is after
            the last training row.
        positions : array-like of shape (n_samples, n_coordinates), default=None
            Where each row is, if `fit` was given positions.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        known = sharing_state(self)
        values = known._outputs(X, times, positions)
        codes = np.zeros(len(values), np.intp) if len(known.classes_) == 1 else decide(values)
        labels: Array = known.classes_[codes]
        return labels

    @available_if(_answers_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, times: Any = None) -> Array:
        """Probabilities of the classes, on a stream only: a mixture over its experts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to judge.
        times : array-like of shape (n_samples,) or a single time, default=None
            When each row is seen, as in `decision_function`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        known = sharing_state(self)
        rows = np.ascontiguousarray(dense(read_new_table(known, X)), dtype=np.float64)
        return known._sort_answers(known._stream.answer_at(rows, times))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        times: Any = None,
        positions: Any = None,
    ) -> float:
        """Share of rows whose class is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.
        times : array-like of shape (n_samples,) or a single time, default=None
            As in `predict`.
        positions : array-like of shape (n_samples, n_coordinates), default=None
            As in `predict`.

        Returns
        -------
        score : float
        """
        from sklearn.metrics import accuracy_score

        known = self.predict(X, times, positions=positions)
        return float(accuracy_score(y, known, sample_weight=sample_weight))

    @property
    def n_support_(self) -> Array:
        """Number of support vectors of each class."""
        known = sharing_state(self)
        path = known._fitted_path()
        with path.held():
            codes = path.samples.targets[(path.a > 0.0).any(axis=(0, 1))]
        return np.bincount(codes.astype(np.intp), minlength=len(known.classes_))
