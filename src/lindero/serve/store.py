"""A durable learner: every row that is learned or forgotten is on the disk before the call returns.

A write goes this way. The rows become bytes; the model learns what those bytes say; the entry of
the log and the rows are committed in one transaction; the call returns. If the model refuses the
rows, or the disk refuses the entry, nothing has happened: the transaction is rolled back, and a
model that had learned already is built anew from what is on the disk.

Opening reads the latest snapshot and learns the rows of the entries after it, in the batches in
which they came: counts are then the same bit for bit, and support vector machines up to rounding.
A snapshot is written whenever rows are forgotten, so that no entry has to be forgotten again, every
so many rows, and when the store is closed.

Forgetting a row drops every snapshot that was made with it, and then its bytes (`ledger`). What was
before can still be asked for (`as_of`), as it would have been without the row: from a snapshot that
never held it, and the rows that are left.

What is written and what is built anew are two sides of one promise, and stand in one file.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from lindero.errors import ModelFileError
from lindero.evaluation import explain_rows
from lindero.evaluation.build import predict_rows, unwrap_machine
from lindero.persist import to_bytes
from lindero.serve.changes import describe_entry, take_entries, tell_changes
from lindero.serve.database import DURABILITIES, StoreError
from lindero.serve.ledger import Entry, KeptRow, Ledger, commit
from lindero.serve.reader import ModelReader
from lindero.serve.requests import NewRow, list_ids, read_again, read_new_rows
from lindero.serve.stored_model import StoredModel, ids_of, is_fitted
from lindero.serve.stored_rows import Batch, GivenRows

__all__ = ["ConflictError", "OnlineStore", "Receipt", "StoreError"]


class ConflictError(StoreError):
    """A write that rests on something that is no longer so; nothing has happened.

    Attributes
    ----------
    about : {"version", "key"}
        Whether somebody has written since, or the key names another request.
    """

    def __init__(self, message: str, about: str) -> None:
        super().__init__(message)
        self.about = about


@dataclass(frozen=True)
class Receipt:
    """What a write has done, as the log says it.

    Attributes
    ----------
    sequence : int
        The number of the entry, over all models of the store.
    model : str
        The name of the model.
    kind : str
        "add", "learn", "forget" or "replace".
    time : float
        Seconds since 1970, never less than those of the entry before.
    ids : tuple
        Ids of rows that were forgotten or replaced. Those of rows that were learned are kept with
        the rows, and vanish with them.
    n_rows : int
        Rows that were learned.
    hash : str
        Hash of this entry and all before it.
    before, after : dict or None
        What the model's certificate said before and after rows were forgotten; None of models that
        have none.
    commitments : tuple of str
        SHA-256 of each row that was learned, with its salt.
    """

    sequence: int
    model: str
    kind: str
    time: float
    ids: tuple[Any, ...]
    n_rows: int
    hash: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    commitments: tuple[str, ...]

    @classmethod
    def of(cls, entry: Entry) -> Receipt:
        said = entry.said
        commitments = tuple(said.get("commitments", ()))
        return cls(
            entry.number,
            entry.model,
            entry.kind,
            entry.time,
            tuple(said.get("ids", ())),
            len(commitments),
            entry.hash.hex(),
            said.get("before"),
            said.get("after"),
            commitments,
        )


class OnlineStore:
    """Models that learn and forget single rows, and survive whatever happens to the process.

    Every write is one transaction with a number in a log of chained hashes. It has reached the disk
    when the call returns, or has not happened at all. Forgotten rows vanish from the model and from
    the disk; what remains of them is a receipt.

    Parameters
    ----------
    path : str or path-like
        The file, which is made where there is none; or the address of a PostgreSQL database,
        "postgresql://user@host/database". One process at a time may have it open.
    estimator : estimator or None, default=None
        A model to add under `name` where there is none of that name yet: an incremental or adaptive
        machine or a Bayesian classifier, fitted or not, or a fitted pipeline that ends in one.
    name : str, default="model"
        The model that is meant where a call names none.
    classes : array-like or None, default=None
        The classes to expect, for a first batch that does not have all of them.
    durability : {"full", "normal"}, default="full"
        With "full", a write that was acknowledged survives a loss of power: each waits for the disk
        (fsync). With "normal" it survives the end of the process, and the last ones may be lost
        with the power; nothing is ever half there.
    snapshot_every : int, default=1000
        Rows learned between snapshots. More of them make writes cheaper and opening slower.

    Attributes
    ----------
    models : list of str
        Names of the models.
    sequence : int
        Number of the last entry of the log.

    See Also
    --------
    lindero.svm.IncrementalSVC : Learns and forgets exactly.
    lindero.persist.save : A model in a file, without rows or history.

    Notes
    -----
    The log holds a commitment to each row, SHA-256(salt ‖ row), not the row: rows can be erased and
    the chain still be checked [1]_. Opening checks all of it.

    Reading is safe from other threads while one writes. A reader may see a row some moments before
    the disk has it.

    References
    ----------
    .. [1] S. Haber and W. S. Stornetta, "How to time-stamp a digital document", Journal of
       Cryptology 3, 1991.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.serve import OnlineStore
    >>> from lindero.svm import IncrementalSVC
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "store.db")
    >>> with OnlineStore(path, IncrementalSVC(kernel="linear", C=10)) as store:
    ...     first = ["ann", "bob", "eve"]
    ...     _ = store.learn([[0.0], [1.0], [4.0]], ["low", "low", "high"], ids=first)
    ...     receipt = store.learn([[2.0]], ["high"], ids=["joe"])
    ...     store.predict([[2.2]]).tolist()
    ['high']
    >>> with OnlineStore(path) as store:  # after whatever happened
    ...     receipt = store.forget(["joe"])
    ...     store.predict([[2.2]]).tolist(), receipt.kind, receipt.ids
    (['low'], 'forget', ('joe',))
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[Any],
        estimator: Any = None,
        *,
        name: str = "model",
        classes: Any = None,
        durability: str = "full",
        snapshot_every: int = 1000,
    ) -> None:
        if durability not in DURABILITIES:
            raise ValueError(f"durability must be 'full' or 'normal', not {durability!r}.")
        if not isinstance(snapshot_every, int) or snapshot_every < 1:
            raise ValueError(f"snapshot_every must be a positive integer, not {snapshot_every!r}.")
        self.path = os.fspath(path)
        self.name = name
        self.snapshot_every = snapshot_every
        self._lock = threading.RLock()
        self._held: dict[str, StoredModel] = {}
        self._uncertain: set[str] = set()  # that could not be read again after a failure
        self._ledger: Ledger | None = Ledger(path, durability)
        try:
            self._ledger.check()
            for known in self._ledger.models():
                self._held[known] = self._restore(known)
            if estimator is not None and name not in self._held:
                self.add(name, estimator, classes=classes)
        except BaseException:
            self._ledger.close()
            self._ledger = None
            raise

    # -- models -------------------------------------------------------------------------------

    @property
    def models(self) -> list[str]:
        return sorted(self._held)

    @property
    def sequence(self) -> int:
        with self._lock:
            last = self._open().last()
        return 0 if last is None else last.number

    def sequence_of(self, model: str | None = None) -> int:
        """Number of the last entry of a model, for `expect`."""
        return self._find(model).sequence

    def add(self, name: str, estimator: Any, *, classes: Any = None) -> Receipt:
        """Add a model.

        Parameters
        ----------
        name : str
            Its name, none that is there already.
        estimator : estimator
            As for the store. It is copied.
        classes : array-like or None, default=None
            The classes to expect.

        Returns
        -------
        receipt : Receipt
        """
        if not isinstance(name, str) or not name:
            raise ValueError(f"The name of a model must be text, not {name!r}.")
        with self._lock:
            ledger = self._open()
            if name in self._held:
                raise StoreError(f"There is a model {name!r} already: choose another name.")
            require_learner(estimator)
            machine = unwrap_machine(estimator)
            data = to_bytes(estimator)
            declared = None if classes is None else np.asarray(classes).tolist()
            fitted_names = getattr(estimator, "feature_names_in_", None)
            names = None if fitted_names is None else [str(text) for text in fitted_names]
            said = {
                "estimator": type(machine).__name__,
                "sha256": hashlib.sha256(data).hexdigest(),
                "classes": declared,
                "names": names,
            }
            if is_fitted(machine) and hasattr(type(machine), "next_id_"):
                said["counted"] = machine.next_id_ is not None
                said["first_id"] = machine.next_id_ or 0
            with ledger.transaction():
                ledger.add_model(name)
                entry = ledger.append(name, "add", None, said)
                ledger.keep_snapshot(name, entry.number, data)
            self._held[name] = self._restore(name)
            return Receipt.of(entry)

    # -- writing ------------------------------------------------------------------------------

    def learn(
        self,
        X: Any,
        y: Any = None,
        *,
        ids: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        key: str | None = None,
        expect: int | None = None,
        model: str | None = None,
    ) -> Receipt:
        """Learn rows, all of them or none.

        Parameters
        ----------
        X : table, array, list of lists or list of dicts
            Rows. Where the columns have names, their order does not matter.
        y : array-like or None, default=None
            Labels or targets.
        ids : array-like of int or str, default=None
            Ids, by which `forget` finds the rows again. Without them the store counts: 0, 1, 2, …
        sample_weight, times : array-like, default=None
            Weights, and times for machines that move.
        key : str or None, default=None
            A name for this very request. If it was learned already, nothing is learned again, and
            the receipt of the first time is returned: so a client that got no answer may ask again.
        expect : int or None, default=None
            Do it only if this is the number of the model's last entry (`sequence_of`).
        model : str or None, default=None
            Which model.

        Returns
        -------
        receipt : Receipt

        Raises
        ------
        ValueError
            If the model refuses the rows.
        StoreError
            If the disk does, or somebody else has written since (`expect`). Nothing has changed.
        """
        return self._write("learn", (), (X, y, ids, sample_weight, times), key, expect, model)

    def forget(
        self,
        ids: Any,
        *,
        key: str | None = None,
        expect: int | None = None,
        model: str | None = None,
    ) -> Receipt:
        """Forget rows: the model becomes one that never saw them, and the disk holds them no more.

        Incremental machines and counts do so at once. Where a model cannot (one that follows a
        stream, parameters that were learned from all rows together, numbers of which rounding has
        left too few digits), it is built anew from all other rows, which takes longer.

        Parameters
        ----------
        ids : int, str or array-like of these
            The rows. One that was forgotten before needs no forgetting; where that is so of all,
            the receipt of that time is returned.
        key, expect, model
            As for `learn`.

        Returns
        -------
        receipt : Receipt
            With the model's certificates before and after.
        """
        return self._write("forget", list_ids(ids), None, key, expect, model)

    def replace(
        self,
        ids: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        times: Any = None,
        key: str | None = None,
        expect: int | None = None,
        model: str | None = None,
    ) -> Receipt:
        """Forget rows and learn others under the same ids, in one step.

        Parameters
        ----------
        ids : int, str or array-like of these
            Ids of rows that are there.
        X, y, sample_weight, times, key, expect, model
            As for `learn`.

        Returns
        -------
        receipt : Receipt
        """
        listed = list_ids(ids)
        return self._write(
            "replace", listed, (X, y, list(listed), sample_weight, times), key, expect, model
        )

    def _write(
        self,
        kind: str,
        gone: tuple[Any, ...],
        given: tuple[Any, ...] | None,
        key: str | None,
        expect: int | None,
        model: str | None,
    ) -> Receipt:
        name = self.name if model is None else model
        with self._lock:
            ledger, held = self._open(), self._find(model)
            if name in self._uncertain:
                self._read_again(name)
                held = self._held[name]
            if key is not None:
                known = ledger.with_key(name, key)
                if known is not None:
                    self._require_same_request(name, held, known, kind, gone, given)
                    return Receipt.of(known)
            if expect is not None and expect != held.sequence:
                raise ConflictError(
                    f"The last entry of {name!r} is {held.sequence}, not {expect}: somebody has "
                    "written since. Read again, then decide.",
                    "version",
                )
            inside = {id for id in gone if held.holds(id)}
            kept = [row for id in gone for row in ledger.rows_with(name, json.dumps(id))]
            before = self._find_forgotten(name, set(gone) - inside - ids_of(kept))
            if gone and not kept and not inside and given is None:
                return Receipt.of(before)
            new = [] if given is None else self._read_rows(name, held, given, set(gone))
            with self._changing(name, held):
                said: dict[str, Any] = {}
                if gone:
                    said |= {"ids": list(gone), "before": held.certify()}
                    self._forget(name, held, kept, inside)
                if new:
                    said |= _learn(held, new)
                if gone:
                    said["after"] = held.certify()
                entry = ledger.append(name, kind, key, said)
                ledger.keep_rows(name, entry.number, [(row.id, row.salt, row.data) for row in new])
                held.follow(entry)
                if gone:
                    # Rows of the first snapshot are in every one.
                    first = 0 if inside - ids_of(kept) else min(row.number for row in kept)
                    ledger.erase_rows(name, kept)
                    ledger.drop_snapshots(name, first)
                    ledger.keep_snapshot(name, entry.number, held.to_bytes())
                    held.unsaved = 0
            if gone:
                ledger.finish_erasing()
            elif held.unsaved >= self.snapshot_every:
                with suppress(StoreError):  # the rows are there; it is tried again with the next
                    self._snapshot(name, held)
            return Receipt.of(entry)

    def _require_same_request(
        self,
        name: str,
        held: StoredModel,
        known: Entry,
        kind: str,
        gone: tuple[Any, ...],
        given: tuple[Any, ...] | None,
    ) -> None:
        """Refuse a request under the key of another one; rows are compared as far as they are
        left."""
        n_rows = 0 if given is None else len(GivenRows.of(given[0]).values)
        same = known.kind == kind and known.said.get("ids", []) == list(gone)
        same = same and len(known.said.get("commitments", ())) == n_rows
        if same and given is not None:
            new = read_again(held, *given)
            for row in self._open().rows_of(name, known.number):
                own_id, data = new[row.place]
                same = same and data == row.data and own_id in (None, row.id)
        if not same:
            raise ConflictError(
                f"The key {known.key!r} belongs to another request, entry {known.number}: a key "
                "names one request, whenever it is sent.",
                "key",
            )

    def _forget(self, name: str, held: StoredModel, rows: list[KeptRow], inside: set[Any]) -> None:
        """Let a model forget rows; where it cannot do so exactly, build it from all others."""
        try:
            held.forget(rows, inside)
        except ValueError:
            if held.knows_ids:
                raise
            without = self._restore(name, without=rows)
            if not without.is_fitted:
                raise
            held.estimator = without.estimator
            held.n_changes += 1

    @contextmanager
    def _changing(self, name: str, held: StoredModel) -> Iterator[None]:
        """A transaction. Where it fails once the model has changed, that is built anew."""
        changes = held.n_changes
        try:
            with self._open().transaction():
                yield
        except BaseException as error:
            # Rows that were refused have changed nothing, unless others were forgotten before.
            if held.n_changes != changes or not isinstance(error, (ValueError, TypeError)):
                self._uncertain.add(name)
                with suppress(StoreError):
                    self._read_again(name)
            raise

    def _read_again(self, name: str) -> None:
        """Build a model anew that may know more than the disk."""
        self._held[name] = self._restore(name)
        self._uncertain.discard(name)

    def _find_forgotten(self, name: str, ids: set[Any]) -> Any:
        """The last entry by which one of these rows went; an error if some were never there."""
        if not ids:
            return None
        gone: dict[Any, Entry] = {}
        for entry in self._open().erasures(name):
            gone.update(dict.fromkeys(entry.said.get("ids", ()), entry))
        unknown = [id for id in ids if id not in gone]
        if unknown:
            more = "" if len(unknown) <= 10 else f" and {len(unknown) - 10} more"
            raise ValueError(f"Model {name!r} knows no row with id {unknown[:10]}{more}.")
        return max((gone[id] for id in ids), key=lambda entry: entry.number)

    def _read_rows(
        self, name: str, held: StoredModel, given: tuple[Any, ...], replaced: set[Any]
    ) -> list[NewRow]:
        """The rows of a request, with ids that are free."""
        X, y, ids, weights, times = given
        new = read_new_rows(held, X, y, ids, weights, times, bool(replaced))
        if ids is None:
            return new  # counted
        for row in new:
            taken = held.holds(row.own_id) or self._open().rows_with(name, row.id)
            if taken and row.own_id not in replaced:
                raise ValueError(
                    f"There is a row with the id {row.own_id!r} already: replace it, or give "
                    "another id."
                )
        return new

    # -- reading ------------------------------------------------------------------------------

    def predict(self, X: Any, *, times: Any = None, model: str | None = None) -> Any:
        """What the model answers to rows, as they would be passed to `learn`."""
        held = self._find(model)
        return predict_rows(held.estimator, held.table(X), times=times)

    def predict_proba(self, X: Any, *, model: str | None = None) -> Any:
        """Probabilities of the classes, of models that have them."""
        held = self._find(model)
        return held.estimator.predict_proba(held.table(X))

    def explain(self, X: Any, *, times: Any = None, model: str | None = None) -> list[str]:
        """A sentence for each prediction (`lindero.evaluation.explain_rows`)."""
        held = self._find(model)
        return explain_rows(held.estimator, held.table(X), times=times)

    def certificate(self, *, model: str | None = None) -> Any:
        """How near the model is to its optimum; None of models that are no optimum of anything."""
        held = self._find(model)
        return getattr(held.machine, "certificate_", None) if held.is_fitted else None

    def scores(self, *, model: str | None = None) -> dict[str, float]:
        """How good the model was on each labelled row before it learned it."""
        known = self._find(model).sums
        n = known.get("n", 0.0)
        means = {what: value / n for what, value in known.items() if what != "n"} if n else {}
        return {"n": n, **means}

    def reader(self, *, model: str | None = None) -> ModelReader:
        """What answers as a model does now, whatever is learned meanwhile; for other threads, which
        then need not wait for a write."""
        with self._lock:
            return ModelReader.of(self._find(model))

    def receipts(
        self,
        *,
        model: str | None = None,
        after: int = 0,
        most: int | None = None,
        limit: int | None = None,
    ) -> list[Receipt]:
        """What was written, oldest first, after one entry and up to another: of one model, or of
        all where `model` is None. With a limit, so many at most; fewer, but one at least, where
        they tell of very many rows."""
        with self._lock:
            entries = self._open().entries(after, model, most)
            return [Receipt.of(entry) for entry in take_entries(entries, limit)]

    def log(
        self, after: int = 0, most: int | None = None, *, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The entries as they are sealed, for whoever wants to check the chain without lindero:
        those after one entry and up to another, limited as receipts are.

        The hash of each is SHA-256 of the hash before (32 zero bytes before the first) and the JSON
        list [sequence, model, kind, time as hexadecimal float, key, said], without spaces.
        """
        with self._lock:
            entries = self._open().entries(after, None, most)
            return [describe_entry(entry) for entry in take_entries(entries, limit)]

    def score_history(self, after: int = 0) -> list[tuple[str, int, float, dict[str, float]]]:
        """Model, number and time of the entries after one that scored rows, and what they found."""
        with self._lock:
            entries = self._open().entries(after)
            return [
                (entry.model, entry.number, entry.time, entry.said["scored"])
                for entry in entries
                if "scored" in entry.said
            ]

    def changes(
        self, after: int = 0, *, model: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """What was written after an entry, with all that somebody needs to repeat it elsewhere.

        Parameters
        ----------
        after : int, default=0
            Number of an entry of the log.
        model : str or None, default=None
            One model; all of the store where it is None.
        limit : int, default=1000
            Entries at most. There are fewer, but one at least, where they hold very many rows.

        Returns
        -------
        changes : list of dict
            The entries as `log` has them, each with "before", the hash of the entry before it, and
            "rows", those that it learned and that were not forgotten since: "place" among the rows
            of the entry, "id", and "salt" and "data" in base64. Of a model that was added, also
            "model_file" in base64: None where a row that it came with was forgotten since, and
            only `snapshot_bytes` tells where to begin.

        See Also
        --------
        Follower : Keeps equal models elsewhere.
        """
        if limit < 1:
            raise ValueError(f"limit must be a positive integer, not {limit!r}.")
        with self._lock:
            if model is not None:
                self._find(model)
            return tell_changes(self._open(), after, model, limit)

    def snapshot_bytes(self, model: str | None = None) -> tuple[int, bytes]:
        """The model as a model file, and the number of its last entry."""
        with self._lock:
            held = self._find(model)
            return held.sequence, held.to_bytes()

    def as_of(self, sequence: int, *, model: str | None = None) -> Any:
        """The model as it was after an entry, without rows that were forgotten since.

        Parameters
        ----------
        sequence : int
            Number of an entry of the log.
        model : str or None, default=None
            Which model.

        Returns
        -------
        estimator : object
            A copy: what becomes of it changes nothing here.
        """
        name = self.name if model is None else model
        self._find(model)
        with self._lock:
            return self._restore(name, sequence).estimator

    def snapshot(self, *, model: str | None = None) -> int:
        """Write the model as it is, so that opening is quick; the number of its last entry."""
        with self._lock:
            held = self._find(model)
            self._snapshot(self.name if model is None else model, held)
            return held.sequence

    def close(self) -> None:
        """Write snapshots and let go of the file."""
        with self._lock:
            if self._ledger is None:
                return
            try:
                for name, held in self._held.items():
                    if held.unsaved and name not in self._uncertain:
                        with suppress(StoreError):  # the log says it all, only more slowly
                            self._snapshot(name, held)
            finally:
                self._ledger.close()
                self._ledger = None

    def __enter__(self) -> OnlineStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- inside -------------------------------------------------------------------------------

    def _open(self) -> Ledger:
        if self._ledger is None:
            raise StoreError("The store is closed: open it again.")
        return self._ledger

    def _find(self, model: str | None) -> StoredModel:
        self._open()
        name = self.name if model is None else model
        if name not in self._held:
            known = ", ".join(map(repr, self.models)) or "none yet"
            raise StoreError(f"There is no model {name!r} in this store; there are: {known}.")
        return self._held[name]

    def _snapshot(self, name: str, held: StoredModel) -> None:
        ledger = self._open()
        first = ledger.first_snapshot(name)
        data = held.to_bytes()
        with ledger.transaction():
            # The first one stays, to answer questions about the past; the others are not needed,
            # and leave their room in the file to this one.
            ledger.drop_snapshots(name, 1 + (first or 0), held.sequence - 1)
            ledger.keep_snapshot(name, held.sequence, data)
        held.unsaved = 0

    def _restore(
        self, name: str, most: int | None = None, without: Sequence[KeptRow] = ()
    ) -> StoredModel:
        """A model from the disk: a snapshot, and the rows that were learned after it."""
        ledger = self._open()
        # One that was made before the rows to be left out.
        latest = min((row.number - 1 for row in without), default=most)
        found = ledger.last_snapshot(name, latest)
        while found is not None:
            number, data = found
            try:
                held = StoredModel.from_file(data, number)
                break
            except ModelFileError:
                found = ledger.last_snapshot(name, number - 1)
        else:
            raise StoreError(
                f"What model {name!r} was then cannot be told any more: rows that it was made with "
                "have been forgotten since."
            )
        left_out = {(row.number, row.place) for row in without}
        for entry in ledger.entries(model=name, most=most):
            held.follow(entry)
            if entry.number > number:
                rows = ledger.rows_of(name, entry.number)
                held.learn_again([row for row in rows if (row.number, row.place) not in left_out])
        return held


def require_learner(estimator: Any) -> None:
    """Refuse what cannot learn further rows, with the reason."""
    machine = unwrap_machine(estimator)
    try:
        _ = machine.partial_fit
    except AttributeError as error:
        reason = str(error.__cause__ or error)
        if not hasattr(type(machine), "partial_fit"):
            reason = (
                f"{type(machine).__name__} learned from all rows together and cannot learn further "
                "ones. Machines that can: IncrementalSVC, IncrementalSVR, IncrementalOneClassSVM, "
                "AdaptiveSVC, AdaptiveSVR, and the Bayesian classifiers."
            )
        raise ValueError(reason) from None
    if machine is not estimator and not is_fitted(estimator):
        raise ValueError(
            "The pipeline is not fitted, and its first steps learn from all rows together: fit it "
            "on some rows first."
        )


def _learn(held: StoredModel, new: Sequence[NewRow]) -> dict[str, Any]:
    """Let a model learn rows; what the log is to say of them."""
    names = new[0].names
    batch = Batch.of([row.data for row in new], names)
    scored = held.score(batch)
    held.learn(batch, [row.own_id for row in new])
    held.unsaved += len(new)
    said: dict[str, Any] = {"commitments": [commit(row.salt, row.data) for row in new]}
    if held.counted is None:
        said["counted"] = new[0].counted
    elif held.counted and not new[0].counted:
        said["numbered"] = False  # they have the ids of those that they replace
    if held.names is None and names is not None:
        said["names"] = list(names)
    return said | ({"scored": scored} if scored else {})
