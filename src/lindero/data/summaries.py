"""The line that says what was loaded."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.data.row_values import missing_count
from lindero.labels import missing_values
from lindero.runtime.arrays import Array

#: Classes that are listed, by size.
_LISTED = 6
_PLURALS = {"number": "numbers", "category": "categories", "empty": "empty"}


def one_line(
    name: str, X: Any, kinds: dict[str, str], target: str | None, y: Array | None, qid: Any
) -> str:
    """Rows, columns and their kinds, missing values, and the target."""
    n_rows, n_columns = X.shape
    parts = [f"{name}: {counted(n_rows, 'row')}, {counted(n_columns, 'column')}"]
    if sp.issparse(X):
        parts[0] += f" (sparse, {X.nnz / max(1, n_rows):.3g} values a row)"
        missing, cells = int(np.isnan(X.data).sum()), X.nnz
    else:
        count = Counter(kinds.values())
        told = [
            f"{count[kind]} {kind if count[kind] == 1 else plural}"
            for kind, plural in _PLURALS.items()
            if count[kind]
        ]
        parts[0] += f" ({', '.join(told)})" if told else ""
        missing, cells = sum(map(missing_count, X.columns)), n_rows * n_columns
    parts.append(_share(missing, cells))
    line = ", ".join(parts)
    if target is None:
        return line + "; no target"
    line += f"; target {target!r}: {described(y)}"
    if qid is not None:
        line += f"; {counted(len(np.unique(qid)), 'query', 'queries')}"
    return line


def described(y: Array | None) -> str:
    """Classes and how many rows each has, or the range of numbers."""
    if y is None:
        return "no values"
    missing = missing_values(y)
    values, unknown = y[~missing], f", {missing.sum()} missing" if missing.any() else ""
    if y.dtype.kind == "f":
        with np.errstate(all="ignore"):  # infinite ones have no mean
            mean = values.mean()
        return f"{values.min():.4g} to {values.max():.4g}, mean {mean:.4g}{unknown}"
    count = Counter(values.tolist())
    largest = sorted(count, key=lambda label: (-count[label], str(label)))
    listed = ", ".join(f"{_short(label)} {count[label]}" for label in largest[:_LISTED])
    more = len(count) - _LISTED
    return (
        listed
        + (f" and {counted(more, 'more class', 'more classes')}" if more > 0 else "")
        + unknown
    )


def counted(n: int, what: str, several: str | None = None) -> str:
    """A number of things, in words that agree with it."""
    return f"{n} {what if n == 1 else several or what + 's'}"


def _share(missing: int, cells: int) -> str:
    if not missing:
        return "none missing"
    share = 100 * missing / max(1, cells)
    return f"{share:.1f} % missing" if share >= 0.1 else f"{counted(missing, 'value')} missing"


def _short(label: Any) -> str:
    text = " ".join(str(label).split())
    return text if len(text) <= 30 else text[:27] + "..."
