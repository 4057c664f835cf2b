"""``lindero train``."""

import numpy as np
import pytest

from lindero.evaluation import MACHINES
from lindero.persist import inspect, load

NUMBERS = [name for name, machine in MACHINES.items() if machine.task == "regression"]
CLASSES = [name for name, machine in MACHINES.items() if machine.task == "classification"]
NO_TARGET = [name for name, machine in MACHINES.items() if not machine.has_target]


@pytest.mark.parametrize("machine", CLASSES)
def test_every_classifier_is_trained_saved_and_says_how_it_went(here, flowers, machine):
    result = here.run("train", flowers, "-m", machine, "-o", "m.lin")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"{machine} on 60 rows, to predict 'class'\n")
    assert "Trained in" in result.stdout
    assert "saved as m.lin" in result.stdout
    predicted = here.run("predict", "m.lin", flowers)
    assert predicted.exit_code == 0, predicted.stderr
    lines = predicted.stdout.splitlines()
    assert lines[0] == "prediction"
    assert set(lines[1:]) == {"rose", "lily"}
    assert len(lines) == 61
    # Rows of training, of which a machine that learned anything knows most.
    assert float(predicted.stderr.split("accuracy")[1].split()[0]) > 0.8


def test_texts_and_wide_sparse_tables_need_no_option(here):
    random, texts, wide = np.random.default_rng(0), ["text,kind"], []
    for _ in range(400):
        mood = random.integers(0, 2)
        words = [f"word{k}" for k in random.integers(0, 900, 8)]
        texts.append(f"{' '.join(words)} so very {['bad', 'good'][mood]},{['no', 'yes'][mood]}")
        columns = sorted({*random.integers(3, 5000, 6).tolist(), int(mood)})
        wide.append(f"{mood} " + " ".join(f"{column}:1" for column in columns))
    here.write("texts.csv", "\n".join(texts[:300]) + "\n")
    here.write("new.csv", "\n".join(texts[:1] + texts[300:]) + "\n")
    here.write("wide.svm", "\n".join(wide[:300]) + "\n")
    # Without the column 0, which is in the other file.
    here.write("new.svm", "\n".join(row for row in wide[300:] if " 0:" not in row) + "\n")
    for name, new in (("texts.csv", "new.csv"), ("wide.svm", "new.svm")):
        told = here.json("train", name, "-o", f"{name}.lin")
        assert told["machine"] == "linear-svc"
        predicted = here.run("predict", f"{name}.lin", new)
        assert float(predicted.stderr.split("accuracy")[1].split()[0]) > 0.9


@pytest.mark.parametrize("machine", NUMBERS)
def test_every_regression_is_trained_and_predicts_numbers(here, machine):
    x = np.random.default_rng(0).permutation(np.linspace(-1, 1, 40))
    rows = "\n".join(f"{value:.4f},{3 * value:.4f}" for value in x)
    here.write("line.csv", f"x,height\n{rows}\n")
    setting = "Cs=10,100" if machine.endswith("-cv") else "C=100"
    told = here.json("train", "line.csv", "-m", machine, "--set", setting)
    assert told["machine"] == machine
    assert "kkt_gap" in told["convergence"]
    here.run("predict", "model.lin", "line.csv", "-o", "p.csv")
    found = np.array(here.read("p.csv").split()[1:], dtype=float)
    assert np.abs(found - 3 * x).max() < 0.5


@pytest.mark.parametrize("machine", NO_TARGET)
def test_machines_without_a_target_take_all_columns(here, machine):
    here.write("points.csv", "a,b\n" + "".join(f"{k % 5},{k % 3}\n" for k in range(30)))
    told = here.json("train", "points.csv", "-m", machine)
    assert (told["columns"], told["target"]) == (2, None)
    assert here.run("predict", "model.lin", "points.csv").exit_code == 0


def test_a_column_called_class_is_no_feature_of_a_machine_without_target(here, flowers):
    result = here.run("train", flowers, "-m", "one-class-svm")
    assert "column 'class' is left out" in result.stderr
    assert inspect("model.lin").input["names"] == ["petal", "width", "colour"]
    here.run("train", flowers, "-m", "one-class-svm", "--no-target", "--force")
    assert inspect("model.lin").input["names"] == ["petal", "width", "colour", "class"]


