"""Pictures of machines that move: paths of hyperplanes, and boundaries at several instants."""

import numpy as np
import pandas as pd
import pytest

from lindero.data import make_rotating
from lindero.plot import EvolutionDisplay, PathDisplay
from lindero.plot.evolution import shutil
from lindero.svm import SVC, AdaptiveSVC, AdaptiveSVR

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def rotating():
    X, y = make_rotating(160, random_state=0)
    return X, y, AdaptiveSVC(coupling=1e4).fit(X, y)


@pytest.fixture(scope="module")
def several():
    """Three classes that change places."""
    rng = np.random.default_rng(0)
    y = np.arange(180) % 3
    angle = 2 * np.pi * y / 3 + np.linspace(0, 2, 180)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(180, 2))
    return X, y, AdaptiveSVC(coupling=1e4).fit(X, y)


@pytest.fixture(scope="module")
def turning_line():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 160)
    y = x * np.linspace(-2, 2, 160)
    return x[:, None], y, AdaptiveSVR(coupling=1e4).fit(x[:, None], y)


def test_the_path_of_a_machine_is_what_the_machine_says(rotating):
    _, _, model = rotating
    display = PathDisplay.from_estimator(model, names=["left", "up"])
    weights, offset, drift = display.charts
    assert set(weights.curves) == {"left", "up"}
    np.testing.assert_array_equal(weights.curves["up"][1], model.coef_[:, 1])
    np.testing.assert_array_equal(offset.curves["b"][1], model.intercept_)
    np.testing.assert_array_equal(drift.curves["drift"][1], model.drift_)
    assert [ax.get_ylabel() for ax in display.axes_] == ["weight", "b", "drift"]
    assert display.axes_[-1].get_xlabel() == "row"
    assert display.axes_[-1].get_ylim()[0] == 0.0
    assert [line.get_label() for line in display.lines_[0]] == list(weights.curves)


def test_a_stream_has_the_rows_that_matter_too(rotating):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 100))
    y = np.where(np.arange(1500) < 700, X[:, 0], X[:, 1]) > 0
    display = PathDisplay.from_estimator(AdaptiveSVC().partial_fit(X, y), theme="dark")
    assert len(display.charts) == 4
    assert "the 6 of 100 that move most" in display.axes_[0].get_title(loc="left")
    assert {"x0", "x1"} <= set(display.charts[0].curves)
    assert display.axes_[3].get_yscale() == "log"


def test_dates_and_classes_of_a_path(several):
    X, y, model = several
    with pytest.raises(ValueError, match="not a class"):
        PathDisplay.from_estimator(model, of=7)
    display = PathDisplay.from_estimator(model, of=1)
    np.testing.assert_array_equal(display.charts[1].curves["b"][1], model.intercept_[1])
    assert "class 1 against the rest" in display.charts[0].title
    days = np.datetime64("2024-01-01") + np.arange(180)
    dated = AdaptiveSVC(coupling=100.0).fit(X, y == 1, times=days)
    display = PathDisplay.from_estimator(dated)
    assert display.charts[0].dates
    assert np.asarray(display.lines_[1][0].get_xdata()).dtype.kind == "M"


def test_regressions_have_a_path_and_others_do_not(turning_line):
    _, _, model = turning_line
    assert len(PathDisplay.from_estimator(model).charts) == 3
    X = np.arange(20.0)[:, None]
    with pytest.raises(ValueError, match="SVC has no path over time"):
        PathDisplay.from_estimator(SVC().fit(X, X[:, 0] > 9))
    with pytest.raises(ValueError, match="names has 2 names for 1 feature"):
        PathDisplay.from_estimator(model, names=["a", "b"])
    with pytest.raises(ValueError, match="3 axes are needed, and 1 were given"):
        PathDisplay.from_estimator(model, axes=[plt.subplots()[1]])


def test_instants_show_the_boundary_of_their_time(rotating):
    X, y, model = rotating
    display = EvolutionDisplay.from_estimator(model, X, y, instants=[20, 80, 140])
    assert [ax.get_title() for ax in display.axes_] == ["row 20", "row 80", "row 140"]
    xx, yy = display.grid
    asked = np.column_stack([xx.ravel(), yy.ravel()])
    expected = model.decision_function(asked, times=80).reshape(xx.shape)
    np.testing.assert_array_equal(display.instants[1].values, expected)
    assert abs(display.instants[1].rows.mean() - 80) < 2
    assert all(boundary is not None for boundary in display.boundaries_)
    (legend,) = display.figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "boundary at that time", "class -1", "class 1",
    ]  # fmt: skip


def test_several_classes_names_and_times(several):
    X, y, _ = several
    table = pd.DataFrame(X, columns=["east", "north"])
    days = np.datetime64("2024-01-01") + np.arange(180)
    model = AdaptiveSVC(coupling=1e4).fit(table, y, times=days)
    display = EvolutionDisplay.from_estimator(model, table, y, times=days, instants=2, theme="dark")
    assert display.axes_[0].get_xlabel() == "east"
    assert display.axes_[0].get_title().startswith("time 2024-01-")
    assert set(np.unique(display.instants[0].values)) == {0, 1, 2}


def test_a_regression_turns(turning_line):
    X, y, model = turning_line
    display = EvolutionDisplay.from_estimator(model, X, y, instants=3)
    slopes = [np.polyfit(display.grid[0], instant.values, 1)[0] for instant in display.instants]
    assert slopes[0] < -1.0 < 1.0 < slopes[2]
    assert display.axes_[0].get_ylabel() == "target"


def test_what_cannot_be_drawn_is_refused_with_advice(rotating, turning_line):
    X, y, model = rotating
    with pytest.raises(ValueError, match="BoundaryDisplay, or fit an AdaptiveSVC"):
        EvolutionDisplay.from_estimator(SVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="times has 3 entries for 160 rows"):
        EvolutionDisplay.from_estimator(model, X, y, times=[1, 2, 3])
    with pytest.raises(ValueError, match="At least one instant"):
        EvolutionDisplay.from_estimator(model, X, y, instants=0)
    for count in (1, 100):
        wide = np.random.default_rng(0).normal(size=(40, count))
        adaptive = AdaptiveSVC(coupling=10.0).fit(wide, wide[:, 0] > 0)
        with pytest.raises(ValueError, match="EvolutionDisplay draws two features"):
            EvolutionDisplay.from_estimator(adaptive, wide, wide[:, 0] > 0)


def test_a_film_has_its_frames(rotating, tmp_path, monkeypatch):
    from PIL import Image

    X, y, model = rotating
    display = EvolutionDisplay.from_estimator(model, X, y, instants=1)
    path = display.animate(tmp_path / "film.gif", frames=4, theme="dark", dpi=40)
    with Image.open(path) as film:
        assert film.n_frames == 4
        assert film.size == (184, 168)
    with pytest.raises(ValueError, match=r"\.gif or \.mp4"):
        display.animate(tmp_path / "film.avi")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match="ffmpeg, which was not found"):
        display.animate(tmp_path / "film.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["film.gif"]
