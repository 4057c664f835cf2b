"""The kernel of machines with one function for each node of a chain, neighbours kept close.

With L the Laplacian of the chain's links and n the scale of the problem (`problems.coupled`),

    K_ij = n (I + C₂L)⁻¹_ij k(x_i, x_j) + (n/C₂) L⁺_ij

between samples at nodes i and j. Neither inverse is formed. Both are found from a few vectors, as
inverses of a chain's matrices are:

    (I + C₂L)⁻¹_ij = g_i ρ_i ρ_{i+1} … ρ_{j−1}   for i ≤ j,     g_i = 1/(1 + left_i + right_i)

where left_i (right_i) is what all nodes before (behind) node i weigh, seen through the link, and
ρ_k = c_k/(c_k + 1 + right_{k+1}). The products are differences of sums of logarithms, which neither
overflow nor vanish however long the chain is. And with P_i the place of node i on a line where
neighbours are 1/weight apart, r_ij = |P_i − P_j| is the resistance between two nodes, and

    L⁺_ij = −½ (r_ij − mean_j r_ij − mean_i r_ij + mean r)

A link of weight 0 cuts the chain: nodes of different components have K_ij = 0, means are over one
component, and a machine has a bias of its own in each.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lindero.errors import KernelError
from lindero.kernels.operator import (
    EXTENDED_UNITS,
    EXTENDED_WORK,
    ROUNDING_UNITS,
    KernelOperator,
)
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, FAST, compiled

#: Values that are held at once in extended precision, in several temporary arrays.
_EXTENDED_VALUES = 2**18


@dataclass(frozen=True)
class ChainVectors:
    """What is kept of both inverses of a chain: one number each for every node."""

    component: Array
    log_own: Array
    log_way: Array
    place: Array
    distance: Array
    apart: Array  # of each link: n/C₂ over its weight, 0 where the chain is cut

    @classmethod
    def of(cls, links: Array, coupling: float, n_scale: float) -> ChainVectors:
        """The vectors, with n and n/C₂ taken in."""
        links = np.ascontiguousarray(links, dtype=np.float64)
        component = np.concatenate([[0], np.cumsum(links == 0.0)])
        own, way = chain_inverse(coupling * links)
        with np.errstate(divide="ignore"):
            apart = np.where(links > 0.0, n_scale / coupling / links, 0.0)
        place = np.concatenate([[0.0], np.cumsum(apart)])
        first = np.flatnonzero(np.diff(component, prepend=-1))
        place -= place[first][component]
        distance = np.empty_like(place)
        half_distances(component, place, distance)
        return cls(component, np.log(n_scale * own), way, place, distance, apart)


class NodeKernel(KernelOperator):
    """`base` over samples that belong to nodes, whose values are coupled by what lies between the
    nodes."""

    base: KernelOperator
    nodes: Array

    @abstractmethod
    def _couple(self, left: Array, right: Array, values: Array) -> None:
        """Make values of the base, between samples at nodes, those of this kernel."""

    @abstractmethod
    def _like(self, base: KernelOperator, nodes: Array) -> Self:
        """The same kernel over other samples."""

    def _probe(self, base: Probe, nodes: Array) -> Probe:
        return Probe((base, nodes), np.zeros(len(base), self.dtype))

    def probe(self, rows: Array) -> Probe:
        return self._probe(self.base.probe(rows), self.nodes[rows])

    def probe_of(self, Z: Any) -> Probe:
        """New rows at nodes: Z is a table, and the node of each of its rows."""
        rows, nodes = Z
        return self._probe(self.base.probe_of(rows), np.asarray(nodes))

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        base, nodes = probe.rows
        self.base.block(base, start, stop, out)
        self._couple(nodes, self.nodes[start:stop], out)

    def columns(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        base, nodes = probe.rows
        self.base.columns(base, start, stop, out)
        self._couple(self.nodes[start:stop], nodes, out)

    def cross(self, probe: Probe, other: Probe) -> Array:
        base, nodes = probe.rows
        other_base, other_nodes = other.rows
        values = self.base.cross(base, other_base)
        self._couple(nodes, other_nodes, values)
        return values

    def subset(self, rows: Array) -> Self:
        return self._like(self.base.subset(rows), self.nodes[rows])

    def astype(self, dtype: Any) -> Self:
        base = self.base.astype(dtype)
        return self if base is self.base else self._like(base, self.nodes)


class CoupledKernel(NodeKernel):
    """`base` over samples, coupled by the nodes of a chain that they belong to (`nodes`: sample i
    at node i unless given)."""

    def __init__(
        self,
        base: KernelOperator,
        links: Array,
        coupling: float,
        n_scale: float | None = None,
        nodes: Array | None = None,
    ) -> None:
        scale = float(len(links) + 1 if n_scale is None else n_scale)
        if nodes is None:
            nodes = np.arange(base.n_samples)
        if len(nodes) != base.n_samples or (len(nodes) and int(nodes.max()) > len(links)):
            raise KernelError(
                "A coupled kernel needs a node of the chain for each sample: there are "
                f"{base.n_samples} samples, {len(nodes)} nodes given and {len(links) + 1} in all."
            )
        self._set(base, ChainVectors.of(links, coupling, scale), nodes)

    def _set(self, base: KernelOperator, vectors: ChainVectors, nodes: Array) -> None:
        self.base = base
        self.vectors = vectors
        self.nodes = nodes
        self.n_samples = base.n_samples
        self.dtype = base.dtype

    def _like(self, base: KernelOperator, nodes: Array) -> CoupledKernel:
        other = CoupledKernel.__new__(CoupledKernel)
        other._set(base, self.vectors, nodes)
        return other

    @property
    def component(self) -> Array:
        """The component of the chain that each sample is in."""
        return self.vectors.component[self.nodes]

    def diagonal(self) -> Array:
        vectors, nodes = self.vectors, self.nodes
        own: Array = np.exp(vectors.log_own[nodes]) * self.base.diagonal()
        own += 2.0 * vectors.distance[nodes]
        return own

    def rounding(self) -> float:
        # Values are put together in float64 whatever `dtype` is: the results are rounded, not what
        # they are differences of.
        largest = float(np.exp(self.vectors.log_own.max())) * self.base.rounding()
        return largest + 2.0 * float(self.vectors.distance.max(initial=0.0))

    def error(self) -> float:
        v = self.vectors
        share = float(np.exp(v.log_own.max(initial=-np.inf)))
        # Values are shares of the base's, and differences of places along the chain.
        far = float(np.abs(v.place).max(initial=0.0) + np.abs(v.distance).max(initial=0.0))
        way = 1.0 + float(np.abs(v.log_way).max(initial=0.0))
        return share * (self.base.error() + ROUNDING_UNITS * way * self.base.largest()) + (
            ROUNDING_UNITS * far
        )

    def extended_sums(self, z: Array) -> tuple[Array, float] | None:
        if self.n_samples**2 > EXTENDED_WORK or EXTENDED_UNITS >= ROUNDING_UNITS:
            return None
        v, nodes, base = self.vectors, self.nodes, self.base.astype(np.float64)
        support = np.flatnonzero(z)
        others, probe = nodes[support], base.probe(support)
        weights = z[support].astype(np.longdouble)
        way = v.log_way.astype(np.longdouble)
        sums = self._extended_offsets(z)[nodes]
        step = max(1, _EXTENDED_VALUES // max(1, len(support)))
        for start in range(0, self.n_samples, step):
            rows = np.arange(start, min(start + step, self.n_samples))
            own = nodes[rows][:, None]
            first, last = np.minimum(own, others), np.maximum(own, others)
            values = base.cross(base.probe(rows), probe).astype(np.longdouble)
            values *= np.exp(v.log_own[first] + (way[last] - way[first]))
            values[v.component[first] != v.component[last]] = 0.0
            sums[rows] += values @ weights
        share = float(np.exp(v.log_own.max(initial=-np.inf)))
        steep = 1.0 + float(np.abs(v.log_way).max(initial=0.0))
        error = share * (self.base.error() + ROUNDING_UNITS * steep * self.base.largest())
        return sums, error + EXTENDED_UNITS * float(v.place.max(initial=0.0))

    def _extended_offsets(self, z: Array) -> Array:
        """The offsets in extended precision: what flows through a link makes the difference."""
        v = self.vectors
        at_nodes = np.zeros(len(v.place), dtype=np.longdouble)
        np.add.at(at_nodes, self.nodes, z)
        flow = np.cumsum(at_nodes)
        first = np.flatnonzero(np.diff(v.component, prepend=-1))
        flow -= (flow[first] - at_nodes[first])[v.component]
        offsets = np.append(np.longdouble(0), np.cumsum(-flow[:-1] * v.apart))
        means = np.add.reduceat(offsets, first) / np.bincount(v.component)
        return np.asarray(offsets - means[v.component])

    def _couple(self, left: Array, right: Array, values: Array) -> None:
        v = self.vectors
        couple(v.component, v.log_own, v.log_way, v.place, v.distance, left, right, values)

    def offsets(self, z: Array) -> Array:
        """(n/C₂) L⁺z at every node, from coefficients z of the samples: what the second part of
        the kernel adds to a machine's outputs, whatever the row."""
        v = self.vectors
        at_nodes = np.bincount(self.nodes, z, len(v.place))
        return np.asarray(chain_offsets(v.component, v.place, v.distance, at_nodes))