def test_rankings_need_queries_and_have_them_from_svmlight(here):
    lines = [f"{k % 3} qid:{k // 3} 1:{k % 3 + 0.1 * k} 2:{k % 2}" for k in range(30)]
    here.write("rank.svm", "\n".join(lines) + "\n")
    assert here.json("train", "rank.svm")["machine"] == "rank-svm"
    assert here.json("predict", "model.lin", "rank.svm", "-o", "p.csv")["scores"]["ndcg@10"] > 0.9
    here.write("none.csv", "a,b\n1,2\n2,1\n3,0\n")
    assert "--qid" in here.refused("train", "none.csv", "-m", "rank-svm", "-o", "none.lin")


def test_queries_can_be_a_column(here):
    rows = "".join(f"q{k // 3},{k % 3 + 0.1 * k},{k % 3}\n" for k in range(30))
    here.write("rank.csv", "query,x,relevance\n" + rows)
    assert here.json("train", "rank.csv", "--qid", "query")["machine"] == "rank-svm"
    told = here.json("predict", "model.lin", "rank.csv", "-o", "p.csv")
    assert told["scores"]["ndcg@10"] > 0.9


def test_times_reach_adaptive_machines_in_training_and_in_predicting(here):
    random = np.random.default_rng(0)
    x = random.normal(size=80)
    label = np.where(np.arange(80) < 40, x > 0, x < 0)  # the boundary turns round
    rows = "".join(f"{k},{x[k]:.3f},{'yes' if label[k] else 'no'}\n" for k in range(80))
    here.write("drift.csv", "day,x,class\n" + rows)
    here.run("train", "drift.csv", "-m", "adaptive-svc", "--time", "day", "--set", "coupling=1")
    assert load("model.lin")[-1].times_.tolist() == list(range(80))
    told = here.json("predict", "model.lin", "drift.csv", "-o", "p.csv")
    assert told["scores"]["accuracy"] > 0.9


def test_without_a_machine_the_usual_one_for_the_data_is_taken(here, flowers):
    assert here.json("train", flowers)["machine"] == "svc"
    assert here.json("train", flowers, "--target", "width", "--force")["machine"] == "svr"
    assert here.json("train", flowers, "--no-target", "--force")["machine"] == "one-class-svm"


def test_settings_are_parameters_of_the_machine(here, flowers):
    here.run("train", flowers, "-m", "svc", "--set", "C=7", "--set", "gamma=0.25")
    model = load("model.lin")
    assert (model[-1].C, model[-1].gamma) == (7, 0.25)


def test_columns_can_be_said_to_be_categories(here):
    here.write("codes.csv", "code,class\n" + "1,a\n2,b\n3,a\n" * 5)
    here.run("train", "codes.csv", "-m", "svc", "--set", "categorical_features=code,")
    assert load("model.lin")[0].categories_ == [[1, 2, 3]]


def test_weights_count(here):
    here.write("weighted.csv", "x,w,class\n" + "0,1,a\n1,1,b\n" * 5 + "0,1000,b\n")
    here.run("train", "weighted.csv", "--weight", "w", "-m", "naive-bayes")
    model = load("model.lin")
    assert model.feature_names_in_.tolist() == ["x"]
    assert model.class_count_.tolist() == [5.0, 1005.0]


def test_tuning_first_saves_the_best(here, flowers):
    told = here.json("train", flowers, "-m", "svc", "--tune", "--folds", "3")
    assert set(told["params"]) == {"C", "gamma"}
    assert 0.5 < told["tuning"]["mean"] <= 1.0
    assert told["params"]["C"] == load("model.lin")[-1].C


def test_the_same_seed_gives_the_same_file(here, flowers):
    contents = []
    for _ in range(2):
        train = ["train", flowers, "-m", "tm-clustering", "--seed", "3", "--no-target"]
        told = here.json(*train, "--force")
        contents.append(load("model.lin").labels_.tolist())
    assert told["machine"] == "tm-clustering"
    assert contents[0] == contents[1]


