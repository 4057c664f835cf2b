"""What a comparison found: scores of every machine on every fold, and how they stand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lindero.comparison.recommendation import Advice, advice
from lindero.comparison.significance import PairedTest, against, corrected_error
from lindero.runtime.arrays import Array

#: Measures in words.
MEASURES = {"error": "error", "log_loss": "log-loss", "cost": "cost", "rmse": "RMSE", "mae": "MAE"}


@dataclass(frozen=True)
class MachineResult:
    """One machine of a comparison.

    Attributes
    ----------
    name, machine : str
        Its name in the comparison, and among :data:`lindero.machines.MACHINES`.
    simplicity : int
        From 1, for what is explained in a sentence.
    virtue : str
        What speaks for it where it is as good as others.
    scores : dict of str to ndarray of shape (n_folds,)
        Each measure on each fold; NaN where there is none (yet).
    seconds_learning, seconds_predicting : ndarray of shape (n_folds,)
        Time to choose parameters and fit, and to answer.
    parameters : list of dict or None
        What was chosen in each fold.
    answers : ndarray of shape (n_rows,)
        Out-of-fold answers of the first round: positions among the classes (−1 where a row was not
        tested), or numbers (NaN).
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Out-of-fold probabilities; NaN where a row was not tested.
    failure : str or None
        Why it is not in the running.
    warnings : tuple of str
        What it had to say.
    """

    name: str
    machine: str
    simplicity: int
    virtue: str
    scores: dict[str, Array]
    seconds_learning: Array
    seconds_predicting: Array
    parameters: list[dict[str, Any] | None]
    answers: Array
    probabilities: Array | None
    failure: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def done(self) -> Array:
        """Which folds it has been through."""
        through: Array = ~np.isnan(self.seconds_learning)
        return through

    def mean(self, measure: str) -> float:
        """Mean of a measure over the folds done; NaN if there are none."""
        values = self.scores[measure][self.done]
        return float(values.mean()) if len(values) else float("nan")

    def deviation(self, measure: str) -> float:
        """Its standard deviation over the folds; NaN with fewer than two."""
        values = self.scores[measure][self.done]
        return float(values.std(ddof=1)) if len(values) > 1 else float("nan")

    @property
    def seconds(self) -> float:
        """Median time of a fold: choosing parameters, fitting and answering. (The first fold that a
        machine ever sees may hold the time to compile it.)"""
        both = (self.seconds_learning + self.seconds_predicting)[self.done]
        return float(np.median(both)) if len(both) else float("nan")

    @property
    def usual_parameters(self) -> dict[str, Any]:
        """What was chosen in most folds, of equals the first; for numbers that depend on the rows
        of a fold, such as gamma, the choice of the first fold."""
        chosen = [params for params in self.parameters if params is not None]
        if not chosen:
            return {}
        counts = Counter(repr(params) for params in chosen)
        most = max(counts.values())
        return next(params for params in chosen if counts[repr(params)] == most)


@dataclass(frozen=True)
class Comparison:
    """Machines under the same nested cross-validation.

    Attributes
    ----------
    task : {"classification", "regression"}
        What was learned.
    measure : {"error", "cost", "rmse"}
        What machines are ranked by; less is better.
    data : str
        The data in a line.
    target : str
        Name of the target.
    classes : ndarray or None
        The classes, in order.
    costs : ndarray or None
        Costs of predicting the class of a column where that of a row is true.
    n_rows : int
        Rows in all.
    fold_sizes : tuple of (int, int)
        Training and test rows of each fold.
    time_respecting : bool
        Whether folds go forward in time.
    truth : ndarray of shape (n_rows,)
        Positions of the true classes, or the targets.
    machines : tuple of MachineResult
        In the order in which they were given.
    baseline : float
        The measure of always giving the commonest class (or the class of least cost, or the mean)
        of the training rows, as a mean over the folds.
    notes : tuple of str
        What had to be said about folds and machines.
    seconds : float
        Time in all.
    complete : bool
        Whether all folds of all machines were done.
    """

    task: str
    measure: str
    data: str
    target: str
    classes: Array | None
    costs: Array | None
    n_rows: int
    fold_sizes: tuple[tuple[int, int], ...]
    time_respecting: bool
    truth: Array
    machines: tuple[MachineResult, ...]
    baseline: float
    notes: tuple[str, ...]
    seconds: float
    complete: bool
    tuning_rows: int
    random_state: int

    def __getitem__(self, name: str) -> MachineResult:
        for machine in self.machines:
            if machine.name == name:
                return machine
        known = ", ".join(machine.name for machine in self.machines)
        raise KeyError(f"There is no {name!r} in the comparison; there are {known}.")

    def __repr__(self) -> str:
        best = "none yet" if self.best is None else f"best {self.best.name}"
        return f"Comparison({len(self.machines)} machines, {len(self.fold_sizes)} folds: {best})"

    @property
    def measures(self) -> tuple[str, ...]:
        """What was measured, the measure of the ranking first."""
        if self.task == "regression":
            return ("rmse", "mae")
        return ("error", "log_loss") if self.costs is None else ("cost", "error", "log_loss")

    @property
    def test_to_train(self) -> float:
        """Test rows for each training row, on average."""
        return float(np.mean([test / train for train, test in self.fold_sizes]))

    @cached_property
    def ranked(self) -> tuple[MachineResult, ...]:
        """Machines from the best to the worst; those that failed or have not begun come last."""
        standing = [m for m in self.machines if m.failure is None and m.done.any()]
        others = [m for m in self.machines if m not in standing]
        key = [(self._score(m), m.simplicity, m.seconds) for m in standing]
        order = sorted(range(len(standing)), key=key.__getitem__)
        return (*(standing[i] for i in order), *others)

    def _score(self, machine: MachineResult) -> float:
        """Mean over the folds that all machines in the running have done, if there are any."""
        folds = self._common if self._common.any() else machine.done
        return float(machine.scores[self.measure][folds].mean())

    @cached_property
    def _common(self) -> Array:
        running = [m.done for m in self.machines if m.failure is None and m.done.any()]
        common: Array = np.logical_and.reduce([np.ones(len(self.fold_sizes), dtype=bool), *running])
        return common

    @property
    def best(self) -> MachineResult | None:
        """The machine of the least mean; of equals the simplest. None before the first fold."""
        first = self.ranked[0]
        return first if first.failure is None and first.done.any() else None

    @cached_property
    def against_best(self) -> dict[str, PairedTest]:
        """Every other machine held against the best, on the folds that all have done."""
        if self.best is None:
            return {}
        others = [m for m in self.ranked[1:] if m.failure is None and m.done.any()]
        folds, measure = self._common, self.measure
        if not folds.any():
            return {}
        tests = against(
            self.best.scores[measure][folds],
            [m.scores[measure][folds] for m in others],
            self.test_to_train,
        )
        return {m.name: test for m, test in zip(others, tests, strict=True)}

    @cached_property
    def standard_error(self) -> float:
        """Of the best machine's mean, its folds' shared training rows counted in; NaN with fewer
        than two folds."""
        if self.best is None:
            return float("nan")
        return corrected_error(self.best.scores[self.measure][self._common], self.test_to_train)

    @cached_property
    def _advice(self) -> Advice | None:
        return advice(self)

    @property
    def recommended(self) -> MachineResult | None:
        """The simplest machine that is as good as the best, as far as can be told."""
        return None if self._advice is None else self._advice.machine

    def recommendation(self) -> str:
        """Which machine to take and why, in plain words."""
        if self._advice is None:
            return "No machine was judged on any fold, so there is nothing to recommend."
        return self._advice.words

    def to_dict(self) -> dict[str, Any]:
        """All of it, except answers of single rows, as plain values for JSON."""
        from lindero.comparison.plain_values import plain_comparison

        return plain_comparison(self)
