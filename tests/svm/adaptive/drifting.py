"""Data whose concept changes, for tests of adaptive machines."""

import numpy as np


def turning(n_samples=200, n_features=3, turns=0.5, noise=0.2, seed=0):
    """Two classes either side of a plane that turns by so many half circles; some are wrong."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, n_features))
    angle = turns * np.pi * np.arange(n_samples) / n_samples
    side = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
    return X, np.where(side + noise * random.normal(size=n_samples) > 0, 1, -1)


def three_turning(n_samples=150, seed=0):
    """Three classes, thirds of a circle that turns."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, 2))
    angle = np.arctan2(X[:, 1], X[:, 0]) + np.arange(n_samples) / n_samples
    return X, np.array(["a", "b", "c"])[np.floor(angle / (2 * np.pi / 3)).astype(int) % 3]


def sloping(n_samples=200, seed=0, noise=0.05):
    """Numbers whose dependence on two features changes slowly."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, 2))
    t = np.arange(n_samples) / n_samples
    return X, X[:, 0] * np.cos(3 * t) + X[:, 1] * t + noise * random.normal(size=n_samples)


def planes(model):
    """Hyperplanes (w, b) of a fitted machine."""
    return np.concatenate([model.coef_, model.intercept_[..., None]], axis=-1)


def off(model, other):
    """How far hyperplanes are from those of another machine, as a share of the largest."""
    apart = np.linalg.norm(planes(model) - planes(other), axis=-1)
    return apart.max() / np.linalg.norm(planes(other), axis=-1).max()
