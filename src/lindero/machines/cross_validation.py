"""How well a machine does on rows that it has not seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from lindero.machines.building import make_machine
from lindero.machines.fitting import fit_machine, require_target
from lindero.machines.folds import Split, rows_of, splits_for
from lindero.machines.measures import measured, principal_measure
from lindero.machines.registry import CLUSTERING, Machine, find_machine

#: Called with the number of fits done, and of all.
FitsDone = Callable[[int, int], None]


@dataclass(frozen=True)
class CrossValidation:
    """What a machine reached on each fold.

    Attributes
    ----------
    machine : str
        Its name.
    params : dict
        Parameters that were set.
    measure : str
        The measure that counts most.
    scores : dict of str to list of float
        Every measure, fold by fold.
    seconds : list of float
        Time of each fit.
    """

    machine: str
    params: dict[str, Any]
    measure: str
    scores: dict[str, list[float]]
    seconds: list[float]

    def mean(self, measure: str | None = None) -> float:
        """Mean of a measure over the folds that could be judged; of the one that counts most if
        none is named."""
        return _mean(self.scores[measure or self.measure])

    def std(self, measure: str | None = None) -> float:
        """Its standard deviation over the folds."""
        values = self.scores[measure or self.measure]
        return float(_mean((np.array(values) - _mean(values)) ** 2) ** 0.5)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "machine": self.machine,
            "params": self.params,
            "measure": self.measure,
            "mean": {name: self.mean(name) for name in self.scores},
            "std": {name: self.std(name) for name in self.scores},
            "folds": self.scores,
            "seconds": self.seconds,
        }


def _mean(values: Any) -> float:
    """Over the folds that could be judged."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else float("nan")


def cross_validated(
    machine: str | Machine,
    X: Any,
    y: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
    times: Any = None,
    qid: Any = None,
    weights: Any = None,
    folds: int = 5,
    random_state: int = 0,
    progress: FitsDone | None = None,
) -> CrossValidation:
    """Fit a machine to all folds but one, judge it on that one, and so on.

    Scales and categories are learned anew in each fold. Queries stay together. Where rows have
    times, or the machine moves with time, each fold is judged by what was learned before it.

    Parameters
    ----------
    machine : str or Machine
        Which; its name is one of :data:`~lindero.machines.MACHINES`.
    X, y : table and array-like
        Rows and their targets.
    params : dict or None, default=None
        Parameters of the machine.
    times, qid, weights : array-like or None, default=None
        Time, query and weight of each row.
    folds : int, default=5
        How many.
    random_state : int, default=0
        Which rows come together.
    progress : callable or None, default=None
        Called with the number of fits done and the number of all.

    Returns
    -------
    result : CrossValidation

    Notes
    -----
    Ctrl-C ends it with a KeyboardInterrupt whose attribute `result` is what the folds done until
    then say; it has none before the first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.machines import cross_validated
    >>> X, y = load_iris(return_X_y=True)
    >>> result = cross_validated("svc", X, y, params={"C": 10})
    >>> result.mean() > 0.9, len(result.scores["accuracy"])
    (True, 5)
    """
    found = find_machine(machine) if isinstance(machine, str) else machine
    if found.task == CLUSTERING:
        raise ValueError(
            f"{found.name} finds groups without a target, so no fold says how good they are."
        )
    if found.has_target:
        require_target(found, y)
    splits = splits_for(
        found,
        _num_samples(X),
        y,
        times=times,
        qid=qid,
        folds=folds,
        random_state=random_state,
    )
    model = make_machine(found, params, random_state=random_state)
    data = {"X": X, "y": y, "times": times, "qid": qid, "weights": weights}
    result = CrossValidation(
        found.name, dict(params or {}), principal_measure(found, model), {}, []
    )
    try:
        judge_on(result, found, model, data, splits, progress)
    except KeyboardInterrupt as interrupt:
        if result.scores:
            interrupt.result = result  # type: ignore[attr-defined]
        raise
    return result


def judge_on(
    result: CrossValidation,
    machine: Machine,
    model: Any,
    data: Mapping[str, Any],
    splits: Sequence[Split],
    progress: FitsDone | None,
) -> None:
    """Enter every measure fold by fold, and the seconds of each fit; `model` stays unfitted."""
    for done, (train, test) in enumerate(splits, start=1):
        begun = time.perf_counter()
        fitted = fit_machine(clone(model), **{k: rows_of(v, train) for k, v in data.items()})
        seconds = time.perf_counter() - begun
        held_out = {k: rows_of(v, test) for k, v in data.items()}
        found = measured(machine, fitted, **held_out)
        result.seconds.append(seconds)
        for name, value in found.items():
            result.scores.setdefault(name, []).append(value)
        if progress is not None:
            progress(done, len(splits))
