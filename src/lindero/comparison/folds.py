"""One set of folds for all machines: shares of classes kept, or never trained on the future.

Without times the rows are shuffled and dealt to k folds, each class in equal shares, `repeats`
times over. With times they are put in order and cut into k + 1 blocks: fold i is trained on blocks
0 … i and tested on block i + 1 (forward chaining). Rows of the same time are never on both sides.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from lindero.kernels.functions import Array

#: Training rows and test rows of a fold.
Split = tuple[Array, Array]


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
    return _dealt(StratifiedKFold, y, folds, repeats, random_state), notes


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
    return _dealt(KFold, y, folds, repeats, random_state), notes


def _dealt(kind: type, y: Array, folds: int, repeats: int, random_state: int) -> list[Split]:
    splits: list[Split] = []
    with warnings.catch_warnings():
        # Classes of a single row are told of in words of our own.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        for repeat in range(repeats):
            dealer = kind(folds, shuffle=True, random_state=random_state + repeat)
            splits.extend(dealer.split(y, y))
    return splits


def time_folds(
    times: Array, y: Array, folds: int, n_classes: int | None
) -> tuple[list[Split], list[str]]:
    """Blocks of time, each tested by what was learned from those before it.

    `n_classes` is None for numbers; folds whose training rows are all of one class are left out.
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    n_rows = len(order)
    cuts = []
    for share in range(1, folds + 1):
        # The first row of a new time at or after an equal share.
        cut = n_rows * share // (folds + 1)
        while 0 < cut < n_rows and ordered[cut] == ordered[cut - 1]:
            cut += 1
        if 0 < cut < n_rows and cut not in cuts:
            cuts.append(cut)
    notes = []
    splits = []
    for start, stop in itertools.pairwise([*cuts, n_rows]):
        if n_classes is not None and len(np.unique(y[order[:start]])) < 2:
            continue
        splits.append((order[:start], order[start:stop]))
    if not splits:
        raise ValueError(
            "No fold can be made along time: before any later block all rows are of one class or "
            "of one time. Leave the time column out, or bring rows of more times."
        )
    if len(splits) < folds:
        notes.append(
            f"{len(splits)} folds along time instead of {folds}: rows of one time stay together, "
            "and training needs two classes."
        )
    return splits, notes


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
            forward = time_folds(times, y, folds, n_classes)[0]
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
    return _dealt(StratifiedKFold, y, min(folds, fewest), 1, random_state)


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
