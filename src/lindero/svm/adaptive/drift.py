"""What a stream has done, in sentences: when it changed, along which columns, how far it turned."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array
from lindero.svm.adaptive.stream import StreamedPath, spread_machines
from lindero.svm.adaptive.stream_history import CHECKED, StreamChange

#: Changes and columns that are named, and the share of a move that a column has to have for it.
_MOST_CHANGES = 5
_MOST_COLUMNS = 3
_LEAST_SHARE = 0.1

#: Rows that have to matter for each weight of a hyperplane, for it to be known at all.
_ROWS_PER_WEIGHT = 3.0

#: Records after a change that are still about it, those that a turn is told from, and the degrees
#: below which a boundary is at rest.
_SETTLING, _LEAST_RECORDS, _AT_REST = 2, 4, 15.0

#: Share of the loss of guessing above which columns tell nothing.
_GUESSING = 0.97


def describe_stream(stream: StreamedPath, names: Any) -> list[str]:
    """Sentences about changes, scales and speed; `names` are titles of the columns, or None."""
    told = stream.tell_history()
    lines = []
    more = len(told.changes) - _MOST_CHANGES
    if more > 0:
        lines.append(f"There were {len(told.changes)} changes; these are the last ones.")
    for change in told.changes[-_MOST_CHANGES:]:
        odds = f"{float(f'{change.odds:.2g}'):,.0f}"
        where = _name_columns(_find_move(stream, change), names)
        lines.append(
            f"The boundary changed at row {change.row}{where}. It was noticed at row "
            f"{change.noticed}, with odds of {odds} to 1."
        )
    if not stream.watches:
        lines.append("Sudden changes are not looked for: there is no slow expert to compare with.")
    elif not told.changes:
        lines.append("No sudden change was noticed.")
    lines += [
        f"From row {row} on {_name_column(column, names)} has another scale: has its unit changed?"
        for row, column, _, _ in stream.rescaled[-_MOST_CHANGES:]
    ]
    lines.append(_describe_turn(stream, told.changes, names))
    reach = sqrt(stream.coupling)
    if stream.parameters.coupling is None and reach < stream.n_rows and not _is_guessing(stream):
        lines.append(
            f"At present some {_round(reach)} rows matter (coupling {stream.coupling:.2g})."
        )
    return [line for line in lines if line]


def warn_of_speed(stream: StreamedPath) -> str | None:
    """What to say where rows change faster than hyperplanes can be learned, or None."""
    reach, n_weights = sqrt(stream.coupling), stream.n_columns + 1
    if stream.parameters.coupling is not None or stream.n_rows < CHECKED or _is_guessing(stream):
        return None
    if reach >= _ROWS_PER_WEIGHT * n_weights:
        return None
    return (
        f"The boundary changes so fast that only about {_round(reach)} rows matter, and it has "
        f"{n_weights} weights: the model is not reliable at present. Leave out columns, or see "
        "whether rows are in the order of time."
    )


def _is_guessing(stream: StreamedPath) -> bool:
    """Whether classes are predicted no better than by guessing."""
    if stream.parameters.tube is not None or stream.n_classes < 2 or not stream.record.losses:
        return False
    return float(np.mean(stream.record.losses[-3:])) > _GUESSING * log(stream.n_classes)


def _describe_turn(stream: StreamedPath, changes: tuple[StreamChange, ...], names: Any) -> str:
    """How far the boundary has turned since the last change: the mean of the first third of what
    was kept since, against that of the last third."""
    if _is_guessing(stream):
        return "The columns tell next to nothing of the classes at present."
    if stream.curved_share > 0.5:
        return "The boundary is curved: how it moves is not told by columns."
    record = stream.record
    since = changes[-1].noticed if changes else 0
    kept = [k for k, row in enumerate(record.rows) if row >= since][_SETTLING:]
    if len(kept) < _LEAST_RECORDS:
        return ""
    third = max(1, len(kept) // 3)
    n_machines = len(record.planes[kept[-1]])
    planes = [spread_machines(record.planes[k], n_machines) for k in kept]
    if any(plane.shape != planes[-1].shape for plane in planes):
        return ""
    first, last = (np.mean(part, axis=0)[:, :-1] for part in (planes[:third], planes[-third:]))
    sizes = np.linalg.norm(first) * np.linalg.norm(last)
    if not sizes > 0.0:
        return ""
    angle = float(np.degrees(np.arccos(np.clip((first * last).sum() / sizes, -1.0, 1.0))))
    row = record.rows[kept[0]]
    if angle < _AT_REST:
        return f"Since row {row} the boundary is at rest: it turned by {angle:.0f} degrees."
    moved: Array = np.sqrt(((last - first) ** 2).sum(axis=0))
    where = _name_columns(moved, names)
    return f"Since row {row} the boundary has turned by {angle:.0f} degrees{where}."


def _round(count: float) -> str:
    return f"{float(f'{count:.2g}'):,.0f}"


def _find_move(stream: StreamedPath, change: StreamChange) -> Array | None:
    """How far each column's weight moved in a change, on the scale of columns; None where the
    boundary was curved, or nothing was kept before it."""
    rows, planes = stream.record.rows, stream.record.planes
    before = [k for k, row in enumerate(rows) if row <= change.row]
    after = [k for k, row in enumerate(rows) if row >= change.noticed + CHECKED]
    if not before or stream.record.curved[before[-1]] > 0.5:
        return None
    last = planes[after[0]] if after else stream.plane
    first = spread_machines(planes[before[-1]], len(last))
    n_machines = min(len(first), len(last))
    moved: Array = np.sqrt(((last[:n_machines] - first[:n_machines])[:, :-1] ** 2).sum(axis=0))
    return moved


def _name_column(column: int, names: Any) -> str:
    return f"column {column}" if names is None else repr(str(names[column]))


def _name_columns(moved: Array | None, names: Any) -> str:
    """The columns along which it moved most."""
    if moved is None or not (moved**2).sum() > 0.0:
        return ""
    shares = moved**2 / (moved**2).sum()
    places = [int(k) for k in np.argsort(-shares)[:_MOST_COLUMNS] if shares[k] >= _LEAST_SHARE]
    if not places:
        return ", along many columns"
    titles = [_name_column(k, names) for k in places]
    listed = titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
    return f", mostly along {listed}"
