"""SVC gives what sklearn.svm.SVC gives: parameters, attributes, signs and values."""

import inspect

import numpy as np
import pytest
import sklearn.svm
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal

from lindero.svm import SVC

# LIBSVM keeps kernel rows in float32, so agreement beyond some 1e-6 cannot be asked for.
CLOSE = {"rtol": 1e-5, "atol": 1e-5}

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.2},
    {"kernel": "poly", "degree": 3, "coef0": 0.5},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto", "C": 10.0},
    {"kernel": "rbf", "gamma": 0.05, "C": 0.1},
    {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
]

ATTRIBUTES = [
    "support_",
    "support_vectors_",
    "dual_coef_",
    "intercept_",
    "n_support_",
    "class_weight_",
    "n_iter_",
    "classes_",
]

#: Where data and labels come from, by number of classes.
CLOUDS = {2: two_clouds, 4: four_clouds}


def both(X, y, sample_weight=None, **params):
    """Our fit and scikit-learn's, both to a tight tolerance."""
    params = {"tol": 1e-7, **params}
    ours = SVC(**params).fit(X, y, sample_weight=sample_weight)
    return ours, sklearn.svm.SVC(**params).fit(X, y, sample_weight=sample_weight)


def test_all_parameters_of_scikit_learn_are_accepted_with_the_same_defaults():
    theirs = inspect.signature(sklearn.svm.SVC).parameters
    ours = inspect.signature(SVC).parameters
    assert {name: ours[name].default for name in theirs} == {
        name: parameter.default for name, parameter in theirs.items()
    }


@pytest.mark.parametrize("params", KERNELS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_decisions_and_predictions_agree(params, n_classes):
    X, y = CLOUDS[n_classes]()
    new, _ = CLOUDS[n_classes](seed=1)
    ours, theirs = both(X, y, decision_function_shape="ovo", **params)
    assert_allclose(ours.decision_function(new), theirs.decision_function(new), **CLOSE)
    assert_array_equal(ours.predict(new), theirs.predict(new))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_coefficients_agree_one_by_one(kernel, n_classes):
    X, y = CLOUDS[n_classes]()
    ours, theirs = both(X, y, kernel=kernel)
    assert_array_equal(ours.support_, theirs.support_)
    assert_array_equal(ours.n_support_, theirs.n_support_)
    assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-4, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, **CLOSE)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_linear_weights_agree(n_classes):
    X, y = CLOUDS[n_classes]()
    ours, theirs = both(X, y, kernel="linear")
    assert ours.coef_.shape == theirs.coef_.shape
    assert_allclose(ours.coef_, theirs.coef_, **CLOSE)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_fitted_attributes_have_the_same_shape_and_kind(attribute, n_classes):
    ours, theirs = both(*CLOUDS[n_classes]())
    mine, other = getattr(ours, attribute), getattr(theirs, attribute)
    assert mine.shape == other.shape
    assert mine.dtype.kind == other.dtype.kind


def test_scalar_attributes_are_the_same():
    ours, theirs = both(*two_clouds())
    assert ours.fit_status_ == theirs.fit_status_ == 0
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.n_features_in_ == theirs.n_features_in_


def test_no_fitted_attribute_of_scikit_learn_is_missing():
    ours, theirs = both(*two_clouds(), kernel="linear")
    public = {name for name in vars(theirs) if name.endswith("_") and not name.startswith("_")}
    assert public - set(dir(ours)) == set()


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_decision_function_has_the_same_shape_and_values(shape, n_classes):
    X, y = CLOUDS[n_classes]()
    ours, theirs = both(X, y, decision_function_shape=shape)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), **CLOSE)


@pytest.mark.parametrize("break_ties", [False, True])
def test_predictions_agree_with_and_without_breaking_ties(break_ties):
    X, y = four_clouds(apart=0.3)
    new, _ = four_clouds(n_samples=2000, seed=1, apart=0.3)
    ours, theirs = both(X, y, break_ties=break_ties)
    assert_array_equal(ours.predict(new), theirs.predict(new))


def test_votes_and_largest_values_differ_somewhere():
    """Without this the test above could not tell one rule from the other."""
    X, y = four_clouds(apart=0.3)
    new, _ = four_clouds(n_samples=2000, seed=1, apart=0.3)
    model = SVC().fit(X, y)
    assert (model.predict(new) != np.argmax(model.decision_function(new), axis=1)).any()


def test_the_second_class_is_the_positive_one():
    X = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    model = SVC(kernel="linear").fit(X, ["a", "a", "b", "b"])
    assert model.coef_[0, 0] > 0
    assert model.decision_function([[3.0]])[0] > 0
    assert_array_equal(model.predict([[3.0]]), ["b"])


def test_in_a_pair_of_several_classes_the_first_is_the_positive_one():
    X = np.array([[-4.0], [-3.0], [0.0], [0.5], [3.0], [4.0]])
    y = [0, 0, 1, 1, 2, 2]
    model = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    assert (model.decision_function([[-5.0]])[0] > 0).all()
