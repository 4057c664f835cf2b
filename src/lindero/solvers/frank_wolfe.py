"""Block-coordinate Frank-Wolfe on chains: cases are visited, w is kept, answers are remembered.

The dual of `lindero.problems.structured` has a simplex for each case. A visit of case i searches
the answer ŷ of the largest H_i(y; w), which is where the linear part of the dual is largest over
that simplex, and puts it on the list of answers of the case. Then α is moved along the list, from
the answer a of the least H_i that has some to the answer b of the largest. With the direction d =
φ(b) − φ(a), moving s of α changes the dual by

    s (H_i(b) − H_i(a)) − ½ s² ‖d‖²        and w by −s d,

so the best step is s = (H_i(b) − H_i(a)) / ‖d‖², or all that a has (exact line search). No such
step lets the dual fall, and steps between pairs converge linearly where steps towards ŷ alone would
not. ŷ and a differ in few tokens, and so little of w is touched.

The search is the dear part: every feature of every token with every label. So there are sweeps in
between that visit cases without it and move α along the lists as they are (the cache of planes),
for as long as a sweep gains a fair share of what the last search sweep gained. Answers without α
are the first to be forgotten.

Cases of large gaps are visited more often. The first sweep visits all of them, in a random order
from a fixed seed; the later ones draw cases with probability in proportion to the gap that they had
when last seen. An exact pass over all cases at fixed w (the judge's) measures all gaps anew.

Averages. w_k after visit k also counts k times in an average, begun anew with each exact pass. With
S_k = 1 + … + k, w̄ = w_K − (1/S_K) Σ_k S_{k−1} (w_k − w_{k−1}), so a visit only adds what it
changed, times S_{k−1}, to a second table. The average often has the lower primal objective early
on; what is returned is the best of those judged, whose gap is to the best dual value found.

S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe optimization
for structural SVMs", ICML 2013; N. Shah, V. Kolmogorov and C. H. Lampert, "A multi-plane
block-coordinate Frank-Wolfe algorithm for training structural SVMs with a costly max-oracle", CVPR
2015; A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. K. Dokania and S. Lacoste-Julien, "Minding the
gaps for block Frank-Wolfe optimization of structured SVMs", ICML 2016.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from lindero.problems.dual_qp import Judgement
from lindero.problems.structured import (
    Answers,
    ChainProblem,
    add_change,
    find_worst,
    slope,
    squared_norm,
)
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.solvers.solution import Limits, Progress, Status

#: Entries of tokens visited between two looks at the clock, times labels.
_WORK_AT_ONCE = 30_000_000

#: Search sweeps between two exact passes, unless the gap looks small enough before.
SWEEPS_BETWEEN = 4

#: Sweeps without searches after one with, and the share of its gain that each must have.
MOST_CACHED, FAIR_SHARE = 10, 0.1

#: Steps along the list of a case in a visit.
STEPS = 8

#: Exact passes without progress after which rounding is what is left of the gap, and the share of
#: the dual that is none; and sweeps after which a problem is left as it is.
IDLE_PASSES, NO_PROGRESS, MOST_SWEEPS = 6, 1e-13, 10_000

SEED = 0

#: Where the loops stand between calls.
_GAIN, _LOSS, _CLOCK, _WEIGHT = range(4)


@dataclass(frozen=True)
class StructuredSolution:
    """Weights, and how near to the optimum they are."""

    weights: Array
    judgement: Judgement
    status: Status
    n_iter: int
    seconds: float


@dataclass(frozen=True)
class FrankWolfeSolver:
    """Solves a `ChainProblem` until its duality gap is at most `tol` of the primal objective."""

    tol: float = 1e-3

    def solve(self, problem: ChainProblem, limits: Limits | None = None) -> StructuredSolution:
        """The best weights found; `n_iter` counts searches, in sweeps of as many as cases."""
        begun = time.perf_counter()
        descent = _ChainDescent(problem, self.tol)
        status = descent.run(limits or Limits(), begun)
        seconds = time.perf_counter() - begun
        return StructuredSolution(descent.best_W, descent.best, status, descent.n_sweeps, seconds)


class _ChainDescent:
    """The iterate, its average, and the best judged weights."""

    def __init__(self, problem: ChainProblem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.answers = Answers.of(problem)
        n = problem.rows.n_sequences
        self.W, self.drift, self.scratch = (problem.make_weights() for _ in range(3))
        self.numbers = np.zeros(4)
        self.gaps = np.full(n, np.inf)
        self.random = np.random.default_rng(SEED)
        self.n_sweeps = 0
        self.best_W = self.W
        self.best = Judgement(np.inf, np.inf, -np.inf, 0.0)
        entries = max(1, len(problem.rows.data)) * problem.n_labels
        self.at_once = max(1, int(_WORK_AT_ONCE * n / entries))

    def run(self, limits: Limits, begun: float) -> Status:
        """Sweeps and exact passes until the gap is within tol, or a limit is reached."""
        idle, since = 0, 0
        try:
            while True:
                status = self._sweep(limits, begun)
                since += 1
                n_cached = 0
                fair = FAIR_SHARE * self.numbers[_GAIN]
                while status is None and n_cached < MOST_CACHED:
                    self.numbers[_GAIN] = 0.0
                    self._visit(np.flatnonzero(self.answers.counts > 1), search=False)
                    n_cached += 1
                    if self.numbers[_GAIN] <= fair:
                        break
                near = self.gaps.sum() <= self.tol * max(self._guess_primal(), 0.0)
                if status is None and not near and since < SWEEPS_BETWEEN:
                    continue
                before, since = self.best, 0
                self._judge()
                if self.best.duality_gap <= self.tol * self.best.primal:
                    return Status.OPTIMAL
                if status is not None:
                    return status
                idle = 0 if has_progressed(before, self.best) else idle + 1
                if idle == IDLE_PASSES:
                    return Status.PRECISION
                if self.n_sweeps >= MOST_SWEEPS:
                    return Status.STALLED
        except KeyboardInterrupt:
            limits.interrupt()
            self._judge()
            return Status.INTERRUPTED

    def _guess_primal(self) -> float:
        """The primal objective, if gaps were as they were last seen."""
        return float(self.numbers[_LOSS] - 0.5 * squared_norm(self.W) + self.gaps.sum())

    def _sweep(self, limits: Limits, begun: float) -> Status | None:
        """As many searches as there are cases; why to stop, if there is a reason."""
        n = self.problem.rows.n_sequences
        order = self.random.permutation(n) if self.n_sweeps == 0 else None
        self.numbers[_GAIN] = 0.0
        for start in range(0, n, self.at_once):
            size = min(self.at_once, n - start)
            if order is None:
                ends = np.cumsum(self.gaps)
                drawn = np.searchsorted(ends, self.random.random(size) * ends[-1], side="right")
                cases = np.minimum(drawn, n - 1)
            else:
                cases = order[start : start + size]
            self._visit(cases, search=True)
            seconds = time.perf_counter() - begun
            gap = float(self.gaps.sum()) / max(self._guess_primal(), np.finfo(float).tiny)
            report = Progress(self.n_sweeps + (start + size == n), gap, self.tol, seconds)
            if reason := limits.check(report):
                self.n_sweeps += start + size == n
                return reason
        self.n_sweeps += 1
        return None

    def _visit(self, cases: Array, search: bool) -> None:
        problem, answers = self.problem, self.answers
        rows = problem.rows
        done, n = 0, len(cases)
        while done < n:
            done += visit(
                *rows.arrays(), rows.n_features, problem.linked, rows.longest, problem.truth,
                problem.costs, problem.C, answers.slots, answers.rooms, answers.counts,
                answers.places, answers.alpha, answers.loss, answers.labels, cases[done:],
                self.gaps, self.W, self.drift, self.scratch, self.numbers, search,
                self._find_least(),
            )  # fmt: skip
            if done < n:
                case = int(cases[done])
                answers.enlarge(case, int(rows.bounds[case + 1] - rows.bounds[case]))

    def _find_least(self) -> float:
        """Differences of H that are too small to count."""
        if not np.isfinite(self.best.primal):
            return 0.0
        share = self.tol * self.best.primal / (self.problem.C * len(self.gaps))
        return 0.1 * float(share)

    def _judge(self) -> None:
        """An exact pass at the iterate, and one at the average; the best of both is kept."""
        problem, numbers = self.problem, self.numbers
        average = None
        if numbers[_WEIGHT] > 0.0:
            average = self.W - self.drift / numbers[_WEIGHT]
        judgement, self.gaps = problem.judge(self.answers, self.W)
        numbers[_LOSS] = judgement.dual + 0.5 * squared_norm(self.W)
        dual = max(self.best.dual, judgement.dual)
        if judgement.primal < self.best.primal:
            self.best, self.best_W = judgement, self.W.copy()
        if average is not None:
            primal = problem.evaluate(average)[0]
            if primal < self.best.primal:
                self.best, self.best_W = replace(judgement, primal=primal), average
        self.best = replace(self.best, kkt_gap=judgement.kkt_gap, dual=dual)
        self.drift[:] = 0.0
        numbers[_CLOCK] = numbers[_WEIGHT] = 0.0


def has_progressed(before: Judgement, now: Judgement) -> bool:
    """Whether the gap has become smaller, or the dual larger, by more than rounding."""
    closer = now.duality_gap <= 0.99 * before.duality_gap
    return closer or not now.dual - before.dual <= NO_PROGRESS * abs(now.dual)


# -- loops ----------------------------------------------------------------------------------------


@compiled(EXACT)
def visit(  # type: ignore[no-untyped-def]
    data, indices, starts, bounds, width, linked, longest, truth, costs, C, slots, rooms, counts,
    places, alpha, loss, labels, cases, gaps, W, drift, scratch, numbers, search, least,
):  # fmt: skip
    """Improve cases, one after another, with a search each or without; how many were visited. It
    ends early at a case whose list is full: enlarge that, and go on."""
    n_labels = W.shape[1]
    E, back = np.empty((longest, n_labels)), np.empty((longest, n_labels), np.int16)
    score, spare = np.empty(n_labels), np.empty(n_labels)
    found = np.empty(longest, np.int16)
    H = np.empty(64)
    for number in range(cases.size):
        i = cases[number]
        begin, end = bounds[i], bounds[i + 1]
        length, slot, place = end - begin, slots[i], places[i]
        if search:
            if not make_room(i, length, slot, place, rooms, counts, alpha, loss, labels):
                return number
            find_worst(
                data, indices, starts, begin, end, W, width, linked, costs, truth, E, back, score,
                spare, found,
            )  # fmt: skip
            add_answer(
                i, begin, length, slot, place, counts, alpha, loss, labels, costs, truth, found
            )
        n_answers = counts[i]
        if H.size < n_answers:
            H = np.empty(2 * n_answers)
        numbers[_CLOCK] += 1.0
        before = numbers[_WEIGHT]
        for step in range(STEPS + 1):
            H[0] = 0.0
            best, low = 0, -1
            mixed = 0.0
            for p in range(n_answers):
                if p > 0:
                    answer = labels[place + p * length : place + (p + 1) * length]
                    H[p] = loss[slot + p] + slope(
                        data, indices, starts, begin, end, W, width, linked, truth[begin:end],
                        answer,
                    )  # fmt: skip
                if H[p] > H[best]:
                    best = p
                if alpha[slot + p] > 0.0:
                    mixed += alpha[slot + p] * H[p]
                    if low < 0 or H[p] < H[low]:
                        low = p
            rise = H[best] - H[low]
            if step == 0 and search:
                gaps[i] = max(0.0, C * H[best] - mixed)
            if step == STEPS or not rise > least:
                break
            old = labels[place + low * length : place + (low + 1) * length]
            new = labels[place + best * length : place + (best + 1) * length]
            bend = measure(data, indices, starts, begin, end, scratch, width, linked, old, new)
            most = alpha[slot + low]
            share = most
            if most * bend > rise:
                share = rise / bend
                alpha[slot + low] = most - share
            else:
                alpha[slot + low] = 0.0
            alpha[slot + best] += share
            add_change(data, indices, starts, begin, end, W, width, linked, old, new, -share)
            add_change(
                data, indices, starts, begin, end, drift, width, linked, old, new, -share * before
            )
            numbers[_GAIN] += share * rise - 0.5 * share * share * bend
            numbers[_LOSS] += share * (loss[slot + best] - loss[slot + low])
        numbers[_WEIGHT] += numbers[_CLOCK]
    return cases.size


@compiled(EXACT)
def make_room(i, length, slot, place, rooms, counts, alpha, loss, labels):  # type: ignore[no-untyped-def]
    """Whether there is room for one more answer, once those without α are forgotten."""
    if counts[i] < rooms[i]:
        return True
    kept = 1
    for p in range(1, counts[i]):
        if alpha[slot + p] > 0.0:
            if kept < p:
                alpha[slot + kept], loss[slot + kept] = alpha[slot + p], loss[slot + p]
                for t in range(length):
                    labels[place + kept * length + t] = labels[place + p * length + t]
            kept += 1
    for p in range(kept, counts[i]):
        alpha[slot + p] = 0.0
    counts[i] = kept
    return 2 * kept <= rooms[i]


@compiled(EXACT)
def add_answer(i, begin, length, slot, place, counts, alpha, loss, labels, costs, truth, found):  # type: ignore[no-untyped-def]
    """Put labels on the list of a case, unless they are on it."""
    for p in range(counts[i]):
        t = 0
        while t < length and labels[place + p * length + t] == found[t]:
            t += 1
        if t == length:
            return
    p = counts[i]
    counts[i] = p + 1
    total = 0.0
    for t in range(length):
        labels[place + p * length + t] = found[t]
        total += costs[truth[begin + t], found[t]]
    alpha[slot + p], loss[slot + p] = 0.0, total


@compiled(EXACT)
def measure(data, indices, starts, begin, end, scratch, width, linked, old, new):  # type: ignore[no-untyped-def]
    """‖φ(new) − φ(old)‖², by adding the difference up in a table of zeros, which it leaves so."""
    n_labels = scratch.shape[1]
    total = 0.0
    for t in range(begin, end):
        a, b = old[t - begin], new[t - begin]
        if a != b:
            for j in range(starts[t], starts[t + 1]):
                row, value = scratch[indices[j]], data[j]
                total += value * (2.0 * (row[b] - row[a]) + 2.0 * value)
                row[b] += value
                row[a] -= value
    last = end - begin - 1
    if linked:
        for t in range(1, last + 1):
            if old[t] != new[t] or old[t - 1] != new[t - 1]:
                total += bump(scratch, width + new[t - 1], new[t], 1.0)
                total += bump(scratch, width + old[t - 1], old[t], -1.0)
        total += bump(scratch, width + n_labels, new[0], 1.0)
        total += bump(scratch, width + n_labels, old[0], -1.0)
        total += bump(scratch, width + n_labels + 1, new[last], 1.0)
        total += bump(scratch, width + n_labels + 1, old[last], -1.0)
    for t in range(begin, end):
        a, b = old[t - begin], new[t - begin]
        if a != b:
            for j in range(starts[t], starts[t + 1]):
                row = scratch[indices[j]]
                row[a] = row[b] = 0.0
    if linked:
        for t in range(1, last + 1):
            scratch[width + new[t - 1], new[t]] = scratch[width + old[t - 1], old[t]] = 0.0
        scratch[width + n_labels, new[0]] = scratch[width + n_labels, old[0]] = 0.0
        scratch[width + n_labels + 1, new[last]] = scratch[width + n_labels + 1, old[last]] = 0.0
    return max(total, 0.0)


@compiled(EXACT)
def bump(table, row, column, value):  # type: ignore[no-untyped-def]
    """Add to a number; by how much its square grows."""
    old = table[row, column]
    table[row, column] = old + value
    return value * (2.0 * old + value)
