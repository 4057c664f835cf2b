"""Every estimator in every state comes back from its file as it was, and goes on as it would."""

import json
import os

import numpy as np
import pytest
import safetensors
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import lindero
from lindero.bayes import NaiveBayes
from lindero.kernels import growing
from lindero.persist import ModelInfo, inspect, load, save
from lindero.svm import SVC, IncrementalSVC
from tests.persist.model_bank import NEW, WORDS, X, answers, cases, same_bits

CASES = cases()
FITTED = [case for case in CASES if case.rows is not None]
LEARNING = [case for case in CASES if case.learn is not None]


def named(case):
    return case.name


def again(estimator, folder):
    """What a file gives back."""
    save(estimator, folder / "model.lin")
    return load(folder / "model.lin")


@pytest.mark.parametrize("case", FITTED, ids=named)
def test_predictions_are_the_same_to_the_last_bit(case, tmp_path):
    estimator = case.made()
    loaded = again(estimator, tmp_path)
    assert type(loaded) is type(estimator)
    told = answers(case, estimator)
    assert told
    assert same_bits(told, answers(case, loaded))


@pytest.mark.parametrize("case", LEARNING, ids=named)
def test_learning_goes_on_to_the_last_bit(case, tmp_path):
    estimator = case.made()
    before = answers(case, estimator)
    loaded = again(estimator, tmp_path)
    one, two = case.further(estimator), case.further(loaded)
    after = answers(case, one)
    assert not same_bits(before, after)
    assert same_bits(after, answers(case, two))


