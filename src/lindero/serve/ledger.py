"""What a store keeps on disk: an SQLite file with a log that nobody can change unseen.

    log        one entry a write: its number, kind, time and what it says, chained by hashes
    rows       the rows themselves, each with a random salt, apart from the log
    snapshots  models as bytes of model files, each with the number of the entry it follows
    models     names; settings: the version of this layout, and what is under way

The log holds no row, but a *commitment* to each: SHA-256(salt ‖ bytes of the row). So a row can be
erased, with its salt, and the chain

    hash_k = SHA-256(hash_{k−1} ‖ number ‖ kind ‖ time ‖ key ‖ what entry k says)

still proves that no entry was changed, left out or put in. Without the salt, nobody can tell from a
commitment what the row was, not even by trying all rows there may be.

Erasing. SQLite writes zeros over deleted cells (`secure_delete`), the write-ahead log is emptied,
and the file is built anew (VACUUM), since pages keep copies of cells that have moved. The entry
that says what was erased is durable first, with a note that the erasure is under way: whoever opens
the store after a crash in between finishes it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from lindero.errors import LinderoError

#: The layout of the file.
SCHEMA_VERSION = 1

#: What SQLite is told of each promise of durability.
SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}

#: The hash before the first entry.
BEGINNING = bytes(32)

#: More than any entry's number.
_LAST = 2**62

_SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE models (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE log (
    number INTEGER PRIMARY KEY,
    model TEXT NOT NULL REFERENCES models (name),
    kind TEXT NOT NULL,
    time REAL NOT NULL,
    key TEXT,
    said TEXT NOT NULL,
    hash BLOB NOT NULL
);
CREATE UNIQUE INDEX log_keys ON log (model, key) WHERE key IS NOT NULL;
CREATE TABLE rows (
    model TEXT NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    id TEXT NOT NULL,
    salt BLOB NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (model, number, place)
) WITHOUT ROWID;
CREATE INDEX row_ids ON rows (model, id);
CREATE TABLE snapshots (
    model TEXT NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (model, number)
) WITHOUT ROWID;
"""


class StoreError(LinderoError, RuntimeError):
    """A store that cannot be opened, read or written; the message says why, and what is safe."""


@dataclass(frozen=True)
class Entry:
    """One entry of the log."""

    number: int
    model: str
    kind: str
    time: float
    key: str | None
    said: dict[str, Any]
    hash: bytes


@dataclass(frozen=True)
class KeptRow:
    """A row of the store, with the place it was learned at."""

    number: int
    place: int
    id: str
    salt: bytes
    data: bytes


