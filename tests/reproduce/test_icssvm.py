"""ICSSVM: its numbers are all there, its protocol is followed, its pictures show what they say.

The numbers here were read from the paper, not from the code.
"""

from __future__ import annotations

import numpy as np
import pytest

from lindero.reproduce import icssvm, run
from lindero.reproduce.cells import Settings, judge
from lindero.reproduce.figures import draw_figure
from lindero.svm import IncrementalSVC

TABLE_1 = """
abalone19 4174 8 130
ijcnn1 49990 22 9.3
page-blocks0 5472 10 8.8
segment0 2308 19 6
shuttle-c0-vs-c4 1829 9 13.9
svmguide3 1243 22 3.2
winequality-red-4 1599 11 29
yeast4 1484 8 28
"""


@pytest.fixture
def data(real_data, monkeypatch):
    """The published data sets."""
    monkeypatch.setenv("LINDERO_DATA", str(real_data("svmguide3.svm.gz").parent))
    return monkeypatch


def find_part(title, settings=None):
    paper = icssvm.plan(settings or Settings(quick=True, n_seeds=1))
    parts = [part for part in paper.parts if part.title.startswith(title)]
    assert len(parts) == 1, title
    return parts[0]


def make_measured(n_seeds, sizes=(100, 300)):
    """What works would return: training again takes ten times as long, longest with the linear
    kernel."""
    measured = []
    for s in range(len(icssvm.SETS)):
        for k in range(3):
            for seed in range(n_seeds):
                measured.append({
                    "sizes": list(sizes), "updates": [[0.1] * 10, [0.2] * 10],
                    "iterations": [[seed, 9], [3 * s + k, 0]], "corrections": [[0, 1], [0, 0]],
                    "again": [1.0, 10.0 - k], "chosen": [1.0, 1.0],
                    "update": 0.2, "batch": 10.0 - k, "ratio": 50.0, "chosen_ratio": 5.0,
                })  # fmt: skip
    return measured


def test_every_number_of_table_1_has_its_cell():
    cells = {(cell.row, cell.column): cell for cell in find_part("Table 1").cells}
    for line in TABLE_1.split("\n")[1:-1]:
        name, *printed = line.split(" ")
        shown = [cells.pop((name, of)).write_published() for of in ("rows", "attributes", "ratio")]
        assert shown == printed
    assert not cells


def test_what_the_text_says_of_the_figures_is_held_against_ours():
    points = find_part("Figure 2 in numbers: its points").cells
    assert {(cell.published, cell.rule, cell.shown) for cell in points} == {
        (8.0, "most", "at most 8")
    }
    assert len(points) == len(find_part("Figure 2 in numbers: points above").cells) == 24
    shown = [cell.shown for cell in find_part("Figure 1 in words").cells]
    assert shown == ["“significantly”, in all panels", "“in most”", "“in most”",
                     "“basically unchanged”", "“steady growth”"]  # fmt: skip


def test_sets_are_as_table_1_says_but_for_two_cells(data):
    table = find_part("Table 1")
    results = {w.key: w.function(**w.arguments) for cell in table.cells for w in cell.works[:1]}
    wrong = [(c.row, c.column) for c in table.cells if not judge(c, results).allowed]
    assert wrong == [("abalone19", "ratio"), ("svmguide3", "attributes")]
    X, _, _ = icssvm.read_set("segment0")
    assert (X.min(), X.max()) == (0.0, 1.0)
    assert set(X[:, 2]) == {1.0}, "a constant column that is not 0 becomes 1"


def test_one_row_of_each_class_comes_first():
    y = np.array([0] * 30 + [1])
    order = icssvm.order_rows(y, 3)
    assert y[order[:2]].tolist() == [0, 1]
    assert sorted(order) == list(range(31))
    assert order.tolist() != icssvm.order_rows(y, 4).tolist()
    assert icssvm.fit_sizes([50, 100, 200], 160) == [50, 100, 150]
    assert icssvm.fit_sizes([50, 100, 200], 5000) == [50, 100, 200]


