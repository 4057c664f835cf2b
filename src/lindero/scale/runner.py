"""Who works on partitions: threads of this process, or the workers of a cluster.

A pass maps a function over all partitions and merges the results two by two, along a tree. Nothing
that a pass needs is left behind on a worker: what a function gets besides its partition is in its
arguments. So a worker that dies takes only copies with it, and Dask has another one do its part.

How far a pass has come is reported after each partition, to whoever asked for that.

Without a cluster each thread holds one partition at a time, read anew in each pass. On a cluster
partitions stay with the workers between passes where all of them fit into a share of their memory.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from lindero.runtime.threads import available_threads, single_threaded_blas
from lindero.scale.partitions import Block, Rows, Source, join_block

#: Share of the memory of all workers that partitions may take.
_SHARE_OF_MEMORY = 0.4

#: Results that are merged by one task.
_MERGED_AT_ONCE = 8

#: Bytes of a question that go along with each partition.
_SENT_EACH_TIME = 100_000

#: How often a task is tried again where the network or a disk has failed.
_RETRIES = 2
_OPTIONS = {"pure": False, "retries": _RETRIES}

#: What is made of the rows of a partition once they are loaded: its number and label are given.
Prepare = Callable[[int, str, Rows], Any]

#: What a pass asks of that.
Work = Callable[[Any], Any]
Merge = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class PassReport:
    """How far a pass over the partitions has come, as `lindero.scale.fit` tells its callback.

    Parameters
    ----------
    n_pass : int
        Which pass it is, from 1 on.
    n_done, n_partitions : int
        Partitions that are done, and all of them.
    seconds : float
        Since the pass began.

    See Also
    --------
    lindero.scale.fit : Calls a function with it after each partition.

    Examples
    --------
    >>> from lindero.scale import PassReport
    >>> print(PassReport(n_pass=1, n_done=3, n_partitions=8, seconds=0.5))
    pass 1: 3 of 8 partitions
    """

    n_pass: int
    n_done: int
    n_partitions: int
    seconds: float

    def __str__(self) -> str:
        return f"pass {self.n_pass}: {self.n_done} of {self.n_partitions} partitions"


#: What is told how far a pass has come; what it answers does not matter.
Progress = Callable[[PassReport], Any]


class _Reporter:
    """Counts the partitions of a pass, and tells."""

    def __init__(self, progress: Progress | None, n_pass: int, n_partitions: int) -> None:
        self._progress, self._n_pass, self._n_partitions = progress, n_pass, n_partitions
        self._n_done, self._begun = 0, time.perf_counter()

    def __call__(self) -> None:
        self._n_done += 1
        if self._progress is not None:
            seconds = time.perf_counter() - self._begun
            n_done = min(self._n_done, self._n_partitions)
            self._progress(PassReport(self._n_pass, n_done, self._n_partitions, seconds))


class ThreadRunner:
    """Partitions in threads of this process, one for each at a time."""

    def __init__(
        self, source: Source, n_threads: int | None = None, progress: Progress | None = None
    ) -> None:
        self.source, self.progress = source, progress
        self.n_threads = min(n_threads or available_threads(), max(1, source.n_partitions))
        self.n_passes = 0

    def over(self, source: Source, n_threads: int | None = None) -> ThreadRunner:
        """The same threads, or another number of them, over other partitions."""
        runner = ThreadRunner(source, n_threads or self.n_threads, self.progress)
        runner.n_passes = self.n_passes
        return runner

    def keep(self, n_bytes: float, prepare: Prepare) -> None:
        """Partitions are read anew in each pass."""

    def reduce(self, prepare: Prepare, work: Work, merge: Merge) -> Any:
        """What `work` makes of all partitions, merged in their order two by two, so that the result
        does not depend on which thread was first."""
        self.n_passes += 1
        partitions = self.source.partitions
        report = _Reporter(self.progress, self.n_passes, len(partitions))
        tree = _MergeTree(merge)
        with single_threaded_blas:
            if self.n_threads == 1:
                for number, part in enumerate(partitions):
                    tree.add(number, _do_one(prepare, work, number, part))
                    report()
                return tree.finish()
            with ThreadPoolExecutor(self.n_threads, thread_name_prefix="lindero") as pool:
                waiting: dict[Future[Any], int] = {}
                todo = iter(enumerate(partitions))
                try:
                    while True:
                        for number, part in todo:
                            waiting[pool.submit(_do_one, prepare, work, number, part)] = number
                            if len(waiting) >= self.n_threads:
                                break
                        if not waiting:
                            return tree.finish()
                        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                            tree.add(waiting.pop(future), future.result())
                            report()
                finally:
                    for future in waiting:
                        future.cancel()


def _do_one(prepare: Prepare, work: Work, number: int, part: Any) -> Any:
    with single_threaded_blas:
        return work(prepare(number, part.label, part.load()))


class _MergeTree:
    """Merges the results of partitions pairwise, in an order that only their numbers decide."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._early: dict[int, Any] = {}
        self._next = 0
        self._stack: list[tuple[int, Any]] = []

    def add(self, number: int, result: Any) -> None:
        self._early[number] = result
        while self._next in self._early:
            height, value = 0, self._early.pop(self._next)
            while self._stack and self._stack[-1][0] == height:
                value = self._merge(self._stack.pop()[1], value)
                height += 1
            self._stack.append((height, value))
            self._next += 1

    def finish(self) -> Any:
        _, value = self._stack.pop()
        while self._stack:
            value = self._merge(self._stack.pop()[1], value)
        return value


