"""Model files of machines that learn and forget sample by sample."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from lindero.persist.fields import Fields
from lindero.persist.kinds.svm import check_classes, check_width
from lindero.persist.registry import EstimatorKind, Kind, estimator_state, set_state
from lindero.svm.held_machine import _View
from lindero.svm.held_samples import HeldSamples
from lindero.svm.update_log import UpdateLog

# -- samples and updates --------------------------------------------------------------------------


def _samples_state(samples: HeldSamples) -> dict[str, Any]:
    used = slice(0, samples.n_slots)
    names = ("_ids", "_targets", "_factors", "_alive")
    return {"next_id": samples.next_id, **{name: getattr(samples, name)[used] for name in names}}


def _check_samples(given: Fields) -> None:
    next_id = given.integer("next_id")
    ids = given.array("_ids", "int64", "slots", least=0, below=max(next_id, 1))
    given.require("_ids", bool((np.diff(ids) > 0).all()), "must rise")
    given.array("_targets", "float64", "slots")
    given.array("_factors", "float64", "slots", least=0.0)
    given.array("_alive", "bool", "slots")


def _samples(kind: Any, values: dict[str, Any]) -> HeldSamples:
    samples = HeldSamples()
    # Arrays of their own: what is checked elsewhere must not change with them.
    copies = {name: value.copy() for name, value in values.items() if name != "next_id"}
    vars(samples).update(copies, next_id=values["next_id"])
    samples.n_slots = len(values["_ids"])
    samples.remember()
    return samples


_COLUMNS = {"_kinds": "b", "_batch": "b", "_ids": "q", "_steps": "q", "_changes": "q"}


def _log_state(log: UpdateLog) -> dict[str, Any]:
    return {name: np.array(getattr(log, name)) for name in _COLUMNS}


def _check_log(given: Fields) -> None:
    for name, code in _COLUMNS.items():
        most = {"_kinds": 3, "_batch": 2}.get(name)
        given.array(name, np.dtype(code).name, "updates", least=0, below=most)


def _log(kind: Any, values: dict[str, Any]) -> UpdateLog:
    log = UpdateLog()
    for name, code in _COLUMNS.items():
        setattr(log, name, array(code, values[name].tobytes()))
    return log


# -- estimators -----------------------------------------------------------------------------------


def _state(estimator: Any) -> dict[str, Any]:
    """Without what has been looked at since the last update, which is found again."""
    return {name: value for name, value in estimator_state(estimator).items() if name != "_view"}


def _adopt(estimator: Any, values: dict[str, Any]) -> None:
    set_state(estimator, values)
    if values:
        estimator._view = _View()


def _check_machine(given: Fields) -> Any:
    width = check_width(given)
    for name in ("_fitted_C", "_fitted_epsilon", "_fitted_nu"):
        if name in given:
            given.number(name)
    function = given.instance("_function", "KernelFunction")
    given.number("_gamma")
    given.number("_seconds")
    given.optional("_fitted_window", given.integer, 2)
    engine, samples = (
        given.instance("_engine", "ActiveSet"),
        given.instance("_samples", "HeldSamples"),
    )
    given.instance("_updates", "UpdateLog")
    sound = (
        engine.per_sample == given.owner._per_sample
        and engine.kernel._n_features == width
        and engine.kernel.function == function
        and engine.n_samples == samples.n_slots > 0
    )
    given.require("_engine", sound, "must be of the samples held")
    return samples


def _check_classifier(given: Fields) -> None:
    samples = _check_machine(given)
    n_classes = check_classes(given, least=1, most=2)
    coding = given.instance("_coding", "LabelCoding")
    given.require("_coding", len(coding.classes) == n_classes, "must know the same classes")
    given.items("_fitted_costs", tuple, 3)
    for values in given.items("_terms", tuple, 2, np.ndarray):
        Fields(given.kind, {"_terms": values}).array("_terms", "float64", 2)
    coded = np.isin(samples.targets, (0.0, 1.0)[:n_classes]).all()
    given.require("_samples", bool(coded), "must have targets 0 and 1")


def _check_regressor(given: Fields) -> None:
    _check_machine(given)


def _check_coding(given: Fields) -> None:
    classes = given.any("classes")
    check_classes(Fields(given.kind, {"classes_": classes}), least=1, most=2)
    given.flag("declared")


def _of_svm(name: str, module: str, check: Any) -> EstimatorKind:
    home = f"lindero.svm.{module}:{name}"
    return EstimatorKind(f"svm.{name}", home, check, state=_state, adopt=_adopt)


KINDS: tuple[Kind, ...] = (
    Kind("HeldSamples", "lindero.svm.held_samples:HeldSamples", _check_samples,
         _samples_state, _samples),
    Kind("UpdateLog", "lindero.svm.update_log:UpdateLog", _check_log, _log_state, _log),
    Kind("LabelCoding", "lindero.svm.label_coding:LabelCoding", _check_coding),
    _of_svm("IncrementalSVC", "incremental_svc", _check_classifier),
    _of_svm("IncrementalSVR", "incremental_svr", _check_regressor),
    _of_svm("IncrementalOneClassSVM", "incremental_one_class", _check_regressor),
)  # fmt: skip
