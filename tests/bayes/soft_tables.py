"""Tables in which all values meet all classes, so that the best predictions are finite."""

import numpy as np
import pandas as pd

from tests.conditional_bank import random_rows

#: Columns of `telling_table`.
NAMES = ["colour", "shape", "taste", "smell", "sound"]


def soft(seed=0, n_rows=900, n_classes=3, cards=(3, 2, 2, 3)):
    """Text that depends on the class and on each other, and classes as text. The last column says
    much of what the first does."""
    random = np.random.default_rng(seed)
    codes, y = random_rows(random, n_rows, cards, n_classes)
    codes[-1] = np.where(random.random(n_rows) < 0.6, codes[0], codes[-1])
    X = np.array([[f"v{code - 1}" for code in row] for row in codes.T], dtype=object)
    return X, np.array(["no", "perhaps", "yes"])[y]


def codes_of(X):
    """The codes of such text, missing values included."""
    return np.array([[int(v[1:]) + 1 if v else 0 for v in row] for row in X], dtype=np.uint8).T


def telling(seed=0, n_rows=700, n_classes=2, missing=0.0):
    """Codes, cards and classes: column 2 tells the class, 0 too, 3 does with 0 beside it; 1 and 4
    hardly do."""
    random = np.random.default_rng(seed)
    cards = np.array([2, 3, 3, 2, 2])
    codes, y = random_rows(random, n_rows, cards, n_classes)
    other, u = random.integers(0, 3, (3, n_rows)), random.random((3, n_rows))
    codes[2] = 1 + np.where(u[0] < 0.4, y, other[0])
    codes[0] = 1 + np.where(u[1] < 0.4, y, other[1]) % 2
    codes[3] = 1 + np.where(u[2] < 0.45, codes[0] + y, np.where(u[2] < 0.7, y, other[2])) % 2
    codes[random.random(codes.shape) < missing] = 0
    return codes, cards, y.astype(np.int64)


def telling_table(seed=0, n_rows=600, missing=0.0):
    """The columns of `telling`, as a dataframe of text, and three classes."""
    codes, _, y = telling(seed, n_rows, 3, missing)
    X = [[f"v{code - 1}" if code else None for code in row] for row in codes.T]
    return pd.DataFrame(X, columns=NAMES, dtype=object), np.array(["no", "perhaps", "yes"])[y]
