"""``lindero convert``: to ONNX, and to LIBSVM with labels that are text."""

import calendar
import csv
import datetime
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import flower_rows


def test_text_labels_go_to_libsvm_with_a_map(here, model, flowers):
    result = here.run("convert", model, "m.libsvm")
    assert result.exit_code == 0, result.stderr
    assert "'lily' is 0, 'rose' is 1" in result.stderr
    assert "m.libsvm.labels" in here.names()
    here.run("scale", flowers, "--like", model, "-o", "scaled.svm")
    expected = here.json("predict", model, flowers)["predictions"]
    found = here.json("predict", "m.libsvm", "scaled.svm")["predictions"]
    assert [row["prediction"] for row in found] == [row["prediction"] for row in expected]


def test_a_map_is_replaced_only_with_force(here, model):
    here.write("m.libsvm.labels", "mine")
    assert here.run("convert", model, "m.libsvm").exit_code == 2
    assert here.read("m.libsvm.labels") == "mine"
    assert "m.libsvm" not in here.names()
    assert here.run("convert", model, "m.libsvm", "--force").exit_code == 0


@pytest.mark.parametrize("machine", ["svc", "naive-bayes", "tan", "incremental-svc"])
def test_a_graph_of_onnx_predicts_raw_rows(here, machine):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    here.write("old.csv", flower_rows(60))
    here.write("new.csv", flower_rows(40, seed=1))
    assert here.run("train", "old.csv", "-m", machine).exit_code == 0
    assert here.run("convert", "model.lin", "model.onnx").exit_code == 0
    session = runtime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    with open("new.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    feeds = {
        "petal": np.array([[float(row["petal"] or "nan")] for row in rows]),
        "width": np.array([[float(row["width"])] for row in rows]),
        "colour": np.array([[row["colour"]] for row in rows], dtype=object),
    }
    labels = session.run(["label"], feeds)[0].tolist()
    expected = here.json("predict", "model.lin", "new.csv")["predictions"]
    assert labels == [row["prediction"] for row in expected]


def test_what_onnx_cannot_hold_is_refused(here, flowers):
    pytest.importorskip("onnx")
    assert here.run("train", flowers, "-m", "adaptive-svc").exit_code == 0
    assert "moves in time" in here.refused("convert", "model.lin", "model.onnx")
    assert "model.onnx" not in here.names()


def test_files_of_onnx_are_not_read(here, model):
    pytest.importorskip("onnx")
    here.run("convert", model, "model.onnx")
    for arguments in (["info", "model.onnx"], ["convert", "model.onnx", "back.lin"]):
        assert "does not read them" in here.refused(*arguments)


def test_without_the_package_the_remedy_is_said(here, model, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "lindero[onnx]" in here.refused("convert", model, "model.onnx")


@pytest.mark.parametrize("machine", ["svc", "naive-bayes"])
def test_parts_of_dates_are_inputs_that_are_described(here, machine):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    random = np.random.default_rng(0)
    first = datetime.date(2020, 1, 4)
    days = [first + datetime.timedelta(int(k)) for k in [0, *random.integers(0, 900, 119)]]
    numbers = random.normal(size=120)
    lines = [
        f"{day},{a:.3f},{'yes' if day.month > 6 or a > 1 else 'no'}"
        for day, a in zip(days, numbers, strict=True)
    ]
    here.write("old.csv", "\n".join(["when,a,y", *lines]) + "\n")
    lines[3] = "," + lines[3].partition(",")[2]  # no date
    here.write("new.csv", "\n".join(["when,a,y", *lines[:40]]) + "\n")
    assert here.run("train", "old.csv", "-m", machine).exit_code == 0
    assert here.run("convert", "model.lin", "model.onnx").exit_code == 0
    session = runtime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    told = json.loads(session.get_modelmeta().custom_metadata_map["inputs"])
    names = [each.name for each in session.get_inputs()]
    assert names == list(told) == ["when year", "when month", "when weekday", "when days", "a"]
    assert "as text, January to December" in told["when month"]
    assert told["when days"].startswith("days from 2020-01-04 to the date in 'when'")
    days[3] = None

    def column(take, missing=np.nan):
        kind = object if missing == "" else float
        return np.array([[missing if day is None else take(day)] for day in days[:40]], dtype=kind)

    feeds = {
        "when year": column(lambda day: day.year),
        "when month": column(lambda day: calendar.month_name[day.month], ""),
        "when weekday": column(lambda day: calendar.day_name[day.weekday()], ""),
        "when days": column(lambda day: (day - first).days),
        "a": np.round(numbers[:40, None], 3),
    }
    labels = session.run(["label"], feeds)[0].tolist()
    expected = here.json("predict", "model.lin", "new.csv")["predictions"]
    assert labels == [row["prediction"] for row in expected]
    page = Path(__file__).parents[2].joinpath("docs", "production.md").read_text("utf-8")
    assert all(f"`{name}`" in page for name in names[:4])
