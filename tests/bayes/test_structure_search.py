"""The search for arcs: candidates, exact scores, what screening promises, and where it ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.structure_search import table as table_module
from lindero.bayes.structure_search.search import (
    build_network,
    grow_structure,
    score_empty,
    score_with_arc,
)
from lindero.bayes.structure_search.structure import CLASS, Arc, GrowingStructure
from lindero.bayes.structure_search.table import estimate_gain, merge_rows
from tests.bayes.soft_tables import telling
from tests.naive import conditional as twin_posterior
from tests.naive import screening as twin_screening
from tests.naive import structural as twin


def telling_rows(seed=0, n_rows=700, n_classes=2, weights=None, missing=0.0):
    return CodedRows(*telling(seed, n_rows, n_classes, missing), n_classes, weights)


def as_dict(structure):
    return dict(zip(structure.members, structure.parents, strict=True))


def search(rows, max_parents=1, criterion="bicd", screening=None, max_arcs=None):
    return grow_structure(
        rows, max_parents=max_parents, criterion=criterion, screening=screening, max_arcs=max_arcs,
        n_jobs=None, report=lambda found: None,
    )  # fmt: skip


def random_structure(random, cards, max_parents, n_arcs):
    structure = GrowingStructure()
    for _ in range(n_arcs):
        arcs = list(structure.list_candidates(cards, max_parents))
        if arcs:
            structure = structure.add_arc(arcs[random.integers(len(arcs))])
    return structure


# -- candidates ------------------------------------------------------------------------------


def test_candidates_are_those_of_trying_every_pair():
    random, n_parents = np.random.default_rng(0), []
    for _ in range(150):
        cards = random.integers(0, 4, 6)
        max_parents = int(random.integers(0, 4))
        structure = random_structure(random, cards, max_parents, int(random.integers(0, 14)))
        arcs = [(arc.parent, arc.child) for arc in structure.list_candidates(cards, max_parents)]
        assert len(set(arcs)) == len(arcs)
        assert set(arcs) == twin.list_candidates(as_dict(structure), cards, max_parents)
        n_parents.append(max(map(len, structure.parents), default=0))
        parameters = twin.count_parameters(as_dict(structure), cards, 3)
        assert structure.count_parameters(cards, 3) == parameters
    assert max(n_parents) == 3


def test_parameters_of_a_small_structure():
    structure = GrowingStructure((2, 0, 1), ((), (2,), (2, 0)))
    # 2 · [1 + (4 − 1) + (3 − 1) · 4 + (2 − 1) · 4 · 3]
    assert structure.count_parameters(np.array([3, 2, 4]), 3) == 2 * (1 + 3 + 8 + 12)
    assert GrowingStructure().count_parameters(np.array([3]), 3) == 2


def test_both_directions_between_two_without_parents_are_the_same():
    rows = telling_rows()
    structure = GrowingStructure((0, 3), ((), ()))
    one, two = (structure.add_arc(Arc(p, x)) for p, x in ((0, 3), (3, 0)))
    scores = [twin.bicd(rows.codes, rows.cards, rows.y, as_dict(s)) for s in (one, two)]
    assert_allclose(scores[0], scores[1], rtol=1e-8)
    assert list(structure.list_candidates(rows.cards, 2))[-1] == Arc(0, 3)


# -- exact scores ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_logistic_regression(n_classes, weighted):
    random = np.random.default_rng(1)
    weights = random.integers(1, 4, 700).astype(float) if weighted else None
    rows = telling_rows(1, 700, n_classes, weights)
    now = score_empty(rows, "bicd")
    way = [Arc(CLASS, 2), Arc(CLASS, 0), Arc(CLASS, 3), Arc(0, 3), Arc(CLASS, 1), Arc(2, 1)]
    for k, arc in enumerate([None, *way]):
        if arc is not None:
            now = score_with_arc(now, arc, rows, "bicd")
        own = as_dict(now.structure)
        best = twin.log_likelihood(rows.codes, rows.y, own, weights)
        assert_allclose(now.log_likelihood, best, rtol=2e-6, err_msg=str(k))
        assert_allclose(
            now.score, twin.bicd(rows.codes, rows.cards, rows.y, own, weights), rtol=2e-6
        )


def test_two_parents_that_are_not_each_others_stay_below_logistic_regression():
    rows = telling_rows(2)
    now = score_empty(rows, "bicd")
    for arc in (Arc(CLASS, 2), Arc(CLASS, 0), Arc(CLASS, 3), Arc(0, 2)):
        now = score_with_arc(now, arc, rows, "bicd")
    both = score_with_arc(now, Arc(3, 2), rows, "bicd")
    best = twin.log_likelihood(rows.codes, rows.y, as_dict(both.structure))
    assert now.log_likelihood < both.log_likelihood <= best + 1e-6


@pytest.mark.parametrize("way", [[0, 2, 3], [0, 3, (0, 3)], [0, 2, 3, (0, 3), (2, 3)]])
def test_missing_values_are_summed_out_exactly(way):
    rows = telling_rows(3, 200, 3, np.random.default_rng(3).random(200), missing=0.15)
    now = score_empty(rows, "bicd")
    for arc in way:
        before = now
        arc = Arc(*arc) if isinstance(arc, tuple) else Arc(CLASS, arc)
        now = score_with_arc(before, arc, rows, "bicd")
        # Climbing begins at the likelihood before, or next to it where a new column has gaps.
        assert now.log_likelihood > before.log_likelihood - 1e-6
    network, nothing = build_network(now, rows), np.empty((0, 3))
    posterior = twin_posterior.posterior(
        network, (nothing, nothing), rows.codes[list(now.structure.members)], np.empty((0, 200))
    )
    enumerated = rows.weights @ np.log(posterior[np.arange(200), rows.y])
    assert_allclose(now.log_likelihood, enumerated, rtol=1e-8)


def test_rows_that_are_the_same_are_taken_together():
    rows = telling_rows(4, 400)
    merged = merge_rows(rows, (3, 0))
    assert merged.codes.shape[1] == len(
        np.unique(np.vstack([rows.codes[[3, 0]], rows.y]).T, axis=0)
    )
    assert merged.total_weight == 400
    counts = np.zeros((3, 3, 2))
    np.add.at(counts, (rows.codes[3], rows.codes[0], rows.y), 1)
    found = np.zeros((3, 3, 2))
    found[merged.codes[0], merged.codes[1], merged.y] = merged.weights
    assert_array_equal(found, counts)
    # More states than a number can count: left as they are.
    wide = CodedRows(np.ones((70, 4), np.uint8), np.full(70, 2), np.array([0, 1, 0, 1]), 2, None)
    assert merge_rows(wide, tuple(range(70))).codes.shape == (70, 4)


# -- screening -------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_promised_is_a_newton_step(n_classes, missing):
    random = np.random.default_rng(5)
    rows = telling_rows(5, 150, n_classes, random.random(150) + 0.1, missing)
    posterior = random.dirichlet(np.ones(n_classes), 150)
    structure = GrowingStructure((0, 3, 2), ((), (0,), ()))
    for arc, family in (
        (Arc(CLASS, 1), (1,)), (Arc(0, 2), (2, 0)), (Arc(2, 3), (3, 0, 2)), (Arc(CLASS, 4), (4,)),
    ):  # fmt: skip
        found = estimate_gain(rows, posterior, structure, arc)
        expected = twin_screening.estimate_gain(rows.codes, rows.y, rows.weights, posterior, family)
        assert_allclose(found, expected, rtol=1e-4)


def test_certain_rows_promise_no_more_than_they_lack():
    rows = CodedRows(np.array([[1, 1, 2, 2]], np.uint8), np.array([2]), np.array([0, 0, 1, 1]), 2,
                      None)  # fmt: skip
    sure = np.array([[1.0, 0.0], [1.0, 0.0], [1e-3, 1 - 1e-3], [1e-3, 1 - 1e-3]])
    assert estimate_gain(rows, sure, GrowingStructure(), Arc(CLASS, 0)) < 3e-3
    wrong = estimate_gain(rows, sure[::-1], GrowingStructure(), Arc(CLASS, 0))
    assert np.isfinite(wrong)
    even = estimate_gain(rows, np.full((4, 2), 0.5), GrowingStructure(), Arc(CLASS, 0))
    assert 1.0 < even <= 4 * np.log(2)


# -- the search ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("screening", [None, 1, 5])
def test_every_round_is_that_of_the_twin(seed, screening):
    rows = telling_rows(seed)
    structure, rounds = search(rows, screening=screening)
    expected = twin.grow_structure(rows.codes, rows.cards, rows.y, 1)
    assert len(expected) > 4
    assert as_dict(structure) == expected[-1][0]
    assert_allclose([found.score for found in rounds], [score for _, score in expected], rtol=1e-5)
    for found, (own, score) in zip(rounds, expected, strict=True):
        d = twin.count_parameters(own, rows.cards, 2)
        assert found.n_parameters == d
        assert_allclose(found.log_likelihood, score + np.log(700) / 2 * d, rtol=1e-5)


@pytest.mark.parametrize("seed", [0, 4])
def test_it_ends_where_no_arc_improves(seed):
    rows = telling_rows(seed, 500, 3)
    for screening in (1, None):
        structure, rounds = search(rows, max_parents=2, screening=screening)
        own, score = as_dict(structure), rounds[-1].score
        others = [twin.add_arc(own, *arc) for arc in twin.list_candidates(own, rows.cards, 2)]
        assert others
        # Logistic regression is an upper bound of what any structure reaches.
        assert max(twin.bicd(rows.codes, rows.cards, rows.y, s) for s in others) < score + 1e-3
        assert (np.diff([found.score for found in rounds]) > 0).all()
        assert all(found.n_scored <= found.n_candidates for found in rounds)


def test_promises_that_mislead_do_not_end_the_search(monkeypatch):
    rows = telling_rows(8)
    expected, _ = search(rows)
    monkeypatch.setattr(table_module, "estimate_gain", lambda *given: -estimate_gain(*given))
    structure, rounds = search(rows, screening=1)
    assert set(structure.members) >= set(expected.members)
    assert any(found.n_scored > 1 for found in rounds)
    own = as_dict(structure)
    others = [twin.add_arc(own, *arc) for arc in twin.list_candidates(own, rows.cards, 1)]
    best = max(twin.bicd(rows.codes, rows.cards, rows.y, other) for other in others)
    assert best < rounds[-1].score + 1e-3


def test_of_columns_that_say_the_same_the_first_is_taken():
    rows = telling_rows(6)
    for order in ([4, 2, 2, 2], [2, 4, 2, 4]):
        double = CodedRows(rows.codes[order], rows.cards[order], rows.y, 2, None)
        for screening in (None, 1, 2):
            structure, _ = search(double, screening=screening)
            assert structure.members[0] == order.index(2)
    first = search(rows, max_parents=2)
    assert first == search(rows, max_parents=2)


def test_limits():
    rows = telling_rows(7)
    assert search(rows, max_arcs=0)[0] == GrowingStructure()
    assert len(search(rows, max_arcs=2)[1]) == 3
    alone, _ = search(rows, max_parents=0)
    assert set(alone.parents) == {()}
    useless = CodedRows(np.ones((3, 700), np.uint8), np.array([1, 1, 0]), rows.y, 2, None)
    useless.codes[2] = 0
    structure, rounds = search(useless)
    assert structure == GrowingStructure()
    share = np.bincount(rows.y) / 700
    assert_allclose(rounds[0].log_likelihood, 700 * share @ np.log(share), rtol=1e-9)
    assert_allclose(rounds[0].score, rounds[0].log_likelihood - np.log(700) / 2, rtol=1e-9)
