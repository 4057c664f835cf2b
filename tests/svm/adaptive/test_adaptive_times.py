"""Times keep their meaning: far dates, fine units, objects, text, and gaps of any length."""

import warnings
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from drifting import off, planes, turning
from numpy.testing import assert_allclose, assert_array_equal
from tests.refusals import refused

from lindero.evaluation import prequential
from lindero.svm import AdaptiveSVC, AdaptiveSVR
from lindero.svm.adaptive.times import TimeAxis, plain_times

X, Y = turning(60)
ORDER = np.random.default_rng(0).permutation(60)
IN_ORDER = AdaptiveSVC(coupling=1e3).fit(X[np.argsort(ORDER)], Y[np.argsort(ORDER)]).coef_[ORDER]


# -- dates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
@pytest.mark.parametrize("far", ["2500-01-01", np.datetime64("9999-12-31")])
def test_after_a_far_date_the_last_hyperplane_answers_and_before_one_the_first(unit, far):
    dates = np.datetime64("2024-01-01", unit) + np.arange(60) * np.timedelta64(1, "D")
    model = AdaptiveSVC(coupling=1.0).fit(X, Y, times=dates)
    assert_allclose(model.decision_function(X, far), model.decision_function(X), atol=1e-12)
    first = X @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(X, "0001-01-01"), first, atol=1e-12)


def test_a_date_that_the_unit_of_the_first_cannot_hold_is_not_learned():
    dates = np.datetime64("2024-01-01", "ns") + np.arange(60) * np.timedelta64(1, "D")
    model = AdaptiveSVC(coupling=1e3).fit(X, Y, times=dates)
    with refused(model, ValueError, r"row 1 is beyond what datetime64\[ns\].*datetime64\[us\]"):
        model.partial_fit(X[:2], Y[:2], times=["2025-01-01", "2500-01-01"])


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_the_finest_steps_of_dates_are_told_apart(unit):
    dates = np.datetime64("2024-01-01", unit) + ORDER * np.timedelta64(1, unit)
    model = AdaptiveSVC(coupling=1e3).fit(X, Y, times=dates)
    assert_array_equal(model.coef_, IN_ORDER)
    assert_array_equal(model.times_, dates)


def test_dates_too_near_each_other_and_too_far_from_the_first_are_refused():
    dates = np.datetime64("2024-01-01", "ns") + ORDER * np.timedelta64(1, "ns")
    dates[0] = np.datetime64("1990-01-01", "ns")
    with pytest.raises(ValueError, match=r"times of rows \d+ and \d+.*float64 cannot tell them"):
        AdaptiveSVC(coupling=1e3).fit(X, Y, times=dates)


def test_durations_are_times_but_not_in_months():
    model = AdaptiveSVC(coupling=1e3).fit(X, Y, times=ORDER * np.timedelta64(1, "ms"))
    assert_array_equal(model.coef_, IN_ORDER)
    assert_array_equal(model.predict(X, np.timedelta64(10**6, "D")), model.predict(X))
    with pytest.raises(ValueError, match="years or months"):
        AdaptiveSVC(coupling=1e3).fit(X, Y, times=ORDER * np.timedelta64(1, "M"))


ZONED = pd.date_range("2024-01-01", periods=60, freq="6h", tz="Europe/Madrid")


@pytest.mark.parametrize(
    "times",
    [
        ZONED,
        pd.Series(ZONED),
        np.asarray(ZONED),
        [date.isoformat() for date in ZONED],
        [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=6 * k) for k in range(60)],
    ],
    ids=["index", "series", "objects", "text", "python"],
)
def test_zones_are_read_without_a_word(times):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AdaptiveSVC(coupling=1e3).fit(X, Y, times=times)
        result = prequential(AdaptiveSVC(coupling=1e3), X, Y, times=times, batch_size=20)
    assert_array_equal(result.model.times_, model.times_)
    assert model.times_.dtype == "datetime64[us]"
    assert_array_equal(np.diff(model.times_), np.timedelta64(6, "h"))


# -- numbers --------------------------------------------------------------------------------------

NANOSECONDS = 1_700_000_000_000_000_000


@pytest.mark.parametrize("kind", [np.int64, np.uint64, object])
def test_whole_numbers_beyond_those_of_float64_keep_their_order(kind):
    times = (NANOSECONDS + ORDER).astype(kind)
    model = AdaptiveSVC(coupling=1e3).fit(X, Y, times=times)
    assert_array_equal(model.coef_, IN_ORDER)
    assert_array_equal(model.times_, NANOSECONDS + ORDER)
    assert model.times_.dtype == np.int64
    at = model.decision_function(X, NANOSECONDS + ORDER)
    assert_allclose(at, np.einsum("ij,ij->i", X, model.coef_) + model.intercept_, atol=1e-12)
    for past, node in ((-(2**63), 0), (0, 0), (2**63 - 1, 59), (1e30, 59)):
        row = int(np.flatnonzero(node == ORDER)[0])
        expected = X @ model.coef_[row] + model.intercept_[row]
        assert_allclose(model.decision_function(X, past), expected, atol=1e-12)


