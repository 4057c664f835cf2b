"""New samples at the end of a path, without solving for all of it again.

What a sample changes fades along the chain. Hyperplanes are found from the last one back until they
move by too little to matter, so that what is left undone adds up to less than `lag_tol` of the
largest of them (`adaptive_trail`). Older ones stay as they are, and keep their say in the new ones.

1/n, the scale of the penalty, would change with every sample, and with it all hyperplanes. It is
brought up to date whenever the number of samples has doubled, together with the unit of time that
gaps are measured in; everything is solved for then, which costs each sample no more than being
solved for twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import warn_user
from lindero.runtime.arrays import Array
from lindero.solvers.chain_follower import SPACING, ChainFollower
from lindero.solvers.solution import Limits, Status
from lindero.svm.adaptive_graphs import gap_unit
from lindero.svm.adaptive_trail import Trail, Undo, followed, resume, solved
from lindero.svm.progress import reporting
from lindero.svm.transaction import unfitted_copy
from lindero.validation import row_factors, scale_advice

#: New samples that are followed at once.
_AT_ONCE = 32


def learn(machine: Any, new: tuple[Array, ...], rows: Array, given: Array) -> None:
    """Append samples to the path of a fitted machine: `new` are rows, targets, factors and times,
    sorted by time; `rows` is where each stands in the user's table, `given` its time as the user
    gave it. All or nothing."""
    path, trail, n_new = machine._path, machine._trail, len(rows)
    at_once = n_new if n_new > path.n_nodes else _AT_ONCE
    undo = Undo(path, -(-n_new // at_once))
    before = machine.n_scale_, machine._unit
    trail_before = Trail(trail.n_scaled, trail.touched)
    worst = Status.OPTIMAL
    try:
        with reporting(bool(machine.verbose), machine.callback) as callback:
            limits = machine._limits(callback)
            for first in range(0, n_new, at_once):
                part, known = slice(first, first + at_once), path.n_nodes
                _take_up(machine)
                path.extend(*(values[part] for values in new), rows[part] - first, given[part])
                status = _settled(machine, known, limits, undo)
                worst = worst if status is Status.OPTIMAL else status
                undo.next_step()
        # A warning may be an error to the user: then nothing was changed either.
        if worst is not Status.OPTIMAL:
            warn_user(
                f"{worst.value.replace('KKT', 'duality')} Raise max_iter, time_limit or tol."
                + scale_advice(path.X, machine._function),
                ConvergenceWarning,
            )
    except BaseException:
        undo.everything()
        machine.n_scale_, machine._unit = before
        # Followers are made anew from the multipliers.
        vars(trail).update(vars(trail_before))
        raise
    machine._certificate = None
    machine.shape_fit_ = (path.n_nodes, path.X.shape[1])
    machine.fit_status_ = int(worst is not Status.OPTIMAL)


def _take_up(machine: Any) -> None:
    """Make followers for a path that has none."""
    trail, path = machine._trail, machine._path
    if not trail.followers:
        machines = range(len(path.theta))
        size, sides = path.theta.shape[2], path.a.shape[1]
        trail.followers = [ChainFollower(size, sides) for _ in machines]
        trail.depths = [float(SPACING) for _ in machines]
        for number in machines:
            resume(machine, number, 0, SPACING)


def _settled(machine: Any, known: int, limits: Limits, undo: Undo) -> Status:
    """Find the hyperplanes after samples were appended to `known` ones; the least good status."""
    path, trail = machine._path, machine._trail
    n_nodes = path.n_nodes
    path.theta[:, known:], path.a[:, :, known:] = path.theta[:, known - 1 : known], 0.0
    # New samples do not count, so that all are learned, however many come at once.
    earliest = 0 if machine.horizon is None else max(0, known - machine.horizon)
    trail.touched = n_nodes
    doubled = n_nodes >= 2 * trail.n_scaled
    if doubled:
        trail.n_scaled = n_nodes
        if machine._scale_follows:
            machine.n_scale_ = float(n_nodes)
        if machine._unit is not None:
            machine._unit = gap_unit(path.times)
    changed = doubled and (machine._scale_follows or machine._unit is not None)
    worst = Status.OPTIMAL
    for number in range(len(path.theta)):
        if changed or (doubled and machine.horizon is None):
            status = solved(machine, number, 0, limits, undo)
            resume(machine, number, 0, int(trail.depths[number]))
        else:
            status = followed(machine, number, known, earliest, limits, undo)
        worst = worst if status is Status.OPTIMAL else status
    return worst


# -- calls of users -------------------------------------------------------------------------------


def can_go_on(machine: Any) -> bool:
    """Whether `partial_fit` is there: along time, with hyperplanes."""
    if not (isinstance(machine.graph, str) and machine.graph == "time"):
        raise AttributeError("partial_fit is for graph='time' only: call fit with all samples.")
    if machine.kernel != "linear":
        raise AttributeError("partial_fit is for kernel='linear' only: call fit with all samples.")
    if hasattr(machine, "_path") and machine._trail is None:
        raise AttributeError("The machine was fitted on another graph, or kernel: call fit again.")
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
