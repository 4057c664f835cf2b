"""Extreme numbers, couplings and graphs: solved or refused, and optimal only where it is proved."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fuzz import adaptive
from tests.naive.extended_coupled import duality_gap

from lindero.graphs.graph import link_times
from lindero.problems.dual_qp import Judgement
from lindero.svm import AdaptiveSVC, AdaptiveSVR

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def find_gap(model, machine=0):
    """In extended precision, as a share of the objective."""
    path = model._path
    problem = path.state_problem(machine)
    a = problem.nearest_feasible(path.a[machine])
    links = link_times(path.samples.times, path.unit)
    primal, dual = duality_gap(problem, links, path.theta[machine], a)
    return problem.relative_gap(Judgement(0.0, float(primal), float(dual), 0.0))


@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
@pytest.mark.parametrize("coupling", [1e-300, 1e-200, 1e-100, 1e-9, 1.0, 1e9, 1e100, 1e300])
@pytest.mark.parametrize("C", [1e-300, 1e-45, 1.0, 1e45, 1e300])
def test_what_is_called_optimal_is(machine, coupling, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    y = (y > 0).astype(int) if machine is AdaptiveSVC else y
    model = machine(C=C, coupling=coupling).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    optimal = model.certificate_.status.startswith("Optimal")
    assert optimal == ("within" in model.certify().status) == (model.fit_status_ == 0)
    if optimal:
        assert np.isfinite(model.certificate_.duality_gap)
        assert find_gap(model) <= 1.02 * model.tol


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_numbers_whose_squares_overflow_are_refused(machine, kernel):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    model = machine(kernel=kernel, coupling=1.0)
    with pytest.raises(ValueError, match=r"column \d"):
        model.fit(X * 1e160, y)
    if kernel == "linear":
        model.fit(X, y)
        before = model.coef_.tobytes(), model.shape_fit_
        with pytest.raises(ValueError, match=r"column \d"):
            model.partial_fit(X[:2] * 1e160, y[:2])
        assert before == (model.coef_.tobytes(), model.shape_fit_)


def test_a_judgement_of_several_machines_is_that_of_the_worst():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 3
    model = AdaptiveSVC(coupling=1.0).fit(X, y)
    model._path.theta[1] += 1.0
    found = model.certify()
    assert [part.status.endswith("above tol.") for part in found.parts] == [False, True, False]
    assert found.status.endswith("above tol.")


@pytest.mark.parametrize("seed", range(20))
def test_graphs_of_weights_of_any_size(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
    weights = weights * 10.0 ** rng.uniform(-150, 150, (n, n)) ** (seed % 2)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    model = AdaptiveSVR(graph=weights + weights.T, coupling=10.0 ** rng.uniform(-30, 30))
    refusal = None
    try:
        model.fit(X, y)
    except ValueError as error:
        refusal = str(error)
    if refusal is not None:
        assert len(refusal) > 20
        return
    optimal = model.certificate_.status.startswith("Optimal")
    assert optimal == ("within" in model.certify().status)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    "seed", [0, 9, 43, 50, 75, 90, 95, 121, 147, 191, 223, *range(500, 530), 500838]
)
def test_cases_of_the_fuzzer(seed):
    adaptive.play(seed)


@pytest.mark.parametrize("graph", ["time", "space"])
@pytest.mark.parametrize("max_iter", [1, 3, 5, 6, 7, 8, 9, 10, 11, 12, -1])
def test_the_certificate_of_a_fit_says_what_certify_says(max_iter, graph):
    """Where a limit stops a fit whose point is good enough all the same, it is said to be."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    for y in (np.sign(X[:, 0] + 0.3 * rng.normal(size=60)), rng.integers(0, 3, 60)):
        model = AdaptiveSVC(coupling=10.0, graph=graph, max_iter=max_iter)
        model.fit(X, y)
        said, found = model.certificate_, model.certify()
        optimal = found.status.endswith("is within tol.")
        assert said.status.startswith("Optimal") == optimal
        assert model.fit_status_ == int(not optimal)
        assert (said.primal, said.dual) == (found.primal, found.dual)
