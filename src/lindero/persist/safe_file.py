"""Writing a file as a whole or not at all.

What is written goes to a new file in the same folder, which takes the place of the old one in a
single step when it is complete. Readers see the old file or the new one, never half of one. The
file is on the disk before it takes its place, and the folder before the call returns, so that this
holds for a machine that loses its power too.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_whole(path: str | os.PathLike[Any], lines: Iterable[str]) -> None:
    """Write `lines` of ASCII to `path`; an error on the way leaves what was there."""
    _write(path, (line.encode("ascii") for line in lines))


def write_whole_bytes(path: str | os.PathLike[Any], data: bytes) -> None:
    """Write `data` to `path`; an error on the way leaves what was there."""
    _write(path, [data])


def write_whole_pieces(path: str | os.PathLike[Any], pieces: Iterable[bytes]) -> None:
    """Write pieces to `path` as they come; an error on the way leaves what was there."""
    _write(path, pieces)


def _write(path: str | os.PathLike[Any], parts: Iterable[bytes]) -> None:
    # The file that a link points to is replaced, not the link.
    target = Path(os.path.realpath(os.fsdecode(path)))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(target.parent)!r} to save {path!r} in.")
    permissions = _permissions(target)
    # Private until it is complete, whatever the permissions of the file will be.
    unfinished = target.with_name(f".unfinished-{secrets.token_hex(8)}")
    try:
        with open(unfinished, "xb", opener=_open_private) as file:
            file.writelines(parts)
            file.flush()
            os.chmod(unfinished, _usual_permissions(target) if permissions is None else permissions)
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except BaseException:
        with suppress(FileNotFoundError):
            unfinished.unlink()
        raise
    _sync_folder(target.parent)


def _permissions(target: Path) -> int | None:
    """Those of the file whose place is to be taken; None where there is none."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{str(target)!r} is a folder: add the name of a file to it.")
    if not stat.S_ISREG(mode):
        raise OSError(
            f"{str(target)!r} is a pipe or device, which a file cannot take the place of."
        )
    return stat.S_IMODE(mode)


def _open_private(path: str, flags: int) -> int:
    """Opens a new file that only its owner can read."""
    return os.open(path, flags, 0o600)


def _usual_permissions(target: Path) -> int:
    """Those of a new file, which the system knows only when it makes one."""
    probe = target.with_name(f".unfinished-{secrets.token_hex(8)}")
    try:
        number = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        try:
            return stat.S_IMODE(os.fstat(number).st_mode)
        finally:
            os.close(number)
    finally:
        with suppress(FileNotFoundError):
            probe.unlink()


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk, where the system can do that for folders."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
