"""Writes one after another, and no more waiting than is wanted, in number and in bytes.

A store has one writer: a thread of its own does what is asked for, in the order of asking. Whoever
comes when too many wait already is told so at once, and when to come again. A write that has not
begun in time is taken back, and has not happened; one that has begun is always finished, so that
nobody is left not knowing.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from lindero.serve.refusals import RefusedError

#: Seconds of the past writes that an estimate forgets: a share for each new one.
_NEW_SHARE = 0.1


class Room:
    """Memory for what has come in and is not answered yet, shared by all requests.

    Parameters
    ----------
    size : int
        Bytes in all.
    free : int
        Bytes of one request that are not counted: short ones always find room.
    """

    def __init__(self, size: int, free: int) -> None:
        self.size = size
        self.free = free
        self.taken = 0
        self.refused = 0

    def take(self, before: int, more: int) -> None:
        """Let a request that holds `before` bytes hold more."""
        wanted = max(0, before + more - self.free) - max(0, before - self.free)
        if wanted > 0 and self.taken + wanted > self.size:
            self.refused += 1
            raise RefusedError(
                429,
                "too_many_waiting",
                "Other requests with large bodies are under way. Ask again after the time in "
                "Retry-After, or send less at once.",
                {"Retry-After": "1"},
            )
        self.taken += wanted

    def leave(self, held: int) -> None:
        """A request that held so many bytes is answered."""
        self.taken -= max(0, held - self.free)


class Turns:
    """Work that is done by some threads, with bounds on what waits.

    Parameters
    ----------
    n_threads : int
        One for writes.
    waiting : int
        Calls that may wait or be under way.
    seconds : float
        Until a call has begun.
    name : str
        Of the threads, and in refusals.
    """

    def __init__(self, n_threads: int, waiting: int, seconds: float, name: str) -> None:
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix=f"lindero-{name}")
        self._n_threads = n_threads
        self._lock = threading.Lock()
        self._closed = False
        self._usual = 0.01
        self.most_waiting = waiting
        self.seconds = seconds
        self.name = name
        self.waiting = 0
        self.refused = 0

    async def do(self, work: Callable[[], Any]) -> Any:
        """What a call returns or raises, when its turn has come."""
        future = self._enter(work)
        waiting = asyncio.wrap_future(future)
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.shield(waiting)
        except TimeoutError:
            if future.cancel():
                waiting.cancel()
                raise RefusedError(
                    503,
                    "too_busy",
                    f"The {self.name} had not begun within the limit of time, and has not "
                    "happened. Ask again.",
                    {"Retry-After": self._when_to_come_again()},
                ) from None
            return await waiting  # it has begun
        except asyncio.CancelledError:
            future.cancel()  # unless it has begun
            raise

    def _enter(self, work: Callable[[], Any]) -> Future[Any]:
        with self._lock:
            if self._closed:
                raise RefusedError(503, "stopping", "The server is stopping. Ask again in a while.")
            if self.waiting >= self.most_waiting:
                self.refused += 1
                raise RefusedError(
                    429,
                    "too_many_waiting",
                    f"{self.most_waiting} requests of this kind wait already, which is the limit. "
                    "Ask again after the time in Retry-After.",
                    {"Retry-After": self._when_to_come_again()},
                )
            self.waiting += 1
            future = self._pool.submit(self._take, work)
        future.add_done_callback(self._leave)
        return future

    def _take(self, work: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        try:
            return work()
        finally:
            self._usual += _NEW_SHARE * (time.perf_counter() - begun - self._usual)

    def _leave(self, future: Future[Any]) -> None:
        with self._lock:
            self.waiting -= 1

    def _when_to_come_again(self) -> str:
        return str(max(1, math.ceil(self._usual * self.waiting / self._n_threads)))

    def close(self) -> None:
        """Take no more, and finish what is under way and what waits."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(wait=True)
