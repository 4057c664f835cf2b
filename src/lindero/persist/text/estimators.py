"""Models of other programs: from their files to fitted estimators, and back.

A file holds what predicts: vectors, coefficients, constants, classes and a kernel. What only
training knows (C, nu, epsilon, bounds, a certificate) it does not hold, and a loaded estimator does
not have.

Both formats share the way from what predicts to an estimator, and so are one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

import lindero.svm
from lindero.errors import ModelFileError, warn_user
from lindero.kernels.operator import KernelFunction
from lindero.persist.safe_file import write_whole, write_whole_bytes
from lindero.persist.text.label_maps import (
    code_labels,
    find_label_map,
    format_label_map,
    needs_label_map,
    read_label_map,
)
from lindero.persist.text.libsvm import (
    KERNEL_PARAMETERS,
    LibsvmModel,
    format_libsvm,
    read_libsvm,
    sort_classes,
    sort_curves,
    turn_signs,
)
from lindero.persist.text.libsvm import KERNELS as LIBSVM_KERNELS
from lindero.persist.text.lines import ModelText
from lindero.persist.text.svmlight import KERNELS, SvmlightModel, format_svmlight, read_svmlight
from lindero.runtime.arrays import Array, dense
from lindero.svm.fitted_machines import FittedMachines, adopt_machines, find_kernel
from lindero.svm.following import bring_to_cpu
from lindero.svm.probability import adopt_curves, find_curves

Model = TypeVar("Model", LibsvmModel, SvmlightModel)

#: Types of LIBSVM and the estimators of `lindero.svm` that are the same machine.
_ESTIMATORS = {
    "c_svc": "SVC",
    "nu_svc": "NuSVC",
    "one_class": "OneClassSVM",
    "epsilon_svr": "SVR",
    "nu_svr": "NuSVR",
}

#: The parameters of each kernel.
_PARAMETERS = {LIBSVM_KERNELS[name]: own for name, own in KERNEL_PARAMETERS.items()}

#: A linear machine keeps its weights of all features. So many numbers are made room for, and one
#: more for so many bytes of the file, where nobody but the file says how many features there are.
_UNASKED_WEIGHTS = 2**20
_BYTES_PER_WEIGHT = 32


@dataclass(frozen=True)
class TextMachine:
    """What predicts, in lindero's order and signs; `vectors` is None if precomputed."""

    function: KernelFunction
    vectors: Any
    coefficients: Array
    intercepts: Array
    n_features: int
    support: Array | None = None
    classes: Array | None = None
    n_support: Array | None = None


# -- from a file ------------------------------------------------------------------------------


def from_libsvm(model: LibsvmModel, text: ModelText, trusted_width: bool) -> Any:
    """The fitted estimator that `model`, read from `text`, describes."""
    machine = TextMachine(
        function=model.function,
        vectors=model.vectors,
        coefficients=model.coefficients,
        intercepts=-model.rho,
        n_features=model.n_features,
        support=None if model.serials is None else model.serials - 1,
    )
    if model.labels is not None and model.counts is not None:
        of_classes = sort_classes(model.labels, model.counts, model.coefficients, model.rho)
        order = of_classes.vector_order
        machine = replace(
            machine,
            vectors=None if machine.vectors is None else machine.vectors[order],
            coefficients=of_classes.coefficients,
            intercepts=of_classes.intercepts,
            support=None if machine.support is None else machine.support[order],
            classes=of_classes.classes,
            n_support=of_classes.n_support,
        )
    estimator = _make_estimator(_ESTIMATORS[model.svm_type], machine, text, trusted_width)
    if model.curves is not None and model.labels is not None:
        order = np.argsort(model.labels).astype(np.int64)
        adopt_curves(estimator, sort_curves(model.labels, model.curves), order)
    return estimator


def from_svmlight(model: SvmlightModel, text: ModelText, trusted_width: bool, kind: str) -> Any:
    """The classifier (of −1 and 1) or regressor that `model`, read from `text`, describes."""
    machine = TextMachine(
        function=model.function,
        vectors=model.vectors,
        coefficients=model.coefficients[None, :],
        intercepts=np.array([-model.threshold]),
        n_features=model.n_features,
    )
    if kind == "regressor":
        return _make_estimator("SVR", machine, text, trusted_width)
    positive = model.coefficients > 0
    order = np.argsort(positive, kind="stable")  # vectors of the first class come first
    machine = replace(
        machine,
        vectors=machine.vectors[order],
        coefficients=machine.coefficients[:, order],
        classes=np.array([-1, 1]),
        n_support=np.array([np.sum(~positive), np.sum(positive)]),
    )
    return _make_estimator("SVC", machine, text, trusted_width)


