"""The role of each column: target, time, query, weight, name of the row, or feature."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any

from lindero.data.content import Content

#: Usual names of a target; the first match wins.
TARGET_NAMES = ("class", "target", "label", "y")

_LISTED = 20


@dataclass(frozen=True)
class Roles:
    """Which column has which role: a name, a position, or None where the user did not say.

    After `resolve`, each is the name of a column or None.
    """

    target: Any = None
    time: Any = None
    qid: Any = None
    weight: Any = None
    id: Any = None

    def list_given(self) -> dict[str, Any]:
        """The roles that the user gave a column."""
        return {
            role: choice
            for role, choice in vars(self).items()
            if choice is not None and choice is not False
        }

    def resolve(self, names: list[str], content: Content, declared: tuple[str, ...] = ()) -> Roles:
        """Replace positions by names, and find the target if none was given."""
        found: dict[str, str] = {}
        for role, choice in self.list_given().items():
            name = find_column(choice, role, names, content)
            if name in found.values():
                other = next(other for other, taken in found.items() if taken == name)
                raise content.error(f"column {name!r} cannot be both {other} and {role}.")
            found[role] = name
        others = [name for name in names if name not in found.values()]
        if self.target is None and (likely := _guess_target(others, len(names), declared, content)):
            found["target"] = likely
        return replace(Roles(), **found)


def _guess_target(
    names: list[str], n_columns: int, declared: tuple[str, ...], content: Content
) -> str | None:
    if len(declared) > 1:
        raise content.error(
            f"declares {len(declared)} outputs ({', '.join(declared[:_LISTED])}). Choose one "
            "with target=."
        )
    if declared:
        return declared[0] if declared[0] in names else None
    for known in TARGET_NAMES:
        for name in names:
            if name.lower() == known:
                return name
    return names[-1] if names and n_columns > 1 else None


def find_column(choice: Any, role: str, names: list[str], content: Content) -> str:
    """The name of the column that a user chose."""
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
            f"there is no column {choice!r} ({role}=).{hint} Columns are: {listed}."
        )
    if not -len(names) <= place < len(names):
        raise content.error(
            f"there is no column {place} ({role}=): positions are 0 to {len(names) - 1}, or −1 for "
            "the last."
        )
    return names[place]
