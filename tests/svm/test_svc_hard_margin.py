"""C = inf: the largest margin, or an error that names the samples in the way."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import two_clouds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import NotSeparableError
from lindero.reproduce.lectures import make_separable
from lindero.solvers.solution import Status
from lindero.svm import SVC

INFINITY = float("inf")

#: From the default down to less than double precision can tell.
TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14)

XOR = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
XOR_LABELS = np.array([1, -1, -1, 1])


def xor_machine(**params):
    return SVC(C=INFINITY, kernel="poly", degree=2, gamma=1, coef0=1, **params)


def separated(n_classes=2, per_class=20, seed=0):
    """Tight clouds around points of a circle."""
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    angle = 2 * np.pi * y / n_classes
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * 5
    return X + random.uniform(-0.5, 0.5, size=X.shape), y


def test_xor_has_the_known_solution():
    model = xor_machine().fit(XOR, XOR_LABELS)
    assert_array_equal(np.sort(model.support_), [0, 1, 2, 3])
    assert_allclose(model.dual_coef_[0], XOR_LABELS[model.support_] / 8, atol=1e-8)
    assert_allclose(model.intercept_, 0, atol=1e-8)
    grid = np.random.default_rng(0).normal(size=(50, 2))
    assert_allclose(model.decision_function(grid), grid[:, 0] * grid[:, 1], atol=1e-8)


def test_the_margin_of_xor_is_the_square_root_of_two():
    model = xor_machine().fit(XOR, XOR_LABELS)
    squared_norm = 2 * model.certificate_.dual  # at the optimum Σa = ‖w‖², so dual = ‖w‖²/2
    assert_allclose(1 / np.sqrt(squared_norm), np.sqrt(2), atol=1e-8)
    assert_allclose(model.certificate_.duality_gap, 0, atol=1e-8)


def test_xor_from_its_kernel_matrix_is_the_same():
    matrix = (XOR @ XOR.T + 1) ** 2
    model = SVC(C=INFINITY, kernel="precomputed").fit(matrix, XOR_LABELS)
    assert_allclose(model.decision_function(matrix), XOR_LABELS, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_hard_margin_is_the_limit_of_a_large_finite_c(kernel, form):
    X, y = separated()
    hard = SVC(C=INFINITY, kernel=kernel, gamma=0.1, tol=1e-8).fit(form(X), y)
    soft = SVC(C=1e6, kernel=kernel, gamma=0.1, tol=1e-8).fit(form(X), y)
    assert_allclose(hard.decision_function(X), soft.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "working_set", "interior_point"])
def test_all_rows_are_beyond_the_margin_and_some_on_it(solver):
    X, y = separated()
    model = SVC(C=INFINITY, kernel="linear", tol=1e-8, solver=solver).fit(X, y)
    reach = model.decision_function(X) * np.where(y == 1, 1, -1)
    assert_allclose(reach.min(), 1, atol=1e-6)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_several_separable_classes_have_hard_margins(multiclass):
    X, y = separated(n_classes=3)
    model = SVC(C=INFINITY, kernel="linear", multiclass=multiclass, tol=1e-8).fit(X, y)
    assert_array_equal(model.predict(X), y)
    assert model.certificate_.kkt_gap <= 1e-8


def test_overlapping_clouds_are_an_error_that_says_so():
    X, y = two_clouds()
    with pytest.raises(NotSeparableError, match=r"C=inf.*finite C") as caught:
        SVC(C=INFINITY, kernel="linear").fit(X, y)
    assert caught.value.samples


def test_the_error_names_the_one_row_on_the_wrong_side():
    X, y = separated()
    y[3] = 1  # in the middle of the other class
    with pytest.raises(NotSeparableError, match=r"\b3\b") as caught:
        SVC(C=INFINITY, kernel="linear").fit(X, y)
    assert 3 in caught.value.samples
    assert len(caught.value.samples) < 5


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_with_several_classes_the_error_names_rows_of_the_whole_table(multiclass):
    X, y = separated(n_classes=3)
    X[45] = X[40:60].mean(axis=0)  # in the middle of class 2, beyond the rows of any single pair
    y[45] = 1
    with pytest.raises(NotSeparableError, match=r"\b45\b") as caught:
        SVC(C=INFINITY, kernel="linear", multiclass=multiclass).fit(X, y)
    assert 45 in caught.value.samples


def test_rows_of_weight_zero_are_not_counted_when_rows_are_named():
    X, y = separated()
    y[30] = 0
    weights = np.ones(len(y))
    weights[:10] = 0
    with pytest.raises(NotSeparableError) as caught:
        SVC(C=INFINITY, kernel="linear").fit(X, y, weights)
    assert 30 in caught.value.samples


def test_a_wrong_row_of_weight_zero_does_not_matter():
    X, y = separated()
    y[3] = 1
    weights = np.ones(len(y))
    weights[3] = 0
    model = SVC(C=INFINITY, kernel="linear").fit(X, y, weights)
    right = np.arange(len(y)) != 3
    assert_array_equal(model.predict(X)[right], y[right])


def test_two_equal_rows_of_different_classes_are_not_separable_by_any_kernel():
    X, y = separated()
    X[0] = X[-1]
    with pytest.raises(NotSeparableError) as caught:
        SVC(C=INFINITY, kernel="rbf").fit(X, y)
    assert set(caught.value.samples) & {0, len(y) - 1}


def test_the_error_survives_pickling():
    error = NotSeparableError("rows 3 and 7", [3, 7])
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.samples == (3, 7)


def test_a_failed_fit_leaves_no_trace():
    X, y = two_clouds()
    model = SVC(C=INFINITY, kernel="linear")
    before = dict(vars(model))
    with pytest.raises(NotSeparableError):
        model.fit(X, y)
    assert vars(model) == before


def on_two_sides(seed, n_samples):
    """Rows on the two sides of a plane, with a narrow or a wide gap and columns of any scale."""
    random = np.random.default_rng(seed)
    n_features = 1 + seed % 6
    normal = random.normal(size=n_features)
    normal /= np.linalg.norm(normal)
    X = random.normal(size=(n_samples, n_features)) * 10.0 ** random.uniform(-1, 1, n_features)
    height = X @ normal
    y = np.where(height > np.median(height), 1, -1)
    X += (y * 10.0 ** random.uniform(-2, 0))[:, None] * normal
    return X + random.normal(size=n_features) * 10.0 ** random.uniform(-1, 1), y


def certificates(X, y, C):
    """One per tolerance, of the model as it is; what the fit said of it must agree."""
    found = []
    for tol in TOLERANCES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SVC(kernel="linear", C=C, tol=tol).fit(X, y)
        judged = model.certify(X, y)
        reached = judged.kkt_gap <= tol and judged.accuracy <= tol
        assert (model.certificate_.status == Status.OPTIMAL.value) == reached, tol
        found.append(judged)
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_margin_of_three_rows_is_exact_whatever_tol_is(seed):
    for judged in certificates(*make_separable(seed, noise=True), INFINITY):
        assert abs(judged.duality_gap) <= 1e-11


@pytest.mark.parametrize("n_samples", [28, 200])
def test_small_hard_margins_are_exact_whatever_tol_is(n_samples):
    for seed in range(20):
        for judged in certificates(*on_two_sides(seed, n_samples), INFINITY):
            assert abs(judged.duality_gap) <= 2e-9 * judged.primal, seed


@pytest.mark.parametrize("C", [INFINITY, 1e4, 1e9])
@pytest.mark.parametrize(("n_samples", "n_seeds"), [(600, 12), (6_000, 3)])
def test_a_smaller_tol_never_ends_farther_from_the_optimum(C, n_samples, n_seeds):
    for seed in range(n_seeds):
        gaps = [judged.kkt_gap for judged in certificates(*on_two_sides(seed, n_samples), C)]
        least = np.minimum.accumulate(gaps)
        # Near what rounding leaves, paths that end elsewhere differ by a little.
        assert (gaps <= 3 * least + 1e-8).all(), (seed, gaps)
