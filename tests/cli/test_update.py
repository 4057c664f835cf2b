"""``lindero update``: rows that are learned and forgotten, and what is refused."""

import shlex

import numpy as np
import pytest

from lindero.data import load as load_table
from lindero.evaluation import update_machine
from lindero.evaluation.build import compute_decisions, unwrap_machine
from lindero.persist import inspect, load
from tests.cli.conftest import flower_rows


def rows_with_ids(n_rows=60, seed=0, start=0):
    lines = flower_rows(n_rows, seed).splitlines()
    named = [f"p{start + k},{line}" for k, line in enumerate(lines[1:])]
    return "\n".join([f"plant,{lines[0]}", *named]) + "\n"


def header_and(text, picked):
    lines = text.splitlines()
    return "\n".join([lines[0], *[lines[1 + k] for k in picked]]) + "\n"


def final(name):
    return load(name)[-1]


@pytest.fixture
def garden(here):
    here.write("old.csv", rows_with_ids(40))
    here.write("new.csv", rows_with_ids(20, seed=1, start=100))
    run = here.run("train", "old.csv", "-m", "incremental-svc", "--id", "plant", "-o", "old.lin")
    assert run.exit_code == 0, run.stderr
    return here


def test_an_incremental_machine_learns_rows_with_their_ids(garden):
    found = garden.json("update", "old.lin", "new.csv", "-o", "new.lin")
    assert (found["rows_before"], found["rows_after"], found["learned"]) == (40, 60, 20)
    assert 0.5 < found["scores_before"]["accuracy"] <= 1
    assert "ptimal" in found["convergence"]["status"] or found["convergence"]["kkt_gap"] < 1e-3
    ids = final("new.lin").ids_.tolist()
    assert ids[:2] == ["p0", "p1"]
    assert ids[-1] == "p119"


def test_the_updated_model_is_the_one_of_all_rows(garden):
    both = garden.read("old.csv") + garden.read("new.csv").partition("\n")[2]
    garden.write("both.csv", both)
    assert garden.run("update", "old.lin", "new.csv", "-o", "new.lin").exit_code == 0
    encoder, machine = load("old.lin"), final("new.lin")
    from lindero.data import load as load_data
    from lindero.svm import IncrementalSVC

    data = load_data("both.csv", id="plant")
    rows = encoder[0].transform(data.X)
    fresh = IncrementalSVC(gamma=machine.__lindero_kernel__().gamma).fit(rows, data.y)
    np.testing.assert_allclose(
        machine.decision_function(rows), fresh.decision_function(rows), atol=1e-6
    )


def test_rows_are_forgotten_by_their_ids(garden):
    garden.write("gone.csv", "p3\np7\n")
    found = garden.json("update", "old.lin", "--forget", "gone.csv", "-o", "less.lin")
    assert (found["rows_before"], found["rows_after"], found["forgotten"]) == (40, 38, 2)
    assert not {"p3", "p7"} & set(final("less.lin").ids_.tolist())
    garden.write("table.csv", "name,plant\nAnn,p1\nBob,p2\n")
    both = garden.json("update", "less.lin", "new.csv", "--forget", "table.csv", "-o", "b.lin")
    assert (both["learned"], both["forgotten"], both["rows_after"]) == (20, 2, 56)


def test_a_row_may_come_again_with_other_values(garden):
    garden.write("gone.csv", "plant\np0\n")
    garden.write("again.csv", "plant,petal,width,colour,class\np0,9.5,0.1,red,rose\n")
    found = garden.json("update", "old.lin", "again.csv", "--forget", "gone.csv", "-o", "x.lin")
    assert found["rows_after"] == 40
    refused = garden.refused("update", "old.lin", "again.csv", "-o", "y.lin")
    assert "p0" in refused


def test_ids_that_are_not_known_and_files_without_ids_are_refused(garden):
    garden.write("gone.csv", "p3\nq99\n")
    assert "q99" in garden.refused("update", "old.lin", "--forget", "gone.csv", "-o", "x.lin")
    garden.write("gone.csv", "")
    assert "no ids" in garden.refused("update", "old.lin", "--forget", "gone.csv", "-o", "x.lin")
    garden.write("gone.csv", "a,b\n1,2\n")
    said = garden.refused("update", "old.lin", "--forget", "gone.csv", "-o", "x.lin")
    assert "'plant' or 'id'" in said
    garden.write("nameless.csv", flower_rows(6))
    said = garden.refused("update", "old.lin", "nameless.csv", "-o", "x.lin")
    assert "knows its rows by the column 'plant'" in said
    assert "x.lin" not in garden.names()


