"""Clients at the same time: what they did and saw is what one after another would have done.

Each client notes when it asked, when it had its answer, and what that was. Writes have a number.
The history is linearisable if they, in the order of their numbers, keep the order in time of those
that did not overlap, and if a plain model that does the same one by one gives what every answer
gave: those of readers, too, at the number that they name.
"""

import itertools
import random
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

from lindero.bayes import NaiveBayes
from lindero.serve import Client, OnlineStore
from lindero.svm import IncrementalSVC
from tests.serve.running import Asking, serving
from tests.serve.test_store import KERNEL, make_rows

PROBE = make_rows(12, seed=99)[0]
FIRST = 20


@dataclass
class Done:
    """One thing that a client did."""

    kind: str
    ids: tuple
    rows: object
    labels: object
    asked: float
    answered: float
    sequence: int
    answer: object = None


def play_client(url, number, n, history, errors):
    rng = random.Random(number)
    own = []  # ids of rows that only this client touches
    counter = itertools.count()
    ask = Asking(url)
    try:
        with Client(url, model="model", retries=3) as client:
            for _ in range(n):
                kind = rng.choice(("learn", "learn", "predict", "predict", "forget", "replace"))
                if not own and kind in ("forget", "replace"):
                    kind = "learn"
                asked = time.monotonic()
                rows = labels = answer = None
                ids = ()
                if kind == "predict":
                    status, told = ask.post("predict", {"rows": PROBE.tolist()})
                    assert status == 200, told
                    sequence, answer = told["sequence"], told["predictions"]
                elif kind == "forget":
                    ids = (own.pop(rng.randrange(len(own))),)
                    sequence = client.forget(list(ids)).sequence
                else:
                    n_rows = rng.randint(1, 2) if kind == "learn" else 1
                    rows, labels = make_rows(n_rows, seed=rng.randrange(10**6))
                    if kind == "learn":
                        ids = tuple(f"{number}/{next(counter)}" for _ in range(n_rows))
                        sequence = client.learn(rows, labels, ids=ids).sequence
                        own += ids
                    else:
                        ids = (rng.choice(own),)
                        sequence = client.replace(list(ids), rows, labels).sequence
                history.append(
                    Done(kind, ids, rows, labels, asked, time.monotonic(), sequence, answer)
                )
    except BaseException as error:
        errors.append(error)
        raise


def apply(held, done):
    """What a plain dictionary holds after a write; rows in the order in which they came."""
    if done.kind in ("forget", "replace"):
        for id in done.ids:
            del held[id]
    if done.kind in ("learn", "replace"):
        held.update(
            {
                id: (row, label)
                for id, row, label in zip(done.ids, done.rows, done.labels, strict=True)
            }
        )


@pytest.mark.parametrize(
    "fresh",
    [lambda: IncrementalSVC(**KERNEL), lambda: NaiveBayes(numeric="gaussian")],
    ids=["IncrementalSVC", "NaiveBayes"],
)
def test_histories_of_concurrent_clients_are_linearisable(tmp_path, fresh):
    X, y = make_rows(FIRST)
    store = OnlineStore(tmp_path / "store.db", fresh())
    first = store.learn(X, y, ids=[f"first/{i}" for i in range(FIRST)]).sequence
    history, errors = [], []
    with serving(store) as server:
        threads = [
            threading.Thread(target=play_client, args=(server.url, k, 20, history, errors))
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not errors
        with Client(server.url) as client:
            log = client.log()
    writes = sorted((one for one in history if one.kind != "predict"), key=lambda one: one.sequence)
    reads = [one for one in history if one.kind == "predict"]
    assert len(history) == 80
    assert len(reads) > 10

    # Each write has a number of its own, and the log has no other.
    assert [one.sequence for one in writes] == list(range(first + 1, first + 1 + len(writes)))
    assert [entry["kind"] for entry in log[first:]] == [one.kind for one in writes]
    # Numbers keep the order of writes that did not overlap.
    for one, other in itertools.permutations(writes, 2):
        assert not (one.answered < other.asked and one.sequence > other.sequence)
    # A reader sees what was acknowledged before it asked, and nothing that was asked for later.
    for read in reads:
        seen = [one.sequence for one in writes if one.answered < read.asked]
        assert read.sequence >= max(seen, default=first)
        asked = [one.sequence for one in writes if one.asked < read.answered]
        assert read.sequence <= max(asked, default=first)
    # One after another gives every answer that was given.
    held = {f"first/{i}": (X[i], y[i]) for i in range(FIRST)}
    states = {first: dict(held)}
    for one in writes:
        apply(held, one)
        states[one.sequence] = dict(held)
    for read in reads:
        rows, labels = map(np.array, zip(*states[read.sequence].values(), strict=True))
        assert read.answer == fresh().fit(rows, labels).predict(PROBE).tolist(), read.sequence


def test_many_clients_with_the_same_key_do_one_thing(tmp_path):
    X, y = make_rows(FIRST)
    store = OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL))
    store.learn(X[:-1], y[:-1])
    with serving(store) as server:
        found = []

        def learn():
            with Client(server.url) as client:
                found.append(client.learn(X[-1:], y[-1:], key="the same"))

        threads = [threading.Thread(target=learn) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(found) == 6
        assert len(set(found)) == 1
        with Client(server.url) as client:
            assert client.sequence_of() == 3


def test_of_several_who_change_what_they_have_read_one_wins(tmp_path):
    X, y = make_rows(FIRST)
    store = OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL))
    store.learn(X, y)
    with serving(store) as server:
        statuses = []

        def learn(k):
            body = {"rows": X[k : k + 1].tolist(), "y": [y[k]]}
            statuses.append(Asking(server.url).post("learn", body, If_Match='"2"')[0])

        threads = [threading.Thread(target=learn, args=(k,)) for k in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(statuses) == [200, 412, 412, 412, 412]
