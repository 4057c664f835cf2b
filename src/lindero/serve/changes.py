"""What one store tells another place, so that it can learn and forget the same: JSON all through.

A change is an entry of the log as it was sealed, the rows that are left of it, and the hash of the
entry before, from which anybody can compute that of this one. Rows bring their salts, so that they
can be compared with the commitments of the entry. Rows that were forgotten since are not there, and
the entry by which they went comes later.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lindero.serve.database import StoreError
from lindero.serve.ledger import Entry, KeptRow, Ledger, canonical, commit, seal

#: Rows in one answer and their bytes, unless a single entry has more.
MOST_ROWS, MOST_BYTES = 20_000, 2**24


def describe_entry(entry: Entry) -> dict[str, Any]:
    """An entry as it is sealed."""
    return {
        "sequence": entry.number,
        "model": entry.model,
        "kind": entry.kind,
        "time": entry.time,
        "key": entry.key,
        "said": canonical(entry.said),
        "hash": entry.hash.hex(),
    }


def take_entries(entries: Iterable[Entry], limit: int | None) -> Iterator[Entry]:
    """So many entries at most; fewer, but one at least, where they tell of very many rows."""
    if limit is None:
        yield from entries
        return
    n_rows = 0
    for count, entry in enumerate(entries):
        n_rows += len(entry.said.get("commitments", ()))
        if count >= limit or (count > 0 and n_rows > MOST_ROWS):
            return
        yield entry


def tell_changes(ledger: Ledger, after: int, model: str | None, limit: int) -> list[dict[str, Any]]:
    """The entries after one, with the rows that are left of them."""
    told: list[dict[str, Any]] = []
    n_rows = n_bytes = 0
    for entry in ledger.entries(after, model, count=limit):
        n_rows += len(entry.said.get("commitments", ()))
        if told and n_rows > MOST_ROWS:
            break
        rows = ledger.rows_of(entry.model, entry.number)
        n_bytes += sum(len(row.data) for row in rows)
        if told and n_bytes > MOST_BYTES:
            break
        change = describe_entry(entry)
        change["before"] = ledger.hash_before(entry.number).hex()
        change["rows"] = [
            {"place": row.place, "id": row.id, "salt": _text(row.salt), "data": _text(row.data)}
            for row in rows
        ]
        if entry.kind == "add":
            data = ledger.snapshot_at(entry.model, entry.number)
            change["model_file"] = None if data is None else _text(data)
        told.append(change)
    return told


@dataclass(frozen=True)
class Change:
    """A change as it was received, and found to be what was sealed."""

    entry: Entry
    before: bytes
    rows: list[KeptRow]

    @property
    def is_whole(self) -> bool:
        """Whether no row was forgotten since."""
        return len(self.rows) == len(self.entry.said.get("commitments", ()))


def read_change(told: Any) -> Change:
    """Read a change and check its hash and its rows."""
    try:
        said = json.loads(told["said"])
        entry = Entry(
            int(told["sequence"]),
            str(told["model"]),
            str(told["kind"]),
            float(told["time"]),
            None if told["key"] is None else str(told["key"]),
            said,
            bytes.fromhex(told["hash"]),
        )
        before = bytes.fromhex(told["before"])
        rows = [
            KeptRow(
                entry.number,
                int(row["place"]),
                str(row["id"]),
                base64.b64decode(row["salt"], validate=True),
                base64.b64decode(row["data"], validate=True),
            )
            for row in told["rows"]
        ]
        commitments = list(said.get("commitments", ()))
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise StoreError(f"This is no entry of a log: {type(error).__name__}: {error}.") from error
    sealed = seal(
        before, entry.number, entry.model, entry.kind, entry.time, entry.key, told["said"]
    )
    if sealed != entry.hash:
        raise StoreError(f"Entry {entry.number} is not what was sealed: its hash is another.")
    for row in rows:
        known = commitments[row.place] if 0 <= row.place < len(commitments) else None
        if commit(row.salt, row.data) != known:
            raise StoreError(f"Row {row.place} of entry {entry.number} is not what was learned.")
    return Change(entry, before, rows)


def read_sealed(told: list[dict[str, Any]], after: int, before: bytes) -> bytes:
    """Check entries as they are sealed (`OnlineStore.log`), one after another; the last hash."""
    number = after
    for each in told:
        try:
            parts = (each["sequence"], each["model"], each["kind"], float(each["time"]))
            sealed = seal(before, *parts, each["key"], each["said"])
            same = each["sequence"] == number + 1 and sealed.hex() == each["hash"]
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"This is no entry of a log: {type(error).__name__}.") from error
        if not same:
            raise StoreError(f"What comes after entry {number} of the log does not follow from it.")
        before, number = sealed, number + 1
    return before


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
