"""Kernel machines as graphs: values of all machines, then decisions and labels.

    f_k(x) = Σ_j c_kj k(x, x_j) + b_k

Linear machines use their weights, w_k·x + b_k. The Gaussian kernel is computed from inner products
about the mean of the support vectors, so that far-away origins cost no digits. Outputs:

    classifier        label, and decision: (rows,) for two classes, else (rows, classes or pairs)
    regressor         prediction: (rows,)
    novelty           label (1 or −1) and decision: (rows,)
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from lindero.kernels.operator import KernelFunction
from lindero.models.kernel_machine import groups_of
from lindero.persist.onnx_graphs.graph import GraphBuilder
from lindero.runtime.arrays import Array, dense

#: Kernels that ONNX has the operators for.
KERNELS = ("linear", "poly", "rbf", "sigmoid")


def add_kernel_machine(
    graph: GraphBuilder, machine: Any, function: KernelFunction, rows: str
) -> None:
    """Outputs of a fitted machine for a tensor of rows."""
    values = _add_values(graph, machine, function, rows)
    if not hasattr(machine, "classes_"):
        _finish_numbers(graph, machine, values)
    elif len(machine.classes_) == 2:
        decision = graph.add("Squeeze", values, graph.constant([1]))
        second = graph.add("GreaterOrEqual", decision, graph.constant(0.0))
        graph.add_labels(graph.cast(second, "integer"), machine.classes_)
        graph.add_output("decision", decision, "number", [])
    else:
        _finish_classes(graph, machine, values)


def add_decisions(graph: GraphBuilder, machine: Any, function: KernelFunction, rows: str) -> str:
    """Decision values of a classifier: of shape (rows, classes), or (rows, 1) for two classes."""
    values = _add_values(graph, machine, function, rows)
    n_classes = len(machine.classes_)
    if n_classes == 2 or machine.dual_coef_.shape[0] == n_classes:
        return values
    return _shape_pairs(graph, values, *_mark_pairs(n_classes))


def _finish_numbers(graph: GraphBuilder, machine: Any, values: str) -> None:
    """Outputs of a machine without classes."""
    value = graph.add("Squeeze", values, graph.constant([1]))
    if not hasattr(machine, "offset_"):
        graph.add_output("prediction", value, "number", [])
        return
    inside = graph.cast(graph.add("GreaterOrEqual", value, graph.constant(0.0)), "integer")
    graph.add_labels(inside, np.array([-1, 1]))
    graph.add_output("decision", value, "number", [])


def _finish_classes(graph: GraphBuilder, machine: Any, values: str) -> None:
    """Outputs of more than two classes, as `svm.multiclass` decides."""
    n_classes = len(machine.classes_)
    if machine.dual_coef_.shape[0] == n_classes:  # one against the rest
        graph.add_labels(graph.add("ArgMax", values, axis=1, keepdims=0), machine.classes_)
        graph.add_output("decision", values, "number", [n_classes])
        return
    first, second = _mark_pairs(n_classes)
    shaped = _shape_pairs(graph, values, first, second)
    if getattr(machine, "break_ties", False):
        codes = graph.add("ArgMax", shaped, axis=1, keepdims=0)
    else:
        votes = _count_votes(
            graph, graph.add("Greater", values, graph.constant(0.0)), first, second
        )
        codes = graph.add("ArgMax", votes, axis=1, keepdims=0)
    graph.add_labels(codes, machine.classes_)
    if getattr(machine, "decision_function_shape", "ovr") == "ovo":
        graph.add_output("decision", values, "number", [len(first)])
    else:
        graph.add_output("decision", shaped, "number", [n_classes])


def _mark_pairs(n_classes: int) -> tuple[Array, Array]:
    """Which class is the first, and which the second, of each pair: (pairs, classes)."""
    pairs = list(combinations(range(n_classes), 2))
    first, second = np.zeros((2, len(pairs), n_classes))
    for k, (i, j) in enumerate(pairs):
        first[k, i] = second[k, j] = 1.0
    return first, second


def _count_votes(graph: GraphBuilder, wins: str, first: Array, second: Array) -> str:
    """How many pairs each class wins; `wins` says where the first of a pair does."""
    flags = graph.cast(wins, "number")
    own = graph.add("MatMul", flags, graph.constant(first - second))
    return graph.add("Add", own, graph.constant(second.sum(axis=0)[None, :]))


def _shape_pairs(graph: GraphBuilder, values: str, first: Array, second: Array) -> str:
    """Votes of pairs and, below one vote, their values: a column for each class."""
    wins = graph.add("GreaterOrEqual", values, graph.constant(0.0))
    votes = _count_votes(graph, wins, first, second)
    sums = graph.add("MatMul", values, graph.constant(first - second))
    size = graph.add("Add", graph.add("Abs", sums), graph.constant(1.0))
    share = graph.add("Div", sums, graph.add("Mul", size, graph.constant(3.0)))
    return graph.add("Add", votes, share)


def _add_values(graph: GraphBuilder, machine: Any, function: KernelFunction, rows: str) -> str:
    """Values of all machines, of shape (rows, machines)."""
    if function.call is not None or function.name not in KERNELS:
        kind = "a callable" if function.call is not None else repr(function.name)
        raise ValueError(
            f"ONNX has no form for a machine whose kernel is {kind}: train with one of "
            f"{', '.join(KERNELS)}, or keep it as .lin."
        )
    if len(getattr(machine, "classes_", "ab")) < 2:
        raise ValueError("The machine knows one class only, and so decides nothing: learn another.")
    intercepts = np.asarray(machine.intercept_, dtype=np.float64)[None, :]
    if function.name == "linear":
        weights = np.atleast_2d(dense(machine.coef_))
        product = graph.add("MatMul", rows, graph.constant(np.ascontiguousarray(weights.T)))
        return graph.add("Add", product, graph.constant(intercepts))
    vectors = np.asarray(dense(machine.support_vectors_), dtype=np.float64)
    kernel = _add_kernel(graph, function, rows, vectors)
    matrix = _spread_coefficients(machine)
    product = graph.add("MatMul", kernel, graph.constant(matrix))
    return graph.add("Add", product, graph.constant(intercepts))


def _spread_coefficients(machine: Any) -> Array:
    """The coefficient of each support vector in each machine, (vectors, machines)."""
    coefficients = np.asarray(dense(machine.dual_coef_), dtype=np.float64)
    classes = getattr(machine, "classes_", ())
    if len(classes) <= 2 or len(coefficients) == len(classes):
        return np.ascontiguousarray(coefficients.T)
    groups = groups_of(coefficients.shape[1], tuple(int(n) for n in machine.n_support_))
    pairs = list(combinations(range(len(classes)), 2))
    spread = np.zeros((coefficients.shape[1], len(pairs)))
    for k, (i, j) in enumerate(pairs):
        for own, line in ((i, j - 1), (j, i)):
            inside = slice(*groups[own])
            spread[inside, k] = coefficients[line, inside]
    return spread


def _add_kernel(graph: GraphBuilder, function: KernelFunction, rows: str, vectors: Array) -> str:
    """Kernel values of shape (rows, support vectors)."""
    gamma = float(function.gamma)
    if function.name == "rbf":
        centre = vectors.mean(axis=0, keepdims=True) if len(vectors) else vectors[:0].sum(0)[None]
        rows = graph.add("Sub", rows, graph.constant(centre))
        vectors = vectors - centre
    # Factors are in the vectors: runtimes join others to the product, in single precision.
    factor = 2.0 if function.name == "rbf" else gamma
    scaled = np.ascontiguousarray(factor * vectors.T)
    products = graph.add("MatMul", rows, graph.constant(scaled))
    if function.name == "rbf":
        squares = graph.sum(graph.add("Mul", rows, rows), 1, keep=True)
        both = graph.add("Add", squares, graph.constant((vectors**2).sum(axis=1)[None, :]))
        distance = graph.add("Max", graph.add("Sub", both, products), graph.constant(0.0))
        return graph.add("Exp", graph.add("Mul", distance, graph.constant(-gamma)))
    moved = graph.add("Add", products, graph.constant(float(function.coef0)))
    if function.name == "sigmoid":
        return graph.add("Tanh", moved)
    return graph.add("Pow", moved, graph.constant(float(function.degree)))