@compiled(EXACT)
def chain_inverse(links):  # type: ignore[no-untyped-def]
    """Diagonal of (I + L)⁻¹, and the sum of log ρ up to each node from its component's first."""
    n = links.size + 1
    left, right = np.zeros(n), np.zeros(n)
    for i in range(1, n):
        before = 1.0 + left[i - 1]
        left[i] = before * (links[i - 1] / (links[i - 1] + before))
    for i in range(n - 2, -1, -1):
        behind = 1.0 + right[i + 1]
        right[i] = behind * (links[i] / (links[i] + behind))
    own, way = 1.0 / (1.0 + left + right), np.zeros(n)
    for i in range(1, n):
        if links[i - 1] > 0.0:
            way[i] = way[i - 1] - np.log1p((1.0 + right[i]) / links[i - 1])
    return own, way


@compiled(EXACT)
def half_distances(component, place, out):  # type: ignore[no-untyped-def]
    """½ mean_j r_ij − ¼ mean r over the component of each node: what L⁺ takes from either node."""
    n = place.size
    start = 0
    while start < n:
        stop = start
        total = 0.0
        while stop < n and component[stop] == component[start]:
            total += place[stop]
            stop += 1
        count, before, mean = stop - start, 0.0, 0.0
        for i in range(start, stop):
            # Those before are place_i − place_j away, those behind place_j − place_i.
            below = i - start
            ahead = total - before - place[i]
            away = (2 * below + 1 - count) * place[i] - before + ahead
            before += place[i]
            out[i] = 0.5 * away / count
            mean += out[i]
        mean /= 2 * count
        for i in range(start, stop):
            out[i] -= mean
        start = stop


