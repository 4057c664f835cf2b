"""Tables that are hard to cluster, parameters that make no sense, and calls that end early."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from lindero.bayes import TMClustering
from tests.bayes.test_clustering import planted


def sound(model, X):
    """Whether all that a model says is finite."""
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.theta_).all()
    assert (model.scale_ > 0.0).all()
    assert np.isfinite(model.weights_).all()
    assert model.describe()
    return True


@pytest.mark.parametrize("method", ["em", "tm"])
@pytest.mark.parametrize(
    "X",
    [
        [[1.0, "a"]],
        [[1.0, "a"], [2.0, "b"]],
        [[1.0, "a"]] * 6,
        [[None, "a"], [None, "b"], [None, "a"], [None, "b"]],
        [[None, None], [None, None]],
        [[5.0, "a"], [5.0, "b"], [5.0, None], [None, None]] * 3,
        [[1e300, "a"], [-1e300, "b"]][:1] * 4,
        [[1e9, "a"], [1e9 + 1.0, "b"], [1e9 + 2.0, "b"]] * 4,
        [[1e-12, "a"], [3e-12, "b"], [2e-12, "b"]] * 4,
        [[0.0, "a"]] * 20 + [[1e6, "b"]],
    ],
)
def test_small_and_odd_tables_have_finite_answers(method, X):
    X = pd.DataFrame(X, columns=["number", "text"])
    model = TMClustering(method=method, random_state=0).fit(X)
    assert sound(model, X)
    two = TMClustering(min(2, len(X)), method=method, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer different rows
        assert sound(two.fit(X), X)
    assert sound(two, pd.DataFrame({"number": [None, 1e12], "text": ["new", None]}))


def test_columns_that_tell_nothing_change_nothing():
    X, _ = planted(n_rows=120)
    plain = TMClustering(3, random_state=0).fit(X)
    more = X.assign(constant=3.5, empty=np.nan)
    model = TMClustering(3, random_state=0).fit(more)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.bic_[3] == pytest.approx(plain.bic_[3], rel=1e-5)
    np.testing.assert_array_equal(model.theta_[:, 2], 3.5)
    far = more.assign(constant=1e9)
    np.testing.assert_allclose(model.predict_proba(far), model.predict_proba(more))


def test_more_clusters_than_rows():
    X = [[0.0], [1.0], [1.0], [1.0]]
    with pytest.raises(ValueError, match="n_clusters=5 is more than the n_samples=4 rows"):
        TMClustering(5).fit(X)
    with pytest.raises(ValueError, match="n_clusters=4 is more than the n_samples=3 rows"):
        TMClustering(4).fit(X, sample_weight=[1, 0, 1, 1])
    with pytest.warns(ConvergenceWarning, match="only 2 different rows"):
        model = TMClustering(3, random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert max(TMClustering(random_state=0).fit(X).bic_) == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"numeric": "mdl"}, "column length cuts where classes change"),
        ({"numeric": {"weight": "mdl"}}, "column weight cuts where classes change"),
        ({"numeric": {"colour": "quantile"}}, "'colour', which is not a number column"),
        ({"categorical_features": ["color"]}, "color"),
    ],
)
def test_parameters_that_do_not_fit_the_table(parameters, message):
    X, _ = planted(n_rows=40)
    with pytest.raises(ValueError, match=message):
        TMClustering(2, **parameters).fit(X)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_clusters": 0},
        {"n_clusters": "aic"},
        {"method": "cem"},
        {"alpha": 0.0},
        {"penalty": 0.0},
        {"min_scale": 0.0},
        {"n_init": 0},
        {"max_iter": 0},
        {"tol": -1.0},
        {"callback": 3},
    ],
)
def test_parameters_out_of_range(parameters):
    with pytest.raises(InvalidParameterError, match=next(iter(parameters))):
        TMClustering(**parameters).fit([[0.0], [1.0]])


@pytest.mark.parametrize(
    ("weights", "message"),
    [([0, 0, 0], "zero everywhere"), ([1, -1, 1], "sample_weight"), ([1, 1], "sample_weight")],
)
def test_weights_that_make_no_sense(weights, message):
    with pytest.raises(ValueError, match=message):
        TMClustering(1).fit([[0.0], [1.0], [2.0]], sample_weight=weights)


def test_numbers_whose_squares_overflow_are_named():
    X = pd.DataFrame({"small": [0.0, 1.0, 2.0], "large": [1e200, -1e200, 0.0]})
    with pytest.raises(ValueError, match="column large are too large"):
        TMClustering(2).fit(X)


def test_a_failed_call_leaves_the_model_as_it_was():
    X, _ = planted(n_rows=60)
    model = TMClustering(2, random_state=0).fit(X)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="infinity"):
        model.fit([[np.inf], [0.0]])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_an_interrupted_call_leaves_the_model_as_it_was():
    X, _ = planted(n_rows=60)

    def interrupt(report):
        if report.n_clusters == 3:
            raise KeyboardInterrupt

    model = TMClustering(2, random_state=0, callback=interrupt).fit(X)
    labels = model.labels_
    model.set_params(n_clusters="bic")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.labels_ is labels
    assert model.n_clusters_ == 2


def test_the_callback_is_told_of_every_pass():
    X, _ = planted(n_rows=80)
    told = []
    model = TMClustering(2, method="tm", n_init=3, random_state=0, callback=told.append).fit(X)
    em = [report for report in told if report.stage == "em"]
    assert {report.start for report in em} == {0, 1, 2}
    assert {report.n_starts for report in told} == {3}
    best = max(report.objective for report in em)
    plain = TMClustering(2, n_init=3, random_state=0).fit(X)
    assert best == pytest.approx(plain.convergence_[-1], rel=1e-9)
    rounds = [report.objective for report in told if report.stage == "tm"]
    assert rounds == list(model.convergence_[: len(rounds)])
    assert rounds
    assert all(a.seconds <= b.seconds for a, b in pairwise(told))


@pytest.mark.parametrize("stage", ["em", "tm"])
def test_the_callback_can_end_clustering(stage):
    X, _ = planted(n_rows=80)

    def enough(report):
        return report.n_clusters == 2 and report.stage == stage

    model = TMClustering(2, method="tm", random_state=0, callback=enough)
    with pytest.warns(ConvergenceWarning, match="Stopped by the callback"):
        model.fit(X)
    assert model.status_.startswith("Stopped by the callback")
    assert sound(model, X)


def test_the_former_name_of_the_number_of_iterations_warns():
    X, _ = planted(n_rows=80)
    reports = []
    TMClustering(2, random_state=0, callback=reports.append).fit(X)
    with pytest.warns(FutureWarning, match="n_passes is now called n_iter"):
        assert reports[-1].n_passes == reports[-1].n_iter > 0


def test_too_few_iterations_are_told():
    X, _ = planted(n_rows=80)
    model = TMClustering(4, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Stopped after 2 iterations"):
        model.fit(X)
    assert model.n_iter_ == 2


def test_values_that_are_new():
    X, _ = planted(n_rows=80)
    new = X[:3].assign(colour="violet")
    missing = X[:3].assign(colour=None)
    model = TMClustering(2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(missing))
    smooth = TMClustering(2, unseen="smooth", random_state=0).fit(X)
    assert (smooth.score_samples(new) < smooth.score_samples(missing)).all()


def test_an_unfitted_model_says_so():
    for ask in ("predict", "predict_proba", "score", "explain"):
        with pytest.raises(NotFittedError):
            getattr(TMClustering(), ask)([[0.0]])
    with pytest.raises(NotFittedError):
        TMClustering().describe()
