"""The rows that machines are judged on: how they are read, and which rows and columns are left out.

Rows without a target are left out: nothing can be learned from them. So are columns that name rows
(`lindero.bayes.tables.wide_columns`), which cost time only.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from scipy import stats
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from lindero.bayes.tables.wide_columns import (
    FEWEST_ROWS,
    find_row_names,
    is_name_of_times,
    leave_out,
    say_left_out,
)
from lindero.errors import warn_user
from lindero.evaluation.folds import take_rows
from lindero.evaluation.registry import AUTO, CLASSIFICATION, REGRESSION, find_machine
from lindero.runtime.arrays import Array
from lindero.svm.adaptive.times import plain_times
from lindero.validation import (
    find_labelled,
    make_label_array,
    make_plain_labels,
    read_row_factors,
    require_one_each,
)

#: Whole numbers are classes up to this many different ones, as in files (`lindero.data.load`).
_MOST_CLASSES = 20

#: What stands behind the name of a column of dates, in days since the first (`lindero.data.dates`).
_DAYS = " days"

#: Rank correlation from which on a target follows the order of the rows.
_FOLLOWS = 0.8

#: Different times that rows in order of time have.
_FEWEST_TIMES = 10


@dataclass(frozen=True)
class EvaluationRows:
    """Some rows: features, classes or numbers to predict, and time, query, weight and position of
    each."""

    X: Any
    y: Any
    times: Any = None
    qid: Any = None
    weights: Any = None
    positions: Any = None

    def take(self, indices: Array) -> EvaluationRows:
        """These rows, in this order."""
        return EvaluationRows(*(take_rows(part, indices) for part in vars(self).values()))

    def roles(self) -> dict[str, Any]:
        """Everything but the features, as keyword arguments of `fit_machine`."""
        return {name: value for name, value in vars(self).items() if name != "X"}


@dataclass(frozen=True)
class ComparisonData:
    """What a comparison is about: rows without the columns of `left_out`, which name them; and
    `summary`, the data in a line, where a data set says it."""

    rows: EvaluationRows
    task: str
    target: str
    summary: str | None
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    #: Whether machines are to keep columns that name rows, too.
    keep_row_names: bool = False


def read_comparison(
    X: Any, y: Any, *, times: Any, sample_weight: Any, task: str | None
) -> ComparisonData:
    """The rows of a comparison, from a data set or from a table and its targets."""
    dataset = X if y is None and hasattr(X, "summary") and hasattr(X, "target") else None
    if dataset is not None:
        if dataset.y is None:
            raise ValueError(
                "The data have no target, so nothing says which machine is right: name the column "
                "that is to be predicted (target)."
            )
        if dataset.task == "tagging":
            raise ValueError(
                "The data are sequences, whose machine is not compared: use chain-svc with "
                "train, cv or tune."
            )
        if dataset.qid is not None:
            raise ValueError(
                "The data are queries to be ranked (qid), which are not compared: there is one "
                "machine for them, rank-svm."
            )
        dataset = drop_unlabelled(dataset)
        X, y = dataset.X, dataset.y
        times = dataset.times if times is None else times
        sample_weight = dataset.weights if sample_weight is None else sample_weight
        task = dataset.task if task is None else task
    rows = drop_unlabelled(_read_rows(X, y, times, sample_weight))
    rows = replace(rows, y=make_plain_labels(rows.y))
    rows = replace(rows, X=_expand_dates(rows.X))
    reading = getattr(dataset, "reading", None)  # columns that the user named stay, too
    keeps = reading is not None and bool(reading.keep_row_names or reading.only)
    found = [] if keeps else find_row_names(rows.X)
    table = leave_out(rows.X, found)
    named = [f"x{name}" if isinstance(name, int) else str(name) for name in found]
    if named:
        warn_user(say_left_out(named, "read the file with keep_row_names=True"), UserWarning)
    left_out = (*getattr(dataset, "left_out", ()), *named)
    rows = replace(rows, X=table)
    target, summary = "y", None
    if dataset is not None:
        kinds = {name: kind for name, kind in dataset.kinds.items() if name not in left_out}
        target, summary = dataset.target or "y", replace(dataset, X=table, kinds=kinds).summary()
    warn_of_order(rows)
    chosen = choose_task(rows.y, task)
    notes: tuple[str, ...] = ()
    if chosen == REGRESSION:
        if task is None and rows.y.dtype.kind in "iu":
            notes = (
                f"The target has {len(np.unique(rows.y))} different whole numbers, so it is "
                f"predicted as a number; if they are classes, say task={CLASSIFICATION!r}.",
            )
        rows = replace(rows, y=rows.y.astype(np.float64))
    return ComparisonData(rows, chosen, target, summary, left_out, notes, keeps)


def warn_of_order(rows: EvaluationRows) -> None:
    """Warn where rows without times are in the order of a column of dates or times, or of whole
    numbers that rise from each row to the next: folds are shuffled."""
    frame = nw.from_native(rows.X, pass_through=True, eager_only=True)
    if rows.times is not None or not isinstance(frame, nw.DataFrame) or len(frame) < FEWEST_ROWS:
        return
    for title, column in zip(frame.columns, frame.iter_columns(), strict=True):
        days = str(title).removesuffix(_DAYS)  # what dates have become
        is_time = column.dtype.is_temporal() or days != title or is_name_of_times(title)
        if not (is_time or column.dtype.is_integer()) or not _is_ordered(
            column, strict=not is_time
        ):
            continue
        name = days if is_time else title
        warn_user(
            f"Rows are in the order of column {name!r}, and folds are shuffled: if rows come in "
            f"that order, scores may be too good. With --time {shlex.quote(str(name))} (times=), "
            "machines are tested on rows later than those they are trained on."
            + _say_target_follows(rows.y)
            + ("" if is_time else f" If {name!r} only numbers rows, leave it out (--drop)."),
            UserWarning,
        )
        return


def _say_target_follows(y: Array) -> str:
    """A sentence where numbers, or two classes, rise or fall with the rows; else nothing."""
    different, places = np.unique(y, return_inverse=True)
    if len(different) < 2 or (y.dtype.kind not in "iuf" and len(different) > 2):
        return ""
    correlation = float(stats.spearmanr(np.arange(len(places)), places).statistic)
    if not abs(correlation) > _FOLLOWS:
        return ""
    return (
        f" The target follows that order (rank correlation {correlation:.2f}), as in a file that "
        "was sorted by it: the column then tells the answer, which it will not for new rows."
    )


def _is_ordered(column: nw.Series[Any], strict: bool) -> bool:
    """Whether values rise from row to row, or fall, perhaps with equals among them."""
    known = column.drop_nulls()
    if not (known.dtype.is_numeric() or known.dtype.is_temporal()) or len(known) < FEWEST_ROWS:
        return False
    values = known.to_numpy()
    before, after = values[:-1], values[1:]
    if strict:
        return bool((before < after).all() or (before > after).all())
    if not ((before <= after).all() or (before >= after).all()):
        return False
    return int((before != after).sum()) >= _FEWEST_TIMES - 1


def _expand_dates(X: Any) -> Any:
    """A dataframe with the parts of dates in place of its columns of dates; others as they are."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    if not any(kind.is_temporal() for kind in frame.schema.values()):
        return X
    from lindero.data.dates import expand_table

    return expand_table(frame.to_arrow())


