"""Models of lindero in files of its own: safetensors and JSON, no code.

A file holds the parameters and the fitted state of an estimator, also in the middle of a stream.
Nothing in it is executed or looked up by name outside lindero's own list (`registry`), and nothing
is believed before it is checked. Before a file is written, it is read back from memory, so that
none is written that cannot be loaded. Writing, reading and describing are one file, since each says
what the others do.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero import __version__
from lindero.errors import ModelFileError, NewerFormatError, escape_controls
from lindero.persist.container import Contents, pack, unpack, unpack_bytes
from lindero.persist.registry import EstimatorKind, Kind, kind_of
from lindero.persist.safe_file import write_whole_bytes
from lindero.persist.values import ValueReader, ValueWriter
from lindero.runtime.arrays import Array
from lindero.svm.following import bring_to_cpu

#: Kinds that hold a machine, and are no estimators of lindero by themselves.
_HOLDERS = ("sklearn.Pipeline", "sklearn.CalibratedClassifierCV")

#: Kinds that make probabilities or answers of what a machine says.
_DECIDERS = ("sklearn.CalibratedClassifierCV", "evaluation.DecisionClassifier")

#: Machines inside of machines.
_MOST_INSIDE = 8


@dataclass(frozen=True)
class ModelInfo:
    """What a model file holds, found without building the model.

    Attributes
    ----------
    estimator : str
        What the file calls the estimator, as "svm.SVC"; of a pipeline, that of its machine.
    parameters : dict
        Its parameters: plain values as they are, others in words.
    input : dict
        "n_features" and "names" of the columns, and "columns" (name, kind and number of values)
        where the model reads tables; None where that is not known.
    summary : dict
        Of the training: "fitted", "classes", "n_samples", "status", and what `save` was given.
    encoded : bool
        Whether a table encoder stands before the machine.
    lindero_version : str
        The version that wrote the file.
    format_version : int
        The version of the format.
    sha256 : str
        Hash of the contents.
    n_bytes, n_arrays, n_objects : int
        Sizes.

    See Also
    --------
    inspect : Reads it from a file.
    """

    estimator: str
    parameters: dict[str, Any]
    input: dict[str, Any]
    summary: dict[str, Any]
    encoded: bool
    lindero_version: str
    format_version: int
    sha256: str
    n_bytes: int
    n_arrays: int
    n_objects: int

    def __str__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        lines = [
            f"{self.estimator}({changed})",
            f"input      {_put_input_in_words(self.input)}",
            *(f"{name:<10} {value}" for name, value in self.summary.items()),
            f"written by lindero {self.lindero_version}, format {self.format_version}",
            f"size       {self.n_bytes} bytes, {self.n_arrays} arrays",
            f"sha256     {self.sha256}",
        ]
        return "\n".join(map(escape_controls, lines))


def _put_input_in_words(described: dict[str, Any]) -> str:
    n_features, names = described.get("n_features"), described.get("names")
    if n_features is None:
        return "not fitted"
    return f"{n_features} features" + (f": {', '.join(map(str, names[:8]))}" if names else "")


def save(
    estimator: Any, path: str | os.PathLike[Any], *, summary: dict[str, Any] | None = None
) -> None:
    """Write an estimator, fitted or not, to a file that `load` reads.

    The file is written beside `path` first and then takes its place, so that whatever happens,
    there is the old file or the new one, whole.

    Parameters
    ----------
    estimator : estimator of lindero
        Any of `lindero.svm` and `lindero.bayes` in any state; a
        :class:`~lindero.evaluation.DecisionClassifier` around one, or what
        :func:`~lindero.svm.calibrate` returns; or a pipeline that ends in one, after any of
        :class:`~lindero.evaluation.TableEncoder` and scikit-learn's StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler, SimpleImputer, OneHotEncoder, OrdinalEncoder, and a
        ColumnTransformer of these.
    path : str or path-like
        The file; ``.lin`` is the usual ending. A file that is there is replaced.
    summary : dict, default=None
        What to note of the training beside what is known: text, numbers and lists, under names.

    Raises
    ------
    TypeError
        If the estimator holds what a file cannot: a function (a kernel, a callback), or an object
        of another library. The message names the parameter.

    See Also
    --------
    inspect : What a file says of itself.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.persist import load, save
    >>> from lindero.svm import SVC
    >>> model = SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.lin")
    ...     save(model, path)
    ...     again = load(path)
    >>> again.predict([[2.5]]).tolist()
    ['high']
    """
    write_whole_bytes(path, _pack(estimator, summary))


def load(path: str | os.PathLike[Any]) -> Any:
    """Read an estimator that `save` has written.

    It predicts as the one that was saved, and goes on learning as that would have, to the last
    bit. Files from anywhere are safe to load: nothing in them is executed.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator : object

    Raises
    ------
    ModelFileError
        If the file is none of lindero's, or damaged.
    NewerFormatError
        If it is in a later format than this version of lindero knows.

    See Also
    --------
    save : Write such a file.
    inspect : What a file says of itself, without building anything.
    """
    with _name_in_errors(path):
        contents = unpack(path)
        return _build(contents.document, contents.arrays)


def to_bytes(estimator: Any, *, summary: dict[str, Any] | None = None, check: bool = True) -> bytes:
    """What `save` would write.

    Parameters
    ----------
    estimator : estimator of lindero
        As for `save`.
    summary : dict, default=None
        What to note of the training.
    check : bool, default=True
        Whether to build the model from the bytes once, as `save` does, for an error now rather than
        when they are read. That is most of the work.

    Returns
    -------
    contents : bytes

    See Also
    --------
    from_bytes : Reads them.
    """
    return _pack(estimator, summary, check)


def from_bytes(contents: bytes) -> Any:
    """The estimator that `to_bytes` has written. As safe as `load`.

    Parameters
    ----------
    contents : bytes

    Returns
    -------
    estimator : object

    Raises
    ------
    ModelFileError
        If they are no model of lindero, or damaged.

    See Also
    --------
    to_bytes : Writes them.
    """
    with _name_in_errors("<bytes>"):
        found = unpack_bytes(contents)
        return _build(found.document, found.arrays)


def inspect(path: str | os.PathLike[Any]) -> ModelInfo:
    """What a model file says of itself, found without building the model.

    Parameters
    ----------
    path : str or path-like
        The file. Its hash is checked; the state of the model is not.

    Returns
    -------
    info : ModelInfo

    Raises
    ------
    ModelFileError
        If the file is none of lindero's, or damaged.

    See Also
    --------
    load : Build the model.
    save : Write such a file.
    """
    with _name_in_errors(path):
        return _describe(unpack(path))


@contextmanager
def _name_in_errors(path: str | os.PathLike[Any]) -> Iterator[None]:
    """Errors about what is in a file that name it. Whatever it makes the classes say that are
    built from it is an error of the file as well."""
    name = os.fsdecode(path)
    try:
        yield
    except NewerFormatError as error:
        raise NewerFormatError(f"{name}: {error}", name) from None
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}", name) from None
    except OSError:
        raise
    except Exception as error:
        message = f"{name}: its contents make no model ({type(error).__name__}: {error})"[:500]
        raise ModelFileError(message, name) from error


def _is_model(kind: Kind | None) -> bool:
    return isinstance(kind, EstimatorKind) or (kind is not None and kind.name in _HOLDERS)


def _take_apart(estimator: Any) -> list[Any]:
    """The steps before a machine and the machine, whatever they are in."""
    kind = kind_of(estimator)
    name = "" if kind is None else kind.name
    if name == "sklearn.Pipeline":
        return [*(step for _, step in estimator.steps[:-1]), *_take_apart(estimator.steps[-1][1])]
    inner = None
    if name in _DECIDERS:
        assert kind is not None
        state = kind.state(estimator)
        inner = state.get("machine", state.get("estimator_", estimator.estimator))
    return [estimator] if inner is None else _take_apart(inner)


def _pack(estimator: Any, summary: dict[str, Any] | None, check: bool = True) -> bytes:
    """The bytes of the file of an estimator; with `check`, read back once."""
    kind = kind_of(estimator)
    if not _is_model(kind):
        name = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
        raise TypeError(
            f"A model file holds estimators of lindero, alone, in a pipeline or calibrated, but "
            f"this is a {name}."
        )
    estimator, writer = bring_to_cpu(estimator), ValueWriter()
    entry = writer.entry(estimator, "")
    parts = _take_apart(estimator)
    document = {
        "lindero": __version__,
        "estimator": entry,
        "input": _describe_input(parts[0]),
        "summary": {
            **_describe_training(parts[-1]),
            **tell_decisions(estimator),
            **_check_notes(summary),
        },
        "objects": writer.objects,
        "arrays": writer.array_entries,
    }
    try:
        # Arrays are those of the estimator itself, which nothing must change.
        if check:
            _build(document, [array.copy() for array in writer.arrays])
    except ModelFileError as error:
        raise TypeError(
            f"This model cannot be saved, since it could not be loaded again: {error} Was it "
            "changed by hand after it was fitted?"
        ) from error
    return pack(document, writer.arrays)


def _check_notes(summary: dict[str, Any] | None) -> dict[str, Any]:
    """A user's own notes, if JSON can hold them."""
    if summary is None:
        return {}
    if not isinstance(summary, dict):
        raise TypeError(f"summary must be a dict, not a {type(summary).__name__}.")
    _require_plain(summary, "summary", 0)
    return summary


