"""Which kernel rows are kept, and which go first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lindero.kernels.blocks import RowCache
from tests.naive import cache as naive

N = 16


def cache_of(capacity, n_samples=N, dtype=np.float64):
    return RowCache(n_samples, dtype, capacity * n_samples * np.dtype(dtype).itemsize / 2**20)


def rows(*numbers):
    return np.array(numbers, dtype=np.int64)


def use(cache, *numbers):
    """Find rows, and claim slots for those not kept; which were found."""
    wanted = rows(*numbers)
    found = cache.find(wanted) >= 0
    cache.claim(wanted[~found])
    return found.tolist()


def kept(cache):
    return set(np.flatnonzero(cache.find(np.arange(N)) >= 0).tolist())


@pytest.mark.parametrize(("capacity", "dtype"), [(0, np.float64), (3, np.float64), (5, np.float32)])
def test_capacity_is_what_the_megabytes_hold(capacity, dtype):
    cache = cache_of(capacity, dtype=dtype)
    assert cache.capacity == capacity
    assert cache.values.shape == (capacity, N)
    assert cache.values.dtype == dtype


def test_capacity_is_never_more_than_all_rows():
    assert RowCache(N, np.float32, megabytes=1000).capacity == N


def test_the_least_recently_used_row_goes_first():
    cache = cache_of(3)
    for row in (0, 1, 2, 0, 3):
        use(cache, row)
    assert kept(cache) == {0, 2, 3}


@given(
    capacity=st.integers(0, 6),
    requests=st.lists(st.integers(0, N - 1), max_size=60),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_one_row_at_a_time_it_is_a_textbook_least_recently_used_cache(capacity, requests):
    cache, twin = cache_of(capacity), naive.RowCache(capacity)
    assert [use(cache, row)[0] for row in requests] == [twin.use(row) for row in requests]
    assert kept(cache) == set(twin.kept)


@given(
    capacity=st.integers(0, 8),
    requests=st.lists(st.sets(st.integers(0, N - 1), min_size=1), max_size=30),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_every_kept_row_has_its_own_slot_with_its_own_values(capacity, requests):
    cache = cache_of(capacity)
    for numbers in requests:
        wanted = rows(*sorted(numbers))
        missing = wanted[cache.find(wanted) < 0]
        slots = cache.claim(missing)
        stored = slots >= 0
        cache.values[slots[stored]] = missing[stored, None]
    slots = cache.find(np.arange(N))
    owners = np.flatnonzero(slots >= 0)
    assert len(owners) <= capacity
    assert len(set(slots[owners])) == len(owners)
    np.testing.assert_array_equal(cache.values[slots[owners], 0], owners)


def test_rows_of_the_current_find_are_never_evicted():
    cache = cache_of(3)
    use(cache, 0)
    use(cache, 1)
    use(cache, 2)
    assert use(cache, 0, 2, 7, 8, 9) == [True, True, False, False, False]
    assert kept(cache) == {0, 2, 7}


def test_rows_beyond_what_can_be_kept_get_no_slot():
    cache = cache_of(2)
    cache.find(rows(1, 2, 3))
    assert (cache.claim(rows(1, 2, 3)) >= 0).tolist() == [True, True, False]


def test_a_second_claim_does_not_take_slots_of_the_first():
    cache = cache_of(2)
    cache.find(rows(1, 2))
    first, second = cache.claim(rows(1)), cache.claim(rows(2))
    assert set(first) | set(second) == {0, 1}
    assert cache.claim(rows(3)).tolist() == [-1]


def test_released_rows_are_forgotten_and_their_slots_are_the_next_to_go():
    cache = cache_of(2)
    use(cache, 0)
    use(cache, 1)
    cache.release(rows(1, 9))
    assert kept(cache) == {0}
    use(cache, 2)
    assert kept(cache) == {0, 2}
