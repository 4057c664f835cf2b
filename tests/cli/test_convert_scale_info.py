"""``lindero convert``, ``scale``, ``info``, ``data`` and ``completion``."""

import json

import numpy as np
import pytest

from lindero.data import load
from lindero.evaluation import MACHINES

# -- convert ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arff"])
def test_tables_keep_their_values_in_every_format(here, flowers, ending):
    assert here.run("convert", flowers, f"t.{ending}").exit_code == 0
    one, other = load(flowers), load(f"t.{ending}")
    assert other.X.column_names == one.X.column_names
    assert other.kinds == one.kinds
    assert other.target == "class"
    assert other.y.tolist() == one.y.tolist()
    for name in one.X.column_names:
        assert other.X[name].to_pylist() == one.X[name].to_pylist()


def test_numbers_go_to_svmlight_and_back(here):
    here.write("n.csv", "a,b,class\n1,0,3\n2.5,4,5\n0,1,3\n")
    assert here.run("convert", "n.csv", "n.svm").exit_code == 0
    assert here.read("n.svm").splitlines()[0] == "3 1:1"
    here.run("convert", "n.svm", "again.csv")
    again = load("again.csv")
    assert again.y.tolist() == [3, 5, 3]
    assert again.X["x1"].to_pylist() == [1, 2.5, 0]


def test_queries_go_to_svmlight_and_back(here):
    here.write("q.svm", "2 qid:1 1:3\n1 qid:1 1:2\n0 qid:7 2:1\n")
    here.run("convert", "q.svm", "q.csv")
    assert here.read("q.csv").splitlines()[0] == "qid,x1,x2,label"
    here.run("convert", "q.csv", "again.svm", "--qid", "qid")
    assert here.read("again.svm") == here.read("q.svm")


def test_labels_that_are_text_are_numbered_and_said(here):
    here.write("n.csv", "a,class\n1,no\n2,yes\n")
    result = here.run("convert", "n.csv", "n.svm")
    assert "'no' is -1, 'yes' is 1" in result.stderr
    assert [line.split()[0] for line in here.read("n.svm").splitlines()] == ["-1", "1"]


def test_categories_cannot_be_svmlight(here, flowers):
    said = here.refused("convert", flowers, "f.svm")
    assert "'petal'" in said
    assert "lindero scale" in said


def test_models_go_to_libsvm_and_svmlight_and_come_back(here):
    here.write("n.csv", "a,b,class\n1,0,-1\n2.5,4,1\n0,1,-1\n3,3,1\n")
    here.run("train", "n.csv", "-m", "svc")
    here.run("scale", "n.csv", "--like", "model.lin", "-o", "scaled.svm")
    expected = here.json("predict", "model.lin", "n.csv", "--decision")["predictions"]
    for name in ("m.libsvm", "m.svmlight"):
        assert here.run("convert", "model.lin", name).exit_code == 0
        assert here.run("convert", name, "back.lin", "--force").exit_code == 0
        for path in (name, "back.lin"):
            found = here.json("predict", path, "scaled.svm", "--decision")["predictions"]
            for row, same in zip(found, expected, strict=True):
                assert row["decision"] == pytest.approx(same["decision"], abs=1e-6)


def test_networks_go_to_bif_and_xmlbif(here, flowers):
    from lindero.bayes import BayesNetwork

    here.run("train", flowers, "-m", "tan")
    for name in ("n.bif", "n.xmlbif"):
        assert here.run("convert", "model.lin", name).exit_code == 0
    here.run("convert", "n.bif", "again.xmlbif")
    one = BayesNetwork.from_bif(here.read("n.bif"))
    other = BayesNetwork.from_xmlbif(here.read("again.xmlbif"))
    assert one.arcs == other.arcs
    assert ("class", "colour") in one.arcs


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("model.lin", "m.bif", "Only Bayesian networks"),
        ("model.lin", "m.csv", "is a model"),
        ("flowers.csv", "f.lin", "is unclear"),
        ("flowers.csv", "f.xyz", "is unclear"),
        ("none.csv", "f.tsv", "no file none.csv"),
    ],
)
def test_what_cannot_be_converted(here, flowers, model, source, target, words):
    assert words in here.refused("convert", source, target)
    assert here.names() == ["flowers.csv", "model.lin"]


def test_a_network_from_elsewhere_makes_no_machine(here, flowers):
    here.run("train", flowers, "-m", "naive-bayes", "--set", "numeric=mdl")
    here.run("convert", "model.lin", "n.bif")
    assert "not a trained model" in here.refused("convert", "n.bif", "n.lin")


# -- scale ------------------------------------------------------------------------------------


def test_scaled_numbers_have_mean_zero_and_deviation_one(here, flowers):
    assert here.run("scale", flowers, "-o", "s.csv").exit_code == 0
    scaled = load("s.csv")
    assert scaled.X.column_names == [
        "petal", "petal is missing", "width", "colour=blue", "colour=red", "colour=white",
    ]  # fmt: skip
    width = scaled.X["width"].to_numpy()
    assert width.mean() == pytest.approx(0.0, abs=1e-9)
    assert width.std() == pytest.approx(1.0)
    assert scaled.y.tolist() == load(flowers).y.tolist()


