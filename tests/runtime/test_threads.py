"""Threads over tiles: the same numbers from any number of them, nothing left behind."""

import copy
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from lindero import svm
from lindero.runtime.threads import TileThreads, available_threads, one_at_a_time


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


# -- forks, other threads, changes in place -----------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_while_another_thread_fits_can_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    svm.SVC().fit(X[:500], y[:500])  # compiled
    stop = threading.Event()

    def keep_fitting():
        while not stop.is_set():
            svm.SVC(C=10.0).fit(X, y)

    thread = threading.Thread(target=keep_fitting)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                fitted = svm.SVC().fit(X[:800], y[:800])
                os._exit(0 if fitted.certificate_.kkt_gap <= 1e-3 else 3)
            assert wait_for(child) == 0
    finally:
        stop.set()
        thread.join()


def wait_for(child):
    """The exit code of a process, or that it has no end."""
    for _ in range(6000):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "no end"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_blas_has_its_threads_back_in_a_process_forked_while_others_limit_it():
    with threadpool_limits(limits=2, user_api="blas"):
        inside, leave = threading.Event(), threading.Event()

        def limit():
            with TileThreads(1):
                inside.set()
                leave.wait()

        thread = threading.Thread(target=limit)
        thread.start()
        inside.wait()
        child = os.fork()
        if child == 0:
            os._exit(0 if blas_threads() == [2] * len(blas_threads()) else 3)
        leave.set()
        thread.join()
        assert wait_for(child) == 0


@pytest.mark.parametrize("name", ["SVC", "IncrementalSVC", "SVR", "OneClassSVM"])
def test_a_fit_beside_others_has_the_same_bits_as_alone(name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 30))
    y = (X[:, 0] > 0).astype(int)
    rows = rng.normal(size=(50, 30))

    def answers():
        model = getattr(svm, name)(kernel="linear").fit(X, y)
        return model.dual_coef_.tobytes(), model.decision_function(rows).tobytes() if hasattr(
            model, "decision_function"
        ) else model.predict(rows).tobytes()

    alone = answers()
    leave = threading.Event()

    def limit():
        while not leave.is_set():
            with TileThreads(1):
                svm.SVC().fit(X[:100], y[:100])

    thread = threading.Thread(target=limit)
    thread.start()
    try:
        assert all(answers() == alone for _ in range(5))
    finally:
        leave.set()
        thread.join()


def test_methods_wait_for_each_other_and_may_call_each_other():
    class Account:
        def __init__(self):
            self.parts = [0, 0]

        @one_at_a_time
        def change(self):
            self.parts[0] += 1
            time.sleep(0.001)
            self.parts[1] += 1
            return self.look()

        @one_at_a_time
        def look(self):
            return tuple(self.parts)

    account, seen = Account(), []
    threads = [threading.Thread(target=lambda: seen.append(account.change())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        seen.append(account.look())
    for thread in threads:
        thread.join()
    assert all(one == other for one, other in seen)
    assert account.look() == (8, 8)
    assert pickle.loads(pickle.dumps(copy.copy(account.__dict__))) == {"parts": [8, 8]}
