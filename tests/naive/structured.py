"""Structured machines the slow way: every labelling listed, and the dual as one QP."""

from itertools import pairwise, product

import numpy as np


class ChainModel:
    """Chains of labels, as an object with the four methods, by enumeration.

    A sequence is a dense table of tokens, an answer a tuple of labels. w holds a row for each
    feature, then transitions, first and last labels, as `lindero.models.chain` has them.
    """

    def __init__(self, n_features, costs, linked=True):
        self.n_features, self.costs, self.linked = n_features, np.asarray(costs), linked
        self.n_labels = len(self.costs)

    def joint_feature(self, x, y):
        n_labels, d = self.n_labels, self.n_features
        table = np.zeros((d + (n_labels + 2 if self.linked else 0), n_labels))
        for token, label in zip(x, y, strict=True):
            table[:d, label] += token
        if self.linked:
            for before, after in pairwise(y):
                table[d + before, after] += 1.0
            table[d + n_labels, y[0]] += 1.0
            table[d + n_labels + 1, y[-1]] += 1.0
        return table.ravel()

    def loss(self, y, answer):
        return float(sum(self.costs[a, b] for a, b in zip(y, answer, strict=True)))

    def all_answers(self, x):
        return list(product(range(self.n_labels), repeat=len(x)))

    def argmax(self, w, x):
        return max(self.all_answers(x), key=lambda y: self.joint_feature(x, y) @ w)

    def loss_augmented_argmax(self, w, x, y):
        return max(
            self.all_answers(x),
            key=lambda answer: self.loss(y, answer) + self.joint_feature(x, answer) @ w,
        )

    def best_answers(self, w, x, k):
        """The k best, with their scores."""
        scored = [(self.joint_feature(x, y) @ w, y) for y in self.all_answers(x)]
        return sorted(scored, key=lambda pair: -pair[0])[:k]


def list_planes(model, X, Y):
    """ψ and the loss of every answer to every case."""
    psi, loss, owner = [], [], []
    for case, (x, y) in enumerate(zip(X, Y, strict=True)):
        right = model.joint_feature(x, y)
        for answer in model.all_answers(x):
            psi.append(right - model.joint_feature(x, answer))
            loss.append(model.loss(y, answer))
            owner.append(case)
    return np.array(psi), np.array(loss), np.array(owner)


def solve_structured(model, X, Y, C):
    """w and the objective, from the dual over all answers."""
    import osqp
    import scipy.sparse as sp

    psi, loss, owner = list_planes(model, X, Y)
    n = len(loss)
    sums = sp.csc_array((np.ones(n), (owner, np.arange(n))), shape=(len(X), n))
    solver = osqp.OSQP()
    solver.setup(
        sp.csc_matrix(np.triu(psi @ psi.T)),
        -loss,
        sp.csc_matrix(sp.vstack([sums, sp.eye_array(n)])),
        np.concatenate([np.full(len(X), C), np.zeros(n)]),
        np.concatenate([np.full(len(X), C), np.full(n, np.inf)]),
        verbose=False,
        eps_abs=1e-9,
        eps_rel=1e-9,
        max_iter=200_000,
        polishing=True,
    )
    w = psi.T @ solver.solve(raise_error=False).x
    return w, find_objective(model, X, Y, C, w)


def find_objective(model, X, Y, C, w):
    """½‖w‖² + C Σ max H, by enumeration."""
    psi, loss, owner = list_planes(model, X, Y)
    heights = loss - psi @ w
    worst = np.full(len(X), -np.inf)
    np.maximum.at(worst, owner, heights)
    return 0.5 * w @ w + C * worst.sum()


def frank_wolfe(model, X, Y, C, n_steps):
    """Plain Frank-Wolfe on the whole dual; the values of the dual on the way."""
    w, loss, values = 0.0 * model.joint_feature(X[0], Y[0]), 0.0, []
    for _ in range(n_steps):
        s, t = 0.0 * w, 0.0
        for x, y in zip(X, Y, strict=True):
            answer = model.loss_augmented_argmax(w, x, y)
            s += C * (model.joint_feature(x, y) - model.joint_feature(x, answer))
            t += C * model.loss(y, answer)
        gap = (w - s) @ w - loss + t
        bend = (w - s) @ (w - s)
        step = 1.0 if bend == 0.0 else min(1.0, gap / bend)
        w, loss = w + step * (s - w), loss + step * (t - loss)
        values.append(loss - 0.5 * w @ w)
    return w, values
