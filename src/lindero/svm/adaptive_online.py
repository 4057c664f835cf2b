"""New samples at the end of a path, without solving for all of it again.

What a sample changes fades along the chain. So only a window of the last hyperplanes is solved for,
with the one before it held where it is (`problems.coupled.Anchor`), and the window is long enough
if the hyperplane a quarter of the way into it hardly moves: the held one, if it were free, would
move less. (The first ones of the window do not tell, since they are held back.) In numbers,

    ‖θ_k − θ_k'‖ ≤ lag_tol/2 · max ‖θ‖ over the window

with k the node watched and θ_k' where it was when the window was begun, so that small movements
cannot add up unseen. A window that is too short is doubled, and solved again. Its start stays where
it is while samples come; when it has half as many samples again as it needs it is moved, and it
needs less where what is watched moved by far less than it might.

1/n, the scale of the penalty, would change with every sample, and with it all hyperplanes. It is
brought up to date whenever the number of samples has doubled, together with the unit of time that
gaps are measured in; everything (up to the horizon) is solved for then, which costs each sample no
more than being solved for twice.

The states of all rows but the new ones are known, nearly: `solvers.chain_active_set` starts from
them, and where it fails the interior-point method from nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from lindero.kernels.functions import Array
from lindero.problems.coupled import Anchor, CoupledProblem
from lindero.problems.node_graphs import Chain
from lindero.solvers.chain_active_set import follow_chain
from lindero.solvers.coupled_interior_point import CoupledInteriorPointSolver
from lindero.solvers.limits import Limits
from lindero.solvers.solution import Status
from lindero.svm.adaptive_graphs import gap_unit, time_links
from lindero.svm.adaptive_path import AdaptivePath
from lindero.svm.margin_machine import unfitted_copy
from lindero.svm.progress import reporting
from lindero.svm.training import upper_bounds
from lindero.validation import row_factors

#: The share of `lag_tol` that the hyperplane watched may move by: what is held moves again while
#: later windows are, each time by less.
_SHARE = 0.5

#: How far into a window that hyperplane is.
_WATCHED = 0.25

#: Where it moved by less than this share of that, windows become shorter.
_HARDLY = 0.3
_SHORTER = 0.8

#: The shortest window, in samples, and the first one tried.
_LEAST_LAG = 12
_FIRST_LAG = 32

#: When a window has grown to this many times what it needs, its start is moved.
_GROWN = 1.5

#: With more new samples than this share of a window, too little of it is known.
_FEW_NEW = 0.125


@dataclass(frozen=True)
class Window:
    """Nodes from `start` on are solved for when samples come. `lag` is how many are needed,
    `watched` the node that tells whether they suffice, `reference` (machines, d + 1) where that one
    was, `solved` where the last solution began, and `n_scaled` the number of samples at which the
    scale was last brought up to date."""

    start: int
    lag: int
    watched: int
    reference: Array
    solved: int
    n_scaled: int

    @classmethod
    def after(cls, path: AdaptivePath) -> Window:
        """The window after all of a path was solved for."""
        start = max(0, path.n_nodes - _FIRST_LAG)
        watched, reference = _watched(path.theta, start)
        return cls(start, _FIRST_LAG, watched, reference, 0, path.n_nodes)


def _watched(theta: Array, start: int, first: int = 0) -> tuple[int, Array]:
    """The node that tells whether a window from `start` on is long enough, and where it is now;
    `theta` are hyperplanes from node `first` on."""
    node = start + int(_WATCHED * (first + theta.shape[1] - start))
    return node, theta[:, node - first].copy()


@dataclass(frozen=True)
class Tail:
    """Samples from node `start` on, new ones at the end: what a window is solved from."""

    start: int
    X: Array
    targets: Array
    factors: Array
    times: Array
    theta: Array
    a: Array

    @classmethod
    def of(cls, path: AdaptivePath, start: int, new: tuple[Array, ...]) -> Tail:
        """Held samples from `start` on, and new ones: rows, targets, factors and times. New
        hyperplanes begin as the last one known, and nothing is known of their multipliers."""
        X, targets, factors, times = new
        more = len(targets)
        theta, a = path.theta[:, start:], path.a[:, :, start:]
        return cls(
            start,
            np.concatenate([path.X[start:], X]),
            np.concatenate([path.targets[start:], targets]),
            np.concatenate([path.factors[start:], factors]),
            np.concatenate([path.times[start:], times]),
            np.concatenate([theta, np.repeat(theta[:, -1:], more, axis=1)], axis=1),
            np.concatenate([a, np.zeros((*a.shape[:2], more))], axis=2),
        )


def learn(machine: Any, new: tuple[Array, ...], rows: Array, given: Array) -> None:
    """Append samples to the path of a fitted machine (`new` as in `Tail.of`, sorted by time;
    `rows` is where each stands in the user's table, `given` its time as the user gave it). All or
    nothing: the machine is changed when everything is known."""
    path, window = machine._path, machine._window
    n_nodes = path.n_nodes + len(rows)
    scale, unit, n_scaled = machine.n_scale_, machine._unit, window.n_scaled
    everything = n_nodes >= 2 * n_scaled
    if everything:
        n_scaled = n_nodes
        scale = float(n_nodes) if machine.n_scale is None else scale
        unit = None if unit is None else gap_unit(np.concatenate([path.times, new[3]]))
        everything = machine.n_scale is None or unit is not None
    earliest = 0 if machine.horizon is None else max(0, n_nodes - machine.horizon)
    start = 0 if everything else window.start
    start = min(max(start, earliest), path.n_nodes - 1)
    watched, reference, lag = window.watched, window.reference, window.lag
    if start != window.start:
        watched, reference = _watched(path.theta, start)
    with reporting(bool(machine.verbose), machine.callback) as callback:
        limits = machine._limits(callback)
        while True:
            tail = Tail.of(path, start, new)
            theta, a, worst = _solved(machine, tail, scale, unit, limits)
            size = np.sqrt(np.einsum("mij,mij->mi", theta, theta)).max()
            moved = np.linalg.norm(theta[:, watched - start] - reference, axis=1).max()
            allowed = _SHARE * machine.lag_tol * size
            if start <= earliest or moved <= allowed:
                break
            start = max(earliest, n_nodes - int(1.5 * (n_nodes - start)))
            watched, reference = _watched(path.theta, start)
            lag = n_nodes - start
    if worst is not Status.OPTIMAL:
        warnings.warn(
            f"{worst.value.replace('KKT', 'duality')} Raise max_iter, time_limit or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    known = Window(start, lag, watched, reference, start, n_scaled)
    known = _moved_on(known, theta, n_nodes, hardly=moved <= _HARDLY * allowed)
    path.extend(*new, rows, given)
    path.theta[:, start:], path.a[:, :, start:] = theta, a
    machine._window, machine.n_scale_, machine._unit = known, scale, unit
    machine._certificate = None
    machine.shape_fit_ = (n_nodes, path.X.shape[1])
    machine.fit_status_ = int(worst is not Status.OPTIMAL)


def _moved_on(window: Window, theta: Array, n_nodes: int, hardly: bool) -> Window:
    """The window for the next samples, its start moved if it has grown too long."""
    if n_nodes - window.start < _GROWN * window.lag:
        return window
    lag = max(_LEAST_LAG, int(_SHORTER * window.lag)) if hardly else window.lag
    start = n_nodes - lag
    watched, reference = _watched(theta, start, first=window.start)
    return replace(window, start=start, lag=lag, watched=watched, reference=reference)


def _solved(
    machine: Any, tail: Tail, scale: float, unit: float | None, limits: Limits
) -> tuple[Array, Array, Status]:
    """Hyperplanes and multipliers of a tail, and the least good status."""
    bounds = upper_bounds(machine._fitted_C, tail.factors)
    worst = Status.OPTIMAL
    theta, a = np.empty_like(tail.theta), np.empty_like(tail.a)
    n_known = machine._path.n_nodes - tail.start
    few = len(bounds) - n_known <= max(1.0, _FEW_NEW * len(bounds))
    for number in range(len(theta)):
        problem = window_problem(machine, number, tail, bounds, scale, unit)
        found = follow_chain(problem, tail.theta[number], tail.a[number]) if few else None
        if found is None:
            solver = CoupledInteriorPointSolver(machine.tol)
            solution = solver.solve(problem, None, limits, number)
            if limits.interrupted:
                raise KeyboardInterrupt("Learning was interrupted. Nothing was changed.")
            if solution.status is not Status.OPTIMAL:
                worst = solution.status
            found = solution.theta, solution.a
        theta[number], a[number] = found
    return theta, a, worst


def window_problem(
    machine: Any, number: int, tail: Tail, bounds: Array, scale: float, unit: float | None
) -> CoupledProblem:
    """The problem of one machine over a tail, with the node before it held."""
    path, start, anchor = machine._path, tail.start, None
    links = time_links(tail.times, unit)
    if start > 0:
        to_first = time_links(np.array([path.times[start - 1], tail.times[0]]), unit)
        anchor = Anchor(path.theta[number, start - 1], float(to_first[0]))
    problem: CoupledProblem = machine._stated(
        number, tail.X, tail.targets, bounds, coupling=machine.coupling_, graph=Chain(links),
        n_scale=scale, anchor=anchor,
    )  # fmt: skip
    return problem


# -- calls of users -------------------------------------------------------------------------------


def can_go_on(machine: Any) -> bool:
    """Whether `partial_fit` is there: along time, with hyperplanes."""
    if not (isinstance(machine.graph, str) and machine.graph == "time"):
        raise AttributeError("partial_fit is for graph='time' only: call fit with all samples.")
    if machine.kernel != "linear":
        raise AttributeError("partial_fit is for kernel='linear' only: call fit with all samples.")
    return True


def begin_or_go_on(
    machine: Any, X: Any, y: Any, times: Any, sample_weight: Any, classes: Any = None
) -> Any:
    """`partial_fit`: begin a path with these samples, or append them to it."""
    if not hasattr(machine, "_path"):
        fitted = unfitted_copy(machine)
        X, targets = fitted._table(X, y, classes)
        if machine.coupling == "auto":
            raise ValueError(
                "coupling='auto' needs samples to choose by: call fit with the first ones, then "
                "partial_fit."
            )
        fitted._begin(X, targets, row_factors(sample_weight, X.shape[0], "sample_weight"), times)
        if fitted._solve(X):
            raise KeyboardInterrupt("Learning was interrupted. Nothing was changed.")
        machine.__dict__ = fitted.__dict__
        return machine
    X, targets = machine._further(X, y)
    if sp.issparse(X):
        X = X.toarray()
    path, n_rows = machine._path, X.shape[0]
    factors = row_factors(sample_weight, n_rows, "sample_weight")
    numbers, given = machine._axis.read(times, n_rows, path.n_nodes)
    if numbers.min() < path.times[-1]:
        row = int(np.argmin(numbers))
        raise ValueError(
            f"times must not be before the last one known, {path.given[-1]}, but that of row {row} "
            f"is {given[row]}. Call fit with all samples, which sorts them."
        )
    order = np.argsort(numbers, kind="stable")
    learn(machine, (X[order], targets[order], factors[order], numbers[order]), order, given[order])
    return machine
