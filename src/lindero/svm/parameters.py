"""What the parameters that all kernel machines share may be, and what C means for each row."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.kernels.operator import NAMED_KERNELS
from lindero.runtime.arrays import Array

KERNEL_MACHINE_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(NAMED_KERNELS)), callable],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "shrinking": ["boolean"],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "cache_size": [Interval(Real, 0.0, None, closed="neither")],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "warm_start": ["boolean"],
    "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
    "callback": [callable, None],
}


def upper_bounds(C: float, weights: Array) -> Array:
    """Upper bounds of the dual variables; zero where a row takes no part."""
    bounds = np.zeros_like(weights)
    with np.errstate(over="ignore", under="ignore"):
        bounds[weights > 0] = C * weights[weights > 0]
        total = bounds.sum()
    if np.isfinite(C) and not np.isfinite(total):
        raise ValueError(
            f"C={C:g} times the sum of the weights overflows: use a smaller C or smaller weights."
        )
    return bounds
