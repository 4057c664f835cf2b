"""The page of a comparison: whole, safe, and with charts of the numbers."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from lindero.evaluation import compare
from lindero.evaluation.results import write_mean
from lindero.report import write_report
from lindero.report.charts import (
    MOST_CLASSES,
    Picture,
    Scale,
    count_confusions,
    draw_confusion_matrix,
    find_free_place,
    place_log_ticks,
    place_ticks,
    shorten,
)
from tests.evaluation.tables import clouds

EVIL = "<script>alert('x')</script>"
VOID = {"meta", "br", "img"}


class Balance(HTMLParser):
    """Whether tags are closed in the order in which they were opened."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(page):
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    return balance.tags


def report_of(result, folder, **options):
    write_report(result, folder / "report.html", **options)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def result():
    X, y = clouds(90, 3, distance=2.0)
    names = np.array(["plain", EVIL, "ein sehr langer Name einer Klasse & mehr"])
    return compare(X, names[y], machines=["naive-bayes", "svc-linear", "tan"], folds=3)


def test_the_page_is_whole_and_needs_nothing_else(result, tmp_path):
    page = report_of(result, tmp_path, command="lindero compare 'a b.csv' <x>")
    tags = parsed(page)
    names = [tag for tag, _ in tags]
    assert names.count("h1") == 1
    assert names.count("svg") == 4
    assert not {"script", "link", "iframe", "img"} & set(names)
    loaded = [v for _, attrs in tags for k, v in attrs.items() if k in ("src", "href")]
    assert loaded == []
    assert "url(" not in page
    assert set(re.findall(r"https?://[^\"' ]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    for machine in result.machines:
        assert machine.name in page
    assert result.recommendation().split(":")[0] in page
    assert "lindero compare &#x27;a b.csv&#x27; &lt;x&gt;" in page


def test_names_of_classes_and_columns_are_text_and_never_code(result, tmp_path):
    page = report_of(result, tmp_path)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_pictures_are_well_formed_and_stay_inside_their_frames(result, tmp_path):
    page = report_of(result, tmp_path)
    for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        picture = ET.fromstring(text)
        width, height = (float(picture.get(side)) for side in ("width", "height"))
        for shape in picture.iter():
            x, y = shape.get("x", shape.get("cx")), shape.get("y", shape.get("cy"))
            if x is not None:
                assert -1 <= float(x) <= width + 1
                assert -1 <= float(y) <= height + 1


def test_the_confusion_matrix_counts_all_rows(result):
    best = result.best
    counts = count_confusions(result, best)
    assert counts.sum() == 90
    assert np.trace(counts) == (best.answers == result.truth).sum()
    assert counts.sum(axis=1).tolist() == [30, 30, 30]


def test_pictures_are_about_the_machine_to_take(tmp_path):
    X, y = clouds(90, distance=2.0)
    result = compare(X, y, machines=["naive-bayes", "svc-gaussian", "tan"], folds=3)
    changed = replace(result["naive-bayes"], scores=dict(result["svc-gaussian"].scores))
    changed.scores["error"] = changed.scores["error"] + [0.0, 0.0, 0.01]
    machines = (changed, *(m for m in result.machines if m.name != "naive-bayes"))
    result = replace(result, machines=machines)
    assert result.recommended.name == "naive-bayes" != result.best.name
    page = report_of(result, tmp_path)
    assert "Confusion matrix of naive-bayes" in page
    assert f"Confusion matrix of {result.best.name}" not in page
    assert "Reliability diagram of naive-bayes" in page
    assert "the recommended machine is in bold" in page


def test_many_classes_become_words(tmp_path):
    n_classes = MOST_CLASSES + 1
    X, y = clouds(2 * n_classes, n_classes, distance=0.5)
    labels = np.array([f"class {code}" for code in y])
    result = compare(X, labels, machines=["naive-bayes"], folds=2)
    assert draw_confusion_matrix(result, result.best) is None
    assert f"There are {n_classes} classes. The most frequent confusions" in report_of(
        result, tmp_path
    )


def test_a_regression_has_a_page_too(tmp_path):
    X, _ = clouds(60)
    result = compare(X, X[:, 0] + 0.1, machines=["svr-linear"], folds=2)
    page = report_of(result, tmp_path)
    parsed(page)
    assert page.count("<svg") == 3
    assert "RMSE" in page


def test_a_comparison_without_any_result_has_a_page(tmp_path):
    result = compare(*clouds(40), machines=["tan"], folds=2, progress=lambda state: True)
    page = report_of(result, tmp_path)
    parsed(page)
    assert "not begun" in page
    assert page.count("<svg") == 0


def test_a_page_is_written_whole_or_not_at_all(result, tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_report(result, tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_lone_halves_of_characters_do_not_stop_the_page(tmp_path):
    X, y = clouds(40)
    result = compare(X, np.where(y, "a\udce9", "b"), machines=["naive-bayes"], folds=2)
    assert "a?" in report_of(result, tmp_path)


def test_round_numbers():
    assert place_ticks(0, 1) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert place_ticks(3, 3) == [3]
    assert place_log_ticks(0.03, 20) == pytest.approx([0.1, 1, 10])
    assert place_log_ticks(0.15, 0.6) == pytest.approx([0.2, 0.5])
    assert len(place_log_ticks(0.21, 0.42)) > 1
    assert all(0.21 <= value <= 0.42 for value in place_log_ticks(0.21, 0.42))
    assert Scale(1, 100, 0, 10, logarithmic=True)(10) == pytest.approx(5)


def test_labels_do_not_lie_on_each_other():
    placed = []
    places = [find_free_place(100, 50 + k, 60, placed, (0, 300)) for k in range(8)]
    assert len(set(places)) == 8
    for k, one in enumerate(placed):
        for other in placed[:k]:
            apart = one[2] <= other[0] or other[2] <= one[0]
            assert apart or one[3] <= other[1] or other[3] <= one[1]


def test_text_in_pictures_is_escaped_and_shortened():
    picture = Picture(100, 100, EVIL)
    picture.text(0, 0, EVIL)
    picture.circle(0, 0, 1, "best", EVIL)
    assert "<script" not in str(picture)
    assert shorten("a  very\nlong name", 8) == "a very…"


def test_scores_have_as_many_places_as_their_spread(result):
    assert re.fullmatch(r"\d+\.\d ± \d+\.\d %", write_mean(result.best, "error"))
    assert re.fullmatch(r"\d\.\d{2,4} ± \d\.\d{2,4}", write_mean(result.best, "log_loss"))


def test_columns_that_were_left_out_are_named(tmp_path):
    X, y = clouds(60)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(name=[f"row {k}" for k in range(60)])
    with pytest.warns(UserWarning, match="Left out: 'name'"):
        result = compare(table, y, machines=["naive-bayes"], folds=2)
    page = report_of(result, tmp_path)
    assert "Left out, with different values in most rows: &#x27;name&#x27;." in page
