"""Model files of Bayesian classifiers: tables, counts, and the networks that follow from them."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from lindero.bayes.columns.attributes import GAUSSIAN, METHODS, Attributes
from lindero.bayes.networks.network import sort_parents_first
from lindero.bayes.tables.schema import CATEGORY, LEFT_OUT, NUMBER, UNKNOWN, Column
from lindero.persist.fields import Fields
from lindero.persist.registry import Kind
from lindero.runtime.arrays import Array

#: Most values of an attribute.
_MOST_VALUES = 2**31 - 2

#: What a count is below, so that sums of counts are finite.
_MOST_COUNT = 1e290

#: What a log probability is below, which may be that of 0; with some room for rounding.
_MOST_LOG = 1e-6


# -- columns --------------------------------------------------------------------------------------


def check_column(given: Fields) -> None:
    given.optional("name", given.text)
    kind = given.text("kind", (CATEGORY, NUMBER, UNKNOWN, LEFT_OUT))
    given.where_given(("other",), given.text)
    values = given.items("values", tuple)
    types = [_value_kind(value) for value in values]
    given.require("values", None not in types and len(set(types)) <= 1, "must be of one kind")
    given.require("values", len(set(values)) == len(values), "must differ")
    given.require("values", kind == CATEGORY or not values, "are for categories")


def _value_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "flag"
    return "number" if isinstance(value, (int, float, np.integer, np.floating)) else None


def _check_schema(given: Fields) -> None:
    columns = given.items("columns", tuple, None, Column)
    given.require("columns", len(columns) > 0, "must be there")
    names = [column.name for column in columns if column.name is not None]
    given.require("columns", len(names) in (0, len(columns)), "must all have names, or none")


def _check_attributes(given: Fields) -> None:
    schema = given.instance("schema", "Schema")
    n = len(schema.number_columns)
    methods, cuts = given.items("methods", tuple, n), given.items("cuts", tuple, n)
    for method, points in zip(methods, cuts, strict=True):
        _check_plan(given, "cuts", (method, points))
        fits = method != GAUSSIAN or points is None
        given.require("cuts", fits, "are not for Gaussian columns")
    plans = given.mapping("plans")
    sound = set(plans) == set(schema.unknown_columns)
    given.require("plans", sound, "must be those of the columns of no known kind")
    for plan in plans.values():
        given.require("plans", type(plan) is tuple and len(plan) == 2, "must be pairs")
        _check_plan(given, "plans", plan)


def _check_plan(given: Fields, name: str, plan: tuple[Any, Any]) -> None:
    method, points = plan
    known = method in METHODS if isinstance(method, str) else method is None and points is not None
    given.require(name, known, "must have a known method, or cut points")
    if points is not None:
        Fields(given.kind, {name: points}).array(name, "float64", None)
        rising = bool(np.isfinite(points).all() and (np.diff(points) > 0.0).all())
        given.require(name, rising, "must be finite and rise")


def cards_of(attributes: Attributes) -> list[int]:
    """How many values each coded attribute has; −1 where cuts are not learned yet."""
    schema, numbers = attributes.schema, attributes.schema.number_columns
    of_column = {k: len(schema.columns[k].values) for k in schema.category_columns}
    for k in attributes.cut:
        cuts = attributes.cuts[k]
        of_column[numbers[k]] = -1 if cuts is None else len(cuts) + 1
    return [of_column[column] for column in attributes.coded_columns.tolist()]


# -- samples --------------------------------------------------------------------------------------


def _check_table(given: Fields) -> None:
    n_rows = given.integer("n_rows")
    cards = given.array("cards", "int64", "categories", least=0, below=_MOST_VALUES)
    codes = given.array("codes", ("uint8", "uint16", "int32"), "categories", n_rows, least=0)
    inside = not codes.size or bool((codes.max(axis=1) <= cards).all())
    given.require("codes", inside, "must be those of known values")
    numbers = given.array("numbers", "float64", None, n_rows)
    given.require("numbers", not bool(np.isinf(numbers).any()), "must not be infinite")


def _check_sample(given: Fields) -> None:
    table = given.instance("table", "Table")
    given.array("y", ("int32", "int64"), table.n_rows, least=0)
    given.optional("weights", given.array, "float64", table.n_rows, least=0.0, below=_MOST_COUNT)


# -- counts ---------------------------------------------------------------------------------------


def _check_moments(given: Fields) -> None:
    for name in ("count", "squares"):
        given.array(name, "float64", "numbers", "classes", least=0.0, finite=True)
    given.array("mean", "float64", "numbers", "classes", finite=True)
    given.array("largest", "float64", "numbers", least=0.0, finite=True)
    given.items("names", tuple, None, str)


def _check_counts(given: Fields) -> None:
    n_classes = given.integer("n_classes", least=1)
    cards = given.array("cards", "int64", None, least=0, below=_MOST_VALUES)
    _check_of_class(given, n_classes)
    slots = [int(r) + 1 for r in cards]
    total = sum(slots)
    given.array("singles", "float64", total * n_classes, least=0.0, below=_MOST_COUNT)
    pairs = (total * total - sum(r * r for r in slots)) // 2
    given.optional("pairs", given.array, "float64", pairs * n_classes, least=0.0, below=_MOST_COUNT)


def _check_of_class(given: Fields, n_classes: int | str) -> Array:
    of_class = given.array("of_class", "float64", n_classes, least=0.0, below=_MOST_COUNT)
    given.require("of_class", float(of_class.sum()) > 0.0, "must count rows")
    return of_class


def _check_parents(given: Fields, n: int) -> tuple[tuple[int, ...], ...]:
    """Parents of n attributes that no attribute is above itself by."""
    parents: tuple[tuple[int, ...], ...] = given.items("parents", tuple, n, tuple)
    for above in parents:
        inside = all(type(p) is int and 0 <= p < n for p in above) and len(set(above)) == len(above)
        given.require("parents", inside, "must be other attributes")
    given.items("with_class", tuple, n, bool)
    try:
        sort_parents_first(parents)
    except ValueError:
        given.refuse("parents", "go round in a circle")
    return parents


def _check_tables(given: Fields, name: str, shapes: list[tuple[int, ...]], **limits: Any) -> None:
    tables = given.items(name, tuple, len(shapes), np.ndarray)
    for table, shape in zip(tables, shapes, strict=True):
        Fields(given.kind, {name: table}).array(name, "float64", *shape, **limits)


def _check_families(given: Fields) -> None:
    of_class = _check_of_class(given, "classes")
    tables = given.items("tables", tuple, None, np.ndarray)
    given.require("tables", all(t.ndim and len(t) for t in tables), "must have slots")
    parents = _check_parents(given, len(tables))
    slots = [len(table) for table in tables]
    shapes = [
        (slots[i], *(slots[p] for p in above), len(of_class)) for i, above in enumerate(parents)
    ]
    _check_tables(given, "tables", shapes, least=0.0, below=_MOST_COUNT)


# -- networks -------------------------------------------------------------------------------------


def _check_network(given: Fields) -> None:
    n_classes = given.integer("n_classes", least=1)
    cards = given.array("cards", "int64", "attributes", least=0, below=_MOST_VALUES)
    given.array("log_prior", "float64", n_classes, below=_MOST_LOG)
    parents = _check_parents(given, len(cards))
    last = [n_classes if uses else 1 for uses in given.any("with_class")]
    around = [tuple(int(cards[p]) for p in above) for above in parents]
    shapes = [(*a, int(r), k) for a, r, k in zip(around, cards, last, strict=True)]
    _check_tables(given, "log_tables", shapes, below=_MOST_LOG)
    if given.any("unseen") is not None:
        shapes = [(*a, k) for a, k in zip(around, last, strict=True)]
        _check_tables(given, "unseen", shapes, below=_MOST_LOG)
    for i, pair in given.mapping("without_empty").items():
        sound = type(i) is int and 0 <= i < len(cards) and type(pair) is tuple and len(pair) == 2
        given.require("without_empty", sound, "must be pairs of tables by attribute")
        held = tuple(max(1, r) for r in around[i])
        both = Fields(given.kind, {"log_table": pair[0], "unseen": pair[1]})
        both.array("log_table", "float64", *held, int(cards[i]), last[i], below=_MOST_LOG)
        both.array("unseen", "float64", *held, last[i], below=_MOST_LOG)


def _check_star_tables(given: Fields) -> None:
    """Where tables begin is told by how many values attributes have."""
    n_classes = given.integer("n_classes", least=1)
    cards = given.array("cards", "int64", "attributes", least=0, below=_MOST_VALUES)
    d = len(cards)
    centre_of = given.array("centre_of", "int64", None, least=0, below=max(d, 1))
    rising = bool((np.diff(centre_of) > 0).all())
    given.require("centre_of", rising, "must be different attributes in order")
    slots = [int(r) + 2 for r in cards]
    starts = [0, *accumulate(slots)]
    centres = set(centre_of.tolist())
    widths = [
        (starts[-1] - slots[i]) * int(cards[i]) * n_classes if i in centres else 0 for i in range(d)
    ]
    places = [0, *accumulate(widths)]
    for name, expected in (("leaf_start", starts[:-1]), ("table_start", places[:-1])):
        found = given.array(name, "int64", d)
        given.require(name, found.tolist() == expected, "must be where tables begin")
    given.array("centres", "float64", starts[-1] * n_classes, below=_MOST_LOG)
    given.array("leaves", "float64", places[-1], below=_MOST_LOG)


def _check_stars(given: Fields) -> None:
    cards = given.array("cards", "int64", None)
    n_classes = given.integer("n_classes", least=1)
    given.array("log_prior", "float64", n_classes, below=_MOST_LOG)
    given.flag("unseen")
    tables = given.instance("tables", "StarTables")
    same = tables.n_classes == n_classes and np.array_equal(tables.cards, cards)
    given.require("tables", bool(same), "must be of the same attributes")


KINDS: tuple[Kind, ...] = (
    Kind("Column", "lindero.bayes.tables.schema:Column", check_column),
    Kind("Schema", "lindero.bayes.tables.schema:Schema", _check_schema),
    Kind("Attributes", "lindero.bayes.columns.attributes:Attributes", _check_attributes),
    Kind("Table", "lindero.bayes.tables.schema:Table", _check_table),
    Kind("Sample", "lindero.bayes.evidence:Sample", _check_sample),
    Kind("Moments", "lindero.bayes.columns.moments:Moments", _check_moments),
    Kind("Counts", "lindero.bayes.counts.counts:Counts", _check_counts),
    Kind("FamilyCounts", "lindero.bayes.networks.network:FamilyCounts", _check_families),
    Kind("Network", "lindero.bayes.networks.network:Network", _check_network),
    Kind("StarTables", "lindero.bayes.aode:StarTables", _check_star_tables),
    Kind("Stars", "lindero.bayes.aode:Stars", _check_stars),
    Kind(
        "AveragedStars",
        "lindero.bayes.aode:AveragedStars",
        lambda given: given.instance("stars", "Stars"),
    ),
)
