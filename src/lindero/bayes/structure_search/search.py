"""Structural TM: arcs are added one by one, each the one that raises the criterion most.

In every round the candidates are ranked by an estimate of their gain, and the exact score is taken
of the first few, with all parameters learned anew. The best of these is added if it raises the
score. If none does, the next few are scored, and so on: the search ends with a structure that no
single arc improves. Without screening all are scored in every round. An arc that could not pay for
its parameters even if all classes were certain, log P(y | x) = 0, needs no score. Of scores that
differ by no more than rounding, the first candidate in order is taken: the result is the same
whatever is computed where.

**Criteria**, with parameters learned for prediction:

    bicd        Σ log P(y | x) − (log N / 2) d, of the training rows
    cll         mean log P(y | x) of held-out rows (five folds)
    accuracy    the share of held-out rows whose class is predicted

Parameters are those of largest conditional likelihood (without a penalty). Learning starts from
those of the structure before: a new arc's table says at first what the old one did, so that the
start has the likelihood that is to be improved. Only members of the structure matter, and equal
rows of the same class are merged. With BICd candidates are first learned roughly: only those that
may still be the best by then, with some allowance, are learned to the end.

What screening promises of a candidate is in `table`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from joblib import delayed
from sklearn.exceptions import ConvergenceWarning

from lindero.bayes.discriminative.cells import FamilyCells
from lindero.bayes.discriminative.lbfgs import run_lbfgs
from lindero.bayes.discriminative.logistic import absorb_normalisers
from lindero.bayes.discriminative.objective import ConditionalProblem, NetworkParameters
from lindero.bayes.networks.network import Network
from lindero.bayes.structure_search.structure import CLASS, Arc, GrowingStructure
from lindero.bayes.structure_search.table import SearchedRows, as_table
from lindero.errors import warn_user
from lindero.runtime.arrays import Array

CRITERIA = ("bicd", "cll", "accuracy")

#: Scores that differ by less than this, relative to their size, are the same.
_SAME = 1e-6

#: Iterations that parameters of a candidate may take, and the relative improvement that ends them.
_MAX_ITER = 500
_TOLERANCE = 1e-7

#: The same of a first look at a candidate, and what more it may reach, as shares of the objective.
_ROUGH_TOLERANCE = 1e-4
_ROUGH_ERROR = 1e-2

#: Seconds after which a search without a limit says that it takes long.
_LONG = 30.0

Item = TypeVar("Item")


# -- rows and scores ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoredStructure:
    """A structure, its score and the conditional log-likelihood, and weights to go on from."""

    structure: GrowingStructure
    score: float
    log_likelihood: float
    logs: Array


def score_empty(rows: SearchedRows, criterion: str) -> ScoredStructure:
    """Score the structure without arcs: P(c | x) is P(c)."""
    cells = FamilyCells((), (), np.empty(0, dtype=np.int64), rows.n_classes)
    return _score(GrowingStructure(), cells, None, rows, criterion)


def score_with_arc(
    before: ScoredStructure,
    arc: Arc,
    rows: SearchedRows,
    criterion: str,
    tolerance: float = _TOLERANCE,
) -> ScoredStructure:
    """Score the structure with one more arc."""
    structure = before.structure.add_arc(arc)
    cells = _lay_out_cells(structure, rows)
    old = _lay_out_cells(before.structure, rows)
    logs = np.zeros((cells.size, rows.n_classes))
    logs[-1] = before.logs[-1]
    for at in range(old.n_attributes):
        table = old.view_table(before.logs, at)
        if arc.parent != CLASS and structure.members[at] == arc.child:
            table = table[..., None, :]  # the same for all values of the new parent
        cells.view_table(logs, at)[...] = table
    return _score(structure, cells, logs, rows, criterion, tolerance)


def refine_score(found: ScoredStructure, rows: SearchedRows, criterion: str) -> ScoredStructure:
    """The same structure, its parameters learned to the end."""
    cells = _lay_out_cells(found.structure, rows)
    return _score(found.structure, cells, found.logs, rows, criterion)


def build_network(found: ScoredStructure, rows: SearchedRows) -> Network:
    """The network over the members, in their order, with the posterior that was learned."""
    return _lay_out_cells(found.structure, rows).to_network(found.logs)


def _lay_out_cells(structure: GrowingStructure, rows: SearchedRows) -> FamilyCells:
    members = list(structure.members)
    return FamilyCells(
        structure.index_parents(), (True,) * len(members), rows.cards[members], rows.n_classes
    )


def _score(
    structure: GrowingStructure,
    cells: FamilyCells,
    logs: Array | None,
    rows: SearchedRows,
    criterion: str,
    tolerance: float = _TOLERANCE,
) -> ScoredStructure:
    problem = as_table(rows).pose(cells, structure.members)
    likelihood, learned = _learn(cells, logs, problem, tolerance)
    if criterion == "bicd":
        score = likelihood - _compute_price(structure, rows)
    else:
        score = _score_held_out(structure, cells, rows, criterion)
    return ScoredStructure(structure, score, likelihood, learned)


def _compute_price(structure: GrowingStructure, rows: SearchedRows) -> float:
    """What BICd takes off for the parameters of a structure."""
    d = structure.count_parameters(rows.cards, rows.n_classes)
    return 0.5 * float(np.log(rows.total_weight)) * d


def _learn(
    cells: FamilyCells,
    logs: Array | None,
    problem: ConditionalProblem,
    tolerance: float = _TOLERANCE,
) -> tuple[float, Array]:
    """The largest conditional likelihood and its tables, from given or generative ones on."""
    start = problem.estimate(problem.counts, problem.sums)
    if logs is not None:
        logs = logs if problem.is_free else cells.normalise(logs)
        start = NetworkParameters(logs, start.mean, start.sd)
    run = run_lbfgs(problem, start, _MAX_ITER, tolerance)
    found = run.parameters.logs
    if problem.is_free:
        found = absorb_normalisers(cells, found)
    return run.trace[-1].log_likelihood, found


def _score_held_out(
    structure: GrowingStructure, cells: FamilyCells, rows: SearchedRows, criterion: str
) -> float:
    """The score of held-out rows; nor does learning start from parameters that saw them."""
    table, members, total = as_table(rows), structure.members, 0.0
    for fold in table.find_folds():
        _, learned = _learn(cells, None, table.pose(cells, members, fold))
        total += table.judge(cells.to_network(learned), members, fold, criterion)
    return total / table.total_weight


# -- search ---------------------------------------------------------------------------------------


class SearchClock:
    """The time that a search has taken, and may take: `limit` seconds, or any with None."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.has_cut = False  # whether something was left out for lack of time
        self._begun, self._thread = time.perf_counter(), threading.get_ident()
        self._has_warned = limit is not None

    def is_up(self) -> bool:
        """Whether time is up. A search without a limit that takes long says so, once."""
        seconds = time.perf_counter() - self._begun
        if self.limit is not None:
            return seconds >= self.limit
        # Others that ask, of pools, have no line of the user's to warn at.
        if seconds >= _LONG and not self._has_warned and threading.get_ident() == self._thread:
            self._has_warned = True
            warn_user(
                f"The search for arcs has taken {seconds:.0f} s and goes on. time_limit ends it "
                "with the best network so far; fewer arcs (max_arcs), fewer exact scores "
                "(screening) and fewer columns or values of columns make it shorter.",
                UserWarning,
            )
        return False

    def take(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, as long as there is time."""
        for item in items:
            if self.is_up():
                self.has_cut = True
                return
            yield item


@dataclass(frozen=True)
class SearchRound:
    """The result of one round of the search."""

    arc: Arc | None  # what was added; None for the structure without arcs
    score: float  # of the structure with it
    log_likelihood: float  # its conditional log-likelihood
    n_parameters: int  # parameters of P(c | x)
    n_candidates: int  # arcs that could be added
    n_scored: int  # those whose exact score was taken


def grow_structure(
    rows: SearchedRows,
    *,
    max_parents: int,
    criterion: str,
    screening: int | None,
    max_arcs: int | None,
    n_jobs: int | None,
    report: Callable[[SearchRound], bool | None],
    clock: SearchClock | None = None,
) -> tuple[GrowingStructure, list[SearchRound]]:
    """Search greedily for arcs; the structure at the end, and all rounds.

    `criterion` is one of `CRITERIA`. `screening` says how many candidates are scored at a time,
    None all of them. `report` is called with every round, and ends the search by answering True.
    When the time of `clock` is up, the best arc scored by then is the last, and a warning says so.
    """
    clock = clock or SearchClock(None)
    now = score_empty(rows, criterion)
    rounds = [_record(None, now, rows, 0, 0)]
    ended = report(rounds[0])
    with as_table(rows).open_pool(n_jobs) as parallel:
        while not ended and (max_arcs is None or len(rounds) <= max_arcs):
            arcs = list(now.structure.list_candidates(rows.cards, max_parents))
            best, n_scored = _find_best(now, arcs, rows, criterion, screening, parallel, clock)
            if best is None:
                break
            arc, now = best
            rounds.append(_record(arc, now, rows, len(arcs), n_scored))
            ended = report(rounds[-1]) or clock.has_cut
    if clock.has_cut:
        warn_user(
            f"The search for arcs was stopped after time_limit={clock.limit:g} s, with "
            f"{len(rounds) - 1} arcs; others may improve the network. Raise time_limit, or lower "
            "max_parents or screening, so that more arcs are added in the same time.",
            ConvergenceWarning,
        )
    return now.structure, rounds


def _record(
    arc: Arc | None, found: ScoredStructure, rows: SearchedRows, n_arcs: int, n_scored: int
) -> SearchRound:
    d = found.structure.count_parameters(rows.cards, rows.n_classes)
    return SearchRound(arc, found.score, found.log_likelihood, d, n_arcs, n_scored)


def _find_best(
    now: ScoredStructure,
    arcs: list[Arc],
    rows: SearchedRows,
    criterion: str,
    screening: int | None,
    parallel: Callable[..., list[Any]],
    clock: SearchClock,
) -> tuple[tuple[Arc, ScoredStructure] | None, int]:
    """The arc that raises the score most, or None; and how many were scored."""
    if criterion == "bicd":
        arcs = [
            arc for arc in arcs if -_compute_price(now.structure.add_arc(arc), rows) > now.score
        ]
    if screening is None or screening >= len(arcs):
        return _score_all(now, arcs, rows, criterion, parallel, clock)
    ranked, best, n_scored = _rank(now, arcs, rows, clock), None, 0
    for first in range(0, len(ranked), screening):
        some = ranked[first : first + screening]
        near = [arc for arc in arcs if arc in some]
        best, n_more = _score_all(now, near, rows, criterion, parallel, clock)
        n_scored += n_more
        if best is not None or clock.has_cut:
            break
    return best, n_scored


def _score_all(
    now: ScoredStructure,
    arcs: list[Arc],
    rows: SearchedRows,
    criterion: str,
    parallel: Callable[..., list[Any]],
    clock: SearchClock,
) -> tuple[tuple[Arc, ScoredStructure] | None, int]:
    """The best of some arcs, or None if none raises the score; and how many there was time for."""
    if criterion == "bicd":
        rough = parallel(
            delayed(score_with_arc)(now, arc, rows, criterion, _ROUGH_TOLERANCE)
            for arc in clock.take(arcs)
        )
        most = [one.score + _ROUGH_ERROR * max(1.0, abs(one.log_likelihood)) for one in rough]
        least = max([now.score, *(one.score for one in rough)])
        n_scored, near = len(rough), [k for k in range(len(rough)) if most[k] > least]
        arcs = [arcs[k] for k in near]
        found = parallel(delayed(refine_score)(rough[k], rows, criterion) for k in clock.take(near))
        # Rough scores are too low, if anything: without time for more they do.
        found += [rough[k] for k in near[len(found) :]]
    else:
        found = parallel(
            delayed(score_with_arc)(now, arc, rows, criterion) for arc in clock.take(arcs)
        )
        n_scored, arcs = len(found), arcs[: len(found)]
    best: tuple[Arc, ScoredStructure] | None = None
    least = now.score
    for arc, scored in zip(arcs, found, strict=True):
        if scored.score > least + _SAME * max(1.0, abs(least)):
            best, least = (arc, scored), scored.score
    return best, n_scored


def _rank(
    now: ScoredStructure, arcs: list[Arc], rows: SearchedRows, clock: SearchClock
) -> list[Arc]:
    """Candidates by what they promise after their parameters are paid for, the first the most."""
    network, structure = build_network(now, rows), now.structure
    gains = as_table(rows).promise(network, structure, clock.take(arcs))
    promised = [
        gain - _compute_price(structure.add_arc(arc), rows)
        for gain, arc in zip(gains, arcs, strict=False)
    ]
    return [arcs[k] for k in np.argsort(-np.array(promised), kind="stable")]
