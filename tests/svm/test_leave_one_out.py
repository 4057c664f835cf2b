"""Leaving out one row at a time, against fits without it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from clouds import four_clouds, slow_problem, two_clouds
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from lindero.solvers.wrappers import PathSolver
from lindero.svm import SVC, SVR


def curve(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n)


def refitted(model, X, y, weights, row):
    """What a fit without one row says of it."""
    left = np.arange(len(y)) != row
    weights = None if weights is None else weights[left]
    machine = type(model)(**{**model.get_params(), "tol": 1e-9, "gamma": model._gamma})
    machine.fit(X[left], y[left], sample_weight=weights)
    ask = machine.decision_function if isinstance(model, SVC) else machine.predict
    return ask(X[row : row + 1])[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("make", "data"),
    [
        (lambda: SVC(kernel="linear"), lambda: two_clouds(60)),
        (lambda: SVC(gamma=0.5, C=10.0), lambda: two_clouds(60)),
        (lambda: SVC(gamma=0.5, multiclass="ovr"), lambda: four_clouds(60)),
        (lambda: SVC(gamma=0.5, decision_function_shape="ovo"), lambda: four_clouds(60)),
        (lambda: SVR(gamma=0.5), lambda: curve(50)),
        (lambda: SVR(kernel="linear", epsilon=0.3), lambda: curve(50)),
        (lambda: SVR(epsilon=10.0), lambda: curve(30)),
        (lambda: SVC(kernel="linear", C=0.354), lambda: two_clouds(12, seed=18)),
        (lambda: SVC(kernel="linear", C=float("inf"), tol=1e-7), lambda: two_clouds(40, apart=9.0)),
    ],
)
def test_values_are_those_of_a_fit_without_the_row(make, data, weighted):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0, 2, len(y)) if weighted else None
    if weighted:
        weights[::9] = 0
    model = make().fit(X, y, sample_weight=weights)
    values = model.leave_one_out(X, y, sample_weight=weights)
    expected = np.array([refitted(model, X, y, weights, row) for row in range(len(y))])
    np.testing.assert_allclose(values, expected, atol=1e-6)


@pytest.mark.parametrize("machine", ["classification", "regression"])
def test_larger_problems_agree_too(machine):
    X, y = two_clouds(700) if machine == "classification" else curve(450)
    model = (SVC(gamma=0.5) if machine == "classification" else SVR(gamma=0.5)).fit(X, y)
    values = model.leave_one_out(X, y)
    for row in range(0, len(y), 67):
        assert values[row] == pytest.approx(refitted(model, X, y, None, row), abs=1e-5)


def test_only_support_vectors_are_solved_for(monkeypatch):
    X, y = two_clouds(200, apart=4.0)
    model = SVC(gamma=0.5).fit(X, y)
    solved, whole = [], PathSolver.solve
    monkeypatch.setattr(
        PathSolver,
        "solve",
        lambda self, problem, *rest: solved.append(problem) or whole(self, problem, *rest),
    )
    model.leave_one_out(X, y)
    assert len(solved) == 1 + len(model.support_) < 100


def test_linear_machines_on_badly_scaled_columns_are_solved_by_their_own_solver():
    X, y = two_clouds(450)
    X = X * [1.0, 1e3, 1e-2, 1.0]
    model = SVC(kernel="linear", C=10.0).fit(X, y)
    values = model.leave_one_out(X, y)
    for row in range(0, 450, 90):
        assert values[row] == pytest.approx(refitted(model, X, y, None, row), abs=1e-4)


def test_limits_hold_and_what_they_cost_is_said():
    X, y = slow_problem(600)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(C=1e4, gamma=0.1, max_iter=50).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"solutions of leave_one_out stopped.*approximate"):
        values = model.leave_one_out(X, y)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("number", [1, 5])
def test_ctrl_c_is_not_lost(number):
    X, y = two_clouds(500)
    model = SVC(gamma=0.5).fit(X, y)
    left = [number]

    def interrupt(report):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupt).leave_one_out(X, y)


def test_a_class_of_one_sample_cannot_be_left_out():
    X, y = two_clouds(20)
    y[:] = 0
    y[3] = 1
    with pytest.raises(ValueError, match="two samples of each class"):
        SVC().fit(X, y).leave_one_out(X, y)


def test_other_rows_than_those_of_the_fit_are_refused():
    X, y = two_clouds(40)
    with pytest.raises(ValueError, match=r"data given to fit.*40 rows.*39"):
        SVC().fit(X, y).leave_one_out(X[1:], y[1:])
    with pytest.raises(ValueError, match=r"data given to fit.*40 rows.*39"):
        SVR().fit(X, y).leave_one_out(X[1:], y[1:])


def test_a_table_with_names_needs_no_warning():
    X, y = two_clouds()
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = SVC().fit(table, y).leave_one_out(table, y)
    assert_allclose(values, SVC().fit(X, y).leave_one_out(X, y))
