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
"""

from __future__ import annotations

import math
import struct
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from lindero.persist.kinds import EstimatorKind
from lindero.persist.registry import kind_of
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Status

#: What arrays of numbers can be, beside dates and durations.
ARRAY_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
)  # fmt: skip

#: Whole numbers that arrays can hold.
LEAST_WHOLE, MOST_WHOLE = -(2**63), 2**64 - 1

#: Lists within lists, at the most.
MOST_DEPTH = 24


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
            return _whole(value, where)
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
            _refuse(where, _why_not(value))
        parameters = {}
        if isinstance(kind, EstimatorKind):
            of = f" of {where}" if where else ""
            parameters = {
                name: self.value(parameter, f"parameter {name!r}{of}")
                for name, parameter in kind.parameters(value).items()
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
            width = min(value.dtype.itemsize // 4, most_width(texts))
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
        parts = {
            name: self.value(getattr(value, name), where) for name in ("data", "indices", "indptr")
        }
        return {
            "format": value.format,
            "matrix": isinstance(value, sp.spmatrix),
            "shape": list(value.shape),
            **parts,
        }


def most_width(texts: list[str]) -> int:
    """The characters that an array of such texts may have room for in each of them."""
    return 1024 + 16 * max(map(len, texts), default=0)


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return f"S{max(1, dtype.itemsize)}" if dtype.kind == "S" else dtype.name


def _whole(value: int, where: str) -> int:
    if not LEAST_WHOLE <= value <= MOST_WHOLE:
        bits = value.bit_length()
        _refuse(where, f"is a number of {bits} bits. Use one of 64 at most, or a float")
    return value


def _why_not(value: Any) -> str:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if callable(value):
        return (
            "is a function, and a model file holds no code. Fit with a named kernel, or set a "
            "callback to None with set_params before saving"
        )
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"is a {name}. Set it to a whole number with set_params before saving"
    return (
        f"is a {name}, and a model file holds lindero's estimators, numbers, text, and arrays of "
        "them only. Use plain values in its place, or keep the model with pickle"
    )


def _refuse(where: str, why: str) -> NoReturn:
    raise TypeError(f"This model cannot be saved: {where or 'it'} {why}.")