def _make_estimator(name: str, machine: TextMachine, text: ModelText, trusted_width: bool) -> Any:
    function = machine.function
    if function.name == "linear":
        _require_sound_weights(machine, text, trusted_width)
    vectors = machine.vectors
    if vectors is None:
        vectors = np.empty((0, 0))
    elif 8 * np.prod(vectors.shape, dtype=float) <= 12 * vectors.nnz:  # bytes of the two forms
        vectors = vectors.toarray()
    support = machine.support
    if support is None:
        support = np.arange(machine.coefficients.shape[1])
    parameters = {name: getattr(function, name) for name in _PARAMETERS[function.name]}
    estimator = getattr(lindero.svm, name)(kernel=function.name, **parameters)
    estimator.n_features_in_ = machine.n_features
    n_support = None
    if machine.classes is not None and machine.n_support is not None:
        estimator.classes_ = machine.classes
        n_support = machine.n_support.astype(np.int32)
    fitted = FittedMachines(function, n_support=n_support)
    constants = machine.coefficients, machine.intercepts
    # Nothing is known of the training rows: as none, `certify` refuses to judge by others.
    adopt_machines(estimator, fitted, vectors, support, *constants, (0, machine.n_features))
    if name == "OneClassSVM":
        estimator.offset_ = -float(machine.intercepts[0])
    return estimator


def _require_sound_weights(machine: TextMachine, text: ModelText, trusted_width: bool) -> None:
    """Refuse a linear machine with more weights than its file is worth, or endless ones."""
    n_weights = len(machine.intercepts) * machine.n_features
    room = _UNASKED_WEIGHTS + (text.size or 0) // _BYTES_PER_WEIGHT
    if n_weights > room and not trusted_width:
        raise ModelFileError(
            f"{text.path}: a linear machine of {machine.n_features} features needs {n_weights} "
            "weights, which seems much for this file. If it is right, load it with "
            f"n_features={machine.n_features}.",
            text.path,
        )
    largest = [
        float(np.max(np.abs(x), initial=0.0)) for x in (machine.coefficients, machine.vectors.data)
    ]
    if not isfinite(largest[0] * largest[1] * machine.vectors.shape[0]):
        raise ModelFileError(
            f"{text.path}: coefficients and values are so large that the weights of this linear "
            "machine would not be finite. Is the file damaged?",
            text.path,
        )


# -- to a file --------------------------------------------------------------------------------


def to_libsvm(estimator: Any) -> LibsvmModel:
    """What a file of LIBSVM says of a fitted estimator (of a search: of its best one)."""
    estimator = bring_to_cpu(getattr(estimator, "best_estimator_", estimator))
    types = {getattr(lindero.svm, name): svm_type for svm_type, name in _ESTIMATORS.items()}
    svm_type = next((types[kind] for kind in type(estimator).__mro__ if kind in types), None)
    if svm_type is None:
        raise TypeError(
            f"LIBSVM has no model for {_full_name(estimator)}. It has one for "
            f"{', '.join(_ESTIMATORS.values())} of lindero.svm."
        )
    check_is_fitted(estimator)
    function = _named_kernel(estimator, "LIBSVM")
    coefficients, intercepts = dense(estimator.dual_coef_), np.asarray(estimator.intercept_)
    labels = counts = curves = None
    if hasattr(estimator, "classes_"):
        labels = code_labels(estimator.classes_)
        counts = np.asarray(estimator.n_support_)
        if len(labels) == len(coefficients) > 2:
            raise ValueError(
                "LIBSVM has machines for pairs of classes only, but this model has one for each "
                "class against the rest. Fit it with multiclass='ovo' to save it, or keep it with "
                "joblib.dump."
            )
        coefficients, rho = turn_signs(coefficients, intercepts)
        curves = find_curves(estimator)
        if curves is not None and len(labels) == 2:  # its only machine was turned
            curves = curves[0], -curves[1]
    else:
        rho = -intercepts
    vectors, serials = estimator.support_vectors_, None
    if function.name == "precomputed":
        vectors, serials = None, np.asarray(estimator.support_) + 1
    width = estimator.n_features_in_
    return LibsvmModel(
        svm_type, function, coefficients, rho, vectors, serials, width, labels, counts,
        curves=curves,
    )  # fmt: skip