def test_a_stream_of_nanoseconds_is_the_one_of_its_rows():
    times = NANOSECONDS + np.arange(60)
    model = AdaptiveSVC(coupling=1e3, n_scale=60).fit(X[:30], Y[:30], times=times[:30])
    plain = AdaptiveSVC(coupling=1e3, n_scale=60).fit(X[:30], Y[:30])
    for row in range(30, 60):
        model.partial_fit(X[row : row + 1], Y[row : row + 1], times=times[row : row + 1])
        plain.partial_fit(X[row : row + 1], Y[row : row + 1])
    assert_array_equal(planes(model), planes(plain))
    assert_array_equal(model.times_, times)
    with refused(model, ValueError, f"{NANOSECONDS + 59}, but that of row 0 is {NANOSECONDS + 3}"):
        model.partial_fit(X[:1], Y[:1], times=[NANOSECONDS + 3])


def test_whole_numbers_that_cannot_be_told_apart_are_refused():
    times = NANOSECONDS + ORDER
    times[0] = 0
    with pytest.raises(ValueError, match=r"differ by too little.*coarser unit"):
        AdaptiveSVC(coupling=1e3).fit(X, Y, times=times)
    with pytest.raises(ValueError, match=r"below 2\*\*63"):
        AdaptiveSVC(coupling=1e3).fit(X, Y, times=np.uint64(2**63) + ORDER.astype(np.uint64))


@pytest.mark.parametrize(
    "times",
    [
        ORDER.astype(object),
        ORDER.astype(np.float32).astype(object),
        [Decimal(int(k)) for k in ORDER],
        ORDER[:, None],
    ],
    ids=["ints", "floats", "decimals", "column"],
)
@pytest.mark.filterwarnings("ignore:A column-vector")
def test_numbers_in_any_array_are_numbers(times):
    model = AdaptiveSVC(coupling=1e3).fit(X, Y, times=times)
    assert_array_equal(model.coef_, IN_ORDER)
    assert model.times_.dtype == np.float64


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (ORDER * 1j, "complex numbers"),
        ((ORDER * 1j).astype(object), "complex numbers"),
        ([str(k) for k in range(60)], "row 0 is '0', as str.*dtype=float"),
        (np.array(["2024-01-01"] * 59 + ["2024"], dtype=object), "row 59 is '2024'"),
        (np.array([b"10"] * 60), "row 0 is b'10'"),
        ([None] * 60, "row 0 is NaN"),
        ([datetime(2024, 1, 1), None] * 30, "row 1 is NaT"),
        ([datetime(2024, 1, 1), 7] * 30, "row 1 is 7, as int"),
        (np.append(np.arange(59.0), 1.7e308), "row 59 is beyond.*another unit"),
        (np.linspace(-1.0, 1.0, 60) * 1.7e308, "row 0 is beyond"),
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused(times, message):
    model = AdaptiveSVC(coupling=1e3).fit(X, Y)
    with refused(model, ValueError, message):
        model.fit(X, Y, times=times)


def test_a_single_time_is_one_of_no_shape():
    assert plain_times("2024-01-01").shape == ()
    assert_array_equal(TimeAxis(0.0).numbers(3, 2, one_for_all=True), [3.0, 3.0])


# -- gaps -----------------------------------------------------------------------------------------


def gaps_of(*extreme):
    """Times a unit apart but for some gaps in the midst."""
    gaps = np.ones(59)
    gaps[20 : 20 + len(extreme)] = extreme
    return np.append(0.0, np.cumsum(gaps))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
@pytest.mark.parametrize("times", [gaps_of(1e300), np.arange(60) * 1e-320, np.arange(60) * 1e305])
@pytest.mark.parametrize("coupling", [1.0, 1e3, 1e6])
def test_gaps_of_any_length_leave_finite_machines(machine, kernel, times, coupling):
    model = machine(kernel=kernel, time_weighted=True, coupling=coupling)
    model.fit(X, Y, times=times)
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.predict(X, times)).all()
    assert model.fit_status_ == 0


def test_a_gap_without_end_parts_what_is_before_from_what_is_after():
    times = np.append(np.arange(31.0), 1e15 + np.arange(29.0))
    both = AdaptiveSVC(time_weighted=True, coupling=10.0, tol=1e-10).fit(X, Y, times=times)
    first = AdaptiveSVC(coupling=10.0, n_scale=60, tol=1e-10).fit(X[:31], Y[:31])
    assert_allclose(planes(both)[:31], planes(first), atol=1e-4)
    assert off(AdaptiveSVC(coupling=10.0, tol=1e-10).fit(X, Y), both) > 1e-3
