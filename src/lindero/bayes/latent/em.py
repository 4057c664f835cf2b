"""EM from several starts, and the number of clusters by BIC.

    BIC(K) = L(θ_K) − (log N / 2) · d_K,     d_K = free parameters of K clusters,  N = all weight

with L and J as in `mixture`. Of several starts the one of largest J is kept. Clusters are numbered
by their weight, the largest first.

**Starts.** Rows are assigned to a few of them that are far apart. The first of K rows is drawn by
weight, each further one by weight times its distance from the nearest of those before (k-means++).
Every row then goes to the nearest of the K, in equal parts where several are equally near. With
numbers in units of their columns, the distance of two rows is

    Σ_numbers min(½ (x − x')², 4) + Σ_categories 1[x ≠ x'],

taken over the columns that neither has missing, and scaled up to all columns. Rows are drawn in an
order that only their values decide, so that neither the order of the rows nor whether a row is
given twice or with a weight of 2 makes a difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from lindero.bayes.latent.mixture import Expectation, LatentRows, Mixture
from lindero.errors import warn_user
from lindero.runtime.arrays import Array

#: No number is farther from another than this.
_FARTHEST = 4.0

#: The logarithm of the share that a row has in clusters that are not its nearest.
_LITTLE = -50.0

#: Multipliers that mix bits (splitmix64).
_MIX = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)

#: A start is better than another by more than this share of the objective, or else the same.
_SAME = 1e-9


class ClusteringOutcome(Enum):
    """Why clustering ended. The value is the sentence shown to the user, some with a limit."""

    CONVERGED = "Converged: a further iteration would improve the objective by less than tol."
    SETTLED = "Converged: no row changes its cluster."
    NO_GAIN = "Converged: learning from the classified rows does not raise the objective."
    ITERATION_LIMIT = (
        "Stopped after {limit} iterations, the most that max_iter allows; the objective was still "
        "improving. Raise max_iter, or tol."
    )
    ROUND_LIMIT = (
        "Stopped after {limit} rounds, the most that are allowed; rows were still changing "
        "clusters. A larger penalty holds them where EM had them."
    )
    CALLBACK = "Stopped by the callback, with the best clusters so far."

    @property
    def is_converged(self) -> bool:
        """Whether clustering ended by itself."""
        return self.name in ("CONVERGED", "SETTLED", "NO_GAIN")


@dataclass(frozen=True)
class ClusteringProgress:
    """How far clustering is, handed to the callback after each iteration.

    Attributes
    ----------
    n_clusters : int
        How many clusters are being tried.
    start, n_starts : int
        Which start it is, counted from 0, and how many there are for each number of clusters.
    n_iter : int
        Iterations of EM from this start; rounds of the method "tm" after EM.
    objective : float
        What is being maximised, as it is now.
    stage : {"em", "tm"}
        Which of the two is running.
    seconds : float
        Time since clustering began.
    n_passes : int
        The former name of `n_iter`; it warns.
    """

    n_clusters: int
    start: int
    n_starts: int
    n_iter: int
    objective: float
    stage: str
    seconds: float

    @property
    def n_passes(self) -> int:
        """The former name of `n_iter`."""
        warn_user("ClusteringProgress.n_passes is now called n_iter.", FutureWarning)
        return self.n_iter


#: Called with each report; returning True ends clustering with the best so far.
ClusteringCallback = Callable[[ClusteringProgress], bool | None]


@dataclass
class ClusteringReports:
    """Reports to the callback, and remembers whether it asked to stop."""

    callback: ClusteringCallback | None
    n_starts: int
    n_clusters: int = 1
    start: int = 0
    stopped: bool = False
    _begun: float = field(default_factory=time.perf_counter)

    def report(self, n_iter: int, objective: float, stage: str) -> bool:
        """Call the callback; whether to stop."""
        if self.callback is not None and not self.stopped:
            progress = ClusteringProgress(
                self.n_clusters, self.start, self.n_starts, n_iter, objective, stage,
                time.perf_counter() - self._begun,
            )  # fmt: skip
            self.stopped = bool(self.callback(progress))
        return self.stopped


# -- starts ---------------------------------------------------------------------------------------


class Starts:
    """Draws rows to begin from, in the order of their values. Numbers are in the units of the
    table, where equal ones are equal to the last bit."""

    def __init__(self, rows: LatentRows, numbers: Array) -> None:
        self.rows = rows
        keys = hash_rows(rows.codes, numbers)
        self._order = np.argsort(keys, kind="stable")
        ranked = keys[self._order]
        self.n_distinct = 1 + int(np.count_nonzero(ranked[1:] != ranked[:-1]))

    def draw_log_shares(self, n_clusters: int, random: np.random.Generator) -> Array:
        """A start, for `LatentRows.share_out`."""
        n_rows = self.rows.n_rows
        distances = np.empty((n_rows, n_clusters))
        nearest = np.full(n_rows, np.inf)
        mass = self.rows.row_weights
        for z in range(n_clusters):
            distances[:, z] = self._measure_distances(self._draw(mass, random))
            np.minimum(nearest, distances[:, z], out=nearest)
            if nearest.max() > 0.0:
                mass = self.rows.row_weights * nearest
        # Distances that differ by rounding only are the same.
        near = distances <= nearest[:, None] + 1e-9
        return np.where(near, 0.0, _LITTLE)

    def _draw(self, mass: Array, random: np.random.Generator) -> int:
        below = np.cumsum(mass[self._order])
        place = int(np.searchsorted(below, random.random() * below[-1], side="right"))
        return int(self._order[min(place, len(below) - 1)])

    def _measure_distances(self, row: int) -> Array:
        """Distances of all rows from one."""
        codes, numbers = self.rows.codes, self.rows.gaussian.numbers
        total, shared = np.zeros(self.rows.n_rows), np.zeros(self.rows.n_rows)
        for column in codes:
            if column[row] != 0:
                seen = column != 0
                total += seen & (column != column[row])
                shared += seen
        for column in numbers:
            if not np.isnan(column[row]):
                away = np.fmin(0.5 * (column - column[row]) ** 2, _FARTHEST)
                seen = ~np.isnan(column)
                total += np.where(seen, away, 0.0)
                shared += seen
        scale = (len(codes) + len(numbers)) / np.maximum(shared, 1.0)
        distances: Array = total * scale
        return distances


def hash_rows(codes: Array, numbers: Array) -> Array:
    """A number for each row: the same for equal rows, and almost surely not for others."""
    keys = np.full(codes.shape[1], 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in codes:
        keys = _mix(keys ^ column.astype(np.uint64))
    for column in numbers:
        plain = np.where(np.isnan(column), np.nan, column + 0.0)  # one NaN, and no −0
        keys = _mix(keys ^ plain.view(np.uint64))
    return keys


def _mix(keys: Array) -> Array:
    for multiplier, shift in zip(_MIX, (30, 27), strict=True):
        keys = (keys ^ (keys >> np.uint64(shift))) * multiplier
    mixed: Array = keys ^ (keys >> np.uint64(31))
    return mixed


# -- EM -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LatentFit:
    """Clusters that EM found."""

    mixture: Mixture
    made_of: Expectation  # what they were estimated from
    log_likelihood: float  # L, in the units of the table
    trace: tuple[float, ...]  # J after each iteration; it never falls
    outcome: ClusteringOutcome

    def beats(self, other: LatentFit) -> bool:
        """Whether this one is better by more than rounding."""
        best = other.trace[-1]
        return self.trace[-1] > best + _SAME * abs(best)

    def bic(self, rows: LatentRows) -> float:
        """L less what its parameters cost."""
        n_clusters = len(self.mixture.weights)
        price = 0.5 * np.log(max(rows.total_weight, 1.0))
        return float(self.log_likelihood - price * rows.count_parameters(n_clusters))


def fit_mixtures(
    starts: Starts,
    numbers_of_clusters: Iterable[int],
    seed: int,
    max_iter: int,
    tol: float,
    reports: ClusteringReports,
) -> dict[int, LatentFit]:
    """Run EM for each number of clusters, from several starts, until the callback stops it.

    No number of clusters is larger than that of different rows. Each number of clusters and each
    start has random numbers of its own. EM ends after `max_iter` iterations, or when one improves J
    by less than `tol` for each row.
    """
    fits: dict[int, LatentFit] = {}
    with starts.rows.threads.keep():
        for n_clusters in numbers_of_clusters:
            reports.n_clusters = n_clusters
            for start in range(reports.n_starts if n_clusters > 1 else 1):
                reports.start = start
                random = np.random.default_rng([seed, n_clusters, start])
                found = _run_em(starts, n_clusters, random, max_iter, tol, reports)
                if n_clusters not in fits or found.beats(fits[n_clusters]):
                    fits[n_clusters] = found
                if reports.stopped:
                    return fits
    return fits


def _run_em(
    starts: Starts, n_clusters: int, random: np.random.Generator, max_iter: int, tol: float,
    reports: ClusteringReports,
) -> LatentFit:  # fmt: skip
    """EM from one start."""
    rows = starts.rows
    made_of = rows.share_out(starts.draw_log_shares(n_clusters, random))
    mixture = rows.estimate(made_of)
    found = rows.expect(mixture)
    trace = [found.objective]
    outcome = ClusteringOutcome.ITERATION_LIMIT
    while True:
        if reports.report(len(trace), trace[-1], "em"):
            outcome = ClusteringOutcome.CALLBACK
            break
        if n_clusters == 1 or (len(trace) > 1 and trace[-1] - trace[-2] < tol * rows.total_weight):
            outcome = ClusteringOutcome.CONVERGED
            break
        if len(trace) >= max_iter:
            break
        made_of, mixture = found, rows.estimate(found)
        found = rows.expect(mixture)
        trace.append(found.objective)
    order = np.argsort(-mixture.weights, kind="stable")
    mixture, made_of = mixture.reorder(order), made_of.reorder(order)
    return LatentFit(mixture, made_of, found.log_likelihood, tuple(trace), outcome)
