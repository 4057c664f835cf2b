"""The engine of machines that learn and forget sample by sample: the optimum over samples held.

Every update is a motion of bounds that the active set follows (`solvers.active_set`): a new
sample's rise from zero, a forgotten one's fall to it. Many new samples at once are solved from
scratch, which leads to the same optimum. A call that fails or is interrupted leaves everything as
it was.

The machine holds an active set, what is known of each sample beside its row, and a log of updates.
The last two are small and of no use elsewhere, which is why all are in one file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import NotSeparableError, warn_user
from lindero.kernels.growing import GrowingKernel, with_room
from lindero.kernels.operator import KernelFunction, kernel_operator, origin
from lindero.models.kernel_machine import KernelMachine, linear_values, linear_weights
from lindero.problems.dual_qp import Judgement, bias_at
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property
from lindero.runtime.threads import single_threaded_blas
from lindero.solvers.active_set import BREAKDOWNS, ActiveSet, Point, UnboundedError
from lindero.solvers.choose import SMALL_FIT_ROWS, choose_solver
from lindero.solvers.solution import Certificate, Limits, Solver, Status
from lindero.svm.progress import reporting

#: Tolerance and steps of solutions from scratch, whose rest is left to the exact path: fine enough
#: for few changes on it, and not endless where rounding allows no finer one.
_BATCH_TOL = 1e-6
_FEWEST_STEPS, _STEPS_PER_SAMPLE = 500_000, 100

#: More new samples than both of these (the second as a part of those held) are learned at once.
_FEW_AT_ONCE, _SHARE_AT_ONCE = 10, 50

#: KKT gap, beside the scale of the problem, up to which a point is called optimal.
OPTIMAL_WITHIN = 1e-5

#: Gap of the objective that is asked for too, unless the KKT gap is this share of what it may be.
_CLOSE_OBJECTIVE, _CLOSE_GAP = 1e-6, 1e-3

#: Share of the largest coefficient by which their sum may be off.
_BALANCED = 1e-6

OPTIMAL = "Optimal: what is left of the KKT gap is rounding."
STATIONARY = "Stationary: the kernel is not positive semi-definite on these data."
NOT_OPTIMAL = "Not optimal: rounding in double precision hides any further progress."

#: Empty slots up to this many are left; beyond, no more than there are samples.
_FEW_GAPS = 64

#: Unknown ids that a message names.
_NAMED = 5

#: Updates whose records are kept at least: a stream without an end has a memory of one size.
_LOGGED = 100_000

_NONE = np.empty(0, dtype=np.int64)

#: What an update may be, and the numbers that are kept of one.
_KINDS = ("add", "forget", "replace")
_COLUMNS = {"_kinds": "i1", "_batch": "i1", "_ids": "i8", "_steps": "i8", "_changes": "i8"}
_COLUMNS |= {"_corrections": "i8"}
_RECORD = np.dtype(list(_COLUMNS.items()))


class OnlineFormulation:
    """Abstract: what a sample becomes in the dual problem of `problems.dual_qp`. Subclasses are
    frozen dataclasses, of fields that `FIELDS` lists."""

    #: What model files call the fields.
    FIELDS: ClassVar[dict[str, str]]

    #: Variables of a sample.
    per_sample: ClassVar[int] = 1

    #: Whether targets are codes of classes, the last sample of which a window keeps.
    by_class: ClassVar[bool] = False

    #: The sum Σ s a, as a share of the sum of all bounds.
    share: float = 0.0

    def state_samples(self, targets: Array, factors: Array) -> tuple[Array, Array, Array]:
        """Signs, linear terms and bounds of the variables of samples, in their order."""
        raise NotImplementedError

    def choose_solver(
        self, function: KernelFunction, shape: tuple[int, int], hard: bool
    ) -> Callable[..., Solver]:
        """A constructor of solvers for problems of `shape` from scratch."""
        return choose_solver("auto", function, shape, hard)

    #: How far losses of one sample can differ; None where that depends on the unit of targets.
    largest_difference: ClassVar[float | None] = None

    def lose(self, values: Array, target: float) -> Array:
        """The loss of each of several outputs for a sample of this target."""
        raise NotImplementedError

    def adjust_bias(self, bias: float, point: Point) -> float:
        """The constant of the function, from the bias of the problem."""
        return bias

    def fields(self) -> dict[str, Any]:
        """What is saved of it."""
        return {field: getattr(self, name) for name, field in self.FIELDS.items()}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """As it was saved."""
        return cls(**{name: fields[field] for name, field in cls.FIELDS.items()})


# -- what is known of samples and updates ---------------------------------------------------------


class HeldSamples:
    """Numbers, targets and factors of C, by the slots of the active set, in the order in which
    samples came. Numbers rise with the slots, and none is given twice. They are the ids of samples,
    unless the user has chosen others: `_names` has these by number, and `_numbers` the other way.
    """

    _ARRAYS = ("_ids", "_targets", "_factors", "_alive")

    def __init__(self) -> None:
        self.n_slots = 0
        self.next_id = 0
        self._ids = np.empty(0, dtype=np.int64)
        self._targets, self._factors = np.empty(0), np.empty(0)
        self._alive = np.empty(0, dtype=bool)
        self._names: dict[int, int | str] | None = None
        self._numbers: dict[int | str, int] = {}
        self.remember()

    def state(self) -> dict[str, Any]:
        """What is saved of the samples."""
        state = {name: getattr(self, name)[: self.n_slots] for name in self._ARRAYS}
        if self._names is not None:
            names = self._names
            nobody = "" if any(isinstance(name, str) for name in names.values()) else 0
            numbers = self._ids[: self.n_slots].tolist()
            state["_names"] = np.array([names.get(number, nobody) for number in numbers])
        return {"next_id": self.next_id, **state}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Samples as they were saved, in arrays of their own."""
        samples = cls()
        for name in cls._ARRAYS:
            setattr(samples, name, state[name].copy())
        samples.n_slots, samples.next_id = len(samples._ids), state["next_id"]
        if "_names" in state:
            alive = samples.alive
            numbers, names = samples._ids[alive].tolist(), state["_names"][alive].tolist()
            samples._names = dict(zip(numbers, names, strict=True))
            samples._numbers = dict(zip(names, numbers, strict=True))
        samples.remember()
        return samples

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Without a look at every id, none of which changes."""
        twin = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (np.ndarray, dict, list)):
                setattr(twin, name, value.copy())
        return twin

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
        if self._names is not None:
            return np.array([self._names[number] for number in held.tolist()])
        return held

    @property
    def targets(self) -> Array:
        return self._targets[: self.n_slots]

    @property
    def factors(self) -> Array:
        return self._factors[: self.n_slots]

    def id_of(self, slot: int) -> int:
        return int(self._ids[slot])

    @property
    def are_named(self) -> bool:
        """Whether they have ids of the user's choosing."""
        return self._names is not None

    def read_ids(self, ids: Any, n_rows: int) -> list[int | str] | None:
        """Ids that the user chose for new samples: none of them held, none twice; None for none.
        Either all samples have such ids or no sample has."""
        chosen = self._names is not None
        if ids is None:
            if chosen:
                raise ValueError(
                    "The samples held have ids of your choosing: give ids for these rows too."
                )
            return None
        if self.next_id > 0 and not chosen:
            raise ValueError(
                "The samples held have no ids of your choosing: give ids from the first call on, "
                "or call fit to start over."
            )
        names = read_names(ids)
        if len(names) != n_rows:
            raise ValueError(f"ids has {len(names)} values, but X has {n_rows} rows.")
        kinds = {type(name) for name in [*names, *islice(self._numbers, 1)]}
        if len(kinds) > 1:
            raise ValueError("ids must be integers, or strings, but not both.")
        seen: set[int | str] = set()
        for name in names:
            if name in self._numbers or name in seen:
                held = "already held" if name in self._numbers else "given twice"
                raise ValueError(f"ids must differ from each other, but {name!r} is {held}.")
            seen.add(name)
        return names

    def name_by_numbers(self) -> None:
        """Let the numbers of those held be their names, as if the user had chosen them."""
        if self._names is None:
            numbers: list[int] = self.ids.tolist()
            self._names = {number: number for number in numbers}
            self._numbers = {number: number for number in numbers}

    def append(self, targets: Array, factors: Array, names: list[int | str] | None = None) -> None:
        """More samples, in the next slots, with the next numbers."""
        old, new = self.n_slots, self.n_slots + len(targets)
        if names is not None:
            numbers = range(self.next_id, self.next_id + len(names))
            self._names = {} if self._names is None else self._names
            self._names.update(zip(numbers, names, strict=True))
            self._numbers.update(zip(names, numbers, strict=True))
        for name in self._ARRAYS:
            setattr(self, name, with_room(getattr(self, name), old, new))
        self._ids[old:new] = np.arange(self.next_id, self.next_id + new - old)
        self._targets[old:new], self._factors[old:new] = targets, factors
        self._alive[old:new] = True
        self.n_slots = new
        self.next_id += new - old

    def release(self, slots: Array) -> None:
        """Hold samples no longer."""
        for slot in slots:
            self._note(slot)
            self._alive[slot] = False
            self.released.append(int(slot))
            if self._names is not None:
                number = self.id_of(int(slot))
                name = self._names.pop(number)
                del self._numbers[name]
                self._unnamed.append((number, name))

    def wipe(self, slots: Array) -> None:
        """Overwrite what is known of samples that were released."""
        for slot in slots.tolist():
            self._targets[slot] = self._factors[slot] = 0.0

    def change(self, slot: int, target: float, factor: float) -> None:
        """Another target and factor for a sample."""
        self._note(slot)
        self._targets[slot], self._factors[slot] = target, factor

    def find(self, ids: Any) -> Array:
        """The slots of some ids, all of which must be held, none twice."""
        if self._names is not None:
            names = read_names(ids)
            ids = [self._numbers.get(name, -1) for name in names]
            if -1 in ids:
                unknown = [name for name in names if name not in self._numbers]
                raise ValueError(_say_unknown(unknown))
            if len(set(names)) < len(names):
                twice = next(name for k, name in enumerate(names) if name in names[:k])
                raise ValueError(f"ids holds {twice!r} more than once.")
        wanted = np.atleast_1d(np.asarray(ids))
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise ValueError(
                f"ids must be one integer or a list of them, got {ids!r}. sample_ids_ lists those "
                "that are held."
            )
        wanted = np.minimum(wanted, np.iinfo(np.int64).max).astype(np.int64)
        slots = np.searchsorted(self._ids[: self.n_slots], wanted)
        at = np.minimum(slots, self.n_slots - 1)
        known = (self._ids[at] == wanted) & self._alive[at]
        if not known.all():
            raise ValueError(_say_unknown(wanted[~known].tolist()))
        if len(np.unique(slots)) < len(slots):
            values, counts = np.unique(wanted, return_counts=True)
            raise ValueError(f"ids holds {values[counts > 1][0]} more than once.")
        found: Array = slots
        return found

    def holds(self, id: int | str) -> bool:
        """Whether there is a sample of this id."""
        if self._names is not None:
            return id in self._numbers
        at = int(np.searchsorted(self._ids[: self.n_slots], id)) if type(id) is int else -1
        return 0 <= at < self.n_slots and self._ids[at] == id and bool(self._alive[at])

    def is_like(self, other: HeldSamples) -> bool:
        """Whether both count the samples of one stream."""
        named = (self._names is None) == (other._names is None)
        return named and self.next_id == other.next_id

    def find_numbers(self, numbers: Array) -> tuple[Array, Array]:
        """The slots of those samples that are held, and which of the numbers these are."""
        slots = np.searchsorted(self._ids[: self.n_slots], numbers)
        at = np.minimum(slots, self.n_slots - 1)
        known = np.flatnonzero((self._ids[at] == numbers) & self._alive[at])
        return at[known], known

    @property
    def has_many_gaps(self) -> bool:
        n_alive = int(self.alive.sum())
        return self.n_slots - n_alive > max(_FEW_GAPS, n_alive)

    def close_gaps(self) -> None:
        kept = self.slots
        for array in (self._ids, self._targets, self._factors, self._alive):
            array[: len(kept)] = array[kept]
            array[len(kept) : self.n_slots] = 0
        self.n_slots = len(kept)

    # -- going back ---------------------------------------------------------------------------

    def remember(self) -> None:
        """Be ready to undo what follows, up to the next call."""
        self._before = (self.n_slots, self.next_id)
        self._changed: list[tuple[int, bool, float, float]] = []
        #: Slots that were released since, and their ids.
        self.released: list[int] = []
        self._unnamed: list[tuple[int, int | str]] = []

    def undo(self) -> None:
        """As at the last `remember`."""
        for slot, alive, target, factor in reversed(self._changed):
            self._alive[slot], self._targets[slot], self._factors[slot] = alive, target, factor
        n_slots, next_id = self._before
        if self._names is not None:
            for number in range(next_id, self.next_id):
                name = self._names.pop(number, None)
                if name is not None:
                    del self._numbers[name]
            for number, name in self._unnamed:
                if number < next_id:
                    self._names[number], self._numbers[name] = name, number
        for name in self._ARRAYS:
            getattr(self, name)[n_slots : self.n_slots] = 0
        self.n_slots, self.next_id = n_slots, next_id
        self.remember()

    def _note(self, slot: int) -> None:
        if slot < self._before[0]:
            state = (slot, bool(self._alive[slot]), self._targets[slot], self._factors[slot])
            self._changed.append(state)


