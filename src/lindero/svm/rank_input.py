"""Relevances and queries as a user may pass them, or an error that says what to do."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from lindero.problems.ranking import Queries
from lindero.runtime.arrays import Array

#: Pairs beyond which a kernel machine, which lists them, would not end within hours.
MOST_LISTED_PAIRS = 20_000_000


def relevances(y: Array) -> Array:
    """y as real numbers, in their own type where they are of one."""
    if y.dtype.kind == "O":
        with suppress(TypeError, ValueError):  # said below
            y = y.astype(np.float64)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"y must hold numbers (relevances, higher is better), but its values are of type "
            f"{y.dtype}. Turn grades into numbers first, 0 for the least relevant."
        )
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(f"y contains NaN or infinity: y[{row}] is {y[row]}.")
    return y.astype(np.int64) if y.dtype.kind == "b" else y


def query_starts(qid: Any, n_documents: int, warn: bool = True) -> Array:
    """Where each query begins, and the end of the last; documents of one stand together."""
    if qid is None:
        return np.array([0, n_documents])
    labels = np.asarray(qid)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(
            f"qid must have one value for each row, but its shape is {labels.shape}: pass a vector."
        )
    if len(labels) != n_documents:
        raise ValueError(
            f"qid has {len(labels)} values, but X has {n_documents} rows: pass the query of each "
            "row."
        )
    unlike_itself = labels != labels
    if np.any(unlike_itself):
        row = int(np.flatnonzero(unlike_itself)[0])
        raise ValueError(f"qid contains NaN: qid[{row}] is {labels[row]}, which is no query.")
    begins = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    starts = np.append(begins, n_documents)
    first_of: dict[Any, int] = {}
    for number, label in enumerate(labels[begins].tolist()):
        if label in first_of:
            before = first_of[label]
            raise ValueError(
                f"The documents of a query must stand together, but query {label!r} has rows "
                f"{_rows(starts, before)} and again {_rows(starts, number)}. Sort all rows by "
                "query first: order = np.argsort(qid, kind='stable'), then X[order], y[order] and "
                "qid[order]."
            )
        first_of[label] = number
    n_single = int(np.count_nonzero(np.diff(starts) == 1))
    if warn and n_single:
        verb = "queries have" if n_single > 1 else "query has"
        warnings.warn(
            f"{n_single} {verb} only one document, and so nothing to rank: ignored.",
            UserWarning,
            stacklevel=5,
        )
    return starts


def _rows(starts: Array, number: int) -> str:
    first, last = starts[number], starts[number + 1] - 1
    return f"{first}" if first == last else f"{first} to {last}"


def require_pairs(queries: Queries, C: float, listed: bool) -> int:
    """The number of pairs; an error where there are none, or too many for C or to be listed."""
    n_pairs = queries.n_pairs
    if queries.n_documents == 1:
        raise ValueError(
            "X has only 1 sample (n_samples = 1); ranking needs at least two documents of a query."
        )
    if n_pairs == 0:
        raise ValueError(
            "There is nothing to rank: y is the same for all documents of each query. Give at "
            "least one query documents of different relevance (and check that qid is not "
            "different for every row)."
        )
    if listed and n_pairs > MOST_LISTED_PAIRS:
        raise ValueError(
            f"There are {n_pairs} pairs of documents to rank, and kernels other than the linear "
            f"one list them: at most {MOST_LISTED_PAIRS} can be. Use kernel='linear', smaller "
            "queries (qid), or a sample of the documents."
        )
    if not np.isfinite(C * n_pairs):
        raise ValueError(f"C={C:g} times {n_pairs} pairs overflows: use a smaller C.")
    return n_pairs
