"""One hyperplane for each sample, those of neighbours on a graph kept close.

    min  1/2n Σ_i ‖w_i‖² + C₂/2n Σ_links weight_ij ‖θ_i − θ_j‖² + Σ u_i ξ_i          θ = (w, b)
    s.t. s_i x̃_i·θ_i ≥ −p_i − ξ_i,   ξ ≥ 0                                        x̃ = (x, 1)

A node has one such inequality for a margin (s = y, p = −1) and two for a tube (s = ±1,
p = ε ∓ target): arrays of rows have the shape (sides, nodes). n is `n_scale`, the number of nodes
unless the problem is a window of a larger one. Such a window has an `anchor`: the hyperplane θ₋ of
the node before, which is held, and the weight c of the link to it, C₂/2n · c‖θ_0 − θ₋‖² in the sum.

With H = (D + C₂L)/n, D = 1 on w and 0 on b, and multipliers 0 ≤ a ≤ u of the inequalities, the
hyperplanes that belong to a solve  Hθ = Σ a_i s_i x̃_i. Offsets are coupled, not penalised, so that
a component of the graph without the anchor needs Σ s a = 0, and has a bias of its own. In terms of
residuals r = s x̃·θ + p and the whole penalty Q,

    primal(θ) = Q(θ) + Σ u max(0, −r)       dual(a) = Q(θ(a)) − Σ a r(θ(a))
    primal − dual at θ(a) = Σ a r + u max(0, −r),  a sum of terms ≥ 0

A component whose labels are all alike has the loss 0 at w = 0 and any b beyond the margin: its
offset is then that margin, b = its label. One where nothing has weight is left at θ = 0.

The judge asks nobody how a point was found: it solves for θ(a) itself.

There may be any kernel, too. Then the dual problem of all machines is stated,

    min_a ½ aᵀQa + pᵀa    s.t.  Σ s a = 0 in each component,  0 ≤ a ≤ u,     Q_ij = s_i s_j K_ij

with K the coupled kernel of `kernels.coupled`, or, of a graph, of `kernels.coupled_graph` for each
of its components. The functions of the nodes are

    f_i(x) = n Σ_j (I + C₂L)⁻¹_ij z_j k(x_j, x) + b_i,   b_i = (n/C₂) Σ_j L⁺_ij z_j + bias

with z = s a, and one bias for each component. A component of a single class has z = 0, b = its
label. For the linear kernel the problem of hyperplanes is far faster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lindero.errors import SolverError
from lindero.graphs.graph import Chain, Graph
from lindero.kernels.coupled import CoupledKernel
from lindero.kernels.coupled_graph import GraphKernel
from lindero.problems.dual_qp import DualQP, Judgement, snap_to_bounds
from lindero.problems.margin import margin_terms
from lindero.problems.tube import tube_terms
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property
from lindero.runtime.compilation import EXACT, FAST, compiled

#: Share of u|p| by which the loss of a row is uncertain.
_ROUNDING = 1e-15

#: So many times the usual size is far beyond all targets; the least share of the objective.
_FAR = 100.0
_COUNTED = 1e-9

#: How far above the primal objective rounding may put the dual one, as a share of it.
_ACCURACY = 1e-9


@dataclass(frozen=True)
class Anchor:
    """The hyperplane (w, b) of the node before the first, and the weight of the link to it."""

    theta: Array
    weight: float = 1.0


@dataclass(frozen=True)
class CoupledProblem:
    """The problem above: X is (nodes, features); s, p and u are (sides, nodes)."""

    X: Array
    s: Array
    p: Array
    u: Array
    coupling: float
    graph: Chain | Graph
    n_scale: float
    anchor: Anchor | None = None

    @property
    def n_nodes(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_parameters(self) -> int:
        return int(self.X.shape[1]) + 1

    @property
    def link_scale(self) -> float:
        """C₂/n: what a link of weight 1 costs."""
        return self.coupling / self.n_scale

    @property
    def ridge(self) -> Array:
        """The diagonal of D/n for one node."""
        ridge = np.full(self.n_parameters, 1.0 / self.n_scale)
        ridge[-1] = 0.0
        return ridge

    @property
    def ground(self) -> float:
        """What the link to the anchor costs."""
        return 0.0 if self.anchor is None else self.link_scale * self.anchor.weight

    @property
    def origin(self) -> Array:
        """The anchor's hyperplane, zeros without one."""
        return np.zeros(self.n_parameters) if self.anchor is None else self.anchor.theta

    @cached_property
    def floating(self) -> Array:
        """Which components have a bias of their own: all, or all but the anchored one."""
        floating = np.ones(int(self.graph.components.max(initial=-1)) + 1, dtype=bool)
        if self.ground > 0.0:
            floating[self.graph.components[0]] = False
        return floating

    # -- objective values -------------------------------------------------------------------------

    def residuals(self, theta: Array) -> Array:
        """r = s x̃·θ + p of each row."""
        residuals: Array = self.s * compute_outputs(self.X, theta) + self.p
        return residuals

    def penalty(self, theta: Array) -> float:
        """Q(θ), all but the losses."""
        W = theta[:, :-1]
        square = float(np.einsum("ij,ij->", W, W)) / self.n_scale
        square += self.link_scale * self.graph.energy(theta)
        if self.ground > 0.0:
            step = theta[0] - self.origin
            square += self.ground * float(step @ step)
        return 0.5 * square

    def objective(self, theta: Array) -> float:
        """The primal objective at any hyperplanes."""
        return self.penalty(theta) + self._loss(self.residuals(theta))

    def _loss(self, residuals: Array) -> float:
        return float(np.vdot(self.u, np.maximum(0.0, -residuals)))

    def relative_gap(self, judgement: Judgement) -> float:
        """The duality gap as a share of the objective. Rounding of residuals is no gap: where the
        optimum is 0, nothing else may be left. Losses of targets far beyond all others, which no
        hyperplane can help, do not count: beside them any gap would be small."""
        gap, primal = judgement.duality_gap, abs(judgement.primal)
        if not (np.isfinite(gap) and np.isfinite(primal)):
            return np.inf
        # A dual objective well above the primal one is no proof of anything: rounding has made it.
        gap = max(0.0, (gap if gap >= -_ACCURACY * primal else -gap) - self._noise)
        return gap / max(primal - self._beyond_help, _COUNTED * primal, self._noise)

    @cached_property
    def typical(self) -> float:
        """The size that margins and targets usually have."""
        sizes = np.abs(self.p[self.u > 0.0])
        return float(np.median(sizes)) if len(sizes) else 0.0

    @cached_property
    def _beyond_help(self) -> float:
        far = _FAR * self.typical
        return float(np.vdot(self.u, np.maximum(0.0, np.abs(self.p) - far))) if far > 0.0 else 0.0

    @cached_property
    def _noise(self) -> float:
        least = float(np.finfo(np.float64).tiny)
        return max(least, _ROUNDING * float(np.vdot(self.u, np.abs(self.p))))

    # -- from multipliers to hyperplanes ----------------------------------------------------------

    def at_nodes(self, rows: Array) -> Array:
        """Values of rows, with their signs, summed over the sides of each node."""
        at_nodes: Array = np.einsum("ij,ij->j", self.s, rows)
        return at_nodes

    def nearest_feasible(self, a: Array) -> Array:
        """`a` put into its box, then moved in proportion to its room until Σ s a = 0 in every
        component that floats: rows strictly inside the box first, all if those do not suffice."""
        a = np.clip(a, 0.0, self.u)
        of = self.graph.components
        count = len(self.floating)
        excess = np.where(self.floating, np.bincount(of, self.at_nodes(a), count), 0.0)
        falls = self.s * excess[of] > 0.0
        room = np.where(falls, a, self.u - a)
        inside = room * ((a > 0.0) & (a < self.u))
        total = np.bincount(of, inside.sum(axis=0), count)
        few = total < np.abs(excess)
        if few.any():
            inside = np.where(few[of], room, inside)
            total = np.bincount(of, inside.sum(axis=0), count)
        share = np.minimum(1.0, np.abs(excess) / np.where(total > 0.0, total, 1.0))
        move = inside * share[of]
        moved: Array = np.clip(np.where(falls, a - move, a + move), 0.0, self.u)
        return np.asarray(snap_to_bounds(moved.ravel(), self.u.ravel()).reshape(a.shape))

    def hyperplanes(self, a: Array, near: Array | None = None) -> Array:
        """θ(a), with the bias of each component where its free rows, or else the middle of what
        KKT leaves open, put it. `near` is a guess for graphs that need one."""
        # In terms of θ − θ₋ a strong link to the anchor is the weight of a node, not a difference
        # of large numbers.
        origin = self.origin
        r = compute_pulls(self.X, self.at_nodes(a))
        r -= self.ridge * origin
        guess = None if near is None else near - origin
        theta = self.graph.solve(r, self.ridge, self.link_scale, self.ground, guess)
        theta += origin
        biases = np.zeros(len(self.floating))
        v = compute_outputs(self.X, theta) + self.s * self.p
        find_biases(v, a, self.s, self.u, self.graph.components, self.floating, biases)
        theta[:, -1] += biases[self.graph.components]
        return theta

    def judge(self, theta: Array, a: Array) -> Judgement:
        """How far hyperplanes and multipliers are from being a solution, from nothing else. The
        KKT gap is the largest residual of θ that its multiplier says should not be there; how far
        θ is from θ(a) is told by the duality gap."""
        induced = self.hyperplanes(a, theta)
        residuals = self.residuals(theta)
        wrong = np.maximum(residuals * (a > 0.0), -residuals * (a < self.u))
        sums = np.bincount(self.graph.components, self.at_nodes(a), len(self.floating))
        outside = max(0.0, -float(a.min(initial=0.0)), float((a - self.u).max(initial=0.0)))
        return Judgement(
            kkt_gap=float(wrong.max(initial=0.0)),
            primal=self.penalty(theta) + self._loss(residuals),
            dual=self.penalty(induced) - float(np.vdot(a, self.residuals(induced))),
            infeasibility=max(outside, float(np.abs(sums[self.floating]).max(initial=0.0))),
        )

    # -- components that need no solver -----------------------------------------------------------

    @cached_property
    def settled(self) -> Array:
        """Components without the anchor in which all rows of weight push to the same side, so that
        an offset alone meets every one of them; and components without any weight."""
        of, count = self.graph.components, len(self.floating)
        up = np.bincount(of, ((self.u > 0) & (self.s > 0)).sum(axis=0), count)
        down = np.bincount(of, ((self.u > 0) & (self.s < 0)).sum(axis=0), count)
        settled: Array = self.floating & ((up == 0) | (down == 0))
        return settled

    def settled_offsets(self) -> Array:
        """The least offset, in size, with which each settled component meets its rows."""
        bounds = np.where(self.u > 0, -self.s * self.p, 0.0)  # s b ≥ −p
        least, most = np.zeros(len(self.floating)), np.zeros(len(self.floating))
        for side, signs in zip(bounds, self.s, strict=True):
            np.maximum.at(least, self.graph.components, np.where(signs > 0, side, 0.0))
            np.minimum.at(most, self.graph.components, np.where(signs < 0, side, 0.0))
        return least + most

    def subset(self, nodes: Array) -> CoupledProblem:
        """The problem of whole components, their nodes in order, with the scale as it is."""
        keeps_first = len(nodes) > 0 and int(nodes[0]) == 0
        return replace(
            self,
            X=self.X[nodes],
            s=np.ascontiguousarray(self.s[:, nodes]),
            p=np.ascontiguousarray(self.p[:, nodes]),
            u=np.ascontiguousarray(self.u[:, nodes]),
            graph=self.graph.subset(nodes),
            anchor=self.anchor if keeps_first else None,
        )


