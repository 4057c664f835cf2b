"""Words that stand for names and values in the files of Bayesian networks.

Programs disagree about what a name may be: some take quoted text, others only identifiers, some
ignore case. What is written here is understood by all that were tried:

* A name is a letter or ``_``, then letters, digits and ``_`` of ASCII, not a word of the format;
  names also differ when case is ignored. A value may also be a number without sign or point.
* Anything else is simplified: accents are dropped, every run of other characters becomes ``_``,
  and ``_2``, ``_3``, … make equal words differ.

The text behind a simplified word is kept as a property of its variable, percent-encoded, and
values with their type (JSON: text, integer, float, boolean, null; other objects as their text).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")

#: Words of the format.
_RESERVED = frozenset(
    ["default", "discrete", "network", "probability", "property", "table", "type", "variable"]
)

#: Some readers look for "table" or "default" and a number anywhere, also inside a name.
_LIKE_TABLE = re.compile(r"(table|default)(?=[0-9eE])")

_LONGEST_WORD = 60

#: Some readers give up the whole process over longer words.
_LONGEST_PROPERTY = 5000


def name_words(names: Sequence[str]) -> list[str]:
    """A word for each name, all different also when case is ignored."""
    return _words([str(name) for name in names], _is_name, str.lower)


def value_words(values: Sequence[Any]) -> list[str]:
    """A word for each value of a variable, all different."""
    return _words([_text(value) for value in values], _is_value, str)


def _words(
    texts: Sequence[str], is_word: Callable[[str], bool], same: Callable[[str], str]
) -> list[str]:
    words: dict[int, str] = {}
    taken: set[str] = set()
    for i, text in enumerate(texts):  # what needs no change keeps its word
        if is_word(text) and same(text) not in taken:
            words[i] = text
            taken.add(same(text))
    last: dict[str, int] = {}
    for i, text in enumerate(texts):
        if i not in words:
            stem = word = _simplified(text)
            while same(word) in taken:
                last[stem] = last.get(stem, 1) + 1
                word = f"{stem}_{last[stem]}"
            words[i] = word
            taken.add(same(word))
    return [words[i] for i in range(len(texts))]


def _is_name(text: str) -> bool:
    if len(text) > _LONGEST_WORD or text in _RESERVED or _LIKE_TABLE.search(text):
        return False
    return bool(_IDENTIFIER.fullmatch(text))


def _is_value(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) or _is_name(text)


def _simplified(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    word = re.sub(r"[^A-Za-z0-9]+", "_", plain[:_LONGEST_WORD])
    word = _LIKE_TABLE.sub(r"\1_", word)
    if word in _RESERVED:
        return word + "_"
    return word if _IDENTIFIER.fullmatch(word) else "_" + word


def _text(value: Any) -> str:
    return str(plain_value(value))


def plain_value(value: Any) -> Any:
    """The value as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, str | int | float) else str(value)


def kept_name(name: str) -> str:
    """A name as the text of a property."""
    return _kept(str(name), quote(str(name), safe=""))


def kept_value(value: Any) -> str:
    """A value with its type as the text of a property."""
    return _kept(str(value), quote(json.dumps(plain_value(value)), safe=""))


def _kept(original: str, text: str) -> str:
    if len(text) > _LONGEST_PROPERTY:
        raise ValueError(
            f"The name or value {original[:40]!r}... is too long for the format: "
            f"{len(text)} characters when encoded, and {_LONGEST_PROPERTY} are allowed. Shorten it."
        )
    return text


def read_name(text: str) -> str:
    """The name that `kept_name` wrote."""
    return unquote(text)


def read_value(text: str) -> Any:
    """The value that `kept_value` wrote; ValueError if the text is no such thing."""
    try:
        value = json.loads(unquote(text))
    except RecursionError:
        value = []
    if isinstance(value, list | dict):
        raise ValueError("a value must be text, a number, true, false or null")
    return value
