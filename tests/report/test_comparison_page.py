"""The page of a comparison: whole, safe, and with charts of the numbers."""

import hashlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from lindero.data import load
from lindero.evaluation import MEASURES, compare
from lindero.report import write_report
from lindero.report.charts import (
    MOST_CLASSES,
    choose_places,
    count_confusions,
    draw_confusion_matrix,
    write_scores,
)
from lindero.report.page import hash_data
from lindero.report.picture import (
    NARROW,
    Picture,
    Scale,
    find_free_place,
    place_log_ticks,
    place_ticks,
    write_number,
)
from lindero.runtime.texts import shorten
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
    # Scores, times and the matrix in two widths; calibration, ROC and precision–recall in one.
    assert names.count("svg") == 9
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
    result = compare(X, y, machines=["naive-bayes", "svc-gaussian"], folds=3)
    changed = replace(result["naive-bayes"], scores=dict(result["svc-gaussian"].scores))
    changed.scores["error"] = changed.scores["error"] + [0.0, 0.0, 0.01]
    machines = (changed, *(m for m in result.machines if m.name != "naive-bayes"))
    result = replace(result, machines=machines)
    assert result.recommended.name == "naive-bayes" != result.best.name
    page = report_of(result, tmp_path)
    assert "<h2>Confusion matrix</h2>" in page
    assert "Answers of naive-bayes, out of fold" in page
    assert f"Answers of {result.best.name}" not in page
    assert "the recommended machine is in bold" in page
    chosen = re.findall(r'<tr class="chosen"><td>([^<]*)', page)
    assert chosen == ["naive-bayes"]


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
    assert page.count("<svg") == 3  # scores in two widths, predictions; no times of one machine
    assert "RMSE" in page
    assert "<h2>Predicted and true values</h2>" in page


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
    for low, high, count in ((172_193, 1_663_175, 2), (-0.9, 0.8, 2), (0.33, 0.49, 3), (1, 9, 1)):
        assert len(place_ticks(low, high, count)) > 1
        assert all(low <= tick <= high for tick in place_ticks(low, high, count))
    assert len(place_log_ticks(0.315, 0.347)) > 1
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
    name = result.best.name
    assert re.fullmatch(r"\d+\.\d+ ± \d+\.\d+ %", write_scores(result, "error")[name])
    assert re.fullmatch(r"\d\.\d{2,4} ± \d\.\d{2,4}", write_scores(result, "log_loss")[name])


def test_digits_show_the_order():
    error, rmse = MEASURES["error"], MEASURES["rmse"]
    assert choose_places(error, [15.2, 15.5, 17.8], [1.0, 2.0, 1.5]) == 1
    assert choose_places(error, [15.22, 15.24, 17.8], [1.0, 2.0, 1.5]) == 2
    assert choose_places(error, [15.2, 15.2, 17.8], [1.0, 2.0, 1.5]) == 1  # equal for good
    assert choose_places(error, [15.22, 15.24], [1.0, 2.0], ranks=False) == 1
    assert choose_places(rmse, [61_234.1, 61_234.3], [2_000.0, 1_900.0]) == 1
    assert choose_places(rmse, [61_234.4, 71_234.6], [2_000.0, 1_900.0]) == 0


def test_columns_that_were_left_out_are_named(tmp_path):
    X, y = clouds(60)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(name=[f"row {k}" for k in range(60)])
    with pytest.warns(UserWarning, match="Left out: 'name'"):
        result = compare(table, y, machines=["naive-bayes"], folds=2)
    page = report_of(result, tmp_path)
    assert "left-out columns" in page
    assert "&#x27;name&#x27; (different values in most rows)" in page


# -- what a page tells ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def houses():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"area": rng.normal(120, 40, 150).round(1), "district": rng.choice(list("ABC"), 150)}
    )
    price = table["area"] * 2_500 + (table["district"] == "A") * 90_000 + rng.normal(0, 9e3, 150)
    return table, price.round().to_numpy()