@compiled(FAST)
def couple(component, log_own, log_way, place, distance, left, right, values):  # type: ignore[no-untyped-def]
    """Base values between nodes `left` and `right`, turned into those of the coupled kernel."""
    for r in range(left.size):
        i, row = left[r], values[r]
        for c in range(right.size):
            j = right[c]
            if component[i] != component[j]:
                row[c] = 0.0
                continue
            first, last = min(i, j), max(i, j)
            share = np.exp(log_own[first] + (log_way[last] - log_way[first]))
            flow = distance[i] + distance[j] - 0.5 * (place[last] - place[first])
            row[c] = share * row[c] + flow


@compiled(EXACT)
def chain_offsets(component, place, distance, z):  # type: ignore[no-untyped-def]
    """Σ_j L⁺_ij z_j for all nodes, in one pass over each component."""
    n = place.size
    out = np.zeros(n)
    start = 0
    while start < n:
        stop = start
        total, weighted, far = 0.0, 0.0, 0.0
        while stop < n and component[stop] == component[start]:
            total += z[stop]
            weighted += z[stop] * place[stop]
            far += z[stop] * distance[stop]
            stop += 1
        before, moment = 0.0, 0.0
        for i in range(start, stop):
            before += z[i]
            moment += z[i] * place[i]
            away = place[i] * (2.0 * before - total) - 2.0 * moment + weighted
            out[i] = distance[i] * total + far - 0.5 * away
        start = stop
    return out
