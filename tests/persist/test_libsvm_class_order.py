"""Classes in another order: the same machines, pair by pair."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lindero.persist.text.libsvm import sort_classes, turn_signs


def pair_values(coefficients, counts, kernel_values):
    """Σ c k(x, v) of each pair of classes, by the definition of the layout."""
    class_of = np.repeat(np.arange(len(counts)), counts)
    values = {}
    for i, j in combinations(range(len(counts)), 2):
        first = coefficients[j - 1, class_of == i] @ kernel_values[class_of == i]
        second = coefficients[i, class_of == j] @ kernel_values[class_of == j]
        values[i, j] = first + second
    return values


@given(labels=st.permutations([-7, 0, 2, 3, 11]), n=st.integers(2, 5), seed=st.integers(0, 99))
def test_each_pair_decides_as_before(labels, n, seed):
    rng = np.random.default_rng(seed)
    labels = np.array(labels[:n])
    counts = rng.integers(0, 4, n)
    coefficients = rng.normal(size=(n - 1, counts.sum()))
    rho, kernel_values = rng.normal(size=n * (n - 1) // 2), rng.normal(size=counts.sum())
    file_values = pair_values(coefficients, counts, kernel_values)
    # f > 0 speaks for the first of the two labels.
    expected = {}
    for (i, j), constant in zip(file_values, rho, strict=True):
        expected[labels[i], labels[j]] = file_values[i, j] - constant
        expected[labels[j], labels[i]] = -expected[labels[i], labels[j]]

    machines = sort_classes(labels, counts, coefficients, rho)
    np.testing.assert_array_equal(machines.classes, np.sort(labels))
    moved = kernel_values[machines.vector_order]
    values = pair_values(machines.coefficients, machines.n_support, moved)
    speaks_for_first = -1.0 if n == 2 else 1.0
    for (a, b), constant in zip(values, machines.intercepts, strict=True):
        pair = machines.classes[a], machines.classes[b]
        np.testing.assert_allclose(
            speaks_for_first * (values[a, b] + constant), expected[pair], atol=1e-12
        )

    # Written again, classes ascend and signs are LIBSVM's.
    again, constants = turn_signs(machines.coefficients, machines.intercepts)
    values = pair_values(again, machines.n_support, moved)
    for (a, b), constant in zip(values, constants, strict=True):
        pair = machines.classes[a], machines.classes[b]
        np.testing.assert_allclose(values[a, b] - constant, expected[pair], atol=1e-12)
