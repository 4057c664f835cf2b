"""Newton's steps to the optimum of a few rows, from near it, with a set of rows at their kinks.

The problem is that of `solvers.sifting` for rows that are kept, with W̃ = Σ z_i x̃_i of all others:

    min ½ θᵀHθ − W̃ᵀθ + Σ u_i ℓ(r_i)           r = s x̃·θ + p

with ℓ the hinge max(0, −r), rounded off where |r| < μ. Its dual variables are 0, u_i or, at the
kink, a_i = u_i (½ − r_i/2μ). If it were known which rows are at their kinks, F, and which of the
others have a = u, θ would be the solution of one linear system

    (H + Σ_F σ_i x̃_i x̃_iᵀ) Δ = W̃ + Σ a_i s_i x̃_i − Hθ           σ_i = u_i/2μ

So they are guessed, the system is solved, and rows that contradict the guess are guessed anew:
those of F whose a is out of its bounds go to that bound, and those beside it whose r passes the end
of the kink come into F. (They do not go over to the other bound at once, which is where steps that
judge rows by r alone go too far.) With no contradiction the guess was right. μ shrinks whenever few
rows contradict, down to a share of tol: a point that is optimal with μ has a KKT gap of 2μ at the
most. Before the last μ the matrix may be rounded.

Each step takes the matrix of F alone, which interior points need of all rows. Where F has fewer
rows than there are columns, it is their kernel matrix: with H the identity but for the bias β,
which has no penalty, and t_i = σ_i x̃_iᵀΔ,

    (X_F X_Fᵀ + diag(1/σ)) t = X_F g + β 1        Σ t = g_b        Δ = (g − X_Fᵀ t, β)

for a right-hand side (g, g_b) above. That steps come to an
end is not certain: with bounds that are large beside ‖x‖², and an F that has lost more rows than
there are columns, guesses swing to and fro. Where more rows contradict than before, μ goes back and
shrinks by less. If that is no help, or steps become too many, the rows are left to interior points,
which always get there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property
from lindero.solvers.interior_point import GatheredGram, scaled_cholesky, scaled_solve
from lindero.solvers.solution import Limits

#: Steps at the most.
_MOST_STEPS = 60

#: Guesses swing where this many times as many rows contradict as before, with the same μ.
_SWING = 1.5

#: μ shrinks by this factor, or by its root and so on up to another where guesses swing, and does so
#: where no more than this share of F contradicts.
_SHRINK, _MOST_SHRINK, _FEW = 0.3, 0.8, 0.1

#: The matrix of F is taken between its rows where there are this many times as many columns.
_MANY_COLUMNS = 1.5


@dataclass
class Guess:
    """Which rows are at their kinks, and which of the others have a = u; of shape (sides, rows)."""

    inside: Array
    full: Array

    @classmethod
    def at(cls, r: Array, mu: float) -> Guess:
        return cls(np.abs(r) < mu, r <= -mu)

    def revise(self, a: Array, r: Array, u: Array, mu: float) -> int:
        """Rows that contradict are guessed anew; how many did. `a` is what rows inside would
        have."""
        under, over = self.inside & (a < 0.0), self.inside & (a > u)
        enters = ~self.inside & np.where(self.full, r > -mu, r < mu)
        self.full = (self.full | over) & ~enters
        self.inside = (self.inside & ~under & ~over) | enters
        return int(under.sum() + over.sum() + enters.sum())


@dataclass
class RowsToSettle:
    """Rows as a float64 array with a last column of ones, and s, p and u of shape (sides, rows);
    `pull` is W̃, `penalty` the diagonal of H: ones, and zero for the bias."""

    rows: Array
    s: Array
    p: Array
    u: Array
    pull: Array
    penalty: Array
    n_iter: int = 0

    @cached_property
    def longest(self) -> float:
        """The largest ‖x̃‖²."""
        return float(np.einsum("ij,ij->i", self.rows, self.rows).max(initial=0.0))

    @np.errstate(over="ignore", invalid="ignore")
    def settle(
        self, theta: Array, mu: float, goal: float, guess: Guess, limits: Limits
    ) -> Array | None:
        """θ at the optimum with μ = goal, from this one with a larger μ, and the guess that is
        right there; None if steps do not come to it."""
        r, before, shrink = self.reach(theta), np.inf, _SHRINK
        last = theta, r, mu, guess.inside, guess.full
        for _ in range(limits.steps_left(0, _MOST_STEPS)):
            if limits.stopped or limits.expired:
                return None
            self.n_iter += 1
            try:
                theta = theta + self._find_move(theta, r, mu, guess, exact=mu <= goal)
            except np.linalg.LinAlgError:
                return None
            r = self.reach(theta)
            if not np.isfinite(r).all():
                return None
            n_changed = guess.revise(self.bounded(r, mu), r, self.u, mu)
            few = _FEW * np.count_nonzero(guess.inside)
            if n_changed == 0 and mu <= goal:
                return theta
            if n_changed > _SWING * before:
                shrink = np.sqrt(shrink)
                theta, r, mu, guess.inside, guess.full = last
                if shrink > _MOST_SHRINK or mu <= goal:
                    return None
                mu, before = max(goal, shrink * mu), np.inf
            elif n_changed <= few and mu > goal:
                last = theta, r, mu, guess.inside, guess.full
                mu, before = max(goal, shrink * mu), np.inf
            else:
                before = max(n_changed, few)
        return None

    def reach(self, theta: Array) -> Array:
        """r at θ."""
        return np.asarray(self.s * (self.rows @ theta) + self.p)

    def bounded(self, r: Array, mu: float) -> Array:
        """What a is at the kink, and beyond its bounds where the row is not."""
        return np.asarray(self.u * (0.5 - r / (2.0 * mu)))

    def _find_move(self, theta: Array, r: Array, mu: float, guess: Guess, exact: bool) -> Array:
        a = np.where(guess.inside, self.bounded(r, mu), np.where(guess.full, self.u, 0.0))
        slope = self.pull + (self.s * a).sum(axis=0) @ self.rows - self.penalty * theta
        sigma = np.where(guess.inside, self.u / (2.0 * mu), 0.0).sum(axis=0)
        chosen = np.flatnonzero(sigma)
        if 0 < _MANY_COLUMNS * len(chosen) <= len(theta):
            return solve_for_few(self.rows[chosen, :-1], sigma[chosen], slope)
        matrix = np.zeros((len(theta), len(theta)))
        gram = GatheredGram(matrix, np.inf if exact else self.longest)
        gram.add(self.rows[chosen, :-1], sigma[chosen], 1.0)
        gram.flush()
        return scaled_solve(scaled_cholesky(matrix, self.penalty), slope)


def solve_for_few(rows: Array, sigma: Array, slope: Array) -> Array:
    """Δ of the system above by the kernel matrix of F, whose rows these are."""
    matrix = rows @ rows.T
    matrix.flat[:: len(matrix) + 1] += 1.0 / sigma
    factor, failed = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("The rows at their kinks are dependent.")
    sides = np.stack([rows @ slope[:-1], np.ones(len(rows))], axis=1)
    first, second = lapack.dpotrs(factor, sides, lower=1)[0].T
    bias = (slope[-1] - first.sum()) / second.sum()
    t = first + bias * second
    return np.append(slope[:-1] - t @ rows, bias)
