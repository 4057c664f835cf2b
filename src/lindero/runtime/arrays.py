"""The type of arrays in signatures, and the step from sparse to dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

#: A NumPy array of any shape and dtype.
Array = np.ndarray[Any, np.dtype[Any]]


def dense(values: Any) -> Array:
    """A sparse array made dense; a dense one as it is."""
    array: Array = values.toarray() if sp.issparse(values) else values
    return array
