"""What fitted clusters say: their parameters, the clusters of rows, and what sets them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lindero.bayes.answers import BayesAnswers
from lindero.bayes.columns.moments import Moments, add_log_densities
from lindero.bayes.explanation import Explanation
from lindero.bayes.files.bayes_network import BayesNetwork
from lindero.bayes.latent.description import described
from lindero.bayes.networks.network import Network
from lindero.bayes.tables.frames import free_name
from lindero.bayes.tables.table import Table
from lindero.runtime.arrays import Array


class ClusteringAnswers(BayesAnswers):
    """Abstract: of `TMClustering`, all that is asked after learning."""

    n_clusters_: int
    weights_: Array

    _model: tuple[Network, Array, Array]
    #: Which of the Gaussian columns are not constant.
    _varying: Array
    #: What the columns are like in all rows: moments of numbers, counts of values, total weight.
    _whole: Moments
    _values: list[Array]
    _total_weight: float

    def _estimated(self) -> tuple[Network, Array, Array]:
        check_is_fitted(self)
        return self._model

    def _log_joint(self, table: Table) -> Array:
        network, mean, sd = self._estimated()
        codes, _ = self._attributes.coded(table)
        joint = network.log_joint(codes)
        if self._varying.any():
            numbers = np.ascontiguousarray(self._attributes.densities(table)[self._varying])
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
        network, _, _ = self._estimated()
        attributes = self._attributes
        schema = attributes.schema
        names = [schema.title(column) for column in range(schema.n_columns)]
        left_out = [names[k] for k in attributes.gaussian_columns]
        return BayesNetwork(
            network, attributes.titles, attributes.values(), self.classes_.tolist(), left_out,
            free_name("cluster", names),
        )  # fmt: skip

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
        return super().explain(X, of, against)

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
        network, mean, sd = self._estimated()
        if not most >= 1:
            raise ValueError(f"most={most}: name one column at least.")
        return described(self._attributes, network, (mean, sd), self._values, self._whole, most)


def log_sums(joint: Array) -> Array:
    """log Σ_z P(z, x)."""
    largest = joint.max(axis=1)
    sums: Array = largest + np.log(np.exp(joint - largest[:, None]).sum(axis=1))
    return sums
