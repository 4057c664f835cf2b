"""Threads over tiles of work, with BLAS kept to one thread inside each.

Compiled code and BLAS release Python's lock, so plain threads use all cores. They are started for
one fit and ended with it: nothing is left behind for a forked process to trip over, and several
fits may run at once in one process. The number of threads is the one BLAS may use, so
``threadpoolctl`` limits and ``OMP_NUM_THREADS`` hold here too.

BLAS with several threads adds in another order than with one. Whatever a result depends on is
computed with one, so that it is the same whether or not other threads keep BLAS to one meanwhile.

Machines that learn from single rows change in place. `one_at_a_time` lets other threads wait for
the end of a change, so that they see the model before it or after it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from typing import Any, TypeVar, cast

import joblib
from threadpoolctl import LibController, ThreadpoolController

T = TypeVar("T")


@cache
def _blas_libraries() -> list[LibController]:
    libraries: list[LibController] = ThreadpoolController().select(user_api="blas").lib_controllers
    return libraries


@cache
def _blas_setters() -> list[Callable[[int], Any]]:
    return [_make_setter(library) for library in _blas_libraries()]


def _make_setter(library: LibController) -> Callable[[int], Any]:
    """Sets the threads of a library, from whichever thread: threadpoolctl listens to the first that
    ever set a limit, and silently to no other, until that one lets go."""
    let_go = getattr(library, "clear_controlling_thread", None)
    # What it calls after that; half the time of what follows.
    direct: Callable[[int], Any] | None = getattr(library, "_real_set_num_threads", None)
    if let_go is None or direct is not None:
        return direct or cast(Callable[[int], Any], library.set_num_threads)

    def set_number(number: int) -> None:
        let_go(force=True)
        library.set_num_threads(number)
        let_go(force=True)

    return set_number


class _SingleThreadedBlas:
    """Limits BLAS to one thread while anyone in the process is inside. The limit belongs to the
    process, not to a thread: it is set by the first to enter and lifted by the last to leave, so
    that fits in several threads do not undo each other's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._allowed: list[int] = []
        self._own = threading.local()  # how often the thread itself is inside
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._leave_others_behind,
            )

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._allowed = [library.get_num_threads() for library in _blas_libraries()]
                self._set([1] * len(self._allowed))
            self._inside += 1
            self._own.depth = getattr(self._own, "depth", 0) + 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            self._own.depth -= 1
            if self._inside == 0:
                self._set(self._allowed)

    def _set(self, numbers: list[int]) -> None:
        for set_number, number, allowed in zip(
            _blas_setters(), numbers, self._allowed, strict=True
        ):
            if allowed != 1:
                set_number(number)

    def _leave_others_behind(self) -> None:
        """In a forked process only the thread that forked goes on."""
        others, self._inside = self._inside, getattr(self._own, "depth", 0)
        if others and not self._inside:
            self._set(self._allowed)
        self._lock.release()

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


class _SharedItems:
    """Items that several threads take one by one. Fewer objects than a future for each, which
    counts where there are a hundred thousand small ones."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)
        self._lock = threading.Lock()

    def work_off(self, work: Callable[[Any], Any]) -> None:
        """Run `work` on items while there are any; an error ends it for all threads."""
        try:
            while True:
                with self._lock:
                    item = next(self._items, _NONE_LEFT)
                if item is _NONE_LEFT:
                    return
                work(item)
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """Leave the rest undone."""
        with self._lock:
            self._items = iter(())


_NONE_LEFT = object()


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
            shared = _SharedItems(items)
            turns = [self._pool.submit(shared.work_off, work) for _ in range(self.n_threads)]
            try:
                for turn in turns:
                    turn.result()
            finally:
                shared.drop()


# -- one change at a time --------------------------------------------------------------------------

Method = TypeVar("Method", bound=Callable[..., Any])

#: Beside the objects, not in them: locks can neither be copied nor saved.
_locks: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_making = threading.Lock()


def _forget_locks() -> None:
    """A forked process has none of the threads that held them."""
    global _making
    _making = threading.Lock()
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


def lock_of(thing: Any) -> threading.RLock:
    """The lock of an object, which may be acquired again by the thread that has it."""
    lock = _locks.get(thing)
    if lock is None:
        with _making:
            lock = _locks.setdefault(thing, threading.RLock())
    return lock


def one_at_a_time(method: Method) -> Method:
    """A method that waits while another thread is in such a method of the same object."""

    @wraps(method)
    def waiting(self: Any, *args: Any, **options: Any) -> Any:
        with lock_of(self):
            return method(self, *args, **options)

    return cast(Method, waiting)