def test_with_several_ids_rows_are_counted(garden):
    for name in ("old", "new"):
        head, *lines = garden.read(f"{name}.csv").splitlines()
        table = [f"bed,{head}", *(f"b{k},{line}" for k, line in enumerate(lines))]
        garden.write(f"{name}2.csv", "\n".join(table) + "\n")
    several = ["--id", "plant", "--id", "bed"]
    run = garden.run("train", "old2.csv", "-m", "incremental-svc", *several, "-o", "old2.lin")
    assert "counts its rows from 0" in run.stderr
    assert "id" not in inspect("old2.lin").summary["roles"]
    for given in ([], several):
        found = garden.json("update", "old2.lin", "new2.csv", *given, "-o", "n.lin", "--force")
        assert (found["rows_before"], found["rows_after"]) == (40, 60)
    assert final("n.lin").ids_.tolist() == list(range(60))
    said = garden.refused("update", "old.lin", "new2.csv", *several, "-o", "x.lin")
    assert "give one --id" in said


def test_without_ids_rows_are_counted(here, flowers):
    assert here.run("train", flowers, "-m", "incremental-svc", "-o", "m.lin").exit_code == 0
    here.write("gone.csv", "0\n5\n")
    assert (
        here.json("update", "m.lin", flowers, "--forget", "gone.csv", "-o", "n.lin")["rows_after"]
        == 118
    )
    here.write("gone.csv", "first\n")
    said = here.refused("update", "m.lin", "--forget", "gone.csv", "-o", "o.lin")
    assert "whole numbers" in said


@pytest.mark.parametrize("machine", ["naive-bayes", "tan", "aode"])
def test_a_bayesian_machine_is_the_one_of_all_rows(here, machine):
    here.write("old.csv", flower_rows(60))
    here.write("new.csv", flower_rows(30, seed=1))
    here.write("gone.csv", header_and(flower_rows(60), [2, 3, 5]))
    arguments = ["train", "old.csv", "-m", machine, "-o", "old.lin"]
    assert here.run(*arguments, "--set", "numeric=gaussian").exit_code == 0
    found = here.json("update", "old.lin", "new.csv", "--forget", "gone.csv", "-o", "new.lin")
    assert (found["rows_before"], found["rows_after"]) == (60, 87)
    kept = header_and(flower_rows(60), [k for k in range(60) if k not in (2, 3, 5)])
    here.write("all.csv", kept + flower_rows(30, seed=1).partition("\n")[2])
    here.run("train", "all.csv", "-m", machine, "--set", "numeric=gaussian", "-o", "all.lin")
    from lindero.data import load as load_data

    X = load_data("old.csv").X
    np.testing.assert_allclose(
        load("new.lin").predict_proba(X), load("all.lin").predict_proba(X), rtol=1e-9
    )


def test_a_bayesian_machine_forgets_rows_with_their_weights(here):
    lines = flower_rows(40).splitlines()
    weights = [5] * 10 + [1] * 30
    table = [f"{lines[0]},n", *(f"{x},{n}" for x, n in zip(lines[1:], weights, strict=True))]
    here.write("old.csv", "\n".join(table) + "\n")
    here.write("gone.csv", "\n".join(table[:11]) + "\n")
    here.write("bare.csv", "\n".join(lines[:11]) + "\n")
    here.write("kept.csv", "\n".join([table[0], *table[11:]]) + "\n")
    given = ["-m", "naive-bayes", "--target", "class", "--weight", "n", "--set", "numeric=gaussian"]
    for name in ("old", "kept"):
        assert here.run("train", f"{name}.csv", *given, "-o", f"{name}.lin").exit_code == 0
    found = here.json("update", "old.lin", "--forget", "gone.csv", "-o", "new.lin")
    assert (found["rows_before"], found["rows_after"], found["forgotten"]) == (80, 30, 10)
    from lindero.data import load as load_data

    X = load_data("old.csv", target="class", weight="n").X
    np.testing.assert_allclose(
        load("new.lin").predict_proba(X), load("kept.lin").predict_proba(X), rtol=1e-9
    )
    said = here.refused("update", "old.lin", "--forget", "bare.csv", "-o", "x.lin")
    assert "weights in the column 'n', which bare.csv lacks" in said


def test_ids_for_a_machine_that_counts_are_refused_with_the_remedy(here, flowers):
    assert here.run("train", flowers, "-m", "naive-bayes").exit_code == 0
    here.write("gone.csv", "id\n3\n")
    said = here.refused("update", "model.lin", "--forget", "gone.csv", "-o", "x.lin")
    assert "keeps counts, not rows" in said
    assert "whole rows" in said


