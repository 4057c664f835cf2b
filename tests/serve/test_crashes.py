"""Whatever kills a process or fills a disk: what was acknowledged is there, and nothing half."""

import ast
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

from lindero.serve import OnlineStore, StoreError
from lindero.serve.ledger import Ledger
from lindero.svm import IncrementalSVC
from tests.serve.crashes import PLACES, build_failing_disk, kill_many
from tests.serve.test_store import KERNEL, decide, make_rows

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed after a fork")


@pytest.mark.parametrize("seed", range(10))
def test_killed_writers_lose_nothing(seed):
    assert kill_many(20, seed) == 20


def test_disks_that_fill_up_or_fail_lose_nothing(tmp_path):
    """In another process, before whose C library there is one that fails in place of the disk."""
    built = build_failing_disk(tmp_path)
    if built is None:
        pytest.skip("there is no C compiler, or this is not Linux")
    command = [sys.executable, "-m", "tests.serve.crashes", "--kills", "40", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    counts = ast.literal_eval(done.stdout.split("half there: ")[1].splitlines()[0])
    assert counts["disk"] > 5
    assert counts["refused"] > 5


def test_every_step_of_a_write_is_among_the_places_to_die():
    steps = {name for name in vars(Ledger) if name in {place for place, _ in PLACES}}
    assert {"append", "keep_rows", "erase_rows", "drop_snapshots", "keep_snapshot"} <= steps


@pytest.fixture
def store(tmp_path):
    X, y = make_rows(60)
    with OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL)) as store:
        store.learn(X[:20], y[:20])
        yield store


class Failing(sqlite3.Connection):
    """A database whose disk refuses some statements."""

    refused = ()

    def execute(self, statement, *values):
        if any(statement.startswith(text) for text in self.refused):
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(statement, *values)

    def executemany(self, statement, values):
        if any(statement.startswith(text) for text in self.refused):
            raise sqlite3.OperationalError("database or disk is full")
        return super().executemany(statement, values)


@pytest.mark.parametrize("refused", ["COMMIT", "INSERT INTO log", "INSERT INTO rows", "BEGIN"])
def test_a_write_that_the_disk_refuses_has_not_happened(tmp_path, monkeypatch, refused):
    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: real(path, factory=Failing, **options)
    )
    X, y = make_rows(30)
    with OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL)) as store:
        store.learn(X[:20], y[:20])
        before, log = decide(store, X), store.log()
        store._ledger._database.connection.refused = (refused,)
        for write in (lambda: store.learn(X[20:], y[20:]), lambda: store.replace(3, X[:1], y[:1])):
            with pytest.raises(StoreError, match="Nothing was written: "):
                write()
            np.testing.assert_allclose(decide(store, X), before, atol=1e-9)  # reading goes on
        assert store.log() == log
        store._ledger._database.connection.refused = ()
        store.learn(X[20:], y[20:])
        model = IncrementalSVC(**KERNEL).fit(X, y)
        np.testing.assert_allclose(decide(store, X), model.decision_function(X), atol=1e-8)


def test_a_snapshot_that_the_disk_refuses_does_not_refuse_the_write_before_it(
    tmp_path, monkeypatch
):
    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: real(path, factory=Failing, **options)
    )
    X, y = make_rows(30)
    path = tmp_path / "store.db"
    with OnlineStore(path, IncrementalSVC(**KERNEL), snapshot_every=5) as store:
        store.learn(X[:20], y[:20])
        [saved] = store._ledger._read("SELECT MAX(number) FROM snapshots")
        store._ledger._database.connection.refused = ("INSERT INTO snapshots",)
        receipt = store.learn(X[20:25], y[20:25])
        assert store.receipts()[-1] == receipt
        assert store._ledger._read("SELECT MAX(number) FROM snapshots") == [saved]
        store._ledger._database.connection.refused = ()
        store.learn(X[25:26], y[25:26])  # and with it the snapshot
        assert store._ledger._read("SELECT MAX(number) FROM snapshots") == [(saved[0] + 2,)]
        before = decide(store, X)
    with OnlineStore(path) as store:
        np.testing.assert_allclose(decide(store, X), before, atol=1e-8)


def test_a_full_disk_stops_writes_and_not_reading(tmp_path):
    """In a child, whose files may not grow."""
    X, y = make_rows(30)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            with OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL)) as store:
                store.learn(X[:20], y[:20])
                before, n_writes = store.predict(X).tolist(), store.sequence
                largest = max(file.stat().st_size for file in tmp_path.iterdir())
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 10_000, -1))
                said = ""
                for i in range(1000):
                    try:
                        store.learn(X[20:21], y[20:21], key=str(i))
                    except StoreError as error:
                        said = str(error)
                        break
                    before, n_writes = store.predict(X).tolist(), store.sequence
                assert "Nothing was written" in said
                assert store.predict(X).tolist() == before
                assert store.sequence == n_writes
                resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
                store.learn(X[20:21], y[20:21])
                status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_ctrl_c_in_the_middle_leaves_the_state_before_or_after(store, monkeypatch):
    X, y = make_rows(60)
    before = decide(store, X)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "keep_rows", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.learn(X[20:], y[20:])
    np.testing.assert_allclose(decide(store, X), before, atol=1e-9)
    assert store.sequence == 2
    assert store.learn(X[20:], y[20:]).sequence == 3


def test_readers_see_one_model_or_the_other_while_one_writes(store):
    """Each answer is that of some number of rows learned, never of a mixture."""
    X, y = make_rows(60)
    probe = X[:8]
    known = [decide(store, probe)]
    model = store.as_of(store.sequence)
    for i in range(20, 40):
        model.partial_fit(X[i : i + 1], y[i : i + 1], ids=[i])
        known.append(model.decision_function(probe))
    seen, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            seen.append(decide(store, probe))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(20, 40):
        store.learn(X[i : i + 1], y[i : i + 1])
    stop.set()
    for reader in readers:
        reader.join()
    assert len(seen) > 10
    table = np.array(known)
    for answer in seen:
        assert np.abs(table - answer).max(axis=1).min() < 1e-7


def test_writers_in_threads_take_turns(store):
    X, y = make_rows(60)

    def write(first):
        for i in range(first, first + 10):
            store.learn(X[i : i + 1], y[i : i + 1], key=str(i))

    writers = [threading.Thread(target=write, args=(first,)) for first in (20, 30, 40, 50)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert store.sequence == 42
    assert sorted(store._held["model"].machine.sample_ids_.tolist()) == list(range(60))
    model = IncrementalSVC(**KERNEL).fit(X, y)
    np.testing.assert_allclose(decide(store, X), model.decision_function(X), atol=1e-7)
