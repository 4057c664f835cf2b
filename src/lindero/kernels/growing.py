"""A kernel over samples that come and go, with the columns that are in use kept.

Samples have slots, counted from 0 in the order in which they came. A sample that is forgotten
leaves its slot empty until `keep` closes the gaps, so that slots are stable in between; what was
in it is overwritten at once (`wipe`). A new sample costs one kernel value for each column kept.

Rows are appended in constant time each: arrays have more room than rows, twice as much when it runs
out. There are zeros in it, never what was there before. Dense rows are kept in float64, sparse ones
as CSR arrays.

Columns are kept under a memory cap. The samples of the last sum are in use; of the others, the one
used longest ago makes room. Sums over more columns than can be kept compute the rest on the way.

Rows are of use to this kernel only, so both are in one file.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from lindero.errors import KernelError
from lindero.kernels.operator import (
    FINE_FROM,
    LARGEST_VALUE,
    CallableKernel,
    KernelFunction,
    KernelOperator,
    ProductKernel,
)
from lindero.kernels.products import DenseProducts, Probe, SparseProducts
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FAST, compiled

#: Entries that an array has room for at first.
_FIRST_ROOM = 64

#: Columns kept at least, whatever the cap.
_FEWEST_COLUMNS = 16

#: Sums after which a column that took part in none is given up rather than memory taken.
_LONG_AGO = 8

#: Samples of a tile of a sum: its totals stay in the CPU's nearest cache.
_TILE = 1024

#: Columns computed at once where they cannot be kept.
_COMPUTED_AT_ONCE = 64

#: Numbers that the columns of a saved kernel may have room for, however few it holds.
MOST_SAVED_ROOM = 2**25

#: Rows that saved columns may have room for, however few there are.
_MANY_ROWS = 2**17


def with_room(array: Array, used: int, needed: int) -> Array:
    """`array`, or a longer one with its first `used` entries, if `needed` is beyond its end."""
    if needed <= len(array):
        return array
    longer = np.zeros((max(_FIRST_ROOM, 2 * needed), *array.shape[1:]), dtype=array.dtype)
    longer[:used] = array[:used]
    return longer


# -- rows -----------------------------------------------------------------------------------------


class GrowingDenseRows:
    """Rows of a dense table; where there is a `shift`, also relative to it."""

    def __init__(self, n_features: int, shift: Array | None) -> None:
        self.n_rows = 0
        self.n_features = n_features
        self.shift = shift
        self._given = np.empty((0, n_features))
        self._X = self._given
        self._squares = np.empty(0)

    def state(self) -> dict[str, Any]:
        """What is saved of the rows."""
        used = slice(0, self.n_rows)
        return {"shift": self.shift, "given": self._given[used], "squares": self._squares[used]}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rows as they were saved."""
        given = state["given"].copy()
        rows = cls(given.shape[1], state["shift"])
        rows.n_rows = len(given)
        rows._given, rows._squares = given, state["squares"].copy()
        rows._X = given if rows.shift is None else given - rows.shift
        if rows.shift is not None:
            rows._X[rows._squares == 0.0] = 0.0  # wiped
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return self.state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(vars(self.from_state(state)))

    def longest(self, start: int) -> float:
        """The largest square of a row from `start` on."""
        if self.n_rows - start == 1:
            return float(self._squares[start])
        return float(self._squares[start : self.n_rows].max(initial=0.0))

    def append(self, X: Any) -> None:
        rows = X.toarray() if sp.issparse(X) else X
        start, stop = self.n_rows, self.n_rows + rows.shape[0]
        self._given = with_room(self._given, start, stop)
        self._given[start:stop] = rows
        if self.shift is None:
            self._X = self._given
        else:
            self._X = with_room(self._X, start, stop)
            self._X[start:stop] = self._given[start:stop] - self.shift
        self._squares = with_room(self._squares, start, stop)
        added = self._X[start:stop]
        np.einsum("ij,ij->i", added, added, out=self._squares[start:stop])
        self.n_rows = stop

    @property
    def _arrays(self) -> list[Array]:
        return [self._given, self._squares] + ([] if self.shift is None else [self._X])

    def truncate(self, n_rows: int) -> None:
        for array in self._arrays:
            array[n_rows : self.n_rows] = 0.0
        self.n_rows = n_rows

    def keep(self, kept: Array) -> None:
        n_kept = int(kept.sum())
        for array in self._arrays:
            array[:n_kept] = array[: self.n_rows][kept]
            array[n_kept : self.n_rows] = 0.0
        self.n_rows = n_kept

    def wipe(self, rows: Array) -> None:
        """Overwrite rows."""
        for row in rows.tolist():
            self._given[row] = self._squares[row] = 0.0
            if self.shift is not None:
                self._X[row] = 0.0

    def is_origin(self, rows: Array, kept: Array) -> bool:
        """Whether the shift has a value of these rows, other than 0, that no row kept has."""
        if self.shift is None:
            return False
        same = self._given[rows] == self.shift
        if not np.count_nonzero(same):
            return False
        columns = np.flatnonzero(same.any(axis=0) & (self.shift != 0.0))
        others = self._given[: self.n_rows][kept][:, columns]
        return not bool((others == self.shift[columns]).any(axis=0).all())

    def move_origin(self, shift: Array, wiped: Array) -> None:
        """Take rows, but those that were wiped, relative to another origin."""
        self.shift = shift
        X = self._given[: self.n_rows] - shift
        X[wiped] = 0.0
        self._X[: self.n_rows] = X
        np.einsum("ij,ij->i", X, X, out=self._squares[: self.n_rows])

    def take(self, rows: Array) -> Array:
        """Rows as they were given."""
        chosen: Array = self._given[: self.n_rows][rows]
        return chosen

    def take_shifted(self, rows: Array) -> Array:
        """Rows relative to the shift, of which they have all digits."""
        chosen: Array = self._X[: self.n_rows][rows]
        return chosen

    def probe(self, rows: Array) -> Probe:
        return Probe(self._X[rows], self._squares[rows])

    def fill_products(self, probe: Probe, out: Array) -> Array:
        """out = ⟨x, x_j⟩ of the rows of a probe with all; returns the squares of all."""
        np.dot(probe.rows, self._X[: self.n_rows].T, out=out)
        return self._squares[: self.n_rows]

    def operator(self, function: KernelFunction) -> KernelOperator:
        if function.call is not None:
            return CallableKernel(self._X[: self.n_rows], function, np.float64)
        # The rows as they were given are for judging in extended precision.
        products = DenseProducts(self._given[: self.n_rows], np.float64, self.shift)
        # Known: not to be computed again.
        products._ready, products.squares = self._X[: self.n_rows], self._squares[: self.n_rows]
        return ProductKernel(products, function)


