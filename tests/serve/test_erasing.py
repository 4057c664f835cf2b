"""What is forgotten is gone: from the model, and from every byte on the disk, at once."""

import json
import sqlite3

import numpy as np
import pytest

from lindero.bayes import NaiveBayes
from lindero.persist import to_bytes
from lindero.serve import OnlineStore
from lindero.serve import ledger as ledgers
from lindero.serve.ledger import Ledger
from lindero.svm import IncrementalSVC
from tests.serve.test_store import make_rows

SECRET = "Aurelia Quintanilla"


def all_bytes(folder):
    return b"\n".join(file.read_bytes() for file in sorted(folder.iterdir()))


def fill(path, n=300):
    """An open store of many rows, of which single ones were learned at many moments."""
    X, y = make_rows(n)
    store = OnlineStore(path, IncrementalSVC(kernel="rbf", gamma=0.5), snapshot_every=50)
    store.learn(X[:20], y[:20], ids=np.arange(20))
    for i in range(20, n, 3):
        store.learn(X[i : i + 3], y[i : i + 3], ids=np.arange(i, min(n, i + 3)))
    return store, X


def test_no_file_holds_a_byte_of_a_forgotten_row(tmp_path):
    store, X = fill(tmp_path / "store.db")
    with store:
        gone = [2, 21, 130, 131, 299]
        kept = sorted(set(range(300)) - set(gone))
        present = all_bytes(tmp_path)
        assert all(X[i].tobytes() in present for i in gone)
        store.forget(gone)
        left = all_bytes(tmp_path)  # the store is still open
        for i in gone:
            assert X[i].tobytes() not in left
            for value in X[i]:
                assert value.tobytes() not in left
        assert all(X[i].tobytes() in left for i in kept)
        state = to_bytes(store._held["model"].estimator)
        assert not any(value.tobytes() in state for i in gone for value in X[i])


def test_text_vanishes_as_well(tmp_path):
    with OnlineStore(tmp_path / "store.db", NaiveBayes()) as store:
        rows = [{"name": "Bo", "sum": 3.5}, {"name": "Li", "sum": 4.5}, {"name": "Bo", "sum": 5.0}]
        store.learn(rows, ["a", "b", "a"], ids=["one", "two", "three"])
        store.learn([{"name": SECRET, "sum": 7.5678}], ["b"], ids=["four"])
        store.snapshot()
        assert SECRET.encode() in all_bytes(tmp_path)
        store.forget("four")
        for text in (SECRET, SECRET.split()[0], "7.5678"):
            assert text.encode() not in all_bytes(tmp_path)
        assert np.float64(7.5678).tobytes() not in all_bytes(tmp_path)


def test_a_replaced_row_vanishes(tmp_path):
    store, X = fill(tmp_path / "store.db", 60)
    with store:
        store.replace(30, np.ones((1, 3)), ["yes"])
        assert X[30].tobytes() not in all_bytes(tmp_path)


def test_salts_vanish_so_that_nobody_can_try_out_rows(tmp_path):
    store, _ = fill(tmp_path / "store.db", 60)
    with store:
        [row] = store._ledger.rows_with("model", json.dumps(30))
        assert row.salt in all_bytes(tmp_path)
        store.forget(30)
        assert row.salt not in all_bytes(tmp_path)


@pytest.mark.parametrize("again", ["opened again", "forgotten again"])
def test_an_erasure_that_was_cut_off_is_finished(tmp_path, monkeypatch, again):
    store, X = fill(tmp_path / "store.db", 60)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "finish_erasing", lambda self: None)
        store.forget(30)
    assert X[30].tobytes() in all_bytes(tmp_path)  # so the erasure is what erases
    if again == "opened again":
        store._ledger._database.close()
        store._ledger = None
        store = OnlineStore(tmp_path / "store.db")
    else:
        store.forget(31)
    assert X[30].tobytes() not in all_bytes(tmp_path)
    store.close()


def test_files_are_for_their_owner_only(tmp_path):
    store, _ = fill(tmp_path / "store.db", 30)
    with store:
        assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.iterdir())


