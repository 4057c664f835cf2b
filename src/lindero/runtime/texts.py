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
