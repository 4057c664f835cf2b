"""Where a ledger lives: what it asks of a database, whichever that is.

Statements are those that SQLite and PostgreSQL both know, with `?` for values. What the two do
differently has a name here: the types of some columns, how a writer keeps others away, and what it
takes until nothing of an erased row is left.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from lindero.errors import LinderoError

#: What every database promises: nothing is lost with the power ("full"), or with the process only.
DURABILITIES = ("full", "normal")


class StoreError(LinderoError, RuntimeError):
    """A store that cannot be opened, read or written; the message says why, and what is safe."""


class Database(Protocol):
    """A database that one writer has to itself. Calls do not overlap."""

    #: What messages call it.
    where: str

    #: What it raises.
    errors: tuple[type[Exception], ...]

    #: What it calls the types that differ: "number" (counts up by itself), "bytes".
    types: Mapping[str, str]

    #: Whether opening alone leaves nothing of what was erased; if not, the ledger remembers it.
    erases_when_opened: bool

    def tables(self) -> set[str]:
        """Names of the tables that are there."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; the rows it answers."""

    def execute_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement with each of many values."""

    def roll_back(self) -> None:
        """Undo what was written since BEGIN, if anything was."""

    def leave_nothing_erased(self) -> None:
        """After a transaction that has overwritten rows and deleted snapshots: nothing of them is
        left in what the database keeps beside its tables."""

    def build_anew(self) -> None:
        """Write all tables anew, without gaps or anything of what was deleted."""

    def tell(self, error: Exception) -> str:
        """Why it cannot be used."""

    def tell_refusal(self, error: Exception) -> str:
        """Why a write has failed, and what is known to be there."""

    def settle(self) -> None:
        """Leave everything in order, as far as that is possible."""

    def close(self) -> None:
        """Let go of it."""

    def discard(self) -> None:
        """Let go of it, and leave nothing where nothing was before it was opened."""


def open_database(path: str | os.PathLike[Any], durability: str) -> Database:
    """The database at a path, or at the address of a PostgreSQL server."""
    text = os.fspath(path)
    if isinstance(text, str) and text.startswith(("postgresql://", "postgres://")):
        from lindero.serve.postgres import PostgresDatabase

        return PostgresDatabase(text, durability)
    from lindero.serve.sqlite_file import SqliteFile

    return SqliteFile(text, durability)
