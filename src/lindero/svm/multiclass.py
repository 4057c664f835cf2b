"""Several classes as several binary problems, and their coefficients put together again.

`one-vs-one` trains a machine for each pair of classes on the rows of the two; `one-vs-rest` one for
each class on all rows. (With two classes both are the same single problem, in which the second
class is positive, as in scikit-learn.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from lindero.devices import decisions
from lindero.problems.formulation import Task
from lindero.runtime.arrays import Array


def split_classes(codes: Array, n_classes: int, scheme: str, rows: Array) -> list[Task]:
    """The binary problems of more than two classes over these rows."""
    if scheme == "ovr":
        return [Task(rows, np.where(codes[rows] == c, 1.0, -1.0)) for c in range(n_classes)]
    members = [rows[codes[rows] == c] for c in range(n_classes)]
    return [
        Task(
            np.concatenate([members[i], members[j]]),
            np.concatenate([np.ones(len(members[i])), -np.ones(len(members[j]))]),
        )
        for i, j in combinations(range(n_classes), 2)
    ]


def describe_task(number: int, classes: Array, scheme: str) -> str:
    """The classes that a machine tells apart, for messages."""
    if len(classes) > 2 and scheme == "ovr":
        return f"class {classes[number]} and the others"
    first, second = list(combinations(classes, 2))[number]
    return f"classes {first} and {second}"


def join_machines(
    tasks: Sequence[Task],
    expansions: Sequence[Array],
    codes: Array,
    n_classes: int,
    scheme: str,
) -> tuple[Array, Array]:
    """Support rows grouped by class, and the coefficients of all machines over them in
    scikit-learn's layout (see `models.kernel_machine`), from the coefficients of each task."""
    held = [np.flatnonzero(coefficients) for coefficients in expansions]
    used = np.zeros(len(codes), dtype=bool)
    for task, inside in zip(tasks, held, strict=True):
        used[task.rows[inside]] = True
    support = np.flatnonzero(used)
    support = support[np.argsort(codes[support], kind="stable")]
    place = np.empty(len(codes), dtype=np.intp)
    place[support] = np.arange(len(support))
    joined = np.zeros((n_classes - 1 if scheme == "ovo" else len(tasks), len(support)))
    lines_of = _find_lines(n_classes, scheme)
    for k, (task, inside) in enumerate(zip(tasks, held, strict=True)):
        lines = lines_of(k, task.targets[inside])
        joined[lines, place[task.rows[inside]]] = expansions[k][inside]
    return support, joined


def take_apart(
    tasks: Sequence[Task],
    support: Array,
    joined: Array,
    n_rows: int,
    n_classes: int,
    scheme: str,
) -> list[Array]:
    """The inverse of `join_machines`: the coefficients of each task."""
    place = np.full(n_rows, -1)
    place[support] = np.arange(len(support))
    expansions = []
    lines_of = _find_lines(n_classes, scheme)
    for k, task in enumerate(tasks):
        columns = place[task.rows]
        held = columns >= 0
        coefficients = np.zeros(len(task.rows))
        lines = lines_of(k, task.targets[held])
        coefficients[held] = joined[lines, columns[held]]
        expansions.append(coefficients)
    return expansions


def _find_lines(n_classes: int, scheme: str) -> Callable[[int, Array], Array | int]:
    """A function that gives the row of the joined coefficients where samples of these signs have
    that of a machine."""
    if scheme == "ovr":
        return lambda machine, signs: machine
    pairs = list(combinations(range(n_classes), 2))

    def find(machine: int, signs: Array) -> Array:
        i, j = pairs[machine]
        # a sample of class i keeps its coefficient against j in row j − 1, and j's in row i
        return np.where(signs > 0, j - 1, i)

    return find


def shape_decisions(values: Any, n_classes: int, scheme: str, shape: str) -> Any:
    """Values of all machines as `decision_function` gives them, where they are."""
    if not isinstance(values, np.ndarray):
        return decisions.shape_decisions(values, n_classes, scheme, shape)
    if n_classes == 2:
        return values[:, 0]
    if scheme == "ovo" and shape == "ovr":
        return np.asarray(_ovr_decision_function(values < 0, -values, n_classes))
    return values


def pick_classes(values: Any, n_classes: int, scheme: str, break_ties: bool) -> Any:
    """The code of the class that the machines decide for, where their values are."""
    if not isinstance(values, np.ndarray):
        return decisions.pick_classes(values, n_classes, scheme, break_ties)
    if n_classes == 2:
        return (values[:, 0] >= 0).astype(np.intp)
    if scheme == "ovo" and not break_ties:
        return count_votes(values, n_classes)
    return np.asarray(np.argmax(shape_decisions(values, n_classes, scheme, "ovr"), axis=1))


def take_labels(classes: Array, codes: Any) -> Any:
    """The classes of these codes, where they are."""
    if not isinstance(codes, np.ndarray):
        return decisions.take_labels(classes, codes)
    return np.asarray(classes[codes])


def count_votes(decisions: Array, n_classes: int) -> Array:
    """The class that wins most pairs; ties go to the first, as in LIBSVM."""
    counts = np.zeros((len(decisions), n_classes), dtype=np.int32)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        first = decisions[:, k] > 0
        counts[:, i] += first
        counts[:, j] += ~first
    return np.asarray(np.argmax(counts, axis=1))
