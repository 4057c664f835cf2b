"""The TM algorithm without classes: rows that are classified by the model itself.

TM moves counts towards those of the data, N ← N + λ (N⁰ − E_θ[N | x]) (`discriminative.tm`). Where
no class was seen, N⁰ must come from the model. If every row counts for each cluster with its
posterior probability, then N⁰ = E_θ[N | x]: nothing moves, and every model is a fixed point, those
of EM among them. So TM needs rows that belong to one cluster, ẑ. With θ̂ the estimate of EM, fixed,
it maximises

    J(θ, ẑ) = Σ_rows w log P(ẑ | x; θ) − D(θ; θ̂)

over both, alternately:

    classify   ẑ ← argmax_z P(z | x; θ)
    learn      θ ← argmax J(·, ẑ), from θ̂ on

D ≥ 0 is the penalty of conditional learning, which pulls tables and normals towards θ̂, and is zero
there. It is to classification EM what conditional learning is to the generative estimate:
boundaries between clusters count, not how well their rows are described.

**J never falls.** θ̂ does not change, so that classifying changes the first term only, and makes
each row's part as large as it can be. What is learned is taken only if J is no less with it than
with the parameters before. J ≤ 0, and there are finitely many ẑ; so the rounds come to an end, when
rows stay in their clusters.

**The penalty must be above 0.** The model that put rows into clusters tells these apart without
error: without D the supremum is 0, approached as parameters grow, and every P(z | x) becomes 0 or
1. The penalty ρ is relative to the rows, so that more of the same rows make no difference: D has
ρ W / K pseudo-counts for every value, or rows for every column of numbers, of each of K clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lindero.bayes.columns.moments import Moments, add_log_densities
from lindero.bayes.discriminative.learning import DiscriminativeFit, learn_discriminatively
from lindero.bayes.latent.em import ClusteringOutcome, ClusteringReports, LatentFit
from lindero.bayes.latent.mixture import LatentRows, Mixture
from lindero.bayes.networks.families import FamilyCounts
from lindero.bayes.networks.network import Network
from lindero.runtime.arrays import Array

#: Rounds of learning and classifying.
MOST_ROUNDS = 50

#: Iterations of each round's learning, and its tolerance.
_MAX_ITER = 500
_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class ClassifiedFit:
    """Clusters after TM.

    Attributes
    ----------
    network : Network
        Tables and weights of the clusters.
    mean, sd : arrays of shape (n_numbers, K)
        Normals, in the units of the table.
    trace : tuple of float
        J before each round, and at the end; it never falls.
    outcome : ClusteringOutcome
        Why it ended.
    """

    network: Network
    mean: Array
    sd: Array
    trace: tuple[float, ...]
    outcome: ClusteringOutcome


def separate_clusters(
    rows: LatentRows, em: LatentFit, numbers: Array, penalty: float, reports: ClusteringReports
) -> ClassifiedFit:
    """Find the clusters of largest J, from the estimate of EM on.

    Parameters
    ----------
    rows : LatentRows
        The rows.
    em : LatentFit
        What EM found.
    numbers : array of shape (n_numbers, n_rows)
        The numbers in the units of the table.
    penalty : float
        ρ, above 0.
    reports : ClusteringReports
        Gets a report of every round.
    """
    mixture, families = em.mixture, rows.to_families(em.made_of)
    moments = _make_moments(rows, mixture, em.made_of.sums[0], numbers)
    network = families.network(rows.alpha, mixture.weights)
    mean, sd = rows.normals(mixture)
    logs = _compute_log_posteriors(network, mean, sd, rows.codes, numbers)
    w, every = rows.row_weights, np.arange(rows.n_rows)
    y = logs.argmax(axis=1)
    trace, outcome = [float(w @ logs[every, y])], ClusteringOutcome.ROUND_LIMIT
    for n_rounds in range(MOST_ROUNDS):
        if reports.report(n_rounds, trace[-1], "tm"):
            outcome = ClusteringOutcome.CALLBACK
            break
        fit = _learn(rows, families, moments, numbers, y, mixture.weights, penalty)
        reached = fit.trace[-1]
        if not reached.objective >= trace[-1]:
            outcome = ClusteringOutcome.NO_GAIN
            break
        network, mean, sd = fit.network, fit.mean, fit.sd
        logs = _compute_log_posteriors(network, mean, sd, rows.codes, numbers)
        before, y = y, logs.argmax(axis=1)
        drawn_back = reached.objective - reached.log_likelihood
        trace.append(float(w @ logs[every, y]) + drawn_back)
        if np.array_equal(before, y):
            outcome = ClusteringOutcome.SETTLED
            break
    return ClassifiedFit(network, mean, sd, tuple(trace), outcome)


def _learn(
    rows: LatentRows, families: FamilyCounts, moments: Moments | None, numbers: Array, y: Array,
    prior: Array, penalty: float,
) -> DiscriminativeFit:  # fmt: skip
    """Parameters that tell the classes y apart, pulled towards EM's."""
    return learn_discriminatively(
        families,
        rows.codes,
        y,
        rows.weights,
        numbers=None if moments is None else numbers,
        moments=moments,
        alpha=rows.alpha,
        prior=prior,
        penalty=penalty * rows.total_weight / len(prior),
        max_iter=_MAX_ITER,
        tolerance=_TOLERANCE,
    )


def _make_moments(
    rows: LatentRows, mixture: Mixture, count: Array, numbers: Array
) -> Moments | None:
    """Moments whose normals are those of EM."""
    if not rows.n_numbers:
        return None
    mean, sd = rows.normals(mixture)
    # With fewer than two rows a class would take the variance of others.
    count = np.maximum(count, 2.0)
    largest = np.nanmax(np.abs(numbers), axis=1)
    return Moments(count, mean, sd**2 * (count - 1.0), largest)


def _compute_log_posteriors(
    network: Network, mean: Array, sd: Array, codes: Array, numbers: Array
) -> Array:
    """log P(z | x) of all rows."""
    joint = network.log_joint(codes)
    if len(numbers):
        add_log_densities(np.ascontiguousarray(numbers), mean, sd, joint)
    joint -= joint.max(axis=1, keepdims=True)
    joint -= np.log(np.exp(joint).sum(axis=1, keepdims=True))
    return joint
