"""The picture of one prediction, by matplotlib and in pages."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from lindero.evaluation import CONTENDERS, MACHINES, explain, fit_machine, make_machine
from lindero.plot import WaterfallDisplay
from lindero.report.charts import draw_waterfall

plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 14))
CLASSES = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
NAMES = [name for name in MACHINES if MACHINES[name].task in ("classification", "regression")]


@pytest.mark.parametrize("name", NAMES)
def test_every_machine_has_a_waterfall(name):
    spec = MACHINES[name]
    y = CLASSES if spec.task == "classification" else X[:, 0] * 100_000
    times = np.arange(60) if spec.takes_times else None
    model = fit_machine(make_machine(name, random_state=0), X, y, times=times)
    found = explain(model, X[:1], times=None if times is None else times[:1])[0]
    figure, ax = plt.subplots()
    display = WaterfallDisplay.from_explanation(found, most=5, ax=ax)
    assert display.ax_ is ax
    assert len(display.steps) <= 6
    # Bars lead from the baseline to the value.
    ends = [display.steps[0][1], display.steps[-1][2]]
    np.testing.assert_allclose(ends, [found.baseline, found.value], rtol=1e-6, atol=1e-6)
    for before, after in zip(display.steps, display.steps[1:], strict=False):
        assert before[2] == after[1]
    plt.close(figure)
    for width in (760, 350):
        picture = ET.fromstring(draw_waterfall(found, width))
        assert float(picture.get("width")) == width
    assert CONTENDERS


def test_a_waterfall_can_be_drawn_again():
    model = fit_machine(make_machine("naive-bayes"), X, CLASSES)
    display = WaterfallDisplay.from_explanation(explain(model, X[:1])[0])
    plt.close("all")
    _, ax = plt.subplots()
    assert display.plot(ax=ax).ax_ is ax
    titles = [label.get_text() for label in ax.get_yticklabels()]
    assert titles[-1] == "prediction"
    assert " = " in titles[0]
    plt.close("all")
