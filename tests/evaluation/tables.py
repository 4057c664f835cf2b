"""Small data to compare machines on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def clouds(n_rows=90, n_classes=2, distance=3.0, seed=0):
    """Normal clouds whose centres are `distance` apart along a line; classes in turn."""
    random = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = random.normal(size=(n_rows, 3))
    X[:, 0] += distance * y
    return X, y


def mixed_table(n_rows=90, seed=0):
    """A table with numbers, words and gaps, and classes as text."""
    random = np.random.default_rng(seed)
    rose = np.arange(n_rows) % 2 == 0
    petal = random.normal(np.where(rose, 4.0, 2.0))
    colour = np.where(random.random(n_rows) < np.where(rose, 0.8, 0.2), "red", "white")
    gaps = random.random(n_rows) < 0.1
    table = pa.table({"petal": pa.array(petal, mask=gaps), "colour": pa.array(colour)})
    return table, np.where(rose, "rose", "lily")


def rare_table(n_rows=400, seed=0):
    """Numbers, and a class "yes" that few rows have, most of them with a large first column."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    odds = -4.0 + 2.0 * X[:, 0] + X[:, 1]
    return X, np.where(random.random(n_rows) < 1 / (1 + np.exp(-odds)), "yes", "no")
