"""What a stream has done, in sentences: when it changed, along which columns, how fast it moves."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array
from lindero.svm.adaptive.stream import StreamedPath
from lindero.svm.adaptive.stream_history import CHECKED, StreamChange

#: Changes and columns that are named, and the share of a move that a column has to have for it.
_MOST_CHANGES = 5
_MOST_COLUMNS = 3
_LEAST_SHARE = 0.1

#: Rows that have to matter for each weight of a hyperplane, for it to be known at all.
_ROWS_PER_WEIGHT = 3.0


def describe_stream(stream: StreamedPath, names: Any) -> list[str]:
    """Sentences about changes and speed; `names` are titles of the columns, or None."""
    told = stream.tell_history()
    lines = []
    more = len(told.changes) - _MOST_CHANGES
    if more > 0:
        lines.append(f"There were {len(told.changes)} changes; these are the last ones.")
    for change in told.changes[-_MOST_CHANGES:]:
        alarms = f"{float(f'{change.false_alarms:.2g}'):,.0f}"
        where = _name_columns(_find_move(stream, change), names)
        lines.append(
            f"The boundary changed at row {change.row}{where}. It was noticed at row "
            f"{change.noticed}; without a change that happens at most once in {alarms} rows."
        )
    if not told.changes:
        lines.append("No sudden change was noticed.")
    reach = sqrt(stream.coupling)
    lines.append(
        f"At present the last {_round(reach)} rows matter (coupling {stream.coupling:.2g}): "
        + _judge_speed(reach, stream.n_rows)
    )
    return lines


def warn_of_speed(stream: StreamedPath) -> str | None:
    """What to say where rows change faster than hyperplanes can be learned, or None."""
    reach, n_weights = sqrt(stream.coupling), stream.n_columns + 1
    if stream.n_rows < CHECKED or reach >= _ROWS_PER_WEIGHT * n_weights:
        return None
    return (
        f"The boundary changes so fast that only about {_round(reach)} rows matter, and it has "
        f"{n_weights} weights: the model is not reliable at present. Leave out columns, or see "
        "whether rows are in the order of time."
    )


def _judge_speed(reach: float, n_rows: int) -> str:
    if reach >= 0.5 * n_rows:
        return "the boundary is at rest."
    return f"the boundary moves, and is another one after some {_round(reach)} rows."


def _round(count: float) -> str:
    return f"{float(f'{count:.2g}'):,.0f}"


def _find_move(stream: StreamedPath, change: StreamChange) -> Array | None:
    """How far each column's weight moved in a change, on the scale of columns."""
    rows, planes = stream.record.rows, stream.record.planes
    before = [k for k, row in enumerate(rows) if row <= change.row]
    after = [k for k, row in enumerate(rows) if row >= change.noticed + CHECKED]
    if not before:
        return None
    first = planes[before[-1]]
    last = planes[after[0]] if after else stream.plane
    n_machines = min(len(first), len(last))
    moved: Array = np.sqrt(((last[:n_machines] - first[:n_machines])[:, :-1] ** 2).sum(axis=0))
    return moved


def _name_columns(moved: Array | None, names: Any) -> str:
    """The columns along which it moved most."""
    if moved is None or not (moved**2).sum() > 0.0:
        return ""
    shares = moved**2 / (moved**2).sum()
    places = [int(k) for k in np.argsort(-shares)[:_MOST_COLUMNS] if shares[k] >= _LEAST_SHARE]
    if not places:
        return ", along many columns"
    titles = [f"column {k}" if names is None else repr(str(names[k])) for k in places]
    listed = titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
    return f", mostly along {listed}"
