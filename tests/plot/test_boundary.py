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
from lindero.svm import (
    SVC,
    SVR,
    AdaptiveSVC,
    CostSensitiveSVC,
    IncrementalSVR,
    LinearSVC,
    NuSVR,
    OneClassSVM,
)

matplotlib.use("Agg")

IRIS, KINDS = load_iris(return_X_y=True)
PETALS = IRIS[:, 2:]


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


LATER = KINDS > 0


def test_margins_of_unequal_costs_are_drawn_where_the_machine_asks_for_them():
    costs = {"C": 10, "kernel": "linear", "cost_positive": 9, "cost_negative": 2}
    model = CostSensitiveSVC(**costs).fit(PETALS[LATER], KINDS[LATER])
    display = BoundaryDisplay.from_estimator(model, PETALS[LATER], KINDS[LATER], resolution=30)
    assert display.margins == pytest.approx((1 / 3, 1.0))
    assert display.contours_.levels.tolist() == pytest.approx([-1 / 3, 0.0, 1.0])
    assert "margins, 0.333 and 1" in labels(display)


@pytest.mark.parametrize(
    "model", [SVR(C=10, gamma=0.5, epsilon=0.2), IncrementalSVR(C=10, gamma=0.5, epsilon=0.2),
              NuSVR(C=10, gamma=0.5)], ids=lambda model: type(model).__name__
)  # fmt: skip
def test_the_tube_of_a_regression(model):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, 60)
    y = np.sin(x) + 0.2 * rng.normal(size=60)
    model.fit(x[:, None], y)
    display = BoundaryDisplay.from_estimator(model, x[:, None], y)
    assert display.tube == pytest.approx(getattr(model, "epsilon_", 0.2))
    assert f"tube, ±{display.tube:.3g}" in labels(display)
    assert display.ax_.get_ylabel() == "target"
    # Rings are where support vectors are: at the edge of the tube, or outside.
    support = model.support_
    np.testing.assert_array_equal(display.vectors, np.column_stack([x, y])[support])
    off = np.abs(model.predict(x[:, None]) - y)[support]
    assert (off[display.bounded] >= display.tube - 1e-2).all()
    assert np.allclose(off[~display.bounded], display.tube, atol=1e-2)


def test_rows_that_were_not_fitted_have_no_rings():
    x = np.linspace(0, 6, 60)
    model = SVR().fit(x[:30, None], np.sin(x[:30]))
    display = BoundaryDisplay.from_estimator(model, x[30:, None], np.sin(x[30:]))
    assert len(display.vectors) == 0
    assert display.rings_ == []


def test_the_region_of_a_one_class_machine():
    cloud = np.random.default_rng(0).normal(size=(80, 2))
    display = BoundaryDisplay.from_estimator(OneClassSVM(nu=0.1).fit(cloud), cloud, resolution=30)
    assert {"boundary", "inside", "outside"} <= set(labels(display))
    assert "margin" not in labels(display)
    assert display.contours_.levels.tolist() == [0.0]
    np.testing.assert_array_equal(display.sides, display.values < 0.0)


def test_a_picture_is_drawn_again_in_the_dark():
    display = BoundaryDisplay.from_estimator(SVC().fit(PETALS, KINDS), PETALS, KINDS, resolution=20)
    first = display.ax_
    assert display.plot(theme="dark") is display
    assert display.ax_ is not first
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_facecolor()[:3] < (0.2, 0.2, 0.2)
    assert [line.get_marker() for line in display.points_] == ["o", "s", "^"]


def test_regions_are_those_of_predictions_where_a_threshold_moves_them():
    from lindero.evaluation import DecisionClassifier, make_machine

    rows, kinds = PETALS[LATER], KINDS[LATER]
    model = DecisionClassifier(make_machine("svc"), threshold=0.1).fit(rows, kinds)
    model.decision_function = lambda X: model.predict_proba(X)[:, 1] - 0.5
    display = BoundaryDisplay.from_estimator(model, rows, kinds, resolution=30)
    grid = np.column_stack([display.xx.ravel(), display.yy.ravel()])
    assert (display.classes[display.sides.ravel()] == model.predict(grid)).all()
    assert (display.sides != (display.values > 0)).any()


