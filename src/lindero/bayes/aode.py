"""AODE: the average of all networks in which one attribute is the parent of all others.

    P(c, x) = 1/|S| Σ_{i ∈ S} P(c) P(x_i | c) Π_{j ≠ i} P(x_j | x_i, c)

No structure is searched for (Webb, Boughton and Wang): what one attribute tells of the others is
averaged over S, the attributes of which anything was observed. Counts of pairs with the class are
all that is needed.

A star whose centre is missing or new is summed over the centre's values, missing leaves drop out,
and new values have their probability as in `networks.network`; so each term is exactly what the
star's own network gives. The table of centre i holds, for each of its values, the leaves side by
side, each with its slots 0…r + 1 and K classes: the leaves of a row are found in one short stretch
of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lindero.bayes.classifier import BAYES_CONSTRAINTS, BayesClassifier
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import Counts, count_pairs, find_pair_bytes, find_tree_bytes
from lindero.bayes.evidence import AnyCounts
from lindero.bayes.learner import StructureLearner
from lindero.bayes.networks.inference import read_codes, run_in_tiles
from lindero.bayes.networks.network import Network, estimate_network
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.validation import keep_parameters


class AllStars(StructureLearner):
    """Every attribute in turn is the parent of all others."""

    def count(self, rows: CodedRows, attributes: Attributes, known: AnyCounts | None) -> Counts:
        # Each pair is in two stars, and each star is a network before it is written into these.
        size = (rows.cards, rows.n_classes)
        room = 2 * find_pair_bytes(*size) + 2 * find_tree_bytes(*size)
        return count_pairs(rows, names=attributes.titles, room=room)

    def estimate(
        self, counts: AnyCounts, attributes: Attributes, alpha: float, prior: Array | None
    ) -> AveragedStars:
        assert isinstance(counts, Counts)
        return AveragedStars(
            estimate_stars(counts.cards, counts.of_class, counts.single, counts.pair, alpha, prior)
        )


class AODE(BayesClassifier):
    """Averaged one-dependence estimators, for tables of numbers and categories.

    Parameters
    ----------
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
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of each class, and the logarithm of its probability.
    theta_, scale_ : ndarray of shape (n_classes, n_gaussian)
        Means and standard deviations of Gaussian columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are text.

    See Also
    --------
    NaiveBayes : One network, without arcs between columns.
    TAN : One network, with the best tree.

    Notes
    -----
    Missing values are left out in counting, and summed out in prediction. `explain` takes columns
    one after the other, so that what a column adds depends on those before it.

    References
    ----------
    .. [1] Webb, G. I., Boughton, J. R. and Wang, Z. (2005). Not so naive Bayes: aggregating
       one-dependence estimators. Machine Learning 58, 5-24.
    .. [2] Fayyad, U. M. and Irani, K. B. (1993). Multi-interval discretization of continuous-valued
       attributes for classification learning. IJCAI-93, 1022-1027.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.bayes import AODE
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> y = X[:, 0] ^ X[:, 1]
    >>> AODE(categorical_features="all").fit(X, y).score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**BAYES_CONSTRAINTS}
    _has_one_network: ClassVar[bool] = False

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        numeric: Any = "mdl",
        n_bins: int = 10,
        categorical_features: Any = None,
        unseen: str = "smooth",
        fit_prior: bool = True,
        class_prior: Any = None,
        warm_up: int = 1000,
    ) -> None:
        keep_parameters(self, locals())

    def _make_structure(self) -> StructureLearner:
        return AllStars()


@dataclass(frozen=True, eq=False)
class AveragedStars:
    """Stars, and what each attribute adds to their average."""

    stars: Stars

    @property
    def log_prior(self) -> Array:
        return self.stars.log_prior

    def log_joint(self, codes: Array) -> Array:
        return self.stars.log_joint(codes)

    def log_terms(self, codes: Array) -> Array:
        """log P(c, x_1…x_j) − log P(c, x_1…x_{j−1}), of shape (n_attributes, n_rows, K)."""
        so_far = np.zeros_like(codes)
        terms = np.empty((*codes.shape, self.stars.n_classes))
        before = self.log_joint(so_far)
        for j in range(len(codes)):
            so_far[j] = codes[j]
            after = self.log_joint(so_far)
            with np.errstate(invalid="ignore"):  # impossible before and after
                terms[j] = np.where(np.isneginf(after), -np.inf, after - before)
            terms[j, codes[j] == 0] = 0.0
            before = after
        return terms


