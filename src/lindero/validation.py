"""From anything a user may pass to clean arrays, or to an error that says what to do.

scikit-learn's own checks are used wherever they exist, so that messages and behaviour match what
its users know; this layer is the lowest that imports it. Rows, labels, weights and kernels are
checked in one file, because what is asked of one depends on the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, column_or_1d, validate_data

from lindero.devices.choose import require_device_machine
from lindero.devices.rows import DeviceRows, place_rows
from lindero.devices.settings import CARD
from lindero.errors import advise_on_not_finite
from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    # Loaded when a kernel is asked for: reading a file of data needs no compiled code.
    from lindero.kernels.operator import KernelFunction

_BLOCK_NUMBERS = 2**18

#: Whole numbers that are spread no wider than this, or than there are rows, are close together.
_CLOSE = 1024

#: Floats up to this are whole numbers without rounding.
_WHOLE = 2.0**24


def read_training_table(
    estimator: Any, X: Any, y: Any, y_numeric: bool = False
) -> tuple[Any, Array]:
    """X as a dense array (its own numeric dtype kept) or CSR array, and y as a vector (of float64
    if `y_numeric`).

    Sets `n_features_in_` and `feature_names_in_` of `estimator`.
    """
    if isinstance(X, DeviceRows):
        _adopt_width(estimator, X)
        return X, _read_targets(y, X, y_numeric)
    if are_objects(estimator, X):
        return _place(estimator, make_object_rows(X)), _read_targets(y, X, y_numeric)
    precomputed = estimator.kernel == "precomputed"
    kinds = "biuf" if y_numeric else "biufU"
    vector = type(y) is np.ndarray and y.ndim == 1
    if not precomputed and vector and is_plain_vector(y, len(y), kinds):
        plain = find_plain(estimator, X)
        if plain is not None and plain.shape[0] == len(y):
            estimator.n_features_in_ = plain.shape[1]
            plain = _place(estimator, plain)
            return plain, y.astype(np.float64) if y_numeric else y
    require_numeric_columns(X)
    if y is not None and getattr(X, "ndim", 2) == 2:
        require_one_each("y", y, _num_samples(X))
    (require_targets if y_numeric else require_labels)(y)
    X, y = _check_table(estimator, X, y=y, y_numeric=y_numeric)
    if precomputed:
        _require_square(X)
    return _place(estimator, _plain(X)), y.astype(np.float64) if y_numeric else y


def _adopt_width(estimator: Any, X: DeviceRows) -> None:
    """Rows on a device were checked when they were read."""
    require_device_machine(estimator)
    estimator.n_features_in_ = X.shape[1]


def _place(estimator: Any, X: Any) -> Any:
    """A checked table where the call is to be computed."""
    card = CARD.get()
    if not card or not hasattr(estimator, "_runs_on_devices"):
        return X
    require_device_machine(estimator)
    return place_rows(X, card)


def read_further_table(
    estimator: Any, X: Any, y: Any, y_numeric: bool = False
) -> tuple[Any, Array]:
    """The same for more rows, of the width seen first."""
    kinds = "biuf" if y_numeric else "biufU"
    named = hasattr(estimator, "feature_names_in_")
    plain = not named and is_plain(X) and X.shape[1] == estimator.n_features_in_
    if plain and is_plain_vector(y, X.shape[0], kinds):
        return X, y.astype(np.float64) if y_numeric else y
    X = read_new_table(estimator, X)
    if y is None:
        raise ValueError("y is needed: one value for each row of X.")
    if not y_numeric:
        require_labels(y)
    y = column_or_1d(y, warn=True)
    if y_numeric:
        y = read_numeric_targets(y)
    elif y.dtype.kind == "f":
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    require_one_each("y", y, X.shape[0])
    return X, y


def are_objects(estimator: Any, X: Any) -> bool:
    """Whether X is a list of text, graphs or the like, for a callable kernel that knows them, and
    not a table of numbers. Estimators say by `_takes_objects` whether they learn from such."""
    if not getattr(estimator, "_takes_objects", False) or not callable(estimator.kernel):
        return False
    if sp.issparse(X) or isinstance(read_frame(X), nw.DataFrame):
        return False
    try:
        array = np.asarray(X)
        if array.dtype.kind == "O" and array.ndim == 2:
            array = array.astype(np.float64)
    except (TypeError, ValueError):  # rows of different lengths, or what is no number
        return True
    return array.ndim != 2 or array.dtype.kind not in "biufc"


def make_object_rows(X: Any) -> Array:
    """Objects in an array, as they are: what a callable kernel is given parts of."""
    if isinstance(X, (str, bytes, dict, set)) or not hasattr(X, "__len__") or len(X) == 0:
        raise ValueError(
            f"X must be a list or an array of at least one object for a callable kernel, got "
            f"{type(X).__name__}."
        )
    if isinstance(X, np.ndarray):
        return X
    rows = np.empty(len(X), dtype=object)
    for number, value in enumerate(X):
        rows[number] = value
    return rows


def _read_targets(y: Any, X: Any, y_numeric: bool) -> Array:
    if y is None:
        raise ValueError("y is needed: one value for each row of X.")
    require_one_each("y", y, len(X))
    if y_numeric:
        return read_numeric_targets(y)
    require_labels(y)
    labels: Array = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f":
        check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    return labels


def require_one_each(name: str, values: Any, n_rows: int) -> None:
    """Refuse what has not one value for each row."""
    count = _num_samples(values)
    if count != n_rows:
        raise ValueError(f"{name} has {count} values, but X has {n_rows} rows: pass one for each.")


def read_unlabelled_table(estimator: Any, X: Any) -> Any:
    """The same for a machine that learns without y."""
    if isinstance(X, DeviceRows):
        _adopt_width(estimator, X)
        return X
    if are_objects(estimator, X):
        return _place(estimator, make_object_rows(X))
    require_numeric_columns(X)
    X = _check_table(estimator, X)
    if estimator.kernel == "precomputed":
        _require_square(X)
    return _place(estimator, _plain(X))


def _require_square(X: Any) -> None:
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X must be a square kernel matrix when kernel='precomputed', but has shape {X.shape}. "
            "Pass k(x_i, x_j) for all pairs of training rows."
        )


def read_new_table(estimator: Any, X: Any) -> Any:
    """X of predict, of the width seen in fit."""
    if not hasattr(estimator, "n_features_in_"):  # fitted to objects
        return _place(estimator, make_object_rows(X))
    if isinstance(X, DeviceRows):
        if X.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input."
            )
        return X
    if not hasattr(estimator, "feature_names_in_"):
        plain = find_plain(estimator, X)
        if plain is not None and plain.shape[1] == estimator.n_features_in_:
            return _place(estimator, plain)
    else:
        plain = _find_named_plain(estimator, X)
        if plain is not None:
            return _place(estimator, plain)
    require_numeric_columns(X)
    return _place(estimator, _plain(_check_table(estimator, X, reset=False)))


def _find_named_plain(estimator: Any, X: Any) -> Any:
    """A table of Arrow's as an array, if it has the columns of fit in their order, all of finite
    floats: a stream of single rows need not be looked at more closely. Otherwise None."""
    kind = type(X)
    if (kind.__module__, kind.__name__) != ("pyarrow.lib", "Table") or X.num_rows == 0:
        return None
    if X.column_names != estimator.feature_names_in_.tolist():
        return None
    if any(str(part) != "double" for part in X.schema.types):
        return None
    array = np.column_stack([column.to_numpy() for column in X.columns])
    return array if is_plain(array) else None  # what is missing became NaN


def _check_table(estimator: Any, X: Any, **options: Any) -> Any:
    """scikit-learn's check, which says where the first value is that is NaN or infinite."""
    if sp.issparse(X):
        if estimator.kernel == "precomputed":
            raise TypeError(
                "Sparse precomputed kernels are not supported: sparse data was passed as a kernel "
                "matrix. Pass a dense one, X.toarray()."
            )
        require_sound_sparse(X)
    sparse = False if estimator.kernel == "precomputed" else "csr"
    try:
        if getattr(estimator, "_takes_missing", False):
            options["ensure_all_finite"] = "allow-nan"
        return validate_data(estimator, X, accept_sparse=sparse, dtype="numeric", **options)
    except (TypeError, ValueError) as error:
        said = str(error).split("\n")[0]
        if isinstance(error, TypeError) and "NAType" in said:  # pandas' NA among objects
            said = "Input X contains NaN."
        found = _first_not_finite(X) if said.startswith("Input X contains") else None
        if found is None:
            raise
        row, column = found
        raise ValueError(
            f"{said} The first such value is in row {row}, column {column!r}. "
            + advise_on_not_finite(infinite="infinity" in said)
        ) from None


