"""Streams of rows, for tests of machines that learn them one by one."""

import numpy as np


def rotating(n_rows, speed=0.0, seed=0, noise=0.2, n_columns=4):
    """Two classes either side of a plane that turns by so many radians a row."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_columns))
    angle = speed * np.arange(n_rows)
    side = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
    return X, (side + noise * random.normal(size=n_rows) > 0).astype(int)


def abrupt(n_rows, seed=0, noise=0.2, at=None):
    """The same, calm, with other labels from half way on."""
    X, y = rotating(n_rows, seed=seed, noise=noise)
    at = n_rows // 2 if at is None else at
    y[at:] = 1 - y[at:] if seed % 2 else X[at:, 1] > 0
    return X, y


def circles(n_rows, seed=0, n_columns=2):
    """Inside and outside of a circle, half each."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_columns))
    return X, ((X[:, :2] ** 2).sum(axis=1) > 2 * np.log(2)).astype(int)


def crossed(n_rows, seed=0):
    """Signs that are the same, or not."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def predict_then_learn(model, X, y, at_once=50):
    """What is predicted of each block of rows before it is learned; the first one is given."""
    answers = [y[:at_once]]
    model.partial_fit(X[:at_once], y[:at_once])
    for start in range(at_once, len(y), at_once):
        rows = slice(start, start + at_once)
        answers.append(model.predict(X[rows]))
        model.partial_fit(X[rows], y[rows])
    return np.concatenate(answers)
