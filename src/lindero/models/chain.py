"""Chains of labels: what a labelling of a sequence scores, and which labellings score best.

A sequence of tokens x_1 … x_T gets labels y_1 … y_T with the score

    Σ_t ⟨x_t, W[:, y_t]⟩  +  A[y_1, y_2] + … + A[y_{T−1}, y_T]  +  first[y_1]  +  last[y_T]

All weights stand in one table with a column for each label: a row for each feature, then a row for
each label that a transition comes from, then one for first and one for last labels. A chain that is
not `linked` has the rows of features only: each token is then a case of its own.

The best labelling is found by Viterbi's recursion: with s_1(b) = first[b] + ⟨x_1, W[:, b]⟩,

    s_t(b) = ⟨x_t, W[:, b]⟩ + max_a (s_{t−1}(a) + A[a, b])

in T·K² steps for K labels; the k best by keeping k values for each s_t(b). Where a wrong label
costs something (`costs`, a row for the right one), the cost is added to the scores of tokens, and
the same recursion finds what violates the margin most. Of equal scores the first label wins.

A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding
algorithm", IEEE Transactions on Information Theory 13(2), 1967.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, FAST, compiled

#: Labels are kept in 16 bits.
MOST_LABELS = 2**15 - 1


@dataclass(frozen=True)
class SequenceRows:
    """Tokens in CSR form (`data`, `indices`, `starts`), those of sequence i from `bounds_i` on."""

    data: Array
    indices: Array
    starts: Array
    bounds: Array
    n_features: int

    @classmethod
    def of(cls, X: Any, bounds: Array) -> SequenceRows:
        """From a CSR array."""
        return cls(
            np.ascontiguousarray(X.data, dtype=np.float64),
            X.indices.astype(np.int32, copy=False),
            X.indptr.astype(np.int64, copy=False),
            bounds.astype(np.int64, copy=False),
            int(X.shape[1]),
        )

    @property
    def n_sequences(self) -> int:
        return len(self.bounds) - 1

    @property
    def longest(self) -> int:
        return int(np.diff(self.bounds).max(initial=1))

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """What loops take of them."""
        return self.data, self.indices, self.starts, self.bounds


@dataclass(frozen=True)
class ChainMachine:
    """The weights of labels, with a column for each: see the top of this file."""

    weights: Array
    n_features: int
    linked: bool

    @property
    def n_labels(self) -> int:
        return int(self.weights.shape[1])

    def predict(self, rows: SequenceRows) -> tuple[Array, Array]:
        """The best label of each token, and the score of each sequence."""
        labels = np.empty(int(rows.bounds[-1]), dtype=np.int16)
        scores = np.empty(rows.n_sequences)
        best_labels(
            *rows.arrays(), self.weights, self.n_features, self.linked, rows.longest, labels, scores
        )
        return labels, scores

    def predict_top(self, rows: SequenceRows, number: int, k: int) -> tuple[Array, Array]:
        """The k best labellings of a sequence, a row each, and their scores; fewer where there are
        no more."""
        begin, end = int(rows.bounds[number]), int(rows.bounds[number + 1])
        length, n_labels = end - begin, self.n_labels
        # There are no more labellings than K to the power of T.
        few = length * np.log(n_labels) < np.log(k) + 1.0
        k = min(k, n_labels**length) if few else k
        E = np.empty((length, n_labels))
        put_emissions(*rows.arrays()[:3], begin, end, self.weights, E)
        links, first, last = np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
        if self.linked:
            width = self.n_features
            links = self.weights[width : width + n_labels]
            first, last = self.weights[width + n_labels], self.weights[width + n_labels + 1]
        labels, scores = np.empty((k, length), dtype=np.int16), np.empty(k)
        put_best_paths(E, links, first, last, labels, scores)
        return labels, scores

    def token_scores(self, rows: SequenceRows) -> Array:
        """⟨x_t, W[:, k]⟩ of each token and label, without transitions."""
        E = np.empty((int(rows.bounds[-1]), self.n_labels))
        put_emissions(*rows.arrays()[:3], 0, len(E), self.weights, E)
        return E


# -- loops ----------------------------------------------------------------------------------------


@compiled(FAST)
def put_emissions(data, indices, starts, begin, end, W, E):  # type: ignore[no-untyped-def]
    """E_tk = ⟨x_t, W[:, k]⟩ of the tokens from `begin` to `end`."""
    n_labels = W.shape[1]
    for t in range(begin, end):
        row = E[t - begin]
        row[:] = 0.0
        for j in range(starts[t], starts[t + 1]):
            value, weights = data[j], W[indices[j]]
            for k in range(n_labels):
                row[k] += value * weights[k]


@compiled(EXACT)
def find_best(E, length, W, width, linked, back, score, spare, labels):  # type: ignore[no-untyped-def]
    """The best labels of one sequence whose tokens score E; their score."""
    n_labels = W.shape[1]
    if not linked:
        total = 0.0
        for t in range(length):
            best = 0
            for k in range(1, n_labels):
                if E[t, k] > E[t, best]:
                    best = k
            labels[t] = best
            total += E[t, best]
        return total
    for b in range(n_labels):
        score[b] = E[0, b] + W[width + n_labels, b]
    for t in range(1, length):
        came = back[t]
        for b in range(n_labels):
            spare[b] = score[0] + W[width, b]
            came[b] = 0
        for a in range(1, n_labels):
            before, links = score[a], W[width + a]
            for b in range(n_labels):
                value = before + links[b]
                if value > spare[b]:
                    spare[b] = value
                    came[b] = a
        for b in range(n_labels):
            score[b] = spare[b] + E[t, b]
    best = 0
    for b in range(n_labels):
        score[b] += W[width + n_labels + 1, b]
        if score[b] > score[best]:
            best = b
    total = score[best]
    for t in range(length - 1, -1, -1):
        labels[t] = best
        if t > 0:
            best = back[t, best]
    return total


@compiled(EXACT)
def best_labels(  # type: ignore[no-untyped-def]
    data, indices, starts, bounds, W, width, linked, longest, labels, scores
):
    """The best labels of every sequence, and their scores."""
    n_labels = W.shape[1]
    E, back = np.empty((longest, n_labels)), np.empty((longest, n_labels), np.int16)
    score, spare = np.empty(n_labels), np.empty(n_labels)
    for i in range(bounds.size - 1):
        begin, end = bounds[i], bounds[i + 1]
        put_emissions(data, indices, starts, begin, end, W, E)
        scores[i] = find_best(
            E, end - begin, W, width, linked, back, score, spare, labels[begin:end]
        )


@compiled(EXACT)
def put_best_paths(E, links, first, last, labels, scores):  # type: ignore[no-untyped-def]
    """The best labellings of one sequence, as many as `labels` has rows, the best first."""
    length, n_labels = E.shape
    k = scores.size
    S = np.full((length, n_labels, k), -np.inf)
    back = np.zeros((length, n_labels, k), np.int64)  # label and rank before, as one number
    for b in range(n_labels):
        S[0, b, 0] = first[b] + E[0, b]
    for t in range(1, length):
        for b in range(n_labels):
            for a in range(n_labels):
                for r in range(k):
                    if S[t - 1, a, r] == -np.inf:
                        break
                    value = S[t - 1, a, r] + links[a, b]
                    if value <= S[t, b, k - 1]:
                        break  # later ranks are no better
                    place = k - 1
                    while place > 0 and S[t, b, place - 1] < value:
                        S[t, b, place] = S[t, b, place - 1]
                        back[t, b, place] = back[t, b, place - 1]
                        place -= 1
                    S[t, b, place] = value
                    back[t, b, place] = a * k + r
            for r in range(k):
                S[t, b, r] += E[t, b]
    taken = np.zeros(n_labels, np.int64)
    for n in range(k):
        best = -1
        for b in range(n_labels):
            if taken[b] < k and S[length - 1, b, taken[b]] > -np.inf:
                value = S[length - 1, b, taken[b]] + last[b]
                if best < 0 or value > S[length - 1, best, taken[best]] + last[best]:
                    best = b
        label, rank = best, taken[best]
        scores[n] = S[length - 1, label, rank] + last[label]
        taken[best] += 1
        for t in range(length - 1, -1, -1):
            labels[n, t] = label
            if t > 0:
                before = back[t, label, rank]
                label, rank = before // k, before % k
