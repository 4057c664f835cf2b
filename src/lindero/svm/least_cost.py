"""The C at which a path of linear machines with few weights begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.problems.sparse_margin import find_least_cost
from lindero.svm.linear_svc import LINEAR, LinearSVC
from lindero.svm.multiclass import split_classes
from lindero.validation import (
    find_classes,
    read_sample_weights,
    read_training_table,
    require_computable,
    require_every_class,
)


def l1_min_c(
    X: Any,
    y: Any,
    *,
    loss: str = "squared_hinge",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    sample_weight: Any = None,
) -> float:
    """The largest C for which `LinearSVC` with ``penalty="l1"`` has no weights at all.

    Above it at least one feature has a weight. Unlike that of :func:`sklearn.svm.l1_min_c` the
    intercept has no penalty, so that this is the exact value with an intercept, too.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Class labels. With more than two it is the least of those of each class against the rest.
    loss : {"squared_hinge"}, default="squared_hinge"
        The only loss that goes with this penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1.0
        Accepted so that code for scikit-learn runs unchanged.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row, with that of its class.

    Returns
    -------
    least : float
        The beginning of a path over C; infinite where no feature tells the classes apart.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import LinearSVC, l1_min_c
    >>> X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    >>> least = l1_min_c(X, y)
    >>> [LinearSVC("l1", C=f * least).fit(X, y).coef_.any().item() for f in (0.999, 1.1)]
    [False, True]
    """
    if loss != "squared_hinge":
        raise ValueError(f"loss must be 'squared_hinge', got {loss!r}: see LinearSVC.")
    X, y = read_training_table(LinearSVC(), X, y)
    require_computable(X, LINEAR)
    classes, codes = find_classes(y)
    weights = read_sample_weights(sample_weight, X)
    require_every_class("sample_weight", weights, codes, classes)
    rows = np.arange(X.shape[0])
    if len(classes) == 2:
        return find_least_cost(X, np.where(codes == 1, 1.0, -1.0), weights, fit_intercept)
    tasks = split_classes(codes, len(classes), "ovr", rows)
    return min(find_least_cost(X, task.targets, weights, fit_intercept) for task in tasks)
