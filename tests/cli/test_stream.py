"""``lindero stream``: test, then train; and snapshots that go on as if nothing had happened."""

import csv
import re

import numpy as np
import pytest

from lindero.bayes import NaiveBayes
from lindero.data import load as load_data
from lindero.data import make_rotating
from lindero.evaluation import prequential
from lindero.persist import load
from lindero.svm import AdaptiveSVC
from tests.cli.test_as_a_user import in_a_terminal

#: What a resumed run does not share with an uninterrupted one.
_ITS_OWN = {"seconds_learning", "seconds_predicting", "snapshots", "resumed_from"}


def drifting_rows(n_rows=160, seed=0):
    """Lines of a CSV file: two clouds that turn, in another order than that of time."""
    X, y = make_rotating(n_rows, step=np.pi / n_rows, noise=0.5, random_state=seed)
    order = np.random.default_rng(seed).permutation(n_rows)
    rows = [f"{i},{X[i, 0]:.4f},{X[i, 1]:.4f},{'up' if y[i] > 0 else 'down'}\n" for i in order]
    return "day,a,b,kind\n" + "".join(rows)


@pytest.fixture
def drifting(here):
    here.write("drift.csv", drifting_rows())
    return "drift.csv"


def shared(data):
    return {name: value for name, value in data.items() if name not in _ITS_OWN}


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "adaptive-svc"),
        ("-m", "naive-bayes", "--batch-size", "4"),
        ("-m", "incremental-svc", "--set", "C=2"),
        ("-m", "svc", "--refit-every", "10", "--refit-on", "40", "--batch-size", "3"),
        ("-m", "adaptive-svc", "--delay", "7"),
        ("-m", "naive-bayes", "--batch-size", "4", "--delay", "6"),
        ("-m", "svc", "--refit-every", "10", "--batch-size", "3", "--delay", "9"),
        ("--target", "a", "-m", "adaptive-svr"),
        ("--target", "a", "-m", "incremental-svr", "--delay", "11", "--batch-size", "2"),
        ("--target", "a", "-m", "svr", "--refit-every", "10"),
    ],
)
def test_a_resumed_stream_ends_as_an_uninterrupted_one(here, drifting, arguments):
    options = ("stream", drifting, "--time", "day")
    arguments = (*arguments, "--warm-up", "32")
    whole = here.json(*options, *arguments, "-o", "whole.lin")
    assert whole["complete"]
    delay = int(arguments[arguments.index("--delay") + 1]) if "--delay" in arguments else 0
    assert whole["tested"] == 160 - 32 - delay
    assert whole["delay"] == delay
    if "--target" in arguments:
        options += arguments[:2]
        arguments = arguments[2:]
    saved = here.json(*options, *arguments, "--save-every", "40", "-o", "saved.lin")["snapshots"]
    assert len(saved) >= 2
    resumed = here.json(*options, "--resume", saved[0], "-o", "resumed.lin")
    assert resumed["resumed_from"] == saved[0]
    assert shared(resumed) == {**shared(whole), "model": "resumed.lin"}
    names = ("whole.lin", "saved.lin", "resumed.lin")
    predicted = {here.run("predict", name, drifting).stdout for name in names}
    assert len(predicted) == 1
    assert len(predicted.pop().splitlines()) >= 160


def test_rows_come_in_the_order_of_time(here, drifting):
    here.json("stream", drifting, "--time", "day", "--save-every", "64")
    answers = list(csv.DictReader(here.read("snapshots/answers.csv").splitlines()))
    of_day = {row["day"]: row["kind"] for row in csv.DictReader(here.read(drifting).splitlines())}
    for answer in answers:
        assert answer["true"] == of_day[str(int(answer["row"]) - 1)]


def test_following_helps_where_things_move(here, drifting):
    adaptive = here.json("stream", drifting, "--time", "day", "--warm-up", "32")
    plain = here.json("stream", drifting, "--time", "day", "-m", "svc", "--refit-every", "10")
    assert adaptive["machine"] == "adaptive-svc"
    assert adaptive["error"] < plain["error"]
    assert len(adaptive["curve"]["error"]) == len(adaptive["curve"]["row"]) == 128
    assert adaptive["curve"]["row"][-1] == 160


def test_data_that_have_grown_are_gone_on_with(here, drifting):
    lines = here.read(drifting).splitlines(keepends=True)
    in_order = [lines[0], *sorted(lines[1:], key=lambda line: int(line.split(",")[0]))]
    here.write("short.csv", "".join(in_order[:101]))
    here.write("long.csv", "".join(in_order))
    options = ("--time", "day", "-m", "naive-bayes", "--warm-up", "20", "--window", "20")
    here.json("stream", "short.csv", *options, "--save-every", "40")
    grown = here.json(
        "stream", "long.csv", "--time", "day", "--window", "20", "--resume", "snapshots"
    )
    assert shared(grown) == shared(here.json("stream", "long.csv", *options))


