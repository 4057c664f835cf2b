"""Commands on folders and patterns of Parquet files, which are never in memory as a whole."""

import numpy as np
import pandas as pd
import pytest

from lindero.persist import load
from tests.scale.tables import clouds, write_parts


@pytest.fixture
def parts(here):
    """Files of numbers with a text column, as part-0.parquet and so on."""
    X, y = clouds(600)
    table = pd.DataFrame(X * [1, 100, 0.01, 1, 1], columns=list("abcde"))
    table["word"] = np.where(X[:, 0] > 2, "high", "low")
    table["side"] = np.where(y > 0, "up", "down")
    write_parts(table, here.folder, [0, 250, 600], row_group_size=120)
    return "part-*.parquet", table


def test_a_model_of_parts_is_one_of_the_whole_and_answers_in_parts(here, parts):
    pattern, table = parts
    told = here.run("train", pattern, "-y", "side", "--drop", "word")
    assert told.exit_code == 0, told.stderr
    assert told.stdout.startswith("linear-svc on 600 rows in 7 row groups, to predict 'side'\nOpt")
    assert "Warning" not in told.stderr
    model = load(here.folder / "model.lin")
    assert model.predict(table[list("abcde")]).shape == (600,)
    told = here.run("predict", "model.lin", pattern, "-o", "found.parquet")
    assert told.exit_code == 0, told.stderr
    assert told.stdout.startswith("600 predictions of linear-svc written to found.parquet.\nacc")
    assert "Warning" not in told.stderr
    found = pd.read_parquet(here.folder / "found.parquet")
    np.testing.assert_array_equal(found.prediction, model.predict(table[list("abcde")]))
    table.to_parquet(here.folder / "whole.parquet")
    here.run("predict", "model.lin", "whole.parquet", "-o", "whole.csv", "--decision")
    told = here.run("predict", "model.lin", pattern, "-o", "found.csv", "--decision")
    assert here.read("found.csv") == here.read("whole.csv")
    assert here.run("predict", "model.lin", pattern).stdout.count("\n") == 601
    assert "target      side" in here.run("info", "model.lin").stdout


@pytest.mark.parametrize("machine", ["svr", "nystrom-svr", "linear-svr"])
def test_numbers_are_predicted(here, parts, machine):
    settings = {"svr": ["kernel=linear"], "nystrom-svr": ["n_components=20"]}.get(machine, [])
    words = [word for text in settings for word in ("--set", text)]
    told = here.json(
        "train", parts[0], "-y", "a", "--only", "b", "--only", "e", "-m", machine, *words
    )
    assert told["machine"] == machine
    assert told["partitions"] == 7
    told = here.json("predict", "model.lin", ".", "-o", "found.tsv")
    assert told["rows"] == 600
    assert set(told["scores"]) == {"r2", "rmse"}


def test_tables_with_categories_get_a_machine_that_counts(here, parts):
    told = here.run("train", ".", "-y", "side", "-o", "tan.lin")
    assert told.stdout.startswith("tan on 600 rows in 7 row groups"), told.stderr
    told = here.json("predict", "tan.lin", parts[0], "--proba", "-o", "p.csv")
    assert told["scores"]["accuracy"] > 0.8
    assert here.read("p.csv").startswith("prediction,P(down),P(up)\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-m", "svc-linear"], "'word' holds text, and svc-linear over partitions takes numbers"),
        (["-m", "svc"], "svc over partitions needs a linear kernel"),
        (["-m", "random-forest"], "needs the whole table in memory. Over partitions there are"),
        (["--proba"], "--proba is not there for tables in partitions"),
        (["--time", "a"], "--time is not there"),
        (["-y", "sid"], "There is no column 'sid': did you mean 'side'"),
        (["--cluster", "tcp://127.0.0.1"], "There is no Dask scheduler at"),
    ],
)
def test_what_cannot_be_done_is_said(here, parts, arguments, sentence):
    target = [] if "-y" in arguments else ["-y", "side"]
    assert sentence in here.refused("train", parts[0], *target, *arguments)
    assert "model.lin" not in here.names()


def test_bad_parts_leave_no_half_written_file(here, parts):
    told = here.run("train", parts[0], "-y", "side", "--drop", "word")
    assert told.exit_code == 0, told.stderr
    table = parts[1].drop(columns="c")
    table.to_parquet(here.folder / "part-3.parquet")
    assert "lacks the column 'c'" in here.refused(
        "predict", "model.lin", "part-[3].parquet", "-o", "p.csv"
    )
    assert "'c' is in part-0.parquet, but not in part-3.parquet" in here.refused(
        "predict", "model.lin", parts[0], "-o", "p.csv"
    )
    (here.folder / "part-3.parquet").unlink()
    assert "as csv, tsv or parquet" in here.refused(
        "predict", "model.lin", parts[0], "-o", "p.arff"
    )
    assert not [name for name in here.names() if name.startswith((".unfinished", "p."))]
