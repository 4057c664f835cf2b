"""A stream is the same to the last bit however its rows come in and whatever happens between them:
batches of any size, files, copies, questions, calls that are refused, and Ctrl-C."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest
from tests.fuzz.filters import look
from tests.threads import look_while, run_together

from lindero import persist
from lindero.svm import AdaptiveSVC, AdaptiveSVR
from lindero.svm.adaptive import experts, stream

pytestmark = pytest.mark.filterwarnings("ignore:Column:UserWarning")

N = 700


class Rows:
    """Rows of a stream, and what they are learned with."""

    def __init__(self, kind, times=None, **options):
        rng = np.random.default_rng(5)
        self.X = rng.normal(size=(N, 3))
        turned = np.where(np.arange(N) < 330, 1.0, -1.0) * (self.X[:, 0] + 0.3)
        self.X[rng.random(self.X.shape) < 0.05] = np.nan
        self.X[500:, 1] *= 1e5
        self.X[200:400, 2] = 1.0
        if kind is AdaptiveSVR:
            self.y = turned
        elif kind == "classes":
            self.y = np.array(["a", "b", "c", "longer"])[np.digitize(turned, [-0.5, 0.5, 1.0])]
            self.y[:300][self.y[:300] == "longer"] = "a"  # which appears within a batch
            self.y[:30] = "b"
        else:
            self.y = (turned > 0.0).astype(int)
        self.times = times
        self.make = AdaptiveSVR if kind is AdaptiveSVR else AdaptiveSVC
        self.options = options

    def begin(self):
        return self.make(**self.options)

    def learn(self, model, start, stop):
        times = {} if self.times is None else {"times": self.times[start:stop]}
        return model.partial_fit(self.X[start:stop], self.y[start:stop], **times)


DAYS = np.datetime64("2024-01-01") + np.cumsum(
    np.random.default_rng(1).integers(0, 4, N)
) * np.timedelta64(1, "D")

STREAMS = {
    "two classes": lambda: Rows(None, kernel="linear"),
    "several classes": lambda: Rows("classes", kernel="linear", coupling=1e6),
    "features": lambda: Rows(None, n_components=10),
    "poly": lambda: Rows(None, kernel="poly", n_components=6, coupling=1e6, C=1.0),
    "numbers": lambda: Rows(AdaptiveSVR, n_components=10),
    "dates": lambda: Rows(None, DAYS, kernel="linear", time_weighted=True),
    "experts that sleep": lambda: Rows(None, n_components=120),
}


@pytest.fixture(params=STREAMS)
def rows(request, monkeypatch):
    let_experts_sleep(monkeypatch)
    return STREAMS[request.param]()


def let_experts_sleep(monkeypatch):
    """Sooner than they would."""
    monkeypatch.setattr(stream, "_QUIET_LOOKS", 1)
    monkeypatch.setattr(stream, "SHARE", 0.05)
    monkeypatch.setattr(experts, "_FIRST_ROWS", 0)


def test_experts_sleep_and_wake_up_in_these_tests(monkeypatch):
    let_experts_sleep(monkeypatch)
    rows = STREAMS["experts that sleep"]()
    model = rows.learn(rows.begin(), 0, 300)
    assert not all_awake(model)
    assert all_awake(rows.learn(model, 300, 520))


def all_awake(model):
    state = model._stream.state
    return state.plain.awake.all() and state.curved.awake.all()


def test_batches_of_any_size_give_the_model_of_single_rows(rows):
    alone, rng = rows.begin(), np.random.default_rng(0)
    splits = [sorted(rng.choice(np.arange(1, N), size, replace=False)) for size in (0, 1, 4, 60)]
    models = [rows.begin() for _ in splits]
    for row in range(N):
        rows.learn(alone, row, row + 1)
    for model, cuts in zip(models, splits, strict=True):
        for start, stop in zip([0, *cuts], [*cuts, N], strict=True):
            rows.learn(model, int(start), int(stop))
        assert look(model) == look(alone), cuts
        assert str(model.history_) == str(alone.history_)


@pytest.mark.parametrize("at", [1, 40, 256, 431, 600])
def test_files_and_copies_go_on_as_if_nothing_had_been(rows, at, tmp_path):
    model = rows.learn(rows.begin(), 0, at)
    file = tmp_path / "model.lin"
    persist.save(model, file)
    others = [
        persist.load(file), pickle.loads(pickle.dumps(model)), copy.deepcopy(model),
    ]  # fmt: skip
    before = look(model)
    for other in others:
        assert look(other) == before
        assert str(other.certificate_) == str(model.certificate_)
        np.testing.assert_array_equal(other.times_, model.times_)
    rows.learn(model, at, N)
    for other in others:
        assert look(other) == before  # goes its own way
        rows.learn(other, at, 650)
        rows.learn(other, 650, N)
        assert look(other) == look(model)
        assert str(other.history_) == str(model.history_)
        np.testing.assert_array_equal(other.predict(rows.X), model.predict(rows.X))


def test_asking_changes_nothing(rows):
    quiet, asked = rows.begin(), rows.begin()
    for start in range(0, N, 35):
        rows.learn(quiet, start, start + 35)
        rows.learn(asked, start, start + 35)
        asked.history_, asked.changepoints(3), asked.coef_, asked.drift_, asked.certificate_
        asked.predict(rows.X[:3])
        pickle.dumps(asked)
    assert look(asked) == look(quiet)


def test_refused_calls_change_nothing(rows):
    model = rows.learn(rows.begin(), 0, 300)
    before, names = look(model), sorted(vars(model))
    bad = [
        ((rows.X[:5, :2], rows.y[:5]), {}),
        ((rows.X[:5], rows.y[:4]), {}),
        ((rows.X[:5] * np.inf, rows.y[:5]), {}),
        ((rows.X[:5], rows.y[:5]), {"sample_weight": [-1.0] * 5}),
        ((rows.X[:5], rows.y[:5]), {"times": ["then"] * 5}),
        ((rows.X[:5], np.full(5, None)), {}),
    ]
    usual = {}
    if rows.times is not None:
        usual["times"] = rows.times[300:305]
        bad.append(((rows.X[:5], rows.y[:5]), {"times": rows.times[:5]}))
        bad.append(((rows.X[:5], rows.y[:5]), {"times": None}))
    for args, options in bad:
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=r".{20}"):
            model.partial_fit(*args, **usual | options)
        assert look(model) == before
        assert sorted(vars(model)) == names
    alone = rows.learn(rows.begin(), 0, 300)
    assert look(rows.learn(model, 300, N)) == look(rows.learn(alone, 300, N))


def test_classes_that_were_not_declared_are_refused():
    rows = Rows("classes", kernel="linear", coupling=1e6)
    model = rows.begin().partial_fit(rows.X[:50], rows.y[:50], classes=["a", "b", "c"])
    before = look(model)
    with pytest.raises(ValueError, match="longer"):
        model.partial_fit(rows.X[:2], ["a", "longer"])
    assert look(model) == before
    assert model.predict_proba(rows.X).shape == (N, 3)


# -- Ctrl-C ---------------------------------------------------------------------------------------


def interrupted_after(n_lines, work):
    """Run `work` with KeyboardInterrupt raised at a line of the machine; the lines run through."""
    passed = 0

    def trace(frame, event, _):
        nonlocal passed
        if "adaptive" not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return None
        if event == "line":
            passed += 1
            if passed == n_lines:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(None)
    return passed


@pytest.mark.parametrize(("start", "stop"), [(0, 20), (300, 310), (500, 600), (250, 600)])
def test_an_interrupt_leaves_whole_rows(rows, start, stop):
    def begun():
        return rows.learn(rows.begin(), 0, start) if start else rows.begin()

    whole = rows.learn(begun(), start, stop)
    allowed = {look(begun()): start, look(whole): stop}
    after = look(rows.learn(whole, stop, N))
    n_lines = interrupted_after(0, lambda: rows.learn(begun(), start, stop))
    base = begun()
    for line in np.unique(np.linspace(1, n_lines, 40).astype(int)):
        model = copy.deepcopy(base)
        try:
            interrupted_after(line, lambda model=model: rows.learn(model, start, stop))
        except KeyboardInterrupt:
            at = allowed[look(model)]
        else:
            at = stop
        if line % 3 == 0:
            assert look(rows.learn(model, at, N)) == after


# -- threads --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("hasty_threads")
def test_answers_while_another_thread_learns_are_of_one_model(rows):
    asked = np.nan_to_num(rows.X[:40])
    steps = [*range(0, 300, 3), *range(300, N + 1, 100)]

    def ask(model):
        if rows.make is AdaptiveSVR:
            return model.predict(asked).tobytes()
        return repr(model.predict_proba(asked).tolist()).encode()

    alone = rows.learn(rows.begin(), 0, 3)
    answers, states = {ask(alone)}, {look(alone)}
    for start, stop in pairwise(steps[1:]):
        rows.learn(alone, start, stop)
        answers.add(ask(alone))
        states.add(look(alone))
    model = rows.learn(rows.begin(), 0, 3)
    found, copied = [], []

    def watch():
        found.append(ask(model))
        copied.append(look(pickle.loads(pickle.dumps(model))))
        assert np.isfinite(model.coef_).all()
        assert model.certificate_.sound
        assert model.coupling_ > 0.0
        model.history_, model.changepoints(2), model.drift_

    def learn():
        for start, stop in pairwise(steps[1:]):
            rows.learn(model, start, stop)

    assert look_while(learn, watch, watch) == []
    assert set(found) <= answers
    assert set(copied) <= states
    assert look(model) == look(alone)


@pytest.mark.usefixtures("hasty_threads")
def test_no_row_is_lost_when_several_threads_teach():
    rows = STREAMS["numbers"]()
    model = rows.learn(rows.begin(), 0, 1)

    def teach(first):
        for row in range(first, first + 150):
            rows.learn(model, row, row + 1)

    begun = threading.Barrier(3)

    def teach_together(first):
        begun.wait()
        teach(first)

    works = [lambda first=first: teach_together(first) for first in (1, 151, 301)]
    assert run_together(*works) == []
    assert model.certificate_.n_rows == 451
    assert model.certificate_.sound
