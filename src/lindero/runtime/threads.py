"""Threads over tiles of work, with BLAS kept to one thread inside each.

Compiled code and BLAS release Python's lock, so plain threads use all cores. They are started for
one fit and ended with it: nothing is left behind for a forked process to trip over, and several
fits may run at once in one process. The number of threads is the one BLAS may use, so
``threadpoolctl`` limits and ``OMP_NUM_THREADS`` hold here too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import joblib
from threadpoolctl import LibController, ThreadpoolController

T = TypeVar("T")


@cache
def _blas_libraries() -> list[LibController]:
    libraries: list[LibController] = ThreadpoolController().select(user_api="blas").lib_controllers
    return libraries


class _SingleThreadedBlas:
    """Limits BLAS to one thread while anyone in the process is inside. The limit belongs to the
    process, not to a thread: it is set by the first to enter and lifted by the last to leave, so
    that fits in several threads do not undo each other's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._allowed: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._allowed = [library.get_num_threads() for library in _blas_libraries()]
                for library in _blas_libraries():
                    library.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, allowed in zip(_blas_libraries(), self._allowed, strict=True):
                    library.set_num_threads(allowed)

    def allowed(self) -> int:
        """Threads that BLAS may use outside."""
        with self._lock:
            numbers = self._allowed if self._inside else []
            numbers = numbers or [library.get_num_threads() for library in _blas_libraries()]
            return min(numbers, default=1)


single_threaded_blas = _SingleThreadedBlas()


@cache
def _cores() -> int:
    return int(joblib.cpu_count())


def available_threads() -> int:
    """Cores this process may use, no more than BLAS is allowed."""
    return max(1, min(_cores(), single_threaded_blas.allowed()))


class TileThreads:
    """Maps a function over tiles; results never depend on the number of threads."""

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = available_threads() if n_threads is None else n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> TileThreads:
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="lindero")
        single_threaded_blas.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
                self._pool = None
        finally:
            single_threaded_blas.__exit__()

    def map(self, work: Callable[[T], Any], items: Iterable[T]) -> None:
        """Run `work` on every item; the first error is raised, items not begun are dropped."""
        if self._pool is None:
            for item in items:
                work(item)
        else:
            for _ in self._pool.map(work, items):
                pass