# -- star networks --------------------------------------------------------------------------------

_BLOCK = 64


class StarTables(NamedTuple):
    """The tables of all stars, as compiled code reads them."""

    n_classes: int
    cards: Array
    centre_of: Array  # the attributes that are centres
    leaf_start: Array  # slots of each attribute, put side by side
    centres: Array  # log P(x_i | c): slots 0…r + 1 of all attributes, and K classes
    table_start: Array
    leaves: Array  # [table_start[i] + ((value - 1) * width_i + slot of leaf) * K + c]

    def state(self) -> dict[str, Any]:
        """All of it, by name."""
        return self._asdict()


@dataclass(frozen=True, eq=False)
class Stars:
    """Star networks over the same attributes; without `unseen`, new values count as missing."""

    cards: Array
    n_classes: int
    log_prior: Array
    unseen: bool
    tables: StarTables

    @property
    def n_attributes(self) -> int:
        return len(self.cards)

    def log_joint(self, codes: Array, n_threads: int | None = None) -> Array:
        """log P(c, observed attributes), averaged over stars, of shape (n_rows, K)."""
        codes = read_codes(codes, self.cards, self.unseen)
        n_rows, n_stars = codes.shape[1], len(self.tables.centre_of)
        out = np.zeros((n_rows, self.n_classes))

        def average(part: slice) -> None:
            _average(self.tables, codes, part.start, part.stop, out)

        if n_stars:  # without, nothing was observed that could tell anything
            run_in_tiles(average, n_rows, codes.size * n_stars, n_threads)
        out += self.log_prior
        return out


def estimate_star(
    i: int,
    cards: Array,
    class_counts: Array,
    single: Callable[[int], Array],
    pair: Callable[[int, int], Array],
    alpha: float,
    prior: Array | None = None,
) -> Network:
    """The network in which attribute i is the parent of all others.

    `single(i)` gives counts of shape (r_i + 1, K), `pair(j, i)` of shape (r_j + 1, r_i + 1, K).
    """
    d = len(cards)
    families = [single(j) if j == i else pair(j, i) for j in range(d)]
    parents = [() if j == i else (i,) for j in range(d)]
    return estimate_network(families, parents, [True] * d, cards, class_counts, alpha, prior)


def estimate_stars(
    cards: Array,
    class_counts: Array,
    single: Callable[[int], Array],
    pair: Callable[[int, int], Array],
    alpha: float,
    prior: Array | None = None,
) -> Stars:
    """All stars, with probabilities as in `estimate_network`; arguments as in `estimate_star`."""
    cards = np.asarray(cards, dtype=np.int64)
    K, d = len(class_counts), len(cards)
    slots = cards + 2
    starts = np.cumsum([0, *slots], dtype=np.int64)
    centre_of = [i for i in range(d) if np.any(single(i)[1:])]
    widths = np.zeros(d, dtype=np.int64)
    widths[centre_of] = (starts[-1] - slots[centre_of]) * cards[centre_of] * K
    table_start = np.cumsum([0, *widths], dtype=np.int64)
    centres, leaves = np.zeros((starts[-1], K)), np.empty(table_start[-1])
    for i in centre_of:
        network = estimate_star(i, cards, class_counts, single, pair, alpha, prior)
        own = centres[starts[i] : starts[i + 1]]
        _write_star(i, network, own, leaves[table_start[i] : table_start[i + 1]])
        del network  # before the next one is made
    log_prior = estimate_network([], [], [], cards[:0], class_counts, alpha, prior).log_prior
    tables = StarTables(
        K, cards, np.array(centre_of, dtype=np.int64), starts[:-1], centres.ravel(),
        table_start[:-1], leaves,
    )  # fmt: skip
    return Stars(cards, K, log_prior, alpha > 0, tables)


