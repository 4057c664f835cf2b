"""How the columns of a table become attributes of a network.

    category                      coded as it is
    number, "gaussian"            a density for each class: no node of the network but for its class
    number, "mdl"                 cut where the classes change, by the MDL principle
    number, "quantile", "uniform" cut into `n_bins` parts of equal weight, or of equal width
    number, cut points            cut there

Coded attributes are in the order of the table's columns; so are Gaussian ones among themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from lindero.bayes.columns.discretise import encoded, mdl_cuts, quantile_cuts, uniform_cuts
from lindero.bayes.tables.frames import free_name
from lindero.bayes.tables.schema import Schema
from lindero.bayes.tables.table import Table, code_type
from lindero.runtime.arrays import Array

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
    def planned(cls, schema: Schema, numeric: Any, default: str) -> Attributes:
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
                f"numeric names {next(iter(given))!r}, which is no number column of X. Number "
                f"columns are {[schema.title(k) for k in schema.number_columns]}."
            )
        return cls._chosen(schema, plans)

    @classmethod
    def _chosen(cls, schema: Schema, plans: Mapping[int, Plan]) -> Attributes:
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
        return free_name("class", [schema.title(column) for column in range(schema.n_columns)])

    def place(self, parameter: str, column: str | int | None) -> int | None:
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
            f"{parameter} names {column!r}, which is no column of the network. Those are {titles}"
            + ("." if not self.gaussian else "; Gaussian columns have the class as parent only.")
        )

    def values(self) -> list[list[Any]]:
        """The values of each coded attribute in the order of their codes; of cut numbers,
        intervals in words."""
        of_column: dict[int, list[Any]] = {
            column: list(self.schema.columns[column].values)
            for column in self.schema.category_columns
        }
        for k in self.cut:
            cuts = self.cuts[k]
            assert cuts is not None
            of_column[self.schema.number_columns[k]] = interval_names(cuts)
        return [of_column[int(column)] for column in self.coded_columns]

    def extended(self, X: Any) -> Attributes:
        """With the categories that a further table brings, and the kinds that it tells."""
        schema = self.schema.extended(X)
        if schema.unknown_columns == self.schema.unknown_columns:
            return replace(self, schema=schema)
        chosen = zip(self.methods, self.cuts, strict=True)
        known = dict(zip(self.schema.number_columns, chosen, strict=True))
        return self._chosen(schema, {**known, **self.plans})

    @property
    def without_cuts(self) -> list[int]:
        """Places of the columns whose cuts are to be learned still, among the number columns."""
        return [k for k in self.cut if self.cuts[k] is None]

    # -- from a table to codes ----------------------------------------------------------------

    def with_cuts(
        self,
        table: Table,
        y: Array,
        n_classes: int,
        weights: Array | None,
        n_bins: int,
        places: list[int] | None = None,
    ) -> Attributes:
        """With cut points learned from samples: all, or those of columns at some places among the
        number columns."""
        learned = list(self.cuts)
        for k in range(len(learned)) if places is None else places:
            values, method = table.numbers[k], self.methods[k]
            if method == "mdl":
                learned[k] = mdl_cuts(values, y, n_classes, weights)
            elif method == "quantile":
                learned[k] = quantile_cuts(values, n_bins, weights)
            elif method == "uniform":
                learned[k] = uniform_cuts(values, n_bins)
        return replace(self, cuts=tuple(learned))

    def coded(self, table: Table) -> tuple[Array, Array]:
        """Codes of the coded attributes, and the number of values of each."""
        if not self.cut:
            return table.codes, table.cards
        columns = self.coded_columns
        place = {int(column): at for at, column in enumerate(columns)}
        cards = np.empty(len(columns), dtype=np.int64)
        cards[[place[c] for c in self.schema.category_columns]] = table.cards
        for k in self.cut:
            cards[place[self.schema.number_columns[k]]] = len(self.cuts[k]) + 1  # type: ignore[arg-type]
        codes = np.empty((len(columns), table.n_rows), dtype=code_type(int(cards.max(initial=0))))
        for at, column in enumerate(self.schema.category_columns):
            codes[place[column]] = table.codes[at]
        for k in self.cut:
            cuts = self.cuts[k]
            assert cuts is not None
            encoded(table.numbers[k], cuts, codes[place[self.schema.number_columns[k]]])
        return codes, cards

    def densities(self, table: Table) -> Array:
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
            f"numeric={choice!r} for column {title} is no list of cut points: give finite numbers "
            f"in ascending order, or one of {list(METHODS)}."
        ) from None
    if points.ndim != 1 or not np.isfinite(points).all() or (np.diff(points) <= 0.0).any():
        raise ValueError(
            f"The cut points of column {title} are {points.tolist()}: they must be finite numbers "
            "in ascending order."
        )
    return None, points


def interval_names(cuts: Array) -> list[str]:
    """Names of the parts between cut points: a value at a cut belongs to the part below."""
    if len(cuts) == 0:
        return ["all"]
    texts = [f"{cut:.6g}" for cut in cuts]
    if len(set(texts)) < len(texts):
        texts = [repr(float(cut)) for cut in cuts]
    middle = [f"({low}, {high}]" for low, high in pairwise(texts)]
    return [f"<= {texts[0]}", *middle, f"> {texts[-1]}"]
