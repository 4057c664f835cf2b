"""Costs of errors as they are typed: ``--cost ill:healthy=20``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lindero.cli.mistakes import Mistake

_EXAMPLE = "write --cost TRUE:PREDICTED=COST, for example --cost ill:healthy=20"


def costs_of(texts: Sequence[str], dataset: Any) -> dict[tuple[Any, Any], float]:
    """From pairs of classes, true and predicted, to costs."""
    if dataset.y is None or dataset.y.dtype.kind == "f":
        raise Mistake("Costs are for classes, and the target is a number: leave --cost out.")
    known = {str(label): label for label in np.unique(dataset.y).tolist()}
    costs: dict[tuple[Any, Any], float] = {}
    for text in texts:
        pair, equals, number = text.rpartition("=")
        if not equals:
            raise Mistake(f"--cost {text} has no '=': {_EXAMPLE}.")
        try:
            cost = float(number)
        except ValueError:
            raise Mistake(f"--cost {text}: {number!r} is no number; {_EXAMPLE}.") from None
        costs[_classes(text, pair, known)] = cost
    return costs


def _classes(text: str, pair: str, known: dict[str, Any]) -> tuple[Any, Any]:
    """The two classes; names may hold colons themselves."""
    parts = pair.split(":")
    for place in range(1, len(parts)):
        true, predicted = ":".join(parts[:place]), ":".join(parts[place:])
        if true in known and predicted in known:
            return known[true], known[predicted]
    names = ", ".join(list(known)[:10])
    raise Mistake(f"--cost {text} does not name two of the classes {names}: {_EXAMPLE}.")
