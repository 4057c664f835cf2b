"""A search that is left alone: scales, the grid around "scale", from coarse to fine."""

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from lindero import persist
from lindero.svm import SVC, SVCCV, SVR, SVRCV
from lindero.svm.search.tables import draw_sample, find_scales

UNITS = np.array([1e-3, 1.0, 1e3, 1e6])


def uneven(n_samples=160):
    X, y = four_clouds(n_samples=n_samples, n_features=4, apart=1.0)
    return X * UNITS + 5 * UNITS, y


def test_features_of_different_units_are_standardized():
    X, y = uneven()
    search = SVCCV(cv=3).fit(X, y)
    assert_allclose(search.center_, X.mean(axis=0))
    assert_allclose(search.scale_, X.std(axis=0))
    Z = StandardScaler().fit_transform(X)
    twin = SVC(**search.best_params_).fit(Z, y)
    assert_array_equal(search.predict(X), twin.predict(Z))
    assert_allclose(search.decision_function(X), twin.decision_function(Z), atol=1e-6)
    assert search.score(X, y) == twin.score(Z, y)
    # and so does the pipeline, on the table as it is
    assert_array_equal(search.best_estimator_.predict(X), twin.predict(Z))
    assert SVCCV(cv=3).fit(X / UNITS, y).best_score_ <= search.best_score_ + 0.05


def test_scores_are_those_of_a_grid_search_over_the_standardized_table():
    X, y = uneven()
    search = SVCCV(cv=3, tol=1e-7).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    for params, mean in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        grid = {name: [value] for name, value in params.items()}
        twin = GridSearchCV(SVC(tol=1e-7), grid, cv=3, refit=False).fit(Z, y)
        assert_allclose(mean, twin.cv_results_["mean_test_score"][0], atol=1e-9)


def test_gammas_that_are_given_are_in_units_of_the_table():
    X, y = uneven()
    search = SVCCV(Cs=[1.0], gammas=[0.1], cv=3).fit(X, y)
    assert search.scale_ is None
    assert search.center_ is None
    assert type(search.best_estimator_) is SVC
    told = SVCCV(Cs=[1.0], gammas=[0.1], cv=3, standardize=True).fit(X, y)
    assert_allclose(told.scale_, X.std(axis=0))
    assert told.best_score_ > search.best_score_


def test_told_otherwise_the_table_stays_as_it_is():
    X, y = uneven()
    assert SVCCV(cv=3, standardize=False).fit(X, y).scale_ is None
    assert SVCCV(cv=3, kernel="precomputed").fit(X @ X.T / 1e13, y).scale_ is None


def test_sparse_features_are_divided_by_their_largest_values():
    X, y = uneven()
    X = np.where(np.abs(X / UNITS - 5) > 0.5, X, 0.0)
    search = SVCCV(cv=3).fit(sp.csr_array(X), y)
    assert search.center_ is None
    assert_allclose(search.scale_, np.abs(X).max(axis=0))
    scaled = sp.csr_array(X / np.abs(X).max(axis=0))
    twin = SVC(**search.best_params_).fit(scaled, y)
    assert_array_equal(search.predict(sp.csr_array(X)), twin.predict(scaled))


def test_scales_count_rows_by_weight_and_leave_constants_alone():
    X = np.array([[1.0, 0.1], [2.0, 0.1], [6.0, 0.1]])
    center, scale = find_scales(X, np.array([1.0, 2.0, 0.0]))
    repeated = np.array([1.0, 2.0, 2.0])
    assert_allclose(center, [repeated.mean(), 0.1])
    assert_allclose(scale, [repeated.std(), 1.0])
    _, scale = find_scales(np.array([[1e300], [-1e300]]), np.ones(2))
    assert_allclose(scale, [1e300])


def test_pixels_keep_their_unit_where_that_is_better():
    X, y = load_digits(return_X_y=True)
    train, test, of_train, of_test = train_test_split(X, y, stratify=y, random_state=0)
    search = SVCCV(cv=StratifiedKFold(3, shuffle=True, random_state=0)).fit(train, of_train)
    assert search.scale_ is None
    assert search.score(test, of_test) >= 0.985


def test_gamma_is_a_power_of_two_times_scale():
    X, y = load_wine(return_X_y=True)
    search = SVCCV(cv=3).fit(X, y)
    powers = np.log2(search.gammas_ * X.shape[1])  # X.var() is 1
    assert_allclose(powers, powers.round(), atol=1e-9)
    assert_allclose(np.log2(search.Cs_), np.log2(search.Cs_).round())
    tried = ~np.isnan(search.scores_).any(axis=2)
    assert tried.sum() == len(search.cv_results_["params"])
    assert tried.sum() < tried.size  # neighbours of the best alone
    assert search.best_score_ >= 0.97
    assert search.cv_results_["params"][search.best_index_] == search.best_params_


class Hill:
    """A scorer whose best point is far outside of the points tried first."""

    def __init__(self, C, gamma):
        self.C, self.gamma = C, gamma

    def __call__(self, estimator, X, y):
        away = np.log2(estimator.C) - self.C, np.log2(estimator.gamma * X.shape[1]) - self.gamma
        return -float(np.hypot(*away))


@pytest.mark.parametrize("best", [(13, 0), (-9, -3), (1, 8), (2, -11), (10, -9), (4, 1)], ids=str)
def test_the_grid_is_widened_until_the_best_is_inside(best):
    X, y = two_clouds(n_samples=40)
    X = StandardScaler().fit_transform(X)
    search = SVCCV(cv=2, scoring=Hill(*best), standardize=True).fit(X, y)
    assert search.best_score_ > -1.5
    assert len(search.cv_results_["params"]) < 70


