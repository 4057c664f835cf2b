"""The warm-up of partial_fit: how long cuts and arcs wait, and what is said when they stay."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier
from lindero.bayes.learner import Learner
from tests.bayes.mixed_tables import mixed

X, Y = load_iris(return_X_y=True)  # sorted by class
MACHINES = {
    "NaiveBayes": partial(NaiveBayes, numeric="mdl"),
    "TAN": TAN,
    "KDB": KDB,
    "AODE": AODE,
    "NetworkClassifier": NetworkClassifier,
}


def in_tens(model, n_rows=150, classes=(0, 1, 2)):
    for start in range(0, n_rows, 10):
        model.partial_fit(X[start : start + 10], Y[start : start + 10], classes=classes)
    return model


def cuts_of(model):
    return [cuts.tolist() for cuts in model._attributes.cuts]


@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)
def test_a_stream_sorted_by_class_is_waited_for(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = in_tens(make(warm_up=20))
    assert cuts_of(model) == cuts_of(make().fit(X[:110], Y[:110]))
    assert model.score(X, Y) > 0.93


def test_a_class_that_never_comes_is_not_waited_for_without_end():
    model = in_tens(TAN(warm_up=5), 90, [0, 1, 9])
    assert model._evidence is None
    with pytest.warns(
        UserWarning, match=r"after 100 rows, though no row of the classes \[9\]"
    ) as w:
        model.partial_fit(X[90:100], Y[90:100])
    assert w[0].filename == __file__
    assert cuts_of(model) == cuts_of(TAN().fit(X[:100], Y[:100]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[:10], Y[:10])
    assert cuts_of(model) == cuts_of(TAN().fit(X[:100], Y[:100]))


@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)
def test_columns_that_stay_without_any_cut(make):
    noise = np.random.default_rng(0).normal(size=(60, 7))
    y = np.arange(60) % 2
    with pytest.warns(UserWarning, match=r"without any cut.*'x0', .*'x4'\] and 2 more"):
        make(warm_up=60).partial_fit(noise, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(warm_up=61).partial_fit(noise, y)
        make(warm_up=60).partial_fit(np.column_stack([noise, y + 0.5]), y)
        make(warm_up=60, numeric="quantile").partial_fit(noise, y)


def test_rows_are_counted_once_however_often_one_asks(monkeypatch):
    table, y = mixed(0)
    model = TAN().partial_fit(table, y)
    counted = []
    whole = Learner.count_first
    monkeypatch.setattr(Learner, "count_first", lambda *a: counted.append(1) or whole(*a))
    for _ in range(3):
        assert model.class_count_.sum() == 120
    model.predict(table)
    assert len(counted) == 1
    model.partial_fit(table, y)
    assert_array_equal(model.class_count_, 2 * TAN().fit(table, y).class_count_)
