"""Clustering of tables by a latent class.

    table → attributes → a mixture by EM, for each number of clusters → BIC chooses → (TM) → answers

Given its cluster, the columns of a row are independent of each other: naive Bayes with a latent
class. `latent.mixture` has the mathematics of EM, `latent.tm` says what the TM algorithm is where
there are no classes.
"""

from __future__ import annotations

from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from lindero.bayes.classifier import BAYES_CONSTRAINTS
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments, add_log_densities
from lindero.bayes.explanation import Explanation, explain_rows
from lindero.bayes.files.bayes_network import BayesNetwork
from lindero.bayes.latent.clusters import describe_clusters, find_clusters
from lindero.bayes.latent.em import ClusteringCallback, ClusteringReports
from lindero.bayes.latent.mixture import LatentRows, gather_moments
from lindero.bayes.networks.inference import find_most_probable, to_log_posterior, to_posterior
from lindero.bayes.networks.network import Network
from lindero.bayes.reading import read_count_weights, read_new_rows, warn_of_text
from lindero.bayes.tables.schema import Schema, Table, UserTable, find_free_name
from lindero.notebook import link_documentation, write_card
from lindero.runtime.arrays import Array
from lindero.transaction import fitting_aside
from lindero.validation import keep_parameters


class TMClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters of rows of numbers and categories, with missing values, by a latent class.

    A row is in cluster z with the probability P(z | x) ∝ P(z) Π_j P(x_j | z). EM maximises the
    likelihood Σ log P(x); BIC chooses the number of clusters.

    Parameters
    ----------
    n_clusters : int or "bic", default="bic"
        How many clusters; "bic" tries 1 to `max_clusters`, and takes the number with the largest
        log-likelihood − (log N / 2) · free parameters.
    method : {"em", "tm"}, default="em"
        "em": the parameters of largest likelihood. "tm": from these on, rows are put into their
        most probable cluster, and parameters learned that separate the clusters best (conditional
        likelihood, by the TM algorithm), until no row changes its cluster. See Notes.
    alpha : float, default=1.0
        Pseudo-count of every value of a category in every cluster, above 0.
    min_scale : float, default=0.1
        Least standard deviation of numbers in a cluster, as a share of the whole column's. Without
        it clusters shrink to single numbers that many rows have; lower it for narrow clusters.
    penalty : float, default=1.0
        For "tm": how strongly parameters are pulled towards EM's; 1 is as many pseudo-counts for
        every value as a cluster has rows on average. Above 0.
    numeric : str or dict, default="gaussian"
        How number columns are modelled: "gaussian", or cut into `n_bins` parts by "quantile" or
        "uniform"; or a mapping from columns, by name or position, to one of these or to cut points.
    n_bins : int, default=10
        Parts of "quantile" and "uniform".
    categorical_features : list, mask or "all", default=None
        Columns of numbers that are categories. Text and booleans always are.
    unseen : {"smooth", "missing", "error"}, default="missing"
        How new categories are treated: as one with a count of zero, as missing, or as an error.
    max_clusters : int, default=10
        Most clusters that "bic" tries.
    n_init : int, default=5
        Starts of EM for each number of clusters; the best is kept.
    max_iter : int, default=500
        Most iterations of EM from each start.
    tol : float, default=1e-5
        EM ends when an iteration raises the objective by less than this for each row.
    random_state : int, RandomState instance or None, default=None
        Chooses the rows to begin with. With an int, neither the order of the rows nor other
        numbers of clusters that are tried make a difference.
    callback : callable or None, default=None
        Called with a :class:`~lindero.bayes.latent.em.ClusteringProgress` after each
        iteration. Returning True ends clustering with the best clusters so far.

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
        The objective after each iteration: for "em" the log-likelihood plus the log-prior that
        `alpha` stands for, for "tm" the penalised conditional log-likelihood. It never falls.
    status_ : str
        Why learning ended, in a sentence.
    n_iter_ : int
        Iterations of EM, from the start that was kept.
    classes_ : ndarray of shape (n_clusters_,)
        Names of the clusters: 0, 1, 2 and so on.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are text.

    See Also
    --------
    NaiveBayes : The same model with classes that are known.
    StructuralTM : Learns structure and parameters for known classes by the TM algorithm.

    Notes
    -----
    **TM without classes.** If every row counted for each cluster with its posterior probability,
    the TM algorithm would move nothing. Therefore "tm" puts every row into one cluster and learns
    these classes discriminatively, pulled towards EM's parameters: a discriminative counterpart of
    classification EM. Little is left to learn: probabilities move towards 0 and 1, and few rows or
    none change their cluster. On the tables of ``benchmarks/clustering.py`` it agrees with known
    classes no better than EM alone, in more time, which is why "em" is the default.

    **What BIC counts.** Columns that depend on each other within a cluster, or numbers that are not
    normal there, are described by more clusters than there are groups of rows, and with many rows
    BIC pays for these.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin (1977). Maximum likelihood from incomplete data via
    the EM algorithm. Journal of the Royal Statistical Society B 39(1), 1–38.

    G. Celeux and G. Govaert (1992). A classification EM algorithm for clustering and two stochastic
    versions. Computational Statistics & Data Analysis 14(3), 315–332.

    D. Edwards and S. L. Lauritzen (2001). The TM algorithm for maximising a conditional likelihood
    function. Biometrika 88(4), 961–972.

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

    _html_repr = write_card
    _get_doc_link = link_documentation

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"bic"})],
        "method": [StrOptions({"em", "tm"})],
        "alpha": [Interval(Real, 0.0, None, closed="neither")],
        "min_scale": [Interval(Real, 0.0, 1.0, closed="right")],
        "penalty": [Interval(Real, 0.0, None, closed="neither")],
        **{
            name: BAYES_CONSTRAINTS[name]
            for name in ("numeric", "n_bins", "categorical_features", "unseen")
        },
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
        keep_parameters(self, locals())

    _fitted_state = ("_attributes", "_model", "_varying", "_whole", "_values", "_total_weight")
    _attributes: Attributes
    _model: tuple[Network, Array, Array]  # with means and standard deviations of Gaussian columns
    _varying: Array  # which of these are not constant
    _whole: Moments  # of these, in all rows
    _values: list[Array]  # weight of each value of the other columns
    _total_weight: float

    # -- learning -----------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find clusters in a table.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows of numbers and categories; missing values are NaN, None or the like.
        y : ignored
            Present for scikit-learn's sake.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row stands for: a weight of 2 is the row given twice.

        Returns
        -------
        self : object
            The fitted estimator. A call that fails leaves it as it was.
        """
        with fitting_aside(self) as attempt:
            attempt.estimator._learn(X, sample_weight)
        return self

    def _learn(self, X: Any, sample_weight: Any) -> None:
        table, weights, every = self._read(X, sample_weight)
        self._cluster(table, weights)
        joint = self._compute_log_joint(table)
        w = np.ones(table.n_rows) if weights is None else weights
        self.log_likelihood_ = float(_log_sums(joint) @ w)
        # Rows without weight have a cluster, too.
        self.labels_ = (joint if every is table else self._compute_log_joint(every)).argmax(axis=1)

    def _read(self, X: Any, sample_weight: Any) -> tuple[Table, Array | None, Table]:
        """The rows that have weight, and their weights; and all rows."""
        whole = counted = UserTable.of(X)
        weights = None
        if sample_weight is not None:
            weights = read_count_weights(sample_weight, _num_samples(X))
            places = np.flatnonzero(weights > 0.0)
            if len(places) == 0:
                raise ValueError("sample_weight is zero everywhere: there is nothing to cluster.")
            if len(places) < len(weights):  # rows that do not count bring no categories either
                counted, weights = UserTable.of(_safe_indexing(X, places)), weights[places]
        schema = Schema.learn(counted, self.categorical_features)
        validate_data(self, X, skip_check_array=True)
        if self.categorical_features is None:
            warn_of_text(schema, counted.n_rows)
        attributes = Attributes.plan(schema, self.numeric, "gaussian")
        for column, method in zip(schema.number_columns, attributes.methods, strict=True):
            if method == "mdl":
                raise ValueError(
                    f"numeric='mdl' for column {schema.title(column)} cuts where classes change, "
                    "but there are no classes here. Use 'gaussian', 'quantile', 'uniform', or cut "
                    "points."
                )
        table = every = schema.read(counted, unseen="error")
        if counted is not whole:
            # A value that only rows without weight have is no error in these.
            unseen = "missing" if self.unseen == "error" else self.unseen
            every = schema.read(whole, unseen=unseen)
        one_class = np.zeros(table.n_rows, dtype=np.intp)
        self._attributes = attributes.learn_cuts(table, one_class, 1, weights, self.n_bins)
        return table, weights, every

    def _cluster(self, table: Table, weights: Array | None) -> None:
        """Find the clusters of a table."""
        attributes = self._attributes
        codes, cards = attributes.encode(table)
        every = attributes.select_gaussian(table)
        titles = tuple(attributes.schema.title(int(k)) for k in attributes.gaussian_columns)
        self._whole = gather_moments(every, weights, titles)
        self._varying = self._whole.varying
        numbers = np.ascontiguousarray(every[self._varying])
        rows = LatentRows(codes, cards, numbers, weights, self.alpha, self.min_scale)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        found = find_clusters(
            rows, numbers, self.n_clusters, self.max_clusters, seed=seed, max_iter=self.max_iter,
            penalty=self.penalty if self.method == "tm" else None, tol=self.tol,
            reports=ClusteringReports(self.callback, self.n_init),
        )  # fmt: skip
        self.bic_, self.convergence_ = found.bic, found.trace
        self.n_iter_, self.status_ = found.n_iter, found.status
        self.weights_ = np.exp(found.network.log_prior)
        self.n_clusters_ = len(self.weights_)
        self.classes_ = np.arange(self.n_clusters_)
        self._values, self._total_weight = rows.value_counts(), rows.total_weight
        # Constant columns have the same normal in all clusters.
        mean, sd = (np.repeat(part, self.n_clusters_, axis=1) for part in self._whole.normals())
        mean[self._varying], sd[self._varying] = found.mean, found.sd
        self._model = found.network, mean, sd

    # -- the clusters -------------------------------------------------------------------------

    def _get_estimate(self) -> tuple[Network, Array, Array]:
        check_is_fitted(self)
        return self._model

    def _compute_log_joint(self, table: Table) -> Array:
        network, mean, sd = self._get_estimate()
        codes, _ = self._attributes.encode(table)
        joint = network.log_joint(codes)
        if self._varying.any():
            numbers = np.ascontiguousarray(self._attributes.select_gaussian(table)[self._varying])
            add_log_densities(numbers, mean[self._varying], sd[self._varying], joint)
        return joint

    @property
    def class_count_(self) -> Array:
        """The weight of the rows that each cluster expects to have."""
        check_is_fitted(self)
        return self.weights_ * self._total_weight

    @property
    def class_log_prior_(self) -> Array:
        """The logarithm of the weight of each cluster."""
        return self._get_estimate()[0].log_prior.copy()

    @property
    def theta_(self) -> Array:
        """Means of the Gaussian columns, (n_clusters_, n_gaussian)."""
        return self._get_estimate()[1].T.copy()

    @property
    def scale_(self) -> Array:
        """Standard deviations of the Gaussian columns, (n_clusters_, n_gaussian)."""
        return self._get_estimate()[2].T.copy()

    @property
    def network_(self) -> BayesNetwork:
        """Tables of the clusters, and the files that they can be written to. The class is called
        "cluster" there, with underscores after it if a column has that name."""
        network, attributes = self._get_estimate()[0], self._attributes
        names = [attributes.schema.title(k) for k in range(attributes.schema.n_columns)]
        left_out = [names[k] for k in attributes.gaussian_columns]
        return BayesNetwork(
            network, attributes.titles, attributes.values(), self.classes_.tolist(), left_out,
            find_free_name("cluster", names),
        )  # fmt: skip

    # -- answers ------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log P(z, x), of shape (n_samples, n_clusters_), without constant Gaussian columns.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows; columns of a dataframe are found by their names.
        """
        check_is_fitted(self)
        return self._compute_log_joint(read_new_rows(self, self._attributes, X))

    def predict_log_proba(self, X: Any) -> Array:
        """log P(z | x) of each cluster, of shape (n_samples, n_clusters_).

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        """
        return to_log_posterior(self.predict_joint_log_proba(X), self.class_log_prior_)

    def predict_proba(self, X: Any) -> Array:
        """P(z | x) of each cluster, of shape (n_samples, n_clusters_).

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        """
        return to_posterior(self.predict_joint_log_proba(X), self.class_log_prior_)

    def predict(self, X: Any) -> Array:
        """The most probable cluster of each row.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        """
        joint = self.predict_joint_log_proba(X)
        return self.classes_[find_most_probable(joint, self.class_log_prior_)]

    def score_samples(self, X: Any) -> Array:
        """log P(x) of each row, without columns that held one number only.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        """
        return _log_sums(self.predict_joint_log_proba(X))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of log P(x).

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        y : ignored
            Present for scikit-learn's sake.
        """
        return float(self.score_samples(X).mean())

    def explain(self, X: Any, of: Any = None, against: Any = None) -> Explanation:
        """Take the log-odds of two clusters apart, column by column.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        of, against : int, default=None
            The two clusters. None is the second against the first where there are two, and
            otherwise the most probable one of each row against the next.

        Returns
        -------
        explanation : Explanation
            Its prior and terms sum up to its log-odds exactly.
        """
        check_is_fitted(self)
        if self.n_clusters_ == 1:
            raise ValueError("There is one cluster only: there is none to compare it with.")
        table = read_new_rows(self, self._attributes, X)
        joint = self._compute_log_joint(table)
        return explain_rows(self._model, self._attributes, table, joint, self.classes_, of, against)

    def describe(self, most: int = 5) -> str:
        """Describe what sets each cluster apart, in a paragraph for each.

        Parameters
        ----------
        most : int, default=5
            How many columns to name of each cluster: those whose distribution in the cluster
            differs most from that in all rows (Kullback–Leibler divergence).
        """
        network, mean, sd = self._get_estimate()
        if not most >= 1:
            raise ValueError(f"most={most}: name one column at least.")
        return describe_clusters(
            self._attributes, network, (mean, sd), self._values, self._whole, most
        )

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


def _log_sums(joint: Array) -> Array:
    """log Σ_z P(z, x)."""
    largest = joint.max(axis=1)
    sums: Array = largest + np.log(np.exp(joint - largest[:, None]).sum(axis=1))
    return sums