def require_sound_sparse(X: Any) -> None:
    """Refuse sparse arrays whose indices lead out of them: compiled loops follow them blindly, and
    SciPy checks neither files nor arrays put together by hand."""
    try:
        if X.format == "coo":
            X._check()
        elif hasattr(X, "check_format"):
            X.check_format(full_check=True)
        # SciPy looks at them only where the last one says that there are entries.
        pointers = getattr(X, "indptr", None)
        if pointers is not None and (pointers[1:] < pointers[:-1]).any():
            raise ValueError("the index pointers must not fall")
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(
            f"X is a sparse array whose indices do not fit its shape {X.shape}: {error}. Build it "
            "again from its rows, columns and values."
        ) from None


def _first_not_finite(X: Any) -> tuple[int, Any] | None:
    """Row and column (its name, in a dataframe) of a value that is not finite."""
    if sp.issparse(X):
        return None
    names = list(getattr(X, "column_names", getattr(X, "columns", ())))  # Arrow's, or others'
    try:
        bad = ~np.isfinite(np.asarray(X, dtype=np.float64))
    except (TypeError, ValueError):  # no number of NumPy's is like pandas' NA
        bad = np.asarray(X.isna() if hasattr(X, "isna") else find_missing(np.asarray(X)))
    if bad.ndim != 2 or not bad.any():
        return None
    row, column = (int(place) for place in np.argwhere(bad)[0])
    return row, names[column] if names else column


