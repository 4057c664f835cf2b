"""Learning to rank: documents of a query in the order of their relevance."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, column_or_1d

from lindero.errors import warn_user
from lindero.kernels.operator import KernelFunction, kernel_operator, origin
from lindero.models.kernel_machine import KernelMachine, linear_values
from lindero.notebook import link_documentation, write_card
from lindero.problems.ranking import Queries
from lindero.runtime.arrays import Array
from lindero.solvers.ranking import RankingDescentSolver, RankingPairsSolver
from lindero.solvers.solution import Callback, Certificate, Limits, Status
from lindero.svm.judging import warn_if_indefinite
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.progress import reporting
from lindero.transaction import fitting_aside
from lindero.validation import (
    advise_scaling,
    keep_parameters,
    make_kernel_function,
    read_new_table,
    read_training_table,
    validate_parameters,
)

#: How far down the list `score` looks.
_RANKS = 10

#: Pairs beyond which a kernel machine, which lists them, would not end within hours.
MOST_LISTED_PAIRS = 20_000_000


class RankSVM(BaseEstimator):  # type: ignore[misc]
    """Support vector ranking with any kernel, and a certificate of optimality.

    Learns a score that puts the more relevant documents of a query above the less relevant ones:
    it minimises ½‖w‖² plus C times the sum of ``max(0, 1 - (f(x_i) - f(x_j)))`` over all pairs of
    documents of one query of which the first is more relevant. With the linear kernel the pairs
    are not listed, and time grows as n log n with the number of documents; but for sparse tables of
    many columns and not too many pairs, which coordinate descent visits one by one. With other
    kernels every pair is a variable of the problem.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of each pair in the wrong order, or in the right one by too little.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="linear"
        A callable takes two arrays of rows and returns the kernel matrix between them.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"auto"`` is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    tol : float, default=1e-4
        Fitting stops when the duality gap is at most this share of the objective: no weights can
        have an objective that is lower by more.
    cache_size : float, default=200
        Megabytes for kernel rows, with kernels other than the linear one.
    max_iter : int, default=-1
        Limit on the steps of the solver (Newton steps for the linear kernel); -1 is none, but for
        pairs that must be gone through one by one: then it is two for each, or a minute's work.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning. Without a
        limit, a fit that has to go through very many pairs one by one warns beforehand.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    certificate_ : Certificate
        Primal and dual objective, steps, seconds and why fitting stopped. Its KKT gap is that of
        the multipliers of the pairs (with the linear kernel, a value it does not exceed).
    coef_ : ndarray of shape (n_features,)
        Weights of the features, for the linear kernel only.
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients of the documents in the score, for other kernels only, as are the next two.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data whose coefficient is not zero.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        These rows (empty when the kernel is precomputed).
    n_pairs_ : int
        Number of pairs of documents that were to be ranked.
    n_iter_ : int
        Steps of the solver.
    fit_status_ : int
        0 if the optimum was reached, 1 otherwise.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    SVC : Classification, where what counts is the class of a row and not its place in a list.
    SVR : Regression, where what counts is the value itself and not the order.
    lindero.data.load : Reads files in svmlight format with a ``qid`` for each row.

    References
    ----------
    R. Herbrich, T. Graepel and K. Obermayer, "Large margin rank boundaries for ordinal
    regression", Advances in Large Margin Classifiers, MIT Press, 2000.

    T. Joachims, "Optimizing search engines using clickthrough data", Proceedings of KDD, 2002.

    T. Joachims, "Training linear SVMs in linear time", Proceedings of KDD, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import RankSVM
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [7.0, 1.0], [8.0, 1.0]])
    >>> y = np.array([0, 1, 2, 0, 1])
    >>> model = RankSVM(C=10).fit(X, y, qid=[1, 1, 1, 2, 2])
    >>> model.coef_.round(2) + 0.0
    array([1., 0.])
    >>> model.n_pairs_, model.score(X, y, qid=[1, 1, 1, 2, 2])
    (4, 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0.0, np.inf, closed="neither")],
        **{
            name: constraint
            for name, constraint in KERNEL_MACHINE_CONSTRAINTS.items()
            if name not in ("shrinking", "warm_start")
        },
    }

    _validate_params = validate_parameters
    _html_repr = write_card
    _get_doc_link = link_documentation

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-4,
        cache_size: float = 200,
        max_iter: int = -1,
        time_limit: float | None = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, qid: Any = None) -> RankSVM:
        """Fit to documents of known relevance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            One row a document; the kernel matrix of shape (n_samples, n_samples) if precomputed.
        y : array-like of shape (n_samples,)
            Relevance, any real number; higher is better. Only its order within a query counts.
        qid : array-like of shape (n_samples,), default=None
            The query of each document, any kind of label. Documents of one query stand together.
            None is one query for all.

        Returns
        -------
        self : RankSVM
            The fitted estimator: as it was if fit fails, with the best model so far on Ctrl-C.
        """
        with fitting_aside(self) as attempt:
            attempt.interrupted = attempt.estimator._fit(X, y, qid)
        return self

    def _fit(self, X: Any, y: Any, qid: Any) -> bool:
        """Set all fitted attributes; whether the fit was interrupted."""
        begun = time.perf_counter()
        X, y = read_training_table(self, X, y)
        queries = Queries.of(read_relevances(y), find_queries(qid, X.shape[0]))
        self.n_pairs_ = require_pairs(queries, self.C, listed=self.kernel != "linear")
        function = make_kernel_function(self, X, np.ones(X.shape[0]))
        with reporting(bool(self.verbose), self.callback) as callback:
            max_iter = None if self.max_iter < 0 else self.max_iter
            limits = Limits(max_iter, self.time_limit, callback)
            if function.name == "linear":
                ranking = RankingDescentSolver(self.tol)
                solution = ranking.solve(X, queries, self.C, origin(X, function), limits)
                self.coef_ = solution.w
            else:
                pairs = RankingPairsSolver(self.tol, self.cache_size)
                solution = pairs.solve(kernel_operator(X, function), queries, self.C, limits)
                self.support_ = np.flatnonzero(solution.c).astype(np.int32)
                self.dual_coef_ = solution.c[None, self.support_]
                precomputed = function.name == "precomputed"
                self.support_vectors_ = np.empty((0, 0)) if precomputed else X[self.support_]
        status, self.n_iter_ = solution.status, solution.n_iter
        self._function = function
        words = status.value.replace("KKT gap", "duality gap")
        seconds = time.perf_counter() - begun
        self.certificate_ = Certificate.of(solution.judgement, self.n_iter_, seconds, words)
        self.fit_status_ = int(status is not Status.OPTIMAL)
        if self.fit_status_ and not limits.interrupted:
            self._warn_unfinished(X)
        if function.name != "linear":
            warn_if_indefinite(function, X, self.support_)
        return limits.interrupted

    def _warn_unfinished(self, X: Any) -> None:
        certificate = self.certificate_
        share = certificate.duality_gap / max(abs(certificate.primal), np.finfo(float).tiny)
        rounding = certificate.status in (
            Status.PRECISION.value, Status.UNPROVEN.value.replace("KKT gap", "duality gap")
        )  # fmt: skip
        advice = "Lower C, or raise tol." if rounding else "Raise max_iter, time_limit or tol."
        warn_user(
            f"{certificate.status} The gap left is {share:.3g} of the objective, tol is "
            f"{self.tol:.3g}. {advice}" + advise_scaling(X, self._function),
            ConvergenceWarning,
        )

    def __lindero_kernel__(self) -> KernelFunction:
        return self._function

    def predict(self, X: Any) -> Array:
        """Scores: within a query, the higher the more relevant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Documents to score; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Without a meaning between queries, or beside other models.
        """
        check_is_fitted(self)
        X = read_new_table(self, X)
        if self._function.name == "linear":
            assert self.coef_ is not None
            return linear_values(X, self.coef_[None, :], np.zeros(1))[:, 0]
        vectors = self.support_vectors_
        if self._function.name == "precomputed":
            X = vectors = X[:, self.support_]
        shift = origin(vectors, self._function)
        kernel = kernel_operator(vectors, self._function, shift=shift)
        return KernelMachine(kernel, self.dual_coef_, np.zeros(1)).decision_values(X)[:, 0]

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Mean NDCG@10 over queries, as :func:`sklearn.metrics.ndcg_score` computes it.

        Queries whose documents are all equally relevant, or that have only one, are left out: no
        order of them is better than another.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            One row a document, as in `predict`.
        y : array-like of shape (n_samples,)
            Relevance, not negative: it is the gain of a document.
        qid : array-like of shape (n_samples,), default=None
            The query of each document; None is one query for all.

        Returns
        -------
        score : float
            Between 0 and 1; 1 where the order is perfect.
        """
        from sklearn.metrics import ndcg_score

        scores = self.predict(X)
        y = read_relevances(column_or_1d(y))
        if len(y) != len(scores):
            raise ValueError(
                f"y has {len(y)} values, but X has {len(scores)} rows: pass one for each row."
            )
        if y.min() < 0:
            raise ValueError(
                f"score needs relevances that are not negative, since NDCG takes them as gains, "
                f"but y holds {y.min()}. Add a constant to y; fit does not mind."
            )
        starts = find_queries(qid, len(y), warn=False)
        queries = Queries.of(y, starts)
        ranked = np.flatnonzero(queries.n_levels > 1)
        if len(ranked) == 0:
            raise ValueError(
                "There is nothing to score: y is the same for all documents of each query."
            )
        gains = [
            ndcg_score(y[None, begin:end], scores[None, begin:end], k=_RANKS)
            for begin, end in zip(starts[ranked], starts[ranked + 1], strict=True)
        ]
        return float(np.mean(gains))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


# -- what users pass ------------------------------------------------------------------------------


def read_relevances(y: Array) -> Array:
    """y as real numbers, in their own type where they are of one."""
    if y.dtype.kind == "O":
        with suppress(TypeError, ValueError):  # said below
            y = y.astype(np.float64)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"y must hold numbers (relevances, higher is better), but its values are of type "
            f"{y.dtype}. Turn grades into numbers first, 0 for the least relevant."
        )
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(f"y contains NaN or infinity: y[{row}] is {y[row]}.")
    return y.astype(np.int64) if y.dtype.kind == "b" else y


def find_queries(qid: Any, n_documents: int, warn: bool = True) -> Array:
    """Where each query begins, and the end of the last; documents of one stand together."""
    if qid is None:
        return np.array([0, n_documents])
    labels = np.asarray(qid)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"qid must have one value for each row, but its shape is {labels.shape}: pass a vector."
        )
    if len(labels) != n_documents:
        raise ValueError(
            f"qid has {len(labels)} values, but X has {n_documents} rows: pass the query of each "
            "row."
        )
    unlike_itself = labels != labels
    if np.any(unlike_itself):
        row = int(np.flatnonzero(unlike_itself)[0])
        raise ValueError(f"qid contains NaN: qid[{row}] is {labels[row]}, which is not a query.")
    begins = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    starts = np.append(begins, n_documents)
    first_of: dict[Any, int] = {}
    for number, label in enumerate(labels[begins].tolist()):
        if label in first_of:
            before = first_of[label]
            raise ValueError(
                f"The documents of a query must stand together, but query {label!r} has rows "
                f"{_name_rows(starts, before)} and again {_name_rows(starts, number)}. Sort all "
                "rows by query first: order = np.argsort(qid, kind='stable'), then X[order], "
                "y[order] and qid[order]."
            )
        first_of[label] = number
    n_single = int(np.count_nonzero(np.diff(starts) == 1))
    if warn and n_single:
        verb = "queries have" if n_single > 1 else "query has"
        warn_user(
            f"{n_single} {verb} only one document, and so nothing to rank: ignored.", UserWarning
        )
    return starts


def _name_rows(starts: Array, number: int) -> str:
    first, last = starts[number], starts[number + 1] - 1
    return f"{first}" if first == last else f"{first} to {last}"


def require_pairs(queries: Queries, C: float, listed: bool) -> int:
    """The number of pairs; an error where there are none, or too many for C or to be listed."""
    n_pairs = queries.n_pairs
    if queries.n_documents == 1:
        raise ValueError(
            "X has only 1 sample (n_samples = 1); ranking needs at least two documents of a query."
        )
    if n_pairs == 0:
        raise ValueError(
            "There is nothing to rank: y is the same for all documents of each query. Give at "
            "least one query documents of different relevance (and check that qid is not "
            "different for every row)."
        )
    if listed and n_pairs > MOST_LISTED_PAIRS:
        raise ValueError(
            f"There are {n_pairs} pairs of documents to rank, and kernels other than the linear "
            f"one list them: at most {MOST_LISTED_PAIRS} can be. Use kernel='linear', smaller "
            "queries (qid), or a sample of the documents."
        )
    if not np.isfinite(C * n_pairs):
        raise ValueError(f"C={C:g} times {n_pairs} pairs overflows: use a smaller C.")
    return n_pairs
