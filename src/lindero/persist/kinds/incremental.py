"""Model files of machines that learn and forget sample by sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.persist.fields import Fields
from lindero.persist.kinds.active_set import own_state
from lindero.persist.kinds.svm import check_classes, check_width
from lindero.persist.registry import MOST_OBJECTS, EstimatorKind, Kind
from lindero.svm.incremental.estimator import adopt_state, state_of

# -- samples and updates --------------------------------------------------------------------------


def _check_samples(given: Fields) -> None:
    next_id = given.integer("next_id")
    ids = given.array("_ids", "int64", "slots", least=0, below=max(next_id, 1))
    given.require("_ids", bool((np.diff(ids) > 0).all()), "must rise")
    given.array("_targets", "float64", "slots")
    given.array("_factors", "float64", "slots", least=0.0)
    given.array("_alive", "bool", "slots")


def _check_log(given: Fields) -> None:
    for name, most in (("_kinds", 3), ("_batch", 2)):
        given.array(name, "int8", "updates", least=0, below=most)
    for name in ("_ids", "_steps", "_changes"):
        given.array(name, "int64", "updates", least=0)


# -- estimators -----------------------------------------------------------------------------------


def _check_machine(given: Fields, per_sample: int = 1) -> Any:
    width = check_width(given)
    for name in ("_fitted_C", "_fitted_epsilon", "_fitted_nu"):
        if name in given:
            given.number(name)
    function = given.instance("_function", "KernelFunction")
    given.number("_gamma")
    given.number("_seconds")
    given.optional("_fitted_window", given.integer, 2)
    point = given.instance("_engine", "ActiveSet").point
    samples = given.instance("_samples", "HeldSamples")
    given.instance("_updates", "UpdateLog")
    sound = (
        point.per_sample == per_sample
        and point.kernel.n_features == width
        and point.kernel.function == function
        and point.n_samples == samples.n_slots > 0
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
    _check_machine(given, per_sample=2)


def _check_novelty(given: Fields) -> None:
    _check_machine(given)


def _check_coding(given: Fields) -> None:
    classes = given.any("classes")
    check_classes(Fields(given.kind, {"classes_": classes}), least=1, most=2)
    given.flag("declared")


_HOME = "lindero.svm.incremental"


def _of_svm(name: str, module: str, check: Any) -> EstimatorKind:
    home = f"{_HOME}.{module}:{name}"
    return EstimatorKind(f"svm.{name}", home, check, state=state_of, adopt=adopt_state)


KINDS: tuple[Kind, ...] = (
    own_state("HeldSamples", f"{_HOME}.machine:HeldSamples", _check_samples, MOST_OBJECTS),
    own_state("UpdateLog", f"{_HOME}.machine:UpdateLog", _check_log, MOST_OBJECTS),
    Kind("LabelCoding", f"{_HOME}.svc:LabelCoding", _check_coding),
    _of_svm("IncrementalSVC", "svc", _check_classifier),
    _of_svm("IncrementalSVR", "svr", _check_regressor),
    _of_svm("IncrementalOneClassSVM", "one_class", _check_novelty),
)
