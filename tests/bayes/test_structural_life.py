"""Structural TM in use: among the tools of scikit-learn, and with tables that are bad for it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from lindero.bayes import StructuralTM
from lindero.bayes.discriminative import learning
from lindero.bayes.structure_search import search as search_module
from tests.bayes.soft_tables import telling_table as table
from tests.refusals import refused


def quick(**given):
    return StructuralTM(**{"penalty": 1.0, **given})


def test_the_criterion_is_a_parameter_and_score_a_method():
    X, y = table(13, 300)
    model = quick(criterion="cll", max_arcs=1).fit(X, y)
    assert model.get_params()["criterion"] == "cll"
    assert "criterion='cll'" in repr(model)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    assert clone(model).get_params() == model.get_params()
    assert (
        quick(criterion="bicd").set_params(criterion="accuracy").get_params()["criterion"]
        == "accuracy"
    )
    with pytest.raises(ValueError, match="'criterion' parameter of StructuralTM"):
        quick(criterion="aic").fit(X, y)
    assert cross_val_score(quick(max_arcs=1), X, y, cv=3).shape == (3,)
    search = GridSearchCV(quick(max_arcs=1), {"criterion": ["bicd", "accuracy"]}, cv=3).fit(X, y)
    assert 0 < search.best_score_ < 1


def test_the_old_names_of_parameters_still_work():
    X, y = table(13, 300)
    with pytest.warns(FutureWarning, match="'score' of StructuralTM is now called 'criterion'"):
        model = quick(score="cll", max_arcs=1)
    assert model.fit(X, y).score(X, y) == np.mean(model.predict(X) == y)
    with pytest.warns(FutureWarning, match="'score' of StructuralTM"):
        assert model.set_params(score="accuracy").criterion == "accuracy"
    assert clone(model).get_params()["criterion"] == "accuracy"


def test_stored_and_loaded():
    X, y = table(14, 300)
    model = quick(criterion="accuracy", max_arcs=2).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.history_ == model.history_
    assert again.convergence_ == model.convergence_
    assert again.get_params() == model.get_params()
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_there_are_no_batches():
    X, y = table(15, 100)
    assert not hasattr(quick(), "partial_fit")
    with pytest.raises(AttributeError) as caught:
        quick().partial_fit(X, y)
    assert "call fit with all of them." in str(caught.value.__cause__)
    assert "learning=" not in str(caught.value.__cause__)


def test_refusals_leave_everything():
    X, y = table(16, 200)
    model = quick().fit(X, y)
    for given, message in (
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"max_parents": -1}, "'max_parents' parameter"),
        ({"screening": 0}, "'screening' parameter"),
        ({"max_arcs": -1}, "'max_arcs' parameter"),
        ({"time_limit": 0.0}, "'time_limit' parameter"),
        ({"callback": 3}, "'callback' parameter"),
        ({"class_prior": [1.0]}, "class_prior has shape"),
    ):
        model.set_params(**given)
        with refused(model, ValueError, message):
            model.fit(X, y)
        model.set_params(**{name: quick().get_params()[name] for name in given})


# -- time ------------------------------------------------------------------------------------


class Clock:
    """A clock on which every look takes a second."""

    def __init__(self):
        self.seconds = 0.0

    def perf_counter(self):
        self.seconds += 1.0
        return self.seconds


@pytest.mark.parametrize(("criterion", "n_jobs"), [("bicd", None), ("bicd", 2), ("cll", None)])
def test_when_time_is_up_the_network_is_the_best_so_far(criterion, n_jobs, monkeypatch):
    X, y = table(13, 300)
    whole = quick(criterion=criterion).fit(X, y)
    assert len(whole.structure_) > 2
    monkeypatch.setattr(search_module, "time", Clock())
    found = []
    for limit in (0.5, 6.5, 20.5):
        with pytest.warns(ConvergenceWarning, match=f"time_limit={limit:g} s, with .* arcs"):
            model = quick(criterion=criterion, time_limit=limit, n_jobs=n_jobs).fit(X, y)
        found.append(len(model.structure_))
        assert len(model.history_) == found[-1] + 1
        scores = [step.score for step in model.history_]
        assert scores == sorted(scores)
        assert all(step.n_scored <= step.n_candidates for step in model.history_)
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert found == sorted(found)
    assert found[0] == 0 < found[-1] <= len(whole.structure_)


def test_time_that_suffices_changes_nothing(recwarn):
    X, y = table(13, 300)
    model = quick(time_limit=1e6).fit(X, y)
    assert model.history_ == quick().fit(X, y).history_
    assert not recwarn


def test_a_search_that_takes_long_says_so_once(monkeypatch):
    X, y = table(13, 300)
    monkeypatch.setattr(search_module, "_LONG", 0.0)
    with pytest.warns(UserWarning, match="time_limit ends it") as caught:
        quick().fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    for name in ("max_arcs", "screening"):
        assert name in str(caught[0].message)


def test_without_time_one_fold_chooses_the_penalty(monkeypatch):
    X, y = table(13, 300)
    posed = []
    pose = learning._pose_problem
    monkeypatch.setattr(
        learning, "_pose_problem", lambda *args, **own: posed.append(1) or pose(*args, **own)
    )
    StructuralTM(time_limit=1e6).fit(X, y)
    assert len(posed) == learning.N_FOLDS + 1
    posed.clear()
    with pytest.warns(ConvergenceWarning, match="time_limit=1e-09"):
        model = StructuralTM(time_limit=1e-9).fit(X, y)
    assert len(posed) == 1 + 1
    assert model.convergence_.penalty in learning.STRENGTHS


# -- bad tables ------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0, 1.0, "auto"])
def test_separable_classes_and_a_class_with_one_row(penalty):
    X, y = table(17, 120)
    X["taste"] = np.where(y == "yes", "v1", "v0")
    y = y.copy()
    y[5] = "alone"
    model = StructuralTM(penalty=penalty, max_iter=400)
    if penalty == 0:
        with pytest.warns(ConvergenceWarning, match="some values never occur with some class"):
            model.fit(X, y)
    else:
        model.fit(X, y)
        assert model.convergence_.is_converged
    assert model.selected_features_.tolist().count("taste") == 1
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert np.isfinite([step.score for step in model.history_]).all()


def test_more_parameters_than_rows():
    random = np.random.default_rng(18)
    X = random.integers(0, 9, (25, 8)).astype(str)
    y = random.integers(0, 2, 25)
    for score in ("bicd", "cll", "accuracy"):
        model = quick(criterion=score).fit(X, y)
        assert np.isfinite(model.predict_log_proba(X)).all()
        assert np.isfinite([step.score for step in model.history_]).all()


def test_two_rows():
    model = quick().fit([["a"], ["b"]], [0, 1])
    assert np.isfinite(model.predict_log_proba([["a"], ["c"], [None]])).all()


def test_priors_and_early_stopping():
    X, y = table(19, 300)
    plain, even = quick().fit(X, y), quick(fit_prior=False).fit(X, y)
    assert plain.structure_ == even.structure_
    share = np.array([np.mean(y == label) for label in np.unique(y)])
    shifted = plain.predict_proba(X) / share
    assert_allclose(even.predict_proba(X), shifted / shifted.sum(axis=1, keepdims=True), rtol=1e-9)
    stopped = StructuralTM(early_stopping=True).fit(X, y)
    assert stopped.convergence_.validation_losses.size > 0
    assert stopped.structure_ == plain.structure_
