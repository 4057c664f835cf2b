"""Which point a search takes, what it reports of it, and what the refitted estimator is."""

import pickle

import numpy as np
import pytest
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.svm import SVC, SVCCV, SVRCV

CS = [0.03, 1.0, 30.0]
GAMMAS = [0.02, 0.3, 5.0]


def test_the_best_point_is_refitted_to_all_rows():
    X, y = two_clouds(n_samples=160, apart=1.0)
    search = SVCCV(Cs=CS, gammas=GAMMAS).fit(X, y)
    means = search.scores_.mean(axis=2)
    assert_allclose(search.best_score_, means.max())
    g, c = GAMMAS.index(search.gamma_), CS.index(search.C_)
    assert_allclose(means[g, c], means.max())
    assert search.cv_results_["params"][search.best_index_] == search.best_params_
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    new = SVC(**search.best_params_).fit(X, y)
    assert type(search.best_estimator_) is SVC
    assert_array_equal(search.decision_function(X), new.decision_function(X))
    assert_array_equal(search.predict(X), new.predict(X))
    assert search.score(X, y) == new.score(X, y)
    assert_array_equal(search.classes_, new.classes_)


def test_a_score_is_by_the_scorer_of_the_search():
    X, y = two_clouds(n_samples=160, apart=1.0)
    search = SVCCV(Cs=CS, gammas=GAMMAS, scoring="roc_auc").fit(X, y)
    assert search.score(X, y) == roc_auc_score(y, search.decision_function(X))
    assert search.score(X, y) != search.best_estimator_.score(X, y)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = roc_auc_score(y, search.decision_function(X), sample_weight=weights)
    assert search.score(X, y, sample_weight=weights) == weighted


class Table:
    """A scorer that says what it was told to for each point."""

    def __init__(self, scores):
        self.scores = scores

    def __call__(self, estimator, X, y):
        return self.scores.get((estimator.C, estimator.gamma), 0.0)


@pytest.mark.parametrize("Cs", [[1.0, 2.0, 4.0], [4.0, 1.0, 2.0]], ids=str)
@pytest.mark.parametrize("gammas", [[0.1, 0.2], [0.2, 0.1]], ids=str)
@pytest.mark.parametrize(
    ("tied", "best"),
    [
        ([(4.0, 0.1), (2.0, 0.2)], {"C": 2.0, "gamma": 0.2}),
        ([(2.0, 0.2), (2.0, 0.1)], {"C": 2.0, "gamma": 0.1}),
        ([(4.0, 0.2)], {"C": 4.0, "gamma": 0.2}),
        ([], {"C": 1.0, "gamma": 0.1}),
    ],
    ids=str,
)
def test_ties_go_to_the_smaller_c_and_then_to_the_smaller_gamma(Cs, gammas, tied, best):
    X, y = two_clouds(n_samples=40)
    scoring = Table(dict.fromkeys(tied, 1.0))
    search = SVCCV(Cs=Cs, gammas=gammas, scoring=scoring).fit(X, y)
    assert search.best_params_ == best
    assert search.cv_results_["params"][search.best_index_] == best


def test_gammas_by_name_are_compared_by_their_values():
    X, y = two_clouds(n_samples=40, n_features=4)
    X /= X.std()  # so that "scale" and "auto" are both 1/4
    scoring = Table({(1.0, "scale"): 1.0, (1.0, 0.2): 1.0})
    search = SVCCV(Cs=[1.0], gammas=["scale", 0.2], scoring=scoring).fit(X, y)
    assert search.gamma_ == 0.2
    scoring = Table({(1.0, "scale"): 1.0, (1.0, 0.3): 1.0})
    search = SVCCV(Cs=[1.0], gammas=[0.3, "scale"], scoring=scoring).fit(X, y)
    assert search.gamma_ == "scale"


class OneAfterAnother:
    """A scorer that hands out numbers in the order of folds, other ones for each C."""

    def __init__(self, of):
        self.of = of

    def __call__(self, estimator, X, y):
        return self.of[estimator.C][int(X[0, 0])]


def test_the_same_scores_in_another_order_of_folds_are_a_tie():
    numbers = [0.1, 0.2, 0.3]
    backwards = numbers[::-1]
    assert np.mean(numbers) != np.mean(backwards)
    X, y = two_clouds(n_samples=60)
    X[:, 0] = np.arange(60) // 20
    splits = [(X[:, 0] != k, X[:, 0] == k) for k in range(3)]
    for first, second in ((numbers, backwards), (backwards, numbers)):
        scoring = OneAfterAnother({1.0: first, 2.0: second})
        search = SVCCV(Cs=[2.0, 1.0], gammas=[1.0], cv=splits, scoring=scoring).fit(X, y)
        assert search.C_ == 1.0
        assert_array_equal(search.cv_results_["rank_test_score"], [1, 1])


def test_points_without_a_score_come_last():
    X, y = two_clouds(n_samples=40)
    scoring = Table({(1.0, 0.1): np.nan, (2.0, 0.1): -5.0})
    search = SVCCV(Cs=[1.0, 2.0], gammas=[0.1], scoring=scoring).fit(X, y)
    assert search.C_ == 2.0
    assert_array_equal(search.cv_results_["rank_test_score"], [2, 1])


def test_without_refit_there_are_scores_and_no_model():
    X, y = two_clouds(n_samples=60)
    search = SVCCV(Cs=CS, gammas=GAMMAS, refit=False).fit(X, y)
    assert search.best_params_["C"] in CS
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError, match="predict"):
        search.predict(X)
    assert not hasattr(search, "decision_function")


def test_order_and_repetition_of_the_grid_change_no_score():
    X, y = two_clouds(n_samples=700, apart=1.0)
    forward = SVCCV(Cs=CS, gammas=GAMMAS, cv=2, refit=False).fit(X, y).scores_
    mixed = SVCCV(Cs=[30.0, 0.03, 1.0, 30.0], gammas=GAMMAS[::-1], cv=2, refit=False).fit(X, y)
    assert_array_equal(mixed.scores_[::-1], forward[:, [2, 0, 1, 2]])


def test_searches_can_be_cloned_pickled_and_put_into_pipelines():
    X, y = four_clouds(n_samples=120)
    search = SVCCV(Cs=CS, gammas=GAMMAS, cv=3)
    assert clone(search).get_params() == search.get_params()
    fitted = pickle.loads(pickle.dumps(search.fit(X, y)))
    assert_array_equal(fitted.predict(X), search.predict(X))
    pipeline = make_pipeline(StandardScaler(), clone(search))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.5


def test_regression_chooses_a_model_that_fits():
    X = np.random.default_rng(0).uniform(-3, 3, size=(200, 1))
    y = np.sin(2 * X[:, 0])
    search = SVRCV(Cs=[0.01, 1, 100], gammas=[1e-4, 1.0, 1e4], epsilon=0.01).fit(X, y)
    assert search.gamma_ == 1.0
    assert search.score(X, y) > 0.99
    assert search.best_estimator_.epsilon == 0.01
    assert not hasattr(search, "decision_function")
    assert not hasattr(search, "classes_")