def test_rows_without_target_are_left_out_and_said(here):
    here.write("gap.csv", "a,class\n1,x\n2,\n3,y\n4,x\n5,y\n")
    result = here.run("train", "gap.csv")
    assert "1 of 5 rows are left out" in result.stderr
    assert "on 4 rows" in result.stdout


def test_a_target_without_any_value_is_no_reason_to_learn_without_one(here):
    here.write("blank.csv", "a,b,outcome\n" + "1,2,\n3,5,\n" * 10)
    said = here.refused("train", "blank.csv")
    assert "'outcome' has no value in any row" in said
    assert "--no-target" in said
    assert here.json("train", "blank.csv", "--no-target")["machine"] == "one-class-svm"


def test_classes_that_are_no_text_have_weights_too(here):
    here.write("codes.csv", "a,class\n" + "".join(f"{k % 9},{k % 2}\n" for k in range(40)))
    here.json("train", "codes.csv", "-m", "svc", "--set", 'class_weight={"1": 5}')
    assert load("model.lin")[-1].class_weight == {1: 5}
    here.write("flags.csv", "a,class\n" + "".join(f"{k % 9},{k % 2 == 0}\n" for k in range(40)))
    here.json("train", "flags.csv", "-m", "svc", "--set", 'class_weight={"true": 5}', "--force")
    assert load("model.lin")[-1].class_weight == {True: 5}


def test_data_may_come_from_standard_input(here):
    result = here.run("train", "-", stdin="a,class\n1,x\n2,x\n8,y\n9,y\n")
    assert result.exit_code == 0, result.stderr
    result = here.run("predict", "model.lin", "-", stdin="a\n1\n9\n")
    assert result.stdout.split() == ["prediction", "x", "y"]


def test_the_model_file_knows_where_it_came_from(here, flowers):
    here.run("train", flowers, "-m", "tan", "--id", "width")
    summary = inspect("model.lin").summary
    assert summary["machine"] == "tan"
    assert summary["roles"] == {"target": "class", "id": "width"}
    assert summary["rows"] == 60
    assert "flowers.csv" in summary["data"]


def partly_labelled(here, suffix):
    """60 rows in two groups, 8 of them with a label: an empty target, or SVMlight's 0."""
    random = np.random.default_rng(0)
    groups = np.arange(60) % 2
    x = random.normal(size=60) + 6.0 * groups
    if suffix == "csv":
        labels = np.where(np.arange(60) < 8, np.array(["no", "yes"])[groups], "")
        rows = [f"{value:.3f},{label}" for value, label in zip(x, labels, strict=True)]
        return here.write("some.csv", "\n".join(["x,label", *rows]) + "\n"), ["no", "yes"], groups
    labels = np.where(np.arange(60) < 8, 2 * groups - 1, 0)
    rows = [f"{label} 1:{value:.3f}" for value, label in zip(x, labels, strict=True)]
    return here.write("some.svm", "\n".join(rows) + "\n"), ["-1", "1"], groups


@pytest.mark.parametrize("suffix", ["csv", "svm"])
def test_a_transductive_machine_learns_from_rows_without_a_target(here, suffix):
    path, classes, groups = partly_labelled(here, suffix)
    told = here.json("train", path, "-m", "transductive-svc", "--set", "kernel=linear")
    assert told["rows"] == 60
    here.run("predict", "model.lin", path, "-o", "p.csv")
    found = here.read("p.csv").split()[1:]
    assert found == [classes[group] for group in groups]
    machine = load("model.lin")[-1]
    assert machine.unlabelled_.sum() == 52
    assert np.bincount(np.searchsorted(machine.classes_, machine.transduction_)).sum() == 60


def test_what_needs_labels_is_refused_where_some_are_missing(here):
    path, _, _ = partly_labelled(here, "csv")
    for option in (["--tune"], ["--proba"], ["--threshold", "0.3"], ["--cost", "no:yes=3"]):
        said = here.refused("train", path, "-m", "transductive-svc", *option)
        assert "need rows with a target" in said
    said = here.refused("train", path, "-m", "transductive-svc", "--measure", "brier")
    assert "leave them out to train transductive-svc" in said
