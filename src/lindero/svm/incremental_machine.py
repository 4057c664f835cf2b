"""What every machine that learns and forgets sample by sample shares: the updates.

A call that fails or is interrupted leaves everything as it was.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.errors import NotSeparableError
from lindero.runtime.arrays import Array
from lindero.solvers.active_set_changes import BreakdownError, UnboundedError
from lindero.solvers.choose import SMALL_FIT_ROWS, choose_solver
from lindero.solvers.solution import Limits, Solver
from lindero.svm.held_machine import HeldMachine
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.svm.progress import reporting

#: Tolerance and steps of solutions from scratch, whose rest is left to the exact path: fine enough
#: for few changes on it, and not endless where rounding allows no finer one.
_BATCH_TOL = 1e-6
_FEWEST_STEPS, _STEPS_PER_SAMPLE = 500_000, 100

#: More new samples than both of these (the second as a part of those held) are learned at once.
_FEW_AT_ONCE, _SHARE_AT_ONCE = 10, 50

INCREMENTAL_CONSTRAINTS: dict[str, list[Any]] = {
    **{name: KERNEL_MACHINE_CONSTRAINTS[name] for name in ("degree", "gamma", "coef0")},
    "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid"}), callable],
    "window": [Interval(Integral, 2, None, closed="left"), None],
    "cache_size": KERNEL_MACHINE_CONSTRAINTS["cache_size"],
    "verbose": ["verbose"],
}


class IncrementalMachine(HeldMachine):
    """Abstract. Subclasses say what variables a sample has, and what users may call."""

    verbose: bool

    # -- what subclasses fill in --------------------------------------------------------------

    def _stated(self, targets: Array, factors: Array) -> tuple[Array, Array, Array]:
        """Signs, linear terms and bounds of the variables of samples, in their order."""
        raise NotImplementedError

    def _sum_with(self, variables: Array, bounds: Array) -> float:
        """What Σ s a must be when these variables have these bounds."""
        return 0.0

    def _solver(self, shape: tuple[int, int], hard: bool) -> Callable[..., Solver]:
        """A constructor of solvers for problems of `shape` from scratch."""
        return choose_solver("auto", self._function, shape, hard)

    def _first_to_go(self, count: int) -> Array:
        """The slots of the samples that leave the window first."""
        return self._samples.slots[:count]

    def _require_left(self, slots: Array) -> None:
        """Refuse to forget everything."""
        if len(slots) >= len(self._samples.slots):
            raise ValueError(
                "This would leave no sample at all. Learn another one first, or call fit to begin "
                "anew."
            )

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo everything if anything goes wrong."""
        begun = time.perf_counter()
        self._engine.remember()
        self._samples.remember()
        n_updates = len(self._updates)
        try:
            yield
        except BaseException as error:
            self._engine.undo()
            self._samples.undo()
            self._updates.truncate(n_updates)
            if isinstance(error, UnboundedError):
                raise NotSeparableError(
                    "The hard margin (C=inf) has no solution with this sample: no boundary of this "
                    "kernel separates the classes then. Nothing was changed. Use a finite C to "
                    "allow errors, or a richer kernel."
                ) from None
            raise
        # Only now: callers know samples by their slots.
        if self._samples.has_many_gaps:
            self._engine.close_gaps(self._samples.alive)
            self._samples.close_gaps()
        self._view.expansion = None
        self._seconds += time.perf_counter() - begun

    # -- learning and forgetting --------------------------------------------------------------

    def _learn(self, X: Any, targets: Array, factors: Array) -> None:
        """Samples one after another; many at once from scratch."""
        with self._all_or_nothing():
            if self._by_batch(len(targets)):
                self._learn_at_once(X, targets, factors)
                return
            for row in range(len(targets)):
                one = slice(row, row + 1)
                self._samples.append(targets[one], factors[one])
                for slot in self._beyond_window():
                    self._remove(int(slot))
                self._add(X[one], targets[one], factors[one])
            self._refresh()

    def _by_batch(self, n_new: int) -> bool:
        """Whether many samples are better learned at once (see `benchmarks/README.md`)."""
        return n_new > max(_FEW_AT_ONCE, len(self._samples.slots) // _SHARE_AT_ONCE)

    def _add(self, X: Any, targets: Array, factors: Array) -> None:
        """The last sample of `_samples` comes to the solver."""
        s, p, u = self._stated(targets, factors)
        variables = self._engine.append(X, s, p)
        with self._logged("add", self._samples.n_slots - 1):
            self._move(variables, u)

    def _remove(self, slot: int) -> None:
        variables = self._variables(slot)
        with self._logged("forget", slot):
            self._move(variables, np.zeros(len(variables)), gone=True)
        self._samples.release(slot)

    def _change(self, slot: int, target: float, factor: float) -> None:
        """Another target or factor for a sample that stays."""
        variables = self._variables(slot)
        s, p, u = self._stated(np.array([target]), np.array([factor]))
        engine = self._engine
        with self._logged("replace", slot):
            if (engine.s[variables] != s).any() or (engine.p[variables] != p).any():
                self._move(variables, np.zeros(len(variables)), gone=True)
                engine.s[variables], engine.p[variables] = s, p
            self._move(variables, u)
        self._samples.change(slot, target, factor)

    def forget(self, ids: Any) -> Self:
        """Remove samples: the model becomes the one that never saw them.

        Parameters
        ----------
        ids : int or array-like of int
            Samples to forget, by their ids (see `sample_ids_`).

        Returns
        -------
        self : object
            The machine. A call that fails changes nothing at all.
        """
        self._require_fitted()
        slots = self._samples.find(ids)
        self._require_left(slots)
        self._forget(slots)
        return self

    def _forget(self, slots: Array) -> None:
        """Samples one after another; many at once from scratch."""
        with self._all_or_nothing():
            if not self._by_batch(len(slots)):
                for slot in slots:
                    self._remove(int(slot))
                self._refresh()
                return
            variables = self._all_variables(slots)
            with self._logged("forget", slots, from_scratch=True):
                for slot in slots:
                    self._samples.release(int(slot))
                self._engine.begin_change()
                self._engine.u[variables] = 0.0
                self._solve_anew()

    def _replace(self, slots: Array, targets: Array, factors: Array) -> None:
        with self._all_or_nothing():
            for slot, target, factor in zip(slots, targets, factors, strict=True):
                self._change(int(slot), float(target), float(factor))
            self._refresh()

    def _one_each(self, values: Any, slots: Array, name: str) -> Array:
        """A value for each of some samples, from one for all or a list."""
        given = np.atleast_1d(np.asarray(values))
        if given.shape == (1,) and len(slots) != 1:
            return np.repeat(given, len(slots))
        if given.shape != (len(slots),):
            raise ValueError(
                f"{name} has shape {given.shape}, but there are {len(slots)} ids: pass one value, "
                "or one for each id."
            )
        return given

    def _all_variables(self, slots: Array) -> Array:
        per = self._per_sample
        return (slots[:, None] * per + np.arange(per)).ravel()

    def _variables(self, slot: int) -> Array:
        first = slot * self._per_sample
        return np.arange(first, first + self._per_sample)

    def _beyond_window(self) -> Array:
        """The slots of samples that the window has no room for."""
        if not self._fitted_window:
            return np.empty(0, dtype=np.int64)
        return self._first_to_go(max(0, len(self._samples.slots) - self._fitted_window))

    def _move(self, variables: Array, bounds: Array, gone: bool = False) -> None:
        """Move bounds along the exact path; where rounding hides it, solve from scratch."""
        engine = self._engine
        total = self._sum_with(variables, bounds)
        a = engine.a.copy()
        try:
            if gone:
                engine.withdraw(variables, total)
            else:
                engine.set_bounds(variables, bounds, total)
        except BreakdownError:
            engine.begin_change()
            engine.u[variables] = bounds
            engine.delta = total
            a[variables] = np.minimum(a[variables], bounds)
            self._solve(a)

    def _refresh(self) -> None:
        """Values from scratch, where many updates may have blurred them."""
        try:
            self._engine.refresh()
        except BreakdownError:
            self._solve(self._engine.a.copy())

    def _solve(self, a: Array) -> None:
        """The optimum for the bounds as they are, from near `a`."""
        engine = self._engine
        hard = bool(np.isinf(engine.u).any())
        make_solver = self._solver((len(self._samples.slots), self.n_features_in_), hard)
        n_threads = 1 if engine.n_variables < SMALL_FIT_ROWS else None
        solver = make_solver(tol=_BATCH_TOL, cache_size=self.cache_size, n_threads=n_threads)
        knew = engine.indefinite
        with reporting(bool(self.verbose), None) as callback:
            most = _FEWEST_STEPS + _STEPS_PER_SAMPLE * engine.n_samples
            limits = Limits(max_iter=most, callback=callback)
            engine.solve_from(a, solver, limits)
        if limits.interrupted:
            raise KeyboardInterrupt
        if engine.indefinite and not knew:
            warnings.warn(
                f"The {self._function.name} kernel is not positive semi-definite on these data: "
                "updates are solved from scratch, and the certificate speaks of a stationary point "
                "only.",
                UserWarning,
                stacklevel=6,
            )

    def _learn_at_once(self, X: Any, targets: Array, factors: Array) -> None:
        engine, first = self._engine, self._samples.n_slots
        s, p, u = self._stated(targets, factors)
        self._samples.append(targets, factors)
        engine.begin_change()
        variables = engine.append(X, s, p)
        engine.u[variables] = u
        with self._logged("add", np.arange(first, self._samples.n_slots), from_scratch=True):
            gone = self._beyond_window()
            engine.u[self._all_variables(gone)] = 0.0
            self._solve_anew()
        with self._logged("forget", gone, from_scratch=True):
            for slot in gone:
                self._samples.release(int(slot))

    def _solve_anew(self) -> None:
        engine = self._engine
        none = np.empty(0, dtype=np.int64)
        engine.delta = self._sum_with(none, np.empty(0))
        self._solve(np.minimum(engine.a, engine.u))

    @contextmanager
    def _logged(self, kind: str, slots: Any, from_scratch: bool = False) -> Iterator[None]:
        engine = self._engine
        steps, changes = engine.steps, engine.changes
        yield
        counts = engine.steps - steps, engine.changes - changes
        for slot in np.atleast_1d(slots):
            self._updates.append(kind, self._samples.id_of(int(slot)), *counts, from_scratch)
