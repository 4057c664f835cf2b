"""Threads over tiles: the same numbers from any number of them, nothing left behind."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from lindero.runtime.threads import TileThreads, available_threads


def blas_threads():
    return [lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_every_item_is_worked_on_once(n_threads):
    counts = np.zeros(100, dtype=int)

    def work(item):
        counts[item] += 1

    with TileThreads(n_threads) as threads:
        threads.map(work, range(100))
    assert (counts == 1).all()


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_an_error_in_the_work_reaches_the_caller(n_threads):
    with TileThreads(n_threads) as threads, pytest.raises(ZeroDivisionError):
        threads.map(lambda item: 1 // (item - 5), range(10))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("allowed", [1, 2])
def test_blas_is_limited_inside_and_restored_after_an_error(n_threads, allowed):
    with threadpool_limits(limits=allowed, user_api="blas"):
        before, inside = blas_threads(), []
        threads = TileThreads(n_threads)
        with pytest.raises(ZeroDivisionError), threads:
            threads.map(lambda item: inside.append(blas_threads()) or 1 // item, [1, 0])
        assert blas_threads() == before
    assert {number for numbers in inside for number in numbers} == {1}


def test_blas_is_restored_only_when_the_last_of_several_has_left():
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        first, second = TileThreads(2), TileThreads(1)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_no_thread_outlives_its_block():
    with TileThreads(3) as threads:
        threads.map(lambda item: None, range(10))
    assert not [t for t in threading.enumerate() if t.name.startswith("lindero")]


def test_a_limit_on_blas_is_a_limit_here():
    with threadpool_limits(limits=1, user_api="blas"):
        assert available_threads() == 1
        assert TileThreads().n_threads == 1
