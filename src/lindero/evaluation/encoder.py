"""Tables with categories and missing values as numbers, for machines that know numbers only.

number x      (x − mean) / deviation, and 0 where it is missing, or NaN for machines that take it;
              with scaling="range" (x − least) / (largest − least)
category x    one column for each value, 1 where x has it; nothing where it is missing or new;
              rare values of columns with many, and new ones there, are one value, "other"
text x        its words, hashed to a fixed number of columns: log-scaled counts times the inverse
              document frequency of the training rows, of length 1
date x        year, hour and elapsed days as numbers, month and weekday as categories, where they
              vary
missing       a column of its own, 1 where x is missing, for columns that missed any in `fit`
sparse X      x / max |x|, so that zeros stay zeros

What a kind of column becomes is learned, done and named together: all kinds are in one file.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_n_features,
    check_is_fitted,
    validate_data,
)

from lindero.bayes.tables.column_readers import ListedColumn
from lindero.bayes.tables.schema import LEFT_OUT, NUMBER, UNKNOWN, Column, Schema, Table, UserTable
from lindero.bayes.tables.wide_columns import say_left_out, share_values
from lindero.errors import warn_user
from lindero.notebook import link_documentation, write_card
from lindero.runtime.arrays import Array
from lindero.validation import read_frame

#: Values of `form_`.
TABLE = "table"
SPARSE = "sparse"

#: Kinds of columns beside those of a schema, which reads them as columns left out.
TEXT = "text"
DATE = "date"

#: Rows below which a value is rare, where the user does not say.
_USUAL_COUNT = 5

_WORD = re.compile(r"\w+")

#: What to subtract from numbers, and what to divide them by.
Measurement = Callable[[Array], tuple[float, float]]

AUTO = "auto"

#: Columns that the words of a text become: beside other columns, and where texts are all there is.
_SOME_WORDS, _ALL_WORDS = 256, 2**16

#: Tables of more columns than this come as sparse ones: most columns of categories are zeros.
_MANY_COLUMNS = 1000


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Any table as numbers: standardised, with one column for each value of a category.

    Takes arrays, lists, dataframes of pandas, polars and Arrow, and sparse matrices. Columns with
    names may come in any order. A category that was not seen in `fit` is none of those known, or
    "other" in a column with rare ones. Columns that name rows are left out, with a warning.

    Parameters
    ----------
    categorical_features : list, mask or "all", default=None
        Columns that are categories though they hold numbers. Text and booleans always are. If it is
        given, columns of text are taken as they are: none is left out, pooled or hashed.
    min_count : int or "auto", default="auto"
        In columns of more than 20 values, those that fewer rows have are pooled into "other", and
        so are all but the 750 most frequent (375 where two columns have more than 250 values, 250
        where more have). "auto" is 5; 1 pools none.
    text_columns : int or "auto", default="auto"
        Number of columns that the words of a long text become; 0 leaves it out. ``"auto"`` is 256
        beside other columns, and 65 536, as a sparse table, where texts are all there is. Text is
        long if values have four words or more on average, and more than 20 of them differ.
    keep_row_names : bool, default=False
        Whether columns are kept that name rows: text with different values in more than half of at
        least 50 rows, and whole numbers that all differ under a name such as `id`.
    fill_missing : bool, default=True
        Whether a missing number becomes 0, the mean. False leaves it NaN, for machines that know
        what to do about it, such as adaptive ones on a stream.
    scaling : {"deviation", "range"}, default="deviation"
        Whether a number gets mean 0 and standard deviation 1, or the rows of `fit` go from 0 to 1.
        A constant column becomes 0; with "range", 1 unless it is 0. Sparse matrices do not ask:
        their zeros stay zeros.

    Attributes
    ----------
    form_ : {"table", "sparse"}
        Whether it was fitted to a table or to a sparse matrix.
    kinds_ : list of str
        Of each column "number", "category", "text", "date", "left out", or "unknown" if it had no
        value: it is left out then.
    categories_ : list of list
        Values of each column that is a category, in the order of the columns they become.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        What is subtracted from a number (the least one, with ``scaling="range"``), and what it is
        then divided by; 0 and 1 for categories.
    indicated_ : ndarray of shape (n_features_in_,), bool
        Which columns get another that says where they are missing.
    others_ : list of (str or None)
        Of each column the value that stands for rare and new ones, if any does.
    details_ : list of dict
        Of each column of text or dates how it becomes numbers; empty for others.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if all are text.

    See Also
    --------
    make_machine : Puts an encoder before every machine that needs one.
    sklearn.compose.ColumnTransformer : Other transformers for chosen columns.

    References
    ----------
    .. [1] Hastie, T., Tibshirani, R., Friedman, J.: The Elements of Statistical Learning, section
       9.6 (missing values as a category of their own). Springer (2009).

    Examples
    --------
    >>> from lindero.evaluation import TableEncoder
    >>> rows = [["red", 1.0], ["blue", None], [None, 3.0]]
    >>> encoder = TableEncoder().fit(rows)
    >>> encoder.get_feature_names_out().tolist()
    ['x0=blue', 'x0=red', 'x0 is missing', 'x1', 'x1 is missing']
    >>> encoder.transform([["red", 3.0], ["green", None]])
    array([[0., 1., 0., 1., 0.],
           [0., 0., 0., 0., 1.]])
    """

    _html_repr = write_card
    _get_doc_link = link_documentation

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "categorical_features": ["array-like", str, None],
        "min_count": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "text_columns": [Interval(Integral, 0, 2**16, closed="both"), StrOptions({AUTO})],
        "keep_row_names": ["boolean"],
        "fill_missing": ["boolean"],
        "scaling": [StrOptions({"deviation", "range"})],
    }

    def __init__(
        self,
        *,
        categorical_features: Any = None,
        min_count: int | str = "auto",
        text_columns: int | str = AUTO,
        keep_row_names: bool = False,
        fill_missing: bool = True,
        scaling: str = "deviation",
    ) -> None:
        self.categorical_features = categorical_features
        self.min_count = min_count
        self.text_columns = text_columns
        self.keep_row_names = keep_row_names
        self.fill_missing = fill_missing
        self.scaling = scaling

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn kinds, categories and scales of the columns.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored
            Here for pipelines.

        Returns
        -------
        self : TableEncoder
            The fitted encoder. A call that fails leaves it as it was.
        """
        learned = _learn_sparse(X) if sp.issparse(X) else self._learn_table(X)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        validate_data(self, X, skip_check_array=True)
        for name, value in learned.items():
            setattr(self, name, value)
        return self

    def _learn_table(self, X: Any) -> dict[str, Any]:
        hidden, dates = _take_dates(X)
        user = UserTable.of(hidden)
        schema = Schema.learn(user, self.categorical_features)
        texts: list[str] = []
        if self.categorical_features is None:
            schema, texts = self._tidy(schema, user)
        table = schema.read(user)
        if len(schema.unknown_columns) == schema.n_columns and not dates:
            raise ValueError(
                f"No column of X has any value: all of its {user.n_rows} rows are missing."
            )
        d = schema.n_columns
        mean, scale, indicated = np.zeros(d), np.ones(d), np.zeros(d, dtype=bool)
        kinds = [column.kind for column in schema.columns]
        details: list[dict[str, Any]] = [{} for _ in range(d)]
        measure = _MEASURES[self.scaling]
        for at, column in enumerate(schema.number_columns):
            missing = np.isnan(table.numbers[at])
            indicated[column] = missing.any()
            mean[column], scale[column] = measure(table.numbers[at][~missing])
        n_words = self._count_text_columns(schema, texts, bool(dates))
        for at, column in enumerate(schema.category_columns):
            if column in dates:
                kinds[column], details[column] = DATE, _learn_dates(dates[column], measure)
                indicated[column] = dates[column].null_count > 0
            elif schema.title(column) in texts:
                part, _ = user.place(column)
                assert isinstance(part, ListedColumn)
                kinds[column], details[column] = TEXT, _learn_words(part, n_words)
                indicated[column] = bool((part.places < 0).any())
            else:
                known = schema.columns[column].kind not in (UNKNOWN, LEFT_OUT)
                indicated[column] = known and bool((table.codes[at] == 0).any())
        return {
            "form_": TABLE,
            "kinds_": kinds,
            "categories_": [list(column.values) for column in schema.columns],
            "mean_": mean,
            "scale_": scale,
            "indicated_": indicated,
            "others_": [column.other for column in schema.columns],
            "details_": details,
        }

    def _count_text_columns(self, schema: Schema, texts: list[str], has_dates: bool) -> int:
        """Columns that the words of a text become."""
        if self.text_columns != AUTO:
            return int(self.text_columns)
        return _ALL_WORDS if not has_dates and _are_all(schema, texts) else _SOME_WORDS

    def _tidy(self, schema: Schema, user: UserTable) -> tuple[Schema, list[str]]:
        """A schema with rare values pooled and without columns that name rows, and the titles of
        columns that are texts; says what is left out."""
        from lindero.bayes.reading import warn_of_text  # and all that counts, for `fit` only

        least = _USUAL_COUNT if self.min_count == "auto" else int(self.min_count)
        reads = self.text_columns != 0
        values = (column.values for column in schema.columns)
        most = share_values(values, user.n_rows)
        tidied, names, texts, scattered = schema.tidy(user, least, (), reads, most)
        if names and self.keep_row_names:
            keep = {at for at in range(schema.n_columns) if schema.title(at) in names}
            tidied, names, texts, scattered = schema.tidy(user, least, keep, reads, most)
        warn_of_text(schema, user.n_rows, tidied is not schema, texts if reads else ())
        if names:
            warn_user(say_left_out(names, "use keep_row_names=True"), UserWarning)
        if self.text_columns == 0:
            scattered, texts = [*scattered, *texts], []
        for title in scattered:
            warn_user(
                f"Column {title!r} is left out: few rows have the same value of it. Use "
                "min_count=1 to keep it.",
                UserWarning,
            )
        return tidied, texts

    def transform(self, X: Any) -> Any:
        """The table as numbers.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Rows with the columns given to `fit`; columns of a dataframe in any order.

        Returns
        -------
        numbers : ndarray or CSR array of shape (n_samples, n_columns_out)
            Sparse where X is, and for tables that become more than 1000 columns.
        """
        check_is_fitted(self)
        if self.form_ == SPARSE:
            values = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
            _check_n_features(self, X, reset=False)
            return sp.csr_array(sp.csr_array(values) @ sp.diags_array(1.0 / self.scale_))
        if sp.issparse(X):
            raise TypeError(
                "X is a sparse matrix, but the encoder was fitted to a table: pass X.toarray() if "
                "its columns are those of the table."
            )
        hidden, dates = _take_dates(X)
        user = UserTable.of(hidden)
        self._require_width(X, user)
        schema = self._schema()
        table = schema.read(user)
        if user.names is not None and schema.names is not None:
            dates = {schema.names.index(user.names[at]): moments for at, moments in dates.items()}
            user = user.reorder(schema.names)
        blocks = self._blocks(table, user, dates)
        if self._is_wide():
            return sp.csr_array(sp.hstack([sp.csr_array(b) for b in blocks]))
        numbers, at = np.zeros((table.n_rows, self.parts()[-1].stop)), 0
        for block in blocks:
            numbers[:, at : at + block.shape[1]] = block
            at += block.shape[1]
        return numbers

    def _schema(self) -> Schema:
        """What tables are read by."""
        names = getattr(self, "feature_names_in_", [None] * self.n_features_in_)
        others, _ = self._more()
        described = zip(names, self.kinds_, self.categories_, others, strict=True)
        columns = (
            Column(
                None if name is None else str(name),
                LEFT_OUT if kind in (TEXT, DATE) else kind,
                tuple(values),
                other,
            )
            for name, kind, values, other in described
        )
        return Schema(tuple(columns))

    def _more(self) -> tuple[list[str | None], list[dict[str, Any]]]:
        """What encoders of older versions do not have: others_ and details_."""
        none: list[str | None] = [None] * self.n_features_in_
        empty: list[dict[str, Any]] = [{} for _ in none]
        return getattr(self, "others_", none), getattr(self, "details_", empty)

    def parts(self) -> list[slice]:
        """Which columns of the result each column of the table has become."""
        check_is_fitted(self)
        _, details = self._more()
        described = zip(self.kinds_, self.categories_, self.indicated_, details, strict=True)
        widths = [
            (kind == NUMBER) + len(values) + len(_name_parts("", detail)) + int(gaps)
            for kind, values, gaps, detail in described
        ]
        return [slice(*ends) for ends in itertools.pairwise([0, *np.cumsum(widths).tolist()])]

    def _blocks(self, table: Table, user: UserTable, dates: dict[int, Any]) -> Iterator[Any]:
        """What each column becomes."""
        numbers, codes = iter(table.numbers), iter(table.codes)
        gap = 0.0 if self.fill_missing else np.nan
        _, details = self._more()
        for column, kind in enumerate(self.kinds_):
            if kind == NUMBER:
                raw = next(numbers)
                missing = np.isnan(raw)
                values = np.where(missing, gap, (raw - self.mean_[column]) / self.scale_[column])
                yield values[:, None]
            else:
                own = next(codes).astype(np.intp)
                if kind in (UNKNOWN, LEFT_OUT):
                    continue
                if kind == DATE:
                    moments = dates.get(column)
                    title = self._schema().title(column)
                    detail = details[column]
                    block, missing = _encode_dates(moments, title, table.n_rows, detail, gap)
                    yield block
                elif kind == TEXT:
                    part, _ = user.place(column)
                    block, missing = _encode_words(part, table.n_rows, details[column])
                    block = block if self._is_wide() else block.toarray()
                    yield block
                else:
                    missing = own == 0
                    yield self._one_hot(own, len(self.categories_[column]))
            if self.indicated_[column]:
                yield missing[:, None].astype(np.float64)

    def _one_hot(self, codes: Array, n_values: int) -> Any:
        rows = np.flatnonzero((codes > 0) & (codes <= n_values))
        ones, shape = np.ones(len(rows)), (len(codes), n_values)
        if self._is_wide():
            return sp.csr_array((ones, (rows, codes[rows] - 1)), shape=shape)
        block = np.zeros(shape)
        block[rows, codes[rows] - 1] = ones
        return block

    def _is_wide(self) -> bool:
        return int(self.parts()[-1].stop) > _MANY_COLUMNS

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns given to `fit`, if they had none then.

        Returns
        -------
        names : ndarray of str
            "age", "colour=red", "day weekday=Monday", "note word 17" and "age is missing".
        """
        check_is_fitted(self)
        names: list[str] = []
        _, details = self._more()
        for column, title in enumerate(_check_feature_names_in(self, input_features)):
            if self.kinds_[column] == NUMBER:
                names.append(str(title))
            names += [f"{title}={value}" for value in self.categories_[column]]
            names += _name_parts(f"{title} ", details[column])
            if self.indicated_[column]:
                names.append(f"{title} is missing")
        return np.array(names, dtype=object)

    def _require_width(self, X: Any, table: UserTable) -> None:
        named = hasattr(self, "feature_names_in_")
        if not named or table.names is None:
            _check_n_features(self, X, reset=False)
        if named == (table.names is None):  # in scikit-learn's words
            seen = ("does not have valid", "with") if named else ("has", "without")
            said = "X {} feature names, but TableEncoder was fitted {} feature names"
            warn_user(said.format(*seen), UserWarning)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for name in ("allow_nan", "string", "categorical", "sparse"):
            setattr(tags.input_tags, name, True)
        tags.transformer_tags.preserves_dtype = []
        return tags