def find_plain(estimator: Any, X: Any) -> Any:
    """X as an array that needs no closer look, or None: a dense array of finite floats, or a CSR
    one, whose arrays are looked at once. Sparse rows are sorted unless the estimator says by
    `_takes_any_order` that it does not mind."""
    if not sp.issparse(X):
        return X if is_plain(X) else None
    precomputed = getattr(estimator, "kernel", None) == "precomputed"
    if precomputed or X.format != "csr" or X.ndim != 2 or X.dtype not in (np.float64, np.float32):
        return None
    n_rows, n_columns = X.shape
    indices, pointers = X.indices, X.indptr
    whole = len(pointers) == n_rows + 1 and len(indices) == len(X.data)
    indexed = {indices.dtype.name, pointers.dtype.name} <= {"int32", "int64"}
    if not (whole and indexed and n_rows > 0 and 0 < n_columns < 2**31):
        return None
    from lindero.runtime import sparse_rows  # compiled, which readers of files do not need

    order = sparse_rows.examine_rows(indices, pointers, n_columns)
    if order in (sparse_rows.TWICE, sparse_rows.BROKEN) or not np.isfinite(X.data.sum()):
        return None
    plain = sp.csr_array(X)
    plain.has_canonical_format = order == sparse_rows.ASCENDING
    if order != sparse_rows.ASCENDING and not getattr(estimator, "_takes_any_order", False):
        plain = plain.sorted_indices()
        plain.has_canonical_format = True
    return plain


def is_plain(X: Any) -> bool:
    """Whether X needs no closer look: a dense array of finite floats. Small data are most often
    that, and the closer look would take as long as the fit."""
    return bool(
        type(X) is np.ndarray
        and X.ndim == 2
        and X.size > 0
        and X.dtype in (np.float64, np.float32)
        and np.isfinite(X).all()
    )