# -- margin and tube ------------------------------------------------------------------------------

#: s and p of a negative and of a positive sample.
_SIGNS, _CONSTANTS, _ = margin_terms(np.array([-1.0, 1.0]), np.ones(2))


class CoupledLoss:
    """Abstract. What the rows of each node ask of its hyperplane."""

    n_sides: ClassVar[int]

    def terms(self, targets: Array, bounds: Array) -> tuple[Array, Array, Array]:
        """s, p and u of the rows: (sides, nodes) each."""
        raise NotImplementedError

    def state(
        self,
        X: Array,
        targets: Array,
        bounds: Array,
        coupling: float,
        graph: Chain | Graph,
        n_scale: float | None = None,
        anchor: Anchor | None = None,
    ) -> CoupledProblem:
        """The problem of hyperplanes; ξ costs `bounds`, 0 for a node without a target."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        n_nodes, n_features = X.shape
        if not n_nodes == len(targets) == len(bounds) == graph.n_nodes:
            raise SolverError(
                "A hyperplane for each sample needs as many targets, bounds and nodes as rows: "
                f"there are {n_nodes} rows, {len(targets)} targets, {len(bounds)} bounds and "
                f"{graph.n_nodes} nodes."
            )
        if not (np.isfinite(coupling) and coupling > 0.0):
            raise SolverError(f"The coupling must be positive and finite; it is {coupling}.")
        if not (np.isfinite(bounds).all() and (bounds >= 0.0).all()):
            raise SolverError("The bounds of coupled rows must be finite and not negative.")
        if anchor is not None:
            theta = np.asarray(anchor.theta, dtype=np.float64)
            if theta.shape != (n_features + 1,) or not np.isfinite(theta).all():
                raise SolverError(f"An anchor needs {n_features + 1} finite numbers: w, then b.")
            if not (np.isfinite(anchor.weight) and anchor.weight >= 0.0):
                raise SolverError(f"The weight of an anchor cannot be {anchor.weight}.")
            anchor = Anchor(theta, float(anchor.weight))
        scale = float(n_nodes if n_scale is None else n_scale)
        rows = self.terms(np.asarray(targets), np.asarray(bounds, dtype=np.float64))
        return CoupledProblem(X, *rows, float(coupling), graph, scale, anchor)

    def state_dual(
        self, kernel: CoupledKernel | GraphKernel, targets: Array, bounds: Array
    ) -> DualQP:
        """The dual problem with any kernel, samples in the order of the chain: of each of its
        components the rows of one side first, then those of the other."""
        order = np.argsort(np.tile(kernel.component, self.n_sides), kind="stable")
        sample_of = np.tile(np.arange(len(targets)), self.n_sides)[order]
        rows = self.terms(np.asarray(targets), np.asarray(bounds, dtype=np.float64))
        s, p, u = (values.ravel()[order] for values in rows)
        of = sample_of if self.n_sides > 1 else None
        sizes = np.bincount(kernel.component) * self.n_sides
        if len(sizes) == 1:
            return DualQP(kernel, p, s, u, sample_of=of)
        return DualQP(kernel, p, s, u, np.zeros(len(sizes)), of, tuple(sizes.tolist()))


@dataclass(frozen=True)
class CoupledMargin(CoupledLoss):
    """`problems.margin` at each node, with y = 1 for the target `positive`, −1 for all others."""

    positive: float = 1.0
    n_sides: ClassVar[int] = 1

    def terms(self, targets: Array, bounds: Array) -> tuple[Array, Array, Array]:
        codes = (targets == self.positive).astype(np.intp)
        return _SIGNS[None, codes], _CONSTANTS[None, codes], bounds[None, :]


@dataclass(frozen=True)
class CoupledTube(CoupledLoss):
    """`problems.tube` at each node."""

    epsilon: float
    n_sides: ClassVar[int] = 2

    def terms(self, targets: Array, bounds: Array) -> tuple[Array, Array, Array]:
        return tube_terms(targets, bounds, self.epsilon)


# -- passes over the rows, compiled ---------------------------------------------------------------


@compiled(FAST)
def compute_outputs(X, theta):  # type: ignore[no-untyped-def]
    """x̃_i·θ_i of each node."""
    n, d = X.shape
    result = np.empty(n)
    for i in range(n):
        total = theta[i, d]
        for k in range(d):
            total += X[i, k] * theta[i, k]
        result[i] = total
    return result


@compiled(EXACT)
def compute_pulls(X, z):  # type: ignore[no-untyped-def]
    """z_i x̃_i of each node."""
    n, d = X.shape
    result = np.empty((n, d + 1))
    for i in range(n):
        for k in range(d):
            result[i, k] = z[i] * X[i, k]
        result[i, d] = z[i]
    return result


@compiled(EXACT)
def find_biases(v, a, s, u, of, floating, biases):  # type: ignore[no-untyped-def]
    """The bias of each component, from v = x̃·θ + s p, which it should bring to 0 at rows between
    their bounds: each counts by its distance from them. Without any, the middle of what rows at
    their bounds leave open (see `problems.dual_qp`)."""
    count = biases.size
    total, rooms = np.zeros(count), np.zeros(count)
    least, most = np.full(count, np.inf), np.full(count, -np.inf)  # of those that may rise, fall
    for side in range(v.shape[0]):
        for i in range(v.shape[1]):
            if u[side, i] == 0.0:
                continue
            g, value = of[i], v[side, i]
            room = min(a[side, i], u[side, i] - a[side, i])
            if room > 0.0:
                total[g] += room * value
                rooms[g] += room
            elif (a[side, i] > 0.0) == (s[side, i] > 0.0):
                most[g] = max(most[g], value)
            else:
                least[g] = min(least[g], value)
    for g in range(count):
        if not floating[g]:
            continue
        if rooms[g] > 0.0:
            biases[g] = -total[g] / rooms[g]
        elif least[g] < np.inf and most[g] > -np.inf:
            biases[g] = -0.5 * (least[g] + most[g])
        elif least[g] < np.inf:
            biases[g] = -least[g]
        elif most[g] > -np.inf:
            biases[g] = -most[g]