def _learn_sparse(X: Any) -> dict[str, Any]:
    """What the encoder learns from sparse rows: the largest value of each column."""
    values = sp.csc_array(check_array(X, accept_sparse="csc", dtype=np.float64, input_name="X"))
    d = values.shape[1]
    largest = np.asarray(abs(values).max(axis=0).todense()).ravel()
    return {
        "form_": SPARSE,
        "kinds_": [NUMBER] * d,
        "categories_": [[] for _ in range(d)],
        "mean_": np.zeros(d),
        "scale_": np.where(largest > 0.0, largest, 1.0),
        "indicated_": np.zeros(d, dtype=bool),
        "others_": [None] * d,
        "details_": [{} for _ in range(d)],
    }


def holds_texts_only(X: Any) -> bool:
    """Whether an encoder reads all columns of a table that it does not leave out as texts."""
    if sp.issparse(X):
        return False
    hidden, dates = _take_dates(X)
    if dates:
        return False
    user = UserTable.of(hidden)
    with warnings.catch_warnings():  # what there is to say is said where columns are encoded
        warnings.simplefilter("ignore")
        schema, _, texts, _ = Schema.learn(user).tidy(user, _USUAL_COUNT, reads_texts=True)
    return _are_all(schema, texts)


def _are_all(schema: Schema, texts: list[str]) -> bool:
    """Whether columns of a tidied schema are all texts, or left out."""
    return bool(texts) and all(column.kind in (LEFT_OUT, UNKNOWN) for column in schema.columns)


