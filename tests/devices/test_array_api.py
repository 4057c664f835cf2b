"""Arrays of other libraries in the CPU's memory, by scikit-learn's array API rules: NumPy, torch
and array-api-strict give one model, and its attributes and answers are of the kind of X."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from lindero.svm import SVC, SVCCV, LinearSVC, NystromSVC
from tests.devices.machines import (
    ATTRIBUTES,
    BINARY,
    MACHINES,
    THREE,
    WEIGHTS,
    WORDS,
    X,
    answers_of,
)

LIBRARIES = ("torch", "array_api_strict")


@pytest.fixture(params=LIBRARIES)
def space(request, monkeypatch):
    """A library, where scikit-learn dispatches."""
    library = pytest.importorskip(request.param)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    with sklearn.config_context(array_api_dispatch=True):
        yield library


def is_of(space, values):
    return type(values).__module__.partition(".")[0] == space.__name__


def convert(space, values):
    return values if values is None or values.dtype.kind == "U" else space.asarray(values)


@pytest.mark.parametrize("name", MACHINES)
def test_the_model_is_that_of_numpy_and_of_the_kind_of_x(name, space):
    machine, y = MACHINES[name]
    rows, targets, counts = (convert(space, part) for part in (X, y, WEIGHTS))
    known = clone(machine).fit(X, y, sample_weight=WEIGHTS)
    model = clone(machine).fit(rows, targets, sample_weight=counts)

    for attribute in ATTRIBUTES:
        value = getattr(model, attribute)
        assert is_of(space, value), attribute
        np.testing.assert_array_equal(np.asarray(value), getattr(known, attribute))
    assert model.certificate_.dual == known.certificate_.dual
    assert model.certificate_.kkt_gap == known.certificate_.kkt_gap
    judged = model.certify(rows, targets, sample_weight=counts)
    assert judged.dual == known.certify(X, y, sample_weight=WEIGHTS).dual
    expected = answers_of(known, X)
    for method, values in answers_of(model, rows).items():
        if expected[method].dtype.kind == "U":
            assert (values == expected[method]).all()
        else:
            assert is_of(space, values), method
            np.testing.assert_array_equal(np.asarray(values), expected[method])
    if hasattr(model, "score"):
        assert model.score(rows, targets) == known.score(X, y)
    here = model.to_cpu()
    assert isinstance(here.dual_coef_, np.ndarray)
    assert (here.support_ == known.support_).all()


def test_other_machines_follow_too(space):
    rows, labels = space.asarray(X), space.asarray(THREE)
    for machine in (LinearSVC(), NystromSVC(n_components=20), SVCCV(Cs=[1], gammas=[0.5], cv=3)):
        model = clone(machine).fit(rows, labels)
        assert is_of(space, model.predict(rows))
        assert is_of(space, model.decision_function(rows))
        assert np.asarray(model.predict(rows)).tolist() == (
            clone(machine).fit(X, THREE).predict(X).tolist()
        )


def test_labels_of_other_kinds(space):
    rows = space.asarray(X)
    assert isinstance(SVC().fit(rows, WORDS).predict(rows), np.ndarray)
    from_numpy = SVC().fit(rows, BINARY)
    assert isinstance(from_numpy.classes_, np.ndarray)
    assert is_of(space, from_numpy.predict(rows))


def test_rows_left_out_and_bounds(space):
    rows, labels = space.asarray(X[:30]), space.asarray(BINARY[:30])
    model = SVC(kernel="linear").fit(rows, labels)
    assert is_of(space, model.leave_one_out(rows, labels))
    assert is_of(space, model.coef_)
    assert model.estimate_xi_alpha(rows, labels).error >= 0


def test_without_dispatch_arrays_are_read_as_numpys():
    torch = pytest.importorskip("torch")
    model = SVC().fit(torch.from_numpy(X), torch.from_numpy(BINARY))
    assert isinstance(model.dual_coef_, np.ndarray)
    assert isinstance(model.predict(torch.from_numpy(X)), np.ndarray)


def test_a_model_outlives_the_dispatch(space):
    model = SVC().fit(space.asarray(X), space.asarray(BINARY))
    expected = model.predict(space.asarray(X))
    with sklearn.config_context(array_api_dispatch=False):
        found = model.predict(X)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == np.asarray(expected).tolist()


def test_bad_rows_are_named(space):
    rows = X.copy()
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN.*row 3, column 1"):
        SVC().fit(space.asarray(rows), BINARY)
    with pytest.raises(ValueError, match="Expected 2D array"):
        SVC().fit(space.asarray(X[:, 0]), BINARY)


SCIKIT_LEARNS_OWN = """
import warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import check_array_api_input as check
from lindero.svm import *
machines = [
    SVC(), SVC(multiclass="ovr"), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM(), CostSensitiveSVC(),
    LinearSVC(), LinearSVR(), NystromSVC(n_components=10),
]
for machine in machines:
    for library, device in (
        ("torch", "cpu"), ("array_api_strict", "CPU_DEVICE"), ("array_api_strict", "device1"),
    ):
        check(type(machine).__name__, machine, library, device, "float64", check_values=True)
print("checked", len(machines))
"""


def test_scikit_learns_own_check_passes(monkeypatch):
    for library in LIBRARIES:
        pytest.importorskip(library)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    done = subprocess.run(
        [sys.executable, "-c", SCIKIT_LEARNS_OWN], capture_output=True, text=True, check=False
    )
    assert done.stdout == "checked 10\n", done.stderr