def test_a_class_may_appear_in_data_that_have_grown(here):
    X = np.random.default_rng(0).normal(size=(160, 2))
    kinds = np.where(X[:, 0] > 0, "up", "down")
    kinds[130:][X[130:, 1] > 0] = "else"  # first by name, last to come
    lines = [f"{a:.4f},{b:.4f},{kind}\n" for (a, b), kind in zip(X, kinds, strict=True)]
    here.write("short.csv", "a,b,kind\n" + "".join(lines[:110]))
    here.write("long.csv", "a,b,kind\n" + "".join(lines))
    options = ("-m", "svc", "--refit-every", "10", "--warm-up", "20", "--window", "20")
    here.json("stream", "short.csv", *options, "--save-every", "40")
    grown = here.json("stream", "long.csv", "--window", "20", "--resume", "snapshots")
    assert shared(grown) == shared(here.json("stream", "long.csv", *options))
    options = ("-m", "naive-bayes", "--save-every", "40", "--snapshots", "counts")
    here.json("stream", "short.csv", *options)
    said = here.refused("stream", "long.csv", "--resume", "counts")
    assert "naive-bayes cannot learn classes that appear later" in said


def test_the_text_has_a_curve(here, drifting):
    options = ("--time", "day", "--warm-up", "32", "--set", "coupling=1000")
    result = here.run("stream", drifting, *options, "--report", "page.html")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("adaptive-svc: 128 rows, each predicted before it was learned")
    assert "% errors, kappa" in lines[1]
    assert set(lines[3].split()[0]) <= set("▁▂▃▄▅▆▇█")
    page = here.read("page.html")
    assert page.count("<svg") == 4  # errors and weights, in two widths
    assert "Weights over time" in page
    assert "hash of the data" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "svc"], "svc cannot learn row by row: use --refit-every 100"),
        (["-m", "svr"], "svr is for regression, but the target holds classes"),
        (["-m", "one-class-svm"], "a stream is for classification or regression"),
        (["--target", "a", "-m", "naive-bayes"], "for classification, but the target is a number"),
        (["--target", "a", "--cost", "up:down=3"], "--cost is for classes"),
        (["--cost", "up:down"], "has no '='"),
        (["--measure", "cost"], "needs costs"),
        (["--measure", "roc-auc"], "take one of error, accuracy, balanced-accuracy, kappa"),
        (["--target", "a", "--measure", "error"], "take one of mae, rmse, r2"),
        (["--delay", "150", "--warm-up", "20"], "wait for labels: none are left"),
        (["--warm-up", "160"], "none are left"),
        (["--refit-on", "50"], "--refit-every"),
        (["--set", "c=1"], "did you mean 'C'"),
        (["--resume", "."], "There are no snapshots in '.'"),
        (["-o", "nowhere/m.lin"], "does not exist"),
    ],
)
def test_mistakes_are_one_sentence(here, drifting, arguments, words):
    assert words in here.refused("stream", drifting, *arguments)


def test_what_does_not_belong_to_a_snapshot_is_refused(here, drifting):
    here.json("stream", drifting, "--time", "day", "--save-every", "40", "-m", "naive-bayes")
    resume = ("--resume", "snapshots")
    result = here.run("stream", drifting, *resume, "-m", "tan")
    assert result.exit_code == 2
    assert "--machine is fixed by the snapshot" in result.stderr
    said = here.refused("stream", drifting, *resume)  # not in the order of time
    assert "has another class than when the snapshot was taken" in said
    here.write("few.csv", "".join(here.read(drifting).splitlines(keepends=True)[:60]))
    assert "the data have only 59" in here.refused("stream", "few.csv", "--time", "day", *resume)
    here.write("snapshots/answers.csv", "row,true\n1,up\n")
    assert "damaged" in here.refused("stream", drifting, "--time", "day", *resume)
    (here.folder / "snapshots" / "answers.csv").unlink()
    assert "is not a snapshot" in here.refused("stream", drifting, "--time", "day", *resume)
    assert here.run("train", drifting, "-o", "plain.lin").exit_code == 0
    assert "is not a snapshot" in here.refused("stream", drifting, "--resume", "plain.lin")


def test_a_terminal_shows_the_curve_as_it_grows(here):
    here.write("drift.csv", drifting_rows(600))
    code, printed, shown = in_a_terminal(
        "stream", "drift.csv", "--time", "day", "--warm-up", "100", folder=here.folder
    )
    assert code == 0
    assert "errors in the last" in shown
    assert "adaptive-svc: 500 rows" in printed


