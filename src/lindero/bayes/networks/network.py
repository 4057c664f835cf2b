"""A class, its attributes, and the joint distribution that a graph over them gives.

    P(c, x₁, …, x_d) = P(c) Π_i P(x_i | x_pa(i), c)

Every attribute may have other attributes as parents, and the class beside them or not. Naive Bayes
has no parents but the class, a tree at most one attribute more, a k-dependence classifier k more.

Attributes are coded 0 = missing, 1…r = the values, r + 1 = a value that was not there when the
network was estimated. Missing attributes are summed out exactly (`inference`). A new value has the
probability that smoothing leaves to a value without counts, α / (N(pa, c) + α r); to its children
it is as if missing. An attribute without any value (its column was missing throughout) tells
nothing and says nothing to its children: they are as if it were no parent.

Probabilities are estimated from counts of families: every attribute with its parents and the class.
Rows that miss a parent are shared among its values (`share_missing_parents`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import count_families, subtract_counts
from lindero.bayes.networks import inference
from lindero.bayes.networks.expectation import expect_counts
from lindero.bayes.networks.flat_tables import FlatTables, flatten
from lindero.errors import warn_user
from lindero.runtime.arrays import Array


@dataclass(frozen=True, eq=False)
class Network:
    """A Bayesian network over coded attributes and a class; see the module.

    Tables of attributes that have parents without any value, r_p = 0, have no entry; those that
    they have without such parents (axes of length 1) are in `without_empty`, or uniform.
    """

    cards: Array  # how many values each attribute has, r
    n_classes: int  # K
    parents: tuple[tuple[int, ...], ...]  # the attributes that are parents of each attribute
    with_class: tuple[bool, ...]  # whether the class is a parent too
    log_prior: Array  # log P(c)
    log_tables: tuple[Array, ...]  # log P(x | parents, c), each (r_p1, …, r_pm, r, K or 1)
    #: The logarithm of the probability of a new value; None: new values count as missing.
    unseen: tuple[Array, ...] | None = None
    without_empty: Mapping[int, tuple[Array, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = self.n_attributes
        for name in ("parents", "with_class", "log_tables", "unseen"):
            part = getattr(self, name)
            if part is not None and len(part) != n:
                raise ValueError(f"{name} has {len(part)} entries for {n} attributes (cards).")
        if np.shape(self.log_prior) != (self.n_classes,):
            raise ValueError(
                f"log_prior has shape {np.shape(self.log_prior)}; {self.n_classes} classes need "
                f"({self.n_classes},)."
            )
        for i, parents in enumerate(self.parents):
            if len(set(parents)) < len(parents) or not all(0 <= p < n for p in parents):
                raise ValueError(
                    f"The parents of attribute {i} are {parents}: they must be different "
                    f"attributes between 0 and {n - 1}."
                )
            around = tuple(int(self.cards[p]) for p in parents)
            last = self.n_classes if self.with_class[i] else 1
            _require_shape("log_tables", i, self.log_tables[i], (*around, int(self.cards[i]), last))
            if self.unseen is not None:
                _require_shape("unseen", i, self.unseen[i], (*around, last))
        _ = self.order  # a cycle is refused here

    @property
    def n_attributes(self) -> int:
        return len(self.cards)

    @property
    def is_tree(self) -> bool:
        """Whether no attribute has more than one attribute as parent."""
        return all(len(parents) <= 1 for parents in self.parents)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All attributes, parents before their children."""
        return sort_parents_first(self.parents)

    @cached_property
    def flat_logs(self) -> FlatTables:
        """The tables as compiled code reads them, for look-ups only."""
        return flatten(self)

    @cached_property
    def flat(self) -> FlatTables:
        """The tables as compiled code reads them, for sums."""
        return self.flat_logs._replace(values=np.exp(self.flat_logs.log_values))

    def tables_of(self, i: int) -> tuple[Array, Array | None]:
        """The log table of attribute i, and that of new values or None, with an axis for each
        parent; those of parents without any value have length 1."""
        if all(self.cards[p] > 0 for p in self.parents[i]):
            return self.log_tables[i], None if self.unseen is None else self.unseen[i]
        if i in self.without_empty:
            log_table, unseen = self.without_empty[i]
        else:
            around = [max(int(self.cards[p]), 1) for p in self.parents[i]]
            r = int(self.cards[i])
            log_table = np.full((*around, r, 1), -np.log(max(r, 1)))
            unseen = np.full((*around, 1), -np.log(max(r, 1)))
        return log_table, None if self.unseen is None else unseen

    def __getstate__(self) -> dict[str, Any]:
        made_again = ("flat", "flat_logs")
        return {name: value for name, value in self.__dict__.items() if name not in made_again}

    def log_joint(self, codes: Array, n_threads: int | None = None) -> Array:
        """log P(c, observed attributes), missing ones summed out, of shape (n_rows, K), for codes
        of shape (n_attributes, n_rows). The number of threads does not change the result."""
        return inference.compute_log_joint(self, codes, n_threads)

    def log_terms(self, codes: Array, n_threads: int | None = None) -> Array:
        """What each attribute adds to `log_joint`, of shape (n_attributes, n_rows, K).

        With the attributes in topological `order`, the term of the i-th is log P(c, x₁…x_i) − log
        P(c, x₁…x_{i−1}): its look-up where all its parents are observed, 0 where it is missing.
        `log_prior` and all terms together make `log_joint`.
        """
        return inference.compute_log_terms(self, codes, n_threads)