def test_many_forgotten_rows_leave_their_room_and_no_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers, "MOST_ERASED", 20)
    store, X = fill(tmp_path / "store.db", 120)
    with store:
        for first in range(20, 110, 5):
            store.forget(range(first, first + 5))
            left = all_bytes(tmp_path)
            for i in range(20, first + 5):
                assert X[i].tobytes() not in left
        [(n_rows,)] = store._ledger._database.execute("SELECT COUNT(*) FROM rows")
        assert n_rows < 60  # of 120 that were learned, and 30 that are left
        store.learn(X[40:60], ["yes"] * 20, ids=np.arange(40, 60))
        store.forget(np.arange(45, 60))
        assert X[50].tobytes() not in all_bytes(tmp_path)
        assert X[44].tobytes() in all_bytes(tmp_path)


def test_moving_that_was_cut_off_is_finished(tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers, "MOST_ERASED", 3)
    monkeypatch.setattr(ledgers, "ERASED_SHARE", 100)
    store, X = fill(tmp_path / "store.db", 60)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_finish_moving", lambda self: None)
        store.forget([30, 31, 32, 33])
    store._ledger._database.close()
    store._ledger = None
    with OnlineStore(tmp_path / "store.db") as store:
        store.forget([35, 36])
        left = all_bytes(tmp_path)
        assert not any(X[i].tobytes() in left for i in (30, 31, 32, 33, 35, 36))
        assert store._ledger._setting("moving") is None


def test_a_store_of_the_first_layout_is_taken_over(tmp_path):
    """Its tables are made from those of today."""
    store, X = fill(tmp_path / "store.db", 90)
    log, expected = store.log(), store._held["model"].estimator.decision_function(X)
    store.close()
    database = sqlite3.connect(tmp_path / "store.db")
    database.executescript(
        """
        CREATE TABLE old (model TEXT NOT NULL, number INTEGER NOT NULL, place INTEGER NOT NULL,
            id TEXT NOT NULL, salt BLOB NOT NULL, data BLOB NOT NULL,
            PRIMARY KEY (model, number, place)) WITHOUT ROWID;
        INSERT INTO old SELECT model, number, place, id, salt, data FROM rows;
        DROP TABLE rows;
        ALTER TABLE old RENAME TO rows;
        CREATE INDEX row_ids ON rows (model, id);
        CREATE TABLE old (model TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL,
            PRIMARY KEY (model, number)) WITHOUT ROWID;
        INSERT INTO old SELECT model, number, substr(data, 33) FROM snapshots;
        DROP TABLE snapshots;
        ALTER TABLE old RENAME TO snapshots;
        UPDATE settings SET value = '1' WHERE name = 'schema';
        """
    )
    database.close()
    with OnlineStore(tmp_path / "store.db") as store:
        assert store.log() == log
        found = store._held["model"].estimator.decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-8)
        store.forget([30, 80])
        left = all_bytes(tmp_path)
        assert not any(X[i].tobytes() in left for i in (30, 80))
        assert X[31].tobytes() in left
    with OnlineStore(tmp_path / "store.db") as store:
        assert store.sequence == len(log) + 1


def test_a_store_of_the_second_layout_is_taken_over(tmp_path):
    """Its snapshots have no hashes."""
    store, X = fill(tmp_path / "store.db", 60)
    store.forget(30)
    expected = store._held["model"].estimator.decision_function(X)
    store.close()
    database = sqlite3.connect(tmp_path / "store.db")
    database.execute("UPDATE snapshots SET data = substr(data, 33)")
    database.execute("UPDATE settings SET value = '2' WHERE name = 'schema'")
    database.commit()
    database.close()
    with OnlineStore(tmp_path / "store.db") as store:
        found = store._held["model"].estimator.decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-8)
        assert store._ledger._setting("schema") == "3"


@pytest.mark.parametrize("how", ["zeros", "one bit"])
def test_a_damaged_snapshot_is_noticed_and_done_without(tmp_path, how):
    store, X = fill(tmp_path / "store.db", 90)
    expected = store._held["model"].estimator.decision_function(X)
    store.close()
    database = sqlite3.connect(tmp_path / "store.db")
    [(at, data)] = database.execute("SELECT at, data FROM snapshots WHERE number > 1").fetchall()
    values = np.frombuffer(data, dtype=np.uint8).copy()
    places = slice(None) if how == "zeros" else data.index(X[40].tobytes()) + 6  # of an exponent
    values[places] = 0 if how == "zeros" else values[places] ^ 64
    database.execute("UPDATE snapshots SET data = ? WHERE at = ?", (values.tobytes(), at))
    database.commit()
    database.close()
    with OnlineStore(tmp_path / "store.db") as store:
        found = store._held["model"].estimator.decision_function(X)
        np.testing.assert_allclose(found, expected, atol=1e-8)
