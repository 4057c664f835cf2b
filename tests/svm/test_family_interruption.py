"""Ctrl-C in the fits of the family: what was learned so far is kept."""

import numpy as np
import pytest
from clouds import four_clouds, slow_problem
from sklearn.exceptions import ConvergenceWarning

from lindero.svm import SVR, NuSVC, NuSVR, OneClassSVM

MACHINES = {
    "SVR": lambda **more: SVR(C=1e6, gamma=0.01, tol=1e-9, **more),
    "linear SVR": lambda **more: SVR(C=1e6, kernel="linear", tol=1e-12, **more),
    "NuSVR": lambda **more: NuSVR(C=1e6, gamma=0.01, tol=1e-9, **more),
    "NuSVC": lambda **more: NuSVC(nu=0.5, gamma=0.1, tol=1e-9, **more),
    "OneClassSVM": lambda **more: OneClassSVM(nu=0.3, gamma=0.01, tol=1e-12, **more),
}


class CtrlC:
    """A callback that raises KeyboardInterrupt at its `number`-th report."""

    def __init__(self, number):
        self.left = number

    def __call__(self, progress):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("name", MACHINES)
def test_an_interrupted_fit_keeps_its_best_model(name, number):
    X, y = slow_problem()
    model = MACHINES[name](callback=CtrlC(number))
    with pytest.raises(KeyboardInterrupt, match="best model so far"):
        model.fit(X, y)
    assert model.certificate_.status == "Interrupted before the KKT gap was within tol."
    assert model.fit_status_ == 1
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("name", ["SVR", "NuSVR", "OneClassSVM"])
def test_a_later_fit_goes_on_from_an_interrupted_one(name):
    X, y = slow_problem()
    model = MACHINES[name](callback=CtrlC(4), warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    reached = model.certificate_.dual
    first = []
    model.set_params(callback=lambda report: first.append(report) or len(first) > 1)
    with pytest.warns(ConvergenceWarning, match="callback"):
        model.fit(X, y)
    assert model.certificate_.dual >= reached - 1e-9 * abs(reached)


def test_nu_svc_of_several_classes_keeps_the_machines_that_were_solved():
    X, y = four_clouds(240, apart=3.0)
    params = {"nu": 0.3, "gamma": 0.3, "decision_function_shape": "ovo"}
    whole = NuSVC(**params).fit(X, y)

    def at_the_third_machine(report):
        if report.problem == 2:
            raise KeyboardInterrupt

    model = NuSVC(**params, callback=at_the_third_machine)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X)[:, :2], whole.decision_function(X)[:, :2], atol=1e-9
    )
    assert model.certificate_.kkt_gap == np.inf
    assert model.certificate_.status.startswith("Interrupted")


def test_an_interruption_while_looking_for_a_start_is_not_lost():
    X, _ = slow_problem(5000)
    model = OneClassSVM(nu=0.5, gamma=5.0, callback=CtrlC(1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.certificate_.status.startswith("Interrupted")
    assert np.isfinite(model.predict(X[:10])).all()