def test_widening_ends_somewhere_and_a_plateau_does_not_start_it():
    X, y = two_clouds(n_samples=40)
    far = SVCCV(cv=2, scoring=Hill(1000, 0)).fit(X, y)
    assert far.Cs_.max() <= 2.0**16
    flat = SVCCV(cv=2, scoring=lambda *_: 1.0).fit(X, y)
    assert flat.Cs_.min() >= 2.0**-4
    assert flat.Cs_.max() <= 2.0**8


def test_an_axis_that_is_given_is_tried_as_it_is():
    X, y = two_clouds(n_samples=60)
    search = SVCCV(Cs=[0.5, 3.0], cv=2).fit(X, y)
    assert_array_equal(search.Cs_, [0.5, 3.0])
    assert len(search.gammas_) >= 4
    search = SVCCV(gammas=[0.1, "scale"], cv=2).fit(X, y)
    assert search.gammas_.tolist() == [0.1, "scale"]
    assert len(search.Cs_) >= 4
    assert SVCCV(kernel="linear", cv=2).fit(X, y).gamma_ is None
    assert SVCCV(kernel="poly", cv=2).fit(X, y).gamma_ == "scale"


def test_of_many_rows_coarse_points_see_a_sample_and_scores_are_of_all():
    X, y = four_clouds(n_samples=2600, apart=1.5)
    seen = []
    search = SVCCV(cv=3, callback=lambda progress: seen.append(progress)).fit(X, y)
    tried = {(params["C"], params["gamma"]) for params in search.cv_results_["params"]}
    assert len(tried) < 15 < len({(p.C, p.gamma) for p in seen})
    twin = SVCCV(
        Cs=[search.C_], gammas=[search.gamma_], cv=3, standardize=search.scale_ is not None
    )
    assert_allclose(twin.fit(X, y).best_score_, search.best_score_)
    assert [p.n_done for p in seen] == list(range(1, len(seen) + 1))
    assert seen[-1].n_total == len(seen)


def test_a_sample_has_every_class_in_every_fold_or_there_is_none():
    y = np.repeat([0, 1, 2], [5000, 900, 50])
    splits = [(k, *split) for k, split in enumerate(StratifiedKFold(5).split(y[:, None], y))]
    part = draw_sample(y, splits, np.ones(len(y)), len(y))
    assert 1000 <= len(part.rows) <= 1100
    assert np.bincount(y[part.rows])[2] == 40
    for _, train, test in part.splits:
        assert set(y[part.rows[train]]) == {0, 1, 2}
        assert not set(train) & set(test)
    alone = np.where(np.arange(len(y)) == 7, 3, y)
    assert draw_sample(alone, splits, np.ones(len(y)), len(y)) is None
    assert draw_sample(y[:1500], splits, np.ones(1500), 1500) is None


def test_a_search_may_be_ended_at_any_point():
    X, y = four_clouds(n_samples=2600, apart=1.5)
    for n in (30, 48, 60):
        search = SVCCV(cv=3, callback=lambda progress, n=n: progress.n_done >= n).fit(X, y)
        assert search.best_score_ > 0


def test_regression_is_in_units_of_the_targets_deviation():
    X, y = load_diabetes(return_X_y=True)
    search = SVRCV(cv=3, standardize=True).fit(X, y)
    assert_allclose(search.epsilon_, 0.1 * y.std())
    machine = search.best_estimator_[-1]
    assert machine.epsilon == search.epsilon_
    assert search.best_score_ > 0.45
    other = SVRCV(cv=3, standardize=True).fit(X, 1e4 * y - 7.0)
    assert_allclose(other.C_, 1e4 * search.C_)
    assert_allclose(other.gamma_, search.gamma_)
    assert_allclose(other.predict(X), 1e4 * search.predict(X) - 7.0, rtol=1e-2)
    assert SVRCV(cv=3, Cs=[1.0], epsilon=0.25).fit(X, y).epsilon_ == 0.25
    assert SVRCV(cv=2).fit(X[:20], np.ones(20)).epsilon_ == 0.1


def test_it_beats_the_machine_alone_on_a_table_of_uneven_units():
    X, y = load_diabetes(return_X_y=True)
    X = X * np.geomspace(1, 1e5, X.shape[1])
    train, test, of_train, of_test = train_test_split(X, y, random_state=0)
    search = SVRCV().fit(train, of_train)
    assert search.score(test, of_test) > SVR().fit(train, of_train).score(test, of_test) + 0.1


def test_names_of_features_are_kept_and_checked():
    pandas = pytest.importorskip("pandas")
    X, y = uneven(60)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    search = SVCCV(Cs=[1.0], cv=2).fit(frame, y)
    assert search.feature_names_in_.tolist() == list("abcd")
    assert_array_equal(search.predict(frame), SVCCV(Cs=[1.0], cv=2).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        search.predict(frame[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match="'c' of X holds text"):
        search.predict(frame.assign(c="x"))


def test_a_standardized_search_is_saved_and_loaded(tmp_path):
    X, y = uneven(60)
    search = SVCCV(Cs=[1.0], cv=2).fit(X, y)
    persist.save(search, tmp_path / "search.lin")
    loaded = persist.load(tmp_path / "search.lin")
    assert_array_equal(loaded.decision_function(X), search.decision_function(X))
    with pytest.raises(TypeError, match="LIBSVM has no model"):  # it has no scales
        persist.save_libsvm(search, tmp_path / "model")
