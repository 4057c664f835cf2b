"""Asking while another thread learns gives an answer of one of the models there were."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from tests.threads import look_while, run_together

from lindero.svm import AdaptiveSVC, AdaptiveSVR

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("machine", [AdaptiveSVC, AdaptiveSVR])
def test_predictions_are_those_of_one_model(machine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + np.linspace(-1, 1, 120)
    y = (y > 0).astype(int) if machine is AdaptiveSVC else y
    asked = rng.normal(size=(50, 3))
    ask = (lambda m: m.decision_function(asked)) if machine is AdaptiveSVC else (
        lambda m: m.predict(asked)
    )  # fmt: skip
    alone = machine(coupling=10.0).fit(X[:40], y[:40])
    allowed = {ask(alone).tobytes()}
    for row in range(40, 120):
        alone.partial_fit(X[row : row + 1], y[row : row + 1])
        allowed.add(ask(alone).tobytes())
    model = machine(coupling=10.0).fit(X[:40], y[:40])
    found, sizes = [], []

    def look():
        found.append(ask(model).tobytes())
        sizes.append(len(pickle.loads(pickle.dumps(model)).coef_))
        assert len(model.coef_)
        assert model.fit_status_ in (0, 1)
        assert np.isfinite(model.certificate_.primal)

    def learn():
        for row in range(40, 120):
            model.partial_fit(X[row : row + 1], y[row : row + 1])

    assert look_while(learn, look, look, look) == []
    assert set(found) <= allowed
    assert ask(model).tobytes() == ask(alone).tobytes()
    assert all(40 <= size <= 120 for size in sizes)


@pytest.mark.usefixtures("hasty_threads")
def test_no_row_is_lost_when_several_threads_teach():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(160, 2)), rng.normal(size=160)
    model = AdaptiveSVR(coupling=10.0).fit(X[:40], y[:40])

    def teach(first):
        for row in range(first, first + 40):
            model.partial_fit(X[row : row + 1], y[row : row + 1])

    assert run_together(*(partial(teach, first) for first in (40, 80, 120))) == []
    assert model.shape_fit_ == (160, 2)
