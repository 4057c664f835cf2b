"""Experts side by side: filters of different speeds, weighted by what they predicted.

Each expert (a filter with its coupling and C, read at one sharpness) gives the next label a
probability p_e before it is learned. The answer is the mixture Σ w_e p_e. Then

    w_e ← w_e p_e(label), normalised;     w_e ← (1 − α) w_e + α π_e,

the second being a fixed share α of the weight that all experts get again according to their first
weights π (Herbster and Warmuth 1998): none is ever lost, and after a change those that are right
then take over within a few rows.

**What is promised.** Let −log p be the loss. After T rows, the loss of the mixture exceeds that of
any sequence of experts that changes k times by no more than

    Σ over its k + 1 experts of log 1/π_e + k log 1/α + (T − 1 − k) log 1/(1 − α),

and for one expert throughout (k = 0) log 1/π_e + (T − 1) log 1/(1 − α). It holds for every stream,
because Σ_e w_e p_e is the probability that a mixture of all such sequences gives to the labels.

**Probabilities of experts.** An output f of the only machine of two classes, read at sharpness σ,
means p = 1/(1 + exp(−σ f)); outputs of several machines p_k ∝ exp(σ f_k); each mixed with 0.1 % of
uniform. For numbers: the density of Laplace's distribution about f with width σ, cut at 1e-12.

**Answers.** Where labels are noisy, or follow each other, the expert of the best probabilities need
not be the one that is right most often. So filters also vote for classes, with weights by their
errors alone, v ← v exp(−0.3 · error) and the share 1e-3; and the class that is answered is that of
the vote, if votes were right more often than the mixture in the last rows (each counts 0.998 of the
next), or else the most probable one. A probability gives way to a vote that contradicts it: both
classes are then nearly equal.

**Has the world changed?** Slow experts alone, weighted by the same rule with a share β = 1e-6, are
what would be believed if no hyperplane changed. (With no share at all they could not say that only
noise did, or that a row was an outlier: the sharpest reading of calm years would be held against
every later row. A switch among them costs log 1/β and one of the mixture log 1/α, each with the
first weights: noise that changes is evidence of log α/β, less what those differ by, and no more.)
With p of the mixture, p' of theirs, and r = p/p', of which a row counts e³ at the most, or e where
numbers are predicted,

    g ← max(0, g + log r − log max(1, m) − 0.02),      m ← m + (r − m)/1000,

is a CUSUM of evidence. If p' is right, r has mean 1, m stays about there, and g crosses log 1/a
no more than once in 1/a rows, on average: r/max(1, m) has a mean of 1 at most. p' is never quite
right: labels that come in bursts, levels that walk and errors that follow each other are
predicted better by fast experts throughout. That is no change but how this stream is, and m, the
usual ratio, says so: what counts is evidence beyond the usual. m is an average of about a
thousand rows, not an expectation given the past: where ratios are large for long and then small
for long, changes are still told too often. And slow experts are still learning at first. So
nothing is counted in the first 400 rows, nor in 100 rows after a change, and the rate is what
streams without changes were found to have (tests/svm/adaptive/test_stream_promises.py), not a
promise. (The 0.02 is what a steady drift may gain a row without being called a change.) When g
crosses it, a change is noted: it began where g last was zero, and slow experts begin again from
where the leading one is.

Rows of weight below one count as that much: p^weight.

**How well it went**: the losses of all experts are added up, so that what was promised can be
compared with what was reached.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FAST, compiled

#: The share α.
SHARE = 1e-4

#: The share β of slow experts among themselves.
_SLOW_SHARE = 1e-6

#: How fast filters lose their vote by errors, the share that they get again, and what a row counts
#: of the next when votes are compared with the mixture.
_VOTE_RATE = 0.3
_VOTE_SHARE = 1e-3
_MEMORY = 0.998

#: What a vote is ahead by, in probability, where it contradicts.
_AHEAD = 1e-6

#: Sharpnesses at which outputs are read as probabilities, and widths of Laplace's distribution.
SHARPNESSES = (0.25, 1.0, 2.0, 4.0)
WIDTHS = (0.03, 0.1, 0.3, 1.0)

_UNIFORM = 1e-3
_LEAST_DENSITY = 1e-12
_MOST_EXPONENT = 60.0

#: Evidence at which a change is noted.
ENOUGH = log(1e5)

#: Evidence that a row takes off, and rows that the usual ratio is an average of.
_STEADY = 0.02
_USUAL_ROWS = 1000.0

#: Evidence that a row adds at the most, of classes and of numbers; rows at first and after a change
#: that add none.
_MOST_EVIDENCE, _MOST_OF_NUMBERS = 3.0, 1.0
_FIRST_ROWS, _ROWS_AFTER = 400, 100

#: Changes that are kept until they are fetched.
ROOM = 64


class ExpertWeights(NamedTuple):
    """Weights as compiled loops take them, (filters, readings) each.

    `first` are π, `now` the weights, `slow` those of the slow ones alone, `is_slow` which filters
    these are. `losses` are sums of −log p of each; infinite, once it has been asleep. `readings`
    are sharpnesses, or widths where `of_numbers` (an array of one) is true. `evidence` holds g, the
    row from which on it counts, the sums of −log p of the mixture and of the slow ones, and m.
    `marks` are the rows seen, the row where g last was zero, and how many changes were noted in
    `changes` (ROOM, 3): the row it began, the row it was noticed, the evidence. `votes` (filters,)
    are weights of the votes, `hits` how often votes and mixture were right lately.
    """

    first: Array
    now: Array
    slow: Array
    losses: Array
    is_slow: Array
    readings: Array
    of_numbers: Array
    evidence: Array
    marks: Array
    changes: Array
    votes: Array
    hits: Array

    @classmethod
    def begin(cls, shares: Array, is_slow: Array, of_numbers: bool) -> ExpertWeights:
        """Weights of filters before anything is known; `shares` sum to one."""
        readings = np.array(WIDTHS if of_numbers else SHARPNESSES)
        first = np.repeat(shares[:, None] / len(readings), len(readings), axis=1)
        return cls(
            first, first.copy(), share_slow(first, is_slow), np.zeros(first.shape), is_slow,
            readings, np.array([of_numbers]), np.array([0.0, _FIRST_ROWS, 0.0, 0.0, 1.0]),
            np.zeros(3, dtype=np.int64), np.zeros((ROOM, 3)), shares.copy(), np.zeros(2),
        )  # fmt: skip

    def copy(self) -> ExpertWeights:
        return ExpertWeights(*(array.copy() for array in self))


def share_slow(first: Array, is_slow: Array) -> Array:
    """First weights of the slow experts among themselves."""
    slow: Array = np.where(is_slow[:, None], first, 0.0)
    slow /= max(slow.sum(), 1e-300)
    return slow


def bound_regret(weights: ExpertWeights) -> tuple[float, float]:
    """By how much the loss of the mixture exceeds that of the best expert, and the bound above."""
    best = np.unravel_index(int(np.argmin(weights.losses)), weights.losses.shape)
    regret = float(weights.evidence[2] - weights.losses[best])
    n_rows = int(weights.marks[0])
    bound = -log(float(weights.first[best])) - max(n_rows - 1, 0) * float(np.log1p(-SHARE))
    return regret, bound


def read_planes(outputs: Array, n_classes: int) -> Array:
    """Probabilities of classes from outputs of hyperplanes alone, at the middle sharpness."""
    sharpness = SHARPNESSES[len(SHARPNESSES) // 2]
    powers = np.array([0.0, outputs[0]]) if len(outputs) == 1 else outputs
    p = np.zeros(n_classes)
    p[: len(powers)] = np.exp(np.clip(sharpness * (powers - powers.max()), -_MOST_EXPONENT, 0.0))
    p /= p.sum()
    return (1.0 - _UNIFORM) * p + _UNIFORM / n_classes


@compiled(FAST)
def read_outputs(outputs, weights, likelihoods, mixture):  # type: ignore[no-untyped-def]
    """Probabilities of classes: by each expert into `likelihoods` (filters, readings, classes), and
    mixed into `mixture`. `outputs` is (machines, filters); experts of weight zero are left out."""
    n_machines, n_classes = outputs.shape[0], mixture.size
    for k in range(n_classes):
        mixture[k] = 0.0
    for e in range(outputs.shape[1]):
        for r in range(weights.readings.size):
            p = likelihoods[e, r]
            if weights.now[e, r] == 0.0:
                for k in range(n_classes):
                    p[k] = 0.0
                continue
            sharpness = weights.readings[r]
            if n_machines == 1:
                power = sharpness * outputs[0, e]
                power = min(max(power, -_MOST_EXPONENT), _MOST_EXPONENT)
                p[1] = 1.0 / (1.0 + exp(-power))
                p[0] = 1.0 - p[1]
            else:
                largest = outputs[0, e]
                for k in range(1, n_machines):
                    largest = max(largest, outputs[k, e])
                total = 0.0
                for k in range(n_machines):
                    power = max(sharpness * (outputs[k, e] - largest), -_MOST_EXPONENT)
                    p[k] = exp(power)
                    total += p[k]
                for k in range(n_machines):
                    p[k] /= total
            for k in range(n_classes):
                p[k] = (1.0 - _UNIFORM) * p[k] + _UNIFORM / n_classes
                mixture[k] += weights.now[e, r] * p[k]


@compiled(FAST)
def read_densities(outputs, target, weights, likelihoods):  # type: ignore[no-untyped-def]
    """Densities at a target, by each expert, into `likelihoods` (filters, readings, 1)."""
    for e in range(outputs.shape[1]):
        for r in range(weights.readings.size):
            width = weights.readings[r]
            density = 0.5 * exp(max(-abs(target - outputs[0, e]) / width, -700.0)) / width
            asleep = weights.now[e, r] == 0.0
            likelihoods[e, r, 0] = 0.0 if asleep else max(density, _LEAST_DENSITY)


@compiled(FAST)
def weigh_experts(likelihoods, label, share, weights):  # type: ignore[no-untyped-def]
    """Both updates of the weights, and the evidence. The loss of the mixture, and whether slow
    experts are to begin again."""
    n_experts, n_readings = weights.now.shape
    total, expected, kept, calm = 0.0, 0.0, 0.0, 0.0
    for e in range(n_experts):
        for r in range(n_readings):
            p = likelihoods[e, r, label]
            weights.now[e, r] *= p
            total += weights.now[e, r]
            weights.slow[e, r] *= p
            expected += weights.slow[e, r]
            if weights.is_slow[e]:
                calm += weights.first[e, r]
            if p > 0.0:
                kept += weights.first[e, r]
                weights.losses[e, r] -= log(p)
            else:
                weights.losses[e, r] = np.inf
    for e in range(n_experts):
        for r in range(n_readings):
            if likelihoods[e, r, label] == 0.0:
                continue  # asleep
            again = weights.first[e, r] / kept
            now = weights.now[e, r] / total if total > 0.0 else again
            weights.now[e, r] = (1.0 - share) * now + share * again
            if expected > 0.0 and weights.is_slow[e]:
                again = weights.first[e, r] / calm
                slow = weights.slow[e, r] / expected
                weights.slow[e, r] = (1.0 - _SLOW_SHARE) * slow + _SLOW_SHARE * again
    loss = -log(max(total, 1e-300))
    weights.evidence[2] += loss
    row = weights.marks[0]
    weights.marks[0] = row + 1
    if expected <= 0.0:
        return loss, False
    slow_loss = -log(max(expected, 1e-300))
    weights.evidence[3] += slow_loss
    most = _MOST_OF_NUMBERS if weights.of_numbers[0] else _MOST_EVIDENCE
    gained, usual = min(slow_loss - loss, most), weights.evidence[4]
    weights.evidence[4] += (exp(gained) - usual) / _USUAL_ROWS
    if row < weights.evidence[1]:
        weights.marks[1] = row + 1
        return loss, False
    evidence = weights.evidence[0] + gained - log(max(usual, 1.0)) - _STEADY
    if evidence <= 0.0:
        weights.evidence[0], weights.marks[1] = 0.0, row + 1
        return loss, False
    weights.evidence[0] = evidence
    if evidence < ENOUGH:
        return loss, False
    place = weights.marks[2] % ROOM
    weights.changes[place, 0] = weights.marks[1]
    weights.changes[place, 1] = row
    weights.changes[place, 2] = evidence
    weights.marks[2] += 1
    weights.marks[1] = row + 1
    weights.evidence[0], weights.evidence[1] = 0.0, row + 1 + _ROWS_AFTER
    return loss, True


@compiled(FAST)
def name_class(outputs, e):  # type: ignore[no-untyped-def]
    """The class that a filter votes for."""
    if outputs.shape[0] == 1:
        return 1 if outputs[0, e] > 0.0 else 0
    best = 0
    for k in range(1, outputs.shape[0]):
        if outputs[k, e] > outputs[best, e]:
            best = k
    return best


@compiled(FAST)
def count_votes(outputs, weights, tally):  # type: ignore[no-untyped-def]
    """The class that most votes are for; `tally` has room for one number a class."""
    for k in range(tally.size):
        tally[k] = 0.0
    for e in range(outputs.shape[1]):
        tally[name_class(outputs, e)] += weights.votes[e]
    return int(np.argmax(tally))


@compiled(FAST)
def weigh_votes(outputs, label, weight, mixture, weights, tally):  # type: ignore[no-untyped-def]
    """Both updates of the votes, and who was right. Filters that sleep have no vote."""
    voted = count_votes(outputs, weights, tally)
    weights.hits[0] = _MEMORY * weights.hits[0] + (1.0 if voted == label else 0.0)
    likely = int(np.argmax(mixture))
    weights.hits[1] = _MEMORY * weights.hits[1] + (1.0 if likely == label else 0.0)
    total, kept = 0.0, 0.0
    for e in range(outputs.shape[1]):
        if weights.now[e, 0] == 0.0:
            weights.votes[e] = 0.0
            continue
        if name_class(outputs, e) != label:
            weights.votes[e] *= exp(-_VOTE_RATE * min(weight, 1.0))
        total += weights.votes[e]
        kept += weights.first[e, 0]
    for e in range(outputs.shape[1]):
        if weights.now[e, 0] > 0.0:
            again = weights.first[e, 0] / kept
            now = weights.votes[e] / total if total > 0.0 else again
            weights.votes[e] = (1.0 - _VOTE_SHARE) * now + _VOTE_SHARE * again


@compiled(FAST)
def give_way(outputs, weights, tally, mixture):  # type: ignore[no-untyped-def]
    """Let probabilities agree with the vote, where votes have been right more often."""
    if weights.hits[0] <= weights.hits[1]:
        return
    voted = count_votes(outputs, weights, tally)
    likely = int(np.argmax(mixture))
    if voted != likely:
        mixture[voted] = mixture[likely] + _AHEAD
        total = mixture.sum()
        for k in range(mixture.size):
            mixture[k] /= total
