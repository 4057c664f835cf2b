"""Fits that happen as a whole or not at all.

A fit works on a copy of the estimator without what an earlier fit set, and the estimator becomes
that copy at the end: a call that fails leaves it as it was. A fit that is interrupted may adopt the
best model so far and say so.

BLAS has one thread meanwhile: what others do in this process then changes no bit of the result, and
a fork in another thread does not stop threads of BLAS that somebody is waiting for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lindero.runtime.threads import single_threaded_blas

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
    with single_threaded_blas:
        yield attempt
    become(estimator, attempt.estimator)
    if attempt.interrupted:
        advice = ", and warm_start=True goes on from it" if hasattr(estimator, "warm_start") else ""
        raise KeyboardInterrupt(
            "Fitting was interrupted. The estimator holds the best model so far; its "
            f"certificate_ says how far it had come{advice}."
        )


@contextmanager
def changing_aside(estimator: Estimator) -> Iterator[Estimator]:
    """Change a copy of `estimator` inside the block; `estimator` becomes it when the block ends."""
    copied = type(estimator).__new__(type(estimator))
    copied.__dict__ = dict(vars(estimator))
    with single_threaded_blas:
        yield copied
    become(estimator, copied)


def sharing_state(estimator: Estimator) -> Estimator:
    """The estimator as it is now, though it may become another one in another thread: it has the
    same attributes, those computed later included, until `estimator` becomes another."""
    shared = type(estimator).__new__(type(estimator))
    shared.__dict__ = estimator.__dict__
    return shared


def become(estimator: Any, other: Any) -> None:
    """Take up all attributes of `other`, an estimator of the same class."""
    estimator.__dict__ = other.__dict__


def unfitted_copy(estimator: Estimator) -> Estimator:
    """A copy without fitted attributes: names that end in an underscore, as scikit-learn has it,
    and private ones that the class lists in `_fitted_state`.

    Private names are listed, not guessed, because scikit-learn and users keep some on estimators,
    too. One that every fit sets anew, and does not read before, need not be listed.
    """
    private = getattr(type(estimator), "_fitted_state", ())
    copied = type(estimator).__new__(type(estimator))
    copied.__dict__ = {
        name: value
        for name, value in vars(estimator).items()
        if name not in private and (name.startswith("__") or not name.endswith("_"))
    }
    return copied
