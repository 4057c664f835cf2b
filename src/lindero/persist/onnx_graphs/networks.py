"""Bayesian classifiers as graphs: log P(c, x), and the label and the probabilities from it.

Attributes are coded as in `bayes.networks.network`: 0 missing, 1…r the values, r + 1 a new one.
Rows in which every parent has a known value need look-ups only. If a batch has others, all of it
is summed out exactly instead, attribute by attribute (variable elimination): evidence e_i(x) is 1
for the value that was observed, or for all values of a missing or new attribute, and

    P(c, observed) = P(c) Σ_x Π_i P(x_i | x_pa(i), c) e_i(x_i) u_i(x_pa(i), c),

where u_i is P(new | x_pa(i), c) for a new value of i and 1 otherwise. Sums are divided by their
largest, so that many attributes do not underflow. An average of stars (AODE) has a sum over the
values of each centre only. Gaussian columns add their log densities, and nothing where missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.bayes.aode import AveragedStars, Stars
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.networks.inference import find_informative
from lindero.bayes.networks.network import Network
from lindero.bayes.tables.schema import NUMBER
from lindero.persist.onnx_graphs.graph import GraphBuilder
from lindero.persist.onnx_graphs.tables import InputColumn, add_columns
from lindero.runtime.arrays import Array

#: Numbers of one row that a sum may take in between.
MOST_STATES = 2_000_000

#: Stands for log 0 where it is multiplied with 0.
_LOWEST = -1e300


def add_bayes_classifier(graph: GraphBuilder, classifier: Any) -> None:
    """Inputs, label and probabilities of a fitted Bayesian classifier."""
    joint = add_joint(graph, classifier)
    graph.add_labels(graph.add("ArgMax", joint, axis=1, keepdims=0), classifier.classes_)
    shares = graph.add("Softmax", joint, axis=1)
    graph.add_output("probabilities", shares, "number", [len(classifier.classes_)])


def add_joint(graph: GraphBuilder, classifier: Any) -> str:
    """Inputs of a Bayesian classifier, and log P(c, x) but for a constant, (rows, classes)."""
    if classifier.unseen == "error":
        raise ValueError(
            "The model refuses categories that it does not know (unseen='error'), which a graph of "
            "ONNX cannot do. Train it with unseen='smooth' or 'missing'."
        )
    attributes, model, mean, sd = classifier.__lindero_estimate__()
    schema = attributes.schema
    kinds = [column.kind for column in schema.columns]
    values = [column.values for column in schema.columns]
    others = [getattr(column, "other", None) for column in schema.columns]
    columns = add_columns(graph, schema.names, kinds, values, others)
    codes = _add_codes(graph, attributes, columns, classifier.unseen)
    joint = _add_log_joint(graph, model, codes)
    numbers = [columns[int(k)] for k in attributes.gaussian_columns]
    informative = find_informative(mean, sd)
    for place in np.flatnonzero(informative):
        joint = graph.add("Add", joint, _add_density(graph, numbers[place], mean[place], sd[place]))
    return _settle(graph, joint, np.asarray(model.log_prior), columns)


# -- columns to codes ------------------------------------------------------------------------------


def _add_codes(
    graph: GraphBuilder, attributes: Attributes, columns: list[InputColumn], unseen: str
) -> list[str | None]:
    """The codes of the coded attributes, each of shape (rows, 1); None for what has no value."""
    cuts = {attributes.schema.number_columns[k]: attributes.cuts[k] for k in attributes.cut}
    codes: list[str | None] = []
    for place in attributes.coded_columns.tolist():
        column = columns[place]
        if column.tensor is None:
            codes.append(None)
        elif column.kind == NUMBER:
            points = cuts[place]
            assert points is not None
            codes.append(_add_cut(graph, column.tensor, points))
        else:
            other = 0 if unseen == "missing" else None
            codes.append(column.find_codes(graph, other))
    return codes


def _add_cut(graph: GraphBuilder, numbers: str, cuts: Array) -> str:
    """1 and the number of cut points below; 0 where it is missing."""
    missing = graph.add("IsNaN", numbers)
    zero, one = graph.constant(np.array(0)), graph.constant(np.array(1))
    if not len(cuts):
        return graph.add("Where", missing, zero, one)
    above = graph.add("Greater", numbers, graph.constant(cuts[None, :]))
    code = graph.add("Add", graph.sum(graph.cast(above, "integer"), 1, keep=True), one)
    return graph.add("Where", missing, zero, code)


def _add_density(graph: GraphBuilder, column: InputColumn, mean: Array, sd: Array) -> str:
    """The log density of a Gaussian column under each class, 0 where it is missing."""
    assert column.tensor is not None
    away = graph.add("Sub", column.tensor, graph.constant(mean[None, :]))
    units = graph.add("Mul", away, graph.constant((np.sqrt(0.5) / sd)[None, :]))
    height = graph.constant((-np.log(sd) - 0.5 * np.log(2.0 * np.pi))[None, :])
    density = graph.add("Sub", height, graph.add("Mul", units, units))
    missing = graph.add("IsNaN", column.tensor)
    return graph.add("Where", missing, graph.constant(0.0), density)


# -- codes to log P(c, x) --------------------------------------------------------------------------


def _add_log_joint(graph: GraphBuilder, model: Any, codes: list[str | None]) -> str:
    """log P(c, observed codes), of shape (rows, classes) or (1, classes)."""
    prior = graph.constant(np.asarray(model.log_prior)[None, :])
    if isinstance(model, AveragedStars):
        return graph.add("Add", prior, _average_stars(graph, model.stars, codes))
    if not isinstance(model, Network):
        raise ValueError(f"ONNX export does not know {type(model).__name__}: keep it as .lin.")
    if model.unseen is None:
        codes = [_hide_new(graph, code, int(r)) for code, r in zip(codes, model.cards, strict=True)]
    tables = [_take_table(model, i) for i in range(model.n_attributes)]
    above = {p for parents, *_ in tables for p in parents}
    alone = [i for i in range(model.n_attributes) if not tables[i][0] and i not in above]
    joint = prior
    for i in alone:
        joint = _add_to(graph, joint, _look_up(graph, codes, i, tables[i], model))
    rest = [i for i in range(model.n_attributes) if i not in alone]
    if not rest:
        return joint
    _require_narrow(model, tables, rest)
    unclear = _find_unclear(graph, codes, sorted(above), model.cards)

    def sum_out() -> str:
        return _eliminate(graph, codes, tables, rest, model)

    def look_up() -> str:
        total = graph.constant(np.zeros((1, model.n_classes)))
        for i in rest:
            total = _add_to(graph, total, _look_up(graph, codes, i, tables[i], model))
        return graph.add("Identity", total)

    return graph.add("Add", joint, graph.branch(unclear, sum_out, look_up, model.n_classes))


def _add_to(graph: GraphBuilder, total: str, more: str | None) -> str:
    return total if more is None else graph.add("Add", total, more)


def _hide_new(graph: GraphBuilder, code: str | None, r: int) -> str | None:
    """New values as missing ones."""
    if code is None:
        return None
    new = graph.add("Greater", code, graph.constant(np.array(r)))
    return graph.add("Where", new, graph.constant(np.array(0)), code)


#: Parents with values, log P(x | parents, c) of shape (parents…, r, K), and log P(new | …).
_Family = tuple[tuple[int, ...], Array, Array]


def _take_table(network: Network, i: int) -> _Family:
    """The table of an attribute without axes of parents that have no value."""
    table, unseen = network.tables_of(i)
    K, above = network.n_classes, network.parents[i]
    kept = tuple(0 if network.cards[p] == 0 else slice(None) for p in above)
    table = table[kept]
    new = np.zeros((*table.shape[:-2], 1)) if unseen is None else unseen[kept]
    return (
        tuple(p for p in above if network.cards[p] > 0),
        np.broadcast_to(table, (*table.shape[:-1], K)),
        np.broadcast_to(new, (*new.shape[:-1], K)),
    )


def _look_up(
    graph: GraphBuilder, codes: list[str | None], i: int, family: _Family, network: Network
) -> str | None:
    """What an attribute adds where all its parents have values; None if it is never observed."""
    code = codes[i]
    if code is None:
        return None
    parents, table, new = family
    r, K = int(network.cards[i]), network.n_classes
    missing = np.zeros((*table.shape[:-2], 1, K))
    slots = np.concatenate([missing, table, new[..., None, :]], axis=-2)
    index, stride = code, r + 2
    for p in reversed(parents):
        own = codes[p]
        if own is None:
            continue
        steps = graph.add("Sub", own, graph.constant(np.array(1)))
        index = graph.add("Add", index, graph.add("Mul", steps, graph.constant(np.array(stride))))
        stride *= int(network.cards[p])
    flat = graph.reshape(index, [-1])
    return graph.add("Gather", graph.constant(slots.reshape(-1, K)), flat, axis=0)


def _find_unclear(
    graph: GraphBuilder, codes: list[str | None], above: list[int], cards: Array
) -> str:
    """Whether any row has a parent that is missing or new."""
    found = [(code, int(cards[p])) for p in above if (code := codes[p]) is not None]
    joined = graph.add("Concat", *(code for code, _ in found), axis=1)
    low = graph.add("Less", joined, graph.constant(np.array(1)))
    high = graph.add("Greater", joined, graph.constant(np.array([[r for _, r in found]])))
    either = graph.cast(graph.add("Or", low, high), "integer")
    count = graph.add("ReduceSum", either, keepdims=0)
    return graph.add("Greater", count, graph.constant(np.array(0)))


# -- summing out -----------------------------------------------------------------------------------


def _order_of(tables: list[_Family], rest: list[int], cards: Array) -> tuple[list[int], float]:
    """In which order attributes are summed out, the smallest product first, and the largest."""
    factors = [frozenset((i, *tables[i][0])) for i in rest if cards[i] > 0]
    factors += [frozenset(tables[i][0]) for i in rest if tables[i][0]]
    left, order, widest = {i for i in rest if cards[i] > 0}, [], 1.0
    while left:
        joined = {
            i: frozenset[int]().union(*(factor for factor in factors if i in factor)) for i in left
        }
        size = {i: float(np.prod([float(cards[j]) for j in joined[i]])) for i in left}
        best = min(left, key=lambda i: (size[i], i))
        widest = max(widest, size[best])
        factors = [factor for factor in factors if best not in factor]
        factors.append(joined[best] - {best})
        left.remove(best)
        order.append(best)
    return order, widest


def _require_narrow(network: Network, tables: list[_Family], rest: list[int]) -> None:
    _, widest = _order_of(tables, rest, network.cards)
    if widest * network.n_classes > MOST_STATES:
        raise ValueError(
            f"Summing out missing values in this network takes {widest * network.n_classes:.0f} "
            f"numbers a row, more than the {MOST_STATES} that are allowed in a graph of ONNX. Pool "
            "rare categories, or allow fewer parents (k, max_parents)."
        )


def _eliminate(
    graph: GraphBuilder, codes: list[str | None], tables: list[_Family], rest: list[int],
    network: Network,
) -> str:  # fmt: skip
    """log Σ over the missing attributes among `rest`, of shape (rows, classes)."""
    cards, K = network.cards, network.n_classes
    factors: list[tuple[tuple[int, ...], str]] = []
    for i in rest:
        parents, table, new = tables[i]
        if cards[i] > 0:
            factors.append(_place_table(graph, (*parents, i), np.exp(table)))
        code = codes[i]
        if code is None:
            continue
        is_new = graph.add("Greater", code, graph.constant(np.array(int(cards[i]))))
        if cards[i] > 0:
            factors.append(((i,), _add_evidence(graph, code, is_new, int(cards[i]))))
        if network.unseen is not None:
            around, name = _place_table(graph, parents, np.exp(new))
            flag = graph.widen(is_new, [2 + k for k in range(len(around))])
            factors.append((around, graph.add("Where", flag, name, graph.constant(1.0))))
    logs: str = graph.constant(np.zeros((1, K)))
    for i in _order_of(tables, rest, cards)[0]:
        held = [factor for factor in factors if i in factor[0]]
        factors = [factor for factor in factors if i not in factor[0]]
        axes = tuple(sorted({j for own, _ in held for j in own}))
        product = _spread(graph, *held[0], axes)
        for own, name in held[1:]:
            product = graph.add("Mul", product, _spread(graph, own, name, axes))
        total = graph.sum(product, 1 + axes.index(i))
        left = tuple(j for j in axes if j != i)
        if left:
            top = graph.largest(total, [1 + k for k in range(len(left))], keep=True)
            some = graph.add("Greater", top, graph.constant(0.0))
            total = graph.add("Div", total, graph.add("Where", some, top, graph.constant(1.0)))
            scale = graph.add("Squeeze", top, graph.constant([1 + k for k in range(len(left))]))
            logs = graph.add("Add", logs, graph.add("Log", scale))
            factors.append((left, total))
        else:
            logs = graph.add("Add", logs, graph.add("Log", total))
    for _, name in factors:  # of attributes without any value
        logs = graph.add("Add", logs, graph.add("Log", name))
    return logs


def _place_table(graph: GraphBuilder, axes: tuple[int, ...], table: Array) -> tuple[Any, str]:
    """A table (axes…, K) with its axes in ascending order, and one for rows before them."""
    order = np.argsort(axes)
    sorted_table = np.ascontiguousarray(table.transpose(*order, table.ndim - 1))
    return tuple(sorted(axes)), graph.constant(sorted_table[None])


def _add_evidence(graph: GraphBuilder, code: str, is_new: str, r: int) -> str:
    """1 for the values that a row may have, of shape (rows, r, 1)."""
    same = graph.add("Equal", code, graph.constant(np.arange(1, r + 1)[None, :]))
    missing = graph.add("Equal", code, graph.constant(np.array(0)))
    allowed = graph.add("Or", same, graph.add("Or", missing, is_new))
    return graph.widen(graph.cast(allowed, "number"), [2])


def _spread(graph: GraphBuilder, own: tuple[int, ...], name: str, axes: tuple[int, ...]) -> str:
    """A factor with an axis of length 1 for each attribute that it lacks."""
    return graph.widen(name, [1 + k for k, j in enumerate(axes) if j not in own])


# -- averages of stars -----------------------------------------------------------------------------


def _average_stars(graph: GraphBuilder, stars: Stars, codes: list[str | None]) -> str:
    """The logarithm of the mean of all stars, of shape (rows, classes)."""
    tables, cards, K = stars.tables, stars.cards, stars.n_classes
    if not len(tables.centre_of):
        return graph.constant(np.zeros((1, K)))
    if not stars.unseen:
        codes = [_hide_new(graph, code, int(r)) for code, r in zip(codes, cards, strict=True)]
    d = len(cards)
    some = next(code for code in codes if code is not None)
    never = graph.add("Sub", some, some)
    held = [never if code is None else code for code in codes]
    flags = [
        graph.cast(
            graph.add("Equal", held[j], graph.constant(np.arange(cards[j] + 2)[None, :])), "number"
        )
        for j in range(d)
    ]
    centres = tables.centres.reshape(-1, K)
    found = []
    for i in tables.centre_of.tolist():
        r, first = int(cards[i]), int(tables.leaf_start[i])
        own = np.maximum(centres[first : first + r + 2], _LOWEST)
        total = graph.constant(own[None, 1 : r + 1])
        if d > 1:
            others = [flags[j] for j in range(d) if j != i]
            width = int((cards + 2).sum()) - (r + 2)
            start = int(tables.table_start[i])
            leaves = tables.leaves[start : start + r * width * K].reshape(r, width, K)
            matrix = np.maximum(leaves, _LOWEST).transpose(1, 0, 2).reshape(width, r * K)
            joined = graph.add("Concat", *others, axis=1)
            sums = graph.add("MatMul", joined, graph.constant(np.ascontiguousarray(matrix)))
            total = graph.add("Add", total, graph.reshape(sums, [-1, r, K]))
        is_new = graph.add("Greater", held[i], graph.constant(np.array(r)))
        allowed = _add_evidence(graph, held[i], is_new, r)
        total = graph.add(
            "Where", graph.add("Greater", allowed, graph.constant(0.5)), total,
            graph.constant(_LOWEST),
        )  # fmt: skip
        star = graph.log_sum(total, 1)
        new = graph.add("Where", is_new, graph.constant(own[r + 1][None, :]), graph.constant(0.0))
        found.append(graph.widen(graph.add("Add", star, new), [1]))
    mean = graph.log_sum(graph.add("Concat", *found, axis=1), 1)
    return graph.add("Sub", mean, graph.constant(float(np.log(len(found)))))


# -- answers ---------------------------------------------------------------------------------------


def _settle(graph: GraphBuilder, joint: str, log_prior: Array, columns: list[InputColumn]) -> str:
    """For all rows; those that are impossible under all classes tell nothing."""
    some = next((column for column in columns if column.tensor is not None), None)
    if some is None:
        raise ValueError("No column of the model has any value: there is nothing to export.")
    # As many rows as there are in the input, even where no column tells anything.
    gaps = graph.cast(some.find_missing(graph), "number")
    joint = graph.add("Add", joint, graph.add("Mul", gaps, graph.constant(0.0)))
    top = graph.largest(joint, [1], keep=True)
    possible = graph.add("Greater", top, graph.constant(_LOWEST / 10))
    return graph.add("Where", possible, joint, graph.constant(log_prior[None, :]))
