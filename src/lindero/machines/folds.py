"""Which rows to learn from and which to be judged on, as the data ask for it.

Classes keep their shares in every fold; rows of a query stay together; and where rows have times,
a machine is judged on rows later than all that it has seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from lindero.kernels.functions import Array
from lindero.machines.registry import CLASSIFICATION, RANKING, Machine

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
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    if folds < 2:
        raise ValueError(f"folds={folds} is too few: cross-validation needs at least 2.")
    rows = np.arange(n_rows)
    if machine.task == RANKING and qid is not None:
        _require_enough(len(np.unique(qid)), folds, "queries")
        splitter = GroupKFold(folds, shuffle=True, random_state=random_state)
        return list(splitter.split(rows, groups=qid))
    if times is not None or machine.takes_times:
        return _forward(rows if times is None else np.argsort(times, kind="stable"), folds)
    _require_enough(n_rows, folds, "rows")
    if machine.task == CLASSIFICATION:
        _require_enough(_rows_of_the_largest_class(y), folds, "rows of any class")
        splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
        return list(splitter.split(rows, y))
    return list(KFold(folds, shuffle=True, random_state=random_state).split(rows))


def _forward(order: Array, folds: int) -> list[Split]:
    """Each part of the rows after all before it."""
    from sklearn.model_selection import TimeSeriesSplit

    _require_enough(len(order), folds + 1, "rows")
    parts = TimeSeriesSplit(folds).split(order)
    return [(order[train], order[test]) for train, test in parts]


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
