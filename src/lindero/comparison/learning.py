"""How each kind of machine is learned from training rows, its parameters chosen inside them.

    Bayesian machines   every point of their grid, by log-loss
    SVC, SVR            C and gamma together (SVCCV, SVRCV), by error and squared error
    cost-sensitive      C, gamma and how unequal margins are, by cost
    adaptive            the coupling, by predicting what is next, as the machine does itself
    any other           every point of its grid, by log-loss or error

Scales and categories of columns are learned from the training rows, and the chosen machine is
fitted to all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from lindero.comparison.rows import Rows
from lindero.comparison.tuning import (
    Learned,
    Setting,
    best_point,
    curve_of,
    deviation,
    encoded,
    gamma_values,
    piped,
    without,
)
from lindero.machines import MACHINES, make_machine
from lindero.machines.fitting import fit_machine
from lindero.machines.scoring import class_scores, codes_of
from lindero.runtime.arrays import Array

#: C = 2⁻⁵, 2⁻³, …, 2⁹, and multiples of gamma="scale".
_CS = tuple(2.0**k for k in range(-5, 10, 2))
_GAMMAS = (1 / 16, 1 / 4, 1.0, 4.0)

#: Grids of machines whose every point is a fit of its own.
_FEW_CS = (0.1, 1.0, 10.0, 100.0)
_FEW_GAMMAS = (1 / 4, 1.0, 4.0)

#: Fewer points than usual for machines that take long.
_GRIDS: dict[str, dict[str, Any]] = {
    "naive-bayes-tm": {"penalty": (0.1, 1.0, 10.0)},
    "tan-tm": {"penalty": (0.1, 1.0, 10.0)},
}

#: Half-width of the tube, and errors of solutions, in deviations of the target.
_TUBE, _TOLERANCE = 0.1, 1e-3

#: A way to learn a machine: its name, parameters that are fixed, training rows, the comparison.
Learn = Callable[[str, dict[str, Any], Rows, Setting], Learned]


def by_grid(name: str, fixed: dict[str, Any], rows: Rows, setting: Setting) -> Learned:
    """Every point of a machine's usual grid, by log-loss, or by error where it has no
    probabilities."""
    machine = MACHINES[name]
    some, splits = setting.sample(rows)
    sample = rows.take(some)
    grid = _GRIDS.get(name, machine.grid)

    def fit(point: dict[str, Any], train: Array) -> Any:
        part = sample.take(train)
        model = make_machine(machine, {**fixed, **point}, random_state=setting.random_state)
        times = part.times if machine.takes_times else None
        return fit_machine(model, part.X, part.y, times=times, weights=part.weights)

    def judge(model: Any, test: Array) -> float:
        part = sample.take(test)
        answers, probabilities = Learned(model, {}).answers(part.X, part.times, setting)
        if setting.classes is None:
            return float(np.mean((answers - part.y) ** 2))
        truth = codes_of(part.y, setting.classes)
        scores = class_scores(truth, answers, probabilities, None, part.weights)
        return scores["error" if probabilities is None else "log_loss"]

    point = best_point(list(ParameterGrid(grid)), fit, judge, splits)
    model = make_machine(machine, {**fixed, **point}, random_state=setting.random_state)
    times = rows.times if machine.takes_times else None
    fit_machine(model, rows.X, rows.y, times=times, weights=rows.weights)
    curve = None
    if setting.classes is not None and not hasattr(model, "predict_proba"):
        curve = curve_of(lambda train: fit(point, train), sample, splits, rows.y)
    return Learned(model, {**fixed, **point}, curve)


def kernel_classifier(name: str, fixed: dict[str, Any], rows: Rows, setting: Setting) -> Learned:
    """SVC with C and gamma of the least error."""
    from lindero.svm import SVC, SVCCV

    encoder, numbers = encoded(rows)
    some, splits = setting.sample(numbers)
    sample = numbers.take(some)
    chosen = fixed
    if splits:  # else rows are too few, and the defaults have to do
        gammas = gamma_values(sample.X, fixed, _GAMMAS)
        search = SVCCV(Cs=_CS, gammas=gammas, cv=splits, refit=False, **fixed)
        search.fit(sample.X, sample.y, sample.weights)
        chosen = {**fixed, **search.best_params_}

    def fit(train: Array) -> Any:
        part = sample.take(train)
        return SVC(**chosen).fit(part.X, part.y, part.weights)

    model = SVC(**chosen).fit(numbers.X, numbers.y, numbers.weights)
    return Learned(piped(encoder, model), chosen, curve_of(fit, sample, splits, rows.y))


def kernel_regressor(name: str, fixed: dict[str, Any], rows: Rows, setting: Setting) -> Learned:
    """SVR with C and gamma of the least squared error.

    C and epsilon are multiples of the deviation σ of the target, which is the same as dividing
    the target by it: with y/σ for y, w becomes w/σ, and C Σξ beside ½‖w‖² becomes C/σ Σξ.
    """
    from lindero.svm import SVR, SVRCV

    encoder, numbers = encoded(rows)
    some, splits = setting.sample(numbers)
    sample = numbers.take(some)
    unit = deviation(rows.y)
    fixed = {"epsilon": _TUBE * unit, "tol": _TOLERANCE * unit, **fixed}
    search = SVRCV(
        Cs=[unit * C for C in _CS], gammas=gamma_values(sample.X, fixed, _GAMMAS), cv=splits,
        refit=False, **fixed,
    ).fit(sample.X, sample.y, sample.weights)  # fmt: skip
    chosen = {**fixed, **search.best_params_}
    model = SVR(**chosen).fit(numbers.X, numbers.y, numbers.weights)
    return Learned(piped(encoder, model), without(chosen, "tol"))


def cost_sensitive(name: str, fixed: dict[str, Any], rows: Rows, setting: Setting) -> Learned:
    """Costs inside the margin: C, gamma and the ratio of margins of the least cost."""
    from lindero.svm import CostSensitiveSVC, costs_from_matrix

    classes, matrix = setting.classes, setting.costs
    assert classes is not None
    assert matrix is not None
    encoder, numbers = encoded(rows)
    some, splits = setting.sample(numbers)
    sample = numbers.take(some)
    gammas = gamma_values(sample.X, fixed, _FEW_GAMMAS)
    grid: dict[str, Any] = {"C": _FEW_CS, "margin_ratio": (None, 1.0)}
    if gammas is not None:
        grid["gamma"] = gammas

    def made(point: dict[str, Any]) -> dict[str, Any]:
        ratio = point.get("margin_ratio")
        costs = costs_from_matrix(matrix, classes.tolist(), margin_ratio=ratio)
        return {**fixed, **without(point, "margin_ratio"), **costs._asdict()}

    def fit(point: dict[str, Any], train: Array) -> Any:
        part = sample.take(train)
        return CostSensitiveSVC(**made(point)).fit(part.X, part.y, part.weights)

    def judge(model: Any, test: Array) -> float:
        part = sample.take(test)
        truth, answers = codes_of(part.y, classes), codes_of(model.predict(part.X), classes)
        return class_scores(truth, answers, None, matrix, part.weights)["cost"]

    point = best_point(list(ParameterGrid(grid)), fit, judge, splits)
    model = CostSensitiveSVC(**made(point)).fit(numbers.X, numbers.y, numbers.weights)
    curve = curve_of(lambda train: fit(point, train), sample, splits, rows.y)
    return Learned(piped(encoder, model), made(point), curve, knows_costs=True)


def adaptive(name: str, fixed: dict[str, Any], rows: Rows, setting: Setting) -> Learned:
    """A machine that moves with time, its coupling chosen by what predicts the next rows best."""
    kind = MACHINES[name].load()
    encoder, numbers = encoded(rows)
    if setting.classes is None:
        unit = deviation(rows.y)
        fixed = {"C": unit, "epsilon": _TUBE * unit, **fixed}
    model = kind(coupling="auto", **fixed)
    model.fit(numbers.X, numbers.y, numbers.weights, times=numbers.times)
    chosen = {**fixed, "coupling": model.coupling_}
    curve = None
    if setting.classes is not None:
        some, splits = setting.sample(numbers)
        sample = numbers.take(some)

        def fit(train: Array) -> Any:
            part = sample.take(train)
            return kind(**chosen).fit(part.X, part.y, part.weights, times=part.times)

        curve = curve_of(fit, sample, splits, rows.y)
    return Learned(piped(encoder, model), chosen, curve)