class GrowingSparseRows:
    """Rows of a CSR array."""

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0
        self.n_features = n_features
        self._data = np.empty(0)
        self._indices = np.empty(0, dtype=np.int32)
        self._ends = np.zeros(1, dtype=np.int64)

    def state(self) -> dict[str, Any]:
        """What is saved of the rows."""
        return {"rows": self._matrix()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rows as they were saved."""
        rows = cls(state["rows"].shape[1])
        rows._adopt(state["rows"].copy())
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return self.state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(vars(self.from_state(state)))

    def append(self, X: Any) -> None:
        rows = X if sp.issparse(X) else sp.csr_array(X)
        n_new, used = rows.shape[0], int(self._ends[self.n_rows])
        needed = used + rows.nnz
        self._data = with_room(self._data, used, needed)
        self._indices = with_room(self._indices, used, needed)
        self._ends = with_room(self._ends, self.n_rows + 1, self.n_rows + 1 + n_new)
        self._data[used:needed] = rows.data
        self._indices[used:needed] = rows.indices
        self._ends[self.n_rows + 1 : self.n_rows + 1 + n_new] = used + rows.indptr[1:]
        self.n_rows += n_new

    def truncate(self, n_rows: int) -> None:
        used = slice(int(self._ends[n_rows]), int(self._ends[self.n_rows]))
        self._data[used], self._indices[used] = 0.0, 0
        self._ends[n_rows + 1 : self.n_rows + 1] = 0
        self.n_rows = n_rows

    def keep(self, kept: Array) -> None:
        self._adopt(self._matrix()[np.flatnonzero(kept)])

    def wipe(self, rows: Array) -> None:
        """Overwrite rows: no more is left of them than how many entries they had."""
        for row in rows:
            used = slice(int(self._ends[row]), int(self._ends[row + 1]))
            self._data[used], self._indices[used] = 0.0, np.arange(used.stop - used.start)

    def is_origin(self, rows: Array, kept: Array) -> bool:
        """Whether the shift has a value of these rows: there is none."""
        return False

    def longest(self, start: int) -> float:
        """No less than the largest square of a row from `start` on."""
        entries = self._data[self._ends[start] : self._ends[self.n_rows]]
        return float(entries @ entries)

    def _adopt(self, matrix: sp.csr_array) -> None:
        self._data, self._indices = matrix.data, matrix.indices.astype(np.int32, copy=False)
        self._ends = matrix.indptr.astype(np.int64)
        self.n_rows = matrix.shape[0]

    def take(self, rows: Array) -> Any:
        """Rows as they were given."""
        return self._matrix()[rows]

    def take_shifted(self, rows: Array) -> Any:
        """The same: sparse rows are never shifted."""
        return self.take(rows)

    def _matrix(self) -> sp.csr_array:
        ends = self._ends[: self.n_rows + 1]
        filled = slice(0, int(ends[-1]))
        arrays = (self._data[filled], self._indices[filled], ends)
        return sp.csr_array(arrays, shape=(self.n_rows, self.n_features))

    def operator(self, function: KernelFunction) -> KernelOperator:
        if function.call is not None:
            return CallableKernel(self._matrix(), function, np.float64)
        return ProductKernel(SparseProducts(self._matrix(), np.float64), function)


# -- the kernel -----------------------------------------------------------------------------------


class GrowingKernel:
    """The kernel `function` over rows that can be appended; columns take up to `megabytes`. `shift`
    is the origin that dense rows are stored relative to (see `kernels.operator.origin`)."""

    def __init__(
        self, function: KernelFunction, n_features: int, shift: Array | None, megabytes: float
    ) -> None:
        self.function = function
        self.n_features = n_features
        self.shift = shift
        self.megabytes = megabytes
        self.rows: Any = None
        self._values = np.empty((0, 0))
        self._owner = np.empty(0, dtype=np.int64)
        self._last_used = np.empty(0, dtype=np.int64)
        self._slot_of = np.empty(0, dtype=np.int64)
        self._clock = 0
        self._operator: KernelOperator | None = None
        #: Whether differences of squares would lose digits that matter: see `ProductKernel`.
        self._fine = False
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

    # -- what is saved ------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What is saved of the kernel, its columns included: one computed again, in other company,
        may differ by rounding. Room that nobody needs is left out."""
        used = slots = np.flatnonzero(self._owner >= 0)
        last_used, n = self._last_used, self.n_samples
        capacity = min(self._values.shape[1], most_capacity(n))
        if len(last_used) * capacity > MOST_SAVED_ROOM:
            slots, last_used = np.arange(len(used)), last_used[used]
            if len(used) * capacity > MOST_SAVED_ROOM:
                capacity = min(capacity, usual_capacity(n))
        return {
            "function": self.function,
            "shift": self.shift,
            "megabytes": self.megabytes,
            "n_features": self.n_features,
            "rows": self.rows,
            "capacity": capacity,
            "clock": self._clock,
            "last_used": last_used,
            "slots": slots,
            "owners": self._owner[used],
            "columns": self._values[used, :n],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The kernel as it was saved."""
        names = ("function", "n_features", "shift", "megabytes")
        kernel = cls(*(state[name] for name in names))
        kernel.rows = state["rows"]
        if kernel.rows is not None:
            kernel._note_longest(0)
        slots, columns = state["slots"], state["columns"]
        kernel._resize(len(state["last_used"]), state["capacity"])
        kernel._values[slots, : columns.shape[1]] = columns
        kernel._owner[slots] = state["owners"]
        kernel._slot_of[state["owners"]] = slots
        kernel._last_used[:] = state["last_used"]
        kernel._clock = state["clock"]
        return kernel

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

    def take_columns(self, other: GrowingKernel) -> None:
        """Keep copies of the columns that a kernel over the same rows keeps."""
        for name in ("_values", "_owner", "_last_used", "_slot_of"):
            setattr(self, name, getattr(other, name).copy())
        self._clock = other._clock

    # -- samples ------------------------------------------------------------------------------

    def append(self, X: Any) -> None:
        """More samples, in the next slots."""
        if self.rows is None:
            if sp.issparse(X):
                self.rows = GrowingSparseRows(self.n_features)
            else:
                self.rows = GrowingDenseRows(self.n_features, self.shift)
        old = self.n_samples
        self.rows.append(X)
        self._operator = None
        new = self.n_samples
        self._make_room(new)
        self._slot_of[old:new] = -1
        self._note_longest(old)
        if self._owners is None:
            used = np.flatnonzero(self._owner >= 0)
            self._owners = (used, self.probe(self._owner[used]))
        used, probe = self._owners
        if len(used):
            self._values[used, old:new] = self.cross(probe, self.probe(np.arange(old, new)))

    def _note_longest(self, start: int) -> None:
        """Refuse rows from `start` on whose kernel values are too large to compute with, and note
        whether differences of their squares would lose digits."""
        function = self.function
        longest = self.rows.longest(start)
        if not largest_value(function, longest) <= LARGEST_VALUE:
            raise KernelError(
                "Kernel values of these rows are too large to compute with: a row has the length "
                f"{np.sqrt(longest):.1e}. Scale the features first "
                "(sklearn.preprocessing.StandardScaler)."
            )
        if function.name == "rbf" and not function.gamma * longest < FINE_FROM:
            self._fine = isinstance(self.rows, GrowingDenseRows)

    def truncate(self, n_samples: int) -> None:
        """Give up the last slots: the inverse of `append`."""
        self._give_up(np.flatnonzero(self._owner >= n_samples))
        self._values[:, n_samples : self.n_samples] = 0.0
        self.rows.truncate(n_samples)
        self._operator = None

    def wipe(self, samples: Array) -> None:
        """Overwrite all that is known of samples whose slots are to be empty."""
        for sample in samples.tolist():  # one, as a rule
            slot = self._slot_of[sample]
            if slot >= 0:
                self._clear(slot)
            self._values[:, sample] = 0.0
        self.rows.wipe(samples)
        self._operator = None

    def move_origin(self, shift: Array, wiped: Array) -> None:
        """Take rows, but those of slots that were wiped, relative to another origin."""
        self.shift = shift
        self.rows.move_origin(shift, wiped)
        if self.function.name == "linear":  # others depend on differences only
            self._give_up(np.flatnonzero(self._owner >= 0))
        self._operator = self._owners = None

    def keep(self, kept: Array) -> None:
        """Close gaps: slots where `kept` is true move together, the others are no more."""
        n = self.n_samples
        place = np.cumsum(kept) - 1
        owned = self._owner >= 0
        self._give_up(np.flatnonzero(owned & ~kept[np.where(owned, self._owner, 0)]))
        used = np.flatnonzero(self._owner >= 0)
        n_kept = int(kept.sum())
        self._values[used, :n_kept] = self._values[used, :n][:, kept]
        self._values[:, n_kept:n] = 0.0
        self._owner[used] = place[self._owner[used]]
        self._slot_of[:n] = -1
        self._slot_of[self._owner[used]] = used
        self._owners = None
        self.rows.keep(kept)
        self._operator = None

    # -- values -------------------------------------------------------------------------------
    #
    # Of dense rows as `ProductKernel` computes them, without its objects: for the few values of a
    # single sample they would take longer than the arithmetic.

    @property
    def _is_dense(self) -> bool:
        dense = isinstance(self.rows, GrowingDenseRows) and not self._fine
        return dense and self.function.call is None

    def probe(self, samples: Array) -> Probe:
        """Chosen samples, remembered for `cross`."""
        if self._is_dense:
            probe: Probe = self.rows.probe(samples)
            return probe
        return self.operator.probe(samples)

    def cross(self, probe: Probe, other: Probe) -> Array:
        """k(x, z) for all x of one probe and z of another."""
        if not self._is_dense:
            return self.operator.cross(probe, other)
        values: Array = np.dot(probe.rows, other.rows.T)
        self.function.apply(values, probe.squares, other.squares)
        return values

    def diagonal(self, start: int, stop: int) -> Array:
        """k(x, x) of some slots."""
        if stop - start == 1:
            probe = self.probe(np.array([start]))
            own: Array = self.cross(probe, probe)[0]
            return own
        return self.operator.subset(np.arange(start, stop)).diagonal()

    def _compute(self, samples: Array, out: Array) -> None:
        """Columns of samples, as rows of `out`."""
        probe = self.probe(samples)
        if self._is_dense:
            squares = self.rows.fill_products(probe, out)
            self.function.apply(out, probe.squares, squares)
        else:
            self.operator.block(probe, 0, self.n_samples, out)

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
        self.fetch(samples)
        slots, n = self._slot_of[samples], self.n_samples
        kept = slots >= 0
        add_weighted(self._values, slots[kept], weights[kept], n, out)
        rest = np.flatnonzero(~kept)
        for start in range(0, len(rest), _COMPUTED_AT_ONCE):
            some = rest[start : start + _COMPUTED_AT_ONCE]
            values = np.empty((len(some), n))
            self._compute(samples[some], values)
            out[:n] += weights[some] @ values

    def fetch(self, samples: Array) -> bool:
        """Keep the columns of these samples, as far as there is room, and whether there was for
        all; they are in use from now on."""
        self._clock += 1
        slots = self._slot_of[samples]
        self._last_used[slots[slots >= 0]] = self._clock
        for sample in samples[slots < 0]:
            slot = self._claim()
            if slot < 0:
                return False
            self._keep(int(sample), slot)
        return True

    @property
    def columns(self) -> tuple[Array, Array]:
        """The columns kept, as rows, and where that of each sample is (−1: nowhere)."""
        return self._values, self._slot_of

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
        if len(slots):
            self._clear(slots)

    def _clear(self, slots: Any) -> None:
        """Overwrite the columns in one slot, or in several."""
        self._owners = None
        self._values[slots] = 0.0
        self._slot_of[self._owner[slots]] = -1
        self._owner[slots] = -1
        self._last_used[slots] = -1

    def _more_slots(self) -> None:
        capacity = self._values.shape[1]
        most = max(_FEWEST_COLUMNS, int(self.megabytes * 2**20 / (8 * max(1, capacity))))
        more = min(most, max(_FEWEST_COLUMNS, 2 * len(self._owner)))
        if more > len(self._owner):
            self._resize(more, capacity)

    def _make_room(self, n_samples: int) -> None:
        if n_samples <= self._values.shape[1]:
            return
        capacity = max(64, 2 * n_samples)
        most = max(_FEWEST_COLUMNS, int(self.megabytes * 2**20 / (8 * capacity)))
        if len(self._owner) > most:  # longer columns: fewer fit
            newest = np.sort(np.argsort(self._last_used, kind="stable")[-most:])
            gone = np.ones(len(self._owner), dtype=bool)
            gone[newest] = False
            self._give_up(np.flatnonzero(gone & (self._owner >= 0)))
            self._values = self._values[newest]
            self._owner, self._last_used = self._owner[newest], self._last_used[newest]
            self._owners = None
            held = np.flatnonzero(self._owner >= 0)
            self._slot_of[self._owner[held]] = held
        self._resize(len(self._owner), capacity)

    def _resize(self, n_slots: int, capacity: int) -> None:
        self._owners = None
        old_slots, old_capacity = self._values.shape
        values = np.zeros((n_slots, capacity))
        values[:old_slots, :old_capacity] = self._values
        self._values = values
        more = n_slots - old_slots
        self._owner = np.concatenate([self._owner, np.full(more, -1)])
        self._last_used = np.concatenate([self._last_used, np.full(more, -1)])
        self._slot_of = np.concatenate([self._slot_of, np.full(capacity - old_capacity, -1)])


def largest_value(function: KernelFunction, longest: float) -> float:
    """What is computed with rows of such squares, at the most."""
    if function.name != "poly":
        return longest
    with np.errstate(over="ignore"):
        inner = abs(function.gamma) * np.float64(longest) + abs(function.coef0)
        return max(longest, float(inner**function.degree))


def most_capacity(n_samples: int) -> int:
    """How long saved columns may be, for rows that came and went."""
    return 4 * max(n_samples, _MANY_ROWS)


def usual_capacity(n_samples: int) -> int:
    """The same where there are so many columns that it matters."""
    return max(64, 4 * n_samples)


@compiled(FAST)
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
