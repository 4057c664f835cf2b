"""What an incremental machine knows of each sample it holds, beside its row: id, target, factor.

Samples have the slots of the solver, in the order in which they came. Ids count on for ever, so
that they rise with the slots and none is given twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.kernels.growing_rows import with_room
from lindero.runtime.arrays import Array

#: Empty slots up to this many are left; beyond, no more than there are samples.
_FEW_GAPS = 64

_NAMED = 5


class HeldSamples:
    """Ids, targets and factors of C, by slot."""

    def __init__(self) -> None:
        self.n_slots = 0
        self.next_id = 0
        self._ids = np.empty(0, dtype=np.int64)
        self._targets, self._factors = np.empty(0), np.empty(0)
        self._alive = np.empty(0, dtype=bool)
        self.remember()

    @property
    def alive(self) -> Array:
        return self._alive[: self.n_slots]

    @property
    def slots(self) -> Array:
        """Slots of the samples held, oldest first."""
        return np.flatnonzero(self.alive)

    @property
    def ids(self) -> Array:
        held: Array = self._ids[: self.n_slots][self.alive]
        return held

    @property
    def targets(self) -> Array:
        return self._targets[: self.n_slots]

    @property
    def factors(self) -> Array:
        return self._factors[: self.n_slots]

    def id_of(self, slot: int) -> int:
        return int(self._ids[slot])

    def append(self, targets: Array, factors: Array) -> None:
        """More samples, in the next slots, with the next ids."""
        old, new = self.n_slots, self.n_slots + len(targets)
        for name in ("_ids", "_targets", "_factors", "_alive"):
            setattr(self, name, with_room(getattr(self, name), old, new))
        self._ids[old:new] = np.arange(self.next_id, self.next_id + new - old)
        self._targets[old:new], self._factors[old:new] = targets, factors
        self._alive[old:new] = True
        self.n_slots = new
        self.next_id += new - old

    def release(self, slot: int) -> None:
        """Hold a sample no longer."""
        self._note(slot)
        self._alive[slot] = False

    def change(self, slot: int, target: float, factor: float) -> None:
        """Another target and factor for a sample."""
        self._note(slot)
        self._targets[slot], self._factors[slot] = target, factor

    def find(self, ids: Any) -> Array:
        """The slots of some ids, all of which must be held, none twice."""
        wanted = np.atleast_1d(np.asarray(ids))
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise ValueError(
                f"ids must be one integer or a list of them, got {ids!r}. sample_ids_ lists those "
                "that are held."
            )
        wanted = np.minimum(wanted, np.iinfo(np.int64).max).astype(np.int64)
        slots = np.searchsorted(self._ids[: self.n_slots], wanted)
        inside = slots < self.n_slots
        known = inside.copy()
        at = slots[inside]
        known[inside] = (self._ids[at] == wanted[inside]) & self._alive[at]
        if not known.all():
            named = ", ".join(str(i) for i in wanted[~known][:_NAMED])
            more = f" and {int((~known).sum()) - _NAMED} more" if (~known).sum() > _NAMED else ""
            raise ValueError(
                f"No sample of id {named}{more} is held: it was never given, or has been "
                "forgotten. sample_ids_ lists those that are."
            )
        if len(np.unique(slots)) < len(slots):
            values, counts = np.unique(wanted, return_counts=True)
            raise ValueError(f"ids holds {values[counts > 1][0]} more than once.")
        found: Array = slots
        return found

    @property
    def has_many_gaps(self) -> bool:
        n_alive = int(self.alive.sum())
        return self.n_slots - n_alive > max(_FEW_GAPS, n_alive)

    def close_gaps(self) -> None:
        kept, n_kept = self.alive.copy(), int(self.alive.sum())
        for array in (self._ids, self._targets, self._factors, self._alive):
            array[:n_kept] = array[: self.n_slots][kept]
        self.n_slots = n_kept

    # -- going back ---------------------------------------------------------------------------

    def remember(self) -> None:
        """Be ready to undo what follows, up to the next call."""
        self._before = (self.n_slots, self.next_id)
        self._changed: list[tuple[int, bool, float, float]] = []

    def undo(self) -> None:
        """As at the last `remember`."""
        for slot, alive, target, factor in reversed(self._changed):
            self._alive[slot], self._targets[slot], self._factors[slot] = alive, target, factor
        self.n_slots, self.next_id = self._before
        self._changed = []

    def _note(self, slot: int) -> None:
        if slot < self._before[0]:
            state = (slot, bool(self._alive[slot]), self._targets[slot], self._factors[slot])
            self._changed.append(state)