def test_only_values_of_support_vector_machines_have_margins():
    from sklearn.linear_model import LogisticRegression

    rows, kinds = PETALS[LATER], KINDS[LATER]
    stream = AdaptiveSVC().partial_fit(rows, kinds)  # log-odds
    for model, margins in (
        (SVC().fit(rows, kinds), (1.0, 1.0)),
        (sklearn.svm.LinearSVC().fit(rows, kinds), (1.0, 1.0)),
        (LogisticRegression().fit(rows, kinds), None),
        (stream, None),
    ):
        display = BoundaryDisplay.from_estimator(model, rows, kinds, resolution=20)
        assert display.margins == margins
        assert ("margin" in labels(display)) == (margins is not None)


def test_the_boundary_of_an_instant_is_that_of_its_time():
    X = np.tile([[-1.0, 0.3], [1.0, -0.3]], (40, 1))
    y = np.repeat([1, -1], 40) * X[:, 0]
    model = AdaptiveSVC(coupling=10.0).fit(X, y)
    before, after = (
        BoundaryDisplay.from_estimator(model, X, y, resolution=20, times=time) for time in (5, 75)
    )
    assert (before.sides[:, -1] == 1).all()
    assert (after.sides[:, -1] == 0).all()


def test_very_many_rows_are_sampled_and_the_legend_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 2))
    y = (X[:, 0] > 0).astype(int)
    display = BoundaryDisplay.from_estimator(LinearSVC().fit(X, y), X, y, resolution=20)
    drawn = sum(len(points.get_xdata()) for points in display.points_)
    assert drawn == 20_000
    assert "20,000 of 100,000 rows are drawn" in display.ax_.get_legend().get_title().get_text()


def test_the_grid_is_coarser_and_rings_are_fewer_where_there_are_very_many_support_vectors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 2))
    y = (X[:, 0] > 0).astype(int)

    model = LinearSVC().fit(X, y)
    model.support_, model.bounded_support_ = np.arange(30_000), np.arange(20_000)
    model.support_vectors_ = X[:30_000]
    display = BoundaryDisplay.from_estimator(model, X, y)
    assert 80 <= len(display.xx) <= 100  # 250 otherwise
    assert [len(rings.get_offsets()) for rings in display.rings_] == [300, 300]
    assert "of 30,000 support vectors some have rings" in (
        display.ax_.get_legend().get_title().get_text()
    )


def test_one_feature_and_a_hundred_are_refused_with_advice():
    for count, advice in ((1, "Add a second column"), (100, "PCA")):
        X = np.random.default_rng(0).normal(size=(40, count))
        model = SVC().fit(X, X[:, 0] > 0)
        with pytest.raises(ValueError, match=advice):
            BoundaryDisplay.from_estimator(model, X, X[:, 0] > 0)
    with pytest.raises(ValueError, match=r"one feature.*ExplanationDisplay"):
        BoundaryDisplay.from_estimator(SVR().fit(X, X[:, 0]), X, X[:, 0])
    x = PETALS[:, :1]
    with pytest.raises(ValueError, match=r"one number for each of the 150 rows"):
        BoundaryDisplay.from_estimator(SVR().fit(x, KINDS), x, KINDS[:9])
    holes = PETALS.copy()
    holes[3] = np.nan
    with pytest.raises(ValueError, match=r"Row 3 of X is not finite"):
        BoundaryDisplay.from_estimator(SVC().fit(PETALS, KINDS), holes, KINDS)


def test_a_constant_feature_still_has_a_width():
    X = np.column_stack([PETALS[:, 0], np.zeros(150)])
    display = BoundaryDisplay.from_estimator(SVC().fit(X, KINDS), X, KINDS, resolution=20)
    assert np.ptp(display.yy) > 0.0
