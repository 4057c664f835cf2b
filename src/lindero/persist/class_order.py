"""From LIBSVM's order of classes and signs to those of lindero, and back.

LIBSVM keeps classes in the order in which they first appear in the training data, lindero (as
scikit-learn) in ascending order. When class a, at position p of the file, moves to position s(a),
the machine of two classes a and b is the same up to its sign: it is turned round if the two change
places. Each class's block of vectors moves with it, and the coefficients of a's vectors in the
machine against b move from the row of b among the others in the file to its row in the new order.

With two classes lindero has the second one positive, LIBSVM the first: the sign is then turned
once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lindero.models.kernel_machine import groups_of
from lindero.runtime.arrays import Array


@dataclass(frozen=True)
class ClassMachines:
    """Machines of all pairs of classes, in lindero's order and signs.

    `vector_order` says which vector of the file each column of the coefficients belongs to.
    """

    classes: Array
    n_support: Array
    coefficients: Array
    intercepts: Array
    vector_order: Array


def ascending(labels: Array, counts: Array, coefficients: Array, rho: Array) -> ClassMachines:
    """The machines of a file of LIBSVM with the classes in ascending order."""
    order = np.argsort(labels)
    n_classes = len(labels)
    blocks = groups_of(coefficients.shape[1], tuple(int(n) for n in counts))
    vector_order = np.concatenate([np.arange(*blocks[p]) for p in order])
    moved = np.empty_like(coefficients)
    starts = np.concatenate([[0], np.cumsum(counts[order])])
    pair_number = {pair: k for k, pair in enumerate(combinations(range(n_classes), 2))}
    intercepts = np.empty(len(rho))
    turned = -1.0 if n_classes == 2 else 1.0
    for number, (a, b) in enumerate(combinations(range(n_classes), 2)):
        p, q = int(order[a]), int(order[b])
        sign = turned if p < q else -turned
        intercepts[number] = -sign * rho[pair_number[min(p, q), max(p, q)]]
        for mine, other, file_mine, file_other in ((a, b, p, q), (b, a, q, p)):
            first, last = blocks[file_mine]
            moved[_row(other, mine), starts[mine] : starts[mine + 1]] = (
                sign * coefficients[_row(file_other, file_mine), first:last]
            )
    return ClassMachines(labels[order], counts[order], moved, intercepts, vector_order)


def _row(other: int, mine: int) -> int:
    """The row in which vectors of class `mine` keep their coefficients against `other`."""
    return other if other < mine else other - 1


def first_positive(coefficients: Array, intercepts: Array) -> tuple[Array, Array]:
    """Coefficients and ρ as LIBSVM has them, of machines whose classes ascend."""
    turned = -1.0 if len(coefficients) == 1 else 1.0
    return turned * coefficients, -turned * intercepts
