"""Coupled problems for tests: graphs of every kind, margins and tubes, made anew at each call."""

import numpy as np
import scipy.sparse as sp

from lindero.graphs.graph import Chain, Graph
from lindero.problems.coupled import Anchor, CoupledMargin, CoupledTube


def unit_chain(n_nodes):
    """The chain whose links all weigh 1."""
    return Chain(np.ones(n_nodes - 1))


def coupled_margin(X, signs, bounds, coupling, graph, n_scale=None, anchor=None):
    """Classification of labels ±1."""
    return CoupledMargin().state(X, signs, bounds, coupling, graph, n_scale, anchor)


def coupled_tube(X, targets, bounds, epsilon, coupling, graph, n_scale=None, anchor=None):
    """Regression in a tube of half-width epsilon."""
    return CoupledTube(epsilon).state(X, targets, bounds, coupling, graph, n_scale, anchor)


def turning(n, seed=0, noise=0.1, turn=np.pi):
    """Two classes either side of a line that turns by `turn` from the first sample to the last."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X = noise * rng.standard_normal((n, 2)) + y[:, None] * [0.0, 1.0]
    angle = np.linspace(0.0, turn, n)
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([c * X[:, 0] - s * X[:, 1], s * X[:, 0] + c * X[:, 1]]), y


def neighbours(X, k=5):
    """i ~ j where either is among the k nearest of the other."""
    n, k = len(X), min(k, len(X) - 1)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, 1 : k + 1]
    weights = np.zeros((n, n))
    weights[np.arange(n)[:, None], nearest] = 1.0
    return Graph(sp.csr_array(np.maximum(weights, weights.T)))


def chain(rng, X):
    return unit_chain(len(X))


def weighted_chain(rng, X):
    return Chain(1.0 / rng.uniform(0.1, 10.0, len(X) - 1))


def cut_chain(rng, X):
    return Chain(rng.uniform(0.5, 2.0, len(X) - 1) * (rng.random(len(X) - 1) > 0.3))


def nearest(rng, X):
    return neighbours(X, int(rng.integers(1, 5)))


def weighted(rng, X):
    graph = neighbours(X, 4)
    drawn = 10.0 ** rng.uniform(-2, 2, graph.weights.shape)
    return Graph(graph.weights * (drawn + drawn.T))


def scattered(rng, X):
    """Random links, too few to connect everything."""
    n = len(X)
    drawn = np.triu(rng.random((n, n)) < 1.2 / n, 1).astype(float)
    return Graph(sp.csr_array(drawn + drawn.T))


GRAPHS = [chain, weighted_chain, cut_chain, nearest, weighted, scattered]


def random_problem(rng, make_graph, largest_coupling=10.0):
    """Rows with repetitions, weights of any size, some of them zero, an anchor now and then."""
    n, n_features = int(rng.integers(2, 25)), int(rng.integers(1, 5))
    X = np.round(rng.standard_normal((n, n_features)), int(rng.choice([1, 15])))
    graph = make_graph(rng, X)
    coupling = 10.0 ** rng.uniform(-3, largest_coupling)
    bounds = 10.0 ** rng.uniform(-2, 2) * 10.0 ** (rng.choice([0.0, 1.0]) * rng.uniform(-1, 1, n))
    bounds *= rng.random(n) >= rng.choice([0.0, 0.2])
    n_scale = None if rng.random() < 0.5 else rng.uniform(1, 100)
    anchor = Anchor(rng.standard_normal(n_features + 1), float(rng.choice([0.1, 1.0])))
    anchor = anchor if rng.random() < 0.3 else None
    if rng.random() < 0.5:
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        return coupled_margin(X, y, bounds, coupling, graph, n_scale, anchor)
    t = 10.0 ** rng.uniform(-2, 2) * X.sum(axis=1) + rng.standard_normal(n)
    return coupled_tube(X, t, bounds, rng.choice([0.0, 0.1, 1.0]), coupling, graph, n_scale, anchor)
