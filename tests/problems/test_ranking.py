"""Sums over pairs against loops over all pairs, and the two statements of ranking."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.pair_sums import (
    half_laplacian_rows,
    laplacian_times,
    pair_hinge,
    pair_multipliers,
    sort_queries,
)
from lindero.problems.ranking import LinearRanking, Queries, document_coefficients, pair_problem
from lindero.runtime.threads import TileThreads
from tests.naive import ranking as naive


@st.composite
def problems(draw):
    """Relevances and scores with many ties, in queries of 1 to 12 documents, and a width."""
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    n = sum(sizes)
    y = np.array(draw(st.lists(st.integers(-2, 3), min_size=n, max_size=n)))
    # Sixteenths are exact, so that margins of exactly 0 and ±width/2 do occur.
    t = np.array(draw(st.lists(st.integers(-40, 40), min_size=n, max_size=n))) / 16
    width = draw(st.sampled_from([4.0, 1.0, 0.5, 0.125, 1e-3]))
    return y, t, np.append(0, np.cumsum(sizes)), width


def stated(y, t, starts):
    """Arguments that all sums share, and the range of all queries."""
    queries = Queries.of(y, starts)
    order = np.arange(len(y))
    sort_queries(t, queries.starts, 0, len(starts) - 1, order)
    levels = (queries.starts, queries.level, queries.n_levels)
    return (t, order, *levels), (0, len(starts) - 1)


@given(problems())
def test_queries_know_levels_pairs_and_their_number(problem):
    y, _, starts, _ = problem
    queries = Queries.of(y, starts)
    expected = naive.pairs(y, starts)
    assert queries.n_pairs == len(expected)
    assert sorted(zip(*queries.pairs(), strict=True)) == sorted(expected)
    for begin, end in pairwise(starts):
        below = [len({v for v in y[begin:end] if v < own}) for own in y[begin:end]]
        assert_array_equal(queries.level[begin:end], below)


@given(problems())
def test_documents_are_sorted_within_their_query_from_any_order(problem):
    y, t, starts, _ = problem
    (_, order, *_), _ = stated(y, t, starts)
    reversed_within = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(starts)])
    sort_queries(t, starts, 0, len(starts) - 1, reversed_within)
    for begin, end in pairwise(starts):
        for found in (order, reversed_within):
            assert sorted(found[begin:end]) == list(range(begin, end))
            assert_array_equal(t[found[begin:end]], np.sort(t[begin:end]))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 500])
def test_long_queries_are_sorted_too(n):
    t = np.random.default_rng(n).integers(0, 50, n).astype(float)
    order = np.arange(n)
    sort_queries(t, np.array([0, n]), 0, 1, order)
    assert sorted(order) == list(range(n))
    assert_array_equal(t[order], np.sort(t))


@given(problems())
def test_multipliers_and_hinge_are_those_of_all_pairs(problem):
    y, t, starts, width = problem
    arguments, span = stated(y, t, starts)
    net = np.empty(len(y))
    total = pair_multipliers(*arguments, width, *span, net)
    expected_net, expected_total = naive.multipliers(t, y, starts, width)
    assert_allclose(net, expected_net, atol=1e-11)
    assert total == pytest.approx(expected_total, abs=1e-11)
    assert pair_hinge(*arguments, *span) == pytest.approx(naive.hinge(t, y, starts), abs=1e-11)


@given(problems(), st.integers(0, 2**31))
def test_products_with_the_laplacian_are_those_of_all_pairs(problem, seed):
    y, t, starts, width = problem
    arguments, span = stated(y, t, starts)
    A = naive.laplacian(t, y, starts, width)
    X = np.random.default_rng(seed).standard_normal((len(y), 3))
    product, degree = np.empty(len(y)), np.empty(len(y))
    laplacian_times(*arguments, width, *span, X[:, 0].copy(), degree, product)
    assert_allclose(product, A @ X[:, 0], atol=1e-11)
    assert_array_equal(degree, np.diagonal(A))
    half = np.empty_like(X)
    half_laplacian_rows(*arguments, width, *span, X, 0, half)
    assert_allclose(0.5 * (X.T @ half + half.T @ X), X.T @ A @ X, atol=1e-10)


@pytest.mark.parametrize("n_levels", [2, 5, 300])
def test_sums_over_one_large_query_are_those_of_all_pairs(n_levels):
    rng = np.random.default_rng(n_levels)
    y, t = rng.integers(0, n_levels, 300), rng.standard_normal(300) * 2
    starts = np.array([0, 300])
    arguments, span = stated(y, t, starts)
    net = np.empty(300)
    total = pair_multipliers(*arguments, 0.3, *span, net)
    expected_net, expected_total = naive.multipliers(t, y, starts, 0.3)
    assert_allclose(net, expected_net, atol=1e-9)
    assert total == pytest.approx(expected_total, rel=1e-12)
    assert pair_hinge(*arguments, *span) == pytest.approx(naive.hinge(t, y, starts), rel=1e-12)


def test_a_narrow_band_of_scores_far_from_zero_gives_consistent_multipliers():
    # Each document's net sum is a sum of shares that the total counts once.
    t = 1e6 + np.array([1.0, 1e-11, 3e-11, 0.0])
    y, starts = np.array([1, 0, 0, 0]), np.array([0, 4])
    arguments, span = stated(y, t, starts)
    net = np.empty(4)
    total = pair_multipliers(*arguments, 1e-10, *span, net)
    assert net[0] == total
    assert net[1:].sum() == pytest.approx(-total, abs=1e-15)
    assert (net[1:] <= 0).all()
    assert (net[1:] >= -1).all()


@pytest.mark.parametrize("kind", ["dense", "float32", "uint8", "sparse", "moved"])
def test_a_point_of_linear_ranking_has_the_objectives_of_all_pairs(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (40, 3))
    y, starts = rng.integers(0, 4, 40), np.array([0, 1, 15, 40])
    w = rng.standard_normal(3)
    table = {
        "dense": X.astype(float),
        "float32": X.astype(np.float32),
        "uint8": X.astype(np.uint8),
        "sparse": sp.csr_array(X.astype(float)),
        "moved": X.astype(float),
    }[kind]
    shift = np.array([1.0, 2.0, 3.0]) if kind == "moved" else None
    with TileThreads(1) as threads:
        problem = LinearRanking(table, Queries.of(y, starts), 0.5, threads, shift)
        point = problem.point(w, problem.scores(w), 0.7)
        gap = problem.kkt_gap(point)
    net, total = naive.multipliers(X @ w, y, starts, 0.7)
    v = 0.5 * X.T @ net
    assert_allclose(point.v, v, atol=1e-10)
    assert point.primal == pytest.approx(naive.primal(w, X, y, starts, 0.5), rel=1e-12)
    assert point.dual == pytest.approx(0.5 * total - 0.5 * v @ v, rel=1e-12)
    # the conditions of an optimum at the multipliers, pair by pair
    rise = fall = 0.0
    for i, j in naive.pairs(y, starts):
        margin = 1 - (X[i] - X[j]) @ v
        a = naive.ramp(1 - (X[i] - X[j]) @ w, 0.7)
        rise = max(rise, margin) if a < 1 else rise
        fall = max(fall, -margin) if a > 0 else fall
    assert rise + fall <= gap


def test_parts_of_queries_cover_all_of_them_once():
    sizes = np.random.default_rng(1).integers(1, 900, 200)
    starts = np.append(0, np.cumsum(sizes))
    parts = Queries.of(np.zeros(starts[-1]), starts).parts()
    assert len(parts) > 4
    assert [first for first, _ in parts] == [0, *(last for _, last in parts[:-1])]
    assert parts[-1][1] == 200
    one = Queries.of(np.zeros(10), np.array([0, 10])).parts()
    assert one == [(0, 1)]


def test_the_problem_of_pairs_has_the_dual_objective_of_ranking():
    rng = np.random.default_rng(2)
    X, y, starts = rng.standard_normal((12, 3)), rng.integers(0, 3, 12), np.array([0, 5, 12])
    queries = Queries.of(y, starts)
    problem = pair_problem(kernel_operator(X, KernelFunction("linear")), queries, 2.0)
    a = rng.uniform(0, 2, queries.n_pairs)
    balanced = np.append(a, [0.0, a.sum()])
    judgement = problem.judge(balanced, bias=0.0)
    c = document_coefficients(queries, a)
    w = naive.differences(X, y, starts).T @ a[np.argsort(_positions(queries, y, starts))]
    assert_allclose(X.T @ c, w, atol=1e-12)
    assert judgement.infeasibility < 1e-12
    assert judgement.dual == pytest.approx(a.sum() - 0.5 * w @ w, rel=1e-12)
    assert judgement.primal == pytest.approx(naive.primal(w, X, y, starts, 2.0), rel=1e-12)


def _positions(queries, y, starts):
    """Where each pair stands in the twin's list."""
    place = {pair: k for k, pair in enumerate(naive.pairs(y, starts))}
    return [place[pair] for pair in zip(*queries.pairs(), strict=True)]


def test_a_document_that_wins_as_much_as_it_loses_has_no_coefficient():
    queries = Queries.of(np.array([0, 1, 2]), np.array([0, 3]))
    shares = {(1, 0): 0.1, (2, 1): 0.1, (2, 0): 0.7}
    a = np.array([shares[pair] for pair in zip(*queries.pairs(), strict=True)])
    assert document_coefficients(queries, a)[1] == 0.0