def read_names(ids: Any) -> list[int | str]:
    """Ids of the user's choosing, one or several, as plain integers and strings."""
    values = ids.tolist() if hasattr(ids, "tolist") else ids
    if isinstance(values, (int, str, np.integer)):
        values = [values]
    try:
        names = list(values)
    except TypeError:
        names = [None]
    names = [int(name) if isinstance(name, np.integer) else name for name in names]
    names = [str(name) if isinstance(name, np.str_) else name for name in names]
    for name in names:
        plain = type(name) is str or (type(name) is int and abs(name) < 2**63)
        if not plain:
            raise ValueError(
                f"ids must be integers of 64 bits or strings, one for each row, got {name!r}."
            )
        if type(name) is str and "\0" in name:
            raise ValueError(f"ids must not hold null characters, as {name!r} does.")
    return names


def _say_unknown(ids: list[Any]) -> str:
    named = ", ".join(str(i) for i in ids[:_NAMED])
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return (
        f"No sample of id {named}{more} is held: it was never given, or has been forgotten. "
        "sample_ids_ lists those that are."
    )


class UpdateLog:
    """A record of every update, six numbers each, in a growing array: streams are long."""

    def __init__(self) -> None:
        self._length = 0
        self._rows = np.empty(0, dtype=_RECORD)

    def __len__(self) -> int:
        return self._length

    def append(self, kind: str, sample_id: int, counts: tuple[int, int, int], batch: bool) -> None:
        """One more; `counts` are of steps, of set changes and of corrections."""
        self._rows = with_room(self._rows, self._length, self._length + 1)
        self._rows[self._length] = (_KINDS.index(kind), batch, sample_id, *counts)
        self._length += 1

    def truncate(self, length: int) -> None:
        self._length = length

    def keep_last(self, count: int, at_most: int | None = None) -> None:
        """Drop old records where there are more than `at_most`, by default twice as many."""
        if self._length > (2 * count if at_most is None else at_most):
            self._rows = self._rows[self._length - count : self._length].copy()
            self._length = count

    def as_array(self) -> Array:
        """A structured array with a row for each update."""
        known = self._rows[: self._length]
        fields = [
            ("kind", "U7"), ("id", np.int64), ("iterations", np.int64),
            ("set_changes", np.int64), ("from_scratch", bool), ("corrections", np.int64),
        ]  # fmt: skip
        rows = np.empty(self._length, dtype=fields)
        rows["kind"] = np.array(_KINDS)[known["_kinds"]]
        rows["id"], rows["iterations"] = known["_ids"], known["_steps"]
        rows["set_changes"], rows["from_scratch"] = known["_changes"], known["_batch"]
        rows["corrections"] = known["_corrections"]
        return rows

    def state(self) -> dict[str, Array]:
        """What is saved of the log: a column for each number."""
        return {name: self._rows[name][: self._length].copy() for name in _COLUMNS}

    @classmethod
    def from_state(cls, state: dict[str, Array]) -> Self:
        """The log as it was saved."""
        log = cls()
        log._length = len(state["_kinds"])
        log._rows = np.zeros(log._length, dtype=_RECORD)  # older files do not count corrections
        for name, column in state.items():
            log._rows[name] = column
        return log


