"""Work on a Dask cluster, by the same verbs as `runtime.workers` has for processes beside this one.

A cluster is used where joblib is told to: ``with joblib.parallel_config(backend="dask")``. What all
work shares is sent once, and is there again if a worker that held it dies. A piece of work whose
time is over is given up: its result is not waited for, though the worker it runs on has to end it
before it does anything else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from lindero.runtime.workers import Outcome


def find_dask_client() -> Any:
    """The client of joblib's Dask backend; None where another backend is in force."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    named = type(backend).__name__ == "DaskDistributedBackend"
    return getattr(backend, "client", None) if named else None


class ClusterPool:
    """The workers of a Dask cluster, one piece of work for each of their threads."""

    def __init__(self, client: Any, shared: Any) -> None:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        self.n_workers = max(1, sum(worker["nthreads"] for worker in workers))
        self._client = client
        self._shared = client.submit(_give, [shared], pure=False)
        self._running: dict[Any, tuple[Any, float, float | None]] = {}

    @property
    def n_free(self) -> int:
        """How many pieces of work can be started now."""
        return int(self.n_workers - len(self._running))

    @property
    def is_compiling(self) -> bool:
        """Nobody here knows."""
        return False

    def start(
        self, key: Any, work: Callable[[Any, Any], Any], argument: Any, seconds: float | None = None
    ) -> None:
        """Begin ``work(shared, argument)``, which may take so many seconds."""
        future = self._client.submit(work, self._shared, argument, pure=False)
        self._running[future] = (key, time.perf_counter(), seconds)

    def wait(self, seconds: float) -> list[Outcome]:
        """What has ended, at once if something has, and after these seconds at the latest."""
        from distributed import wait

        if not self._running:
            return []
        with suppress(TimeoutError):
            wait(list(self._running), timeout=seconds, return_when="FIRST_COMPLETED")
        ended, now = [], time.perf_counter()
        for future, (key, begun, most) in list(self._running.items()):
            spent = now - begun
            if future.done():
                ended.append(self._finish(future, key, spent))
            elif most is not None and spent > most:
                future.cancel()
                ended.append(Outcome(key, spent, stopped=True))
            else:
                continue
            del self._running[future]
        return ended

    def _finish(self, future: Any, key: Any, spent: float) -> Outcome:
        from distributed import KilledWorker

        try:
            return Outcome(key, spent, future.result())
        except KilledWorker:
            return Outcome(key, spent, lost=True)

    def close(self) -> None:
        """Give up what is running."""
        for future in self._running:
            future.cancel()
        self._running = {}


def _give(shared: list[Any]) -> Any:
    return shared[0]
