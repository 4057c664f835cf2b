"""Random tables whose columns depend on the class and on each other, and every classifier."""

from itertools import pairwise

import numpy as np
import pandas as pd

from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier

#: Makers of every classifier; arcs are those of columns 0 to 3, in no special order.
MAKERS = {
    "NaiveBayes": NaiveBayes,
    "TAN": TAN,
    "KDB": KDB,
    "AODE": AODE,
    "NetworkClassifier": lambda **given: NetworkClassifier(
        [(3, 1), (0, 1), (1, 2)], **{"without_class": [3], **given}
    ),
}
#: Those that are a single network.
NETWORKS = [name for name in MAKERS if name != "AODE"]
#: Those with a parameter `missing`.
COMPLETING = ["TAN", "KDB", "NetworkClassifier"]


def categories(seed=0, n_rows=120, n_columns=4, n_classes=3, n_values=3, missing=0.0):
    """Text of a random table, None being missing, and classes as text."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_rows)
    columns = []
    for j in range(n_columns):
        above = columns[j // 2] if j else 0
        noise = random.integers(0, n_values, n_rows) * (random.random(n_rows) < 0.5)
        columns.append((y * (j + 1) + above + noise) % n_values)
    X = np.array([f"v{code}" for code in np.transpose(columns).ravel()], dtype=object)
    X = X.reshape(n_rows, n_columns)
    X[random.random(X.shape) < missing] = None
    return X, np.array(["no", "perhaps", "yes", "never"])[y]


def numbers(seed=0, n_rows=120, n_columns=3, n_classes=3, missing=0.0):
    """Numbers of wildly different scale, NaN being missing, and classes."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_rows)
    X = random.normal(size=(n_rows, n_columns)) + np.outer(y, np.arange(1, n_columns + 1))
    X[random.random(X.shape) < missing] = np.nan
    return X * 10.0 ** np.linspace(-12, 12, n_columns), y


def mixed(seed=0, n_rows=120, n_classes=3, missing=0.0):
    """A dataframe of two categories and two numbers in turn, and classes."""
    text, y = categories(seed, n_rows, 2, n_classes, missing=missing)
    code = np.unique(y, return_inverse=True)[1]
    random = np.random.default_rng(seed + 1)
    table = pd.DataFrame({"colour": text[:, 0], "length": random.normal(code)})
    table["shape"] = text[:, 1]
    table["weight"] = random.normal(-2.0 * code, 1.5) * 1e6
    for name in ("length", "weight"):
        table.loc[random.random(n_rows) < missing, name] = np.nan
    return table, y


def batches(n_rows, *sizes):
    """Slices that make up all rows."""
    ends = np.cumsum([0, *sizes])
    assert ends[-1] == n_rows
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]
