"""Twins of what learns a stream, in plain NumPy and SciPy: filters by formulas of matrices that are
inverted, experts by products that are written down whole, and a running scale by its definition.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.stats import norm

WEAKER = 100.0
SURE = 6.0


# -- filters --------------------------------------------------------------------------------------


class NaiveFilter:
    """N(m, S) after rows, for one coupling and C; `tube` is ε, or None for a margin."""

    def __init__(self, coupling, C, width, constant, tube=None, mean=None):
        self.c = C * np.sqrt(coupling)
        self.q = self.c / coupling
        # S at which a step of moving and one of drawing to zero, without rows, leave it as it is.
        self.a = max(np.roots([1.0, -self.q, -self.q * self.c]).real)
        self.mean = np.zeros(width) if mean is None else np.array(mean, dtype=float)
        self.spread = self.a * np.eye(width)
        self.constant, self.tube, self.n_rows = constant, tube, 0

    def learn(self, row, target, weight=1.0, gap=1.0):
        self.move(gap)
        self.draw()
        self.n_rows += 1
        if weight > 0.0:
            self.see(row, target, weight)

    def move(self, gap):
        self.spread = self.spread + gap * self.q * np.eye(len(self.mean))

    def draw(self):
        """The precision that all rows of a turn have for one column, added to it alone."""
        D = len(self.mean)
        stride = max(1, D // 32)
        if self.n_rows % stride:
            return
        column = (self.n_rows // stride) % D
        added = np.zeros((D, D))
        added[column, column] = stride * D / self.c
        if column == self.constant:
            added /= WEAKER
        before = np.linalg.inv(self.spread)
        self.spread = np.linalg.inv(before + added)
        self.mean = self.spread @ (before @ self.mean)

    def see(self, row, target, weight):
        """A Newton step on V plus the mean loss; gradient and Hessian are at the mean."""
        deviation = np.sqrt(row @ self.spread @ row)
        output = row @ self.mean
        slope, curvature = mean_loss_slopes(output, deviation, target, self.tube)
        before = np.linalg.inv(self.spread)
        self.spread = np.linalg.inv(before + weight * curvature * np.outer(row, row))
        step = -self.spread @ (weight * slope * row)
        if slope != 0.0:
            # Where the row is surely right: six deviations beyond the margin, or within the tube.
            margin = 1.0 - target * output
            off = margin if self.tube is None else abs(target - output) - self.tube
            step *= min(1.0, (off + SURE * deviation) / abs(step @ row))
        self.mean = self.mean + step


def mean_loss_slopes(output, deviation, target, tube):
    """The first two derivatives by m·x of E loss(f), f ~ N(m·x, s); zero for rows surely right."""
    if tube is None:
        z = (1.0 - target * output) / deviation
        if z < -SURE:
            return 0.0, 0.0
        return -target * norm.cdf(z), norm.pdf(z) / deviation
    above, below = (target - output - tube) / deviation, (output - target - tube) / deviation
    if max(above, below) < -SURE:
        return 0.0, 0.0
    return norm.cdf(below) - norm.cdf(above), (norm.pdf(above) + norm.pdf(below)) / deviation


def mean_loss(output, deviation, target, tube):
    """E loss(f) itself, from the closed form of the mean of a positive part, E (u)₊."""

    def positive_part(mean):
        z = mean / deviation
        return mean * norm.cdf(z) + deviation * norm.pdf(z)

    if tube is None:
        return positive_part(1.0 - target * output)
    return positive_part(target - output - tube) + positive_part(output - target - tube)


def learn_first_order(mean, row, target, weight, tube, a, draw, constant):
    """The point on the way from θ along ±Sx where the row is on the margin or tube, or weight 1."""
    is_constant = np.arange(len(mean)) == constant
    variances = np.where(is_constant, a * np.sqrt(WEAKER), a)
    mean = mean * (1.0 - np.where(is_constant, draw / np.sqrt(WEAKER), draw))
    way = variances * row
    output, size = mean @ row, way @ row
    if tube is None:
        return mean + target * np.clip((1.0 - target * output) / size, 0.0, weight) * way
    off = target - output
    return mean + np.sign(off) * np.clip((abs(off) - tube) / size, 0.0, weight) * way


# -- experts --------------------------------------------------------------------------------------


def expert_probabilities(outputs, sharpnesses):
    """(filters, readings, classes) from outputs (machines, filters)."""
    scores = np.vstack([np.zeros(outputs.shape[1]), outputs]) if len(outputs) == 1 else outputs
    powers = np.exp(sharpnesses[None, :, None] * (scores - scores.max(axis=0)).T[:, None, :])
    p = powers / powers.sum(axis=2, keepdims=True)
    return 0.999 * p + 0.001 / p.shape[2]


def expert_densities(outputs, target, widths):
    """(filters, readings) from outputs (filters,)."""
    apart = np.abs(target - outputs)[:, None]
    return np.maximum(np.exp(-apart / widths) / (2.0 * widths), 1e-12)


def sequence_mixture_losses(probabilities, first, share):
    """−log of the probability that a mixture of *all* sequences of experts gives to the labels, for
    every beginning of the stream: every sequence is listed, so few experts and rows only.

    `probabilities` is (rows, experts), those of the label that was seen. A sequence begins with e
    with probability π_e; then it stays with probability 1 − α, or draws from π with α.
    """
    n_rows, n_experts = probabilities.shape
    losses = []
    for T in range(1, n_rows + 1):
        total = 0.0
        for sequence in np.ndindex(*(n_experts,) * T):
            weight = first[sequence[0]]
            for before, after in itertools.pairwise(sequence):
                weight *= share * first[after] + (1.0 - share) * (before == after)
            total += weight * np.prod(probabilities[np.arange(T), sequence])
        losses.append(-np.log(total))
    return np.array(losses)


def sequence_bound(sequence, first, share):
    """What the mixture's loss exceeds that of a sequence of experts by, at most."""
    changes = np.flatnonzero(np.diff(sequence)) + 1
    k, T = len(changes), len(sequence)
    used = [sequence[0], *np.asarray(sequence)[changes]]
    return -np.log(first[used]).sum() - k * np.log(share) - (T - 1 - k) * np.log1p(-share)