def test_updates_are_those_of_the_printed_algorithm(data):
    measured = icssvm.measure_updates("yeast4", "Gaussian", [50, 80], 0)
    assert measured["sizes"] == [50, 80]
    assert np.shape(measured["updates"]) == np.shape(measured["iterations"]) == (2, 10)
    assert np.shape(measured["corrections"]) == (2, 10)
    assert min(measured["again"]) > 0
    counted = icssvm.count_iterations("yeast4", "Gaussian", 80, 10, 0)
    assert counted["ours"] == counted["printed"] == np.mean(measured["iterations"][1])
    assert counted["apart"] == 0
    assert counted["ours"] > 0


def test_updates_are_also_where_hundreds_of_samples_are_nearer_to_the_margin(data):
    found = icssvm.count_iterations("svmguide3", "quadratic", 700, 2, 2)
    assert found["printed"] > 5
    assert found["ours"] == found["printed"]


def test_rounding_of_many_samples_on_their_margins_takes_few_corrections(data):
    X, y, _ = icssvm.read_set("yeast4")
    order = icssvm.order_rows(y, 6)
    rows, added = order[:1000], order[1000:1010]
    model = IncrementalSVC(**icssvm.COSTS, **icssvm.KERNELS["quadratic"]).fit(X[rows], y[rows])
    for row in added:
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    record = model.updates_[1000:]
    # Their decision values are -1/3 but for 1e-11: that is 300 steps to take out.
    assert record["iterations"].sum() < 250
    assert record["corrections"].max() <= 10
    assert model.certify().kkt_gap < 1e-8


def test_points_are_means_over_repetitions_of_the_first_update():
    works = make_measured(2)[:2]
    assert icssvm.plan_points(works) == [0.5, 0.0]
    assert icssvm.plan_points(make_measured(2)[-2:]) == [0.5, 23.0]
    assert icssvm.plan_share_above(make_measured(2)[-2:]) == [50.0]
    assert icssvm.plan_most(works) == [9.0, 9.0]


def test_curves_are_counted():
    measured = make_measured(2)
    assert icssvm.plan_faster(measured) == [24.0]
    assert icssvm.plan_longer(measured, "linear") == [8.0]
    assert icssvm.plan_longer([{**one, "batch": 1.0} for one in measured], "linear") == [0.0]
    slopes = icssvm.plan_growth(measured, "updates")
    assert slopes == pytest.approx([np.log(2) / np.log(3)] * 24)


def test_figures_have_eight_panels_with_all_curves():
    times, counts = (find_part(f"Figure {number}:") for number in (1, 2))
    for figure, n_curves in ((times, 6), (counts, 3)):
        sheet = draw_figure(figure, make_measured(2))
        assert [ax.get_title() for ax in sheet.axes] == list(icssvm.SETS)
        for ax in sheet.axes:
            curves = [line for line in ax.lines if line.get_marker() != "None"]
            assert len(curves) == n_curves
            assert all(line.get_xdata().tolist() == [100, 300] for line in curves)
        (legend,) = sheet.legends
        assert len(legend.get_texts()) == n_curves
    dashed = [line for line in draw_figure(times, make_measured(1)).axes[0].lines
              if line.get_linestyle() == "--"]  # fmt: skip
    assert [line.get_ydata().tolist() for line in dashed] == [[1, 10], [1, 9], [1, 8]]


def test_without_data_each_cell_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.delenv("LINDERO_DATA", raising=False)
    icssvm.read_set.cache_clear()
    found = run("icssvm", quick=True, n_seeds=1, out=tmp_path)
    assert found.count("icssvm")["not compared"] == found.count("icssvm")["published"]
    words = [verdict.words for *_, verdict in found.list_verdicts()]
    assert all("set LINDERO_DATA to a folder that has this file" in said for said in words)
    assert "Not drawn: Needs" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_equal_samples_on_the_margin_do_not_stop_the_printed_algorithm():
    K = np.array([[1.0, 1.0, 0.3], [1.0, 1.0, 0.3], [0.3, 0.3, 1.0]])
    updates = icssvm.PublishedUpdates(K, np.array([1.0, 1.0, -1.0]), np.full(3, 10.0), np.ones(3))
    updates.on_margin = [0, 1]
    rate, (one, two) = updates._solve(2, 1.0)
    assert one == pytest.approx(two)
    assert np.isfinite(rate)
