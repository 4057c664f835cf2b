"""Models of LIBSVM, to and from files."""

from __future__ import annotations

import os
import warnings
from typing import Any

from lindero.persist.estimators import from_libsvm, to_libsvm
from lindero.persist.libsvm_reader import read_libsvm
from lindero.persist.libsvm_writer import libsvm_lines
from lindero.persist.model_text import ModelText
from lindero.persist.safe_file import write_whole


def load_libsvm(path: str | os.PathLike[Any], *, n_features: int | None = None) -> Any:
    """Load a model that LIBSVM (or :func:`save_libsvm`) has written.

    The file may come from anywhere: it is checked line by line, and memory grows with what was
    read, never with what its numbers announce.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int or None, default=None
        Number of features of the rows to predict; of training rows, if the kernel is precomputed.
        The file does not tell it: by default it is the highest index that a support vector has.

    Returns
    -------
    estimator : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        A fitted estimator. Parameters of training that the file does not hold (C, nu, epsilon and
        so on) have their defaults. It has no `certificate_`: nothing is known of the optimality of
        a model from elsewhere. `support_` numbers the vectors as they come, but with a precomputed
        kernel holds the training rows. `support_vectors_` are dense where that takes less memory.

    Raises
    ------
    ModelFileError
        If the file is not a complete model of LIBSVM. The error names the line.

    Warns
    -----
    UserWarning
        If the file holds probability estimates, which are left out.

    Notes
    -----
    Decision values are those of LIBSVM, with classes in ascending order and scikit-learn's signs.
    With more than two classes, a row for which several classes win equally many pairs goes to the
    first of them in that order; LIBSVM takes the first in the order of the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.persist import load_libsvm, save_libsvm
    >>> from lindero.svm import SVC
    >>> X, y = [[0, 0], [1, 1], [2, 0]], [4, 7, 7]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two_classes.model")
    ...     save_libsvm(SVC(kernel="linear").fit(X, y), path)
    ...     model = load_libsvm(path)
    >>> model.predict([[0, 0], [3, 3]])
    array([4, 7])
    """
    require_width(n_features)
    with open(path, "rb") as file:
        text = ModelText(file, os.fsdecode(path))
        model = read_libsvm(text, n_features)
    estimator = from_libsvm(model, text, trusted_width=n_features is not None)
    if model.left_out:
        advice = (
            " For probabilities calibrate the loaded model on other data: sklearn.calibration."
            "CalibratedClassifierCV(sklearn.frozen.FrozenEstimator(model)).fit(X, y)."
        )
        warnings.warn(
            f"{text.path} holds probability estimates ({', '.join(model.left_out)}), which are "
            "left out: machines here give decision values only."
            + (advice if model.labels is not None else ""),
            UserWarning,
            stacklevel=2,
        )
    return estimator


def save_libsvm(estimator: Any, path: str | os.PathLike[Any]) -> None:
    """Write a fitted machine as a model file of LIBSVM.

    The file is written beside `path` first and then takes its place, so that a call that fails
    leaves an existing file as it was.

    Parameters
    ----------
    estimator : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        A fitted machine with a named or precomputed kernel. Labels of classes must be integers,
        and several classes one against one (``multiclass="ovo"``): LIBSVM knows nothing else.
    path : str or path-like
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.persist import save_libsvm
    >>> from lindero.svm import SVC
    >>> model = SVC(kernel="linear", C=2).fit([[0], [1]], [-1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.model")
    ...     save_libsvm(model, path)
    ...     with open(path) as file:
    ...         print(file.readline(), end="")
    svm_type c_svc
    """
    write_whole(path, libsvm_lines(to_libsvm(estimator)))


def require_width(n_features: int | None) -> None:
    """Refuse a number of features that no table has."""
    if n_features is None:
        return
    if isinstance(n_features, bool) or not hasattr(n_features, "__index__"):
        raise TypeError(f"n_features must be an integer or None, not {n_features!r}.")
    if not 1 <= n_features <= 2**31 - 1:
        raise ValueError(f"n_features must be from 1 to 2**31 - 1, not {n_features!r}.")
