"""Model files of streams: experts of adaptive machines, and all that they go on from.

Loops that are compiled check nothing. So sizes must fit each other, positions lie within their
arrays, and numbers be such that those computed from them stay numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindero.kernels.features import FOURIER, NONE, POLYNOMIAL, SIGMOID
from lindero.persist.fields import LABELS, MOST, Fields
from lindero.persist.kinds.svm import check_width
from lindero.persist.registry import Kind
from lindero.runtime.arrays import Array
from lindero.svm.adaptive import experts, running_scale
from lindero.svm.adaptive.stream import StreamedPath, StreamParameters
from lindero.svm.adaptive.stream_history import CHECKED, MOST_KEPT, StreamRecord

_KERNELS = ("auto", "linear", "rbf", "poly", "sigmoid")

#: Kernels that features of each kind are of.
_FEATURES = {
    NONE: _KERNELS, FOURIER: ("auto", "rbf"), POLYNOMIAL: ("poly",), SIGMOID: ("sigmoid",),
}  # fmt: skip

#: Values are cut off at 1e140 before they enter a mean, and means of squares stay below this.
_MOST_VALUE, _MOST_SQUARE = 1e141, 1e283

#: Numbers in hyperplanes and what is known of them; products of three are finite.
_MOST_NUMBER = 1e100

#: Scale of cosines.
_MOST_SCALE = 1e6

#: Frequencies, whose products with rows are finite.
_MOST_POINT = 1e200

#: Asymmetry of what is known, relative to its largest number, that rounding may leave.
_MOST_UNEVEN = 1e-6


def _within(given: Fields, name: str, shape: tuple[int | str, ...], most: float) -> Array:
    """An array of finite numbers, none larger than `most`."""
    array = given.array(name, "float64", *shape, finite=True)
    large = np.abs(array).max(initial=0.0) > most
    given.require(name, not large, f"must not hold numbers beyond {most:g}")
    return array


def _positive(given: Fields, name: str, *shape: int | str, most: float = _MOST_NUMBER) -> Array:
    array = _within(given, name, shape, most)
    given.require(name, bool((array > 0.0).all()), "must hold positive numbers only")
    return array


# -- columns --------------------------------------------------------------------------------------


def _check_scale(given: Fields) -> None:
    given.array("counts", "int64", "columns", least=0, below=MOST)
    _within(given, "means", ("columns",), _MOST_VALUE)
    squares = _within(given, "squares", ("columns",), _MOST_SQUARE)
    given.require("squares", bool((squares >= 0.0).all()), "must not be negative")
    least = 1 - running_scale.SMALL_IN_A_ROW
    given.array("beyond", "int64", "columns", least=least, below=running_scale.IN_A_ROW)
    _within(given, "recent", (running_scale.IN_A_ROW, "columns"), _MOST_VALUE)
    given.array("n_changes", "int64", 1, least=0, below=MOST)
    changes = given.array("changes", "float64", running_scale.ROOM, 4, finite=True)
    _check_rescaled(given, "changes", changes, given.size("columns"))


def _check_rescaled(given: Fields, name: str, changes: Array, n_columns: int) -> None:
    """Rows, columns, and deviations before and after."""
    rows, columns = changes[:, 0], changes[:, 1]
    sound = (
        _count_rows(rows)
        and _count_rows(columns)
        and bool((columns < n_columns).all())
        and bool((changes[:, 2:] >= 0.0).all())
    )
    given.require(name, sound, "must be of rows and columns")


def _count_rows(numbers: Array) -> bool:
    """Whether numbers are whole, and not negative."""
    return bool((numbers >= 0.0).all() and (numbers < MOST).all() and (numbers % 1.0 == 0.0).all())


def _check_features(given: Fields) -> None:
    kind = int(given.array("kind", "int64", 1, least=NONE, below=SIGMOID + 1)[0])
    numbers = given.array("numbers", "float64", 4, finite=True)
    if kind <= FOURIER:
        points = _within(given, "points", ("columns", "points"), _MOST_POINT)
        given.array("root", "float64", 0, 0)
        few = (points.shape[1] == 0) == (kind == NONE)
    else:
        points = _within(given, "points", ("points", "columns"), _MOST_NUMBER)
        _within(given, "root", (len(points), len(points)), _MOST_NUMBER)
        few = len(points) > 0
    given.require("points", few, "must be those of its kind")
    most = _MOST_SCALE if kind == FOURIER else _MOST_NUMBER**2
    sound = kind == NONE or 0.0 < numbers[0] < most
    given.require("numbers", bool(sound), "must have a positive scale")
    whole = kind != POLYNOMIAL or (numbers[3] >= 0.0 and numbers[3] % 1.0 == 0.0)
    given.require("numbers", bool(whole), "must have a whole number as the degree")


# -- filters --------------------------------------------------------------------------------------


def _check_bank(given: Fields) -> None:
    _within(given, "means", ("machines", "filters", "width"), _MOST_NUMBER)
    sides = ("machines", "filters", "width", "width")
    spreads = _within(given, "spreads", sides, _MOST_NUMBER)
    q, c, a = (_positive(given, name, "filters") for name in ("moves", "strengths", "priors"))
    fits = np.allclose(a, 0.5 * (q + np.sqrt(q * q + 4.0 * c * q)), rtol=1e-6, atol=0.0)
    given.require("priors", fits, "must be those of the moves and strengths")
    given.array("awake", "bool", "filters")
    even = all(map(_is_even, spreads.reshape(-1, *spreads.shape[2:])))
    given.require("spreads", even, "must be symmetric, with positive diagonals")


def _is_even(spread: Array) -> bool:
    most = _MOST_UNEVEN * np.abs(spread).max(initial=0.0)
    off = np.abs(spread - spread.T).max(initial=0.0)
    return bool(off <= most and (np.diag(spread) > 0.0).all())


def _check_first_order(given: Fields) -> None:
    _within(given, "means", ("machines", "filters", "width"), _MOST_NUMBER)
    _positive(given, "priors", "filters")
    _positive(given, "draws", "filters", most=1.0 + 1e-9)


def _check_weights(given: Fields) -> None:
    sides = ("filters", "readings")
    first = _positive(given, "first", *sides, most=1.0)
    _positive(given, "readings", "readings")
    given.require("first", first.size > 0, "must be of experts")
    for name in ("first", "now", "slow"):
        weights = given.array(name, "float64", *sides, least=0.0, finite=True)
        total = weights.sum()
        whole = abs(total - 1.0) < 1e-6 or (name == "slow" and total == 0.0)
        given.require(name, bool(whole), "must add up to one")
    votes = given.array("votes", "float64", "filters", least=0.0, finite=True)
    given.require("votes", bool(abs(votes.sum() - 1.0) < 1e-6), "must add up to one")
    given.array("hits", "float64", 2, least=0.0, finite=True)
    losses = given.array("losses", "float64", *sides)
    known = bool((losses > -_MOST_NUMBER).all())  # infinite of those that slept
    given.require("losses", known, "must be numbers")
    given.array("is_slow", "bool", "filters")
    given.array("of_numbers", "bool", 1)
    evidence = _within(given, "evidence", (4,), _MOST_NUMBER)
    given.require("evidence", bool((evidence[:2] >= 0.0).all()), "must not be negative")
    if "usual" in given:
        _positive(given, "usual", 1)
    marks = given.array("marks", "int64", 3, least=0, below=MOST)
    given.require("marks", bool(marks[0] >= 1 and marks[1] <= marks[0]), "must be rows seen")
    changes = given.array("changes", "float64", experts.ROOM, 3, finite=True)
    _check_changes(given, "changes", changes)


def _take_weights_apart(weights: Any) -> dict[str, Any]:
    fields = _as_dict(weights)
    return {**fields, "evidence": weights.evidence[:4], "usual": weights.evidence[4:]}


def _build_weights(kind: Any, values: dict[str, Any]) -> Any:
    """Files of earlier versions do not have the usual ratio: it begins at one."""
    usual = values.pop("usual", np.ones(1))
    return kind(**{**values, "evidence": np.append(values["evidence"], usual)})


def _check_changes(given: Fields, name: str, changes: Array) -> None:
    """Rows where changes began and were noticed, and evidence."""
    sound = _count_rows(changes[:, :2]) and bool((changes[:, 2] >= 0.0).all())
    given.require(name, sound, "must be of rows, with evidence")


# -- what is kept to be told ----------------------------------------------------------------------


def _take_record_apart(record: StreamRecord) -> dict[str, Any]:
    """Lists as arrays; hyperplanes of all records one after another."""
    none = np.empty((0, 0))
    return {
        "stride": record.stride,
        "rows": np.array(record.rows, dtype=np.int64),
        **{
            name: np.array(getattr(record, name), dtype=np.float64)
            for name in ("times", "couplings", "Cs", "curved", "losses")
        },
        "machines": np.array([len(planes) for planes in record.planes], dtype=np.int64),
        "planes": np.concatenate(record.planes) if record.planes else none,
        "raw_planes": np.concatenate(record.raw_planes) if record.planes else none,
    }


def _check_record(given: Fields) -> None:
    stride = given.integer("stride", least=CHECKED)
    rows = given.array("rows", "int64", "records", least=1, below=MOST)
    given.require("rows", len(rows) <= MOST_KEPT, f"must be {MOST_KEPT} at most")
    spaced = bool((rows % stride == 0).all() and (np.diff(rows) > 0).all())
    given.require("rows", spaced, f"must rise, by multiples of {stride}")
    times = given.array("times", "float64", "records", finite=True)
    given.require("times", bool((np.diff(times) >= 0.0).all()), "must not fall")
    for name in ("couplings", "Cs"):
        values = given.array(name, "float64", "records")
        given.require(name, not (values <= 0.0).any(), "must be positive, where known")
    given.array("curved", "float64", "records", finite=True)
    given.array("losses", "float64", "records", finite=True)
    machines = given.array("machines", "int64", "records", least=1, below=MOST)
    planes = _within(given, "planes", ("planes", "width"), _MOST_NUMBER)
    fits = int(machines.sum(dtype=object)) == len(planes) if len(machines) else not len(planes)
    given.require("machines", fits and bool((np.diff(machines) >= 0).all()), "must fit the planes")
    given.array("raw_planes", "float64", "planes", "width", finite=True)


def _build_record(kind: type[StreamRecord], values: dict[str, Any]) -> StreamRecord:
    ends = np.cumsum(values["machines"])[:-1]
    lists: dict[str, list[Any]] = {
        name: values[name].tolist()
        for name in ("rows", "times", "couplings", "Cs", "curved", "losses")
    }
    for name in ("planes", "raw_planes"):
        lists[name] = np.split(values[name].copy(), ends) if lists["rows"] else []
    return kind(values["stride"], **lists)


# -- the stream -----------------------------------------------------------------------------------


def _check_parameters(given: Fields) -> None:
    for name in ("C", "coupling"):
        value = given.optional(name, given.number, 0.0)
        given.require(name, value is None or value > 0.0, "must be positive")
    given.optional("gamma", given.number, 0.0)
    given.text("kernel", _KERNELS)
    given.number("coef0", finite=True)
    given.number("degree", least=0.0, finite=True)
    given.optional("n_components", given.integer, 1)
    given.flag("scaled")
    given.flag("time_weighted")
    given.optional("tube", given.number, 0.0)


def _check_stream(given: Fields) -> None:
    told: StreamParameters = given.instance("parameters", "StreamParameters")
    given.instance("axis", "TimeAxis")
    d = given.integer("n_columns", least=1)
    n_classes = given.integer("n_classes")
    of_numbers = told.tube is not None
    given.require("n_classes", (n_classes == 0) == of_numbers, "must be those of its task")
    n_filters = _check_parts(given, d, n_classes if n_classes > 2 else 1)
    weights = given.instance("experts", "ExpertWeights")
    sound = weights.first.shape[0] == n_filters and bool(weights.of_numbers[0]) == of_numbers
    given.require("experts", sound, "must be those of the filters and the task")
    given.array("quiet", "int64", n_filters, least=0, below=MOST)
    options = given.array("options", "float64", 5, finite=True)
    asked = [told.scaled, -1.0 if told.tube is None else told.tube]
    asked.append(0.0 if of_numbers else max(2, n_classes))
    same = options[:3].tolist() == asked and bool(
        ((options[3:] >= 0.0) & (options[3:] <= 1.0)).all()
    )
    given.require("options", same, "must be those of its parameters")
    _check_kept(given, d, weights)
    clock = given.array("clock", "float64", 3, finite=True)
    sound = clock[1] >= 0.0 and bool(clock[2]) == told.time_weighted and clock[2] in (0.0, 1.0)
    record = given.any("record")
    sound = sound and (not record.times or record.times[-1] <= clock[0])
    given.require("clock", bool(sound), "must be that of its rows")


def _check_parts(given: Fields, d: int, n_machines: int) -> int:
    """Columns, features and filters; the number of these."""
    scales = [given.instance(name, "RunningScale") for name in ("scale", "target_scale")]
    sizes = [scale.means.size for scale in scales]
    given.require("scale", sizes == [d, 1], "must be of the columns, or the target")
    features = given.instance("features", "KernelFeatures")
    kind = int(features.kind[0])
    given.require(
        "features",
        features.points.shape[0 if kind <= FOURIER else 1] == d
        and given.any("parameters").kernel in _FEATURES[kind],
        "must be of the columns and the kernel",
    )
    _within(given, "recent", features.landmarks.shape, _MOST_NUMBER)
    n_filters = 0
    for name, width in (
        ("first", d + 1),
        ("plain", d + 1),
        ("curved", d + 1 + features.n_features),
    ):
        bank = given.instance(name, "FirstOrderBank" if name == "first" else "FilterBank")
        shape = bank.means.shape
        fits = shape[0] == n_machines and shape[2] == width
        given.require(name, fits, "must be of the machines, columns and features")
        n_filters += shape[1]
    n_curved = given.any("curved").means.shape[1]
    given.require("curved", (n_curved > 0) == (kind != NONE), "must be there with features only")
    return n_filters


def _check_kept(given: Fields, d: int, weights: Any) -> None:
    """What was noted of changes, and records."""
    n_rows = int(weights.marks[0])
    record: StreamRecord = given.instance("record", "StreamRecord")
    fits = not record.rows or (
        record.rows[-1] <= n_rows
        and record.planes[0].shape[1] == d + 1
        and len(record.planes[-1]) <= len(given.any("first").means)
    )
    given.require("record", fits, "must be of these rows, columns and machines")
    changes = given.array("changes", "float64", None, 3, finite=True)
    _check_changes(given, "changes", changes)
    rescaled = given.array("rescaled", "float64", None, 4, finite=True)
    _check_rescaled(given, "rescaled", rescaled, d)
    for name, kept in (("changes", changes), ("rescaled", rescaled)):
        given.require(name, len(kept) <= MOST_KEPT, f"must be {MOST_KEPT} at most")
    given.integer("told", most=len(rescaled))
    looked = given.items("looked", tuple, 2)
    sound = type(looked[0]) is int and type(looked[1]) is float and 0 <= looked[0] <= n_rows
    given.require("looked", sound and bool(np.isfinite(looked[1])), "must be rows and their loss")


def check_streamed(given: Fields, of_numbers: bool) -> None:
    """The state of an estimator that follows a stream."""
    width = check_width(given)
    stream: StreamedPath = given.instance("_stream", "StreamedPath")
    sound = stream.n_columns == width and (stream.parameters.tube is not None) == of_numbers
    given.require("_stream", sound, "must be of these columns and this task")
    given.require("_stream", "_path" not in given, "must be there alone")
    if of_numbers:
        return
    given.flag("_declared")
    labels = given.array("_labels", LABELS, stream.n_classes)
    classes = given.array("classes_", LABELS, stream.n_classes)
    same = bool(np.array_equal(np.unique(labels), classes))
    given.require("_labels", same, "must be the classes")


def _as_dict(parts: Any) -> dict[str, Any]:
    """Fields of a named tuple."""
    named: dict[str, Any] = parts._asdict()
    return named


def _of_tuple(name: str, home: str, check: Callable[[Fields], None]) -> Kind:
    return Kind(name, f"lindero.{home}:{name}", check, _as_dict)


KINDS: tuple[Kind, ...] = (
    Kind("StreamParameters", "lindero.svm.adaptive.stream:StreamParameters", _check_parameters),
    _of_tuple("RunningScale", "svm.adaptive.running_scale", _check_scale),
    _of_tuple("KernelFeatures", "kernels.features", _check_features),
    _of_tuple("FilterBank", "solvers.coupled.filter", _check_bank),
    _of_tuple("FirstOrderBank", "solvers.coupled.filter", _check_first_order),
    Kind(
        "ExpertWeights", "lindero.svm.adaptive.experts:ExpertWeights", _check_weights,
        _take_weights_apart, _build_weights,
    ),
    Kind(
        "StreamRecord", "lindero.svm.adaptive.stream_history:StreamRecord", _check_record,
        _take_record_apart, _build_record,
    ),
    Kind(
        "AdaptiveStream", "lindero.svm.adaptive.stream:StreamedPath", _check_stream,
        StreamedPath.keep, StreamedPath.of_kept.__func__,  # type: ignore[attr-defined]
    ),
)  # fmt: skip
