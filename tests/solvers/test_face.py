"""The optimum of a face of the box, against a direct solution of its system."""

import numpy as np
import pytest

from lindero.solvers import face
from tests.naive import face as naive


def solve_on_face(K, z, v, lower, upper, group_of=None):
    """The same, leaving its arguments alone."""
    z, v = z.copy(), v.copy()
    group_of = np.zeros(len(z), dtype=np.int64) if group_of is None else group_of
    face.solve_on_face(K, z, v, lower, upper, group_of, int(group_of.max()) + 1)
    return z, v


def gaussian(n, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))


def objective(K, q, z):
    return 0.5 * z @ K @ z + q @ z


@pytest.mark.parametrize("n", [2, 3, 20, 80])
@pytest.mark.parametrize("n_bound", [0, 1])
def test_inside_a_wide_box_it_is_the_direct_solution(n, n_bound):
    rng = np.random.default_rng(n)
    K, q, z = gaussian(n + n_bound), rng.standard_normal(n + n_bound), np.zeros(n + n_bound)
    lower, upper = np.full(len(z), -1e6), np.full(len(z), 1e6)
    z[:n_bound] = lower[:n_bound] = 1.0
    v = K @ z + q
    expected, _ = naive.solve_on_face(K, z, v, np.arange(n_bound, len(z)))
    ours, scores = solve_on_face(K, z, v, lower, upper)
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(scores, K @ ours + q, atol=1e-8)
    assert np.ptp(scores[n_bound:]) <= 1e-8


@pytest.mark.parametrize("seed", range(10))
def test_in_a_narrow_box_it_stays_there_keeps_the_sum_and_never_rises(seed):
    rng = np.random.default_rng(seed)
    K, q, z = gaussian(30, seed), rng.standard_normal(30), rng.uniform(0.1, 0.9, 30)
    lower, upper = np.zeros(30), np.ones(30)
    ours, scores = solve_on_face(K, z, K @ z + q, lower, upper)
    assert (ours >= 0).all()
    assert (ours <= 1).all()
    assert ours.sum() == pytest.approx(z.sum(), abs=1e-12)
    np.testing.assert_allclose(scores, K @ ours + q, atol=1e-10)
    assert objective(K, q, ours) <= objective(K, q, z)
    free = (ours > 0) & (ours < 1)
    assert free.any()
    assert np.ptp(scores[free]) <= 1e-8


def test_repeated_rows_and_low_rank_leave_the_model_determined():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((6, 2)), 2, axis=0)
    K, z = X @ X.T, np.full(12, 0.5)
    q = -X @ [0.1, 0.2]  # a linear target: the optimum has v constant, though z is not unique
    wide = np.full(12, 1e3)
    ours, scores = solve_on_face(K, z, K @ z + q, -wide, wide)
    twin, _ = naive.solve_on_face(K, z, K @ z + q, np.arange(12))
    assert np.ptp(scores) <= 1e-9
    np.testing.assert_allclose(K @ ours, K @ twin, atol=1e-8)
    assert ours.sum() == pytest.approx(6.0)


@pytest.mark.parametrize("n_free", [0, 1])
def test_a_face_without_room_to_move_leaves_the_point(n_free):
    K, z = gaussian(4), np.array([0.0, 1.0, 0.0, 1.0])
    z[:n_free] = 0.5
    v = K @ z - 1.0
    ours, scores = solve_on_face(K, z, v, np.zeros(4), np.ones(4))
    np.testing.assert_array_equal(ours, z)
    np.testing.assert_array_equal(scores, v)


@pytest.mark.parametrize("sizes", [(10, 10), (1, 19), (19, 1), (3, 17)])
def test_with_two_groups_both_sums_are_kept(sizes):
    rng = np.random.default_rng(5)
    K, q = gaussian(20), rng.standard_normal(20)
    z, wide = rng.standard_normal(20), np.full(20, 1e6)
    group_of = np.repeat([0, 1], sizes)
    ours, scores = solve_on_face(K, z, K @ z + q, -wide, wide, group_of)
    members = np.eye(2)[group_of]
    np.testing.assert_allclose(members.T @ ours, members.T @ z, atol=1e-9)
    np.testing.assert_allclose(scores, K @ ours + q, atol=1e-9)
    for group in range(2):
        v = scores[group_of == group]
        np.testing.assert_allclose(v, v[0], atol=1e-7)