def _require_shape(name: str, i: int, table: Array, shape: tuple[int, ...]) -> None:
    if np.shape(table) != shape:
        raise ValueError(
            f"{name}[{i}] has shape {np.shape(table)}; the parents, values and classes of "
            f"attribute {i} need {shape}."
        )


def estimate_network(
    family_counts: Sequence[Array],
    parents: Sequence[Sequence[int]],
    with_class: Sequence[bool],
    cards: Array,
    class_counts: Array,
    alpha: float,
    prior: Array | None = None,
) -> Network:
    """The network whose probabilities are smoothed relative counts.

    P(x | pa, c) = (N(x, pa, c) + α) / (N(pa, c) + α r), where N(pa, c) counts rows in which x and
    all parents were observed. Configurations of the parents that were never seen are uniform; but a
    parent of which nothing was ever seen is left out of pa. With α = 0, new values are missing.

    `family_counts` are tables of shape (r + 1, r_p1 + 1, …, r_pm + 1, K), slot 0 for missing
    values; `prior` are probabilities of the classes in place of the shares of `class_counts`.
    """
    cards = np.asarray(cards, dtype=np.int64)
    prior = np.asarray(class_counts if prior is None else prior, dtype=np.float64)
    if not prior.sum() > 0:
        raise ValueError("class_counts are all zero: a network needs rows with weight.")
    never_seen = [not np.any(counts[1:]) for counts in family_counts]
    log_tables, unseen, without_empty = [], [], {}
    for i, (counts, above) in enumerate(zip(family_counts, parents, strict=True)):
        for axis, p in enumerate(above, start=1):
            if never_seen[p]:
                # All that is counted lies in the slot of missing values: it stands for any value.
                missing = counts.take([0], axis=axis)
                counts = np.repeat(missing, 1 + max(1, int(cards[p])), axis=axis)
        seen = np.moveaxis(counts[(slice(1, None),) * (counts.ndim - 1)], 0, -2)
        log_table, new = _compute_log_shares(seen, alpha, bool(with_class[i]))
        if any(cards[p] == 0 for p in above):
            without_empty[i] = log_table, new
            known = tuple(slice(int(cards[p])) for p in above)
            log_table, new = log_table[known], new[known]
        log_tables.append(log_table)
        unseen.append(new)
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior / prior.sum())
    return Network(
        cards,
        len(prior),
        tuple(tuple(int(p) for p in family) for family in parents),
        tuple(bool(uses_class) for uses_class in with_class),
        log_prior,
        tuple(log_tables),
        tuple(unseen) if alpha > 0 else None,
        without_empty,
    )