def _require_plain(value: Any, where: str, depth: int) -> None:
    if depth > 8:
        raise TypeError(f"{where} is nested too deep for a note.")
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise TypeError(f"{where} has the name {name!r}: names must be text.")
            _require_plain(item, f"{where}[{name!r}]", depth + 1)
    elif isinstance(value, (list, tuple)):
        for k, item in enumerate(value):
            _require_plain(item, f"{where}[{k}]", depth + 1)
    elif value is not None and not _is_plain(value):
        raise TypeError(
            f"{where} is {value!r}: a note is text, a finite number, true or false, or a list of "
            "these."
        )


def _is_plain(value: Any) -> bool:
    """Whether JSON knows a value."""
    return type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


def _build(document: dict[str, Any], arrays: list[Array]) -> Any:
    """The estimator of a document and its arrays."""
    estimator = ValueReader(document, arrays).entry(document.get("estimator"))
    if not _is_model(kind_of(estimator)):
        raise ModelFileError("it does not hold an estimator.")
    return estimator


def _describe(contents: Contents) -> ModelInfo:
    document = contents.document
    entry, objects = document.get("estimator"), document.get("objects")
    if not isinstance(entry, dict) or not isinstance(objects, list):
        raise ModelFileError("its document has no estimator.")
    entry, encoded = _find_machine(entry, objects)
    parameters, kind = entry.get("parameters"), entry.get("kind")
    parts = (parameters, document.get("input"), document.get("summary"))
    if not all(isinstance(part, dict) for part in parts) or not isinstance(kind, str):
        raise ModelFileError("its document does not describe an estimator.")
    _require_sound_input(document["input"])
    return ModelInfo(
        estimator=kind,
        parameters={str(name): _put_in_words(value) for name, value in (parameters or {}).items()},
        input=document["input"],
        summary=document["summary"],
        encoded=encoded,
        lindero_version=str(document.get("lindero"))[:40],
        format_version=contents.format_version,
        sha256=contents.sha256,
        n_bytes=contents.n_bytes,
        n_arrays=len(contents.arrays),
        n_objects=len(objects),
    )


