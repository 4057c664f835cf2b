"""A ledger in one SQLite file, beside which SQLite keeps a write-ahead log while it is open.

Erasing. A row is overwritten with zeros where it lies: the table of rows only ever grows at its
end, so SQLite never moves a row, and there are no copies of it in the unused parts of pages. Pages
of a deleted snapshot are overwritten before they are free (`secure_delete`); a page of zeros at its
beginning is all of it that lies among other things, where copies could stay behind. What is left
is the write-ahead log, with older images of pages: it is written into the file and cut to nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from lindero.serve.database import StoreError

#: What SQLite is told of each promise of durability.
_SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}


class SqliteFile:
    """The database of a store in a file."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    types: Mapping[str, str] = {"number": "INTEGER PRIMARY KEY", "bytes": "BLOB"}
    erases_when_opened = True

    def __init__(self, path: str, durability: str) -> None:
        self.where = path
        self._is_new = not os.path.exists(path)
        if self._is_new:
            # Nobody else's business, also before SQLite has written to it.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self.connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=0.0
        )
        try:
            run = self.connection.execute
            run("PRAGMA page_size = 4096")  # the zeros before a snapshot fill one
            run("PRAGMA locking_mode = EXCLUSIVE")  # a second opener is refused, not confused
            run("PRAGMA journal_mode = WAL")
            run(f"PRAGMA synchronous = {_SYNCHRONOUS[durability]}")
            run("PRAGMA secure_delete = ON")
            run("PRAGMA temp_store = MEMORY")  # what a statement may have to undo is nobody's file
            run("PRAGMA foreign_keys = ON")
            run("PRAGMA trusted_schema = OFF")
            run("BEGIN IMMEDIATE")
            run("COMMIT")
            # Whatever was erased before a crash is erased in the file as well.
            self.leave_nothing_erased()
        except sqlite3.Error as error:
            self.discard()
            raise StoreError(self.tell(error)) from error
        except BaseException:
            self.discard()
            raise

    def tables(self) -> set[str]:
        found = self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in found}

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        self.connection.executemany(statement, values)

    def roll_back(self) -> None:
        if self.connection.in_transaction:  # some errors have rolled back already
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")

    def leave_nothing_erased(self) -> None:
        [(busy, _, _)] = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if busy:
            raise sqlite3.OperationalError("the write-ahead log is in use")

    def build_anew(self) -> None:
        self.connection.execute("PRAGMA temp_store = FILE")  # as large as all that is left
        self.connection.execute("VACUUM")
        self.connection.execute("PRAGMA temp_store = MEMORY")
        self.leave_nothing_erased()

    def tell(self, error: Exception) -> str:
        said = str(error)
        if "locked" in said:
            return (
                f"{self.where} is open already, here or in another process. A store has one "
                "writer: close it there, or ask the server that holds it."
            )
        if "not a database" in said or "malformed" in said:
            return f"{self.where} is not a store of lindero, or damaged ({said})."
        return f"{self.where} cannot be used: {said}."

    def tell_refusal(self, error: Exception) -> str:
        return (
            f"Nothing was written: {error} ({self.where}). The store holds what it held before, "
            "and goes on answering."
        )

    def settle(self) -> None:
        with suppress(sqlite3.Error):
            self.leave_nothing_erased()

    def close(self) -> None:
        self.connection.close()

    def discard(self) -> None:
        if self._is_new:
            with suppress(sqlite3.Error, OSError):
                # Without a log beside it that closing would delete, whosever that was by then.
                self.connection.execute("PRAGMA journal_mode = DELETE")
                os.unlink(self.where)
        self.connection.close()