def best_sequence_loss(losses, k):
    """The least loss of sequences of experts with k changes: (rows, experts) losses."""
    n_rows, n_experts = losses.shape
    best = np.full((k + 1, n_experts), np.inf)
    best[0] = losses[0]
    for t in range(1, n_rows):
        moved = best[:-1].min(axis=1, keepdims=True)
        best[1:] = np.minimum(best[1:], moved)
        best += losses[t]
    return best.min(axis=1)


# -- scale ----------------------------------------------------------------------------------------


class NaiveScale:
    """Mean and deviation of one column as weighted sums over all values so far, as they count."""

    def __init__(self):
        self.values, self.beyond, self.small, self.changes = [], [], [], 0

    def averages(self):
        values = np.array(self.values)
        if np.ptp(values) == 0.0:
            return values[0], 0.0
        n = len(values)
        shares = 1.0 / np.minimum(np.arange(1, n + 1), 10_000)
        left = np.append(np.cumprod((1.0 - shares)[::-1])[::-1][1:], 1.0)
        weights = shares * left  # of each value in the average over all: they sum to one
        mean = weights @ values
        return mean, np.sqrt(weights @ (values - mean) ** 2)

    def scale(self, value):
        if not self.values or np.isnan(value):
            return 0.0
        mean, deviation = self.averages()
        if deviation == 0.0:
            return float(np.sign(value - mean))
        return float((value - mean) / deviation)

    def learn(self, value):
        if np.isnan(value):
            return
        z = self.scale(value)
        if len(self.values) >= 10 and self.averages()[1] > 0.0:
            mean, deviation = self.averages()
            is_small = abs(z) <= 5.0 and abs(value) < 0.005 * (abs(mean) + deviation)
            self.beyond = [*self.beyond, value] if abs(z) > 5.0 else []
            self.small = [*self.small, value] if is_small else []
            fresh = self.beyond if len(self.beyond) == 25 else []
            if len(self.small) == 100:
                fresh = self.small[-25:] if np.count_nonzero(np.diff(self.small)) > 50 else []
                self.small = []
            if fresh:
                self.values, self.beyond, self.small = fresh, [], []
                self.changes += 1
                return
            if abs(z) > 4.0:
                value = mean + np.sign(z) * 4.0 * deviation
        self.values = [*self.values, value]
