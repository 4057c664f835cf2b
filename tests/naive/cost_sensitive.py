"""Twin of the cost-sensitive machine: its primal, as it is printed, by a general method."""

from types import SimpleNamespace

import numpy as np
import osqp
import scipy.sparse as sp


def features(K):
    """Z with K = ZZᵀ."""
    values, vectors = np.linalg.eigh(K)
    held = values > 1e-10 * values.max()
    return vectors[:, held] * np.sqrt(values[held])


def train(K, positive, C, cost_positive, cost_negative, factors=None):
    """min ½‖w‖² + C [C₊ Σ₊ ξ + (2C₋ − 1) Σ₋ ξ] with f ≥ 1 − ξ for positives and
    f ≤ −1/(2C₋ − 1) + ξ for the others; C = ∞ has no ξ. The objective, and f at the rows."""
    Z = features(K)
    (n, d), hard = Z.shape, np.isinf(C)
    factors = np.ones(n) if factors is None else factors
    weight = factors * np.where(positive, cost_positive, 2 * cost_negative - 1)
    penalty = np.zeros(0) if hard else C * weight
    margin = np.where(positive, 1.0, 1 / (2 * cost_negative - 1))
    sign = np.where(positive, 1.0, -1.0)
    reach = sign[:, None] * np.column_stack([Z, np.ones(n)])
    rows = reach if hard else np.column_stack([reach, np.eye(n)])
    slacks = np.eye(rows.shape[1])[d + 1 :]
    solver = osqp.OSQP()
    solver.setup(
        sp.csc_matrix(np.diag(np.arange(rows.shape[1]) < d).astype(float)),
        np.concatenate([np.zeros(d + 1), penalty]),
        sp.csc_matrix(np.vstack([rows, slacks])),
        np.concatenate([margin, np.zeros(len(slacks))]),
        np.full(n + len(slacks), np.inf),
        eps_abs=1e-9, eps_rel=1e-9, max_iter=1_000_000, polishing=True, verbose=False,
    )  # fmt: skip
    found = solver.solve(raise_error=False)
    assert found.info.status == "solved"
    return SimpleNamespace(objective=found.info.obj_val, f=Z @ found.x[:d] + found.x[d])