def test_a_regression_and_a_novelty_detector(here):
    random = np.random.default_rng(0)
    rows = random.normal(size=(50, 2))
    lines = [f"{a:.4f},{b:.4f},{a + 2 * b:.4f}" for a, b in rows]
    here.write("old.csv", "\n".join(["a,b,price", *lines[:40]]) + "\n")
    here.write("new.csv", "\n".join(["a,b,price", *lines[40:]]) + "\n")
    assert here.run("train", "old.csv", "-m", "incremental-svr", "-o", "r.lin").exit_code == 0
    found = here.json("update", "r.lin", "new.csv", "-o", "r2.lin")
    assert found["rows_after"] == 50
    assert "r2" in found["scores_before"]
    arguments = ["train", "old.csv", "-m", "incremental-one-class-svm", "-o", "o.lin"]
    assert here.run(*arguments).exit_code == 0
    assert here.json("update", "o.lin", "new.csv", "-o", "o2.lin")["rows_after"] == 50


def test_an_adaptive_machine_appends_newer_rows(here):
    lines = flower_rows(40).splitlines()
    timed = [f"{k},{line}" for k, line in enumerate(lines[1:])]
    here.write("old.csv", "\n".join([f"day,{lines[0]}", *timed[:30]]) + "\n")
    here.write("new.csv", "\n".join([f"day,{lines[0]}", *timed[30:]]) + "\n")
    train = ["train", "old.csv", "-m", "adaptive-svc", "--time", "day", "-o", "a.lin"]
    assert here.run(*train, "--set", "coupling=10").exit_code == 0
    found = here.json("update", "a.lin", "new.csv", "-o", "b.lin")
    assert (found["rows_before"], found["rows_after"]) == (30, 40)
    here.write("gone.csv", "1\n")
    said = here.refused("update", "a.lin", "--forget", "gone.csv", "-o", "c.lin")
    assert "cannot forget" in said


@pytest.mark.parametrize(
    ("machine", "remedy"),
    [("svc", "incremental-svc"), ("nu-svc", "incremental-svc"), ("naive-bayes-tm", "naive-bayes")],
)
def test_machines_that_learned_from_all_rows_are_refused_with_the_remedy(
    here, flowers, machine, remedy
):
    assert here.run("train", flowers, "-m", machine).exit_code == 0
    said = here.refused("update", "model.lin", flowers, "-o", "x.lin")
    assert "cannot learn further rows" in said
    assert "Train it again" in said
    assert remedy in said


@pytest.mark.parametrize("machine", ["tan-tm", "structural-tm", "svc", "cost-sensitive-svc"])
def test_what_cannot_learn_is_trained_again_by_a_command_that_runs(here, flowers, machine):
    asked = ["--cost", "rose:lily=3", "--proba"] if machine == "svc" else []
    assert here.run("train", flowers, "-m", machine, *asked).exit_code == 0
    here.write("new.csv", flower_rows(20, seed=9))
    said = here.refused("update", "model.lin", "new.csv", "-o", "x.lin")
    assert "call fit" not in said
    assert f"Put {flowers} and new.csv into one file" in said
    for option in asked:
        assert option in said
    command = shlex.split(said.strip().rpartition("then: ")[2])
    here.write("ALL_ROWS", flower_rows(80, seed=9))
    assert here.run(*command[1:]).exit_code == 0


@pytest.mark.parametrize(
    ("machine", "asked", "kept"),
    [
        ("incremental-svc", ["--proba"], "calibration curve stays"),
        ("incremental-svc", ["--proba", "--id", "plant"], "calibration curve stays"),
        ("incremental-svc", ["--cost", "rose:lily=3"], "calibration curve and the threshold stay"),
        ("naive-bayes", ["--threshold", "0.3"], "threshold stays"),
        ("tan", ["--cost", "rose:lily=3"], "threshold stays"),
    ],
)
def test_the_machine_inside_learns_and_what_decides_is_kept(here, machine, asked, kept):
    here.write("old.csv", rows_with_ids(40))
    here.write("new.csv", rows_with_ids(20, seed=1, start=100))
    asked = asked if "--id" in asked else [*asked, "--drop", "plant"]
    assert here.run("train", "old.csv", "-m", machine, *asked, "-o", "old.lin").exit_code == 0
    run = here.run("update", "old.lin", "new.csv", "-o", "new.lin")
    assert run.exit_code == 0, run.stderr
    assert kept in run.stdout
    old, new = load("old.lin"), load("new.lin")
    assert old.threshold_ == new.threshold_
    if old.curve_ is not None:
        assert (old.curve_.slope, old.curve_.offset) == (new.curve_.slope, new.curve_.offset)
    alone = update_machine(old.estimator_, **read_roles("new.csv")).model
    rows = read_roles("new.csv")["X"]
    if machine == "incremental-svc":
        assert unwrap_machine(new).ids_.tolist() == list(range(60))
        found, wanted = compute_decisions(new, rows), compute_decisions(alone, rows)
    else:
        found, wanted = new.predict_proba(rows), alone.predict_proba(rows)
    np.testing.assert_array_equal(found, wanted)


