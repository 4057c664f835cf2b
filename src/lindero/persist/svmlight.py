"""Models of SVMlight, to and from files."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from lindero.persist.estimators import from_svmlight, to_svmlight
from lindero.persist.libsvm import require_width
from lindero.persist.model_text import ModelText
from lindero.persist.safe_file import write_whole
from lindero.persist.svmlight_reader import read_svmlight
from lindero.persist.svmlight_writer import svmlight_lines


def load_svmlight(
    path: str | os.PathLike[Any],
    *,
    n_features: int | None = None,
    estimator: str = "classifier",
) -> Any:
    """Load a model that svm_learn or svm_rank (or :func:`save_svmlight`) has written.

    The file may come from anywhere: it is checked line by line, and memory grows with what was
    read, never with what its numbers announce.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int or None, default=None
        Number of features of the rows to predict; by default the highest feature index that the
        file states.
    estimator : {"classifier", "regressor"}, default="classifier"
        What the model is for, which the file does not tell. A classifier has the classes −1 and
        1. A regressor predicts the value itself; use it for ranking too, where it is the rank.

    Returns
    -------
    estimator : SVC or SVR
        A fitted estimator. Parameters of training that the file does not hold (C, epsilon and so
        on) have their defaults. It has no `certificate_`: nothing is known of the optimality of a
        model from elsewhere. `support_` numbers the vectors as they come. `support_vectors_` are
        dense where that takes less memory.

    Raises
    ------
    ModelFileError
        If the file is not a complete model of SVMlight. The error names the line.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.persist import load_svmlight, save_svmlight
    >>> from lindero.svm import SVC
    >>> X, y = [[0, 0], [1, 1], [2, 0]], [-1, 1, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two_classes.model")
    ...     save_svmlight(SVC(kernel="linear").fit(X, y), path)
    ...     model = load_svmlight(path)
    >>> model.predict([[0, 0], [3, 3]])
    array([-1,  1])
    """
    require_width(n_features)
    if estimator not in ("classifier", "regressor"):
        raise ValueError(f"estimator must be 'classifier' or 'regressor', not {estimator!r}.")
    with open(path, "rb") as file:
        text = ModelText(file, os.fsdecode(path))
        model = read_svmlight(text, n_features)
    return from_svmlight(model, text, trusted_width=n_features is not None, kind=estimator)


def save_svmlight(estimator: Any, path: str | os.PathLike[Any]) -> None:
    """Write a fitted machine with one output as a model file of SVMlight.

    The file is written beside `path` first and then takes its place, so that a call that fails
    leaves an existing file as it was.

    Parameters
    ----------
    estimator : fitted estimator
        A classifier of two classes, a regressor, or a ranking: a machine with a named kernel, or
        anything linear that has `coef_`. The second class of a classifier is written as the
        positive one, with a warning where the labels are not −1 and 1: the file knows no others.
    path : str or path-like
        The file. SVMlight itself keeps values of features in single precision.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.persist import save_svmlight
    >>> from lindero.svm import SVC
    >>> model = SVC(kernel="linear", C=2).fit([[0], [1]], [-1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.model")
    ...     save_svmlight(model, path)
    ...     with open(path) as file:
    ...         print(file.readline(), end="")
    SVM-light Version V6.02
    """
    model = to_svmlight(estimator)
    classes = getattr(estimator, "classes_", None)
    if classes is not None and not np.array_equal(classes, [-1, 1]):
        warnings.warn(
            f"A file of SVMlight knows the classes -1 and 1 only: {classes[0]!s} is written as "
            f"-1, and {classes[1]!s} as 1.",
            UserWarning,
            stacklevel=2,
        )
    write_whole(path, svmlight_lines(model))
