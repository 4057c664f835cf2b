"""Models of lindero in files of its own: safetensors and JSON, no code.

A file holds the parameters and the fitted state of an estimator, also in the middle of a stream.
Nothing in it is executed or looked up by name outside lindero's own list (`registry`), and nothing
is believed before it is checked. Before a file is written, it is read back from memory, so that
none is written that cannot be loaded.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lindero import __version__
from lindero.errors import ModelFileError, NewerFormatError
from lindero.persist.container import Contents, packed, unpacked
from lindero.persist.kinds import EstimatorKind
from lindero.persist.model_info import ModelInfo, described_input, described_training
from lindero.persist.registry import kind_of
from lindero.persist.safe_file import write_whole_bytes
from lindero.persist.value_reader import ValueReader
from lindero.persist.value_writer import ValueWriter

_PIPELINE = "sklearn.Pipeline"


def save(
    estimator: Any, path: str | os.PathLike[Any], *, summary: dict[str, Any] | None = None
) -> None:
    """Write an estimator, fitted or not, to a file that `load` reads.

    The file is written beside `path` first and then takes its place, so that whatever happens,
    there is the old file or the new one, whole.

    Parameters
    ----------
    estimator : estimator of lindero
        Any of `lindero.svm` and `lindero.bayes` in any state; or a pipeline of ("table",
        lindero.evaluation.TableEncoder) and ("machine", one of these).
    path : str or path-like
        The file; ``.lin`` is the usual ending.
    summary : dict, default=None
        What to note of the training beside what is known anyway: text, numbers and lists, under
        names.

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
    write_whole_bytes(path, _packed(estimator, summary))


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
    """
    with _about(path):
        return _built(unpacked(path))


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
    """
    with _about(path):
        return _described(unpacked(path))


@contextmanager
def _about(path: str | os.PathLike[Any]) -> Iterator[None]:
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
        message = f"{name}: what it holds makes no model ({type(error).__name__}: {error})"[:500]
        raise ModelFileError(message, name) from error


def _packed(estimator: Any, summary: dict[str, Any] | None) -> bytes:
    """The bytes of the file of an estimator."""
    kind = kind_of(estimator)
    if kind is None or not (isinstance(kind, EstimatorKind) or kind.name == _PIPELINE):
        name = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
        raise TypeError(
            f"A model file holds estimators of lindero, alone or behind a TableEncoder in a "
            f"pipeline, but this is a {name}."
        )
    writer = ValueWriter()
    entry = writer.entry(estimator, "")
    machine = estimator.steps[-1][1] if kind.name == _PIPELINE else estimator
    first = estimator.steps[0][1] if kind.name == _PIPELINE else estimator
    document = {
        "lindero": __version__,
        "estimator": entry,
        "input": described_input(first),
        "summary": {**described_training(machine), **_noted(summary)},
        "objects": writer.objects,
        "arrays": writer.array_entries,
    }
    _require_readable(document, writer)
    return packed(document, writer.arrays)


def _require_readable(document: dict[str, Any], writer: ValueWriter) -> None:
    """Refuse a model that its own file would not give back."""
    try:
        # Arrays are those of the estimator itself: they are looked at, and copied where changed.
        _built(Contents(document, [array.copy() for array in writer.arrays], "", 0))
    except ModelFileError as error:
        raise TypeError(
            f"This model cannot be saved, since it could not be loaded again: {error} Was it "
            "changed by hand after it was fitted?"
        ) from error


def _noted(summary: dict[str, Any] | None) -> dict[str, Any]:
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
    elif not (type(value) in (bool, int, str, type(None)) or _is_finite(value)):
        raise TypeError(
            f"{where} is {value!r}: a note is text, a finite number, true or false, or a list of "
            "these."
        )


def _is_finite(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _built(contents: Contents) -> Any:
    """The estimator of a document and its arrays."""
    document = contents.document
    reader = ValueReader(document, contents.arrays)
    estimator = reader.entry(document.get("estimator"))
    kind = kind_of(estimator)
    if kind is None or not (isinstance(kind, EstimatorKind) or kind.name == _PIPELINE):
        raise ModelFileError("what it holds is no estimator.")
    return estimator


def _described(contents: Contents) -> ModelInfo:
    document = contents.document
    entry, objects = document.get("estimator"), document.get("objects")
    if not isinstance(entry, dict) or not isinstance(objects, list):
        raise ModelFileError("its document has no estimator.")
    encoded = entry.get("kind") == _PIPELINE
    if encoded:
        entry = _machine_entry(entry, objects)
    parameters, kind = entry.get("parameters"), entry.get("kind")
    parts = (parameters, document.get("input"), document.get("summary"))
    version = document.get("lindero")
    if not all(isinstance(part, dict) for part in parts) or not isinstance(kind, str):
        raise ModelFileError("its document does not describe an estimator.")
    return ModelInfo(
        estimator=kind,
        parameters={str(name): _in_words(value) for name, value in (parameters or {}).items()},
        input=document["input"],
        summary=document["summary"],
        encoded=encoded,
        lindero_version=str(version)[:40],
        format_version=contents.format_version,
        sha256=contents.sha256,
        n_bytes=contents.n_bytes,
        n_arrays=len(contents.arrays),
        n_objects=len(objects),
    )


def _machine_entry(entry: dict[str, Any], objects: list[Any]) -> dict[str, Any]:
    fields = entry.get("fields")
    place = fields.get("machine") if isinstance(fields, dict) else None
    number = place.get("object") if isinstance(place, dict) else None
    if type(number) is not int or not 0 <= number < len(objects):
        raise ModelFileError("its pipeline has no machine.")
    machine = objects[number]
    if not isinstance(machine, dict):
        raise ModelFileError("its pipeline has no machine.")
    return machine


def _in_words(value: Any) -> Any:
    """A parameter as it is, where JSON knows it; otherwise what kind of thing it is."""
    if not isinstance(value, (dict, list)):
        return value
    if isinstance(value, list):
        return [_in_words(item) for item in value[:100]]
    tag = next(iter(value), "nothing")
    if tag in ("tuple", "dict") and isinstance(value[tag], list):
        return [_in_words(item) for item in value[tag][:100]]
    return f"<{tag}>"