def _require_sound_input(described: dict[str, Any]) -> None:
    """Refuse a description of columns that `save` cannot have written."""
    width, names, columns = (described.get(name) for name in ("n_features", "names", "columns"))
    sound = (
        (width is None or type(width) is int)
        and (names is None or (isinstance(names, list) and all(type(n) is str for n in names)))
        and (columns is None or (isinstance(columns, list) and all(map(_is_column, columns))))
    )
    if not sound:
        raise ModelFileError("its document does not describe the columns of a model.")


def _is_column(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and type(entry.get("name")) in (str, type(None))
        and type(entry.get("kind")) is str
        and type(entry.get("n_values")) is int
    )


def _find_machine(entry: dict[str, Any], objects: list[Any]) -> tuple[dict[str, Any], bool]:
    """The entry of the machine, whatever it is in, and whether a table encoder is before it."""
    encoded = False
    for _ in range(_MOST_INSIDE):
        fields = entry.get("fields", entry.get("state"))
        fields = fields if isinstance(fields, dict) else {}
        parameters = entry.get("parameters")
        parameters = parameters if isinstance(parameters, dict) else {}
        if entry.get("kind") == "sklearn.Pipeline":
            encoded = encoded or "table" in fields
            place = fields.get("machine", _find_last(fields.get("steps")))
        elif entry.get("kind") == "sklearn.CalibratedClassifierCV":
            place = fields.get("machine", fields.get("estimator"))
        elif entry.get("kind") == "evaluation.DecisionClassifier":
            place = fields.get("estimator_", parameters.get("estimator"))
            if place is None:
                return entry, encoded
        else:
            return entry, encoded
        number: Any = place.get("object") if isinstance(place, dict) else None
        inside = type(number) is int and 0 <= number < len(objects)
        if not inside or not isinstance(objects[number], dict):
            raise ModelFileError("its pipeline has no machine.")
        entry = objects[number]
    raise ModelFileError("it holds machines inside of machines.")


