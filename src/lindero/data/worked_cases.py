"""Two small tables that textbooks work through by hand, to check machines against."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lindero.data.dataset import Dataset
from lindero.data.generators import whole_number
from lindero.runtime.arrays import Array

_CORNERS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])

#: Refund, marital status, income in thousands, and whether the return was false.
_RETURNS = (
    ("Yes", "Single", 125.0, "No"),
    ("No", "Married", 100.0, "No"),
    ("No", "Single", 70.0, "No"),
    ("Yes", "Married", 120.0, "No"),
    ("No", "Divorced", 95.0, "Yes"),
    ("No", "Married", 60.0, "No"),
    ("Yes", "Divorced", 220.0, "No"),
    ("No", "Single", 85.0, "Yes"),
    ("No", "Married", 75.0, "No"),
    ("No", "Single", 90.0, "Yes"),
)


def make_xor(
    n_samples: int = 4, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """The corners of a square, of class 1 where the signs of both coordinates agree.

    The four corners are the standard case that no line separates. With the kernel (⟨x, x'⟩ + 1)²
    and a hard margin all four are support vectors with coefficient 1/8, and the decision function
    is x₁·x₂.

    Parameters
    ----------
    n_samples : int, default=4
        Rows; the corners take turns.
    noise : float, default=0.0
        Standard deviation of the points round their corners.
    random_state : int, RandomState instance or None, default=None
        Seed: an int gives the same rows each time.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Classes −1 and 1.

    Examples
    --------
    >>> from lindero.data import make_xor
    >>> from lindero.svm import SVC
    >>> X, y = make_xor()
    >>> model = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=1.0).fit(X, y)
    >>> abs(model.dual_coef_).round(6).tolist()
    [[0.125, 0.125, 0.125, 0.125]]
    """
    n_samples = whole_number(n_samples, 1, "n_samples")
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise is a standard deviation, finite and not negative; it is {noise}.")
    random = check_random_state(random_state)
    corners = _CORNERS[np.arange(n_samples) % 4]
    y = (corners[:, 0] * corners[:, 1]).astype(np.int64)
    return corners + noise * random.standard_normal(corners.shape), y


def tax_table() -> Dataset:
    """Ten tax returns, three of them false: the table that naive Bayes is often taught with.

    Of the seven honest ones four are of married people (4/7, or 5/10 with one added to every
    count), and incomes have a mean of 110 thousand and a standard deviation of 54.5.

    Returns
    -------
    data : Dataset
        Columns refund, status and income (in thousands); target evade.

    Examples
    --------
    >>> from lindero.bayes import NaiveBayes
    >>> from lindero.data import tax_table
    >>> data = tax_table()
    >>> model = NaiveBayes().fit(data.X, data.y)
    >>> float(model.theta_[0, 0])
    110.0
    """
    import pyarrow as pa

    refund, status, income, evade = zip(*_RETURNS, strict=True)
    return Dataset(
        X=pa.table({"refund": refund, "status": status, "income": income}),
        y=np.array(evade, dtype=object),
        target="evade",
        kinds={"refund": "category", "status": "category", "income": "number"},
        source="tax table",
    )
