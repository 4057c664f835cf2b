"""Weights from 1e-300 to 1e300: what fits can be saved, and the rest is refused with the reason."""

import numpy as np
import pytest

from lindero import svm
from lindero.persist import load, save

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0).astype(int)
TARGETS = X[:, 0] + RNG.normal(size=60)

WEIGHTS = {
    "1e300": np.full(60, 1e300),
    "1e160": np.full(60, 1e160),
    "1e-300": np.full(60, 1e-300),
    "5e-324": np.full(60, 5e-324),
    "all": 10.0 ** np.random.default_rng(1).uniform(-300, 300, 60),
}

MACHINES = {
    "SVC": (svm.SVC, LABELS),
    "several classes": (svm.SVC, LABELS + (X[:, 1] > 0.5)),
    "NuSVC": (lambda **options: svm.NuSVC(nu=0.1, **options), LABELS),
    "CostSensitiveSVC": (svm.CostSensitiveSVC, LABELS),
    "SVR": (svm.SVR, TARGETS),
    "NuSVR": (svm.NuSVR, TARGETS),
    "OneClassSVM": (svm.OneClassSVM, None),
    "IncrementalSVC": (svm.IncrementalSVC, LABELS),
    "IncrementalSVR": (svm.IncrementalSVR, TARGETS),
    "IncrementalOneClassSVM": (svm.IncrementalOneClassSVM, None),
    "AdaptiveSVC": (svm.AdaptiveSVC, LABELS),
    "AdaptiveSVR": (svm.AdaptiveSVR, TARGETS),
}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.filterwarnings("ignore")
def test_what_fits_can_be_saved(name, weights, kernel, tmp_path):
    make, y = MACHINES[name]
    model, data = make(kernel=kernel), (X,) if y is None else (X, y)
    refused = None
    try:
        model.fit(*data, sample_weight=WEIGHTS[weights])
    except ValueError as error:
        refused = str(error)
    if refused is not None:
        assert "weight" in refused
        assert not hasattr(model, "n_features_in_")
        return
    answers = model.predict(X)
    assert np.isfinite(answers).all()
    save(model, tmp_path / "model.lin")
    np.testing.assert_array_equal(load(tmp_path / "model.lin").predict(X), answers)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("factor", [1e300, 1e160, 1e-160, 1e-300])
@pytest.mark.filterwarnings("ignore")
def test_weights_of_classes(factor, kernel, tmp_path):
    model = svm.SVC(kernel=kernel, class_weight={0: factor}).fit(X, LABELS)
    save(model, tmp_path / "model.lin")
    np.testing.assert_array_equal(load(tmp_path / "model.lin").predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore")
def test_coefficients_end_where_sums_have_no_digit_left():
    """Classes that overlap pull coefficients up to C, whatever it is; a bound of 1e300 is out of
    reach, and a model short of it is not called optimal."""
    model = svm.SVC(kernel="linear", C=1e300).fit(X, LABELS)
    assert np.abs(model.dual_coef_).max() <= 1e60
    assert not model.certificate_.status.startswith("Optimal")
    assert not model.certify(X, LABELS).status.endswith("within tol.")


@pytest.mark.parametrize("machine", [svm.NuSVR(), svm.NuSVR(kernel="linear"), svm.OneClassSVM()])
def test_sums_that_overflow_are_refused_by_the_name_of_the_parameter(machine):
    y = None if isinstance(machine, svm.OneClassSVM) else TARGETS
    with pytest.raises(ValueError, match=r"sample_weight, times C .* Divide sample_weight, or C"):
        machine.fit(X, y, sample_weight=np.full(60, 1e300))
    if y is not None:
        with pytest.raises(ValueError, match="Divide sample_weight, or C, by a constant"):
            machine.set_params(C=1e300).fit(X, y)


def test_margins_in_units_of_weights_that_overflow_are_refused():
    separable, weights = (X[:, 0] > 0).astype(int), np.full(60, 1e306)
    with pytest.raises(ValueError, match=r"sample_weight, whose mean is 1.0e\+306"):
        svm.NuSVC(nu=0.5, kernel="linear").fit(1e6 * X, separable, sample_weight=weights)


@pytest.mark.filterwarnings("ignore")
def test_rankings_with_a_penalty_out_of_reach_can_be_saved(tmp_path):
    for kernel in ("linear", "rbf"):
        model = svm.RankSVM(C=1e299, kernel=kernel).fit(X, LABELS)
        save(model, tmp_path / "model.lin")
        np.testing.assert_array_equal(load(tmp_path / "model.lin").predict(X), model.predict(X))


def test_a_class_that_weighs_nothing_beside_the_other_is_refused():
    weights = np.where(LABELS == 1, 1e300, 1e-300)
    with pytest.raises(ValueError, match="The largest feasible nu is 0; "):
        svm.NuSVC().fit(X, LABELS, sample_weight=weights)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "NuSVR", "OneClassSVM"])
@pytest.mark.filterwarnings("ignore")
def test_what_was_stopped_and_goes_on_can_be_saved(name, tmp_path):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(500, 2)).astype(np.float32)
    data = (rows,) if name == "OneClassSVM" else (rows, (rows[:, 0] > 0).astype(int))
    weights = 10.0 ** rng.uniform(-10, 10, 500)
    options = {"kernel": "linear", "time_limit": 1e-2, "warm_start": True}
    if name != "SVC":
        options["nu"] = 0.01
    model = getattr(svm, name)(**options).fit(*data, sample_weight=weights)
    save(model, tmp_path / "first.lin")
    model.set_params(time_limit=None).fit(*data, sample_weight=weights)
    save(model, tmp_path / "model.lin")
    np.testing.assert_array_equal(load(tmp_path / "model.lin").predict(rows), model.predict(rows))


@pytest.mark.parametrize("name", ["SVC", "NuSVR", "SVR"])
@pytest.mark.parametrize("kernel", ["sigmoid", "rbf", "poly", "linear"])
@pytest.mark.filterwarnings("ignore")
def test_rows_too_small_or_gamma_too_large_for_single_precision(name, kernel):
    """gamma="scale" of rows of 1e-22 is 1e43, which float32 does not hold."""
    rng = np.random.default_rng(6)
    rows = (1e-22 * rng.normal(size=(1100, 3))).astype(np.float32)
    y = (rows[:, 0] > 0).astype(float)
    model = getattr(svm, name)(kernel=kernel, coef0=-1.3, time_limit=20).fit(rows, y)
    assert np.isfinite(model.predict(rows)).all()
    assert np.isfinite(model.certificate_.kkt_gap)
