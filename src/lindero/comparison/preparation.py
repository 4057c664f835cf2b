"""What is compared on what: folds, machines, and what needs no machine, from what a user gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.comparison.contenders import Contender, named_contenders, suitable
from lindero.comparison.folds import class_folds, number_folds
from lindero.comparison.rows import CLASSIFICATION, Rows
from lindero.comparison.tuning import Setting
from lindero.machines.folds import Split, forward_folds
from lindero.machines.scoring import class_scores, least_cost, number_scores
from lindero.runtime.arrays import Array


def require_count(name: str, value: Any, least: int) -> None:
    """Refuse what is no whole number, or too small a one."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; it is {value!r}.")


def require_comparable(dataset: Any) -> None:
    """Refuse data sets without classes or numbers to predict."""
    if dataset.y is None:
        raise ValueError(
            "The data have no target, so nothing says which machine is right: name the column "
            "that is to be predicted (target)."
        )
    if dataset.qid is not None:
        raise ValueError(
            "The data are queries to be ranked (qid), which are not compared: there is one machine "
            "for them, rank-svm."
        )


def outer_folds(
    rows: Rows, task: str, classes: Array | None, folds: int, repeats: int, random_state: int
) -> tuple[list[Split], list[str]]:
    """The folds that all machines are judged on, and what had to be said about them."""
    if rows.times is not None:
        if repeats != 1:
            raise ValueError(
                f"repeats={repeats} has no meaning along time, which has one order: leave it out."
            )
        return forward_folds(rows.times, folds, None if classes is None else rows.y)
    if task == CLASSIFICATION:
        return class_folds(rows.y, folds, repeats, random_state)
    return number_folds(rows.y, folds, repeats, random_state)


def contenders_for(
    machines: Sequence[str] | None,
    rows: Rows,
    task: str,
    classes: Array | None,
    costs: Array | None,
) -> tuple[list[Contender], list[str]]:
    """The machines that were named, or all that suit the data; and what had to be said."""
    has_costs, has_times = costs is not None, rows.times is not None
    if machines is not None:
        names = [machines] if isinstance(machines, str) else machines
        return named_contenders(names, task, has_costs=has_costs, has_times=has_times), []
    n_classes = 0 if classes is None else len(classes)
    return suitable(
        task,
        n_classes=n_classes,
        has_costs=has_costs,
        has_times=has_times,
        sparse=sp.issparse(rows.X),
    )


def baseline_of(rows: Rows, truth: Array, splits: Sequence[Split], setting: Setting) -> float:
    """What answers without any look at the columns reach."""
    reached = []
    for train, test in splits:
        weights = None if rows.weights is None else rows.weights[test]
        own = None if rows.weights is None else rows.weights[train]
        if setting.classes is None:
            mean = np.average(truth[train], weights=own)
            scores = number_scores(truth[test], np.full(len(test), mean), weights)
            reached.append(scores["rmse"])
            continue
        n_classes = len(setting.classes)
        shares = np.bincount(truth[train], weights=own, minlength=n_classes)
        costs = 1.0 - np.eye(n_classes) if setting.costs is None else setting.costs
        answer = least_cost(shares[None, :], costs)
        scores = class_scores(truth[test], np.repeat(answer, len(test)), None, costs, weights)
        reached.append(scores["cost"])
    return float(np.mean(reached))


def described(rows: Rows, classes: Array | None, truth: Array) -> str:
    """Rows, columns and target in a line."""
    size = f"{rows.n_rows} rows, {rows.X.shape[1]} columns"
    if classes is None:
        return f"{size}; target from {truth.min():.4g} to {truth.max():.4g}"
    counts = np.bincount(truth, minlength=len(classes))
    shown = ", ".join(f"{c} {n}" for c, n in zip(classes[:6].tolist(), counts, strict=False))
    more = f" and {len(classes) - 6} more classes" if len(classes) > 6 else ""
    return f"{size}; target: {shown}{more}"
