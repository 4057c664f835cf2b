"""Model files of machines that learn and forget sample by sample."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lindero.persist.fields import Fields
from lindero.persist.kinds.svm import check_classes, check_width
from lindero.persist.registry import Kind, of_lindero
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
    given.where_given(("_fitted_C", "_fitted_epsilon", "_fitted_nu"), given.number)
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


def _check_coding(given: Fields) -> None:
    classes = given.any("classes")
    check_classes(Fields(given.kind, {"classes_": classes}), least=1, most=2)
    given.flag("declared")


_of_machine = partial(of_lindero, state=state_of, adopt=adopt_state)

KINDS: tuple[Kind, ...] = (
    Kind("HeldSamples", "lindero.svm.incremental.machine:HeldSamples", _check_samples),
    Kind("UpdateLog", "lindero.svm.incremental.machine:UpdateLog", _check_log),
    Kind("LabelCoding", "lindero.svm.incremental.svc:LabelCoding", _check_coding),
    _of_machine("svm.IncrementalSVC", "incremental.svc", _check_classifier),
    _of_machine("svm.IncrementalSVR", "incremental.svr", _check_regressor),
    _of_machine("svm.IncrementalOneClassSVM", "incremental.one_class", _check_machine),
)
