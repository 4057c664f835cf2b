"""Twins of `lindero.problems.transductive`, and of what `lindero.solvers.label_search` looks for:
all labellings with the counts, one by one, and plain loops."""

from itertools import permutations

import numpy as np
from scipy.optimize import minimize


def solve_machine(K, signs, bounds):
    """The least ½‖w‖² + Σ u h(y f), from the dual, by a general method for a few variables."""
    Q = signs[:, None] * K * signs
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.minimum(bounds, bounds.min()) * 0.0,
        jac=lambda a: Q @ a - 1.0,
        bounds=[(0.0, bound) for bound in bounds],
        constraints={"type": "eq", "fun": lambda a: signs @ a, "jac": lambda a: signs},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return -found.fun


def sides(code, n_classes):
    if n_classes == 2:
        return np.array([1.0 if code == 1 else -1.0])
    return np.array([1.0 if code == k else -1.0 for k in range(n_classes)])


def list_labellings(counts):
    """All of them, each once."""
    labels = [code for code, count in enumerate(counts) for _ in range(count)]
    return sorted(set(permutations(labels)))


def find_objective(K, signs, bounds, codes, n_classes):
    """J of a labelling: the sum over machines."""
    complete = signs.copy()
    complete[signs[:, 0] == 0] = [sides(code, n_classes) for code in codes]
    return sum(solve_machine(K, complete[:, k], bounds) for k in range(signs.shape[1]))


def search_labels(K, signs, bounds, n_classes, counts):
    """J of each labelling."""
    return {
        codes: find_objective(K, signs, bounds, codes, n_classes)
        for codes in list_labellings(counts)
    }


def label_costs(values, n_classes, weights):
    costs = np.zeros((len(values), n_classes))
    for j, row in enumerate(values):
        for c in range(n_classes):
            errors = np.maximum(0.0, 1.0 - sides(c, n_classes) * row)
            costs[j, c] = weights[j] * errors.sum()
    return costs


def assign_labels(costs, counts):
    """The least cost of all labellings with these counts."""
    return min(
        sum(costs[row, code] for row, code in enumerate(codes)) for codes in list_labellings(counts)
    )


def count_profitable_swaps(codes, costs):
    """Pairs of rows whose labels had better be the other way round."""
    n_pairs = 0
    for i in range(len(codes)):
        for j in range(i):
            own = costs[i, codes[i]] + costs[j, codes[j]]
            n_pairs += own - costs[i, codes[j]] - costs[j, codes[i]] > 1e-6 * abs(own)
    return n_pairs
