"""The head of an ARFF or KEEL file: which columns there are, and what they may hold.

    @relation name
    @attribute name {value, value, ...}        categories
    @attribute name real [0.0, 1.0]            numbers; also integer, numeric; ranges are KEEL's
    @attribute name string                     text; also date
    @inputs name, name, ...                    KEEL only
    @outputs name
    @data

Both formats are read by this one parser. It takes time in proportion to the length of a line, which
liac-arff's does not: its pattern for a list of categories needs exponentially many steps where the
closing brace is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lindero.data.content import Content
from lindero.data.csv_dialect import MOST_COLUMNS
from lindero.data.source_table import require_distinct

_DATA = re.compile(rb"^[ \t]*@data\b[^\n]*(?:\n|\Z)", re.I | re.M)
_NUMBERS = ("real", "integer", "numeric")
_TEXTS = ("string", "date")
_QUOTES = "'\""
_ESCAPED = re.compile(r"\\(.)")


@dataclass
class Declarations:
    """What the head of a file says.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    categories : list of (list of str or None)
        For each column the values that it may hold; None where it is no list of categories.
    is_number : list of bool
        For each column whether it holds numbers.
    inputs, outputs : list of str
        Names that KEEL's declarations of that name list.
    start : int
        The byte that the first row begins at.
    """

    start: int
    names: list[str] = field(default_factory=list)
    categories: list[list[str] | None] = field(default_factory=list)
    is_number: list[bool] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def read_declarations(content: Content) -> Declarations:
    """Everything before the rows."""
    data = _DATA.search(content.data)
    if data is None:
        raise content.error("has no line '@data', which the rows would follow. Is it complete?")
    declared = Declarations(data.end())
    head = content.head(data.start()).decode("utf-8")
    for number, line in enumerate(head.split("\n"), start=1):
        line = line.strip()
        if line and not line.startswith("%"):
            complaint = _declare(declared, line)
            if complaint:
                raise content.error(complaint, number)
    if not declared.names:
        raise content.error("declares no columns: '@attribute' lines are missing.")
    require_distinct(declared.names, content)
    for name in (*declared.inputs, *declared.outputs):
        if name not in declared.names:
            raise content.error(f"@inputs or @outputs name {name!r}, which no @attribute declares.")
    return declared


def _declare(declared: Declarations, line: str) -> str | None:
    """Take note of one line, or say what is wrong with it."""
    keyword, _, rest = line.replace("\t", " ").partition(" ")
    keyword, rest = keyword.lower(), rest.strip()
    if keyword == "@relation":
        return None
    if keyword == "@attribute":
        return _declare_column(declared, rest)
    if keyword in ("@input", "@inputs"):
        declared.inputs += _values(rest)
        return None
    if keyword in ("@output", "@outputs"):
        declared.outputs += _values(rest)
        return None
    return (
        f"{_shown(line)} is no declaration: expected @relation, @attribute, @inputs, @outputs or "
        "@data."
    )


def _declare_column(declared: Declarations, text: str) -> str | None:
    name, kind = _name_and_kind(text)
    if not name or not kind:
        return f"expected '@attribute name type', not '@attribute {_shown(text)}'."
    if len(declared.names) == MOST_COLUMNS:
        return f"declares more than {MOST_COLUMNS} columns."
    values, word = None, kind.partition("[")[0].partition(" ")[0].lower()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            return f"the list of categories of {name!r} has no closing brace."
        values = _values(kind[1:-1])
        if not values:
            return f"column {name!r} declares an empty list of categories."
    elif word not in _NUMBERS and word not in _TEXTS:
        return (
            f"column {name!r} is of type {_shown(kind)}; known are numeric, real, integer, string, "
            "date and a list of categories in braces."
        )
    declared.names.append(name)
    declared.categories.append(values)
    declared.is_number.append(values is None and word in _NUMBERS)
    return None


def _name_and_kind(text: str) -> tuple[str, str]:
    if text[:1] and text[0] in _QUOTES:
        end = text.find(text[0], 1)
        return text[1:end], text[end + 1 :].strip() if end > 0 else ""
    place = min((at for at in (text.find(" "), text.find("{")) if at >= 0), default=len(text))
    return text[:place], text[place:].strip()


def _values(text: str) -> list[str]:
    """Words between commas, some of which may be in quotes of either kind.

    A quote that is not closed ends the list, without the word that it begins.
    """
    found, at = [], 0
    while at < len(text):
        if text[at] in " ,\t":
            at += 1
        elif text[at] in _QUOTES:
            end = _closing_quote(text, at)
            if end < 0:
                break
            found.append(_ESCAPED.sub(r"\1", text[at + 1 : end]))
            at = end + 1
        else:
            end = text.find(",", at)
            end = len(text) if end < 0 else end
            found.append(text[at:end].strip())
            at = end
    return found


def _closing_quote(text: str, opening: int) -> int:
    """The place of the quote that closes another; −1 if there is none."""
    at = opening + 1
    while at < len(text):
        if text[at] == text[opening]:
            return at
        at += 2 if text[at] == "\\" else 1
    return -1


def _shown(text: str) -> str:
    return repr(text[:40]) + ("..." if len(text) > 40 else "")
