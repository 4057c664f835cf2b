"""KDB: naive Bayes whose attributes have up to k others as parents.

Sahami's rule: attributes are taken in the order of what they tell of the class, I(X_i; C); each has
as parents those k, of the ones taken before it, that it depends on most, I(X_i; X_j | C). k = 0 is
naive Bayes; k = 1 a forest; with more, tables grow as the product of the parents' values.

Which k, and how many of the attributes in that order, is a matter of how many rows there are. The
selective one takes those that predict best when each row is left out; attributes after them are in
no arc. Networks of the first n attributes and the first m parents of each are nested both ways, so
that one pass over the rows judges all of them. Without row t, which counts for w,

    P₋t(c)           = (N(c) − w [c = y_t]) / (N − w)
    P₋t(x | pa, c)   = (N(x, pa, c) − w [c = y_t] + α) / (N(pa, c) − w [c = y_t] + α r)

at the values x and pa that it has: what is taken off are its own cells. The loss of n and m is

    Σ_t w_t (1 − P₋t(y_t | x_t))²,

and the least is taken, of equal ones that with fewer parents, and then with fewer attributes. A row
of weight 2 is two rows, of which one is left out. A row that misses an attribute is not judged by
it; one that misses a parent is judged by the parents before that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.bayes.classifier import DISCRIMINATIVE_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.counting import COUNT_ROUNDING, CodedRows
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

#: Rows that are judged at a time.
_BLOCK = 4096

#: Losses that differ by less than this share are the same.
_SAME = 1e-9


@dataclass(frozen=True)
class KDependence(StructureLearner):
    """Up to k parents for each attribute, among those that tell more about the class. A selective
    one finds with `alpha` pseudo-counts which attributes, and how many parents, are best."""

    k: int
    selective: bool = False
    alpha: float = 1.0
    needs_rows = True

    def require_columns(self, attributes: Attributes) -> None:
        if self.selective and attributes.gaussian:
            title = attributes.schema.title(int(attributes.gaussian_columns[0]))
            raise ValueError(
                f"numeric makes column {title!r} Gaussian, but selective=True chooses among "
                "columns of values: use 'mdl', 'quantile', 'uniform' or cut points."
            )

    def count(self, rows: CodedRows, attributes: Attributes, known: AnyCounts | None) -> AnyCounts:
        if known is not None:
            assert isinstance(known, FamilyCounts)
            return FamilyCounts.count(known.parents, known.with_class, rows, attributes.titles)
        # Families are counted anew, and may need the memory of the pairs.
        pairs = count_pairs(rows, names=attributes.titles)
        order, parents = rank_attributes(pairs), self.find_arcs(pairs)
        del pairs
        counts = FamilyCounts.count(parents, (True,) * len(parents), rows, attributes.titles)
        return self._select(counts, order, rows, attributes) if self.selective else counts

    def _select(
        self, counts: FamilyCounts, order: Array, rows: CodedRows, attributes: Attributes
    ) -> FamilyCounts:
        """The counts of the families that predict best; the attributes left out have none."""
        ranked = [int(i) for i in order]
        best = select_families(rows, ranked, counts.parents, counts.tables, self.alpha)
        kept = ranked[: best.n_attributes]
        inside = tuple(i in kept for i in range(len(counts.parents)))
        parents = tuple(
            above[: best.n_parents] if is_in else ()
            for above, is_in in zip(counts.parents, inside, strict=True)
        )
        return FamilyCounts.count(parents, inside, rows, attributes.titles)

    def find_arcs(self, pairs: Counts) -> tuple[tuple[int, ...], ...]:
        """The parents of each attribute that counts of pairs tell."""
        told, weights = measure_relevance(pairs), measure_dependence(pairs)
        return find_k_parents(told, weights, self.k, find_observed(pairs))

    def name_arcs(self, pairs: Counts) -> FamilyCounts:
        """The same as families that are still to be counted."""
        parents = self.find_arcs(pairs)
        return FamilyCounts(parents, (True,) * len(parents), pairs.of_class, ())


def rank_attributes(pairs: Counts) -> Array:
    """The attributes of which anything was observed, by what they tell of the class."""
    order = np.argsort(-measure_relevance(pairs), kind="stable")
    return order[find_observed(pairs)[order]]


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
    selective : bool, default=False
        Whether to take as many columns, and as many parents up to `k`, as predict best when each
        row is left out (squared loss of the probability of its class): a `k` of 4 or 5 lets the
        rows decide. Columns that are not taken are in no arc. Needs all rows in memory.
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
    .. [4] Martínez, A. M., Webb, G. I., Chen, S. and Zaidi, N. A. (2016). Scalable learning of
       Bayesian network classifiers. Journal of Machine Learning Research 17(44), 1-35.

    Examples
    --------
    >>> import itertools
    >>> import numpy as np
    >>> from lindero.bayes import KDB
    >>> X = np.array(list(itertools.product([0, 1], repeat=3)) * 10)
    >>> y = X.sum(axis=1) % 2  # only all three columns together tell it
    >>> KDB(k=2, categorical_features="all").fit(X, y).score(X, y)
    1.0

    Of three columns, one of them noise, and up to two parents, rows choose two and one:

    >>> y = X[:, 0] ^ X[:, 1]
    >>> model = KDB(k=2, selective=True, categorical_features="all").fit(X, y)
    >>> [(parent, child) for parent, child in model.network_.arcs if parent != "class"]
    [('x0', 'x1')]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DISCRIMINATIVE_CONSTRAINTS,
        "k": [Interval(Integral, 0, None, closed="left")],
        "selective": ["boolean"],
        "missing": [StrOptions({"available", "em"})],
    }

    def __init__(
        self,
        k: int = 2,
        *,
        selective: bool = False,
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
        return KDependence(self.k, self.selective, float(self.alpha))


# -- what predicts best when each row is left out --------------------------------------------------


@dataclass(frozen=True, eq=False)
class FamilySelection:
    """The first `n_attributes`, with their first `n_parents`; `losses[m, n]` is the mean loss of m
    parents and n attributes."""

    n_attributes: int
    n_parents: int
    losses: Array


def select_families(
    rows: CodedRows,
    order: Sequence[int],
    parents: Sequence[Sequence[int]],
    tables: Sequence[Array],
    alpha: float,
) -> FamilySelection:
    """Judge the first attributes of an order with their first parents.

    `parents` and `tables` are those of all attributes: counts of shape (r + 1, r_p1 + 1, …, K) as
    `FamilyCounts` has them, slot 0 for missing values.
    """
    deepest = max((len(parents[i]) for i in order), default=0)
    levels = {
        i: [_Level.of(tables[i], parents[i][:m]) for m in range(len(parents[i]) + 1)] for i in order
    }
    _ = rows.ranges  # checked
    losses = np.zeros((deepest + 1, len(order) + 1))
    for start in range(0, rows.n_rows, _BLOCK):
        some = rows.take(np.arange(start, min(start + _BLOCK, rows.n_rows)))
        left_out = _LeftOut.of(some)
        joint = np.empty((deepest + 1, some.n_rows, rows.n_classes))
        joint[:] = left_out.log_prior(rows.count_classes())
        losses[:, 0] += left_out.sum_losses(joint)
        for place, i in enumerate(order, start=1):
            term = np.zeros(joint.shape[1:])
            for m in range(deepest + 1):
                if m < len(levels[i]):
                    term = levels[i][m].replace_terms(term, some.codes, i, left_out.less, alpha)
                joint[m] += term
            losses[:, place] += left_out.sum_losses(joint)
    losses /= rows.total_weight
    least = losses.min()
    n_parents, n_attributes = divmod(
        int(np.flatnonzero(losses.ravel() <= least + _SAME * max(least, _SAME))[0]),
        losses.shape[1],
    )
    return FamilySelection(n_attributes, n_parents, losses)


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """Rows, each left out in its turn."""

    y: Array
    weights: Array
    less: Array  # what is taken off the counts of each class, (n_rows, K)

    @classmethod
    def of(cls, rows: CodedRows) -> _LeftOut:
        weights = np.ones(rows.n_rows) if rows.weights is None else np.asarray(rows.weights)
        less = np.zeros((rows.n_rows, rows.n_classes))
        less[np.arange(rows.n_rows), rows.y] = np.minimum(weights, 1.0)
        return cls(rows.y, weights, less)

    def log_prior(self, of_class: Array) -> Array:
        """log P(c) without each row; uniform without any."""
        rest = _take_off(of_class, self.less)
        total = rest.sum(axis=1, keepdims=True)
        shares = np.where(total > 0.0, rest / np.where(total > 0.0, total, 1.0), 1 / rest.shape[1])
        with np.errstate(divide="ignore"):
            return np.log(shares)

    def sum_losses(self, joint: Array) -> Array:
        """Σ w (1 − P(y | x))² for each number of parents. A row that is impossible under every
        class says nothing: all classes are equally probable."""
        joint = np.where((joint > -np.inf).any(axis=-1, keepdims=True), joint, 0.0)
        odds = np.exp(joint - joint.max(axis=-1, keepdims=True))
        own = odds[:, np.arange(len(self.y)), self.y] / odds.sum(axis=-1)
        losses: Array = ((1.0 - own) ** 2) @ self.weights
        return losses


@dataclass(frozen=True, eq=False)
class _Level:
    """Counts of an attribute with its first parents, and their sums over its values, as rows of
    tables: (cells, K)."""

    parents: tuple[int, ...]
    shape: tuple[int, ...]
    own: Array
    above: Array

    @classmethod
    def of(cls, table: Array, parents: Sequence[int]) -> _Level:
        later = tuple(range(1 + len(parents), table.ndim - 1))
        table = table.sum(axis=later)
        n_classes = table.shape[-1]
        return cls(
            tuple(parents), table.shape[:-1], table.reshape(-1, n_classes),
            table[1:].sum(axis=0).reshape(-1, n_classes),
        )  # fmt: skip

    def replace_terms(self, term: Array, codes: Array, i: int, less: Array, alpha: float) -> Array:
        """log P₋t(x_i | parents, c), where the attribute and all parents are known; the rest of
        `term` stays."""
        known = np.flatnonzero(np.all(codes[[i, *self.parents]] > 0, axis=0))
        r = self.shape[0] - 1
        if not len(known) or not r:
            return term
        places = tuple(codes[[i, *self.parents]][:, known].astype(np.int64))
        above = np.zeros(len(known), dtype=np.int64)
        if self.parents:
            above = np.ravel_multi_index(places[1:], self.shape[1:])
        less = less[known]
        own = _take_off(self.own[np.ravel_multi_index(places, self.shape)], less) + alpha
        total = _take_off(self.above[above], less) + alpha * r
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(total > 0.0, own / np.where(total > 0.0, total, 1.0), 1 / r))
        term = term.copy()
        term[known] = logs
        return term


def _take_off(counts: Array, less: Array) -> Array:
    """Counts without a row; a rest that may be rounding is 0."""
    rest = counts - less
    rest[rest <= COUNT_ROUNDING * counts] = 0.0
    return rest
