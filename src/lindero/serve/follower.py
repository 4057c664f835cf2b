"""A reader elsewhere: it keeps models equal to those of a store, and answers from its own copies.

A follower begins with a copy of each model (`OnlineStore.snapshot_bytes`) and repeats what the log
says after it. It keeps no rows but those that its models hold. So where it cannot repeat exactly
what the store did, it takes a new copy: when a row is to be forgotten that a model knows by its
values only, or when rows of an entry were forgotten before the follower came to it.

Every entry is checked: its hash against what it says, its rows against its commitments, and the
entry before it against the one that the follower has seen. What it has reached is in a file for
each model (`follower_file`), so that it goes on after it was stopped or killed; a file that holds a
forgotten row is replaced and overwritten before the next entry is asked for.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Protocol

from lindero.errors import LinderoError, ModelFileError
from lindero.evaluation import explain_rows
from lindero.evaluation.build import predict_rows
from lindero.serve.changes import Change, read_change, read_sealed
from lindero.serve.database import StoreError
from lindero.serve.follower_file import FollowerFile, FollowerFolder, Reached
from lindero.serve.reader import ModelReader
from lindero.serve.stored_model import StoredModel

#: Rows learned until a model is written to its file again, where nothing was forgotten.
_SAVE_EVERY = 1000

#: Entries that are asked for at once.
_LIMIT = 500

#: The longest wait, in seconds, until a store that cannot be reached is tried again.
_LONGEST_WAIT = 30.0


#: What may be raised over entries and models that no store of lindero has written.
_NOT_OURS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError, struct.error,
)  # fmt: skip


class Leader(Protocol):
    """What is followed: an `OnlineStore`, or one behind an address (`RemoteStore`)."""

    @property
    def models(self) -> list[str]:
        """Names of the models."""

    def changes(
        self, after: int = 0, *, model: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Entries with their rows."""

    def snapshot_bytes(self, model: str | None = None) -> tuple[int, bytes]:
        """A model, and the number of its last entry."""

    def log(self, after: int = 0, most: int | None = None) -> list[dict[str, Any]]:
        """Entries of all models without their rows."""


