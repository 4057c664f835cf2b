"""The page of a stream: time axis, change points, weights over time."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from lindero.bayes import NaiveBayes
from lindero.evaluation import prequential
from lindero.evaluation.change_points import find_changes, find_error_changes
from lindero.report import write_stream_report
from lindero.report.streams import draw_error_curves
from lindero.svm import AdaptiveSVC, AdaptiveSVR


@pytest.fixture(scope="module")
def stream():
    """Two clouds that change places after 300 rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    side = np.where(np.arange(600) < 300, 1.5, -1.5)
    X = rng.normal(size=(600, 2)) * 0.8
    X[:, 0] += side * (2 * y - 1)
    return X, y


def page_of(result, folder, **options):
    write_stream_report(result, folder / "stream.html", **options)
    return (folder / "stream.html").read_text(encoding="utf-8")


def test_change_points_are_found_where_they_are(stream):
    rng = np.random.default_rng(1)
    steady = rng.random(500) < 0.9
    assert find_changes(steady) == []
    changed = np.concatenate([steady, rng.random(500) < 0.5])
    (place,) = find_changes(changed)
    assert abs(place - 500) < 30
    assert find_changes(np.ones(500)) == []
    assert find_changes([True, False]) == []


def test_a_stream_without_change_seldom_has_change_points():
    rng = np.random.default_rng(2)
    found = [bool(find_changes(rng.random(400) < 0.8)) for _ in range(100)]
    assert sum(found) <= 3


def test_the_page_has_dates_and_change_points(stream, tmp_path):
    X, y = stream
    result = prequential(NaiveBayes(), X, y)
    dates = np.datetime64("2024-01-01") + np.arange(600)
    page = page_of(result, tmp_path, title="A <stream>", times=dates, command="lindero stream x")
    assert "A &lt;stream&gt;" in page
    assert "Errors over time" in page
    assert "Change points" in page
    assert re.search(r">2024-\d\d-\d\d<", page)
    assert "<code>lindero stream x</code>" in page
    assert page.count("<svg") == 2


def test_a_page_of_numbers(stream, tmp_path):
    X = stream[0][:160]
    numbers = 2.0 * X[:, 0] + np.where(np.arange(160) < 80, 0.0, 8.0)
    dates = np.datetime64("2024-01-01") + np.arange(160)
    result = prequential(AdaptiveSVR(coupling=1e6), X, numbers, warm_up=20, times=dates)
    page = page_of(result, tmp_path)
    assert "Mean absolute error in the last" in page
    assert "MAE before" in page
    assert re.search(r">2024-\d\d-\d\d<", page)  # the times of the result


def test_changes_of_absolute_errors_are_found_and_single_large_ones_are_not():
    rng = np.random.default_rng(3)
    errors = np.abs(rng.normal(size=800))
    errors[100] = 1e9
    assert find_error_changes(errors) == []
    errors[500:] *= 3.0
    errors[10] = np.nan
    (place,) = find_error_changes(errors)
    assert abs(place - 500) < 30
    found = [bool(find_error_changes(rng.standard_cauchy(400) ** 2)) for _ in range(100)]
    assert sum(found) <= 3


class Talking(NaiveBayes):
    def describe_drift(self):
        return ["It moved <along> a."]

    def warn_unreliable(self):
        return "Too fast."


def test_drift_is_on_the_page_in_words(stream, tmp_path):
    page = page_of(prequential(Talking(), *stream), tmp_path)
    assert "It moved &lt;along&gt; a." in page
    assert "Warning: Too fast." in page
    assert "Drift" not in page_of(prequential(NaiveBayes(), *stream), tmp_path)


class Recording(NaiveBayes):
    """Keeps some of what it was, as adaptive machines on a stream do."""

    history_ = SimpleNamespace(
        rows=np.array([150, 300, 450]),
        coupling=np.array([1e6, 1e2, 1e4]),
        changes=(SimpleNamespace(row=301),),
    )
    coef_ = np.array([[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.1], [-1.2, 0.1]])


def test_speed_and_weights_of_a_machine_that_records_them(stream, tmp_path):
    page = page_of(prequential(Recording(), *stream), tmp_path)
    assert "Speed of change" in page
    assert "changes that the machine noticed" in page
    assert "Weights over time" in page
    assert "Speed of change" not in page_of(prequential(NaiveBayes(), *stream), tmp_path)


def test_weights_of_a_moving_boundary_are_drawn(stream, tmp_path):
    X, y = stream
    model = AdaptiveSVC(coupling=1000.0)
    result = prequential(model, X[260:340], y[260:340], times=np.arange(80))
    page = page_of(result, tmp_path, times=np.arange(80.0))
    assert "Weights over time" in page
    assert ">x0</text>" in page
    assert "Weights over time" not in page_of(prequential(NaiveBayes(), X, y), tmp_path)


def test_curves_of_several_machines_share_a_picture():
    rows = np.arange(1, 50)
    curves = {"one": (rows, rows / 100), "two": (rows, rows / 200), "three": (rows, rows * 0.0)}
    for width in (760, 350):
        picture = draw_error_curves(curves, width, shaded=(10, 20), changes=[15])
        assert picture.count("<polyline") == 3
        assert "e+" not in picture
