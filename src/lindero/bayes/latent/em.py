"""EM from several starts, and the number of clusters by BIC.

    BIC(K) = L(θ_K) − (log N / 2) · d_K,     d_K = free parameters of K clusters,  N = all weight

with L and J as in `latent_rows`. Of several starts the one of largest J is kept. Clusters are
numbered by their weight, the largest first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from lindero.bayes.latent.latent_rows import Expectation, LatentRows, Mixture
from lindero.bayes.latent.starts import Starts

CONVERGED = "Converged: a further pass would improve the objective by less than tol."
NO_MORE_PASSES = (
    "Stopped after {passes} passes, the most that were allowed; the objective was still improving. "
    "Raise max_iter, or tol."
)
CALLBACK = "Stopped by the callback, with the best clusters so far."

#: A start is better than another by more than this share of the objective, or else the same.
_SAME = 1e-9


@dataclass(frozen=True)
class ClusteringProgress:
    """How far clustering is, handed to the callback after each pass over the rows.

    Attributes
    ----------
    n_clusters : int
        How many clusters are being tried.
    start, n_starts : int
        Which start it is, counted from 0, and how many there are for each number of clusters.
    n_passes : int
        Passes from this start; rounds, of the method "tm" after EM.
    objective : float
        What is being maximised, as it is now.
    stage : {"em", "tm"}
        Which of the two is at work.
    seconds : float
        Time since clustering was begun.
    """

    n_clusters: int
    start: int
    n_starts: int
    n_passes: int
    objective: float
    stage: str
    seconds: float


#: Called with each report; returning True ends clustering with the best so far.
ClusteringCallback = Callable[[ClusteringProgress], bool | None]


@dataclass
class Reports:
    """What the callback is told, and whether it has asked to stop."""

    callback: ClusteringCallback | None
    n_starts: int
    n_clusters: int = 1
    start: int = 0
    stopped: bool = False
    _begun: float = field(default_factory=time.perf_counter)

    def tell(self, n_passes: int, objective: float, stage: str) -> bool:
        """Whether to stop."""
        if self.callback is not None and not self.stopped:
            report = ClusteringProgress(
                self.n_clusters, self.start, self.n_starts, n_passes, objective, stage,
                time.perf_counter() - self._begun,
            )  # fmt: skip
            self.stopped = bool(self.callback(report))
        return self.stopped


@dataclass(frozen=True, eq=False)
class LatentFit:
    """Clusters that EM found.

    Attributes
    ----------
    mixture : Mixture
        The clusters.
    made_of : Expectation
        The counts and sums that they were estimated from.
    log_likelihood : float
        L, in the units of the table.
    trace : tuple of float
        J after each pass; it never falls.
    status : str
        Why EM ended, in a sentence.
    """

    mixture: Mixture
    made_of: Expectation
    log_likelihood: float
    trace: tuple[float, ...]
    status: str

    def beats(self, other: LatentFit) -> bool:
        """Whether this one is better by more than rounding."""
        best = other.trace[-1]
        return self.trace[-1] > best + _SAME * abs(best)

    def bic(self, rows: LatentRows) -> float:
        """L less what its parameters cost."""
        n_clusters = len(self.mixture.weights)
        price = 0.5 * np.log(max(rows.total_weight, 1.0))
        return float(self.log_likelihood - price * rows.n_parameters(n_clusters))


def best_of_starts(
    starts: Starts,
    numbers_of_clusters: Iterable[int],
    seed: int,
    max_iter: int,
    tol: float,
    reports: Reports,
) -> dict[int, LatentFit]:
    """For each number of clusters, the best of several starts; fewer where the callback stops it.

    Parameters
    ----------
    starts : Starts
        The rows.
    numbers_of_clusters : iterable of int
        None of them larger than the number of different rows.
    seed : int
        Of the random numbers; each number of clusters and each start has its own.
    max_iter : int
        Most passes from each start.
    tol : float
        EM ends when a pass improves J by less than this for each row.
    reports : Reports
        Is told of every pass.
    """
    fits: dict[int, LatentFit] = {}
    with starts.rows.threads():
        for n_clusters in numbers_of_clusters:
            reports.n_clusters = n_clusters
            for start in range(reports.n_starts if n_clusters > 1 else 1):
                reports.start = start
                random = np.random.default_rng([seed, n_clusters, start])
                found = _climbed(starts, n_clusters, random, max_iter, tol, reports)
                if n_clusters not in fits or found.beats(fits[n_clusters]):
                    fits[n_clusters] = found
                if reports.stopped:
                    return fits
    return fits


def _climbed(
    starts: Starts, n_clusters: int, random: np.random.Generator, max_iter: int, tol: float,
    reports: Reports,
) -> LatentFit:  # fmt: skip
    """EM from one start."""
    rows = starts.rows
    made_of = rows.shared_out(starts.log_shares(n_clusters, random))
    mixture = rows.estimate(made_of)
    found = rows.expect(mixture)
    trace = [found.objective]
    status = NO_MORE_PASSES.format(passes=max_iter)
    while True:
        if reports.tell(len(trace), trace[-1], "em"):
            status = CALLBACK
            break
        if n_clusters == 1 or (len(trace) > 1 and trace[-1] - trace[-2] < tol * rows.total_weight):
            status = CONVERGED
            break
        if len(trace) >= max_iter:
            break
        made_of, mixture = found, rows.estimate(found)
        found = rows.expect(mixture)
        trace.append(found.objective)
    order = np.argsort(-mixture.weights, kind="stable")
    mixture, made_of = mixture.reordered(order), made_of.reordered(order)
    return LatentFit(mixture, made_of, found.log_likelihood, tuple(trace), status)
