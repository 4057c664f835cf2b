"""Every display in both themes: nothing is written in the colour of the other paper."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons

from lindero import plot
from lindero.bayes import TAN
from lindero.data import make_rotating
from lindero.plot.style import DARK, LIGHT
from lindero.svm import SVC, SVCCV, SVR, AdaptiveSVC, ChainSVC, IncrementalSVC, OneClassSVM

plt = pytest.importorskip("matplotlib.pyplot")
colors = pytest.importorskip("matplotlib.colors")
Text = pytest.importorskip("matplotlib.text").Text

X, Y = make_moons(80, noise=0.3, random_state=0)


@cache
def make_adaptive():
    rows, kinds = make_rotating(100, random_state=0)
    return AdaptiveSVC(coupling=1e4).fit(rows, kinds), rows, kinds


@cache
def make_stream():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(800, 2))
    return AdaptiveSVC().partial_fit(rows, rows[:, 0] > 0)


@cache
def make_network():
    return TAN().fit(np.round(X), Y)


@cache
def make_incremental():
    return IncrementalSVC().fit(X[:50], Y[:50])


def make_sentence():
    words = [["the", "cat", "sleeps"], ["a", "dog", "barks"]]
    return ChainSVC().fit(words, [["B-NP", "I-NP", "B-VP"]] * 2), words[0], ["B-NP", "I-NP", "O"]


DISPLAYS = {
    "boundary": lambda: plot.BoundaryDisplay.from_estimator(
        SVC().fit(X, Y), X, Y, resolution=20
    ),
    "region": lambda: plot.BoundaryDisplay.from_estimator(
        OneClassSVM().fit(X), X, resolution=20
    ),
    "tube": lambda: plot.BoundaryDisplay.from_estimator(
        SVR().fit(X[:, :1], X[:, 1]), X[:, :1], X[:, 1]
    ),
    "path": lambda: plot.PathDisplay.from_estimator(make_adaptive()[0]),
    "path of a stream": lambda: plot.PathDisplay.from_estimator(make_stream()),
    "evolution": lambda: plot.EvolutionDisplay.from_estimator(*make_adaptive(), instants=2),
    "stream": lambda: plot.StreamDisplay.from_estimator(make_stream()),
    "prequential": lambda: plot.PrequentialDisplay.from_estimator(TAN(), np.round(X), Y),
    "network": lambda: plot.NetworkDisplay.from_estimator(make_network(), tables=["x1"]),
    "explanation": lambda: plot.ExplanationDisplay.from_estimator(make_network(), np.round(X)),
    "waterfall": lambda: plot.ExplanationDisplay.from_estimator(make_network(), X[:1].round()),
    "path in C": lambda: plot.CPathDisplay.from_estimator(
        make_incremental(), 0.1, 5.0, X=X[50:], y=Y[50:]
    ),
    "update": lambda: plot.UpdateDisplay.from_estimator(make_incremental(), X[50:51], Y[50:51]),
    "search": lambda: plot.SearchDisplay.from_estimator(
        SVCCV(Cs=[1, 10], gammas=[0.1, 1.0], cv=3).fit(X, Y)
    ),
    "curve of a search": lambda: plot.SearchDisplay.from_estimator(
        SVCCV(Cs=[1, 10], kernel="linear", cv=3).fit(X, Y)
    ),
    "cost": lambda: plot.CostDisplay.from_estimator(
        make_network(), np.round(X), Y, costs=[[0, 1], [5, 0]]
    ),
    "certificate": lambda: plot.CertificateDisplay.from_estimator(
        SVC(), *make_classification(400, random_state=0)
    ),
    "sentence": lambda: plot.SentenceDisplay.from_estimator(*make_sentence()),
}  # fmt: skip


def contrast(one, two):
    light, dark = sorted((measure_light(one), measure_light(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def measure_light(colour):
    rgb = np.array(colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def test_every_display_is_here():
    drawn = {type(make()).__name__ for make in DISPLAYS.values()}
    listed = {name for name in plot.__all__ if name.endswith("Display")}
    assert listed - drawn == {"WaterfallDisplay"}  # drawn by ExplanationDisplay


@pytest.mark.parametrize("style", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", DISPLAYS)
def test_all_that_is_written_can_be_read(name, style):
    with plot.use_theme(style.name):
        display = DISPLAYS[name]()
    figure = display.figure_
    figure.canvas.draw()
    assert colors.to_hex(figure.get_facecolor()) == style.paper
    on_cells = set()
    for ax in figure.axes:
        if name in ("search", "network"):  # written on cells and boxes
            on_cells |= set(ax.texts)
        if not ax.axison:  # ticks that are not drawn
            on_cells |= set(ax.get_xticklabels() + ax.get_yticklabels())
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    assert texts
    for text in texts:
        if text not in on_cells:
            assert contrast(text.get_color(), style.paper) >= 3.0, text.get_text()
    # Nothing reaches out of the figure, letters at its edge by a few pixels at the most.
    drawn, whole = figure.get_tightbbox(), figure.bbox_inches
    assert drawn.x0 > -0.05
    assert drawn.y0 > -0.05
    assert drawn.x1 < whole.x1 + 0.05
    assert drawn.y1 < whole.y1 + 0.05


def test_nodes_and_cells_can_be_read_too():
    for style in (LIGHT, DARK):
        display = plot.NetworkDisplay.from_estimator(make_network(), theme=style.name)
        for text in display.ax_.texts:
            ground = style.colour(0) if text.get_text() == "class" else style.panel
            assert contrast(text.get_color(), ground) >= 3.0
