"""What the parameters that all kernel machines share may be."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from lindero.kernels.operator import NAMED_KERNELS

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
