"""Structural TM as a classifier: what it finds and tells."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import BayesNetwork, NetworkClassifier, StructuralTM
from tests.bayes.mixed_tables import mixed
from tests.bayes.soft_tables import NAMES, codes_of
from tests.bayes.soft_tables import telling_table as table
from tests.naive import conditional as twin_posterior
from tests.naive import structural as twin
from tests.naive.penalty_choice import folds
from tests.refusals import refused


def quick(**given):
    return StructuralTM(**{"penalty": 1.0, **given})


def structure_of(arcs):
    """The arcs of a classifier as the twin has them."""
    structure = {}
    for parent, child in arcs:
        at = twin.CLASS if parent == "class" else NAMES.index(parent)
        structure = twin.add_arc(structure, at, NAMES.index(child))
    return structure


@pytest.mark.parametrize("seed", [0, 1])
def test_every_step_of_the_history_recomputed(seed):
    X, y = table(seed)
    model = quick(max_parents=1).fit(X, y)
    codes, own = codes_of(X.to_numpy()), np.searchsorted(np.unique(y), y)
    cards = codes.max(axis=1).astype(int)
    assert len(model.history_) > 3
    assert model.history_[0].arc is None
    assert [step.arc for step in model.history_[1:]] == model.structure_
    for k, step in enumerate(model.history_):
        structure = structure_of(model.structure_[:k])
        d = twin.count_parameters(structure, cards, 3)
        best = twin.log_likelihood(codes, own, structure)
        assert step.n_parameters == d
        assert_allclose(step.log_likelihood, best, rtol=1e-5)
        assert_allclose(step.score, best - np.log(len(y)) / 2 * d, rtol=1e-5)
    inside = {child for parent, child in model.structure_ if parent == "class"}
    assert model.selected_features_.tolist() == [name for name in NAMES if name in inside]
    assert len(inside) < len(NAMES)
    assert set(model.network_.arcs) == set(model.structure_)


@pytest.mark.parametrize("score", ["cll", "accuracy"])
def test_scores_of_rows_that_are_not_learned_from(score):
    X, y = table(2, 250)
    weights = np.random.default_rng(2).integers(1, 3, len(y)).astype(float)
    model = quick(max_parents=1, criterion=score, max_arcs=3).fit(X, y, sample_weight=weights)
    fold, own = folds(y), np.searchsorted(model.classes_, y)
    assert len(model.history_) > 2
    for k, step in enumerate(model.history_[1:], 1):
        arcs = model.structure_[:k]
        columns = [child for parent, child in arcs if parent == "class"]
        between = [arc for arc in arcs if arc[0] != "class"]
        told = np.empty(len(y))
        for j in range(5):
            held = fold == j
            other = NetworkClassifier(between, learning="discriminative", penalty=0, tol=1e-6)
            other.fit(X[columns][~held], y[~held], sample_weight=weights[~held])
            logs = other.predict_log_proba(X[columns][held])
            right = logs.argmax(axis=1) == own[held]
            told[held] = logs[np.arange(held.sum()), own[held]] if score == "cll" else right
        assert_allclose(step.score, np.average(told, weights=weights), rtol=1e-4)


def test_weights_are_repeated_rows():
    X, y = table(3, 300)
    weights = np.random.default_rng(3).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = quick().fit(X, y, sample_weight=weights)
    repeated = quick().fit(X.iloc[rows], y[rows])
    assert weighted.structure_ == repeated.structure_ != []
    assert_allclose(
        [step.score for step in weighted.history_], [step.score for step in repeated.history_],
        rtol=1e-9,
    )  # fmt: skip
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_processes_change_no_bit():
    X, y = table(4, 200, missing=0.03)
    one, two = quick().fit(X, y), quick(n_jobs=2).fit(X, y)
    assert one.history_ == two.history_
    assert len(one.structure_) > 1
    for left, right in zip(
        one.network_.network.log_tables, two.network_.network.log_tables, strict=True
    ):
        assert_array_equal(left, right)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_columns_out_of_the_model_do_not_matter():
    X, y = table(5)
    model = quick().fit(X, y)
    out = [name for name in NAMES if name not in model.selected_features_]
    assert out
    others = X.copy()
    others[out] = [["never seen"] * len(out)] * (len(y) // 2) + [[None] * len(out)] * (
        len(y) - len(y) // 2
    )
    assert_allclose(model.predict_proba(others), model.predict_proba(X), rtol=1e-12)
    form = model.to_logistic()
    scores = form.transform(others) @ form.coef.T + form.intercept
    scores -= np.logaddexp.reduce(scores, axis=1)[:, None]
    assert_allclose(np.exp(scores), model.predict_proba(X), atol=1e-12)
    gaps = X.copy()
    gaps.loc[:40, out] = None
    complete, with_gaps = (StructuralTM(penalty=0).fit(t, y).convergence_ for t in (X, gaps))
    assert with_gaps.status == complete.status
    assert_allclose(with_gaps.log_likelihood[-1], complete.log_likelihood[-1], rtol=1e-9)


@pytest.mark.parametrize("penalty", [0, 1.0])
def test_missing_values(penalty):
    X, y = table(6, 300, missing=0.12)
    model = StructuralTM(penalty=penalty).fit(X, y)
    assert len(model.structure_) > 1
    assert np.isfinite([step.score for step in model.history_]).all()
    codes, own = codes_of(X.to_numpy()), np.searchsorted(model.classes_, y)
    nothing = np.empty((0, 3))
    posterior = twin_posterior.posterior(
        model.network_.network, (nothing, nothing), codes, np.empty((0, len(y)))
    )
    assert_allclose(model.predict_proba(X), posterior, atol=1e-10)
    enumerated = np.log(posterior[np.arange(len(y)), own]).sum()
    assert_allclose(model.convergence_.log_likelihood[-1], enumerated, rtol=1e-9)
    if penalty == 0:  # the same optimum as the search found
        assert_allclose(enumerated, model.history_[-1].log_likelihood, rtol=1e-4)


# -- the course of the search ----------------------------------------------------------------


def test_callbacks():
    X, y = table(7)
    seen = []
    model = quick(callback=seen.append).fit(X, y)
    assert seen == model.history_
    for k in range(3):
        told = []

        def end(step, k=k, told=told):
            told.append(step)
            return len(told) > k

        short = quick(callback=end).fit(X, y)
        assert told == short.history_ == model.history_[: k + 1]
        assert len(short.structure_) == k

    def fails(step):
        raise RuntimeError("enough")

    model.set_params(callback=fails)
    with refused(model, RuntimeError, "enough"):
        model.fit(X, y)


def test_no_arcs_are_the_shares_of_the_classes():
    X, y = table(8)
    shares = [np.mean(y == label) for label in np.unique(y)]
    noise = np.random.default_rng(0).choice(["a", "b"], len(y))
    useless = pd.DataFrame({"constant": ["a"] * len(y), "empty": [None] * len(y), "noise": noise})
    for model, rows in ((quick(max_arcs=0), X), (quick(), useless)):
        model.fit(rows, y)
        assert model.structure_ == []
        assert model.selected_features_.tolist() == []
        assert len(model.history_) == 1
        assert_allclose(model.predict_proba(rows), np.tile(shares, (len(y), 1)), rtol=1e-6)
        assert set(model.predict(rows)) == {model.classes_[np.argmax(shares)]}
        assert model.network_.arcs == []
        assert np.isfinite(model.predict_joint_log_proba(rows)).all()
        assert_allclose(np.exp(model.class_log_prior_), shares, rtol=1e-6)
        parts = model.explain(rows[:4])
        assert parts is not None
        assert model.to_logistic().coef.shape == (3, 0)


def test_the_first_of_equal_columns():
    X, y = table(9)
    first = quick(max_arcs=1).fit(X, y).structure_[0][1]
    double = X.assign(**{"again": X[first], "more": X[first]})
    for order in ([*NAMES, "again", "more"], ["again", "more", *NAMES]):
        expected = next(name for name in order if name in (first, "again", "more"))
        assert quick(max_arcs=1).fit(double[order], y).structure_ == [("class", expected)]


def test_names_and_places():
    X, y = table(10)
    named, plain = quick().fit(X, y), quick().fit(X.to_numpy(), y)
    places = {name: f"x{k}" for k, name in enumerate(NAMES)}
    assert plain.selected_features_.tolist() == [places[n] for n in named.selected_features_]
    places["class"] = "class"
    assert plain.structure_ == [(places[p], places[x]) for p, x in named.structure_]
    for frame in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        other = quick().fit(frame, y)
        assert other.history_ == named.history_
        assert_array_equal(other.predict_proba(frame), named.predict_proba(X))
    clash = quick().fit(X.rename(columns={"colour": "class"}), y)
    assert {parent for parent, _ in clash.structure_} >= {"class_"}


def test_numbers_are_cut():
    X, y = mixed(11, 300)
    model = quick().fit(X, y)
    assert "length" in model.selected_features_
    assert model.score(X, y) > 0.7
    model = quick(numeric={"length": "gaussian"})
    with refused(model, ValueError, "makes column 'length' Gaussian.*use 'mdl'"):
        model.fit(X, y)


def test_files_bring_back_the_network():
    X, y = table(12)
    network = quick().fit(X, y).network_
    for again in (
        BayesNetwork.from_bif(network.to_bif()), BayesNetwork.from_xmlbif(network.to_xmlbif())
    ):  # fmt: skip
        assert set(again.arcs) == set(network.arcs)
        for name in [*NAMES, "class"]:
            one, two = network.table(name), again.table(name)
            assert_allclose(
                one.select_dtypes("number").to_numpy(), two.select_dtypes("number").to_numpy(),
                rtol=1e-12,
            )  # fmt: skip
