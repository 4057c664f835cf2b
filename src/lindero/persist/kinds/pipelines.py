"""What model files hold of machines inside others: pipelines of known parts, calibrated machines,
and machines that decide by probabilities.

Of scikit-learn's own parts only plain numbers and texts are stored, and parts are built from these
anew; what cannot be put so, such as functions, is refused when it is saved.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lindero.persist.fields import LABELS, Fields
from lindero.persist.kinds.svm import check_classes, check_width
from lindero.persist.kinds.transformers import (
    TRANSFORMERS,
    adopt_names,
    count_columns,
    list_transformers,
    names_of,
    refuse_save,
)
from lindero.persist.registry import EstimatorKind, Kind

#: Steps of a pipeline.
_MOST_STEPS = 100

_METHODS = ("sigmoid", "isotonic", "temperature")


# -- pipelines ------------------------------------------------------------------------------------


def _is_usual(pipeline: Any) -> bool:
    """Whether it is one of `lindero.evaluation.make_machine`, which has fields of its own."""
    return [name for name, _ in pipeline.steps] == ["table", "machine"] and (
        type(pipeline.steps[0][1]).__name__ == "TableEncoder"
    )


def _pipeline_state(pipeline: Any) -> dict[str, Any]:
    if pipeline.memory is not None:
        refuse_save(
            "memory of a pipeline is a place on this machine. Set it to None with set_params "
            "before saving"
        )
    verbose = bool(pipeline.verbose)
    if _is_usual(pipeline):
        (_, table), (_, machine) = pipeline.steps
        return {"table": table, "machine": machine, "verbose": verbose}
    others = [step for step in pipeline.steps[:-1] if type(step[1]).__name__ not in TRANSFORMERS]
    if others or len(pipeline.steps) < 2:
        what = f"{others[0][0]!r} is another" if others else "it has no such step"
        refuse_save(
            f"steps of a pipeline before the machine are a {list_transformers()}, and {what}. "
            "lindero.evaluation.make_machine builds one"
        )
    return {"steps": [tuple(step) for step in pipeline.steps], "verbose": verbose}


def _check_pipeline(given: Fields) -> None:
    given.flag("verbose")
    if "steps" in given:
        _check_steps(given)
        return
    encoder = given.instance("table", "TableEncoder")
    machine = given.any("machine")
    given.require("machine", hasattr(machine, "fit"), "must be an estimator")
    width = getattr(machine, "n_features_in_", None)
    fitted = hasattr(encoder, "n_features_in_")
    given.require("machine", fitted == (width is not None), "must be fitted as the encoder is")
    if fitted:
        n_columns = len(encoder.get_feature_names_out())
        given.require("machine", width == n_columns, "must take the columns of the encoder")


def _check_steps(given: Fields) -> None:
    steps = given.items("steps", list, None, tuple)
    sound = 2 <= len(steps) <= _MOST_STEPS and all(
        len(step) == 2 and isinstance(step[0], str) for step in steps
    )
    given.require("steps", sound, "must be pairs of names and estimators")
    names, parts = [step[0] for step in steps], [step[1] for step in steps]
    plain = all(name and "__" not in name and name not in ("steps", "memory") for name in names)
    given.require("steps", plain and len(set(names)) == len(names), "must have names of their own")
    kinds = [type(part).__name__ for part in parts]
    given.require("steps", set(kinds[:-1]) <= set(TRANSFORMERS), "must be of known kinds")
    last = hasattr(parts[-1], "fit") and hasattr(parts[-1], "predict")
    given.require(
        "steps", last and "transform" not in dir(type(parts[-1])), "must end in a machine"
    )
    widths = [getattr(part, "n_features_in_", None) for part in parts]
    fitted = [width is not None for width in widths]
    given.require("steps", all(fitted) or not any(fitted), "must be fitted, all or none")
    if all(fitted):
        made = [count_columns(part) for part in parts[:-1]]
        given.require("steps", made == widths[1:], "must take the columns of the step before")


def _pipeline(kind: Any, values: dict[str, Any]) -> Any:
    if "steps" in values:
        return kind(list(values["steps"]), verbose=values["verbose"])
    steps = [("table", values["table"]), ("machine", values["machine"])]
    return kind(steps, verbose=values["verbose"])


# -- calibrated machines --------------------------------------------------------------------------


def _calibrated_state(model: Any) -> dict[str, Any]:
    if model.ensemble is not False:
        refuse_save(
            "a calibrated machine in a file is one of lindero.svm.calibrate: use ensemble=False"
        )
    state = {"estimator": model.estimator, "method": model.method, "cv": model.cv}
    if hasattr(model, "calibrated_classifiers_"):
        (inner,) = model.calibrated_classifiers_
        take = {"sigmoid": _take_sigmoid, "isotonic": _take_steps, "temperature": _take_slope}
        curves = [take[model.method](curve) for curve in inner.calibrators]
        state |= {
            "machine": inner.estimator,
            "classes": model.classes_,
            "curves": curves,
            **names_of(model),
        }
    return state


def _take_sigmoid(curve: Any) -> Any:
    return np.array([curve.a_, curve.b_], dtype=np.float64)


def _take_slope(curve: Any) -> Any:
    return np.array([curve.beta_], dtype=np.float64)


def _take_steps(curve: Any) -> Any:
    return np.array([curve.X_thresholds_, curve.y_thresholds_], dtype=np.float64)


def _check_calibrated(given: Fields) -> None:
    method = given.text("method", _METHODS)
    given.require("estimator", hasattr(given.any("estimator"), "fit"), "must be an estimator")
    cv = given.any("cv")
    folds = cv is None or (type(cv) is int and cv >= 2) or hasattr(cv, "split")
    given.require("cv", folds, "must be a number of folds or a splitter")
    if "machine" not in given:
        return
    classes = given.array("classes", LABELS, None)
    _require_fitted(given, "machine", classes)
    n_classes = len(classes)
    if "n_features_in_" in given:
        width = check_width(given)
        same = getattr(given.any("machine"), "n_features_in_", width) == width
        given.require("n_features_in_", same, "must be that of the machine")
    n_curves = 1 if n_classes == 2 or method == "temperature" else n_classes
    for values in given.items("curves", list, n_curves, np.ndarray):
        part = Fields(given.kind, {"curves": values})
        if method == "isotonic":
            x, y = part.array("curves", "float64", 2, None, finite=True)
            rises = len(x) > 0 and bool((np.diff(x) > 0).all() and (np.diff(y) >= 0).all())
            part.require("curves", rises, "must rise")
            part.require("curves", y[0] >= 0.0 and y[-1] <= 1.0, "must be probabilities")
        else:
            n_numbers = 2 if method == "sigmoid" else 1
            part.array("curves", "float64", n_numbers, finite=True)
            small = bool((np.abs(values) <= _MOST_SLOPE).all())
            part.require("curves", small, "must hold smaller numbers")


#: What slopes of curves are not above, so that decision values times them are finite.
_MOST_SLOPE = 1e12


def _require_fitted(given: Fields, name: str, classes: Any) -> Any:
    """A fitted classifier of these classes."""
    machine = given.any(name)
    own = getattr(machine, "classes_", None)
    same = isinstance(own, np.ndarray) and own.tolist() == classes.tolist()
    same = same and hasattr(machine, "predict")
    given.require(name, same, "must be fitted to the same classes")
    given.require(name, len(classes) >= 2, "must know two classes")
    return machine


def _calibrated(kind: Any, values: dict[str, Any]) -> Any:
    method = values["method"]
    model = kind(values["estimator"], method=method, cv=values["cv"], ensemble=False)
    if "machine" not in values:
        return model
    # Curves as scikit-learn makes them, of a machine that knows nothing; then those of the file.
    from sklearn.dummy import DummyClassifier

    codes = np.repeat(np.arange(len(values["classes"])), 2)
    blank = kind(DummyClassifier(), method=method, cv=2, ensemble=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (inner,) = blank.fit(np.zeros((len(codes), 1)), codes).calibrated_classifiers_
    inner.estimator, inner.classes = values["machine"], values["classes"]
    for curve, numbers in zip(inner.calibrators, values["curves"], strict=True):
        if method == "sigmoid":
            curve.a_, curve.b_ = numbers
        elif method == "temperature":
            (curve.beta_,) = numbers
        else:
            curve.fit(*numbers)
    model.calibrated_classifiers_, model.classes_ = [inner], values["classes"]
    adopt_names(model, values)
    return model


# -- machines that decide by probabilities --------------------------------------------------------


def _check_curve(given: Fields) -> None:
    classes = given.array("classes", LABELS, "classes")
    given.array("seen", "bool", "classes")
    shares = given.array("shares", "float64", "classes", least=0.0, finite=True)
    whole = len(classes) >= 2 and abs(float(shares.sum()) - 1.0) < 1e-6
    given.require("shares", whole, "must sum up to 1")
    given.require("seen", int(given.any("seen").sum()) >= 2, "must be two classes at least")
    given.number("slope", finite=True)
    given.number("offset", finite=True)
    given.require("classes", _is_sorted(classes), "must be sorted")


def _is_sorted(classes: Any) -> bool:
    return bool(np.all(classes[:-1] < classes[1:]))


def _check_decisions(given: Fields) -> None:
    n_classes = check_classes(given)
    classes = given.any("classes_")
    machine = _require_fitted(given, "estimator_", classes)
    curve = given.optional("curve_", given.instance, "ProbabilityCurve")
    if curve is None:
        given.require("curve_", hasattr(machine, "predict_proba"), "is missing")
    else:
        same = curve.classes.tolist() == classes.tolist()
        given.require("curve_", same, "must be of the same classes")
    rule = given.text("rule_", ("largest", "threshold", "costs", "margins"))
    given.text("reason_")
    threshold = given.optional("threshold_", given.number, 0.0, True)
    sound = (threshold is not None) == (rule == "threshold")
    sound = sound and (threshold is None or (threshold <= 1.0 and n_classes == 2))
    given.require("threshold_", sound, "must be a probability of the second of two classes")
    costs = given.optional("costs_", given.array, "float64", n_classes, n_classes, finite=True)
    sound = costs is not None if rule in ("costs", "margins") else True
    given.require("costs_", sound, "are missing")
    if costs is not None:
        errors = costs[~np.eye(n_classes, dtype=bool)]
        given.require("costs_", bool((errors >= 0).all()), "must not be negative")
    if "n_features_in_" in given:
        width = check_width(given)
        same = getattr(machine, "n_features_in_", width) == width
        given.require("n_features_in_", same, "must be that of the machine")


def _check_margins(given: Fields) -> None:
    n_classes = check_classes(given)
    width = given.integer("n_features_in_", least=1)
    machines = given.items("machines_", list, n_classes)
    sound = all(
        type(machine).__name__ == "CostSensitiveSVC"
        and getattr(machine, "n_features_in_", None) == width
        for machine in machines
    )
    given.require("machines_", sound, "must be fitted machines of the same columns")


KINDS: tuple[Kind, ...] = (
    Kind("sklearn.Pipeline", "sklearn.pipeline:Pipeline", _check_pipeline, _pipeline_state,
         _pipeline),
    Kind("sklearn.CalibratedClassifierCV", "sklearn.calibration:CalibratedClassifierCV",
         _check_calibrated, _calibrated_state, _calibrated),
    Kind("ProbabilityCurve", "lindero.models.probabilities:ProbabilityCurve", _check_curve),
    EstimatorKind("evaluation.DecisionClassifier",
                  "lindero.evaluation.decisions:DecisionClassifier", _check_decisions),
    EstimatorKind("evaluation.CostMargins", "lindero.evaluation.decisions:CostMargins",
                  _check_margins),
)  # fmt: skip
