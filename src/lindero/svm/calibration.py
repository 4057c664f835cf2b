"""Probabilities for machines that have none of their own."""

from __future__ import annotations

from typing import Any

from lindero.errors import warn_user

CALIBRATION = (
    "Support vector machines give decision values, not probabilities. For probabilities wrap the "
    "estimator: lindero.svm.calibrate(estimator), which is sklearn's CalibratedClassifierCV."
)


class RefusedMethod:
    """A method that is not there, and says what to use instead."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} has no {self.name}. {CALIBRATION}")


def calibrate(estimator: Any, *, method: str = "sigmoid", cv: Any = None) -> Any:
    """A classifier with probabilities: `estimator`, and a curve from decision values to them.

    The curve is fitted to decision values that cross-validation gives for samples left out, so
    it is not too sure of itself; the machine itself is fitted to all data. Predictions are the
    class of largest probability, always: `predict` and `predict_proba` cannot disagree, as they
    do in LIBSVM. Sample weights count in both, the machine and the curve. The work is done by
    :class:`sklearn.calibration.CalibratedClassifierCV`.

    Parameters
    ----------
    estimator : classifier
        An unfitted machine with a `decision_function`, such as :class:`SVC`.
    method : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
        The kind of curve: Platt's sigmoid, any monotone one (for thousands of samples), or one
        temperature for all classes.
    cv : int, splitter or iterable, default=None
        How samples are left out; None is five folds.

    Returns
    -------
    classifier : CalibratedClassifierCV
        To be fitted. Its `calibrated_classifiers_[0].estimator` is the machine.

    See Also
    --------
    sklearn.calibration.CalibratedClassifierCV : What it returns.
    SVC : A machine without probabilities of its own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.svm import SVC, calibrate
    >>> X, y = load_iris(return_X_y=True)
    >>> model = calibrate(SVC()).fit(X, y)
    >>> bool((model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all())
    True
    """
    machine = getattr(estimator, "_final_estimator", estimator)  # of a pipeline
    if getattr(machine, "decision_function_shape", None) == "ovo":
        raise ValueError(
            "calibrate needs one decision value for each class: set decision_function_shape='ovr' "
            "(values for pairs of classes would be taken for those of classes)."
        )
    from sklearn.calibration import CalibratedClassifierCV  # which imports half of scikit-learn

    return CalibratedClassifierCV(estimator, method=method, cv=cv, ensemble=False)


def calibrated(estimator: Any, *, method: str = "sigmoid", cv: Any = None) -> Any:
    """The former name of :func:`calibrate`."""
    warn_user("lindero.svm.calibrated is now called calibrate.", FutureWarning)
    return calibrate(estimator, method=method, cv=cv)
