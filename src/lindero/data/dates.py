"""Dates and times as features.

A column of dates, or of text in which every value is a date in one way of writing, becomes up to
five columns, of which those are kept that vary in the training rows:

    year            a number
    month           a category, January to December
    weekday         a category, Monday to Sunday
    hour            a number from 0 to 24 with fractions, where there are times of day
    days            days since the first date, with fractions where there are times of day

A column of times of day becomes its hour. Which columns came of it, the way of writing and the
first date are remembered (`DateColumn`), so that later tables become the same columns.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import types

PARTS = ("year", "month", "weekday", "hour", "days")
#: Parts that are categories, with their values.
NAMED_PARTS = {
    "month": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}  # fmt: skip

#: Ways of writing: dates as ISO 8601 has them, and dates and times that `strptime` reads.
ISO = "iso"
TYPED = "dates"  # the file itself says that it holds dates
CLOCK = "times"
_DAYS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S")
FORMS = (ISO, TYPED, CLOCK, *(day + clock for day in _DAYS for clock in _CLOCKS))

#: Values that are looked at before the whole column is.
_LOOKED_AT = 200
_ISO_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?)?"
)
_CLOCK_TIME = re.compile(r"([01]?\d|2[0-4]):[0-5]\d(:[0-5]\d(\.\d+)?)?")
_OTHER_DATE = re.compile(
    r"(\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{4}/\d{1,2}/\d{1,2})( \d{1,2}:\d{2}(:\d{2})?)?"
)
_MOMENT = pa.timestamp("us")


@dataclass(frozen=True)
class DateColumn:
    """How a column of dates is read: the way of writing, the first date in ISO's form ("" for times
    of day), and the parts that became columns, with their names."""

    form: str
    start: str
    parts: dict[str, str]


def find_dates(column: pa.ChunkedArray) -> tuple[str, pa.ChunkedArray] | str | None:
    """The way of writing and the moments, if all values are dates; a sentence if day and month
    cannot be told apart; None if they are no dates."""
    kind = column.type
    if types.is_temporal(kind):
        form = CLOCK if types.is_time(kind) else TYPED
        moments = None if types.is_duration(kind) else read_moments(column, form)
        usable = moments is not None and (form == CLOCK or _has_usual_years(moments))
        return (form, moments) if usable else None
    if not types.is_string(kind) or column.null_count == len(column):
        return None
    first = column.slice(0, _LOOKED_AT).drop_null().to_pylist()
    for form, pattern in ((ISO, _ISO_DATE), (CLOCK, _CLOCK_TIME)):
        if first and all(map(pattern.fullmatch, first)):
            moments = read_moments(column, form)
            return None if moments is None else (form, moments)
    if not first or not all(map(_OTHER_DATE.fullmatch, first)):
        return None
    found = {
        form: moments for form in FORMS[3:] if (moments := read_moments(column, form)) is not None
    }
    if len(found) == 1:
        return next(iter(found.items()))
    if found:
        return (
            f"its dates are written like {first[0]!r}, and day and month cannot be told apart: it "
            "is read as text. Write dates like 2024-05-31 to have them used"
        )
    return _say_impossible(column)


def _say_impossible(column: pa.ChunkedArray) -> str | None:
    """A sentence about the first value that is no date, in a column in which most are."""
    moments = min(
        (_read_possible(column, form) for form in FORMS[3:]), key=lambda found: found.null_count
    )
    if 2 * moments.null_count > len(column) + column.null_count:
        return None
    row = pc.and_(moments.is_null(), column.is_valid()).index(True).as_py()
    value = str(column[row].as_py())[:40]
    return (
        f"most of its values are dates, but {value!r} in row {row} is none: "
        "it is read as text. Correct that value, or leave it empty, to have the dates used"
    )


def _has_usual_years(moments: pa.ChunkedArray) -> bool:
    """Whether Python's dates, of the years 1 to 9999, hold them all; Arrow's go further."""
    years = pc.min_max(pc.year(moments)).as_py()
    return years["min"] is None or 1 <= years["min"] <= years["max"] <= 9999


def read_moments(column: pa.ChunkedArray, form: str) -> pa.ChunkedArray | None:
    """Moments of a column, without a time zone; of times of day, hours. None if any value is
    not written like that."""
    try:
        if form == CLOCK:
            return _read_hours(column)
        if types.is_temporal(column.type):
            return None if types.is_time(column.type) else _drop_zone(column)
        if form in (ISO, TYPED):
            return _read_iso(column)
        moments = _read_possible(column, form)
        return moments if moments.null_count == column.null_count else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OverflowError):
        return None


def _read_possible(column: pa.ChunkedArray, form: str) -> pa.ChunkedArray:
    """Moments written in this form, which is not ISO's; null where a value is not, or no date."""
    moments = pc.strptime(column, format=form, unit="us", error_is_null=True)
    # Arrow takes 31 February for 2 March: the moment must be written as the text is.
    written = pc.strftime(moments.cast(pa.timestamp("s")), format=form)
    plain = [pc.replace_substring_regex(c, r"\b0+([0-9])", r"\1") for c in (written, column)]
    is_date = pc.match_substring_regex(column, f"^(?:{_OTHER_DATE.pattern})$")
    is_possible = pc.and_(is_date, pc.equal(*plain))
    return pc.if_else(is_possible, moments, pa.scalar(None, _MOMENT))


