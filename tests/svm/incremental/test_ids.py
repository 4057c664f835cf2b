"""Samples by ids of the user's own choosing."""

import pickle

import numpy as np
import pytest

from lindero.errors import ModelFileError, NotSeparableError
from lindero.persist import load, save
from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

MACHINES = [IncrementalSVC, IncrementalSVR, IncrementalOneClassSVM]
random = np.random.default_rng(5)
X = random.normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)
WORDS = np.array([f"person {i}" for i in range(60)])
NUMBERS = np.arange(60) * 10 - 100


def learned(machine=IncrementalSVC, ids=WORDS, n=40, **params):
    targets = () if machine is IncrementalOneClassSVM else (Y[:n],)
    return machine(gamma=0.5, **params).partial_fit(X[:n], *targets, ids=ids[:n])


@pytest.mark.parametrize("how", [list, np.array, tuple])
@pytest.mark.parametrize("ids", [WORDS, NUMBERS], ids=["words", "numbers"])
@pytest.mark.parametrize("machine", MACHINES)
def test_samples_are_known_by_them(machine, ids, how):
    model = learned(machine, how(ids.tolist()))
    assert model.ids_.tolist() == model.sample_ids_.tolist() == ids[:40].tolist()
    assert model.ids_.dtype.kind == ids.dtype.kind
    targets = {} if machine is IncrementalOneClassSVM else {"y": Y[40:41]}
    model.partial_fit(X[40:41], ids=how(ids[40:41].tolist()), **targets)
    model.forget(ids[7].item()).forget(ids[[3, 40]])
    rest = np.delete(np.arange(40), [3, 7])
    assert model.ids_.tolist() == ids[rest].tolist()
    other = machine(gamma=0.5).fit(X[rest], *([] if not targets else [Y[rest]]))
    decide = "predict" if machine is IncrementalSVR else "decision_function"
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(other, decide)(X), atol=1e-8)


def test_fit_takes_them_too_and_begins_anew():
    model = learned().fit(X, Y, ids=NUMBERS)
    assert model.ids_.tolist() == NUMBERS.tolist()
    assert model.fit(X, Y).ids_.tolist() == list(range(60))


def test_samples_are_replaced_by_them():
    model = learned().replace("person 3", y=1 - Y[3])
    other = learned()
    y = Y[:40].copy()
    y[3] = 1 - y[3]
    other.fit(X[:40], y)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("ids", [WORDS, NUMBERS], ids=["words", "numbers"])
def test_files_pickles_and_windows_keep_them(ids, tmp_path):
    model = learned(ids=ids, window=30).forget(ids[20])
    save(model, tmp_path / "model.lin")
    for again in (load(tmp_path / "model.lin"), pickle.loads(pickle.dumps(model))):
        assert again.ids_.tolist() == model.ids_.tolist()
        again.partial_fit(X[40:42], Y[40:42], ids=ids[40:42]).forget(ids[41])
        assert again.ids_.tolist() == [*ids[11:20], *ids[21:41]]
        with pytest.raises(ValueError, match="already held"):
            again.partial_fit(X[:1], Y[:1], ids=ids[40:41])
        again.partial_fit(X[:1], Y[:1], ids=ids[20:21])  # free again
    assert "person 20" not in str((tmp_path / "model.lin").read_bytes())


def test_an_id_that_is_gone_is_in_no_file(tmp_path):
    model = learned(ids=[f"secret name {i}" for i in range(40)]).forget("secret name 17")
    save(model, tmp_path / "model.lin")
    for held in ((tmp_path / "model.lin").read_bytes(), pickle.dumps(model)):
        for coded in (b"secret name 17", "secret name 17".encode("utf-32-le")):
            assert coded not in held
    assert b"secret name 18" in pickle.dumps(model)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "a"], "'a' is given twice"),
        (["person 3", "b"], "'person 3' is already held"),
        (["a"], "ids has 1 values, but X has 2 rows"),
        (["a", 1], "not both"),
        ([1, 2], "not both"),
        ([1.5, 2.5], "integers of 64 bits or strings"),
        ([True, False], "integers of 64 bits or strings"),
        ([None, "b"], "integers of 64 bits or strings"),
        ([2**70, 1], "integers of 64 bits or strings"),
        (["a\0", "b"], "null characters"),
        (None, "give ids for these rows too"),
        (3.5, "integers of 64 bits or strings"),
        ([["a"], ["b"]], "integers of 64 bits or strings"),
    ],
)
def test_ids_that_cannot_be(ids, message):
    model = learned()
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X[40:42], Y[40:42], ids=ids)
    assert model.ids_.tolist() == WORDS[:40].tolist()
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_ids_come_from_the_first_call_on():
    model = IncrementalSVC().fit(X, Y)
    with pytest.raises(ValueError, match="from the first call on"):
        model.partial_fit(X[:1], Y[:1], ids=["a"])


@pytest.mark.parametrize("ids", ["nobody", ["person 1", "nobody"], 1, []])
def test_ids_of_nobody(ids):
    model = learned()
    if isinstance(ids, list) and not ids:
        assert len(model.forget(ids).ids_) == 40
        return
    with pytest.raises(ValueError, match=r"No sample of id (nobody|1) is held"):
        model.forget(ids)
    with pytest.raises(ValueError, match="'person 1' more than once"):
        model.forget(["person 1", "person 1"])


def test_a_call_that_fails_keeps_them():
    y = X[:, 0] > 0.0
    model = IncrementalSVC(C=np.inf, kernel="linear").fit(X[:40], y[:40], ids=WORDS[:40])
    with pytest.raises(NotSeparableError):
        model.partial_fit(X[[40, 41, 42]], [y[40], not y[41], not y[42]], ids=WORDS[40:43])
    assert model.ids_.tolist() == WORDS[:40].tolist()
    model.partial_fit(X[40:43], y[40:43], ids=WORDS[40:43]).forget(WORDS[41])
    assert model.ids_.tolist() == [*WORDS[:41], WORDS[42]]


def test_a_window_that_fails_keeps_them(monkeypatch):
    model = learned(window=40)
    monkeypatch.setattr(
        model._machine, "_refresh", lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[40:41], Y[40:41], ids=WORDS[40:41])
    monkeypatch.undo()
    assert model.ids_.tolist() == WORDS[:40].tolist()
    assert len(model.forget("person 0").ids_) == 39


@pytest.mark.parametrize("window", [None, "auto", 20])
def test_numbers_become_ids_that_can_be_chosen_from_then_on(window):
    model = IncrementalSVC(gamma=0.5, window=window).partial_fit(X[:40], Y[:40])
    held = model.ids_.tolist()
    assert model.name_samples() is model
    assert model.ids_.tolist() == held
    with pytest.raises(ValueError, match="give ids"):
        model.partial_fit(X[40:41], Y[40:41])
    last = held[-1]
    model.forget(last).partial_fit(X[40:41], Y[40:41], ids=[last])
    assert model.ids_.tolist()[-1] == last
    assert model.holds(last)
    assert model.name_samples().ids_.tolist()[-1] == last  # twice is once
    assert model.next_id_ is None


def test_files_with_ids_twice_are_refused(tmp_path):
    from tests.persist.test_hostile_model_files import fields_of, refusal, taken_apart

    path = tmp_path / "model.lin"
    document, arrays = taken_apart(learned(ids=NUMBERS), path)
    names = arrays[fields_of(document, "HeldSamples")["_names"]["array"]]
    names[3] = names[4]
    assert "_names must differ" in refusal(path, document, arrays)
    assert issubclass(ModelFileError, ValueError)
