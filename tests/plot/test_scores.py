"""Searches, cost curves, streams and certificates: scores as pictures."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.bayes import NaiveBayes
from lindero.evaluation import prequential
from lindero.plot import (
    CertificateDisplay,
    CostDisplay,
    GapRecorder,
    PrequentialDisplay,
    SearchDisplay,
)
from lindero.plot.stream import describe_speed
from lindero.report.streams import write_curves
from lindero.svm import SVC, SVCCV, SVR, SVRCV, AdaptiveSVR, LinearSVC, LinearSVCCV

plt = pytest.importorskip("matplotlib.pyplot")

# -- searches -------------------------------------------------------------------------------------


def test_a_map_has_the_mean_scores_and_the_best_point():
    X, y = load_iris(return_X_y=True)
    search = SVCCV(Cs=[0.1, 1, 10], gammas=[0.01, 0.1]).fit(X, y)
    display = SearchDisplay.from_estimator(search)
    shown = np.ma.filled(display.map_.get_array(), np.nan).reshape(2, 3)
    np.testing.assert_allclose(shown, search.scores_.mean(axis=2))
    assert f"C = {search.C_:g}, γ = {search.gamma_:g}" in display.ax_.get_title()
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["0.1", "1", "10"]
    assert len(display.ax_.texts) == 6
    assert "over 5 folds" in display.colorbar_.ax.get_ylabel()
    frames = display.ax_.patches
    assert {(int(f.get_x()), int(f.get_y())) for f in frames} == {display.best[::-1]}


def test_points_that_were_not_tried_are_empty():
    X, y = load_iris(return_X_y=True)
    display = SearchDisplay.from_estimator(SVCCV(cv=3).fit(X, y), theme="dark")
    assert np.ma.getmaskarray(display.map_.get_array()).any()
    assert "empty: not tried" in display.colorbar_.ax.get_ylabel()


@pytest.mark.parametrize(
    ("search", "measure"),
    [(SVRCV(Cs=[1, 10], kernel="linear", cv=3), "R²"),
     (LinearSVCCV(Cs=[0.1, 1.0, 10.0], cv=3), "accuracy"),
     (SVCCV(Cs=[1, 10], kernel="linear", cv=3, scoring="f1_macro"), "f1 macro")],
    ids=["numbers", "linear", "scoring"],
)  # fmt: skip
def test_a_search_over_penalties_alone_is_a_curve(search, measure):
    X, y = load_diabetes(return_X_y=True) if measure == "R²" else load_iris(return_X_y=True)
    search.fit(X[::2], y[::2])
    display = SearchDisplay.from_estimator(search)
    assert display.map_ is None
    assert display.ax_.get_ylabel() == measure
    assert display.ax_.get_xscale() == "log"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "taken" in labels


def test_other_estimators_hold_no_scores():
    with pytest.raises(ValueError, match=r"SVC holds no scores.*SVCCV"):
        SearchDisplay.from_estimator(SVC())


# -- costs ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(y == 0, "malignant", "benign")
    return X[:300, :4], y[:300], X[300:, :4], y[300:]


def test_the_curve_is_the_least_cost_of_any_threshold(tumours):
    X, y, new, truth = tumours
    model = NaiveBayes().fit(X, y)
    display = CostDisplay.from_estimator(model, new, truth)
    chances = model.predict_proba(new)[:, 1]
    positive = truth == "malignant"
    for k in (10, 60, 100, 150):
        p = display.share[k]
        costs = [
            p * np.mean(chances[positive] < t) + (1 - p) * np.mean(chances[~positive] >= t)
            for t in [*np.unique(chances), 2.0]
        ]
        assert display.least[k] == pytest.approx(min(costs))
    assert (display.least <= display.answered + 1e-12).all()
    assert (display.least <= np.minimum(display.share, 1 - display.share) + 1e-12).all()
    answers = model.predict(new)
    assert display.rates == (
        np.mean(answers[~positive] == "malignant"), np.mean(answers[positive] == "benign")
    )  # fmt: skip


def test_models_share_axes_and_costs_are_marked(tumours):
    X, y, new, truth = tumours
    costs = {("malignant", "benign"): 10.0}
    first = CostDisplay.from_estimator(NaiveBayes().fit(X, y), new, truth, costs=costs)
    linear = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    second = CostDisplay.from_estimator(linear, new, truth, costs=costs, ax=first.ax_)
    share = np.mean(truth == "malignant")
    assert second.stake == pytest.approx(10 * share / (10 * share + 1 - share))
    labels = [text.get_text() for text in second.ax_.get_legend().get_texts()]
    assert labels == [
        "always the same answer", "NaiveBayes, best threshold", "NaiveBayes, its answers",
        "costs given", "LinearSVC, best threshold", "LinearSVC, its answers",
    ]  # fmt: skip
    assert first.lines_[0].get_color() != second.lines_[0].get_color()
    assert first.lines_[0].get_marker() != second.lines_[0].get_marker()
    assert second.ax_.get_ylim() == (0.0, 0.5)


def test_several_classes_need_a_name_and_answers_alone_have_a_line():
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"3 classes.*pos_label"):
        CostDisplay.from_estimator(model, X, y)
    display = CostDisplay.from_estimator(model, X, y, pos_label=2, theme="dark")
    assert display.least is not None
    only = CostDisplay.from_predictions(y == 2, model.predict(X) == 2, pos_label=True)
    assert only.least is None
    assert len(only.lines_) == 1


def test_what_has_no_costs_is_refused(tumours):
    X, y, new, truth = tumours
    model = NaiveBayes().fit(X, y)
    with pytest.raises(ValueError, match="not one of"):
        CostDisplay.from_estimator(model, new, truth, pos_label="x")
    benign = truth == "benign"
    with pytest.raises(ValueError, match="rows of both kinds"):
        CostDisplay.from_estimator(model, new[benign], truth[benign])
    with pytest.raises(ValueError, match="errors on two classes"):
        CostDisplay.from_estimator(SVR().fit(X, X[:, 0]), new, truth)


# -- streams --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def changing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 800)
    side = np.where(np.arange(800) < 400, 1.5, -1.5)
    X = rng.normal(size=(800, 2))
    X[:, 0] += side * (2 * y - 1)
    return X, y


def test_errors_along_a_stream_and_their_changes(changing):
    result = prequential(NaiveBayes(), *changing)
    display = PrequentialDisplay.from_result(result)
    (curve,) = display.chart.curves.values()
    assert curve[1][-1] == pytest.approx(100 * (~result.correct[-53:]).mean())
    assert any(abs(mark - 400) < 30 for mark in display.chart.marks)
    assert len(display.ax_.lines) == 1 + len(display.chart.marks)
    assert display.ax_.get_ylim()[0] == 0.0
    # The page draws the same chart.
    page = write_curves(display.chart)
    assert page.count('class="reference"') == len(display.chart.marks)
    assert page.count("<polyline") == 1


def test_several_models_measures_and_dates(changing):
    X, y = changing
    days = np.datetime64("2024-01-01") + np.arange(800)
    results = {
        name: prequential(NaiveBayes(alpha=alpha), X, y)
        for name, alpha in (("one", 1.0), ("ten", 10.0))
    }
    display = PrequentialDisplay.from_result(results, measure="kappa", times=days, theme="dark")
    np.testing.assert_array_equal(display.chart.curves["ten"][1], results["ten"].curve("kappa"))
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["one", "ten"]
    assert display.chart.dates
    assert display.chart.marks == ()
    with pytest.raises(ValueError, match="no curve of 'beauty'"):
        PrequentialDisplay.from_result(results, measure="beauty")
    with pytest.raises(ValueError, match="holds no evaluation"):
        PrequentialDisplay.from_result({})


def test_numbers_have_mean_absolute_errors(changing):
    X, _ = changing
    model = AdaptiveSVR(coupling=1e4)
    display = PrequentialDisplay.from_estimator(model, X[:150], X[:150, 0], warm_up=20)
    assert display.ax_.get_ylabel() == "MAE"
    classes = prequential(NaiveBayes(), *changing)
    numbers = prequential(model, X[:150], X[:150, 0], warm_up=20)
    with pytest.raises(ValueError, match="no measure in common"):
        PrequentialDisplay.from_result({"a": classes, "b": numbers})


def test_pages_and_displays_draw_the_same_speed():
    class History:
        rows, coupling = np.array([256, 512, 768]), np.array([1e6, 1e2, 1e4])
        changes = ()

    chart = describe_speed(History)
    assert chart.curves["rows that matter"][1].tolist() == [1000.0, 10.0, 100.0]
    assert ">1000</text>" in write_curves(chart).replace(",", "")


# -- certificates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [SVC(C=10.0), LinearSVC()], ids=["kernel", "linear"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_gap_goes_down_to_the_certificate(model, theme):
    X, y = make_classification(1500, 20, flip_y=0.1, random_state=0)
    display = CertificateDisplay.from_estimator(model, X, y, theme=theme)
    assert not hasattr(model, "certificate_")  # a copy was fitted
    assert model.callback is None
    (line,) = display.lines_
    seconds, gaps = line.get_data()
    assert (np.diff(seconds) >= 0).all()
    assert gaps[-1] == pytest.approx(display.certificate.kkt_gap)
    assert gaps[-1] <= display.records[-1].tol < gaps[0]
    assert display.ax_.get_yscale() == "log"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["KKT gap", f"tol, {display.records[-1].tol:g}"]
    assert type(model).__name__ in display.ax_.get_title(loc="left")


def test_several_problems_have_a_line_each():
    X, y = load_iris(return_X_y=True)
    display = CertificateDisplay.from_estimator(SVC(), X, y)
    assert [line.get_label() for line in display.lines_] == ["problem 1", "problem 2", "problem 3"]
    many = CertificateDisplay.from_estimator(SVC(), X, np.arange(150) % 5)
    labels = [text.get_text() for text in many.ax_.get_legend().get_texts()]
    assert len(many.lines_) == 10
    assert labels[0] == "10 problems"
    assert len(labels) == 2


def test_regressions_and_recorders_that_stop():
    X, y = load_diabetes(return_X_y=True)
    assert len(CertificateDisplay.from_estimator(SVR(C=10), X, y).lines_) == 1
    X, y = make_classification(3000, 20, flip_y=0.2, random_state=0)
    recorder = GapRecorder(lambda report: report.n_iter > 500)
    with pytest.warns(UserWarning, match="callback"):
        model = SVC(C=100.0, callback=recorder).fit(X, y)
    display = CertificateDisplay.from_recorder(recorder, model.certificate_, name="stopped")
    assert display.ax_.get_title(loc="left").startswith("stopped: gap")
    assert display.certificate.kkt_gap > recorder.records[-1].tol


def test_machines_that_report_nothing_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="NaiveBayes reports no progress"):
        CertificateDisplay.from_estimator(NaiveBayes(), X, y)
    with pytest.raises(ValueError, match="reported nothing"):
        CertificateDisplay.from_recorder(GapRecorder())
