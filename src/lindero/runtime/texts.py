"""Texts of users in messages, tables and pictures: on one line, and never too long for it."""

from __future__ import annotations

from typing import Any


def shorten(thing: Any, length: int) -> str:
    """The text of a thing on one line, of at most so many characters: its end is left out if it is
    longer. Bytes are read as UTF-8."""
    if isinstance(thing, bytes):
        thing = thing[: 5 * length].decode("utf-8", errors="backslashreplace")
    line = " ".join(str(thing).split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def shorten_name(title: str, length: int) -> str:
    """A column and its value, "name = value", with the end of the name left out if that is long,
    and of the value only if there is no room for it."""
    name, sign, value = title.partition(" = ")
    room = length - len(sign) - len(" ".join(value.split()))
    if not sign or room < length // 4:
        return shorten(title, length)
    return shorten(name, room) + sign + shorten(value, length)
