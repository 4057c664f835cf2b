"""Structural TM: arcs are added one by one, each the one that raises the score most.

In every round the candidates are ranked by what they promise (`screening`), and the exact score is
taken of the first few, all parameters being learned anew. The best of these is added if it raises
the score. If none does, the next few are scored, and so on: the structure that the search ends with
is one that no single arc improves. Without screening all are scored in every round. An arc that
could not pay for its parameters even if all classes were certain, log P(y | x) = 0, needs no score.
Of scores that differ by no more than rounding, the candidate first in order is taken: the result is
the same whatever is computed where.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from lindero.bayes.structural.arcs import Arc, Structure
from lindero.bayes.structural.exact_scores import Scored, SearchRows, empty, extended, network_of
from lindero.bayes.structural.screening import promised_gain
from lindero.runtime.arrays import Array

#: Scores that differ by less than this, relative to their size, are the same.
_SAME = 1e-6

#: Passes that parameters of a candidate may take, and the relative improvement that ends them.
MAX_PASSES = 500
TOLERANCE = 1e-7


@dataclass(frozen=True)
class Round:
    """What a round of the search came to.

    Attributes
    ----------
    arc : Arc or None
        What was added; None for the structure without arcs.
    score : float
        Of the structure with it.
    log_likelihood : float
        Its conditional log-likelihood.
    n_parameters : int
        Parameters of P(c | x).
    n_candidates, n_scored : int
        Arcs that could be added, and those whose exact score was taken.
    """

    arc: Arc | None
    score: float
    log_likelihood: float
    n_parameters: int
    n_candidates: int
    n_scored: int


def grown(
    rows: SearchRows,
    *,
    max_parents: int,
    score: str,
    screening: int | None,
    max_arcs: int | None,
    n_jobs: int | None,
    told: Callable[[Round], bool | None],
) -> tuple[Structure, list[Round]]:
    """The structure that greedy search ends with, and all rounds.

    Parameters
    ----------
    rows : SearchRows
        Rows to learn from.
    max_parents : int
        Most attributes that are parents of an attribute.
    score : str
        One of `exact_scores.SCORES`.
    screening : int or None
        How many candidates are scored before the others; None is all.
    max_arcs : int or None
        Most arcs.
    n_jobs : int or None
        Processes, as joblib counts them.
    told : callable
        Called with every round; ends the search by answering True.
    """
    now = empty(rows, score, MAX_PASSES, TOLERANCE)
    rounds = [_round(None, now, rows, 0, 0)]
    ended = told(rounds[0])
    with Parallel(n_jobs=n_jobs) as parallel:
        while not ended and (max_arcs is None or len(rounds) <= max_arcs):
            arcs = list(now.structure.candidates(rows.cards, max_parents))
            best, n_scored = _best(now, arcs, rows, score, screening, parallel)
            if best is None:
                break
            arc, now = best
            rounds.append(_round(arc, now, rows, len(arcs), n_scored))
            ended = told(rounds[-1])
    return now.structure, rounds


def _round(arc: Arc | None, found: Scored, rows: SearchRows, n_arcs: int, n_scored: int) -> Round:
    d = found.structure.n_parameters(rows.cards, rows.n_classes)
    return Round(arc, found.score, found.log_likelihood, d, n_arcs, n_scored)


def _best(
    now: Scored,
    arcs: list[Arc],
    rows: SearchRows,
    score: str,
    screening: int | None,
    parallel: Parallel,
) -> tuple[tuple[Arc, Scored] | None, int]:
    """The arc that raises the score most, or None; and how many were scored."""
    if score == "bicd":
        arcs = [arc for arc in arcs if -_price(now, arc, rows) > now.score]
    if screening is None or screening >= len(arcs):
        return _best_of(now, arcs, rows, score, parallel), len(arcs)
    ranked = _ranked(now, arcs, rows)
    for first in range(0, len(arcs), screening):
        some = ranked[first : first + screening]
        best = _best_of(now, [arc for arc in arcs if arc in some], rows, score, parallel)
        if best is not None:
            break
    return best, min(first + screening, len(arcs))


def _best_of(
    now: Scored, arcs: list[Arc], rows: SearchRows, score: str, parallel: Parallel
) -> tuple[Arc, Scored] | None:
    found = parallel(
        delayed(extended)(now, arc, rows, score, MAX_PASSES, TOLERANCE) for arc in arcs
    )
    best: tuple[Arc, Scored] | None = None
    least = now.score
    for arc, scored in zip(arcs, found, strict=True):
        if scored.score > least + _SAME * max(1.0, abs(least)):
            best, least = (arc, scored), scored.score
    return best


def _ranked(now: Scored, arcs: list[Arc], rows: SearchRows) -> list[Arc]:
    """Candidates by what they promise after their parameters are paid for, the first the most."""
    posterior = _posterior(now, rows)
    promised = [
        promised_gain(rows, posterior, now.structure, arc) - _price(now, arc, rows) for arc in arcs
    ]
    return [arcs[k] for k in np.argsort(-np.array(promised), kind="stable")]


def _price(now: Scored, arc: Arc, rows: SearchRows) -> float:
    """What BICd takes off for the parameters of the structure with an arc."""
    d = now.structure.with_arc(arc).n_parameters(rows.cards, rows.n_classes)
    return 0.5 * float(np.log(rows.total_weight)) * d


def _posterior(now: Scored, rows: SearchRows) -> Array:
    codes = np.ascontiguousarray(rows.codes[list(now.structure.members)])
    joint: Array = network_of(now, rows).log_joint(codes)
    joint -= joint.max(axis=1, keepdims=True)
    np.exp(joint, out=joint)
    joint /= joint.sum(axis=1, keepdims=True)
    return joint
