"""A store learns, forgets and answers as its models would, and says clearly what it refuses."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.bayes import TAN, NaiveBayes
from lindero.serve import OnlineStore, StoreError
from lindero.svm import SVC, AdaptiveSVC, IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

KERNEL = {"kernel": "rbf", "gamma": 0.5, "C": 2.0}


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.where(X[:, 0] + 0.3 * rng.standard_normal(n) > 0, "yes", "no")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def decide(store, X, model="model"):
    return store._held[model].estimator.decision_function(X)


def test_learning_and_forgetting_equal_a_fit_of_the_rest(path):
    X, y = make_rows(40)
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        store.learn(X[:10], y[:10], ids=[f"row {i}" for i in range(10)])
        for i in range(10, 40):
            store.learn(X[i : i + 1], y[i : i + 1], ids=[f"row {i}"])
        store.forget(["row 3", "row 31"])
        rest = np.delete(np.arange(40), [3, 31])
        model = IncrementalSVC(**KERNEL).fit(X[rest], y[rest])
        np.testing.assert_allclose(decide(store, X), model.decision_function(X), atol=1e-8)
        assert store.certificate().kkt_gap < 1e-8
        assert store.predict(X).tolist() == model.predict(X).tolist()


def test_counts_are_the_same_bit_for_bit_after_opening_again(path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "weather": rng.choice(["sun", "rain", None], 60),
            "degrees": np.where(rng.random(60) < 0.1, np.nan, rng.normal(15, 8, 60)),
            "wind": rng.integers(0, 4, 60),
        }
    )
    y = rng.choice(["out", "in"], 60)
    with OnlineStore(path, TAN(), snapshot_every=20) as store:
        store.learn(table[:30], y[:30], ids=np.arange(30))
        for i in range(30, 60):
            store.learn(table[i : i + 1], y[i : i + 1], ids=[i])
        store.forget([5])
        store.learn(table[5:6], ["out"], ids=[5])
        before = store.predict_proba(table)
        store._held["model"].unsaved = 0  # so that closing writes no snapshot
    with OnlineStore(path) as store:
        np.testing.assert_array_equal(store.predict_proba(table), before)
        assert store.scores()["n"] == 31.0


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (IncrementalSVC(**KERNEL), "label"),
        (IncrementalSVC(window=12, **KERNEL), "label"),
        (IncrementalSVR(gamma=0.5), "number"),
        (IncrementalOneClassSVM(gamma=0.5, nu=0.3), None),
        (AdaptiveSVC(), "label"),
        (NaiveBayes(), "label"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_every_machine_that_learns_goes_on_where_it_was(estimator, target, path):
    X, y = make_rows(30)
    y = {"label": y, "number": X[:, 0] ** 2, None: None}[target]
    more = {"times": np.arange(30.0)} if isinstance(estimator, AdaptiveSVC) else {}

    def learn(store, rows):
        given = {name: values[rows] for name, values in more.items()}
        store.learn(X[rows], None if y is None else y[rows], **given)

    with OnlineStore(path, estimator) as store:
        learn(store, slice(0, 20))
        for i in range(20, 26):
            learn(store, slice(i, i + 1))
        asked = {"times": np.full(4, 26.0)} if more else {}
        expected = store.predict(X[26:], **asked)
    with OnlineStore(path) as store:
        assert store.predict(X[26:], **asked).tolist() == expected.tolist()
        learn(store, slice(26, 30))
        assert store.sequence == 9


def test_a_fitted_pipeline_learns_with_its_last_step(path):
    X, y = make_rows(30)
    model = make_pipeline(StandardScaler(), IncrementalSVC(**KERNEL)).fit(X[:20], y[:20])
    with OnlineStore(path, model) as store:
        with pytest.raises(ValueError, match="are counted"):  # when it was fitted
            store.learn(X[20:], y[20:], ids=list("abcdefghij"))
        store.learn(X[20:25], y[20:25])
        store.forget([3, 22])
        store.learn(X[25:], y[25:])
        ids = store._held["model"].machine.sample_ids_
        assert ids.tolist() == [*range(3), *range(4, 22), *range(23, 30)]
        assert model[-1].sample_ids_.size == 20  # a copy has learned
    unfitted = make_pipeline(StandardScaler(), IncrementalSVC())
    with OnlineStore(path) as store, pytest.raises(ValueError, match="not fitted"):
        store.add("other", unfitted)


def test_a_row_that_replaces_another_has_its_id_and_no_number(path):
    X, y = make_rows(30)
    fitted = IncrementalSVC(**KERNEL).fit(X[:20], y[:20])
    for name, estimator in (("fitted", fitted), ("empty", IncrementalSVC(**KERNEL))):
        with OnlineStore(path, estimator, name=name) as store:
            if name == "empty":
                store.learn(X[:20], y[:20])
            store.replace(3, X[20:21], y[20:21])
            store.learn(X[21:22], y[21:22])
            assert store._held[name].machine.holds(3)
        with OnlineStore(path, name=name) as store:  # the numbers go on
            store.learn(X[22:23], y[22:23])
            store.forget(3)  # the row that came in its place
            machine = store._held[name].machine
            assert machine.sample_ids_.tolist() == [*range(3), *range(4, 22)]
            left = np.array([*range(3), *range(4, 20), 21, 22])
            expected = IncrementalSVC(**KERNEL).fit(X[left], y[left])
            np.testing.assert_allclose(
                decide(store, X, name), expected.decision_function(X), atol=1e-8
            )
    assert fitted.next_id_ == 20


def test_a_machine_that_does_not_learn_further_is_refused_and_nothing_kept(path):
    with pytest.raises(ValueError, match="SVC learned from all rows together"):
        OnlineStore(path, SVC())
    with pytest.raises(ValueError, match="looks at all rows again and again"):
        OnlineStore(path, NaiveBayes(learning="discriminative"))
    assert list(path.parent.iterdir()) == []  # nor a file
    with OnlineStore(path) as store:
        assert store.models == []
        assert store.sequence == 0
        with pytest.raises(StoreError, match="none yet"):
            store.predict([[1.0]])
    assert list(path.parent.iterdir()) == []


# -- requests -------------------------------------------------------------------------------------


def test_a_request_sent_twice_is_done_once(path):
    X, y = make_rows(12)
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        first = store.learn(X, y, key="batch 1")
        assert store.learn(X, y, key="batch 1") == first
        assert store.sequence == 2
        with pytest.raises(StoreError, match="another request"):
            store.learn(X[:1], y[:1], key="batch 1")
        for other in (X[::-1], y), (X, y[::-1]):  # as many rows, but others
            with pytest.raises(StoreError, match="another request"):
                store.learn(*other, key="batch 1")
        gone = store.forget([4], key="gone")
        assert store.forget([4], key="gone") == gone
        assert store.forget([4]) == gone  # forgetting twice is forgetting once
        assert store.forget(4) == gone
        assert store.learn(X, y, key="batch 1") == first  # of row 4 nothing is left to compare
        assert store.sequence == 3


def test_a_key_does_not_hide_that_the_ids_are_others(path):
    X, y = make_rows(12)
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        first = store.learn(X[:10], y[:10], ids=list(range(10)), key="k")
        assert store.learn(X[:10], y[:10], ids=list(range(10)), key="k") == first
        with pytest.raises(StoreError, match="another request"):
            store.learn(X[:10], y[:10], ids=list(range(1, 11)), key="k")
        again = store.replace([3], X[10:11], y[10:11], key="r")
        assert store.replace([3], X[10:11], y[10:11], key="r") == again
        with pytest.raises(StoreError, match="another request"):
            store.replace([3], X[11:12], y[10:11], key="r")


def test_somebody_who_has_read_an_older_state_is_told(path):
    X, y = make_rows(12)
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        receipt = store.learn(X, y, expect=store.sequence_of())
        assert receipt.sequence == store.sequence_of()
        with pytest.raises(StoreError, match="somebody has written since"):
            store.learn(X, y, expect=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store, X, y: store.learn([[1.0, 2.0]], ["yes"]), "2 columns, the model 3"),
        (lambda store, X, y: store.learn([[1.0, 2.0, np.nan]], ["yes"]), "NaN"),
        (lambda store, X, y: store.learn([[1.0, 2.0, "x"]], ["yes"]), "float"),
        (lambda store, X, y: store.learn([1.0, 2.0, 3.0], ["yes"]), "iterable|flat list"),
        (lambda store, X, y: store.learn(X[:1], ["maybe"]), "maybe"),
        (lambda store, X, y: store.learn(X[:2], ["yes"]), "2 rows, but y has 1"),
        (lambda store, X, y: store.learn(X[:1], [None]), "no label"),
        (lambda store, X, y: store.learn(X[:0], []), "1 to"),
        (lambda store, X, y: store.learn(X[:1], y[:1], ids=[99]), "give no ids"),
        (lambda store, X, y: store.forget(["nobody"]), "no row with id"),
        (lambda store, X, y: store.forget([]), "at least one id"),
        (lambda store, X, y: store.forget([True]), "integers or text"),
        (lambda store, X, y: store.forget(list(range(12))), "leave no sample"),
        (lambda store, X, y: store.replace(3, X[:1], ["maybe"]), "maybe"),
    ],
)
def test_what_is_refused_changes_nothing(path, call, message):
    X, y = make_rows(12)
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        store.learn(X, y)
        before, log = decide(store, X), store.log()
        with pytest.raises((ValueError, TypeError), match=message):
            call(store, X, y)
        np.testing.assert_allclose(decide(store, X), before, atol=1e-9)
        assert store.log() == log
        assert store.learn(X[:1], y[:1]).sequence == 3


def test_columns_are_known_by_their_names(path):
    rows = [{"b": 1.0, "a": "x"}, {"b": 2.0, "a": "y"}, {"b": 3.0, "a": "x"}]
    with OnlineStore(path, NaiveBayes()) as store:
        store.learn(rows, ["u", "v", "u"])
        other = [{"a": "x", "b": 1.0}]
        assert store.predict(other).tolist() == ["u"]
        assert store.predict([[1.0, "x"]]).tolist() == ["u"]
        with pytest.raises(ValueError, match=r"lack \['b'\] and bring \['c'\]"):
            store.learn([{"a": "x", "c": 1.0}], ["u"])
        with pytest.raises(ValueError, match="Row 1 has the columns"):
            store.learn([{"a": "x", "b": 1.0}, {"a": "x"}], ["u", "v"])
        with pytest.raises(ValueError, match="type datetime"):
            store.learn([[pd.Timestamp("2020-01-01").to_pydatetime(), "x"]], ["u"])


def test_ids_are_the_users_or_the_stores(path):
    X, y = make_rows(12)
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        store.learn(X[:10], y[:10], ids=[f"row {i}" for i in range(10)])
        with pytest.raises(ValueError, match="give ids"):
            store.learn(X[10:], y[10:])
        with pytest.raises(ValueError, match="already: replace it"):
            store.learn(X[10:11], y[10:11], ids=["row 2"])
        with pytest.raises(ValueError, match="1 different ids"):
            store.learn(X[10:], y[10:], ids=["row 10", "row 10"])
        receipt = store.replace("row 2", X[10:11], y[10:11])
        assert receipt.ids == ("row 2",)
        rest = np.r_[0, 1, 3:10, 10]
        model = IncrementalSVC(**KERNEL).fit(X[rest], y[rest])
        np.testing.assert_allclose(decide(store, X), model.decision_function(X), atol=1e-8)


def test_models_of_one_store_do_not_meet(path):
    X, y = make_rows(20)
    with OnlineStore(path, IncrementalSVC(**KERNEL), name="svm") as store:
        store.add("bayes", NaiveBayes(), classes=["no", "yes"])
        store.learn(X, y)
        store.learn(X[:1], y[:1], model="bayes")  # one class so far
        store.learn(X, y, model="bayes", key="k")
        store.learn(X, y, model="svm", key="k")
        assert [receipt.model for receipt in store.receipts()] == [
            "svm", "bayes", "svm", "bayes", "bayes", "svm"]  # fmt: skip
        assert len(store.receipts(model="bayes")) == 3
        with pytest.raises(StoreError, match="already"):
            store.add("bayes", NaiveBayes())
        with pytest.raises(StoreError, match="'bayes', 'svm'"):
            store.predict(X, model="tree")
        assert store.explain(X[:1], model="bayes")[0].startswith(y[0])


def test_what_cannot_forget_exactly_is_built_anew_from_the_rest(path):
    X, y = make_rows(14)
    times = np.arange(14.0)
    with OnlineStore(path, AdaptiveSVC()) as store:
        store.learn(X[:10], y[:10], times=times[:10])
        store.learn(X[10:], y[10:], times=times[10:])
        store.forget([3, 12])
        model = AdaptiveSVC()
        for rows in (np.r_[0:3, 4:10], np.r_[10, 11, 13]):
            model.partial_fit(X[rows], y[rows], times=times[rows])
        now = np.full(14, 14.0)
        assert store.predict(X, times=now).tolist() == model.predict(X, times=now).tolist()
        with pytest.raises(ValueError, match="cannot forget"):  # all that are left
            store.forget([id for id in range(14) if id not in (3, 12)])


def test_rows_far_from_all_others_can_be_forgotten(path):
    with OnlineStore(path, NaiveBayes(numeric="gaussian")) as store:
        store.learn([[1.0], [2.0], [4.0], [1e9]], ["a", "b", "a", "b"])
        store.forget(3)
        model = NaiveBayes(numeric="gaussian").fit([[1.0], [2.0], [4.0]], ["a", "b", "a"])
        np.testing.assert_array_equal(store.predict_proba([[3.0]]), model.predict_proba([[3.0]]))


# -- the past -------------------------------------------------------------------------------------


def test_the_past_is_told_without_what_was_forgotten(path):
    X, y = make_rows(40)
    with OnlineStore(path, IncrementalSVC(**KERNEL), snapshot_every=10) as store:
        store.learn(X[:10], y[:10])
        for i in range(10, 40):
            store.learn(X[i : i + 1], y[i : i + 1])
        store.forget([5, 25])
        past = store.as_of(2 + 20)  # after 30 rows
        rows = np.delete(np.arange(30), [5, 25])
        model = IncrementalSVC(**KERNEL).fit(X[rows], y[rows])
        np.testing.assert_allclose(past.decision_function(X), model.decision_function(X), atol=1e-8)
        past.partial_fit(X[5:6], y[5:6], ids=[1000])
        assert 1000 not in store._held["model"].machine.sample_ids_
        assert not hasattr(store.as_of(1), "_machine")  # as it was added


def test_rows_of_a_model_that_came_fitted_can_be_forgotten_and_then_the_past_is_gone(path):
    X, y = make_rows(20)
    model = IncrementalSVC(**KERNEL).partial_fit(X[:10], y[:10], ids=list("abcdefghij"))
    with OnlineStore(path, model) as store:
        store.learn(X[10:], y[10:], ids=list("klmnopqrst"))
        store.forget("c")
        assert "c" not in store._held["model"].machine.sample_ids_
        with pytest.raises(StoreError, match="cannot be told any more"):
            store.as_of(2)


# -- the chain ------------------------------------------------------------------------------------


def check_chain(log):
    """The chain, recomputed from its description alone."""
    before = bytes(32)
    for number, entry in enumerate(log, 1):
        assert entry["sequence"] == number
        parts = [
            entry["sequence"],
            entry["model"],
            entry["kind"],
            entry["time"].hex(),
            entry["key"],
            entry["said"],
        ]
        text = json.dumps(parts, separators=(",", ":")).encode()
        before = hashlib.sha256(before + text).digest()
        assert before.hex() == entry["hash"]


def test_receipts_form_a_chain_that_anybody_can_check(path):
    X, y = make_rows(12)
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        store.learn(X, y, key="ä key")
        store.forget([1, 2])
        check_chain(store.log())
        assert [entry["hash"] for entry in store.log()] == [
            receipt.hash for receipt in store.receipts()
        ]
        receipt = store.receipts()[-1]
        assert receipt.before["status"].startswith("Optimal")
        assert receipt.after["dual"] < receipt.before["dual"]
        times = [receipt.time for receipt in store.receipts()]
        assert times == sorted(times)


def test_the_log_does_not_go_back_in_time(path, monkeypatch):
    X, y = make_rows(12)
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        now = store.learn(X[:10], y[:10]).time
        monkeypatch.setattr("lindero.serve.ledger.time.time", lambda: now - 1000.0)
        assert store.learn(X[10:11], y[10:11]).time == now


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE log SET said = replace(said, 'counted', 'Counted') WHERE number = 2", "entry 2"),
        ("UPDATE log SET time = time + 1 WHERE number = 3", "entry 3"),
        ("DELETE FROM log WHERE number = 2", "entry 3"),
        ("UPDATE rows SET data = zeroblob(40) WHERE place = 1", "row 1 of entry 2"),
        ("UPDATE settings SET value = '999' WHERE name = 'schema'", "layout 999"),
        ("DROP TABLE settings", "not a store of lindero"),
    ],
)
def test_a_store_that_was_changed_by_hand_is_refused(path, change, message):
    X, y = make_rows(12)
    with OnlineStore(path, IncrementalSVC(**KERNEL)) as store:
        store.learn(X[:10], y[:10])
        store.learn(X[10:], y[10:])
        store.close()
    import sqlite3

    database = sqlite3.connect(path)
    database.execute("PRAGMA foreign_keys = OFF")
    database.execute(change)
    database.commit()
    database.close()
    with pytest.raises(StoreError, match=message):
        OnlineStore(path)


def test_files_that_are_no_stores_are_refused(tmp_path):
    (tmp_path / "text.db").write_text("hello " * 1000)
    with pytest.raises(StoreError, match="not a store of lindero, or damaged"):
        OnlineStore(tmp_path / "text.db")
    with pytest.raises((StoreError, OSError)):
        OnlineStore(tmp_path / "no folder" / "store.db")


def test_a_store_has_one_writer(path):
    with OnlineStore(path, NaiveBayes()), pytest.raises(StoreError, match="open already"):
        OnlineStore(path)
    store = OnlineStore(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.learn([[1.0]], ["a"])


@pytest.mark.parametrize(
    ("parameter", "value"), [("durability", "maybe"), ("snapshot_every", 0), ("name", "")]
)
def test_parameters_are_checked(path, parameter, value):
    with pytest.raises(ValueError, match="must be"):
        OnlineStore(path, NaiveBayes(), **{parameter: value})


@pytest.mark.parametrize(("name", "size"), [("_AT_ONCE", 7), ("_BYTES_AT_ONCE", 500)])
def test_long_logs_are_read_in_parts(path, monkeypatch, name, size):
    monkeypatch.setattr(f"lindero.serve.ledger.{name}", size)
    X, y = make_rows(50)
    with OnlineStore(path, NaiveBayes(numeric="gaussian"), classes=["no", "yes"]) as store:
        for i in range(0, 50, 2):
            store.learn(X[i : i + 2], y[i : i + 2])
        receipt = store.forget([3, 4, 30])
        log = store.log()
    with OnlineStore(path) as store:
        assert store.log() == log
        assert [entry["sequence"] for entry in log] == list(range(1, 28))
        assert [entry["sequence"] for entry in store.log(3, 12)] == list(range(4, 13))
        assert [each["sequence"] for each in store.changes(2, limit=9)] == list(range(3, 12))
        assert len(list(store._ledger.all_rows())) == 47
        assert store.forget(30) == receipt


def test_entries_of_very_many_rows_are_told_a_few_at_a_time(path, monkeypatch):
    X, y = make_rows(30)
    with OnlineStore(path, NaiveBayes(numeric="gaussian"), classes=["no", "yes"]) as store:
        store.learn(X[:10], y[:10])
        for i in range(10, 30):
            store.learn(X[i : i + 1], y[i : i + 1])
        numbers = [receipt.sequence for receipt in store.receipts()]
        assert [receipt.sequence for receipt in store.receipts(limit=5)] == numbers[:5]
        monkeypatch.setattr("lindero.serve.changes.MOST_ROWS", 9)
        assert store.receipts(limit=20) == store.receipts(most=1)  # the next has ten rows
        assert [receipt.n_rows for receipt in store.receipts(after=1, limit=20)] == [10]
        assert [entry["sequence"] for entry in store.log(2, limit=20)] == list(range(3, 12))
        assert [entry["sequence"] for entry in store.log()] == numbers
        monkeypatch.undo()
        monkeypatch.setattr("lindero.serve.changes.MOST_BYTES", 300)
        assert [change["sequence"] for change in store.changes(1)] == [2]
        assert [change["sequence"] for change in store.changes(2)] == list(range(3, 10))
        history = store.score_history(20)
        assert [number for _, number, _, _ in history] == [21, 22]
        assert all(scored["n"] == 1.0 for _, _, _, scored in history)
