"""``lindero predict``."""

import csv
import json

import pytest

import lindero.data
import lindero.persist
from lindero.data.csv_files import guard_formula, is_number
from lindero.svm import SVC
from tests.cli.conftest import flower_rows


@pytest.fixture
def bayes(here, flowers):
    here.run("train", flowers, "-m", "naive-bayes", "-o", "bayes.lin")
    return "bayes.lin"


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_predictions_go_to_standard_output_and_scores_to_standard_error(here, flowers, model):
    result = here.run("predict", model, flowers)
    assert [set(row) for row in rows_of(result.stdout)] == [{"prediction"}] * 60
    assert result.stderr.startswith("accuracy")


def test_without_a_target_there_is_no_score(here, model):
    here.write("new.csv", "petal,width,colour\n5.1,0.2,red\n")
    result = here.run("predict", model, "new.csv")
    assert (result.stdout.split(), result.stderr) == (["prediction", "rose"], "")


def test_the_score_is_that_of_the_predictions(here, flowers, model):
    told = here.json("predict", model, flowers)
    found = [row["prediction"] for row in told["predictions"]]
    labels = [row["class"] for row in rows_of(here.read(flowers))]
    share = sum(a == b for a, b in zip(found, labels, strict=True)) / len(labels)
    assert told["scores"]["accuracy"] == pytest.approx(share)
    assert share < 1.0  # or a wrong sum could go unnoticed


def test_rows_whose_target_is_missing_are_predicted_but_not_scored(here, model):
    lines = flower_rows(20, seed=1).splitlines()
    told = here.json("predict", model, here.write("all.csv", "\n".join(lines)))
    kept = [row["prediction"] for row in told["predictions"]]
    lines[3] = lines[3].rpartition(",")[0] + ","
    told = here.json("predict", model, here.write("gap.csv", "\n".join(lines)))
    assert [row["prediction"] for row in told["predictions"]] == kept
    right = sum(k == line.rpartition(",")[2] for k, line in zip(kept, lines[1:], strict=True))
    assert told["scores"]["accuracy"] == pytest.approx(right / 19)


def test_columns_are_found_by_name_in_any_order(here, flowers, model):
    rows = rows_of(here.read(flowers))
    names = ["class", "colour", "petal", "width"]
    lines = [",".join(names)] + [",".join(row[name] for name in names) for row in rows]
    here.write("turned.csv", "\n".join(lines))
    assert here.run("predict", model, "turned.csv").stdout == (
        here.run("predict", model, flowers).stdout
    )


def test_names_of_rows_come_first(here, flowers, model):
    here.write("named.csv", "who,petal,width,colour\nann,5,0,red\nbob,2,0,blue\n")
    result = here.run("predict", model, "named.csv", "--id", "who")
    assert result.stdout.splitlines() == ["id,prediction", "ann,rose", "bob,lily"]


def test_names_of_rows_may_be_a_feature_too(here, flowers, model):
    rows = rows_of(here.run("predict", model, flowers, "--id", "colour").stdout)
    assert [row["id"] for row in rows] == [row["colour"] for row in rows_of(here.read(flowers))]


def test_probabilities_of_every_class_sum_up_to_one(here, flowers, bayes):
    for row in rows_of(here.run("predict", bayes, flowers, "--proba").stdout):
        given = {label: float(row[f"P({label})"]) for label in ("rose", "lily")}
        assert sum(given.values()) == pytest.approx(1.0)
        assert row["prediction"] == max(given, key=given.get)


def test_decision_values_have_the_sign_of_the_prediction(here, flowers, model):
    for row in rows_of(here.run("predict", model, flowers, "--decision").stdout):
        assert row["prediction"] == ("rose" if float(row["decision"]) > 0 else "lily")


@pytest.mark.parametrize("name", ["model", "bayes"])
def test_explanations_name_the_class_and_the_columns(here, flowers, name, request):
    path = request.getfixturevalue(name)
    rows = rows_of(here.run("predict", path, flowers, "--explain").stdout)
    assert all(row["why"].startswith(row["prediction"]) for row in rows)
    assert all("petal" in row["why"] or "colour" in row["why"] for row in rows)


def test_predictions_can_be_written_in_other_formats(here, flowers, model):
    from pyarrow import parquet

    expected = here.run("predict", model, flowers).stdout.split()
    for name in ("p.csv", "p.tsv"):
        result = here.run("predict", model, flowers, "-o", name)
        assert "60 predictions of svc written" in result.stdout
        assert "accuracy" in result.stdout
        assert here.read(name).split() == expected
    here.run("predict", model, flowers, "-o", "p.parquet")
    table = parquet.read_table(here.folder / "p.parquet")
    assert table["prediction"].to_pylist() == expected[1:]


