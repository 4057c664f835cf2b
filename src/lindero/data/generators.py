"""Artificial data sets from the literature.

`make_rotating` and `make_sigmoid` make the three data sets that the adaptive SVM was published
with: 1 and 2 are two clouds that rotate around the origin over time, at different speeds; 3 is
fixed, with a curved boundary that hyperplanes varying over space can follow. `make_xor` and
`load_tax_table` are worked examples of textbooks.

Seeds are those of NumPy's ``RandomState``, as in scikit-learn, whose numbers do not change between
versions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lindero.data.dataset import Dataset
from lindero.runtime.arrays import Array

#: The rectangle of data set 3.
_LEFT, _RIGHT = -0.2, 1.2
_BOTTOM, _TOP = -5.0, 5.0

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


def make_rotating(
    n_samples: int = 500,
    *,
    step: float = np.pi / 500,
    noise: float = 0.1,
    n_features: int = 2,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Make two clouds that rotate around the origin over time.

    The clouds are centred at (0, 1), class 1, and at (0, −1), class −1. Sample i, counted from 1
    in order of time, is rotated by ``i * step``. At any time a line through the origin separates
    the classes; over half a turn no line does.

    Parameters
    ----------
    n_samples : int, default=500
        Rows, equally many of both classes (one more of class 1 if odd) in random order.
    step : float, default=pi/500
        Radians from one sample to the next. With 500 samples, pi/500 is data set 1 of the paper
        and 3·pi/1000 is data set 2.
    noise : float, default=0.1
        Standard deviation of the clouds in each direction.
    n_features : int, default=2
        Columns; those after the first two are noise with the same standard deviation.
    random_state : int, RandomState instance or None, default=None
        Seed: an int gives the same rows each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows in order of time.
    y : ndarray of shape (n_samples,)
        Classes −1 and 1.

    See Also
    --------
    make_sigmoid : Data set 3 of the paper.

    References
    ----------
    "Máquinas de vectores soporte adaptativas", XIII Congreso Argentino de Ciencias de la
    Computación, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.data import make_rotating
    >>> X, y = make_rotating(500, step=3 * np.pi / 1000, random_state=0)
    >>> X.shape, int(y.sum())
    ((500, 2), 0)
    """
    n_samples = _check_count(n_samples, 2, "n_samples")
    n_features = _check_count(n_features, 2, "n_features")
    if not np.isfinite(step):
        raise ValueError(f"step must be a finite number; it is {step!r}.")
    _check_noise(noise)
    random = check_random_state(random_state)
    y = np.ones(n_samples, dtype=np.int64)
    y[: n_samples // 2] = -1
    random.shuffle(y)
    X = noise * random.standard_normal((n_samples, n_features))
    X[:, 1] += y
    angle = step * np.arange(1, n_samples + 1)
    c, s = np.cos(angle), np.sin(angle)
    X[:, 0], X[:, 1] = c * X[:, 0] - s * X[:, 1], s * X[:, 0] + c * X[:, 1]
    return X, y


def make_sigmoid(n_samples: int = 500, *, random_state: Any = None) -> tuple[Array, Array]:
    """Make two classes on either side of a logistic curve: data set 3 of the paper.

    Points are uniform in [−0.2, 1.2] × [−5, 5], and of class 1 where
    x₁ ≥ 1 / (1 + exp(−x₂)). (The paper swaps the axes in print; only with these does a linear SVM
    have the error that it reports, 5.7 %.)

    Parameters
    ----------
    n_samples : int, default=500
        Rows.
    random_state : int, RandomState instance or None, default=None
        Seed: an int gives the same rows each time.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Classes −1 and 1.

    See Also
    --------
    make_sigmoid_grid : Points to test on.
    make_rotating : Data sets 1 and 2.

    References
    ----------
    "Máquinas de vectores soporte adaptativas", XIII Congreso Argentino de Ciencias de la
    Computación, 2007.

    Examples
    --------
    >>> from lindero.data import make_sigmoid, make_sigmoid_grid
    >>> from lindero.svm import SVC
    >>> model = SVC(kernel="linear").fit(*make_sigmoid(500, random_state=0))
    >>> print(f"{100 * (1 - model.score(*make_sigmoid_grid())):.0f} % wrong")
    6 % wrong
    """
    random = check_random_state(random_state)
    n_samples = _check_count(n_samples, 1, "n_samples")
    X = random.uniform((_LEFT, _BOTTOM), (_RIGHT, _TOP), size=(n_samples, 2))
    return X, _label_points(X)


def make_sigmoid_grid(n_per_side: int = 100) -> tuple[Array, Array]:
    """Make an even grid over the rectangle of :func:`make_sigmoid`, with classes.

    Parameters
    ----------
    n_per_side : int, default=100
        Points along each side, corners included.

    Returns
    -------
    X : ndarray of shape (n_per_side ** 2, 2)
        Points, row by row from the lower left.
    y : ndarray of shape (n_per_side ** 2,)
        Classes −1 and 1.

    See Also
    --------
    make_sigmoid : Points to train on.

    Examples
    --------
    >>> from lindero.data import make_sigmoid_grid
    >>> X, y = make_sigmoid_grid(4)
    >>> y.reshape(4, 4)[::-1]
    array([[-1, -1, -1,  1],
           [-1, -1, -1,  1],
           [-1,  1,  1,  1],
           [-1,  1,  1,  1]])
    """
    n_per_side = _check_count(n_per_side, 2, "n_per_side")
    across, up = np.meshgrid(
        np.linspace(_LEFT, _RIGHT, n_per_side), np.linspace(_BOTTOM, _TOP, n_per_side)
    )
    X = np.column_stack([across.ravel(), up.ravel()])
    return X, _label_points(X)


def _label_points(X: Array) -> Array:
    return np.where(X[:, 0] >= 1.0 / (1.0 + np.exp(-X[:, 1])), 1, -1)


def _check_count(value: Any, least: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; it is {value!r}.")
    return int(value)


def _check_noise(noise: Any) -> None:
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise is a standard deviation, finite and not negative; it is {noise}.")


# -- worked examples -------------------------------------------------------------------------------


def make_xor(
    n_samples: int = 4, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Make the corners of a square, of class 1 where the signs of both coordinates agree.

    No line separates the four corners. With the kernel (⟨x, x'⟩ + 1)²
    and a hard margin all four are support vectors with coefficient 1/8, and the decision function
    is x₁·x₂.

    Parameters
    ----------
    n_samples : int, default=4
        Rows; the corners take turns.
    noise : float, default=0.0
        Standard deviation of the points around their corners.
    random_state : int, RandomState instance or None, default=None
        Seed: an int gives the same rows each time.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Classes −1 and 1.

    See Also
    --------
    make_rotating : Classes that move.

    Examples
    --------
    >>> from lindero.data import make_xor
    >>> from lindero.svm import SVC
    >>> X, y = make_xor()
    >>> model = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=1.0).fit(X, y)
    >>> abs(model.dual_coef_).round(6).tolist()
    [[0.125, 0.125, 0.125, 0.125]]
    """
    n_samples = _check_count(n_samples, 1, "n_samples")
    _check_noise(noise)
    random = check_random_state(random_state)
    corners = _CORNERS[np.arange(n_samples) % 4]
    y = (corners[:, 0] * corners[:, 1]).astype(np.int64)
    return corners + noise * random.standard_normal(corners.shape), y


def load_tax_table() -> Dataset:
    """Load ten tax returns, three of them false: a common textbook example of naive Bayes.

    Of the seven honest ones four are from married people (4/7, or 5/10 with one added to every
    count). Their incomes have a mean of 110 thousand and a standard deviation of 54.5.

    Returns
    -------
    data : Dataset
        Columns refund, status and income (in thousands); target evade.

    See Also
    --------
    fetch : Larger published data sets.

    Examples
    --------
    >>> from lindero.bayes import NaiveBayes
    >>> from lindero.data import load_tax_table
    >>> data = load_tax_table()
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
