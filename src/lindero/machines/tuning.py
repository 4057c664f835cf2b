"""The best of some values of the parameters of a machine, by cross-validation.

C and gamma of support vector classification and regression are searched by `SVCCV` and `SVRCV`,
which share work between points and are many times faster. Everything else is fitted point by point
on the same folds: scikit-learn's search has no way for times and queries to reach the scoring.
Points that cannot be fitted (a nu that no labels of a fold allow, say) are left out, and said so.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import _num_samples

from lindero.machines.building import make_machine
from lindero.machines.cross_validation import CrossValidation, FitsDone, judge_on
from lindero.machines.fitting import fit_machine, require_target
from lindero.machines.folds import Split, splits_for
from lindero.machines.kernel_tuning import WITHOUT_GAMMA, fast_search, has_fast_search
from lindero.machines.measures import LESS_IS_BETTER, principal_measure, require_one_cost
from lindero.machines.registry import Machine, find_machine
from lindero.machines.trials import Trial


@dataclass(frozen=True)
class Tuning:
    """What a search found.

    Attributes
    ----------
    machine : str
        Name of the machine.
    params : dict
        The best parameters, with those that were given.
    best : Trial
        The best point of the grid.
    measure : str
        What points were compared by.
    trials : list of Trial
        All points, the best first.
    model : estimator or Pipeline
        Fitted to all rows with the best parameters; None where the search was interrupted.
    """

    machine: str
    params: dict[str, Any]
    best: Trial
    measure: str
    trials: list[Trial]
    model: Any

    def to_dict(self) -> dict[str, Any]:
        """All but the model as plain values."""
        return {
            "machine": self.machine,
            "params": self.params,
            "measure": self.measure,
            "best": self.best.to_dict(),
            "trials": [trial.to_dict() for trial in self.trials],
        }


def tuned(
    machine: str | Machine,
    X: Any,
    y: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
    grid: Mapping[str, Any] | None = None,
    times: Any = None,
    qid: Any = None,
    weights: Any = None,
    folds: int = 5,
    random_state: int = 0,
    progress: FitsDone | None = None,
) -> Tuning:
    """Choose parameters by cross-validation, and fit the best to all rows.

    Parameters
    ----------
    machine : str or Machine
        Which; its name is one of :data:`~lindero.machines.MACHINES`.
    X, y : table and array-like
        Rows and their targets.
    params : dict or None, default=None
        Parameters that are not to be searched.
    grid : dict or None, default=None
        Values to try of each parameter; those of the machine's entry by default.
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
    result : Tuning
        Of points with the same score the first of the grid is taken.

    Notes
    -----
    Ctrl-C ends the search with a KeyboardInterrupt whose attribute `result` holds the points done
    until then, without a model; it has none where C and gamma were searched together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.machines import tuned
    >>> X, y = load_iris(return_X_y=True)
    >>> result = tuned("svc", X, y, grid={"C": [0.001, 10]})
    >>> result.params
    {'C': 10.0}
    """
    found = find_machine(machine) if isinstance(machine, str) else machine
    given = dict(params or {})
    searched = _searched(found, given, grid)
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
    data = {"X": X, "y": y, "times": times, "qid": qid, "weights": weights}
    require_one_cost(found, given, searched)
    first = {name: values[0] for name, values in searched.items() if values}
    measure = principal_measure(found, make_machine(found, {**given, **first}))
    trials: list[Trial] = []
    try:
        if has_fast_search(found, given, searched):
            trials += fast_search(found, given, searched, data, splits, progress)
        else:
            for trial in _search(found, given, searched, data, splits, measure, progress):
                trials.append(trial)
        result = _of_trials(found, given, measure, trials)
        model = make_machine(found, result.params, random_state=random_state)
        return replace(result, model=fit_machine(model, **data))
    except KeyboardInterrupt as interrupt:
        if any(trial.failure is None for trial in trials):
            interrupt.result = _of_trials(found, given, measure, trials)  # type: ignore[attr-defined]
        raise


def _of_trials(
    machine: Machine, given: Mapping[str, Any], measure: str, trials: list[Trial]
) -> Tuning:
    """What the points say, without a model."""
    sign = -1.0 if measure in LESS_IS_BETTER else 1.0
    ordered = sorted(trials, key=lambda trial: _last_if_unknown(-sign * trial.mean))
    best = ordered[0]
    if best.failure is not None:
        raise ValueError(f"No point of the grid could be fitted. The first said: {best.failure}")
    return Tuning(machine.name, {**given, **best.params}, best, measure, ordered, None)


def _searched(
    machine: Machine, given: Mapping[str, Any], grid: Mapping[str, Any] | None
) -> dict[str, list[Any]]:
    """Values of the parameters that are searched."""
    values = {**machine.preset, **given}
    searched = {
        name: list(found) if isinstance(found, (list, tuple, np.ndarray)) else [found]
        for name, found in (machine.grid if grid is None else grid).items()
        if name not in given
    }
    kernel = values.get("kernel")
    if grid is None and (kernel in WITHOUT_GAMMA or callable(kernel)):
        searched.pop("gamma", None)
    if not searched:
        if not machine.has_target:
            raise ValueError(
                f"There is nothing to tune in {machine.name}: it has no target that would say what "
                "is best."
            )
        raise ValueError(
            f"There is nothing to tune in {machine.name}: all of its usual grid is set, or it has "
            "none. Say which values to try: --grid name=value,value."
        )
    return searched


def _last_if_unknown(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _search(
    machine: Machine,
    given: Mapping[str, Any],
    searched: Mapping[str, list[Any]],
    data: Mapping[str, Any],
    splits: list[Split],
    measure: str,
    progress: FitsDone | None,
) -> Iterator[Trial]:
    """Point by point, fold by fold."""
    points = list(ParameterGrid(dict(searched)))
    total = len(points) * len(splits)
    for number, point in enumerate(points):
        done = number * len(splits)

        def report(fits: int, _: int, done: int = done) -> None:
            if progress is not None:
                progress(done + fits, total)

        try:
            model = make_machine(machine, {**given, **point})
            with warnings.catch_warnings():
                # What is odd about points that are not taken need not bother anyone.
                warnings.simplefilter("ignore", UserWarning)
                result = CrossValidation(machine.name, point, measure, {}, [])
                judge_on(result, machine, model, data, splits, report)
        except (ValueError, TypeError) as error:
            report(len(splits), total)
            yield Trial(point, math.nan, math.nan, str(error).split("\n")[0])
        else:
            yield Trial(point, result.mean(), result.std())
