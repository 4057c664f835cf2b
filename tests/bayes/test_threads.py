"""Asking while another thread learns gives an answer of one of the models there were."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from lindero.bayes import AODE, KDB, TAN, NaiveBayes
from tests.threads import look_while, run_together

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

MODELS = [
    NaiveBayes(),
    NaiveBayes(numeric="mdl", warm_up=60),
    TAN(warm_up=60),
    AODE(warm_up=10**6),
    KDB(warm_up=60),
]


def make_rows(rng, n):
    y = rng.integers(0, 2, n)
    X = np.array([[f"v{k}", x] for k, x in zip(rng.integers(0, 9, n), rng.normal(y), strict=True)])
    rows = np.empty(X.shape, dtype=object)
    rows[:, 0], rows[:, 1] = X[:, 0], X[:, 1].astype(float)
    return rows, y


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_predictions_are_those_of_one_model(model):
    rng = np.random.default_rng(0)
    X, y = make_rows(rng, 120)
    asked, _ = make_rows(rng, 20)

    def change(own, step):
        """Learn and forget in turn, so that the kinds of change are mixed."""
        if step % 3 == 2:
            own.forget(X[step : step + 1], y[step : step + 1])
        else:
            rows = slice(40 + step, 41 + step)
            own.partial_fit(X[rows], y[rows])

    alone = clone(model).partial_fit(X[:40], y[:40])
    allowed = {alone.predict_proba(asked).tobytes()}
    for step in range(60):
        change(alone, step)
        allowed.add(alone.predict_proba(asked).tobytes())
    together = clone(model).partial_fit(X[:40], y[:40])
    found = []

    def look():
        found.append(together.predict_proba(asked).tobytes())
        assert together.explain(asked[:2]).log_odds.shape[0] == 2
        together.predict(asked)
        pickle.loads(pickle.dumps(together)).predict(asked)

    def learn():
        for step in range(60):
            change(together, step)

    assert look_while(learn, look, look, look) == []
    assert set(found) <= allowed
    assert together.predict_proba(asked).tobytes() == alone.predict_proba(asked).tobytes()


@pytest.mark.usefixtures("hasty_threads")
def test_no_row_is_lost_when_several_threads_teach():
    rng = np.random.default_rng(1)
    X, y = make_rows(rng, 300)
    model = TAN(warm_up=50).partial_fit(X[:2], [0, 1])

    def teach(first):
        for row in range(first, 300, 3):
            model.partial_fit(X[row : row + 1], y[row : row + 1])

    assert run_together(*(partial(teach, first) for first in range(3))) == []
    assert model.class_count_.sum() == 302
