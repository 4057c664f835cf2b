"""Clustering of tables by a class that nobody has seen.

    table → attributes → a mixture by EM, for each number of clusters → BIC chooses → (TM) → answers

Given its cluster, the columns of a row are independent of each other: naive Bayes with a latent
class. `latent.latent_rows` has the mathematics of EM, `latent.classified` says what the TM
algorithm is where there are no classes.
"""

from __future__ import annotations

from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.bayes.clustering_answers import ClusteringAnswers, log_sums
from lindero.bayes.columns.attributes import METHODS
from lindero.bayes.columns.moments import Moments
from lindero.bayes.latent.classified import classified
from lindero.bayes.latent.em import (
    CALLBACK,
    ClusteringCallback,
    Reports,
    best_of_starts,
)
from lindero.bayes.latent.latent_rows import LatentRows, varying_columns
from lindero.bayes.latent.starts import Starts
from lindero.bayes.tables.schema import Table
from lindero.bayes.unlabelled import unlabelled_rows
from lindero.errors import warn_user
from lindero.runtime.arrays import Array


class TMClustering(ClusteringAnswers, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters of rows of numbers and categories, with missing values, by a latent class.

    A row is in cluster z with the probability P(z | x) ∝ P(z) Π_j P(x_j | z). EM maximises the
    likelihood Σ log P(x); BIC tells how many clusters the rows pay for.

    Parameters
    ----------
    n_clusters : int or "bic", default="bic"
        How many clusters; "bic" tries 1 to `max_clusters`, and takes the number with the largest
        log-likelihood − (log N / 2) · free parameters.
    method : {"em", "tm"}, default="em"
        "em": the parameters of largest likelihood. "tm": from these on, rows are put into their
        most probable cluster, and parameters learned that tell those apart best (conditional
        likelihood, by the TM algorithm), until rows stay where they are. See Notes.
    alpha : float, default=1.0
        Pseudo-count of every value of a category in every cluster, above 0.
    min_scale : float, default=0.1
        Least standard deviation of numbers in a cluster, as a share of the whole column's. Without
        it clusters shrink to single numbers that many rows have; lower it for clusters that are
        many and narrow.
    penalty : float, default=1.0
        Of "tm": how strongly parameters are held to EM's; 1 is as many pseudo-counts for every
        value as a cluster has rows on average. Above 0.
    numeric : str or dict, default="gaussian"
        What is made of number columns: "gaussian", or "quantile" or "uniform" (`n_bins` parts); or
        a mapping from columns, by name or position, to one of these or to cut points.
    n_bins : int, default=10
        Parts of "quantile" and "uniform".
    categorical_features : list, mask or "all", default=None
        Columns that are categories though they hold numbers. Text and booleans are anyway.
    unseen : {"smooth", "missing", "error"}, default="missing"
        What a category is that was not there in training: one with a count of zero; nothing that is
        known; or an error.
    max_clusters : int, default=10
        Most clusters that "bic" tries.
    n_init : int, default=5
        Starts of EM for each number of clusters, of which the best is kept.
    max_iter : int, default=500
        Most passes of EM over the rows from each start.
    tol : float, default=1e-5
        EM ends when a pass raises the objective by less than this for each row.
    random_state : int, RandomState instance or None, default=None
        Chooses the rows to begin with. With an int, neither the order of the rows nor other
        numbers of clusters that are tried make a difference.
    callback : callable or None, default=None
        Called with a :class:`~lindero.bayes.latent.em.ClusteringProgress` after each pass.
        Returning True ends clustering with the best so far.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row, 0 being that to which EM gives the largest weight.
    n_clusters_ : int
        How many clusters there are: fewer than `n_clusters` where X has fewer different rows.
    weights_ : ndarray of shape (n_clusters_,)
        P(z).
    theta_, scale_ : ndarray of shape (n_clusters_, n_gaussian)
        Means and standard deviations of Gaussian columns.
    network_ : BayesNetwork
        Tables of the other columns; the class is called "cluster".
    log_likelihood_ : float
        Σ w log P(x) of the rows that were learned from, without columns of one number only.
    bic_ : dict
        BIC of EM's estimate for each number of clusters that was tried.
    convergence_ : tuple of float
        What is maximised, after each pass: of "em" the log-likelihood with the logarithm of the
        prior that `alpha` stands for, of "tm" the penalised conditional log-likelihood. It never
        falls.
    status_ : str
        Why learning ended, in a sentence.
    n_iter_ : int
        Passes of EM, from the start that was kept.
    classes_ : ndarray of shape (n_clusters_,)
        Names of the clusters: 0, 1, 2 and so on.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are text.

    Notes
    -----
    **What TM is here.** The TM algorithm moves the counts of a classifier until it expects just the
    counts that the classes have. Where no class is known and every row counts for each cluster as
    much as the model thinks, the two are the same already: every model is a fixed point. Therefore
    "tm" puts every row into one cluster and learns these classes discriminatively, held back by
    EM's parameters; a discriminative counterpart of classification EM.

    Since the model that put rows into clusters tells these apart already, little is left to learn:
    probabilities become more decided, and few rows or none change their cluster. On the tables of
    ``benchmarks/clustering.py`` it agrees with known classes no better than EM alone, in more time,
    which is why "em" is the default.

    **What BIC counts.** Columns that depend on each other within a cluster, or numbers that are not
    normal there, are described by more clusters than there are groups of rows, and with many rows
    BIC pays for these.

    Examples
    --------
    >>> from lindero.bayes import TMClustering
    >>> X = [["sun", 30.0], ["sun", 28.0], ["rain", None], ["rain", 12.0], [None, 11.0]] * 4
    >>> model = TMClustering(n_clusters=2, random_state=0).fit(X)
    >>> model.labels_[:5]
    array([1, 1, 0, 0, 0])
    >>> model.predict([["rain", 10.0], [None, 29.0]])
    array([0, 1])
    >>> print(model.describe(most=1))
    Cluster 0, 58.1% of the rows:
      x1: 11.5 ± 0.88 (all rows 20.25 ± 9.1)
    Cluster 1, 41.9% of the rows:
      x1: 29 ± 1 (all rows 20.25 ± 9.1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"bic"})],
        "method": [StrOptions({"em", "tm"})],
        "alpha": [Interval(Real, 0.0, None, closed="neither")],
        "min_scale": [Interval(Real, 0.0, 1.0, closed="right")],
        "penalty": [Interval(Real, 0.0, None, closed="neither")],
        "numeric": [StrOptions(set(METHODS)), dict],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "categorical_features": ["array-like", StrOptions({"all"}), None],
        "unseen": [StrOptions({"smooth", "missing", "error"})],
        "max_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        n_clusters: Any = "bic",
        *,
        method: str = "em",
        alpha: float = 1.0,
        min_scale: float = 0.1,
        penalty: float = 1.0,
        numeric: Any = "gaussian",
        n_bins: int = 10,
        categorical_features: Any = None,
        unseen: str = "missing",
        max_clusters: int = 10,
        n_init: int = 5,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
        callback: ClusteringCallback | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.alpha = alpha
        self.min_scale = min_scale
        self.penalty = penalty
        self.numeric = numeric
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback

    # -- learning -----------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find clusters in a table.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows of numbers and categories; missing values are NaN, None or the like.
        y : ignored
            There for scikit-learn's sake.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row stands for: a weight of 2 is the row given twice.

        Returns
        -------
        self : object
            The fitted estimator. A call that fails leaves it as it was.
        """
        fitted = type(self).__new__(type(self))
        fitted.__dict__ = {
            name: value for name, value in vars(self).items()
            if name not in _PRIVATE and (name.startswith("_") or not name.endswith("_"))
        }  # fmt: skip
        fitted._learn(X, sample_weight)
        self.__dict__ = fitted.__dict__
        return self

    def _learn(self, X: Any, sample_weight: Any) -> None:
        self._attributes, table, weights, every = unlabelled_rows(self, X, sample_weight)
        self._cluster(table, weights)
        joint = self._compute_log_joint(table)
        self.log_likelihood_ = float(
            log_sums(joint) @ (np.ones(table.n_rows) if weights is None else weights)
        )
        # Rows without weight have a cluster, too.
        self.labels_ = (joint if every is table else self._compute_log_joint(every)).argmax(axis=1)

    def _cluster(self, table: Table, weights: Array | None) -> None:
        """Find the clusters of a table."""
        attributes = self._attributes
        codes, cards = attributes.encode(table)
        every = attributes.select_gaussian(table)
        titles = tuple(attributes.schema.title(int(k)) for k in attributes.gaussian_columns)
        self._varying = varying_columns(every, weights, titles)
        numbers = np.ascontiguousarray(every[self._varying])
        rows = LatentRows(codes, cards, numbers, weights, self.alpha, self.min_scale)
        starts = Starts(rows, numbers)
        reports = Reports(self.callback, self.n_init)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        numbers_to_try = self._numbers_to_try(rows.n_rows, starts.n_distinct)
        fits = best_of_starts(starts, numbers_to_try, seed, self.max_iter, self.tol, reports)
        self.bic_ = {k: fit.bic(rows) for k, fit in fits.items()}
        self.n_clusters_ = max(self.bic_, key=self.bic_.__getitem__)
        best = fits[self.n_clusters_]
        self.convergence_, self.n_iter_ = best.trace, len(best.trace)
        self.status_ = CALLBACK if reports.stopped else best.status
        self._warn_unless_converged()
        network = rows.families(best.made_of).estimate(self.alpha, best.mixture.weights)
        normals = rows.normals(best.mixture)
        if self.method == "tm" and not reports.stopped and self.n_clusters_ > 1:
            learned = classified(rows, best, numbers, self.penalty, reports)
            network, normals = learned.network, (learned.mean, learned.sd)
            self.convergence_, self.status_ = learned.trace, learned.status
            self._warn_unless_converged()
        self.classes_ = np.arange(self.n_clusters_)
        self.weights_ = np.exp(network.log_prior)
        self._whole = Moments.of(
            np.ascontiguousarray(every), np.zeros(table.n_rows, dtype=np.intp), 1, weights
        )
        self._values, self._total_weight = rows.value_counts(), rows.total_weight
        # Constant columns have the same normal in all clusters.
        mean, sd = (np.repeat(part, self.n_clusters_, axis=1) for part in self._whole.normals())
        mean[self._varying], sd[self._varying] = normals
        self._model = network, mean, sd

    def _warn_unless_converged(self) -> None:
        if not self.status_.startswith("Converged"):
            warn_user(self.status_, ConvergenceWarning)

    def _numbers_to_try(self, n_rows: int, n_distinct: int) -> range:
        if self.n_clusters == "bic":
            return range(1, min(self.max_clusters, n_distinct) + 1)
        if self.n_clusters > n_rows:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the n_samples={n_rows} rows of X that "
                "have weight: ask for fewer clusters, or for n_clusters='bic'."
            )
        if self.n_clusters > n_distinct:
            warn_user(
                f"X has only {n_distinct} different rows, so that there are as many clusters and "
                f"not n_clusters={self.n_clusters}.",
                ConvergenceWarning,
            )
        n_clusters = min(self.n_clusters, n_distinct)
        return range(n_clusters, n_clusters + 1)

    # -- for scikit-learn ---------------------------------------------------------------------

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """Names of the parameters, read from the signature once."""
        return super()._get_param_names()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


#: What fitting sets beside names that end with an underscore.
_PRIVATE = {"_attributes", "_model", "_varying", "_whole", "_values", "_total_weight"}
