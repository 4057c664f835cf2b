"""``lindero convert``: to ONNX, and to LIBSVM with labels that are text."""

import csv

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
