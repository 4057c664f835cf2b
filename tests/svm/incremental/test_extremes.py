"""Extreme numbers: what is called optimal is optimal, every call ends, and nothing is no number."""

import warnings
from functools import partial

import numpy as np
import pytest
from tests.fuzz import streams
from tests.naive import extended

from lindero.kernels.growing import GrowingKernel
from lindero.kernels.operator import KernelFunction
from lindero.solvers.active_set import ActiveSet, BreakdownError
from lindero.solvers.active_set.point import AT_BOUND
from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR


def separable(n=60):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += 0.2 * (2 * y - 1)
    return X, y


def refuses(call):
    """Whether a call is refused, for the one reason there is."""
    try:
        call()
    except ValueError as error:
        if "too large" in str(error) or "overflow" in str(error):
            return True
        raise
    return False


SCALES = [(1e5, 1e6), (1e9, 1.0), (1e-9, 1e20), (1e60, 1.0), (1e-60, 1e130), (1.0, 1e12)]
SCALES += [(1e70, 1e300)]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(("scale", "C"), SCALES)
def test_units_of_the_data_do_not_matter(scale, C, at_once):
    X, y = separable()
    X = X * scale
    model = IncrementalSVC(kernel="linear", C=C)
    for rows in [slice(None)] if at_once else np.arange(len(X))[:, None]:
        model.partial_fit(X[rows], y[rows])
    z = np.zeros(len(X))
    z[model.support_] = model.dual_coef_[0]
    gap = extended.classification_gap(extended.kernel_matrix(X, "linear"), 2.0 * y - 1.0, C, z)
    assert gap < 1e-9
    assert model.certificate_.status.startswith("Optimal")
    assert model.score(X, y) == 1.0
    assert len(model.support_) > 1


def test_what_is_judged_is_computed_from_the_samples():
    X, y = separable()
    model = IncrementalSVC(C=1.0, gamma=0.5).fit(X, y)
    point = model._machine.active_set.point
    point.a[point.free] = 0.0  # as if swept away
    assert point.f.any()
    certificate = model.certificate_
    assert not certificate.status.startswith("Optimal")
    assert certificate.kkt_gap == model.certify().kkt_gap > 0.1


def test_coefficients_that_do_not_sum_to_zero_are_not_called_optimal():
    model = IncrementalSVC(C=1.0, kernel="linear").fit([[0.0], [0.0], [1.0]], [0, 0, 1])
    model._machine.active_set.point.a[:2] = [0.3, 0.1]
    assert not model.certificate_.status.startswith("Optimal")


def test_a_coefficient_that_is_moved_moves_the_values():
    """Where a motion ends a last bit before its end, the rest is made up for."""
    rows = np.array([[260504.0, 3.0], [-175614.0, 1.0], [91399.0, -2.0], [1e5, 7.0]])
    active_set = ActiveSet(GrowingKernel(KernelFunction("linear"), 2, None, 200))
    point = active_set.point
    new = point.append(rows, np.array([1.0, -1.0, 1.0, -1.0]), -np.ones(4))
    active_set.set_bounds(new, np.full(4, 1e-12))
    on_bound = np.flatnonzero(point.sides == AT_BOUND)
    assert len(on_bound)
    point.a[on_bound] *= 0.999
    point.f[:] = point.exact_f()
    active_set._arrive(on_bound, point.u[on_bound])
    np.testing.assert_allclose(point.f, point.exact_f(), rtol=1e-12)


def test_numbers_that_are_none_end_a_motion():
    active_set = ActiveSet(GrowingKernel(KernelFunction("linear"), 1, None, 200))
    new = active_set.point.append(
        np.array([[1.0], [2.0], [-1.0]]),
        np.array([1.0, -1.0, 1.0]),
        np.array([-1.0, -1.0, -np.inf]),
    )
    with pytest.raises(BreakdownError), np.errstate(all="ignore"):
        active_set.set_bounds(new, np.ones(3))


@pytest.mark.parametrize("machine", [IncrementalSVC, IncrementalSVR, IncrementalOneClassSVM])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-100, 1e-20, 1e20, 1e70, 1e100, 1e160, 1e300])
@pytest.mark.filterwarnings("ignore")
def test_every_fit_ends(machine, kernel, scale):
    X, y = separable(30)
    targets = () if machine is IncrementalOneClassSVM else (y,)
    for params in [{}] if not targets else [{}, {"C": 1e-300}, {"C": 1e300 / 1e3}]:
        model = machine(kernel=kernel, gamma=1.0, **params)
        if refuses(partial(model.fit, X * scale, *targets)):
            continue
        assert model.certificate_ == model.certificate_
        assert np.isfinite(np.asarray(model.predict(X * scale), dtype=float)).all()
        model.forget(3)
        refuses(partial(model.partial_fit, X[3:4] * scale * 2.0, *(t[3:4] for t in targets)))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_a_later_row_that_no_kernel_value_is_of_is_refused(kernel):
    X, y = separable(30)
    model = IncrementalSVC(kernel=kernel, gamma=1.0).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="too large"):
        model.partial_fit(np.full((1, 3), 1e200), [1])
    assert model.shape_fit_ == (30, 3)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_a_model_that_is_not_optimal_comes_with_a_warning():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3)) * [1.0, 1e9, 1e18]
    y = random.integers(0, 2, 40)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = IncrementalSVC(kernel="poly", gamma=1.0, coef0=1.0, C=1e10).fit(X, y)
    if not model.certificate_.status.startswith("Optimal") and model._machine.active_set.point.lost:
        assert any("Rounding" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("first", range(0, 400, 100))
@pytest.mark.filterwarnings("ignore")
def test_streams_of_extreme_rows(first):
    with np.errstate(all="ignore"):
        for seed in range(first, first + 100):
            streams.play(seed)
