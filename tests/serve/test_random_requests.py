"""Requests at random: a store equals a plain dict of rows, and models that are fitted to it; and
a follower that comes now and then equals the store, and holds no byte of what was forgotten."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lindero.bayes import NaiveBayes
from lindero.serve import Follower, OnlineStore
from lindero.svm import IncrementalSVC

SETTINGS = {"kernel": "rbf", "gamma": 0.7, "C": 3.0}
PROBE = np.random.default_rng(99).standard_normal((6, 2))


def make_row(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(2)
    return x, "yes" if x.sum() > 0 else "no"


class WhoeverLeads:
    """The store of a machine, whichever is open now."""

    def __init__(self, machine):
        self.machine = machine

    def __getattr__(self, name):
        return getattr(self.machine.store, name)


class StoreAndDict(RuleBasedStateMachine):
    """The dict holds what each model must have learned, by ids."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "store.db"
        self.rows, self.log, self.next = {}, [], 0

    @initialize()
    def begin(self):
        self.store = OnlineStore(self.path, IncrementalSVC(**SETTINGS), name="svm")
        self.store.add("bayes", NaiveBayes())
        self._learn(list(range(8)))
        self.follower = Follower(WhoeverLeads(self), Path(self.folder.name) / "copy")
        self.gone = []

    def _learn(self, seeds):
        pairs = [make_row(seed) for seed in seeds]
        ids = [f"row {seed}" for seed in seeds]
        X, y = np.array([x for x, _ in pairs]), [label for _, label in pairs]
        for model in ("svm", "bayes"):
            self.store.learn(X, y, ids=ids, model=model)
        self.rows.update(zip(ids, pairs, strict=True))
        self.next = max(self.next, max(seeds) + 1)

    def _can_lose(self, ids):
        left = [label for id, (_, label) in self.rows.items() if id not in ids]
        return set(left) == {"yes", "no"} and len(left) >= 4

    @rule(n=st.integers(1, 4))
    def learn(self, n):
        self._learn(list(range(self.next, self.next + n)))

    @rule(data=st.data())
    def forget(self, data):
        ids = data.draw(st.lists(st.sampled_from(sorted(self.rows)), min_size=1, max_size=3))
        if self._can_lose(set(ids)):
            for model in ("svm", "bayes"):
                self.store.forget(ids, model=model)
            for id in set(ids):
                self.gone.append(self.rows.pop(id)[0])

    @rule(data=st.data())
    def replace(self, data):
        id = data.draw(st.sampled_from(sorted(self.rows)))
        x, y = make_row(self.next)
        if self._can_lose({id}):
            for model in ("svm", "bayes"):
                self.store.replace(id, [x], [y], model=model)
            self.gone.append(self.rows[id][0])
            self.rows[id] = (x, y)
            self.next += 1

    @rule(data=st.data())
    def refuse(self, data):
        known = data.draw(st.sampled_from(sorted(self.rows)))
        for bad in (
            lambda: self.store.learn([[0.0, 1.0]], ["yes"], ids=[known]),
            lambda: self.store.forget("nobody"),
            lambda: self.store.replace(known, [[0.0]], ["yes"]),
        ):
            try:
                bad()
            except ValueError:
                continue
            raise AssertionError("was not refused")

    @rule()
    def follow(self):
        self.follower.catch_up()
        found, held = self.follower._held, self.store._held
        assert self.follower.sequence == self.store.sequence
        np.testing.assert_allclose(
            found["svm"].machine.decision_function(PROBE),
            held["svm"].machine.decision_function(PROBE),
            atol=1e-7,
        )
        np.testing.assert_array_equal(
            found["bayes"].machine.class_count_, held["bayes"].machine.class_count_
        )
        kept = b"".join(file.read_bytes() for file in Path(self.follower.folder).iterdir())
        assert not any(x.tobytes() in kept for x in self.gone)

    @rule()
    def follow_from_the_file(self):
        self.follower.close()
        self.follower = Follower(WhoeverLeads(self), self.follower.folder)

    @rule()
    def open_again(self):
        self.store.close()
        self.store = OnlineStore(self.path, name="svm")

    @rule()
    def lose_the_process(self):
        self.store._ledger._database.close()
        self.store._ledger = None
        self.store = OnlineStore(self.path, name="svm")

    @precondition(lambda self: self.rows)
    @invariant()
    def models_are_those_of_the_dict(self):
        X = np.array([x for x, _ in self.rows.values()])
        y = [label for _, label in self.rows.values()]
        fitted = IncrementalSVC(**SETTINGS).fit(X, y)
        found = self.store._held["svm"].machine.decision_function(PROBE)
        np.testing.assert_allclose(found, fitted.decision_function(PROBE), atol=1e-7)
        counts = self.store._held["bayes"].machine
        np.testing.assert_array_equal(counts.class_count_, NaiveBayes().fit(X, y).class_count_)

    def teardown(self):
        if hasattr(self, "follower"):
            self.follower.close()
        if hasattr(self, "store"):
            self.store.close()
        self.folder.cleanup()


TestStoreAndDict = StoreAndDict.TestCase
TestStoreAndDict.settings = settings(max_examples=12, stateful_step_count=15, deadline=None)
