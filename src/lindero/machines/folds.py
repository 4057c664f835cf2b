"""Which rows to learn from and which to be judged on, as the data ask for it.

Classes keep their shares in every fold; rows of a query stay together. Where rows have times they
are put in order and cut into k + 1 blocks: fold i is trained on blocks 0 … i and tested on block
i + 1 (forward chaining). Rows of the same time are never on both sides.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from lindero.errors import warn_user
from lindero.machines.registry import CLASSIFICATION, RANKING, Machine
from lindero.runtime.arrays import Array

#: Training rows and test rows of a fold.
Split = tuple[Array, Array]


def splits_for(
    machine: Machine,
    n_rows: int,
    y: Any,
    *,
    times: Any = None,
    qid: Any = None,
    folds: int = 5,
    random_state: int = 0,
) -> list[Split]:
    """Training and test rows of each fold."""
    from sklearn.model_selection import GroupKFold

    if folds < 2:
        raise ValueError(f"folds={folds} is too few: cross-validation needs at least 2.")
    rows = np.arange(n_rows)
    if machine.task == RANKING and qid is not None:
        _require_enough(len(np.unique(qid)), folds, "queries")
        splitter = GroupKFold(folds, shuffle=True, random_state=random_state)
        return list(splitter.split(rows, groups=qid))
    if times is not None or machine.takes_times:
        _require_enough(n_rows, folds + 1, "rows")
        instants = rows if times is None else np.asarray(times)
        labels = np.asarray(y) if machine.task == CLASSIFICATION else None
        splits, notes = forward_folds(instants, folds, labels)
        for note in notes:
            warn_user(note, UserWarning)
        return splits
    _require_enough(n_rows, folds, "rows")
    if machine.task != CLASSIFICATION:
        return dealt(rows, folds, random_state)
    _require_enough(_rows_of_the_largest_class(y), folds, "rows of any class")
    return dealt(np.asarray(y), folds, random_state, stratified=True)


def dealt(
    y: Array, folds: int, random_state: int, *, repeats: int = 1, stratified: bool = False
) -> list[Split]:
    """Shuffled folds, `repeats` times over; stratified ones have each class in equal shares."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if stratified else KFold
    splits: list[Split] = []
    with warnings.catch_warnings():
        # A class of fewer rows than folds is in as many of them as it can be.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        for repeat in range(repeats):
            dealer = kind(folds, shuffle=True, random_state=random_state + repeat)
            splits.extend(dealer.split(y, y))
    return splits


def forward_folds(times: Array, folds: int, labels: Array | None) -> tuple[list[Split], list[str]]:
    """Blocks of time, each tested by what was learned from those before it; and what had to be
    said about them.

    `labels` are the classes of the rows, None for numbers; folds whose training rows are all of
    one class are left out.
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    n_rows = len(order)
    cuts: list[int] = []
    for share in range(1, folds + 1):
        # The first row of a new time at or after an equal share.
        cut = n_rows * share // (folds + 1)
        while 0 < cut < n_rows and ordered[cut] == ordered[cut - 1]:
            cut += 1
        if 0 < cut < n_rows and cut not in cuts:
            cuts.append(cut)
    splits = []
    for start, stop in itertools.pairwise([*cuts, n_rows]):
        if labels is None or len(np.unique(labels[order[:start]])) > 1:
            splits.append((order[:start], order[start:stop]))
    if not splits:
        raise ValueError(
            "No fold can be made along time: before any later block all rows are of one class or "
            "of one time. Leave the time column out, or bring rows of more times."
        )
    if len(splits) == folds:
        return splits, []
    return splits, [
        f"{len(splits)} fold{'s' * (len(splits) > 1)} along time instead of {folds}: rows of one "
        "time stay together, and training needs two classes."
    ]


def _rows_of_the_largest_class(y: Any) -> int:
    _, counts = np.unique(np.asarray(y), return_counts=True)
    return int(counts.max(initial=0))


def _require_enough(found: int, folds: int, what: str) -> None:
    if found < folds:
        raise ValueError(
            f"There are {found} {what}, too few for {folds} folds: take fewer folds, or more data."
        )


def rows_of(values: Any, rows: Array) -> Any:
    """Some rows of a table, an array, or None."""
    return None if values is None else _safe_indexing(values, rows)
