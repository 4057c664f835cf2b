"""Threads: predicting while another learns, and the same bits alone and in company."""

import pickle

import numpy as np
import pytest
from tests.threads import look_while, run_together

from lindero.persist import load, save
from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

random = np.random.default_rng(1)
X = random.normal(size=(700, 6))
Y = (X[:, 0] + 0.4 * random.normal(size=700) > 0).astype(int)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("machine", [IncrementalSVC, IncrementalSVR, IncrementalOneClassSVM])
def test_who_predicts_sees_the_model_before_or_after(machine, kernel):
    decide = "predict" if machine is IncrementalSVR else "decision_function"
    targets = (lambda rows: ()) if machine is IncrementalOneClassSVM else (lambda rows: (Y[rows],))
    steps = [slice(i, i + 1) for i in range(100, 160)]

    def play(model, after_each):
        for number, rows in enumerate(steps):
            model.partial_fit(X[rows], *targets(rows))
            after_each()
            model.forget(number)
            after_each()

    known = set()
    alone = machine(kernel=kernel, window=105).fit(X[:100], *targets(slice(100)))
    note = lambda: known.add(getattr(alone, decide)(X[:5]).tobytes())  # noqa: E731
    note()
    play(alone, note)

    model = machine(kernel=kernel, window=105).fit(X[:100], *targets(slice(100)))
    seen = set()

    def look():
        seen.add(getattr(model, decide)(X[:5]).tobytes())

    def learn():
        play(model, lambda: None)

    assert look_while(learn, look, look, look, look) == []
    assert seen <= known
    assert getattr(model, decide)(X[:5]).tobytes() == getattr(alone, decide)(X[:5]).tobytes()


def test_copies_that_are_made_while_another_learns_are_whole(tmp_path):
    model = IncrementalSVC().fit(X[:300], Y[:300])
    copies = []

    def learn():
        for i in range(300, 420):
            model.partial_fit(X[i : i + 1], Y[i : i + 1])
            model.forget(i - 300)

    def copy():
        copies.append(pickle.loads(pickle.dumps(model)))
        save(model, tmp_path / "model.lin")
        copies.append(load(tmp_path / "model.lin"))
        model.certificate_.kkt_gap, model.n_support_, model.bounded_support_  # noqa: B018

    assert look_while(learn, copy) == []
    for one in copies:
        assert one.certificate_.status.startswith("Optimal")


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_bits_are_the_same_alone_and_in_company(kernel):
    def fitted():
        model = IncrementalSVC(kernel=kernel).fit(X[:500], Y[:500])
        for i in range(500, 560):
            model.partial_fit(X[i : i + 1], Y[i : i + 1])
        return model.dual_coef_.tobytes() + model.decision_function(X).tobytes()

    expected, found = fitted(), []
    works = [lambda: found.append(fitted()) for _ in range(4)]
    assert run_together(*works) == []
    assert all(one == expected for one in found)
