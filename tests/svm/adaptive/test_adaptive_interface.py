"""What is handed out stays as it was, and what is passed by position means what it says."""

import inspect
import warnings

import numpy as np
import pytest
from drifting import turning
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from tests.refusals import refused

from lindero.svm import AdaptiveSVC, AdaptiveSVR

X, Y = turning(120)
MACHINES = [AdaptiveSVC, AdaptiveSVR]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("times", [None, np.arange(100), np.arange(100)[::-1]])
def test_what_was_read_does_not_change_with_what_is_learned_later(machine, times):
    model = machine(coupling=100.0).fit(X[:100], Y[:100], times=times)
    names = "coef_", "intercept_", "times_", "drift_", "support_", "support_vectors_", "dual_coef_"
    read = {name: getattr(model, name) for name in names}
    kept = {name: value.copy() for name, value in read.items()}
    later = None if times is None else np.arange(100, 120)
    model.partial_fit(X[100:], Y[100:], times=later)
    for name in names:
        assert_array_equal(read[name], kept[name], err_msg=name)
    read["coef_"][:] = 7.0
    assert not (model.coef_ == 7.0).any()


@pytest.mark.parametrize("machine", MACHINES)
def test_weights_and_classes_may_be_given_by_position_and_times_may_not(machine):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 120)
    named = machine(coupling=1e3).fit(X, Y, sample_weight=weights)
    assert_array_equal(machine(coupling=1e3).fit(X, Y, weights).coef_, named.coef_)
    assert named.score(X, Y, weights) == named.score(X, Y, sample_weight=weights)
    for method in ("fit", "partial_fit", "score"):
        times = inspect.signature(getattr(machine, method)).parameters["times"]
        assert times.kind is inspect.Parameter.KEYWORD_ONLY
    begun = [[-1, 1]] if machine is AdaptiveSVC else []
    by_position = machine(coupling=1e3).partial_fit(X, Y, *begun, weights)
    assert_array_equal(
        by_position.coef_, machine(coupling=1e3).partial_fit(X, Y, sample_weight=weights).coef_
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_fitted_with_a_kernel_cannot_go_on_with_hyperplanes(machine):
    model = machine(coupling=1e3, kernel="rbf").fit(X, Y).set_params(kernel="linear")
    assert not hasattr(model, "partial_fit")
    with refused(model, AttributeError, "partial_fit"):
        model.partial_fit(X[:1], Y[:1])
    assert model.set_params(kernel="rbf").predict(X).shape == (120,)


@pytest.mark.parametrize("name", ["time_weighted", "C", "coupling", "epsilon"])
def test_what_is_said_to_stay_does(name):
    machine = AdaptiveSVR if name == "epsilon" else AdaptiveSVC
    times = np.cumsum(np.random.default_rng(0).uniform(0.1, 3.0, 120))
    changed = machine(coupling=1e3).fit(X[:100], Y[:100], times=times[:100])
    plain = machine(coupling=1e3).fit(X[:100], Y[:100], times=times[:100])
    changed.set_params(**{name: True if name == "time_weighted" else 0.01})
    for model in (changed, plain):
        model.partial_fit(X[100:], Y[100:], times=times[100:])
    assert_array_equal(changed.coef_, plain.coef_)
    assert name in " ".join(inspect.getdoc(machine.partial_fit).split())


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["support_vectors_", "support_", "coef_", "times_", "drift_"])
def test_a_machine_without_a_fit_says_so(machine, name):
    with pytest.raises(NotFittedError):
        getattr(machine(coupling=1e3), name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 2.5}, "k=2.5 must be a whole number between 1 and 119"),
        ({"k": "2"}, "k='2'"),
        ({"k": 0}, "k=0"),
        ({"separation": 20.0}, "separation=20.0 must be a whole number of samples"),
        ({"separation": -5}, "separation=-5"),
        ({"separation": 0}, "separation=0"),
    ],
)
def test_changepoints_are_counted(arguments, message):
    model = AdaptiveSVC(coupling=1e3).fit(X, Y)
    with refused(model, ValueError, message):
        model.changepoints(**arguments)
    assert len(model.changepoints(np.int64(2), separation=np.int32(20))) == 2


@pytest.mark.parametrize("params", [{}, {"graph": "space"}, {"kernel": "rbf"}])
def test_who_stops_a_fit_is_not_told_to_let_it_run(params):
    with pytest.warns(ConvergenceWarning, match=r"callback.*The duality gap left") as caught:
        AdaptiveSVC(callback=lambda progress: True, coupling=1e6, **params).fit(X, Y)
    assert "max_iter" not in str(caught[0].message)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter, time_limit or tol"):
        AdaptiveSVC(max_iter=1, coupling=1e6, **params).fit(X, Y)


def test_nothing_is_warned_of_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaptiveSVC(coupling="auto").fit(X, Y).partial_fit(X[:1], Y[:1])
