"""TAN: naive Bayes whose attributes also depend on each other along a tree.

The maximum spanning tree (Chow and Liu) over the conditional mutual information

    I(X_i; X_j | C) = Σ P(x_i, x_j, c) log P(x_i, x_j | c) / (P(x_i | c) P(x_j | c))

is, of all trees, the one under which the samples are most probable (Friedman, Geiger and
Goldszmidt). It is directed away from a root; the class is a parent of every attribute. Counts of
pairs with the class are all that is needed, so that batches can change the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from sklearn.utils._param_validation import StrOptions

from lindero.bayes.classifier import DISCRIMINATIVE_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import (
    TABLES_OF_A_NETWORK,
    count_pairs,
    find_observed,
    find_tree_bytes,
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
class SpanningTree(StructureLearner):
    """The tree of the most conditional mutual information, directed away from a root."""

    root: str | int | None

    def require_columns(self, attributes: Attributes) -> None:
        attributes.find_attribute("root", self.root)

    def count(self, rows: CodedRows, attributes: Attributes, known: AnyCounts | None) -> AnyCounts:
        if isinstance(known, FamilyCounts):  # completed by a fit with missing="em"
            return FamilyCounts.count(known.parents, known.with_class, rows, attributes.titles)
        room = TABLES_OF_A_NETWORK * find_tree_bytes(rows.cards, rows.n_classes)
        return count_pairs(rows, names=attributes.titles, room=room)

    def is_completed(self, counts: AnyCounts) -> bool:
        return isinstance(counts, FamilyCounts)

    def find_families(self, counts: AnyCounts, attributes: Attributes) -> FamilyCounts:
        if isinstance(counts, FamilyCounts):  # completed
            return counts
        root = attributes.find_attribute("root", self.root)
        parents = find_tree(
            measure_dependence(counts), root, measure_relevance(counts), find_observed(counts)
        )
        tables = tuple(
            counts.pair(i, above[0]) if above else counts.single(i)
            for i, above in enumerate(parents)
        )
        return FamilyCounts(parents, (True,) * len(parents), counts.of_class, tables)


def find_tree(
    weights: Array,
    root: int | None = None,
    relevance: Array | None = None,
    among: Array | None = None,
) -> tuple[tuple[int, ...], ...]:
    """The spanning tree of the greatest sum of weights, as the parent of each attribute.

    It is directed away from `root`, by default the attribute of the greatest relevance, and spans
    the attributes `among` all; the others stay alone, be it the root. Of edges of equal weight the
    one first in order of its attributes is preferred, so that the same counts give the same tree.
    """
    weights = require_comparable(weights, "weights")
    d = len(weights)
    if root is not None and not 0 <= root < d:
        raise ValueError(f"root must be one of the {d} attributes, 0 to {d - 1}, got {root}.")
    members = np.arange(d) if among is None else np.flatnonzero(among)
    if len(members) == 0:
        return ((),) * d
    if root is None or root not in members:
        first_best = 0
        if relevance is not None:
            first_best = int(np.argmax(require_comparable(relevance, "relevance")[members]))
        root = int(members[first_best])
    # Not all versions of SciPy take graphs with 64-bit indices.
    first, second = (members[ends].astype(np.int32) for ends in np.triu_indices(len(members), 1))
    # Which edges are chosen depends on their order only. Places in it, from 1, are distinct, and
    # are costs that a sparse graph can hold, where a weight of zero would be no edge.
    places = np.empty(len(first))
    places[np.argsort(-weights[first, second], kind="stable")] = np.arange(1, len(first) + 1)
    chosen = minimum_spanning_tree(sp.csr_array((places, (first, second)), shape=(d, d)))
    _, parent = breadth_first_order(chosen, root, directed=False)
    return tuple((int(above),) if above >= 0 else () for above in parent)


@renamed_parameters(max_passes="max_iter")
class TAN(BayesClassifier):
    """Tree-augmented naive Bayes, for tables of numbers and categories.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every value given its parents (1 is Laplace's rule).
    numeric : str or dict, default="mdl"
        How number columns are used: "mdl" (cut where classes change), "quantile" or "uniform"
        (`n_bins` parts), or "gaussian" (a normal density given the class only); or a mapping from
        columns, by name or position, to one of these or to cut points.
    root : str or int, default=None
        The column that the tree is directed away from; None is the one with the most
        information about the class. Columns that are always missing stay outside the tree.
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
    NaiveBayes : Without the tree.
    KDB : With several parents for each column.
    AODE : An average of networks, without a search for arcs.

    References
    ----------
    .. [1] Friedman, N., Geiger, D. and Goldszmidt, M. (1997). Bayesian network classifiers. Machine
       Learning 29, 131-163.
    .. [2] Chow, C. and Liu, C. (1968). Approximating discrete probability distributions with
       dependence trees. IEEE Transactions on Information Theory 14, 462-467.
    .. [3] Edwards, D. and Lauritzen, S. L. (2001). The TM algorithm for maximising a conditional
       likelihood function. Biometrika 88, 961-972.
    .. [4] Fayyad, U. M. and Irani, K. B. (1993). Multi-interval discretization of continuous-valued
       attributes for classification learning. IJCAI-93, 1022-1027.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.bayes import TAN
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> y = X[:, 0] ^ X[:, 1]  # nothing that independent columns could tell
    >>> TAN(categorical_features="all").fit(X, y).score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DISCRIMINATIVE_CONSTRAINTS,
        "root": [str, Integral, None],
        "missing": [StrOptions({"available", "em"})],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        numeric: Any = "mdl",
        root: str | int | None = None,
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
        return SpanningTree(self.root)
