"""Batches of rows for machines that are fitted to all rows at once.

Each batch is kept, and the machine is fitted to all rows so far, from where the last fit ended: it
is the machine of `fit` with all of them, and its certificate says so. Memory grows with the rows.
(`IncrementalSVC` forgets; `lindero.scale` reads files that do not fit into memory.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from lindero.devices.homes import read_vector
from lindero.errors import DeviceRefusal, warn_user
from lindero.problems.formulation import Task
from lindero.runtime.arrays import Array
from lindero.svm.fitted_machines import FittedMachines
from lindero.svm.following import home_of
from lindero.svm.kernel_estimator import KernelEstimator
from lindero.transaction import become, fitting_aside, unfitted_copy
from lindero.validation import (
    encode_labels,
    find_classes,
    read_declared_classes,
    read_further_table,
    read_sample_weights,
    read_training_table,
)


@dataclass(frozen=True)
class KeptRows:
    """The rows of all batches so far. `classes` are those that there are (None for targets that are
    numbers), `names` those of the columns, where they have any."""

    X: Any
    y: Array
    weights: Array
    classes: Array | None
    names: Array | None

    def add(self, X: Any, y: Array, weights: Array) -> KeptRows:
        """With one more batch."""
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but those of the batches before had "
                f"{self.X.shape[1]}."
            )
        if sp.issparse(X) != sp.issparse(self.X):
            raise ValueError(
                "Batches must be all sparse or all dense: convert this one as the first was given."
            )
        rows = sp.csr_array(sp.vstack([self.X, X])) if sp.issparse(X) else np.vstack([self.X, X])
        return replace(
            self,
            X=rows,
            y=np.concatenate([self.y, y]),
            weights=np.concatenate([self.weights, weights]),
        )

    @property
    def codes(self) -> Array:
        assert self.classes is not None
        return encode_labels(self.y, self.classes, "Name all of them in the first call (classes).")

    @property
    def is_complete(self) -> bool:
        """Whether there are rows of every class."""
        if self.classes is None:
            return bool(self.weights.any())
        counts = np.bincount(self.codes, weights=self.weights > 0, minlength=len(self.classes))
        return bool(counts.all())


def learn_batch(
    estimator: KernelEstimator, X: Any, y: Any, sample_weight: Any, classes: Any = None
) -> None:
    """Fit to all batches so far and this one. As long as a class has no row, they are only kept."""
    home = home_of(X)
    if home is not None and home.on_card:
        raise DeviceRefusal(
            "partial_fit keeps its rows in the CPU's memory: pass them from there (X.cpu() of "
            "torch, X.get() of CuPy)."
        )
    if home is not None:
        X, y = home.read_table(X), read_vector("y", y, home)
        sample_weight = read_vector("sample_weight", sample_weight, home)
    kept = getattr(estimator, "_kept_rows", None)
    if kept is None and hasattr(estimator, "_machines_"):
        warn_user(
            "This model was fitted by fit, or read from a file, and does not keep its rows: "
            "partial_fit begins anew with this batch. To add to rows, give the first of them to "
            "partial_fit, too.",
            UserWarning,
        )
    labelled, reader = is_classifier(estimator), unfitted_copy(estimator)
    if kept is not None and hasattr(estimator, "_machines_"):
        X, y = read_further_table(estimator, X, y, not labelled)
    else:
        X, y = read_training_table(reader, X, y, not labelled)
    weights = read_sample_weights(sample_weight, X)
    if kept is None:
        found = None
        if labelled:
            found = find_classes(y)[0] if classes is None else read_declared_classes(classes)
        names = getattr(reader, "feature_names_in_", None)
        more = KeptRows(X, y, weights, found, names)
    else:
        if classes is not None and not np.array_equal(read_declared_classes(classes), kept.classes):
            raise ValueError(
                f"classes={list(classes)} are not those of the first call, {kept.classes.tolist()}."
            )
        more = kept.add(X, y, weights)
    if labelled:
        more.codes  # noqa: B018 - refuses labels that are not among the classes
    if not more.is_complete:
        become(estimator, unfitted_copy(estimator))
        estimator._kept_rows = more
        return
    last = getattr(estimator, "_machines_", None) if kept is not None else None
    if last is not None and kept is not None:
        last = _extend_starts(last, kept, more)
    with fitting_aside(estimator) as attempt:
        copied, wanted = attempt.estimator, estimator.warm_start
        copied.warm_start = True  # the next batch goes on from here
        attempt.interrupted = copied._fit(more.X, more.y, more.weights, last)
        copied.warm_start = wanted
        if more.names is not None:
            copied.feature_names_in_ = more.names
        copied._kept_rows = more


def _extend_starts(last: FittedMachines, kept: KeptRows, more: KeptRows) -> FittedMachines:
    """The last solutions as those of all rows, where the new ones take no part yet."""
    if last.solved is None:
        return last
    n_before = len(kept.y)
    new = np.flatnonzero(more.weights[n_before:] > 0) + n_before
    solved = []
    for number, (task, solution) in enumerate(last.solved):
        targets = more.y[new]
        if more.classes is not None:
            positive = 1 if len(more.classes) == 2 else number
            targets = np.where(more.codes[new] == positive, 1.0, -1.0)
        joined = None if task.targets is None else np.concatenate([task.targets, targets])
        per_row = solution.a.reshape(-1, len(task.rows))
        a = np.hstack([per_row, np.zeros((len(per_row), len(new)))]).ravel()
        f = solution.f
        if len(f) == len(task.rows):
            f = np.concatenate([f, np.zeros(len(new))])
        rows = np.concatenate([task.rows, new])
        solved.append((Task(rows, joined), replace(solution, a=a, f=f, interior=None)))
    return replace(last, solved=solved)
