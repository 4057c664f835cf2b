"""Fits that happen as a whole or not at all.

A fit works on a copy of the estimator without the attributes that an earlier fit made public, and
the estimator becomes that copy at the end: a call that fails leaves it as it was. A fit that is
interrupted may adopt the best model so far and say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Estimator = TypeVar("Estimator")


@dataclass
class Attempt(Generic[Estimator]):
    """A fit under way: the copy to set fitted attributes on, and whether Ctrl-C ended it early."""

    estimator: Estimator
    interrupted: bool = False


@contextmanager
def fitting_aside(estimator: Estimator) -> Iterator[Attempt[Estimator]]:
    """Fit a copy of `estimator` inside the block; `estimator` becomes it when the block ends."""
    attempt = Attempt(unfitted_copy(estimator))
    yield attempt
    become(estimator, attempt.estimator)
    if attempt.interrupted:
        advice = ", and warm_start=True goes on from it" if hasattr(estimator, "warm_start") else ""
        raise KeyboardInterrupt(
            "Fitting was interrupted. The estimator holds the best model so far; its "
            f"certificate_ says how far it had come{advice}."
        )


def become(estimator: Any, other: Any) -> None:
    """Take up all attributes of `other`, an estimator of the same class."""
    estimator.__dict__ = other.__dict__


def unfitted_copy(estimator: Estimator) -> Estimator:
    """A copy to be fitted instead of `estimator`, which a failure then leaves as it was."""
    copied = type(estimator).__new__(type(estimator))
    copied.__dict__ = {k: v for k, v in vars(estimator).items() if not is_fitted_attribute(k)}
    return copied


def is_fitted_attribute(name: str) -> bool:
    """Whether an attribute is one that fitting sets: by scikit-learn's convention its name then
    ends in an underscore. Parameters do not, nor what others keep on an estimator."""
    return name.endswith("_") and not name.startswith("__")
