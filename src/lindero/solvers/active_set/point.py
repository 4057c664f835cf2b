"""The point that an active set holds: variables of samples that come and go, and f = K z at them.

A sample that was forgotten keeps its slot, with bounds of zero, until gaps are closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lindero.kernels.blocks import kernel_product
from lindero.kernels.growing import GrowingKernel, with_room
from lindero.kernels.products import Probe
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.active_set.factor import GrowingFactor

#: Where a variable is.
AT_ZERO, FREE, AT_BOUND = -1, 0, 1

#: New samples whose kernel values are computed at once.
_ROWS = 256

#: Arrays with an entry for each variable, and for each sample.
_OF_VARIABLES = ("a", "u", "p", "s", "sides", "u_rate", "no_rate")
_OF_SAMPLES = ("f", "root")
_NUMBERS = (
    "bias", "delta", "steps", "changes", "corrections", "blur", "lost", "indefinite", "constant",
)  # fmt: skip

#: What is saved, by the names that model files have for it.
_SAVED_ARRAYS = {"_a": "a", "_u": "u", "_p": "p", "_s": "s", "_state": "sides"}
_SAVED_ARRAYS |= {"_f": "f", "_root": "root"}
_SAVED_NUMBERS = {"_constant" if name == "constant" else name: name for name in _NUMBERS}


@dataclass(frozen=True)
class Neighbourhood:
    """Variables that may come to the margin: the first `n_near` of `near`, with f of their samples
    and the block K(free, near). Arrays have room for more."""

    near: Array
    n_near: int
    f: Array
    block: Array


@dataclass(frozen=True)
class SavedPoint:
    """A point that can be come back to."""

    n_samples: int
    arrays: dict[str, Array]
    free: Array
    R: Array | None
    numbers: dict[str, float]
    around: Neighbourhood | None


class Point:
    """Variables, `per_sample` for each sample of `kernel`, and all that follows from them.

    a, u, p, s and sides (at zero, free or at bound) are by variable, f and root = √K_ii by sample:
    views of arrays with room for more. `free` lists the free variables in the order of `factor`,
    that of K_FF + constant. `u_rate` is how bounds move, zero between motions. `steps`, `changes`
    and `corrections`, the steps that remove what rounding or a solver has left, count; and `blur`
    sums up what steps have added to f by rounding.

    Where the path of optima is `lost`, by rounding or since the kernel is `indefinite`, no motion
    leads on from here.
    """

    a: Array
    u: Array
    p: Array
    s: Array
    sides: Array
    u_rate: Array
    no_rate: Array
    f: Array
    root: Array

    def __init__(self, kernel: GrowingKernel, per_sample: int, delta: float) -> None:
        self.kernel = kernel
        self.per_sample = per_sample
        self.delta = delta
        self.bias = 0.0
        self.steps = self.changes = self.corrections = 0
        self.blur = self.constant = 0.0
        self.lost = self.indefinite = False
        self._arrays = {name: np.empty(0) for name in (*_OF_VARIABLES, *_OF_SAMPLES)}
        self._arrays["sides"] = np.empty(0, dtype=np.int8)
        self.free = np.empty(0, dtype=np.int64)
        self.factor = GrowingFactor()
        #: Coefficients that are not zero, and their samples; None as soon as something moves.
        self.known_support: tuple[Array, Probe | None] | None = None
        self.around: Neighbourhood | None = None
        self._fit_views()

    def _fit_views(self) -> None:
        """Views as long as there are variables and samples, which may be more than before."""
        n, n_variables = self.n_samples, self.n_variables
        for name, array in self._arrays.items():
            length = n if name in _OF_SAMPLES else n_variables
            if length > len(array):
                array = self._arrays[name] = with_room(array, len(array), length)
            setattr(self, name, array[:length])

    def __getstate__(self) -> dict[str, Any]:
        """Without room for more."""
        state = {name: value for name, value in vars(self).items() if name not in self._arrays}
        arrays = {name: getattr(self, name) for name in self._arrays}
        return {**state, "_arrays": arrays, "known_support": None, "around": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fit_views()

    # -- what is held -------------------------------------------------------------------------

    @property
    def n_samples(self) -> int:
        return self.kernel.n_samples

    @property
    def n_variables(self) -> int:
        return self.per_sample * self.kernel.n_samples

    @property
    def z(self) -> Array:
        """Coefficients of the samples."""
        return self.sum_by_sample(self.s * self.a)

    def sum_by_sample(self, values: Array) -> Array:
        if self.per_sample == 1:
            return values
        total: Array = values.reshape(-1, self.per_sample).sum(axis=1)
        return total

    def exact_f(self) -> Array:
        """K z from scratch."""
        with TileThreads() as threads:
            return kernel_product(self.kernel.operator, self.z, threads)

    def problem(self) -> DualQP:
        """The problem that is solved, over all slots: those of bound zero play no part."""
        sample_of = None
        if self.per_sample > 1:
            sample_of = np.repeat(np.arange(self.n_samples), self.per_sample)
        p, s, u = self.p.copy(), self.s.copy(), self.u.copy()
        return DualQP(self.kernel.operator, p, s, u, self.delta, sample_of)

    # -- samples ------------------------------------------------------------------------------

    def append(self, X: Any, s: Array, p: Array) -> Array:
        """More samples, whose variables have bound zero; their indices are returned."""
        self.around = None
        old, kernel = self.n_samples, self.kernel
        coefficients, probe = self._find_support()
        kernel.append(X)
        new = self.n_samples
        first, last = old * self.per_sample, new * self.per_sample
        self._fit_views()
        self.s[first:last], self.p[first:last] = s, p
        for array in (self.a, self.u, self.u_rate, self.no_rate):
            array[first:last] = 0.0
        self.sides[first:last] = AT_ZERO
        self.f[old:new] = 0.0
        if probe is not None:
            for start in range(old, new, _ROWS):
                rows = np.arange(start, min(start + _ROWS, new))
                self.f[rows] = kernel.cross(kernel.probe(rows), probe) @ coefficients
        self.root[old:new] = np.sqrt(np.maximum(0.0, kernel.diagonal(old, new)))
        return np.arange(first, last)

    def _find_support(self) -> tuple[Array, Probe | None]:
        if self.known_support is None:
            z = self.z
            support = np.flatnonzero(z)
            probe = self.kernel.probe(support) if len(support) else None
            self.known_support = (z[support], probe)
        return self.known_support

    def close_gaps(self, kept: Array) -> None:
        """Drop the slots where `kept` is false; their variables must be at zero, of bound zero."""
        self.known_support = self.around = None
        of_variables = np.repeat(kept, self.per_sample)
        self.free = (np.cumsum(of_variables) - 1)[self.free]
        for name in self._arrays:
            view, chosen = getattr(self, name), kept if name in _OF_SAMPLES else of_variables
            n_kept = int(chosen.sum())
            view[:n_kept] = view[chosen]
            view[n_kept:] = 0
        self.kernel.keep(kept)
        self._fit_views()

    def wipe(self, samples: Array) -> None:
        """Overwrite all that is known of samples whose variables are at zero, of bound zero."""
        self.around = None
        per = self.per_sample
        for sample in samples.tolist():  # one, as a rule
            self.p[per * sample : per * (sample + 1)] = 0.0
            self.s[per * sample : per * (sample + 1)] = 1.0
            self.f[sample] = self.root[sample] = 0.0
        self.factor.wipe()
        self.kernel.wipe(samples)

    def move_origin(self, shift: Array, wiped: Array) -> None:
        """Take rows relative to another origin, but those of slots that were wiped."""
        self.known_support = self.around = None
        self.kernel.move_origin(shift, wiped)
        if self.kernel.function.name == "linear":
            self.root[:] = np.sqrt(np.maximum(0.0, self.kernel.diagonal(0, self.n_samples)))

    # -- going back ---------------------------------------------------------------------------

    def save(self, with_factor: bool) -> SavedPoint:
        """Everything needed to come back here, as long as no gaps are closed; with the factor, if
        that is likely to happen."""
        names = ("a", "u", "p", "s", "sides", "f")
        arrays = {name: getattr(self, name).copy() for name in names}
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        R = self.factor.known.copy() if with_factor else None
        return SavedPoint(self.n_samples, arrays, self.free, R, numbers, self.around)

    def restore(self, saved: SavedPoint) -> None:
        """Come back."""
        self.known_support = None
        self.u_rate[:] = 0.0
        self.truncate(saved.n_samples)
        for name, values in saved.arrays.items():
            getattr(self, name)[:] = values
        self.free = saved.free
        for name, value in saved.numbers.items():
            setattr(self, name, value)
        self.around = saved.around
        if saved.R is None:
            self._factorise()
        else:
            self.factor.adopt(saved.R)

    def truncate(self, n_samples: int) -> None:
        """Give up samples that were appended last, none of whose variables has moved."""
        if n_samples < self.n_samples:
            for name, array in self._arrays.items():
                used = n_samples if name in _OF_SAMPLES else n_samples * self.per_sample
                array[used:] = 0
            self.kernel.truncate(n_samples)
            self._fit_views()

    def _factorise(self) -> None:
        """The factor of the free variables' matrix, from scratch."""
        self.factor = GrowingFactor()
        samples = self.free // self.per_sample
        for k, sample in enumerate(samples):
            column = self.kernel.column(int(sample)) + self.constant
            self.factor.append(column[samples[:k]], float(column[sample]), 0.0)

    # -- what is saved ------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What is saved of the point."""
        return {
            "kernel": self.kernel,
            "per_sample": self.per_sample,
            **{field: getattr(self, name) for field, name in _SAVED_NUMBERS.items()},
            **{field: getattr(self, name) for field, name in _SAVED_ARRAYS.items()},
            "_free": self.free,
            "factor": self.factor.known,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The point as it was saved, with arrays of its own."""
        point = cls(state["kernel"], state["per_sample"], state["delta"])
        for field, name in _SAVED_NUMBERS.items():
            # Older files do not count corrections.
            setattr(point, name, state[field] if name != "corrections" else state.get(field, 0))
        for field, name in _SAVED_ARRAYS.items():
            getattr(point, name)[:] = state[field]
        point.u_rate[:] = point.no_rate[:] = 0.0
        point.free = state["_free"].copy()
        point.factor.adopt(state["factor"])
        return point