def is_plain_vector(y: Any, n_rows: int, kinds: str) -> bool:
    """The same of labels or targets: one for each of `n_rows` rows, of one of these dtype kinds."""
    plain = type(y) is np.ndarray and y.shape == (n_rows,) and y.dtype.kind in kinds
    return bool(plain and (y.dtype.kind != "f" or np.isfinite(y).all()))


def keep_parameters(estimator: Any, given: dict[str, Any]) -> None:
    """Keep each parameter of a constructor, whose `locals()` are given, under its own name: all
    that scikit-learn lets a constructor do."""
    for name, value in given.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


#: Parameters of these types are as good as others that are equal to them.
_PLAIN_TYPES = frozenset({bool, int, float, str, type(None)})


def validate_parameters(estimator: Any) -> None:
    """Refuse parameters that the class of the estimator does not take. scikit-learn's check takes
    a third of the time of a small fit, so it is made once for the same values."""
    given = estimator.get_params(deep=False)
    types = tuple(map(type, given.values()))
    if _PLAIN_TYPES.issuperset(types):
        make: Callable[..., Any] = type(estimator)
        _validate_once(make, tuple(given.items()), types)
    else:
        BaseEstimator._validate_params(estimator)


@lru_cache(maxsize=512)
def _validate_once(
    make: Callable[..., Any], given: tuple[tuple[str, Any], ...], types: tuple[type, ...]
) -> None:
    """`types` tells 1, 1.0 and True apart."""
    BaseEstimator._validate_params(make(**dict(given)))


def read_frame(X: Any, eager_only: bool = True) -> Any:
    """A dataframe as narwhals has it, and anything else as it is; two columns of one name are
    refused."""
    try:
        return nw.from_native(X, pass_through=True, eager_only=eager_only)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Each column of X needs a name of its own. {error}") from None


def require_numeric_columns(X: Any) -> None:
    """Refuse text, categories and dates in a dataframe, by the name of their column."""
    frame = read_frame(X)
    if not isinstance(frame, nw.DataFrame):
        return
    for name, kind in frame.schema.items():
        if isinstance(kind, (nw.String, nw.Categorical, nw.Enum)):
            raise ValueError(
                f"Column {name!r} of X holds text or categories ({kind}), not numbers. Encode it "
                "first (sklearn.preprocessing.OneHotEncoder or OrdinalEncoder), or leave it out. "
                "(could not convert string to float)"
            )
        if isinstance(kind, (nw.Datetime, nw.Date, nw.Duration, nw.Time)):
            raise ValueError(
                f"Column {name!r} of X holds dates or times ({kind}), not numbers. Turn it into "
                f"numbers first (days since a date, say: in pandas (X[{name!r}] - "
                f"X[{name!r}].min()).dt.days), or leave it out. lindero.data.load does so with "
                "dates in files, lindero.evaluation.compare with those in dataframes."
            )


def _plain(X: Any) -> Any:
    if X.dtype.kind not in "biuf":
        raise ValueError(
            f"X must hold numbers, but its values are of type {X.dtype}. Encode text and dates as "
            "numbers first."
        )
    if sp.issparse(X):
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    if X.shape[1] > 2**31 - 1:
        raise ValueError(f"X has {X.shape[1]} columns; at most 2**31 - 1 can be used.")
    if X.dtype == np.float16 or X.dtype.itemsize > 8:
        X = X.astype(np.float64)
    return X


# -- labels ---------------------------------------------------------------------------------------


