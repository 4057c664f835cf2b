"""SVC and NuSVC with probability=True: curves inside the machine, as in scikit-learn."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.svm import SVC, NuSVC, calibrate
from lindero.svm.probability import couple_pairs, fit_rising_curve, put_first

pytestmark = pytest.mark.filterwarnings("ignore:The `probability`:FutureWarning")

_FOLDS = "A row given twice can be in two folds, a row of weight 2 cannot."


@parametrize_with_checks(
    [SVC(probability=True), NuSVC(nu=0.2, probability=True)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": _FOLDS,
        "check_sample_weight_equivalence_on_sparse_data": _FOLDS,
    },
)
def test_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


MACHINES = [lambda **p: SVC(**p), lambda **p: NuSVC(nu=0.2, **p)]


@pytest.mark.parametrize("make", MACHINES)
@pytest.mark.parametrize("data", [two_clouds, four_clouds])
@pytest.mark.parametrize("params", [{}, {"multiclass": "ovr"}, {"break_ties": True}], ids=str)
def test_the_most_probable_class_is_the_prediction(make, data, params):
    X, y = data(150, seed=3, apart=0.7)
    new, _ = data(3000, seed=4, apart=0.7)
    labels = np.array(["d", "a", "c", "b"])[y]
    model = make(probability=True, **params).fit(X, labels)
    shares = model.predict_proba(new)
    assert shares.shape == (3000, len(model.classes_))
    assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares > 0).all()
    assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(new))
    assert_allclose(np.exp(model.predict_log_proba(new)), shares)


@pytest.mark.parametrize("make", MACHINES)
def test_predictions_are_those_without_probabilities(make):
    X, y = four_clouds(200, apart=1.0)
    assert_array_equal(make(probability=True).fit(X, y).predict(X), make().fit(X, y).predict(X))


@pytest.mark.parametrize("weights", [[0.5, 0.5], [0.95, 0.05]], ids=str)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_probabilities_are_as_good_as_scikit_learns(weights, class_weight):
    X, y = make_classification(1200, 8, weights=weights, flip_y=0.1, random_state=0)
    params = {"probability": True, "class_weight": class_weight, "random_state": 0}
    ours = SVC(**params).fit(X[:600], y[:600]).predict_proba(X[600:])
    theirs = sklearn.svm.SVC(**params).fit(X[:600], y[:600]).predict_proba(X[600:])
    assert_allclose(
        roc_auc_score(y[600:], ours[:, 1]), roc_auc_score(y[600:], theirs[:, 1]), atol=0.01
    )
    if class_weight is None:  # else p = 1/2 is not where costs draw the boundary
        assert log_loss(y[600:], ours) <= log_loss(y[600:], theirs) + 0.01


def test_several_classes_are_as_good_as_scikit_learns():
    X, y = make_classification(900, 8, n_informative=6, n_classes=4, flip_y=0.1, random_state=0)
    params = {"probability": True, "random_state": 0}
    ours = SVC(**params).fit(X[:500], y[:500]).predict_proba(X[500:])
    theirs = sklearn.svm.SVC(**params).fit(X[:500], y[:500]).predict_proba(X[500:])
    assert log_loss(y[500:], ours) <= log_loss(y[500:], theirs) + 0.02
    apart = calibrate(SVC()).fit(X[:500], y[:500]).predict_proba(X[500:])
    assert log_loss(y[500:], ours) <= log_loss(y[500:], apart) + 0.05


def test_larger_values_are_more_probable_strictly():
    X, y = make_classification(400, 5, weights=[0.9], flip_y=0.1, random_state=1)
    model = SVC(probability=True, class_weight="balanced").fit(X, y)
    order = np.argsort(model.decision_function(X))
    assert (np.diff(model.predict_proba(X)[order, 1]) >= 0).all()
    values, shares = model.decision_function(X), model.predict_proba(X)[:, 1]
    assert_allclose(roc_auc_score(y, shares), roc_auc_score(y, values))


def test_the_warning_names_the_other_way_and_the_users_line():
    X, y = two_clouds()
    with pytest.warns(
        FutureWarning, match=r"`probability` parameter.*lindero.svm.calibrate"
    ) as told:
        SVC(probability=True).fit(X, y)
    assert told[0].filename == __file__
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC().fit(X, y)


def test_methods_are_there_with_probability_only():
    X, y = two_clouds()
    model = SVC(probability=True)
    assert hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    model.probability = True
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        model.predict_proba(X)
    assert SVC.predict_proba.__doc__.startswith("The probability of each class")


def test_true_may_be_numpys():
    X, y = two_clouds()
    model = SVC(probability=np.True_).fit(X, y)
    assert_allclose(model.predict_proba(X), SVC(probability=True).fit(X, y).predict_proba(X))
    assert not hasattr(SVC(probability=np.False_), "predict_proba")


def test_a_fit_without_probabilities_forgets_the_curves_of_the_last():
    X, y = two_clouds()
    model = SVC(probability=True).fit(X, y)
    model.set_params(probability=False).fit(X, y).set_params(probability=True)
    with pytest.raises(NotFittedError):
        model.predict_proba(X)


def test_folds_are_drawn_by_random_state_and_else_always_alike():
    X, y = two_clouds(120, apart=1.0)
    first = SVC(probability=True).fit(X, y).predict_proba(X)
    assert_array_equal(SVC(probability=True).fit(X, y).predict_proba(X), first)
    assert (SVC(probability=True, random_state=7).fit(X, y).predict_proba(X) != first).any()


def test_kernels_of_all_kinds():
    X, y = four_clouds(160, apart=1.0)
    given = SVC(kernel="precomputed", probability=True).fit(X @ X.T, y)
    linear = SVC(kernel="linear", solver="working_set", probability=True).fit(X, y)
    own = SVC(kernel=lambda a, b: a @ b.T, probability=True).fit(X, y)
    assert_allclose(given.predict_proba(X @ X.T), linear.predict_proba(X), atol=0.02)
    assert_allclose(own.predict_proba(X), linear.predict_proba(X), atol=0.02)


def test_rows_of_weight_zero_count_for_nothing():
    X, y = two_clouds(200)
    off = np.arange(200) % 5 == 0
    mixed, weights = np.where(off, 1 - y, y), np.where(off, 0.0, 2.0)
    weighted = SVC(gamma=0.3, probability=True).fit(X, mixed, sample_weight=weights)
    clean = SVC(gamma=0.3, probability=True).fit(X[~off], y[~off], weights[~off])
    assert_allclose(weighted.predict_proba(X), clean.predict_proba(X), atol=1e-6)


def test_a_class_of_a_single_row_is_said():
    X = np.array([[0.0], [1.0], [2.0]])
    with pytest.warns(UserWarning, match="single row"):
        model = SVC(probability=True).fit(X, [0, 0, 1])
    assert model.predict_proba(X).shape == (3, 2)


def test_a_share_too_large_for_a_fold_is_lowered_there():
    X, y = two_clouds(23)
    y = np.array([0] * 9 + [1] * 14)
    largest = 2 * 9 / 23
    model = NuSVC(nu=largest, probability=True).fit(X, y)
    assert model.predict_proba(X).shape == (23, 2)


def test_clones_and_cross_validation():
    X, y = two_clouds(120, apart=1.5)
    model = clone(SVC(probability=True))
    assert cross_val_score(model, X, y, scoring="neg_log_loss", cv=3).mean() > -0.7
    assert_allclose(model.fit(X, y).predict_proba(X[:1]).sum(), 1.0)


def test_curves_are_scikit_learns_attributes_and_warn():
    X, y = four_clouds(120)
    model = SVC(probability=True).fit(X, y)
    with pytest.warns(FutureWarning, match="`probA_` was deprecated"):
        a = model.probA_
    with pytest.warns(FutureWarning, match="`probB_` was deprecated"):
        b = model.probB_
    assert a.shape == b.shape == (6,)
    assert (a <= 0).all()


# -- parts ----------------------------------------------------------------------------------------


def test_the_curve_is_the_most_likely_one():
    random = np.random.default_rng(0)
    f = random.normal(size=4000)
    positive = random.uniform(size=4000) < 1 / (1 + np.exp(-2.0 * f + 0.5))
    a, b = fit_rising_curve(f, positive, np.ones(4000))
    assert_allclose([a, b], [-2.0, 0.5], atol=0.2)
    scaled = fit_rising_curve(1e6 * f, positive, np.ones(4000))
    assert_allclose(scaled, [a / 1e6, b], rtol=1e-4)
    twice = fit_rising_curve(np.tile(f, 2), np.tile(positive, 2), np.full(8000, 0.5))
    assert_allclose(twice, [a, b], rtol=1e-6)
    assert fit_rising_curve(-f, positive, np.ones(4000))[0] == 0.0
    assert np.isfinite(
        fit_rising_curve(np.zeros(4), np.array([True, False, True, True]), np.ones(4))
    ).all()


def test_pairs_of_consistent_shares_are_those_shares():
    shares = np.random.default_rng(0).dirichlet(np.ones(5), size=50)
    pairs = np.column_stack([
        shares[:, i] / (shares[:, i] + shares[:, j]) for i in range(5) for j in range(i + 1, 5)
    ])  # fmt: skip
    assert_allclose(couple_pairs(pairs, 5), shares, atol=1e-6)


def test_the_nearest_shares_that_agree():
    shares = np.array([[0.5, 0.3, 0.2], [0.4, 0.35, 0.25], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    found = put_first(shares, np.array([1, 2, 1, 0]))
    assert_array_equal(found.argmax(axis=1), [1, 2, 1, 0])
    expected = [[0.4, 0.4, 0.2], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.5, 0.3], [0.45, 0.1, 0.45]]
    assert_allclose(found, expected, atol=1e-7)
