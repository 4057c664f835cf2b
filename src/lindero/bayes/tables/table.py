"""A table as the networks see it: categories as small integers, numbers as float64.

An attribute with r values is coded

    0        missing
    1 … r    its values, in the order in which the schema lists them
    r + 1    a value that the schema does not list (only in tables read for prediction)

and lies in memory as one row of codes, so that counting runs along contiguous rows. Values that
turn up later are appended: r grows, and the codes of old values stay what they were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lindero.runtime.arrays import Array


@dataclass(frozen=True)
class Table:
    """Rows read by a schema. Its arrays are for reading: numbers may share the user's memory.

    Attributes
    ----------
    codes : ndarray of shape (n_categories, n_rows)
        Codes of the category columns, C order, of the type that `code_type` gives.
    cards : ndarray of shape (n_categories,), int64
        Number r of values of each, which is 0 for a column without any.
    numbers : ndarray of shape (n_numbers, n_rows), float64
        The number columns, C order; NaN is missing, and none is infinite.
    n_rows : int
        Number of rows.
    """

    codes: Array
    cards: Array
    numbers: Array
    n_rows: int


def code_type(most_values: int) -> type[np.uint8 | np.uint16 | np.int32]:
    """The smallest type for codes of attributes with up to so many values."""
    if most_values + 1 <= np.iinfo(np.uint8).max:
        return np.uint8
    return np.uint16 if most_values + 1 <= np.iinfo(np.uint16).max else np.int32
