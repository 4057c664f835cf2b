"""Selective KDB against networks that are counted again without each row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import KDB, kdb
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import count_families
from lindero.bayes.kdb import select_families
from lindero.bayes.networks.network import FamilyCounts
from lindero.data import load
from tests.naive.selection import measure_losses

ORDER = [2, 0, 3, 1]
PARENTS = ((2,), (2, 0, 3), (), (0, 2))


def draw_rows(n=40, n_classes=3, missing=0.0, weights=False, seed=0):
    random = np.random.default_rng(seed)
    cards = np.array([2, 3, 3, 2])
    y = random.integers(0, n_classes, n)
    codes = 1 + (random.integers(0, 2, (4, n)) + y) % cards[:, None]
    codes[random.random(codes.shape) < missing] = 0
    own = random.choice([0.5, 1.0, 2.0, 3.0], n) if weights else None
    return CodedRows(codes.astype(np.uint8), cards, y, n_classes, own)


def select(rows, alpha=1.0):
    families = [(i, *above) for i, above in enumerate(PARENTS)]
    return select_families(rows, ORDER, PARENTS, count_families(rows, families), alpha)


@pytest.mark.parametrize("alpha", [1.0, 0.2, 0.0])
@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("weights", [False, True])
def test_losses_are_those_of_counting_again_without_each_row(alpha, missing, weights, monkeypatch):
    monkeypatch.setattr(kdb, "_BLOCK", 7)
    rows = draw_rows(missing=missing, weights=weights)
    expected = measure_losses(
        rows.codes, rows.cards, rows.y, 3, ORDER, PARENTS, alpha, rows.weights
    )
    found = select(rows, alpha)
    assert_allclose(found.losses, expected, rtol=1e-12, atol=1e-12)
    best = np.unravel_index(np.argmin(expected), found.losses.shape)
    assert (found.n_parents, found.n_attributes) == tuple(best)


def test_losses_are_those_of_networks_without_each_row():
    rows = draw_rows()
    losses = np.zeros((4, 5))
    for t in range(rows.n_rows):
        rest = rows.take(np.delete(np.arange(rows.n_rows), t))
        for m in range(4):
            for n in range(5):
                inside = tuple(i in ORDER[:n] for i in range(4))
                above = tuple(p[:m] if i in ORDER[:n] else () for i, p in enumerate(PARENTS))
                network = FamilyCounts.count(above, inside, rest).estimate(1.0)
                joint = np.exp(network.log_joint(rows.codes[:, [t]])[0])
                losses[m, n] += (1 - joint[rows.y[t]] / joint.sum()) ** 2 / rows.n_rows
    assert_allclose(select(rows).losses, losses, rtol=1e-12)


def test_a_weight_of_two_is_two_rows():
    rows = draw_rows(missing=0.2)
    doubled = CodedRows(rows.codes, rows.cards, rows.y, 3, np.full(rows.n_rows, 2.0))
    twice = rows.take(np.repeat(np.arange(rows.n_rows), 2))
    assert_allclose(select(doubled).losses, select(twice).losses, rtol=1e-12)


def test_of_equal_losses_the_smaller_network_is_taken():
    """Columns of one value say nothing, alone or as parents."""
    y = np.array([0, 1] * 10)
    codes = np.ones((4, 20), dtype=np.uint8)
    codes[2] = 1 + y
    found = select(CodedRows(codes, np.array([1, 1, 2, 1]), y, 2))
    assert (found.n_parents, found.n_attributes) == (0, 1)


def test_rows_of_one_class_and_no_rows_that_know_anything():
    alone = CodedRows(np.ones((4, 3), dtype=np.uint8), [1, 1, 1, 1], np.zeros(3, dtype=int), 1)
    assert_array_equal(select(alone).losses, 0.0)
    nothing = CodedRows(np.zeros((4, 3), dtype=np.uint8), [1, 1, 1, 1], np.array([0, 1, 1]), 2)
    assert select(nothing).n_attributes == 0


def parity_table(n=400, seed=0):
    """Two columns that tell the class together only, and four that tell nothing."""
    X = np.random.default_rng(seed).integers(0, 2, (n, 6))
    X[:, 1] |= np.random.default_rng(seed + 1).random(n) < 0.05
    return X, X[:, 1] ^ X[:, 4]


def list_arcs(model):
    return sorted(arc for arc in model.network_.arcs if arc[0] != "class")


def test_columns_that_tell_nothing_are_left_out():
    X, y = parity_table()
    model = KDB(5, selective=True, categorical_features="all").fit(X, y)
    whole = KDB(5, categorical_features="all").fit(X, y)
    assert model.score(X, y) == 1.0
    assert len(model.network_.arcs) < len(whole.network_.arcs)


def test_it_is_the_same_machine_where_all_is_taken():
    X, y = parity_table()
    whole = KDB(1, selective=True, categorical_features="all").fit(X[:, [1, 4]], y)
    plain = KDB(1, categorical_features="all").fit(X[:, [1, 4]], y)
    assert list_arcs(whole) == list_arcs(plain) != []
    assert_array_equal(whole.predict_proba(X[:, [1, 4]]), plain.predict_proba(X[:, [1, 4]]))


def test_batches_keep_the_columns_of_the_first_rows_and_forget_exactly():
    X, y = parity_table()
    options = {"selective": True, "categorical_features": "all", "warm_up": 200}
    first = KDB(3, **options).fit(X[:200], y[:200])
    model = KDB(3, **options)
    for start in range(0, 400, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
    assert model.network_.arcs == first.network_.arcs
    model.forget(X[200:], y[200:])
    assert_array_equal(model.predict_proba(X), first.predict_proba(X))


def test_gaussian_columns_are_refused_as_others_are_chosen_among_values():
    X, y = parity_table()
    with pytest.raises(ValueError, match="column 'x0' Gaussian, but selective=True"):
        KDB(selective=True, numeric="gaussian").fit(X + 0.5, y)


def test_it_predicts_real_rows_better_than_all_columns_with_five_parents(real_data):
    data = load(real_data("uci_vote.csv.gz"))
    y = np.asarray(data.y)
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    right = {
        selective: KDB(5, selective=selective).fit(data.X.take(train), y[train])
        .score(data.X.take(test), y[test])
        for selective in (False, True)
    }  # fmt: skip
    assert right[True] >= right[False]
