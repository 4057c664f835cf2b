"""The path that adaptive machines hold: its state, and what is made of it."""

import copy

import numpy as np
import pytest
from drifting import sloping, three_turning, turning
from numpy.testing import assert_array_equal

from lindero.solvers.coupled.follower import ChainFollower
from lindero.solvers.coupled.trail import Trail
from lindero.solvers.solution import Limits
from lindero.svm import AdaptiveSVC, AdaptiveSVR
from lindero.svm.adaptive.path import CoupledPath, PathSamples


def taken_apart(path):
    """The state of a path, down to plain arrays and values, copied."""
    state = copy.deepcopy(path.state())
    state["_path"] = state["_path"].state()
    if state["_trail"] is not None:
        trail = vars(state["_trail"])
        state["_trail"] = {**trail, "followers": [f.state() for f in trail["followers"]]}
    return state


def put_together(state):
    state["_path"] = PathSamples.from_state(state["_path"])
    if state["_trail"] is not None:
        followers = [ChainFollower.from_state(f) for f in state["_trail"]["followers"]]
        state["_trail"] = Trail(**{**state["_trail"], "followers": followers})
    return CoupledPath.from_state(state)


@pytest.mark.parametrize(
    ("machine", "data"),
    [(AdaptiveSVC, turning), (AdaptiveSVC, three_turning), (AdaptiveSVR, sloping)],
)
def test_a_path_that_was_taken_apart_goes_on_exactly_as_it_would_have(machine, data):
    X, y = data(300)
    model = machine(coupling=50.0).fit(X[:100], y[:100])
    for row in range(100, 150):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    again = copy.deepcopy(model)
    again._path = put_together(taken_apart(model._path))
    for estimator in (model, again):
        estimator.partial_fit(X[150:], y[150:])
    assert_array_equal(again.coef_, model.coef_)
    assert_array_equal(again.dual_coef_, model.dual_coef_)


@pytest.mark.parametrize("params", [{"graph": "space", "blend": 2}, {"kernel": "rbf"}])
def test_paths_that_are_not_followed_decide_as_they_did(params):
    X, y = three_turning()
    model = AdaptiveSVC(**params).fit(X, y)
    again = copy.deepcopy(model)
    again._path = put_together(taken_apart(model._path))
    new = X[:20] + 0.1
    assert_array_equal(again.decision_function(new), model.decision_function(new))


def test_items_that_belong_to_another_machine_change_nothing():
    X, y = turning(60)
    path = AdaptiveSVC(coupling=1e3).fit(X, y)._path
    state = {**path.state(), "_fitted_epsilon": 0.1, "n_nearest": 10**9, "other": 1}
    again = CoupledPath.from_state(state)
    assert (again.losses, again.nearest) == (path.losses, None)
    assert set(state) == {"_fitted_epsilon", "n_nearest", "other"}


def test_samples_are_appended_by_a_path_as_by_its_estimator():
    X, y = sloping(80)
    model = AdaptiveSVR(coupling=10.0).fit(X[:50], y[:50])
    path = copy.deepcopy(model._path)
    model.partial_fit(X[50:], y[50:])
    path.extend(X[50:], y[50:], np.ones(30), None, Limits(), model._effort())
    assert_array_equal(path.theta, model._path.theta)
    assert path.shape == model.shape_fit_ == (80, 2)
