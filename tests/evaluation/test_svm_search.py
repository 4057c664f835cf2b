"""Searches of C and gamma that leave out what cannot win: the same choice, with fewer fits."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from lindero.evaluation import learning, svm_search, tune
from lindero.evaluation.folds import make_inner_folds
from lindero.evaluation.svm_search import search_kernel
from lindero.svm import SVC, SVCCV, SVRCV

CS, GAMMAS = (0.1, 1.0, 10.0, 100.0, 1000.0), ("scale", 0.01, 0.1, 1.0)


def noisy_numbers(n_rows=160, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    return X, np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.5 * random.normal(size=n_rows)


def noisy_classes(n_rows=160, seed=0, n_classes=3):
    X, values = noisy_numbers(n_rows, seed)
    return X, np.digitize(values, np.quantile(values, np.linspace(0, 1, n_classes + 1)[1:-1]))


def search(name, X, y, folds=4, **options):
    splits = make_inner_folds(y, None, folds, name == "SVC", 0)
    options = {"Cs": CS, "gammas": GAMMAS, "fixed": {}, **options}
    return splits, search_kernel(name, X, y, None, splits, **options)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_the_best_of_fewer_points_is_the_best_of_all(name, seed):
    X, y = noisy_classes(seed=seed) if name == "SVC" else noisy_numbers(seed=seed)
    kind = SVCCV if name == "SVC" else SVRCV
    splits, some = search(name, X, y, fixed={"tol": 1e-4})
    own = {} if name == "SVC" else {"epsilon": 0.1}
    every = kind(Cs=CS, gammas=GAMMAS, cv=splits, refit=False, tol=1e-4, **own).fit(X, y)
    assert some.best_params_ == every.best_params_
    assert len(some.points) <= len(CS) * len(GAMMAS) - (name == "SVR")
    means = dict(zip(map(str, every.cv_results_["params"]), every.cv_results_["mean_test_score"],
                     strict=True))  # fmt: skip
    for point, mean in zip(some.cv_results_["params"], some.cv_results_["mean_test_score"],
                           strict=True):  # fmt: skip
        assert_allclose(mean, means[str(point)], atol=0.01)


def test_all_points_of_a_grid_that_is_not_to_be_pruned():
    X, y = noisy_numbers()
    _, every = search("SVR", X, y, prune=False)
    assert [tuple(point.values()) for point in every.cv_results_["params"]] == [
        (C, gamma) for C in CS for gamma in GAMMAS
    ]
    assert every.scores.shape == (20, 4)
    _, linear = search("SVC", *noisy_classes(), gammas=None, fixed={"kernel": "linear"})
    assert set(linear.cv_results_["params"][0]) == {"C"}


def test_large_penalties_of_kernels_that_fit_noise_are_left_out():
    X, y = noisy_numbers()
    _, found = search("SVR", X, y)
    tried = set(found.points)
    assert (1000.0, 1.0) not in tried
    assert (1000.0, 0.01) in tried  # still rising there
    near = found.find_near()
    assert near <= tried
    best = found.best_params_
    assert (best["C"], best["gamma"]) in near
    _, again = search("SVR", X, y, near=near, fixed={"epsilon": 0.05})
    assert set(again.points) == near


def test_of_many_rows_a_sample_tells_which_points_are_near(monkeypatch):
    monkeypatch.setattr(svm_search, "_SAMPLE_ROWS", 60)
    X, y = noisy_classes(400)
    splits, found = search("SVC", X, y)
    assert len(found.points) < 16
    every = SVCCV(Cs=CS, gammas=GAMMAS, cv=splits, refit=False).fit(X, y)
    reached = found.cv_results_["mean_test_score"].max()
    assert reached >= every.best_score_ - 0.02
    rows, cut = svm_search._sample_folds(splits, y, True, 0.3)
    assert len(rows) == pytest.approx(120, abs=6)
    for (train, test), (some_train, some_test) in zip(splits, cut, strict=True):
        assert set(rows[some_train]) <= set(train)
        assert set(rows[some_test]) <= set(test)
        assert set(y[rows[some_train]]) == set(y)


def test_progress_counts_what_was_done_before():
    X, y = noisy_numbers(80)
    seen = []
    search("SVR", X, y, callback=lambda found: seen.append((found.n_done, found.n_total)))
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert {total for _, total in seen} == {len(CS) * len(GAMMAS) * 4}


def test_tune_leaves_out_points_of_its_own_grid_only(monkeypatch):
    X, y = noisy_numbers(90)
    assert len(tune("svr", X, y, folds=3).trials) == 3 * 25  # these take no time
    monkeypatch.setattr("lindero.evaluation.search._MANY_ROWS", 90)
    own = tune("svr", X, 100 * y, folds=3)
    assert 3 * 5 < len(own.trials) < 3 * 25
    assert all(np.isfinite(trial.mean) for trial in own.trials)
    asked = tune("svr", X, y, grid={"C": [0.1, 1000.0], "gamma": [1.0, 10.0]}, folds=3)
    assert len(asked.trials) == 4


def test_units_of_the_target_make_no_difference(monkeypatch):
    monkeypatch.setattr("lindero.evaluation.search._MANY_ROWS", 90)
    X, y = noisy_numbers(120)
    chosen = [tune("svr", X, unit * y, folds=3).best for unit in (1e-3, 1.0, 1e3)]
    for one in chosen:
        assert one.params["gamma"] == chosen[0].params["gamma"]
        assert_allclose(one.mean, chosen[0].mean, atol=5e-3)


def test_gammas_are_multiples_of_that_of_the_machine():
    X = noisy_classes(60)[0] + 1e7  # where the mean of squares has few digits left
    own = SVC().fit(X, np.arange(60) % 2)._gamma
    grid = {"gamma": [0.5, 2.0]}
    assert svm_search._to_number("scale", X) == own
    assert svm_search._to_number("auto", X) == 1 / X.shape[1]
    assert learning._scale_gammas(X, grid) == [0.5 * own, 2.0 * own]
    table = sp.csc_array(np.where(X > 1e7, X - 1e7, 0.0))
    assert learning._scale_gammas(table, grid) == pytest.approx(
        learning._scale_gammas(table.toarray(), grid)
    )