# -- dates and texts ------------------------------------------------------------------------------


def _take_dates(X: Any) -> tuple[Any, dict[int, Any]]:
    """A dataframe in which columns of dates are missing throughout, and these columns as Arrow's,
    by position; anything else as it is."""
    frame = read_frame(X)
    if not isinstance(frame, nw.DataFrame):
        return X, {}
    places = [
        at
        for at, column in enumerate(frame.iter_columns())
        if column.dtype.is_temporal() and not isinstance(column.dtype, nw.Duration)
    ]
    if not places or len(frame) == 0:
        return X, {}
    import pyarrow as pa

    names = frame.columns
    found = {at: pa.chunked_array([frame[names[at]].to_arrow()]) for at in places}
    nothing = [nw.lit(None).cast(nw.Float64).alias(names[at]) for at in places]
    return frame.with_columns(*nothing).to_native(), found


def _learn_dates(column: Any, measure: Measurement) -> dict[str, Any]:
    """Which parts of dates are used, and their scales."""
    from lindero.data.dates import NAMED_PARTS, expand_dates, find_dates

    found = find_dates(column)
    assert isinstance(found, tuple)
    form, moments = found
    if moments.null_count == len(moments):
        return {"form": form, "start": "", "parts": [], "mean": [], "scale": []}
    known, parts = expand_dates(moments, form, "", ())
    scales = [
        (0.0, 1.0) if part in NAMED_PARTS else measure(_get_present(parts[title]))
        for part, title in known.parts.items()
    ]
    mean, scale = ([float(pair[k]) for pair in scales] for k in (0, 1))
    start = {"form": form, "start": known.start}
    return {**start, "parts": list(known.parts), "mean": mean, "scale": scale}


