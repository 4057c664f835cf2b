"""From rows to clusters: EM, the number of clusters, TM; and what sets clusters apart.

**TM without classes.** TM moves counts towards those of the data, N ← N + λ (N⁰ − E_θ[N | x])
(`discriminative.tm`). Where no class was seen, N⁰ must come from the model. If every row counts for
each cluster with its posterior probability, then N⁰ = E_θ[N | x]: nothing moves, and every model is
a fixed point, those of EM among them. So TM needs rows that belong to one cluster, ẑ. With θ̂ the
estimate of EM, fixed, it maximises

    J(θ, ẑ) = Σ_rows w log P(ẑ | x; θ) − D(θ; θ̂)

over both, alternately:

    classify   ẑ ← argmax_z P(z | x; θ)
    learn      θ ← argmax J(·, ẑ), from θ̂ on

D ≥ 0 is the penalty of conditional learning, which pulls tables and normals towards θ̂, and is zero
there. It is to classification EM what conditional learning is to the generative estimate:
boundaries between clusters count, not how well their rows are described.

J never falls. θ̂ does not change, so that classifying changes the first term only, and makes
each row's part as large as it can be. What is learned is taken only if J is no less with it than
with the parameters before. J ≤ 0, and there are finitely many ẑ; so the rounds come to an end, when
rows stay in their clusters.

The penalty must be above 0. The model that put rows into clusters tells these apart without
error: without D the supremum is 0, approached as parameters grow, and every P(z | x) becomes 0 or
1. The penalty ρ is relative to the rows, so that more of the same rows make no difference: D has
ρ W / K pseudo-counts for every value, or rows for every column of numbers, of each of K clusters.

**Description.** A column sets cluster z apart as far as its distribution there differs from that in
all rows, by the Kullback–Leibler divergence

    categories   Σ_x P(x | z) log P(x | z) / P(x)
    numbers      log s / s_z + (s_z² + (m_z − m)²) / 2 s² − ½,

P(x), m and s being those of the whole column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.discriminative.learning import compute_log_posteriors, learn_discriminatively
from lindero.bayes.latent.em import (
    ClusteringOutcome,
    ClusteringReports,
    LatentFit,
    Starts,
    fit_mixtures,
)
from lindero.bayes.latent.mixture import LatentRows, Mixture
from lindero.bayes.networks.network import Network
from lindero.errors import warn_user
from lindero.runtime.arrays import Array

#: Rounds of learning and classifying.
_MOST_ROUNDS = 50

#: Iterations of each round's learning, and its tolerance.
_MAX_ITER, _TOLERANCE = 500, 1e-7

#: Values of a category that are named.
_VALUES = 2

#: Divergences below this are not worth a word.
_LEAST = 0.01


@dataclass(frozen=True, eq=False)
class FoundClusters:
    """Clusters, and how they were found."""

    network: Network
    mean: Array  # (n_numbers, K), in the units of the table
    sd: Array
    bic: dict[int, float]  # of EM's estimate, for each number of clusters tried
    trace: tuple[float, ...]  # the objective of the method, after each iteration or round
    n_iter: int  # of EM, from the start that was kept
    status: str  # why it ended, in a sentence


def find_clusters(
    rows: LatentRows,
    numbers: Array,
    n_clusters: int | str,
    max_clusters: int,
    *,
    penalty: float | None,
    seed: int,
    max_iter: int,
    tol: float,
    reports: ClusteringReports,
) -> FoundClusters:
    """Run EM for each number of clusters, keep that of the largest BIC, and go on with TM unless
    `penalty` is None. Warns of a method that did not converge.

    `numbers` (n_numbers, n_rows) are those of the rows, in the units of the table. Of `n_clusters`,
    "bic" tries 1 to `max_clusters`.
    """
    starts = Starts(rows, numbers)
    if n_clusters == "bic":
        to_try = range(1, min(max_clusters, starts.n_distinct) + 1)
    else:
        wanted = _limit_number(int(n_clusters), rows.n_rows, starts.n_distinct)
        to_try = range(wanted, wanted + 1)
    fits = fit_mixtures(starts, to_try, seed, max_iter, tol, reports)
    bic = {k: fit.bic(rows) for k, fit in fits.items()}
    em = fits[max(bic, key=bic.__getitem__)]
    outcome = ClusteringOutcome.CALLBACK if reports.stopped else em.outcome
    status = _conclude(outcome, max_iter)
    n_iter, weights = len(em.trace), em.mixture.weights
    if penalty is None or reports.stopped or len(weights) == 1:
        network = rows.to_families(em.made_of).estimate(rows.alpha, weights)
        return FoundClusters(network, *rows.normals(em.mixture), bic, em.trace, n_iter, status)
    model, trace, outcome = separate_clusters(rows, em, numbers, penalty, reports)
    status = _conclude(outcome, _MOST_ROUNDS)
    return FoundClusters(*model, bic, trace, n_iter, status)


def _limit_number(n_clusters: int, n_rows: int, n_distinct: int) -> int:
    """How many clusters there can be; warns if these are fewer than asked for."""
    if n_clusters > n_rows:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the n_samples={n_rows} rows of X that have "
            "weight: ask for fewer clusters, or for n_clusters='bic'."
        )
    if n_clusters > n_distinct:
        warn_user(
            f"X has only {n_distinct} different rows: that many clusters are made, not "
            f"n_clusters={n_clusters}.",
            ConvergenceWarning,
        )
    return min(n_clusters, n_distinct)


def _conclude(outcome: ClusteringOutcome, limit: int) -> str:
    """The sentence of an outcome; warns of one that is not convergence."""
    status = outcome.value.format(limit=limit)
    if not outcome.is_converged:
        warn_user(status, ConvergenceWarning)
    return status


def separate_clusters(
    rows: LatentRows, em: LatentFit, numbers: Array, penalty: float, reports: ClusteringReports
) -> tuple[tuple[Network, Array, Array], tuple[float, ...], ClusteringOutcome]:
    """From the estimate of EM to the clusters of largest J: tables, means and standard deviations;
    J before each round and at the end; and why it ended. `penalty` is ρ, above 0."""
    mixture, families = em.mixture, rows.to_families(em.made_of)
    moments = _make_moments(rows, mixture, em.made_of.sums[0], numbers)
    model = families.estimate(rows.alpha, mixture.weights), *rows.normals(mixture)
    logs = compute_log_posteriors(*model, rows.codes, numbers)
    w, every = rows.row_weights, np.arange(rows.n_rows)
    y = logs.argmax(axis=1)
    trace, outcome = [float(w @ logs[every, y])], ClusteringOutcome.ROUND_LIMIT
    for n_rounds in range(_MOST_ROUNDS):
        if reports.report(n_rounds, trace[-1], "tm"):
            outcome = ClusteringOutcome.CALLBACK
            break
        fit = learn_discriminatively(
            families,
            rows.codes,
            y,
            rows.weights,
            numbers=None if moments is None else numbers,
            moments=moments,
            alpha=rows.alpha,
            prior=mixture.weights,
            penalty=penalty * rows.total_weight / len(mixture.weights),
            max_iter=_MAX_ITER,
            tolerance=_TOLERANCE,
        )
        reached = fit.trace[-1]
        if not reached.objective >= trace[-1]:
            outcome = ClusteringOutcome.NO_GAIN
            break
        model = fit.network, fit.mean, fit.sd
        logs = compute_log_posteriors(*model, rows.codes, numbers)
        before, y = y, logs.argmax(axis=1)
        drawn_back = reached.objective - reached.log_likelihood
        trace.append(float(w @ logs[every, y]) + drawn_back)
        if np.array_equal(before, y):
            outcome = ClusteringOutcome.SETTLED
            break
    return model, tuple(trace), outcome


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


def describe_clusters(
    attributes: Attributes,
    network: Network,
    normals: tuple[Array, Array],
    values: Sequence[Array],
    whole: Moments,
    most: int,
) -> str:
    """Describe what sets each cluster apart, a paragraph for each, naming `most` columns.

    `normals` are means and standard deviations of the Gaussian columns, (n_gaussian, K), and
    `whole` their moments in all rows, as one class; `values` are, of each coded attribute, the
    weight of each value in all rows.
    """
    paragraphs = []
    for z in range(network.n_classes):
        columns = [
            _describe_category(title, names, np.exp(table[:, z]), counts)
            for title, names, table, counts in zip(
                attributes.titles, attributes.values(), network.log_tables, values, strict=True
            )
        ]
        mean, sd = whole.normals()
        columns += [
            _describe_number(
                attributes.schema.title(int(column)), normals[0][j, z], normals[1][j, z],
                mean[j, 0], sd[j, 0],
            )
            for j, column in enumerate(attributes.gaussian_columns)
        ]  # fmt: skip
        apart = sorted((one for one in columns if one[0] > _LEAST), key=lambda one: -one[0])
        share = f"Cluster {z}, {np.exp(network.log_prior[z]):.1%} of the rows"
        lines = [f"  {words}" for _, words in apart[:most]] or ["  like all rows"]
        paragraphs += [f"{share}:", *lines]
    return "\n".join(paragraphs)


def _describe_category(
    title: str, names: list[Any], shares: Array, counts: Array
) -> tuple[float, str]:
    """How far a column of categories sets a cluster apart, and how."""
    total = float(counts.sum())
    if not total > 0:
        return 0.0, ""
    among_all = counts / total
    seen = (among_all > 0) & (shares > 0)
    terms = np.zeros(len(shares))
    terms[seen] = shares[seen] * np.log(shares[seen] / among_all[seen])
    largest = np.argsort(-np.abs(shares - among_all), kind="stable")[:_VALUES]
    words = ", ".join(f"{names[v]} {shares[v]:.0%} (all rows {among_all[v]:.0%})" for v in largest)
    return float(terms.sum()), f"{title}: {words}"


def _describe_number(
    title: str, mean: float, sd: float, of_all: float, spread: float
) -> tuple[float, str]:
    """How far a column of numbers sets a cluster apart, and how."""
    wide, away = sd / spread, (mean - of_all) / spread
    apart = 0.5 * (wide**2 + away**2 - 1.0) - np.log(wide)
    words = f"{title}: {mean:.4g} ± {sd:.2g} (all rows {of_all:.4g} ± {spread:.2g})"
    return float(apart), words
