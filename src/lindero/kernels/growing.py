"""A kernel over samples that come and go, with the columns that are in use kept.

Samples have slots, counted from 0 in the order in which they came. A sample that is forgotten
leaves its slot empty until `keep` closes the gaps, so that slots are stable in between. A new
sample costs one kernel value for each column kept.

Columns are kept under a memory cap. The samples of the last sum are in use; of the others, the one
used longest ago makes room. Sums over more columns than can be kept compute the rest on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lindero.kernels.growing_rows import growing_rows
from lindero.kernels.operator import KernelFunction, KernelOperator
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FAST

#: Columns kept at least, whatever the cap.
_FEWEST_COLUMNS = 16

#: Sums after which a column that took part in none is given up rather than memory taken.
_LONG_AGO = 8

#: Samples of a tile of a sum: its totals stay in the CPU's nearest cache.
_TILE = 1024

#: Columns computed at once where they cannot be kept.
_COMPUTED_AT_ONCE = 64


class GrowingKernel:
    """The kernel `function` over rows that can be appended; columns take up to `megabytes`.

    `shift` is the origin that dense rows are stored relative to (see `kernels.operator.origin`).
    """

    def __init__(
        self, function: KernelFunction, n_features: int, shift: Array | None, megabytes: float
    ) -> None:
        self.function = function
        self.shift = shift
        self._megabytes = megabytes
        self._n_features = n_features
        self.rows: Any = None
        self._values = np.empty((0, 0))
        self._owner = np.empty(0, dtype=np.int64)
        self._last_used = np.empty(0, dtype=np.int64)
        self._slot_of = np.empty(0, dtype=np.int64)
        self._clock = 0
        self._operator: KernelOperator | None = None
        # Slots in use and the rows of their samples, kept until either changes.
        self._owners: tuple[Array, Probe] | None = None

    @property
    def n_samples(self) -> int:
        return 0 if self.rows is None else self.rows.n_rows

    @property
    def operator(self) -> KernelOperator:
        """The same as solvers know it, over all slots."""
        if self._operator is None:
            self._operator = self.rows.operator(self.function)
        return self._operator

    def __getstate__(self) -> dict[str, Any]:
        """Without the columns, which can be computed again."""
        state = {**vars(self), "_operator": None, "_owners": None}
        capacity = self._values.shape[1]
        state["_values"] = np.empty((0, 0))
        state["_owner"] = state["_last_used"] = state["_slot_of"] = np.empty(0, dtype=np.int64)
        state["_clock"] = 0
        state["_capacity"] = capacity
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        capacity = state.pop("_capacity")
        self.__dict__.update(state)
        self._resize(0, capacity)

    # -- samples ------------------------------------------------------------------------------

    def append(self, X: Any) -> None:
        """More samples, in the next slots."""
        if self.rows is None:
            self.rows = growing_rows(X, self._n_features, self.shift)
        old = self.n_samples
        self.rows.append(X)
        self._operator = None
        new = self.n_samples
        self._make_room(new)
        self._slot_of[old:new] = -1
        if self._owners is None:
            used = np.flatnonzero(self._owner >= 0)
            self._owners = (used, self.operator.probe(self._owner[used]))
        used, probe = self._owners
        if len(used):
            added = self.operator.probe(np.arange(old, new))
            self._values[used, old:new] = self.operator.cross(probe, added)

    def truncate(self, n_samples: int) -> None:
        """Give up the last slots: the inverse of `append`."""
        self._give_up(self._owner >= n_samples)
        self.rows.truncate(n_samples)
        self._operator = None

    def keep(self, kept: Array) -> None:
        """Close gaps: slots where `kept` is true move together, the others are no more."""
        n = self.n_samples
        place = np.cumsum(kept) - 1
        owned = self._owner >= 0
        self._give_up(owned & ~kept[np.where(owned, self._owner, 0)])
        used = np.flatnonzero(self._owner >= 0)
        n_kept = int(kept.sum())
        self._values[used, :n_kept] = self._values[used, :n][:, kept]
        self._owner[used] = place[self._owner[used]]
        self._slot_of[:n] = -1
        self._slot_of[self._owner[used]] = used
        self._owners = None
        self.rows.keep(kept)
        self._operator = None

    # -- columns ------------------------------------------------------------------------------

    def column(self, sample: int) -> Array:
        """k(x_i, x_sample) for all slots i."""
        n = self.n_samples
        slot = int(self._slot_of[sample])
        if slot >= 0:
            return self._values[slot, :n]
        slot = self._claim()
        if slot >= 0:
            return self._keep(sample, slot)
        values = np.empty((1, n))
        self._compute(np.array([sample]), values)
        computed: Array = values[0]
        return computed

    def _keep(self, sample: int, slot: int) -> Array:
        """Compute a column into a slot."""
        self._compute(np.array([sample]), self._values[slot : slot + 1, : self.n_samples])
        self._owners = None
        self._owner[slot] = sample
        self._slot_of[sample] = slot
        self._last_used[slot] = self._clock
        return self._values[slot, : self.n_samples]

    def add_columns(self, samples: Array, weights: Array, out: Array) -> None:
        """out += Σ_j weights_j k(·, x_samples_j). These samples are in use until the next sum."""
        self._clock += 1
        slots = self._slot_of[samples]
        kept = slots >= 0
        self._last_used[slots[kept]] = self._clock
        if not kept.all():
            self._fetch(samples[~kept])
            slots = self._slot_of[samples]
            kept = slots >= 0
        n = self.n_samples
        add_weighted(self._values, slots[kept], weights[kept], n, out)
        rest = np.flatnonzero(~kept)
        for start in range(0, len(rest), _COMPUTED_AT_ONCE):
            some = rest[start : start + _COMPUTED_AT_ONCE]
            values = np.empty((len(some), n))
            self._compute(samples[some], values)
            out[:n] += weights[some] @ values

    def kept(self, samples: Array) -> bool:
        """Whether the columns of these samples are all at hand; they are in use from now on."""
        self._clock += 1
        slots = self._slot_of[samples]
        self._last_used[slots[slots >= 0]] = self._clock
        return self._fetch(samples[slots < 0])

    def _fetch(self, samples: Array) -> bool:
        """Keep the columns of samples, as far as there is room; whether there was for all."""
        for sample in samples:
            slot = self._claim()
            if slot < 0:
                return False
            self._keep(int(sample), slot)
        return True

    @property
    def columns(self) -> tuple[Array, Array]:
        """The columns kept, as rows, and where that of each sample is (−1: nowhere)."""
        return self._values, self._slot_of

    def diagonal(self, start: int, stop: int) -> Array:
        """k(x, x) of some slots."""
        kernel = self.operator
        if stop - start == 1:
            probe = kernel.probe(np.array([start]))
            own: Array = kernel.cross(probe, probe)[0]
            return own
        return kernel.subset(np.arange(start, stop)).diagonal()

    def _compute(self, samples: Array, out: Array) -> None:
        kernel = self.operator
        kernel.block(kernel.probe(samples), 0, self.n_samples, out)

    # -- memory -------------------------------------------------------------------------------

    def _claim(self) -> int:
        """A slot for a column: an empty one, or that of a column not used for long, or a new one,
        or that of any column not in use; −1 if all are."""
        oldest = int(np.argmin(self._last_used)) if len(self._owner) else -1
        if oldest < 0 or (
            self._owner[oldest] >= 0 and self._last_used[oldest] >= self._clock - _LONG_AGO
        ):
            self._more_slots()
            oldest = int(np.argmin(self._last_used))
        if self._owner[oldest] < 0:
            return oldest
        if self._last_used[oldest] >= self._clock:
            return -1
        self._slot_of[self._owner[oldest]] = -1
        self._owner[oldest] = -1
        self._owners = None
        return oldest

    def _give_up(self, slots: Array) -> None:
        self._owners = None
        self._slot_of[self._owner[slots]] = -1
        self._owner[slots] = -1
        self._last_used[slots] = -1

    def _more_slots(self) -> None:
        capacity = self._values.shape[1]
        most = max(_FEWEST_COLUMNS, int(self._megabytes * 2**20 / (8 * max(1, capacity))))
        more = min(most, max(_FEWEST_COLUMNS, 2 * len(self._owner)))
        if more > len(self._owner):
            self._resize(more, capacity)

    def _make_room(self, n_samples: int) -> None:
        if n_samples <= self._values.shape[1]:
            return
        capacity = max(64, 2 * n_samples)
        most = max(_FEWEST_COLUMNS, int(self._megabytes * 2**20 / (8 * capacity)))
        if len(self._owner) > most:  # longer columns: fewer fit
            newest = np.sort(np.argsort(self._last_used, kind="stable")[-most:])
            gone = np.ones(len(self._owner), dtype=bool)
            gone[newest] = False
            self._give_up(gone & (self._owner >= 0))
            self._values = self._values[newest]
            self._owner, self._last_used = self._owner[newest], self._last_used[newest]
            self._owners = None
            held = np.flatnonzero(self._owner >= 0)
            self._slot_of[self._owner[held]] = held
        self._resize(len(self._owner), capacity)

    def _resize(self, n_slots: int, capacity: int) -> None:
        self._owners = None
        old_slots, old_capacity = self._values.shape
        values = np.empty((n_slots, capacity))
        values[:old_slots, :old_capacity] = self._values
        self._values = values
        more = n_slots - old_slots
        self._owner = np.concatenate([self._owner, np.full(more, -1)])
        self._last_used = np.concatenate([self._last_used, np.full(more, -1)])
        self._slot_of = np.concatenate([self._slot_of, np.full(capacity - old_capacity, -1)])


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def add_weighted(values, slots, weights, n, out):  # type: ignore[no-untyped-def]
    """out[:n] += Σ_k weights_k values[slots_k, :n], four columns at a time."""
    count = slots.size
    for start in range(0, n, _TILE):
        stop = min(start + _TILE, n)
        k = 0
        while k + 4 <= count:
            a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            p, q = values[slots[k]], values[slots[k + 1]]
            s, t = values[slots[k + 2]], values[slots[k + 3]]
            for i in range(start, stop):
                out[i] += a * p[i] + b * q[i] + c * s[i] + d * t[i]
            k += 4
        while k < count:
            a, p = weights[k], values[slots[k]]
            for i in range(start, stop):
                out[i] += a * p[i]
            k += 1
