"""How the columns of a table become attributes of a network.

    category                      coded as it is
    number, "gaussian"            a density for each class: no node of the network but for its class
    number, "mdl"                 cut where the classes change, by the MDL principle
    number, "quantile", "uniform" cut into `n_bins` parts of equal weight, or of equal width
    number, cut points            cut there

Coded attributes are in the order of the table's columns; so are Gaussian ones among themselves.
A column with cuts t₁ < … < t_m has m + 1 values: x has the value 1 + #{k : t_k < x}, so that a
number equal to a cut lies on its left. Missing numbers (NaN) have the code 0.

**MDL** (Fayyad and Irani, 1993). Of all ways to cut a set S of N labelled numbers in two, take the
one of least class entropy (N₁/N) Ent(S₁) + (N₂/N) Ent(S₂); accept it if naming the cut and the
classes of both sides takes fewer bits than naming the classes of S:

    Ent(S) − (N₁/N) Ent(S₁) − (N₂/N) Ent(S₂)  >  (log₂(N − 1) + Δ) / N,
    Δ = log₂(3^k − 2) − k Ent(S) + k₁ Ent(S₁) + k₂ Ent(S₂),

with k, k₁, k₂ the numbers of classes present; then cut S₁ and S₂ in the same way. The best cut is
never between numbers that are all of one class, so only the other places are tried. Times N, every
entropy is a difference of terms h(x) = x log₂ x:  N Ent(S) = h(N) − Σ_c h(N_c).

Weights count rows: N and N_c are sums of weights. Less than the weight of two rows is never cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lindero.bayes.tables.schema import Schema, Table, choose_code_type, find_free_name
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled

GAUSSIAN = "gaussian"
METHODS = (GAUSSIAN, "mdl", "quantile", "uniform")

#: A method, or None and cut points.
Plan = tuple[str | None, Array | None]


@dataclass(frozen=True)
class Attributes:
    """What is made of each column: `methods` and `cuts` are of the number columns in their order,
    a method being one of `METHODS` or None where the user gave cut points. Gaussian columns have
    no cuts; cuts that are not learned yet are None too. `plans` holds method and cut points of each
    column whose kind is not known, by its position, for when it turns out to be numbers."""

    schema: Schema
    methods: tuple[str | None, ...]
    cuts: tuple[Array | None, ...]
    plans: Mapping[int, Plan] = field(default_factory=dict)

    @classmethod
    def plan(cls, schema: Schema, numeric: Any, default: str) -> Attributes:
        """By what a user says of number columns: a method for all, or a mapping from columns to
        methods or cut points, `default` being for those not named."""
        given = dict(numeric) if isinstance(numeric, Mapping) else {}
        usual = default if isinstance(numeric, Mapping) else numeric
        plans = {}
        for column in (*schema.number_columns, *schema.unknown_columns):
            title = schema.title(column)
            if title in given and column in given:
                raise ValueError(
                    f"numeric names column {column} twice, as {title!r} and as {column}: leave one "
                    "of them out."
                )
            choice = given.pop(column, given.pop(title, None))
            plans[column] = _choice(usual if choice is None else choice, title)
        if given:
            raise ValueError(
                f"numeric names {next(iter(given))!r}, which is not a number column of X. Number "
                f"columns are {[schema.title(k) for k in schema.number_columns]}."
            )
        return cls._follow(schema, plans)

    @classmethod
    def _follow(cls, schema: Schema, plans: Mapping[int, Plan]) -> Attributes:
        """With the plans of all columns that are, or may be, numbers."""
        chosen = [plans[k] for k in schema.number_columns]
        return cls(
            schema,
            tuple(method for method, _ in chosen),
            tuple(cuts for _, cuts in chosen),
            {k: plans[k] for k in schema.unknown_columns},
        )

    # -- which columns ------------------------------------------------------------------------

    @property
    def gaussian(self) -> list[int]:
        """Places of the Gaussian columns among the number columns."""
        return [k for k, method in enumerate(self.methods) if method == GAUSSIAN]

    @property
    def cut(self) -> list[int]:
        """Places of the columns that are cut, among the number columns."""
        return [k for k, method in enumerate(self.methods) if method != GAUSSIAN]

    @property
    def learns_cuts(self) -> bool:
        """Whether cut points depend on samples, or may once all kinds are known."""
        planned = [method for method, _ in self.plans.values()]
        return any(method not in (GAUSSIAN, None) for method in (*self.methods, *planned))

    @property
    def coded_columns(self) -> Array:
        """The column of the table that each coded attribute is."""
        numbers = np.asarray(self.schema.number_columns, dtype=np.intp)[self.cut]
        categories = np.asarray(self.schema.category_columns, dtype=np.intp)
        return np.sort(np.concatenate([categories, numbers]))

    @property
    def gaussian_columns(self) -> Array:
        """The column of the table that each Gaussian attribute is."""
        return np.asarray(self.schema.number_columns, dtype=np.intp)[self.gaussian]

    @property
    def titles(self) -> list[str]:
        """Names of the coded attributes."""
        return [self.schema.title(int(column)) for column in self.coded_columns]

    @property
    def class_name(self) -> str:
        """What the class is called beside the columns."""
        schema = self.schema
        return find_free_name("class", [schema.title(column) for column in range(schema.n_columns)])

    def find_attribute(self, parameter: str, column: str | int | None) -> int | None:
        """Which coded attribute a column is that a user names, or counts."""
        if column is None:
            return None
        titles = self.titles
        columns: list[int] = self.coded_columns.tolist()
        if isinstance(column, str) and column in titles:
            return titles.index(column)
        if isinstance(column, Integral) and column in columns:
            return columns.index(column)
        raise ValueError(
            f"{parameter} names {column!r}, which is not a column of the network: {titles}"
            + ("." if not self.gaussian else "; Gaussian columns have the class as parent only.")
        )

    def values(self) -> list[list[Any]]:
        """Values of each coded attribute in the order of their codes; intervals of cut numbers."""
        of_column: dict[int, list[Any]] = {
            k: list(c.values) for k, c in enumerate(self.schema.columns)
        }
        for k in self.cut:
            cuts = self.cuts[k]
            assert cuts is not None
            of_column[self.schema.number_columns[k]] = name_intervals(cuts)
        return [of_column[int(column)] for column in self.coded_columns]

    def extend(self, X: Any) -> Attributes:
        """With the categories that a further table brings, and the kinds that it tells."""
        schema = self.schema.extend(X)
        if schema.unknown_columns == self.schema.unknown_columns:
            return replace(self, schema=schema)
        chosen = zip(self.methods, self.cuts, strict=True)
        known = dict(zip(self.schema.number_columns, chosen, strict=True))
        return self._follow(schema, {**known, **self.plans})

    def forget_cuts(self) -> Attributes:
        """Without the cut points that were learned from samples."""
        learned = (method is not None for method in self.methods)
        cuts = tuple(None if own else cut for own, cut in zip(learned, self.cuts, strict=True))
        return replace(self, cuts=cuts)

    @property
    def without_cuts(self) -> list[int]:
        """Places of the columns whose cuts are to be learned still, among the number columns."""
        return [k for k in self.cut if self.cuts[k] is None]

    # -- from a table to codes ----------------------------------------------------------------

    def learn_cuts(
        self,
        table: Table,
        y: Array,
        n_classes: int,
        weights: Array | None,
        n_bins: int,
        places: list[int] | None = None,
    ) -> Attributes:
        """With cut points learned from samples: of all number columns, or of those at `places`."""
        learned = list(self.cuts)
        for k in range(len(learned)) if places is None else places:
            values, method = table.numbers[k], self.methods[k]
            if method == "mdl":
                learned[k] = find_mdl_cuts(values, y, n_classes, weights)
            elif method == "quantile":
                learned[k] = find_quantile_cuts(values, n_bins, weights)
            elif method == "uniform":
                learned[k] = find_uniform_cuts(values, n_bins)
        return replace(self, cuts=tuple(learned))

    def encode(self, table: Table) -> tuple[Array, Array]:
        """Codes of the coded attributes, and the number of values of each."""
        if not self.cut:
            return table.codes, table.cards
        columns = self.coded_columns
        place = {int(column): at for at, column in enumerate(columns)}
        cards = np.empty(len(columns), dtype=np.int64)
        cards[[place[c] for c in self.schema.category_columns]] = table.cards
        for k in self.cut:
            cards[place[self.schema.number_columns[k]]] = len(self.cuts[k]) + 1  # type: ignore[arg-type]
        code_type = choose_code_type(int(cards.max(initial=0)))
        codes = np.empty((len(columns), table.n_rows), dtype=code_type)
        for at, column in enumerate(self.schema.category_columns):
            codes[place[column]] = table.codes[at]
        for k in self.cut:
            cuts = self.cuts[k]
            assert cuts is not None
            encode_cut(table.numbers[k], cuts, codes[place[self.schema.number_columns[k]]])
        return codes, cards

    def select_gaussian(self, table: Table) -> Array:
        """The numbers of the Gaussian attributes."""
        if len(self.gaussian) == len(self.methods):
            return table.numbers
        return np.ascontiguousarray(table.numbers[self.gaussian])


def _choice(choice: Any, title: str) -> Plan:
    """The method and the cut points that a choice for a column is."""
    if isinstance(choice, str):
        if choice not in METHODS:
            raise ValueError(
                f"numeric={choice!r} for column {title} is none of {list(METHODS)}; give one of "
                "them, or cut points."
            )
        return choice, None
    try:
        points = np.asarray(choice, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"numeric={choice!r} for column {title} is not a list of cut points: give finite "
            f"numbers in ascending order, or one of {list(METHODS)}."
        ) from None
    if points.ndim != 1 or not np.isfinite(points).all() or (np.diff(points) <= 0.0).any():
        raise ValueError(
            f"The cut points of column {title} are {points.tolist()}: they must be finite numbers "
            "in ascending order."
        )
    return None, points


def name_intervals(cuts: Array) -> list[str]:
    """Names of the parts between cut points: a value at a cut belongs to the part below."""
    if len(cuts) == 0:
        return ["all"]
    texts = [f"{cut:.6g}" for cut in cuts]
    if len(set(texts)) < len(texts):
        texts = [repr(float(cut)) for cut in cuts]
    middle = [f"({low}, {high}]" for low, high in pairwise(texts)]
    return [f"<= {texts[0]}", *middle, f"> {texts[-1]}"]


# -- cut points -----------------------------------------------------------------------------------

Floats = NDArray[np.float64]

#: Sums that differ by less, relative to h(N), are the same but for rounding: the first cut is kept.
_ROUNDING = 1e-12


def find_mdl_cuts(
    values: Floats, y: NDArray[Any], n_classes: int, weights: Floats | None = None
) -> Floats:
    """Cuts that separate the classes, as many as their description length pays for: ascending, each
    the midpoint of two neighbouring numbers. NaN and rows of weight 0 are ignored."""
    seen = ~np.isnan(values)
    if weights is None:
        weights = np.ones(len(values))
    else:
        seen &= weights > 0
    if not seen.all():
        values, y, weights = values[seen], y[seen], weights[seen]
    order = np.argsort(values)
    cuts: Floats = _accepted_cuts(
        values[order], y[order].astype(np.intp, copy=False), weights[order], n_classes
    )
    return cuts


def find_quantile_cuts(values: Floats, n_bins: int, weights: Floats | None = None) -> Floats:
    """Cuts into `n_bins` values that as equally many (weighted) rows have as ties allow: cut k
    follows the smallest number with at least the share k / n_bins of them at or below it."""
    seen = ~np.isnan(values)
    if weights is None:
        distinct, mass = np.unique(values[seen], return_counts=True)
    else:
        seen &= weights > 0
        distinct, which = np.unique(values[seen], return_inverse=True)
        mass = np.bincount(which, weights[seen], len(distinct))
    if len(distinct) < 2:
        return np.empty(0)
    below = np.cumsum(mass, dtype=np.float64)
    shares = below[-1] * (np.arange(1, n_bins) / n_bins)
    last = np.searchsorted(below, shares - _ROUNDING * below[-1])
    last = np.unique(last[last < len(distinct) - 1])
    left: Floats = distinct[last]
    right: Floats = distinct[last + 1]
    middle = 0.5 * left + 0.5 * right
    between = (left <= middle) & (middle < right)  # unless rounding leaves nothing there
    return np.where(between, middle, left)


def find_uniform_cuts(values: Floats, n_bins: int) -> Floats:
    """Cuts into `n_bins` values of equal width between the least and the largest number; none where
    there are no two different ones. NaN is ignored."""
    seen = values[~np.isnan(values)]
    if not seen.size:
        return np.empty(0)
    least, most = float(seen.min()), float(seen.max())
    share = np.arange(1, n_bins) / n_bins
    cuts = np.unique(least * (1.0 - share) + most * share)  # their difference may overflow
    return cuts[(least <= cuts) & (cuts < most)]


def encode_cut(values: Floats, cuts: Floats, out: NDArray[Any]) -> NDArray[Any]:
    """Write the code of every number into `out`, of integers up to ``len(cuts) + 2``."""
    largest = len(cuts) + 2
    if largest > np.iinfo(out.dtype).max:
        raise ValueError(
            f"{len(cuts)} cuts need codes up to {largest}, more than {out.dtype} holds. Give `out` "
            "a wider type, or ask for fewer bins."
        )
    if out.shape != values.shape:
        raise ValueError(f"`out` has shape {out.shape}, but the values have {values.shape}.")
    _encode(values, cuts, out)
    return out


@compiled(EXACT)
def _encode(values, cuts, out):  # type: ignore[no-untyped-def]
    for i in range(values.size):
        if np.isnan(values[i]):
            out[i] = 0
            continue
        # Halving without branches: numbers come in no order that could be predicted.
        first, length = 0, cuts.size
        while length > 1:
            half = length // 2
            first += half if cuts[first + half - 1] < values[i] else 0
            length -= half
        out[i] = 1 + first + (1 if length == 1 and cuts[first] < values[i] else 0)


@compiled(EXACT)
def _accepted_cuts(values, y, weights, n_classes):  # type: ignore[no-untyped-def]
    """All accepted cuts of sorted values, ascending."""
    ends = _boundaries(values, y)
    starts = np.concatenate((np.zeros(1, np.intp), ends[:-1]))
    found = np.empty(ends.size)
    n_found = 0
    # Blocks not yet looked at, the leftmost on top. Two sides wait for each cut at most.
    stack = np.empty((ends.size + 2, 2), np.intp)
    stack[0] = 0, ends.size
    height = 1
    while height:
        height -= 1
        first, last = stack[height]
        best = _best_cut(starts[first:last], ends[first:last], y, weights, n_classes)
        if best >= 0:
            stop = ends[first + best]
            left, right = values[stop - 1], values[stop]
            middle = 0.5 * left + 0.5 * right
            found[n_found] = middle if left <= middle < right else left
            n_found += 1
            stack[height] = first + best + 1, last
            stack[height + 1] = first, first + best + 1
            height += 2
    return np.sort(found[:n_found])


@compiled(EXACT)
def _boundaries(values, y):  # type: ignore[no-untyped-def]
    """Ends of the blocks of rows between which a cut may be best: equal numbers stay together,
    and so do neighbouring ones all of the same class."""
    n = values.size
    ends = np.empty(n, np.intp)
    n_ends, start, previous = 0, 0, -2  # −1: several classes
    while start < n:
        stop, own = start + 1, y[start]
        while stop < n and values[stop] == values[start]:
            own = own if y[stop] == own else -1
            stop += 1
        if own < 0 or own != previous:
            n_ends += 1
        ends[n_ends - 1] = stop
        start, previous = stop, own
    return ends[:n_ends].copy()


@compiled(EXACT)
def _best_cut(starts, ends, y, weights, n_classes):  # type: ignore[no-untyped-def]
    """The block after which to cut, −1 where no cut is accepted."""
    if ends.size < 2:
        return -1
    total, rows = np.zeros(n_classes), np.zeros(n_classes, np.intp)
    for i in range(starts[0], ends[-1]):
        total[y[i]] += weights[i]
        rows[y[i]] += 1
    n = total.sum()
    if n < 2.0:
        return -1

    # The terms h of both sides; only those of the classes that a block holds change with it.
    left, left_rows = np.zeros(n_classes), np.zeros(n_classes, np.intp)
    left_terms, right_terms = np.zeros(n_classes), np.zeros(n_classes)
    changed = np.zeros(n_classes, np.bool_)
    for c in range(n_classes):
        right_terms[c] = _h(total[c])
    whole = _h(n) - right_terms.sum()
    best, least, margin, named = -1, np.inf, _ROUNDING * _h(n), 0.0
    for block in range(ends.size - 1):
        for i in range(starts[block], ends[block]):
            left[y[i]] += weights[i]
            left_rows[y[i]] += 1
            changed[y[i]] = True
        n_left, sum_left, sum_right = 0.0, 0.0, 0.0
        for c in range(n_classes):
            if changed[c]:
                # A class that has no rows left has no weight left either, whatever rounding says.
                rest = total[c] - left[c] if left_rows[c] < rows[c] else 0.0
                left_terms[c], right_terms[c] = _h(left[c]), _h(rest)
                changed[c] = False
            n_left += left[c]
            sum_left += left_terms[c]
            sum_right += right_terms[c]
        if not 0.0 < n_left < n:  # beside larger weights, a side may weigh nothing
            continue
        on_left, on_right = _h(n_left) - sum_left, _h(n - n_left) - sum_right
        if on_left + on_right < least - margin:
            best, least = block, on_left + on_right
            named = np.sum(left_rows > 0) * on_left / n_left
            named += np.sum(left_rows < rows) * on_right / (n - n_left)
    k = np.sum(rows > 0)
    delta = _log2_of_labellings(k) - k * whole / n + named
    return best if whole - least > np.log2(n - 1.0) + delta else -1


@compiled(EXACT)
def _h(x):  # type: ignore[no-untyped-def]
    return x * np.log2(x) if x > 0.0 else 0.0


@compiled(EXACT)
def _log2_of_labellings(k):  # type: ignore[no-untyped-def]
    """log₂(3^k − 2), also where 3^k overflows."""
    return k * np.log2(3.0) + np.log1p(-2.0 * 3.0 ** (-k)) / np.log(2.0)
