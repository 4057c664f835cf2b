"""The coupling that predicts best what has not been seen: what ``coupling="auto"`` means.

Along time, samples are learned in their order: a machine begins with the first third, and then
predicts each of 40 blocks of what follows before it learns it. So it is judged as it will be used,
by what comes next, and never by its own future. Kernels that cannot learn block by block are fitted
to all that went before, for five blocks.

Where there is no time, rows are dealt to five folds in turn, class by class, and each fold is
predicted by a machine fitted to the others.

Values that score alike are decided for the largest, under which hyperplanes change least. n of the
penalty is that of the whole throughout, so that the value means the same in the end.

Half of a time limit is for choosing, the rest for the fit. Where it ends, or the callback ends it,
the best of what was tried by then is taken.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import warn_user
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Callback, Limits, Progress
from lindero.svm.adaptive_online import learn
from lindero.svm.transaction import unfitted_copy

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


#: What is taken where there was no time to try anything.
_UNTRIED = 1e3


class _Trials:
    """What the solvers of all trials report to, and what ends them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._begun = time.perf_counter()
        self._last: Progress | None = None
        self.number = 0

    @property
    def out_of_time(self) -> bool:
        allowed = self._limits.time_limit
        return allowed is not None and time.perf_counter() - self._begun > 0.5 * allowed

    @property
    def ended(self) -> bool:
        return self._limits.stopped or self.out_of_time

    def report(self, progress: Progress) -> bool:
        """The callback of trials: one trial is one problem of the whole."""
        self._last = replace(progress, problem=self.number)
        self._limits.reached(self._last)
        return self.ended

    def report_again(self) -> None:
        """After a block that was learned without a solver that reports."""
        if self._last is not None and not self.ended:
            self._limits.reached(replace(self._last, seconds=time.perf_counter() - self._begun))


def chosen_coupling(machine: Any, X: Any, limits: Limits) -> float:
    """The best of `COUPLINGS` for a machine that holds its samples, the rows of X, already."""
    n_nodes = machine._path.n_nodes
    if n_nodes < _LEAST_ROWS:
        raise ValueError(
            f"coupling='auto' needs {_LEAST_ROWS} rows at least to choose by, but n_samples = "
            f"{n_nodes}. Give coupling a number."
        )
    linear = machine.kernel == "linear"
    X = machine._path.X if linear else X[machine._path.rows]
    scores: list[float] = []
    trials = _Trials(limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number, coupling in enumerate(COUPLINGS):
            trials.number = number
            if machine._kind != "time":
                found = _by_folds(machine, X, coupling, trials.report)
            else:
                found = _in_order(machine, X, coupling, linear, trials.report)
            score = _score(machine, found, trials)
            if score is None:
                break
            scores.append(score)
    best = max(scores, default=0.0)
    chosen = max(
        (c for c, s in zip(COUPLINGS, scores, strict=False) if s >= best), default=_UNTRIED
    )
    if trials.out_of_time and len(scores) < len(COUPLINGS):
        warn_user(
            f"coupling='auto' had tried {len(scores)} of {len(COUPLINGS)} values when half of "
            f"time_limit was over; coupling_={chosen:g} is used. Raise time_limit, or give "
            "coupling a number.",
            ConvergenceWarning,
        )
    return chosen


def _score(machine: Any, outputs: Outputs, trials: _Trials) -> float | None:
    """The share of wrong classes, or the mean error of numbers, taken negative; None where trials
    were ended before."""
    total, count = 0.0, 0.0
    for nodes, values in outputs:
        trials.report_again()
        if trials.ended:
            return None
        targets, weights = machine._path.targets[nodes], machine._path.factors[nodes]
        if is_classifier(machine):
            errors = machine._codes(values) != targets
        else:
            errors = np.abs(values[:, 0] - targets)
        total -= float(weights @ errors)
        count += float(weights.sum())
    return total / count if count > 0.0 else 0.0


def _fitted(machine: Any, X: Any, nodes: Array, coupling: float, report: Callback | None) -> Any:
    """A machine like this one, fitted to some of its nodes."""
    part, path = unfitted_copy(machine), machine._path
    part.n_features_in_ = machine.n_features_in_
    if is_classifier(machine):
        part.classes_ = machine.classes_
    else:
        part._fitted_epsilon = machine.epsilon
    part.coupling, part.n_scale = coupling, machine.n_scale_
    part.verbose, part.callback, part.time_limit = False, report, None
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


def _in_order(
    machine: Any, X: Any, coupling: float, online: bool, report: Callback | None
) -> Outputs:
    """Each block of nodes as the machine that knows all before them sees it."""
    path = machine._path
    n_nodes = path.n_nodes
    begin = max(2, int(_FIRST * n_nodes))
    n_blocks = min(_BLOCKS if online else _REFITTED_BLOCKS, n_nodes - begin)
    part = _fitted(machine, X, np.arange(begin), coupling, report) if online else None
    for nodes in np.array_split(np.arange(begin, n_nodes), n_blocks):
        if not online:
            past = np.arange(nodes[0])
            if is_classifier(machine) and len(np.unique(path.targets[past])) < 2:
                continue  # nothing to tell apart yet
            part = _fitted(machine, X, past, coupling, report)
        assert part is not None
        yield nodes, part._values(X[nodes], None)
        if online:
            new = path.X[nodes], path.targets[nodes], path.factors[nodes], path.times[nodes]
            learn(part, new, np.arange(len(nodes)), path.times[nodes])


def _by_folds(machine: Any, X: Any, coupling: float, report: Callback | None) -> Outputs:
    """Each fold as the machine of the others sees it."""
    path = machine._path
    fold = np.empty(path.n_nodes, dtype=np.int64)
    by = (path.rows, path.targets) if is_classifier(machine) else (path.rows,)
    fold[np.lexsort(by)] = np.arange(path.n_nodes) % _FOLDS
    for number in range(_FOLDS):
        part = _fitted(machine, X, np.flatnonzero(fold != number), coupling, report)
        nodes = np.flatnonzero(fold == number)
        yield nodes, part._values(X[nodes], None)
