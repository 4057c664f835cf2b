"""Values as JSON, with arrays and objects apart.

    null, true, text, 3, [...]       as in JSON: None, bool, str, int, list
    0.5                              a float has a point or an exponent; finite ones are exact
    {"float": "7ff0000000000000"}    the bits of one that is not finite
    {"tuple": [...]}  {"dict": [[key, value], ...]}  {"bytes": "00ff"}
    {"array": 3}                     an array of numbers: `arrays[3]` of the document, tensor "3"
    {"object": 7}                    `objects[7]` of the document
    {"texts": ...}  {"things": ...}  arrays of text and of mixed values
    {"scalar": ...}  {"masked": ...}  {"sparse": ...}  {"status": "OPTIMAL"}

An array or object that is met twice is written once. An object refers to objects before it only, so
that none can contain itself.

The reader checks everything before anything is made of it. Arrays and objects may be referred to
more than once, and whatever looks at all of a value, to check it, to compare it or to name it in a
message, then looks at the same again: twenty objects that each hold the one before twice are a
million. So what is referred to again is weighed, with all that it holds in turn, and the sum is
bounded by what the file holds.

Writer and reader are one file, although it is long: each method of one undoes one of the other.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np
import scipy.sparse as sp

from lindero.errors import ModelFileError
from lindero.persist.container import is_shape
from lindero.persist.registry import MOST_OBJECTS, EstimatorKind, kind_named, kind_of
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Status

#: What arrays of numbers can be, beside dates and durations.
ARRAY_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
)  # fmt: skip

#: Integers that arrays can hold.
LEAST_INTEGER, MOST_INTEGER = -(2**63), 2**64 - 1

#: How deep lists may be nested.
MOST_DEPTH = 24

T = TypeVar("T")

_JSON_TYPES: dict[type, str] = {list: "a list", dict: "a JSON object", str: "text"}

#: Sides of an array.
MOST_SIDES = 32

#: Room in arrays of text: for each character that is in them, and for all together beside that.
_ROOM_EACH, _MOST_ROOM = 16, 2**25

_TIMES = re.compile(
    r"(datetime64|timedelta64)(\[([1-9]\d{0,5})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)
_BYTES = re.compile(r"S(\d{1,7})")

#: What may be referred to again: so many times what a file holds, and so much however little.
_MOST_TIMES, _LEAST = 8, 2**22

#: What a value weighs, beside its text or numbers, in bytes.
_EACH = 64


class ValueWriter:
    """Writes values, gathering the arrays and objects they hold."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.array_entries: list[dict[str, Any]] = []
        self.objects: list[dict[str, Any]] = []
        self._written: dict[int, dict[str, int]] = {}
        # As long as these are held, no other object has their identity.
        self._held: list[Any] = []

    def value(self, value: Any, where: str, depth: int = 0) -> Any:
        """The JSON of a value; `where` names it in messages."""
        if value is None or type(value) in (bool, str):
            return value
        if depth > MOST_DEPTH:
            _refuse(where, f"is nested more than {MOST_DEPTH} deep. Give it as a flat list")
        if type(value) is int:
            if not LEAST_INTEGER <= value <= MOST_INTEGER:
                bits = value.bit_length()
                _refuse(where, f"is a number of {bits} bits. Use one of 64 at most, or a float")
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
        if type(value) is bytes:
            return {"bytes": value.hex()}
        if isinstance(value, Status):
            return {"status": value.name}
        if isinstance(value, np.ma.MaskedArray):
            return {"masked": self._masked(value, where, depth)}
        if type(value) is np.ndarray:
            return self._array(value, where, depth)
        if isinstance(value, np.generic):
            return {"scalar": self._scalar(value, where)}
        if sp.issparse(value):
            return {"sparse": self._sparse(value, where)}
        return self._composed(value, where, depth)

    def _composed(self, value: Any, where: str, depth: int) -> Any:
        deeper = depth + 1
        if type(value) is list:
            return [self.value(item, f"{where}[{k}]", deeper) for k, item in enumerate(value)]
        if type(value) is tuple:
            return {"tuple": self._composed(list(value), where, depth)}
        if type(value) is dict:
            pairs = [
                [
                    self.value(key, f"a key of {where}", deeper),
                    self.value(v, f"{where}[{key!r}]", deeper),
                ]
                for key, v in value.items()
            ]
            return {"dict": pairs}
        return self._object(value, where)

    # -- objects ------------------------------------------------------------------------------

    def _object(self, value: Any, where: str) -> dict[str, int]:
        if id(value) not in self._written:
            entry = self.entry(value, where)
            self._written[id(value)] = {"object": len(self.objects)}
            self._held.append(value)
            self.objects.append(entry)
        return self._written[id(value)]

    def entry(self, value: Any, where: str) -> dict[str, Any]:
        """An object by its kind and fields; of an estimator, parameters and state."""
        kind = kind_of(value)
        if kind is None:
            _refuse(where, _say_why(value))
        parameters = {}
        if isinstance(kind, EstimatorKind):
            of = f" of {where}" if where else ""
            parameters = {
                name: self.value(parameter, f"parameter {name!r}{of}")
                for name, parameter in value.get_params(deep=False).items()
            }
        fields = {
            name: self.value(field, f"{where}.{name}" if where else name)
            for name, field in kind.state(value).items()
        }
        if not isinstance(kind, EstimatorKind):
            return {"kind": kind.name, "fields": fields}
        return {"kind": kind.name, "parameters": parameters, "state": fields}

    # -- arrays -------------------------------------------------------------------------------

    def _array(self, value: Array, where: str, depth: int) -> Any:
        if value.dtype.kind == "O":
            things = [
                self.value(item, f"{where}[{k}]", depth + 1) for k, item in enumerate(value.flat)
            ]
            return {"things": {"shape": list(value.shape), "values": things}}
        if value.dtype.kind == "U":
            texts = value.ravel().tolist()
            width = min(value.dtype.itemsize // 4, _most_width(texts))
            return {"texts": {"shape": list(value.shape), "width": width, "values": texts}}
        if id(value) not in self._written:
            self._written[id(value)] = {"array": len(self.arrays)}
            self._held.append(value)
            self._store(value, where)
        return self._written[id(value)]

    def _store(self, value: Array, where: str) -> None:
        by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
        turned = value.T if by_columns else value
        # NumPy makes an array of one number out of a single one.
        stored = np.ascontiguousarray(turned).reshape(turned.shape)
        stored = stored.astype(stored.dtype.newbyteorder("="), copy=False)
        kind = stored.dtype.kind
        if kind in "mM":
            stored = stored.view(np.int64)
        elif kind == "S":
            width = max(1, stored.dtype.itemsize)
            flat = stored.reshape(-1).astype(f"S{width}").view(np.uint8)
            stored = flat.reshape(*turned.shape, width)
        elif stored.dtype.name not in ARRAY_TYPES:
            _refuse(where, f"is an array of {value.dtype}, which a model file cannot hold")
        self.arrays.append(stored)
        entry = {"dtype": _dtype_name(value.dtype), "shape": list(value.shape)}
        self.array_entries.append({**entry, "order": "F"} if by_columns else entry)

    def _scalar(self, value: np.generic, where: str) -> dict[str, Any]:
        name = _dtype_name(value.dtype)
        if value.dtype.kind in "mM":
            return {"dtype": name, "value": int(value.astype(np.int64))}
        if value.dtype.kind == "U":
            return {"dtype": "str", "value": str(value)}
        if value.dtype.kind == "S":
            return {"dtype": "bytes", "value": self.value(value.item(), where)}
        if name not in ARRAY_TYPES:
            _refuse(where, f"is a scalar of {value.dtype}, which a model file cannot hold")
        return {"dtype": name, "value": self.value(value.item(), where)}

    def _masked(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        data = self.value(np.asarray(value.data), where, depth + 1)
        return {"data": data, "mask": self.value(np.ma.getmaskarray(value), where, depth + 1)}

    def _sparse(self, value: Any, where: str) -> dict[str, Any]:
        """CSR and CSC as they are, other formats as CSR."""
        value = value if value.format in ("csr", "csc") else value.tocsr()
        about = {"format": value.format, "matrix": isinstance(value, sp.spmatrix)}
        parts = ("data", "indices", "indptr")
        stored = {name: self.value(getattr(value, name), where) for name in parts}
        return {**about, "shape": list(value.shape), **stored}


def _most_width(texts: list[str]) -> int:
    """The characters that an array of such texts may have room for in each of them."""
    return 1024 + 16 * max(map(len, texts), default=0)


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return f"S{max(1, dtype.itemsize)}" if dtype.kind == "S" else dtype.name


def _say_why(value: Any) -> str:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if callable(value):
        return (
            "is a function, and a model file holds no code. Fit with a named kernel, or set a "
            "callback to None with set_params before saving"
        )
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"is a {name}. Set it to an integer with set_params before saving"
    return (
        f"is a {name}, and a model file holds lindero's estimators, numbers, text, and arrays of "
        "them only. Use plain values in its place, or keep the model with pickle"
    )


def _refuse(where: str, why: str) -> NoReturn:
    raise TypeError(f"This model cannot be saved: {where or 'it'} {why}.")


# -- reading ---------------------------------------------------------------------------------------


class ValueReader:
    """Reads values that refer to the arrays and objects of a document."""

    def __init__(self, document: dict[str, Any], stored: list[Array]) -> None:
        entries = _expect(document.get("arrays"), list, "arrays")
        if len(entries) != len(stored):
            raise ModelFileError(f"it has {len(stored)} arrays, and {len(entries)} are described.")
        self._arrays = [_array(*pair) for pair in zip(entries, stored, strict=True)]
        self._objects: list[Any] = []
        self._weights = ReferenceWeights(sum(array.nbytes for array in self._arrays))
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
        objects = _expect(document.get("objects"), list, "objects")
        if len(objects) > MOST_OBJECTS:
            raise ModelFileError(f"it has {len(objects)} objects, and models have {MOST_OBJECTS}.")
        for entry in objects:
            self._objects.append(self.entry(entry))
            self._weights.end_object()

    def entry(self, entry: Any) -> Any:
        """An object from its kind and its fields; it can hold only those read before."""
        entry = _expect(entry, dict, "an object")
        kind = kind_named(entry.get("kind"))
        self._made[kind.name] += 1
        if self._made[kind.name] > kind.most:
            raise ModelFileError(f"it holds more than {kind.most} of the kind {kind.name!r}.")
        if not isinstance(kind, EstimatorKind):
            return kind.make(self._fields(entry.get("fields")))
        return kind.make_with(
            self._fields(entry.get("parameters")), self._fields(entry.get("state"))
        )

    def _fields(self, fields: Any) -> dict[str, Any]:
        return {name: self.value(value) for name, value in _expect(fields, dict, "fields").items()}

    def value(self, value: Any, depth: int = 0) -> Any:
        """The value that some JSON stands for."""
        self._weights.hold(len(value) if type(value) is str else 0)
        if value is None or type(value) in (bool, str, float):
            return value
        if type(value) is int:
            if not LEAST_INTEGER <= value <= MOST_INTEGER:
                raise ModelFileError("it holds an integer that is too large.")
            return value
        if depth > MOST_DEPTH:
            raise ModelFileError(f"values are nested more than {MOST_DEPTH} deep.")
        if type(value) is list:
            return [self.value(item, depth + 1) for item in value]
        if len(value) != 1:
            raise ModelFileError("a value has no kind, or several.")
        (tag, content), *_ = value.items()
        if tag not in self._read:
            raise ModelFileError(f"{tag[:40]!r} is not a kind of value.")
        return self._read[tag](content, depth + 1)

    # -- single values ------------------------------------------------------------------------

    def _float(self, content: Any, depth: int) -> float:
        bits = self._bytes(content, depth)
        if len(bits) != 8:
            raise ModelFileError("a float has 16 hexadecimal digits.")
        return float(struct.unpack(">d", bits)[0])

    def _bytes(self, content: Any, depth: int) -> bytes:
        try:
            return bytes.fromhex(_expect(content, str))
        except ValueError:
            raise ModelFileError("bytes are not hexadecimal digits.") from None

    def _scalar(self, content: Any, depth: int) -> Any:
        content = _expect(content, dict, "a scalar")
        name, value = _expect(content.get("dtype"), str), self.value(content.get("value"), depth)
        if name == "str":
            return np.str_(_expect(value, str))
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
            raise ModelFileError("a scalar does not fit its type.") from None

    def _status(self, content: Any, depth: int) -> Status:
        if _expect(content, str) not in Status.__members__:
            raise ModelFileError("a status is unknown.")
        return Status[content]

    # -- several ------------------------------------------------------------------------------

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self.value(item, depth) for item in _expect(content, list, "a tuple"))

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        pairs: dict[Any, Any] = {}
        for pair in _expect(content, list, "a mapping"):
            if type(pair) is not list or len(pair) != 2:
                raise ModelFileError("a mapping has pairs of a key and a value.")
            key = self.value(pair[0], depth)
            try:
                pairs[key] = self.value(pair[1], depth)
            except TypeError:
                raise ModelFileError("a mapping has a key that cannot be one.") from None
        return pairs

    def _known_object(self, content: Any, depth: int) -> Any:
        place = _expect_place(content, len(self._objects), "object")
        self._weights.refer("object", place, self._weights.objects[place])
        return self._objects[place]

    # -- arrays -------------------------------------------------------------------------------

    def _known_array(self, content: Any, depth: int) -> Array:
        place = _expect_place(content, len(self._arrays), "array")
        self._weights.refer("array", place, self._arrays[place].nbytes)
        return self._arrays[place]

    def _texts(self, content: Any, depth: int) -> Array:
        content = _expect(content, dict, "an array of text")
        values, width = _expect(content.get("values"), list, "texts"), content.get("width")
        if not all(type(text) is str for text in values):
            raise ModelFileError("an array of text holds something else.")
        if type(width) is not int or not 0 <= width <= _most_width(values):
            raise ModelFileError("an array of text has far more room than text.")
        if any(len(text) > width for text in values):
            raise ModelFileError("an array of text has too little room for its text.")
        self._room += width * len(values) - _ROOM_EACH * sum(map(len, values))
        if self._room > _MOST_ROOM:
            raise ModelFileError("an array of text has far more room than text.")
        shape = _expect_shape(content.get("shape"), len(values))
        texts = np.array(values, dtype=f"<U{width}").reshape(shape)
        self._weights.hold(texts.nbytes)
        return texts

    def _things(self, content: Any, depth: int) -> Array:
        content = _expect(content, dict, "an array of values")
        values = _expect(content.get("values"), list, "values")
        array = np.empty(len(values), dtype=object)
        for k, value in enumerate(values):
            array[k] = self.value(value, depth)
            if isinstance(array[k], (np.ndarray, list, dict)):
                raise ModelFileError("an array of values holds arrays or lists.")
        return array.reshape(_expect_shape(content.get("shape"), len(values)))

    def _masked(self, content: Any, depth: int) -> Any:
        content = _expect(content, dict, "a masked array")
        data, mask = (self.value(content.get(name), depth) for name in ("data", "mask"))
        if type(data) is not np.ndarray or type(mask) is not np.ndarray or mask.dtype != bool:
            raise ModelFileError("a masked array has no data, or no mask.")
        if data.shape != mask.shape:
            raise ModelFileError("a mask is not of the shape of its array.")
        return np.ma.MaskedArray(data, mask=mask)

    def _sparse(self, content: Any, depth: int) -> Any:
        content = _expect(content, dict, "a sparse array")
        parts = [self.value(content.get(name), depth) for name in ("data", "indices", "indptr")]
        by_rows, matrix = content.get("format") == "csr", content.get("matrix")
        if (not by_rows and content.get("format") != "csc") or type(matrix) is not bool:
            raise ModelFileError("a sparse array is of no known format.")
        shape = _expect_sides(content.get("shape"))
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
    entry = _expect(entry, dict, "an array")
    name, shape = _expect(entry.get("dtype"), str), _expect_sides(entry.get("shape"))
    by_columns = entry.get("order", "C") == "F"
    width = _BYTES.fullmatch(name)
    expected = shape[::-1] if by_columns else shape
    if width:
        expected = [*expected, int(width[1])]
    type_name = "uint8" if width else "int64" if _TIMES.fullmatch(name) else name
    if name not in ARRAY_TYPES and type_name == name:
        raise ModelFileError("an array is of no known type.")
    if list(stored.shape) != expected or stored.dtype.name != type_name:
        raise ModelFileError("an array is not what its entry says.")
    if stored.dtype == bool and stored.view(np.uint8).max(initial=0) > 1:
        raise ModelFileError("an array of booleans holds other values.")
    if width:
        stored = stored.reshape(-1, int(width[1])).view(name).reshape(stored.shape[:-1])
    elif type_name != name:
        stored = stored.view(np.dtype(name))
    return stored.T if by_columns else stored


class ReferenceWeights:
    """What a file holds in bytes, as it is read; its arrays, of `n_bytes`, are there before."""

    def __init__(self, n_bytes: int) -> None:
        self._held = n_bytes
        self._again = 0
        self._current = 0
        self.objects: list[int] = []
        self._known: set[tuple[str, int]] = set()

    def hold(self, n_bytes: int) -> None:
        """One more value is read."""
        self._current += _EACH + n_bytes
        self._held += _EACH + n_bytes

    def end_object(self) -> None:
        """All that was read since the last call is the next object."""
        self.objects.append(self._current)
        self._current = 0

    def refer(self, what: str, place: int, weight: int) -> None:
        """A value refers to the array or object at a place."""
        self._current += weight
        if (what, place) in self._known:
            self._again += weight
            if self._again > _MOST_TIMES * self._held + _LEAST:
                raise ModelFileError("it refers to the same values too often.")
        self._known.add((what, place))


def _expect(content: Any, kind: type[T], what: str = "something") -> T:
    if type(content) is not kind:
        raise ModelFileError(f"{what} must be {_JSON_TYPES[kind]}.")
    return content


def _expect_place(content: Any, count: int, what: str) -> int:
    if type(content) is not int or not 0 <= content < count:
        raise ModelFileError(f"it refers to an {what} that does not come before.")
    return content


def _expect_sides(content: Any) -> list[int]:
    sides = _expect(content, list, "a shape")
    if len(sides) > MOST_SIDES or not is_shape(sides):
        raise ModelFileError("a shape has impossible numbers.")
    return sides


def _expect_shape(content: Any, count: int) -> list[int]:
    sides = _expect_sides(content)
    if math.prod(sides) != count:
        raise ModelFileError("a shape does not fit the values there are.")
    return sides
