"""Times as a user gives them (numbers, dates, durations), and as the numbers they are worked with.

Numbers are float64, which tells whole ones apart up to 2⁵³ only. Dates are therefore counted in
seconds from the first of them, and whole numbers beyond 2⁵³, such as nanoseconds since 1970, from
the least. The difference is taken before anything is rounded. Dates are split into whole seconds
and the rest first, since a date far away fits into no fine unit. Times that differ and would be the
same number even so are refused.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from lindero.runtime.arrays import Array

#: Whole numbers up to this one are told apart in float64.
_MOST_WHOLE = 2**53

#: No time may be larger than this: sums and differences of two gaps are then finite.
_MOST_TIME = 2.0**1020

_SECOND = np.timedelta64(1, "s")

_NAMES = {"M": "dates", "m": "durations", "f": "numbers", "i": "numbers"}


@dataclass(frozen=True)
class TimeAxis:
    """How times are read as numbers: `origin` is None where rows are merely counted, a date where
    times are dates (then in seconds from it), no duration where they are durations, a whole number
    where they are large whole numbers, and 0.0 otherwise."""

    origin: Any

    @classmethod
    def of(cls, times: Any) -> TimeAxis:
        """The axis that the times of a first call lie on."""
        if times is None:
            return cls(None)
        values = plain_times(times)
        if values.dtype.kind == "M":
            _require_all(np.isnat(values), "NaT")
            fine = values.astype(np.promote_types(values.dtype, "datetime64[us]"))
            return cls(fine.min() if fine.size else np.datetime64(0, "us"))
        if values.dtype.kind == "m":
            return cls(np.timedelta64(0, "us"))
        large = values.dtype.kind == "i" and values.size and int(values.min()) > _MOST_WHOLE
        return cls(np.int64(values.min()) if large else 0.0)

    @property
    def dtype(self) -> Any:
        """What times are kept as: dates to a microsecond, or finer if the first ones were."""
        return np.asarray(0.0 if self.origin is None else self.origin).dtype

    def read(self, times: Any, n_rows: int, first: int = 0) -> tuple[Array, Array]:
        """Times of rows as numbers and as they are kept; without any, rows counted from `first`."""
        if times is None and self.origin is None:
            numbers = np.arange(float(first), first + n_rows)
            return numbers, numbers
        if times is None:
            raise ValueError("times are needed: one for each row, as in the first call.")
        numbers, values = self.numbers(times, n_rows), plain_times(times)
        _require_all(
            np.abs(numbers) > _MOST_TIME, f"beyond {_MOST_TIME:.1g}", "Use another unit of time."
        )
        if values.dtype.kind != "f":
            _require_told_apart(values, numbers)
        kept = values.astype(self.dtype)
        if self.dtype.kind in "mM":
            lost = np.abs(self._difference(kept) - numbers) > 1.0
            _require_all(
                lost,
                f"beyond what {self.dtype}, the type of the first ones, can hold",
                "Call fit with all times as datetime64[us].",
            )
        return numbers, kept

    def numbers(self, times: Any, n_rows: int, one_for_all: bool = False) -> Array:
        """Times of rows as numbers, all of them finite."""
        values = plain_times(times)
        if values.ndim == 0 and one_for_all:
            values = np.full(n_rows, values)
        if values.shape != (n_rows,):
            raise ValueError(
                f"times has shape {values.shape}, but X has {n_rows} rows: pass one for each row"
                + (", or a single one." if one_for_all else ".")
            )
        self._require_kind(values)
        if values.dtype.kind in "mM":
            _require_all(np.isnat(values), "NaT")
        numbers = self._difference(values)
        _require_all(~np.isfinite(numbers), "NaN or infinite")
        return numbers

    def restore(self, numbers: Array) -> Array:
        """Numbers as the times they were read from, dates to a microsecond."""
        if self.dtype.kind == "f":
            return numbers
        if self.dtype.kind == "i":
            return np.asarray(self.origin + numbers.astype(np.int64))
        return np.asarray(self.origin + np.round(numbers * 1e6).astype("timedelta64[us]"))

    def _difference(self, values: Array) -> Array:
        """How far times are from the origin."""
        if values.dtype.kind in "mM":
            unit = f"{values.dtype.kind}8[s]"
            whole, first = values.astype(unit), self.origin.astype(unit)
            rest = (values - whole) / _SECOND - (self.origin - first) / _SECOND
            seconds: Array = (whole - first) / _SECOND + rest
            return seconds
        numbers: Array = values.astype(np.float64)
        if self.dtype.kind == "i":
            numbers -= float(self.origin)
            if values.dtype.kind == "i":
                near = np.abs(numbers) < 2.0**62
                numbers[near] = (values[near] - self.origin).astype(np.float64)
        return numbers

    def _require_kind(self, values: Array) -> None:
        known, kind = _NAMES[self.dtype.kind], _NAMES[values.dtype.kind]
        if kind != known:
            raise ValueError(
                f"times are {kind}, but those given first were {known}"
                + (" (rows were counted)." if self.origin is None else ".")
                + " Use the same kind."
            )


#: The axis of rows that are merely counted.
ROW_NUMBERS = TimeAxis(None)


def plain_times(times: Any) -> Array:
    """Times as an array of float64, int64, dates or durations, of any shape but a table."""
    values = np.asarray(times)
    if values.dtype.kind == "O":
        values = _read_numbers(values)
    if values.dtype.kind == "c":
        raise ValueError("times are complex numbers, which have no order: pass real ones.")
    if values.ndim:
        values = np.asarray(column_or_1d(values))
    if values.dtype.kind in "bf":
        return values.astype(np.float64)
    if values.dtype.kind in "iu":
        if values.size and int(values.max()) >= 2**63:
            raise ValueError(
                f"times must be below 2**63, but one is {values.max()}. Count from a later origin."
            )
        return values.astype(np.int64)
    if values.dtype.kind == "m" and np.datetime_data(values.dtype)[0] in "YM":
        raise ValueError("times are durations in years or months, which differ: use days.")
    if values.dtype.kind in "mM":
        return values
    _require_no_bare_number(values)
    return _read_dates(values)


def _read_numbers(values: Array) -> Array:
    """Objects as numbers, where all of them are; otherwise as they are. Text is none."""
    items = values.ravel().tolist()
    if any(isinstance(item, (str, bytes)) for item in items):
        return values
    inferred = np.asarray(items)
    if inferred.dtype.kind == "O":
        try:
            inferred = inferred.astype(np.float64)
        except (TypeError, ValueError):
            return values
    return inferred.reshape(values.shape) if inferred.dtype.kind in "biufc" else values


def _require_no_bare_number(values: Array) -> None:
    """Refuse text such as "9", which NumPy would take for a year, and numbers among dates."""
    for row, item in enumerate(values.ravel().tolist()):
        if isinstance(item, (str, bytes, Number)):
            try:
                float(item)  # type: ignore[arg-type]
            except ValueError:
                continue
            raise ValueError(
                f"times must be all numbers or all dates, but that of row {row} is {item!r}, as "
                f"{type(item).__name__}. Pass numbers, as by np.asarray(times, dtype=float), or "
                "dates like '2024-05-01'."
            )


def _read_dates(values: Array) -> Array:
    """Dates with a zone, dates as text, and dates of Python itself, in UTC."""
    try:
        with warnings.catch_warnings():
            # A zone is not kept, which is all that NumPy has to say.
            warnings.filterwarnings("ignore", ".*timezone", UserWarning)
            return values.astype("datetime64[us]")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"times must be numbers or dates, but are of type {values.dtype} ({error}). Turn them "
            "into numbers, or into datetime64."
        ) from None


def _require_all(bad: Array, what: str, advice: str = "") -> None:
    if np.any(bad):
        row = int(np.flatnonzero(np.atleast_1d(bad))[0])
        advice = advice or "Leave such rows out, or give them a time."
        raise ValueError(
            f"times must be known and within range, but that of row {row} is {what}. {advice}"
        )


def _require_told_apart(values: Array, numbers: Array) -> None:
    order = np.argsort(values, kind="stable")
    sorted_values = values[order]
    merged = (sorted_values[1:] != sorted_values[:-1]) & (np.diff(numbers[order]) == 0.0)
    if merged.any():
        at = int(np.flatnonzero(merged)[0])
        row, other = int(order[at]), int(order[at + 1])
        raise ValueError(
            f"times of rows {row} and {other}, {values[row]} and {values[other]}, differ by too "
            "little beside how far they are from the first: float64 cannot tell them apart. Use a "
            "coarser unit of time, or fewer rows."
        )
