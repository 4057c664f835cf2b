"""The one convex problem behind every margin machine, and its judge.

    min_a  ½ aᵀQ a + pᵀa     s.t.  sᵀa = δ,   0 ≤ a ≤ u,      Q_ij = s_i s_j K_ij,  s_i = ±1

Without a bias (`has_bias=False`) no sum is asked for: b = 0 in all of this, and the KKT gap is what
a v_i lacks of the conditions at most.

Several variables may belong to one sample (regression has two): `sample_of` maps variables to
samples, and K is a kernel over samples. In signed variables z = s∗a, q = s∗p this reads

    min_z  ½ zᵀK z + qᵀz     s.t.  Σz = δ,   lower ≤ z ≤ upper

and with v = K z + q the conditions for an optimum are: some bias b has v_i + b ≥ 0 wherever z_i
cannot fall and v_i + b ≤ 0 wherever z_i cannot rise. Hence

    KKT gap      max{v_i : z_i can fall} − min{v_i : z_i can rise}
    residual     r_i = s_i (v_i + b), the derivative of the Lagrangian
    primal       ½ zᵀKz + bδ + Σ u_i max(0, −r_i)         (hinge losses, for classification)
    dual         −½ zᵀKz − qᵀz                            (so that primal ≥ optimum ≥ dual)

ν-machines have a second equality. Theirs come as one sum for each sign: variables then lie in
consecutive groups, Σz = δ_g within each, and each group has its own bias and its own gap.

The duality gap is Σ a_i r_i + u_i max(0, −r_i), a sum of non-negative terms. Where u_i is infinite
a violated constraint would cost an infinite primal; there the model is first scaled up by the least
t ≥ 1 that meets all of them. A ridge on the diagonal of K stands for squared losses: u is infinite,
but a violation costs max(0, −r_i)² / (2 d_i), r without the ridge (see `problems.squared`).

Units. With K' = K/κ, u' = κu and δ' = κδ, z' = κz has the same v, so solvers may have kernel
values of any size they like (`in_units`). Objective values are then κ times as large.

Rounding. A kernel value is known to `kernel.error()`, so each v to Σ|z_j| times that. Where it is
not small beside what is asked, the gap is computed once more in extended precision; where that
cannot be done, the gap is only known to that accuracy, and the judgement says so.

Nothing here knows how a solution was found: the judge is not the player.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import isfinite
from typing import Any

import numpy as np

from lindero.errors import SolverError
from lindero.kernels.blocks import kernel_product
from lindero.kernels.operator import KernelOperator
from lindero.kernels.special import RidgedKernel, scale_kernel
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.runtime.threads import TileThreads

#: Share of its upper bound by which a coefficient may miss it, and share of the largest
#: coefficient below which one is nothing.
ROUNDING = 1e-12
NOTHING = 1e-15

#: The largest finite bound times kernel values, and the largest bound of all: beyond the first a
#: sum K z has no digit left of what it is compared with, beyond the second sums overflow.
_LARGEST_BOUND = 1e60
_LARGEST_COEFFICIENT = 1e280

#: The largest sum δ times kernel values: its square is finite.
_LARGEST_SUM = 1e153


@dataclass(frozen=True)
class Judgement:
    """How far a point is from solving its problem."""

    kkt_gap: float
    primal: float
    dual: float
    infeasibility: float
    #: What rounding of kernel values may add to the KKT gap, at the most.
    accuracy: float = 0.0

    @property
    def duality_gap(self) -> float:
        return self.primal - self.dual


@dataclass(frozen=True)
class DualQP:
    """The problem above. `u` may hold infinities; `sample_of=None` is one variable a sample;
    `group_sizes=None` is one group of all variables, else `delta` has one value for each group."""

    kernel: KernelOperator
    p: Array
    s: Array
    u: Array
    delta: Any = 0.0
    sample_of: Array | None = None
    group_sizes: tuple[int, ...] | None = None
    has_bias: bool = True
    q: Array = field(init=False, repr=False)
    lower: Array = field(init=False, repr=False)
    upper: Array = field(init=False, repr=False)
    starts_at_zero: bool = field(init=False, repr=False)

    @property
    def n_variables(self) -> int:
        return len(self.p)

    @property
    def n_groups(self) -> int:
        return 1 if self.group_sizes is None else len(self.group_sizes)

    @property
    def groups(self) -> list[tuple[slice, float]]:
        """The variables of each group, and what they sum to."""
        if self.group_sizes is None:
            return [(slice(None), float(self.delta))]
        ends = accumulate(self.group_sizes)
        return [
            (slice(end - size, end), float(delta))
            for size, end, delta in zip(self.group_sizes, ends, self.delta, strict=True)
        ]

    @property
    def group_of(self) -> Array:
        """The group of each variable."""
        if self.group_sizes is None:
            return np.zeros(self.n_variables, dtype=np.int64)
        return np.repeat(np.arange(len(self.group_sizes)), self.group_sizes)

    def __post_init__(self) -> None:
        # Set once, not when first asked for: small problems are stated by the thousand.
        positive = self.s > 0
        object.__setattr__(self, "q", self.s * self.p)
        object.__setattr__(self, "lower", np.where(positive, 0.0, -self.u))
        object.__setattr__(self, "upper", np.where(positive, self.u, 0.0))
        sums = (self.delta,) if self.group_sizes is None else self.delta
        object.__setattr__(self, "starts_at_zero", all(delta == 0.0 for delta in sums))

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

    def bias(self, a: Array, f: Array) -> Any:
        """−mean of v over the free variables; without any, the middle of what KKT leaves open.
        One number, or one for each group where there are several."""
        if not self.has_bias:
            return 0.0
        v = self.scores(f)
        if self.group_sizes is None:
            return float(bias_at(v, a, self.s, self.u))
        return np.array([bias_at(v[m], a[m], self.s[m], self.u[m]) for m, _ in self.groups])

    def snap(self, a: Array) -> Array:
        """Put coefficients within rounding of a bound exactly on it."""
        return np.asarray(snap_to_bounds(a, self.u))

    def nearest_feasible(self, a: Array) -> Array | None:
        """`a` put into the box, then moved until sᵀa = δ in each group; None if that cannot be."""
        a = np.clip(a, 0.0, self.u)
        if not self.has_bias:
            return self.snap(a)
        for members, delta in self.groups:
            moved = _balance(a[members], self.s[members], self.u[members], delta)
            if moved is None:
                return None
            a[members] = moved
        return a

    def fill(self, v: Array) -> Array:
        """The feasible point that is best for fixed v: in each group the variables that gain most
        are raised to their bounds, until the sum is met."""
        a = np.zeros(self.n_variables)
        for members, delta in self.groups:
            order = np.argsort(self.s[members] * v[members], kind="stable")
            bounds = self.u[members][order]
            before = np.cumsum(bounds) - bounds
            raised = np.empty(len(order))
            raised[order] = np.clip(abs(delta) - before, 0.0, bounds)
            a[members] = raised
        return self.start(a)

    def start(self, near: Array | None) -> Array:
        """The feasible point near the one given, or else a plain one."""
        if near is None:
            return np.zeros(self.n_variables) if self.starts_at_zero else self.fill(self.q)
        a = self.nearest_feasible(near)
        if a is None:
            raise SolverError("No feasible point: sᵀa = δ cannot be met within 0 ≤ a ≤ u.")
        return a

    @property
    def has_interior(self) -> bool:
        """Whether interior points can be followed: δ = 0, and all bounds positive and finite."""
        u = self.u
        return bool(self.starts_at_zero and u.min(initial=1.0) > 0 and u.max(initial=0.0) < np.inf)

    def in_units(self, unit: float) -> DualQP:
        """The problem with the kernel divided by `unit`, and z multiplied by it."""
        u, delta = self.u * unit, np.asarray(self.delta) * unit
        if self.starts_at_zero:
            # Finite bounds stay finite: nothing in double precision reaches them.
            u = np.where(np.isinf(self.u), np.inf, np.minimum(u, _LARGEST_BOUND))
        kernel = scale_kernel(self.kernel, unit)
        return replace(self, kernel=kernel, u=u, delta=delta if self.group_sizes else float(delta))

    def within_reach(self) -> DualQP:
        """The problem with finite bounds that steps in double precision can get to. Where a sum of
        variables is given, bounds are not free to choose: one that is too large is refused."""
        largest = self.kernel.largest()
        if self.starts_at_zero:
            most = find_reach(largest)
            if not self.u.max(initial=0.0) > most:
                return self
            return replace(self, u=np.where(np.isinf(self.u), np.inf, np.minimum(self.u, most)))
        total = float(np.abs(self.delta).max())
        if total > _LARGEST_COEFFICIENT or not total * largest <= _LARGEST_SUM:
            raise ValueError(
                f"The weights of the rows (sample_weight, times C where there is one) sum to "
                f"{total:.1e} or more, and kernel values are up to {largest:.1e}: their products "
                "are too large to compute with. Divide sample_weight, or C, by a constant."
            )
        return self

    def certify(
        self, a: Array, bias: Any, wanted: float, f: Array | None = None, blur: float = 0.0
    ) -> Judgement:
        """The judgement of `a` and `bias` as they are, to an accuracy of a tenth of the gap that is
        `wanted` wherever that can be had. `f` is K z, off by no more than `blur` as far as known,
        and computed from scratch if not given."""
        size = float(a.sum())
        accuracy = 2.0 * size * self.kernel.error() if size else 0.0
        z = extended = None
        if accuracy > 0.1 * wanted:
            z = self.at_samples(self.s * a)
            extended = self.kernel.extended_sums(z)
        if extended is None:
            return self.judge(a, f, bias, accuracy + 2.0 * blur)
        sums, error = extended
        # Counted from where the gap is: there, the digits that float64 has are those that matter.
        from_bias = np.asarray(bias if self.group_sizes is None else bias[self.group_of])
        v = np.asarray(self.scores(sums) + from_bias, dtype=np.float64)
        found = self._judge(float(z @ sums), v, a, np.zeros_like(bias), 2.0 * size * error)
        return replace(found, primal=found.primal + float(np.sum(np.multiply(bias, self.delta))))

    def judge(
        self, a: Array, f: Array | None = None, bias: Any = None, accuracy: float = 0.0
    ) -> Judgement:
        """Objective values, gaps and feasibility of `a`; f = K z is recomputed unless given."""
        if f is None:
            f = self.kernel_sums(a)
        if bias is None:
            bias = self.bias(a, f)
        quadratic = float(self.at_samples(self.s * a) @ f)
        return self._judge(quadratic, self.scores(f), a, bias, accuracy)

    def kkt_gap(self, a: Array, f: Array, wanted: float | None = None) -> float:
        """The KKT gap of a feasible point with its own bias, certified where a `wanted` one is
        named."""
        bias = self.bias(a, f)
        if wanted is None:
            return self.judge(a, f, bias).kkt_gap
        return self.certify(a, bias, wanted, f).kkt_gap

    def _judge(self, quadratic: float, v: Array, a: Array, bias: Any, accuracy: float) -> Judgement:
        if self.group_sizes is None:
            delta = self.delta if self.has_bias else float(self.s @ a)
            found = judge_point(quadratic, v, a, self.s, self.p, self.u, delta, float(bias))
            gap, primal, dual, outside = found
            if not self.has_bias:
                gap = self._gap_without_bias(v, a)
            if isinstance(self.kernel, RidgedKernel):
                primal = self._squared_primal(quadratic, v, a, bias)
            return Judgement(gap, primal, dual, outside, accuracy)
        parts = [
            judge_point(0.0, v[m], a[m], self.s[m], self.p[m], self.u[m], delta, bias[g])
            for g, (m, delta) in enumerate(self.groups)
        ]
        gaps, primals, duals, sides = zip(*parts, strict=True)
        return Judgement(
            kkt_gap=max(gaps),
            primal=0.5 * quadratic + sum(primals),
            dual=-0.5 * quadratic + sum(duals),
            infeasibility=max(sides),
            accuracy=accuracy,
        )

    def _gap_without_bias(self, v: Array, a: Array) -> float:
        z = self.s * a
        lacking = max(
            float(v[z > self.lower].max(initial=0.0)), -float(v[z < self.upper].min(initial=0.0))
        )
        return np.inf if np.isnan(v).any() else lacking

    def _squared_primal(self, quadratic: float, v: Array, a: Array, bias: float) -> float:
        """½‖w‖² and squared losses, from zᵀ(K + D)z and v = (K + D)z + q."""
        assert isinstance(self.kernel, RidgedKernel)
        ridge, z = self.kernel.ridge, self.at_samples(self.s * a)
        own = ridge * z
        squares = quadratic - float(z @ own)
        if self.sample_of is not None:
            ridge, own = ridge[self.sample_of], own[self.sample_of]
        errors = np.maximum(0.0, -self.s * (v - own + bias))
        with np.errstate(over="ignore"):
            return 0.5 * squares + 0.5 * float((errors * errors / ridge).sum())


def _balance(a: Array, s: Array, u: Array, delta: float) -> Array | None:
    """`a` moved in proportion to its room until sᵀa = δ: coefficients strictly inside the box
    first, all of them if those do not suffice."""
    excess = float(s @ a) - delta
    if excess == 0.0:
        return a
    falls = s * excess > 0
    # Room upwards is capped at something finite where u is not.
    room = np.where(falls, a, np.minimum(u - a, np.maximum(a, abs(excess))))
    inside = (a > 0) & (a < u)
    for movable in (room * inside, room):
        total = float(movable.sum())
        if total >= abs(excess) * (1.0 - ROUNDING):
            move = movable * min(1.0, abs(excess) / total)
            moved: Array = snap_to_bounds(np.clip(np.where(falls, a - move, a + move), 0.0, u), u)
            return moved
    # Everything is at its bound: fine if only rounding is missing.
    return a if abs(excess) <= ROUNDING * float(a.sum()) else None


def find_reach(largest: float) -> float:
    """The largest bound that makes a difference with kernel values up to `largest`."""
    return min(_LARGEST_BOUND / max(largest, 1e-300), _LARGEST_COEFFICIENT)


def upper_bounds(C: float, weights: Array) -> Array:
    """C times the weights of samples; zero where one takes no part."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        bounds = np.where(weights > 0, C * weights, 0.0)
        total = float(bounds.sum())
    if isfinite(C) and not isfinite(total):
        raise ValueError(
            f"C={C:g} times the sum of the weights overflows: use a smaller C or smaller weights."
        )
    return bounds