# -- the machine ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldModel:
    """Support vectors and their coefficients; `weights` of the features for the linear kernel."""

    function: KernelFunction
    support: Array
    vectors: Any
    coefficients: Array
    intercept: float
    weights: Array | None

    @cached_property
    def _machine(self) -> KernelMachine:
        shift = origin(self.vectors, self.function)
        kernel = kernel_operator(self.vectors, self.function, shift=shift)
        return KernelMachine(kernel, self.coefficients, np.array([self.intercept]))

    def decision_values(self, X: Any) -> Array:
        """The output for each row of X."""
        if self.weights is not None:
            return linear_values(X, self.weights, np.array([self.intercept]))[:, 0]
        return self._machine.decision_values(X)[:, 0]


@dataclass(frozen=True)
class Answering:
    """In the place of a machine, where only its model is wanted."""

    model: HeldModel


class IncrementalMachine:
    """The optimum of a formulation over samples that are held, at most `window` of them."""

    def __init__(
        self,
        formulation: OnlineFormulation,
        active_set: ActiveSet,
        window: int | None,
        verbose: bool = False,
    ) -> None:
        self.formulation: Any = formulation
        self.active_set = active_set
        self.window = window
        self.verbose = verbose
        self.samples = HeldSamples()
        self.updates = UpdateLog()
        self.seconds = 0.0
        self._model: HeldModel | None = None

    @property
    def kernel(self) -> GrowingKernel:
        return self.active_set.point.kernel

    # -- what is saved ------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What is saved of the machine. What has been looked at is found again."""
        return {
            **self.formulation.fields(),
            "_engine": self.active_set,
            "_samples": self.samples,
            "_updates": self.updates,
            "_seconds": self.seconds,
            "_fitted_window": self.window,
        }

    @classmethod
    def from_state(
        cls, formulation: OnlineFormulation, state: dict[str, Any], verbose: bool
    ) -> Self:
        """The machine as it was saved."""
        machine = cls(formulation, state["_engine"], state["_fitted_window"], verbose)
        machine.samples, machine.updates = state["_samples"], state["_updates"]
        machine.seconds = state["_seconds"]
        return machine

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_model": None}

    def copy_whole(self) -> Self:
        """A machine that holds the same, in arrays of its own, columns of the kernel included."""
        twin = deepcopy(self)
        twin.kernel.take_columns(self.kernel)
        return twin

    def make_twin(self) -> Self:
        """A machine that holds the same, for another thread to try things out."""
        twin = copy(self)
        twin.active_set = deepcopy(self.active_set)
        return twin

    # -- learning, forgetting, changing -------------------------------------------------------

    def learn(self, X: Any, targets: Array, factors: Array, ids: Any = None) -> None:
        """Learn samples one after another; many of them at once, from scratch."""
        names = self.samples.read_ids(ids, len(targets))
        with self._all_or_nothing():
            if self._are_many(len(targets)):
                self._learn_at_once(X, targets, factors, names)
                return
            for row in range(len(targets)):
                one = slice(row, row + 1)
                self._learn_one(X[one], targets[one], factors[one], names and names[one])
            self._refresh()

    def predict_and_learn(
        self, X: Any, targets: Array, factors: Array, names: list[int | str] | None
    ) -> float:
        """Learn one sample, for a caller that holds `attempt` open. What is returned is the
        output for it of the machine that has made room for it, and never saw it."""
        value = self._learn_one(X, targets, factors, names, predict=True)
        self._refresh()
        return value

    def _learn_one(
        self,
        X: Any,
        targets: Array,
        factors: Array,
        names: list[int | str] | None,
        predict: bool = False,
    ) -> float:
        self.samples.append(targets, factors, names)
        for slot in self._beyond_window():
            self._forget_one(int(slot))
        s, p, u = self.formulation.state_samples(targets, factors)
        variables = self.active_set.point.append(X, s, p)
        value = float(self.active_set.point.f[-1]) + self.find_bias() if predict else 0.0
        with self._log("add", self.samples.n_slots - 1):
            self.move(variables, u)
        return value

    def forget(self, slots: Array) -> None:
        """Forget samples one after another; many of them at once, from scratch."""
        with self._all_or_nothing():
            if not self._are_many(len(slots)):
                for slot in slots:
                    self._forget_one(int(slot))
                self._refresh()
                return
            with self._log("forget", slots, from_scratch=True):
                self.samples.release(slots)
                self._solve_without(slots)

    def change(self, slots: Array, targets: Array, factors: Array) -> None:
        """Other targets and factors for samples that stay."""
        with self._all_or_nothing():
            for k, slot in enumerate(slots):
                self._change_one(int(slot), targets[k : k + 1], factors[k : k + 1])
            self._refresh()

    def restate(self, formulation: OnlineFormulation, target: float) -> None:
        """Another formulation, in which all samples have one target; all coefficients are zero."""
        self.formulation = formulation
        self.samples.targets[:] = target
        s, p, u = formulation.state_samples(self.samples.targets, self.samples.factors)
        self.active_set.restate_all(s, p, np.where(self.samples.alive, u, 0.0))
        self._model = None

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo everything if anything goes wrong. At the end nothing is left of what was
        released."""
        with self.attempt():
            yield
            self.settle()
        self.commit()

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undo everything if anything goes wrong. What goes well ends with `settle`, inside, and
        `commit`, outside: several machines then change together, or none."""
        begun = time.perf_counter()
        self.active_set.remember()
        self.samples.remember()
        n_updates = len(self.updates)
        try:
            with single_threaded_blas, np.errstate(over="ignore", invalid="ignore"):
                yield
        except BaseException as error:
            self.active_set.undo()
            self.samples.undo()
            self.updates.truncate(n_updates)
            if isinstance(error, UnboundedError):
                raise NotSeparableError(
                    "The hard margin (C=inf) has no solution with this sample: no boundary of this "
                    "kernel separates the classes then. Nothing was changed. Use a finite C to "
                    "allow errors, or a richer kernel."
                ) from None
            raise
        self._model = None
        self.seconds += time.perf_counter() - begun

    def settle(self) -> None:
        """The end of an attempt, the last of it that may fail."""
        if self.samples.released:
            self._move_origin_from(np.array(self.samples.released, dtype=np.int64))

    def commit(self) -> None:
        """Keep what an attempt has done: nothing is left of what it released."""
        released = np.array(self.samples.released, dtype=np.int64)
        if len(released):
            self._wipe(released)
        # Only now: callers know samples by their slots.
        by_call = self.kernel.function.call is not None
        if self.samples.has_many_gaps or (by_call and len(released)):
            self.active_set.point.close_gaps(self.samples.alive)
            self.samples.close_gaps()
        self.active_set.remember()
        self.samples.remember()
        self.updates.keep_last(_LOGGED)

    def fit_window(self, window: int) -> None:
        """Another window, of no more samples than before."""
        self.window = window
        self.forget(self._beyond_window())

    def erase(self) -> None:
        """Overwrite all samples of a machine that is of no use any more."""
        if self.samples.n_slots:
            self._wipe(np.arange(self.samples.n_slots))
        self._model = None

    def _wipe(self, slots: Array) -> None:
        """Overwrite what is known of samples that were released."""
        self.active_set.point.wipe(slots)
        self.samples.wipe(slots)

    def _move_origin_from(self, slots: Array) -> None:
        """The origin is the mean of rows; but of a single one it is that row. Move it away from
        rows that are to go."""
        kernel, alive = self.kernel, self.samples.alive
        if not kernel.rows.is_origin(slots, alive):
            return
        wiped = np.setdiff1d(np.flatnonzero(~alive), slots)
        mean = kernel.rows.take(np.flatnonzero(alive)).mean(axis=0)
        self.active_set.move_origin(mean, wiped)
        if kernel.function.name == "linear":
            self._solve(self.active_set.point.a.copy())

    def _are_many(self, n_new: int) -> bool:
        """Whether many samples are better learned at once (see `benchmarks/README.md`)."""
        return n_new > max(_FEW_AT_ONCE, len(self.samples.slots) // _SHARE_AT_ONCE)

    def _forget_one(self, slot: int) -> None:
        variables = self.variables_of(np.array([slot]))
        with self._log("forget", slot):
            self.move(variables, np.zeros(len(variables)), gone=True)
        self.samples.release(np.array([slot]))

    def _change_one(self, slot: int, targets: Array, factors: Array) -> None:
        point, variables = self.active_set.point, self.variables_of(np.array([slot]))
        s, p, u = self.formulation.state_samples(targets, factors)
        with self._log("replace", slot):
            if (point.s[variables] != s).any() or (point.p[variables] != p).any():
                self.move(variables, np.zeros(len(variables)), gone=True)
                self.active_set.restate(variables, s, p)
            self.move(variables, u)
        self.samples.change(slot, float(targets[0]), float(factors[0]))

    def _learn_at_once(
        self, X: Any, targets: Array, factors: Array, names: list[int | str] | None
    ) -> None:
        first = self.samples.n_slots
        s, p, u = self.formulation.state_samples(targets, factors)
        self.samples.append(targets, factors, names)
        self.active_set.place_bounds(self.active_set.point.append(X, s, p), u)
        with self._log("add", np.arange(first, self.samples.n_slots), from_scratch=True):
            gone = self._beyond_window()
            self._solve_without(gone)
        with self._log("forget", gone, from_scratch=True):
            self.samples.release(gone)

    def _beyond_window(self) -> Array:
        """Slots that the window has no room for: the oldest, but never the last of a class."""
        if self.window is None:
            return _NONE
        slots = self.samples.slots
        count = max(0, len(slots) - self.window)
        if count == 0 or not self.formulation.by_class:
            return slots[:count]
        codes = self.samples.targets.astype(np.intp)
        left = np.bincount(codes[slots], minlength=2)
        leaving: list[int] = []
        for slot in slots:
            if len(leaving) == count:
                break
            if left[codes[slot]] > 1:
                left[codes[slot]] -= 1
                leaving.append(int(slot))
        return np.array(leaving, dtype=np.int64)

    @contextmanager
    def _log(self, kind: str, slots: Any, from_scratch: bool = False) -> Iterator[None]:
        point = self.active_set.point
        steps, changes, corrections = point.steps, point.changes, point.corrections
        yield
        counts = point.steps - steps, point.changes - changes, point.corrections - corrections
        for slot in np.atleast_1d(slots):
            self.updates.append(kind, self.samples.id_of(int(slot)), counts, from_scratch)

    # -- the optimum --------------------------------------------------------------------------

    def variables_of(self, slots: Array) -> Array:
        """The variables of samples."""
        per = self.formulation.per_sample
        variables: Array = (slots[:, None] * per + np.arange(per)).ravel()
        return variables

    def move(self, variables: Array, bounds: Array, gone: bool = False) -> None:
        """Move bounds along the exact path; where rounding hides it, solve from scratch."""
        active_set = self.active_set
        total = self._total_with(variables, bounds)
        a = active_set.point.a.copy()
        try:
            if gone:
                active_set.withdraw(variables, total)
            else:
                active_set.set_bounds(variables, bounds, total)
        except BREAKDOWNS:
            active_set.place_bounds(variables, bounds)
            active_set.place_sum(total)
            a[variables] = np.minimum(a[variables], bounds)
            self._solve(a)

    def _total_with(self, variables: Array, bounds: Array) -> float:
        """What Σ s a must be when these variables have these bounds."""
        share = self.formulation.share
        if share == 0.0:
            return 0.0
        u = self.active_set.point.u
        return float(share * (u.sum() - u[variables].sum() + bounds.sum()))

    def _refresh(self) -> None:
        """Values from scratch, where many updates may have blurred them."""
        try:
            self.active_set.refresh()
        except BREAKDOWNS:
            self._solve(self.active_set.point.a.copy())

    def _solve_without(self, slots: Array) -> None:
        """The optimum for the bounds as they are, but of some samples, which are to go."""
        active_set = self.active_set
        active_set.place_bounds(self.variables_of(slots), 0.0)
        active_set.place_sum(self._total_with(_NONE, np.empty(0)))
        self._solve(np.minimum(active_set.point.a, active_set.point.u))

    def _solve(self, a: Array) -> None:
        """The optimum for the bounds as they are, from near `a`."""
        point, kernel = self.active_set.point, self.kernel
        hard = bool(np.isinf(point.u).any())
        shape = (len(self.samples.slots), kernel.n_features)
        make_solver = self.formulation.choose_solver(kernel.function, shape, hard)
        n_threads = 1 if point.n_variables < SMALL_FIT_ROWS else None
        solver = make_solver(tol=_BATCH_TOL, cache_size=kernel.megabytes, n_threads=n_threads)
        knew = point.indefinite
        with reporting(self.verbose, None) as callback:
            most = _FEWEST_STEPS + _STEPS_PER_SAMPLE * point.n_samples
            limits = Limits(max_iter=most, callback=callback)
            self.active_set.solve_from(a, solver, limits)
        if limits.interrupted:
            raise KeyboardInterrupt
        if point.lost and self.certify().status == NOT_OPTIMAL:
            warn_user(
                "Rounding in double precision hides the way to the optimum: the model is the best "
                "that was found, and certificate_ says how far it is. Scale the features "
                "(sklearn.preprocessing.StandardScaler), or use a smaller C.",
                ConvergenceWarning,
            )
        if point.indefinite and not knew:
            warn_user(
                f"The {kernel.function.name} kernel is not positive semi-definite on these data: "
                "updates are solved from scratch, and the certificate is that of a stationary "
                "point only.",
                UserWarning,
            )

    # -- the model ----------------------------------------------------------------------------

    def find_bias(self) -> float:
        """The bias by the solution alone: where conditions leave an interval open, its middle."""
        point = self.active_set.point
        f = point.f if point.per_sample == 1 else np.repeat(point.f, point.per_sample)
        bias = float(bias_at(f + point.s * point.p, point.a, point.s, point.u))
        return float(self.formulation.adjust_bias(bias, point))

    def bias_of_origin(self, z: Array) -> float:
        """w·origin: what moving the origin of a linear kernel adds to its bias."""
        kernel = self.kernel
        if kernel.shift is None or kernel.function.name != "linear":
            return 0.0
        held = np.flatnonzero(z)
        return float((z[held] @ kernel.rows.take_shifted(held)) @ kernel.shift)

    @property
    def model(self) -> HeldModel:
        """Made when somebody looks, so that a stream of updates does not pay for it."""
        if self._model is not None:
            return self._model
        kernel, slots, z_of_slots = self.kernel, self.samples.slots, self.active_set.point.z
        z = z_of_slots[slots]
        support = np.flatnonzero(z)
        if self.formulation.by_class:  # as scikit-learn has them
            support = support[np.argsort(self.samples.targets[slots[support]], kind="stable")]
        vectors = kernel.rows.take(slots[support])
        coefficients = z[None, support]
        intercept, weights = self.find_bias(), None
        if kernel.function.name == "linear":
            # Coefficients sum to zero where rows are shifted, so that these are the weights too;
            # and rows far from zero would leave them few digits.
            weights = linear_weights(kernel.rows.take_shifted(slots[support]), coefficients, None)
            intercept -= self.bias_of_origin(z_of_slots)
        place = support.astype(np.int32)
        model = HeldModel(kernel.function, place, vectors, coefficients, intercept, weights)
        self._model = model
        return model

    def find_bounded(self) -> Array:
        """Which of the samples held have a coefficient at its bound."""
        point = self.active_set.point
        at_bound = (point.a > 0.0) & (point.a >= point.u)
        by_sample = np.any(at_bound.reshape(-1, point.per_sample), axis=1)
        bounded: Array = by_sample[self.samples.slots]
        return bounded

    @property
    def tolerance(self) -> float:
        """The KKT gap up to which the point is called optimal: small beside margins and targets,
        or, where there are none, beside the values of the function."""
        point = self.active_set.point
        taking_part = point.u > 0.0
        if self.formulation.share == 0.0:
            scale = max(1.0, float(np.abs(point.p[taking_part]).max(initial=0.0)))
        else:
            roots = point.root[taking_part]
            squares = float(roots @ roots) / max(1, len(roots))
            scale = min(1.0, abs(point.delta) * squares) or 1.0
        return OPTIMAL_WITHIN * scale

    def certify(self) -> Certificate:
        """The certificate, from the coefficients and the samples alone."""
        point, wanted = self.active_set.point, self.tolerance
        with np.errstate(over="ignore", invalid="ignore"):
            judgement = self._judge(wanted)
        feasible = judgement.infeasibility <= _BALANCED * float(point.a.max(initial=0.0))
        close = judgement.duality_gap <= _CLOSE_OBJECTIVE * max(1.0, abs(judgement.primal))
        close = close or judgement.kkt_gap <= _CLOSE_GAP * wanted
        if not (feasible and close and judgement.kkt_gap <= wanted):
            status = NOT_OPTIMAL
        elif point.indefinite:
            status = STATIONARY
        elif not judgement.accuracy <= wanted:
            status = Status.UNPROVEN.value
        else:
            status = OPTIMAL
        return Certificate.of(judgement, point.steps + point.corrections, self.seconds, status)

    def _judge(self, wanted: float) -> Judgement:
        point = self.active_set.point
        f, problem = point.exact_f(), point.problem()
        bias = problem.bias(point.a, f)
        judgement = problem.certify(point.a, bias, wanted, f)
        name, shift, lengths = point.kernel.function.name, point.kernel.shift, point.root
        if name not in ("linear", "poly") or judgement.kkt_gap > wanted:
            return judgement
        # Long rows are rounded most; those that are far on their own side have no say.
        if shift is not None:
            lengths = lengths + float(np.sqrt(shift @ shift))
        longest = max(float(lengths.max(initial=0.0)), np.finfo(np.float64).tiny)
        rounded = 8.0 * float(problem.kernel.error()) / longest**2
        size = float(np.abs(point.z) @ lengths)
        r = (point.s * (problem.scores(f) + bias)).reshape(-1, point.per_sample).min(axis=1)
        away = r > 1.0 + rounded * size * lengths
        away &= ~point.a.reshape(-1, point.per_sample).any(axis=1)
        if judgement.accuracy > wanted and away.any():
            near = self.variables_of(np.flatnonzero(~away))
            nearby = self.active_set.restrict(near).certify(point.a[near], bias, wanted)
            judgement = replace(judgement, kkt_gap=nearby.kkt_gap, accuracy=nearby.accuracy)
        if name == "linear":
            # Where coefficients do not sum up to the last digit, the origin matters.
            balance = abs(float((point.s * point.a).sum()) - point.delta)
            lost = 2.0 * balance * float(point.root[~away].max(initial=0.0)) ** 2
            judgement = replace(judgement, accuracy=judgement.accuracy + lost)
        return judgement
