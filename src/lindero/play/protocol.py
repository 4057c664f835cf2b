"""What the page may ask for, read by hand from JSON with limits on everything, and what it is told.

Requests hold the whole picture: nothing depends on an earlier one, so any may be dropped for a
later one, and a server that was started again goes on where the last one ended.

    picture   fit one or two machines to these points and evaluate them on a grid
    path      where the solution of a machine bends as C goes from one end to the other
    script    the code that reproduces a machine
    preset    points and machines by name

An answer is one binary frame: the length of a header (4 bytes, little-endian), the header as JSON,
filled up with spaces to a multiple of 4, and arrays of 32-bit floats, one after the other, in the
shapes that the header lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lindero.play.machines import MACHINES, Machine
from lindero.play.presets import PRESETS

if TYPE_CHECKING:
    from lindero.runtime.arrays import Array

MOST_BYTES = 200_000
MOST_POINTS = 2000
MOST_PANELS = 2
SMALLEST_GRID, LARGEST_GRID = 16, 160
LARGEST_COORDINATE = 1e6
MOST_ID = 2**31 - 1

#: Points beyond which the path in C, and the error of leaving each point out, are not offered.
MOST_FOR_PATH = 300

UNLABELLED, N_CLASSES = -1, 3


class BadMessageError(ValueError):
    """A message that is refused; the text says why."""


@dataclass(frozen=True)
class Points:
    """The points of a picture: ids, places, classes and a third column; −1 is none of both."""

    ids: Array
    X: Array
    labels: Array
    third: Array


@dataclass(frozen=True)
class ChosenMachine:
    """A machine with its parameters; `on_path` if it is to be shown on its path in C."""

    machine: Machine
    parameters: dict[str, Any]
    on_path: bool = False


@dataclass(frozen=True)
class PictureRequest:
    """One picture. `view` is left, right, bottom and top; `without` a point to leave out;
    `leave_one_out` asks for the error of leaving each point out; `categories` says that heights are
    categories."""

    kind: str
    sequence: int
    points: Points
    view: tuple[float, float, float, float]
    machines: tuple[ChosenMachine, ...]
    resolution: int
    without: int | None
    leave_one_out: bool
    categories: bool


@dataclass(frozen=True)
class PresetRequest:
    """Points and machines by name."""

    sequence: int
    name: str
    kind: str = "preset"


Request = PictureRequest | PresetRequest

_KINDS = ("picture", "path", "script", "preset")
_FIELDS = {
    "kind", "sequence", "points", "view", "machines", "resolution", "without", "leave_one_out",
    "categories",
}  # fmt: skip


# -- what comes ------------------------------------------------------------------------------------


def read_request(text: Any) -> Request:
    """A request, or `BadMessageError`."""
    if not isinstance(text, str):
        raise BadMessageError("Messages are JSON text, not binary frames.")
    if len(text) > MOST_BYTES:
        raise BadMessageError(
            f"A message may have {MOST_BYTES} characters; this one has {len(text)}."
        )
    try:
        message = json.loads(text, parse_constant=_refuse_constant)
    except BadMessageError:
        raise
    except (ValueError, RecursionError):
        raise BadMessageError("The message is not JSON.") from None
    if not isinstance(message, dict):
        raise BadMessageError("A message must be a JSON object.")
    kind = message.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise BadMessageError(f"kind must be one of {', '.join(_KINDS)}.")
    sequence = _read_whole(message, "sequence", 0, MOST_ID)
    if kind == "preset":
        _refuse_unknown(message, {"kind", "sequence", "name"})
        name = message.get("name")
        if not isinstance(name, str) or name not in PRESETS:
            raise BadMessageError(f"There is no such preset; there are {', '.join(PRESETS)}.")
        return PresetRequest(sequence, name)
    _refuse_unknown(message, _FIELDS)
    machines = _read_machines(message.get("machines"))
    points = _read_points(message.get("points"))
    without = message.get("without")
    if without is not None:
        without = _read_whole(message, "without", 0, MOST_ID)
        if without not in points.ids:
            raise BadMessageError("without must be the id of a point.")
    return PictureRequest(
        kind=kind,
        sequence=sequence,
        points=points,
        view=_read_view(message.get("view")),
        machines=machines,
        resolution=_read_whole(message, "resolution", SMALLEST_GRID, LARGEST_GRID),
        without=without,
        leave_one_out=_read_switch(message, "leave_one_out"),
        categories=_read_switch(message, "categories"),
    )


def _refuse_constant(name: str) -> None:
    raise BadMessageError(f"{name} is not a number that JSON knows.")


def _refuse_unknown(message: Mapping[str, Any], known: set[str]) -> None:
    for name in message:
        if name not in known:
            raise BadMessageError(f"A message has no field {name[:20]!r}.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_whole(message: Mapping[str, Any], name: str, low: int, high: int) -> int:
    value = message.get(name)
    if not _is_whole(value) or not low <= value <= high:  # type: ignore[operator]
        raise BadMessageError(f"{name} must be a whole number from {low} to {high}.")
    return int(value)  # type: ignore[arg-type]


def _read_switch(message: Mapping[str, Any], name: str) -> bool:
    value = message.get(name, False)
    if not isinstance(value, bool):
        raise BadMessageError(f"{name} must be true or false.")
    return value


def _is_coordinate(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= LARGEST_COORDINATE and math.isfinite(value)


def _read_points(values: Any) -> Points:
    import numpy as np

    if not isinstance(values, list) or len(values) > MOST_POINTS:
        raise BadMessageError(f"points must be a list of at most {MOST_POINTS} points.")
    for row, point in enumerate(values):
        if not isinstance(point, list) or len(point) != 5:
            raise BadMessageError(f"Point {row} must be a list: id, x, y, class, third column.")
        identity, x, y, label, third = point
        if not _is_whole(identity) or not 0 <= identity <= MOST_ID:
            raise BadMessageError(
                f"The id of point {row} must be a whole number from 0 to {MOST_ID}."
            )
        if not _is_coordinate(x) or not _is_coordinate(y):
            raise BadMessageError(
                f"Point {row} must have two finite coordinates within ±{LARGEST_COORDINATE:g}."
            )
        if not _is_whole(label) or not UNLABELLED <= label < N_CLASSES:
            raise BadMessageError(f"The class of point {row} must be from {UNLABELLED} to 2.")
        if not _is_whole(third) or not -1 <= third <= 1:
            raise BadMessageError(f"The third column of point {row} must be −1, 0 or 1.")
    ids = [point[0] for point in values]
    if len(set(ids)) < len(ids):
        raise BadMessageError("No two points may have the same id.")
    columns = list(zip(*values, strict=True)) or [()] * 5
    return Points(
        ids=np.array(columns[0], dtype=np.int64),
        X=np.array(columns[1:3], dtype=np.float64).T.reshape(-1, 2).copy(),
        labels=np.array(columns[3], dtype=np.int64),
        third=np.array(columns[4], dtype=np.int64),
    )


def _read_view(values: Any) -> tuple[float, float, float, float]:
    if not isinstance(values, list) or len(values) != 4 or not all(map(_is_coordinate, values)):
        raise BadMessageError("view must be left, right, bottom and top.")
    left, right, bottom, top = map(float, values)
    if not (right - left > 1e-6 and top - bottom > 1e-6):
        raise BadMessageError("view must have a width and a height.")
    return left, right, bottom, top


def _read_machines(values: Any) -> tuple[ChosenMachine, ...]:
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_PANELS:
        raise BadMessageError("machines must be a list of one or two.")
    found = []
    for value in values:
        if not isinstance(value, dict) or set(value) - {"name", "parameters", "on_path"}:
            raise BadMessageError("A machine must have a name and parameters.")
        name = value.get("name")
        if not isinstance(name, str) or name not in MACHINES:
            raise BadMessageError(f"There is no such machine; there are {', '.join(MACHINES)}.")
        machine = MACHINES[name]
        try:
            parameters = machine.read(value.get("parameters", {}))
        except ValueError as error:
            raise BadMessageError(str(error)) from None
        found.append(ChosenMachine(machine, parameters, _read_switch(value, "on_path")))
    return tuple(found)


# -- what goes -------------------------------------------------------------------------------------


def write_frame(header: dict[str, Any], arrays: Mapping[str, Array] | None = None) -> bytes:
    """A binary frame."""
    import numpy as np

    from lindero.runtime.arrays import make_plain

    limit = float(np.finfo(np.float32).max)
    blocks = {
        name: np.nan_to_num(
            np.clip(np.asarray(values, dtype=np.float64), -limit, limit), nan=0.0
        ).astype("<f4")
        for name, values in (arrays or {}).items()
    }
    shapes = [{"name": name, "shape": list(block.shape)} for name, block in blocks.items()]
    text = json.dumps(make_plain({**header, "arrays": shapes}), separators=(",", ":"))
    data = text.encode()
    data += b" " * (-len(data) % 4)
    return b"".join(
        [len(data).to_bytes(4, "little"), data, *(block.tobytes() for block in blocks.values())]
    )


def read_frame(frame: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """The same the other way round."""
    import numpy as np

    length = int.from_bytes(frame[:4], "little")
    header = json.loads(frame[4 : 4 + length])
    start, arrays = 4 + length, {}
    for entry in header["arrays"]:
        count = math.prod(entry["shape"])
        block = np.frombuffer(frame, dtype="<f4", count=count, offset=start)
        arrays[entry["name"]] = block.reshape(entry["shape"])
        start += 4 * count
    return header, arrays
