"""Pipelines, calibrated machines and machines that decide by costs, in files: as they were, or
refused."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from lindero.bayes import NaiveBayes
from lindero.errors import ModelFileError
from lindero.evaluation import DecisionClassifier, make_machine
from lindero.persist import inspect, load, save
from lindero.persist.container import pack, unpack
from lindero.persist.registry import kind_of
from lindero.svm import SVC, SVR, calibrate
from tests.persist.model_bank import NEW, TABLE, VALUES, WORDS, Y2, Y3, X


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.lin"


def again(model, path):
    save(model, path)
    return load(path)


NUMBERS = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
ORDINAL = OrdinalEncoder(
    handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
)


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False),
        MinMaxScaler((-1, 1), clip=True), MaxAbsScaler(), RobustScaler(with_centering=False),
        SimpleImputer(strategy="constant", fill_value=2.0), SimpleImputer(strategy="median"),
        SimpleImputer(strategy="most_frequent", keep_empty_features=True),
        SimpleImputer(add_indicator=True, missing_values=1.0), ORDINAL,
        OneHotEncoder(handle_unknown="ignore"), OneHotEncoder(drop="first", handle_unknown="warn"),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("fitted", [True, False])
def test_pipelines_of_any_names_come_back(step, fitted, path):
    rounded = np.round(X)
    model = Pipeline([("first step", clone(step)), ("then", SVC())])
    if fitted:
        model.fit(rounded, WORDS)
    found = again(model, path)
    assert repr(found) == repr(model)
    if fitted:
        new = np.round(NEW)
        np.testing.assert_array_equal(found.decision_function(new), model.decision_function(new))
    assert inspect(path).estimator == "svm.SVC"
    again(found.fit(rounded, WORDS), path)


def test_columns_with_gaps_and_texts_come_back(path):
    pandas = pytest.importorskip("pandas")
    columns = {"a": ["x", "y", "?", "x"] * 4, "b": ["u", "v", "v", "w"] * 4}
    frame = pandas.DataFrame(columns, dtype=object)
    model = make_pipeline(
        SimpleImputer(strategy="most_frequent", missing_values="?"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        SVC(),
    ).fit(frame, Y2)
    found = again(model, path)
    np.testing.assert_array_equal(found.decision_function(frame), model.decision_function(frame))
    assert inspect(path).input["names"] == ["a", "b"]


def of_columns(part, **more):
    return make_pipeline(ColumnTransformer([("part", part, [0, 1])], **more), SVC())


def people(n_rows=60):
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({
        "age": random.normal(40.0, 9.0, n_rows),
        "income": random.normal(size=n_rows),
        "town": random.choice(["a", "b", "c"], n_rows),
        "job": random.choice(["x", "y", None], n_rows),
        "children": random.integers(0, 3, n_rows),
    })  # fmt: skip
    frame.loc[3, "age"] = np.nan
    return frame, random.integers(0, 2, n_rows)


@pytest.mark.parametrize(
    "columns",
    [
        ColumnTransformer([
            ("num", StandardScaler(), ["income"]),
            ("cat", OneHotEncoder(handle_unknown="ignore"), ["town", "job"]),
        ]),
        ColumnTransformer([
            ("num", NUMBERS, ["age", "income"]),
            ("cat", OneHotEncoder(handle_unknown="ignore"), ["town", "job"]),
        ]),
        ColumnTransformer([("cat", ORDINAL, ["town", "job"])], remainder=NUMBERS),
        ColumnTransformer(
            [("t", OneHotEncoder(sparse_output=False), ["town"]), ("no", "drop", ["age", "job"])],
            remainder="passthrough", verbose_feature_names_out=False,
        ),
        ColumnTransformer([("p", "passthrough", [1, -1]), ("cat", OneHotEncoder(), slice(2, 4))]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("fitted", [True, False])
def test_parts_for_some_columns_come_back(columns, fitted, path):
    frame, y = people()
    model = make_pipeline(clone(columns), SVC())
    if not fitted and "slice" in repr(columns):
        return  # of no known width
    if not fitted:
        assert repr(again(model, path)) == repr(model)
        return
    model.fit(frame, y)
    found = again(model, path)
    np.testing.assert_array_equal(found.decision_function(frame), model.decision_function(frame))
    for each in (frame[frame.columns[::-1]], frame.assign(town="d")):
        if "ignore" in repr(columns) or each is frame:
            ours, theirs = found.decision_function(each), model.decision_function(each)
            np.testing.assert_array_equal(ours, theirs)
    first, same = model[0], found[0]
    assert same.get_feature_names_out().tolist() == first.get_feature_names_out().tolist()
    assert same.output_indices_ == first.output_indices_
    assert type(same.transform(frame)) is type(first.transform(frame))
    assert inspect(path).input["names"] == list(frame.columns)
    again(found, path)
    again(found.fit(frame, y), path)


def test_columns_chosen_by_a_function_are_stored_as_found(path):
    frame, y = people()
    chosen = make_column_selector(dtype_include=np.number)
    model = make_pipeline(ColumnTransformer([("num", clone(NUMBERS), chosen)]), SVC())
    with pytest.raises(TypeError, match=r"'num'.* must be listed by name"):
        save(model, path)
    found = again(model.fit(frame, y), path)
    assert found[0].transformers[0][2] == ["age", "income", "children"]
    np.testing.assert_array_equal(found.decision_function(frame), model.decision_function(frame))


def test_masks_and_positions_come_back(path):
    parts = [("a", MinMaxScaler(), [True, False, True]), ("b", OrdinalEncoder(), np.array([1]))]
    model = make_pipeline(ColumnTransformer(parts), SVC()).fit(np.round(X[:, :3]), Y2)
    rows = np.round(X[:, :3])
    np.testing.assert_array_equal(
        again(model, path).decision_function(rows), model.decision_function(rows)
    )


def test_a_model_of_columns_predicts_on_the_command_line(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from lindero.cli.main import cli

    monkeypatch.chdir(tmp_path)
    frame, y = people()
    kept = frame[["income", "town"]]
    model = make_pipeline(
        ColumnTransformer([("n", StandardScaler(), ["income"]), ("c", OneHotEncoder(), ["town"])]),
        SVC(),
    ).fit(kept, y)
    save(model, "model.lin")
    kept.to_csv("rows.csv", index=False)
    done = CliRunner().invoke(cli, ["predict", "model.lin", "rows.csv", "-o", "out.csv"])
    assert done.exit_code == 0, done.output
    answers = (tmp_path / "out.csv").read_text().split()[1:]
    assert [line.split(",")[-1] for line in answers] == [str(a) for a in model.predict(kept)]


def test_regressions_may_be_in_pipelines(path):
    model = make_pipeline(StandardScaler(), SVR()).fit(X, VALUES)
    np.testing.assert_array_equal(again(model, path).predict(NEW), model.predict(NEW))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("y", [Y2, Y3], ids=["two", "three"])
def test_calibrated_machines_come_back(method, y, path):
    model = calibrate(make_machine("svc"), method=method, cv=2)
    assert repr(again(model, path)) == repr(model)
    model.fit(X, y)
    found = again(model, path)
    np.testing.assert_array_equal(found.predict_proba(NEW), model.predict_proba(NEW))
    info = inspect(path)
    assert (info.estimator, info.encoded) == ("svm.SVC", True)
    assert info.summary["calibration"] == method


def test_a_file_says_how_its_model_decides(path):
    costs = {(1, 0): 5.0}
    model = DecisionClassifier(make_machine("svc"), costs=costs, threshold="cost", cv=2)
    save(model, path)
    assert inspect(path).summary == {"fitted": False}
    save(model.fit(TABLE, Y2), path)
    told = inspect(path).summary
    assert told["calibration"] == "sigmoid"
    assert told["threshold"] == model.threshold_
    assert told["costs"] == [[0.0, 1.0], [5.0, 0.0]]
    assert told["classes"] == [0, 1]
    assert inspect(path).encoded


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: make_pipeline(PCA(2), SVC()), "'pca' is another"),
        (lambda: make_pipeline(FunctionTransformer(np.log1p), SVC()), "is another"),
        (lambda: make_pipeline(StandardScaler(), SGDClassifier()), "SGDClassifier"),
        (lambda: Pipeline([("a", StandardScaler()), ("b", SVC())], memory="x"), "memory"),
        (lambda: of_columns(PCA(1)), "'part' is a PCA.*TableEncoder"),
        (lambda: of_columns(make_pipeline(StandardScaler(), PCA(1))), "'part', step 'pca', is a"),
        (lambda: of_columns(FunctionTransformer(np.log1p)), "FunctionTransformer"),
        (lambda: of_columns(StandardScaler(), transformer_weights={"part": 2.0}), "weights"),
        (lambda: make_pipeline(OrdinalEncoder(min_frequency=2), SVC()), "OrdinalEncoder"),
        (lambda: make_pipeline(SimpleImputer(strategy=np.mean), SVC()), "function"),
        (lambda: make_pipeline(OneHotEncoder(dtype=np.float32), SVC()), "OneHotEncoder"),
        (lambda: make_pipeline(OneHotEncoder(min_frequency=2), SVC()), "OneHotEncoder"),
        (lambda: CalibratedClassifierCV(SVC(), ensemble=True), "ensemble=False"),
        (lambda: calibrate(SGDClassifier()), "SGDClassifier"),
        (lambda: DecisionClassifier(SGDClassifier()), "SGDClassifier"),
    ],
)  # fmt: skip
def test_other_parts_are_refused_by_name(make, reason, path):
    with pytest.raises(TypeError, match=reason):
        save(make(), path)
    assert not path.exists()


# -- files made to do harm ------------------------------------------------------------------------


def taken_apart(model, path):
    save(model, path)
    contents = unpack(path)
    return copy.deepcopy(contents.document), [array.copy() for array in contents.arrays]


def refusal(path, document, arrays):
    path.write_bytes(pack(document, arrays))
    with pytest.raises(ModelFileError) as caught:
        load(path)
    return str(caught.value)


def fields_of(document, kind):
    entries = [*document["objects"], document["estimator"]]
    entry = next(entry for entry in entries if entry["kind"] == kind)
    return entry.get("fields", entry.get("state"))


def decided(**params):
    return DecisionClassifier(SVC(), cv=2, **params).fit(X, Y2)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("threshold_", 7.0, "threshold_"),
        ("threshold_", None, "threshold_"),
        ("threshold_", {"float": "7ff8000000000000"}, "threshold_"),
        ("threshold_", "0.5", "threshold_"),
        ("rule_", "mine", "rule_"),
        ("rule_", "costs", "threshold_"),
        ("reason_", 3, "reason_"),
        ("curve_", None, "curve_"),
        ("estimator_", "os.system", "estimator_"),
        ("estimator_", None, "estimator_"),
        ("costs_", [1], "costs_"),
        ("predict", 3, "predict"),
        ("__class__", 3, "__class__"),
    ],
)
def test_decisions_that_no_fit_makes_are_refused(name, value, reason, path):
    document, arrays = taken_apart(decided(threshold=0.3), path)
    document["estimator"]["state"][name] = value
    assert reason in refusal(path, document, arrays)


def test_negative_costs_are_refused(path):
    model = DecisionClassifier(NaiveBayes(), costs=[[0, 1], [3, 0]]).fit(X, Y2)
    document, arrays = taken_apart(model, path)
    number = document["estimator"]["state"]["costs_"]["array"]
    arrays[number][0, 1] = -1.0
    assert "negative" in refusal(path, document, arrays)


def test_a_machine_of_other_classes_is_refused(path):
    document, arrays = taken_apart(decided(), path)
    document["estimator"]["state"]["classes_"] = {"things": {"shape": [2], "values": ["a", "b"]}}
    assert "same classes" in refusal(path, document, arrays)


@pytest.mark.parametrize(
    ("name", "value"),
    [("slope", {"float": "7ff0000000000000"}), ("offset", "x"), ("seen", [True]), ("shares", None)],
)
def test_curves_that_are_none_are_refused(name, value, path):
    document, arrays = taken_apart(decided(), path)
    fields_of(document, "ProbabilityCurve")[name] = value
    assert name in refusal(path, document, arrays)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([], "pairs"),
        ([["a", 0], ["b", 1]], "tuple|pairs|one type"),
        ([{"tuple": ["a", {"object": 0}]}], "pairs"),
        ([{"tuple": ["a", {"object": 0}]}, {"tuple": ["a", {"object": 1}]}], "names"),
        ([{"tuple": ["a__b", {"object": 0}]}, {"tuple": ["c", {"object": 1}]}], "names"),
        ([{"tuple": ["a", {"object": 0}]}, {"tuple": ["c", {"object": 0}]}], "machine|columns"),
        ([{"tuple": ["a", "passthrough"]}, {"tuple": ["c", {"object": 1}]}], "known"),
        ([{"tuple": ["a", {"object": 9}]}, {"tuple": ["c", {"object": 1}]}], ""),
    ],
)
def test_pipelines_that_are_none_are_refused(steps, reason, path):
    import re

    document, arrays = taken_apart(make_pipeline(StandardScaler(), SVC()).fit(X, Y2), path)
    document["estimator"]["fields"]["steps"] = steps
    assert re.search(reason, refusal(path, document, arrays))


def test_scales_of_zero_and_of_other_columns_are_refused(path):
    document, arrays = taken_apart(make_pipeline(StandardScaler(), SVC()).fit(X, Y2), path)
    number = fields_of(document, "sklearn.StandardScaler")["scale_"]["array"]
    arrays[number][0] = 0.0
    assert "scale_ must not be 0" in refusal(path, document, arrays)
    arrays[number] = np.ones(4)
    document["arrays"][number]["shape"] = [4]
    assert "scale_ has the shape" in refusal(path, document, arrays)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("handle_unknown", "import os", "handle_unknown"),
        ("drop", [1], "drop"),
        ("categories_", [], "categories_"),
        ("categories_", ["a", "b", "c"], "categories_"),
        ("sparse_output", "yes", "sparse_output"),
    ],
)
def test_categories_that_are_none_are_refused(name, value, reason, path):
    model = make_pipeline(OneHotEncoder(), SVC()).fit(np.round(X), Y2)
    document, arrays = taken_apart(model, path)
    fields_of(document, "sklearn.OneHotEncoder")[name] = value
    assert reason in refusal(path, document, arrays)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("strategy", "code", "strategy"),
        ("fitted_to", "complex128", "fitted_to"),
        ("statistics_", None, "statistics_"),
        ("fill_value", [1], "fill_value"),
    ],
)
def test_imputers_that_are_none_are_refused(name, value, reason, path):
    document, arrays = taken_apart(make_pipeline(SimpleImputer(), SVC()).fit(X, Y2), path)
    fields_of(document, "sklearn.SimpleImputer")[name] = value
    assert reason in refusal(path, document, arrays)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("names", ["a__b", "c"], "names"),
        ("names", ["a"], "parts"),
        ("parts", ["drop", "import os"], "known kinds"),
        ("parts", [{"object": 0}, {"object": 0}], "columns|known kinds"),
        ("columns", [["age"], ["nowhere"]], "fitted to"),
        ("columns", [[0], [99]], "fitted to"),
        ("columns", [["age", 1], [2]], "names or positions"),
        ("columns", [["age", "income"], ["town"]], "fitted to their columns"),
        ("remainder", "code", "known kinds"),
        ("sparse_threshold", 7.0, "share"),
        ("n_features_in_", 9, "n_features_in_|feature_names_in_"),
    ],
)
def test_columns_that_are_none_are_refused(name, value, reason, path):
    import re

    frame, y = people()
    parts = [("a", StandardScaler(), ["income"]), ("b", OneHotEncoder(), ["town"])]
    document, arrays = taken_apart(
        make_pipeline(ColumnTransformer(parts), SVC()).fit(frame, y), path
    )
    fields_of(document, "sklearn.ColumnTransformer")[name] = value
    assert re.search(reason, refusal(path, document, arrays))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibrations_that_are_none_are_refused(method, path):
    model = calibrate(SVC(), method=method, cv=2).fit(X, Y2)
    document, arrays = taken_apart(model, path)
    number = document["estimator"]["fields"]["curves"][0]["array"]
    arrays[number].flat[-1] = np.nan
    assert "curves" in refusal(path, document, arrays)
    document, arrays = taken_apart(model, path)
    document["estimator"]["fields"]["method"] = "steps"
    assert "method" in refusal(path, document, arrays)
    document, arrays = taken_apart(model, path)
    document["estimator"]["fields"]["curves"] = []
    assert "curves" in refusal(path, document, arrays)


def test_machines_inside_of_machines_without_end_are_not_followed(path):
    model = SVC()
    for _ in range(12):
        model = DecisionClassifier(model)
    save(model, path)
    with pytest.raises(ModelFileError, match="inside of machines"):
        inspect(path)


def test_columns_that_a_file_claims_beside_those_that_are_taken_are_bounded():
    """Left out, they need no numbers in the file: 10⁸ of them took 10 GB."""
    columns = ColumnTransformer([("part", StandardScaler(), [0])]).fit(np.arange(9.0).reshape(3, 3))
    kind = kind_of(columns)
    for claimed in (2**21, 2**40):
        with pytest.raises(ModelFileError, match="must be 1048576 at most"):
            kind.make({**kind.state(columns), "n_features_in_": claimed})
    assert kind.make({**kind.state(columns), "n_features_in_": 2**20}).n_features_in_ == 2**20
