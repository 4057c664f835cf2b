"""Learning a sample by the algorithm of ICSSVM as it is printed, errata corrected.

X. Quan, Y. Gu, G. Zheng and B. Gu (2016). An incremental cost-sensitive support vector machine.
J. University of Science and Technology of China 46(9), 727–735: algorithm 2.1 with equations (14)
to (19). It is printed with "while η = 1" for "while η < 1", and adds ψ to α where φ is meant.

Two things it leaves open. An empty set M, where only b can move: here to where the first sample
reaches its margin, which counts as an iteration. And a singular bordered matrix, for which it
suggests a small multiple of the identity, added to Q: `ridge`.

It is here to be counted beside `IncrementalSVC`, and is that one's slow twin in the tests: dense
matrices, solved anew in every iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lindero.runtime.arrays import Array

#: How far from its margin a value is on it.
_MET = 1e-9

#: Rates that are rounding.
_STILL = 1e-12

#: Share of its bound by which a coefficient may miss it at the start.
_AT_BOUND = 1e-7


class PublishedUpdates:
    """Samples, α, b and the sets O, M and I; `add` returns the iterations of the while loop.

    K are kernel values of all samples, those to come included, y is ±1, `bounds` are C_i and
    `margins` Ω_i.
    """

    def __init__(
        self, K: Array, y: Array, bounds: Array, margins: Array, ridge: float = 0.0
    ) -> None:
        self.Q = y[:, None] * y * (K + ridge * np.eye(len(y)))
        self.y, self.bounds, self.margins = y, bounds, margins
        self.alpha, self.b = np.zeros(len(y)), 0.0
        self.outside: list[int] = []
        self.on_margin: list[int] = []
        self.inside: list[int] = []

    def start(self, alpha: Array, b: float) -> None:
        """Begin at a known optimum over the first samples."""
        n = len(alpha)
        self.alpha[:n], self.b = alpha, b
        share = alpha / self.bounds[:n]
        self.outside = np.flatnonzero(share <= _AT_BOUND).tolist()
        self.inside = np.flatnonzero(share >= 1.0 - _AT_BOUND).tolist()
        free = (share > _AT_BOUND) & (share < 1.0 - _AT_BOUND)
        self.on_margin = np.flatnonzero(free).tolist()
        self.alpha[self.outside] = 0.0
        self.alpha[self.inside] = self.bounds[self.inside]

    def compute_values(self, samples: Sequence[int]) -> Array:
        """y f of some samples."""
        values: Array = self.Q[samples] @ self.alpha + self.y[samples] * self.b
        return values

    def add(self, new: int) -> int:
        """Learn a sample."""
        iterations = 0
        above = float(self.compute_values([new])[0] - self.margins[new])
        if above >= -_MET:
            (self.on_margin if above <= _MET else self.outside).append(new)
            return iterations
        while True:
            iterations += 1
            way = float(self.bounds[new] - self.alpha[new])
            others = [*self.outside, *self.inside, new]
            if self.on_margin:
                b_rate, phi = self._solve(new, way)
                psi = self.y[others] * b_rate + self.Q[np.ix_(others, self.on_margin)] @ phi
                psi += self.Q[others, new] * way
                eta = 1.0
            else:  # α waits for a partner
                b_rate, phi, way, eta = float(self.y[new]), np.zeros(0), 0.0, np.inf
                psi = self.y[others] * b_rate
            eta, sample, joins = self._find_event(others, psi, phi, eta)
            self.b += eta * b_rate
            self.alpha[self.on_margin] += eta * phi
            self.alpha[new] += eta * way
            if sample < 0:  # α of the new one has come to its bound
                self.alpha[new] = self.bounds[new]
                self.inside.append(new)
                return iterations
            self._move(sample, joins)
            if sample == new:
                return iterations

    def _solve(self, new: int, way: float) -> tuple[float, Array]:
        """The rates φ of b and of α on the margin, by (18)."""
        m = len(self.on_margin)
        bordered = np.zeros((m + 1, m + 1))
        bordered[0, 1:] = bordered[1:, 0] = self.y[self.on_margin]
        bordered[1:, 1:] = self.Q[np.ix_(self.on_margin, self.on_margin)]
        right = np.append(self.y[new], self.Q[self.on_margin, new]) * way
        rates = -np.linalg.solve(bordered, right)
        return float(rates[0]), rates[1:]

    def _find_event(
        self, others: Sequence[int], psi: Array, phi: Array, eta: float
    ) -> tuple[float, int, str]:
        """The step by (15) and (16), and which sample goes where; −1 if none does."""
        sample, joins = -1, ""
        outside = set(self.outside)
        missing = self.margins[list(others)] - self.compute_values(others)
        for one, far, rate in zip(others, missing, psi, strict=True):
            inwards = -1.0 if one in outside else 1.0
            if inwards * rate > _STILL:
                step = max(inwards * far, 0.0) / (inwards * rate)
                if step < eta:
                    eta, sample, joins = step, one, "on_margin"
        for one, rate in zip(self.on_margin, phi, strict=True):
            room = self.bounds[one] - self.alpha[one]
            if rate < -_STILL and self.alpha[one] / -rate < eta:
                eta, sample, joins = self.alpha[one] / -rate, one, "outside"
            if rate > _STILL and room / rate < eta:
                eta, sample, joins = room / rate, one, "inside"
        return float(eta), int(sample), joins

    def _move(self, sample: int, joins: str) -> None:
        """A sample goes from its set, if it has one, to another."""
        for members in (self.outside, self.on_margin, self.inside):
            if sample in members:
                members.remove(sample)
        getattr(self, joins).append(sample)
        if joins != "on_margin":
            self.alpha[sample] = 0.0 if joins == "outside" else self.bounds[sample]
