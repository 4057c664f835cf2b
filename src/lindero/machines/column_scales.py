"""What columns are shifted and divided by, for the table encoder."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from lindero.bayes.tables.schema import NUMBER
from lindero.runtime.arrays import Array

TABLE = "table"
SPARSE = "sparse"


def sparse_state(X: Any) -> dict[str, Any]:
    """What a table encoder learns from sparse rows: the largest value of each column."""
    values = sp.csc_array(check_array(X, accept_sparse="csc", dtype=np.float64, input_name="X"))
    d = values.shape[1]
    largest = np.asarray(abs(values).max(axis=0).todense()).ravel()
    return {
        "form_": SPARSE,
        "kinds_": [NUMBER] * d,
        "categories_": [[] for _ in range(d)],
        "mean_": np.zeros(d),
        "scale_": np.where(largest > 0.0, largest, 1.0),
        "indicated_": np.zeros(d, dtype=bool),
    }


def standardisation(values: Array) -> tuple[float, float]:
    """Mean and deviation; of a constant, itself and 1, so that it becomes 0."""
    if values.min() == values.max():
        return float(values[0]), 1.0
    # Squares of large numbers overflow; division by a power of two rounds nothing.
    unit = math.ldexp(1.0, math.frexp(float(np.abs(values).max()))[1] - 1)
    scaled = values / unit
    return float(scaled.mean()) * unit, float(scaled.std()) * unit
