"""Weights count rows: they are neither 1e300 nor 1e-300, and a cut may leave next to nothing."""

import warnings

import numpy as np
import pytest

from lindero import bayes
from lindero.bayes import learner

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
CLASSIFIERS = ["NaiveBayes", "TAN", "AODE", "KDB"]


@pytest.mark.parametrize("weight", [1e300, 1e160, 1e-160, 1e-300, 5e-324])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_weights_that_count_nothing_sensible_are_refused(name, weight):
    weights = np.ones(60)
    weights[7] = weight
    model = getattr(bayes, name)()
    with pytest.raises(ValueError, match=r"sample_weight is .* in row 7, but weights count rows"):
        model.fit(X, Y, sample_weight=weights)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("spread", [10, 60])
@pytest.mark.filterwarnings("ignore")
def test_weights_of_many_orders_of_magnitude(name, spread):
    """Beside the largest weights, a side of a cut may weigh nothing."""
    for seed in range(5):
        weights = 10.0 ** np.random.default_rng(seed).uniform(-spread, spread, 60)
        model = getattr(bayes, name)().fit(X, Y, sample_weight=weights)
        assert np.isfinite(model.predict_proba(X)).all()


def test_tables_that_take_long_to_learn_are_announced(monkeypatch):
    monkeypatch.setattr(learner, "_MUCH_WORK", 1e6)
    rng = np.random.default_rng(0)
    rows, y = rng.integers(0, 9, size=(60, 4)), rng.integers(0, 3, 60)
    options = {"learning": "discriminative", "categorical_features": "all", "penalty": 1e9}
    with pytest.warns(UserWarning, match="tables of this network hold .* may take minutes"):
        bayes.KDB(solver="tm", **options).fit(rows, y)
    with warnings.catch_warnings():  # only cells that rows have are learned
        warnings.simplefilter("error")
        bayes.KDB(**options).fit(rows, y)
    rows = rows.astype(object)
    rows[::2, :2] = None  # missing parents are summed out over all their values
    with pytest.warns(UserWarning, match="tables of this network hold .* may take minutes"):
        bayes.KDB(**options).fit(rows, y)
