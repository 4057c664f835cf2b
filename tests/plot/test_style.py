"""Colours, markers and lines: told apart on paper, on dark slides, and without colours."""

import itertools

import numpy as np
import pytest

from lindero.plot import use_theme
from lindero.plot.curves import CurveChart, draw_curves, thin_curve
from lindero.plot.style import DARK, LIGHT, draw_points, dress, find_style, sample_rows, take_axes

plt = pytest.importorskip("matplotlib.pyplot")
to_rgb = pytest.importorskip("matplotlib.colors").to_rgb
#: What readers without one kind of cones see of linear RGB (Viénot, Brettel and Mollon).
PROTAN = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
DEUTAN = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, two):
    light, dark = sorted((linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(rgb):
    xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ) @ np.clip(rgb, 0.0, 1.0)
    f = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 1e-6))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_are_seen_on_their_paper(style):
    for colour in (*style.colours, style.ink, style.muted, *style.ends):
        assert contrast(colour, style.paper) >= (2.0 if colour in style.ends else 3.0), colour


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("seen", [np.eye(3), PROTAN, DEUTAN], ids=["all", "protan", "deutan"])
def test_the_first_four_colours_are_told_apart_by_all_readers(style, seen):
    found = [lab(seen @ linear(colour)) for colour in style.colours[:4]]
    for one, two in itertools.combinations(found, 2):
        assert np.linalg.norm(one - two) > 12.0


def test_classes_and_curves_differ_without_colours():
    assert len({LIGHT.marker(k) for k in range(6)}) == 6
    assert len({str(LIGHT.line(k)) for k in range(6)}) == 6


def test_a_theme_holds_for_a_block_and_by_name():
    assert find_style() is LIGHT
    with use_theme("dark"):
        assert find_style() is DARK
        assert find_style("light") is LIGHT
    assert find_style() is LIGHT
    with pytest.raises(ValueError, match=r"'light', 'dark', got 'blue'"), use_theme("blue"):
        pass


def test_current_axes_are_taken_if_they_are_empty():
    _, (left, right) = plt.subplots(1, 2)
    plt.sca(left)
    assert take_axes(None) is left
    left.plot([1, 2])
    assert take_axes(None) not in (left, right)
    assert take_axes(right) is right


def test_many_rows_are_sampled_always_the_same_and_it_is_said():
    rows, told = sample_rows(100_000)
    assert len(rows) == 20_000
    assert told == "20,000 of 100,000 rows are drawn"
    assert (rows == sample_rows(100_000)[0]).all()
    rows, told = sample_rows(500)
    assert (rows == np.arange(500)).all()
    assert told == ""


def test_points_of_vector_files_are_an_image_where_there_are_many():
    _, ax = plt.subplots()
    assert not draw_points(ax, np.zeros(10), np.zeros(10), LIGHT, 0, "few").get_rasterized()
    assert draw_points(ax, np.zeros(5000), np.zeros(5000), LIGHT, 0, "many").get_rasterized()


def test_thin_curves_keep_their_peaks():
    values = np.zeros(100_000)
    values[[777, 50_123]] = 5.0, -3.0
    places, thin = thin_curve(np.arange(100_000), values, 600)
    assert len(thin) <= 600
    assert thin[places == 777] == 5.0
    assert thin[places == 50_123] == -3.0
    assert places[0] == 0
    assert places[-1] == 99_999
    assert (np.diff(places) > 0).all()
    known = thin_curve([1, 2, 3], [1.0, np.nan, 2.0])
    assert known[0].tolist() == [1, 3]


def test_a_chart_is_drawn_with_its_marks_and_dates():
    days = (np.datetime64("2024-01-01") + np.arange(50)).astype("datetime64[ns]").astype(np.int64)
    chart = CurveChart(
        "A title", {"a": (days, np.arange(50.0)), "b": (days, np.ones(50))}, "y", "time",
        marks=[float(days[10])], shaded=(float(days[3]), float(days[5])), least=0.0, dates=True,
    )  # fmt: skip
    _, ax = plt.subplots()
    lines = draw_curves(ax, chart, DARK)
    assert [line.get_label() for line in lines] == ["a", "b"]
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert ax.get_ylim()[0] == 0.0
    assert len(ax.lines) == 3
    ax.figure.canvas.draw()
    assert any("2024" in text.get_text() for text in ax.get_xticklabels()) or "2024" in (
        ax.xaxis.get_offset_text().get_text()
    )


def test_axes_and_figure_have_the_colours_of_the_theme():
    _, ax = plt.subplots()
    ax.plot([1, 2], label="x")
    ax.legend()
    dress(ax, DARK)
    assert to_rgb(ax.get_facecolor()) == to_rgb(DARK.paper)
    assert to_rgb(ax.figure.get_facecolor()) == to_rgb(DARK.paper)
    assert ax.get_legend().get_texts()[0].get_color() == DARK.ink
