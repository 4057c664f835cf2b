"""What every machine that learns and forgets sample by sample shares.

The solver (`solvers.active_set`) holds the optimum; this holds the samples it is the optimum of,
and turns it into the attributes of a fitted machine when somebody looks at them. A call that fails
or is interrupted leaves everything as it was.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.errors import NotSeparableError
from lindero.kernels.functions import Array, KernelFunction
from lindero.kernels.growing import GrowingKernel
from lindero.kernels.operator import origin
from lindero.kernels.threads import single_threaded_blas
from lindero.models.kernel_machine import linear_weights
from lindero.problems.conditions import bias_at
from lindero.solvers.active_set import ActiveSet
from lindero.solvers.active_set_motion import BreakdownError, UnboundedError
from lindero.solvers.limits import Limits
from lindero.solvers.solution import Certificate, Solver
from lindero.svm.held_samples import HeldSamples
from lindero.svm.margin_machine import KERNEL_MACHINE_CONSTRAINTS, MarginMachine, unfitted_copy
from lindero.svm.progress import reporting
from lindero.svm.training import SMALL_FIT_ROWS, choose_solver
from lindero.svm.update_log import UpdateLog
from lindero.validation import kernel_function

#: Gap, as a share of the size of the terms compared, up to which a solution counts as exact.
_EXACT = 1e-8

#: Tolerance of solutions from scratch: fine enough to leave few changes to the exact path.
_BATCH_TOL = 1e-6

#: More new samples than both of these (the second as a part of those held) are learned at once.
_FEW_AT_ONCE, _SHARE_AT_ONCE = 10, 50

INCREMENTAL_CONSTRAINTS: dict[str, list[Any]] = {
    **{name: KERNEL_MACHINE_CONSTRAINTS[name] for name in ("degree", "gamma", "coef0")},
    "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid"}), callable],
    "window": [Interval(Integral, 2, None, closed="left"), None],
    "cache_size": KERNEL_MACHINE_CONSTRAINTS["cache_size"],
    "verbose": ["verbose"],
}


@dataclass(frozen=True)
class _Expansion:
    """The machine as others know it: support vectors and their coefficients."""

    support: Array
    vectors: Any
    coefficients: Array
    intercept: float
    weights: Array | None


@dataclass
class _View:
    """What has been looked at since the last update."""

    expansion: _Expansion | None = None


class IncrementalMachine(MarginMachine):
    """Abstract. Subclasses say what variables a sample has, and what users may call."""

    cache_size: float
    window: int | None
    verbose: bool

    #: Variables of a sample.
    _per_sample: ClassVar[int] = 1

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

    # -- beginning ----------------------------------------------------------------------------

    def _begin(self, X: Any, weights: Array) -> None:
        """An empty machine for rows like those of X."""
        function = kernel_function(self, X, weights)
        kernel = GrowingKernel(function, X.shape[1], self._shift(X, function), self.cache_size)
        self._function = function
        self._gamma = function.gamma
        self._engine = ActiveSet(kernel, self._per_sample)
        self._samples = HeldSamples()
        self._updates = UpdateLog()
        self._seconds = 0.0
        self._view = _View()
        self._fitted_window = self.window

    def _shift(self, X: Any, function: KernelFunction) -> Array | None:
        """Where the origin of dense rows may be moved to."""
        return origin(X, function)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_engine")

    def _require_fitted(self) -> None:
        if not hasattr(self, "_engine"):
            raise NotFittedError(
                f"This {type(self).__name__} holds no samples yet: call fit or partial_fit first."
            )

    def _aside(self) -> Self:
        """A copy to begin in, which a failure then throws away."""
        return unfitted_copy(self)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo everything if anything goes wrong."""
        begun = time.perf_counter()
        if self._samples.has_many_gaps:
            self._engine.close_gaps(self._samples.alive)
            self._samples.close_gaps()
        self._engine.remember()
        self._samples.remember()
        n_updates = len(self._updates)
        try:
            with single_threaded_blas:
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
                self._add(X[one], targets[one], factors[one])
                for slot in self._beyond_window():
                    self._remove(int(slot))
            self._engine.refresh()

    def _by_batch(self, n_new: int) -> bool:
        """Whether many samples are better learned at once (see `benchmarks/README.md`)."""
        return n_new > max(_FEW_AT_ONCE, len(self._samples.slots) // _SHARE_AT_ONCE)

    def _add(self, X: Any, targets: Array, factors: Array) -> None:
        s, p, u = self._stated(targets, factors)
        self._samples.append(targets, factors)
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

    def _forget(self, slots: Array) -> None:
        """Samples one after another; many at once from scratch."""
        with self._all_or_nothing():
            if not self._by_batch(len(slots)):
                for slot in slots:
                    self._remove(int(slot))
                self._engine.refresh()
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
            self._engine.refresh()

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
            engine.u[variables] = bounds
            engine.delta = total
            a[variables] = np.minimum(a[variables], bounds)
            self._solve(a)

    def _solve(self, a: Array) -> None:
        """The optimum for the bounds as they are, from near `a`."""
        engine = self._engine
        hard = bool(np.isinf(engine.u).any())
        make_solver = self._solver((len(self._samples.slots), self.n_features_in_), hard)
        n_threads = 1 if engine.n_variables < SMALL_FIT_ROWS else None
        solver = make_solver(tol=_BATCH_TOL, cache_size=self.cache_size, n_threads=n_threads)
        knew = engine.lost
        with reporting(bool(self.verbose), None) as callback:
            limits = Limits(callback=callback)
            engine.solve_from(a, solver, limits)
        if limits.interrupted:
            raise KeyboardInterrupt
        if engine.lost and not knew:
            warnings.warn(
                f"The {self._function.name} kernel is not positive semi-definite on these data: "
                "updates are solved from scratch, and the certificate speaks of a stationary point "
                "only.",
                UserWarning,
                stacklevel=2,
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
            for slot in gone:
                self._samples.release(int(slot))
            engine.u[self._all_variables(gone)] = 0.0
            self._solve_anew()

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

    # -- the model: attributes that other machines set, computed when looked at -----------------

    @property
    def sample_ids_(self) -> Array:
        """Ids of the samples held, oldest first."""
        self._require_fitted()
        return self._samples.ids

    @property
    def updates_(self) -> Array:
        """A record for each update."""
        self._require_fitted()
        return self._updates.as_array()

    def _expanded(self) -> _Expansion:
        self._require_fitted()
        if self._view.expansion is None:
            self._view.expansion = self._expand()
        return self._view.expansion

    def _canonical_bias(self) -> float:
        """The bias that depends on the solution only, not on the way to it: where conditions leave
        an interval open, its middle."""
        engine = self._engine
        f = engine.f if self._per_sample == 1 else np.repeat(engine.f, self._per_sample)
        return float(bias_at(f + engine.s * engine.p, engine.a, engine.s, engine.u))

    def _expand(self) -> _Expansion:
        engine, slots = self._engine, self._samples.slots
        z = engine.z[slots]
        support = self._in_order(np.flatnonzero(z))
        vectors = engine.kernel.rows.taken(slots[support])
        coefficients = z[None, support]
        intercept, weights = self._canonical_bias(), None
        if self._function.name == "linear":
            # Coefficients sum to zero where rows are shifted, so that these are the weights too;
            # and rows far from zero would leave them few digits.
            shifted = engine.kernel.rows.shifted(slots[support])
            weights = linear_weights(shifted, coefficients, None)
            intercept -= self._of_origin(engine.z)
        return _Expansion(support.astype(np.int32), vectors, coefficients, intercept, weights)

    def _of_origin(self, z: Array) -> float:
        """w·origin: what moving the origin of a linear kernel adds to its bias."""
        shift = self._engine.kernel.shift
        if shift is None or self._function.name != "linear":
            return 0.0
        held = np.flatnonzero(z)
        return float((z[held] @ self._engine.kernel.rows.shifted(held)) @ shift)

    def _in_order(self, support: Array) -> Array:
        return support

    @property
    def support_(self) -> Array:  # type: ignore[override]
        """Positions of the support vectors among the samples held."""
        return self._expanded().support

    @property
    def bounded_support_(self) -> Array:
        """Positions of the support vectors whose coefficients are at their bounds."""
        engine = self._engine
        at_bound = (engine.a > 0.0) & (engine.a >= engine.u)
        by_sample = np.any(at_bound.reshape(-1, self._per_sample), axis=1, keepdims=True)[:, 0]
        by_sample = by_sample[self._samples.slots]
        support = self.support_
        chosen: Array = support[by_sample[support]]
        return chosen

    @property
    def free_support_(self) -> Array:
        """Positions of the support vectors whose coefficients are below their bounds."""
        support = self.support_
        return support[~np.isin(support, self.bounded_support_)]

    @property
    def support_vectors_(self) -> Any:  # type: ignore[override]
        """The support vectors."""
        return self._expanded().vectors

    @property
    def dual_coef_(self) -> Any:  # type: ignore[override]
        """Coefficients of the support vectors."""
        known = self._expanded()
        return (
            sp.csr_array(known.coefficients) if sp.issparse(known.vectors) else known.coefficients
        )

    @property
    def intercept_(self) -> Array:  # type: ignore[override]
        """Constant of the function."""
        return np.array([self._expanded().intercept])

    @property
    def _weights(self) -> Array:  # type: ignore[override]
        weights = self._expanded().weights
        assert weights is not None
        return weights

    @property
    def shape_fit_(self) -> tuple[int, int]:  # type: ignore[override]
        """Number of samples held, and of features."""
        self._require_fitted()
        return len(self._samples.slots), self.n_features_in_

    # -- judging ------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How near the model is to the optimum over the samples held."""
        self._require_fitted()
        return self._judged(self._engine.f)

    def certify(self) -> Certificate:
        """Recompute the certificate from scratch, from the coefficients and the samples alone.

        Returns
        -------
        certificate : Certificate
        """
        self._require_fitted()
        return self._judged(self._engine.exact_f())

    def _judged(self, f: Array) -> Certificate:
        engine = self._engine
        judgement = engine.problem().judge(engine.a, f)
        if engine.lost and judgement.kkt_gap <= _BATCH_TOL * engine.magnitude:
            status = "Stationary: the kernel is not positive semi-definite on these data."
        elif judgement.kkt_gap <= _EXACT * engine.magnitude:
            status = "Optimal: what is left of the KKT gap is rounding."
        else:
            status = "Not optimal: rounding in double precision hides any further progress."
        return Certificate.of(judgement, engine.steps, self._seconds, status)