def _write_star(i: int, network: Network, centre: Array, leaves: Array) -> None:
    """The tables of the star of attribute i: its own slots, and leaves for each of its values."""
    flat, r = network.flat_logs, int(network.cards[i])
    blocks = np.split(flat.log_values, flat.table_start[1:])
    centre[:] = blocks[i].reshape(centre.shape)
    stretches = [block.reshape(r, -1) for j, block in enumerate(blocks) if j != i]
    if stretches:
        np.concatenate(stretches, axis=1, out=leaves.reshape(r, -1))


@compiled(EXACT)
def _average(tables, codes, start, stop, out):  # type: ignore[no-untyped-def]
    """Rows start…stop, a block at a time, so that one centre's table serves many of them."""
    d, K, cards = codes.shape[0], tables.n_classes, tables.cards
    slots = np.empty((_BLOCK, d), dtype=np.int64)
    n_stars = tables.centre_of.size
    stars = np.empty((_BLOCK, n_stars, K))
    inner = np.empty((cards.max(), K))
    for begin in range(start, stop, _BLOCK):
        n = min(_BLOCK, stop - begin)
        for i in range(d):
            for k in range(n):
                slots[k, i] = (
                    tables.leaf_start[i] + min(np.int64(codes[i, begin + k]), cards[i] + 1)
                ) * K
        for s in range(n_stars):
            i = tables.centre_of[s]
            r, first = cards[i], tables.leaf_start[i] * K
            width = (tables.leaf_start[d - 1] + cards[d - 1] - r) * K
            for k in range(n):
                code = slots[k, i] // K - tables.leaf_start[i]
                star, own = stars[k, s], tables.centres[slots[k, i] : slots[k, i] + K]
                if 1 <= code <= r:
                    star[:] = own
                    at = tables.table_start[i] + (code - 1) * width
                    _add_leaves(tables.leaves, at, slots[k], i, (r + 2) * K, star)
                    continue
                for x in range(r):
                    inner[x] = tables.centres[first + (x + 1) * K : first + (x + 2) * K]
                    at = tables.table_start[i] + x * width
                    _add_leaves(tables.leaves, at, slots[k], i, (r + 2) * K, inner[x])
                _log_sum(inner[:r], star)
                for c in range(K):
                    star[c] += own[c]  # the probability of a new value; 0 if missing
        for k in range(n):
            _log_sum(stars[k], out[begin + k])
            for c in range(K):
                out[begin + k, c] -= np.log(n_stars)


@compiled(EXACT)
def _add_leaves(leaves, at, slots, centre, gap, out):  # type: ignore[no-untyped-def]
    """Add the leaves of one row, whose stretch begins at `at` and has no slots for the centre."""
    K = out.size
    for c in range(0, K - 1, 2):
        one, two = out[c], out[c + 1]
        for j in range(centre):
            one += leaves[at + slots[j] + c]
            two += leaves[at + slots[j] + c + 1]
        for j in range(centre + 1, slots.size):
            one += leaves[at + slots[j] - gap + c]
            two += leaves[at + slots[j] - gap + c + 1]
        out[c], out[c + 1] = one, two
    if K % 2:
        c = K - 1
        one = out[c]
        for j in range(centre):
            one += leaves[at + slots[j] + c]
        for j in range(centre + 1, slots.size):
            one += leaves[at + slots[j] - gap + c]
        out[c] = one


@compiled(EXACT)
def _log_sum(logs, out):  # type: ignore[no-untyped-def]
    """log Σ exp over the first axis, for each class."""
    for c in range(out.size):
        largest, total = -np.inf, 0.0
        for k in range(logs.shape[0]):
            largest = max(largest, logs[k, c])
        if largest > -np.inf:
            for k in range(logs.shape[0]):
                total += np.exp(logs[k, c] - largest)
            largest += np.log(total)
        out[c] = largest
