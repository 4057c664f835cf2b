"""Batches make the model that a fit of everything makes; weights are repeated rows."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import KDB, TAN, NaiveBayes, NetworkClassifier, TMClustering
from lindero.transaction import unfitted_copy
from tests.bayes.mixed_tables import MAKERS, batches, categories, mixed, numbers

CUTS = {"length": [0.0, 1.0, 2.0], "weight": [-3e6, 0.0]}
SIZES = [(120,), (1, 119), (50, 1, 69), (30, 30, 30, 30), (119, 1)]


def in_batches(model, X, y, sizes, weights=None, **given):
    for part in batches(len(y), *sizes):
        rows = X.iloc[part] if hasattr(X, "iloc") else X[part]
        weight = None if weights is None else weights[part]
        model.partial_fit(rows, y[part], classes=np.unique(y), sample_weight=weight, **given)
    return model


def assert_same_model(one, other, X, rtol=1e-12):
    assert_allclose(one.predict_joint_log_proba(X), other.predict_joint_log_proba(X), rtol, rtol)
    assert_array_equal(one.class_count_, other.class_count_)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_batches_of_categories(make, sizes):
    X, y = categories(missing=0.1)
    model = in_batches(make(), X, y, sizes)
    assert_same_model(model, make().fit(X, y), X)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_values_that_only_later_batches_have(make):
    X, y = categories(1, n_values=5, missing=0.1)
    order = np.argsort(X[:, 0].astype(str), kind="stable")[::-1]  # one value after the other
    X, y = X[order], y[order]
    model = in_batches(make(), X, y, (20, 20, 20, 60))
    whole = make().fit(X, y)
    assert_same_model(model, whole, X)
    assert_allclose(
        model.predict_proba([["new", None, "v1", "v0"]]),
        whole.predict_proba([["new", None, "v1", "v0"]]),
        rtol=1e-12,
    )


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_batches_of_a_mixed_table_with_given_cuts(make, sizes):
    X, y = mixed(missing=0.1)
    model = in_batches(make(numeric=CUTS), X, y, sizes)
    assert_same_model(model, make(numeric=CUTS).fit(X, y), X)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("make", [NaiveBayes, TAN])
def test_batches_of_a_mixed_table_with_densities(make, sizes):
    X, y = mixed(missing=0.1)
    model = in_batches(make(numeric="gaussian"), X, y, sizes)
    assert_same_model(model, make(numeric="gaussian").fit(X, y), X, rtol=1e-11)


@pytest.mark.parametrize("method", ["mdl", "quantile", "uniform"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_learned_cuts_while_samples_are_kept(make, method):
    X, y = mixed(missing=0.1)
    model = make(numeric=method)
    for part in batches(120, 40, 30, 50):  # asked in between, and going on
        model.partial_fit(X.iloc[part], y[part], classes=np.unique(y))
        model.predict(X)
    assert_same_model(model, make(numeric=method).fit(X, y), X)


def learned_cuts(model):
    return dict(zip(["length", "weight"], model._attributes.cuts, strict=True))


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN", "AODE", "NetworkClassifier"])
def test_learned_cuts_stay_after_the_warm_up(name):
    X, y = mixed(2, 300, missing=0.1)
    make = partial(MAKERS[name], n_bins=4)
    model = in_batches(make(numeric="quantile", warm_up=90), X, y, (60, 60, 180))
    cuts = learned_cuts(make(numeric="quantile").fit(X[:120], y[:120]))
    assert [len(points) for points in cuts.values()] == [3, 3]
    assert_same_model(model, make(numeric=cuts).fit(X, y), X)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_arcs_of_a_kdb_stay_as_well(k):
    X, y = mixed(2, 300, missing=0.1)
    model = in_batches(KDB(k, warm_up=90), X, y, (60, 60, 180))
    first = KDB(k).fit(X[:120], y[:120])
    arcs = [arc for arc in first.network_.arcs if arc[0] != "class"]
    assert len(arcs) == (0, 3, 5)[k]
    whole = NetworkClassifier(arcs, numeric=learned_cuts(first)).fit(X, y)
    assert_same_model(model, whole, X)


def test_a_fit_is_gone_on_with():
    X, y = mixed(3, 200)
    model = TAN(numeric="mdl").fit(X[:150], y[:150])
    model.partial_fit(X[150:], y[150:])
    assert_same_model(model, TAN(numeric=learned_cuts(model)).fit(X, y), X)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("numeric", [CUTS, "mdl", "quantile", "uniform"])
def test_weights_are_repeated_rows(make, numeric):
    X, y = mixed(4, missing=0.1)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = make(numeric=numeric).fit(X, y, sample_weight=weights)
    repeated = make(numeric=numeric).fit(X.iloc[rows], y[rows])
    assert_same_model(weighted, repeated, X, rtol=1e-11)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_row_without_weight_is_not_there(make):
    X, y = categories(5)
    X[7] = "only here"
    weights = np.ones(len(y))
    weights[7] = 0.0
    weighted = make(unseen="missing").fit(X, y, sample_weight=weights)
    without = make(unseen="missing").fit(np.delete(X, 7, axis=0), np.delete(y, 7))
    assert_same_model(weighted, without, X, rtol=0)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_weights_in_batches(make):
    X, y = mixed(6, missing=0.1)
    weights = np.random.default_rng(1).random(len(y))
    model = in_batches(make(warm_up=100, numeric=CUTS), X, y, (40, 40, 40), weights)
    whole = make(numeric=CUTS).fit(X, y, sample_weight=weights)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-10)


@pytest.mark.parametrize("sizes", SIZES)
def test_the_least_variance_does_not_depend_on_batches(sizes):
    X, y = numbers()
    X[y == 0] = X[y == 0][0]  # a class that is constant in every column
    model = in_batches(NaiveBayes(), X, y, sizes)
    whole = NaiveBayes().fit(X, y)
    assert_allclose(model.scale_, whole.scale_, rtol=1e-9)
    assert_allclose(whole.scale_[0] / X.std(axis=0), 1e-9**0.5, rtol=1e-9)


def test_columns_of_any_scale_tell_the_same():
    X, y = numbers(7, missing=0.1)
    scale = 10.0 ** np.linspace(-12, 12, X.shape[1])
    for model in (NaiveBayes(), NaiveBayes(numeric="mdl"), TAN()):
        scaled = model.fit(X, y).predict_proba(X)
        plain = model.fit(X / scale, y).predict_proba(X / scale)
        assert_allclose(scaled, plain, rtol=1e-6, atol=1e-12)
        assert np.mean(scaled.argmax(axis=1) == y) > 0.6


def test_samples_that_are_kept_are_no_longer_the_users():
    X, y = numbers(8)
    given, weights = np.asfortranarray(X), np.ones(len(y))
    model = TAN().partial_fit(given, y, sample_weight=weights)
    given[:], weights[:] = 0.0, 9.0
    assert_same_model(model, TAN().fit(X, y), X, rtol=0)


def test_the_tree_may_change_with_batches():
    random = np.random.default_rng(9)
    y = random.integers(0, 2, 400)
    a, b = random.integers(0, 2, (2, 400))
    c = a ^ (random.random(400) < 0.3)  # and this is somewhat like column 0
    model = TAN(categorical_features="all", root=0)
    model.partial_fit(np.stack([a, a, c], axis=1)[:100], y[:100])
    assert model.network_.arcs[3:] == [("x0", "x1"), ("x0", "x2")]
    model.partial_fit(np.stack([a, b, b], axis=1), y)
    assert model.network_.arcs[3:] == [("x0", "x1"), ("x1", "x2")]


def test_parameters_set_between_batches():
    X, y = categories(10)
    for maker in MAKERS.values():
        model = maker().partial_fit(X[:60], y[:60])
        model.set_params(alpha=3.0, unseen="missing", fit_prior=False)
        model.partial_fit(X[60:], y[60:])
        assert_same_model(model, maker(alpha=3.0, unseen="missing", fit_prior=False).fit(X, y), X)


def test_a_completed_tree_goes_on_with_its_arcs():
    X, y = categories(11, missing=0.2)
    model = TAN(missing="em").fit(X, y)
    arcs = model.network_.arcs
    model.set_params(missing="available").partial_fit(X, y)
    assert model.network_.arcs == arcs
    assert_array_equal(model.class_count_, 2 * TAN().fit(X, y).class_count_)


@pytest.mark.parametrize("make", [NaiveBayes, TAN, KDB])
def test_weights_of_densities_are_repeated_rows(make):
    X, y = mixed(12, missing=0.1)
    weights = np.random.default_rng(2).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = make(numeric="gaussian").fit(X, y, sample_weight=weights)
    repeated = make(numeric="gaussian").fit(X.iloc[rows], y[rows])
    assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-12)
    assert_same_model(weighted, repeated, X, rtol=1e-11)


@pytest.mark.parametrize("make", [TAN, KDB])
def test_arcs_do_not_depend_on_the_order_of_values(make):
    """Columns that tell the same have ties, which rounding must not break in another way."""
    for seed in range(40):
        random = np.random.default_rng(seed)
        y = random.integers(0, 3, 14)
        first = random.permutation(5)[random.integers(0, 5, 14)]
        X = np.stack([(first + shift) % 5 for shift in range(4)], axis=1).astype(str)
        model = in_batches(make(alpha=0.1), X.astype(object), y, (3, 2, 9))
        whole = make(alpha=0.1).fit(X.astype(object), y)
        assert model.network_.arcs == whole.network_.arcs


@pytest.mark.parametrize("make", [NaiveBayes, TMClustering])
def test_a_copy_to_be_fitted_has_what_users_keep_on_it_and_nothing_of_an_earlier_fit(make):
    model = make().fit([["a", 1.0], ["b", 2.0], ["b", 3.0], ["a", 4.0]], [0, 1, 1, 0])
    model.note, model._note = "mine", "mine too"
    copied = unfitted_copy(model)
    assert set(vars(copied)) == {*model.get_params(deep=False), "note", "_note"}
    assert set(vars(copied)) < set(vars(model))
