"""A model in memory, with what a store has to know of it: how it learns, forgets and answers.

Machines differ in how they know a row again. Incremental ones hold rows under ids. Bayesian ones
hold counts, from which a row is taken away by its values, exactly as it was put in. Those that
follow a stream cannot forget: the store builds them anew. Of a pipeline only the machine learns;
its first steps stay as they were fitted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from lindero.evaluation.build import predict_rows, unwrap_machine
from lindero.persist import from_bytes, to_bytes
from lindero.serve.ledger import Entry, KeptRow
from lindero.serve.stored_rows import Batch, GivenRows, encode_row

#: Records of updates in a snapshot.
_MOST_UPDATES = 1000


@dataclass
class StoredModel:
    """An estimator, and what the log has said of it so far."""

    estimator: Any
    sequence: int  # of the last entry that it has learned
    names: tuple[str, ...] | None = None  # of its columns
    classes: list[Any] | None = None  # that were declared
    counted: bool | None = None  # whether the store numbers its rows; None before the first
    first_id: int = 0  # where numbering begins
    n_numbered: int = 0  # rows that got numbers
    n_learned: int = 0  # rows, ever
    unsaved: int = 0  # rows learned since the last snapshot
    n_changes: int = 0  # of the estimator, since it was read
    judged: tuple[int, dict[str, Any]] | None = None  # what `certify` said, after which change
    sums: dict[str, float] = field(default_factory=dict)  # of scores, and n rows that were scored

    @classmethod
    def from_file(cls, data: bytes, sequence: int) -> StoredModel:
        """From a model file. What a machine calls its samples is for the store to say, also where
        it has counted them itself so far: a row that replaces another takes its id."""
        held = cls(from_bytes(data), sequence)
        if held.knows_ids and held.is_fitted:
            held.machine.name_samples()
        return held

    @property
    def machine(self) -> Any:
        """The estimator, or the last step of a pipeline."""
        return unwrap_machine(self.estimator)

    @property
    def is_fitted(self) -> bool:
        return is_fitted(self.machine)

    @property
    def knows_ids(self) -> bool:
        return hasattr(type(self.machine), "stored_ids_")

    @property
    def is_numeric(self) -> bool:
        """Whether its rows are numbers only: those of machines with a kernel that stand alone."""
        counts = hasattr(type(self.machine), "forget") and not self.knows_ids
        return self.machine is self.estimator and not counts

    @property
    def next_id(self) -> int | None:
        """The id of the next row, where the store numbers rows; None where the user gives ids."""
        return None if self.counted is False else self.first_id + self.n_numbered

    def to_bytes(self) -> bytes:
        """A model file, without columns of a kernel, which can be computed again and would be
        most of it, and with few records of updates, of which the log has more. It is not tried
        out: the rows are there, and an older snapshot."""
        twin = deepcopy(self.estimator)
        if self.knows_ids and self.is_fitted:
            unwrap_machine(twin).trim_updates(_MOST_UPDATES)
        return to_bytes(twin, check=False)

    def learn(self, batch: Batch, ids: list[Any]) -> None:
        """Let the machine learn a batch, in the way that it learns it every time."""
        given: dict[str, Any] = {}
        if self.knows_ids:
            given["ids"] = ids
        if batch.weights is not None:
            given["sample_weight"] = batch.weights
        if batch.times is not None:
            given["times"] = batch.times
        if self.classes is not None and is_classifier(self.machine) and not self.is_fitted:
            given["classes"] = self.classes
        targets = () if batch.y is None else (batch.y,)
        self.machine.partial_fit(self._rows(batch), *targets, **given)
        self.n_changes += 1

    def forget(self, rows: Sequence[KeptRow], inside: set[Any]) -> None:
        """Let the machine forget rows that the store keeps, and others that it holds by ids."""
        machine = self.machine
        if not hasattr(type(machine), "forget"):
            raise ValueError(f"{type(machine).__name__} cannot forget single rows exactly.")
        if self.knows_ids:
            if inside:
                machine.forget(list(inside))
        elif rows:
            batch = Batch.of([row.data for row in rows], self.names)
            machine.forget(self._rows(batch), batch.y, batch.weights)
        self.n_changes += 1

    def score(self, batch: Batch) -> dict[str, float]:
        """How well rows are answered that were not learned yet: sums over them, and how many."""
        if batch.y is None or not self.is_fitted:
            return {}
        try:
            found = np.asarray(predict_rows(self.estimator, batch.X, times=batch.times))
        except ValueError:  # values that it may learn, but cannot answer yet
            return {}
        n = float(len(batch.y))
        if is_classifier(self.machine):
            return {"n": n, "accuracy": float(np.sum(found == batch.y))}
        if is_regressor(self.machine):
            return {"n": n, "mean_absolute_error": float(np.sum(np.abs(found - batch.y)))}
        return {}

    def certify(self) -> dict[str, Any] | None:
        """What its certificate says, for the log; None where there is none."""
        if self.judged is not None and self.judged[0] == self.n_changes:
            return self.judged[1]
        found = getattr(self.machine, "certificate_", None) if self.is_fitted else None
        if found is None or not hasattr(found, "kkt_gap"):
            return None
        numbers = {"kkt_gap": found.kkt_gap, "primal": found.primal, "dual": found.dual}
        kept = {name: value if np.isfinite(value) else None for name, value in numbers.items()}
        self.judged = (self.n_changes, {"status": found.status, **kept})
        return self.judged[1]

    def table(self, X: Any) -> Any:
        """Rows to answer to, as the estimator wants them."""
        if self.names is None and isinstance(X, np.ndarray) and X.dtype == np.float64:
            return X
        given = GivenRows.of(X).in_order(self.names)
        encoded = [encode_row(values, self.is_numeric) for values in given.values]
        return Batch.of(encoded, given.names).X

    def follow(self, entry: Entry) -> None:
        """Take note of what an entry of the log says, apart from its rows."""
        said = entry.said
        if said.get("names") is not None:
            self.names = tuple(said["names"])
        if entry.kind == "add":
            self.classes = said["classes"]
            self.first_id = said.get("first_id", 0)
        self.counted = said.get("counted", self.counted)
        for what, value in said.get("scored", {}).items():
            self.sums[what] = self.sums.get(what, 0.0) + value
        n_rows = len(said.get("commitments", ()))
        self.n_learned += n_rows
        self.n_numbered += n_rows if said.get("numbered", True) else 0
        self.sequence = entry.number

    def learn_again(self, rows: Sequence[KeptRow]) -> None:
        """Learn the rows of an entry that are left."""
        if rows:
            batch = Batch.of([row.data for row in rows], self.names)
            self.learn(batch, [json.loads(row.id) for row in rows])
            self.unsaved += len(rows)

    def holds(self, id: Any) -> bool:
        """Whether the machine itself holds a row of this id."""
        return self.knows_ids and self.is_fitted and bool(self.machine.holds(id))

    def _rows(self, batch: Batch) -> Any:
        if self.machine is self.estimator:
            return batch.X
        return self.estimator[:-1].transform(batch.X)


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, is."""
    return bool(getattr(unwrap_machine(estimator), "__sklearn_is_fitted__", lambda: False)())


def ids_of(rows: Iterable[KeptRow]) -> set[Any]:
    return {json.loads(row.id) for row in rows}
