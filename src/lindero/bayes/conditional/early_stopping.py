"""Learning that ends when rows which it does not see are no longer predicted better.

Discriminative parameters of many tables fit the rows they are learned from too well long before
their optimum. After each pass the log-loss of validation rows,

    −Σ w log P(y | x) / Σ w,

is looked at; once it has not improved for `patience` passes learning ends, and the parameters of
the best pass are what it gives. The generative estimate is the first that is looked at.
"""

from __future__ import annotations

import numpy as np

from lindero.bayes.columns.moments import add_log_densities
from lindero.bayes.networks.network import Network
from lindero.runtime.arrays import Array


class EarlyStopping:
    """Watches learning by rows of its own.

    Parameters
    ----------
    codes : integer array of shape (n_attributes, n_rows)
        0 missing, 1…r values, r + 1 new.
    y : integer array of shape (n_rows,)
        Classes 0…K−1.
    weights : array of shape (n_rows,), optional
        How often each row counts.
    numbers : array of shape (n_numbers, n_rows), optional
        Columns with normal densities, NaN missing.
    patience : int
        Passes without improvement after which learning ends.

    Attributes
    ----------
    losses : list of float
        After each pass, the first of them being that of the generative estimate.
    best : tuple of (Network, mean, sd)
        At the least loss.
    """

    def __init__(
        self,
        codes: Array,
        y: Array,
        weights: Array | None = None,
        numbers: Array | None = None,
        patience: int = 5,
    ) -> None:
        if patience < 1:
            raise ValueError(f"patience is {patience}: it must be one pass or more.")
        self.y = np.asarray(y, dtype=np.int64)
        self.weights = np.ones(len(self.y)) if weights is None else np.asarray(weights)
        if not self.weights.sum() > 0:
            raise ValueError("Early stopping needs validation rows with weight.")
        self.codes, self.patience = codes, patience
        self.numbers = np.empty((0, len(self.y))) if numbers is None else numbers
        self.losses: list[float] = []
        self.best: tuple[Network, Array, Array] | None = None

    @property
    def best_pass(self) -> int:
        """The pass of the least loss, the first of those that are equal."""
        return int(np.argmin(self.losses))

    def __call__(self, network: Network, mean: Array, sd: Array) -> bool:
        """Look at the parameters of a pass; True ends learning."""
        self.losses.append(self._loss(network, mean, sd))
        if self.best_pass == len(self.losses) - 1:
            self.best = network, mean, sd
        return len(self.losses) - 1 - self.best_pass >= self.patience

    def _loss(self, network: Network, mean: Array, sd: Array) -> float:
        losses = row_losses(network, mean, sd, self.codes, self.y, self.numbers)
        return float(self.weights @ losses / self.weights.sum())


def row_losses(
    network: Network, mean: Array, sd: Array, codes: Array, y: Array, numbers: Array
) -> Array:
    """−log P(y | x) of every row.

    Parameters
    ----------
    network, mean, sd
        Tables, and normals of the columns of numbers.
    codes : integer array of shape (n_attributes, n_rows)
        0 missing, 1…r values, r + 1 new.
    y : integer array of shape (n_rows,)
        Classes 0…K−1.
    numbers : array of shape (n_numbers, n_rows)
        NaN is missing.
    """
    scores = network.log_joint(codes)
    if len(numbers):
        add_log_densities(np.ascontiguousarray(numbers), mean, sd, scores)
    scores -= scores.max(axis=1, keepdims=True)
    own: Array = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]
    return own
