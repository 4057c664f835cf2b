"""``lindero cv`` and ``lindero tune``."""

import numpy as np
import pytest

from lindero.persist import load


def test_cross_validation_says_mean_and_spread(here, flowers):
    result = here.run("cv", flowers, "-m", "naive-bayes")
    assert result.exit_code == 0
    assert result.stdout.startswith("naive-bayes, 5 folds of 60 rows")
    assert "accuracy" in result.stdout
    assert "log-loss" in result.stdout
    assert (
        result.stderr == "Next: lindero tune flowers.csv -m naive-bayes  (find better parameters)\n"
    )
    assert here.run("cv", flowers, "-m", "naive-bayes", "--quiet").stderr == ""


def test_its_json_has_every_fold(here, flowers):
    told = here.json("cv", flowers, "-m", "svc", "--folds", "4", "--set", "C=10")
    assert (told["machine"], told["params"], told["measure"]) == ("svc", {"C": 10}, "accuracy")
    folds = told["folds"]["accuracy"]
    assert len(folds) == 4
    assert told["mean"]["accuracy"] == pytest.approx(np.mean(folds))
    assert 0.7 < told["mean"]["accuracy"] < 1.0


def test_the_seed_decides_the_folds(here, flowers):
    def folds(seed):
        return here.json("cv", flowers, "-m", "tan", "--seed", seed)["folds"]

    assert folds("1") == folds("1")
    assert folds("1") != folds("2")


def test_costs_are_what_a_cost_sensitive_machine_is_judged_by(here, flowers):
    settings = ["--set", "cost_positive=5", "--set", "positive_class=rose"]
    told = here.json("cv", flowers, "-m", "cost-sensitive-svc", *settings)
    assert told["measure"] == "cost"
    assert told["mean"]["cost"] >= 0.0


def test_a_measure_of_ones_own_comes_first(here, flowers):
    result = here.run("cv", flowers, "-m", "svc", "--measure", "roc-auc")
    assert [line.split("  ")[0] for line in result.stdout.splitlines()[2:5]] == [
        "ROC AUC", "accuracy", "log-loss",
    ]  # fmt: skip
    told = here.json("tune", flowers, "-m", "svc", "--measure", "f1", "--folds", "3")
    assert told["measure"] == "f1"
    assert 0.8 < told["best"]["mean"] <= 1.0
    trained = here.json("train", flowers, "-m", "kdb", "--tune", "--measure", "brier")
    assert 0.0 < trained["tuning"]["mean"] < 0.25


def test_costs_without_a_machine_that_knows_them(here, flowers):
    costs = ["--cost", "rose:lily=20"]
    told = here.json("cv", flowers, "-m", "naive-bayes", *costs)
    assert told["measure"] == "cost"
    result = here.run("tune", flowers, "-m", "kdb", "--grid", "k=0,1", *costs)
    assert "rose is best answered from a probability of 0.0" in result.stdout


def test_tuning_shows_the_best_first(here, flowers):
    result = here.run("tune", flowers, "-m", "svc", "--folds", "3")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("svc, 25 points, 3 folds")
    scores = [float(line.split()[2]) for line in lines[2:]]
    assert len(scores) == 10
    assert scores == sorted(scores, reverse=True)
    assert here.names() == ["flowers.csv"]


def test_a_grid_of_ones_own(here, flowers):
    told = here.json("tune", flowers, "-m", "kdb", "--grid", "k=0,1", "--grid", "alpha=0.5,1")
    points = [trial["params"] for trial in told["trials"]]
    assert sorted((p["k"], p["alpha"]) for p in points) == [(0, 0.5), (0, 1), (1, 0.5), (1, 1)]
    assert told["best"] == told["trials"][0]


def test_what_is_set_is_not_searched(here, flowers):
    told = here.json("tune", flowers, "-m", "svc", "--set", "gamma=0.5", "--folds", "3")
    assert all(set(trial["params"]) == {"C"} for trial in told["trials"])
    assert told["params"]["gamma"] == 0.5
    linear = here.json("tune", flowers, "-m", "svc", "--set", "kernel=linear", "--folds", "3")
    assert all(set(trial["params"]) == {"C"} for trial in linear["trials"])


def test_the_best_model_can_be_saved(here, flowers):
    told = here.json("tune", flowers, "-m", "naive-bayes", "-o", "best.lin", "--folds", "3")
    assert told["model"] == "best.lin"
    assert load("best.lin").alpha == told["params"]["alpha"]


def test_points_that_cannot_be_fitted_are_told_of_and_left_out(here):
    # Nine rows of one class to each of the other allow no nu above 0.2.
    rows = "".join(f"{k % 10},{'rare' if k % 10 == 9 else 'usual'}\n" for k in range(60))
    here.write("rare.csv", "x,class\n" + rows)
    grid = ["--grid", "nu=0.1,0.9", "--folds", "3"]
    result = here.run("tune", "rare.csv", "-m", "nu-svc", *grid)
    assert result.exit_code == 0
    assert "1 of 2 points could not be fitted" in result.stderr
    told = here.json("tune", "rare.csv", "-m", "nu-svc", *grid)
    assert told["params"]["nu"] == 0.1
    assert told["trials"][1]["mean"] is None
    assert "nu" in told["trials"][1]["failure"]


def test_no_point_at_all(here, flowers):
    said = here.refused("tune", flowers, "-m", "svc", "--grid", "degree=-1")
    assert "No point of the grid could be fitted" in said


def test_nothing_to_tune(here, flowers):
    said = here.refused("tune", flowers, "-m", "tm-clustering", "--no-target")
    assert "no target" in said
    assert "--grid" in here.refused("tune", flowers, "-m", "svc-cv")


def test_too_few_rows_for_the_folds(here):
    here.write("few.csv", "a,class\n1,x\n2,y\n3,x\n")
    assert "3 rows, too few for 5 folds" in here.refused("cv", "few.csv")