def _find_last(steps: Any) -> Any:
    """Where the last step of a pipeline is."""
    last = steps[-1] if isinstance(steps, list) and steps else None
    pair = last.get("tuple") if isinstance(last, dict) else None
    return pair[-1] if isinstance(pair, list) and pair else None


def _put_in_words(value: Any) -> Any:
    """A parameter as it is, where JSON knows it; otherwise what kind of thing it is."""
    if isinstance(value, list):
        return [_put_in_words(item) for item in value[:100]]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "nothing")
    listed = tag in ("tuple", "dict") and isinstance(value[tag], list)
    return _put_in_words(value[tag]) if listed else f"<{tag}>"


# -- what files say of themselves ------------------------------------------------------------------


def _describe_input(estimator: Any) -> dict[str, Any]:
    """The columns that a model takes."""
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "n_features": getattr(estimator, "n_features_in_", None),
        "names": None if names is None else [str(name) for name in names],
        "columns": _describe_columns(estimator),
    }


def _describe_columns(estimator: Any) -> list[dict[str, Any]] | None:
    if hasattr(estimator, "kinds_"):
        kinds, values = estimator.kinds_, estimator.categories_
        names = getattr(estimator, "feature_names_in_", [None] * len(kinds))
        columns = list(zip(names, kinds, map(len, values), strict=True))
    else:
        attributes = vars(estimator).get("_attributes")
        if attributes is None:
            return None
        columns = [(c.name, c.kind, len(c.values)) for c in attributes.schema.columns]
    return [
        {"name": None if name is None else str(name), "kind": kind, "n_values": count}
        for name, kind, count in columns
    ]


def _describe_training(estimator: Any) -> dict[str, Any]:
    """What is known of how a model was trained."""
    summary: dict[str, Any] = {"fitted": hasattr(estimator, "n_features_in_")}
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        labels = np.asarray(classes).tolist()
        summary["classes"] = [x if x is None or _is_plain(x) else str(x) for x in labels]
    if summary["fitted"] and hasattr(estimator, "shape_fit_"):
        summary["n_samples"] = int(estimator.shape_fit_[0])
    if "certificate_" in vars(estimator):
        summary["status"] = estimator.certificate_.status
    stream = vars(estimator).get("_stream")
    if stream is not None:
        summary.update(_describe_stream(stream))
    return summary


def _describe_stream(stream: Any) -> dict[str, Any]:
    """How far a stream has come, how fast it changes now, and when it changed."""
    speed = {"coupling": stream.coupling, "C": stream.C}
    changes = stream.tell_history().changes
    return {
        "n_samples": stream.n_rows,
        "stream": {
            **{name: value for name, value in speed.items() if math.isfinite(value)},
            "n_changes": len(changes),
            "last_change": changes[-1].row if changes else None,
        },
    }


def tell_decisions(estimator: Any) -> dict[str, Any]:
    """How a model comes to probabilities and answers, where that is not as its machine has it."""
    kind = kind_of(estimator)
    if kind is None or kind.name not in _DECIDERS:
        return {}
    state = kind.state(estimator)
    if "curves" in state:
        return {"calibration": state["method"]}
    if "rule_" not in state:
        return {}
    told: dict[str, Any] = {"rule": state["rule_"]}
    if state["curve_"] is not None:
        two = int(state["curve_"].seen.sum()) == 2
        told["calibration"] = "sigmoid" if two else "temperature"
    if state["threshold_"] is not None:
        told["threshold"] = float(state["threshold_"])
    if state["costs_"] is not None:
        told["costs"] = state["costs_"].tolist()
    if state["reason_"]:
        told["reason"] = state["reason_"]
    return told
