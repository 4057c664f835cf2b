"""One set of folds for all machines: shares of classes kept, or never trained on the future.

Without times the rows are shuffled and dealt to k folds, each class in equal shares, `repeats`
times over. With times folds go forward (`lindero.machines.folds`). Where rows do not allow what was
asked for, there are fewer folds, and a note says why.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lindero.machines.folds import Split, dealt, forward_folds
from lindero.runtime.arrays import Array


def class_folds(
    y: Array, folds: int, repeats: int, random_state: int
) -> tuple[list[Split], list[str]]:
    """Stratified folds, and what had to be said about them."""
    classes, counts = np.unique(y, return_counts=True)
    notes = []
    single = classes[counts == 1]
    if len(single):
        notes.append(
            f"{named(single)} {'has' if len(single) == 1 else 'have'} one row only: where it is "
            "tested, no machine has ever seen the class."
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
        notes.append(
            f"{fewest} folds instead of {folds}: {named(rare)} "
            f"{'has' if len(rare) == 1 else 'have'} {fewest} rows only."
        )
        folds = fewest
    return dealt(y, folds, random_state, repeats=repeats, stratified=True), notes


def number_folds(
    y: Array, folds: int, repeats: int, random_state: int
) -> tuple[list[Split], list[str]]:
    """Shuffled folds for numbers, and what had to be said about them."""
    notes = []
    if len(y) < folds:
        notes.append(f"{len(y)} folds instead of {folds}: there are {len(y)} rows only.")
        folds = len(y)
    if folds < 2:
        raise ValueError(f"There are {len(y)} rows: at least 2 are needed, one to be tested.")
    return dealt(y, folds, random_state, repeats=repeats), notes


def inner_folds(
    y: Array, times: Array | None, folds: int, n_classes: int | None, random_state: int
) -> list[Split]:
    """Folds inside training rows, to choose parameters by; each is trained on all classes.

    Along time only folds are kept before which all classes have been seen. Where there are none,
    the training rows are shuffled: they are all of the past. There are no folds at all where a
    class has one row only.
    """
    if times is not None:
        known = len(np.unique(y)) if n_classes is not None else 0
        try:
            forward = forward_folds(times, folds, None if n_classes is None else y)[0]
        except ValueError:
            forward = []
        kept = [s for s in forward if not known or len(np.unique(y[s[0]])) == known]
        if kept:
            return kept
    if n_classes is None:
        return number_folds(y, folds, 1, random_state)[0]
    fewest = int(np.unique(y, return_counts=True)[1].min())
    if fewest < 2:
        return []
    return dealt(y, min(folds, fewest), random_state, stratified=True)


def of_several(y: Array, some: Array) -> Array:
    """Those of some rows whose class has two rows among them, if that leaves two classes: of one
    row alone nothing can be chosen."""
    _, codes, counts = np.unique(y[some], return_inverse=True, return_counts=True)
    kept: Array = some[counts[codes] > 1]
    return kept if len(np.unique(y[kept])) > 1 else some


def sample_of(y: Array, size: int, classes: bool, random_state: int) -> Array:
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


def named(labels: Sequence[object] | Array) -> str:
    """Classes in words, the first few of them."""
    texts = [f"{label!s}" for label in labels]
    shown = ", ".join(f"'{text}'" for text in texts[:3])
    more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return f"{'class' if len(texts) == 1 else 'classes'} {shown}{more}"
