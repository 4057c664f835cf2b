"""What an exact machine can say of itself without being trained again.

Leaving a sample out is the motion that forgets it, and going back. The path in C is one motion of
all bounds, from change to change of the active set; in between, coefficients and intercept are
linear in C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from lindero.errors import SolverError
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.active_set import BreakdownError
from lindero.svm.incremental.machine import IncrementalMachine

#: Variables looked at when single samples are left out, at first.
_FEWEST_NEAR, _SHARE_NEAR = 64, 16

#: Fewer samples than this are left out before a second thread has started.
_FEW = 200


def leave_one_out(machine: IncrementalMachine) -> Array:
    """The output at each sample of the machine that never saw it."""
    point, samples, slots = machine.active_set.point, machine.samples, machine.samples.slots
    if len(slots) < 2:
        raise ValueError("leave_one_out needs two samples at least.")
    if machine.formulation.by_class:
        taking_part = samples.alive & (samples.factors > 0.0)
        counts = np.bincount(samples.targets[taking_part].astype(np.intp), minlength=2)
        if counts.min() < 2:
            raise ValueError(
                "leave_one_out needs two samples of each class at least, of positive cost: "
                f"{counts[0]} and {counts[1]} are held."
            )
    values: Array = point.f[slots] + machine.find_bias()
    free = (point.a > 0.0) & (point.a < point.u)
    carries = point.z[slots] != 0.0
    if not free.any() or point.delta != 0.0:
        # The bias lies between samples, any of which may be one of its ends; or the sum is a
        # share of all samples, and changes with any of them.
        carries[:] = True
    places = np.flatnonzero(carries)
    stop: list[bool] = []
    with TileThreads(1 if len(places) < _FEW else None) as threads:
        workers = [machine, *(machine.make_twin() for _ in range(threads.n_threads - 1))]

        def work(number: int) -> None:
            _leave_out(workers[number], places[number :: len(workers)], values, stop)

        try:
            threads.map(work, range(len(workers)))
        except BaseException:
            stop.append(True)
            raise
    return values


def _leave_out(machine: IncrementalMachine, places: Array, values: Array, stop: list[bool]) -> None:
    """Fill in `values` at some places among the samples held."""
    active_set, slots = machine.active_set, machine.samples.slots
    active_set.look_around(_FEWEST_NEAR + active_set.point.n_variables // _SHARE_NEAR)
    with active_set.try_out(often=True) as go_back:
        for place in places:
            if stop:
                break
            variables = machine.variables_of(slots[place : place + 1])
            machine.move(variables, np.zeros(len(variables)), gone=True)
            values[place] = active_set.point.f[slots[place]] + machine.find_bias()
            go_back()


@dataclass(frozen=True)
class PenaltyPath:
    """The solutions for all C between two values.

    Attributes
    ----------
    C : ndarray of shape (n_breakpoints,)
        The values of C at which the margin changes, with the two ends, in the order of the path;
        one is repeated where several samples change at once.
    coefficients : ndarray of shape (n_breakpoints, n_held)
        Signed coefficients of the samples held, in the order of `sample_ids_`.
    intercepts : ndarray of shape (n_breakpoints,)
        The constants.
    """

    C: Array
    coefficients: Array
    intercepts: Array

    def at(self, C: float) -> tuple[Array, float]:
        """Coefficients and intercept for a value of C within the path.

        Parameters
        ----------
        C : float
            Between the ends of the path.

        Returns
        -------
        coefficients : ndarray of shape (n_held,)
        intercept : float
        """
        low, high = sorted((float(self.C[0]), float(self.C[-1])))
        if not low <= C <= high:
            raise ValueError(f"C={C:g} is not on the path, which goes from {low:g} to {high:g}.")
        rising = self.C[-1] >= self.C[0]
        C_sorted = self.C if rising else self.C[::-1]
        right = min(max(int(np.searchsorted(C_sorted, C)), 1), len(self.C) - 1)
        left = right - 1
        if not rising:
            left, right = len(self.C) - 1 - left, len(self.C) - 1 - right
        span = float(self.C[right] - self.C[left])
        share = 0.0 if span == 0.0 else (C - float(self.C[left])) / span
        coefficients = (1 - share) * self.coefficients[left] + share * self.coefficients[right]
        intercept = (1 - share) * self.intercepts[left] + share * self.intercepts[right]
        return coefficients, float(intercept)


def follow_penalty(machine: IncrementalMachine, C_from: float, C_to: float) -> PenaltyPath:
    """The solutions for all values of C between two."""
    for name, value in (("C_from", C_from), ("C_to", C_to)):
        if not isinstance(value, Real) or not 0.0 < value < np.inf:
            raise ValueError(f"{name} must be positive and finite, got {value!r}.")
    active_set, point = machine.active_set, machine.active_set.point
    slots = machine.samples.slots
    if point.lost:
        raise ValueError(
            f"The {machine.kernel.function.name} kernel is not positive semi-definite on these "
            "data: its solutions form no path in C."
        )
    per_unit = _find_bounds_per_unit(machine)
    taking_part = np.flatnonzero(per_unit > 0.0)
    first, last = C_from * per_unit[taking_part], C_to * per_unit[taking_part]
    rows: list[tuple[float, Array, float]] = []

    def record(share: float) -> None:
        # A variable that has just come to the margin fixes the constant from there on.
        bias = point.bias if len(point.free) else machine.find_bias()
        z = point.z
        C = C_to if share == 1.0 else C_from + share * (C_to - C_from)
        rows.append((C, z[slots], bias - machine.bias_of_origin(z)))

    with active_set.try_out(often=False):
        machine.move(taking_part, first)
        record(0.0)
        try:
            active_set.scale_bounds(taking_part, last, record)
        except BreakdownError:
            raise SolverError(
                f"Rounding in double precision hides the path in C beyond {rows[-1][0]:.6g}. "
                "Take a shorter path, or scale the features."
            ) from None
        while len(rows) > 1 and rows[-1][0] == C_to:
            rows.pop()
        record(1.0)  # again, with rounding settled
    values, coefficients, intercepts = zip(*rows, strict=True)
    return PenaltyPath(np.array(values), np.array(coefficients), np.array(intercepts))


def _find_bounds_per_unit(machine: IncrementalMachine) -> Array:
    """Bounds of the variables for C = 1."""
    samples, formulation = machine.samples, machine.formulation
    _, _, u = replace(formulation, C=1.0).state_samples(samples.targets, samples.factors)
    return np.where(np.repeat(samples.alive, formulation.per_sample), u, 0.0)
