"""What a fitted Bayesian classifier says: its parameters, its predictions, and why."""

from __future__ import annotations

from typing import Any

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import add_log_densities
from lindero.bayes.explanation import Explanation, explained
from lindero.bayes.files.bayes_network import BayesNetwork
from lindero.bayes.networks.network import Network
from lindero.bayes.posterior import log_posterior, most_probable, posterior
from lindero.bayes.reading import new_rows
from lindero.bayes.tables.table import Table
from lindero.runtime.arrays import Array


class BayesAnswers:
    """Abstract: of `BayesClassifier`, all that is asked after learning."""

    classes_: Array
    _attributes: Attributes
    _known: Any
    _estimated: Any

    # -- parameters ---------------------------------------------------------------------------

    @property
    def class_count_(self) -> Array:
        """How many rows, or how much weight, each class had."""
        return self._known().counts.of_class.copy()  # type: ignore[no-any-return]

    @property
    def class_log_prior_(self) -> Array:
        """The logarithm of the probability of each class before anything is looked at."""
        return self._estimated()[0].log_prior.copy()  # type: ignore[no-any-return]

    @property
    def theta_(self) -> Array:
        """Means of the Gaussian columns, (n_classes, n_gaussian)."""
        return self._estimated()[1].T.copy()  # type: ignore[no-any-return]

    @property
    def scale_(self) -> Array:
        """Standard deviations of the Gaussian columns, (n_classes, n_gaussian)."""
        return self._estimated()[2].T.copy()  # type: ignore[no-any-return]

    @property
    def network_(self) -> BayesNetwork:
        """The network: its arcs and tables, and the files that it can be written to. The class is
        called "class" there, with underscores after it if a column has that name."""
        model = self._estimated()[0]
        if not isinstance(model, Network):
            raise AttributeError(f"{type(self).__name__} averages networks: it has no single one.")
        attributes = self._attributes
        schema = attributes.schema
        left_out = [schema.title(int(k)) for k in attributes.gaussian_columns]
        return BayesNetwork(
            model,
            attributes.titles,
            attributes.values(),
            self.classes_.tolist(),
            left_out,
            attributes.class_name,
        )

    # -- answers ------------------------------------------------------------------------------

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
        self._estimated()  # which also says whether there is a model to read X for
        return self._log_joint(new_rows(self, X))

    def _log_joint(self, table: Table) -> Array:
        model, mean, sd = self._estimated()
        codes, _ = self._attributes.coded(table)
        joint: Array = model.log_joint(codes)
        # A number far from what was a constant would drown everything else in rounding.
        telling = ((mean != mean[:, :1]) | (sd != sd[:, :1])).any(axis=1)
        if telling.any():
            numbers = self._attributes.densities(table)
            if not telling.all():
                numbers, mean, sd = numbers[telling], mean[telling], sd[telling]
            add_log_densities(numbers, mean, sd, joint)
        return joint

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
        return log_posterior(self.predict_joint_log_proba(X), self.class_log_prior_)

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
        return posterior(self.predict_joint_log_proba(X), self.class_log_prior_)

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
        codes = most_probable(self.predict_joint_log_proba(X), self.class_log_prior_)
        return self.classes_[codes]

    def explain(self, X: Any, of: Any = None, against: Any = None) -> Explanation:
        """Take the log-odds of two classes apart, column by column.

        Parameters
        ----------
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        of, against : labels, default=None
            The two classes. None is the second class against the first where there are two, and
            otherwise the most probable one of each row against the next.

        Returns
        -------
        explanation : Explanation
            Its prior and terms sum up to its log-odds exactly.
        """
        return explained(self, X, of, against)
