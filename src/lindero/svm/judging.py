"""From judgements of single problems to the certificate of a fit."""

from __future__ import annotations

from collections.abc import Sequence

from lindero.kernels.functions import Array
from lindero.problems.dual_qp import DualQP, Judgement
from lindero.solvers.solution import Certificate, Solution


def certificate_of(solved: Sequence[tuple[DualQP, Solution]], seconds: float) -> Certificate:
    """What the problems of a fit say of their solutions, from the solvers' final states."""
    parts = [
        Certificate.of(
            problem.judge(solution.a, solution.f, solution.bias),
            solution.n_iter,
            solution.seconds,
            solution.status.value,
        )
        for problem, solution in solved
    ]
    return Certificate.joined(parts, seconds)


def verdict(judgement: Judgement, a: Array, tol: float) -> str:
    """A judgement from scratch, in words."""
    if judgement.infeasibility > 1e-6 * max(1.0, float(a.max(initial=0.0))):
        found = "the coefficients break a constraint."
    elif judgement.kkt_gap > tol:
        found = "the KKT gap is above tol (are these the rows, labels and weights given to fit?)."
    else:
        found = "the KKT gap is within tol."
    return "Recomputed in double precision: " + found