def test_prices_have_no_exponents(houses, tmp_path):
    result = compare(*houses, machines=["svr-linear"], folds=2, tuning_rows=60)
    page = report_of(result, tmp_path, data=houses[0], y=houses[1])
    shown = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert not re.search(r"\d[eE][+-]?\d", re.sub(r"sha256 [0-9a-f]+", "", shown))
    assert re.search(r"\d\d,\d{3}", shown)
    assert write_number(250_000.0) == "250,000"


def test_a_rare_class_has_its_curves_on_axes_that_fit(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + rng.normal(size=400) > 2.6, "yes", "no")
    result = compare(X, y, machines=["naive-bayes"], folds=2)
    page = report_of(result, tmp_path)
    for title in ("Confusion matrix", "Calibration", "ROC", "Precision–recall"):
        assert f"<h2>{title}</h2>" in page
    assert "probability of yes" in page  # the rarer one
    assert "ROC AUC: 0." in page
    assert "the share of yes" in page


def test_one_machine_has_the_colour(tmp_path):
    X, y = clouds(90, distance=2.0)
    result = compare(X, y, machines=["naive-bayes", "svc-linear", "tan"], folds=3)
    page = report_of(result, tmp_path)
    named = re.findall(r'class="label best-text"[^>]*>([^<]*)<', page)
    assert set(named) == {result.recommended.name}
    assert len(named) == 4  # two charts in two widths


def test_origin_data_and_next_command_are_told(tmp_path):
    X, y = clouds(60)
    path = tmp_path / "clouds.csv"
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(y, "yes", "no"))
    table.to_csv(path, index=False)
    data = load(path)
    result = compare(data, machines=["naive-bayes"], folds=2)
    next_command = "lindero train clouds.csv -m naive-bayes"
    page = report_of(
        result, tmp_path, command="lindero compare clouds.csv", next_command=next_command, data=data
    )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert f"sha256 {digest}" in page
    assert f"<code>{next_command}</code>" in page
    assert "<code>lindero compare clouds.csv</code>" in page
    assert re.search(r"<dt>written</dt><dd>20\d\d-\d\d-\d\d \d\d:\d\d", page)
    assert "<dt>left-out columns</dt><dd>none</dd>" in page
    assert hash_data((X, y)) != hash_data((X + 1, y))


def test_columns_that_matter_and_two_predictions_are_explained(houses, tmp_path):
    table, price = houses
    y = np.where(price > np.median(price), "dear", "cheap")
    result = compare(table, y, machines=["naive-bayes", "svc-linear"], folds=2)
    page = report_of(result, tmp_path, data=table, y=y)
    parsed(page)
    assert "<h2>Columns that matter</h2>" in page
    assert "Permutation importance" in page
    assert "<h2>Predictions explained</h2>" in page
    assert "area = " in page
    assert "Method: exact" in page


def test_pages_fit_telephones(result, tmp_path):
    page = report_of(result, tmp_path)
    assert "max-width: 640px" in page
    narrow = re.findall(r'<div class="narrow"><svg.*?</svg></div>', page, re.DOTALL)
    assert len(narrow) == 3
    for text in narrow:
        assert float(re.search(r' width="(\d+)"', text)[1]) <= NARROW + 160  # long names spill


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_shows_the_whole_page_on_a_telephone(result, tmp_path):
    report_of(result, tmp_path, next_command="lindero train " + 12 * "a-long-name " + "-m tan")
    frame = tmp_path / "frame.html"
    frame.write_text(
        "<body style='margin:0'><iframe src='report.html' style='border:0;width:400px;"
        "height:6000px'></iframe><script>onload = () => { const page = document.querySelector("
        "'iframe').contentDocument.documentElement; document.title = 'width ' + page.scrollWidth }"
        "</script>"
    )
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
        "--allow-file-access-from-files", "--virtual-time-budget=3000", f"file://{frame}",
    ]  # fmt: skip
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    width = re.search(r"<title>width (\d+)</title>", shown.stdout)
    if width is None:
        pytest.skip("the browser does not run here")
    assert int(width[1]) <= 400