def find_missing(values: Array) -> Array:
    """Which values are None, NaN, NaT or pandas' NA."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    missing: Array = np.frompyfunc(_is_missing, 1, 1)(values).astype(bool)
    return missing


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA does not say whether it differs from itself
        return True
    except ValueError:  # neither does an array, but that is something
        return False


def find_labelled(y: Any) -> Array | None:
    """Which rows have a label; None where y is no vector, which later checks speak of."""
    try:
        labels = None if y is None or sp.issparse(y) else make_label_array(y)
    except ValueError:  # rows of different lengths
        return None
    if labels is None or labels.shape not in ((labels.size,), (labels.size, 1)):
        return None
    return ~find_missing(labels.ravel())


def require_labels(y: Any) -> None:
    """Refuse rows without a label."""
    known = find_labelled(y)
    if known is not None and not known.all():
        row = int(np.argmin(known))
        raise ValueError(
            f"y has no label in row {row}: its value is {make_label_array(y).ravel()[row]}. Leave "
            "such rows out, or label them first. (Input y contains NaN.)"
        )


def require_targets(y: Any) -> None:
    """Refuse rows whose target is missing or infinite."""
    known = find_labelled(y)
    if known is None:
        return  # later checks speak of it
    values = make_label_array(y).ravel()
    if not known.all():
        row = int(np.argmin(known))
        raise ValueError(
            f"y has no number in row {row}: its value is {values[row]}. Leave such rows out. "
            "(Input y contains NaN.)"
        )
    if values.dtype.kind == "c":
        return
    try:
        finite = np.isfinite(values.astype(np.float64))
    except OverflowError:  # whole numbers that no float can hold
        finite = np.array([not isinstance(v, int) or abs(v) <= sys.float_info.max for v in values])
    except (TypeError, ValueError):  # no numbers
        return
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"y is not finite in row {row}: its value is {values[row]}. Leave such rows out, or "
            "put a finite number in its place. (Input y contains infinity or a value too large "
            "for dtype('float64').)"
        )


def find_unlabelled(y: Any, mark: Any) -> tuple[Array | None, Any]:
    """Which rows are unlabelled, and y with a label of some other row in their place; None where y
    is no vector, which later checks speak of. Missing values are unlabelled, and what equals
    `mark`; "auto" stands for -1 where nothing is missing, None for no further mark."""
    known = find_labelled(y)
    if known is None:
        return None, y
    labels = make_label_array(y).ravel()
    unlabelled = ~known
    automatic = isinstance(mark, str) and mark == "auto"
    if automatic and known.all() and labels.dtype.kind in "ifO":
        unlabelled = _equals(labels, -1)
        rest = labels[~unlabelled]
        if unlabelled.any() and len(rest) and _equals(rest, rest[0]).all():
            raise ValueError(
                f"y holds -1 and {rest[0]} only, so -1 is either a class or the mark of unlabelled "
                "rows. If it is a class, pass unlabelled=None, and mark unlabelled rows by missing "
                "values (None, NaN) or a label of their own (unlabelled=0, say). If it is not, "
                "only one class is labelled: label rows of a second one."
            )
    elif not automatic and mark is not None:
        unlabelled[known] = _equals(labels[known], mark)
    if not unlabelled.any():
        return unlabelled, y
    if unlabelled.all():
        raise ValueError(
            f"All {len(labels)} rows are unlabelled: a classifier needs labelled rows of at least "
            "two classes. For groups without any label see lindero.bayes.TMClustering."
        )
    filled = labels.copy()
    filled[unlabelled] = labels[~unlabelled][0]
    return unlabelled, make_plain_labels(filled)


def _equals(labels: Array, value: Any) -> Array:
    same: Array = np.frompyfunc(lambda label: bool(label == value), 1, 1)(labels).astype(bool)
    return same


def make_label_array(labels: Any) -> Array:
    """Labels in an array that has kept each as it is: a list of text and NaN would become text that
    says 'nan'."""
    array = np.asarray(labels)
    listed = array.dtype.kind == "U" and not hasattr(labels, "dtype")
    return np.asarray(labels, dtype=object) if listed else array


def require_one_kind(labels: Array) -> None:
    """Refuse text among other labels, which has no order with them."""
    if labels.dtype != object:
        return
    text = np.array([isinstance(label, str) for label in labels], dtype=bool)
    if text.any() and not text.all():
        one, other = int(np.argmax(text)), int(np.argmin(text))
        raise ValueError(
            f"y mixes text with other labels: row {one} holds {labels[one]!r}, row {other} holds "
            f"{labels[other]!r}. Make all of them text, or all of them numbers."
        )


def read_declared_classes(classes: Any) -> Array:
    """The classes that a user says there are, in order."""
    if find_missing(make_label_array(classes)).any():
        raise ValueError(f"classes={list(classes)} holds a missing value: name labels only.")
    return np.unique(column_or_1d(classes, input_name="classes"))


def make_plain_labels(labels: Array) -> Array:
    """Labels in an array of their own type: text in a dataframe comes as objects."""
    require_one_kind(labels)
    return np.array(labels.tolist()) if labels.dtype == object else labels


def require_same_kind(labels: Array, known: Array, advice: str) -> None:
    """Refuse text, dates or durations where classes are of another kind; both are plain."""
    kinds = {"U": "text", "S": "text", "M": "dates", "m": "durations"}
    given, wanted = (kinds.get(some.dtype.kind, "numbers") for some in (labels, known))
    if given != wanted:
        pair = " and ".join(sorted([given, wanted], reverse=True))
        raise ValueError(
            f"y holds labels like {labels.tolist()[0]!r}, but those known are like "
            f"{known.tolist()[0]!r}: {pair} cannot be mixed. {advice}"
        )


def encode_labels(y: Array, classes: Array, advice: str) -> Array:
    """The position of each label among the classes; `advice` is for users whose label is none."""
    known, labels = make_plain_labels(classes), make_plain_labels(y)
    require_same_kind(labels, known, advice)
    codes: Array = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    unknown = np.flatnonzero(known[codes] != labels)
    if len(unknown):
        row = int(unknown[0])
        raise ValueError(
            f"y holds the label {labels.tolist()[row]!r} in row {row}, but the classes are "
            f"{known.tolist()}. {advice}"
        )
    return codes


def encode_known_labels(y: Any, classes: Array) -> Array:
    """The position of each label among the classes of a fitted model."""
    if y is None:
        raise ValueError("y is needed: the labels given to fit.")
    require_labels(y)
    return encode_labels(column_or_1d(y), classes, "Such labels were not in the data given to fit.")


def find_classes(y: Array) -> tuple[Array, Array]:
    """The classes in order, and the position of each label among them."""
    if y.dtype == object:
        require_one_kind(y)
    whole = _as_integers(y)
    if whole is not None:
        classes, codes = _distinct(whole)
        return _require_classes(classes.astype(y.dtype)), codes
    if y.dtype.kind not in "biuUS":  # these are labels by their type, others need a closer look
        check_classification_targets(y)
    classes, codes = _distinct(y)
    return _require_classes(classes), codes


def _as_integers(y: Array) -> Array | None:
    """Labels that are floats but whole numbers, as integers, which need no closer look either."""
    if y.dtype.kind != "f" or len(y) == 0 or not np.abs(y).max() <= _WHOLE:
        return None
    whole: Array = y.astype(np.int64)
    return whole if (whole == y).all() else None


def _require_classes(classes: Array) -> Array:
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ('{classes[0]}'); a classifier needs samples of at least two "
            "classes. The number of classes has to be greater than one."
        )
    return classes


def _distinct(y: Array) -> tuple[Array, Array]:
    """What `np.unique` gives with the inverse; whole numbers close together need no sorting."""
    if y.dtype.kind in "iu" and len(y):
        least, most = int(y.min()), int(y.max())
        if most - least < len(y) + _CLOSE and most <= np.iinfo(np.intp).max:
            shifted = y.astype(np.intp, copy=False) - least
            present = np.bincount(shifted, minlength=most - least + 1) > 0
            places = np.cumsum(present) - 1
            return (np.flatnonzero(present) + least).astype(y.dtype), places[shifted]
    return np.unique(y, return_inverse=True)


def read_numeric_targets(y: Any) -> Array:
    """Targets of a fitted regression, given again."""
    if y is None:
        raise ValueError("y is needed: the targets given to fit.")
    require_targets(y)
    targets: Array = check_array(column_or_1d(y), ensure_2d=False, dtype=np.float64, input_name="y")
    return targets


def read_sample_weights(sample_weight: Any, X: Any) -> Array:
    """Weights of the rows, none negative."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    if isinstance(X, DeviceRows):
        X = np.empty((len(X), 0))  # it is asked for its length only
    weights: Array = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, allow_all_zero_weights=True
    )
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for all rows: give at least one a positive weight. "
            "(Invalid input - all samples have zero or negative weights.)"
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise ValueError("The sum of sample_weight overflows: use smaller weights.")
    return weights


