"""Numbers as people write them: 1.883,00 and 1,883.00, € 12 and $1,200, 12 %, 114,000 km.

A column of text is read as numbers if all of its values are numbers in one way of writing:

    decimal sign          a point or a comma
    thousands separator   the other of the two, an apostrophe or a blank, before groups of 3 digits
    unit                  one currency, in front or behind; the percent sign (12 % is 0.12), or one
                          word such as km, m² or years behind

Both ways fit where each separator stands before exactly three digits and occurs once. A currency
then means thousands, since prices have two decimals; a percent sign means decimals, since shares
stay below 1000 %. Otherwise the column is ambiguous: it takes the way of the file's other columns,
or else a comma is read as thousands, a point as the decimal sign, and the user is told.

Units are never converted: a column with "500 g" and "2 kg" stays text, and the user is told.

New rows must have the unit of the training rows: 0.12 is not 12 %, and 12 € is neither. Numbers
without one are read in a column of a currency that had such numbers in training, too; for another
unit, nine in ten of the training values must have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import compute as pc

from lindero.errors import DataError

#: Values that are looked at before the whole column is.
_LOOKED_AT = 200

#: Signs and codes of currencies, and blanks that are written between a number and its unit.
_SYMBOLS = "$€£¥₹₽₩₺₴₪₫฿"
_CODES = ("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "CZK")
_CURRENCY = rf"(?:[{_SYMBOLS}]|{'|'.join(_CODES)})"
_BLANKS = "[ \u00a0\u202f\u2009]?"
#: A unit that is a word: km, m², m3, km/h, °C, years. Arrow and Python read it alike.
_LETTER = "[A-Za-z\u00b0\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u04ff]"
_WORD = f"{_LETTER}(?:{_LETTER}|/){{0,11}}[23\u00b2\u00b3]?"
_IS_WORD = re.compile(_WORD)
#: Words behind a number that are no units: of times of day, and of places in an order.
_NO_UNITS = frozenset(("am", "pm", "a", "p", "st", "nd", "rd", "th", "e"))
#: The share of values that must have the unit, where it is a word.
_WITH_UNIT = 0.9
#: More different words behind numbers than this are no units.
_MOST_UNITS = 5
_SIGN = "[+\\-\u2212]?"
#: Separators that are never a decimal sign.
_OTHERS = "'\u2019 \u00a0\u202f\u2009"

DECIMALS = (".", ",")


def _write_pattern(decimal: str, thousands: str, unit: str) -> str:
    """What a number with a unit, a pattern, looks like; "" is for none."""
    separators = thousands or ("," if decimal == "." else ".") + _OTHERS
    point, groups = re.escape(decimal), f"[{re.escape(separators)}]"
    grouped = rf"[1-9][0-9]{{0,2}}(?:{groups}[0-9]{{3}})+"
    body = rf"(?:(?:{grouped}|[0-9]+)(?:{point}[0-9]+)?|{point}[0-9]+)"
    if not unit:
        return rf"{_SIGN}{_BLANKS}{body}"
    behind = rf"{_SIGN}{_BLANKS}{body}{_BLANKS}(?:{unit})"
    if unit in ("%", _WORD) or _is_word(unit.removesuffix("s?").replace("\\", "")):
        return behind
    return rf"(?:{_SIGN}{unit}{_BLANKS}|{unit}{_BLANKS}{_SIGN}){body}|{behind}"


def _is_word(unit: str) -> bool:
    """Whether a unit is a word, and neither a currency nor the percent sign."""
    return _IS_WORD.fullmatch(unit) is not None and unit not in _CODES


def _allow_plural(unit: str) -> str:
    """A pattern of a unit: one of several letters may have an s behind it."""
    several = _is_word(unit) and unit.isalpha() and len(unit) > 1
    return re.escape(unit) + ("s?" if several else "")


def _write_any_pattern(decimal: str, thousands: str = "") -> str:
    """What a number with whatever unit, or none, looks like."""
    parts = (_write_pattern(decimal, thousands, unit) for unit in ("", "%", _CURRENCY, _WORD))
    return "|".join(f"(?:{part})" for part in parts)


_EITHER = re.compile("|".join(map(_write_any_pattern, DECIMALS)))
_MARKS = r"[.,'’ \x{00a0}\x{202f}\x{2009}]"


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written: the decimal sign, the thousands separator ("" if
    any but the decimal sign may be one), the unit ("" if there is none), and whether numbers
    without it were among them."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    is_unit_optional: bool = False

    @property
    def is_word(self) -> bool:
        """Whether the unit is a word such as km."""
        return _is_word(self.unit)

    def fits(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Whether each value is such a number; null where there is none."""
        pattern = _write_pattern(self.decimal, self.thousands, _allow_plural(self.unit))
        if self.is_unit_optional:
            pattern += "|" + _write_pattern(self.decimal, self.thousands, "")
        return pc.match_substring_regex(column, f"^(?:{pattern})$")

    def read(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Text as numbers; all of it must fit."""
        kept = pc.replace_substring(column, "\u2212", "-")
        if _is_word(self.unit):  # m2 has a digit
            kept = pc.replace_substring_regex(kept, f"(?:{_allow_plural(self.unit)})$", "")
        kept = pc.replace_substring_regex(kept, rf"[^0-9+\-{re.escape(self.decimal)}]", "")
        if self.decimal != ".":
            kept = pc.replace_substring(kept, self.decimal, ".")
        if self.unit == "%":
            return pc.divide(kept.cast(pa.float64()), 100.0)
        try:
            return kept.cast(pa.int64())
        except pa.ArrowInvalid:
            return kept.cast(pa.float64())

    def describe(self) -> str:
        """The way of writing, by an example."""
        separator = self.thousands or ("," if self.decimal == "." else ".")
        number = f"1{separator}234{self.decimal}5"
        return f"{number} {self.unit}".strip()

    def advise(self) -> str:
        """What to do about a value that does not fit."""
        if not self.unit:
            return "Correct it, or leave it empty."
        return f"Correct it, with {self.unit!r} where that is missing, or leave it empty."


@dataclass(frozen=True)
class FoundFormat:
    """The format of a column, whether it could also be the other, and whether it tells the decimal
    sign of the file: € 12 does not."""

    format: NumberFormat
    is_ambiguous: bool = False
    example: str = ""
    tells_decimal: bool = True


def check_format(decimal: str | None, thousands: str | None) -> NumberFormat | None:
    """The format that a user gave; None if he gave none."""
    if decimal is None and thousands is None:
        return None
    if decimal is not None and decimal not in DECIMALS:
        raise DataError(f"decimal must be '.' or ',', not {decimal!r}.")
    if thousands is not None and (len(thousands) != 1 or thousands not in ".," + _OTHERS):
        raise DataError(
            f"thousands must be one of '.', ',', an apostrophe or a blank, not {thousands!r}."
        )
    if decimal is None:
        decimal = "," if thousands == "." else "."
    if decimal == thousands:
        raise DataError(f"decimal and thousands are both {decimal!r}: they must differ.")
    return NumberFormat(decimal, thousands or "")


def find_format(column: pa.ChunkedArray, given: NumberFormat | None = None) -> FoundFormat | None:
    """The format of a column of text; None if it is not of numbers."""
    first = column.slice(0, _LOOKED_AT).drop_null().to_pylist()
    if not first or not all(_EITHER.fullmatch(value) for value in first):
        return None
    if column.null_count == len(column):
        return None
    fitting = [
        form
        for form in ([given] if given is not None else map(NumberFormat, DECIMALS))
        if pc.all(_fit_any_unit(column, form)).as_py()
    ]
    if not fitting:
        return None
    found = _find_unit(column)
    if found is None:
        return None
    unit, is_optional = found
    is_plain = unit == "" or _is_word(unit)
    example = next((value for value in first if re.search("[.,]", value)), first[0])
    if len(fitting) == 1:
        form = fitting[0]
        own = NumberFormat(form.decimal, form.thousands, unit, is_optional)
        return FoundFormat(own, False, example)
    text = column.cast(pa.string())
    has_comma = pc.any(pc.match_substring(text, ",")).as_py()
    has_point = pc.any(pc.match_substring(text, ".")).as_py()
    if not (has_comma or has_point):  # 12 345, or € 12
        return FoundFormat(NumberFormat(".", "", unit, is_optional), False, example, False)
    # One separator, once in each value, before three digits.
    separator = "," if has_comma else "."
    other = "." if separator == "," else ","
    means_decimals = unit == "%" or (is_plain and separator == ".")
    decimal = separator if means_decimals else other
    return FoundFormat(NumberFormat(decimal, "", unit, is_optional), is_plain, example)


def _fit_any_unit(column: pa.ChunkedArray, form: NumberFormat) -> pa.ChunkedArray:
    pattern = _write_any_pattern(form.decimal, form.thousands)
    return pc.match_substring_regex(column, f"^(?:{pattern})$")


def _find_unit(column: pa.ChunkedArray) -> tuple[str, bool] | None:
    """The unit of all values: a currency, the percent sign, a word, or "", and whether some have
    none; None if they differ."""
    bare = pc.replace_substring_regex(column, rf"[0-9+\-\x{{2212}}]|{_MARKS}", "")
    units = {unit for unit in pc.unique(bare).to_pylist() if unit is not None}
    named = units - {""}
    if any(_is_word(unit) for unit in named):
        words = _count_words(column)
        word, n_without = next(iter(words), ""), words.pop("", 0)
        n_values = len(column) - column.null_count
        few = n_without > (1.0 - _WITH_UNIT) * n_values
        return (
            None if len(words) != 1 or few or word.lower() in _NO_UNITS else (word, n_without > 0)
        )
    if len(named) > 1 or ("%" in named and "" in units):
        return None
    return (named.pop(), "" in units) if named else ("", False)


def _count_words(column: pa.ChunkedArray) -> dict[str, int]:
    """What stands behind the numbers, the most frequent first, and in how many values; a plural
    counts as its singular where that occurs too."""
    behind = pc.replace_substring_regex(column, rf"^(?:[0-9+\-\x{{2212}}]|{_MARKS})+", "")
    counted = pc.value_counts(behind.drop_null()).to_pylist()
    counts = {one["values"]: one["counts"] for one in counted}
    for plural in [word for word in counts if word.endswith("s") and len(word) > 2]:
        if plural[:-1] in counts:
            counts[plural[:-1]] += counts.pop(plural)
    return dict(sorted(counts.items(), key=lambda item: (item[0] == "", -item[1])))


def find_mixed_units(column: pa.ChunkedArray) -> tuple[str, ...]:
    """The units of a column of text whose values are numbers with several units, each of them in
    several values, or with and without one; () for any other column."""
    first = column.slice(0, _LOOKED_AT).drop_null().to_pylist()
    spaced = re.compile(rf".*[0-9][ \u00a0\u202f\u2009](?:{_WORD})")
    if not first or not all(_EITHER.fullmatch(value) for value in first):
        return ()
    if not any(spaced.fullmatch(value) for value in first):  # 12a, 12b, ... are codes
        return ()
    if not any(pc.all(_fit_any_unit(column, form)).as_py() for form in map(NumberFormat, DECIMALS)):
        return ()
    words = _count_words(column)
    if not 1 < len(words) <= _MOST_UNITS or any(word.lower() in _NO_UNITS for word in words):
        return ()
    return tuple(words)


def find_strays(column: pa.ChunkedArray) -> str:
    """The values of a column of text that are no numbers, where nine in ten of them are numbers
    without a unit: the three most frequent, as they are told to a user; "" for other columns."""
    known = column.drop_null()
    for form in map(NumberFormat, DECIMALS):
        strays = known.filter(pc.invert(form.fits(known)))
        if 0 < len(strays) <= (1.0 - _WITH_UNIT) * len(known):
            counted = sorted(pc.value_counts(strays).to_pylist(), key=lambda one: -one["counts"])
            listed = ", ".join(repr(one["values"]) for one in counted[:3])
            return listed + (", ..." if len(counted) > 3 else "")
    return ""


def looks_ambiguous(fields: Iterable[str]) -> bool:
    """Whether numbers with a decimal point may be thousands: all like 1.883, and some are there."""
    n_numbers = 0
    for field in fields:
        if _THREE_DIGITS.fullmatch(field):
            n_numbers += 1
        elif field.strip() and not _THREE_DIGITS.fullmatch(field.strip()):
            return False
    return n_numbers > 1


_THREE_DIGITS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")
