"""Whatever interrupts an incremental machine, it is as it was before the call."""

import numpy as np
import pytest
from tests.svm.incremental.failures import MACHINES, WEIGHTS, X, goes_on, learned, refused, rows_for
from tests.svm.incremental.life import assert_unchanged, state_of

from lindero.errors import NotSeparableError
from lindero.kernels.growing import GrowingKernel
from lindero.solvers.active_set import ActiveSet, Point
from lindero.solvers.active_set.motion import Motion
from lindero.svm import IncrementalSVC


def interrupting(monkeypatch, place, name, number, error=KeyboardInterrupt):
    """The `number`-th call of a method raises, after it has done its work if that is even."""
    original, calls = getattr(place, name), []

    def method(self, *args, **kwargs):
        calls.append(None)
        if len(calls) == number and number % 2:
            raise error
        result = original(self, *args, **kwargs)
        if len(calls) == number:
            raise error
        return result

    monkeypatch.setattr(place, name, method)
    return calls


PLACES = [
    (Point, "append"),
    (Motion, "follow"),
    (Motion, "join"),
    (Motion, "drop"),
    (ActiveSet, "settle"),
    (GrowingKernel, "append"),
    (GrowingKernel, "add_columns"),
    (GrowingKernel, "column"),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("place", "name"), PLACES, ids=[name for _, name in PLACES])
@pytest.mark.parametrize("number", [1, 2, 3, 6, 11])
def test_an_interruption_anywhere_changes_nothing_at_all(machine, place, name, number, monkeypatch):
    model = learned(machine)
    weight = WEIGHTS.get(machine, "sample_weight")
    happened = 0
    for call in (
        lambda model: model.partial_fit(*rows_for(machine, 20, 26)),
        lambda model: model.forget([2, 3, 5, 7]),
        lambda model: model.replace([1, 8, 9], **{weight: 0.3}),
    ):
        before = state_of(model, X)
        with monkeypatch.context() as patch:
            calls = interrupting(patch, place, name, number)
            try:
                call(model)
            except KeyboardInterrupt:
                happened += 1
            else:
                assert len(calls) < number
        if len(calls) < number:  # it went through: begin anew
            model = learned(machine)
        else:
            assert_unchanged(model, before, X)
    assert happened or number > 1 or name in ("join", "drop", "column", "add_columns")
    goes_on(model)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_of_many_rows_at_once_changes_nothing(machine, error, monkeypatch):
    model = learned(machine)
    before = state_of(model, X)
    for place, name, number in (
        (Point, "append", 1),
        (ActiveSet, "solve_from", 1),
        (Point, "exact_f", 1),
        (Motion, "join", 5),
    ):
        for call, start in ((model.partial_fit, 20), (model.fit, 0)):
            with monkeypatch.context() as patch:
                interrupting(patch, place, name, number, error)
                with pytest.raises(error):
                    call(*rows_for(machine, start, 60))
            assert_unchanged(model, before, X)
    goes_on(model)


def test_an_interruption_as_the_second_class_comes_leaves_one_class(monkeypatch):
    model = IncrementalSVC(gamma="auto").partial_fit(X[:5], ["m"] * 5)
    for label in ("a", "z"):
        before = state_of(model, X)
        for place, name in (
            (Point, "append"),
            (ActiveSet, "restate_all"),
            (Motion, "follow"),
            (ActiveSet, "settle"),
        ):
            with monkeypatch.context() as patch:
                interrupting(patch, place, name, 1)
                with pytest.raises(KeyboardInterrupt):
                    model.partial_fit(X[5:6], [label])
            assert_unchanged(model, before, X)
            assert model.classes_.tolist() == ["m"]
    model.partial_fit(X[5:6], ["a"])
    assert model.classes_.tolist() == ["a", "m"]


@pytest.mark.parametrize("n", [1, 40])
def test_samples_that_cannot_be_separated_are_refused_by_a_hard_margin(n):
    random = np.random.default_rng(0)
    separable = np.linspace(-2, 2, 20)[:, None]
    labels = (separable[:, 0] > 0).astype(int)
    model = IncrementalSVC(C=np.inf, kernel="linear").fit(separable, labels)
    more = np.concatenate([random.uniform(-1, 2, n - 1), [-1.9]])[:, None]
    with refused(model, NotSeparableError, "hard margin|separate", separable):
        model.partial_fit(more, np.concatenate([(more[:-1, 0] > 0).astype(int), [1]]))
    with refused(model, NotSeparableError, "hard margin|separate", separable):
        model.replace(0, 1)
    assert model.predict([[-0.3], [0.3]]).tolist() == [0, 1]
