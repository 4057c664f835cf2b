"""The path of hyperplanes of an adaptive machine: samples, graph, solution, and what is new.

`CoupledPath` is the engine that `AdaptiveSVC` and `AdaptiveSVR` hold. It has one hyperplane for
each sample, in the order of a graph:

    time      each instant is linked to the next; a link over a gap weighs 1, or unit/gap
    space     i ~ j where either is among the k nearest of the other, links of weight 1
    given     any symmetric matrix of weights ≥ 0; its diagonal is ignored

Samples of the same time follow each other in the order given.

Along time samples can be appended without solving for everything again. What one changes fades
along the chain. Hyperplanes are found from the last one back until they move by too little to
matter, so that what is left undone adds up to less than `lag_tol` of the largest of them
(`solvers.coupled.trail`). Older ones stay as they are, and still influence the new ones.

1/n, the scale of the penalty, would change with every sample, and with it all hyperplanes. It is
brought up to date whenever the number of samples has doubled, together with the unit of time that
gaps are measured in. Everything is solved for then, which costs each sample no more than being
solved for twice.

Appending works on a path of its own, which shares the arrays of this one up to their ends. What it
finds is adopted at once, under a lock that whatever reads the path takes: other threads, and the
callback, see the path as it was before or as it is after, and never wait for a solver.

The engine is one class, and so one file, longer than most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import warn_user
from lindero.graphs.graph import Chain, Graph, find_typical_gap, link_times
from lindero.kernels.coupled import CoupledKernel
from lindero.kernels.coupled_graph import GraphKernel, find_shares
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.models.coupled_machine import CoupledKernelMachine, HyperplaneField
from lindero.problems.coupled import Anchor, CoupledMargin, CoupledProblem, CoupledTube
from lindero.problems.dual_qp import Judgement, upper_bounds
from lindero.runtime.arrays import Array, dense
from lindero.runtime.threads import lock_of
from lindero.solvers.choose import SMALL_FIT_ROWS, GeneralSolver
from lindero.solvers.coupled.interior_point import CoupledInteriorPointSolver
from lindero.solvers.coupled.trail import Extension, Trail
from lindero.solvers.solution import Certificate, Limits, Status
from lindero.svm.adaptive.places import Places
from lindero.svm.adaptive.times import ROW_NUMBERS, TimeAxis
from lindero.svm.judging import warn_if_indefinite
from lindero.validation import advise_scaling, make_kernel_function

#: What to do where a fit stopped early, if not to allow more; who stops it by a callback knows.
_ADVICE = {Status.PRECISION: " Lower C or coupling, or raise tol.", Status.CALLBACK: ""}

#: New samples that are followed at once.
_AT_ONCE = 32

#: The order of a single sample.
_ONLY = np.zeros(1, dtype=np.intp)

_FIRST_ROOM = 64

#: Rows that a kernel is evaluated for at once on a graph.
_ROWS_AT_ONCE = 256

#: Multipliers whose signed sum is no more than this share of them sum to zero.
_BALANCED = 1e-14

#: Attributes of a path, and what model files call them.
_STORED = {
    "kind": "_kind",
    "axis": "_axis",
    "samples": "_path",
    "function": "_function",
    "C": "_fitted_C",
    "trail": "_trail",
    "vectors": "_vectors",
    "n_scale": "n_scale_",
    "scale_follows": "_scale_follows",
    "unit": "_unit",
    "given_graph": "_given",
    "coupling": "coupling_",
    "n_iter": "n_iter_",
    "_certificate": "_certificate",
    "fit_status": "fit_status_",
}


@dataclass(frozen=True)
class PathParameters:
    """Parameters of the estimator that a path keeps from its beginning on."""

    C: float
    coupling: Any
    graph: Any
    n_neighbors: int
    metric: str
    kernel: Any
    degree: int
    gamma: Any
    coef0: float
    time_weighted: bool
    blend: int
    n_scale: float | None

    @classmethod
    def of(cls, estimator: Any) -> PathParameters:
        """Those of an estimator; what streams choose for themselves is 1 for C, and hyperplanes."""
        given = {name: getattr(estimator, name) for name in cls.__dataclass_fields__}
        if given["C"] == "auto":
            given["C"] = 1.0
        if isinstance(given["kernel"], str) and given["kernel"] == "auto":
            given["kernel"] = "linear"
        return cls(**given)

    @property
    def kind(self) -> str:
        """The kind of the graph."""
        return self.graph if isinstance(self.graph, str) else "given"


class Effort(NamedTuple):
    """Parameters of the estimator that each call has anew: how exactly to solve."""

    tol: float
    cache_size: float
    horizon: int | None
    lag_tol: float


class PathSamples:
    """Samples in the order of the graph, and for each machine what was found: hyperplanes `theta`
    (machines, n, d + 1) and multipliers `a` (machines, sides, n).

    Node i is row `rows[i]` as the user counts them. Its time is a number in `times`, and as it was
    given, of the dtype `times` of the constructor, in `given`. Arrays grow by doubling, so that
    appending single samples costs no more than the samples do.

    `found` are hyperplanes and multipliers of a machine from some node on that are to be written to
    the arrays before anything is read from there: an interrupt cannot leave half of them.
    """

    found: dict[int, tuple[int, Array, Array]] | None = None

    def __init__(self, n_features: int, n_machines: int, n_sides: int, times: Any) -> None:
        self.n_nodes = 0
        self.in_order = True
        # The axis that grows, and the array.
        self._arrays: dict[str, tuple[int, Array]] = {
            "X": (0, np.empty((0, n_features))),
            "targets": (0, np.empty(0)),
            "factors": (0, np.empty(0)),
            "times": (0, np.empty(0)),
            "given": (0, np.empty(0, dtype=times)),
            "rows": (0, np.empty(0, dtype=np.int64)),
            "theta": (1, np.empty((n_machines, 0, n_features + 1))),
            "a": (2, np.empty((n_machines, n_sides, 0))),
        }

    def __getstate__(self) -> dict[str, Any]:
        # Room that is not used need not travel.
        self._write_found()
        used = {name: (axis, self._used(name).copy()) for name, (axis, _) in self._arrays.items()}
        return {**self.__dict__, "_arrays": used}

    def branch(self, apart: bool) -> PathSamples:
        """The same samples, to which others can be appended while these stay as they are. Arrays
        are shared, unless `apart`, where hyperplanes and multipliers are copied."""
        self._write_found()
        other = PathSamples.__new__(PathSamples)
        other.__dict__ = {**self.__dict__, "_arrays": dict(self._arrays)}
        if apart:
            for name in ("theta", "a"):
                other._arrays[name] = (self._arrays[name][0], self._used(name).copy())
        return other

    def _write_found(self) -> None:
        """Write what was found to the arrays; interrupted, it is done again by the next reader."""
        if self.found is not None:
            theta, a = self._used("theta"), self._used("a")
            for machine, (start, found_theta, found_a) in self.found.items():
                theta[machine, start:], a[machine, :, start:] = found_theta, found_a
            self.found = None

    def state(self) -> dict[str, Any]:
        """What is saved."""
        self._write_found()
        return {"in_order": self.in_order, **{name: self._used(name) for name in self._arrays}}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> PathSamples:
        """The samples of that `state`."""
        n_machines, n_sides, n_nodes = state["a"].shape
        samples = cls(state["X"].shape[1], n_machines, n_sides, state["given"].dtype)
        samples.n_nodes, samples.in_order = n_nodes, state["in_order"]
        samples._arrays = {name: (axis, state[name]) for name, (axis, _) in samples._arrays.items()}
        return samples

    def _used(self, name: str) -> Array:
        axis, array = self._arrays[name]
        used: Array = array[(slice(None),) * axis + (slice(0, self.n_nodes),)]
        return used

    X = property(lambda self: self._used("X"))
    targets = property(lambda self: self._used("targets"))
    factors = property(lambda self: self._used("factors"))
    times = property(lambda self: self._used("times"))
    given = property(lambda self: self._used("given"))
    rows = property(lambda self: self._used("rows"))

    @property
    def theta(self) -> Array:
        self._write_found()
        return self._used("theta")

    @property
    def a(self) -> Array:
        self._write_found()
        return self._used("a")

    def extend(
        self, rows: Array, X: Array, targets: Array, factors: Array, times: Array, given: Array
    ) -> None:
        """More samples, last in the graph; `rows` are their places in the table they came in."""
        self._write_found()
        n_new = len(targets)
        new = {"X": X, "targets": targets, "factors": factors, "times": times, "given": given}
        new["rows"] = self.n_nodes + rows
        in_order = n_new == 0 or bool(rows[0] == 0 and (n_new == 1 or (np.diff(rows) > 0).all()))
        self.in_order = self.in_order and in_order
        start, stop = self.n_nodes, self.n_nodes + n_new
        for name, (axis, array) in self._arrays.items():
            if stop > array.shape[axis]:
                shape = list(array.shape)
                shape[axis] = stop if start == 0 else max(_FIRST_ROOM, 2 * stop)
                longer = np.empty(shape, dtype=array.dtype)
                longer[(slice(None),) * axis + (slice(0, start),)] = self._used(name)
                self._arrays[name] = (axis, longer)
            if name in new:
                self._arrays[name][1][start:stop] = new[name]
        self.n_nodes = stop

    def by_row(self, values: Array, axis: int) -> Array:
        """A copy of values of nodes along `axis`, in the order of the rows as users gave them."""
        if self.in_order:
            return values.copy()
        return np.take(values, self.places(), axis=axis)

    def places(self) -> Array:
        """The node of each row."""
        place = np.empty(self.n_nodes, dtype=np.int64)
        place[self.rows] = np.arange(self.n_nodes)
        return place


class CoupledPath:
    """Samples on a graph, a problem for each machine, and the hyperplanes that solve them.

    `losses` has one item for each machine: a margin for each class, or a tube. `trail` is where
    following the end stands, once a path of hyperplanes along time is solved. `vectors` are the
    rows of a kernel: all of them at first, the support vectors once it is solved.

    Only a path with a `trail` ever changes, in `extend`. Who reads it in several steps does so
    while it is `held`.
    """

    losses: tuple[CoupledMargin | CoupledTube, ...]
    axis: TimeAxis
    #: Where samples are, on graphs other than time, if not where their features say; of kernels
    #: always. Whether users gave them apart from features.
    places: Places | None
    placed_apart: bool
    nearest: Any
    n_iter: Array
    fit_status: int
    _certificate: Certificate | None

    #: The thread that is appending samples.
    _learner: int | None = None

    _shares: list[tuple[Array, Array]] | None = None

    def __init__(
        self,
        parameters: PathParameters,
        losses: Sequence[CoupledMargin | CoupledTube],
        X: Any,
        targets: Array,
        weights: Array,
        times: Any = None,
        places: Places | None = None,
    ) -> None:
        """Hold these samples, in the order of their graph; nothing is solved. `places` is where
        they are, if that is not what their features say."""
        n_rows = X.shape[0]
        linear = parameters.kernel == "linear"
        self.kind = parameters.kind
        _require_plain_graph(parameters, times, places, n_rows)
        upper_bounds(parameters.C, weights)  # refuses what overflows
        if linear and sp.issparse(X):
            X = X.toarray()
        self.losses = tuple(losses)
        self.axis, order = ROW_NUMBERS, np.arange(n_rows)
        numbers = given = np.arange(float(n_rows))
        parts = (X if linear else np.empty((n_rows, 0)), targets, weights)
        if times is not None:
            self.axis = TimeAxis.of(times)
            numbers, given = self.axis.read(times, n_rows)
            order = np.argsort(numbers, kind="stable")
            numbers, given = numbers[order], given[order]
            parts = parts[0][order], targets[order], weights[order]
        n_features, n_sides = parts[0].shape[1], self.losses[0].n_sides
        self.samples = PathSamples(n_features, len(self.losses), n_sides, given.dtype)
        self.samples.extend(order, *parts, numbers, given)
        self.placed_apart = places is not None
        if self.kind != "time" and places is None and not linear:
            places = Places(np.array(dense(X), dtype=np.float64))
        self.places, self.nearest = places, None
        if self.kind != "time":
            self.nearest = self._all_places.finder(parameters.blend)
        self.function: KernelFunction = make_kernel_function(parameters, X, weights)
        self.C = parameters.C
        self.trail: Trail | None = None
        self.vectors: Any = None if linear else X
        self.n_scale = float(n_rows if parameters.n_scale is None else parameters.n_scale)
        self.scale_follows = parameters.n_scale is None
        self.unit = find_typical_gap(self.samples.times) if parameters.time_weighted else None
        self.given_graph = None if self.kind == "time" else self._link(parameters)
        self.coupling = 1.0 if parameters.coupling == "auto" else float(parameters.coupling)

    def _link(self, parameters: PathParameters) -> Graph:
        if self.kind == "space":
            return self._all_places.link(parameters.n_neighbors)
        return read_graph(parameters.graph, self.n_nodes)

    @property
    def _all_places(self) -> Places:
        """Where the samples are."""
        return Places(self.samples.X) if self.places is None else self.places

    # -- what threads share -----------------------------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[None]:
        """While inside, no other thread changes the path."""
        with lock_of(self):
            yield

    def keep(self) -> CoupledPath:
        """The path as it is now, which nothing changes any more. Taken while samples are appended,
        it has no followers: they are made anew from its multipliers."""
        if self.trail is None:
            return self
        kept = CoupledPath.__new__(CoupledPath)
        with lock_of(self):
            kept.__dict__ = dict(self.__dict__, _learner=None)
            kept.samples, kept.trail = copy(self.samples), deepcopy(self.trail)
        return kept

    def release(self) -> None:
        """Drop the followers, which the next samples make anew from the multipliers."""
        with lock_of(self):
            if self.trail is not None:
                self.trail = Trail(self.trail.n_scaled, self.trail.touched)

    def _branch(self, apart: bool) -> CoupledPath:
        """A path to append samples to. It has the followers until it is adopted."""
        ahead = CoupledPath.__new__(CoupledPath)
        with lock_of(self):
            trail = self.trail
            assert trail is not None
            ahead.__dict__ = dict(self.__dict__)
            ahead.samples = self.samples.branch(apart)
            self.trail, self._learner = Trail(trail.n_scaled, trail.touched), threading.get_ident()
        return ahead

    def _adopt(self, ahead: CoupledPath) -> None:
        with lock_of(self):
            self.__dict__ = ahead.__dict__

    # -- what is saved ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What is saved, by the names that model files have for it, of a path that was kept."""
        state = {stored: getattr(self, name) for name, stored in _STORED.items()}
        state["shape_fit_"] = self.shape
        if isinstance(self.losses[0], CoupledTube):
            state["_fitted_epsilon"] = self.losses[0].epsilon
        if self.nearest is not None:
            state["n_nearest"] = self.nearest.n_neighbors
        if self.places is not None:
            state["_places"], state["_metric"] = self.places.given, self.places.metric
            state["_apart"] = self.placed_apart
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> CoupledPath:
        """The path of a `state`, out of which its own items are taken."""
        path = cls.__new__(cls)
        for name, stored in _STORED.items():
            setattr(path, name, state.pop(stored))
        del state["shape_fit_"]
        # By what the samples say, and not by which items there are, which nothing has checked.
        if path.a.shape[1] == CoupledTube.n_sides:
            path.losses = (CoupledTube(state.pop("_fitted_epsilon")),)
        else:
            path.losses = make_margins(max(2, len(path.theta)))
        path.places, path.nearest, path.placed_apart = None, None, False
        if path.kind != "time":
            if "_places" in state:
                path.places = Places(state.pop("_places"), state.pop("_metric"))
                path.placed_apart = state.pop("_apart")
            path.nearest = path._all_places.finder(state.pop("n_nearest"))
        return path

    # -- samples, graph, problems -----------------------------------------------------------------

    n_nodes = property(lambda self: self.samples.n_nodes)

    #: Hyperplanes (machines, nodes, parameters), and multipliers (machines, sides, nodes).
    theta = property(lambda self: self.samples.theta)
    a = property(lambda self: self.samples.a)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, and features."""
        table = self.samples.X if self.vectors is None else self.vectors
        return self.n_nodes, int(table.shape[1])

    @property
    def linear(self) -> bool:
        return self.function.name == "linear"

    @property
    def classifies(self) -> bool:
        return isinstance(self.losses[0], CoupledMargin)

    @property
    def graph(self) -> Chain | Graph:
        """The graph over the samples held."""
        if self.given_graph is not None:
            return self.given_graph
        return Chain(link_times(self.samples.times, self.unit))

    def state_problem(self, machine: int, start: int = 0, held: bool = True) -> CoupledProblem:
        """The problem of a machine from node `start` on; see `solvers.coupled.trail`."""
        samples, anchor = self.samples, None
        if start == 0:
            graph = self.graph
        else:
            links = link_times(samples.times[start - 1 :], self.unit)
            graph = Chain(links[1:])
            if held:
                anchor = Anchor(samples.theta[machine, start - 1], float(links[0]))
        return self.losses[machine].state(
            samples.X[start:], samples.targets[start:], self.C * samples.factors[start:],
            self.coupling, graph, self.n_scale, anchor,
        )  # fmt: skip

    # -- solving for everything -------------------------------------------------------------------

    def solve(self, limits: Limits, effort: Effort, n_before: int = 0) -> None:
        """Solve for everything held, after `n_before` other problems under the same limits."""
        begun = time.perf_counter()
        solve = self._solve_linear if self.linear else self._solve_kernel
        machines = range(len(self.losses))
        found = [solve(machine, limits, effort, n_before + machine) for machine in machines]
        parts = [
            Certificate.of(judgement, n_iter, seconds, status.value)
            for judgement, n_iter, seconds, status in found
        ]
        self.n_iter = np.array([max(1, part.n_iter) for part in parts], dtype=np.int32)
        self._certificate = self._join_certificates(parts, time.perf_counter() - begun)
        unfinished = [status for *_, status in found if status is not Status.OPTIMAL]
        self.fit_status = int(bool(unfinished))
        if unfinished and not limits.interrupted:
            self._warn_unfinished(unfinished, effort.tol)
        if self.vectors is not None:
            warn_if_indefinite(self.function, self.vectors, self.support)
            self.vectors = self.vectors[self.support]
        elif self.kind == "time":
            self.trail = Trail(self.n_nodes)

    def _solve_linear(
        self, machine: int, limits: Limits, effort: Effort, number: int
    ) -> tuple[Judgement, int, float, Status]:
        theta, a = self.theta[machine], self.a[machine]
        problem = self.state_problem(machine)
        if limits.interrupted:
            theta[:], a[:] = 0.0, 0.0
            judgement = problem.judge(theta, a)
            within = problem.relative_gap(judgement) <= effort.tol
            return judgement, 0, 0.0, Status.OPTIMAL if within else Status.INTERRUPTED
        solution = CoupledInteriorPointSolver(effort.tol).solve(problem, limits, number)
        theta[:], a[:] = solution.theta, solution.a
        # The solver has judged this very point, as `judge` would: it need not be done again.
        judgement = _balance(problem, solution.judgement, theta, a)
        status = solution.status
        if problem.relative_gap(judgement) <= effort.tol:
            status = Status.OPTIMAL
        elif status is Status.OPTIMAL:
            status = Status.PRECISION
        return judgement, solution.n_iter, solution.seconds, status

    def _solve_kernel(
        self, machine: int, limits: Limits, effort: Effort, number: int
    ) -> tuple[Judgement, int, float, Status]:
        samples = self.samples
        if self.given_graph is None:
            base = kernel_operator(self.vectors[samples.rows], self.function)
            links = link_times(samples.times, self.unit)
            kernel = CoupledKernel(base, links, self.coupling, self.n_scale)
            nodes = np.arange(self.n_nodes)
            return self._solve_part(machine, nodes, kernel, limits, effort, number)
        # Parts that are not linked are problems of their own.
        parts, component = [], self.given_graph.components
        for place in range(int(component.max()) + 1):
            nodes = np.flatnonzero(component == place)
            base = kernel_operator(self.vectors[nodes], self.function)
            weights = self.given_graph.weights[nodes][:, nodes]
            part = GraphKernel(base, weights, self.coupling, self.n_scale)
            parts.append(self._solve_part(machine, nodes, part, limits, effort, number))
        judgements, n_iter, seconds, statuses = zip(*parts, strict=True)
        worst = next((status for status in statuses if status is not Status.OPTIMAL), statuses[0])
        return _join_judgements(judgements), sum(n_iter), sum(seconds), worst

    def _solve_part(
        self,
        machine: int,
        nodes: Array,
        kernel: CoupledKernel | GraphKernel,
        limits: Limits,
        effort: Effort,
        number: int,
    ) -> tuple[Judgement, int, float, Status]:
        """Multipliers and offsets at some nodes that are linked to no others."""
        samples, loss = self.samples, self.losses[machine]
        problem = loss.state_dual(kernel, samples.targets[nodes], self.C * samples.factors[nodes])
        n_threads = 1 if problem.n_variables < SMALL_FIT_ROWS else None
        # The duality gap goes with the square of the gap in the conditions.
        solver = GeneralSolver(effort.tol**0.5, effort.cache_size, n_threads)
        solution = solver.solve(problem, None, limits, number)
        samples.a[machine][:, nodes] = solution.a.reshape(loss.n_sides, -1)
        z = problem.at_samples(problem.s * solution.a)
        samples.theta[machine, nodes, -1] = kernel.offsets(z) + solution.bias
        # By the problem alone, not by what the solver believes.
        judgement = problem.certify(solution.a, solution.bias, solver.tol, solution.f)
        status = solution.status.certify(judgement, solver.tol)
        return judgement, solution.n_iter, solution.seconds, status

    def _join_certificates(self, parts: Sequence[Certificate], seconds: float) -> Certificate:
        """One certificate for all machines; hyperplanes are judged by their duality gap."""
        joined = Certificate.join(parts, seconds)
        if not self.linear:
            return joined
        worded = [replace(c, status=_name_duality_gap(c.status)) for c in joined.parts]
        return replace(joined, status=_name_duality_gap(joined.status), parts=tuple(worded))

    def _warn_unfinished(self, unfinished: Sequence[Status], tol: float) -> None:
        certificate, n_machines = self._certificate, len(self.losses)
        assert certificate is not None
        which = f" ({len(unfinished)} of {n_machines} machines)" if n_machines > 1 else ""
        advice = _ADVICE.get(unfinished[0], " Raise max_iter, time_limit or tol.")
        gap = certificate.duality_gap / max(abs(certificate.primal), 1e-300)
        table = self.samples.X if self.vectors is None else self.vectors
        warn_user(
            f"{certificate.status}{which} The duality gap left is {gap:.3g} of the objective, tol "
            f"is {tol:.3g}.{advice}" + advise_scaling(table, self.function),
            ConvergenceWarning,
        )

    # -- going on ---------------------------------------------------------------------------------

    def extend(
        self, X: Array, targets: Array, factors: Array, times: Any, limits: Limits, effort: Effort
    ) -> None:
        """Append samples at the end of time, and find their hyperplanes. All or nothing."""
        if self._learner == threading.get_ident():
            raise ValueError(
                "partial_fit was called within the callback of another partial_fit of the same "
                "machine. Call it when that one has ended."
            )
        samples, n_new = self.samples, X.shape[0]
        numbers, given = self.axis.read(times, n_new, samples.n_nodes)
        if numbers.min() < samples.times[-1]:
            row = int(np.argmin(numbers))
            raise ValueError(
                f"times must not be before the last one known, {samples.given[-1]}, but that of "
                f"row {row} is {given[row]}. Call fit with all samples, which sorts them."
            )
        upper_bounds(self.C, factors)  # refuses what overflows
        new, order = [X, targets, factors, numbers, given], _ONLY
        if n_new != 1:
            order = np.argsort(numbers, kind="stable")
            new = [values[order] for values in new]
        at_once = n_new if n_new > samples.n_nodes else _AT_ONCE
        try:
            ahead = self._branch(apart=n_new > at_once)
            ahead._append(order, new, at_once, limits, effort)
            self._adopt(ahead)
        finally:
            self._learner = None

    def _append(
        self, order: Array, new: Sequence[Array], at_once: int, limits: Limits, effort: Effort
    ) -> None:
        """Append samples, so many at a time. What the last of them changes is in `samples.found`:
        until the path is adopted another one has the same arrays."""
        samples, trail = self.samples, self.trail
        assert trail is not None
        steps = Extension(self, trail, limits, effort.tol, effort.lag_tol)
        worst = Status.OPTIMAL
        for first in range(0, len(order), at_once):
            part, known = slice(first, first + at_once), samples.n_nodes
            steps.take_up()
            samples.extend(order[part] - first, *(values[part] for values in new))
            status = self._settle(steps, trail, known, effort.horizon)
            worst = worst if status is Status.OPTIMAL else status
            samples.found = steps.end()
        # A warning may be an error to the user: then nothing was changed either.
        if worst is not Status.OPTIMAL:
            warn_user(
                f"{worst.value.replace('KKT', 'duality')} Raise max_iter, time_limit or tol."
                + advise_scaling(samples.X, self.function),
                ConvergenceWarning,
            )
        self._certificate = None
        self.fit_status = int(worst is not Status.OPTIMAL)

    def _settle(self, steps: Extension, trail: Trail, known: int, horizon: int | None) -> Status:
        """Find hyperplanes after samples were appended to `known` ones; the least good status."""
        n_nodes, theta, a = self.n_nodes, self.theta, self.a
        theta[:, known:], a[:, :, known:] = theta[:, known - 1 : known], 0.0
        # New samples do not count, so that all are learned, however many come at once.
        earliest = 0 if horizon is None else max(0, known - horizon)
        trail.touched = n_nodes
        doubled = n_nodes >= 2 * trail.n_scaled
        if doubled:
            trail.n_scaled = n_nodes
            if self.scale_follows:
                self.n_scale = float(n_nodes)
            if self.unit is not None:
                self.unit = find_typical_gap(self.samples.times)
        changed = doubled and (self.scale_follows or self.unit is not None)
        worst = Status.OPTIMAL
        for machine in range(len(theta)):
            if changed or (doubled and horizon is None):
                status = steps.solve(machine, 0)
            else:
                status = steps.follow(machine, known, earliest)
            worst = worst if status is Status.OPTIMAL else status
        return worst

    # -- judging ----------------------------------------------------------------------------------

    def certificate(self, tol: float) -> Certificate:
        """How near the path is to the optimum; after `extend`, of the nodes touched last."""
        with lock_of(self):
            if self._certificate is None:
                assert self.trail is not None
                self._certificate = self.judge(self.trail.touched, tol)
                if not self._certificate.status.endswith("within tol."):
                    self.fit_status = 1
            return self._certificate

    def find_status(self, tol: float) -> int:
        """0 if the optimum was reached, as the certificate says, 1 otherwise."""
        with lock_of(self):
            self.certificate(tol)
            return self.fit_status

    def judge(self, start: int, tol: float) -> Certificate:
        """The certificate of nodes from `start` on, by nothing but samples and multipliers."""
        begun, parts = time.perf_counter(), []
        for machine, (theta, a) in enumerate(zip(self.theta, self.a, strict=True)):
            problem = self.state_problem(machine, start)
            a = np.clip(a[:, start:], 0.0, problem.u)
            judgement = _balance(problem, problem.judge(theta[start:], a), theta[start:], a)
            within = problem.relative_gap(judgement) <= tol
            status = f"Recomputed: the duality gap is {'within' if within else 'above'} tol."
            parts.append(Certificate.of(judgement, 0, 0.0, status))
        joined = Certificate.join(parts, time.perf_counter() - begun)
        above = [part.status for part in parts if part.status.endswith("above tol.")]
        return replace(joined, status=above[0]) if above else joined

    # -- support vectors --------------------------------------------------------------------------

    @property
    def support(self) -> Array:
        """Rows that are support vectors, of any machine."""
        held = (self.a > 0.0).any(axis=(0, 1))
        support: Array = np.sort(self.samples.rows[held]).astype(np.int32)
        return support

    def dual_coefficients(self) -> Array:
        """Multipliers of the support vectors, with their signs: (machines, vectors)."""
        samples = self.samples
        rows = [loss.terms(samples.targets, samples.factors) for loss in self.losses]
        signed = [np.einsum("ij,ij->j", s, a) for (s, _, _), a in zip(rows, self.a, strict=True)]
        return samples.by_row(np.stack(signed), -1)[:, self.support]

    # -- decisions --------------------------------------------------------------------------------

    def values(self, X: Any, times: Any = None, positions: Any = None) -> Array:
        """The output of each machine for each row of X: (rows, machines)."""
        if self.kind != "time":
            if times is not None:
                raise ValueError("times are for graph='time' only: leave them out.")
            return self._blend(X, positions)
        if positions is not None:
            raise ValueError("positions are for graphs other than 'time': leave them out.")
        n_rows = X.shape[0]
        numbers = None if times is None else self.axis.numbers(times, n_rows, one_for_all=True)
        if not self.linear:
            return self._kernel_values(X, self._positions(numbers, n_rows))
        X = dense(X)
        if numbers is None:
            with lock_of(self):
                theta = self.theta[:, -1:].copy()
            values: Array = X @ theta[:, -1, :-1].T + theta[:, -1, -1]
            return values
        with lock_of(self):
            theta, positions = self.theta, self._positions(numbers, n_rows)
            fields = [HyperplaneField(t[:, :-1], t[:, -1]) for t in theta]
            return np.stack([field.decision_values(X, positions) for field in fields], axis=1)

    def _positions(self, numbers: Array | None, n_rows: int) -> Array:
        """Where along the chain times are: at a node, or so far on the way to the next. A time of
        several samples is at the last of them, no time is the end."""
        held = self.samples.times
        last = len(held) - 1
        if numbers is None:
            return np.full(n_rows, float(last))
        before = np.searchsorted(held, numbers, side="right") - 1
        inside = (before >= 0) & (before < last)
        positions: Array = np.clip(before, 0, last).astype(np.float64)
        at = before[inside]
        positions[inside] += (numbers[inside] - held[at]) / (held[at + 1] - held[at])
        return positions

    def _blend(self, X: Any, positions: Any) -> Array:
        """By the functions of the nearest samples, weighed by 1/distance."""
        places = self._place(X, positions)
        distances, nodes = self.nearest.kneighbors(places.measured)
        far = np.flatnonzero(~np.isfinite(distances).all(axis=1))
        if len(far):
            raise ValueError(
                f"Row {far[0]} holds values too large to compute distances with: their squares "
                "overflow. Use the units that the model was fitted to."
            )
        met = distances == 0.0
        with np.errstate(divide="ignore"):
            shares = np.where(met.any(axis=1, keepdims=True), met, 1.0 / distances)
        shares /= shares.sum(axis=1, keepdims=True)
        values = np.zeros((X.shape[0], len(self.losses)))
        X = dense(X) if self.linear else X
        for k in range(nodes.shape[1]):
            theta = self.theta[:, nodes[:, k]]
            if self.linear:
                reach = np.einsum("ij,mij->im", X, theta[:, :, :-1]) + theta[:, :, -1].T
            else:
                reach = self._place_values(X, nodes[:, k]) + theta[:, :, -1].T
            values += shares[:, [k]] * reach
        return values

    def _place(self, X: Any, positions: Any) -> Places:
        """Where new rows are."""
        if self.placed_apart:
            assert self.places is not None
            if positions is None:
                raise ValueError("positions are needed: one for each row, as in fit.")
            return self.places.read_more(positions, X.shape[0])
        if positions is not None:
            raise ValueError(
                "positions were not given to fit, where features are the places: leave them out."
            )
        return Places(dense(X))

    def _place_values(self, X: Any, nodes: Array) -> Array:
        """n Σ_j (I + C₂L)⁻¹_ij z_j k(x_j, x) of each machine, for rows at nodes of a graph."""
        coefficients, support = self.dual_coefficients().T, self.support
        base = kernel_operator(self.vectors, self.function)
        values = np.zeros((len(nodes), coefficients.shape[1]))
        for members, shares in self._shares_of_parts():
            place = np.full(self.n_nodes, -1)
            place[members] = np.arange(len(members))
            among = np.flatnonzero(place[support] >= 0)
            vectors, own = place[support[among]], np.flatnonzero(place[nodes] >= 0)
            for first in range(0, len(own), _ROWS_AT_ONCE):
                rows = own[first : first + _ROWS_AT_ONCE]
                block = np.empty((len(rows), base.n_samples), dtype=base.dtype)
                base.block(base.probe_of(X[rows]), 0, base.n_samples, block)
                reach = block[:, among] * shares[np.ix_(place[nodes[rows]], vectors)]
                values[rows] = self.n_scale * (reach @ coefficients[among])
        return values

    def _shares_of_parts(self) -> list[tuple[Array, Array]]:
        """The nodes of each part of the graph, and (I + C₂L)⁻¹ over them; found once."""
        if self._shares is None:
            graph, parts = self.given_graph, []
            assert isinstance(graph, Graph)
            for number in range(int(graph.components.max()) + 1):
                nodes = np.flatnonzero(graph.components == number)
                weights = graph.weights[nodes][:, nodes]
                parts.append((nodes, find_shares(weights, self.coupling)))
            self._shares = parts
        return self._shares

    def __getstate__(self) -> dict[str, Any]:
        # Follows from the graph, and is large.
        return {name: value for name, value in self.__dict__.items() if name != "_shares"}

    def _kernel_values(self, X: Any, positions: Array) -> Array:
        samples = self.samples
        kernel = CoupledKernel(
            kernel_operator(self.vectors, self.function),
            link_times(samples.times, self.unit),
            self.coupling,
            self.n_scale,
            samples.places()[self.support],
        )
        values = np.empty((X.shape[0], len(self.losses)))
        for machine, z in enumerate(self.dual_coefficients()):
            # What offsets add is in θ already: the bias is what is left of it at any node.
            bias = samples.theta[machine, 0, -1] - kernel.offsets(z)[0]
            fitted = CoupledKernelMachine(kernel, z, np.array([bias]))
            values[:, machine] = fitted.decision_values(X, positions)
        return values


# -- machines and their decisions -----------------------------------------------------------------


def make_margins(n_classes: int) -> tuple[CoupledMargin, ...]:
    """One machine for two classes, otherwise one for each class against the rest."""
    positive = (1,) if n_classes == 2 else range(n_classes)
    return tuple(CoupledMargin(float(code)) for code in positive)


def decide(values: Array) -> Array:
    """The position among the classes that outputs of machines decide for."""
    one = values.shape[1] == 1
    codes: Array = (values[:, 0] >= 0).astype(np.intp) if one else np.argmax(values, axis=1)
    return codes


def _balance(problem: CoupledProblem, judgement: Judgement, theta: Array, a: Array) -> Judgement:
    """A judgement of a point, by multipliers near its own that sum to zero if those do not: they
    prove it, and multipliers that were followed along for long are a little off."""
    if judgement.infeasibility <= _BALANCED * float(a.sum()):
        return judgement
    return problem.judge(theta, problem.nearest_feasible(a))


def _join_judgements(parts: Sequence[Judgement]) -> Judgement:
    """What is known of independent problems together."""
    return Judgement(
        max(part.kkt_gap for part in parts),
        sum(part.primal for part in parts),
        sum(part.dual for part in parts),
        max(part.infeasibility for part in parts),
        max(part.accuracy for part in parts),
    )


def _name_duality_gap(status: str) -> str:
    return status.replace("KKT gap", "duality gap")


# -- graphs that users ask for --------------------------------------------------------------------


def _require_plain_graph(
    parameters: PathParameters, times: Any, places: Places | None, n_rows: int
) -> None:
    """Refuse what is for other graphs."""
    if parameters.kind == "time":
        if places is not None:
            raise ValueError(
                "positions are for graphs other than 'time': set graph='space', or leave them out."
            )
        return
    if times is not None:
        raise ValueError("times are for graph='time' only: leave them out.")
    if places is None and parameters.metric != "euclidean":
        raise ValueError(
            f"metric={parameters.metric!r} needs positions: give fit latitude and longitude of "
            "each row in degrees, as positions=."
        )
    if parameters.blend > n_rows:
        raise ValueError(
            f"blend={parameters.blend} is more than the number of rows: n_samples = {n_rows}."
        )


def read_graph(graph: Any, n_rows: int) -> Graph:
    """A matrix of weights as a graph over the rows of X."""
    try:
        weights = sp.coo_array(graph, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"graph must be 'time', 'space' or a matrix of weights, but cannot be read: {error}"
        ) from None
    if weights.ndim != 2 or weights.shape != (n_rows, n_rows):
        raise ValueError(
            f"graph has shape {weights.shape}, but X has {n_rows} rows: pass a square matrix with "
            "the weight of the link between each two rows."
        )
    return Graph(weights)
