"""Naive Bayes: all columns independent of each other once the class is known.

    P(c | x) ∝ P(c) Π_j P(x_j | c)
    categories   P(x | c) = (count(x, c) + α) / (count(c) + α · number of values)
    numbers      a normal density with the mean and the sample deviation of the class, or cut

A missing value is left out, in counting and in predicting.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lindero.bayes.classifier import DISCRIMINATIVE_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import Counts, count_singles
from lindero.bayes.evidence import AnyCounts
from lindero.bayes.learner import StructureLearner
from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.renamed import renamed_parameters
from lindero.runtime.arrays import Array
from lindero.validation import keep_parameters


class NoArcs(StructureLearner):
    """No attribute depends on another."""

    def count(self, rows: CodedRows, attributes: Attributes, known: AnyCounts | None) -> Counts:
        return count_singles(rows)

    def find_families(self, counts: AnyCounts, attributes: Attributes) -> FamilyCounts:
        assert isinstance(counts, Counts)
        d = counts.n_attributes
        tables = tuple(counts.single(i) for i in range(d))
        return FamilyCounts(((),) * d, (True,) * d, counts.of_class, tables)


@renamed_parameters(max_passes="max_iter")
class NaiveBayes(BayesClassifier):
    """Naive Bayes for tables of numbers and categories, with missing and unseen values.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every value of a category (1 is Laplace's rule).
    numeric : str or dict, default="gaussian"
        How number columns are used: "gaussian", "mdl" (cut where classes change), "quantile" or
        "uniform" (`n_bins` parts); or a mapping from columns to one of these or to cut points.
    n_bins : int, default=10
        Parts of "quantile" and "uniform".
    categorical_features : list, mask or "all", default=None
        Columns that are categories though they hold numbers. Text and booleans always are.
    unseen : {"smooth", "missing", "error"}, default="smooth"
        How a category that was not in the training data is treated: as one with a count of zero,
        which favours the class with fewer rows ("smooth"), as a missing value, or as an error.
    learning : {"generative", "discriminative"}, default="generative"
        Whether parameters make the rows most probable, or the classes given the rest of the row
        (the TM algorithm; `fit` only), which needs more rows and predicts better probabilities.
    solver : {"auto", "accelerated", "tm"}, default="auto"
        How discriminative parameters are found: by the TM algorithm, which hands over to L-BFGS
        where it would only creep (`convergence_.status` says so), or by L-BFGS on the same
        objective from the start, in fewer passes ("accelerated", which is "auto").
    penalty : float or "auto", default="auto"
        Pseudo-counts that hold discriminative parameters near the generative ones; 0 is none.
        "auto" chooses among 1, 3, 10, … 300 by five-fold cross-validation (the i-th row of a class
        is in fold i mod 5), which takes 30 times as long, or is 0 with `early_stopping`.
    early_stopping : bool, default=False
        Whether it holds out a fifth of the rows, and ends when their log-loss no longer falls.
    max_iter : int, default=1000
        Most passes over the rows in discriminative learning.
    tol : float, default=1e-8
        Relative improvement of the objective below which it ends.
    fit_prior : bool, default=True
        Whether classes have the probability of their share; otherwise all have the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes, in the order of `classes_`, in place of their shares.
    warm_up : int, default=1000
        Rows after which `partial_fit` fixes cut points; up to 20 times as many if a class has none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    network_ : BayesNetwork
        Arcs and tables.
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of each class, and the logarithm of its probability.
    theta_, scale_ : ndarray of shape (n_classes, n_gaussian)
        Means and standard deviations of Gaussian columns.
    convergence_ : Convergence
        How discriminative learning went: likelihood and step of each pass, and why it ended.
    n_iter_ : int
        Passes over the rows that parameters took: 1, unless learning is discriminative.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are text.

    See Also
    --------
    TAN : Columns also depend on each other, along a tree.
    AODE : An average of networks, without a search for arcs.
    TMClustering : The same model with classes that nobody has seen.

    References
    ----------
    .. [1] Domingos, P. and Pazzani, M. (1997). On the optimality of the simple Bayesian classifier
       under zero-one loss. Machine Learning 29, 103-130.
    .. [2] Edwards, D. and Lauritzen, S. L. (2001). The TM algorithm for maximising a conditional
       likelihood function. Biometrika 88, 961-972.

    Examples
    --------
    >>> from lindero.bayes import NaiveBayes
    >>> X = [["sun", 30.0], ["sun", 25.0], ["rain", None], ["rain", 12.0]]
    >>> model = NaiveBayes().fit(X, ["out", "out", "in", "in"])
    >>> model.predict([["rain", 11.0], ["snow", 28.0], [None, 27.0]])
    array(['in', 'out', 'out'], dtype='<U3')
    >>> print(model.explain([["rain", None]]).sentence(0))
    in rather than out: log-odds +1.10 = before -0.00, x0 +1.10
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**DISCRIMINATIVE_CONSTRAINTS}
    _usual_numeric: ClassVar[str] = "gaussian"
    _least_rows: ClassVar[int | None] = 5

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        numeric: Any = "gaussian",
        n_bins: int = 10,
        categorical_features: Any = None,
        unseen: str = "smooth",
        learning: str = "generative",
        solver: str = "auto",
        penalty: float | str = "auto",
        early_stopping: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-8,
        fit_prior: bool = True,
        class_prior: Any = None,
        warm_up: int = 1000,
    ) -> None:
        keep_parameters(self, locals())

    def _make_structure(self) -> StructureLearner:
        return NoArcs()

    def to_sklearn(self) -> Any:
        """A fitted estimator of scikit-learn that gives the same probabilities.

        Returns
        -------
        twin : GaussianNB or Pipeline
            A ``sklearn.naive_bayes.GaussianNB`` if all columns are Gaussian; if all are categories,
            a pipeline of an ``OrdinalEncoder`` and a ``CategoricalNB``. Neither takes missing
            values or new categories.

        Raises
        ------
        ValueError
            Where columns of both kinds or cut numbers are used: scikit-learn has no such model.

        Examples
        --------
        >>> from lindero.bayes import NaiveBayes
        >>> twin = NaiveBayes().fit([[1.0], [2.0], [7.0], [9.0]], [0, 0, 1, 1]).to_sklearn()
        >>> twin
        GaussianNB(var_smoothing=0.0)
        >>> twin.predict([[6.0]])
        array([1])
        """
        attributes, network, mean, sd = self.__lindero_estimate__()
        assert isinstance(network, Network)
        schema = attributes.schema
        mixed = len(schema.number_columns) and len(schema.category_columns)
        if mixed or attributes.cut or schema.unknown_columns:
            raise ValueError(
                "scikit-learn's naive Bayes takes either Gaussian columns or categories, but this "
                f"model uses {_list_kinds(attributes)}. Keep it as it is (lindero.persist.save), "
                "or export it (lindero.persist.save_onnx)."
            )
        if schema.number_columns:
            return _make_gaussian_twin(self, network, mean, sd)
        return _make_categorical_twin(self, network, [list(c.values) for c in schema.columns])


