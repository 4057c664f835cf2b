"""The coupling that predicts best what has not been seen: what ``coupling="auto"`` means.

Along time, samples are learned in their order: a machine begins with the first third, and then
predicts each of 40 blocks of what follows before it learns it. So it is judged as it will be used,
by what comes next, and never by its own future. Kernels that cannot learn block by block are fitted
to all that went before, for five blocks.

Where there is no time, row i belongs to fold i mod 5, and each fold is predicted by a machine
fitted to the others.

Values that score alike are decided for the largest, under which hyperplanes change least. n of the
penalty is that of the whole throughout, so that the value means the same in the end.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from lindero.kernels.functions import Array
from lindero.svm.adaptive_online import learn
from lindero.svm.margin_machine import unfitted_copy

#: What is tried.
COUPLINGS = tuple(10.0**k for k in range(9))

#: The share of samples that validation along time begins with, the blocks of the rest, and as many
#: as kernels are fitted for.
_FIRST = 1 / 3
_BLOCKS = 40
_REFITTED_BLOCKS = 5

_FOLDS = 5

#: Fewer rows say nothing.
_LEAST_ROWS = 12

#: Nodes, and the outputs of machines that have not seen them.
Outputs = Iterator[tuple[Array, Array]]


def chosen_coupling(machine: Any, X: Any) -> float:
    """The best of `COUPLINGS` for a machine that holds its samples, the rows of X, already."""
    n_nodes = machine._path.n_nodes
    if n_nodes < _LEAST_ROWS:
        raise ValueError(
            f"coupling='auto' needs {_LEAST_ROWS} rows at least to choose by, but n_samples = "
            f"{n_nodes}. Give coupling a number."
        )
    linear = machine.kernel == "linear"
    X = machine._path.X if linear else X[machine._path.rows]
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for coupling in COUPLINGS:
            if machine._kind != "time":
                found = _by_folds(machine, X, coupling)
            else:
                found = _in_order(machine, X, coupling, online=linear)
            scores.append(_score(machine, found))
    best = max(scores)
    return max(c for c, score in zip(COUPLINGS, scores, strict=True) if score >= best)


def _score(machine: Any, outputs: Outputs) -> float:
    """The share of right classes, or the mean error of numbers, taken negative."""
    total, count = 0.0, 0.0
    for nodes, values in outputs:
        targets, weights = machine._path.targets[nodes], machine._path.factors[nodes]
        if is_classifier(machine):
            one = values.shape[1] == 1
            codes = values[:, 0] >= 0 if one else np.argmax(values, axis=1)
            errors = codes != targets
        else:
            errors = np.abs(values[:, 0] - targets)
        total -= float(weights @ errors)
        count += float(weights.sum())
    return total / count if count > 0.0 else 0.0


def _fitted(machine: Any, X: Any, nodes: Array, coupling: float) -> Any:
    """A machine like this one, fitted to some of its nodes."""
    part, path = unfitted_copy(machine), machine._path
    part.n_features_in_ = machine.n_features_in_
    if is_classifier(machine):
        part.classes_ = machine.classes_
    else:
        part._fitted_epsilon = machine.epsilon
    part.coupling, part.n_scale = coupling, machine.n_scale_
    part.verbose, part.callback = False, None
    times = path.times[nodes]
    if machine._kind != "time":
        times = None
        part.n_neighbors = min(machine.n_neighbors, len(nodes) - 1)
        part.blend = min(machine.blend, len(nodes))
    if machine._kind == "given":
        part.graph = machine._given.weights[nodes][:, nodes]
    part._begin(X[nodes], path.targets[nodes], path.factors[nodes], times)
    if part._solve(X[nodes]):
        raise KeyboardInterrupt("Choosing the coupling was interrupted. Nothing was changed.")
    return part


def _in_order(machine: Any, X: Any, coupling: float, online: bool) -> Outputs:
    """Each block of nodes as the machine that knows all before them sees it."""
    path = machine._path
    n_nodes = path.n_nodes
    begin = max(2, int(_FIRST * n_nodes))
    n_blocks = min(_BLOCKS if online else _REFITTED_BLOCKS, n_nodes - begin)
    part = _fitted(machine, X, np.arange(begin), coupling) if online else None
    for nodes in np.array_split(np.arange(begin, n_nodes), n_blocks):
        if not online:
            past = np.arange(nodes[0])
            if is_classifier(machine) and len(np.unique(path.targets[past])) < 2:
                continue  # nothing to tell apart yet
            part = _fitted(machine, X, past, coupling)
        assert part is not None
        yield nodes, part._values(X[nodes], None)
        if online:
            new = path.X[nodes], path.targets[nodes], path.factors[nodes], path.times[nodes]
            learn(part, new, np.arange(len(nodes)), path.times[nodes])


def _by_folds(machine: Any, X: Any, coupling: float) -> Outputs:
    """Each fold as the machine of the others sees it."""
    fold = machine._path.rows % _FOLDS
    for number in range(_FOLDS):
        part = _fitted(machine, X, np.flatnonzero(fold != number), coupling)
        nodes = np.flatnonzero(fold == number)
        yield nodes, part._values(X[nodes], None)