def test_json_has_a_row_for_each_prediction(here, flowers, bayes):
    told = here.json("predict", bayes, flowers, "--proba")
    assert told["rows"] == len(told["predictions"]) == 60
    assert set(told["predictions"][0]) == {"prediction", "P(lily)", "P(rose)"}
    assert set(told["scores"]) == {"accuracy", "log_loss"}


def test_rows_as_wide_as_the_model_need_no_leave(here):
    """The model says how many columns there are; only those beyond it ask for room."""
    wide = 2_000_000
    here.write("wide.svm", f"1 1:1 {wide}:1\n-1 1:-1\n" * 4)
    assert "--max-megabytes" in here.refused("train", "wide.svm", "-m", "svc")
    data = lindero.data.load("wide.svm", max_megabytes=300)
    lindero.persist.save(SVC(kernel="linear").fit(data.X, data.y), "model.lin")
    result = here.run("predict", "model.lin", "wide.svm")
    assert result.stdout.split() == ["prediction", *["1", "-1"] * 4]
    here.write("wider.svm", f"1 1:1 {wide + 9}:1\n-1 1:-1\n")
    assert "left out" in here.run("predict", "model.lin", "wider.svm").stderr
    here.write("widest.svm", f"1 1:1 {2 * wide}:1\n-1 1:-1\n")
    assert "--max-megabytes" in here.refused("predict", "model.lin", "widest.svm")


def test_models_of_libsvm_are_applied_to_svmlight_rows(here):
    here.write("a.svm", "-1 1:0.5 2:1\n1 1:2 2:0.1\n-1 1:0.4 2:0.9\n1 1:2.2\n")
    here.run("train", "a.svm", "-m", "svc")
    here.run("convert", "model.lin", "a.model")
    here.run("scale", "a.svm", "--like", "model.lin", "-o", "scaled.svm")
    one = here.json("predict", "model.lin", "a.svm", "--decision")
    other = here.json("predict", "a.model", "scaled.svm", "--decision")
    for row, same in zip(one["predictions"], other["predictions"], strict=True):
        assert row["prediction"] == same["prediction"]
        assert row["decision"] == pytest.approx(same["decision"], abs=1e-9)


def test_sparse_rows_may_end_early_or_late(here):
    here.write("a.svm", "-1 1:0.5 3:1\n1 1:2 3:0.1\n-1 1:0.4 2:0.9\n1 1:2.2\n")
    here.run("train", "a.svm", "-m", "svc")
    assert here.run("predict", "model.lin", here.write("b.svm", "1 1:2\n")).exit_code == 0
    late = here.run("predict", "model.lin", here.write("c.svm", "1 1:2 9:4\n"))
    assert late.exit_code == 0
    assert "Features 4 to 9 left out" in late.stderr


def test_a_feature_called_class_stays_one_when_the_target_is_not_there(here):
    rows = "".join(f"{'ab'[k % 2]},{k % 5},{3.5 * (k % 2) + 0.1 * (k % 5)}\n" for k in range(30))
    here.write("prices.csv", "class,size,price\n" + rows)
    assert here.json("train", "prices.csv", "--target", "price", "-m", "svr")["columns"] == 2
    result = here.run("predict", "model.lin", here.write("new.csv", "class,size\na,1\nb,1\n"))
    low, high = map(float, result.stdout.split()[1:])
    assert high - low > 1.0


def test_models_saved_from_python_are_applied_too(here, flowers):
    from lindero.data import load
    from lindero.evaluation import make_machine
    from lindero.persist import save

    data = load(flowers)
    model = make_machine("svc").fit(data.X, data.y)
    save(model, "mine.lin", summary={"roles": "mine", "convergence": "fine", "seconds": "few"})
    told = here.json("predict", "mine.lin", flowers)
    assert [row["prediction"] for row in told["predictions"]] == model.predict(data.X).tolist()
    assert "svm.SVC" in here.run("info", "mine.lin").stdout


# -- what cannot be done ----------------------------------------------------------------------


def test_other_columns_are_told_apart_into_missing_and_new(here, model):
    here.write("other.csv", "petal,colour,height,scent\n1,red,2,sweet\n2,red,3,none\n")
    said = here.refused("predict", model, "other.csv")
    assert "lacks the column 'width'" in said
    assert "'height', 'scent'" in said


