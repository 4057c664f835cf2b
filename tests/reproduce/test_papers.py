"""Every published number and figure of a paper appears, and what is deterministic comes out.

The numbers here were read from the papers, not from the code.
"""

from __future__ import annotations

import re

import matplotlib
import numpy as np
import pytest

from lindero.reproduce import asvm, run
from lindero.reproduce.cells import Settings
from lindero.reproduce.figures import draw_figure
from lindero.reproduce.runner import make_plan

#: Rows of the reports: table, row, column, as printed.
PUBLISHED = {
    "asvm": [
        ("Training errors", "data set 1", "C₂ = 10", "0"),
        ("Training errors", "data set 1", "C₂ = 10³", "0"),
        ("Training errors", "data set 1", "C₂ = 10⁶", "0"),
        ("Training errors", "data set 1", "C₂ = 10⁸", "2.6 %"),
        ("Training errors", "data set 2", "C₂ = 10³", "0"),
        ("Training errors", "data set 2", "C₂ = 10⁶", "0"),
        ("Training errors", "data set 2", "C₂ = 10⁷", "0.2 %"),
        ("Training errors", "data set 2", "C₂ = 10⁸", "28.8 %"),
        ("Table 1", "adaptive", "C₂ = 10³", "3.61 %"),
        ("Table 1", "adaptive", "C₂ = 10⁴", "2.12 %"),
        ("Table 1", "adaptive", "C₂ = 5·10⁴", "2.81 %"),
        ("Table 1", "adaptive", "C₂ = 5·10⁵", "5.17 %"),
        ("Table 1", "linear SVM", "C = 1", "5.73 %"),
        ("Table 1", "Gaussian SVM", "γ = 2.94, C = 1", "2.37 %"),
        ("Table 2", "adaptive SVM", "test error", "27.0 ± 5.7 %"),
        ("Table 2", "Gaussian SVM", "test error", "26.0 ± 4.7 %"),
    ],
    "lectures": [
        ("Bayes' theorem", "P(meningitis | stiff neck)", "probability", "0.0002"),
        ("The table of tax returns", "P(No)", "share", "7/10"),
        ("The table of tax returns", "P(Yes)", "share", "3/10"),
        ("The table of tax returns", "P(Married | No)", "share", "4/7"),
        ("The table of tax returns", "P(Refund = Yes | Yes)", "share", "0"),
        ("The table of tax returns", "P(Married | No)", "Laplace", "(4+1)/(7+3)"),
        ("The table of tax returns", "income | No", "mean", "110"),
        ("The table of tax returns", "income | No", "sd", "54.5"),
        ("The table of tax returns", "dnorm(130, 110, 54.5)", "density", "0.006843379"),
    ],
    "svm-tutorial": [
        *[("The XOR table: the solution", "α", f"example {i}", "0.125") for i in (1, 2, 3, 4)],
        ("The XOR table: the solution", "margin τ", "1/‖w‖", "√2"),
        ("The XOR table: the solution", "w", "φ₄", "1/√2"),
        *[("The XOR table: the solution", "w", f"φ{j}", "0") for j in "₁₂₃₅₆"],
        *[
            ("The XOR table: examples", f"example {i}", f"φ{'₁₂₃₄₅₆'[j]}", printed)
            for i, row in enumerate(
                ("1 √2 √2 √2 1 1", "1 −√2 √2 −√2 1 1", "1 −√2 −√2 √2 1 1", "1 √2 −√2 −√2 1 1"), 1
            )
            for j, printed in enumerate(row.split())
        ],
    ],
}

