"""The TM algorithm: discriminative parameters by moving counts.

D. Edwards and S. L. Lauritzen (2001). The TM algorithm for maximising a conditional likelihood
function. Biometrika 88(4), 961–972.

Maximises J, the conditional likelihood and its penalty (`objective`), over networks of a given
graph. With N the statistics (family counts; n, S₁ and S₂ of numbers), T those of the rows and of
the penalty, and E what the current parameters θ_r expect of them,

    N_{r+1} = N_r + λ (T − E_{θ_r}[N | x]),    θ_{r+1} = estimates of largest likelihood of N_{r+1},

from the generative counts on. Why that goes uphill: T − E is the derivative of J by log θ, and the
change of log P(x_i | pa_i, c) along the step is Δ(x_i, pa_i, c) / N(x_i, pa_i, c) less the same of
sums over x_i, so that J rises at the rate

    Σ_i Σ_{pa,c} [ Σ_x Δ² / N − (Σ_x Δ)² / Σ_x N ] + Σ_c Δ(c)² / N(c)   ≥ 0        (Cauchy, Schwarz)

whatever the graph. It is zero where Δ(c) = 0 and Δ(x_i, pa_i, c) = κ(pa_i, c) N(x_i, pa_i, c).

In complete rows, without a penalty, Δ sums to zero over the classes, so that N(x_i, pa_i) stays
what it is. In a graph that `logistic.is_global` all tables agree on what they share, as they do at
the start; the rate is then zero only where all Δ are, since from the class down the sums over x_i
are zero already. In other graphs, with missing values, and with a penalty, κ need not be zero at an
optimum: counts would go on moving without a change of any table. There Δ is taken without it,

    Δ(x_i, pa_i, c) − N(x_i, pa_i, c) Σ_x Δ(x, pa_i, c) / Σ_x N(x, pa_i, c),

at the same rate, and so with the sums of numbers; N(pa_i, c) stays in place of N(x_i, pa_i).

λ is 1, or 0.9 of the largest at which no count and no variance falls to zero, which has a closed
form, or four times the last λ. Where J then rises by less than a tenth of what its rate promises,
the next λ is at the top of the parabola through the known values. Learning ends when a whole step
at the rate above would improve J by less than the tolerance.

A value that never occurs with a class, where all other attributes speak for that class, has a count
that vanishes, by a factor of ten in each step; all steps would be as small as it allows. Changes of
less than 1e-12 of N(x_i, pa_i) are therefore left out, so that such a count stays where it is.
Where steps stay small for other reasons, counts that nearly vanish along other directions among
them, this method would creep: it ends, and `learning` goes on by `lbfgs`, which does not have this
limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lindero.bayes.discriminative.convergence import LearningEnd, LearningOutcome, LearningStep
from lindero.bayes.discriminative.gaussians import compute_normal_rate, find_largest_step
from lindero.bayes.discriminative.objective import ConditionalProblem, NetworkParameters, Watch
from lindero.runtime.arrays import Array

#: Share of the largest feasible step that is taken.
_SAFETY = 0.9

#: Share of the promised improvement that is enough, and most steps that are tried.
_ENOUGH, _MOST_TRIES = 0.1, 40

#: Rates below this share of the objective leave nothing to gain.
_LITTLE = 1e-6

#: Changes that are left out, relative to the count of all classes.
_NOTHING = 1e-12

#: Steps are stalled when this many in a row are smaller than this on average: far from the whole
#: steps that converge fast.
_STALLED_STEPS, _SMALL_STEP = 50, 0.25

_STALLED = LearningEnd.of(LearningOutcome.STALLED)


@dataclass(frozen=True, eq=False)
class LearningResult:
    """What a solver found."""

    parameters: NetworkParameters  # normalised
    trace: tuple[LearningStep, ...]  # the start, and every step that was taken
    n_iter: int  # evaluations of the objective, those of steps that were shortened included
    end: LearningEnd
    counts: Array | None = None  # of TM: family counts (size, K) at the end
    sums: Array | None = None  # of TM: sums of numbers (3, n_numbers, K)


def move_counts(
    problem: ConditionalProblem, max_iter: int, tolerance: float, watch: Watch | None = None
) -> LearningResult:
    """Move counts from the generative start to the optimum.

    Learning ends when a whole step promises to improve J by less than `tolerance`, as a share of J
    (or of 1); after `max_iter` evaluations of the objective; or when the watch, called after each
    step, answers True.
    """
    counts, sums = problem.counts, problem.sums
    parameters = problem.estimate(counts, sums)
    step = 1.0
    end: LearningEnd | None = None
    with problem.rows.threads.keep():
        now = problem.evaluate(parameters)
        trace, n_iter = [LearningStep(now.log_likelihood, now.objective, 0.0)], 1
        while n_iter < max_iter:
            change, of_sums = _compute_change(problem, counts, now.cells), now.moments
            if not problem.is_free:
                of_sums = of_sums - sums * (of_sums[0] / sums[0])
            change[np.abs(change) <= _NOTHING * counts.sum(axis=1, keepdims=True)] = 0.0
            rate = _compute_rate(problem, counts, change) + compute_normal_rate(sums, of_sums)
            if rate <= tolerance * max(1.0, abs(now.objective)):
                end = problem.describe_rest(parameters)
                break
            falls = change < 0
            first_zero = float((counts[falls] / -change[falls]).min(initial=np.inf))
            feasible = _SAFETY * min(first_zero, find_largest_step(sums, of_sums))
            step = min(1.0, 4.0 * step, feasible)
            for _ in range(_MOST_TRIES):
                tried = problem.estimate(counts + step * change, sums + step * of_sums)
                there = problem.evaluate(tried)
                n_iter += 1
                gain = there.objective - now.objective
                if gain >= _ENOUGH * step * rate or n_iter >= max_iter:
                    break
                top = 0.5 * step * rate / (step * rate - gain)
                step *= min(max(top, 0.05), 0.5)
            if not gain > 0:
                if n_iter < max_iter:  # rounding hides what is left to gain, little or much
                    little = rate <= _LITTLE * max(1.0, abs(now.objective))
                    end = problem.describe_rest(parameters) if little else _STALLED
                break
            counts, sums = counts + step * change, sums + step * of_sums
            parameters, now = tried, there
            trace.append(LearningStep(now.log_likelihood, now.objective, step))
            if watch is not None and problem.show(parameters, watch):
                end = LearningEnd.of(LearningOutcome.STOPPED_EARLY, best=len(trace) - 1)
                break
            last = [taken.step for taken in trace[1:][-_STALLED_STEPS:]]
            if len(last) == _STALLED_STEPS and sum(last) < _SMALL_STEP * len(last):
                end = _STALLED
                break
        if end is None:
            end = problem.describe_limit(parameters, max_iter)
    return LearningResult(parameters, tuple(trace), n_iter, end, counts, sums)


def _compute_rate(problem: ConditionalProblem, counts: Array, change: Array) -> float:
    """How fast J rises along a change of counts; see the module."""
    cells = problem.rows.cells
    rate = float((change[-1] ** 2 / counts[-1]).sum())
    for i, tells in enumerate(cells.with_class):
        table, of_counts = cells.view_seen(change, i), cells.view_seen(counts, i)
        if not tells:
            table, of_counts = (t.sum(axis=-1, keepdims=True) for t in (table, of_counts))
        if table.size:
            whole = table.sum(axis=0) ** 2 / of_counts.sum(axis=0)
            rate += float((table**2 / of_counts).sum() - whole.sum())
    return rate


def _compute_change(problem: ConditionalProblem, counts: Array, surplus: Array) -> Array:
    """How counts are to change: the surplus, or the part of it that changes tables.

    Families without the class know only sums over it; their change is shared out as counts are, so
    that none falls below zero before its sum does.
    """
    cells, change = problem.rows.cells, surplus.copy()
    if not problem.is_free:
        change[-1] -= counts[-1] * (change[-1].sum() / counts[-1].sum())
    for i, tells in enumerate(cells.with_class):
        table, of_counts = cells.view_seen(change, i), cells.view_seen(counts, i)
        if not table.size:
            continue
        if not tells:
            whole = of_counts.sum(axis=-1, keepdims=True)
            table[...] = table.sum(axis=-1, keepdims=True) * of_counts / whole
        if not problem.is_free:
            table -= of_counts * (table.sum(axis=0) / of_counts.sum(axis=0))
    return change
