"""A store in PostgreSQL is the same store: a real server, of Debian's package, on loopback."""

import itertools
import json

import numpy as np
import pytest

from lindero.bayes import NaiveBayes
from lindero.serve import Follower, OnlineStore, StoreError
from lindero.serve import ledger as ledgers
from lindero.svm import IncrementalSVC
from tests.serve.postgres_server import running_server, why_not
from tests.serve.test_store import KERNEL, check_chain, decide, make_rows

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is a server")

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server():
    with running_server() as (data, address):
        yield data, address


@pytest.fixture
def address(server):
    """The address of a database of its own."""
    import psycopg

    name = f"test{next(NUMBERS)}"
    with psycopg.connect(server[1], autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server[1].removesuffix("postgres") + name


def drop_connection(store):
    """As if the network had gone: the server ends the session."""
    import psycopg

    connection = store._ledger._database.connection
    number = connection.info.backend_pid
    with psycopg.connect(connection.info.dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 30000)", (number,))  # and waits for it


def test_learning_forgetting_and_opening_again(address):
    X, y = make_rows(40)
    with OnlineStore(address, IncrementalSVC(**KERNEL), snapshot_every=10) as store:
        store.add("bayes", NaiveBayes(numeric="gaussian"), classes=["no", "yes"])
        store.learn(X[:10], y[:10], ids=[f"row {i}" for i in range(10)], key="first")
        again = store.learn(X[:10], y[:10], ids=[f"row {i}" for i in range(10)], key="first")
        assert again.sequence == 3
        for i in range(10, 40):
            store.learn(X[i : i + 1], y[i : i + 1], ids=[f"row {i}"])
            store.learn(X[i : i + 1], y[i : i + 1], model="bayes")
        store.forget(["row 3", "row 31"])
        store.forget(3, model="bayes")
        store.replace("row 8", X[3:4], y[3:4])
        before = decide(store, X), store.predict_proba(X, model="bayes")
        log = store.log()
        check_chain(log)
        past = store.as_of(13).decision_function(X)
    with OnlineStore(address) as store:
        assert store.log() == log
        np.testing.assert_allclose(decide(store, X), before[0], atol=1e-8)
        np.testing.assert_array_equal(store.predict_proba(X, model="bayes"), before[1])
        np.testing.assert_allclose(store.as_of(13).decision_function(X), past, atol=1e-8)
        rest = np.r_[np.delete(np.arange(40), [3, 8, 31]), 3]
        model = IncrementalSVC(**KERNEL).fit(X[rest], y[rest])
        np.testing.assert_allclose(decide(store, X), model.decision_function(X), atol=1e-8)


def test_a_crash_of_the_process_loses_nothing(address):
    X, y = make_rows(30)
    store = OnlineStore(address, IncrementalSVC(**KERNEL))
    for i in range(0, 30, 5):
        store.learn(X[i : i + 5], y[i : i + 5])
    store.forget([4, 22])
    log = store.log()
    drop_connection(store)
    with OnlineStore(address) as store:
        assert store.log() == log
        rest = np.delete(np.arange(30), [4, 22])
        model = IncrementalSVC(**KERNEL).fit(X[rest], y[rest])
        np.testing.assert_allclose(decide(store, X), model.decision_function(X), atol=1e-8)


def test_a_lost_connection_refuses_writes_and_answers_on(address):
    X, y = make_rows(30)
    store = OnlineStore(address, IncrementalSVC(**KERNEL))
    store.learn(X[:20], y[:20], key="a")
    before = store.predict(X).tolist()
    drop_connection(store)
    for write in (lambda: store.learn(X[20:], y[20:], key="b"), lambda: store.forget(3)):
        with pytest.raises(StoreError, match="close the store and open it again"):
            write()
    assert store.predict(X).tolist() == before
    store.close()
    with OnlineStore(address) as store:
        assert store.predict(X).tolist() == before
        assert store.learn(X[:20], y[:20], key="a").sequence == 2
        assert store.learn(X[20:], y[20:], key="b").sequence == 3


def test_a_commit_that_nobody_answered_can_be_sent_again(address, monkeypatch):
    import psycopg

    from lindero.serve.postgres import PostgresDatabase

    X, y = make_rows(30)
    store = OnlineStore(address, IncrementalSVC(**KERNEL))
    store.learn(X[:20], y[:20], key="a")
    real = PostgresDatabase.execute

    def lose_the_answer(self, statement, values=()):
        found = real(self, statement, values)
        if statement == "COMMIT":
            self.connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(PostgresDatabase, "execute", lose_the_answer)
        with pytest.raises(StoreError, match=r"nobody here knows whether.*a key can be sent again"):
            store.learn(X[20:], y[20:], key="b")
    store.close()
    with OnlineStore(address) as store:
        assert store.learn(X[20:], y[20:], key="b").sequence == 3
        assert store.sequence == 3
        model = IncrementalSVC(**KERNEL).fit(X, y)
        np.testing.assert_allclose(decide(store, X), model.decision_function(X), atol=1e-8)


def test_a_store_has_one_writer(address):
    with OnlineStore(address, NaiveBayes()), pytest.raises(StoreError, match="open already"):
        OnlineStore(address)
    OnlineStore(address).close()


def test_what_is_refused_changes_nothing(address):
    X, y = make_rows(20)
    with OnlineStore(address, IncrementalSVC(**KERNEL)) as store:
        store.learn(X[:12], y[:12])
        before, log = decide(store, X), store.log()
        with pytest.raises(ValueError, match="maybe"):
            store.replace(3, X[:1], ["maybe"])
        with pytest.raises(StoreError, match="Nothing was written"):
            # More than an index of PostgreSQL takes.
            store.learn(X[12:], y[12:], key=np.random.default_rng(0).bytes(5000).hex())
        with pytest.raises(StoreError, match="NUL"):
            store.learn(X[12:], y[12:], key="a\0b")
        np.testing.assert_allclose(decide(store, X), before, atol=1e-9)
        assert store.log() == log
        assert store.learn(X[12:], y[12:]).sequence == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE lindero.log SET time = time + 1 WHERE number = 3", "entry 3"),
        ("DELETE FROM lindero.log WHERE number = 2", "entry 3"),
        ("UPDATE lindero.rows SET data = '\\x00' WHERE place = 1", "row 1 of entry 2"),
        ("UPDATE lindero.settings SET value = '999' WHERE name = 'schema'", "layout 999"),
    ],
)
def test_a_store_that_was_changed_by_hand_is_refused(address, change, message):
    import psycopg

    X, y = make_rows(12)
    with OnlineStore(address, IncrementalSVC(**KERNEL)) as store:
        store.learn(X[:10], y[:10])
        store.learn(X[10:], y[10:])
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(change)
    with pytest.raises(StoreError, match=message) as refused:
        OnlineStore(address)
    assert "tester@" not in str(refused.value)  # whoever logs it need not hide anything


