"""Refuse columns that cannot be used: the errors say which, where, and what to do."""

from __future__ import annotations

import numbers
from typing import Any, NoReturn

_WORDS = {"text": "text", "flag": "booleans", "number": "numbers"}


def _place(row: int | None) -> str:
    return "its list of categories" if row is None else f"row {row}"


def refuse_infinity(label: Any, row: int | None) -> NoReturn:
    """A number that is not finite."""
    raise ValueError(
        "Input X contains infinity or a value too large for dtype('float64'). The first such value "
        f"is in {_place(row)}, column {label!r}. Leave such rows out, or put a missing value (NaN) "
        "or a large number in its place."
    )


def refuse_dates(label: Any, row: int | None, value: Any) -> NoReturn:
    """A date or time among objects."""
    raise ValueError(
        f"Column {label!r} of X holds dates or times ({value!r} in {_place(row)}), neither "
        "numbers nor categories. Turn it into numbers first (days since a date, say), or leave it "
        "out. lindero.data.load does so with dates in files."
    )


def refuse_mixed_values(label: Any, examples: dict[str, tuple[int | None, Any]]) -> NoReturn:
    """Values of several kinds; of each, a row and what it holds."""
    words = " with ".join(_WORDS[kind] for kind in examples)
    rows = ", ".join(f"{_place(row)} holds {value!r}" for row, value in examples.values())
    raise ValueError(
        f"Column {label!r} of X mixes {words}: {rows}. Make all of them text, or all of them "
        "numbers."
    )


def refuse_value(label: Any, row: int | None, value: Any) -> NoReturn:
    """A value that is neither text nor a number."""
    if isinstance(value, numbers.Complex):
        raise ValueError(
            f"Complex data not supported: column {label!r} holds {value!r} in {_place(row)}."
        )
    raise TypeError(
        f"Column {label!r} of X holds {value!r}, of type {type(value).__name__}, in {_place(row)}. "
        "Turn such values into text or numbers, or leave the column out. (The argument must be a "
        "string or a real number.)"
    ) from None


def refuse_other_kind(label: Any, held: str, row: int, value: Any) -> NoReturn:
    """Values that can match none of those that a fitted model knows."""
    raise ValueError(
        f"Column {label!r} held {_WORDS[held]} when the model was made, but row {row} holds "
        f"{value!r} now. Pass values of the kind it had then."
    )


def refuse_unseen_value(label: Any, row: int, value: Any, known: list[Any]) -> NoReturn:
    """A category that a fitted model does not know."""
    shown = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
    raise ValueError(
        f"Row {row} of column {label!r} holds {value!r}, a category that was not in the data given "
        f"to fit; known are {shown or 'none'}. Leave such rows out, or pass unseen='missing' or "
        "unseen='smooth'."
    )
