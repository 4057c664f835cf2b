"""Tables with categories and missing values as numbers, for machines that know numbers only.

number x      (x − mean) / deviation, and 0 where it is missing
category x    one column for each value, 1 where x has it; nothing where it is missing or new
missing       a column of its own, 1 where x is missing, for columns that missed any in `fit`
sparse X      x / max |x|, so that zeros stay zeros
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_array
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_n_features,
    check_is_fitted,
    validate_data,
)

from lindero.bayes.tables.schema import NUMBER, UNKNOWN, Column, Schema, Table, UserTable
from lindero.errors import warn_user
from lindero.notebook import link_documentation, write_card
from lindero.runtime.arrays import Array

#: Values of `form_`.
TABLE = "table"
SPARSE = "sparse"

#: Tables of more columns than this come as sparse ones: most columns of categories are zeros.
_MANY_COLUMNS = 1000


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Any table as numbers: standardised, with one column for each value of a category.

    Takes arrays, lists, dataframes of pandas, polars and Arrow, and sparse matrices. Columns with
    names may come in any order. A category that was not seen in `fit` is none of those known.

    Parameters
    ----------
    categorical_features : list, mask or "all", default=None
        Columns that are categories though they hold numbers. Text and booleans always are.

    Attributes
    ----------
    form_ : {"table", "sparse"}
        Whether it was fitted to a table or to a sparse matrix.
    kinds_ : list of str
        Of each column "number", "category", or "unknown" if it had no value: it is left out then.
    categories_ : list of list
        Values of each column that is a category, in the order of the columns they become.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        What is subtracted from a number, and what it is then divided by; 0 and 1 for categories.
    indicated_ : ndarray of shape (n_features_in_,), bool
        Which columns get another that says where they are missing.
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
        "categorical_features": ["array-like", str, None]
    }

    def __init__(self, *, categorical_features: Any = None) -> None:
        self.categorical_features = categorical_features

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
        user = UserTable.of(X)
        schema = Schema.learn(user, self.categorical_features)
        if self.categorical_features is None:
            from lindero.bayes.reading import warn_of_text  # and all that counts, for `fit` only

            warn_of_text(schema, user.n_rows)
        table = schema.read(user)
        if len(schema.unknown_columns) == schema.n_columns:
            raise ValueError(
                f"No column of X has any value: all of its {user.n_rows} rows are missing."
            )
        d = schema.n_columns
        mean, scale, indicated = np.zeros(d), np.ones(d), np.zeros(d, dtype=bool)
        for at, column in enumerate(schema.number_columns):
            missing = np.isnan(table.numbers[at])
            indicated[column] = missing.any()
            mean[column], scale[column] = _standardise(table.numbers[at][~missing])
        for at, column in enumerate(schema.category_columns):
            known = schema.columns[column].kind != UNKNOWN
            indicated[column] = known and bool((table.codes[at] == 0).any())
        return {
            "form_": TABLE,
            "kinds_": [column.kind for column in schema.columns],
            "categories_": [list(column.values) for column in schema.columns],
            "mean_": mean,
            "scale_": scale,
            "indicated_": indicated,
        }

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
        user = UserTable.of(X)
        self._require_width(X, user)
        table = self._schema().read(user)
        if self._is_wide():
            return sp.csr_array(sp.hstack([sp.csr_array(b) for b in self._blocks(table)]))
        numbers, at = np.zeros((table.n_rows, self.parts()[-1].stop)), 0
        for block in self._blocks(table):
            numbers[:, at : at + block.shape[1]] = block
            at += block.shape[1]
        return numbers

    def _schema(self) -> Schema:
        """What tables are read by."""
        names = getattr(self, "feature_names_in_", [None] * self.n_features_in_)
        described = zip(names, self.kinds_, self.categories_, strict=True)
        columns = (
            Column(None if name is None else str(name), kind, tuple(values))
            for name, kind, values in described
        )
        return Schema(tuple(columns))

    def parts(self) -> list[slice]:
        """Which columns of the result each column of the table has become."""
        check_is_fitted(self)
        described = zip(self.kinds_, self.categories_, self.indicated_, strict=True)
        widths = [(kind == NUMBER) + len(values) + int(gaps) for kind, values, gaps in described]
        return [slice(*ends) for ends in itertools.pairwise([0, *np.cumsum(widths).tolist()])]

    def _blocks(self, table: Table) -> Iterator[Any]:
        """What each column becomes."""
        numbers, codes = iter(table.numbers), iter(table.codes)
        for column, kind in enumerate(self.kinds_):
            if kind == NUMBER:
                raw = next(numbers)
                missing = np.isnan(raw)
                values = np.where(missing, 0.0, (raw - self.mean_[column]) / self.scale_[column])
                yield values[:, None]
            else:
                own = next(codes).astype(np.intp)
                if kind == UNKNOWN:
                    continue
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
            "age", "colour=red" and "age is missing".
        """
        check_is_fitted(self)
        names: list[str] = []
        for column, title in enumerate(_check_feature_names_in(self, input_features)):
            if self.kinds_[column] == NUMBER:
                names.append(str(title))
            names += [f"{title}={value}" for value in self.categories_[column]]
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
    }


def _standardise(values: Array) -> tuple[float, float]:
    """Mean and deviation; of a constant, itself and 1, so that it becomes 0."""
    if values.min() == values.max():
        return float(values[0]), 1.0
    # Squares of large numbers overflow; division by a power of two rounds nothing.
    unit = math.ldexp(1.0, math.frexp(float(np.abs(values).max()))[1] - 1)
    scaled = values / unit
    return float(scaled.mean()) * unit, float(scaled.std()) * unit
