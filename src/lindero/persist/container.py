"""A document and its arrays in one file: a safetensors container, sealed by a hash.

    8 bytes          length of the header
    header           JSON: where each array lies, and {"lindero": '{"format_version": …}'}
    arrays           "document" (UTF-8 of a JSON document), "0", "1", … (what it refers to)

The seal is the SHA-256 of the document and all arrays in their order; the document states the types
and shapes of the arrays, so that nothing in the file can change unnoticed. It detects damage, not
forgery: anyone who changes a file can seal it again. So everything is checked as if there were no
seal.

Memory is taken for what the file holds, never for what a number in it announces.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from lindero.errors import ModelFileError, NewerFormatError
from lindero.runtime.arrays import Array
from lindero.runtime.texts import shorten

FORMAT_VERSION = 1

#: Arrays of a file, characters of its header for each of them, and bytes of its document.
MOST_ARRAYS = 500_000
_HEADER_EACH, _HEADER_LEAST = 150, 4_096
MOST_DOCUMENT_BYTES = 2**28

#: Values of a document, counted as commas and brackets: empty lists take more memory than text.
MOST_VALUES = 4_000_000

#: Longest side of an array.
MOST_SIDE = 2**40

_DOCUMENT = "document"
_OWNER = "lindero"


@dataclass(frozen=True)
class Contents:
    """What a file holds: the parsed document, its arrays, and the seal."""

    document: dict[str, Any]
    arrays: list[Array]
    sha256: str
    n_bytes: int
    format_version: int = FORMAT_VERSION


def pack(document: dict[str, Any], arrays: list[Array]) -> bytes:
    """The file of a document and the arrays it refers to, all of them contiguous."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
    n_values = _count(text)
    if len(text) > MOST_DOCUMENT_BYTES or n_values > MOST_VALUES or len(arrays) > MOST_ARRAYS:
        raise ValueError(
            f"The model takes {len(text)} bytes of text with {n_values} values, and {len(arrays)} "
            f"arrays, but a model file has at most {MOST_DOCUMENT_BYTES}, {MOST_VALUES} and "
            f"{MOST_ARRAYS}. Has it far too many categories, or columns that are encoded?"
        )
    owner = {"format_version": FORMAT_VERSION, "sha256": _seal(text, arrays)}
    tensors = {str(number): array for number, array in enumerate(arrays)}
    tensors[_DOCUMENT] = np.frombuffer(text, dtype=np.uint8)
    written: bytes = write_tensors(tensors, {_OWNER: json.dumps(owner)})
    return written


def unpack(path: str | os.PathLike[Any]) -> Contents:
    """What a file holds, as far as the container can tell that it is sound."""
    return _check(*_read(path))


def unpack_bytes(contents: bytes) -> Contents:
    """The same of the bytes of a file."""
    with io.BytesIO(contents) as stream:
        return _check(*_read_stream(stream, len(contents)))


def _check(data: bytes, owner: dict[str, Any], names: list[str]) -> Contents:
    version = owner.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(
            f"its format version is {shorten(version, 120)}, not an integer of at least 1."
        )
    if version > FORMAT_VERSION:
        raise NewerFormatError(
            f"its format version is {version}, and this version of lindero knows formats up to "
            f"{FORMAT_VERSION}. Use a later version of lindero, or save the model with an earlier "
            "one."
        )
    try:
        tensors = read_tensors(data)
    except (SafetensorError, KeyError, ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"the container is damaged: {shorten(error, 120)}.") from None
    size = len(data)
    del data
    expected = [str(number) for number in range(len(names) - 1)]
    if set(tensors) != {_DOCUMENT, *expected} or tensors[_DOCUMENT].dtype != np.uint8:
        raise ModelFileError("its arrays are not a document and numbered ones.")
    text = tensors[_DOCUMENT].tobytes()
    if len(text) > MOST_DOCUMENT_BYTES or _count(text) > MOST_VALUES:
        raise ModelFileError(f"its document has {len(text)} bytes, more than a model has.")
    arrays = [tensors[name] for name in expected]
    seal = _seal(text, arrays)
    if owner.get("sha256") != seal:
        raise ModelFileError(
            "its contents do not match their SHA-256: it was damaged or changed after it was "
            "written. Take another copy."
        )
    return Contents(_parse(text, "its document"), arrays, seal, size, version)


def _seal(text: bytes, arrays: list[Array]) -> str:
    digest = hashlib.sha256(text)
    for array in arrays:
        if array.size:
            digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _read(path: str | os.PathLike[Any]) -> tuple[bytes, dict[str, Any], list[str]]:
    """All bytes of a file, what its header says of the owner, and the names of its arrays. No more
    than the header is read of a file that is none of lindero's, however large it is."""
    with open(path, "rb", opener=_open_at_once) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ModelFileError("it is not a regular file.")
        return _read_stream(file, about.st_size)


def _read_stream(file: BinaryIO, size: int) -> tuple[bytes, dict[str, Any], list[str]]:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > size - 8:
        raise ModelFileError(
            "it is not a model of lindero, or not complete: its header is longer than the file."
        )
    most = _HEADER_LEAST + _HEADER_EACH * MOST_ARRAYS
    if length > most:
        raise ModelFileError(f"its header has {length} bytes, and models have at most {most}.")
    text = file.read(length)
    owner, names = _read_header(text)
    # So many and no more: somebody may be writing to it.
    rest = file.read(size - 8 - length)
    return b"".join((start, text, rest)), owner, names


def _open_at_once(path: Any, flags: int) -> int:
    """Open a file; a pipe without waiting for its other end."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read_header(text: bytes) -> tuple[dict[str, Any], list[str]]:
    """What the header says of the owner, and the names of the arrays."""
    header = _parse(text, "its header")
    about = header.pop("__metadata__", None)
    if not isinstance(about, dict) or not isinstance(about.get(_OWNER), str):
        raise ModelFileError("it is a safetensors file, but lindero did not write it.")
    if len(header) > MOST_ARRAYS + 1:
        raise ModelFileError(f"it has {len(header)} arrays, and models have {MOST_ARRAYS} at most.")
    for name, entry in header.items():
        if not isinstance(entry, dict) or not is_shape(entry.get("shape")):
            raise ModelFileError(f"array {shorten(name, 120)} has no valid shape.")
    return _parse(about[_OWNER].encode("utf-8", "replace"), "its header"), list(header)


def is_shape(sides: Any) -> bool:
    """Whether an array can have these sides."""
    return isinstance(sides, list) and all(type(n) is int and 0 <= n <= MOST_SIDE for n in sides)


def _count(text: bytes) -> int:
    """As many values as a text of JSON may have."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _parse(text: bytes, what: str) -> dict[str, Any]:
    """The JSON object that a text is."""
    try:
        parsed = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_doubles
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} is not JSON: {shorten(error, 120)}.") from None
    if not isinstance(parsed, dict):
        raise ModelFileError(f"{what} is not a JSON object.")
    return parsed


def _refuse_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are given once: of two, programs would choose differently."""
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("an object has a name twice")
    return named


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")