def to_svmlight(estimator: Any) -> SvmlightModel:
    """What a file of SVMlight says of a fitted estimator with one output."""
    estimator = bring_to_cpu(getattr(estimator, "best_estimator_", estimator))
    check_is_fitted(estimator)
    if find_kernel(estimator) is not None and hasattr(estimator, "support_vectors_"):
        function = _named_kernel(estimator, "SVMlight")
        if function.name not in KERNELS:
            raise ValueError(
                "A file of SVMlight holds the support vectors, which a machine with a precomputed "
                "kernel does not know. Use save_libsvm, which writes their numbers."
            )
        coefficients, vectors = dense(estimator.dual_coef_), estimator.support_vectors_
    elif hasattr(estimator, "coef_"):
        # A linear function is a machine with its weights as the only vector.
        function = KernelFunction("linear")
        vectors = np.atleast_2d(dense(estimator.coef_))
        coefficients = np.eye(len(vectors))
    else:
        raise TypeError(
            f"{_full_name(estimator)} is not a machine of lindero, and has no weights (coef_) of a "
            "linear function: a file of SVMlight cannot hold it."
        )
    intercepts = np.ravel(getattr(estimator, "intercept_", 0.0))
    if len(coefficients) != 1 or len(intercepts) != 1:
        raise ValueError(
            f"A file of SVMlight holds one function, but this model has {len(intercepts)}. Use "
            "save_libsvm, or save one machine for each class (sklearn.multiclass."
            "OneVsRestClassifier has them in estimators_)."
        )
    return SvmlightModel(
        function=function,
        coefficients=coefficients[0],
        vectors=vectors,
        threshold=-float(intercepts[0]),
        n_features=vectors.shape[1],
        n_documents=int(getattr(estimator, "shape_fit_", (0,))[0]),
    )


def _named_kernel(estimator: Any, program: str) -> KernelFunction:
    function = find_kernel(estimator)
    assert function is not None
    if function.call is not None:
        raise ValueError(
            f"A file of {program} names its kernel, and cannot hold a callable. Fit with a named "
            "kernel to save the model"
            + ", or with kernel='precomputed' on the matrix of its values."
            * (program == "LIBSVM")
        )
    return function


def _full_name(estimator: Any) -> str:
    return f"{type(estimator).__module__}.{type(estimator).__qualname__}"


# -- files of LIBSVM -------------------------------------------------------------------------------


def load_libsvm(
    path: str | os.PathLike[Any],
    *,
    n_features: int | None = None,
    labels: str | os.PathLike[Any] | None = "auto",
) -> Any:
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
    labels : str, path-like or None, default="auto"
        A label map of :func:`save_libsvm`, which says what text the numbers of classes stand for.
        "auto" takes the path with ".labels" after it, if that is there and of this model; None
        takes none.

    Returns
    -------
    estimator : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        A fitted estimator, with defaults for what the file does not hold (C, nu, epsilon), and
        without a `certificate_`. `support_` numbers the vectors, or, with a precomputed
        kernel, training rows. `support_vectors_` are dense where that takes less memory. A
        classifier trained with -b 1 has `predict_proba`, with LIBSVM's probabilities.

    Raises
    ------
    ModelFileError
        If the file is not a complete model of LIBSVM. The error names the line.

    Warns
    -----
    UserWarning
        If the file holds the scale of a regression's errors, or densities (-b 1), which are left
        out.

    See Also
    --------
    save_libsvm : Write such a file.
    load, load_svmlight : Read a model of lindero itself, which keeps everything, or of SVMlight.

    Notes
    -----
    Decision values are those of LIBSVM, with classes in ascending order and scikit-learn's signs.
    With more than two classes, a row for which several classes win equally many pairs goes to the
    first of them in that order; LIBSVM takes the first in the order of the file. With -b 1 it
    predicts the most probable class, which may be another one than `predict` says.

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
    text, model = _read(path, read_libsvm, n_features)
    estimator = from_libsvm(model, text, trusted_width=n_features is not None)
    place = find_label_map(path) if labels == "auto" else labels
    if labels != "auto" and place is not None and model.labels is None:
        raise ValueError(f"{text.path} has no classes, and so no use for a label map (labels).")
    if place is not None and model.labels is not None:
        given = labels != "auto"
        if given or os.path.isfile(place):
            found = read_label_map(os.fsdecode(place), text.path, estimator.classes_, given)
            estimator.classes_ = estimator.classes_ if found is None else found
    if model.left_out:
        warn_user(
            f"{text.path} holds probability estimates ({', '.join(model.left_out)}), which are "
            "left out: regressions and novelty detection give values only.",
            UserWarning,
        )
    return estimator


