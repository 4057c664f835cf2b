"""Parts of a JSON document, each handed on only if it is of the type that it must be."""

from __future__ import annotations

from math import prod
from typing import Any

from lindero.errors import ModelFileError
from lindero.persist.container import MOST_SIDE

#: Sides of an array.
MOST_SIDES = 32


def list_of(content: Any, what: str) -> list[Any]:
    if type(content) is not list:
        raise ModelFileError(f"{what} must be a list.")
    return content


def object_of(content: Any, what: str) -> dict[str, Any]:
    if type(content) is not dict:
        raise ModelFileError(f"{what} must be an object of JSON.")
    return content


def text_of(content: Any) -> str:
    if type(content) is not str:
        raise ModelFileError("something must be text, and is not.")
    return content


def place_of(content: Any, count: int, what: str) -> int:
    if type(content) is not int or not 0 <= content < count:
        raise ModelFileError(f"an {what} is referred to that is not there before.")
    return content


def sides_of(content: Any) -> list[int]:
    sides = list_of(content, "a shape")
    if len(sides) > MOST_SIDES or not all(
        type(side) is int and 0 <= side <= MOST_SIDE for side in sides
    ):
        raise ModelFileError("a shape has numbers that it cannot have.")
    return sides


def shape_of(content: Any, count: int) -> list[int]:
    sides = sides_of(content)
    if prod(sides) != count:
        raise ModelFileError("a shape does not fit the values there are.")
    return sides