def read_row_factors(values: Any, n_rows: int, name: str) -> Array:
    """Factors of C of some rows, none negative, all of which may be zero; 1 unless given."""
    if values is None:
        return np.ones(n_rows)
    factors: Array = column_or_1d(values, dtype=np.float64, input_name=name)
    require_one_each(name, factors, n_rows)
    bad = np.flatnonzero(~(factors >= 0) | np.isinf(factors))
    if len(bad):
        raise ValueError(
            f"{name} must be finite and not negative, but that of row {bad[0]} is "
            f"{factors[bad[0]]:g}."
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(factors.sum()):
            raise ValueError(f"The sum of {name} overflows: state it in a larger unit.")
    return factors


def require_every_class(parameter: str, weights: Array, codes: Array, classes: Array) -> None:
    """Refuse weights that leave a class without any sample."""
    present = np.bincount(codes, weights=weights > 0, minlength=len(classes))
    if (present == 0).any():
        empty = classes[int(np.argmax(present == 0))]
        raise ValueError(
            f"{parameter} is zero for all samples of class '{empty}'. Give at least one of them a "
            "positive weight, or leave the class out of X and y. "
            "(Invalid input - all samples have zero or negative weights.)"
        )


def compute_class_weights(class_weight: Any, classes: Array, y: Array, weights: Array) -> Array:
    """The factor of C of each class; "balanced" counts rows by their weight."""
    if class_weight is None:
        return np.ones(len(classes))
    factors: Array = compute_class_weight(class_weight, classes=classes, y=y, sample_weight=weights)
    if (factors < 0).any() or not np.isfinite(factors).all():
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}.")
    return factors