# -- late labels, numbers, measures ----------------------------------------------------------------


def test_snapshots_of_late_labels_hold_what_was_learned_only(here, drifting):
    options = ("stream", drifting, "--time", "day", "-m", "naive-bayes", "--delay", "15")
    saved = here.json(*options, "--save-every", "40")["snapshots"]
    assert [name[-8:-4] for name in saved] == ["0087", "0127"]  # 32 + 15 + 40, and 40 more
    model = load(here.folder / saved[0])
    assert model.class_count_.sum() == 87 - 15
    answers = list(csv.DictReader(here.read("snapshots/answers.csv").splitlines()))
    assert [int(answer["row"]) for answer in answers] == list(range(48, 128))
    result = here.run("stream", drifting, "--resume", "snapshots", "--delay", "3")
    assert result.exit_code == 2
    assert "--delay is fixed by the snapshot" in result.stderr
    text = here.run(*options).stdout
    assert "Labels came 15 rows late" in text


def test_late_labels_are_those_of_prequential(here, drifting):
    told = here.json("stream", drifting, "--time", "day", "-m", "naive-bayes", "--delay", "20")
    data = load_data(here.folder / drifting, time="day").rows(slice(None))
    order = np.argsort(data.times, kind="stable")
    data = data.rows(order)
    found = prequential(NaiveBayes(), data.X, data.y, warm_up=32, delay=20)
    assert (told["accuracy"], told["tested"]) == (found.accuracy, 108)
    assert told["log_loss"] == pytest.approx(found.log_loss, rel=1e-12)


def test_numbers_are_a_stream_too(here, drifting):
    options = ("--time", "day", "--target", "a", "--warm-up", "32")
    result = here.run("stream", drifting, *options, "--report", "page.html")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("adaptive-svr: 128 rows, each predicted before it was learned")
    assert "MAE" in lines[1]
    assert "R²" in lines[1]
    assert lines[2].startswith("MAE in the last 20 rows, up to")
    assert set(lines[3].split()[0]) <= set("▁▂▃▄▅▆▇█")
    page = here.read("page.html")
    assert "Mean absolute error in the last" in page
    told = here.json("stream", drifting, *options, "--measure", "r2")
    assert told["task"] == "regression"
    assert told["measure"] == "r2"
    assert told["curve"]["time"] == list(range(32, 160))
    assert {"mae", "rmse", "r2"} <= set(told)
    assert not {"accuracy", "error", "kappa"} & set(told)


def test_the_unit_of_the_target_is_that_of_the_first_rows(here):
    rng = np.random.default_rng(0)
    a, e = rng.normal(size=(2, 200))
    rows = [f"{x:.4f},{50_000 * (x + 0.1 * off):.1f}\n" for x, off in zip(a, e, strict=True)]
    here.write("prices.csv", "a,price\n" + "".join(rows))
    told = here.json("stream", "prices.csv", "--target", "price", "-m", "incremental-svr")
    assert told["r2"] > 0.9  # C = 1 could not follow numbers of this size


def test_costs_and_measures(here, drifting):
    options = ("stream", drifting, "--time", "day", "-m", "naive-bayes")
    plain = here.json(*options)
    assert plain["measure"] == "error"
    assert "cost" not in plain
    told = here.json(*options, "--cost", "up:down=5")
    assert (told["measure"], told["error"]) == ("cost", plain["error"])
    assert told["error"] < told["cost"] < 5 * told["error"]
    assert len(told["curve"]["cost"]) == len(told["curve"]["row"])
    text = here.run(*options, "--cost", "up:down=5").stdout
    assert "mean cost" in text.splitlines()[1]
    assert "log-loss" in text.splitlines()[1]
    text = here.run(*options, "--measure", "kappa").stdout
    assert text.splitlines()[2].startswith("kappa in the last 20 rows")
    result = here.run("stream", drifting, "-m", "incremental-svc", "--measure", "log-loss")
    assert "incremental-svc has no probabilities" in result.stderr
    assert "errors in the last" in result.stdout
    svm = ("-m", "cost-sensitive-svc", "--refit-every", "20", "--cost", "up:down=5")
    assert here.json("stream", drifting, "--time", "day", *svm)["params"]["cost_positive"] > 1


def test_the_usual_machine_does_not_need_times(here, drifting):
    assert here.json("stream", drifting)["machine"] == "adaptive-svc"
    assert here.json("stream", drifting, "--target", "b")["machine"] == "adaptive-svr"


