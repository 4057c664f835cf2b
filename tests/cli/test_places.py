"""Where rows are, from the shell: `--position` of train, predict, cv and tune."""

import csv

import numpy as np
import pytest

from lindero.data import load
from lindero.persist import load as load_model
from lindero.svm import AdaptiveSVC

SPACE = ("-m", "adaptive-svc", "--set", "graph=space", "--set", "metric=great-circle")
#: Fixed, so that fits are quick.
FIXED = ("--set", "coupling=10")


@pytest.fixture
def farms(here):
    """What is good in the east is bad in the west; the first rows are to learn from."""
    random = np.random.default_rng(0)
    lat, lon = random.uniform(-55, -22, 160), random.uniform(-73, -54, 160)
    rain = random.normal(size=160)
    crop = np.where(rain * (lon + 64) > 0, "good", "bad")
    rows = [f"{lat[k]:.3f},{rain[k]:.3f},{lon[k]:.3f},{crop[k]}" for k in range(160)]
    here.write("new.csv", "\n".join(["lat,rain,lon,crop", *rows[120:]]))
    return here.write("farms.csv", "\n".join(["lat,rain,lon,crop", *rows[:120]]))


@pytest.fixture
def model(here, farms):
    here.run("train", farms, *SPACE, *FIXED, "--position", "lat,lon", "-o", "farms.lin")
    return "farms.lin"


def test_positions_are_read_apart_from_features(here, farms):
    data = load(farms, position=["lat", "lon"])
    assert data.X.column_names == ["rain"]
    assert data.positions.shape == (120, 2)
    assert -55 <= data.positions[:, 0].min() < -50  # latitude first
    assert -73 <= data.positions[:, 1].min() < -68
    assert data.rows([3, 1]).positions.tolist() == data.positions[[3, 1]].tolist()
    other = load("new.csv", like=data)
    assert other.positions.shape == (40, 2)
    assert load(farms, position="lat").positions.shape == (120, 1)
    assert load(farms).positions is None


@pytest.mark.parametrize("more", [("--position", "lat", "--position", "lon"), ("--position=0, 2",)])
def test_columns_may_be_repeated_or_listed(here, farms, model, more):
    here.run("train", farms, *SPACE, *FIXED, *more, "-o", "again.lin")
    one, two = here.run("predict", model, "new.csv"), here.run("predict", "again.lin", "new.csv")
    assert one.stdout == two.stdout


def test_predictions_are_those_of_the_machine_itself(here, farms, model):
    told = here.run("predict", model, "new.csv", "--decision")
    rows = list(csv.DictReader(told.stdout.splitlines()))
    data, new = (load(name, position=["lat", "lon"]) for name in (farms, "new.csv"))
    fitted = load_model(model)
    encode = fitted[:-1].transform
    again = AdaptiveSVC(graph="space", metric="great-circle", coupling=10)
    again.fit(encode(data.X), data.y, positions=data.positions)
    assert [row["prediction"] for row in rows] == again.predict(
        encode(new.X), positions=new.positions
    ).tolist()
    values = again.decision_function(encode(new.X), positions=new.positions)
    np.testing.assert_allclose([float(row["decision"]) for row in rows], values, rtol=1e-9)
    assert float(told.stderr.split()[-1]) > 0.75  # its accuracy


def test_a_table_without_the_places_is_refused_by_their_names(here, model):
    here.write("away.csv", "lat,rain\n-30,1.5\n")
    result = here.refused("predict", model, "away.csv")
    assert "away.csv lacks the column 'lon' that farms.lin was trained with as positions" in result
    here.write("other.csv", "breite,rain,länge\n-30,1.5,-60\n")
    told = here.run("predict", model, "other.csv", "--position", "breite,länge")
    assert told.stdout.split()[0] == "prediction"


def find_accuracy(told):
    return np.mean(told["folds"]["accuracy"])


def test_cross_validation_and_tuning_know_the_places(here, farms):
    where = ("--position", "lat,lon")
    there = here.json("cv", farms, *SPACE, *FIXED, *where, "--measure", "accuracy")
    nowhere = here.json("cv", farms, "-m", "svc", "--drop", "lat", "--drop", "lon",
                        "--measure", "accuracy")  # fmt: skip
    assert find_accuracy(there) > find_accuracy(nowhere) + 0.2
    tuned = here.json("tune", farms, *SPACE, *where, "--grid", "coupling=1,10", "--grid", "C=1",
                      "--folds", "3", "-o", "tuned.lin")  # fmt: skip
    assert len(tuned["trials"]) == 2
    assert here.run("predict", "tuned.lin", "new.csv").stdout.startswith("prediction")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-m", "svc"), "svc takes no positions of rows"),
        (("-m", "naive-bayes"), "naive-bayes takes no positions of rows"),
        (("-m", "adaptive-svc"), "set graph='space'"),
        ((*SPACE, "--proba"), "cannot have its probabilities"),
        ((*SPACE, "--position", "crop", "-y", "rain"), "must be a column of numbers"),
        ((*SPACE, "--position", "rain,rain"), "two columns of positions"),
        ((*SPACE, "--position", "town"), "there is no column 'town' (position=)"),
        ((*SPACE, "--id", "lat"), "cannot be both"),
    ],
)
def test_what_cannot_use_places_says_so(here, farms, arguments, words):
    if "--position" not in arguments:
        arguments = (*arguments, "--position", "lat,lon")
    assert words in here.refused("train", farms, *arguments)


def test_a_missing_place_is_told_by_its_row(here, farms):
    here.write("gap.csv", "lat,rain,lon,crop\n-30,1.5,-60,good\n-31,1.0,,bad\n")
    found = here.refused("train", "gap.csv", *SPACE, "--position", "lat,lon")
    assert "position='lon' has no value in row 1" in found


def test_answers_of_places_are_not_explained(here, model):
    for command in (("predict", model, "new.csv", "--explain"), ("explain", model, "new.csv")):
        assert "explanations know columns only" in here.refused(*command)
