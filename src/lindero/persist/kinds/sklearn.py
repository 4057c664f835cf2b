"""What model files hold of pipelines: a table encoder before a machine; and splitters of folds."""

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


def _pipeline_state(pipeline: Any) -> dict[str, Any]:
    if [name for name, _ in pipeline.steps] != ["table", "machine"]:
        raise TypeError(
            "This model cannot be saved: a pipeline in a model file is ('table', TableEncoder()) "
            "and ('machine', an estimator of lindero). lindero.evaluation.make_machine builds it."
        )
    if pipeline.memory is not None:
        raise TypeError(
            "This model cannot be saved: memory of a pipeline is a place on this machine. Set it "
            "to None with set_params before saving."
        )
    (_, table), (_, machine) = pipeline.steps
    return {"table": table, "machine": machine, "verbose": bool(pipeline.verbose)}


def _check_pipeline(given: Fields) -> None:
    encoder = given.instance("table", "TableEncoder")
    machine = given.any("machine")
    given.flag("verbose")
    given.require("machine", hasattr(machine, "fit"), "must be an estimator")
    width = getattr(machine, "n_features_in_", None)
    fitted = hasattr(encoder, "n_features_in_")
    given.require("machine", fitted == (width is not None), "must be fitted as the encoder is")
    if fitted:
        n_columns = len(encoder.get_feature_names_out())
        given.require("machine", width == n_columns, "must take the columns of the encoder")


def _pipeline(kind: Any, values: dict[str, Any]) -> Any:
    steps = [("table", values["table"]), ("machine", values["machine"])]
    return kind(steps, verbose=values["verbose"])


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
    Kind("sklearn.Pipeline", "sklearn.pipeline:Pipeline", _check_pipeline, _pipeline_state,
         _pipeline),
    *map(_splitter, ("KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit",
                     "GroupKFold", "TimeSeriesSplit", "LeaveOneOut")),
)  # fmt: skip
