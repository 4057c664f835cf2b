"""Which column is the target, and which are times, weights, queries and names of rows."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any

from lindero.data.content import Content

#: Names that a target is known by, the first of them first.
TARGET_NAMES = ("class", "target", "label", "y")

_LISTED = 20


@dataclass(frozen=True)
class Roles:
    """What a user has said of the columns: a name, a position, or None for each part.

    Once resolved, each is the name of a column or None.
    """

    target: Any = None
    time: Any = None
    qid: Any = None
    weight: Any = None
    id: Any = None

    def given(self) -> dict[str, Any]:
        """The parts that a column was named for."""
        return {
            part: choice
            for part, choice in vars(self).items()
            if choice is not None and choice is not False
        }

    def resolved(self, names: list[str], content: Content, declared: tuple[str, ...] = ()) -> Roles:
        """With names in place of positions, and the target that is meant where none was named."""
        found: dict[str, str] = {}
        for part, choice in self.given().items():
            name = column_named(choice, part, names, content)
            if name in found.values():
                other = next(other for other, taken in found.items() if taken == name)
                raise content.error(f"column {name!r} cannot be {other} and {part} at once.")
            found[part] = name
        others = [name for name in names if name not in found.values()]
        if self.target is None and (
            likely := _likely_target(others, len(names), declared, content)
        ):
            found["target"] = likely
        return replace(Roles(), **found)


def _likely_target(
    names: list[str], n_columns: int, declared: tuple[str, ...], content: Content
) -> str | None:
    if len(declared) > 1:
        raise content.error(
            f"declares {len(declared)} outputs ({', '.join(declared[:_LISTED])}). Say which one to "
            "learn by target=."
        )
    if declared:
        return declared[0] if declared[0] in names else None
    for known in TARGET_NAMES:
        for name in names:
            if name.lower() == known:
                return name
    return names[-1] if names and n_columns > 1 else None


def column_named(choice: Any, part: str, names: list[str], content: Content) -> str:
    """The name of the column that a user means."""
    if isinstance(choice, str) and choice in names:
        return choice
    try:
        place = None if isinstance(choice, bool) else int(choice)
    except (TypeError, ValueError):
        place = None
    if place is None:
        close = difflib.get_close_matches(str(choice), names, n=1)
        same = [name for name in names if name.lower() == str(choice).lower()]
        hint = f" Did you mean {(same or close)[0]!r}?" if same or close else ""
        listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
        raise content.error(
            f"there is no column {choice!r} ({part}=).{hint} Columns are: {listed}."
        )
    if not -len(names) <= place < len(names):
        raise content.error(
            f"there is no column {place} ({part}=): positions are 0 to {len(names) - 1}, or −1 for "
            "the last."
        )
    return names[place]
