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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from lindero.errors import SolverError
from lindero.kernels.blocks import kernel_product
from lindero.kernels.functions import Array
from lindero.kernels.operator import KernelOperator
from lindero.kernels.threads import TileThreads

#: Share of its upper bound by which a coefficient may miss it, and share of the largest
#: coefficient below which one is nothing.
_ROUNDING = 1e-12
_NOTHING = 1e-15


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

    @property
    def n_variables(self) -> int:
        return len(self.p)

    @cached_property
    def q(self) -> Array:
        return self.s * self.p

    @cached_property
    def lower(self) -> Array:
        return np.where(self.s > 0, 0.0, -self.u)

    @cached_property
    def upper(self) -> Array:
        return np.where(self.s > 0, self.u, 0.0)

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
        v = self.scores(f)
        free = (a > 0) & (a < self.u)
        if free.any():
            return -float(v[free].mean())
        least, most = extremes(v, self.s * a, self.lower, self.upper)
        finite = [x for x in (least, most) if np.isfinite(x)]
        return -float(np.mean(finite)) if finite else 0.0

    def snapped(self, a: Array) -> Array:
        """`a` with coefficients within rounding of a bound put exactly on it."""
        a = np.where(a <= _NOTHING * a.max(initial=0.0), 0.0, a)
        return np.where(a >= (1.0 - _ROUNDING) * self.u, self.u, a)

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
            if total >= abs(excess) * (1.0 - _ROUNDING):
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
        z = self.s * a
        v = self.scores(f)
        least, most = extremes(v, self.s * a, self.lower, self.upper)
        quadratic = float(self.at_samples(z) @ f)
        box = max(0.0, -float(a.min(initial=0.0)), float((a - self.u).max(initial=0.0)))
        return Judgement(
            kkt_gap=gap_between(least, most),
            primal=self._primal(quadratic, v, bias),
            dual=-0.5 * quadratic - float(self.q @ z),
            infeasibility=max(box, abs(float(z.sum()) - self.delta)),
        )

    def _primal(self, quadratic: float, v: Array, bias: float) -> float:
        reach = self.s * (v - self.q + bias)
        bounds, scale = self.u, 1.0
        hard = np.isinf(bounds)
        if hard.any():
            unmet = hard & (reach < -self.p)
            if (reach[unmet] <= 0).any():
                return float("inf")
            scale = float(np.max(-self.p[unmet] / reach[unmet], initial=1.0))
            bounds = np.where(hard, 0.0, bounds)
        losses = np.maximum(0.0, -(scale * reach + self.p))
        return 0.5 * scale**2 * quadratic + scale * bias * self.delta + float(bounds @ losses)


@njit(cache=True, nogil=True)
def gap_between(least, most):  # type: ignore[no-untyped-def]
    """The KKT gap; infinite where values are not numbers, so that no comparison takes it for 0."""
    gap = most - least
    if np.isnan(gap):
        return np.inf
    return max(0.0, gap)


@njit(cache=True, nogil=True, boundscheck=False)
def extremes(v, z, lower, upper):  # type: ignore[no-untyped-def]
    """The least v that can rise and the largest that can fall: their difference is the gap."""
    least, most = np.inf, -np.inf
    for i in range(z.size):
        if np.isnan(v[i]):
            return np.nan, np.nan
        if z[i] < upper[i] and v[i] < least:
            least = v[i]
        if z[i] > lower[i] and v[i] > most:
            most = v[i]
    return least, most