def bytes_of_tables(address, server):
    """The files of tables, after the server has written them; not its write-ahead log."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        found = connection.execute(
            "SELECT oid FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    folder = server[0] / "base" / str(found[0])
    return b"\n".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


def test_tables_hold_no_byte_of_a_forgotten_row(address, server, monkeypatch):
    monkeypatch.setattr(ledgers, "MOST_ERASED", 3)
    monkeypatch.setattr(ledgers, "ERASED_SHARE", 5)
    X, y = make_rows(60)

    with OnlineStore(address, IncrementalSVC(**KERNEL), snapshot_every=20) as store:
        store.learn(X[:20], y[:20], ids=np.arange(20))
        for i in range(20, 60):
            store.learn(X[i : i + 1], y[i : i + 1], ids=[i])
        gone = [2, 21, 59, *range(30, 45)]
        [row] = store._ledger.rows_with("model", json.dumps(30))
        assert X[30].tobytes() in bytes_of_tables(address, server)
        for some in (gone[:3], gone[3:]):
            store.forget(some)
        left = bytes_of_tables(address, server)
        assert row.salt not in left
        for i in gone:
            assert X[i].tobytes() not in left
        assert X[3].tobytes() in left


def test_an_erasure_that_was_cut_off_is_finished_when_the_store_is_opened(
    address, server, monkeypatch
):
    X, y = make_rows(20)
    store = OnlineStore(address, IncrementalSVC(**KERNEL))
    store.learn(X, y)
    with monkeypatch.context() as patch:
        patch.setattr(ledgers.Ledger, "finish_erasing", lambda self: None)
        store.forget(7)
    drop_connection(store)
    assert X[7].tobytes() in bytes_of_tables(address, server)  # so opening is what erases
    OnlineStore(address).close()
    left = bytes_of_tables(address, server)
    assert X[7].tobytes() not in left
    assert X[8].tobytes() in left


def test_followers_follow(address, tmp_path):
    X, y = make_rows(40)
    with OnlineStore(address, IncrementalSVC(**KERNEL), durability="normal") as store:
        store.learn(X[:20], y[:20], ids=np.arange(20))
        with Follower(store, tmp_path / "copy") as follower:
            store.learn(X[20:], y[20:], ids=np.arange(20, 40))
            store.forget([1, 30])
            follower.catch_up()
            found = follower._held["model"].estimator.decision_function(X)
            np.testing.assert_allclose(found, decide(store, X), atol=1e-8)


def test_addresses_that_nobody_answers_are_named_without_their_password():
    with pytest.raises(StoreError, match="cannot be reached") as refused:
        OnlineStore("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(refused.value)
