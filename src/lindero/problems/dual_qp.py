"""The one convex problem behind every margin machine, and its judge.

    min_a  ½ aᵀQ a + pᵀa     s.t.  sᵀa = δ,   0 ≤ a ≤ u,      Q_ij = s_i s_j K_ij,  s_i = ±1

Several variables may belong to one sample (regression has two): `sample_of` maps variables to
samples, and K is a kernel over samples. In signed variables z = s∗a, q = s∗p this reads

    min_z  ½ zᵀK z + qᵀz     s.t.  Σz = δ,   lower ≤ z ≤ upper

and with v = K z + q the conditions for an optimum are: some bias b has v_i + b ≥ 0 wherever z_i
cannot fall and v_i + b ≤ 0 wherever z_i cannot rise. Hence

    KKT gap      max{v_i : z_i can fall} − min{v_i : z_i can rise}
    residual     r_i = s_i (v_i + b), the derivative of the Lagrangian
    primal       ½ zᵀKz + bδ + Σ u_i max(0, −r_i)         (hinge losses, for classification)
    dual         −½ zᵀKz − qᵀz                            (so that primal ≥ optimum ≥ dual)

The duality gap is Σ a_i r_i + u_i max(0, −r_i), a sum of non-negative terms. Where u_i is infinite
a violated constraint would cost an infinite primal; there the model is first scaled up by the least
t ≥ 1 that meets all of them.

Nothing here knows how a solution was found: the judge is not the player.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lindero.errors import SolverError
from lindero.kernels.blocks import kernel_product
from lindero.kernels.functions import Array
from lindero.kernels.operator import KernelOperator
from lindero.kernels.threads import TileThreads
from lindero.problems.conditions import ROUNDING, bias_at, judged, snapped


@dataclass(frozen=True)
class Judgement:
    """How far a point is from solving its problem."""

    kkt_gap: float
    primal: float
    dual: float
    infeasibility: float

    @property
    def duality_gap(self) -> float:
        return self.primal - self.dual


@dataclass(frozen=True)
class DualQP:
    """The problem above. `u` may hold infinities; `sample_of=None` is one variable a sample."""

    kernel: KernelOperator
    p: Array
    s: Array
    u: Array
    delta: float = 0.0
    sample_of: Array | None = None
    q: Array = field(init=False, repr=False)
    lower: Array = field(init=False, repr=False)
    upper: Array = field(init=False, repr=False)

    @property
    def n_variables(self) -> int:
        return len(self.p)

    def __post_init__(self) -> None:
        # Set once, not when first asked for: small problems are stated by the thousand.
        positive = self.s > 0
        object.__setattr__(self, "q", self.s * self.p)
        object.__setattr__(self, "lower", np.where(positive, 0.0, -self.u))
        object.__setattr__(self, "upper", np.where(positive, self.u, 0.0))

    def at_samples(self, z: Array) -> Array:
        """Signed variables summed over the samples they belong to."""
        if self.sample_of is None:
            return z
        return np.bincount(self.sample_of, weights=z, minlength=self.kernel.n_samples)

    def scores(self, f: Array) -> Array:
        """v = K z + q of each variable, from f = K z of each sample."""
        return (f if self.sample_of is None else f[self.sample_of]) + self.q

    def kernel_sums(self, a: Array, threads: TileThreads | None = None) -> Array:
        """f = K z from scratch, in float64."""
        exact = self.kernel.astype(np.float64)
        with threads or TileThreads() as active:
            return kernel_product(exact, self.at_samples(self.s * a), active)

    def bias(self, a: Array, f: Array) -> float:
        """−mean of v over the free variables; without any, the middle of what KKT leaves open."""
        return float(bias_at(self.scores(f), a, self.s, self.u))

    def snapped(self, a: Array) -> Array:
        """`a` with coefficients within rounding of a bound put exactly on it."""
        near: Array = snapped(a, self.u)
        return near

    def nearest_feasible(self, a: Array) -> Array | None:
        """`a` put into the box, then moved in proportion to its room until sᵀa = δ: coefficients
        strictly inside the box first, all of them if those do not suffice. None if none can."""
        a = np.clip(a, 0.0, self.u)
        excess = float(self.s @ a) - self.delta
        if excess == 0.0:
            return a
        falls = self.s * excess > 0
        # Room upwards is capped at something finite where u is not.
        room = np.where(falls, a, np.minimum(self.u - a, np.maximum(a, abs(excess))))
        inside = (a > 0) & (a < self.u)
        for movable in (room * inside, room):
            total = float(movable.sum())
            if total >= abs(excess) * (1.0 - ROUNDING):
                move = movable * min(1.0, abs(excess) / total)
                return self.snapped(np.clip(np.where(falls, a - move, a + move), 0.0, self.u))
        return None

    def start(self, near: Array | None) -> Array:
        """The feasible point near the one given, or near zero."""
        if near is None and self.delta == 0:
            return np.zeros(self.n_variables)
        a = self.nearest_feasible(np.zeros(self.n_variables) if near is None else near)
        if a is None:
            raise SolverError("No feasible point: sᵀa = δ cannot be met within 0 ≤ a ≤ u.")
        return a

    def judge(self, a: Array, f: Array | None = None, bias: float | None = None) -> Judgement:
        """Objective values, gaps and feasibility of `a`; f = K z is recomputed unless given."""
        if f is None:
            f = self.kernel_sums(a)
        if bias is None:
            bias = self.bias(a, f)
        quadratic = float(self.at_samples(self.s * a) @ f)
        v = self.scores(f)
        return Judgement(*judged(quadratic, v, a, self.s, self.p, self.u, self.delta, bias))