def read_roles(path):
    data = load_table(path, id="plant")
    return {"X": data.X, "y": data.y}


def test_a_machine_that_moves_stays_small(here):
    random = np.random.default_rng(0)

    def write(name, first, count):
        lines = [
            ",".join([str(day), *(f"{x:.3f}" for x in row), "ab"[int(row[0] > 0)]])
            for day, row in enumerate(random.normal(size=(count, 12)), first)
        ]
        names = ",".join(["day", *(f"x{k}" for k in range(12)), "y"])
        here.write(name, "\n".join([names, *lines]) + "\n")

    write("old.csv", 0, 300)
    write("new.csv", 300, 5)
    write("newer.csv", 305, 5)
    train = ["train", "old.csv", "-m", "adaptive-svc", "--time", "day", "-o", "a.lin"]
    assert here.run(*train, "--set", "coupling=10").exit_code == 0
    before, name = (here.folder / "a.lin").stat().st_size, "a.lin"
    for new in ("new.csv", "newer.csv"):
        assert here.run("update", name, new, "-o", f"after-{new}.lin").exit_code == 0
        name = f"after-{new}.lin"
        assert (here.folder / name).stat().st_size < 1.2 * before
    machine = final(name)
    judged = machine.certify()
    assert judged.primal - judged.dual < 1e-6
    assert machine.release_memory() is machine


def test_nothing_is_replaced_unless_asked_for(garden):
    before = (garden.folder / "old.lin").read_bytes()
    for arguments in (
        ["update", "old.lin", "new.csv"],
        ["update", "old.lin", "new.csv", "-o", "x.lin", "--in-place"],
        ["update", "old.lin", "-o", "x.lin"],
        ["update", "old.lin", "new.csv", "-o", "old.lin", "--force"],
        ["update", "old.lin", "new.csv", "-o", "new.csv", "--force"],
    ):
        assert garden.run(*arguments).exit_code == 2, arguments
    assert (garden.folder / "old.lin").read_bytes() == before
    assert garden.run("update", "old.lin", "new.csv", "--in-place").exit_code == 0
    assert len(final("old.lin").ids_) == 60


def test_the_file_tells_the_story(garden):
    result = garden.run("update", "old.lin", "new.csv", "-o", "new.lin")
    assert "learned 20 rows, 40 before, 60 now." in result.stdout
    assert "The old model on the new rows" in result.stdout
    assert "accuracy" in result.stdout
    assert garden.run("update", "new.lin", "--in-place", "--forget", "new.csv").exit_code == 0
    summary = inspect("new.lin").summary
    assert summary["rows"] == 40
    assert [step["learned"] for step in summary["updates"]] == [20, 0]
    assert [step["forgotten"] for step in summary["updates"]] == [0, 20]
    assert len(summary["data_sha256"]) == len(summary["updates"][0]["data_sha256"]) == 64


def test_new_categories_are_told(garden):
    garden.write("odd.csv", "plant,petal,width,colour,class\nq,4.0,0.1,violet,rose\n")
    result = garden.run("update", "old.lin", "odd.csv", "-o", "x.lin")
    assert result.exit_code == 0
    assert "'colour' (1 rows, such as 'violet')" in result.stderr


def test_rows_without_a_label_or_without_the_target_column(garden):
    garden.write("some.csv", "plant,petal,width,colour,class\nq,4.0,0.1,red,rose\nr,1,0,blue,\n")
    result = garden.run("update", "old.lin", "some.csv", "-o", "x.lin")
    assert result.exit_code == 0, result.stderr
    assert "learned 1 row," in result.stdout
    garden.write("bare.csv", "plant,petal,width,colour\nq,4.0,0.1,red\n")
    said = garden.refused("update", "old.lin", "bare.csv", "-o", "y.lin")
    assert "lacks the column 'class'" in said


def test_new_rows_are_optional_and_the_usage_says_so(here):
    assert "lindero update [OPTIONS] MODEL [DATA]" in here.run("update", "--help").stdout
    assert "lindero predict [OPTIONS] MODEL DATA" in here.run("predict", "--help").stdout
    assert "Nothing to do" in here.run("update", "m.lin", "-o", "x.lin").stderr
