"""The loop over rows of a stream: scaled, predicted by every expert, weighed, and learned.

All that changes with a row changes here, in compiled code and in the order of the rows: batches of
any size leave the same numbers behind, and an interrupt comes before a batch or after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindero.kernels.features import KernelFeatures, compute_features, measure_missing
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FAST, compiled
from lindero.solvers.coupled.filter import (
    FilterBank,
    FirstOrderBank,
    find_output,
    step_filter,
    step_first_order,
)
from lindero.svm.adaptive.experts import (
    SHARE,
    ExpertWeights,
    give_way,
    read_densities,
    read_outputs,
    weigh_experts,
    weigh_votes,
)
from lindero.svm.adaptive.running_scale import RunningScale, learn_scale, scale_row, scale_value

#: A target of a regression is cut off so many deviations from the mean.
_MOST_TARGET = 20.0

#: Columns that are not scaled are cut off here.
_MOST_SEEN = 1e6

#: How much longer or shorter than usual a gap of time counts as, at most.
_LEAST_GAP, _MOST_GAP = 1e-3, 1e3


class StreamState(NamedTuple):
    """All that is known of a stream. `options` are whether rows are scaled, ε of the tube on the
    scale of targets (negative for classes), the number of classes, and the mean share of the kernel
    that features miss, now and of the rows that landmarks were drawn from. `recent` (R, columns)
    are the last rows, scaled, where landmarks of R features may be drawn from them. `clock` has the
    time of the last row, the usual gap between two, and whether gaps count. Filters are in the
    order first-order, plain, curved."""

    scale: RunningScale
    target_scale: RunningScale
    features: KernelFeatures
    recent: Array
    first: FirstOrderBank
    plain: FilterBank
    curved: FilterBank
    experts: ExpertWeights
    options: Array
    clock: Array

    def copy(self) -> StreamState:
        copied: list[Any] = [part.copy() for part in self]
        return StreamState(*copied)

    @property
    def n_columns(self) -> int:
        return int(self.scale.means.size)

    @property
    def n_machines(self) -> int:
        return int(self.first.means.shape[0])


@compiled(FAST)
def see_row(row, state, seen, products):  # type: ignore[no-untyped-def]
    """What hyperplanes see of a row: its columns, one, and features."""
    d = row.size
    if state.options[0] > 0.0:
        scale_row(row, state.scale, seen)
    else:
        for j in range(d):
            seen[j] = min(max(row[j], -_MOST_SEEN), _MOST_SEEN) if row[j] == row[j] else 0.0
    seen[d] = 1.0
    if seen.size > d + 1:
        compute_features(seen[:d], state.features, seen[d + 1 :], products)


@compiled(FAST)
def find_outputs(seen, state, outputs):  # type: ignore[no-untyped-def]
    """Outputs of all filters, (machines, filters)."""
    first, plain, curved = state.first, state.plain, state.curved
    n_first, n_plain = first.means.shape[1], plain.means.shape[1]
    for machine in range(outputs.shape[0]):
        for e in range(n_first):
            outputs[machine, e] = find_output(first.means[machine, e], seen)
        for e in range(n_plain):
            if plain.awake[e]:
                outputs[machine, n_first + e] = find_output(plain.means[machine, e], seen)
        for e in range(curved.means.shape[1]):
            if curved.awake[e]:
                outputs[machine, n_first + n_plain + e] = find_output(
                    curved.means[machine, e], seen
                )


@compiled(FAST)
def begin_slow_again(state):  # type: ignore[no-untyped-def]
    """Let slow filters go on from where the leading one of their kind is."""
    experts, n_first, n_plain = (
        state.experts,
        state.first.means.shape[1],
        state.plain.means.shape[1],
    )
    begin_bank_again(state.plain, experts, n_first)
    begin_bank_again(state.curved, experts, n_first + n_plain)
    total = 0.0
    for e in range(experts.slow.shape[0]):
        for r in range(experts.slow.shape[1]):
            experts.slow[e, r] = experts.first[e, r] if experts.is_slow[e] else 0.0
            total += experts.slow[e, r]
    for e in range(experts.slow.shape[0]):
        for r in range(experts.slow.shape[1]):
            experts.slow[e, r] /= total


@compiled(FAST)
def begin_bank_again(bank, experts, start):  # type: ignore[no-untyped-def]
    """The same within one bank, whose filters are `start` and following among the experts."""
    n_filters = bank.means.shape[1]
    leader, most = -1, -1.0
    for e in range(n_filters):
        weight = 0.0
        for r in range(experts.now.shape[1]):
            weight += experts.now[start + e, r]
        if bank.awake[e] and weight > most:
            leader, most = e, weight
    if leader < 0 or experts.is_slow[start + leader]:
        return
    for e in range(n_filters):
        if experts.is_slow[start + e]:
            for machine in range(bank.means.shape[0]):
                bank.means[machine, e] = bank.means[machine, leader]
                bank.spreads[machine, e] = bank.spreads[machine, leader]


@compiled(FAST)
def measure_gap(time, clock):  # type: ignore[no-untyped-def]
    """How much longer than usual it is since the row before; 1 where time does not count."""
    last, usual = clock[0], clock[1]
    clock[0] = time
    if clock[2] == 0.0:
        return 1.0
    gap = time - last if last > -np.inf else 0.0
    if gap > 0.0:
        usual = gap if usual == 0.0 else usual + 0.01 * (min(gap, 10.0 * usual) - usual)
    clock[1] = usual
    return min(max(gap / usual, _LEAST_GAP), _MOST_GAP) if usual > 0.0 else 1.0


@compiled(FAST)
def learn_rows(  # type: ignore[no-untyped-def]
    rows, targets, factors, times, state, losses
):
    """Learn rows in their order, which is that of `times`. `targets` are numbers of classes, or
    numbers; `factors` weights of rows. Into `losses` goes −log p of the mixture for each row,
    before it was learned. Of rows of weight zero only the columns' scale is learned."""
    experts, first, plain, curved = state.experts, state.first, state.plain, state.curved
    n_machines, d = first.means.shape[0], rows.shape[1]
    n_first, n_plain, n_curved = first.means.shape[1], plain.means.shape[1], curved.means.shape[1]
    width = max(d + 1, curved.means.shape[2]) if n_curved > 0 else d + 1
    n_filters, n_readings = experts.now.shape
    n_classes = int(state.options[2])
    seen, products = np.zeros(width), np.zeros(width)
    outputs = np.zeros((n_machines, n_filters))
    likelihoods = np.zeros((n_filters, n_readings, max(1, n_classes)))
    mixture, tally = np.zeros(max(1, n_classes)), np.zeros(max(1, n_classes))
    of_numbers, tube = experts.of_numbers[0], state.options[1]
    goal = np.zeros(1)
    for t in range(rows.shape[0]):
        row, at, gap = rows[t], experts.marks[0], measure_gap(times[t], state.clock)
        see_row(row, state, seen, products)
        find_outputs(seen, state, outputs)
        if of_numbers:
            scale = state.target_scale
            goal[0] = targets[t]
            z = goal[0]
            z = scale_value(z, scale.counts[0], scale.means[0], scale.squares[0])
            z = min(max(z, -_MOST_TARGET), _MOST_TARGET)
            read_densities(outputs, z, experts, likelihoods)
        else:
            z = targets[t]
            read_outputs(outputs, experts, likelihoods, mixture)
        if factors[t] > 0.0:
            label = 0 if of_numbers else int(z)
            if not of_numbers:
                weigh_votes(outputs, label, factors[t], mixture, experts, tally)
            if factors[t] < 1.0:
                for e in range(n_filters):
                    for r in range(n_readings):
                        likelihoods[e, r, label] **= factors[t]
            losses[t], changed = weigh_experts(likelihoods, label, SHARE, experts)
            if changed:
                begin_slow_again(state)
        else:
            losses[t] = 0.0
            experts.marks[0] += 1
        for machine in range(n_machines):
            sign = z
            if not of_numbers:
                positive = 1 if n_machines == 1 else machine
                sign = 1.0 if int(z) == positive else -1.0
            for e in range(n_first):
                step_first_order(
                    first.means[machine, e], seen[: d + 1], sign, factors[t], tube,
                    first.priors[e], first.draws[e], d,
                )  # fmt: skip
            for e in range(n_plain):
                if plain.awake[e]:
                    step_filter(
                        plain.means[machine, e], plain.spreads[machine, e], seen[: d + 1], sign,
                        factors[t], tube, gap * plain.moves[e], plain.strengths[e],
                        plain.priors[e], at, d, products,
                    )  # fmt: skip
            for e in range(n_curved):
                if curved.awake[e]:
                    step_filter(
                        curved.means[machine, e], curved.spreads[machine, e], seen, sign,
                        factors[t], tube, gap * curved.moves[e], curved.strengths[e],
                        curved.priors[e], at, d, products,
                    )  # fmt: skip
        if state.options[0] > 0.0:
            learn_scale(row, state.scale, at)
        if of_numbers and factors[t] > 0.0:
            learn_scale(goal, state.target_scale, at)
        if state.recent.shape[0] > 0:
            state.recent[at % state.recent.shape[0]] = seen[:d]
            missing = measure_missing(seen[:d], state.features, seen[d + 1 :])
            state.options[3] += 0.01 * (missing - state.options[3])


@compiled(FAST)
def predict_rows(rows, state, answers):  # type: ignore[no-untyped-def]
    """Probabilities of classes, (rows, classes), or numbers on the scale of targets, (rows, 1)."""
    experts, d = state.experts, rows.shape[1]
    n_filters, n_readings = experts.now.shape
    n_curved = state.curved.means.shape[1]
    width = max(d + 1, state.curved.means.shape[2]) if n_curved > 0 else d + 1
    seen, products = np.zeros(width), np.zeros(width)
    outputs = np.zeros((state.first.means.shape[0], n_filters))
    likelihoods = np.zeros((n_filters, n_readings, answers.shape[1]))
    tally = np.zeros(answers.shape[1])
    for t in range(rows.shape[0]):
        see_row(rows[t], state, seen, products)
        find_outputs(seen, state, outputs)
        if experts.of_numbers[0]:
            answers[t, 0] = 0.0
            for e in range(n_filters):
                for r in range(n_readings):
                    answers[t, 0] += experts.now[e, r] * outputs[0, e]
        else:
            read_outputs(outputs, experts, likelihoods, answers[t])
            give_way(outputs, experts, tally, answers[t])
