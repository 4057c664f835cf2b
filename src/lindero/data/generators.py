"""The three artificial data sets that the adaptive machine was published with.

Sets 1 and 2 are two clouds that turn round the origin as time passes, at different speeds
(`make_rotating`). Set 3 does not change at all: its boundary is a curve, which hyperplanes that
vary over space can follow (`make_sigmoid`, and `sigmoid_grid` to test on).

Seeds are those of NumPy's ``RandomState``, as everywhere in scikit-learn, whose numbers do not
change from version to version.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lindero.runtime.arrays import Array

#: The rectangle of the third set.
_LEFT, _RIGHT = -0.2, 1.2
_BOTTOM, _TOP = -5.0, 5.0


def make_rotating(
    n_samples: int = 500,
    *,
    step: float = np.pi / 500,
    noise: float = 0.1,
    n_features: int = 2,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Two clouds that turn round the origin, sample by sample.

    The clouds are centred at (0, 1), class 1, and at (0, −1), class −1. Sample i, counted from 1
    in order of time, is turned by ``i * step``. At any moment a line through the origin separates
    the classes; over half a turn no line does.

    Parameters
    ----------
    n_samples : int, default=500
        Rows, in order of time: as many of one class as of the other (one more of class 1 if odd),
        shuffled.
    step : float, default=pi/500
        Radians from one sample to the next. With 500 samples, pi/500 is data set 1 of the paper
        and 3·pi/1000 is data set 2.
    noise : float, default=0.1
        Standard deviation of the clouds in each direction.
    n_features : int, default=2
        Columns; those after the first two are noise of the same deviation.
    random_state : int, RandomState instance or None, default=None
        Seed: an int gives the same rows each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows in order of time.
    y : ndarray of shape (n_samples,)
        Classes −1 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.data import make_rotating
    >>> X, y = make_rotating(500, step=3 * np.pi / 1000, random_state=0)
    >>> X.shape, int(y.sum())
    ((500, 2), 0)
    """
    n_samples = whole_number(n_samples, 2, "n_samples")
    n_features = whole_number(n_features, 2, "n_features")
    step = _finite(step, "step")
    if _finite(noise, "noise") < 0:
        raise ValueError(f"noise is a standard deviation and cannot be negative; it is {noise}.")
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
    """Two classes on either side of a logistic curve: data set 3 of the paper.

    Points are uniform in [−0.2, 1.2] × [−5, 5], and of class 1 where
    x₁ ≥ 1 / (1 + exp(−x₂)). (The paper prints the axes the other way round; only with these does
    a linear machine have the error that it reports, 5.7 %.)

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
    sigmoid_grid : Points to test on.

    Examples
    --------
    >>> from lindero.data import make_sigmoid, sigmoid_grid
    >>> from lindero.svm import SVC
    >>> model = SVC(kernel="linear").fit(*make_sigmoid(500, random_state=0))
    >>> print(f"{100 * (1 - model.score(*sigmoid_grid())):.0f} % wrong")
    6 % wrong
    """
    random = check_random_state(random_state)
    X = random.uniform(
        (_LEFT, _BOTTOM), (_RIGHT, _TOP), size=(whole_number(n_samples, 1, "n_samples"), 2)
    )
    return X, _side(X)


def sigmoid_grid(n_per_side: int = 100) -> tuple[Array, Array]:
    """The rectangle of :func:`make_sigmoid`, covered evenly, with its classes.

    Parameters
    ----------
    n_per_side : int, default=100
        Points along each side, corners included.

    Returns
    -------
    X : ndarray of shape (n_per_side ** 2, 2)
        Points, row after row from the lower left.
    y : ndarray of shape (n_per_side ** 2,)
        Classes −1 and 1.

    Examples
    --------
    >>> from lindero.data import sigmoid_grid
    >>> X, y = sigmoid_grid(4)
    >>> y.reshape(4, 4)[::-1]
    array([[-1, -1, -1,  1],
           [-1, -1, -1,  1],
           [-1,  1,  1,  1],
           [-1,  1,  1,  1]])
    """
    n_per_side = whole_number(n_per_side, 2, "n_per_side")
    across, up = np.meshgrid(
        np.linspace(_LEFT, _RIGHT, n_per_side), np.linspace(_BOTTOM, _TOP, n_per_side)
    )
    X = np.column_stack([across.ravel(), up.ravel()])
    return X, _side(X)


def _side(X: Array) -> Array:
    return np.where(X[:, 0] >= 1.0 / (1.0 + np.exp(-X[:, 1])), 1, -1)


def _finite(value: Any, name: str) -> float:
    if not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number; it is {value!r}.")
    return float(value)


def whole_number(value: Any, least: int, name: str) -> int:
    """A count, not below the least one that makes sense."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; it is {value!r}.")
    return int(value)
