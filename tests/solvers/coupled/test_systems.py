"""Newton systems of chains and graphs against dense matrices, compiled and not."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial import cKDTree

import lindero.graphs.multigrid as multigrid
import lindero.solvers.coupled.graph as graph_system
import lindero.solvers.coupled.interior_point as interior_point
from lindero.graphs.graph import Chain, Graph
from lindero.problems.coupled import Anchor
from lindero.runtime.threads import TileThreads
from lindero.solvers.coupled.chain import ChainSystem
from lindero.solvers.coupled.graph import GraphSystem
from lindero.solvers.coupled.interior_point import CoupledInteriorPointSolver
from tests.coupled_bank import (
    GRAPHS,
    coupled_margin,
    coupled_tube,
    neighbours,
    random_problem,
    turning,
    unit_chain,
)
from tests.naive import coupled as naive


def dense(problem, sigma):
    """H + Σ σ_i x̃_i x̃_iᵀ."""
    rows = naive.rows_of(problem)[: problem.n_nodes]
    return naive.hessian(problem) + rows.T @ (sigma[:, None] * rows)


def neighbours_of_many(X):
    n = len(X)
    nearest = cKDTree(X).query(X, 6)[1][:, 1:]
    weights = sp.csr_array((np.ones(5 * n), (np.repeat(np.arange(n), 5), nearest.ravel())), (n, n))
    return Graph(weights.maximum(weights.T))


def systems(problem, monkeypatch):
    """All that can take the problem; levels go down to single nodes."""
    if isinstance(problem.graph, Chain):
        return [ChainSystem(problem, TileThreads(1))]
    monkeypatch.setattr(multigrid, "_OUTRIGHT", 8)
    monkeypatch.setattr(graph_system, "_SHARES", (1e-12,))
    return [GraphSystem(problem, most_eliminated) for most_eliminated in (0, 10**6)]


@pytest.mark.parametrize("make_graph", GRAPHS)
def test_solutions_are_those_of_the_dense_matrix(make_graph, monkeypatch):
    rng = np.random.default_rng(GRAPHS.index(make_graph))
    for _ in range(15):
        problem = random_problem(rng, make_graph, 6.0)
        sigma = 10.0 ** rng.uniform(-2, 2, problem.n_nodes)
        matrix = dense(problem, sigma)
        r = rng.standard_normal((problem.n_nodes, problem.n_parameters))
        expected = np.linalg.solve(matrix, r.ravel())
        for system in systems(problem, monkeypatch):
            system.factor(sigma)
            found = system.solve(r).ravel()
            # Measured as the method sees it: errors along stiff directions count for more.
            off, whole = found - expected, expected @ matrix @ expected
            assert off @ matrix @ off <= 1e-12 * whole


@pytest.mark.parametrize("make_graph", GRAPHS)
def test_residuals_are_those_of_the_dense_matrix(make_graph, monkeypatch):
    rng = np.random.default_rng(GRAPHS.index(make_graph))
    for _ in range(5):
        problem = random_problem(rng, make_graph, 3.0)
        theta = rng.standard_normal((problem.n_nodes, problem.n_parameters))
        z = rng.standard_normal(problem.n_nodes)
        rows = np.column_stack([problem.X, np.ones(problem.n_nodes)])
        expected = (z[:, None] * rows).ravel() - naive.hessian(problem) @ theta.ravel()
        if problem.anchor is not None:
            ground = problem.coupling / problem.n_scale * problem.anchor.weight
            expected[: problem.n_parameters] += ground * problem.anchor.theta
        scale = np.abs(naive.hessian(problem)).max() + 1.0
        for system in systems(problem, monkeypatch):
            assert_allclose(system.residual(theta, z).ravel(), expected, atol=1e-12 * scale)


@pytest.mark.parametrize("strength", [1e-6, 1.0, 1e6, 1e12])
def test_elimination_of_a_chain_loses_no_digits_however_strong_its_links(strength):
    # One parameter, no features: the mean of r over σ, plus what is left of differences.
    n = 200
    problem = coupled_margin(np.empty((n, 0)), np.ones(n), np.ones(n), strength * n, unit_chain(n))
    rng = np.random.default_rng(0)
    sigma, target = rng.uniform(0.5, 1.5, n), rng.standard_normal((n, 1))
    system = ChainSystem(problem, TileThreads(1))
    system.factor(sigma)
    # The right side that belongs to a known solution, which is as smooth as links are strong.
    x = 3.0 + target / max(1.0, strength)
    flow = strength * np.diff(target / max(1.0, strength), axis=0)
    r = sigma[:, None] * x
    r[:-1] -= flow
    r[1:] += flow
    assert_allclose(system.solve(r), x, rtol=1e-12)


def test_a_graph_that_iteration_cannot_solve_is_eliminated(monkeypatch):
    rng = np.random.default_rng(0)
    links = 10.0 ** rng.uniform(-6, 6, 299)
    X, y = turning(300, noise=0.5)
    graph = Graph(sp.diags_array([links, links], offsets=[1, -1]))
    problem = coupled_margin(X, y, np.ones(300), 1.0, graph)
    monkeypatch.setattr(multigrid, "_OUTRIGHT", 8)
    monkeypatch.setattr(graph_system, "_MOST_STEPS", 3)
    system = GraphSystem(problem, 0)
    sigma, r = 10.0 ** rng.uniform(-3, 3, 300), rng.standard_normal((300, 3))
    system.factor(sigma)
    found = system.solve(r).ravel()
    matrix = dense(problem, sigma)
    off = found - np.linalg.solve(matrix, r.ravel())
    assert off @ matrix @ off <= 1e-12 * (found @ matrix @ found)
    system.factor(sigma)  # and stays so
    assert_allclose(system.solve(r).ravel(), found, rtol=1e-9)


def test_levels_shrink_and_hold_all_links():
    X = np.random.default_rng(0).standard_normal((3000, 2))
    problem = coupled_margin(X, np.ones(3000), np.ones(3000), 1.0, neighbours_of_many(X))
    levels = multigrid.GraphLevels(sp.csr_array(problem.graph.weights), 3)
    sizes = [links.n_nodes for links in levels.links]
    assert len(sizes) >= 3
    assert all(2 * after < before for before, after in pairwise(sizes))
    for links, coarser in pairwise(levels.links):
        ends = np.repeat(links.group_of, np.diff(links.starts))
        between = links.weights[ends != links.group_of[links.neighbours]].sum()
        assert coarser.weights.sum() == pytest.approx(between)


def test_a_larger_graph_is_solved_by_iteration():
    X = np.random.default_rng(1).standard_normal((4000, 3))
    y = np.sign(np.sin(2 * X[:, 0]) + X[:, 1])
    problem = coupled_margin(X, y, np.ones(4000), 1e4, neighbours_of_many(X))
    assert problem.n_nodes * problem.n_parameters > graph_system.MOST_ELIMINATED_UNKNOWNS
    solution = CoupledInteriorPointSolver(tol=1e-6).solve(problem)
    judged = problem.judge(solution.theta, solution.a)
    assert judged.duality_gap <= 1e-6 * judged.primal


def test_steps_that_are_too_rough_are_sharpened_until_the_judge_agrees(monkeypatch):
    monkeypatch.setattr(multigrid, "_OUTRIGHT", 8)
    monkeypatch.setattr(graph_system, "_SHARES", (0.3, 1e-10))
    made = []

    def iterated(problem):
        made.append(GraphSystem(problem, 0))
        return made[-1]

    monkeypatch.setattr(interior_point, "GraphSystem", iterated)
    X, y = turning(100, noise=0.5)
    problem = coupled_margin(X, y, np.ones(100), 1e-2, neighbours(X, 3))
    solution = CoupledInteriorPointSolver(tol=1e-9).solve(problem)
    assert problem.relative_gap(solution.judgement) <= 1e-9
    assert made[0].sharpen() is False  # all of it was needed


# -- with compilation off -----------------------------------------------------------------------


def _window():
    X, y = turning(12, noise=0.5)
    anchor = Anchor(np.array([0.5, 0.5, 0.0]))
    return coupled_margin(X, y, np.ones(12), 20.0, unit_chain(12), n_scale=30, anchor=anchor)


def _tube():
    X, _ = turning(12, noise=0.5)
    return coupled_tube(X, X.sum(axis=1), np.ones(12), 0.1, 20.0, Chain(np.linspace(0.1, 2, 11)))


def _neighbours():
    X, y = turning(15, noise=0.5)
    return coupled_margin(X, y, np.ones(15), 20.0, neighbours(X, 3))


SMALLEST = {"window": _window, "tube": _tube, "neighbours": _neighbours}

PROGRAM = """
import json
import numba
from tests.solvers.coupled.test_systems import solutions
print(json.dumps({"compiled": not numba.config.DISABLE_JIT, "solutions": solutions()}))
"""


def solutions():
    found = {}
    for name, make in SMALLEST.items():
        solution = CoupledInteriorPointSolver(tol=1e-10).solve(make())
        found[name] = solution.theta.tolist()
    levels = GraphSystem(_neighbours(), 0)
    levels.factor(np.linspace(0.1, 2.0, 15))
    found["levels"] = levels.solve(np.ones((15, 3))).tolist()
    return found


@pytest.fixture(scope="module")
def uncompiled():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", [*SMALLEST, "levels"])
def test_plain_python_finds_the_same(name, uncompiled):
    assert uncompiled["compiled"] is False
    expected = solutions()[name]
    assert np.any(expected)
    assert_allclose(uncompiled["solutions"][name], expected, atol=1e-6)
