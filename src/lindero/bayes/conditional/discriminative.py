"""Discriminative parameters: the network of a graph that predicts the class of its rows best.

Generative parameters make the rows as a whole most probable, discriminative ones their classes
given the attributes. The objective stands in `conditional`; there are two ways up:

    "tm"            moves counts (`tm`): each step is a set of consistent counts
    "accelerated"   in fewer passes where steps are many

Both begin at the generative estimate, and for naive Bayes and trees without missing values and
without a penalty they end in the same network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lindero.bayes.columns.moments import Moments
from lindero.bayes.conditional.accelerated import climbed
from lindero.bayes.conditional.conditional import ConditionalRows
from lindero.bayes.conditional.conditional_problem import (
    CONVERGED,
    STOPPED_EARLY,
    Pass,
    Problem,
    Watch,
)
from lindero.bayes.conditional.early_stopping import EarlyStopping
from lindero.bayes.conditional.family_cells import FamilyCells
from lindero.bayes.conditional.input_margins import joint_counts, with_margins
from lindero.bayes.conditional.tm import Way, moved_counts
from lindero.bayes.conditional.unseen_parents import (
    counts_with_unseen,
    network_with_unseen,
    without_unseen,
)
from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.runtime.arrays import Array

SOLVERS: dict[str, Callable[[Problem, int, float, Watch | None], Way]] = {
    "tm": moved_counts,
    "accelerated": climbed,
}


#: How sentences begin that tell of an end as it should be.
_CAME_TO_REST = (CONVERGED, STOPPED_EARLY.split(":")[0])


@dataclass(frozen=True, eq=False)
class ConditionalFit:
    """What discriminative learning found.

    Attributes
    ----------
    network : Network
        Graph and tables.
    mean, sd : arrays of shape (n_numbers, K)
        Normals of the columns of numbers.
    families : FamilyCounts
        The moved counts, pseudo-counts included: they give the network with ``alpha=0``.
    trace : tuple of Pass
        Conditional log-likelihood, objective and step from the generative estimate on.
    n_passes : int
        Passes over the rows.
    status : str
        Why learning ended, in a sentence.
    is_global : bool
        Whether this is the optimum, and the only one.
    is_converged : bool
        Whether learning came to rest at a maximum, or was stopped early.
    """

    network: Network
    mean: Array
    sd: Array
    families: FamilyCounts
    trace: tuple[Pass, ...]
    n_passes: int
    status: str
    is_global: bool
    is_converged: bool


def conditionally_learned(
    families: FamilyCounts,
    codes: Array,
    y: Array,
    weights: Array | None = None,
    *,
    numbers: Array | None = None,
    moments: Moments | None = None,
    alpha: float = 1.0,
    prior: Array | None = None,
    penalty: float = 0.0,
    solver: str = "accelerated",
    max_passes: int = 1000,
    tolerance: float = 1e-8,
    stopping: EarlyStopping | None = None,
    n_threads: int | None = None,
) -> ConditionalFit:
    """Learn the parameters of a graph for the prediction of the class.

    Parameters
    ----------
    families : FamilyCounts
        The graph, and counts for the generative estimate.
    codes : integer array of shape (n_attributes, n_rows)
        0 missing, 1…r values.
    y : integer array of shape (n_rows,)
        Classes 0…K−1.
    weights : array of shape (n_rows,), optional
        How often each row counts.
    numbers : array of shape (n_numbers, n_rows), optional
        Columns with normal densities, NaN missing.
    moments : Moments, optional
        Of `numbers`; made here if not given.
    alpha : float
        Pseudo-counts of the generative estimate, above 0.
    prior : array of shape (K,), optional
        Probabilities of the classes to begin with, in place of their shares.
    penalty : float
        Pseudo-counts of every value, shared out as the generative estimate is (`penalty`); 0 is
        none.
    solver : {"accelerated", "tm"}
        The way up.
    max_passes : int
        Most passes over the rows.
    tolerance : float
        Relative improvement of the objective by a pass below which learning ends.
    stopping : EarlyStopping, optional
        Ends learning by the log-loss of other rows; the best parameters are returned.
    n_threads : int, optional
        Threads over rows; None takes all that are allowed. The result is always the same.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver is {solver!r}; there are {sorted(SOLVERS)}.")
    if max_passes < 2:
        raise ValueError(f"max_passes is {max_passes}: learning takes two passes at least.")
    whole, families = families, without_unseen(families)
    n_classes = len(families.of_class)
    cells = FamilyCells(families.parents, families.with_class, families.cards, n_classes)
    rows = ConditionalRows(cells, codes, y, weights, numbers, n_threads)
    if moments is None and numbers is not None:
        moments = Moments.of(np.ascontiguousarray(numbers), y, n_classes, weights)
    problem = Problem.of(rows, families, alpha, moments, prior, penalty)
    if stopping is not None:
        start = problem.parameters(problem.counts, problem.sums)
        stopping(problem.network(start), *rows.gaussian.outwards(start.mean, start.sd))
    way = SOLVERS[solver](problem, max_passes, tolerance, stopping)
    network = problem.network(way.parameters)
    mean, sd = rows.gaussian.outwards(way.parameters.mean, way.parameters.sd)
    counts, status, trace = way.counts, way.status, way.trace
    if stopping is not None and stopping.best is not None:
        network, mean, sd = stopping.best
        _, logs = FamilyCells.of_network(network)
        if problem.is_free:
            logs = with_margins(cells, logs, problem.counts.sum(axis=1))
            network = problem.network(replace(way.parameters, logs=logs))
        counts = joint_counts(cells, logs, rows.total_weight, problem.counts)
        if status is None or stopping.best_pass < len(trace) - 1:
            status = STOPPED_EARLY.format(best=stopping.best_pass)
        trace = trace[: stopping.best_pass + 1]
    moved = replace(families, of_class=counts[-1].copy(), tables=cells.tables(counts))
    status = status or ""
    return ConditionalFit(
        network_with_unseen(network, whole), mean, sd, counts_with_unseen(moved, whole), trace,
        way.n_passes, status, problem.is_free and status.startswith(CONVERGED),
        status.startswith(_CAME_TO_REST),
    )  # fmt: skip
