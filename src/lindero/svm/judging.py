"""From judgements of single problems to the certificate of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lindero.problems.dual_qp import DualQP, Judgement
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Certificate, Solution


def certificate_of(solved: Sequence[tuple[DualQP, Solution]], seconds: float) -> Certificate:
    """What the problems of a fit say of their solutions, from the solvers' final states."""
    parts = [
        Certificate.of(
            _judgement(problem, solution), solution.n_iter, solution.seconds, solution.status.value
        )
        for problem, solution in solved
    ]
    return Certificate.joined(parts, seconds)


def _judgement(problem: DualQP, solution: Solution) -> Judgement:
    """Of a problem that was never begun, and whose zeros are not feasible, the gap is not known."""
    judgement = problem.judge(solution.a, solution.f, solution.bias)
    if not problem.starts_at_zero and not solution.a.any():
        return replace(judgement, kkt_gap=float("inf"))
    return judgement


def verdict(judgement: Judgement, a: Array, tol: float) -> str:
    """A judgement from scratch, in words."""
    if judgement.infeasibility > 1e-6 * max(1.0, float(a.max(initial=0.0))):
        found = "the coefficients break a constraint."
    elif judgement.kkt_gap > tol:
        found = "the KKT gap is above tol (are these the rows, labels and weights given to fit?)."
    else:
        found = "the KKT gap is within tol."
    return "Recomputed in double precision: " + found
