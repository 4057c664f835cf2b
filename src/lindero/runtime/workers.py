"""Processes that work beside this one, and that can be stopped at any moment.

A fit that runs in this process holds up everything until it is done: compiled loops and other
libraries listen to no clock. Work that must not take longer than its share is done in a process of
its own, which is killed when its time is over, and replaced by a fresh one for the work to come.

    pool.start(key, function, argument, seconds=10)     begin, if a worker is free
    pool.wait(1.0)                                      what has ended by then, and how

Workers are started once and import the package once; what all work shares is written to a file
which each of them reads. Time in which loops are compiled, which happens once on a machine, is not
counted as time of the work, and where the system says how much of the processor a worker has had,
one that had to wait for others gets up to four times as long. Ctrl-C is for this process only. A
worker whose parent is gone ends.

`Inline` is a pool of no processes at all: it works here, one piece after the other, and nothing is
stopped. It is for tables so small that starting a process takes longer than all of the work.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from lindero.runtime.compilation import CompilationClock

#: What a worker needs before it has any data: Python, NumPy, compiled loops.
_BYTES_OF_WORKER = 500 * 2**20

#: Copies of the data that a worker may hold at a time: encoded, split, inside a machine.
_COPIES = 6

#: Times its share that work may take by the clock where others keep it from the processor.
_PATIENCE = 4.0


@dataclass(frozen=True)
class Outcome:
    """How a piece of work ended: its value; or `stopped`, out of time; or `lost`, its process gone.

    `seconds` are those it ran, without those in which loops were compiled.
    """

    key: Any
    seconds: float
    value: Any = None
    stopped: bool = False
    lost: bool = False


class Inline:
    """A pool that works in this process, and stops nothing."""

    n_workers = 1

    def __init__(self, shared: Any) -> None:
        self._shared = shared
        self._ended: list[Outcome] = []

    @property
    def n_free(self) -> int:
        """How much can be started now."""
        return 1 - len(self._ended)

    def start(
        self, key: Any, work: Callable[[Any, Any], Any], argument: Any, seconds: float | None = None
    ) -> None:
        """Do the work now: ``work(shared, argument)``."""
        begun = time.perf_counter()
        with CompilationClock() as clock:
            value = work(self._shared, argument)
        spent = time.perf_counter() - begun - clock.seconds
        self._ended.append(Outcome(key, spent, value))

    def wait(self, seconds: float) -> list[Outcome]:
        """What has ended."""
        ended, self._ended = self._ended, []
        return ended

    @property
    def is_compiling(self) -> bool:
        """Never while anyone asks."""
        return False

    def close(self) -> None:
        """Nothing is open."""


class WorkerPool:
    """Processes that work beside this one; see the top of the file.

    `shared` is given to all work. `n_workers` processes have the cores of the machine among them.
    """

    def __init__(self, n_workers: int, shared: Any) -> None:
        from joblib import cpu_count

        self.n_workers = n_workers
        threads = str(max(1, int(cpu_count()) // n_workers))
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self._env = dict.fromkeys(names, threads)
        self._folder = Path(tempfile.mkdtemp(prefix="lindero-workers-"))
        try:
            with (self._folder / "shared").open("wb") as file:
                # Classes and functions of a notebook are sent as they are.
                _import_cloudpickle().dump(shared, file, protocol=pickle.HIGHEST_PROTOCOL)
        except BaseException:
            self.close()
            raise
        self._workers: list[_Worker] = []

    @property
    def n_free(self) -> int:
        """How many pieces of work can be started now."""
        return self.n_workers - sum(worker.key is not None for worker in self._workers)

    @property
    def is_compiling(self) -> bool:
        """Whether a worker compiles loops just now."""
        return any(worker.compiling_since is not None for worker in self._workers)

    def start(
        self, key: Any, work: Callable[[Any, Any], Any], argument: Any, seconds: float | None = None
    ) -> None:
        """Begin ``work(shared, argument)``, which may take so many seconds."""
        free = next((worker for worker in self._workers if worker.key is None), None)
        if free is None:
            free = _Worker(str(self._folder / "shared"), self._env)
            self._workers.append(free)
        free.begin(key, work, argument, seconds)

    def wait(self, seconds: float) -> list[Outcome]:
        """What has ended, at once if something has, and after these seconds at the latest."""
        busy = {worker.connection: worker for worker in self._workers if worker.key is not None}
        if not busy:
            return []
        until = time.perf_counter() + seconds
        ended: list[Outcome] = []
        while not ended:
            now = time.perf_counter()
            limits = [worker.time_left(now) for worker in busy.values()]
            patience = max(0.0, min([until - now, *limits]))
            for connection in wait(list(busy), patience):
                outcome = busy[connection].hear()
                ended += [] if outcome is None else [outcome]
            now = time.perf_counter()
            for worker in busy.values():
                if worker.key is not None and worker.time_left(now) <= 0.0:
                    ended.append(worker.stop())
            self._workers = [worker for worker in self._workers if not worker.is_gone]
            if now >= until:
                break
        return ended

    def close(self) -> None:
        """End all workers, whatever they do."""
        for worker in getattr(self, "_workers", []):
            worker.end()
        self._workers = []
        shutil.rmtree(self._folder, ignore_errors=True)


def _import_cloudpickle() -> Any:
    """The module, which older versions of joblib bring along."""
    with suppress(ImportError):
        return import_module("cloudpickle")
    return import_module("joblib.externals.cloudpickle")


class _Worker:
    """One process, from this side."""

    def __init__(self, shared: str, env: dict[str, str]) -> None:
        from joblib.externals.loky.backend import get_context

        context = get_context("loky")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, shared, os.getpid()), daemon=True, env=env
        )
        self._process.start()
        theirs.close()
        self.key: Any = None
        self.is_gone = False
        self.compiling_since: float | None = None
        self._is_ready = False  # the process has begun to work, after all imports
        self._begun = 0.0
        self._compiled = 0.0
        self._worked = 0.0  # seconds of the processor before the work
        self._seconds: float | None = None

    def begin(self, key: Any, work: Any, argument: Any, seconds: float | None) -> None:
        self.key, self._seconds = key, seconds
        self._begun, self._compiled, self.compiling_since = time.perf_counter(), 0.0, None
        self._worked = _read_processor_time(self._process.pid) or 0.0
        with suppress(OSError):  # a process that is gone is noticed in `hear`
            self.connection.send_bytes(_import_cloudpickle().dumps((work, argument)))

    def spent(self, now: float) -> float:
        """Seconds of the work so far, without those of compiling."""
        since = now - self.compiling_since if self.compiling_since is not None else 0.0
        return max(0.0, now - self._begun - self._compiled - since)

    def time_left(self, now: float) -> float:
        if self._seconds is None or self.compiling_since is not None or not self._is_ready:
            return float("inf")
        spent = self.spent(now)
        if spent < self._seconds:
            return self._seconds - spent
        # Where others kept it from the processor, it has not had its share yet.
        worked = _read_processor_time(self._process.pid)
        if worked is None or worked - self._worked >= 0.5 * self._seconds:
            return 0.0
        return min(1.0, _PATIENCE * self._seconds - spent)

    def hear(self) -> Outcome | None:
        """The next word of the process: an outcome, or None for news of how it goes."""
        try:
            word, value = self.connection.recv()
        except (EOFError, OSError):
            return self.end(lost=True)
        now = time.perf_counter()
        if word == "ready":
            self._is_ready, self._begun = True, now
            self._worked = _read_processor_time(self._process.pid) or 0.0
        elif word == "compiling":
            self.compiling_since = now
        elif word == "compiled" and self.compiling_since is not None:
            self._compiled += now - self.compiling_since
            self.compiling_since = None
        elif word == "failed":
            self.end()
            raise value
        elif word == "done":
            outcome = Outcome(self.key, self.spent(now), value)
            self.key = None
            return outcome
        return None

    def stop(self) -> Outcome:
        return self.end(stopped=True)

    def end(self, *, stopped: bool = False, lost: bool = False) -> Outcome:
        outcome = Outcome(self.key, self.spent(time.perf_counter()), stopped=stopped, lost=lost)
        self.key, self.is_gone, self.compiling_since = None, True, None
        with suppress(OSError, ValueError):
            if hasattr(signal, "SIGKILL") and self._process.pid:
                os.kill(self._process.pid, signal.SIGKILL)
            else:
                self._process.terminate()
            self._process.join(5.0)
        with suppress(OSError):
            self.connection.close()
        return outcome


def serve(connection: Connection, shared: str, parent: int) -> None:
    """The process of a worker: do what is asked for, until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    speaking = threading.Lock()

    def say(word: str, value: Any = None) -> None:
        with speaking:
            try:
                connection.send((word, value))
            except OSError:  # nobody listens any more
                os._exit(1)

    with open(shared, "rb") as file:
        known = pickle.load(file)
    with CompilationClock(lambda begins: say("compiling" if begins else "compiled")):
        is_first = True
        while True:
            try:
                work, argument = pickle.loads(connection.recv_bytes())
            except (EOFError, OSError):
                return
            if is_first:
                say("ready")
                is_first = False
            try:
                value = work(known, argument)
            except Exception as error:  # a bug of ours: told where it can be seen
                say("failed", RuntimeError(f"{type(error).__name__}: {error}"))
                return
            say("done", value)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _read_processor_time(pid: int | None) -> float | None:
    """Seconds of the processor that a process has had; None where the system does not say."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None


def count_workers(n_bytes: int) -> int:
    """How many processes suit this machine, for data of so many bytes: one for each core, as long
    as there is memory for each."""
    from joblib import cpu_count

    free = _find_free_memory()
    fitting = 64 if free is None else int(free // (_BYTES_OF_WORKER + _COPIES * n_bytes))
    return max(1, min(int(cpu_count()), fitting))


def _find_free_memory() -> int | None:
    """Bytes of memory that are free; None where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None
