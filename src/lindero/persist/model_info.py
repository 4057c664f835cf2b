"""What a model file says of itself, for people and programs that do not need the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


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
        What was noted of the training: "fitted", "classes", "n_samples" and "status" where they
        are known, and what was passed to `save`.
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
            f"input      {_input_words(self.input)}",
            *(f"{name:<10} {value}" for name, value in self.summary.items()),
            f"written by lindero {self.lindero_version}, format {self.format_version}",
            f"size       {self.n_bytes} bytes, {self.n_arrays} arrays",
            f"sha256     {self.sha256}",
        ]
        return "\n".join(lines)


def _input_words(described: dict[str, Any]) -> str:
    n_features, names = described.get("n_features"), described.get("names")
    if n_features is None:
        return "not fitted"
    return f"{n_features} features" + (f": {', '.join(map(str, names[:8]))}" if names else "")


def described_input(estimator: Any) -> dict[str, Any]:
    """The columns that a model takes."""
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "n_features": getattr(estimator, "n_features_in_", None),
        "names": None if names is None else [str(name) for name in names],
        "columns": _columns(estimator),
    }


def _columns(estimator: Any) -> list[dict[str, Any]] | None:
    if hasattr(estimator, "kinds_"):
        kinds, values = estimator.kinds_, estimator.categories_
        names = getattr(estimator, "feature_names_in_", [None] * len(kinds))
        described = zip(names, kinds, map(len, values), strict=True)
    elif hasattr(estimator, "_attributes"):
        columns = estimator._attributes.schema.columns
        described = ((c.name, c.kind, len(c.values)) for c in columns)  # type: ignore[assignment]
    else:
        return None
    return [
        {"name": None if name is None else str(name), "kind": kind, "n_values": count}
        for name, kind, count in described
    ]


def described_training(estimator: Any) -> dict[str, Any]:
    """What is known of how a model was trained."""
    summary: dict[str, Any] = {"fitted": described_input(estimator)["n_features"] is not None}
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        summary["classes"] = [plain(label) for label in np.asarray(classes).tolist()]
    if summary["fitted"] and hasattr(estimator, "shape_fit_"):
        summary["n_samples"] = int(estimator.shape_fit_[0])
    if "certificate_" in vars(estimator):
        summary["status"] = estimator.certificate_.status
    return summary


def plain(value: Any) -> Any:
    """A value that JSON knows: itself, or in words."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return value if isinstance(value, float) and np.isfinite(value) else str(value)
