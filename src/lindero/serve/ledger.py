"""What a store keeps on disk: a database with a log that nobody can change unseen.

    log        one entry a write: its number, kind, time and what it says, chained by hashes
    rows       the rows themselves, each with a random salt, apart from the log
    snapshots  models as bytes of model files, each with the number of the entry it follows
    models     names; settings: the version of this layout, and what is under way

The log holds no row, but a *commitment* to each: SHA-256(salt ‖ bytes of the row). So a row can be
erased, with its salt, and the chain

    hash_k = SHA-256(hash_{k−1} ‖ number ‖ kind ‖ time ‖ key ‖ what entry k says)

still proves that no entry was changed, left out or put in. Without the salt, nobody can tell from a
commitment what the row was, not even by trying all rows there may be.

Erasing. Row and salt are overwritten with zeros of the same length, snapshots are deleted, and the
database sees to it that nothing is left beside its tables (`Database.leave_nothing_erased`). Rows
of zeros are skipped from then on; when they are many, and more than the others, all is built anew.

The tables are the same in every database (`database`); SQLite's file is the usual one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lindero.serve.database import Database, StoreError, open_database

#: The layout of the tables. That of 2 had no hashes of snapshots.
SCHEMA_VERSION = 3

#: The hash before the first entry.
BEGINNING = bytes(32)

#: More than any entry's number.
_LAST = 2**62

#: Rows of zeros, at least, for which all is built anew, and of how many rows they are one.
MOST_ERASED = 1000
ERASED_SHARE = 2

#: Entries and rows that are read at once, and their bytes, unless a single one has more.
_AT_ONCE, _BYTES_AT_ONCE = 10_000, 2**24

#: The salt of a row that was erased.
_ERASED = bytes(16)

#: What stands before a snapshot: as much as may lie in a page of other things.
_ROOM = bytes(4096)

_SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE models (name TEXT PRIMARY KEY);
CREATE TABLE log (
    number {number},
    model TEXT NOT NULL REFERENCES models (name),
    kind TEXT NOT NULL,
    time DOUBLE PRECISION NOT NULL,
    key TEXT,
    said TEXT NOT NULL,
    hash {bytes} NOT NULL
);
CREATE UNIQUE INDEX log_keys ON log (model, key) WHERE key IS NOT NULL;
CREATE TABLE rows (
    at {number},
    model TEXT NOT NULL,
    number BIGINT NOT NULL,
    place BIGINT NOT NULL,
    id TEXT NOT NULL,
    salt {bytes} NOT NULL,
    data {bytes} NOT NULL
);
CREATE INDEX row_ids ON rows (model, id);
CREATE INDEX row_numbers ON rows (number);
CREATE TABLE snapshots (
    at {number},
    model TEXT NOT NULL,
    number BIGINT NOT NULL,
    room {bytes} NOT NULL,
    data {bytes} NOT NULL
);
"""

#: From the first layout, whose rows lay in the order of their entries, to this one.
_FROM_1 = """
DROP INDEX row_ids;
ALTER TABLE rows RENAME TO old_rows;
ALTER TABLE snapshots RENAME TO old_snapshots;
{tables}
INSERT INTO rows (model, number, place, id, salt, data)
    SELECT model, number, place, id, salt, data FROM old_rows ORDER BY number, place;
DROP TABLE old_rows;
DROP TABLE old_snapshots
"""