# -- the conditions, compiled: small problems are judged by the thousand --------------------------


@compiled(EXACT)
def gap_between(least, most):  # type: ignore[no-untyped-def]
    """The KKT gap; infinite where values are not numbers, so that no comparison takes it for 0."""
    gap = most - least
    if np.isnan(gap):
        return np.inf
    return max(0.0, gap)


@compiled(EXACT)
def centred_gap(v, z, lower, upper, group_of, middles):  # type: ignore[no-untyped-def]
    """The largest KKT gap of a group; `middles` receives the middle between the extremes of each,
    which is what its v is to be compared with."""
    n_groups = middles.size
    least = np.full(n_groups, np.inf)
    most = np.full(n_groups, -np.inf)
    for i in range(z.size):
        if np.isnan(v[i]):
            return np.inf
        g = group_of[i]
        if z[i] < upper[i] and v[i] < least[g]:
            least[g] = v[i]
        if z[i] > lower[i] and v[i] > most[g]:
            most[g] = v[i]
    gap = 0.0
    for g in range(n_groups):
        if least[g] < np.inf and most[g] > -np.inf:
            middles[g] = 0.5 * (least[g] + most[g])
            gap = max(gap, most[g] - least[g])
        elif least[g] < np.inf:
            middles[g] = least[g]
        elif most[g] > -np.inf:
            middles[g] = most[g]
        else:
            middles[g] = 0.0
    return gap


