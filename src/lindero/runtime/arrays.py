"""The type of arrays in signatures, and the steps to dense ones and to plain values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

#: A NumPy array of any shape and dtype.
Array = np.ndarray[Any, np.dtype[Any]]


def dense(values: Any) -> Array:
    """A sparse array made dense; a dense one as it is."""
    array: Array = values.toarray() if sp.issparse(values) else values
    return array


def make_plain(value: Any) -> Any:
    """Values of JSON: numbers, texts, lists and mappings; None for numbers that are not finite."""
    if isinstance(value, dict):
        return {str(key): make_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [make_plain(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy
        return make_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def write_figure(value: float) -> str:
    """A number with four significant digits, large ones without an exponent: 0.7312, 85,612."""
    return write_plain(value, 4) if abs(value) >= 10_000 else f"{value:.4g}"


def write_plain(value: float, digits: int = 3) -> str:
    """A number of at least so many significant digits, without an exponent: 312,400, 0.00042."""
    if not math.isfinite(value):
        return "—" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if value == 0.0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    places = max(0, min(12, digits - 1 - size))
    text = f"{value:,.{places}f}" if abs(value) >= 10_000 else f"{value:.{places}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text.replace("-", "−")
