"""Where errors along a stream change.

The row after which the share of errors differs most before and after, by the test of two
proportions, if p times the number of places tried (Bonferroni) is below 1 %; then the same in both
parts. Errors of neighbouring rows are taken as independent. Of numbers, ranks of the absolute
errors are compared by the test of two means, so that a few large errors make no change point.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array

#: Change points: the level of the test, rows on either side, and how many at most.
_LEVEL, FEWEST_ROWS, _MOST_CHANGES = 0.01, 30, 8


def find_changes(correct: Any) -> list[int]:
    """Places in a stream of right and wrong answers where the share of errors changes, in order."""
    return _find_places((~np.asarray(correct, dtype=bool)).astype(np.float64))


def find_error_changes(errors: Any) -> list[int]:
    """Places in a stream of absolute errors where their size changes, in order."""
    from scipy.stats import rankdata

    sizes = np.nan_to_num(np.asarray(errors, dtype=np.float64), nan=np.inf)
    return _find_places(rankdata(sizes) / max(1, len(sizes)))


def _find_places(losses: Array) -> list[int]:
    totals = np.zeros((2, len(losses) + 1))
    np.cumsum([losses, losses**2], axis=1, out=totals[:, 1:])
    parts: list[tuple[int, int]] = [(0, len(losses))]
    found: list[int] = []
    while parts and len(found) < _MOST_CHANGES:
        start, stop = parts.pop(0)
        place = _find_change(totals, start, stop)
        if place is not None:
            found.append(place)
            parts += [(start, place), (place, stop)]
    return sorted(found)


def _find_change(totals: Array, start: int, stop: int) -> int | None:
    """The place of a part where it changes most, if it does; `totals` are sums of the losses and of
    their squares."""
    places = np.arange(start + FEWEST_ROWS, stop - FEWEST_ROWS + 1)
    if len(places) == 0:
        return None
    before, after, total = places - start, stop - places, totals[0]
    first = (total[places] - total[start]) / before
    second = (total[stop] - total[places]) / after
    mean, square = (totals[:, stop] - totals[:, start]) / (stop - start)
    variance = square - mean**2  # of right and wrong answers, share · (1 − share)
    if not variance > 1e-12:
        return None
    z = np.abs(first - second) / np.sqrt(variance * (1 / before + 1 / after))
    best = int(z.argmax())
    p = len(places) * math.erfc(float(z[best]) / math.sqrt(2.0))
    return int(places[best]) if p < _LEVEL else None