def _get_present(column: Any) -> Array:
    return np.asarray(column.drop_null().to_numpy(), dtype=np.float64)


def _encode_dates(
    column: Any, title: str, n_rows: int, detail: dict[str, Any], gap: float
) -> tuple[Array, Array]:
    """The block of a column of dates, and where it is missing; `gap` is what its numbers are
    there."""
    from lindero.data.dates import NAMED_PARTS, compute_part, read_moments

    width = len(_name_parts("", detail))
    if column is None:
        raise ValueError(
            f"Column {title!r} held dates when the model was made. Pass a dataframe with dates in "
            "it (pandas.to_datetime)."
        )
    moments = read_moments(column, detail["form"])
    if moments is None:
        raise ValueError(f"Column {title!r} held {detail['form']} when the model was made.")
    block, at = np.zeros((n_rows, width)), 0
    missing = np.asarray(column.is_null().to_numpy())
    for part, mean, scale in zip(detail["parts"], detail["mean"], detail["scale"], strict=True):
        values = compute_part(moments, detail["form"], detail["start"], part)
        assert values is not None
        if part in NAMED_PARTS:
            words = np.array(values.to_pylist(), dtype=object)
            known = np.array(NAMED_PARTS[part], dtype=object)
            block[:, at : at + len(known)] = words[:, None] == known
            at += len(known)
        else:
            numbers = np.asarray(values.cast("float64").to_numpy(), dtype=np.float64)
            block[:, at] = np.where(np.isnan(numbers), gap, (numbers - mean) / scale)
            at += 1
    return block, missing


