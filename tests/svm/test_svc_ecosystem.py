"""SVC inside scikit-learn's tools, in other processes and in threads."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import permutation_importance
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.naming import steady
from threadpoolctl import threadpool_info

from lindero.svm import SVC


@pytest.mark.parametrize(
    "params", [{}, {"kernel": "linear"}, {"kernel": rbf_kernel}, {"warm_start": True}], ids=steady
)
def test_a_pickled_model_decides_as_before(params):
    X, y = four_clouds()
    model = SVC(**params).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert copy.certificate_ == model.certificate_
    assert_array_equal(copy.fit(X, y).predict(X), model.predict(X))


def test_a_pickle_of_a_model_is_no_larger_than_what_it_needs():
    X, y = two_clouds(n_samples=2000, apart=6.0)
    model = SVC(kernel="linear").fit(X, y)
    assert len(model.support_) < 200
    assert len(pickle.dumps(model)) < X.nbytes


def test_a_clone_has_the_parameters_and_nothing_else():
    model = SVC(C=3.0, kernel="poly", multiclass="ovr", time_limit=9.0).fit(*two_clouds())
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert vars(copy).keys() == model.get_params().keys()


def test_parameters_can_be_read_and_set():
    model = SVC(C=2.0)
    assert model.get_params()["C"] == 2.0
    assert model.set_params(C=5.0, kernel="linear") is model
    assert (model.C, model.kernel) == (5.0, "linear")
    with pytest.raises(ValueError, match="nonsense"):
        model.set_params(nonsense=1)


def test_changing_parameters_of_a_fitted_model_does_not_change_its_decisions():
    X, y = two_clouds()
    model = SVC(gamma=0.3).fit(X, y)
    before = model.decision_function(X)
    assert_array_equal(model.set_params(gamma=5.0, C=100).decision_function(X), before)


def test_a_pipeline_is_the_steps_one_after_the_other():
    X, y = two_clouds()
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(100 * X + 3, y)
    scaled = StandardScaler().fit_transform(100 * X + 3)
    expected = SVC().fit(scaled, y).decision_function(scaled)
    assert_allclose(pipeline.decision_function(100 * X + 3), expected, atol=1e-9)


def test_a_grid_search_finds_the_best_of_its_grid():
    X, y = two_clouds(n_samples=200)
    search = GridSearchCV(SVC(), {"C": [1e-3, 1.0], "gamma": [0.1, "scale"]}, cv=3).fit(X, y)
    assert search.best_params_["C"] == 1.0
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.best_estimator_.certificate_.kkt_gap <= 1e-3


def test_a_grid_search_slices_a_kernel_matrix_both_ways():
    X, y = two_clouds()
    matrix = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1]}, cv=3).fit(rbf_kernel(X), y)
    table = GridSearchCV(SVC(gamma=1 / X.shape[1]), {"C": [0.1, 1]}, cv=3).fit(X, y)
    assert_allclose(
        matrix.cv_results_["mean_test_score"], table.cv_results_["mean_test_score"], atol=1e-12
    )


@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
def test_calibration_gives_probabilities(clouds):
    X, y = clouds(n_samples=200)
    calibrated = CalibratedClassifierCV(SVC(), ensemble=False, cv=3).fit(X, y)
    probabilities = calibrated.predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert np.mean(calibrated.predict(X) == y) > 0.5


def test_cross_validation_in_two_processes_gives_the_same_scores():
    X, y = four_clouds(n_samples=300)
    alone = cross_val_score(SVC(), X, y, cv=4)
    with joblib.parallel_config(backend="loky"):
        assert_array_equal(cross_val_score(SVC(), X, y, cv=4, n_jobs=2), alone)


@pytest.mark.parametrize("params", [{}, {"kernel": "linear"}], ids=steady)
def test_cross_validation_in_two_threads_gives_the_same_scores(params):
    X, y = two_clouds(n_samples=1800)
    alone = cross_val_score(SVC(**params), X, y, cv=4)
    with joblib.parallel_config(backend="threading"):
        assert_array_equal(cross_val_score(SVC(**params), X, y, cv=4, n_jobs=2), alone)


def test_two_fits_at_once_in_one_process_give_what_each_gives_alone():
    tables = [two_clouds(n_samples=1500, seed=seed) for seed in range(4)]
    alone = [SVC().fit(X, y).dual_coef_ for X, y in tables]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda table: SVC().fit(*table).dual_coef_, tables))
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(one, other)


def test_two_fits_that_overlap_leave_the_number_of_blas_threads_as_it_was():
    """The first to begin ends first: each must not restore what the other had set."""
    before = [pool["num_threads"] for pool in threadpool_info()]
    first_began, second_began, first_ended = (threading.Event() for _ in range(3))
    X, y = two_clouds(n_samples=1500)

    def wait_for_second(_):
        first_began.set()
        second_began.wait(20)

    def wait_for_first(_):
        second_began.set()
        first_ended.wait(20)

    def first():
        SVC(callback=wait_for_second).fit(X, y)
        first_ended.set()

    thread = threading.Thread(target=first)
    thread.start()
    assert first_began.wait(20)
    SVC(callback=wait_for_first).fit(X, y)
    thread.join()
    assert first_ended.is_set()
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_permutation_importance_finds_the_feature_that_matters():
    X, y = two_clouds(n_samples=200, apart=3.0)
    model = SVC().fit(X, y)
    importance = permutation_importance(model, X, y, n_repeats=3, random_state=0)
    assert np.argmax(importance.importances_mean) == 0


def test_the_score_is_the_share_of_right_predictions():
    X, y = four_clouds()
    model = SVC().fit(X, y)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
