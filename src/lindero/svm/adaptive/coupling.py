"""The coupling that predicts best what has not been seen: what ``coupling="auto"`` means.

Along time, samples are learned in their order: a machine begins with the first third, and then
predicts each of 40 blocks of what follows before it learns it. So it is judged as it will be used,
by what comes next, and never by its own future. Kernels that cannot learn block by block are fitted
to all that went before, for five blocks.

Where there is no time, rows are dealt to five folds in turn, class by class, and each fold is
predicted by a machine fitted to the others.

Of values with the same score the largest is taken, under which hyperplanes change least. n of the
penalty is that of the whole throughout, so that the value means the same in the end.

Fewer than 12 rows say nothing: nothing is tried, and the coupling is 1000.

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
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import warn_user
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Limits, Progress
from lindero.svm.adaptive.path import CoupledPath, Effort, PathParameters, decide

#: What is tried.
COUPLINGS = tuple(10.0**k for k in range(9))

#: Validation along time: the share it begins with, the blocks of the rest, and those of kernels.
_FIRST = 1 / 3
_BLOCKS = 40
_REFITTED_BLOCKS = 5

_FOLDS = 5

#: Fewer rows say nothing.
_LEAST_ROWS = 12

#: What is taken where nothing could be tried.
_UNTRIED = 1e3

#: Nodes, and the outputs of machines that have not seen them.
Outputs = Iterator[tuple[Array, Array]]


class CouplingTrials:
    """Couplings tried for a path that holds its samples, the rows of X, but is not solved. Their
    solvers report here, one trial being one problem of the whole."""

    def __init__(
        self, path: CoupledPath, parameters: PathParameters, X: Any, limits: Limits, effort: Effort
    ) -> None:
        self._path, self._parameters = path, parameters
        self._X = path.samples.X if path.linear else X[path.samples.rows]
        self._limits, self._effort = limits, effort
        self._begun = time.perf_counter()
        self._last: Progress | None = None
        self._number = 0

    def choose(self) -> float:
        """The best of `COUPLINGS`, or 1000 where rows are too few to tell."""
        if self._path.n_nodes < _LEAST_ROWS:
            return _UNTRIED
        predict = self.predict_in_order if self._path.kind == "time" else self.predict_folds
        scores: list[float] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for self._number, coupling in enumerate(COUPLINGS):
                score = self._score(predict(coupling))
                if score is None:
                    break
                scores.append(score)
        best = max(scores, default=0.0)
        tried = zip(COUPLINGS, scores, strict=False)
        chosen = max((coupling for coupling, score in tried if score >= best), default=_UNTRIED)
        if self._out_of_time and len(scores) < len(COUPLINGS):
            warn_user(
                f"coupling='auto' had tried {len(scores)} of {len(COUPLINGS)} values when half of "
                f"time_limit was over; coupling_={chosen:g} is used. Raise time_limit, or give "
                "coupling a number.",
                ConvergenceWarning,
            )
        return chosen

    # -- limits and progress ----------------------------------------------------------------------

    @property
    def _out_of_time(self) -> bool:
        allowed = self._limits.time_limit
        return allowed is not None and time.perf_counter() - self._begun > 0.5 * allowed

    @property
    def _ended(self) -> bool:
        return self._limits.stopped or self._out_of_time

    def _report(self, progress: Progress) -> bool:
        self._last = replace(progress, problem=self._number)
        self._limits.check(self._last)
        return self._ended

    def _report_again(self) -> None:
        """After a block that was learned without a solver that reports."""
        if self._last is not None and not self._ended:
            self._limits.check(replace(self._last, seconds=time.perf_counter() - self._begun))

    def _limits_of_trial(self) -> Limits:
        n_machines = len(self._path.losses)
        return Limits(self._limits.max_iter, callback=self._report, n_problems=n_machines)

    # -- trials -----------------------------------------------------------------------------------

    def _score(self, outputs: Outputs) -> float | None:
        """Less the share of wrong classes, or the mean error; None where trials have ended."""
        total, count = 0.0, 0.0
        samples = self._path.samples
        for nodes, values in outputs:
            self._report_again()
            if self._ended:
                return None
            targets, weights = samples.targets[nodes], samples.factors[nodes]
            if self._path.classifies:
                errors = decide(values) != targets
            else:
                errors = np.abs(values[:, 0] - targets)
            total -= float(weights @ errors)
            count += float(weights.sum())
        return total / count if count > 0.0 else 0.0

    def _fit_part(self, nodes: Array, coupling: float) -> CoupledPath:
        """A path like this one, of some of its nodes, solved."""
        path, samples = self._path, self._path.samples
        parameters = replace(self._parameters, coupling=coupling, n_scale=path.n_scale)
        times = samples.times[nodes]
        if path.kind != "time":
            times = None
            n_neighbors = min(parameters.n_neighbors, len(nodes) - 1)
            blend = min(parameters.blend, len(nodes))
            parameters = replace(parameters, n_neighbors=n_neighbors, blend=blend)
        if path.kind == "given":
            assert path.given_graph is not None
            parameters = replace(parameters, graph=path.given_graph.weights[nodes][:, nodes])
        known = samples.targets[nodes], samples.factors[nodes]
        places = path.places.take(nodes) if path.placed_apart and path.places else None
        part = CoupledPath(parameters, path.losses, self._X[nodes], *known, times, places)
        limits = self._limits_of_trial()
        part.solve(limits, self._effort)
        if limits.interrupted:
            raise KeyboardInterrupt("Choosing the coupling was interrupted. Nothing was changed.")
        return part

    def predict_in_order(self, coupling: float) -> Outputs:
        """Each block of nodes as the machine that knows all before them sees it."""
        path, samples, X = self._path, self._path.samples, self._X
        begin = max(2, int(_FIRST * path.n_nodes))
        n_blocks = min(_BLOCKS if path.linear else _REFITTED_BLOCKS, path.n_nodes - begin)
        part = self._fit_part(np.arange(begin), coupling) if path.linear else None
        for nodes in np.array_split(np.arange(begin, path.n_nodes), n_blocks):
            if not path.linear:
                past = np.arange(nodes[0])
                if path.classifies and len(np.unique(samples.targets[past])) < 2:
                    continue  # nothing to tell apart yet
                part = self._fit_part(past, coupling)
            assert part is not None
            yield nodes, part.values(X[nodes])
            if path.linear:
                new = X[nodes], samples.targets[nodes], samples.factors[nodes], samples.times[nodes]
                part.extend(*new, self._limits_of_trial(), self._effort)

    def predict_folds(self, coupling: float) -> Outputs:
        """Each fold as the machine of the others sees it."""
        path, samples = self._path, self._path.samples
        fold = np.empty(path.n_nodes, dtype=np.int64)
        by = (samples.rows, samples.targets) if path.classifies else (samples.rows,)
        fold[np.lexsort(by)] = np.arange(path.n_nodes) % _FOLDS
        for number in range(_FOLDS):
            part = self._fit_part(np.flatnonzero(fold != number), coupling)
            nodes = np.flatnonzero(fold == number)
            positions = path.places.given[nodes] if path.placed_apart and path.places else None
            yield nodes, part.values(self._X[nodes], positions=positions)