def weigh_classes(
    class_weight: Any, classes: Array, codes: Array, y: Array, weights: Array
) -> tuple[Array, Array]:
    """The factor of C of each class, and the weights of the rows times those."""
    factors = compute_class_weights(class_weight, classes, y, weights)
    if class_weight is None:
        return factors, weights
    weights = weights * factors[codes]
    require_every_class("class_weight", weights, codes, classes)
    return factors, weights


def make_kernel_function(estimator: Any, X: Any, weights: Array) -> KernelFunction:
    """The kernel that the parameters `kernel`, `gamma`, `degree` and `coef0` describe."""
    from lindero.kernels.operator import NAMED_KERNELS, KernelFunction

    if callable(estimator.kernel):
        return KernelFunction("callable", call=estimator.kernel)
    assert estimator.kernel in NAMED_KERNELS
    gamma = estimator.gamma
    if estimator.kernel in ("linear", "precomputed"):
        gamma = 1.0  # not used
    elif gamma == "scale":
        gamma = compute_scale_gamma(X, weights)
    elif gamma == "auto":
        gamma = 1.0 / X.shape[1]
    elif gamma == "spread":
        gamma = compute_spread_gamma(X, weights)
    if not np.isfinite(gamma):
        raise ValueError(
            f"gamma={estimator.gamma!r} gives {gamma}: the values of X are too small or too large "
            "for it. Scale X first (sklearn.preprocessing.StandardScaler), or give gamma a number. "
            "(The dual coefficients or intercepts are not finite.)"
        )
    function = KernelFunction(
        estimator.kernel, float(gamma), int(estimator.degree), float(estimator.coef0)
    )
    require_computable(X, function)
    return function


def require_computable(X: Any, function: KernelFunction) -> None:
    """Refuse tables whose kernel values would be too large to compute with."""
    from lindero.kernels.operator import LARGEST_VALUE

    values = X.data if sp.issparse(X) else X
    if values.size == 0:
        return
    largest = max(float(values.max()), -float(values.min()))
    size, most = largest, LARGEST_VALUE
    if function.name != "precomputed":
        size = largest * largest * X.shape[1]  # infinite where it overflows
    if function.name == "poly":
        with np.errstate(over="ignore", invalid="ignore"):
            inner = np.float64(function.gamma * size + abs(function.coef0))
            size = float(np.maximum(size, inner**function.degree))
    if function.name == "rbf":
        most = LARGEST_VALUE**2  # of squares alone: values are at most 1
    if size <= most:
        return
    raise ValueError(_too_large(X, function, largest))