def test_columns_that_are_new_only_are_left_out_with_a_warning(here, model):
    here.write("more.csv", "petal,width,colour,scent\n5,0,red,sweet\n")
    result = here.run("predict", model, "more.csv")
    assert result.exit_code == 0
    assert "'scent'" in result.stderr


def test_values_of_another_kind_are_named(here, model):
    here.write("text.csv", "petal,width,colour\nlong,0,red\n")
    assert "'petal'" in here.refused("predict", model, "text.csv")


def test_regressions_have_no_probabilities(here):
    here.write("sizes.csv", "a,size\n" + "".join(f"{k},{k * 1.5}\n" for k in range(30)))
    assert here.run("train", "sizes.csv", "-m", "svr").exit_code == 0
    told = here.refused("predict", "model.lin", "sizes.csv", "--proba")
    assert "regressions have no probabilities" in told
    assert "--decision" not in told
    assert "train with" not in told


def test_probabilities_that_a_machine_does_not_have(here, flowers, model, bayes):
    assert "--decision" in here.refused("predict", model, flowers, "--proba")
    assert "no decision values" in here.refused("predict", bayes, flowers, "--decision")


def test_files_that_are_no_model(here, flowers):
    assert "is not a model" in here.refused("predict", flowers, flowers)
    assert "no file 'none.lin'" in here.refused("predict", "none.lin", flowers)
    here.write("damaged.lin", b"\x00" * 100)
    assert "damaged.lin" in here.refused("predict", "damaged.lin", flowers)


def test_errors_are_json_as_well(here, model):
    result = here.run("predict", model, "none.csv", "--json")
    assert result.exit_code == 1
    assert "none.csv" in json.loads(result.stdout)["error"]


def test_names_of_files_that_say_no_format(here, flowers, model):
    assert "is unclear" in here.refused("predict", model, flowers, "-o", "p.xyz")
    assert "csv, tsv" in here.refused("predict", model, flowers, "-o", "p.svm")
    assert here.names() == ["flowers.csv", "model.lin"]


FORMULAS = ["=1+2", "+cmd|x", "-a", "@SUM(1)", "'=x", "''-y", "'plain", "+", "-", "=", "ok", "\t=z"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_text_that_a_spreadsheet_would_run_is_guarded_and_comes_back(here, ending):
    rows = [["=name", "'@odd", "class"]]
    rows += [[k, label, label] for k, label in enumerate(FORMULAS)] * 10
    with open("d.csv", "w", newline="") as file:
        csv.writer(file).writerows([guard_formula(cell) for cell in row] for row in rows)
    data = lindero.data.load("d.csv")
    assert data.X.column_names == ["=name", "'@odd"]
    assert set(data.y) == set(FORMULAS)
    assert here.run("train", "d.csv", "-m", "naive-bayes").exit_code == 0
    for arguments in (
        ["predict", "model.lin", "d.csv", "-o", f"p.{ending}"],
        ["convert", "d.csv", f"c.{ending}"],
        ["scale", "d.csv", "-o", f"s.{ending}"],
    ):
        assert here.run(*arguments).exit_code == 0
        path = arguments[-1]
        with open(path, newline="") as file:
            rows = list(csv.reader(file, delimiter="\t" if ending == "tsv" else ","))
        for cell in (cell for row in rows for cell in row):
            assert len(cell) == 1 or cell[0] not in "=+-@\t" or is_number(cell), (path, cell)
    again = lindero.data.load(f"c.{ending}", target="class")
    assert again.X.column_names == data.X.column_names
    assert again.y.tolist() == data.y.tolist()
    found = lindero.data.load(f"p.{ending}", target=False, delimiter=",").X["prediction"]
    assert found.to_pylist() == lindero.persist.load("model.lin").predict(data.X).tolist()


def test_a_missing_column_of_dates_has_its_own_name(here):
    dates = [f"2024-0{1 + k % 6}-1{k % 9},{k % 11},{'uv'[k % 2]}" for k in range(60)]
    here.write("dates.csv", "when,a,class\n" + "\n".join(dates) + "\n")
    here.run("train", "dates.csv", "-m", "naive-bayes", "-o", "d.lin")
    here.write("new.csv", "a,class\n1,u\n2,v\n")
    assert "new.csv lacks the column 'when' that d.lin was trained with" in here.refused(
        "predict", "d.lin", "new.csv"
    )