def save_libsvm(estimator: Any, path: str | os.PathLike[Any]) -> None:
    """Write a fitted machine as a model file of LIBSVM.

    LIBSVM has integers for labels. Others, such as text, are written as 0, 1, 2, ..., and a label
    map beside the file, its path with ".labels" after it, says which is which; `load_libsvm` reads
    it again. A call that fails leaves an existing file as it was.

    Parameters
    ----------
    estimator : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        A fitted machine with a named or precomputed kernel, several classes one against one
        (``multiclass="ovo"``): LIBSVM knows nothing else.
    path : str or path-like
        The file.

    Warns
    -----
    UserWarning
        If a label map is written: which number each label has.

    See Also
    --------
    load_libsvm : Read it again.
    save, save_svmlight : Write a file of lindero's own, which keeps everything, or of SVMlight.

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
    lines = format_libsvm(to_libsvm(estimator))
    if not needs_label_map(estimator):
        write_whole(path, lines)
        return
    model = "".join(lines).encode("ascii")
    classes = np.asarray(getattr(estimator, "best_estimator_", estimator).classes_)
    beside = find_label_map(path)
    # First the map: without its model it is ignored, but a model without its map means nothing.
    write_whole_bytes(beside, format_label_map(classes, model))
    write_whole_bytes(path, model)
    listed = ", ".join(f"{label!r} is {code}" for code, label in enumerate(classes.tolist()[:10]))
    more = ", ..." if len(classes) > 10 else ""
    warn_user(
        f"LIBSVM has integers for class labels: {listed}{more}. {beside} says so.", UserWarning
    )


def _read(
    path: str | os.PathLike[Any],
    read: Callable[[ModelText, int | None], Model],
    n_features: int | None,
) -> tuple[ModelText, Model]:
    """A file, and the model that `read` finds in it."""
    if n_features is not None:
        if isinstance(n_features, bool) or not hasattr(n_features, "__index__"):
            raise TypeError(f"n_features must be an integer or None, not {n_features!r}.")
        if not 1 <= n_features <= 2**31 - 1:
            raise ValueError(f"n_features must be from 1 to 2**31 - 1, not {n_features!r}.")
    with open(path, "rb") as file:
        text = ModelText(file, os.fsdecode(path))
        return text, read(text, n_features)


# -- files of SVMlight -----------------------------------------------------------------------------


def load_svmlight(
    path: str | os.PathLike[Any], *, n_features: int | None = None, estimator: str = "classifier"
) -> Any:
    """Load a model that svm_learn or svm_rank (or :func:`save_svmlight`) has written.

    The file may come from anywhere: it is checked line by line, and memory grows with what was
    read, never with what its numbers announce.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int or None, default=None
        Number of features of the rows to predict; by default the highest index in the file.
    estimator : {"classifier", "regressor"}, default="classifier"
        What the model is for, which the file does not tell. A classifier has the classes −1 and
        1. A regressor predicts the value itself; use it for ranking too, where it is the rank.

    Returns
    -------
    estimator : SVC or SVR
        A fitted estimator, with defaults for what the file does not hold and without a
        `certificate_`, as from `load_libsvm`. `support_` numbers the vectors as they come.

    Raises
    ------
    ModelFileError
        If the file is not a complete model of SVMlight. The error names the line.

    See Also
    --------
    save_svmlight : Write such a file.
    load, load_libsvm : Read a model of lindero itself, which keeps everything, or of LIBSVM.

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
    if estimator not in ("classifier", "regressor"):
        raise ValueError(f"estimator must be 'classifier' or 'regressor', not {estimator!r}.")
    text, model = _read(path, read_svmlight, n_features)
    return from_svmlight(model, text, trusted_width=n_features is not None, kind=estimator)


def save_svmlight(estimator: Any, path: str | os.PathLike[Any]) -> None:
    """Write a fitted machine with one output as a model file of SVMlight.

    A call that fails leaves an existing file as it was.

    Parameters
    ----------
    estimator : fitted estimator
        A classifier of two classes, a regressor, or a ranking: a machine with a named kernel, or
        anything linear that has `coef_`. The second class of a classifier is written as the
        positive one, with a warning where the labels are not −1 and 1: the file knows no others.
    path : str or path-like
        The file. SVMlight itself keeps values of features in single precision.

    See Also
    --------
    load_svmlight : Read it again.
    save, save_libsvm : Write a file of lindero's own, which keeps everything, or of LIBSVM.

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
        warn_user(
            f"A file of SVMlight knows the classes -1 and 1 only: {classes[0]!s} is written as "
            f"-1, and {classes[1]!s} as 1.",
            UserWarning,
        )
    write_whole(path, format_svmlight(model))