def test_scaled_numbers_go_from_zero_to_one(here):
    rows = ["a,none,five,below,c", "2,0,5,-3,x", "4,0,5,-3,y", "10,0,5,-3,x"]
    here.run("scale", here.write("n.csv", "\n".join(rows)), "--scaling", "range", "-o", "s.csv")
    X = load("s.csv").X
    found = {name: X[name].to_pylist() for name in X.column_names}
    # The published rule for constant columns: 0 stays 0, anything else becomes 1.
    assert found == {"a": [0.0, 0.25, 1.0], "none": [0] * 3, "five": [1] * 3, "below": [1] * 3}
    said = here.refused("scale", "n.csv", "--scaling", "range", "--like", "model.lin")
    assert "leave out --scaling" in said


def test_rows_are_scaled_like_those_of_a_model(here, flowers, model):
    here.run("scale", flowers, "-o", "all.csv")
    first = "\n".join(here.read(flowers).splitlines()[:4])
    here.run("scale", here.write("first.csv", first), "--like", model, "-o", "like.csv")
    assert here.read("like.csv").splitlines() == here.read("all.csv").splitlines()[:4]


def test_scaled_rows_go_to_standard_output(here, flowers):
    result = here.run("scale", flowers)
    assert result.stdout.startswith("petal,petal is missing,width")
    assert "-o" in here.refused("scale", flowers, "--json")


def test_a_model_that_scales_nothing(here, flowers):
    here.run("train", flowers, "-m", "aode")
    assert "has no scales" in here.refused("scale", flowers, "--like", "model.lin")


# -- info -------------------------------------------------------------------------------------


def test_info_tells_machine_data_and_optimality(here, model):
    text = here.run("info", model).stdout
    for words in ("svc", "flowers.csv", "petal", "colour (3 values)", "Optimal", "sha256"):
        assert words in text
    told = here.json("info", model)
    assert told["estimator"] == "svm.SVC"
    assert told["summary"]["classes"] == ["lily", "rose"]


def test_info_says_what_becomes_of_texts(here):
    rows = "".join(f"word{k} and some more words,{k % 3},{'uv'[k % 2]}\n" for k in range(60))
    here.write("texts.csv", "description,n,class\n" + rows)
    assert here.run("train", "texts.csv", "-m", "svc", "-o", "texts.lin").exit_code == 0
    told = here.run("info", "texts.lin").stdout
    assert "description (text, hashed)" in told
    assert "(0 values)" not in told


def test_info_of_a_machine_lists_its_parameters(here):
    text = here.run("info", "nu-svr").stdout
    assert "nu" in text
    assert "0.25, 0.5, 0.75" in text
    assert here.json("info", "tan-tm")["defaults"]["learning"] == "discriminative"


def test_info_alone_lists_all_machines(here):
    listed = {machine["name"] for machine in here.json("info")["machines"]}
    assert listed == set(MACHINES)
    assert all(name in here.run("info").stdout for name in MACHINES)


def test_info_of_models_from_elsewhere_and_of_none(here, flowers):
    here.write("n.csv", "a,class\n1,-1\n2,1\n")
    here.run("train", "n.csv", "-m", "svc")
    here.run("convert", "model.lin", "m.libsvm")
    assert here.json("info", "m.libsvm")["support vectors"] == 2
    assert "is not a model" in here.refused("info", flowers)


# -- data -------------------------------------------------------------------------------------


def test_published_data_are_listed_with_words(here):
    listed = here.json("data", "list")["data"]
    assert listed
    assert all(isinstance(words, str) and words for words in listed.values())


def test_a_data_set_in_the_folder_of_data_is_fetched(here, real_data):
    folder = real_data("uci_iris.csv.gz").parent
    name = next(name for name in here.json("data", "list")["data"] if "iris" in name)
    from click.testing import CliRunner

    from lindero.cli.main import cli

    result = CliRunner(env={"LINDERO_DATA": str(folder)}).invoke(
        cli, ["data", "fetch", name, "-o", "iris.csv"]
    )
    assert result.exit_code == 0, result.stderr
    assert load("iris.csv").n_rows == 150
    assert len(np.unique(load("iris.csv").y)) == 3


def test_data_of_a_name_that_is_none(here, monkeypatch):
    monkeypatch.setenv("LINDERO_DATA", str(here.folder))
    assert "nonsense-data" in here.refused("data", "fetch", "nonsense-data")


# -- completion -------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_for_a_shell(here, shell):
    line = here.run("completion", shell).stdout.strip()
    assert f"_LINDERO_COMPLETE={shell}_source lindero" in line
    assert json.loads(here.run("completion", shell, "--json").stdout)["line"] == line


def test_the_usual_shell_is_known(here, monkeypatch):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "fish_source" in here.run("completion").stdout
    monkeypatch.setenv("SHELL", "/bin/strange")
    assert "bash_source" in here.run("completion").stdout


def test_machines_complete():
    from click.shell_completion import ShellComplete

    from lindero.cli.main import cli

    complete = ShellComplete(cli, {}, "lindero", "_LINDERO_COMPLETE")
    found = complete.get_completions(["train", "data.csv", "-m"], "nu")
    assert {item.value for item in found} == {"nu-svc", "nu-svr"}
    assert {item.value for item in complete.get_completions([], "c")} == {
        "compare", "completion", "convert", "cv",
    }  # fmt: skip
