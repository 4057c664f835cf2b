"""The bytes of a data file: read from a path or standard input, decompressed, as text in UTF-8.

A file is read whole, since its columns are as large. Untrusted files are bounded in three ways.
Only plain files and pipes are read (``/dev/zero`` has no end). What a file makes of itself,
unpacked or filled with zeros, may not take more than `MOST_UNPACKED` bytes *and* `MOST_GROWTH`
times its size, unless the user allows more: a few bytes of gzip can hold terabytes, and one index
of a sparse row asks for as many columns. Similar file names are suggested from the first entries of
a folder only.
"""

from __future__ import annotations

import difflib
import gzip
import io
import itertools
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lindero.errors import DataError, warn_user

#: Size in bytes that a file may always grow to, and its growth beyond that.
MOST_UNPACKED = 2**27
MOST_GROWTH = 100

_GZIP = b"\x1f\x8b"
_PIECE = 2**20
_STANDARD_INPUT = "-"
_ENTRIES_LOOKED_AT = 2000
_SOMETHING = re.compile(rb"[^\xef\xbb\xbf \t\r\n]")


@dataclass(frozen=True)
class Content:
    """The content of a file."""

    #: The bytes, decompressed; slices of a view are not copies.
    data: memoryview
    #: The path, or "standard input".
    source: str
    #: Bytes that it may grow to.
    allowed: int = MOST_UNPACKED

    def require_room(self, n_bytes: int, what: str) -> None:
        """Refuse a file that would take so many bytes; `what` says why."""
        if n_bytes > self.allowed:
            raise self.error(
                f"{what}: that takes about {-(-n_bytes // 2**20)} megabytes, but a file of this "
                f"size may take {self.allowed / 2**20:.0f}. If it is right, raise the limit with "
                "max_megabytes=."
            )

    def error(self, message: str, line: int | None = None) -> DataError:
        """An error about this file; `message` says what is wrong and what to do."""
        place = self.source if line is None else f"{self.source}, line {line}"
        return DataError(f"{place}: {message}", self.source, line)

    def head(self, n_bytes: int) -> bytes:
        """The first bytes."""
        return bytes(self.data[:n_bytes])

    def find(self, byte: bytes, start: int = 0) -> int:
        """Offset of the first such byte; −1 if there is none."""
        for piece in range(start, len(self.data), _PIECE):
            place = bytes(self.data[piece : piece + _PIECE]).find(byte)
            if place >= 0:
                return piece + place
        return -1

    def count(self, byte: bytes, start: int = 0, end: int | None = None) -> int:
        """How many such bytes there are."""
        array = np.frombuffer(self.data, dtype=np.uint8)[start:end]
        pieces = (array[piece : piece + _PIECE] for piece in range(0, len(array), _PIECE))
        return sum(int(np.count_nonzero(piece == ord(byte))) for piece in pieces)

    def is_blank(self, start: int = 0) -> bool:
        """Whether only blanks and line ends follow."""
        return _SOMETHING.search(self.data, start) is None

    def line_at(self, offset: int) -> int:
        """Line number of a byte, counted from 1."""
        return self.count(b"\n", 0, offset) + 1

    def as_text(self) -> Content:
        """As UTF-8 without a byte order mark; binary data are refused."""
        content = self
        if self.head(2) in (b"\xff\xfe", b"\xfe\xff"):
            try:
                text = bytes(self.data).decode("utf-16")
                content = replace(self, data=memoryview(text.encode("utf-8")))
            except UnicodeError:
                raise self.error(
                    "has a UTF-16 byte order mark, but is not UTF-16. Save it as UTF-8."
                ) from None
        if content.head(3) == b"\xef\xbb\xbf":
            content = replace(content, data=content.data[3:])
        if (null := content.find(b"\0")) >= 0:
            raise content.error(
                "has a NUL byte, so it is not text. Is it damaged, or in another format?",
                content.line_at(null),
            )
        return content if _is_utf8(content.data) else _decode_latin_1(content)


