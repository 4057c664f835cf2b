"""What is read from a model file, checked field by field.

A file may say anything. `Fields` hands out the fields of one object, each only if it is of the
type, size and range that its name stands for; a field that nobody asked for is refused at the end.
Lengths have names: the first array that has one sets it, and all others must agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from lindero.errors import ModelFileError
from lindero.runtime.arrays import Array

#: Largest count of anything: samples, features, steps.
MOST = 2**53

#: Kinds of dtypes of numbers, and of labels: dates and durations too.
NUMBERS = ("b", "i", "u", "f")
LABELS = (*NUMBERS, "U", "S", "O", "M", "m")

_Side = int | str | None


def is_finite(array: Array) -> bool:
    """Whether an array of numbers holds neither NaN nor infinities."""
    if array.dtype.kind != "f" or array.size == 0:
        return True
    # Two passes without a temporary array; NaN is in both.
    return bool(np.isfinite(array.min()) and np.isfinite(array.max()))


class Fields:
    """The fields of an object of a kind."""

    def __init__(self, kind: str, values: dict[str, Any], owner: Any = None) -> None:
        self.kind = kind
        #: The estimator whose state this is, with its parameters only; None for other objects.
        self.owner = owner
        self._values = values
        self._asked: set[str] = set()
        self._sizes: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def refuse(self, name: str, message: str) -> NoReturn:
        raise ModelFileError(f"{self.kind}: {name} {message}.")

    def require(self, name: str, holds: bool, message: str) -> None:
        if not holds:
            self.refuse(name, message)

    def size(self, name: str) -> int:
        """The length that arrays have set under this name."""
        return self._sizes[name]

    @property
    def unasked(self) -> set[str]:
        """Fields that no check looked at."""
        return set(self._values) - self._asked

    # -- single values ------------------------------------------------------------------------

    def any(self, name: str) -> Any:
        """A field as it is."""
        if name not in self._values:
            self.refuse(name, "is missing")
        self._asked.add(name)
        return self._values[name]

    def integer(self, name: str, least: int = 0, most: int = MOST) -> int:
        value = self.any(name)
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
        if not whole or not least <= int(value) <= most:
            self.refuse(name, f"must be an integer from {least} to {most}")
        return int(value)

    def number(self, name: str, least: float = -math.inf, finite: bool = False) -> float:
        value = self.any(name)
        real = isinstance(value, (int, float, np.integer, np.floating))
        if not real or isinstance(value, bool):
            self.refuse(name, "must be a number")
        number = float(value)
        below = number < least or (least > -math.inf and math.isnan(number))
        if below or (finite and not math.isfinite(number)):
            self.refuse(name, f"must be a number from {least} on" + (", not infinite" * finite))
        return number

    def flag(self, name: str) -> bool:
        value = self.any(name)
        if not isinstance(value, (bool, np.bool_)):
            self.refuse(name, "must be true or false")
        return bool(value)

    def text(self, name: str, choices: Collection[str] | None = None) -> str:
        value = self.any(name)
        if not isinstance(value, str) or (choices is not None and value not in choices):
            expected = "text" if choices is None else f"one of {sorted(choices)}"
            self.refuse(name, f"must be {expected}")
        return value

    def instance(self, name: str, *types: str) -> Any:
        """An object of a class of one of these names, which are of kinds that files can hold."""
        value = self.any(name)
        if type(value).__name__ not in types:
            self.refuse(name, f"must be a {' or '.join(types)}")
        return value

    def where_given(
        self, names: Sequence[str], check: Callable[..., Any], *rest: Any, **more: Any
    ) -> None:
        """Check those of these fields that are there."""
        for name in names:
            if name in self:
                check(name, *rest, **more)

    def optional(self, name: str, check: Callable[..., Any], *rest: Any, **more: Any) -> Any:
        """None, or what a check of this object returns."""
        if self.any(name) is None:
            return None
        return check(name, *rest, **more)

    # -- several ------------------------------------------------------------------------------

    def items(
        self, name: str, kind: type, length: int | None = None, of: type | tuple[type, ...] = object
    ) -> Any:
        """A list or tuple, of so many items of some type."""
        value = self.any(name)
        same: bool = type(value) is kind
        if not same or not all(isinstance(item, of) for item in value):
            self.refuse(name, f"must be a {kind.__name__} of things of one type")
        if length is not None and len(value) != length:
            self.refuse(name, f"must have {length} items, not {len(value)}")
        return value

    def mapping(self, name: str) -> dict[Any, Any]:
        value = self.any(name)
        if type(value) is not dict:
            self.refuse(name, "must be a mapping")
        return value

    def array(
        self,
        name: str,
        dtypes: str | Sequence[str],
        *shape: _Side,
        least: float | None = None,
        below: float | None = None,
        finite: bool = False,
    ) -> Array:
        """An array of a dtype (or one of several, or of a kind such as "f"), a shape and a range,
        in which no NaN is. Sides are numbers, names of lengths, or None for any length."""
        array = self.any(name)
        self._require_array(name, array, dtypes, shape)
        if finite:
            self.require(name, is_finite(array), "must hold finite numbers only")
        if array.size and least is not None and not array.min() >= least:
            self.refuse(name, f"must not hold numbers below {least}")
        if array.size and below is not None and not array.max() < below:
            self.refuse(name, f"must hold numbers below {below} only")
        return array  # type: ignore[no-any-return]

    def _require_array(
        self, name: str, array: Any, dtypes: str | Sequence[str], shape: Sequence[_Side]
    ) -> None:
        if type(array) is not np.ndarray:
            self.refuse(name, "must be an array")
        known = (dtypes,) if isinstance(dtypes, str) else dtypes
        if array.dtype.name not in known and array.dtype.kind not in known:
            self.refuse(name, f"must be an array of {' or '.join(known)}, not {array.dtype}")
        self._require_shape(name, array.shape, shape)

    def _require_shape(self, name: str, found: Sequence[int], shape: Sequence[_Side]) -> None:
        if len(found) != len(shape):
            self.refuse(name, f"must have {len(shape)} sides, not {len(found)}")
        for length, side in zip(found, shape, strict=True):
            wanted = self._sizes.setdefault(side, length) if isinstance(side, str) else side
            if wanted is not None and wanted != length:
                self.refuse(name, f"has the shape {tuple(found)}, and others need {wanted} there")

    def rows(self, name: str, *shape: _Side) -> Any:
        """A dense array or a CSR array of finite numbers."""
        value = self.any(name)
        if sp.issparse(value):
            if value.format != "csr" or value.data.dtype.kind not in NUMBERS:
                self.refuse(name, "must be dense, or a CSR array of numbers")
            self._require_shape(name, value.shape, shape)
        else:
            self._require_array(name, value, NUMBERS, shape)
        finite = is_finite(value.data if sp.issparse(value) else value)
        self.require(name, finite, "must hold finite numbers only")
        return value

    def csr(self, name: str, *shape: _Side) -> Any:
        """A CSR array of float64."""
        value = self.rows(name, *shape)
        sound = type(value).__name__ == "csr_array" and value.data.dtype == np.float64
        self.require(name, sound, "must be a CSR array of float64")
        return value
