"""Processes that can be stopped, and the clock for compilation."""

import os
import subprocess
import sys
import time

import numba
import pytest

from lindero.runtime.compilation import CompilationClock
from lindero.runtime.workers import Inline, WorkerPool, count_workers


def add(shared, seconds):
    time.sleep(seconds)
    return shared + seconds


def vanish(shared, argument):
    os._exit(3)


def fail(shared, argument):
    raise KeyError(argument)


def collect(pool, n_pieces, seconds=60.0):
    ended, until = [], time.perf_counter() + seconds
    while len(ended) < n_pieces and time.perf_counter() < until:
        ended += pool.wait(0.2)
    return {outcome.key: outcome for outcome in ended}


def test_work_is_done_stopped_or_lost_and_the_pool_goes_on():
    pool = WorkerPool(2, 10.0)
    try:
        pool.start("slow", add, 1000.0, seconds=0.5)
        pool.start("gone", vanish, None)
        assert pool.n_free == 0
        ended = collect(pool, 2)
        assert ended["slow"].stopped
        assert ended["gone"].lost
        assert pool.n_free == 2
        pool.start("done", add, 0.25, seconds=60.0)
        done = collect(pool, 1)["done"]
        assert (done.value, done.stopped, done.lost) == (10.25, False, False)
        assert done.seconds >= 0.25
    finally:
        pool.close()


def test_a_bug_in_the_work_is_seen_here():
    pool = WorkerPool(1, None)
    try:
        pool.start("broken", fail, "name")
        with pytest.raises(RuntimeError, match="KeyError: 'name'"):
            collect(pool, 1)
    finally:
        pool.close()


def test_closing_ends_whatever_runs():
    pool = WorkerPool(1, 0.0)
    pool.start("long", add, 1000.0)
    pool.wait(0.1)
    begun = time.perf_counter()
    pool.close()
    assert time.perf_counter() - begun < 6.0


def test_a_script_without_a_main_guard_may_start_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from lindero.runtime.workers import WorkerPool\n"
        "pool = WorkerPool(1, 3)\n"
        "pool.start('k', lambda shared, more: shared * more, 4)\n"
        "ended = []\n"
        "while not ended:\n    ended = pool.wait(1.0)\n"
        "print(ended[0].value)\n"
        "pool.close()\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("12\n", "")


def test_inline_works_here():
    pool = Inline(1.0)
    pool.start("one", add, 0.0, seconds=1e-9)
    assert pool.n_free == 0
    (outcome,) = pool.wait(1.0)
    assert (outcome.key, outcome.value, outcome.stopped) == ("one", 1.0, False)
    assert pool.n_free == 1


def test_data_that_fill_memory_get_one_worker():
    assert count_workers(10**15) == 1
    assert count_workers(0) >= 1


def test_the_clock_counts_compilation_and_says_when_it_happens():
    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * 2

    said = []
    with CompilationClock(said.append) as clock:
        assert outer(1) == 4
        compiled = clock.seconds
        assert compiled > 0.0
        assert outer(2) == 6
        assert clock.seconds == compiled
    assert said == [True, False]
    inner(1.5)
    assert clock.seconds == compiled


def test_the_clock_goes_on_after_the_end_of_what_began_before():
    said = []
    clock = CompilationClock(said.append)
    clock.on_end(None)  # another thread was compiling when it was entered
    assert (clock.seconds, said) == (0.0, [])
    clock.on_start(None)
    assert clock.read() > 0.0
    clock.on_end(None)
    assert clock.seconds == clock.read() > 0.0
    assert said == [True, False]
