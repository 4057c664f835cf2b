"""Classification by hyperplanes that follow a changing concept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.coupled import CoupledKernel
from lindero.labels import declared_classes, label_codes, require_one_kind
from lindero.problems.coupled import CoupledProblem
from lindero.problems.coupled_dual import coupled_margin_dual
from lindero.problems.coupled_losses import coupled_margin
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Callback
from lindero.svm.adaptive_machine import ADAPTIVE_CONSTRAINTS, AdaptiveMachine
from lindero.svm.adaptive_online import begin_or_go_on, can_go_on
from lindero.validation import class_labels, further_table, require_every_class, training_table


class AdaptiveSVC(ClassifierMixin, AdaptiveMachine):  # type: ignore[misc]
    """Support vector classification with a hyperplane for each sample, neighbours kept close.

    Where a concept changes in time or differs from place to place, no single hyperplane is right.
    Here sample i has its own, (w_i, b_i), and those of neighbours on a graph may differ, at a
    price::

        min  1/2n Σ ‖w_i‖² + coupling/2n Σ_links weight (‖w_i − w_j‖² + (b_i − b_j)²) + C Σ ξ_i
        s.t. y_i (w_i·x_i + b_i) ≥ 1 − ξ_i,  ξ_i ≥ 0

    A huge coupling gives the plain machine, a tiny one a hyperplane for each sample. Along time
    the optimum is found in a time that grows with the number of samples only. Several classes are
    one machine for each class against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of errors (C₃ of the paper).
    coupling : float or "auto", default=1000.0
        Price of a difference between neighbours (C₂ of the paper). ``"auto"`` tries powers of ten
        and takes the best at predicting what is next: samples are learned in the order of time,
        and each block is predicted before it is learned. Graphs without time are validated by five
        folds. That takes as long as a hundred fits or so, but at most half of `time_limit`, and
        then the best of the values tried is taken. See `coupling_`.
    graph : {"time", "space"} or sparse matrix, default="time"
        ``"time"`` links each instant to the next, in the order of `times` given to `fit`, or of
        the rows. ``"space"`` links i and j where either is among the `n_neighbors` nearest rows of
        the other. Or the symmetric matrix of weights of links between rows, none negative; its
        diagonal is ignored. Parts that are not linked have nothing to do with each other; one
        whose samples are all of one class has w = 0 and b = its label.
    n_neighbors : int, default=5
        Neighbours of each row for ``graph="space"``; fewer than there are rows. Where several rows
        are at the same distance, as rows that occur often are, which of them are taken depends on
        the order of the rows.
    kernel : {"linear", "poly", "rbf", "sigmoid"} or callable, default="linear"
        Kernels other than the linear one are for ``graph="time"``, and far slower. A callable
        takes two arrays of rows and returns the kernel matrix between them.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"auto"`` is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    time_weighted : bool, default=False
        Whether links over long gaps of time weigh less: the median gap divided by the gap, but at
        most a thousand, which is also what samples of the same time get, and at least 1e-9.
        Otherwise links weigh 1.
    blend : int, default=1
        For graphs other than time: predict by the hyperplanes of this many nearest training rows,
        weighed by 1/distance.
    n_scale : float or None, default=None
        n of the penalty. None is the number of samples; `partial_fit` then keeps it until their
        number has doubled. On a stream it is best fixed, to the length of the data that C was
        chosen for: otherwise errors weigh the more the longer the stream goes on.
    horizon : int or None, default=None
        The most samples whose hyperplanes `partial_fit` may change, new ones aside; None is as
        many as `lag_tol` asks for. Older ones keep their say, but no longer listen, which costs
        accuracy where the coupling reaches farther back. (When n is renewed, all are changed.)
    lag_tol : float, default=1e-3
        How much, as a share of their size, hyperplanes may be off after `partial_fit` because they
        are no longer changed.
    tol : float, default=1e-6
        Duality gap, as a share of the objective, at which fitting stops. For kernels other than
        the linear one its square root is the gap in the optimality conditions.
    cache_size : float, default=200
        Megabytes for kernel rows, where the kernel is not linear.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit on the steps of the solver for each machine; -1 is none.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress` as fitting goes on. Returning
        True stops it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_samples, n_features)
        The path of hyperplanes: weights of the features at each row, in the order of the rows
        given; a new array each time, as it is then. With more than two classes of shape
        (n_classes, n_samples, n_features). For the linear kernel only.
    intercept_ : ndarray of shape (n_samples,)
        Their constants; with more than two classes of shape (n_classes, n_samples).
    times_ : ndarray of shape (n_samples,)
        The time of each row, or its number where none were given; for ``graph="time"`` only.
    drift_ : ndarray of shape (n_samples,)
        How far the hyperplane (w, b) of each row is from that of the instant before, over all
        machines; 0 for the first. For ``graph="time"`` and the linear kernel only.
    coupling_ : float
        The coupling used.
    n_scale_ : float
        n of the penalty, as it was used.
    certificate_ : Certificate
        KKT gap, primal and dual objective, steps, seconds and why fitting stopped. After
        `partial_fit` that of the window solved last; `certify` judges everything.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors, of any machine.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.
    dual_coef_ : ndarray of shape (n_machines, n_SV)
        Their multipliers, times the label; at most C times their weight.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    n_iter_ : ndarray of shape (n_machines,)
        Steps of the solver for each machine in the last fit of everything.
    fit_status_ : int
        0 if the optimum was reached, 1 otherwise.
    shape_fit_ : tuple of int
        Number of samples held, and of features.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    Notes
    -----
    Offsets b are coupled like weights, so features should be of the order of 1: scale them first.

    After `partial_fit` hyperplanes are those that a fit of all samples with the same `n_scale_`
    would find, up to `lag_tol`. That is for features of the order of 1: where some are many times
    larger than others, rounding can exceed it.

    Times are compared as float64. Dates are counted in seconds from the first, whole numbers beyond
    2**53 from the least; those that cannot be told apart even so are refused.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**ADAPTIVE_CONSTRAINTS}

    def __init__(
        self,
        *,
        C: float = 1.0,
        coupling: float | str = 1e3,
        graph: Any = "time",
        n_neighbors: int = 5,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        time_weighted: bool = False,
        blend: int = 1,
        n_scale: float | None = None,
        horizon: int | None = None,
        lag_tol: float = 1e-3,
        tol: float = 1e-6,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
        self.coupling = coupling
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.time_weighted = time_weighted
        self.blend = blend
        self.n_scale = n_scale
        self.horizon = horizon
        self.lag_tol = lag_tol
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.callback = callback

    # -- fitting ------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, times: Any = None) -> AdaptiveSVC:
        """Fit to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for each row. One of weight zero keeps its place in the graph, and has a
            hyperplane, but its label is not looked at.
        times : array-like of shape (n_samples,), default=None
            When each row was seen: numbers, dates or durations, in any order. Rows of the same
            time follow each other as they are given. None is the order of the rows.

        Returns
        -------
        self : AdaptiveSVC
            The fitted estimator. A call that fails leaves it as it was; one that is interrupted
            (Ctrl-C) leaves the best model so far.
        """
        return self._fit_aside(X, y, times, sample_weight)

    @available_if(can_go_on)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, times: Any = None
    ) -> AdaptiveSVC:
        """Append the newest samples, and change the last hyperplanes only.

        As many as are needed for all others to stay within `lag_tol` of where a fit of everything
        would put them. For ``graph="time"`` and the linear kernel. `C`, `coupling`, `n_scale` and
        `time_weighted` stay what they were in the first call, whatever they are set to later.
        `horizon`, `lag_tol`, `tol`, the limits and the callback are those of each call.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels to expect. Needed in the first call, unless its y holds all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for each row, as in `fit`.
        times : array-like of shape (n_samples,), default=None
            Their times, none before the last one known; needed if there were any in the first
            call.

        Returns
        -------
        self : AdaptiveSVC
            A call that fails or is interrupted changes nothing at all.
        """
        if hasattr(self, "_path") and classes is not None:
            self._require_same(classes)
        return begin_or_go_on(self, X, y, times, sample_weight, classes)  # type: ignore[no-any-return]

    def _require_same(self, classes: Any) -> None:
        given = declared_classes(classes)
        if not np.array_equal(given, self.classes_):
            raise ValueError(
                f"classes={given.tolist()} differs from the {self.classes_.tolist()} of the first "
                "call. Call fit to begin anew."
            )

    # -- what the base asks for ---------------------------------------------------------------

    @property
    def _n_machines(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _table(self, X: Any, y: Any, classes: Any = None) -> tuple[Any, Array]:
        X, y = training_table(self, X, y)
        if classes is None:
            self.classes_, codes = class_labels(y)
            return X, codes.astype(np.float64)
        require_one_kind(y)
        check_classification_targets(y)
        self.classes_, _ = class_labels(declared_classes(classes))
        return X, self._coded(y)

    def _further(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = further_table(self, X, y)
        return X, self._coded(y)

    def _coded(self, y: Array) -> Array:
        """The position of each label among the classes."""
        advice = (
            "Call fit with all samples to begin anew, or name all classes as classes= in the first "
            "call of partial_fit."
        )
        return label_codes(y, self.classes_, advice).astype(np.float64)

    def _require_weights(self, weights: Array, targets: Array) -> None:
        require_every_class("sample_weight", weights, targets.astype(np.intp), self.classes_)

    def _signs(self, machine: int, targets: Array) -> Array:
        positive = 1 if len(self.classes_) == 2 else machine
        return np.where(targets == positive, 1.0, -1.0)[None, :]

    def _stated(
        self, machine: int, X: Array, targets: Array, bounds: Array, **rest: Any
    ) -> CoupledProblem:
        return coupled_margin(X, self._signs(machine, targets)[0], bounds, **rest)

    def _stated_dual(
        self, machine: int, kernel: CoupledKernel, targets: Array, bounds: Array
    ) -> DualQP:
        return coupled_margin_dual(kernel, self._signs(machine, targets)[0], bounds)

    # -- decisions ----------------------------------------------------------------------------

    def decision_function(self, X: Any, times: Any = None) -> Array:
        """How far each row is on a class's side, by the hyperplane of its instant or place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to judge.
        times : array-like of shape (n_samples,) or a single time, default=None
            For ``graph="time"``: when each row is seen. Between two instants the hyperplane is in
            between, before the first and after the last it is theirs. None is after the last.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column per class where there are more than two.
        """
        values = self._values(X, times)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any, times: Any = None) -> Array:
        """The class of each row, by the hyperplane of its instant or place.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        times : array-like of shape (n_samples,) or a single time, default=None
            For ``graph="time"``: when each row is seen, as in `decision_function`. None is after
            the last training row.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        codes = self._codes(self._values(X, times))
        labels: Array = self.classes_[codes]
        return labels

    def _codes(self, values: Array) -> Array:
        """The position among the classes that outputs of machines decide for."""
        one = values.shape[1] == 1
        codes: Array = (values[:, 0] >= 0).astype(np.intp) if one else np.argmax(values, axis=1)
        return codes

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, times: Any = None) -> float:
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

        Returns
        -------
        score : float
        """
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X, times), sample_weight=sample_weight))

    @property
    def n_support_(self) -> Array:
        """Number of support vectors of each class."""
        check_is_fitted(self)
        codes = self._path.targets[(self._path.a > 0.0).any(axis=(0, 1))]
        return np.bincount(codes.astype(np.intp), minlength=len(self.classes_))
