"""Columns with too many different values: names of rows, long texts, categories that are rare.

* A column **names rows** if it is text with different values in more than half of at least 50 rows,
  or whole numbers that all differ under a name such as `id`, `customerID` or `row index`, or that
  rise from row to row under one such as `nr` or `order number`, or that count the rows in any order
  (1 to n, say) and are no years or days by their name. Nothing can be learned from it.
* It is a **text** if its values have four words or more on average: machines that know numbers
  count its words, Bayesian classifiers leave it out.
* A value is **rare** if few of at least 50 rows have it, in a column of more than 20. They are
  pooled into one, "other", and so are values that turn up later. Else a column of postcodes would
  be the parent of all others in a tree, of which then nothing is known but in a handful of rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from lindero.runtime.arrays import Array
from lindero.validation import find_missing

#: What rare values are called.
OTHER = "other"

#: Text with different values in more than this share of at least this many rows names the rows.
OWN_VALUES, FEWEST_ROWS = 0.5, 50

#: Columns of no more values than this have no rare ones.
FEW_VALUES = 20

#: Values of a category that may become columns of numbers, however many such categories there are,
#: and values of all such categories together.
_MOST_VALUES, _MOST_TOGETHER = 250, 750

#: Words of a text on average, and values that are looked at.
_WORDS, _LOOKED_AT = 4.0, 200

#: Rows of a sample that tells whether a whole column has to be searched.
_SAMPLE = 1000

_ID = re.compile(
    r"(?:^|[^a-zA-Z])(?i:id|ids|uuid|guid|rowid|row ?(?:number|index|nr|no)|index)$|[a-z](?:Id|ID)$"
)

_NUMBER = re.compile(
    r"(?:^|[^a-zA-Z])(?i:nr|no|num|number|seq|sequence|serial|record|row|lfd)\.?$|[a-z](?:Nr|No|Num|Number)$"
)

_TIME = re.compile(
    r"(?:^|[^a-zA-Z])(?i:t|year|quarter|month|week|day|date|time|hour|minute|second|timestamp|epoch"
    r"|period|step)s?$|[a-z](?:Year|Month|Week|Day|Date|Time|Timestamp)$"
)


def is_name_of_ids(title: Any) -> bool:
    """Whether a column has a name that numbers of rows have."""
    return isinstance(title, str) and _ID.search(title.strip()) is not None


def is_name_of_numbers(title: Any) -> bool:
    """Whether a column has a name that numbers of rows have, and other numbers may have too."""
    return isinstance(title, str) and _NUMBER.search(title.strip()) is not None


def is_name_of_times(title: Any) -> bool:
    """Whether a column has a name that years, days and other times have."""
    return isinstance(title, str) and _TIME.search(title.strip()) is not None


def counts_rows(low: Any, high: Any, n_rows: int) -> bool:
    """Whether whole numbers that all differ, from `low` to `high`, have no gap."""
    return low is not None and high - low == n_rows - 1


def rises(values: Array) -> bool:
    """Whether numbers rise from each to the next."""
    return bool((values[1:] > values[:-1]).all())


def is_text(values: Iterable[Any]) -> bool:
    """Whether values are texts of several words, by the first of them."""
    first = [value for value, _ in zip(values, range(_LOOKED_AT), strict=False)]
    words = sum(len(value.split()) for value in first if isinstance(value, str))
    return bool(first) and words >= _WORDS * len(first)


def names_rows(n_different: int, n_rows: int, values: Sequence[Any]) -> bool:
    """Whether a column of so many different texts, of which `values` are some, names its rows."""
    many = n_rows >= FEWEST_ROWS and n_different > OWN_VALUES * n_rows
    return many and not is_text(values)


def share_values(columns: Iterable[Sequence[Any]], n_rows: int) -> int:
    """How many values of each category become columns of numbers at most; `columns` are the values
    of each. A single column of 750 shops is worth as many, and three of 250 each."""
    wide = [values for values in columns if len(values) > _MOST_VALUES]
    n_wide = sum(not is_text(v) and not names_rows(len(v), n_rows, v) for v in wide)
    return max(_MOST_VALUES, _MOST_TOGETHER // max(1, n_wide))


def find_rare(
    counts: Array, n_rows: int, least: int | None = None, most: int | None = None
) -> Array:
    """Which values are rare, from how many rows have each. `least` is the number of rows below
    which a value is, and all but the `most` most frequent ones are; without `least` it is 20 rows,
    or one in 500: of values with fewer little is known beside those of other columns."""
    if len(counts) <= FEW_VALUES or n_rows < FEWEST_ROWS or least == 1:
        return np.zeros(len(counts), dtype=bool)
    if least is None:
        return np.asarray(counts < max(20.0, n_rows / 500))
    most_frequent = np.argsort(-counts, kind="stable")[:most]
    rare = np.ones(len(counts), dtype=bool)
    rare[most_frequent] = counts[most_frequent] < least
    return rare


def find_row_names(X: Any) -> list[Any]:
    """Columns of a dataframe, or positions in an array of objects, that name its rows; none if
    there are few rows or all columns would be gone."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    found: list[Any]
    if isinstance(frame, nw.DataFrame):
        found = [title for title, column in zip(frame.columns, frame.iter_columns(), strict=True)
                 if _names_rows(column, title)]  # fmt: skip
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OU":
        found = [place for place, column in enumerate(X.T) if _lists_names(column)]
    else:
        return []
    return found if len(found) < X.shape[1] else []


def _names_rows(column: nw.Series[Any], title: Any) -> bool:
    n_rows = len(column)
    if n_rows < FEWEST_ROWS:
        return False
    if column.dtype.is_integer():
        if column.null_count() or is_name_of_times(title):
            return False
        counts = counts_rows(column.min(), column.max(), n_rows)
        if is_name_of_numbers(title) and rises(column.to_numpy()):
            return True
        return (counts or is_name_of_ids(title)) and column.n_unique() == n_rows
    if column.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return False
    sample = column.gather_every(max(1, n_rows // _SAMPLE))
    if sample.n_unique() <= 0.8 * OWN_VALUES * len(sample):  # as most columns of categories
        return False
    values = column.drop_nulls()
    return names_rows(values.n_unique(), n_rows, values.head(_LOOKED_AT).to_list())


def _lists_names(column: Array) -> bool:
    values = column[~find_missing(column)].tolist()
    texts = all(isinstance(value, str) for value in values)
    return texts and names_rows(len(set(values)), len(column), values)


def leave_out(X: Any, columns: Sequence[Any]) -> Any:
    """A table without some columns, named as `find_row_names` does."""
    if not columns:
        return X
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        return frame.drop(columns).to_native()
    return np.delete(X, columns, axis=1)


def say_left_out(titles: Sequence[Any], keep: str) -> str:
    """A sentence about columns that name rows; `keep` says how to keep them."""
    several = len(titles) > 1
    return (
        f"Left out: {', '.join(repr(str(title)) for title in titles)}, with different values in "
        f"most rows, as names and numbers of customers or rows have. Nothing can be learned from "
        f"{'such columns' if several else 'such a column'}; to keep {'them' if several else 'it'}, "
        f"{keep}."
    )