class ClusterRunner:
    """Partitions on the workers of a Dask cluster."""

    def __init__(self, source: Source, client: Any, progress: Progress | None = None) -> None:
        if client.status != "running":
            raise ValueError(
                f"The Dask client is {client.status}: make a new one (dask.distributed.Client), or "
                "close none before the fit has ended."
            )
        self.source, self.progress = source, progress
        self.client = client
        self.n_passes = 0
        self._kept: list[Any] | None = None

    def keep(self, n_bytes: float, prepare: Prepare) -> None:
        """Have workers keep what is prepared of their partitions, where all of it takes no more
        than a share of their memory."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        memory = sum(worker.get("memory_limit") or 0 for worker in workers)
        if n_bytes <= _SHARE_OF_MEMORY * memory:
            self._kept = [
                self._prepare(prepare, number, part)
                for number, part in enumerate(self.source.partitions)
            ]

    def _prepare(self, prepare: Prepare, number: int, part: Any) -> Any:
        """A future of what is prepared of a partition."""
        if not isinstance(part, Block):
            return self.client.submit(_load_and_prepare, prepare, number, part, **_OPTIONS)
        found = [
            None if one is None else self.client.compute(one, retries=_RETRIES)
            for one in (part.X, part.y, part.weights)
        ]
        return self.client.submit(
            _join_and_prepare, prepare, number, part.label, *found, **_OPTIONS
        )

    def _send(self, work: Work) -> Any:
        """The work, which is sent once if it is large (landmarks, fetched rows): as the result of a
        task, so that it is there again when a worker that held it dies."""
        if len(pickle.dumps(work)) <= _SENT_EACH_TIME:
            return work
        return self.client.submit(_give, [work], **_OPTIONS)

    def reduce(self, prepare: Prepare, work: Work, merge: Merge) -> Any:
        """What `work` makes of all partitions, merged in their order."""
        self.n_passes += 1
        results, work = [], self._send(work)
        for number, part in enumerate(self.source.partitions):
            if self._kept is None and not isinstance(part, Block):
                one = self.client.submit(_do_one, prepare, work, number, part, **_OPTIONS)
            else:
                kept = self._kept[number] if self._kept else self._prepare(prepare, number, part)
                one = self.client.submit(_work_alone, work, kept, **_OPTIONS)
            results.append(one)
        if self.progress is not None:
            from distributed import as_completed

            report = _Reporter(self.progress, self.n_passes, len(results))
            for _ in as_completed(results):
                report()
        while len(results) > 1:
            results = [
                self.client.submit(
                    _merge_all, merge, results[at : at + _MERGED_AT_ONCE], **_OPTIONS
                )
                for at in range(0, len(results), _MERGED_AT_ONCE)
            ]
        return results[0].result()


def _give(work: list[Work]) -> Work:
    return work[0]


def _load_and_prepare(prepare: Prepare, number: int, part: Any) -> Any:
    return prepare(number, part.label, part.load())


def _join_and_prepare(
    prepare: Prepare, number: int, label: str, X: Any, y: Any, weights: Any
) -> Any:
    return prepare(number, label, join_block(X, y, weights, label))


def _work_alone(work: Work, prepared: Any) -> Any:
    with single_threaded_blas:
        return work(prepared)


def _merge_all(merge: Merge, results: list[Any]) -> Any:
    tree = _MergeTree(merge)
    for number, result in enumerate(results):
        tree.add(number, result)
    return tree.finish()


Runner = ThreadRunner | ClusterRunner


def find_client() -> Any:
    """The active client of Dask, None where there is none or it never found its scheduler. Dask is
    not imported to know."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        client = distributed.get_client()
    except ValueError:
        return None
    return None if client.status == "connecting" else client


def choose_runner(source: Source, client: Any = None, progress: Progress | None = None) -> Runner:
    """The cluster of a client, or of the active one; else threads."""
    client = client or find_client()
    if client is None:
        return ThreadRunner(source, progress=progress)
    return ClusterRunner(source, client, progress)
