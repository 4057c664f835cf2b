"""Explanations of one row and of many."""

import numpy as np
import pandas as pd
import pytest

from lindero.bayes import TAN, NaiveBayes
from lindero.evaluation import explain, fit_machine, make_machine
from lindero.plot import ExplanationDisplay, WaterfallDisplay

pytest.importorskip("matplotlib.pyplot")

rng = np.random.default_rng(0)
TABLE = pd.DataFrame({
    "sky": rng.choice(["sun", "rain"], 80), "degrees": rng.normal(15, 8, 80),
    "wind": rng.normal(size=80),
})  # fmt: skip
OUT = np.where((TABLE["degrees"] > 12) & (TABLE["sky"] == "sun"), "out", "in")


@pytest.fixture(scope="module")
def model():
    return NaiveBayes(numeric="gaussian").fit(TABLE, OUT)


def test_dots_of_two_classes_are_for_the_second(model):
    display = ExplanationDisplay.from_estimator(model, TABLE)
    found = model.explain(TABLE)  # of classes_[1] against classes_[0]
    assert display.ax_.get_xlabel() == "added to the log-odds of out"
    assert set(display.columns_) == {"sky", "degrees", "wind"}
    order = np.argsort(-np.abs(found.terms).mean(axis=0))
    assert display.columns_ == [found.names[j] for j in order]
    for name, dots in zip(display.columns_, display.dots_, strict=True):
        terms = found.terms[:, found.names.index(name)]
        np.testing.assert_allclose(dots.get_offsets()[:, 0], terms, atol=1e-12)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == display.columns_


def test_dots_are_shaded_by_numbers_and_grey_for_text(model):
    display = ExplanationDisplay.from_estimator(model, TABLE, theme="dark")
    dots = dict(zip(display.columns_, display.dots_, strict=True))
    assert dots["sky"].get_array() is None
    shades = np.asarray(dots["degrees"].get_array())
    assert np.corrcoef(shades, TABLE["degrees"].rank())[0, 1] > 0.99
    assert shades.min() == 0.0
    assert shades.max() == 1.0
    # Dots stay on the line of their column.
    for place, column in enumerate(display.dots_):
        assert np.abs(column.get_offsets()[:, 1] - place).max() < 0.5


def test_one_row_is_a_waterfall(model):
    display = ExplanationDisplay.from_estimator(model, TABLE, row=3)
    assert isinstance(display.waterfall_, WaterfallDisplay)
    assert display.waterfall_.value == pytest.approx(explain(model, TABLE[3:4])[0].value)
    assert display.ax_.get_yticklabels()[-1].get_text() == "prediction"
    single = ExplanationDisplay.from_estimator(model, TABLE[:1])
    assert single.waterfall_ is not None
    again = display.plot()
    assert again.waterfall_ is None
    assert len(again.dots_) == 3


def test_several_classes_and_numbers():
    X = rng.normal(size=(90, 100))
    kinds = np.digitize(X[:, 0], [-0.5, 0.5])
    display = ExplanationDisplay.from_estimator(TAN().fit(X, kinds), X, most=3)
    assert "of the class that was predicted" in display.ax_.get_xlabel()
    assert display.columns_[0] == "x0"
    assert len(display.columns_) <= 4
    model = fit_machine(make_machine("svr", {"kernel": "linear"}), X[:, :5], X[:, 0] * 3)
    display = ExplanationDisplay.from_estimator(model, X[:20, :5], most=2)
    assert display.ax_.get_xlabel() == "added to the predicted value"
    assert display.columns_[-1] == "3 other columns"


def test_one_column_and_missing_values(model):
    single = NaiveBayes().fit(TABLE[["sky"]], OUT)
    assert ExplanationDisplay.from_estimator(single, TABLE[["sky"]]).columns_ == ["sky"]
    holes = TABLE.copy()
    holes.loc[::2, "degrees"] = np.nan
    display = ExplanationDisplay.from_estimator(model, holes)
    assert np.isfinite(display.dots_[0].get_offsets()).all()


def test_very_many_rows_are_sampled_and_it_is_said(model):
    many = [*explain(model, TABLE), *explain(model, TABLE)] * 20
    display = ExplanationDisplay.from_explanations(many)
    assert len(display.dots_[0].get_offsets()) == 1500
    assert display.ax_.get_title(loc="left") == "1,500 of 3,200 rows are drawn"


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "list"])
def test_of_very_many_rows_only_those_that_are_drawn_are_explained(model, kind):
    whole = pd.concat([TABLE] * 40, ignore_index=True)
    table = whole
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame(dict(whole))
    elif kind == "arrow":
        import pyarrow

        table = pyarrow.Table.from_pandas(whole)
    elif kind == "list":
        table = whole.to_numpy(dtype=object).tolist()
    told = model if kind != "list" else NaiveBayes(numeric="gaussian").fit(table[:80], OUT)
    display = ExplanationDisplay.from_estimator(told, table)
    assert len(display.explanations) == 1500
    assert display.ax_.get_title(loc="left") == "1,500 of 3,200 rows are drawn"
    last = ExplanationDisplay.from_estimator(told, table, row=-1)
    assert last.waterfall_.value == pytest.approx(explain(model, TABLE[-1:])[0].value)
    with pytest.raises(ValueError, match="row=3200 is not one of the 3200 rows"):
        ExplanationDisplay.from_estimator(told, table, row=3200)


def test_rows_that_are_not_there_are_refused(model):
    with pytest.raises(ValueError, match="row=80 is not one of the 80 rows"):
        ExplanationDisplay.from_estimator(model, TABLE, row=80)
    with pytest.raises(ValueError, match="no row to explain"):
        ExplanationDisplay.from_explanations([])
