"""What model files hold of table encoders, and of splitters of folds."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from lindero.persist.fields import Fields
from lindero.persist.kinds.counts import check_column
from lindero.persist.kinds.svm import check_width
from lindero.persist.registry import EstimatorKind, Kind


def _check_encoder(given: Fields) -> None:
    width = check_width(given)
    given.text("form_", ("table", "sparse"))
    kinds = given.items("kinds_", list, width, str)
    details = given.items("details_", list, width, dict) if "details_" in given else [{}] * width
    categories = given.items("categories_", list, width, list)
    for kind, values, detail in zip(kinds, categories, details, strict=True):
        if kind in ("text", "date"):
            _check_detail(Fields(given.kind, detail), kind)
            kind = "left out"
        else:
            given.require("details_", not detail, "are for texts and dates")
        check_column(Fields(given.kind, {"name": None, "kind": kind, "values": tuple(values)}))
    if "others_" in given:
        others = given.items("others_", list, width)
        fits = all(
            other is None or (isinstance(other, str) and other in values)
            for other, values in zip(others, categories, strict=True)
        )
        given.require("others_", fits, "must be values of their columns")
    mean, scale = given.array("mean_", "float64", width), given.array("scale_", "float64", width)
    finite = bool(np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0.0).all())
    given.require("scale_", finite, "must be finite and positive")
    given.array("indicated_", "bool", width)


def _check_detail(given: Fields, kind: str) -> None:
    """How a column of texts or dates becomes numbers."""
    if kind == "text":
        width = given.integer("n_columns", 1, 2**16)
        given.array("weight", "float64", width, least=0.0, finite=True)
        return
    given.text("form")
    start = given.text("start")
    parts = given.items("parts", list, None, str)
    known = ("year", "month", "weekday", "hour", "days")
    sound = len(set(parts)) == len(parts) and set(parts) <= set(known)
    given.require("parts", sound, "must be parts of a date")
    for name in ("mean", "scale"):
        numbers = given.items(name, list, len(parts), float)
        above = name == "mean" or all(value > 0.0 for value in numbers)
        given.require(name, above and bool(np.isfinite(numbers).all()), "must be finite")
    try:
        sound = not start or bool(datetime.datetime.fromisoformat(start))
    except ValueError:
        sound = False
    given.require("start", sound and (bool(start) or not {*parts} - {"hour"}), "must be a date")


def _check_splitter(given: Fields) -> None:
    """Its constructor says what is wrong with it."""
    for name in _SPLITTER_FIELDS:
        if name in given:
            given.any(name)


_SPLITTER_FIELDS = (
    "n_splits", "shuffle", "random_state", "test_size", "train_size", "max_train_size", "gap",
)  # fmt: skip


def _splitter_state(splitter: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(splitter).items() if name in _SPLITTER_FIELDS}


def _splitter(name: str) -> Kind:
    home = f"sklearn.model_selection._split:{name}"
    return Kind(f"sklearn.{name}", home, _check_splitter, _splitter_state)


KINDS: tuple[Kind, ...] = (
    EstimatorKind(
        "machines.TableEncoder", "lindero.evaluation.encoder:TableEncoder", _check_encoder
    ),
    *map(_splitter, ("KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit",
                     "GroupKFold", "TimeSeriesSplit", "LeaveOneOut")),
)  # fmt: skip
