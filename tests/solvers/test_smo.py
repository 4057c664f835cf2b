"""Compiled inner steps against plain loops, a step at a time and at the end."""

import numpy as np
import pytest

from lindero.problems.dual_qp import centred_gap
from lindero.solvers.smo import LANES, add_rows, heights, longest_step, smo_block
from tests.naive import smo as naive


def block(n, seed=0, dtype=np.float64, C=1.0):
    """A random classification block: K (padded), z at 0 and its bounds, v = q near ∓1.

    q differs between samples, so that no two choices are equally good.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    padded = np.zeros((n, -(-n // LANES) * LANES), dtype)
    padded[:, :n] = K
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    q = (-y * rng.uniform(0.9, 1.1, n)).astype(dtype)
    return K, padded, np.zeros(n), np.minimum(0, C * y), np.maximum(0, C * y), q


def run(padded, K, z, lower, upper, v, tol, max_iter, share=0.0, group_of=None):
    dtype = K.dtype.type
    group_of = np.zeros(len(z), dtype=np.int64) if group_of is None else group_of
    return smo_block(
        padded,
        K.diagonal().copy(),
        z,
        lower,
        upper,
        group_of,
        int(group_of.max()) + 1,
        v,
        dtype(tol),
        dtype(share),
        dtype(1e-12),
        longest_step(float(np.abs(K).max())),
        max_iter,
    )


@pytest.mark.parametrize("n", [2, 30, 64, 65, 130])
@pytest.mark.parametrize("n_steps", [0, 1, 2, 5, 20])
def test_each_step_is_the_step_of_the_twin(n, n_steps):
    K, padded, z, lower, upper, v = block(n, seed=n, C=0.7)
    twin_z, twin_v = z.copy(), v.copy()
    expected = naive.smo_block(K, twin_z, lower, upper, twin_v, 1e-10, 1e-12, n_steps)
    assert run(padded, K, z, lower, upper, v, 1e-10, n_steps) == expected
    np.testing.assert_allclose(z, twin_z, atol=1e-12)
    np.testing.assert_allclose(v, twin_v, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_at_the_end_the_gap_is_within_tol_and_the_sum_is_kept(dtype, tol, C):
    K, padded, z, lower, upper, v = block(100, dtype=dtype, C=C)
    q = v.astype(np.float64)
    steps = run(padded, K, z, lower, upper, v, tol, 100_000)
    assert 0 < steps < 100_000
    least, most = naive.heights(v, z, lower, upper)
    assert most - least <= tol
    assert abs(z.sum()) <= 1e-12 * C
    assert (z >= lower).all()
    assert (z <= upper).all()
    np.testing.assert_allclose(v, K.astype(np.float64) @ z + q, atol=2000 * C * np.finfo(dtype).eps)


def test_an_optimal_block_takes_no_step_and_changes_nothing():
    K, padded, z, lower, upper, v = block(40)
    run(padded, K, z, lower, upper, v, 1e-8, 100_000)
    before = z.copy()
    assert run(padded, K, z, lower, upper, v, 1e-6, 100_000) == 0
    np.testing.assert_array_equal(z, before)


def test_a_share_of_the_first_gap_is_enough_when_asked_for():
    K, padded, z, lower, upper, v = block(100, C=10.0)
    run(padded, K, z, lower, upper, v, 0.0, 100_000, share=0.1)
    least, most = naive.heights(v, z, lower, upper)
    first = 1.1 + 1.1
    assert 0 < most - least <= 0.1 * first


def test_variables_that_meet_a_bound_are_exactly_on_it():
    K, padded, z, lower, upper, v = block(100, C=0.1)
    run(padded, K, z, lower, upper, v, 1e-6, 100_000)
    at_bound = (z == upper) | (z == lower)
    near_bound = (np.abs(z - upper) < 1e-14) | (np.abs(z - lower) < 1e-14)
    assert at_bound.sum() > 50
    np.testing.assert_array_equal(at_bound, near_bound)


@pytest.mark.parametrize("n_steps", [1, 2, 5, 40, 100_000])
def test_groups_take_turns_and_keep_their_sums(n_steps):
    K, padded, z, lower, upper, _ = block(90, C=0.7)
    group_of = np.repeat([0, 1], [40, 50])
    lower, upper = np.zeros(90), np.full(90, 0.7)
    z[:20], z[40:50] = 0.5, 0.6
    v = K @ z
    twin_z, twin_v = z.copy(), v.copy()
    groups = [range(40), range(40, 90)]
    expected = naive.smo_block(K, twin_z, lower, upper, twin_v, 1e-9, 1e-12, n_steps, groups=groups)
    assert run(padded, K, z, lower, upper, v, 1e-9, n_steps, group_of=group_of) == expected
    np.testing.assert_allclose(z, twin_z, atol=1e-9)
    np.testing.assert_allclose([z[:40].sum(), z[40:].sum()], [10, 6], rtol=1e-13)
    if n_steps == 100_000:
        for group in groups:
            members = slice(group.start, group.stop)
            least, most = naive.heights(v[members], z[members], lower[members], upper[members])
            assert most - least <= 1e-9


def test_heights_are_centred_by_group_and_barred_where_a_variable_cannot_move():
    v, z = np.array([1.0, 2.0, 3.0, 4.0, 9.0, 5.0]), np.array([0.0, 1.0, 0.5, 0.0, 0.5, 0.5])
    lower, upper, group_of = np.zeros(6), np.ones(6), np.array([0, 0, 0, 0, 1, 1])
    rising, falling, middles = np.empty(6), np.empty(6), np.empty(2)
    assert centred_gap(v, z, lower, upper, group_of, middles) == 4.0
    for members, middle in ((slice(0, 4), 2.0), (slice(4, 6), 7.0)):
        ends = naive.heights(v[members], z[members], lower[members], upper[members])
        assert np.mean(ends) == middle
    np.testing.assert_array_equal(middles, [2.0, 7.0])
    heights(v, z, lower, upper, group_of, middles, rising, falling)
    np.testing.assert_array_equal(rising, [-1, np.inf, 1, 2, 2, -2])
    np.testing.assert_array_equal(falling, [np.inf, 0, -1, np.inf, -2, 2])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kept_rows_are_added_over_their_columns_only(dtype):
    rng = np.random.default_rng(0)
    values, f = rng.standard_normal((5, 40)).astype(dtype), rng.standard_normal(40)
    slots, coefficients = np.array([4, 0, 2]), rng.standard_normal(3).astype(dtype)
    expected = f.copy()
    expected[10:33] += coefficients.astype(float) @ values[slots, 10:33].astype(float)
    add_rows(values, slots, coefficients.astype(np.float64), 10, 33, f[10:33])
    np.testing.assert_allclose(f, expected, atol=20 * np.finfo(dtype).eps)