def load_for_machine(path: Any, machine: str = AUTO, **options: Any) -> Any:
    """The data set of a file, with the options of `lindero.data.load`, for a machine.

    Rows whose target is missing are left out, but for a machine that learns from them. For a
    machine without a target, so is a column with the name of one; no other column is taken for it.
    """
    from lindero.data import load
    from lindero.data.content import read_content
    from lindero.data.loading import load_content
    from lindero.data.reading import TARGET_NAMES

    if machine != AUTO and find_machine(machine).takes_unlabelled:
        return mark_unlabelled(load(path, **options))
    has_target = machine == AUTO or find_machine(machine).has_target
    if has_target or options.get("target") is not None:
        return drop_unlabelled(load(path, **options))
    content = read_content(path, options.pop("max_megabytes", None))
    dataset = load_content(content, **{**options, "target": False})
    for name in getattr(dataset.X, "column_names", ()):
        if name.lower() in TARGET_NAMES:
            warn_user(
                f"{machine} learns without a target: column {name!r} is left out. If it is a "
                "feature, use --no-target (target=False).",
                UserWarning,
            )
            return load_content(content, **{**options, "target": name}).without_target()
    return dataset


def drop_unlabelled(data: Any) -> Any:
    """A data set, or rows, without the rows whose target is missing; warns of these."""
    known = find_labelled(data.y)
    if known is None or known.all():
        return data
    target = getattr(data, "target", "y")
    if not known.any():
        raise ValueError(f"The target {target!r} is missing in all rows.")
    warn_user(
        f"{int((~known).sum())} of {len(known)} rows are left out: they have no value of the "
        f"target {target!r}.",
        UserWarning,
    )
    select = data.take if isinstance(data, EvaluationRows) else data.rows
    return select(np.flatnonzero(known))


