"""Support vectors as text: ``index:value`` for what is not zero, in 17 significant digits.

Seventeen digits name a float64 exactly: what is read back is the same number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp


def exact(value: Any) -> str:
    """A number in as many digits as tell it from all others."""
    return format(float(value), ".17g")


def vector_texts(vectors: Any) -> Iterator[str]:
    """The text of each row of a dense or CSR array, indices counted from 1, a blank after each."""
    for i in range(vectors.shape[0]):
        if sp.issparse(vectors):
            inside = slice(vectors.indptr[i], vectors.indptr[i + 1])
            columns, values = vectors.indices[inside], vectors.data[inside]
            order = np.argsort(columns, kind="stable")
            columns, values = columns[order], values[order]
        else:
            columns = np.flatnonzero(vectors[i])
            values = vectors[i, columns]
        entries = zip(columns.tolist(), values.astype(np.float64).tolist(), strict=True)
        yield "".join(f"{j + 1}:{value:.17g} " for j, value in entries if value != 0)
