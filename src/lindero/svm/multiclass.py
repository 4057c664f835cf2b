"""Several classes as several binary problems, and their coefficients put together again.

`one-vs-one` trains a machine for each pair of classes on the rows of the two; `one-vs-rest` one for
each class on all rows. With two classes both are the same single problem, in which the second class
is positive, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lindero.runtime.arrays import Array


@dataclass(frozen=True)
class BinaryTask:
    """One binary problem: its rows of the training data, and the sign of each."""

    rows: Array
    signs: Array
    in_order: bool = True

    def positives_first(self) -> BinaryTask:
        """The same with its rows sorted by sign."""
        order = np.argsort(-self.signs, kind="stable")
        return BinaryTask(self.rows[order], self.signs[order], in_order=False)


def binary_tasks(codes: Array, n_classes: int, multiclass: str, used: Array) -> list[BinaryTask]:
    """The problems of a fit over the rows where `used` is true."""
    rows = np.flatnonzero(used)
    if n_classes == 2:
        return [BinaryTask(rows, np.where(codes[rows] == 1, 1.0, -1.0))]
    if multiclass == "ovr":
        return [BinaryTask(rows, np.where(codes[rows] == c, 1.0, -1.0)) for c in range(n_classes)]
    members = [rows[codes[rows] == c] for c in range(n_classes)]
    return [
        BinaryTask(
            np.concatenate([members[i], members[j]]),
            np.concatenate([np.ones(len(members[i])), -np.ones(len(members[j]))]),
        )
        for i, j in combinations(range(n_classes), 2)
    ]


@dataclass(frozen=True)
class Expansion:
    """Support rows grouped by class, and the coefficients of all machines over them."""

    support: Array
    n_support: Array
    coefficients: Array


def join(
    tasks: Sequence[BinaryTask],
    alphas: Sequence[Array],
    codes: Array,
    n_classes: int,
    multiclass: str,
) -> Expansion:
    """Coefficients of all tasks in scikit-learn's layout (see `models.kernel_machine`)."""
    held = [np.flatnonzero(a) for a in alphas]
    used = np.zeros(len(codes), dtype=bool)
    for task, inside in zip(tasks, held, strict=True):
        used[task.rows[inside]] = True
    support = np.flatnonzero(used)
    support = support[np.argsort(codes[support], kind="stable")]
    place = np.empty(len(codes), dtype=np.intp)
    place[support] = np.arange(len(support))
    paired = n_classes > 2 and multiclass == "ovo"
    coefficients = np.zeros((n_classes - 1 if paired else len(tasks), len(support)))
    pairs = list(combinations(range(n_classes), 2))
    for k, (task, a, inside) in enumerate(zip(tasks, alphas, held, strict=True)):
        signs = task.signs[inside]
        lines: Array | int = k
        if paired:
            i, j = pairs[k]
            # a sample of class i keeps its coefficient against j in row j − 1, and j's in row i
            lines = np.where(signs > 0, j - 1, i)
        coefficients[lines, place[task.rows[inside]]] = signs * a[inside]
    n_support = np.bincount(codes[support], minlength=n_classes).astype(np.int32)
    return Expansion(support, n_support, coefficients)


def split(
    tasks: Sequence[BinaryTask],
    support: Array,
    coefficients: Array,
    n_rows: int,
    n_classes: int,
    multiclass: str,
) -> list[Array]:
    """The inverse of `join`: the dual variables of each task."""
    place = np.full(n_rows, -1)
    place[support] = np.arange(len(support))
    paired = n_classes > 2 and multiclass == "ovo"
    pairs = list(combinations(range(n_classes), 2))
    alphas = []
    for k, task in enumerate(tasks):
        columns = place[task.rows]
        held = columns >= 0
        if paired:
            i, j = pairs[k]
            lines = np.where(task.signs > 0, j - 1, i)
        else:
            lines = np.full(len(columns), k)
        a = np.zeros(len(task.rows))
        a[held] = task.signs[held] * coefficients[lines[held], columns[held]]
        alphas.append(a)
    return alphas


def votes(decisions: Array, n_classes: int) -> Array:
    """The class that wins most pairs; ties go to the first, as in LIBSVM."""
    counts = np.zeros((len(decisions), n_classes), dtype=np.int32)
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        first = decisions[:, k] > 0
        counts[first, i] += 1
        counts[~first, j] += 1
    winners: Array = np.argmax(counts, axis=1)
    return winners
