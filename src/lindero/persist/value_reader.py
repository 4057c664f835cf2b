"""Values from the JSON that `value_writer` writes, each checked before anything is made of it."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.errors import ModelFileError
from lindero.kernels.functions import Array
from lindero.persist.container import MOST_SIDE
from lindero.persist.kinds import EstimatorKind
from lindero.persist.registry import kind_named
from lindero.persist.value_writer import (
    ARRAY_TYPES,
    LEAST_WHOLE,
    MOST_DEPTH,
    MOST_WHOLE,
    most_width,
)
from lindero.solvers.solution import Status

#: Objects of a file.
MOST_OBJECTS = 1_000_000

#: Room in an array of text, beside the text that is in it.
_ROOM_EACH = 64

#: Sides of an array.
MOST_SIDES = 32

_TIMES = re.compile(r"(datetime64|timedelta64)(\[\d{0,6}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?")
_BYTES = re.compile(r"S(\d{1,7})")


class ValueReader:
    """Reads values that refer to the arrays and objects of a document."""

    def __init__(self, document: dict[str, Any], stored: list[Array]) -> None:
        entries = _list(document.get("arrays"), "arrays")
        if len(entries) != len(stored):
            raise ModelFileError(f"it has {len(stored)} arrays, and {len(entries)} are described.")
        self._arrays = [_array(*pair) for pair in zip(entries, stored, strict=True)]
        self._objects: list[Any] = []
        self._read: dict[str, Callable[[Any, int], Any]] = {
            "float": self._float,
            "tuple": self._tuple,
            "dict": self._dict,
            "bytes": self._bytes,
            "array": self._known_array,
            "object": self._known_object,
            "texts": self._texts,
            "things": self._things,
            "scalar": self._scalar,
            "masked": self._masked,
            "sparse": self._sparse,
            "status": self._status,
        }
        objects = _list(document.get("objects"), "objects")
        if len(objects) > MOST_OBJECTS:
            raise ModelFileError(f"it has {len(objects)} objects, and models have {MOST_OBJECTS}.")
        for entry in objects:
            self._objects.append(self.entry(entry))

    def entry(self, entry: Any) -> Any:
        """An object from its kind and its fields; it can hold only those read before."""
        entry = _object(entry, "an object")
        kind = kind_named(entry.get("kind"))
        if not isinstance(kind, EstimatorKind):
            return kind.made(self._fields(entry.get("fields")))
        return kind.made_with(
            self._fields(entry.get("parameters")), self._fields(entry.get("state"))
        )

    def _fields(self, fields: Any) -> dict[str, Any]:
        return {name: self.value(value) for name, value in _object(fields, "fields").items()}

    def value(self, value: Any, depth: int = 0) -> Any:
        """The value that some JSON stands for."""
        if value is None or type(value) in (bool, str, float):
            return value
        if type(value) is int:
            if not LEAST_WHOLE <= value <= MOST_WHOLE:
                raise ModelFileError("it holds a whole number that is too large.")
            return value
        if depth > MOST_DEPTH:
            raise ModelFileError(f"values are nested more than {MOST_DEPTH} deep.")
        if type(value) is list:
            return [self.value(item, depth + 1) for item in value]
        if len(value) != 1:
            raise ModelFileError("a value has no kind, or several.")
        (tag, content), *_ = value.items()
        if tag not in self._read:
            raise ModelFileError(f"{tag[:40]!r} is no kind of value.")
        return self._read[tag](content, depth + 1)

    # -- single values ------------------------------------------------------------------------

    def _float(self, content: Any, depth: int) -> float:
        bits = self._bytes(content, depth)
        if len(bits) != 8:
            raise ModelFileError("a float has 16 hexadecimal digits.")
        number: float = struct.unpack(">d", bits)[0]
        return number

    def _bytes(self, content: Any, depth: int) -> bytes:
        try:
            return bytes.fromhex(_text(content))
        except ValueError:
            raise ModelFileError("bytes are not hexadecimal digits.") from None

    def _scalar(self, content: Any, depth: int) -> Any:
        content = _object(content, "a scalar")
        name, value = _text(content.get("dtype")), self.value(content.get("value"), depth)
        if name == "str":
            return np.str_(_text(value))
        if name == "bytes" and type(value) is bytes:
            return np.bytes_(value)
        if name not in ARRAY_TYPES and not _TIMES.fullmatch(name):
            raise ModelFileError("a scalar has no known type.")
        dtype = np.dtype(name)
        expected = {"b": (bool,), "f": (float,)}.get(dtype.kind, (int,))
        if type(value) not in expected:
            raise ModelFileError("a scalar is not of its type.")
        try:
            return np.array(value, dtype="int64" if dtype.kind in "mM" else dtype).view(dtype)[()]
        except OverflowError:
            raise ModelFileError("a scalar is beyond its type.") from None

    def _status(self, content: Any, depth: int) -> Status:
        if _text(content) not in Status.__members__:
            raise ModelFileError("a status is none that solvers have.")
        return Status[content]

    # -- several ------------------------------------------------------------------------------

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self.value(item, depth) for item in _list(content, "a tuple"))

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        pairs: dict[Any, Any] = {}
        for pair in _list(content, "a mapping"):
            if type(pair) is not list or len(pair) != 2:
                raise ModelFileError("a mapping has pairs of a key and a value.")
            key = self.value(pair[0], depth)
            try:
                pairs[key] = self.value(pair[1], depth)
            except TypeError:
                raise ModelFileError("a mapping has a key that cannot be one.") from None
        return pairs

    def _known_object(self, content: Any, depth: int) -> Any:
        return self._objects[_place(content, len(self._objects), "object")]

    # -- arrays -------------------------------------------------------------------------------

    def _known_array(self, content: Any, depth: int) -> Array:
        return self._arrays[_place(content, len(self._arrays), "array")]

    def _texts(self, content: Any, depth: int) -> Array:
        content = _object(content, "an array of text")
        values, width = _list(content.get("values"), "texts"), content.get("width")
        if not all(type(text) is str for text in values):
            raise ModelFileError("an array of text holds something else.")
        if type(width) is not int or not 0 <= width <= most_width(values):
            raise ModelFileError("an array of text has far more room than text.")
        if any(len(text) > width for text in values):
            raise ModelFileError("an array of text has too little room for its text.")
        if width * len(values) > _ROOM_EACH * (sum(map(len, values)) + 64 * len(values) + 2**16):
            raise ModelFileError("an array of text has far more room than text.")
        shape = _shape(content.get("shape"), len(values))
        return np.array(values, dtype=f"<U{width}").reshape(shape)

    def _things(self, content: Any, depth: int) -> Array:
        content = _object(content, "an array of values")
        values = _list(content.get("values"), "values")
        array = np.empty(len(values), dtype=object)
        for k, value in enumerate(values):
            array[k] = self.value(value, depth)
            if isinstance(array[k], (np.ndarray, list, dict)):
                raise ModelFileError("an array of values holds arrays or lists.")
        return array.reshape(_shape(content.get("shape"), len(values)))

    def _masked(self, content: Any, depth: int) -> Any:
        content = _object(content, "a masked array")
        data, mask = (self.value(content.get(name), depth) for name in ("data", "mask"))
        if type(data) is not np.ndarray or type(mask) is not np.ndarray or mask.dtype != bool:
            raise ModelFileError("a masked array has no data, or no mask.")
        if data.shape != mask.shape:
            raise ModelFileError("a mask is not of the shape of its array.")
        return np.ma.MaskedArray(data, mask=mask)

    def _sparse(self, content: Any, depth: int) -> Any:
        content = _object(content, "a sparse array")
        parts = [self.value(content.get(name), depth) for name in ("data", "indices", "indptr")]
        by_rows, matrix = content.get("format") == "csr", content.get("matrix")
        if (not by_rows and content.get("format") != "csc") or type(matrix) is not bool:
            raise ModelFileError("a sparse array is of no known format.")
        shape = _sides(content.get("shape"))
        if len(shape) != 2:
            raise ModelFileError("a sparse array has two sides.")
        _require_sound_sparse(parts, *(shape if by_rows else shape[::-1]))
        kinds = (sp.csr_array, sp.csr_matrix) if by_rows else (sp.csc_array, sp.csc_matrix)
        return kinds[matrix](tuple(parts), shape=tuple(shape), copy=False)


def _require_sound_sparse(parts: list[Any], n_rows: int, n_columns: int) -> None:
    """Compiled code believes indices: each must be inside."""
    if not all(type(part) is np.ndarray and part.ndim == 1 for part in parts):
        raise ModelFileError("a sparse array has three vectors.")
    data, indices, ends = parts
    if data.dtype.kind not in "biuf" or data.dtype == np.float16:
        raise ModelFileError("a sparse array holds no numbers.")
    if indices.dtype not in (np.int32, np.int64) or ends.dtype != indices.dtype:
        raise ModelFileError("a sparse array has indices of no known type.")
    if len(ends) != n_rows + 1 or ends[0] != 0 or (np.diff(ends) < 0).any():
        raise ModelFileError("the rows of a sparse array are not in order.")
    if ends[-1] != len(data) or len(data) != len(indices):
        raise ModelFileError("a sparse array is not complete.")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ModelFileError("a sparse array has indices outside of it.")


def _array(entry: Any, stored: Array) -> Array:
    """A stored array as what its entry says it is."""
    entry = _object(entry, "an array")
    name, shape = _text(entry.get("dtype")), _sides(entry.get("shape"))
    by_columns = entry.get("order", "C") == "F"
    width = _BYTES.fullmatch(name)
    found = list(stored.shape)
    expected = shape[::-1] if by_columns else shape
    if width:
        expected = [*expected, int(width[1])]
    type_name = "uint8" if width else "int64" if _TIMES.fullmatch(name) else name
    if name not in ARRAY_TYPES and type_name == name:
        raise ModelFileError("an array is of no known type.")
    if found != expected or stored.dtype.name != type_name:
        raise ModelFileError("an array is not what its entry says.")
    if stored.dtype == bool and stored.view(np.uint8).max(initial=0) > 1:
        raise ModelFileError("an array of truth values holds others.")
    if width:
        stored = stored.reshape(-1, int(width[1])).view(name).reshape(stored.shape[:-1])
    elif type_name != name:
        stored = stored.view(np.dtype(name))
    return stored.T if by_columns else stored


def _list(content: Any, what: str) -> list[Any]:
    if type(content) is not list:
        raise ModelFileError(f"{what} must be a list.")
    return content


def _object(content: Any, what: str) -> dict[str, Any]:
    if type(content) is not dict:
        raise ModelFileError(f"{what} must be an object of JSON.")
    return content


def _text(content: Any) -> str:
    if type(content) is not str:
        raise ModelFileError("something must be text, and is not.")
    return content


def _place(content: Any, count: int, what: str) -> int:
    if type(content) is not int or not 0 <= content < count:
        raise ModelFileError(f"an {what} is referred to that is not there before.")
    return content


def _sides(content: Any) -> list[int]:
    sides = _list(content, "a shape")
    if len(sides) > MOST_SIDES or not all(
        type(side) is int and 0 <= side <= MOST_SIDE for side in sides
    ):
        raise ModelFileError("a shape has numbers that it cannot have.")
    return sides


def _shape(content: Any, count: int) -> list[int]:
    sides = _sides(content)
    if prod(sides) != count:
        raise ModelFileError("a shape does not fit the values there are.")
    return sides