def find_bad_date(column: pa.ChunkedArray, form: str) -> int:
    """The first row whose value is not a date of this form."""
    for row in range(len(column)):
        if column[row].is_valid and read_moments(column.slice(row, 1), form) is None:
            return row
    return 0


def _drop_zone(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if types.is_timestamp(kind) and kind.tz is not None:
        column = pc.local_timestamp(column)
    return column.cast(_MOMENT, safe=False)


def _read_iso(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(_MOMENT)
    except pa.ArrowInvalid:
        pass
    # With time zones: the time on the clock there is what a weekday and an hour are about.
    plain = pc.replace_substring_regex(column, r"(Z|[+-]\d{2}:?\d{2})$", "")
    day_only = pc.equal(pc.utf8_length(column), 10)
    return pc.if_else(day_only, column, plain).cast(_MOMENT)


def _read_hours(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if types.is_time(column.type):
        unit = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
        return pc.divide(unit.cast(pa.float64()), 3.6e9)
    hours = []
    for text in column.to_pylist():
        if text is not None and not _CLOCK_TIME.fullmatch(text):
            raise ValueError(text)
        parts = [] if text is None else [float(part) for part in text.split(":")]
        hours.append(sum(p / 60**k for k, p in enumerate(parts)) if parts else None)
    return pa.chunked_array([pa.array(hours, pa.float64())])


def expand_dates(
    moments: pa.ChunkedArray, form: str, name: str, taken: Collection[str]
) -> tuple[DateColumn, dict[str, pa.ChunkedArray]]:
    """What dates become: the parts that vary, or the days if none does, and how."""
    start = ""
    if form != CLOCK:
        low = pc.min(moments).as_py()
        start = datetime.datetime.combine(low.date(), datetime.time()).isoformat()
    names, found = {}, {}
    for part in PARTS:
        values = compute_part(moments, form, start, part)
        if values is None or (pc.count_distinct(values).as_py() < 2 and part != "days"):
            continue
        title = f"{name} {part}"
        while title in taken:
            title += "_"
        names[part], found[title] = title, values
    if len(names) > 1 and pc.count_distinct(found[names["days"]]).as_py() < 2:
        names.pop("days")
    return DateColumn(form, start, names), {title: found[title] for title in names.values()}


def expand_table(table: pa.Table) -> pa.Table:
    """A table in which columns of dates have become their parts."""
    columns: dict[str, pa.ChunkedArray] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        found = find_dates(column) if types.is_temporal(column.type) else None
        if isinstance(found, tuple) and column.null_count < len(column):
            form, moments = found
            columns.update(expand_dates(moments, form, name, {*table.column_names, *columns})[1])
        else:
            columns[name] = column
    return pa.table(columns)


def compute_part(
    moments: pa.ChunkedArray, form: str, start: str, part: str
) -> pa.ChunkedArray | None:
    """A part of dates; None for one that times of day do not have."""
    if form == CLOCK:
        return moments if part == "hour" else None
    steps: dict[str, Callable[[], Any]] = {
        "year": lambda: pc.year(moments),
        "month": lambda: _name_part("month", pc.subtract(pc.month(moments), 1)),
        "weekday": lambda: _name_part("weekday", pc.day_of_week(moments)),
        "hour": lambda: _count_days(moments, pc.floor_temporal(moments, unit="day"), 24.0),
        "days": lambda: _count_days(moments, _parse_start(start), 1.0),
    }
    return steps[part]()


def _parse_start(start: str) -> pa.Scalar:
    return pa.scalar(datetime.datetime.fromisoformat(start), _MOMENT)


def _name_part(part: str, places: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.take(pa.chunked_array([pa.array(NAMED_PARTS[part])]), places)


def _count_days(moments: pa.ChunkedArray, start: Any, unit: float) -> pa.ChunkedArray:
    elapsed = pc.subtract(moments, start).cast(pa.int64()).cast(pa.float64(), safe=False)
    return pc.multiply(elapsed, unit / 86_400e6)