class Ledger:
    """The file. Calls must not overlap: the store takes care that they do not."""

    def __init__(self, path: str | os.PathLike[Any], durability: str) -> None:
        self.path = os.fspath(path)
        new = not os.path.exists(self.path)
        if new:
            # Nobody else's business, also before SQLite has written to it.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        self._database = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, timeout=0.0
        )
        try:
            self._prepare(durability)
        except sqlite3.Error as error:
            self._database.close()
            raise StoreError(self._tell(error)) from error
        except BaseException:
            self._database.close()
            raise

    def _prepare(self, durability: str) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode = EXCLUSIVE")  # a second opener is refused, not confused
        run("PRAGMA journal_mode = WAL")
        run(f"PRAGMA synchronous = {SYNCHRONOUS[durability]}")
        run("PRAGMA secure_delete = ON")
        run("PRAGMA foreign_keys = ON")
        run("PRAGMA trusted_schema = OFF")
        run("BEGIN IMMEDIATE")
        try:
            found = run("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            names = {name for (name,) in found}
            if not names:
                for statement in _SCHEMA.split(";"):
                    run(statement)
                self._set("schema", str(SCHEMA_VERSION))
            elif "settings" not in names or "log" not in names:
                raise StoreError(f"{self.path} is a database, but not a store of lindero.")
            run("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        version = self._setting("schema")
        if version is None or not version.isdecimal() or int(version) > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} has layout {version}, and this version of lindero knows layouts up "
                f"to {SCHEMA_VERSION}. Open it with a later version of lindero."
            )
        if self._setting("erasing") is not None:
            self.finish_erasing()

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.close()

    def _tell(self, error: Exception) -> str:
        said = str(error)
        if "locked" in said:
            return (
                f"{self.path} is open already, here or in another process. A store has one writer: "
                "close it there, or ask the server that holds it."
            )
        if "not a database" in said or "malformed" in said:
            return f"{self.path} is not a store of lindero, or damaged ({said})."
        return f"{self.path} cannot be used: {said}."

    # -- writing ------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside, durable at the end, or nothing of it."""
        try:
            self._database.execute("BEGIN IMMEDIATE")
            yield
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise StoreError(
                f"Nothing was written: {error} ({self.path}). The store holds what it held before, "
                "and goes on answering."
            ) from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._database.in_transaction:  # some errors have rolled back already
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")

    def add_model(self, name: str) -> None:
        self._database.execute("INSERT INTO models (name) VALUES (?)", (name,))

    def append(self, model: str, kind: str, key: str | None, said: dict[str, Any]) -> Entry:
        """Write the next entry of the log."""
        last = self.last()
        number = 1 if last is None else last.number + 1
        # Clocks jump; the log does not go back in time.
        now = max(time.time(), 0.0 if last is None else last.time)
        before = BEGINNING if last is None else last.hash
        text = canonical(said)
        sealed = seal(before, number, model, kind, now, key, text)
        self._database.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, model, kind, now, key, text, sealed),
        )
        return Entry(number, model, kind, now, key, said, sealed)

    def keep_rows(self, model: str, number: int, rows: Iterable[tuple[str, bytes, bytes]]) -> None:
        """Keep the rows (id, salt, data) of an entry."""
        self._database.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)",
            ((model, number, place, *row) for place, row in enumerate(rows)),
        )

    def erase_rows(self, model: str, rows: Iterable[KeptRow]) -> None:
        """Delete rows; `finish_erasing`, after the transaction, leaves no byte of them."""
        self._database.executemany(
            "DELETE FROM rows WHERE model = ? AND number = ? AND place = ?",
            ((model, row.number, row.place) for row in rows),
        )
        self._set("erasing", "yes")

    def keep_snapshot(self, model: str, number: int, data: bytes) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (model, number, data)
        )

    def drop_snapshots(self, model: str, first: int, last: int | None = None) -> None:
        """Delete the snapshots that follow the entries from `first` to `last`."""
        self._database.execute(
            "DELETE FROM snapshots WHERE model = ? AND number BETWEEN ? AND ?",
            (model, first, _LAST if last is None else last),
        )

    def finish_erasing(self) -> None:
        """Build the file anew, without anything of what was deleted."""
        try:
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._database.execute("VACUUM")
            self._database.execute("DELETE FROM settings WHERE name = 'erasing'")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise StoreError(
                "The rows are forgotten by the model, but not erased from the disk yet: "
                f"{error} ({self.path}). It is done when the store is opened again."
            ) from error

    def _set(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    # -- reading ------------------------------------------------------------------------------

    def _setting(self, name: str) -> str | None:
        found = self._read("SELECT value FROM settings WHERE name = ?", (name,))
        return str(found[0][0]) if found else None

    def models(self) -> list[str]:
        return [name for (name,) in self._read("SELECT name FROM models ORDER BY name")]

    def last(self) -> Entry | None:
        found = self._read("SELECT * FROM log ORDER BY number DESC LIMIT 1")
        return _entry(found[0]) if found else None

    def entries(
        self, after: int = 0, model: str | None = None, most: int | None = None
    ) -> Iterator[Entry]:
        """Entries of the log, oldest first."""
        found = self._read(
            "SELECT * FROM log WHERE number > ? AND number <= ? AND (? IS NULL OR model = ?) "
            "ORDER BY number",
            (after, _LAST if most is None else most, model, model),
        )
        return map(_entry, found)

    def with_key(self, model: str, key: str) -> Entry | None:
        found = self._read("SELECT * FROM log WHERE model = ? AND key = ?", (model, key))
        return _entry(found[0]) if found else None

    def rows_of(self, model: str, number: int) -> list[KeptRow]:
        """The rows of an entry that were not erased."""
        found = self._read(
            "SELECT number, place, id, salt, data FROM rows WHERE model = ? AND number = ? "
            "ORDER BY place",
            (model, number),
        )
        return [KeptRow(*row) for row in found]

    def rows_with(self, model: str, id: str) -> list[KeptRow]:
        """The rows of an id, oldest first: one that was replaced may be there more than once."""
        found = self._read(
            "SELECT number, place, id, salt, data FROM rows WHERE model = ? AND id = ? "
            "ORDER BY number",
            (model, id),
        )
        return [KeptRow(*row) for row in found]

    def all_rows(self) -> Iterator[tuple[str, KeptRow]]:
        found = self._read("SELECT model, number, place, id, salt, data FROM rows")
        return ((model, KeptRow(*row)) for model, *row in found)

    def last_snapshot(self, model: str, most: int | None = None) -> tuple[int, bytes] | None:
        """The latest snapshot, or the latest that follows an entry up to `most`."""
        found = self._read(
            "SELECT number, data FROM snapshots WHERE model = ? AND number <= ? "
            "ORDER BY number DESC LIMIT 1",
            (model, _LAST if most is None else most),
        )
        return (int(found[0][0]), bytes(found[0][1])) if found else None

    def first_snapshot(self, model: str) -> int | None:
        [(number,)] = self._read("SELECT MIN(number) FROM snapshots WHERE model = ?", (model,))
        return None if number is None else int(number)

    def check(self) -> None:
        """Refuse a store whose log or rows were changed or damaged."""
        before, number = BEGINNING, 0
        committed: dict[tuple[str, int], list[str]] = {}
        for entry in self.entries():
            text = canonical(entry.said)
            sealed = seal(
                before, entry.number, entry.model, entry.kind, entry.time, entry.key, text
            )
            if entry.number != number + 1 or sealed != entry.hash:
                raise StoreError(
                    f"{self.path}: entry {entry.number} of the log does not follow from those "
                    "before it. The file was damaged or changed: take a copy that is older."
                )
            before, number = entry.hash, entry.number
            committed[entry.model, entry.number] = entry.said.get("commitments", [])
        for model, row in self.all_rows():
            known = committed.get((model, row.number), [])
            if row.place >= len(known) or commit(row.salt, row.data) != known[row.place]:
                raise StoreError(
                    f"{self.path}: row {row.id} of entry {row.number} is not the one that was "
                    "learned. The file was damaged or changed: take a copy that is older."
                )

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(self._tell(error)) from error


def _entry(found: tuple[Any, ...]) -> Entry:
    number, model, kind, moment, key, said, sealed = found
    return Entry(number, model, kind, moment, key, json.loads(said), bytes(sealed))


def canonical(said: dict[str, Any]) -> str:
    """JSON that is the same for the same contents."""
    return json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)


def seal(
    before: bytes, number: int, model: str, kind: str, moment: float, key: str | None, text: str
) -> bytes:
    """The hash of an entry and of all before it."""
    parts = json.dumps([number, model, kind, moment.hex(), key, text], separators=(",", ":"))
    return hashlib.sha256(before + parts.encode()).digest()


def make_salt() -> bytes:
    return secrets.token_bytes(16)


def commit(salt: bytes, data: bytes) -> str:
    """What the log says of a row."""
    digest = hashlib.sha256(salt + data).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