def _compute_log_shares(seen: Array, alpha: float, uses_class: bool) -> tuple[Array, Array]:
    """Logarithms of smoothed shares of counts (parents, r, K), and of a new value's share."""
    if not uses_class:
        seen = seen.sum(axis=-1, keepdims=True)
    n_values = seen.shape[-2]
    table, totals = np.add(seen, float(alpha), order="C"), seen.sum(axis=-2) + alpha * n_values
    with np.errstate(divide="ignore", invalid="ignore"):
        table /= totals[..., None, :]
        never = totals == 0
        table[np.broadcast_to(never[..., None, :], table.shape)] = 1 / max(n_values, 1)
        # An attribute without values has no totals: a new value tells nothing.
        unseen = np.where(never, 0.0, np.log(alpha) - np.log(totals))
        return np.log(table, out=table), unseen


def sort_parents_first(
    parents: Sequence[Sequence[int]], names: Sequence[str] | None = None
) -> tuple[int, ...]:
    """All attributes, each after its parents, in an order that only parents decide."""
    for i, own in enumerate(parents):
        for parent in own:
            if not 0 <= parent < len(parents):
                raise ValueError(
                    f"{_name(i, names)} has the parent {parent}, but there are only attributes "
                    f"0 to {len(parents) - 1}."
                )
    try:
        return tuple(TopologicalSorter(dict(enumerate(parents))).static_order())
    except CycleError as error:
        cycle = " → ".join(_name(i, names) for i in error.args[1])
        raise ValueError(
            f"Attributes are each other's parents in a cycle, {cycle}: take one of these arcs away."
        ) from None


def _name(i: int, names: Sequence[str] | None) -> str:
    return f"attribute {i}" if names is None else repr(names[i])


# -- counts of families, of which networks are estimated ------------------------------------------

#: Rounds of expectation and estimation, and the change of a probability below which they end.
_MOST_ROUNDS = 200
_CHANGE = 1e-5