def _is_utf8(data: memoryview) -> bool:
    """Whether data are valid UTF-8, several times faster than decoding them."""
    ends = pa.array([0, len(data)], pa.int64()).buffers()[1]
    text = pa.Array.from_buffers(pa.large_utf8(), 1, [None, ends, pa.py_buffer(data)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _decode_latin_1(content: Content) -> Content:
    data = bytes(content.data)
    try:
        data.decode("utf-8")
        place = 0
    except UnicodeDecodeError as error:
        place = error.start
    warn_user(
        f"{content.source}, line {content.line_at(place)}: byte 0x{data[place]:02x} is not UTF-8, "
        "so the file was read as Latin-1. If letters look wrong, save it as UTF-8.",
        UserWarning,
    )
    return replace(content, data=memoryview(data.decode("latin-1").encode("utf-8")))


def read_content(path: Any, max_megabytes: float | None = None) -> Content:
    """Read a file, and decompress it if it is gzip; it may grow to so many megabytes."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"path must be the name of a file, or '-' for standard input, not "
            f"{type(path).__name__}. A table in memory needs no loading: pass it to fit."
        )
    name = os.fsdecode(os.fspath(path))
    content = _read_standard_input() if name == _STANDARD_INPUT else _read_file(name)
    content = replace(content, allowed=_find_limit(content, max_megabytes))
    if content.head(2) == _GZIP:
        content = replace(content, data=memoryview(_unpack(content)))
    if content.is_blank():
        raise content.error("is empty: there is nothing to load.")
    return content


def _find_limit(content: Content, max_megabytes: float | None) -> int:
    """The bytes that a file may grow to."""
    if max_megabytes is None:
        return max(MOST_UNPACKED, MOST_GROWTH * len(content.data))
    is_number = isinstance(max_megabytes, (int, float, np.integer, np.floating))
    if not is_number or isinstance(max_megabytes, bool) or not 0 < max_megabytes < 2**43:
        raise DataError(f"max_megabytes must be a positive number, not {max_megabytes!r}.")
    return int(max_megabytes * 2**20)


def _read_standard_input() -> Content:
    if sys.stdin is None:
        raise DataError(
            "'-' is standard input, but this program has none. Pass the name of a file."
        )
    # Programs may replace it by a stream of text.
    stream = getattr(sys.stdin, "buffer", sys.stdin)
    data = stream.read()
    data = data.encode("utf-8") if isinstance(data, str) else data
    return Content(memoryview(data), "standard input")


def _read_file(name: str) -> Content:
    if name.startswith(("http://", "https://", "ftp://")):
        raise DataError(f"{name} is a web address. Download the file, and load that.", name)
    path = Path(name).expanduser()
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            names = _list_entries(path)
            such = f"such as {names[0]!r}" if names else "but it has none"
            raise DataError(f"{name} is a folder: name one of its files, {such}.", name)
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise DataError(f"{name} is neither a file nor a pipe, so it is not read.", name)
        return Content(_read_bytes(path), name)
    except (FileNotFoundError, NotADirectoryError):
        close = difflib.get_close_matches(path.name, _list_entries(path.parent), n=1)
        hint = f"Did you mean {str(path.with_name(close[0]))!r}?" if close else "Check its name."
        raise DataError(f"There is no file {name}. {hint}", name) from None
    except DataError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{name} cannot be read: {reason}.", name) from None


def _read_bytes(path: Path) -> memoryview:
    """All bytes of a file, in memory from Arrow's pool: fresh memory doubles the time."""
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        room = memoryview(pa.allocate_buffer(size))
        filled = 0
        while filled < size and (count := file.readinto(room[filled:])):
            filled += count
        rest = file.readall()  # of a pipe, or of a file that has grown
    return memoryview(bytes(room[:filled]) + rest) if rest else room[:filled]


def _list_entries(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = itertools.islice(entries, _ENTRIES_LOOKED_AT)
            return sorted(entry.name for entry in found if entry.is_file())
    except (OSError, ValueError):
        return []


def suggest(name: str, known: Iterable[str]) -> str:
    """A question to end a message with, if a known name is like this one."""
    close = difflib.get_close_matches(name, [*known], n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _unpack(content: Content) -> bytes:
    pieces, size = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content.data)) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                content.require_room(size, f"unpacks to more than {size} bytes")
                pieces.append(piece)
    except (EOFError, OSError, zlib.error) as error:
        said = str(error)[:1].lower() + str(error)[1:].rstrip(".")
        raise content.error(
            f"is a damaged gzip file ({said}). Download or compress it again."
        ) from None
    return b"".join(pieces)