def _name_parts(front: str, detail: dict[str, Any]) -> list[str]:
    """Names of the columns of a text or of dates."""
    if "n_columns" in detail:
        return [f"{front}word {k}" for k in range(detail["n_columns"])]
    if not detail:
        return []
    from lindero.data.dates import NAMED_PARTS

    names: list[str] = []
    for part in detail["parts"]:
        words = NAMED_PARTS.get(part)
        names += [f"{front}{part}"] if words is None else [f"{front}{part}={w}" for w in words]
    return names


def _learn_words(part: ListedColumn, n_columns: int) -> dict[str, Any]:
    """Inverse document frequencies of hashed words."""
    counts = _count_words(part.values, n_columns)
    rows = np.bincount(part.places[part.places >= 0], minlength=len(part.values))
    holds = np.asarray((counts > 0).astype(np.float64).T @ rows).ravel()
    weight = np.log((1.0 + rows.sum()) / (1.0 + holds)) + 1.0
    return {"n_columns": int(n_columns), "weight": weight}


def _count_words(values: list[Any], n_columns: int) -> Any:
    """Words of each text by the remainder of their checksum: (n_texts, n_columns), sparse."""
    rows, columns = [], []
    for row, value in enumerate(values):
        for word in _WORD.findall(str(value).lower()):
            rows.append(row)
            columns.append(zlib.crc32(word.encode("utf-8")) % n_columns)
    counts = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(values), n_columns))
    counts.sum_duplicates()
    return counts


