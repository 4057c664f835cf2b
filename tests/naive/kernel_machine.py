"""Twin of `lindero.models.kernel_machine`: every output of every pair, sample by sample."""

from itertools import combinations

import numpy as np


def decision_values(K, coefficients, intercepts):
    """f_k(z) = Σ_j c_kj K(z, x_j) + b_k."""
    return K @ coefficients.T + intercepts


def pair_values(K, coefficients, intercepts, group_sizes):
    """One column for each pair of classes i < j, from coefficients in LIBSVM's layout."""
    group = np.repeat(np.arange(len(group_sizes)), group_sizes)
    columns = [
        K[:, group == i] @ coefficients[j - 1, group == i]
        + K[:, group == j] @ coefficients[i, group == j]
        for i, j in combinations(range(len(group_sizes)), 2)
    ]
    return np.column_stack(columns) + intercepts