FIGURES = {
    "asvm": [f"Figure {number}:" for number in range(1, 10)],
    "lectures": ["Figure 5:", "Figure 6:"],
    "svm-tutorial": [f"Figure {number}:" for number in range(1, 10)],
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The three papers, quick, with one seed, and without any published data set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LINDERO_DATA", raising=False)
        folder = tmp_path_factory.mktemp("reproduced")
        return run(tuple(PUBLISHED), quick=True, out=folder, n_seeds=1)


@pytest.fixture(scope="module")
def pages(found):
    """Both reports."""
    return [open(f"{found.folder}/report.{end}", encoding="utf-8").read() for end in ("md", "html")]


def find_verdict(found, name, table, row, column):
    """The only cell of this place."""
    cells = [
        (cell, verdict)
        for paper, part, cell, verdict in found.list_verdicts()
        if (paper.name, cell.row, cell.column) == (name, row, column)
        and part.title.startswith(table)
    ]
    assert len(cells) == 1, (name, table, row, column)
    return cells[0]


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_number_has_its_cell(found, name):
    for table, row, column, printed in PUBLISHED[name]:
        cell, _ = find_verdict(found, name, table, row, column)
        assert cell.write_published() == printed
        if re.fullmatch(r"[\d.]+", printed):
            assert cell.published == float(printed)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_number_and_figure_is_in_both_reports(pages, name):
    for text in pages:
        for *_, printed in PUBLISHED[name]:
            assert f"| {printed} |" in text or f">{printed}</td>" in text
        for title in FIGURES[name]:
            assert title in text
        assert "Not drawn" not in text


def test_what_is_deterministic_comes_out(found):
    assert found.count("svm-tutorial") == {
        "published": 65, "agree": 64, "differ": 0, "not compared": 1,
    }  # fmt: skip
    # The slides call the sigmoid positive semi-definite, which it is not.
    assert found.count("lectures")["differ"] == 1
    assert find_verdict(found, "lectures", "What the", "tanh(x·y − 1)", "negative eigenvalues")[
        1
    ].words.startswith("Not the same. The slides")
    assert (
        find_verdict(found, "lectures", "Bayes", "P(meningitis | stiff neck)", "probability")[
            1
        ].ours
        == "0.0002"
    )
    _, xor = find_verdict(found, "svm-tutorial", "The XOR", "margin τ", "1/‖w‖")
    assert xor.ours == "1.41421356"


def test_the_adaptive_machine_follows_the_clouds_of_the_first_seed(found):
    errors = {
        (cell.row, cell.column): cell.collect(found.results)[0]
        for paper, part, cell, _ in found.list_verdicts()
        if paper.name == "asvm" and part.title.startswith("Training")
    }
    for data_set, values in {1: (10, 1e3, 1e6), 2: (1e3, 1e6)}.items():
        for value in values:
            name = f"C₂ = {'10' if value == 10 else '10' + '³⁶'[value > 1e3]}"
            assert errors[f"data set {data_set}", name] == 0.0
    assert 25 < errors["data set 2", "C₂ = 10⁸"] < errors["data set 2", "linear SVM"] < 38


def test_missing_data_are_said_in_the_second_table(found, pages):
    _, verdict = find_verdict(found, "asvm", "Table 2", "adaptive SVM", "test error")
    assert verdict.words.startswith("Needs ida_breast_cancer.npz: set LINDERO_DATA")
    assert all("Needs ida_breast_cancer.npz" in text for text in pages)


def test_errata_are_said(pages):
    for text in pages:
        assert "The caption in the paper lists C₂ = 10, 10³, 10⁶ and 10⁸" in text
        assert "Its caption says 5·10⁴, which is that of figure 8" in text
        assert "The paper prints the axes the other way round" in text


def test_breast_cancer_is_judged_on_the_original_splits(real_data, monkeypatch):
    path = real_data("ida_breast_cancer.npz")
    monkeypatch.setenv("LINDERO_DATA", str(path.parent))
    few = {"couplings": [1e3], "neighbours": [5], "folds": 2}
    one = asvm.split_cancer("adaptive", 0, **few)["value"]
    with np.load(path) as held:
        assert held["split_is_original"][:10].all()
        n_tested = len(held["test_idx"][0])
    assert 15 < one < 45
    assert one * n_tested / 100 == pytest.approx(round(one * n_tested / 100))
    linear = asvm.split_cancer("linear", 0, folds=2)["value"]
    assert 15 < linear < 45


def draw(found, name, number):
    """A figure of a paper, drawn again: its axes."""
    paper = next(paper for paper in found.papers if paper.name == name)
    figure = next(f for f in paper.figures if f.title.startswith(f"Figure {number}:"))
    sheet = draw_figure(figure, [found.results[work.key] for work in figure.works])
    sheet.draw_without_rendering()
    return sheet.axes


def read_labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_figures_of_data_have_the_ranges_of_the_text(found):
    (ax,) = draw(found, "asvm", 3)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-0.2, 1.2), (-5.0, 5.0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x_1$", "$x_2$")
    for number in (1, 2):
        (ax,) = draw(found, "asvm", number)
        clouds = [line for line in ax.lines if line.get_linestyle() == "None"]
        assert [len(cloud.get_xdata()) for cloud in clouds] == [250, 250]


def test_paths_shorten_with_the_coupling_of_the_text(found):
    for number, names in ((4, ("10", "$10^3$", "$10^6$", "$10^8$")),
                          (5, ("$10^3$", "$10^6$", "$10^7$", "$10^8$"))):  # fmt: skip
        (ax,) = draw(found, "asvm", number)
        assert read_labels(ax) == [*(f"$C_2$ = {name}" for name in names), "plain SVM"]
        curves = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 500]
        lengths = [np.linalg.norm(np.diff(c, axis=0), axis=1).sum() for c in curves]
        assert lengths == sorted(lengths, reverse=True)
        assert len({line.get_linestyle() for line in ax.lines[::2]}) >= 4


def test_regions_differ_from_the_truth_where_the_error_says(found):
    for number in (6, 7, 8, 9):
        (ax,) = draw(found, "asvm", number)
        meshes = [m for m in ax.collections if isinstance(m, matplotlib.collections.QuadMesh)]
        wrong = meshes[1].get_array()
        assert ax.get_title() == f"{100 * wrong.count() / wrong.size:.2f} % wrong"


def test_figures_of_the_tutorial_show_what_they_say(found):
    left, right = draw(found, "svm-tutorial", 7)
    assert {round(float(line.get_ydata()[0]), 6) for line in left.lines} >= {0, 1.414214, -1.414214}
    assert right.get_title() == "(b) space of inputs"
    tube, loss = draw(found, "svm-tutorial", 8)
    assert any("0 < \\alpha < C" in text for text in read_labels(tube))
    assert loss.get_ylabel() == "$L_\\epsilon$"
    assert [len(draw(found, "svm-tutorial", number)) for number in (1, 2, 3, 4, 5, 6, 9)] == [
        2, 2, 1, 1, 2, 1, 2,
    ]  # fmt: skip
    flat, lifted = draw(found, "lectures", 5)
    assert (flat.name, lifted.name) == ("rectilinear", "3d")


def test_a_full_run_has_the_same_tables_with_more_draws():
    for name in PUBLISHED:
        quick, full = (make_plan(name, Settings(quick=each)) for each in (True, False))
        assert [part.title for part in quick.parts] == [part.title for part in full.parts]
        n_works = [len(plan.works) for plan in (quick, full)]
        assert n_works[0] < n_works[1]
        assert len({figure.name for figure in full.figures}) == len(full.figures)
