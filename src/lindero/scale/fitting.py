"""Fit, predict and score with tables in partitions."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from lindero.bayes.classifier import BayesClassifier
from lindero.runtime.arrays import Array
from lindero.runtime.partitioned import is_dask
from lindero.scale.counted import fit_counts
from lindero.scale.linear import MACHINES, fit_linear
from lindero.scale.numbers import Reader, fit_scaler, read_matrix
from lindero.scale.partitions import Rows, Source, open_source
from lindero.scale.runner import PassReport, choose_runner
from lindero.scale.targets import read_labels, read_numbers, read_weights
from lindero.transaction import fitting_aside
from lindero.validation import validate_parameters

Estimator = TypeVar("Estimator")


def fit(
    estimator: Estimator,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    columns: list[str] | None = None,
    dtype: str | None = None,
    client: Any = None,
    callback: Callable[[PassReport], Any] | None = None,
) -> Estimator:
    """Fit an estimator to a table in partitions, which is never in memory as a whole.

    Partitions are worked on by the workers of the active Dask client; without one, by threads, each
    of which holds one partition at a time. The result is an ordinary fitted estimator.

    Linear machines take some ten passes over the rows, and a certificate from all of them. They
    know their hyperplanes, and no support vectors: `support_vectors_` of `SVC` and `SVR` holds the
    weights of each machine as its only vector. Machines on landmarks take these, and their number
    where it is looked for, from a uniform sample of rows; features are computed a block of rows at
    a time.

    Bayesian classifiers take one pass, in which values, classes and counts are found together; a
    second one where cut points of numbers are learned, or columns have thousands of values; and one
    more for the families of a `KDB`. Their counts are those of the whole table in memory, bit for
    bit. Where cut points are learned, they come from a uniform sample of rows: of all rows up to 8
    million numbers. Discriminative parameters (``learning="discriminative"``, `StructuralTM`) take
    a pass for each iteration, and come to the objective of the whole table; the folds of
    ``penalty="auto"``, and the candidates of a search, are learned side by side in the same passes.

    Parameters
    ----------
    estimator : linear machine, machine on landmarks, or Bayesian classifier
        What to fit: `LinearSVC`, `LinearSVR`; `SVC`, `CostSensitiveSVC` and `SVR` with
        ``kernel="linear"``; `NystromSVC`, `NystromSVR`. Bayesian classifiers: `NaiveBayes`, `TAN`,
        `KDB`, `AODE`, `NetworkClassifier` and `StructuralTM`, with ``missing="available"``. A
        pipeline of a `StandardScaler` and a machine of support vectors takes a pass more, for the
        scales.
    X : Dask array or dataframe, or path
        The rows; or a Parquet file, a folder of them, a pattern such as ``"part-*.parquet"``, or a
        list of these. Partitions may be empty, uneven, of unknown size, and, for machines of
        support vectors, sparse (blocks of a Dask array that are matrices of SciPy).
    y : Dask array or series, or str
        The targets, cut as X is; or the name of a column of X.
    sample_weight : Dask array or series, or str, default=None
        Weights of rows; or the name of a column of X.
    columns : list of str, default=None
        The columns of Parquet files that are features; all but y and sample_weight by default.
    dtype : {"float32", "float64"} or None, default=None
        What numbers are kept as, for machines of support vectors: "float32" takes half the memory.
        By default what they are; columns of several types become float64.
    client : distributed.Client, default=None
        The cluster; the active client by default.
    callback : callable, default=None
        Called with a `PassReport` after each partition of each pass. An exception of its own ends
        the fit.

    Returns
    -------
    estimator : object
        The estimator. A call that fails leaves it as it was.

    See Also
    --------
    predict, score : The same for a fitted estimator.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from lindero import scale
    >>> from lindero.bayes import NaiveBayes
    >>> table = pd.DataFrame({"sky": ["sun", "sun", "rain"], "go": ["out", "out", "in"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "part-0.parquet")
    ...     table.to_parquet(path, row_group_size=2)
    ...     model = scale.fit(NaiveBayes(), path, "go")
    >>> model.predict([["sun"], ["rain"]])
    array(['out', 'in'], dtype='<U3')
    """
    if isinstance(estimator, Pipeline):
        _fit_pipeline(estimator, X, y, sample_weight, columns, dtype, client, callback)
        return estimator
    _require_known(estimator)
    validate_parameters(estimator)
    if dtype not in (None, "float32", "float64"):
        raise ValueError(f"dtype must be 'float32', 'float64' or None, got {dtype!r}.")
    source = open_source(X, y, sample_weight, columns)
    if y is None:
        raise ValueError("y is needed: a Dask array or series, or the name of a column.")
    if not source.n_partitions:
        raise ValueError("X has no partitions, and so no rows.")
    if not isinstance(estimator, BayesClassifier):
        source = source.in_numbers(dtype or "")
    runner = choose_runner(source, client, callback)
    with fitting_aside(estimator) as attempt:
        if isinstance(estimator, BayesClassifier):
            fit_counts(attempt.estimator, source, runner)
        else:
            fit_linear(attempt.estimator, source, runner, Reader(dtype))
    return estimator


def _fit_pipeline(
    pipeline: Any,
    X: Any,
    y: Any,
    weight: Any,
    columns: Any,
    dtype: str | None,
    client: Any,
    callback: Callable[[PassReport], Any] | None,
) -> None:
    """A scaler and a machine: a pass for the scaler, whose scales are then those of the machine's
    passes."""
    steps = [step for _, step in pipeline.steps]
    if len(steps) != 2 or type(steps[0]) is not StandardScaler or type(steps[1]) not in MACHINES:
        raise TypeError(
            "Over partitions a pipeline is a StandardScaler and a machine, "
            f"{' or '.join(kind.__name__ for kind in MACHINES)}, and nothing else."
        )
    scaler, machine = steps
    validate_parameters(machine)
    if y is None:
        raise ValueError("y is needed: a Dask array or series, or the name of a column.")
    source = open_source(X, y, weight, columns).in_numbers(dtype or "")
    if not source.n_partitions:
        raise ValueError("X has no partitions, and so no rows.")
    runner = choose_runner(source, client, callback)
    with fitting_aside(machine) as attempt, fitting_aside(scaler) as scaling:
        fit_scaler(scaling.estimator, source, runner)
        scaled = copy.copy(scaling.estimator)
        scaled.copy = source.kind != "parquet"  # what was read from files is nobody else's
        if source.names is not None:  # partitions are matrices
            del scaled.feature_names_in_
        fit_linear(attempt.estimator, source, runner, Reader(dtype, scaled))
        if source.names is not None:  # columns of the machine are those of the scaler, unnamed
            del attempt.estimator.feature_names_in_


def _require_known(estimator: Any) -> None:
    if isinstance(estimator, BayesClassifier) or type(estimator) in MACHINES:
        return
    names = ", ".join(kind.__name__ for kind in MACHINES)
    raise TypeError(
        f"{type(estimator).__name__} cannot be fitted to a table in partitions: {names} and "
        "Bayesian classifiers can. Fit it to a sample of the rows, in memory."
    )


# -- answers --------------------------------------------------------------------------------------


def predict(estimator: Any, X: Any, *, method: str = "predict") -> Any:
    """Predict for a table in partitions.

    Parameters
    ----------
    estimator : fitted estimator
        Any with the method: of this library, or another's.
    X : Dask array or dataframe, or path
        The rows; or Parquet files, as in `fit`. Files may have other columns too, if the estimator
        knows the names of its own.
    method : str, default="predict"
        "predict_proba", "decision_function" and so on.

    Returns
    -------
    predictions : Dask array, or iterator of ndarray
        A Dask array that is not computed yet, in as many blocks as X; for files an iterator that
        predicts one row group after the other.

    See Also
    --------
    fit, score
    """
    check_is_fitted(estimator)
    source = _open_new(estimator, X)
    if not is_dask(X):
        return _predict_files(estimator, source, method)
    import dask.array as da
    from dask import delayed

    # What one row would give tells shape and type of the blocks.
    shape, dtype = _find_answer(estimator, source, method)
    lengths = source.lengths or (float("nan"),) * source.n_partitions
    sent, known, blocks = _leave_callback(estimator), replace(source, partitions=()), []
    for part, length in zip(source.partitions, lengths, strict=True):
        block = delayed(_answer_block)(sent, part.X, part.label, method, known)
        blocks.append(da.from_delayed(block, (length, *shape), dtype=dtype))
    return da.concatenate(blocks)


def _answer_block(estimator: Any, X: Any, label: str, method: str, source: Source) -> Array:
    return _answer(estimator, Rows(X, None, None), label, method, source)


def _leave_callback(estimator: Any) -> Any:
    """The estimator as workers get it: what a callback holds may not be one to send."""
    sent = copy.copy(estimator)
    if getattr(sent, "callback", None) is not None:
        sent.callback = None
    return sent


def _open_new(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Source:
    """Rows for a fitted estimator: by the names of its columns, if it knows them."""
    names = list(getattr(estimator, "feature_names_in_", ()))
    wanted = [str(name) for name in names] or None
    if names and is_dask(X):
        wanted = None
        if hasattr(X, "columns"):
            more = [name for name in (y, sample_weight) if isinstance(name, str)]
            missing = [name for name in (*names, *more) if name not in X.columns]
            if missing:
                raise ValueError(
                    f"X has no column {missing[0]!r}: the feature names should match those that "
                    "were passed during fit."
                )
            X = X[[*names, *more]]
    source = open_source(X, y, sample_weight, wanted)
    final = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(final, MACHINES):
        source = source.in_numbers()
    n_columns = getattr(estimator, "n_features_in_", source.n_columns)
    if source.n_columns != n_columns:
        raise ValueError(
            f"X has {source.n_columns} features, but {n_columns} were given to fit: pass the same "
            "columns."
        )
    return source


def _answer(estimator: Any, rows: Rows, label: str, method: str, source: Source) -> Array:
    """What a method says of the rows of a partition."""
    call = getattr(estimator, method)
    if not rows.n_rows:
        shape, dtype = _find_answer(estimator, source, method)
        return np.empty((0, *shape), dtype)
    X: Any = rows.X
    try:
        if isinstance(estimator, BayesClassifier):
            return np.asarray(call(X))
        if isinstance(estimator, MACHINES) or not hasattr(X, "iloc"):
            X = read_matrix(rows, label, source.names, source.n_columns)
        with warnings.catch_warnings():
            # Columns were taken by their names.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return np.asarray(call(X))
    except ValueError as error:
        said = str(error)
        raise ValueError(said if said.startswith(label) else f"{label}: {said}") from None


def _find_answer(estimator: Any, source: Source, method: str) -> tuple[tuple[int, ...], Any]:
    """Shape and type of a method's answers, but for the number of rows."""
    if method == "predict":
        known = getattr(estimator, "classes_", None)
        return (), np.dtype(np.float64) if known is None else np.asarray(known).dtype
    if isinstance(estimator, BayesClassifier):
        return (len(estimator.classes_),), np.dtype(np.float64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        answer = np.asarray(getattr(estimator, method)(np.zeros((1, source.n_columns))))
    return answer.shape[1:], answer.dtype


def _predict_files(estimator: Any, source: Source, method: str) -> Iterator[Array]:
    for part in source.partitions:
        yield _answer(estimator, part.load(), part.label, method, source)


def score(
    estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, client: Any = None
) -> float:
    """The share of right predictions, or R² of a regression, over a table in partitions.

    Parameters
    ----------
    estimator : fitted estimator
        A classifier or a regressor.
    X, y, sample_weight
        As in `fit`.
    client : distributed.Client, default=None
        The cluster; the active client by default.

    Returns
    -------
    score : float
        What `estimator.score` gives for the whole table.

    See Also
    --------
    fit, predict
    """
    check_is_fitted(estimator)
    if y is None:
        raise ValueError("y is needed: a Dask array or series, or the name of a column.")
    source = _open_new(estimator, X, y, sample_weight)
    runner = choose_runner(source, client)
    numeric = is_regressor(estimator)
    work = partial(_sum_up, numeric=numeric)
    known = replace(source, partitions=())
    sent = _leave_callback(estimator)
    read = partial(_predict_part, estimator=sent, source=known, numeric=numeric)
    weight, _, right, spread = runner.reduce(read, work, _merge_sums)
    if not weight > 0:
        raise ValueError("X has no rows with a positive weight.")
    if not numeric:
        return float(right / weight)
    return float(1.0 - right / spread) if spread > 0 else float(right == 0)


def _predict_part(
    number: int, label: str, rows: Rows, *, estimator: Any, source: Source, numeric: bool
) -> tuple[Array, Array, Array]:
    """True and predicted targets of a partition, and weights."""
    n_rows = rows.n_rows
    y = (read_numbers if numeric else read_labels)(rows.y, n_rows, label)
    weights = read_weights(rows.weights, n_rows, label)
    weights = np.ones(n_rows) if weights is None else weights
    return y, _answer(estimator, rows, label, "predict", source), weights


def _sum_up(found: tuple[Array, Array, Array], *, numeric: bool) -> Array:
    """Weight, and then the weight of right predictions; of a regression the mean of the targets,
    the sum of squared errors, and that of the squared distances from the mean."""
    y, predicted, weights = found
    weight = float(weights.sum())
    if not weight > 0:
        return np.zeros(4)
    if not numeric:
        return np.array([weight, 0.0, float(weights @ (y == predicted)), 0.0])
    mean = float(weights @ y) / weight
    errors, spread = float(weights @ (y - predicted) ** 2), float(weights @ (y - mean) ** 2)
    return np.array([weight, mean, errors, spread])


def _merge_sums(one: Array, other: Array) -> Array:
    weight = one[0] + other[0]
    if not weight > 0:
        return one
    step, share = other[1] - one[1], other[0] / weight
    between = step * step * one[0] * share
    return np.array([weight, one[1] + step * share, one[2] + other[2], one[3] + other[3] + between])
