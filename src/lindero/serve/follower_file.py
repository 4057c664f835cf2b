"""What a follower has reached: a folder with a file for each model and its place in the log.

    lindero follower 1
    {"sequence": …, "hash": …, "model": …, "about": {…}, "sha256": …}
    bytes of a model file

A new state is written beside the old one and waited for (fsync); then the old one is overwritten
with zeros, and the new one takes its name. So at any moment one of the two is whole, and nothing of
a row that was forgotten is left, in no block that the file has ever had; whoever comes after a
crash finishes it, of every file of the folder. One process at a time may use the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from lindero.serve.database import StoreError

_FIRST_LINE = b"lindero follower 1\n"
_ENDING = ".follower"
_LOCK = "lock"

#: Bytes of zeros that are written at once.
_AT_ONCE = 2**20


@dataclass(frozen=True)
class Reached:
    """A place in the log of a model, and what model files do not say."""

    sequence: int
    hash: bytes  # of the entry; empty where it is not known yet
    about: dict[str, Any]


class FollowerFolder:
    """The files of one follower, which has them to itself until `close`.

    The lock is that of SQLite on an empty file: every system has it, it ends with the process, and
    a second follower in this process is refused, too.
    """

    def __init__(self, folder: str | os.PathLike[Any]) -> None:
        self.path = os.fspath(folder)
        self._is_new = not os.path.isdir(self.path)
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        lock = os.path.join(self.path, _LOCK)
        if not os.path.exists(lock):
            os.close(os.open(lock, os.O_CREAT | os.O_RDWR, 0o600))
        self._lock = sqlite3.connect(
            lock, isolation_level=None, timeout=0.0, check_same_thread=False
        )
        try:
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._lock.close()
            if "locked" not in str(error):
                raise StoreError(f"{lock} cannot be locked: {error}.") from error
            raise StoreError(
                f"{self.path} is in use by another follower, here or in another process. Stop that "
                "one, or follow with a folder of its own."
            ) from None
        try:
            self._finish()
        except BaseException:
            self.close()
            raise

    def _finish(self) -> None:
        """What a crash has left half done, also of models that are not followed any more."""
        for name in self.list_models():
            FollowerFile(self.path, name).finish()

    def list_models(self) -> list[str]:
        """Names of the models that there are files of."""
        names = (name.removesuffix(".new") for name in os.listdir(self.path))
        return sorted(
            {unquote(name.removesuffix(_ENDING)) for name in names if name.endswith(_ENDING)}
        )

    def file(self, model: str) -> FollowerFile:
        return FollowerFile(self.path, model)

    def close(self) -> None:
        """Let others use it."""
        self._lock.close()

    def discard(self) -> None:
        """Let others use it, and leave no folder where there was none before and nothing is in."""
        is_useless = self._is_new and not self.list_models()
        with suppress(OSError):
            if is_useless:
                os.unlink(os.path.join(self.path, _LOCK))
        self.close()
        with suppress(OSError):
            if is_useless:
                os.rmdir(self.path)


class FollowerFile:
    """The file of one model in a folder."""

    def __init__(self, folder: str | os.PathLike[Any], model: str) -> None:
        self.model = model
        self.path = os.path.join(os.fspath(folder), quote(model, safe="") + _ENDING)
        self._new = self.path + ".new"

    def finish(self) -> None:
        """Let the newer of two files that a crash has left be the only one, if it is whole."""
        if not os.path.exists(self._new):
            return
        if _read(self._new, self.model) is not None:
            self._replace()
        else:
            _overwrite(self._new)
            os.unlink(self._new)

    def read(self) -> tuple[Reached, bytes] | None:
        """What is there, the newer one if a crash has left two; None if there is nothing."""
        self.finish()
        if not os.path.exists(self.path):
            return None
        found = _read(self.path, self.model)
        if found is None:
            raise StoreError(
                f"{self.path} is damaged, or not of a follower of {self.model!r}. Remove it, and "
                "the model is copied anew."
            )
        return found

    def write(self, reached: Reached, data: bytes) -> None:
        """Keep a state instead of the last one."""
        about = {
            "sequence": reached.sequence,
            "hash": reached.hash.hex(),
            "model": self.model,
            "about": reached.about,
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        try:
            file = os.open(self._new, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with os.fdopen(file, "wb") as stream:
                stream.write(_FIRST_LINE + json.dumps(about).encode() + b"\n" + data)
                stream.flush()
                os.fsync(stream.fileno())
            _wait_for_folder(self.path)
            self._replace()
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be written: {error.strerror}. It may still hold rows that "
                "were forgotten: make room, and follow again."
            ) from error

    def _replace(self) -> None:
        if os.path.exists(self.path):
            _overwrite(self.path)
        os.replace(self._new, self.path)
        _wait_for_folder(self.path)


def _read(path: str, model: str) -> tuple[Reached, bytes] | None:
    """The state in a file; None if it is not whole."""
    with open(path, "rb") as file:
        if file.readline(len(_FIRST_LINE)) != _FIRST_LINE:
            return None
        line, data = file.readline(), file.read()
    try:
        known = json.loads(line)
        whole = known["model"] == model and hashlib.sha256(data).hexdigest() == known["sha256"]
        reached = Reached(int(known["sequence"]), bytes.fromhex(known["hash"]), known["about"])
    except (ValueError, KeyError, TypeError):
        return None
    return (reached, data) if whole else None


def _overwrite(path: str) -> None:
    """Zeros over all of a file, on the disk."""
    with open(path, "r+b", buffering=0) as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0:
            left -= file.write(bytes(min(left, _AT_ONCE)))
        os.fsync(file.fileno())


def _wait_for_folder(path: str) -> None:
    """Let the names in a folder reach the disk, where folders can be waited for."""
    if os.name == "posix":
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