@compiled(EXACT)
def snap_to_bounds(a, u):  # type: ignore[no-untyped-def]
    """`a` with coefficients within rounding of a bound put exactly on it."""
    most = 0.0
    for i in range(a.size):
        most = max(most, a[i])
    result = a.copy()
    for i in range(a.size):
        if a[i] <= NOTHING * most:
            result[i] = 0.0
        if result[i] >= (1.0 - ROUNDING) * u[i]:
            result[i] = u[i]
    return result


@compiled(EXACT)
def bias_at(v, a, s, u):  # type: ignore[no-untyped-def]
    """−mean of v over the free variables; without any, the middle of what KKT leaves open."""
    total, n_free = 0.0, 0
    least, most = np.inf, -np.inf
    for i in range(a.size):
        if 0.0 < a[i] < u[i]:
            total += v[i]
            n_free += 1
        elif u[i] > 0.0 and (a[i] > 0.0) == (s[i] > 0.0):
            most = max(most, v[i])
        elif u[i] > 0.0:
            least = min(least, v[i])
    if n_free > 0:
        return -total / n_free
    if np.isinf(least):
        return 0.0 if np.isinf(most) else -most
    return -least if np.isinf(most) else -0.5 * (least + most)


@compiled(EXACT)
def primal_value(quadratic, v, s, p, u, delta, bias):  # type: ignore[no-untyped-def]
    """½ zᵀKz + bδ + losses, of the model scaled up until it meets all constraints of infinite u."""
    scale = 1.0
    for i in range(s.size):
        if np.isinf(u[i]):
            reach = s[i] * (v[i] + bias) - p[i]
            if reach < -p[i]:
                if reach <= 0.0:
                    return np.inf
                scale = max(scale, -p[i] / reach)
    losses = 0.0
    for i in range(s.size):
        if not np.isinf(u[i]):
            reach = s[i] * (v[i] + bias) - p[i]
            losses += u[i] * max(0.0, -(scale * reach + p[i]))
    return 0.5 * scale**2 * quadratic + scale * bias * delta + losses


@compiled(EXACT)
def judge_point(quadratic, v, a, s, p, u, delta, bias):  # type: ignore[no-untyped-def]
    """KKT gap, primal and dual objective, and infeasibility."""
    least, most = np.inf, -np.inf
    outside, balance, linear = 0.0, 0.0, 0.0
    for i in range(a.size):
        outside = max(outside, -a[i], a[i] - u[i])
        balance += s[i] * a[i]
        linear += p[i] * a[i]
        if np.isnan(v[i]):
            least = np.nan
        if (a[i] < u[i] if s[i] > 0.0 else a[i] > 0.0) and v[i] < least:
            least = v[i]
        if (a[i] > 0.0 if s[i] > 0.0 else a[i] < u[i]) and v[i] > most:
            most = v[i]
    return (
        gap_between(least, most),
        primal_value(quadratic, v, s, p, u, delta, bias),
        -0.5 * quadratic - linear,
        max(outside, abs(balance - delta)),
    )
