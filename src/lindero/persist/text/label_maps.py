"""Label maps: what the integers stand for that a file of LIBSVM has for labels.

A file of LIBSVM has integers for labels, and no comments. Other labels are written as 0, 1, 2, ...
and a file beside it says which is which: the path with ".labels" after it, in JSON,

    {"format": "lindero label map", "model_sha256": "...", "labels": [[0, "no"], [1, "yes"]]}

with the SHA-256 of the model that it belongs to, so that a map left over from another model is
noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np

from lindero.errors import ModelFileError, warn_user
from lindero.persist.text.lines import LARGEST_INDEX
from lindero.runtime.arrays import Array

_MAP_FORMAT = "lindero label map"
_MOST_MAP_BYTES = 2**26

#: An array of text is as wide as its longest: so many characters in all, at most.
_MOST_CHARACTERS = 2**24


def _are_integers(classes: Array) -> bool:
    """Whether labels are integers that LIBSVM can write, as integers or as floats."""
    if classes.dtype.kind not in "iuf":
        return False
    whole = np.round(classes)
    return bool((whole == classes).all() and (np.abs(whole) <= LARGEST_INDEX).all())


def code_labels(classes: Array) -> Array:
    """Labels as the integers that a file of LIBSVM holds: themselves, or else 0, 1, 2, ..."""
    return np.round(classes).astype(np.int64) if _are_integers(classes) else np.arange(len(classes))


def find_label_map(path: str | os.PathLike[Any]) -> str:
    """Where the label map of a model file is."""
    return os.fsdecode(path) + ".labels"


def needs_label_map(estimator: Any) -> bool:
    """Whether a fitted machine has labels that a file of LIBSVM cannot hold."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    classes = getattr(estimator, "classes_", None)
    return classes is not None and not _are_integers(np.asarray(classes))


def format_label_map(classes: Array, model: bytes) -> bytes:
    """The map of a model file with these contents."""
    plain = classes.tolist()
    if not all(isinstance(label, (str, bool, int, float)) for label in plain):
        raise ValueError(
            f"LIBSVM has integers for class labels, and a label map text and numbers, but this "
            f"model has {plain[0]!r}. Fit it on such labels."
        )
    content = {
        "format": _MAP_FORMAT,
        "model_sha256": hashlib.sha256(model).hexdigest(),
        "labels": [[code, label] for code, label in enumerate(plain)],
    }
    return (json.dumps(content, indent=1) + "\n").encode("ascii")


def read_label_map(path: str, model_path: str, codes: Array, must_fit: bool) -> Array | None:
    """The labels that codes stand for; None, with a warning, where the map is of another model."""

    def refuse(why: str) -> ModelFileError:
        return ModelFileError(f"{path} is no label map of {model_path}: {why}", path)

    with open(path, "rb") as file:
        data = file.read(_MOST_MAP_BYTES + 1)
    try:
        content: Any = json.loads(data) if len(data) <= _MOST_MAP_BYTES else None
        pairs: Any = content["labels"] if content["format"] == _MAP_FORMAT else None
        labels: dict[int, Any] = {int(code): label for code, label in pairs}
        digest = content["model_sha256"]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise refuse("it cannot be read as one.") from None
    kinds = {type(label) for label in labels.values()}
    if len(kinds) != 1 or not kinds <= {str, bool, int, float}:
        raise refuse("labels must be all text, or all numbers.")
    with open(model_path, "rb") as model:
        same = hashlib.file_digest(model, "sha256").hexdigest() == digest
    if not same and not must_fit:
        warn_user(
            f"{path} belongs to another model than {model_path}, and is ignored: classes keep "
            "their numbers.",
            UserWarning,
        )
        return None
    if set(labels) != set(codes.tolist()) or len(set(labels.values())) < len(labels):
        raise refuse(f"the model has the classes {codes.tolist()[:5]}, and it has others.")
    longest = max(len(label) if isinstance(label, str) else 1 for label in labels.values())
    if longest * len(labels) > _MOST_CHARACTERS:
        raise refuse(f"a label of {longest} characters is too long.")
    found = np.array([labels[code] for code in codes.tolist()])
    if found.dtype.kind == "O" or (found.dtype.kind == "f" and not np.isfinite(found).all()):
        raise refuse("labels that are numbers must be finite, and fit into 64 bits.")
    # All different, also where NumPy keeps no zero characters at the end of a text.
    if (found[:-1] >= found[1:]).any():
        raise refuse("labels must be in the order of their numbers.")
    return found
