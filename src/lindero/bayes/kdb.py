"""KDB: naive Bayes whose attributes have up to k others as parents.

Sahami's rule: attributes are taken in the order of what they tell of the class, I(X_i; C); each has
as parents those k, of the ones taken before it, that it depends on most, I(X_i; X_j | C). k = 0 is
naive Bayes; k = 1 a forest; with more, tables grow as the product of the parents' values.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.bayes.classifier import DISCRIMINATIVE_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import (
    Counts,
    count_pairs,
    find_observed,
    measure_dependence,
    measure_relevance,
    require_comparable,
)
from lindero.bayes.evidence import AnyCounts
from lindero.bayes.learner import StructureLearner
from lindero.bayes.networks.network import FamilyCounts
from lindero.renamed import renamed_parameters
from lindero.runtime.arrays import Array
from lindero.validation import keep_parameters


@dataclass(frozen=True)
class KDependence(StructureLearner):
    """Up to k parents for each attribute, among those that tell more about the class."""

    k: int
    needs_rows = True

    def count(self, rows: CodedRows, attributes: Attributes, known: AnyCounts | None) -> AnyCounts:
        if known is not None:
            assert isinstance(known, FamilyCounts)
            parents = known.parents
        else:
            # Families are counted anew, and may need the memory of the pairs.
            parents = self.find_arcs(count_pairs(rows, names=attributes.titles))
        return FamilyCounts.count(parents, (True,) * len(parents), rows, attributes.titles)

    def find_arcs(self, pairs: Counts) -> tuple[tuple[int, ...], ...]:
        """The parents of each attribute that counts of pairs tell."""
        told, weights = measure_relevance(pairs), measure_dependence(pairs)
        return find_k_parents(told, weights, self.k, find_observed(pairs))

    def name_arcs(self, pairs: Counts) -> FamilyCounts:
        """The same as families that are still to be counted."""
        parents = self.find_arcs(pairs)
        return FamilyCounts(parents, (True,) * len(parents), pairs.of_class, ())


def find_k_parents(
    relevance: Array, weights: Array, k: int, among: Array | None = None
) -> tuple[tuple[int, ...], ...]:
    """Up to k parents for each attribute, among those of more relevance, that of the greatest
    weight first; attributes that are not `among` them stay alone. Ties are broken by position."""
    if k < 0:
        raise ValueError(f"k must be 0 or more, got {k}.")
    weights = require_comparable(weights, "weights")
    order = np.argsort(-require_comparable(relevance, "relevance"), kind="stable")
    parents: list[tuple[int, ...]] = [()] * len(order)
    if among is not None:
        order = order[np.asarray(among, dtype=bool)[order]]
    for place, i in enumerate(order):
        before = order[:place]
        strongest = np.argsort(-weights[i, before], kind="stable")[:k]
        parents[i] = tuple(int(j) for j in before[strongest])
    return tuple(parents)


@renamed_parameters(max_passes="max_iter")
class KDB(BayesClassifier):
    """k-dependence Bayesian classifier, for tables of numbers and categories.

    Parameters
    ----------
    k : int, default=2
        The most parents that a column has beside the class.
    alpha : float, default=1.0
        Pseudo-count of every value given its parents (1 is Laplace's rule).
    numeric : str or dict, default="mdl"
        How number columns are used: "mdl" (cut where classes change), "quantile" or "uniform"
        (`n_bins` parts), or "gaussian" (a normal density given the class only); or a mapping from
        columns, by name or position, to one of these or to cut points.
    n_bins : int, default=10
        Parts of "quantile" and "uniform".
    categorical_features : list, mask or "all", default=None
        Columns that are categories though they hold numbers. Text and booleans always are.
    unseen : {"smooth", "missing", "error"}, default="smooth"
        How a category that was not in the training data is treated: as one with a count of zero,
        which favours the class with fewer rows ("smooth"), as a missing value, or as an error.
    missing : {"available", "em"}, default="available"
        How missing values are counted: rows that miss a parent are shared among its values as the
        other rows of their class have them, and those that miss the column itself are left out; or
        by their expectation given the rest of the row (the EM algorithm; `fit` only). Prediction
        sums them out.
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
        Rows after which `partial_fit` fixes cuts and arcs; up to 20 times if a class has none.

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
    TAN : The best tree, which has one parent for each column.
    NetworkClassifier : With arcs that are given.
    StructuralTM : With arcs that are searched for prediction.

    References
    ----------
    .. [1] Sahami, M. (1996). Learning limited dependence Bayesian classifiers. KDD-96, 335-338.
    .. [2] Edwards, D. and Lauritzen, S. L. (2001). The TM algorithm for maximising a conditional
       likelihood function. Biometrika 88, 961-972.
    .. [3] Fayyad, U. M. and Irani, K. B. (1993). Multi-interval discretization of continuous-valued
       attributes for classification learning. IJCAI-93, 1022-1027.

    Examples
    --------
    >>> import itertools
    >>> import numpy as np
    >>> from lindero.bayes import KDB
    >>> X = np.array(list(itertools.product([0, 1], repeat=3)) * 10)
    >>> y = X.sum(axis=1) % 2  # only all three columns together tell it
    >>> KDB(k=2, categorical_features="all").fit(X, y).score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DISCRIMINATIVE_CONSTRAINTS,
        "k": [Interval(Integral, 0, None, closed="left")],
        "missing": [StrOptions({"available", "em"})],
    }

    def __init__(
        self,
        k: int = 2,
        *,
        alpha: float = 1.0,
        numeric: Any = "mdl",
        n_bins: int = 10,
        categorical_features: Any = None,
        unseen: str = "smooth",
        missing: str = "available",
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
        return KDependence(self.k)
