"""How loops are compiled, how their arithmetic may be rearranged, and where results are kept.

numba's ``fastmath=True`` also lets the compiler assume that no value is ever infinite or not a
number, under which bounds of infinity and empty searches (a least value of +∞) are compared
wrongly. `FAST` allows only what makes loops fast: sums in any order, fused multiplications.

And ``fastmath`` is inherited: a function compiled without a word about it, on behalf of one with
it, gets it too and is kept in the cache like that. So functions that others call say `EXACT`.

Compiled code is kept on disk, as numba does it, but the cache is never a reason to fail:

* Where neither the package's own folder nor the user's cache folder can be written to, a private
  folder among temporary files is used, and where that cannot be had, nothing is kept.
* A file that cannot be read is forgotten and written again; one that cannot be written, on a full
  disk for example, is left out.
* Another version of the package compiles everything anew: numba only looks at the file of a
  function, not at those of the functions that it calls.

The first fit on a new machine waits for compilation. Where somebody watches, on a terminal or in a
notebook, a line says so once it has taken a second.

Loops do not check their indices (``NUMBA_BOUNDSCHECK=1`` makes them, with a ``NUMBA_CACHE_DIR`` of
its own): what calls them proves or checks them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, Self

import numba
from numba.core import caching, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_lock import global_compiler_lock

# Private in numba 0.61, and public later.
_Locator: Any = getattr(caching, "UserProvidedCacheLocator", None)
if _Locator is None:
    _Locator = caching._UserProvidedCacheLocator

#: Sums and products may be rearranged; infinities and NaN keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}

#: The same, and nothing is ever NaN: what clamping of values needs to be turned into vector code.
FINITE = FAST | {"nnan"}

#: Nothing may be rearranged, whoever calls.
EXACT = False


def compiled(fastmath: Any, error_model: str = "python") -> Callable[[Any], Any]:
    """Compile a function, when it is first called, to code that releases Python's lock."""

    def compile_function(function: Any) -> Any:
        options = {"nogil": True, "fastmath": fastmath, "error_model": error_model}
        dispatcher = numba.njit(**options)(function)
        # Without a place to keep it, code is compiled in each process.
        with contextlib.suppress(RuntimeError, OSError):
            dispatcher._cache = _ForgivingCache(function)
        return dispatcher

    return compile_function


class CompilationClock(event.Listener):  # type: ignore[misc]
    """Seconds in which loops were compiled, in any thread, while inside ``with``.

    `on_change` is called with True when compiling begins, and with False when it ends. Loops that
    were kept on disk are only read, which takes no time worth counting. What another thread
    compiles already does not count.
    """

    def __init__(self, on_change: Callable[[bool], None] | None = None) -> None:
        self.seconds = 0.0
        self._on_change = on_change
        self._lock = threading.Lock()
        self._depth, self._begun = 0, 0.0

    def __enter__(self) -> Self:
        event.register("numba:compile", self)
        return self

    def __exit__(self, *_: object) -> None:
        event.unregister("numba:compile", self)

    def on_start(self, event: Any) -> None:
        """Loops that are compiled on behalf of others are part of those."""
        with self._lock:
            self._depth += 1
            begins = self._depth == 1
            if begins:
                self._begun = time.perf_counter()
        if begins and self._on_change is not None:
            self._on_change(True)

    def on_end(self, event: Any) -> None:
        """The last one ends it; one that began before ``with`` ends nothing."""
        with self._lock:
            if self._depth == 0:
                return
            self._depth -= 1
            ends = self._depth == 0
            if ends:
                self.seconds += time.perf_counter() - self._begun
        if ends and self._on_change is not None:
            self._on_change(False)

    def read(self) -> float:
        """Seconds so far, with those of what is being compiled."""
        with self._lock:
            return self.seconds + (time.perf_counter() - self._begun if self._depth else 0.0)


class _TemporaryFolder(_Locator):  # type: ignore[misc]
    """A folder among temporary files that only this user can write to: what is in it is run."""

    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)
        self._cache_path = os.path.join(_private_folder(), self.get_suitable_cache_subpath(file))

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        try:
            locator = cls(function, file)
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator


def _private_folder() -> str:
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = os.path.join(tempfile.gettempdir(), f"lindero-compiled-{user}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if os.name == "posix" and not (
        stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077
    ):
        raise PermissionError(f"{folder} belongs to another user, or others may write to it.")
    return folder


class _Places(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (*CompileResultCacheImpl._locator_classes, _TemporaryFolder)


class _ForgivingCache(FunctionCache):  # type: ignore[misc]
    """numba's cache, in which whatever is wrong with a file is as if it were not there."""

    _impl_class = _Places

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        file = self._cache_file
        # Asked for by name: the package itself imports what is below it, not the other way round.
        version = sys.modules["lindero"].__version__
        file._source_stamp = (file._source_stamp, version)

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)
        except Exception:  # whatever a broken file makes of unpickling
            self._forget()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except Exception:  # a full disk, a folder that is gone
            self._forget()

    def _forget(self) -> None:
        with contextlib.suppress(Exception):
            self.flush()


class CompilationNotice(event.Listener):  # type: ignore[misc]
    """Says once, on stderr, what the first fit waits for."""

    #: Seconds of compiling after which it is said.
    patience = 1.0

    def __init__(self) -> None:
        self._clock = CompilationClock()
        self.is_said = False

    def on_start(self, event: Any) -> None:
        """A loop begins to be compiled, perhaps on behalf of another."""
        if not self.is_said and _is_ours(event):
            self._clock.on_start(event)
            self._say(self._clock.read())

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        if not self.is_said and _is_ours(event):
            self._clock.on_end(event)
            self._say(self._clock.read())

    def _say(self, seconds: float) -> None:
        if seconds < self.patience or not _is_watched():
            return
        self.is_said = True
        sys.stderr.write(
            "lindero: compiling its loops for this machine, which takes a while the first time; "
            "the result is kept for later.\n"
        )


def _is_ours(event: Any) -> bool:
    function = getattr((event.data or {}).get("dispatcher"), "py_func", None)
    return str(getattr(function, "__module__", "")).startswith("lindero.")


def _is_watched() -> bool:
    """Whether somebody sees stderr: a terminal or a notebook, and not a process among several."""
    if multiprocessing.parent_process() is not None:
        return False
    try:
        return "ipykernel" in sys.modules or sys.stderr.isatty()
    except (AttributeError, ValueError):  # no stderr, or a closed one
        return False


event.register("numba:compile", CompilationNotice())


# A process forked while another thread compiles would wait for that thread forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
