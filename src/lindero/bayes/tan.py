"""TAN: naive Bayes whose attributes also depend on each other along a tree.

Chow and Liu's tree over the conditional mutual information

    I(X_i; X_j | C) = Σ P(x_i, x_j, c) log P(x_i, x_j | c) / (P(x_i | c) P(x_j | c))

is, of all trees, the one under which the samples are most probable (Friedman, Geiger and
Goldszmidt). It is directed away from a root; the class is a parent of every attribute. Counts of
pairs with the class are all that is needed, so that batches can change the tree.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.count_input import TABLES_OF_A_NETWORK, tree_bytes
from lindero.bayes.counts.counts import Counts, count_pairs
from lindero.bayes.counts.information import dependence, observed, relevance
from lindero.bayes.counts.structure import tree
from lindero.bayes.discriminative_classifier import (
    DISCRIMINATIVE_CONSTRAINTS,
    DiscriminativeClassifier,
)
from lindero.bayes.networks.families import FamilyCounts
from lindero.runtime.arrays import Array


class TAN(DiscriminativeClassifier):
    """Tree-augmented naive Bayes, for tables of numbers and categories.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every value given its parents.
    numeric : str or dict, default="mdl"
        What is made of number columns: "mdl" (cut where classes change), "quantile" or "uniform"
        (`n_bins` parts), or "gaussian", which stay outside the tree; or a mapping from columns, by
        name or position, to one of these or to cut points.
    root : str or int, default=None
        The column that the tree is directed away from; None is the one that tells most of the
        class. Columns that are missing throughout stay outside the tree.
    n_bins : int, default=10
        Parts of "quantile" and "uniform".
    categorical_features : list, mask or "all", default=None
        Columns that are categories though they hold numbers. Text and booleans are anyway.
    unseen : {"smooth", "missing", "error"}, default="smooth"
        What a category is that was not there in training. "smooth": one with a count of zero,
        which speaks for the class with fewer rows (to attributes that depend on it, it is as if
        missing); "missing": nothing is known, the neutral choice; or an error.
    missing : {"available", "em"}, default="available"
        How missing values are counted: families with one of them are left out, or they are counted
        by their expectation given the rest of the row (the EM algorithm; `fit` only). The tree
        comes from pairs of values that are there in either case. "available" suits tables with few
        gaps; in tables with many it uses few of the rows, and "em" all. In predicting they are
        summed out.
    learning : {"generative", "discriminative"}, default="generative"
        Whether parameters make the rows most probable, or the classes given the rest of the row
        (the TM algorithm; `fit` only). The second predicts probabilities better where columns tell
        the same twice, and needs more rows.
    solver : {"auto", "accelerated", "tm"}, default="auto"
        The way of discriminative learning: moving counts by the TM algorithm, or L-BFGS on the same
        objective, in fewer passes ("auto").
    penalty : float or "auto", default="auto"
        Pseudo-counts for every value that hold discriminative parameters near the generative ones;
        0 is none. "auto" chooses among 1, 3, 10, … 300 by five-fold cross-validation (the i-th row
        of a class is in fold i mod 5), which takes thirty times as long, or is 0 with
        `early_stopping`.
    early_stopping : bool, default=False
        Whether discriminative learning keeps a fifth of the rows to watch, from which nothing is
        learned, and ends when their log-loss no longer falls.
    max_passes : int, default=1000
        Most passes over the rows in discriminative learning.
    tol : float, default=1e-8
        Relative improvement of the objective below which it ends.
    fit_prior : bool, default=True
        Whether classes have the probability of their share; otherwise all have the same.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities of the classes, in the order of `classes_`. Discriminative parameters are
        shifted by the logarithm of what these are to the shares of the classes.
    warm_up : int, default=1000
        In `partial_fit`, rows after which cut points stay what they are. Where a class is
        still to come, up to 20 times as many are waited for.

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
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are text.

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
        max_passes: int = 1000,
        tol: float = 1e-8,
        fit_prior: bool = True,
        class_prior: Any = None,
        warm_up: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.numeric = numeric
        self.root = root
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.missing = missing
        self.learning = learning
        self.solver = solver
        self.penalty = penalty
        self.early_stopping = early_stopping
        self.max_passes = max_passes
        self.tol = tol
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.warm_up = warm_up

    def _require_columns(self, attributes: Attributes) -> None:
        attributes.place("root", self.root)

    def _counted(
        self,
        attributes: Attributes,
        sample: tuple[Array, Array, Array, int, Array | None],
        known: Any,
    ) -> Counts | FamilyCounts:
        if isinstance(known, FamilyCounts):  # completed by a fit with missing="em"
            return FamilyCounts.of(known.parents, known.with_class, sample, attributes.titles)
        cards, n_classes = sample[1], sample[3]
        room = TABLES_OF_A_NETWORK * tree_bytes(cards, n_classes)
        return count_pairs(*sample, names=attributes.titles, room=room)

    def _families(self, attributes: Attributes, counts: Any) -> FamilyCounts:
        if isinstance(counts, FamilyCounts):  # completed
            return counts
        root = attributes.place("root", self.root)
        parents = tree(dependence(counts), root, relevance(counts), observed(counts))
        tables = tuple(
            counts.pair(i, above[0]) if above else counts.single(i)
            for i, above in enumerate(parents)
        )
        return FamilyCounts(parents, (True,) * len(parents), counts.of_class, tables)