def _list_kinds(attributes: Attributes) -> str:
    """Which kinds of columns a model uses."""
    schema = attributes.schema
    found = {
        "Gaussian columns": bool(attributes.gaussian),
        "numbers that are cut": bool(attributes.cut),
        "categories": len(schema.category_columns) > len(schema.unknown_columns),
        "columns without any value": bool(schema.unknown_columns),
    }
    return " and ".join(name for name, there in found.items() if there)


def _adopt_classes(twin: Any, model: NaiveBayes) -> None:
    twin.classes_ = model.classes_.copy()
    twin.class_count_ = model.class_count_
    twin.n_features_in_ = model.n_features_in_


def _make_gaussian_twin(model: NaiveBayes, network: Network, mean: Array, sd: Array) -> Any:
    from sklearn.naive_bayes import GaussianNB

    twin = GaussianNB(priors=model.class_prior, var_smoothing=0.0)
    _adopt_classes(twin, model)
    twin.class_prior_ = np.exp(network.log_prior)
    twin.theta_, twin.var_, twin.epsilon_ = mean.T.copy(), sd.T**2, 0.0
    if hasattr(model, "feature_names_in_"):
        twin.feature_names_in_ = model.feature_names_in_.copy()
    return twin


def _make_categorical_twin(model: NaiveBayes, network: Network, values: list[list[Any]]) -> Any:
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OrdinalEncoder

    def place(column: list[Any]) -> Array:
        kinds = {type(value) for value in column}
        return np.array(column, dtype=object if kinds <= {str} else None)

    # Values are in the order of their codes; of numbers the encoder wants them sorted.
    orders = [
        np.arange(len(column)) if isinstance(column[0], str) else np.argsort(column)
        for column in values
    ]
    shown = [place(column)[order] for column, order in zip(values, orders, strict=True)]
    encoder = OrdinalEncoder(categories=shown)
    example = np.array([[column[0] for column in shown]], dtype=object)
    encoder.fit(example)
    encoder.categories_ = shown
    twin = CategoricalNB(alpha=model.alpha, fit_prior=model.fit_prior)
    _adopt_classes(twin, model)
    twin.class_log_prior_ = network.log_prior.copy()
    twin.n_categories_ = np.array([len(column) for column in values])
    n_classes = len(model.classes_)
    twin.feature_log_prob_ = [
        np.broadcast_to(table[order], (len(order), n_classes)).T.copy()
        for table, order in zip(network.log_tables, orders, strict=True)
    ]
    twin.category_count_ = [
        np.exp(table) * twin.class_count_[:, None] for table in twin.feature_log_prob_
    ]
    if hasattr(model, "feature_names_in_"):
        encoder.feature_names_in_ = model.feature_names_in_.copy()
    return Pipeline([("codes", encoder), ("classifier", twin)])
