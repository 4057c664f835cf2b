"""What an exact machine can say of itself without being trained again.

Leaving a sample out is the motion that forgets it, and going back. The path in C is one motion of
all bounds, from change to change of the active set; in between, coefficients and intercept are
linear in C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
from numbers import Real
from typing import Self

import numpy as np

from lindero.errors import SolverError
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads, single_threaded_blas
from lindero.solvers.active_set_changes import BreakdownError
from lindero.svm.incremental_machine import IncrementalMachine

#: Variables looked at when single samples are left out, at first.
_FEWEST_NEAR, _SHARE_NEAR = 64, 16

#: Fewer samples than this are left out before a second thread has started.
_FEW = 200


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


class ExactInsight(IncrementalMachine):
    """Abstract: leave-one-out by forgetting."""

    @contextmanager
    def _and_back(self, with_factor: bool) -> Iterator[Callable[[], None]]:
        """Try things out, and leave the solver as it was; what is yielded goes back at once."""
        engine = self._engine
        point = engine.snapshot(with_factor)
        try:
            with single_threaded_blas:
                yield lambda: engine.restore(point)
        finally:
            engine.restore(point)
            engine.around = None

    def _left_out(self) -> Array:
        """The output at each sample of the machine that never saw it."""
        engine, slots = self._engine, self._samples.slots
        values = engine.f[slots] + self._canonical_bias()
        free = (engine.a > 0.0) & (engine.a < engine.u)
        carries = engine.z[slots] != 0.0
        if not free.any() or engine.delta != 0.0:
            # The bias lies between samples, any of which may be one of its ends; or the sum is a
            # share of all samples, and changes with any of them.
            carries[:] = True
        places = np.flatnonzero(carries)
        stop: list[bool] = []
        with TileThreads(1 if len(places) < _FEW else None) as threads:
            workers = [self, *(self._twin() for _ in range(threads.n_threads - 1))]

            def work(number: int) -> None:
                workers[number]._leave_out(places[number :: len(workers)], values, stop)

            try:
                threads.map(work, range(len(workers)))
            except BaseException:
                stop.append(True)
                raise
        return values

    def _twin(self) -> Self:
        """A machine that holds the same, for another thread."""
        twin = copy(self)
        twin._engine = deepcopy(self._engine)
        return twin

    def _leave_out(self, places: Array, values: Array, stop: list[bool]) -> None:
        """Fill in `values` at some places among the samples held."""
        engine, slots = self._engine, self._samples.slots
        if len(engine.free) and engine.kernel.kept(engine.free // self._per_sample):
            # All samples are left out from the same point: the view from it is taken once, with
            # the columns of what may come to the margin.
            around = engine.look_around(_FEWEST_NEAR + engine.n_variables // _SHARE_NEAR)
            near = np.concatenate([around.near[: around.n_near], engine.free])
            engine.kernel.kept(np.unique(near // self._per_sample))
            engine.around = around
        with self._and_back(with_factor=True) as go_back:
            for place in places:
                if stop:
                    break
                slot = int(slots[place])
                self._move(self._variables(slot), np.zeros(self._per_sample), gone=True)
                values[place] = engine.f[slot] + self._canonical_bias()
                go_back()


class PenaltyInsight(ExactInsight):
    """Abstract: the path in C as well."""

    _fitted_C: float  # noqa: N815

    def _stated_for(self, C: float, targets: Array, factors: Array) -> tuple[Array, Array, Array]:
        """Signs, linear terms and bounds of the variables of samples, for a value of C."""
        raise NotImplementedError

    def _stated(self, targets: Array, factors: Array) -> tuple[Array, Array, Array]:
        return self._stated_for(self._fitted_C, targets, factors)

    def path(self, C_from: float, C_to: float) -> PenaltyPath:
        """The solutions for all values of C between two, exactly.

        Coefficients and intercept are piecewise linear in C; the path has a row for each
        breakpoint. The model itself stays as it is.

        Parameters
        ----------
        C_from, C_to : float
            The ends, positive and finite.

        Returns
        -------
        path : PenaltyPath
        """
        self._require_fitted()
        for name, value in (("C_from", C_from), ("C_to", C_to)):
            if not isinstance(value, Real) or not 0.0 < value < np.inf:
                raise ValueError(f"{name} must be positive and finite, got {value!r}.")
        engine, slots = self._engine, self._samples.slots
        if engine.lost:
            raise ValueError(
                f"The {self._function.name} kernel is not positive semi-definite on these data: "
                "its solutions form no path in C."
            )
        per_unit = self._bounds_per_unit()
        taking_part = np.flatnonzero(per_unit > 0.0)
        first, last = C_from * per_unit[taking_part], C_to * per_unit[taking_part]
        rows: list[tuple[float, Array, float]] = []

        def record(share: float) -> None:
            # A variable that has just come to the margin fixes the constant from there on.
            bias = engine.bias if len(engine.free) else self._canonical_bias()
            z = engine.z
            C = C_to if share == 1.0 else C_from + share * (C_to - C_from)
            rows.append((C, z[slots], bias - self._of_origin(z)))

        with self._and_back(with_factor=False):
            self._move(taking_part, first)
            record(0.0)
            try:
                engine.scale_bounds(taking_part, last, record)
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

    def _bounds_per_unit(self) -> Array:
        """Bounds of the variables for C = 1."""
        _, _, u = self._stated_for(1.0, self._samples.targets, self._samples.factors)
        return np.where(np.repeat(self._samples.alive, self._per_sample), u, 0.0)
