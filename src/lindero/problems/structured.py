"""Machines whose answer is a structure: the problem with one slack a case, and its judge.

Cases x_i have right answers y_i, and joint features φ(x, y). The machine answers with the y of the
largest ⟨w, φ(x, y)⟩, and is trained by

    min_w  ½‖w‖² + C Σ_i max_y H_i(y; w),     H_i(y; w) = Δ(y_i, y) − ⟨w, ψ_i(y)⟩,
                                              ψ_i(y) = φ(x_i, y_i) − φ(x_i, y)

where Δ(y_i, y) ≥ 0 is what the answer y costs and Δ(y_i, y_i) = 0: the margin is rescaled by the
cost, and no term is negative, as H_i(y_i) = 0. The dual has a distribution over answers for each
case:

    max_α  Σ_i Σ_y α_i(y) Δ(y_i, y) − ½‖w(α)‖²     s.t.  α_i ≥ 0,  Σ_y α_i(y) = C
           w(α) = Σ_i Σ_y α_i(y) ψ_i(y)

Almost all α_i(y) are zero; the others are kept in a list for each case, the right answer among
them. The duality gap at w(α) is a sum over cases that one search for the most violating answer each
finds:

    primal − dual = Σ_i g_i,     g_i = C max_y H_i(y) − Σ_y α_i(y) H_i(y)  ≥  0

Every α is feasible by its form, so the dual at it is below the optimum, whatever w is used for the
primal, which is above it: an average of iterates may give the one, and the last iterate the other.
The KKT gap is the largest max_y H_i(y) − min{H_i(y) : α_i(y) > 0}, in the units of the cost.

For chains (`lindero.models.chain`) Δ is a sum over tokens, `costs` of the right label and the given
one, and the search is Viterbi's with costs added. A case of one token that is not linked is a case
of a multiclass machine: with costs 0 and 1 that of Crammer and Singer.

I. Tsochantaridis, T. Joachims, T. Hofmann and Y. Altun, "Large margin methods for structured and
interdependent output variables", Journal of Machine Learning Research 6, 2005.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lindero.models.chain import SequenceRows, find_best, put_emissions
from lindero.problems.dual_qp import Judgement
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled

#: Answers that a case has room for at first.
_FIRST_ROOM = 4


@dataclass(frozen=True)
class ChainProblem:
    """Chains with their right labels, the costs of labels, and C."""

    rows: SequenceRows
    truth: Array
    costs: Array
    C: float
    linked: bool

    @property
    def n_labels(self) -> int:
        return len(self.costs)

    def make_weights(self) -> Array:
        """Weights of zero."""
        more = self.n_labels + 2 if self.linked else 0
        return np.zeros((self.rows.n_features + more, self.n_labels))

    def evaluate(self, W: Array) -> tuple[float, Array]:
        """The objective at any weights, and the largest H of each case."""
        worst = np.empty(self.rows.n_sequences)
        put_worst(
            *self.rows.arrays(), W, self.rows.n_features, self.linked, self.costs, self.truth,
            self.rows.longest, worst,
        )  # fmt: skip
        return 0.5 * squared_norm(W) + self.C * float(worst.sum()), worst

    def judge(self, answers: Answers, W: Array) -> tuple[Judgement, Array]:
        """Make `W` that of the answers, and judge it; also the gap of each case."""
        W[:] = 0.0
        n = self.rows.n_sequences
        mixed, least, totals = np.empty(n), np.empty(n), np.empty(n)
        store = answers.arrays()
        add_answers(*self.rows.arrays(), self.rows.n_features, self.linked, self.truth, *store, W)
        primal, worst = self.evaluate(W)
        put_mixed(
            *self.rows.arrays(), self.rows.n_features, self.linked, self.truth, *store, W,
            mixed, least, totals,
        )  # fmt: skip
        dual = float(answers.alpha @ answers.loss) - 0.5 * squared_norm(W)
        infeasibility = float(np.abs(totals / self.C - 1.0).max(initial=0.0))
        kkt_gap = max(0.0, float((worst - least).max(initial=0.0)))
        gaps = np.maximum(0.0, self.C * worst - mixed)
        return Judgement(kkt_gap, primal, dual, infeasibility), gaps


@dataclass
class Answers:
    """Labellings that have, or had, some α. Those of case i are in the slots from `slots_i` on, of
    which `counts_i` are in use, with room for `rooms_i`; their labels follow each other from
    `places_i` on. The first is the right one."""

    slots: Array
    rooms: Array
    counts: Array
    places: Array
    alpha: Array
    loss: Array
    labels: Array
    n_slots: int
    n_places: int

    @classmethod
    def of(cls, problem: ChainProblem) -> Answers:
        """The right answers only."""
        lengths = np.diff(problem.rows.bounds)
        n = len(lengths)
        rooms = np.full(n, _FIRST_ROOM, dtype=np.int64)
        answers = cls(
            slots=_begins(rooms),
            rooms=rooms,
            counts=np.ones(n, dtype=np.int64),
            places=_begins(rooms * lengths),
            alpha=np.zeros(int(rooms.sum())),
            loss=np.zeros(int(rooms.sum())),
            labels=np.zeros(int((rooms * lengths).sum()), dtype=np.int16),
            n_slots=int(rooms.sum()),
            n_places=int((rooms * lengths).sum()),
        )
        answers.alpha[answers.slots] = problem.C
        within = np.arange(len(problem.truth)) - np.repeat(problem.rows.bounds[:-1], lengths)
        answers.labels[np.repeat(answers.places, lengths) + within] = problem.truth
        return answers

    def arrays(self) -> tuple[Array, ...]:
        """What loops take of them."""
        return self.slots, self.counts, self.places, self.alpha, self.loss, self.labels

    def enlarge(self, case: int, length: int) -> None:
        """Twice the room for a case, behind all others."""
        room, slot, place = int(self.rooms[case]), int(self.slots[case]), int(self.places[case])
        self.alpha = _append(self.alpha, self.n_slots, slot, room)
        self.loss = _append(self.loss, self.n_slots, slot, room)
        self.labels = _append(self.labels, self.n_places, place, room * length)
        self.alpha[slot : slot + room] = 0.0
        self.slots[case], self.places[case] = self.n_slots, self.n_places
        self.rooms[case] = 2 * room
        self.n_slots += 2 * room
        self.n_places += 2 * room * length


def _begins(sizes: Array) -> Array:
    """Where each of several things of these sizes begins."""
    ends: Array = np.cumsum(sizes)
    return ends - sizes


def _append(pool: Array, used: int, begin: int, size: int) -> Array:
    """A pool with what was at `begin` copied behind what is used, and as much room again."""
    if used + 2 * size > len(pool):
        fresh = np.zeros(max(2 * len(pool), used + 2 * size), dtype=pool.dtype)
        fresh[:used] = pool[:used]
        pool = fresh
    pool[used : used + size] = pool[begin : begin + size]
    return pool


# -- loops ----------------------------------------------------------------------------------------


def squared_norm(W: Array) -> float:
    """The sum of squares."""
    flat = W.ravel()
    return float(flat @ flat)


@compiled(EXACT)
def put_worst(  # type: ignore[no-untyped-def]
    data, indices, starts, bounds, W, width, linked, costs, truth, longest, worst
):
    """The largest H of each case."""
    n_labels = W.shape[1]
    E, back = np.empty((longest, n_labels)), np.empty((longest, n_labels), np.int16)
    score, spare = np.empty(n_labels), np.empty(n_labels)
    labels = np.empty(longest, np.int16)
    for i in range(bounds.size - 1):
        begin, end = bounds[i], bounds[i + 1]
        worst[i] = find_worst(
            data, indices, starts, begin, end, W, width, linked, costs, truth, E, back, score,
            spare, labels,
        )  # fmt: skip


@compiled(EXACT)
def find_worst(  # type: ignore[no-untyped-def]
    data, indices, starts, begin, end, W, width, linked, costs, truth, E, back, score, spare, labels
):
    """The labels of the largest H of a case, which may be the right ones; its value."""
    n_labels = W.shape[1]
    put_emissions(data, indices, starts, begin, end, W, E)
    right = 0.0
    for t in range(begin, end):
        own = truth[t]
        right += E[t - begin, own]
        for k in range(n_labels):
            E[t - begin, k] += costs[own, k]
    if linked:
        right += W[width + n_labels, truth[begin]] + W[width + n_labels + 1, truth[end - 1]]
        for t in range(begin + 1, end):
            right += W[width + truth[t - 1], truth[t]]
    best = find_best(E, end - begin, W, width, linked, back, score, spare, labels)
    if best > right:
        return best - right
    for t in range(begin, end):
        labels[t - begin] = truth[t]
    return 0.0


@compiled(EXACT)
def slope(data, indices, starts, begin, end, W, width, linked, old, new):  # type: ignore[no-untyped-def]
    """⟨W, φ(new) − φ(old)⟩."""
    n_labels = W.shape[1]
    total = 0.0
    for t in range(begin, end):
        a, b = old[t - begin], new[t - begin]
        if a != b:
            for j in range(starts[t], starts[t + 1]):
                row = W[indices[j]]
                total += data[j] * (row[b] - row[a])
    if linked:
        for t in range(1, end - begin):
            if old[t] != new[t] or old[t - 1] != new[t - 1]:
                total += W[width + new[t - 1], new[t]] - W[width + old[t - 1], old[t]]
        last = end - begin - 1
        total += W[width + n_labels, new[0]] - W[width + n_labels, old[0]]
        total += W[width + n_labels + 1, new[last]] - W[width + n_labels + 1, old[last]]
    return total


@compiled(EXACT)
def add_change(data, indices, starts, begin, end, W, width, linked, old, new, step):  # type: ignore[no-untyped-def]
    """W += step (φ(new) − φ(old))."""
    n_labels = W.shape[1]
    for t in range(begin, end):
        a, b = old[t - begin], new[t - begin]
        if a != b:
            for j in range(starts[t], starts[t + 1]):
                row, change = W[indices[j]], step * data[j]
                row[b] += change
                row[a] -= change
    if linked:
        for t in range(1, end - begin):
            if old[t] != new[t] or old[t - 1] != new[t - 1]:
                W[width + new[t - 1], new[t]] += step
                W[width + old[t - 1], old[t]] -= step
        last = end - begin - 1
        W[width + n_labels, new[0]] += step
        W[width + n_labels, old[0]] -= step
        W[width + n_labels + 1, new[last]] += step
        W[width + n_labels + 1, old[last]] -= step


@compiled(EXACT)
def add_answers(  # type: ignore[no-untyped-def]
    data,
    indices,
    starts,
    bounds,
    width,
    linked,
    truth,
    slots,
    counts,
    places,
    alpha,
    loss,
    labels,
    W,
):
    """W += Σ α ψ of all answers."""
    for i in range(bounds.size - 1):
        begin, end = bounds[i], bounds[i + 1]
        for p in range(1, counts[i]):
            share = alpha[slots[i] + p]
            if share != 0.0:
                place = places[i] + p * (end - begin)
                answer = labels[place : place + end - begin]
                add_change(
                    data, indices, starts, begin, end, W, width, linked, answer, truth[begin:end],
                    share,
                )  # fmt: skip


@compiled(EXACT)
def put_mixed(  # type: ignore[no-untyped-def]
    data, indices, starts, bounds, width, linked, truth, slots, counts, places, alpha, loss, labels,
    W, mixed, least, totals,
):  # fmt: skip
    """Σ α H of each case, the least H that has some α, and Σ α."""
    for i in range(bounds.size - 1):
        begin, end = bounds[i], bounds[i + 1]
        mixed[i], least[i], totals[i] = 0.0, np.inf, 0.0
        for p in range(counts[i]):
            share = alpha[slots[i] + p]
            if share > 0.0:
                value = 0.0
                if p > 0:
                    place = places[i] + p * (end - begin)
                    value = loss[slots[i] + p] + slope(
                        data, indices, starts, begin, end, W, width, linked, truth[begin:end],
                        labels[place : place + end - begin],
                    )  # fmt: skip
                mixed[i] += share * value
                least[i] = min(least[i], value)
                totals[i] += share
