"""The factor that gains and loses rows, against the whole matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lindero.solvers.active_set.factor import GrowingFactor
from tests.naive import factor as naive


def vectors(n, seed=0, n_features=None):
    return np.random.default_rng(seed).normal(size=(n, n_features or n + 3))


def filled(X, factor):
    """Rows of XXᵀ + 1, one after another."""
    for k in range(len(X)):
        factor.append(X[:k] @ X[k] + 1.0, float(X[k] @ X[k]) + 1.0, 0.0)
    return factor


def inverse(factor):
    return np.column_stack([factor.solve(column) for column in np.eye(factor.size)])


@given(
    changes=st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), min_size=1, max_size=80),
    seed=st.integers(0, 10**6),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_any_sequence_of_changes_gives_the_solutions_of_the_whole_matrix(changes, seed):
    random = np.random.default_rng(seed)
    pool = random.normal(size=(90, 90))
    factor, twin, members = GrowingFactor(), naive.GrowingFactor(), []
    for number, (removes, place) in enumerate(changes):
        if removes and members:
            k = place % len(members)
            factor.remove(k)
            twin.remove(k)
            del members[k]
        else:
            x = pool[number]
            column, diagonal = pool[members] @ x + 2.0, float(x @ x) + 2.0
            assert factor.append(column, diagonal, 0.0) == pytest.approx(
                twin.append(column, diagonal, 0.0), rel=1e-9
            )
            members.append(number)
        assert factor.size == twin.size == len(members)
        right = random.normal(size=len(members))
        np.testing.assert_allclose(factor.solve(right), twin.solve(right), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65, 150])
def test_room_grows_as_rows_come(n):
    X = vectors(n)
    factor = filled(X, GrowingFactor())
    assert factor.size == n
    np.testing.assert_allclose(inverse(factor) @ (X @ X.T + 1.0), np.eye(n), atol=1e-9)


@pytest.mark.parametrize("k", [0, 1, 7, 14, 15])
def test_the_factor_without_a_row_is_that_of_the_matrix_without_it(k):
    X = vectors(16)
    factor = filled(X, GrowingFactor())
    factor.remove(k)
    rest = np.delete(X, k, axis=0)
    np.testing.assert_allclose(inverse(factor) @ (rest @ rest.T + 1.0), np.eye(15), atol=1e-10)


def test_rows_are_appended_after_rows_were_removed():
    X = vectors(40)
    factor = filled(X[:30], GrowingFactor())
    for k in (29, 0, 13):
        factor.remove(k)
    left = [i for i in range(30) if i not in (29, 0, 14)]
    for k in range(30, 40):
        factor.append(X[left] @ X[k] + 1.0, float(X[k] @ X[k]) + 1.0, 0.0)
        left.append(k)
    right = np.arange(len(left), dtype=float)
    A = X[left] @ X[left].T + 1.0
    np.testing.assert_allclose(factor.solve(right), np.linalg.solve(A, right), rtol=1e-8)


def test_a_row_that_depends_on_others_is_not_appended():
    X = vectors(4, n_features=4)
    X[3] = 0.5 * (X[0] + X[1])
    factor = filled(X[:3], GrowingFactor())
    before = factor.solve(np.ones(3))
    diagonal = float(X[3] @ X[3]) + 1.0
    distance = factor.append(X[:3] @ X[3] + 1.0, diagonal, 1e-13 * diagonal)
    assert abs(distance) < 1e-13 * diagonal
    assert factor.size == 3
    np.testing.assert_array_equal(factor.solve(np.ones(3)), before)


def test_what_is_given_to_solve_is_left_alone_and_copies_go_their_own_way():
    X = vectors(5)
    factor = filled(X, GrowingFactor())
    right = np.arange(5.0)
    other = GrowingFactor()
    other.adopt(factor.known)
    other.remove(2)
    solution = factor.solve(right)
    np.testing.assert_array_equal(right, np.arange(5.0))
    np.testing.assert_allclose((X @ X.T + 1.0) @ solution, right, atol=1e-10)
    for k in range(5, 60):  # beyond the room of the copy
        other.append(np.zeros(k - 1), 1.0, 0.0)
    assert (factor.size, other.size) == (5, 59)


def test_thousands_of_changes_do_not_blur_the_factor():
    X = vectors(60, n_features=20)
    random = np.random.default_rng(1)
    factor, members = GrowingFactor(), []
    A = X @ X.T + np.eye(60)
    for _ in range(5000):
        outside = [i for i in range(60) if i not in members]
        if len(members) < 20 or (outside and random.random() < 0.5):
            new = int(random.choice(outside))
            factor.append(A[members, new], float(A[new, new]), 0.0)
            members.append(new)
        else:
            k = int(random.integers(len(members)))
            factor.remove(k)
            del members[k]
    right = random.normal(size=len(members))
    left = A[np.ix_(members, members)] @ factor.solve(right)
    np.testing.assert_allclose(left, right, atol=1e-9)
