"""Values from the JSON that `value_writer` writes, each checked before anything is made of it."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.errors import ModelFileError
from lindero.persist.json_parts import (
    list_of,
    object_of,
    place_of,
    shape_of,
    sides_of,
    text_of,
)
from lindero.persist.kinds import MOST_OBJECTS, EstimatorKind
from lindero.persist.reference_weights import Weights
from lindero.persist.registry import kind_named
from lindero.persist.value_writer import (
    ARRAY_TYPES,
    LEAST_WHOLE,
    MOST_DEPTH,
    MOST_WHOLE,
    most_width,
)
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Status

#: Room in arrays of text: for each character that is in them, and for all together beside that.
_ROOM_EACH, _MOST_ROOM = 16, 2**25

_TIMES = re.compile(
    r"(datetime64|timedelta64)(\[([1-9]\d{0,5})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)
_BYTES = re.compile(r"S(\d{1,7})")


class ValueReader:
    """Reads values that refer to the arrays and objects of a document."""

    def __init__(self, document: dict[str, Any], stored: list[Array]) -> None:
        entries = list_of(document.get("arrays"), "arrays")
        if len(entries) != len(stored):
            raise ModelFileError(f"it has {len(stored)} arrays, and {len(entries)} are described.")
        self._arrays = [_array(*pair) for pair in zip(entries, stored, strict=True)]
        self._objects: list[Any] = []
        self._weighed = Weights(sum(array.nbytes for array in self._arrays))
        self._made: Counter[str] = Counter()
        self._room = 0
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
        objects = list_of(document.get("objects"), "objects")
        if len(objects) > MOST_OBJECTS:
            raise ModelFileError(f"it has {len(objects)} objects, and models have {MOST_OBJECTS}.")
        for entry in objects:
            self._objects.append(self.entry(entry))
            self._weighed.end_object()

    def entry(self, entry: Any) -> Any:
        """An object from its kind and its fields; it can hold only those read before."""
        entry = object_of(entry, "an object")
        kind = kind_named(entry.get("kind"))
        self._made[kind.name] += 1
        if self._made[kind.name] > kind.most:
            raise ModelFileError(f"it holds more than {kind.most} of the kind {kind.name!r}.")
        if not isinstance(kind, EstimatorKind):
            return kind.made(self._fields(entry.get("fields")))
        return kind.made_with(
            self._fields(entry.get("parameters")), self._fields(entry.get("state"))
        )

    def _fields(self, fields: Any) -> dict[str, Any]:
        return {name: self.value(value) for name, value in object_of(fields, "fields").items()}

    def value(self, value: Any, depth: int = 0) -> Any:
        """The value that some JSON stands for."""
        self._weighed.hold(len(value) if type(value) is str else 0)
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
            return bytes.fromhex(text_of(content))
        except ValueError:
            raise ModelFileError("bytes are not hexadecimal digits.") from None

    def _scalar(self, content: Any, depth: int) -> Any:
        content = object_of(content, "a scalar")
        name, value = text_of(content.get("dtype")), self.value(content.get("value"), depth)
        if name == "str":
            return np.str_(text_of(value))
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
        if text_of(content) not in Status.__members__:
            raise ModelFileError("a status is none that solvers have.")
        return Status[content]

    # -- several ------------------------------------------------------------------------------

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self.value(item, depth) for item in list_of(content, "a tuple"))

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        pairs: dict[Any, Any] = {}
        for pair in list_of(content, "a mapping"):
            if type(pair) is not list or len(pair) != 2:
                raise ModelFileError("a mapping has pairs of a key and a value.")
            key = self.value(pair[0], depth)
            try:
                pairs[key] = self.value(pair[1], depth)
            except TypeError:
                raise ModelFileError("a mapping has a key that cannot be one.") from None
        return pairs

    def _known_object(self, content: Any, depth: int) -> Any:
        place = place_of(content, len(self._objects), "object")
        self._weighed.refer_to_object(place)
        return self._objects[place]

    # -- arrays -------------------------------------------------------------------------------

    def _known_array(self, content: Any, depth: int) -> Array:
        place = place_of(content, len(self._arrays), "array")
        self._weighed.refer_to_array(place, self._arrays[place].nbytes)
        return self._arrays[place]

    def _texts(self, content: Any, depth: int) -> Array:
        content = object_of(content, "an array of text")
        values, width = list_of(content.get("values"), "texts"), content.get("width")
        if not all(type(text) is str for text in values):
            raise ModelFileError("an array of text holds something else.")
        if type(width) is not int or not 0 <= width <= most_width(values):
            raise ModelFileError("an array of text has far more room than text.")
        if any(len(text) > width for text in values):
            raise ModelFileError("an array of text has too little room for its text.")
        n_characters = sum(map(len, values))
        self._room += width * len(values) - _ROOM_EACH * n_characters
        if self._room > _MOST_ROOM:
            raise ModelFileError("an array of text has far more room than text.")
        shape = shape_of(content.get("shape"), len(values))
        texts = np.array(values, dtype=f"<U{width}").reshape(shape)
        self._weighed.hold(texts.nbytes)
        return texts

    def _things(self, content: Any, depth: int) -> Array:
        content = object_of(content, "an array of values")
        values = list_of(content.get("values"), "values")
        array = np.empty(len(values), dtype=object)
        for k, value in enumerate(values):
            array[k] = self.value(value, depth)
            if isinstance(array[k], (np.ndarray, list, dict)):
                raise ModelFileError("an array of values holds arrays or lists.")
        return array.reshape(shape_of(content.get("shape"), len(values)))

    def _masked(self, content: Any, depth: int) -> Any:
        content = object_of(content, "a masked array")
        data, mask = (self.value(content.get(name), depth) for name in ("data", "mask"))
        if type(data) is not np.ndarray or type(mask) is not np.ndarray or mask.dtype != bool:
            raise ModelFileError("a masked array has no data, or no mask.")
        if data.shape != mask.shape:
            raise ModelFileError("a mask is not of the shape of its array.")
        return np.ma.MaskedArray(data, mask=mask)

    def _sparse(self, content: Any, depth: int) -> Any:
        content = object_of(content, "a sparse array")
        parts = [self.value(content.get(name), depth) for name in ("data", "indices", "indptr")]
        by_rows, matrix = content.get("format") == "csr", content.get("matrix")
        if (not by_rows and content.get("format") != "csc") or type(matrix) is not bool:
            raise ModelFileError("a sparse array is of no known format.")
        shape = sides_of(content.get("shape"))
        if len(shape) != 2:
            raise ModelFileError("a sparse array has two sides.")
        _require_sound_sparse(parts, *(shape if by_rows else shape[::-1]))
        kinds = (sp.csr_array, sp.csr_matrix) if by_rows else (sp.csc_array, sp.csc_matrix)
        return kinds[matrix](tuple(parts), shape=tuple(shape), copy=False)


def _require_sound_sparse(parts: list[Any], n_rows: int, n_columns: int) -> None:
    """Compiled code believes indices: each must be inside."""
    if not all(type(part) is np.ndarray and part.ndim == 1 for part in parts):
        raise ModelFileError("a sparse array has three vectors.")
    if len({id(part) for part in parts}) < 3:  # SciPy changes one and believes the others
        raise ModelFileError("a sparse array has a vector twice.")
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
    entry = object_of(entry, "an array")
    name, shape = text_of(entry.get("dtype")), sides_of(entry.get("shape"))
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
