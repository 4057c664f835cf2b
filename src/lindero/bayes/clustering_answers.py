"""What fitted clusters say: their parameters, the clusters of rows, and what sets them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments, add_log_densities
from lindero.bayes.explanation import Explanation, explain_rows
from lindero.bayes.files.bayes_network import BayesNetwork
from lindero.bayes.latent.description import described
from lindero.bayes.networks.inference import find_most_probable, to_log_posterior, to_posterior
from lindero.bayes.networks.network import Network
from lindero.bayes.reading import read_new_rows
from lindero.bayes.tables.schema import Table
from lindero.bayes.tables.user_table import find_free_name
from lindero.runtime.arrays import Array


class ClusteringAnswers:
    """Abstract: of `TMClustering`, all that is asked after learning."""

    classes_: Array
    n_clusters_: int
    weights_: Array

    _attributes: Attributes
    _model: tuple[Network, Array, Array]
    #: Which of the Gaussian columns are not constant.
    _varying: Array
    #: What the columns are like in all rows: moments of numbers, counts of values, total weight.
    _whole: Moments
    _values: list[Array]
    _total_weight: float

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
    def network_(self) -> BayesNetwork:
        """Tables of the clusters, and the files that they can be written to. The class is called
        "cluster" there, with underscores after it if a column has that name."""
        network, _, _ = self._get_estimate()
        attributes = self._attributes
        schema = attributes.schema
        names = [schema.title(column) for column in range(schema.n_columns)]
        left_out = [names[k] for k in attributes.gaussian_columns]
        return BayesNetwork(
            network, attributes.titles, attributes.values(), self.classes_.tolist(), left_out,
            find_free_name("cluster", names),
        )  # fmt: skip

    @property
    def class_log_prior_(self) -> Array:
        """The logarithm of the probability of each class before anything is looked at."""
        return self._get_estimate()[0].log_prior.copy()

    @property
    def theta_(self) -> Array:
        """Means of the Gaussian columns, (n_classes, n_gaussian)."""
        return self._get_estimate()[1].T.copy()

    @property
    def scale_(self) -> Array:
        """Standard deviations of the Gaussian columns, (n_classes, n_gaussian)."""
        return self._get_estimate()[2].T.copy()

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log P(c, x) of each class, what is missing being summed out.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows; columns of a dataframe are found by their names.

        Returns
        -------
        joint : ndarray of shape (n_samples, n_classes)
            Without Gaussian columns that have the same density under all classes.
        """
        self._get_estimate()  # which also says whether there is a model to read X for
        return self._compute_log_joint(read_new_rows(self, self._attributes, X))

    def predict_log_proba(self, X: Any) -> Array:
        """log P(c | x) of each class.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Where a row is impossible under every class (``alpha=0``), those of no row at all.
        """
        return to_log_posterior(self.predict_joint_log_proba(X), self.class_log_prior_)

    def predict_proba(self, X: Any) -> Array:
        """P(c | x) of each class.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return to_posterior(self.predict_joint_log_proba(X), self.class_log_prior_)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        codes = find_most_probable(self.predict_joint_log_proba(X), self.class_log_prior_)
        return self.classes_[codes]

    def score_samples(self, X: Any) -> Array:
        """log P(x) of each row, without columns that held one number only.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
        """
        return log_sums(self.predict_joint_log_proba(X))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of log P(x).

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        y : ignored
            There for scikit-learn's sake.
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
            raise ValueError("There is one cluster only: nothing can be held against it.")
        table = read_new_rows(self, self._attributes, X)
        joint = self._compute_log_joint(table)
        estimate = self._get_estimate()
        return explain_rows(estimate, self._attributes, table, joint, self.classes_, of, against)

    def describe(self, most: int = 5) -> str:
        """What sets each cluster apart, in words.

        Parameters
        ----------
        most : int, default=5
            How many columns to name of each cluster: those whose distribution in the cluster
            differs most from that in all rows (Kullback–Leibler divergence).

        Returns
        -------
        text : str
            A paragraph for each cluster.
        """
        network, mean, sd = self._get_estimate()
        if not most >= 1:
            raise ValueError(f"most={most}: name one column at least.")
        return described(self._attributes, network, (mean, sd), self._values, self._whole, most)


def log_sums(joint: Array) -> Array:
    """log Σ_z P(z, x)."""
    largest = joint.max(axis=1)
    sums: Array = largest + np.log(np.exp(joint - largest[:, None]).sum(axis=1))
    return sums
