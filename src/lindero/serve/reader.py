"""A model as it was after one entry of the log: it answers, whatever is learned meanwhile.

Incremental machines change where they are, and lend a copy of their support vectors (`freeze`).
Bayesian classifiers become another one with each change, so that what they were can be kept. What
follows a stream changes in place and has no such copy: its reader asks the machine itself, which
may have learned more, and may have to be waited for.

Rows of numbers go to a frozen machine as one array, in the order of its columns: most requests are
for a single row, and anything else would take longer than the answer.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lindero.evaluation.build import predict_rows
from lindero.runtime.arrays import Array
from lindero.serve.stored_model import StoredModel
from lindero.serve.stored_rows import GivenRows
from lindero.transaction import sharing_state


@dataclass(frozen=True)
class ModelReader:
    """Answers of one moment.

    Attributes
    ----------
    held : StoredModel
        The model, in a copy that does not change where `is_frozen`.
    is_frozen : bool
        Whether it stays as it is, and can be asked without waiting.
    takes_arrays : bool
        Whether rows may come as one array of floats, in the order of the columns.
    """

    held: StoredModel
    is_frozen: bool
    takes_arrays: bool

    @classmethod
    def of(cls, held: StoredModel) -> ModelReader:
        """What answers as a model does now."""
        frozen = _freeze(held)
        is_frozen = frozen is not None
        takes_arrays = is_frozen and held.is_numeric
        return cls(replace(held, estimator=frozen or held.estimator), is_frozen, takes_arrays)

    @property
    def sequence(self) -> int:
        """Number of the last entry that the model has learned."""
        return self.held.sequence

    @property
    def has_probabilities(self) -> bool:
        return hasattr(self.held.estimator, "predict_proba")

    @property
    def classes(self) -> list[Any] | None:
        found = getattr(self.held.machine, "classes_", None)
        return None if found is None else np.asarray(found).tolist()

    def predict(self, X: Any, times: Any = None) -> Array:
        """What the model answers to rows."""
        answers: Array = (
            self.held.estimator.predict(self._read(X))
            if times is None
            else predict_rows(self.held.estimator, self._read(X), times=times)
        )
        return answers

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, in the order of `classes`."""
        probabilities: Array = self.held.estimator.predict_proba(self._read(X))
        return probabilities

    def warm_up(self) -> None:
        """Answer once, so that whoever asks first need not wait for code that is loaded then."""
        if self.takes_arrays:
            self.predict(np.zeros((1, self.held.estimator.n_features_in_)))

    def _read(self, X: Any) -> Any:
        if self.takes_arrays:
            if isinstance(X, np.ndarray) and X.dtype == np.float64:
                return X
            given = GivenRows.of(X).in_order(self.held.names)
            return np.array(given.values, dtype=np.float64)
        return self.held.table(X)


def _freeze(held: StoredModel) -> Any:
    """A copy of an estimator that does not change; None where there is no such thing."""
    estimator, machine = held.estimator, held.machine
    if not held.is_fitted:
        return None
    if held.knows_ids:
        frozen = machine.freeze()
        if held.is_numeric:  # columns are put in order before it is asked
            vars(frozen).pop("feature_names_in_", None)
    elif hasattr(type(machine), "forget"):
        frozen = sharing_state(machine)
    else:
        return None
    if machine is estimator:
        return frozen
    if getattr(estimator, "steps", [(None, None)])[-1][1] is not machine:
        return None
    pipeline = copy(estimator)
    pipeline.steps = [*estimator.steps[:-1], (estimator.steps[-1][0], frozen)]
    return pipeline
