"""Coupled classification and regression, stated as a `CoupledProblem`.

A margin asks  y f ≥ 1 − ξ  of each sample, a tube  |target − f| ≤ ε + ξ. `bounds` are what ξ
costs: C₃ times the weight of a sample, 0 for a node without a target.
"""

from __future__ import annotations

import numpy as np

from lindero.errors import SolverError
from lindero.problems.coupled import Anchor, CoupledProblem
from lindero.problems.node_graphs import Chain, Graph
from lindero.runtime.arrays import Array


def coupled_margin(
    X: Array,
    signs: Array,
    bounds: Array,
    coupling: float,
    graph: Chain | Graph,
    n_scale: float | None = None,
    anchor: Anchor | None = None,
) -> CoupledProblem:
    """Classification: labels `signs` = ±1, u = `bounds` (C₃ times the weight of a sample)."""
    s = np.array(signs, dtype=np.float64)[None, :]
    return _stated(X, s, -np.ones_like(s), bounds, coupling, graph, n_scale, anchor)


def coupled_tube(
    X: Array,
    targets: Array,
    bounds: Array,
    epsilon: float,
    coupling: float,
    graph: Chain | Graph,
    n_scale: float | None = None,
    anchor: Anchor | None = None,
) -> CoupledProblem:
    """Regression: |target − f| ≤ ε + ξ, one row that pulls f up and one that pulls it down."""
    s = np.repeat([[1.0], [-1.0]], len(targets), axis=1)
    p = np.stack([epsilon - targets, epsilon + targets])
    return _stated(X, s, p, bounds, coupling, graph, n_scale, anchor)


def _stated(
    X: Array,
    s: Array,
    p: Array,
    bounds: Array,
    coupling: float,
    graph: Chain | Graph,
    n_scale: float | None,
    anchor: Anchor | None,
) -> CoupledProblem:
    X = np.ascontiguousarray(X, dtype=np.float64)
    n_nodes, n_features = X.shape
    if not n_nodes == s.shape[1] == len(bounds) == graph.n_nodes:
        raise SolverError(
            "A hyperplane for each sample needs as many targets, bounds and nodes as rows: there "
            f"are {n_nodes} rows, {s.shape[1]} targets, {len(bounds)} bounds and {graph.n_nodes} "
            "nodes."
        )
    if not (np.isfinite(coupling) and coupling > 0.0):
        raise SolverError(f"The coupling must be positive and finite; it is {coupling}.")
    if not (np.isfinite(bounds).all() and (bounds >= 0.0).all()):
        raise SolverError("The bounds of coupled rows must be finite and not negative.")
    if anchor is not None:
        theta = np.asarray(anchor.theta, dtype=np.float64)
        if theta.shape != (n_features + 1,) or not np.isfinite(theta).all():
            raise SolverError(f"An anchor needs {n_features + 1} finite numbers: w, then b.")
        if not (np.isfinite(anchor.weight) and anchor.weight >= 0.0):
            raise SolverError(f"The weight of an anchor cannot be {anchor.weight}.")
        anchor = Anchor(theta, float(anchor.weight))
    scale = float(n_nodes if n_scale is None else n_scale)
    u = np.tile(np.asarray(bounds, dtype=np.float64), (len(s), 1))
    return CoupledProblem(X, s, p, u, float(coupling), graph, scale, anchor)
