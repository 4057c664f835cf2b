"""Small data sets that the tests of the estimators share: overlapping clouds of points."""

from __future__ import annotations

import numpy as np


def two_clouds(n_samples=120, n_features=4, seed=0, apart=1.5):
    """Two overlapping clouds, labels 0 and 1, in mixed order."""
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(n_samples) % 2)
    X = random.normal(size=(n_samples, n_features))
    X[:, 0] += apart * y
    return X, y


def four_clouds(n_samples=160, n_features=3, seed=0, apart=1.5):
    """Four overlapping clouds around the corners of a square, labels 0 to 3."""
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(n_samples) % 4)
    X = random.normal(size=(n_samples, n_features))
    X[:, 0] += apart * (y % 2)
    X[:, 1] += apart * (y // 2)
    return X, y


def slow_problem(n_samples=1500, n_features=5, seed=0):
    """Labels without any pattern: with a large C this takes a solver very many steps."""
    random = np.random.default_rng(seed)
    return random.normal(size=(n_samples, n_features)), np.arange(n_samples) % 2
