"""Threads over tiles of work, with BLAS kept to one thread inside each.

Compiled code and BLAS release Python's lock, so plain threads use all cores. They are started for
one fit and ended with it: nothing is left behind for a forked process to trip over, and several
fits may run at once in one process. The number of threads is the one BLAS may use, so
``threadpoolctl`` limits and ``OMP_NUM_THREADS`` hold here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from types import TracebackType
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

T = TypeVar("T")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def available_threads() -> int:
    """Cores this process may use, no more than BLAS is allowed at the moment."""
    blas = [library["num_threads"] for library in _controller().select(user_api="blas").info()]
    return int(min([joblib.cpu_count(), *blas]))


class TileThreads:
    """Maps a function over tiles; results never depend on the number of threads."""

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = available_threads() if n_threads is None else n_threads
        self._pool: ThreadPoolExecutor | None = None
        self._limits: Any = None

    def __enter__(self) -> TileThreads:
        if self.n_threads > 1:
            self._limits = _controller().limit(limits=1, user_api="blas")
            self._limits.__enter__()
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="lindero")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._limits.__exit__(kind, error, trace)
            self._pool = None

    def map(self, work: Callable[[T], object], items: Iterable[T]) -> None:
        """Run `work` on every item; the first error is raised when all have stopped."""
        if self._pool is None:
            for item in items:
                work(item)
        else:
            for _ in self._pool.map(work, items):
                pass
