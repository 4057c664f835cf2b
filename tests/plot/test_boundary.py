"""Boundaries drawn with the real matplotlib."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.plot import BoundaryDisplay
from lindero.svm import SVC

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IRIS, KINDS = load_iris(return_X_y=True)
PETALS = IRIS[:, 2:]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def labels(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_regions_are_those_of_predict_for_any_decision_shape():
    for shape in ("ovr", "ovo"):
        model = SVC(decision_function_shape=shape).fit(PETALS, KINDS)
        display = BoundaryDisplay.from_estimator(model, PETALS, KINDS, resolution=30)
        grid = np.column_stack([display.xx.ravel(), display.yy.ravel()])
        assert (display.classes[display.sides.ravel()] == model.predict(grid)).all()


def test_margins_and_both_kinds_of_support_vectors_are_shown():
    rows = KINDS > 0
    model = SVC(kernel="linear").fit(PETALS[rows], KINDS[rows])
    display = BoundaryDisplay.from_estimator(model, PETALS[rows], KINDS[rows], resolution=30)
    shown = labels(display)
    assert "margin" in shown
    assert "support vector, on the margin" in shown
    assert "support vector, at its bound" in shown
    at_bound = np.abs(model.dual_coef_[0]) == 1.0
    assert display.bounded.tolist() == at_bound.tolist()


def test_the_legend_of_a_default_figure_is_inside_it():
    model = SVC().fit(PETALS, KINDS)
    display = BoundaryDisplay.from_estimator(model, PETALS, KINDS, resolution=30)
    figure = display.ax_.figure
    figure.canvas.draw()
    box = display.ax_.get_legend().get_window_extent()
    assert box.y0 >= 0
    assert box.y1 <= figure.bbox.y1


def test_a_dataframe_is_drawn_with_its_names_and_without_warnings(recwarn):
    table = pd.DataFrame(PETALS, columns=["length", "width"])
    display = BoundaryDisplay.from_estimator(SVC().fit(table, KINDS), table, KINDS, resolution=20)
    assert display.ax_.get_xlabel() == "length"
    assert not [w for w in recwarn if "feature names" in str(w.message)]


def test_other_rows_than_those_of_fit_may_be_shown():
    model = SVC().fit(PETALS[::2], KINDS[::2])
    display = BoundaryDisplay.from_estimator(model, PETALS[1::2], KINDS[1::2], resolution=20)
    assert len(display.vectors) == len(model.support_)


def test_classifiers_that_do_not_tell_bounds_get_plain_rings():
    model = sklearn.svm.SVC().fit(PETALS, KINDS)
    display = BoundaryDisplay.from_estimator(model, PETALS, KINDS, resolution=20)
    assert "support vector" in labels(display)


def test_a_pipeline_is_drawn_without_rings():
    model = make_pipeline(StandardScaler(), SVC()).fit(PETALS, KINDS)
    display = BoundaryDisplay.from_estimator(model, PETALS, KINDS, resolution=20)
    assert not any("support" in label for label in labels(display))


def test_more_than_two_features_and_unknown_labels_are_refused():
    with pytest.raises(ValueError, match=r"two features.*PCA"):
        BoundaryDisplay.from_estimator(SVC().fit(IRIS, KINDS), IRIS, KINDS)
    with pytest.raises(ValueError, match=r"label.*fitted on"):
        BoundaryDisplay.from_estimator(SVC().fit(PETALS, KINDS), PETALS, KINDS + 5)