def mark_unlabelled(dataset: Any) -> Any:
    """A data set with its unlabelled rows, whose target is missing. Among labels 1 and -1 of an
    svmlight file, 0 is none, as SVMlight has it."""
    labels = dataset.y
    if labels is None or not sp.issparse(dataset.X) or labels.dtype.kind not in "iu":
        return dataset
    if not np.array_equal(np.unique(labels), [-1, 0, 1]):
        return dataset
    marked = labels.astype(object)
    marked[labels == 0] = None
    note = f"label 0 beside 1 and -1: {int((labels == 0).sum())} rows are unlabelled"
    return replace(dataset, y=marked, notes=(*dataset.notes, note))


def require_count(name: str, value: Any, least: int) -> None:
    """Refuse what is no whole number, or too small a one."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; it is {value!r}.")


def read_table(X: Any) -> Any:
    """A dataframe as it is; anything else as an array, or a sparse one, with rows and columns."""
    if isinstance(nw.from_native(X, pass_through=True, eager_only=True), nw.DataFrame):
        return X
    table = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if table.dtype.kind in "US" and not isinstance(X, np.ndarray):
        table = np.asarray(X, dtype=object)  # lists in which numbers are not to become text
    if table.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, but its shape is {table.shape}.")
    return table


def _read_rows(X: Any, y: Any, times: Any, weights: Any) -> EvaluationRows:
    """What a user passed, as rows; or an error that says what is wrong with it."""
    table = read_table(X)
    n_rows = int(table.shape[0])
    if y is None:
        raise ValueError("y is needed: the class, or the number, that each row is about.")
    targets = column_or_1d(make_label_array(y))
    require_one_each("y", targets, n_rows)
    instants = None if times is None else read_times(times, n_rows)
    if weights is not None:
        weights = read_row_factors(weights, n_rows, "sample_weight")
        if not weights.any():
            raise ValueError("sample_weight is 0 in all rows: some must be above it.")
    return EvaluationRows(table, targets, instants, weights=weights)


def read_times(times: Any, n_rows: int) -> Array:
    """Times as a vector, none missing."""
    instants = plain_times(np.atleast_1d(times))
    require_one_each("times", instants, n_rows)
    gone = np.isnat(instants) if instants.dtype.kind in "mM" else instants != instants
    if np.any(gone):
        raise ValueError(f"times[{int(np.argmax(gone))}] is missing: give every row its time.")
    return instants


def choose_task(y: Array, task: str | None) -> str:
    """Whether targets are classes or numbers, as the user says or as they look."""
    if task is None:
        # Numbers are too many for classes if these do not come twice on average; two are few.
        most = min(_MOST_CLASSES, max(2, len(y) // 2))
        many = y.dtype.kind in "iuf" and len(np.unique(y)) > most
        fractions = type_of_target(y).startswith("continuous")
        return REGRESSION if fractions or many else CLASSIFICATION
    if task not in (CLASSIFICATION, REGRESSION):
        raise ValueError(
            f"Machines are compared on {CLASSIFICATION} or {REGRESSION}; the task is {task!r}."
        )
    if task == REGRESSION and y.dtype.kind not in "iufb":
        raise ValueError(
            "A regression needs numbers as targets, and these are of type "
            f"{y.dtype}: pass task={CLASSIFICATION!r}, or another target."
        )
    return task