def test_a_long_stream_goes_on_to_the_last_bit_with_few_columns_kept(tmp_path):
    rng = np.random.default_rng(3)
    rows, labels = rng.normal(size=(160, 4)), rng.integers(0, 2, 160)

    def go_on(machine, start, stop):
        for i in range(start, stop):
            machine.partial_fit(rows[i : i + 1], labels[i : i + 1])
            if i % 4 == 0:
                machine.forget(machine.sample_ids_[len(machine.sample_ids_) // 2])
        return machine

    # So little room that columns of the kernel come and go.
    machine = IncrementalSVC(gamma=0.2, C=3.0, cache_size=0.02)
    machine = go_on(machine.partial_fit(rows[:20], labels[:20]), 20, 90)
    loaded = again(machine, tmp_path)
    one, two = go_on(machine, 90, 160), go_on(loaded, 90, 160)
    assert one._machine.active_set.point.a.tobytes() == two._machine.active_set.point.a.tobytes()
    assert one.decision_function(rows).tobytes() == two.decision_function(rows).tobytes()
    np.testing.assert_array_equal(one.updates_, two.updates_)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_attributes_come_back(case, tmp_path):
    estimator = case.made()
    loaded = again(estimator, tmp_path)
    assert vars(loaded).keys() == vars(estimator).keys()
    public = [name for name in vars(estimator) if name.endswith("_")]
    for name in public:
        assert type(getattr(loaded, name)) is type(getattr(estimator, name)), name


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_file_of_what_was_loaded_is_the_same_file(case, tmp_path):
    save(case.made(), tmp_path / "one")
    save(load(tmp_path / "one"), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("case", FITTED, ids=named)
def test_what_was_loaded_can_be_fitted_anew(case, tmp_path):
    loaded = again(case.made(), tmp_path)
    assert clone(loaded).get_params().keys() == loaded.get_params().keys()


def test_plain_attributes_of_a_users_own_come_back(tmp_path):
    model = SVC().fit(X, WORDS)
    model.note, model.places_ = "of 2024", np.arange(3)
    loaded = again(model, tmp_path)
    assert loaded.note == "of 2024"
    np.testing.assert_array_equal(loaded.places_, model.places_)


def test_saving_changes_nothing(tmp_path):
    for case in LEARNING:
        saved, other = case.made(), case.made()
        save(saved, tmp_path / "model.lin")
        assert same_bits(answers(case, case.further(saved)), answers(case, case.further(other)))


def test_what_is_loaded_shares_no_memory_with_what_was_saved(tmp_path):
    model = SVC().fit(X, WORDS)
    loaded = again(model, tmp_path)
    loaded.support_vectors_[:] = 0.0
    assert model.support_vectors_.any()


def test_warm_starts_go_on(tmp_path):
    model = SVC(warm_start=True, max_iter=5, C=100.0, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="Stopped at max_iter"):
        model.fit(X, WORDS)
    loaded = again(model, tmp_path)
    for one in (model, loaded):
        one.set_params(max_iter=-1).fit(X, WORDS)
    assert model.dual_coef_.tobytes() == loaded.dual_coef_.tobytes()
    np.testing.assert_array_equal(model.n_iter_, loaded.n_iter_)


def test_room_for_columns_that_nobody_needs_is_left_out(tmp_path, monkeypatch):
    case = next(case for case in CASES if case.name == "IncrementalSVC")
    machine = case.made()
    monkeypatch.setattr(growing, "MOST_SAVED_ROOM", 1000)
    loaded = again(machine, tmp_path)
    kernel, small = machine._machine.kernel, loaded._machine.kernel
    assert 0 < len(small._owner) < len(kernel._owner)
    held = kernel._owner[kernel._owner >= 0]
    np.testing.assert_array_equal(small._owner, held)
    np.testing.assert_array_equal(small.column(int(held[0])), kernel.column(int(held[0])))
    np.testing.assert_allclose(
        answers(case, case.further(loaded))[1], answers(case, case.further(machine))[1]
    )


# -- what a file says -----------------------------------------------------------------------------


def test_a_file_says_what_it_holds(tmp_path):
    path = tmp_path / "model.lin"
    save(SVC(C=2.5).fit(X, WORDS), path, summary={"data": "demo.csv", "error": 0.25, "folds": [1]})
    info = inspect(path)
    assert isinstance(info, ModelInfo)
    assert info.estimator == "svm.SVC"
    assert info.parameters["C"] == 2.5
    assert info.parameters["kernel"] == "rbf"
    assert info.input == {"n_features": 3, "names": None, "columns": None}
    assert info.summary["classes"] == ["no", "perhaps", "yes"]
    assert info.summary["n_samples"] == 16
    assert info.summary["status"].startswith("Optimal")
    assert info.summary["error"] == 0.25
    assert info.lindero_version == lindero.__version__
    assert info.format_version == 1
    assert info.n_bytes == os.path.getsize(path)
    assert not info.encoded
    assert len(info.sha256) == 64
    assert "svm.SVC" in str(info)
    assert info.sha256 in str(info)


def test_a_file_of_a_pipeline_says_what_its_machine_is(tmp_path):
    case = next(case for case in CASES if case.name == "pipeline")
    save(case.made(), tmp_path / "model.lin")
    info = inspect(tmp_path / "model.lin")
    assert (info.estimator, info.encoded, info.parameters["C"]) == ("svm.SVC", True, 2.0)
    assert [column["kind"] for column in info.input["columns"]] == [
        "category", "number", "category", "unknown",
    ]  # fmt: skip


def test_a_file_of_a_bayesian_classifier_says_its_columns(tmp_path):
    case = next(case for case in CASES if case.name == "TAN")
    save(case.made(), tmp_path / "model.lin")
    columns = inspect(tmp_path / "model.lin").input["columns"]
    assert columns[0] == {"name": None, "kind": "category", "n_values": 3}


def test_an_unfitted_estimator_says_so(tmp_path):
    save(SVC(), tmp_path / "model.lin")
    info = inspect(tmp_path / "model.lin")
    assert info.summary == {"fitted": False}
    assert "not fitted" in str(info)


def test_any_reader_of_safetensors_can_read_a_file(tmp_path):
    path = tmp_path / "model.lin"
    model = SVC().fit(X, WORDS)
    save(model, path)
    with safetensors.safe_open(path, framework="numpy") as file:
        document = json.loads(file.get_tensor("document").tobytes())
        assert json.loads(file.metadata()["lindero"])["format_version"] == 1
        number = document["estimator"]["state"]["support_vectors_"]["array"]
        np.testing.assert_array_equal(file.get_tensor(str(number)), model.support_vectors_)


def test_names_of_columns_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=["height", "width", "depth"])
    model = SVC().fit(table, WORDS)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    assert inspect(tmp_path / "model.lin").input["names"] == ["height", "width", "depth"]
    new = pd.DataFrame(NEW, columns=table.columns)
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))


def test_paths_of_any_kind_are_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(SVC(), "model.lin")
    assert load(b"model.lin").get_params() == load(tmp_path / "model.lin").get_params()


@pytest.mark.parametrize("unit", ["datetime64[D]", "timedelta64[s]"])
@pytest.mark.parametrize("kind", [SVC, NaiveBayes])
def test_labels_can_be_dates_and_durations(unit, kind, tmp_path):
    labels = np.array([1, 2, 5], dtype=np.int64).view(unit)[
        np.unique(WORDS, return_inverse=True)[1]
    ]
    model = kind().fit(X, labels)
    told, loaded = model.predict(X), again(model, tmp_path).predict(X)
    assert told.dtype == loaded.dtype == labels.dtype
    assert told.tobytes() == loaded.tobytes()