def _encode_words(part: Any, n_rows: int, detail: dict[str, Any]) -> tuple[Any, Array]:
    """The block of a column of texts, and where it is missing."""
    n_columns = detail["n_columns"]
    if not isinstance(part, ListedColumn) or not part.values:
        return sp.csr_array((n_rows, n_columns)), np.ones(n_rows, dtype=bool)
    counts = _count_words(part.values, n_columns)
    counts.data = np.log1p(counts.data) * detail["weight"][counts.indices]
    length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    counts.data /= np.repeat(length, np.diff(counts.indptr))
    numbers = sp.csr_array(sp.vstack([counts, sp.csr_array((1, n_columns))]))
    return numbers[part.places], part.places < 0


def _standardise(values: Array) -> tuple[float, float]:
    """Mean and deviation; of a constant, itself and 1, so that it becomes 0."""
    if values.min() == values.max():
        return float(values[0]), 1.0
    # Squares of large numbers overflow; division by a power of two rounds nothing.
    unit = math.ldexp(1.0, math.frexp(float(np.abs(values).max()))[1] - 1)
    scaled = values / unit
    return float(scaled.mean()) * unit, float(scaled.std()) * unit


def _find_range(values: Array) -> tuple[float, float]:
    """The least value, and how far the largest is from it. A constant becomes 1, unless it is 0."""
    least, largest = float(values.min()), float(values.max())
    if least == largest:
        return 0.0, least or 1.0
    return least, largest - least


_MEASURES: dict[str, Measurement] = {"deviation": _standardise, "range": _find_range}
