"""What a search refuses says what is wrong and what to do, and leaves the estimator as it was."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds, two_clouds
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import GroupKFold, KFold
from tests.naming import steady
from tests.refusals import refused

from lindero.svm import SVCCV, SVRCV, LinearSVCCV


@pytest.mark.parametrize("kind", [SVCCV, SVRCV])
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": []}, "Cs is empty"),
        ({"gammas": []}, "gammas is empty"),
        ({"Cs": [1.0, 0.0]}, r"Cs holds 0\.0.*above 0"),
        ({"Cs": [-2]}, "Cs holds -2"),
        ({"Cs": [np.nan]}, "Cs holds nan"),
        ({"Cs": [np.inf]}, "Cs holds inf.*hard margin"),
        ({"Cs": ["1"]}, "Cs holds '1'"),
        ({"Cs": 3.0}, "'Cs' parameter .* must be an array-like"),
        ({"gammas": [-0.1]}, r"gammas holds -0\.1"),
        ({"gammas": ["big"]}, "gammas holds 'big'.*'scale'"),
        ({"kernel": "linear", "gammas": [1.0]}, "gammas has no effect with kernel='linear'"),
        ({"kernel": np.dot, "gammas": [1.0]}, "gammas has no effect with a callable kernel"),
        ({"scoring": "no such"}, "'scoring' parameter"),
        ({"cv": []}, "cv gives no folds"),
        ({"cv": [([0, 1], [])]}, "Fold 0 of cv has no validation rows"),
        ({"cv": [([], [0, 1])]}, "Fold 0 of cv has no training rows"),
        ({"cache_size": 0}, "cache_size"),
        ({"scoring": lambda estimator, X, y: "good"}, "one number, got 'good'"),
        ({"scoring": lambda estimator, X, y: np.nan}, "all are NaN"),
    ],
    ids=steady,
)
def test_parameters(kind, params, message):
    X, y = two_clouds(n_samples=60)
    model = kind(**{"Cs": [1.0], "cv": 2, **params})
    with refused(model, ValueError, message):
        model.fit(X, y)


@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", make_scorer(log_loss, response_method="predict_proba")], ids=steady
)
def test_scorers_that_need_probabilities_are_refused_before_any_work(scoring):
    X, y = two_clouds(n_samples=60)
    model = SVCCV(scoring=scoring)
    with refused(model, ValueError, "needs probabilities.*CalibratedClassifierCV"):
        model.fit(X, y)


def test_a_scorer_of_ones_own_that_asks_for_probabilities_learns_what_to_do():
    X, y = two_clouds(n_samples=60)
    model = SVCCV(scoring=lambda estimator, X, y: estimator.predict_proba(X).mean())
    with refused(model, AttributeError, "CalibratedClassifierCV"):
        model.fit(X, y)


def test_a_fold_without_a_class_is_named():
    X, y = four_clouds(n_samples=80)
    X, y = X[np.argsort(y)], np.sort(y)
    model = SVCCV(cv=KFold(4))
    with refused(model, ValueError, "Fold 0 of cv has no training row of class 0.*StratifiedKFold"):
        model.fit(X, y)


def test_a_fold_whose_class_has_no_weight_is_named():
    X, y = two_clouds(n_samples=80)
    weights = np.where((y == 1) & (np.arange(80) >= 20), 0.0, 1.0)
    model = SVCCV(cv=KFold(4))
    with refused(model, ValueError, "fold 0 of cv, sample_weight is zero .*class '1'"):
        model.fit(X, y, weights)


def test_a_fold_of_targets_without_weight_is_named():
    X, y = two_clouds(n_samples=80)
    weights = np.where(np.arange(80) >= 20, 0.0, 1.0)
    model = SVRCV(cv=KFold(4))
    with refused(model, ValueError, "all training rows of fold 0"):
        model.fit(X, y, weights)


@pytest.mark.parametrize("kind", [SVCCV, SVRCV])
def test_validation_rows_without_weight_are_named(kind):
    X, y = two_clouds(n_samples=80)
    weights = np.where(np.arange(80) < 20, 0.0, 1.0)
    model = kind(cv=KFold(4))
    with refused(model, ValueError, "all validation rows of fold 0"):
        model.fit(X, y, weights)


def test_parameters_that_contradict_each_other():
    X, y = two_clouds(n_samples=60)
    model = SVCCV(break_ties=True, decision_function_shape="ovo")
    with refused(model, ValueError, "break_ties"):
        model.fit(X, y)


def test_a_failed_fit_leaves_an_earlier_one():
    X, y = two_clouds(n_samples=60)
    model = SVCCV(Cs=[1.0], gammas=[0.1], cv=2).fit(X, y)
    model.scoring = lambda estimator, X, y: 1 / 0
    with refused(model, ZeroDivisionError, "division"):
        model.fit(X, y)


def test_fits_that_are_cut_short_are_counted_in_one_warning():
    X, y = two_clouds(n_samples=700, apart=0.2)
    model = SVCCV(Cs=[1.0, 100.0], gammas=[0.1], cv=2, max_iter=3, refit=False)
    with pytest.warns(ConvergenceWarning, match="4 of 4 fits of the search") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_iter=-1).fit(X, y)


@pytest.mark.parametrize("kind", [SVCCV, SVRCV, LinearSVCCV])
def test_what_a_splitter_says_of_other_things_is_its_own(kind):
    model = kind(cv=GroupKFold(3))
    with refused(model, ValueError, "^The 'groups' parameter should not be None"):
        model.fit(np.arange(40.0)[:, None], np.arange(40) % 2)


@pytest.mark.parametrize("kind", [SVCCV, SVRCV, LinearSVCCV])
def test_too_few_rows_for_the_folds_name_the_parameter(kind):
    model = kind()
    with refused(model, ValueError, "2 rows cannot be divided into the folds .* smaller cv"):
        model.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("kind", [SVCCV, LinearSVCCV])
def test_sparse_rows_for_a_machine_of_centred_columns_are_refused(kind):
    X, y = two_clouds(n_samples=60)
    model = kind(Cs=[1.0], cv=2, standardize=True).fit(X, y)
    with refused(model, ValueError, r"X is sparse, but .* X.toarray\(\)"):
        model.predict(sp.csr_array(X))


@pytest.mark.parametrize("kind", [SVCCV, LinearSVCCV])
def test_a_class_of_one_row_is_never_left_out(kind):
    X, y = two_clouds(n_samples=61)
    y = np.where(np.arange(61) == 30, "alone", y.astype(str))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, of the folds
        model = kind(Cs=[1.0]).fit(X, y)
    assert model.n_splits_ == 5
    assert np.isfinite(model.best_score_)
    assert "alone" in model.classes_