class Follower:
    """Models that are kept equal to those of a store, here or on another machine.

    Parameters
    ----------
    leader : OnlineStore, RemoteStore or str
        What to follow; of a string, the store that `lindero serve` has at this address.
    folder : str or path-like or None, default=None
        Where to keep what was reached; it is made where there is none. Without it the follower
        begins anew each time.
    models : iterable of str or None, default=None
        The models to follow; all that there are now, where it is None.
    token : str or None, default=None
        For an address: a token with the right to read the log.
    allow_http : bool, default=False
        For an address: whether the token may cross the network unencrypted, where the way is safe
        otherwise.
    verify : bool or ssl.SSLContext, default=True
        For an address: whom to trust with TLS, as httpx takes it.

    Attributes
    ----------
    models : list of str
        Names of the models that are followed.
    name : str
        The model that is meant where a call names none: the only one, or the first.
    copied : int
        How often a model was taken as a whole.

    See Also
    --------
    OnlineStore : What is followed.
    RemoteStore : The same behind an address.

    Notes
    -----
    Counts are the same bit for bit, support vector machines equal up to rounding. Answers are those
    of the models as far as the follower has come (`sequence_of`).

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.serve import Follower, OnlineStore
    >>> from lindero.svm import IncrementalSVC
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "store.db")
    >>> with OnlineStore(path, IncrementalSVC(kernel="linear", C=10)) as store:
    ...     _ = store.learn([[0.0], [1.0], [4.0]], ["low", "low", "high"])
    ...     follower = Follower(store, os.path.join(folder.name, "copy"))
    ...     _ = store.learn([[2.0]], ["high"])
    ...     follower.catch_up(), follower.predict([[2.2]]).tolist()
    (1, ['high'])
    >>> follower.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        leader: Leader | str,
        folder: str | os.PathLike[Any] | None = None,
        *,
        models: Iterable[str] | None = None,
        token: str | None = None,
        allow_http: bool = False,
        verify: Any = True,
    ) -> None:
        if isinstance(leader, str):
            from lindero.serve.remote import RemoteStore

            leader = RemoteStore(leader, token=token, allow_http=allow_http, verify=verify)
        self.copied = 0
        self.folder = None if folder is None else os.fspath(folder)
        self._leader: Leader = leader
        self._lock = threading.Lock()  # of those who follow, not of those who ask
        self._held: dict[str, StoredModel] = {}
        self._reached: dict[str, Reached] = {}
        self._unsaved: dict[str, int] = {}
        self._checked: set[str] = set()
        self._files: dict[str, FollowerFile] = {}
        self._folder = None if folder is None else FollowerFolder(folder)
        try:
            self._begin(None if models is None else list(models))
        except BaseException:
            if self._folder is not None:
                self._folder.discard()
            raise

    def _begin(self, names: list[str] | None) -> None:
        """Take up what is there, and copy what is not."""
        folder = self._folder
        if folder is not None:
            known = folder.list_models() if names is None else names
            self._files = {name: folder.file(name) for name in known}
            for name, file in self._files.items():
                self._take_up(name, file)
        if names is None:
            try:
                names = list(self._leader.models)
            except ConnectionError:
                names = sorted(self._held)  # it answers with what it has
                if not names:
                    raise
        if not names:
            raise StoreError("There is no model to follow yet.")
        for name in names:
            if folder is not None and name not in self._files:
                self._files[name] = folder.file(name)
        self.models = sorted(names)
        self.name = self.models[0] if "model" not in names else "model"
        for name in self.models:
            if name not in self._held:
                with _refusing_what_is_none(name):
                    self._copy(name)

    # -- following ----------------------------------------------------------------------------

    def catch_up(self) -> int:
        """Repeat all that was written since; how many entries there were.

        Returns
        -------
        n_entries : int

        Raises
        ------
        ConnectionError
            If the store cannot be reached: what was repeated stays.
        StoreError
            If the log is not the one that was followed so far, or not what was sealed.
        """
        return self._catch_up_all(threading.Event())

    def _catch_up_all(self, stop: threading.Event) -> int:
        n_entries = 0
        with self._lock:
            for name in self.models:
                with _refusing_what_is_none(name):
                    n_entries += self._catch_up(name, stop)
        return n_entries

    def follow(
        self,
        stop: threading.Event,
        *,
        wait: float = 1.0,
        tell: Callable[[str], object] | None = None,
        changed: Callable[[], object] | None = None,
    ) -> None:
        """Catch up again and again, until `stop` is set.

        Parameters
        ----------
        stop : threading.Event
            Whether to go on is looked up after each round.
        wait : float, default=1.0
            Seconds between rounds; longer and longer while the store cannot be reached.
        tell : callable or None, default=None
            Is told in a sentence what has happened.
        changed : callable or None, default=None
            Is called after rounds that have changed a model.
        """
        pause, cut_off = wait, False
        while not stop.is_set():
            try:
                n_entries = self._catch_up_all(stop)
            except ConnectionError as error:
                if tell is not None and not cut_off:
                    tell(f"cut off: {error}")
                cut_off, pause = True, min(2.0 * pause, _LONGEST_WAIT)
            else:
                if tell is not None and (cut_off or n_entries):
                    again = "connected again, " if cut_off else ""
                    at = ", ".join(f"{name} at {self.sequence_of(name)}" for name in self.models)
                    tell(f"{again}{n_entries} entries: {at}")
                if changed is not None and n_entries:
                    changed()
                cut_off, pause = False, wait
            stop.wait(pause)

    def _catch_up(self, name: str, stop: threading.Event) -> int:
        n_entries = 0
        while not stop.is_set():  # a store that is written to all the time has no end
            reached, is_checked = self._reached[name], name in self._checked
            # Once, the last entry that is known comes again, to see whether the log is the same.
            after = reached.sequence - (not is_checked)
            told = self._leader.changes(after, model=name, limit=_LIMIT)
            changes = [read_change(each) for each in told]
            if not is_checked:
                self._require_same_log(name, changes)
                changes = changes[1:]
            elif not changes:
                break
            for change in changes:
                n_entries += 1
                self._require_next(name, change)
                if not self._repeat(name, change):
                    self._copy(name)
                    break
        if self._unsaved.get(name, 0) >= _SAVE_EVERY:
            self._save(name)
        return n_entries

    def _require_same_log(self, name: str, changes: list[Change]) -> None:
        reached = self._reached[name]
        first = changes[0].entry if changes else None
        if first is None or first.number != reached.sequence:
            found = "nothing" if first is None else f"entry {first.number}"
            raise _tell_another_log(name, f"after {reached.sequence - 1} comes {found}")
        if reached.hash and first.hash != reached.hash:
            raise _tell_another_log(name, f"entry {first.number} has another hash")
        self._reached[name] = Reached(first.number, first.hash, reached.about)
        self._checked.add(name)

    def _require_next(self, name: str, change: Change) -> None:
        """Refuse an entry that does not follow from the last one, over those of other models."""
        reached, entry = self._reached[name], change.entry
        if entry.model != name:
            raise _tell_another_log(name, f"entry {entry.number} is of another model")
        if entry.number <= reached.sequence:
            raise _tell_another_log(name, f"entry {entry.number} comes again")
        before = reached.hash
        if entry.number > reached.sequence + 1:
            between = self._leader.log(reached.sequence, entry.number - 1)
            before = read_sealed(between, reached.sequence, before)
            if any(each["model"] == name for each in between):
                raise _tell_another_log(name, f"entries before {entry.number} were left out")
        if change.before != before:
            raise _tell_another_log(
                name, f"entry {entry.number} does not follow from {reached.sequence}"
            )

    def _repeat(self, name: str, change: Change) -> bool:
        """Learn and forget what an entry says; whether that was possible exactly."""
        held, entry = self._held[name], change.entry
        gone = set(entry.said.get("ids", ()))
        if not change.is_whole or (gone and not held.knows_ids):
            return False
        try:
            inside = {id for id in gone if held.holds(id)}
            if inside:
                held.forget((), inside)
            held.follow(entry)
            held.learn_again(change.rows)
        except (ValueError, TypeError):
            return False
        self._reached[name] = Reached(entry.number, entry.hash, _about(held))
        self._unsaved[name] = self._unsaved.get(name, 0) + len(change.rows)
        if gone:
            self._save(name)
        return True

    def _copy(self, name: str) -> None:
        """Take a model as the store has it now."""
        sequence, data = self._leader.snapshot_bytes(name)
        [added] = self._leader.changes(0, model=name, limit=1)
        held = StoredModel.from_file(data, 0)
        held.follow(read_change(added).entry)
        held.sequence = sequence
        if held.names is None:
            names = getattr(held.estimator, "feature_names_in_", None)
            held.names = None if names is None else tuple(map(str, names))
        self._held[name] = held
        self._reached[name] = Reached(sequence, b"", _about(held))
        self._checked.discard(name)
        last = self._leader.changes(sequence - 1, model=name, limit=1)
        self._require_same_log(name, [read_change(each) for each in last])
        self.copied += 1
        self._save(name)

    # -- what is kept -------------------------------------------------------------------------

    def _take_up(self, name: str, file: FollowerFile) -> None:
        """Go on where a follower has stopped, if there was one."""
        found = file.read()
        if found is None:
            return
        reached, data = found
        try:
            held = StoredModel.from_file(data, reached.sequence)
        except ModelFileError as error:
            raise StoreError(
                f"{file.path} does not hold a model that can be read: {error} Remove it, and the "
                "model is copied anew."
            ) from error
        names = reached.about["names"]
        held.names = None if names is None else tuple(names)
        held.classes = reached.about["classes"]
        held.counted = reached.about["counted"]
        held.n_learned = reached.about["n_learned"]
        self._held[name], self._reached[name] = held, reached

    def _save(self, name: str) -> None:
        if name in self._files:
            self._files[name].write(self._reached[name], self._held[name].to_bytes())
        self._unsaved[name] = 0

    def close(self) -> None:
        """Write what was learned since the last time, so that the next follower goes on here."""
        with self._lock:
            try:
                for name, n_rows in self._unsaved.items():
                    if n_rows:
                        self._save(name)
            finally:
                self._let_go()

    def _let_go(self) -> None:
        """Of the folder and of connections, as the end of a process does."""
        if self._folder is not None:
            self._folder.close()
        disconnect = getattr(self._leader, "disconnect", None)
        if disconnect is not None:
            disconnect()

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- reading ------------------------------------------------------------------------------

    @property
    def sequence(self) -> int:
        """Number of the last entry that was repeated, of any model."""
        return max(held.sequence for held in self._held.values())

    def sequence_of(self, model: str | None = None) -> int:
        """Number of the last entry of a model that was repeated."""
        return self._find(model).sequence

    def predict(self, X: Any, *, times: Any = None, model: str | None = None) -> Any:
        """What a model answers to rows."""
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

    def reader(self, *, model: str | None = None) -> ModelReader:
        """What answers as a model does now, whatever is repeated meanwhile."""
        with self._lock:
            return ModelReader.of(self._find(model))

    def certificate(self, *, model: str | None = None) -> Any:
        """How near a model is to its optimum; None of models that are no optimum of anything."""
        held = self._find(model)
        return getattr(held.machine, "certificate_", None) if held.is_fitted else None

    def _find(self, model: str | None) -> StoredModel:
        name = self.name if model is None else model
        if name not in self._held:
            known = ", ".join(map(repr, self.models))
            raise StoreError(f"Model {name!r} is not followed; followed are: {known}.")
        return self._held[name]


def _about(held: StoredModel) -> dict[str, Any]:
    """What a model file does not say of a model."""
    return {
        "names": None if held.names is None else list(held.names),
        "classes": held.classes,
        "counted": held.counted,
        "n_learned": held.n_learned,
    }


def _tell_another_log(name: str, why: str) -> StoreError:
    return StoreError(
        f"The log of {name!r} is not the one that was followed so far: {why}. If the store was "
        "replaced by another on purpose, follow it with a new folder."
    )


@contextmanager
def _refusing_what_is_none(name: str) -> Iterator[None]:
    """Whatever a store tells that is no log and no model becomes an error with a reason."""
    try:
        yield
    except LinderoError:
        raise
    except _NOT_OURS as error:
        raise StoreError(
            f"What the store tells of {name!r} cannot be followed ({type(error).__name__}). Is it "
            "a store of lindero?"
        ) from error