@dataclass(frozen=True)
class FamilyCounts:
    """`tables[i]`, of shape (r_i + 1, r_p1 + 1, …, K), counts attribute i (first axis) with its
    parents and the class, slot 0 being for missing values; `of_class` counts the classes."""

    parents: tuple[tuple[int, ...], ...]
    with_class: tuple[bool, ...]
    of_class: Array
    tables: tuple[Array, ...]

    @classmethod
    def count(
        cls,
        parents: tuple[tuple[int, ...], ...],
        with_class: tuple[bool, ...],
        rows: CodedRows,
        names: Sequence[str] | None = None,
    ) -> FamilyCounts:
        """Count the families of some arcs. Names of the attributes are for messages."""
        families = [(i, *above) for i, above in enumerate(parents)]
        tables = count_families(rows, families, names=names)
        return cls(parents, with_class, rows.count_classes(), tuple(tables))

    def merge(self, other: FamilyCounts) -> FamilyCounts:
        """The counts of both; attributes may have got more values."""
        tables = tuple(map(_add_tables, self.tables, other.tables))
        return replace(self, of_class=self.of_class + other.of_class, tables=tables)

    def subtract(self, other: FamilyCounts) -> FamilyCounts:
        """The counts without those of the other, of the same values; see `Counts.subtract`."""
        tables = tuple(map(subtract_counts, self.tables, other.tables))
        return replace(self, of_class=subtract_counts(self.of_class, other.of_class), tables=tables)

    def seen_values(self, i: int) -> Array:
        """Which of its values attribute i has in some row."""
        table = self.tables[i]
        return np.asarray(table[1:].any(axis=tuple(range(1, table.ndim))))

    def keep_values(self, kept: list[Array]) -> FamilyCounts:
        """Without values that no row has; `kept` are the slots of each attribute to be kept."""
        classes = np.arange(len(self.of_class))
        tables = tuple(
            table[np.ix_(kept[i], *(kept[p] for p in above), classes)]
            for i, (table, above) in enumerate(zip(self.tables, self.parents, strict=True))
        )
        return replace(self, tables=tables)

    def keep(self, attributes: list[int]) -> FamilyCounts:
        """The counts of some attributes; all others have no values."""
        place = {i: at for at, i in enumerate(attributes)}
        parents, tables = [], []
        for i in attributes:
            # The axes of parents that are gone have one slot.
            whole = tuple(slice(None) if p in place else 0 for p in self.parents[i])
            tables.append(self.tables[i][(slice(None), *whole)])
            parents.append(tuple(place[p] for p in self.parents[i] if p in place))
        with_class = tuple(self.with_class[i] for i in attributes)
        return FamilyCounts(tuple(parents), with_class, self.of_class, tuple(tables))

    @property
    def cards(self) -> Array:
        return np.array([len(table) - 1 for table in self.tables], dtype=np.int64)

    def estimate(self, alpha: float, prior: Array | None = None) -> Network:
        """The network of smoothed relative counts. Rows that miss a parent count by what the others
        say of it (`share_missing_parents`)."""
        tables = tuple(map(share_missing_parents, self.tables))
        return estimate_network(
            tables, self.parents, self.with_class, self.cards, self.of_class, alpha, prior
        )

    def complete(self, rows: CodedRows, alpha: float) -> FamilyCounts:
        """Missing values counted by their expectation, given all that is known of their rows and
        the network that these counts make (the EM algorithm)."""
        if rows.codes.size == 0 or rows.codes.min() > 0:
            return self
        counts, network = self, self.estimate(alpha)
        for _ in range(_MOST_ROUNDS):
            tables = expect_counts(network, rows.codes, rows.y, rows.weights)
            counts, before = replace(counts, tables=tuple(tables)), network
            network = counts.estimate(alpha)
            pairs = zip(before.log_tables, network.log_tables, strict=True)
            change = max(float(np.abs(np.exp(b) - np.exp(a)).max(initial=0.0)) for a, b in pairs)
            if change <= _CHANGE:
                return counts
        warn_user(
            f"missing='em' has not settled in {_MOST_ROUNDS} rounds: the last one changed a "
            f"probability by {change:.1g}. Columns with few values present settle slowly; a larger "
            "alpha helps, or missing='available'.",
            ConvergenceWarning,
        )
        return counts


def share_missing_parents(table: Array) -> Array:
    """Counts of a family in which rows that miss a parent are shared among its values.

    A class may miss a parent in all of its rows and know the attribute itself in each: without
    these rows nothing would be known of the attribute there. A row counts for value v of the parent
    by (N_v + P(v)) / (N + 1), N_v counting the rows that are alike in the rest of the family, and
    P(v) the share of v in the class. This follows from counts alone, so that batches add up."""
    for axis in range(1, table.ndim - 1):
        front = np.moveaxis(table, axis, 0)
        gaps, known = front[0], front[1:]
        if not len(known) or not gaps[1:].any():
            continue
        others = tuple(range(1, known.ndim - 1))
        of_class = known.sum(axis=others, keepdims=True)
        total = of_class.sum(axis=0, keepdims=True)
        # Of a parent that no row of the class knows, nothing is known.
        usual = np.where(total > 0.0, of_class / np.where(total > 0.0, total, 1.0), 1 / len(known))
        share = (known + usual) / (known.sum(axis=0, keepdims=True) + 1.0)
        completed = np.concatenate([np.zeros_like(front[:1]), known + share * gaps])
        table = np.moveaxis(completed, 0, axis)
    return table


def _add_tables(one: Array, two: Array) -> Array:
    total = np.zeros(np.maximum(one.shape, two.shape))
    total[tuple(slice(n) for n in one.shape)] += one
    total[tuple(slice(n) for n in two.shape)] += two
    return total
