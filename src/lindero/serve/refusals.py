"""Requests that are refused: a status, a code for programs, and a sentence for people.

What is said never holds a path, a place in the code, or what stood in a row. Messages of models and
of the store are written for the person who called them in Python, and may quote values: before they
leave, every quoted text and every number that came with the request is taken out of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from lindero.runtime.texts import shorten
from lindero.serve.store import ConflictError, StoreError

#: What may stand in the place of something that is not repeated.
_HIDDEN = "…"

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_NUMBER = re.compile(r"(?<![\w.])[+-]?(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?(?!\w|\.\d)")

#: Cells that are looked up, at most; beyond, everything quoted is taken out.
_MOST_CELLS = 200_000

_LONGEST = 600

#: Names of columns are repeated up to this length; shorter whole numbers are those of rows.
_LONGEST_NAME, _FEWEST_DIGITS = 80, 4


class RefusedError(Exception):
    """A request that is not done.

    Attributes
    ----------
    status : int
        Of HTTP.
    code : str
        The same reason always has the same code.
    message : str
        What is wrong, and what to do.
    headers : dict
        To send along, such as Retry-After.
    """

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})


def explain_failure(error: Exception, path: str, cells: Iterable[Any] = ()) -> RefusedError:
    """What is said of an error that a store or a model raised over a request.

    `cells` are the values that came with it, `path` the store's own file.
    """
    message = hide_path(" ".join(str(error).split()), path)
    if isinstance(error, ConflictError):
        about_version = error.about == "version"
        return RefusedError(
            412 if about_version else 409,
            "stale_version" if about_version else "key_reused",
            message,
        )
    if isinstance(error, StoreError):
        return RefusedError(507, "store_refused", message)
    if isinstance(error, (ValueError, TypeError, OverflowError)):
        told = shorten(hide_values(message, cells), _LONGEST)
        return RefusedError(422, "rows_refused", told)
    if isinstance(error, (RecursionError, MemoryError)):
        return RefusedError(
            413, "too_large", "The request asks for more than this server can hold."
        )
    return RefusedError(
        500,
        "server_failed",
        "The server failed over this request; its log says where. Nothing half was written.",
    )


def hide_path(message: str, path: str) -> str:
    """A message without the name of the store's file."""
    if "://" in path:  # an address, of which no part is anybody's business
        parts = urlsplit(path)
        secret = {path, parts.netloc, parts.hostname, parts.username, parts.password}
    else:
        whole = os.path.abspath(path)
        secret = {path, whole, os.path.dirname(whole), os.path.realpath(path)}
    for known in sorted((one for one in secret if one and len(one) > 1), key=len, reverse=True):
        message = message.replace(known, "the store")
    return message


def hide_values(message: str, cells: Iterable[Any]) -> str:
    """A message without any value that came with the request."""
    texts: set[str] = set()
    numbers: set[float] = set()
    all_of_them = False
    for n, cell in enumerate(cells):
        if n >= _MOST_CELLS:
            all_of_them = True
            break
        if isinstance(cell, str):
            texts |= {" ".join(cell.split()), " ".join(repr(cell)[1:-1].split())}
        elif isinstance(cell, (int, float)):
            numbers.add(cell)

    def without_text(found: re.Match[str]) -> str:
        inside = found[1] if found[1] is not None else found[2]
        hidden = all_of_them or inside in texts or len(inside) > _LONGEST_NAME
        return _HIDDEN if hidden else found[0]

    def without_number(found: re.Match[str]) -> str:
        if found[0].isdigit() and len(found[0]) < _FEWEST_DIGITS:  # of rows and columns, mostly
            return found[0]
        return _HIDDEN if all_of_them or float(found[0]) in numbers else found[0]

    return _NUMBER.sub(without_number, _QUOTED.sub(without_text, message))
