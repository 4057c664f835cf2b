"""Twin of learning sample by sample: the algorithm of the source as printed, errata corrected.

X. Quan, Y. Gu, G. Zheng and B. Gu (2016). An incremental cost-sensitive support vector machine.
J. University of Science and Technology of China 46(9), 727–735: algorithm 2.1 with equations (14)
to (19). It is printed with "while η = 1" for "while η < 1", and adds ψ to α where φ is meant.
Where the bordered matrix M is singular, Q has a small multiple of the identity added, as the
source says. One thing it leaves open, an empty set M, where only b can move: to where the first
sample reaches its margin.
"""

from __future__ import annotations

import numpy as np

#: What counts as on the margin, and as a step of the whole way.
_MET = 1e-9


class IncrementalTwin:
    """Samples, α, b and the sets O, M and I; `add` returns the iterations of its while loop."""

    def __init__(self, K, y, penalty, margin, ridge=0.0):
        self.Q = y[:, None] * y * (K + ridge * np.eye(len(y)))
        self.y, self.penalty, self.margin = y, penalty, margin
        self.alpha, self.b = np.zeros(len(y)), 0.0
        self.O, self.M, self.I = [], [], []

    def start(self, alpha, b, held, slack=1e-7):
        """Begin at a known optimum over the samples `held`."""
        self.alpha[held], self.b = alpha, b
        at_zero = self.alpha <= slack * self.penalty
        at_bound = self.alpha >= (1 - slack) * self.penalty
        self.O = [i for i in held if at_zero[i]]
        self.I = [i for i in held if at_bound[i]]
        self.M = [i for i in held if not at_zero[i] and not at_bound[i]]
        self.alpha[self.O], self.alpha[self.I] = 0.0, self.penalty[self.I]

    @property
    def held(self):
        return self.O + self.M + self.I

    def values(self, rows):
        """y f of some samples."""
        return self.Q[rows] @ self.alpha + self.y[rows] * self.b

    def add(self, c):
        """Learn sample c."""
        y, Q, C, iterations = self.y, self.Q, self.penalty[c], 0
        own = self.values([c])[0]
        if own >= self.margin[c] - _MET:
            (self.M if own <= self.margin[c] + _MET else self.O).append(c)
            return iterations
        while True:
            iterations += 1
            m, way = len(self.M), C - self.alpha[c]
            if m == 0:
                b_rate, phi, whole = self.y[c], np.zeros(0), np.inf  # α waits for a partner
            else:
                bordered = np.zeros((m + 1, m + 1))
                bordered[0, 1:] = bordered[1:, 0] = y[self.M]
                bordered[1:, 1:] = Q[np.ix_(self.M, self.M)]
                right = np.append(y[c], Q[self.M, c]) * way
                solved = -np.linalg.solve(bordered, right)
                b_rate, phi, whole = solved[0], solved[1:], 1.0
            others = self.O + self.I + [c]
            psi = y[others] * b_rate + Q[np.ix_(others, self.M)] @ phi
            if m:
                psi += Q[others, c] * way
            eta, event = self._first_event(others, psi, phi, whole)
            self.b += eta * b_rate
            self.alpha[self.M] += eta * phi
            if m:
                self.alpha[c] += eta * way
            if event is None:  # α_c has come to C
                self.alpha[c] = C
                self.I.append(c)
                return iterations
            sample, goes_to = event
            for one in (self.O, self.M, self.I):
                if sample in one:
                    one.remove(sample)
            goes_to.append(sample)
            if goes_to is not self.M:
                self.alpha[sample] = 0.0 if goes_to is self.O else self.penalty[sample]
            if sample == c:
                return iterations

    def _first_event(self, others, psi, phi, eta):
        """The step, and which sample goes to which set."""
        event = None
        room = self.margin[others] - self.values(others)
        for sample, far, rate in zip(others, room, psi, strict=True):
            outwards = -rate if sample in self.O else rate
            far = -far if sample in self.O else far
            if outwards > 1e-12 and max(far, 0.0) / outwards < eta:
                eta, event = max(far, 0.0) / outwards, (sample, self.M)
        for sample, rate in zip(self.M, phi, strict=True):
            if rate < -1e-12 and self.alpha[sample] / -rate < eta:
                eta, event = self.alpha[sample] / -rate, (sample, self.O)
            room = self.penalty[sample] - self.alpha[sample]
            if rate > 1e-12 and room / rate < eta:
                eta, event = room / rate, (sample, self.I)
        return eta, event
