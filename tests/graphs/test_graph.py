"""Graphs whose nodes carry hyperplanes: what is refused, weights of times, equations."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lindero.errors import SolverError
from lindero.graphs import graph as graph_module
from lindero.graphs.graph import Chain, Graph, find_typical_gap, link_times
from tests.coupled_bank import neighbours


def test_a_large_graph_is_solved_by_iteration_and_by_elimination_alike(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    for graph in (neighbours(X, 3), Graph(sp.block_diag([neighbours(X[:30]).weights] * 2))):
        r = rng.standard_normal((60, 3))
        of = graph.components
        r[:, 2] -= (np.bincount(of, r[:, 2]) / np.bincount(of))[of]
        ridge = np.array([0.1, 0.1, 0.0])
        for ground in (0.0, 2.0):
            monkeypatch.setattr(graph_module, "MOST_ELIMINATED_NODES", 100)
            expected = graph.solve(r, ridge, 5.0, ground)
            monkeypatch.setattr(graph_module, "MOST_ELIMINATED_NODES", 10)
            found = graph.solve(r, ridge, 5.0, ground)
            means = np.bincount(of, (found - expected)[:, 2]) / np.bincount(of)
            found[:, 2] -= means[of]
            assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Chain(np.array([1.0, -2.0])), "link 1 is -2.0"),
        (lambda: Chain(np.array([np.nan])), "link 0 is nan"),
        (lambda: Graph(sp.csr_array(np.array([[0.0, 1.0], [0.5, 0.0]]))), "symmetric"),
        (lambda: Graph(sp.csr_array(-np.ones((2, 2)))), "not negative"),
        (lambda: Graph(sp.csr_array(np.ones((2, 3)))), "square"),
    ],
)
def test_graphs_that_are_none_are_refused(make, message):
    with pytest.raises(SolverError, match=message):
        make()


def test_the_diagonal_of_a_graph_is_ignored():
    graph = Graph(sp.csr_array(np.array([[5.0, 1.0], [1.0, 3.0]])))
    assert_array_equal(graph.weights.toarray(), [[0.0, 1.0], [1.0, 0.0]])


def test_what_is_wrong_with_a_table_of_weights_is_named():
    weights = np.ones((3, 3))
    weights[2, 1] = 0.5
    with pytest.raises(SolverError, match=r"row 1 to row 2 is 1 and back it is 0\.5"):
        Graph(weights)
    weights[1, 2] = weights[2, 1] = np.nan
    with pytest.raises(SolverError, match="rows 1 and 2 is nan"):
        Graph(weights)


def test_links_of_times_weigh_unit_by_gap_within_bounds():
    times = np.array([0.0, 0.0, 2.0, 4.0, 8.0, 1e12])
    assert find_typical_gap(times) == 3.0
    assert_array_equal(link_times(times, None), np.ones(5))
    assert_allclose(link_times(times, 3.0), [1e3, 1.5, 1.5, 0.75, 1e-9])
    assert find_typical_gap(np.zeros(4)) == 0.0
    assert_array_equal(link_times(np.zeros(4), 0.0), np.ones(3))
