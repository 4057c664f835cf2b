"""scikit-learn's own tests of its support vector machines, run with lindero's in their place.

The files are read where scikit-learn is installed; nothing of them is copied. Tests of other
classes (LinearSVC, LinearSVR) are left out. What differs on purpose is listed below, each with its
reason, and is expected to fail: a difference that goes away has to leave the list, too.
"""

import importlib.util
import re
from types import SimpleNamespace

import pytest
import sklearn.svm

import lindero.svm

OURS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")

_NEGATIVE = "Negative weights of rows are an error here, and not rows left out."
_SMALL = "Six rows are solved exactly, within any limit of iterations."

#: Test (with the values it is run with, where only some fail), and why it differs.
DIFFERENCES = {
    "test_svm_svr_errors": "A kernel that returns a block of the wrong shape is refused by fit.",
    "test_svm_tweak_params": "Writes to scikit-learn's private copy of the coefficients.",
    "test_svm_svc_raises_error_internal_representation": "Writes to a private attribute.",
    **dict.fromkeys(
        [
            f"test_svm_negative_sample_weights_mask_all_samples[weights-are-negative-{kind}]"
            for kind in OURS
        ]
        + ["test_svm_negative_weights_svc_leave_just_one_label"]
        + [
            f"test_svm_{test}[partial-mask-label-1-{kind}]"
            for test, kinds in (
                ("negative_weights_svc_leave_two_labels", ("SVC", "NuSVC")),
                ("negative_weight_equal_coeffs", ("SVC", "NuSVC", "NuSVR")),
            )
            for kind in kinds
        ],
        _NEGATIVE,
    ),
    "test_svm_bad_input": "A machine that was fitted to dense rows may predict sparse ones.",
    "test_svm_libsvm_convergence_warnings": _SMALL,
    "test_sparse_timeout": _SMALL,
    "test_svm_custom_kernel_not_array_input": (
        "Its kernel is right only between a list and itself; predictions here ask for values "
        "between new rows and support vectors, not all training rows."
    ),
}

#: Which rows are support vectors decides whether these fail, and rounding decides that.
BY_ROUNDING = {"test_svm_custom_kernel_not_array_input[SVR]"}

#: Tests that enter none of our classes.
OF_OTHERS = re.compile("linear_?sv|liblinear|lsvc|crammer|dual_auto|linear_svm")


def load_tests(name):
    """A fresh copy of a module of scikit-learn's tests that knows our classes under its names."""
    spec = importlib.util.find_spec(f"sklearn.svm.tests.{name}")
    if spec is None:
        pytest.skip("scikit-learn is installed without its tests", allow_module_level=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(pytest.mark), "thread_unsafe", lambda test: test)  # a mark of theirs
        for kind in OURS:
            patch.setattr(sklearn.svm, kind, getattr(lindero.svm, kind))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.svm = SimpleNamespace(**vars(sklearn.svm))
    return module


def collect(name):
    """Its tests that concern us, by names that say where they are from."""
    return {
        f"test_{name.removeprefix('test_')}_{key.removeprefix('test_')}": test
        for key, test in vars(load_tests(name)).items()
        if key.startswith("test_") and callable(test) and not OF_OTHERS.search(key)
    }


globals().update(collect("test_svm"), **collect("test_sparse"))


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(autouse=True)
def _expected(request):
    node = request.node
    reason = DIFFERENCES.get(node.name) or DIFFERENCES.get(node.originalname)
    if reason:
        strict = node.name not in BY_ROUNDING
        request.applymarker(pytest.mark.xfail(reason=reason, strict=strict))
