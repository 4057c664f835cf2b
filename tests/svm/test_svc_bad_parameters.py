"""Parameters that make no sense: an error that names them, and an estimator left as it was."""

import pytest
from clouds import four_clouds, two_clouds
from sklearn.exceptions import NotFittedError
from tests.refusals import refused

from lindero.errors import LinderoError
from lindero.svm import SVC

NAN, INFINITY = float("nan"), float("inf")

BAD_PARAMETERS = [
    ({"C": -1.0}, "'C' parameter.*range"),
    ({"C": 0}, "'C' parameter.*range"),
    ({"C": NAN}, "'C' parameter.*range"),
    ({"C": -INFINITY}, "'C' parameter.*range"),
    ({"C": "1"}, "'C' parameter.*range"),
    ({"kernel": "gaussian"}, "'kernel' parameter.*'rbf'"),
    ({"kernel": None}, "'kernel' parameter.*'rbf'"),
    ({"solver": "simplex"}, "'solver' parameter.*'interior_point'"),
    ({"solver": "interior_point"}, "solver='interior_point' needs kernel='linear'.*'working_set'"),
    ({"multiclass": "all"}, "'multiclass' parameter.*'ovr'"),
    ({"degree": -1}, "'degree' parameter.*range"),
    ({"degree": 2.5}, "'degree' parameter.*int"),
    ({"gamma": -0.1}, "'gamma' parameter.*range"),
    ({"gamma": NAN}, "'gamma' parameter.*range"),
    ({"gamma": INFINITY}, "'gamma' parameter.*range"),
    ({"gamma": "wide"}, "'gamma' parameter.*'scale'"),
    ({"coef0": NAN}, "'coef0' parameter.*range"),
    ({"coef0": INFINITY}, "'coef0' parameter.*range"),
    ({"tol": 0.0}, "'tol' parameter.*range"),
    ({"tol": -1e-3}, "'tol' parameter.*range"),
    ({"tol": NAN}, "'tol' parameter.*range"),
    ({"cache_size": 0}, "'cache_size' parameter.*range"),
    ({"max_iter": -2}, "'max_iter' parameter.*range"),
    ({"max_iter": 1.5}, "'max_iter' parameter.*int"),
    ({"time_limit": 0}, "'time_limit' parameter.*range"),
    ({"time_limit": -1.0}, "'time_limit' parameter.*range"),
    ({"callback": 3}, "'callback' parameter.*callable"),
    ({"warm_start": "yes"}, "'warm_start' parameter.*bool"),
    ({"break_ties": "yes"}, "'break_ties' parameter.*bool"),
    ({"decision_function_shape": None}, "'decision_function_shape' parameter.*'ovr'"),
    ({"class_weight": "heavy"}, "'class_weight' parameter.*'balanced'"),
    ({"class_weight": {0: 2.0, 7: 3.0}}, "class_weight"),
    ({"class_weight": {0: -2.0}}, "class_weight.*negative"),
    ({"class_weight": {0: NAN}}, "class_weight.*finite"),
    ({"class_weight": {0: INFINITY}}, "class_weight.*finite"),
    ({"class_weight": {0: 0.0}}, "class_weight.*zero"),
]


@pytest.mark.parametrize("fitted", [False, True], ids=["new", "fitted"])
@pytest.mark.parametrize(("params", "message"), BAD_PARAMETERS, ids=str)
def test_a_bad_parameter_is_named_and_changes_nothing(params, message, fitted):
    X, y = two_clouds()
    model = {False: SVC(), True: SVC().fit(X, y)}[fitted]
    model.set_params(**params)
    with refused(model, ValueError, message):
        model.fit(X, y)


def wrong_shape(X, Z):
    return (X @ Z.T)[:, :-1]


def one_number(X, Z):
    return 1.0


def nan_inside(X, Z):
    K = X @ Z.T
    K[-1, -1] = NAN
    return K


def text_inside(X, Z):
    return (X @ Z.T).astype(str)


def complex_inside(X, Z):
    return (X @ Z.T).astype(complex)


def fails(X, Z):
    raise ZeroDivisionError("inside the user's kernel")


@pytest.mark.parametrize("fitted", [False, True], ids=["new", "fitted"])
@pytest.mark.parametrize("n_samples", [60, 600])
@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (wrong_shape, LinderoError, r"kernel returned an array of shape.*must return"),
        (one_number, LinderoError, r"kernel returned an array of shape \(\).*must return"),
        (nan_inside, LinderoError, "kernel returned NaN"),
        (text_inside, LinderoError, "kernel returned"),
        (complex_inside, LinderoError, "kernel returned"),
        (fails, ZeroDivisionError, "inside the user's kernel"),
    ],
)
def test_a_bad_callable_is_named_and_changes_nothing(kernel, error, message, n_samples, fitted):
    X, y = two_clouds(n_samples=n_samples)
    model = {False: SVC(), True: SVC().fit(X, y)}[fitted]
    model.set_params(kernel=kernel)
    with refused(model, error, message):
        model.fit(X, y)


@pytest.mark.parametrize("name", ["predict_proba", "predict_log_proba"])
def test_probabilities_are_absent_and_the_error_points_to_calibration(name):
    model = SVC().fit(*two_clouds())
    assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="CalibratedClassifierCV"):
        getattr(model, name)


def test_an_attribute_that_does_not_exist_is_named():
    with pytest.raises(AttributeError, match=r"SVC.*nonsense"):
        SVC().nonsense  # noqa: B018


def test_probability_false_is_taken():
    X, y = two_clouds()
    with pytest.warns(FutureWarning, match=r"`probability` parameter is deprecated.*calibrate"):
        model = SVC(probability=False).fit(X, y)
    assert model.score(X, y) > 0.5
    assert not hasattr(model, "predict_proba")


def test_weights_of_features_exist_for_the_linear_kernel_only():
    model = SVC().fit(*two_clouds())
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match=r"coef_ .*kernel='linear'"):
        model.coef_  # noqa: B018


@pytest.mark.parametrize("name", ["predict", "decision_function"])
def test_an_unfitted_estimator_says_so(name):
    X, _ = two_clouds()
    with pytest.raises(NotFittedError, match="fit"):
        getattr(SVC(), name)(X)


@pytest.mark.parametrize("name", ["n_support_", "certificate_", "support_", "coef_"])
def test_fitted_attributes_are_absent_before_fit(name):
    assert not hasattr(SVC(kernel="linear"), name)


def test_a_parameter_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="nu"):
        SVC(nu=0.5)


def test_positional_parameters_are_refused_as_in_scikit_learn():
    with pytest.raises(TypeError, match="positional"):
        SVC(1.0)


def test_zero_weight_of_one_of_several_classes_is_refused():
    X, y = four_clouds()
    model = SVC(class_weight={2: 0.0})
    with refused(model, ValueError, "class_weight.*2"):
        model.fit(X, y)