_ROW = "number, place, id, salt, data"


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
    """The tables. Calls must not overlap: the store takes care that they do not."""

    def __init__(self, path: str | os.PathLike[Any], durability: str) -> None:
        self._database: Database = open_database(path, durability)
        self.where = self._database.where
        self._n_erased = self._n_rows = 0
        try:
            self._prepare()
        except self._database.errors as error:
            self._database.discard()
            raise StoreError(self._database.tell(error)) from error
        except BaseException:
            self._database.discard()
            raise

    def _prepare(self) -> None:
        names = self._database.tables()
        if not names:
            with self.transaction():
                self._run(_SCHEMA)
                self._set("schema", str(SCHEMA_VERSION))
        elif "settings" not in names or "log" not in names:
            raise StoreError(f"{self.where} is a database, but not a store of lindero.")
        version = self._setting("schema")
        if version == "1":
            self._leave_layout_1()
        elif version == "2":
            with self.transaction():
                self._set("schema", str(SCHEMA_VERSION))
        elif version != str(SCHEMA_VERSION):
            raise StoreError(
                f"{self.where} has layout {version}, and this version of lindero knows layouts up "
                f"to {SCHEMA_VERSION}. Open it with a later version of lindero."
            )
        if self._setting("moving") is not None:
            self._finish_moving()
        elif self._setting("erasing") is not None:
            self._leave_nothing_erased()

    def _run(self, statements: str) -> None:
        for statement in statements.format(**self._database.types).split(";"):
            if statement.strip():
                self._database.execute(statement)

    def _leave_layout_1(self) -> None:
        kept = _SCHEMA[_SCHEMA.index("CREATE TABLE rows") :]
        with self.transaction():
            old = self._read("SELECT model, number, data FROM snapshots ORDER BY number")
            self._run(_FROM_1.replace("{tables}", kept))
            for model, number, data in old:
                self.keep_snapshot(model, number, data)
            self._set("schema", str(SCHEMA_VERSION))
            self._set("moving", "yes")

    def close(self) -> None:
        """Let go of the database, of which nothing is left if it was made for nothing."""
        if self._is_without_models():
            self._database.discard()
            return
        self._database.settle()
        self._database.close()

    def _is_without_models(self) -> bool:
        try:
            return not self.models()
        except StoreError:  # nobody knows
            return False

    # -- writing ------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside, durable at the end, or nothing of it."""
        try:
            self._database.execute("BEGIN")
            yield
            self._database.execute("COMMIT")
        except self._database.errors as error:
            self._database.roll_back()
            raise StoreError(self._database.tell_refusal(error)) from error
        except BaseException:
            self._database.roll_back()
            raise

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
        kept = [(model, number, place, *row) for place, row in enumerate(rows)]
        if kept:
            self._database.execute_many(
                f"INSERT INTO rows (model, {_ROW}) VALUES (?, ?, ?, ?, ?, ?)", kept
            )
        self._n_rows += len(kept)

    def erase_rows(self, model: str, rows: Iterable[KeptRow]) -> None:
        """Overwrite rows; `finish_erasing`, after the transaction, leaves no byte of them."""
        zeros = [(_ERASED, bytes(len(row.data)), model, row.number, row.place) for row in rows]
        if zeros:
            self._database.execute_many(
                "UPDATE rows SET salt = ?, data = ? WHERE model = ? AND number = ? AND place = ?",
                zeros,
            )
        self._n_erased += len(zeros)
        if not self._database.erases_when_opened:
            self._set("erasing", "yes")

    def keep_snapshot(self, model: str, number: int, data: bytes) -> None:
        self._database.execute(
            "DELETE FROM snapshots WHERE model = ? AND number = ?", (model, number)
        )
        self._database.execute(
            "INSERT INTO snapshots (model, number, room, data) VALUES (?, ?, ?, ?)",
            (model, number, _ROOM, hashlib.sha256(data).digest() + data),
        )

    def drop_snapshots(self, model: str, first: int, last: int | None = None) -> None:
        """Delete the snapshots that follow the entries from `first` to `last`."""
        self._database.execute(
            "DELETE FROM snapshots WHERE model = ? AND number >= ? AND number <= ?",
            (model, first, _LAST if last is None else last),
        )

    def finish_erasing(self) -> None:
        """Leave nothing of what was erased."""
        try:
            self._leave_nothing_erased()
            if self._n_erased >= MOST_ERASED and ERASED_SHARE * self._n_erased > self._n_rows:
                with self.transaction():
                    self._database.execute("DELETE FROM rows WHERE salt = ?", (_ERASED,))
                    self._set("moving", "yes")
                self._finish_moving()
        except self._database.errors as error:
            raise StoreError(
                "The rows are forgotten by the model, but not erased from the disk yet: "
                f"{error} ({self.where}). It is done when the store is opened again."
            ) from error

    def _leave_nothing_erased(self) -> None:
        self._database.leave_nothing_erased()
        if not self._database.erases_when_opened:
            self._database.execute("DELETE FROM settings WHERE name = 'erasing'")

    def _finish_moving(self) -> None:
        """Build anew what has rows that were moved, of which copies may be left."""
        self._database.build_anew()
        self._database.execute("DELETE FROM settings WHERE name IN ('moving', 'erasing')")
        self._n_rows -= self._n_erased
        self._n_erased = 0

    def _set(self, name: str, value: str) -> None:
        self._database.execute(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = ?",
            (name, value, value),
        )

    # -- reading ------------------------------------------------------------------------------

    def _setting(self, name: str) -> str | None:
        found = self._read("SELECT value FROM settings WHERE name = ?", (name,))
        return str(found[0][0]) if found else None

    def models(self) -> list[str]:
        return [name for (name,) in self._read("SELECT name FROM models ORDER BY name")]

    def last(self) -> Entry | None:
        found = self._read("SELECT * FROM log ORDER BY number DESC LIMIT 1")
        return _entry(found[0]) if found else None

    def hash_before(self, number: int) -> bytes:
        """The hash of the entry before one."""
        found = self._read("SELECT hash FROM log WHERE number = ?", (number - 1,))
        return bytes(found[0][0]) if found else BEGINNING

    def entries(
        self,
        after: int = 0,
        model: str | None = None,
        most: int | None = None,
        count: int | None = None,
    ) -> Iterator[Entry]:
        """Entries of the log, oldest first: up to number `most`, and up to `count` of them."""
        of_model = "" if model is None else "AND model = ? "
        last, left = _LAST if most is None else most, _LAST if count is None else count
        meant = f"FROM log WHERE number > ? AND number <= ? {of_model}ORDER BY number"
        while left > 0:
            values = (last,) if model is None else (last, model)
            sizes = f"SELECT number AS place, LENGTH(said) AS size {meant} LIMIT ?"
            upto = self._find_end(sizes, (after, *values, min(left, _AT_ONCE)))
            if upto is None:
                break
            found = self._read(f"SELECT * {meant}", (after, upto, *values[1:]))
            yield from map(_entry, found)
            after, left = upto, left - len(found)

    def _find_end(self, sizes: str, values: tuple[Any, ...]) -> int | None:
        """The last number of what can be read at once; None if there is nothing. One entry may be
        as large as a hundred thousand usual ones."""
        whole = f"SELECT MAX(place), SUM(size) FROM ({sizes}) AS sized"
        [(last, total)] = self._read(whole, values)
        if last is None or total <= _BYTES_AT_ONCE:
            return None if last is None else int(last)
        upto, n_bytes = None, 0
        for number, size in self._read(sizes, values):
            n_bytes += size
            if upto is not None and n_bytes > _BYTES_AT_ONCE:
                break
            upto = int(number)
        return upto

    def erasures(self, model: str) -> Iterator[Entry]:
        """The entries by which rows of a model went, oldest first."""
        found = self._read(
            "SELECT * FROM log WHERE model = ? AND kind IN ('forget', 'replace') ORDER BY number",
            (model,),
        )
        return map(_entry, found)

    def with_key(self, model: str, key: str) -> Entry | None:
        found = self._read("SELECT * FROM log WHERE model = ? AND key = ?", (model, key))
        return _entry(found[0]) if found else None

    def rows_of(self, model: str, number: int) -> list[KeptRow]:
        """The rows of an entry that were not erased."""
        found = self._read(
            f"SELECT {_ROW} FROM rows WHERE model = ? AND number = ? ORDER BY place",
            (model, number),
        )
        return _left(found)

    def rows_with(self, model: str, id: str) -> list[KeptRow]:
        """The rows of an id, oldest first: one that was replaced may be there more than once."""
        found = self._read(
            f"SELECT {_ROW} FROM rows WHERE model = ? AND id = ? ORDER BY number", (model, id)
        )
        return _left(found)

    def all_rows(self) -> Iterator[tuple[str, KeptRow]]:
        """All rows that were not erased, with the models that learned them, oldest first."""
        self._n_rows = self._n_erased = at = 0
        sizes = (
            "SELECT at AS place, LENGTH(data) AS size FROM rows WHERE at > ? ORDER BY at LIMIT ?"
        )
        meant = f"SELECT at, model, {_ROW} FROM rows WHERE at > ? AND at <= ? ORDER BY at"
        while (upto := self._find_end(sizes, (at, _AT_ONCE))) is not None:
            for _, model, *row in self._read(meant, (at, upto)):
                self._n_rows += 1
                if bytes(row[3]) == _ERASED:
                    self._n_erased += 1
                else:
                    yield model, _row(row)
            at = upto

    def last_snapshot(self, model: str, most: int | None = None) -> tuple[int, bytes] | None:
        """The latest snapshot, or the latest that follows an entry up to `most`."""
        found = self._read(
            "SELECT number, data FROM snapshots WHERE model = ? AND number <= ? "
            "ORDER BY number DESC LIMIT 1",
            (model, _LAST if most is None else most),
        )
        return (int(found[0][0]), _whole(bytes(found[0][1]))) if found else None

    def snapshot_at(self, model: str, number: int) -> bytes | None:
        """The snapshot that follows an entry."""
        found = self._read(
            "SELECT data FROM snapshots WHERE model = ? AND number = ?", (model, number)
        )
        return _whole(bytes(found[0][0])) if found else None

    def first_snapshot(self, model: str) -> int | None:
        [(number,)] = self._read("SELECT MIN(number) FROM snapshots WHERE model = ?", (model,))
        return None if number is None else int(number)

    def check(self) -> None:
        """Refuse a store whose log or rows were changed or damaged."""
        before, number = BEGINNING, 0
        rows = self.all_rows()
        model, row = next(rows, ("", None))
        for entry in self.entries():
            text = canonical(entry.said)
            sealed = seal(
                before, entry.number, entry.model, entry.kind, entry.time, entry.key, text
            )
            if entry.number != number + 1 or sealed != entry.hash:
                raise StoreError(
                    f"{self.where}: entry {entry.number} of the log does not follow from those "
                    "before it. The store was damaged or changed: take a copy that is older."
                )
            before, number = entry.hash, entry.number
            known = entry.said.get("commitments", [])
            while row is not None and (model, row.number) == (entry.model, number):
                if row.place >= len(known) or commit(row.salt, row.data) != known[row.place]:
                    break
                model, row = next(rows, ("", None))
        if row is not None:
            raise StoreError(
                f"{self.where}: row {row.id} of entry {row.number} is not the one that was "
                "learned. The store was damaged or changed: take a copy that is older."
            )

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(query, values)
        except self._database.errors as error:
            raise StoreError(self._database.tell(error)) from error


def _whole(kept: bytes) -> bytes:
    """A snapshot without its hash; what is not whole is nothing that can be read."""
    digest, data = kept[:32], kept[32:]
    if hashlib.sha256(data).digest() == digest:
        return data
    return kept  # damaged, or of before there were hashes


def _row(found: Iterable[Any]) -> KeptRow:
    number, place, id, salt, data = found
    return KeptRow(number, place, id, bytes(salt), bytes(data))


def _left(found: Iterable[tuple[Any, ...]]) -> list[KeptRow]:
    """Rows that were not erased."""
    return [row for row in map(_row, found) if row.salt != _ERASED]


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
