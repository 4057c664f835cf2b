"""From rows to clusters: EM, the number of clusters, TM; and what sets clusters apart.

A column sets cluster z apart as far as its distribution there differs from that in all rows, by
the Kullback–Leibler divergence

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
from lindero.bayes.latent.em import ClusteringOutcome, ClusteringReports, Starts, fit_mixtures
from lindero.bayes.latent.mixture import LatentRows
from lindero.bayes.latent.tm import MOST_ROUNDS, separate_clusters
from lindero.bayes.networks.network import Network
from lindero.errors import warn_user
from lindero.runtime.arrays import Array

#: Values of a category that are named.
_VALUES = 2

#: Divergences below this are not worth a word.
_LEAST = 0.01


@dataclass(frozen=True, eq=False)
class FoundClusters:
    """Clusters, and how they were found.

    Attributes
    ----------
    network : Network
        Tables and weights of the clusters.
    mean, sd : arrays of shape (n_numbers, K)
        Normals, in the units of the table.
    bic : dict
        BIC of EM's estimate for each number of clusters that was tried.
    trace : tuple of float
        The objective of the method after each iteration or round.
    n_iter : int
        Iterations of EM, from the start that was kept.
    status : str
        Why it ended, in a sentence.
    """

    network: Network
    mean: Array
    sd: Array
    bic: dict[int, float]
    trace: tuple[float, ...]
    n_iter: int
    status: str


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
    """Run EM for each number of clusters, keep that of the largest BIC, and go on with TM.

    Warns of a method that did not converge.

    Parameters
    ----------
    rows : LatentRows
        The rows.
    numbers : array of shape (n_numbers, n_rows)
        Their numbers, in the units of the table.
    n_clusters : int or "bic"
        How many clusters; "bic" tries 1 to `max_clusters`.
    max_clusters : int
        Most clusters that "bic" tries.
    penalty : float or None
        Of TM, above 0; None is EM alone.
    seed, max_iter, tol, reports
        Of `fit_mixtures`.
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
        network = rows.to_families(em.made_of).network(rows.alpha, weights)
        return FoundClusters(network, *rows.normals(em.mixture), bic, em.trace, n_iter, status)
    tm = separate_clusters(rows, em, numbers, penalty, reports)
    status = _conclude(tm.outcome, MOST_ROUNDS)
    return FoundClusters(tm.network, tm.mean, tm.sd, bic, tm.trace, n_iter, status)


def _limit_number(n_clusters: int, n_rows: int, n_distinct: int) -> int:
    """How many clusters there can be; warns if these are fewer than asked for."""
    if n_clusters > n_rows:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the n_samples={n_rows} rows of X that have "
            "weight: ask for fewer clusters, or for n_clusters='bic'."
        )
    if n_clusters > n_distinct:
        warn_user(
            f"X has only {n_distinct} different rows, so that there are as many clusters and not "
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


def describe_clusters(
    attributes: Attributes,
    network: Network,
    normals: tuple[Array, Array],
    values: Sequence[Array],
    whole: Moments,
    most: int,
) -> str:
    """Describe what sets each cluster apart, a paragraph for each.

    Parameters
    ----------
    attributes : Attributes
        Names of columns and values.
    network : Network
        Tables of the clusters.
    normals : tuple of (mean, sd)
        Of the Gaussian columns, (n_gaussian, K).
    values : sequence of arrays
        Of each coded attribute, the weight of each value in all rows.
    whole : Moments
        Of the Gaussian columns in all rows, as one class.
    most : int
        Columns to name.
    """
    paragraphs = []
    for z in range(network.n_classes):
        told = [
            _describe_category(title, names, np.exp(table[:, z]), counts)
            for title, names, table, counts in zip(
                attributes.titles, attributes.values(), network.log_tables, values, strict=True
            )
        ]
        mean, sd = whole.normals()
        told += [
            _describe_number(
                attributes.schema.title(int(column)), normals[0][j, z], normals[1][j, z],
                mean[j, 0], sd[j, 0],
            )
            for j, column in enumerate(attributes.gaussian_columns)
        ]  # fmt: skip
        telling = sorted((one for one in told if one[0] > _LEAST), key=lambda one: -one[0])
        share = f"Cluster {z}, {np.exp(network.log_prior[z]):.1%} of the rows"
        lines = [f"  {words}" for _, words in telling[:most]]
        if not lines:
            lines = ["  like all rows"]
        paragraphs.append("\n".join([f"{share}:", *lines]))
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
