"""The point that an active set holds: variables of samples that come and go, and f = K z at them.

Arrays have more room than variables. A sample that was forgotten keeps its slot, with bounds of
zero, until gaps are closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.kernels.blocks import kernel_product
from lindero.kernels.growing import GrowingKernel
from lindero.kernels.growing_rows import with_room
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.active_set_steps import AT_ZERO
from lindero.solvers.growing_factor import GrowingFactor

#: New samples whose kernel values are computed at once.
_ROWS = 256

_OF_VARIABLES = ("_a", "_u", "_p", "_s", "_state")
_NUMBERS = ("bias", "delta", "steps", "changes", "blur", "lost", "_constant")


@dataclass(frozen=True)
class Snapshot:
    """A point that can be come back to."""

    n_samples: int
    of_variables: dict[str, Array]
    f: Array
    free: Array
    factor: GrowingFactor | None
    rest: dict[str, float]
    around: Neighbourhood | None


@dataclass(frozen=True)
class Neighbourhood:
    """Variables that may come to the margin: the first `n_near` of `near`, with f of their samples
    and the block K(free, near). Arrays have room for more."""

    near: Array
    n_near: int
    f: Array
    block: Array


class HeldVariables:
    """A point of a `DualQP` with `per_sample` variables for each sample of `kernel`."""

    def __init__(self, kernel: GrowingKernel, per_sample: int = 1, delta: float = 0.0) -> None:
        self.kernel = kernel
        self.per_sample = per_sample
        self.delta = delta
        self.bias = 0.0
        self.steps = 0
        self.changes = 0
        self.blur = 0.0
        self.lost = self.indefinite = False
        self._a, self._u, self._p, self._s = (np.empty(0) for _ in range(4))
        self._u_rate, self._no_rate = np.zeros(0), np.zeros(0)
        self._state = np.empty(0, dtype=np.int8)
        self._f = np.empty(0)
        self._root = np.empty(0)  # √K_ii of each sample
        self._free = np.empty(0, dtype=np.int64)
        self._factor = GrowingFactor()
        self._constant = 0.0
        self._known_support: tuple[Array, Array, Any] | None = None
        self.around: Neighbourhood | None = None
        self.remember()

    # -- what is held -------------------------------------------------------------------------

    @property
    def n_samples(self) -> int:
        return self.kernel.n_samples

    @property
    def n_variables(self) -> int:
        return self.per_sample * self.kernel.n_samples

    @property
    def a(self) -> Array:
        return self._a[: self.n_variables]

    @property
    def u(self) -> Array:
        return self._u[: self.n_variables]

    @property
    def p(self) -> Array:
        return self._p[: self.n_variables]

    @property
    def s(self) -> Array:
        return self._s[: self.n_variables]

    @property
    def f(self) -> Array:
        """K z at each sample."""
        return self._f[: self.n_samples]

    @property
    def z(self) -> Array:
        """Coefficients of the samples."""
        z = self.s * self.a
        if self.per_sample == 1:
            return z
        total: Array = z.reshape(-1, self.per_sample).sum(axis=1)
        return total

    @property
    def free(self) -> Array:
        return self._free

    def problem(self) -> DualQP:
        """The problem that is solved, over all slots: those of bound zero play no part."""
        sample_of = None
        if self.per_sample > 1:
            sample_of = np.repeat(np.arange(self.n_samples), self.per_sample)
        return DualQP(
            self.kernel.operator, self.p.copy(), self.s.copy(), self.u.copy(), self.delta, sample_of
        )

    # -- samples ------------------------------------------------------------------------------

    def append(self, X: Any, s: Array, p: Array) -> Array:
        """More samples, whose variables have bound zero; their indices are returned."""
        self.around = None
        old = self.n_samples
        held, coefficients, probe = self._support()
        self.kernel.append(X)
        new = self.n_samples
        first, last = old * self.per_sample, new * self.per_sample
        for name in _OF_VARIABLES:
            setattr(self, name, with_room(getattr(self, name), first, last))
        self._f = with_room(self._f, old, new)
        self._root = with_room(self._root, old, new)
        if len(self._u_rate) < len(self._a):
            self._u_rate, self._no_rate = np.zeros(len(self._a)), np.zeros(len(self._a))
        self._s[first:last], self._p[first:last] = s, p
        self._a[first:last] = self._u[first:last] = 0.0
        self._state[first:last] = AT_ZERO
        kernel = self.kernel.operator
        self._f[old:new] = 0.0
        for start in range(old, new if len(held) else old, _ROWS):
            rows = np.arange(start, min(start + _ROWS, new))
            self._f[rows] = kernel.cross(kernel.probe(rows), probe) @ coefficients
        self._root[old:new] = np.sqrt(np.maximum(0.0, self.kernel.diagonal(old, new)))
        return np.arange(first, last)

    def _support(self) -> tuple[Array, Array, Any]:
        """The samples of coefficients that are not zero, kept until something moves."""
        if self._known_support is None:
            z = self.z
            held = np.flatnonzero(z)
            probe = self.kernel.operator.probe(held) if len(held) else None
            self._known_support = (held, z[held], probe)
        return self._known_support

    def exact_f(self) -> Array:
        """K z from scratch."""
        with TileThreads() as threads:
            return kernel_product(self.kernel.operator, self.z, threads)

    # -- going back ---------------------------------------------------------------------------

    def snapshot(self, with_factor: bool) -> Snapshot:
        """Everything needed to come back here, as long as no gaps are closed; with the factor, if
        that is likely to happen."""
        held = {name: getattr(self, name)[: self.n_variables].copy() for name in _OF_VARIABLES}
        rest = {name: getattr(self, name) for name in _NUMBERS}
        factor = self._factor.copy() if with_factor else None
        return Snapshot(self.n_samples, held, self.f.copy(), self._free, factor, rest, self.around)

    def remember(self) -> None:
        """Be ready to undo what follows, up to the next call. New samples alone are undone without
        a copy of the others; `begin_change` is to be called before anything else changes."""
        self._first_new = self.n_samples
        self._before: Snapshot | None = None

    def begin_change(self) -> None:
        """Variables of samples held before are about to change."""
        if self._before is None:
            self._before = self.snapshot(with_factor=False)

    def undo(self) -> None:
        """As at the last `remember`."""
        if self._before is not None:
            self.restore(self._before)
        if self._first_new < self.n_samples:
            self.kernel.truncate(self._first_new)
        self._u_rate[:] = 0.0
        self._before = self.around = None

    def restore(self, snapshot: Snapshot) -> None:
        """Come back."""
        self._known_support = None
        self._u_rate[:] = 0.0
        if snapshot.n_samples < self.n_samples:
            self.kernel.truncate(snapshot.n_samples)
        for name, values in snapshot.of_variables.items():
            getattr(self, name)[: len(values)] = values
        self._f[: snapshot.n_samples] = snapshot.f
        self._free = snapshot.free
        for name, value in snapshot.rest.items():
            setattr(self, name, value)
        self.around = snapshot.around
        if snapshot.factor is None:
            self._factor = self._factored()
        else:
            self._factor.become(snapshot.factor)

    def _factored(self) -> GrowingFactor:
        """The factor of the free variables' matrix, from scratch."""
        factor = GrowingFactor()
        samples = self._free // self.per_sample
        for k, sample in enumerate(samples):
            column = self.kernel.column(int(sample)) + self._constant
            factor.append(column[samples[:k]], float(column[sample]), 0.0)
        return factor

    def close_gaps(self, kept: Array) -> None:
        """Drop the slots where `kept` is false; their variables must be at zero, of bound zero."""
        self._known_support = self.around = None
        n, n_kept = self.n_samples, int(kept.sum())
        of_variables = np.repeat(kept, self.per_sample)
        self._free = (np.cumsum(of_variables) - 1)[self._free]
        for name in _OF_VARIABLES:
            array = getattr(self, name)
            array[: n_kept * self.per_sample] = array[: n * self.per_sample][of_variables]
        self._f[:n_kept] = self._f[:n][kept]
        self._root[:n_kept] = self._root[:n][kept]
        self.kernel.keep(kept)