def test_what_the_machine_says_of_drift_is_printed(here, drifting, monkeypatch):
    def describe(self, feature_names=None):
        return [f"The boundary has moved since row 90, mostly along {feature_names[0]}."]

    monkeypatch.setattr(AdaptiveSVC, "describe_drift", describe, raising=False)
    monkeypatch.setattr(
        AdaptiveSVC, "warn_unreliable", lambda self: "It moves too fast.", raising=False
    )
    text = here.run("stream", drifting, "--time", "day", "--report", "page.html").stdout
    assert "The boundary has moved since row 90, mostly along a.\nWarning: It moves" in text
    assert "mostly along a." in here.read("page.html")
    told = here.json("stream", drifting, "--time", "day")
    assert told["drift"] == ["The boundary has moved since row 90, mostly along a."]
    assert told["warning"] == "It moves too fast."
    assert here.json("stream", drifting, "-m", "naive-bayes")["drift"] == []


# -- machines that scale columns themselves --------------------------------------------------------


@pytest.fixture
def scaling(monkeypatch):
    """Adaptive machines say that they scale columns themselves, and keep what they are given."""
    given = []
    learn = AdaptiveSVC.partial_fit

    def keep(self, X, y, classes=None, sample_weight=None, *, times=None):
        given.append(np.array(X))
        return learn(self, X, y, classes, sample_weight, times=times)

    monkeypatch.setattr("lindero.evaluation.stream_runs.scales_inside", lambda machine: True)
    monkeypatch.setattr(AdaptiveSVC, "partial_fit", keep)
    return given


def test_a_machine_that_scales_columns_itself_gets_them_as_they_are(here, scaling):
    rows = [f"{1000 + 100 * (k % 7)},{k % 3},{'up' if k % 7 > 3 else 'down'}\n" for k in range(60)]
    here.write("raw.csv", "a,b,kind\n" + "".join(rows))
    told = here.json("stream", "raw.csv")
    assert (told["warm_up"], told["tested"]) == (1, 59)
    assert len(scaling[0]) == 1
    columns = np.vstack(scaling)
    np.testing.assert_array_equal(np.diff(columns[:, 0])[:6], np.full(6, 100.0))
    text = here.run("stream", "raw.csv").stdout
    assert "(the first was only learned)" in text


def test_categories_are_learned_from_the_first_rows_and_new_ones_told_of(here, scaling):
    towns = ["Ulm", "Bonn"] * 40 + ["Rome", "Oslo"] * 20
    rows = [f"{k},{towns[k]},{'up' if k % 3 else 'down'}\n" for k in range(120)]
    here.write("towns.csv", "a,town,kind\n" + "".join(rows))
    result = here.run("stream", "towns.csv", "--json", "--keep-row-names")
    assert '"warm_up": 24' in result.stdout
    assert "Column 'town': 'Rome', 'Oslo' do not occur in the first 24 rows" in result.stderr
    columns = np.vstack(scaling)
    assert columns.shape == (120, 3)
    assert (columns[:80, 1:].sum(axis=1) == 1).all()
    assert (columns[80:, 1:] == 0).all()


def test_gaps_are_left_to_a_machine_that_scales_columns_itself(here, scaling):
    rows = [f"{'' if k == 50 else 7},{k % 5},{'up' if k % 5 > 2 else 'down'}\n" for k in range(80)]
    here.write("gaps.csv", "a,b,kind\n" + "".join(rows))
    assert here.json("stream", "gaps.csv")["warm_up"] == 16
    given = np.vstack(scaling)
    assert np.argwhere(np.isnan(given)).tolist() == [[50, 0]]
    assert set(given[:50, 0]) == {7.0}


def test_gaps_of_other_machines_are_means_of_the_first_rows(here):
    rows = [f"{'' if k == 50 else k},{k % 5},{'up' if k % 5 > 2 else 'down'}\n" for k in range(80)]
    here.write("gaps.csv", "a,b,kind\n" + "".join(rows))
    assert here.json("stream", "gaps.csv", "-m", "incremental-svc")["accuracy"] > 0.5


def test_a_change_of_units_is_told_where_there_are_gaps(here):
    random = np.random.default_rng(0)
    numbers = random.normal(20.0, 2.0, size=(500, 2))
    kinds = np.where(numbers[:, 0] > numbers[:, 1], "up", "down")
    numbers[300:, 0] *= 1000.0
    texts = np.where(random.random(numbers.shape) < 0.2, "", numbers.astype(str))
    rows = [f"{a},{b},{kind}\n" for (a, b), kind in zip(texts, kinds, strict=True)]
    here.write("units.csv", "a,b,kind\n" + "".join(rows))
    result = here.run("stream", "units.csv", "--json", "--warm-up", "50", "-o", "units.lin")
    told = re.search(r"Column 0 has another scale from about row (\d+)", result.stderr)
    assert 300 <= int(told[1]) < 340
    predicted = here.run("predict", "units.lin", "units.csv")
    assert predicted.exit_code == 0
