"""What model files hold of table encoders, and of splitters of folds."""

from __future__ import annotations

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
    for kind, values in zip(kinds, given.items("categories_", list, width, list), strict=True):
        check_column(Fields(given.kind, {"name": None, "kind": kind, "values": tuple(values)}))
    mean, scale = given.array("mean_", "float64", width), given.array("scale_", "float64", width)
    finite = bool(np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0.0).all())
    given.require("scale_", finite, "must be finite and positive")
    given.array("indicated_", "bool", width)


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