def _too_large(X: Any, function: KernelFunction, largest: float) -> str:
    if function.name == "precomputed":
        return f"The kernel matrix holds values up to {largest:.0e}: divide it by a constant."
    if sp.issparse(X):
        column = int(X.tocsr().indices[np.abs(X.tocsr().data).argmax()])
    else:
        column = int(np.maximum(np.abs(X.max(axis=0)), np.abs(X.min(axis=0))).argmax())
    advice = "Scale the features first (sklearn.preprocessing.StandardScaler)"
    if function.name == "poly":
        advice += ", or lower degree or gamma"
    return (
        f"Kernel values of these data are too large to compute with: column {column} "
        f"holds values up to {largest:.1e}. {advice}. "
        "(The dual coefficients or intercepts are not finite.)"
    )


def compute_scale_gamma(X: Any, weights: Array | None = None) -> float:
    """What gamma="scale" is for a table: 1 / (n_columns · variance of all entries), or 1."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        spread = compute_total_variance(X, weights)
        return float(np.float64(1.0) / (X.shape[1] * spread)) if spread > 0 else 1.0


def compute_spread_gamma(X: Any, weights: Array) -> float:
    """What gamma="spread" is for a table: 1 / (sum of the variances of the columns), or 1. It is
    ``"scale"`` of the table with each column moved to mean zero, which moves no row nearer to
    another."""
    share = weights / weights.sum()
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if sp.issparse(X):
            mean, squares = X.T @ share, float((X.multiply(X).T @ share).sum())
            spread = squares - float(mean @ mean)
        else:
            mean = share @ X
            height = max(1, _BLOCK_NUMBERS // max(1, X.shape[1]))
            spread = 0.0
            for start in range(0, X.shape[0], height):
                block = X[start : start + height] - mean
                spread += float(share[start : start + height] @ np.einsum("ij,ij->i", block, block))
        return float(1.0 / np.float64(spread)) if spread > 0 else 1.0


def compute_total_variance(X: Any, weights: Array) -> float:
    """Variance of all entries of X, rows counted by weight, without a float64 copy of X."""
    if isinstance(X, DeviceRows):
        return X.total_variance(weights)
    total = weights.sum() * X.shape[1]
    if sp.issparse(X):
        X = X.tocsr()
        data = X.data.astype(np.float64)
        of_entry = np.repeat(weights, np.diff(X.indptr))
        return float(of_entry @ data**2 / total - (of_entry @ data / total) ** 2)
    # In blocks of bounded size: a float64 copy of large 8-bit data would be eight times as large.
    height = max(1, _BLOCK_NUMBERS // X.shape[1])
    blocks = [slice(start, start + height) for start in range(0, X.shape[0], height)]
    mean = sum(float((weights[rows] @ X[rows]).sum()) for rows in blocks) / total
    squares = 0.0
    for rows in blocks:
        block = X[rows] - mean
        squares += float(weights[rows] @ np.einsum("ij,ij->i", block, block))
    return float(squares / total)


def advise_scaling(X: Any, function: KernelFunction) -> str:
    """A sentence for users whose features differ wildly in scale, else an empty string."""
    if function.name == "precomputed" or X.ndim != 2 or X.dtype.kind not in "biuf":
        return ""
    if sp.issparse(X):
        largest = np.asarray(abs(X).max(axis=0).todense(), dtype=np.float64).ravel()
    else:
        largest = np.abs(X.max(axis=0).astype(np.float64) - X.min(axis=0).astype(np.float64))
    largest = largest[largest > 0]
    if len(largest) < 2 or largest.max() < 1e3 * largest.min():
        return ""
    ratio = largest.max() / largest.min()
    return (
        f" The features differ in scale by a factor of {ratio:.0e}, which makes the problem hard: "
        "scale them first (sklearn.preprocessing.StandardScaler or MinMaxScaler)."
    )
