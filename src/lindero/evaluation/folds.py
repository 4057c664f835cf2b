"""Training and test rows of each fold, as the data ask for it.

Classes keep their shares in every fold (stratified), for numbers the rows are only shuffled, rows
of a query stay together. Where rows have times they are put in order and cut into k + 1 blocks:
fold i is trained on blocks 0 … i and tested on block i + 1 (forward chaining). Rows of the same
time are never on both sides.

`make_splits` refuses data that do not allow the folds asked for; a comparison (`make_outer_folds`)
makes fewer, and says why.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from lindero.errors import warn_user
from lindero.evaluation.registry import CLASSIFICATION, RANKING, TAGGING, MachineSpec
from lindero.runtime.arrays import Array

#: Training rows and test rows of a fold.
Split = tuple[Array, Array]


def make_splits(
    machine: MachineSpec,
    n_rows: int,
    y: Any,
    *,
    times: Any = None,
    qid: Any = None,
    folds: int = 5,
    random_state: int = 0,
) -> list[Split]:
    """Folds for one machine; an error where rows are too few."""
    from sklearn.model_selection import GroupKFold

    if folds < 2:
        raise ValueError(f"folds={folds} is too few: cross-validation needs at least 2.")
    rows = np.arange(n_rows)
    if machine.task in (RANKING, TAGGING) and qid is not None:
        what = "queries" if machine.task == RANKING else "sequences"
        _require_enough(len(np.unique(qid)), folds, what)
        splitter = GroupKFold(folds, shuffle=True, random_state=random_state)
        return list(splitter.split(rows, groups=qid))
    if times is not None or machine.takes_times:
        _require_enough(n_rows, folds + 1, "rows")
        instants = rows if times is None else np.asarray(times)
        labels = np.asarray(y) if machine.task == CLASSIFICATION else None
        splits, notes = make_forward_folds(instants, folds, labels)
        for note in notes:
            warn_user(note, UserWarning)
        return splits
    _require_enough(n_rows, folds, "rows")
    if machine.task != CLASSIFICATION:
        return deal_folds(rows, folds, random_state)
    labels = np.asarray(y)
    largest = int(np.unique(labels, return_counts=True)[1].max(initial=0))
    _require_enough(largest, folds, "rows of any class")
    return deal_folds(labels, folds, random_state, stratified=True)


def deal_folds(
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


def make_forward_folds(
    times: Array, folds: int, labels: Array | None
) -> tuple[list[Split], list[str]]:
    """Blocks of time, each tested after training on those before it, and notes on them; without
    folds whose training rows are all of one class, where there are `labels`."""
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    n_rows = len(order)
    # The first row of a new time at or after each equal share, if there is one.
    new = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, n_rows)
    shares = n_rows * np.arange(1, folds + 1) // (folds + 1)
    cuts = np.unique(np.append(new[np.searchsorted(new, shares[shares > 0])], n_rows))
    splits = [
        (order[:start], order[start:stop])
        for start, stop in itertools.pairwise(cuts)
        if labels is None or len(np.unique(labels[order[:start]])) > 1
    ]
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


def _require_enough(found: int, folds: int, what: str) -> None:
    if found < folds:
        raise ValueError(
            f"There are {found} {what}, too few for {folds} folds: take fewer folds, or more data."
        )


def make_outer_folds(
    y: Array, times: Array | None, *, classes: bool, folds: int, repeats: int, random_state: int
) -> tuple[list[Split], list[str]]:
    """The folds that all machines of a comparison are judged on, and notes on them."""
    if times is not None:
        if repeats != 1:
            raise ValueError(
                f"repeats={repeats} has no meaning along time, which has one order: leave it out."
            )
        return make_forward_folds(times, folds, y if classes else None)
    make = make_class_folds if classes else make_number_folds
    return make(y, folds, repeats, random_state)


def make_class_folds(
    y: Array, folds: int, repeats: int, random_state: int
) -> tuple[list[Split], list[str]]:
    """Stratified folds, fewer where a class has fewer rows; and notes on them."""
    classes, counts = np.unique(y, return_counts=True)
    notes = []
    single = classes[counts == 1]
    if len(single):
        notes.append(
            f"{name_classes(single)} one row only: where it is tested, no machine was trained on "
            "its class."
        )
    several = counts[counts > 1]
    if not len(several):
        raise ValueError(
            f"Each of the {len(classes)} classes has one row only: nothing can be learned of a "
            "class and tested too. Is the target a name of rows, or a number to be predicted "
            "(task='regression')?"
        )
    fewest = int(several.min())
    if fewest < folds:
        rare = classes[counts == fewest]
        notes.append(f"{fewest} folds instead of {folds}: {name_classes(rare)} {fewest} rows only.")
        folds = fewest
    return deal_folds(y, folds, random_state, repeats=repeats, stratified=True), notes


def make_number_folds(
    y: Array, folds: int, repeats: int, random_state: int
) -> tuple[list[Split], list[str]]:
    """Shuffled folds for numbers, and notes on them."""
    notes = []
    if len(y) < folds:
        notes.append(f"{len(y)} folds instead of {folds}: there are {len(y)} rows only.")
        folds = len(y)
    if folds < 2:
        raise ValueError(f"There are {len(y)} rows: at least 2 are needed, one to be tested.")
    return deal_folds(y, folds, random_state, repeats=repeats), notes


def make_inner_folds(
    y: Array, times: Array | None, folds: int, classes: bool, random_state: int
) -> list[Split]:
    """Folds inside training rows, to choose parameters by; each is trained on all classes.

    Along time, where no fold comes after all classes, the training rows are shuffled: they are all
    of the past. There are no folds at all where a class has one row only.
    """
    if times is not None:
        known = len(np.unique(y))
        with suppress(ValueError):
            forward = make_forward_folds(times, folds, y if classes else None)[0]
            kept = [s for s in forward if not classes or len(np.unique(y[s[0]])) == known]
            if kept:
                return kept
    if not classes:
        return make_number_folds(y, folds, 1, random_state)[0]
    fewest = int(np.unique(y, return_counts=True)[1].min())
    if fewest < 2:
        return []
    return deal_folds(y, min(folds, fewest), random_state, stratified=True)


def keep_repeated_classes(y: Array, some: Array) -> Array:
    """Those of some rows whose class has two rows among them, if that leaves two classes."""
    _, codes, counts = np.unique(y[some], return_inverse=True, return_counts=True)
    kept: Array = some[counts[codes] > 1]
    return kept if len(np.unique(y[kept])) > 1 else some


def sample_rows(y: Array, size: int, classes: bool, random_state: int) -> Array:
    """At most `size` rows, in their order; classes keep their shares, and at least two rows."""
    if len(y) <= size:
        return np.arange(len(y))
    rng = np.random.default_rng(random_state)
    if not classes:
        return np.sort(rng.choice(len(y), size, replace=False))
    chosen = []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        wanted = min(len(rows), max(2, round(size * len(rows) / len(y))))
        chosen.append(rng.choice(rows, wanted, replace=False))
    return np.sort(np.concatenate(chosen))


def name_classes(labels: Sequence[object] | Array) -> str:
    """Classes in words, the first few of them, and "has" or "have"."""
    shown = ", ".join(f"'{label!s}'" for label in labels[:3])
    if len(labels) == 1:
        return f"class {shown} has"
    return f"classes {shown}{f' and {len(labels) - 3} more' if len(labels) > 3 else ''} have"


def take_rows(values: Any, rows: Array) -> Any:
    """Some rows of a table, an array, or None."""
    return None if values is None else _safe_indexing(values, rows)
