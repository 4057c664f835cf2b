"""What answers of one moment are: whole, and the same whatever is learned or forgotten later."""

import threading

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.bayes import AODE, KDB, TAN, NaiveBayes
from lindero.serve import OnlineStore
from lindero.svm import AdaptiveSVC, IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR
from tests.serve.test_store import KERNEL, make_rows

MACHINES = [
    IncrementalSVC(**KERNEL),
    IncrementalSVC(kernel="linear"),
    IncrementalSVC(window="auto", max_window=40, **KERNEL),
    IncrementalSVR(gamma=0.5, window=25),
    IncrementalOneClassSVM(gamma=0.5, nu=0.3),
    NaiveBayes(numeric="gaussian"),
    TAN(),
    KDB(),
    AODE(),
]


def target_of(estimator, X, y):
    if isinstance(estimator, IncrementalOneClassSVM):
        return None
    return X[:, 0] ** 2 if isinstance(estimator, IncrementalSVR) else y


@pytest.mark.parametrize("estimator", MACHINES, ids=repr)
def test_a_reader_stays_as_it_is(tmp_path, estimator):
    X, y = make_rows(80)
    y = target_of(estimator, X, y)
    part = (lambda rows: None) if y is None else (lambda rows: y[rows])
    with OnlineStore(tmp_path / "store.db", estimator) as store:
        store.learn(X[:40], part(slice(0, 40)))
        reader, expected = store.reader(), store.predict(X).tolist()
        assert reader.is_frozen
        assert reader.predict(X).tolist() == expected
        store.learn(X[40:], part(slice(40, 80)))
        store.forget([41, 79])
        assert reader.predict(X).tolist() == expected
        assert (reader.sequence, store.reader().sequence) == (2, 4)
        assert store.reader().predict(X).tolist() == store.predict(X).tolist()
        if reader.has_probabilities:
            assert np.shape(reader.predict_proba(X)) == (80, 2)


def test_a_pipeline_and_columns_in_another_order(tmp_path):
    X, y = make_rows(40)
    model = make_pipeline(StandardScaler(), IncrementalSVC(**KERNEL)).fit(X[:20], y[:20])
    rows = [dict(zip("abc", row, strict=True)) for row in X.tolist()]
    with OnlineStore(tmp_path / "store.db", model) as store:
        store.add("named", IncrementalSVC(**KERNEL))
        store.learn(rows, y, model="named")
        piped, named = store.reader(), store.reader(model="named")
        expected = store.predict(X).tolist(), store.predict(rows, model="named").tolist()
        store.learn(X[20:], y[20:])
        assert piped.is_frozen
        assert not piped.takes_arrays
        assert piped.predict(X).tolist() == expected[0]
        turned = [dict(reversed(row.items())) for row in rows]
        assert named.takes_arrays
        assert named.predict(turned).tolist() == expected[1]
        assert named.predict(X).tolist() == expected[1]


def test_what_follows_a_stream_is_asked_itself(tmp_path):
    X, y = make_rows(30)
    with OnlineStore(tmp_path / "store.db", AdaptiveSVC()) as store:
        assert not store.reader().is_frozen  # nothing is learned yet
        store.learn(X, y)
        reader = store.reader()
        assert not reader.is_frozen
        assert reader.predict(X).tolist() == store.predict(X).tolist()


def test_a_frozen_machine_holds_support_vectors_only():
    X, y = make_rows(60)
    machine = IncrementalSVC(**KERNEL).fit(X, y)
    frozen = machine.freeze()
    others = np.setdiff1d(np.arange(60), machine.support_)
    assert others.size
    held = frozen.support_vectors_
    assert not any((held == X[i]).all(axis=1).any() for i in others)
    np.testing.assert_array_equal(frozen.decision_function(X), machine.decision_function(X))
    before = machine.decision_function(X)
    with pytest.raises(AttributeError):
        frozen.partial_fit(X[:1], y[:1])
    np.testing.assert_array_equal(machine.decision_function(X), before)


def test_readers_in_threads_see_whole_models_while_one_writes(tmp_path):
    X, y = make_rows(120)
    with OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL), durability="normal") as store:
        store.learn(X[:20], y[:20])
        readers, seen, done = [store.reader()], [], threading.Event()

        def read():
            while not done.is_set():
                reader = readers[-1]
                seen.append((reader.sequence, tuple(reader.predict(X[:30]))))

        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        for i in range(20, 120):
            store.learn(X[i : i + 1], y[i : i + 1])
            readers.append(store.reader())
        done.set()
        for thread in threads:
            thread.join()
        known = {reader.sequence: tuple(reader.predict(X[:30])) for reader in readers}
        assert len(seen) > 20
        assert all(known[sequence] == answer for sequence, answer in seen)


@pytest.mark.parametrize("named", [False, True])
def test_ids_that_are_held_are_known_without_listing_them(named):
    X, y = make_rows(30)
    machine = IncrementalSVC(window=20, **KERNEL)
    ids = {"ids": [f"row {i}" for i in range(30)]} if named else {}
    machine.partial_fit(X, y, **ids)
    machine.forget("row 15" if named else 15)
    held = set(machine.sample_ids_.tolist())
    asked = [*range(-2, 33), *(f"row {i}" for i in range(32)), None, 1.0, True, 2**70, "x"]
    for id in asked:
        assert machine.holds(id) == (type(id) in (int, str) and id in held), id
