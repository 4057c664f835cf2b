"""From log P(c, x) to log P(c | x) and P(c | x), compiled.

A row that is impossible under every class says nothing of the classes: they keep the probabilities
that they have without it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT


def log_posterior(joint: Array, log_prior: Array) -> Array:
    """log P(c | x), in the place of log P(c, x), of shape (n_rows, K)."""
    normalise(joint, np.ascontiguousarray(log_prior), True)
    return joint


def posterior(joint: Array, log_prior: Array) -> Array:
    """P(c | x), in the place of log P(c, x)."""
    normalise(joint, np.ascontiguousarray(log_prior), False)
    return joint


def most_probable(joint: Array, log_prior: Array) -> Array:
    """The code of the most probable class of each row."""
    codes: Array = np.argmax(joint, axis=1)
    impossible = np.isneginf(joint[np.arange(len(joint)), codes])
    codes[impossible] = np.argmax(log_prior)
    return codes


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def normalise(joint, log_prior, in_logs):  # type: ignore[no-untyped-def]
    """Each row less the logarithm of its sum, or its shares."""
    n, n_classes = joint.shape
    for i in range(n):
        row = joint[i]
        largest = -np.inf
        for c in range(n_classes):
            largest = max(largest, row[c])
        if largest == -np.inf:
            for c in range(n_classes):
                row[c] = log_prior[c]
                largest = max(largest, row[c])
        total = 0.0
        for c in range(n_classes):
            row[c] -= largest
            # The largest is the usual case, and costs no exponential.
            share = 1.0 if row[c] == 0.0 else np.exp(row[c])
            total += share
            if not in_logs:
                row[c] = share
        if in_logs:
            less = np.log(total)
            for c in range(n_classes):
                row[c] -= less
        else:
            for c in range(n_classes):
                row[c] /= total
