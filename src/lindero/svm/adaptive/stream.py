"""A stream that is learned row by row, by experts of all speeds: what ``coupling="auto"`` holds.

`StreamedPath` is to a stream what `CoupledPath` is to rows that are solved for together. It has
experts (`experts`), each a filter (`solvers.coupled.filter`), over columns that are kept on one
scale (`running_scale`), and over features of a kernel beside them (`kernels.features`). Time a row
and memory do not grow with the stream.

**The grid.** Couplings are a decade apart from 10 to 1e9, reaches of 3 to 30 000 rows; C is 0.01
to 10. Both mean the same for any scale of the columns, which are brought to 1, for any length of
the stream, and for each other (`solvers.coupled.filter`). Half of the first weight is on curved
experts, where there are any. Where filters of all these would be more than a fraction of a
millisecond a row, there are fewer; on very wide tables those of first order are left.

**Rest.** Where a row costs much, experts that have had no weight for a thousand rows sleep. They
wake up, from where the leading expert is, when a change is noted, or when one within two decades of
coupling and C leads. The promise about the mixture
(`experts`) holds for experts that never slept: those that fall asleep leave them at least the share
of weight that they are given when they wake up.

**Landmarks** of Nyström features are random at first. They are drawn from the rows at the first
look, and again whenever features have come to miss more than 30 % of the kernel, and twice as much
as when they were drawn. Hyperplanes among the new features are those whose outputs at the
landmarks are what they were.

**Classes** may appear at any time. The first machine is made when a second class appears. A new
class begins as one that no row belongs to, by a hyperplane of zero and b = −1.

The engine is one class, and so one file, longer than most.

Every 256th row the whole is looked at, and what is to be told later kept (`stream_history`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from lindero.kernels.features import (
    POLYNOMIAL,
    SIGMOID,
    KernelFeatures,
    draw_frequencies,
    leave_out_features,
    measure_missing,
    take_landmarks,
)
from lindero.runtime.arrays import Array
from lindero.runtime.threads import lock_of, one_at_a_time
from lindero.solvers.coupled.filter import FilterBank, FirstOrderBank
from lindero.svm.adaptive.experts import ROOM, SHARE, ExpertWeights, bound_regret, read_planes
from lindero.svm.adaptive.running_scale import RunningScale
from lindero.svm.adaptive.stream_history import (
    CHECKED,
    MOST_KEPT,
    StreamCertificate,
    StreamHistory,
    StreamRecord,
    join_changes,
)
from lindero.svm.adaptive.stream_loop import StreamState, learn_rows, predict_rows
from lindero.svm.adaptive.times import TimeAxis

#: What is tried, where it is not given.
STREAM_COUPLINGS = tuple(10.0**k for k in range(1, 10))
STREAM_CS = (0.01, 0.1, 1.0, 10.0)
_CURVED_COUPLINGS = (1e3, 1e5, 1e7, 1e9)
_CURVED_CS = (0.1, 1.0)
_FIRST_ORDER_CS = (0.001, 0.01, 0.1, 1.0)
_FIRST_ORDER_COUPLING = 1e8

#: Couplings from here on are slow: what would be believed if nothing changed.
_SLOW = 1e8

#: Numbers in the spreads of all filters of a bank, at most, and from where on experts sleep.
_MOST_NUMBERS = 6e5
_COSTLY = 1e5

#: Features by default, the first that stays within what a row may cost.
_FEATURE_COUNTS = (100, 60, 30)

#: Looks in which an expert had no weight, before it sleeps; and what counts as none, in multiples
#: of what it is given in every row.
_QUIET_LOOKS = 4
_NO_WEIGHT = 50.0

#: Steps of the grid, in powers of ten, up to which experts are neighbours.
_NEAR = 2.01

#: Weights of rows are cut off here.
_MOST_WEIGHT = 1e9

#: Share of the kernel that features may miss before landmarks are drawn anew.
_MOST_MISSING = 0.3

#: The largest value that may be learned where columns are not scaled.
_MOST_UNSCALED = 1e60


@dataclass(frozen=True)
class StreamParameters:
    """Parameters of the estimator that a stream keeps from its beginning on. None is what experts
    try of C and coupling, and the default of γ and the number of features; `tube` is ε, or None for
    classes."""

    C: float | None
    coupling: float | None
    kernel: str
    gamma: float | None
    coef0: float
    degree: float
    n_components: int | None
    scaled: bool
    time_weighted: bool
    tube: float | None


class StreamedPath:
    """Experts that learn a stream; classes are numbered in the order in which they appeared."""

    def __init__(self, parameters: StreamParameters, axis: TimeAxis) -> None:
        self.parameters = parameters
        self.axis = axis
        self.n_columns = 0
        self.n_classes = 0
        self.state: StreamState | None = None
        self.record = StreamRecord()
        self.changes: list[tuple[int, int, float]] = []
        self.rescaled: list[tuple[int, int, float, float]] = []
        self._told = 0
        self._quiet = np.zeros(0, dtype=np.int64)
        self._looked = (0, 0.0)  # rows and their loss, when the whole was looked at last

    # -- what threads share -----------------------------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[None]:
        """While inside, no other thread changes the stream."""
        with lock_of(self):
            yield

    def copy(self) -> StreamedPath:
        """The same stream, which goes its own way."""
        other = StreamedPath.__new__(StreamedPath)
        with self.held():
            other.__dict__ = dict(self.__dict__)
            other.state = None if self.state is None else self.state.copy()
            other.record = self.record.copy()
            other.changes, other.rescaled = list(self.changes), list(self.rescaled)
            other._quiet = self._quiet.copy()
        return other

    def keep(self) -> dict[str, Any]:
        """All that a file must hold."""
        kept = self.copy()
        state = kept.state
        if state is None:
            raise ValueError("A stream that has learned nothing cannot be saved.")
        return {
            **state._asdict(), "parameters": kept.parameters, "axis": kept.axis,
            "n_columns": kept.n_columns, "n_classes": kept.n_classes, "record": kept.record,
            "changes": np.array(kept.changes).reshape(-1, 3),
            "rescaled": np.array(kept.rescaled).reshape(-1, 4), "told": kept._told,
            "quiet": kept._quiet, "looked": kept._looked,
        }  # fmt: skip

    @classmethod
    def of_kept(cls, kept: dict[str, Any]) -> StreamedPath:
        """The stream of which `keep` told that."""
        stream = cls(kept["parameters"], kept["axis"])
        stream.n_columns, stream.n_classes = kept["n_columns"], kept["n_classes"]
        stream.state = StreamState(*(kept[name].copy() for name in StreamState._fields))
        stream.record, stream._quiet = kept["record"], kept["quiet"]
        stream.changes = [(int(row), int(at), more) for row, at, more in kept["changes"].tolist()]
        stream.rescaled = [
            (int(row), int(column), before, after)
            for row, column, before, after in kept["rescaled"].tolist()
        ]
        stream._told, stream._looked = kept["told"], kept["looked"]
        return stream

    @property
    def n_rows(self) -> int:
        """Rows learned."""
        return 0 if self.state is None else int(self.state.experts.marks[0])

    @property
    def last_time(self) -> float:
        """The time of the last row, as a number."""
        return -np.inf if self.state is None else float(self.state.clock[0])

    # -- learning ---------------------------------------------------------------------------------

    def read_times(self, times: Any, n_rows: int) -> tuple[Array, Array]:
        """Times of new rows as numbers, and the order of the rows in time."""
        numbers, given = self.axis.read(times, n_rows, self.n_rows)
        if n_rows and numbers.min() < self.last_time:
            row = int(np.argmin(numbers))
            raise ValueError(
                f"times must not be before the last one known, but that of row {row}, "
                f"{given[row]}, is. Sort rows by time, and learn late ones with the time at which "
                "they came in."
            )
        return numbers, np.argsort(numbers, kind="stable")

    def require_computable(self, rows: Array) -> None:
        """Refuse values that are too large where nothing scales them."""
        given, d = self.parameters, rows.shape[1]
        if given.scaled or not rows.size:
            return
        most = _MOST_UNSCALED
        if given.kernel == "poly":
            gamma = 1.0 / d if given.gamma is None else given.gamma
            most = min(most, sqrt(most ** (1.0 / max(given.degree, 1.0)) / max(gamma * d, 1.0)))
        largest = np.abs(rows).max(axis=0)
        if largest.max() > most:
            column = int(np.argmax(largest))
            raise ValueError(
                f"Column {column} holds values up to {largest[column]:.1e}, too large to compute "
                f"with: more than {most:.0e}. Leave out scale=False, or scale the columns first."
            )

    def learns_at_once(self, n_rows: int) -> bool:
        """Whether so many rows are learned in one step, which nothing interrupts."""
        return self.state is not None and n_rows <= CHECKED - 1 - self.n_rows % CHECKED

    def learn(self, rows: Array, targets: Array, factors: Array, times: Array) -> None:
        """Learn rows in their order, which is that of `times`; targets are numbers, or numbers of
        classes in the order of their appearance."""
        with self.held():
            self.n_columns = rows.shape[1]
            start = 0
            while start < len(rows):
                stop = min(len(rows), start + CHECKED - self.n_rows % CHECKED)
                if self.parameters.tube is None:
                    fresh = np.flatnonzero(targets[start:stop] >= max(self.n_classes, 1))
                    if len(fresh) and fresh[0] > 0:
                        stop = start + int(fresh[0])
                    elif len(fresh) or self.n_classes == 0:
                        self._add_class()
                        continue
                self._learn_some(
                    rows[start:stop], targets[start:stop], factors[start:stop], times[start:stop]
                )
                if self.n_rows % CHECKED == 0:
                    self._look()
                start = stop

    def _learn_some(self, rows: Array, targets: Array, factors: Array, times: Array) -> None:
        if self.state is None:
            self.state = self._begin(1 if self.n_classes < 3 else self.n_classes)
        factors = np.minimum(factors, _MOST_WEIGHT)
        learn_rows(rows, targets, factors, times, self.state, np.empty(len(rows)))

    # -- experts ----------------------------------------------------------------------------------

    def _begin(self, n_machines: int) -> StreamState:
        given, d = self.parameters, self.n_columns
        couplings, Cs = self._choose_grid(n_machines, d + 1)
        features = self._make_features(n_machines)
        curved_grid = self._choose_curved() if features.n_features else (np.empty(0), np.empty(0))
        first_Cs = np.array(_FIRST_ORDER_CS if given.C is None else (given.C,))
        if given.coupling is not None and len(couplings):
            first_Cs = np.empty(0)
        first_couplings = np.full(len(first_Cs), _FIRST_ORDER_COUPLING)
        plain = FilterBank.begin(couplings, Cs, n_machines, d + 1)
        width = d + 1 + features.n_features
        curved = FilterBank.begin(curved_grid[0], curved_grid[1], n_machines, width)
        first = FirstOrderBank.begin(first_couplings, first_Cs, n_machines, d + 1)
        n_straight, n_curved = len(first_Cs) + len(couplings), len(curved_grid[0])
        half = 0.5 if n_curved else 1.0
        shares = np.concatenate(
            [np.full(n_straight, half / n_straight), np.full(n_curved, half / max(1, n_curved))]
        )
        is_slow = np.concatenate(
            [np.zeros(len(first_Cs), bool), couplings >= _SLOW, curved_grid[0] >= _SLOW]
        )
        of_numbers = given.tube is not None
        experts = ExpertWeights.begin(shares / shares.sum(), is_slow, of_numbers)
        self._quiet = np.zeros(n_straight + n_curved, dtype=np.int64)
        options = np.array(
            [
                float(given.scaled), -1.0 if given.tube is None else given.tube,
                0.0 if of_numbers else max(2, self.n_classes), 0.0, 0.0,
            ]
        )  # fmt: skip
        return StreamState(
            RunningScale.begin(d), RunningScale.begin(1), features,
            np.zeros_like(features.landmarks), first, plain, curved, experts, options,
            np.array([-np.inf, 0.0, float(given.time_weighted)]),
        )  # fmt: skip

    def _choose_grid(self, n_machines: int, width: int) -> tuple[Array, Array]:
        """Couplings and Cs of plain filters: as many as a row may cost."""
        given = self.parameters
        all_Cs = STREAM_CS if given.C is None else (given.C,)
        for step, Cs in ((1, all_Cs), (2, all_Cs), (4, all_Cs[1:3] or all_Cs)):
            couplings = STREAM_COUPLINGS[::step] if given.coupling is None else (given.coupling,)
            n_filters = len(couplings) * len(Cs)
            if n_machines * n_filters * width * width <= _MOST_NUMBERS:
                return np.repeat(couplings, len(Cs)), np.tile(Cs, len(couplings))
        return np.empty(0), np.empty(0)

    def _choose_curved(self) -> tuple[Array, Array]:
        given = self.parameters
        couplings = _CURVED_COUPLINGS if given.coupling is None else (given.coupling,)
        Cs = _CURVED_CS if given.C is None else (given.C,)
        return np.repeat(couplings, len(Cs)), np.tile(Cs, len(couplings))

    def _make_features(self, n_machines: int) -> KernelFeatures:
        given, d = self.parameters, self.n_columns
        if given.kernel == "linear":
            return leave_out_features(d)
        n_filters = len(self._choose_curved()[0])
        counts = _FEATURE_COUNTS if given.n_components is None else (given.n_components,)
        for n_features in counts:
            width = d + 1 + n_features
            if n_machines * n_filters * width * width <= 2.0 * _MOST_NUMBERS:
                break
        else:
            if given.kernel == "auto":
                return leave_out_features(d)
        random = np.random.default_rng(0)
        if given.kernel in ("auto", "rbf"):
            return draw_frequencies(d, n_features, given.gamma, random)
        kind = POLYNOMIAL if given.kernel == "poly" else SIGMOID
        gamma = 1.0 / d if given.gamma is None else given.gamma
        landmarks = random.standard_normal((n_features, d))
        return take_landmarks(kind, landmarks, gamma, given.coef0, given.degree)

    def _add_class(self) -> None:
        """One more class than before; machines for it, where there are at least two."""
        self.n_classes += 1
        if self.state is None or self.n_classes < 2:
            return
        state, K = self.state, self.n_classes
        state.options[2] = K
        first, plain, curved = state.first, state.plain, state.curved
        d = self.n_columns
        if K == 2:
            for bank in (first, plain, curved):
                bank.means[...] = 0.0
                bank.means[:, :, d] = -1.0
            return
        n_new = 1 if K > 3 else 2
        first = first._replace(means=_grow(first.means, n_new))
        plain = plain._replace(means=_grow(plain.means, n_new), spreads=_grow(plain.spreads, n_new))
        curved = curved._replace(
            means=_grow(curved.means, n_new), spreads=_grow(curved.spreads, n_new)
        )
        for bank in (first, plain, curved):
            if K == 3:  # the machine of two classes is that of the second; the first is against it
                bank.means[1] = bank.means[0]
                bank.means[0] *= -1.0
            bank.means[-1] = 0.0
            bank.means[-1, :, d] = -1.0
        for bank in (plain, curved):
            if K == 3:
                bank.spreads[1] = bank.spreads[0]
            at = np.arange(bank.means.shape[2])
            bank.spreads[-1] = 0.0
            bank.spreads[-1][:, at, at] = bank.priors[:, None]
        self.state = state._replace(first=first, plain=plain, curved=curved)

    # -- a look at the whole ----------------------------------------------------------------------

    def _look(self) -> None:
        """Keep a record, fetch what was noted, and let experts rest or wake up."""
        assert self.state is not None
        n_before, loss_before = self._looked
        self._fetch_changes()
        changed = bool(self.changes) and self.changes[-1][1] >= n_before
        self._fetch_rescaled()
        self._looked = self.n_rows, float(self.state.experts.evidence[2])
        self.record.add(
            (
                self.n_rows, self.last_time, self.coupling, self.C, self.curved_share,
                (self._looked[1] - loss_before) / max(1, self.n_rows - n_before), self.plane,
                self.raw_plane,
            )
        )  # fmt: skip
        if len(self.state.recent):
            self._renew_landmarks()
        if self._is_costly():
            self._let_rest(changed)

    def _fetch_changes(self) -> None:
        """Take over what the loop noted; again after an interrupt, which is no harm."""
        if self.state is None:
            return
        experts = self.state.experts
        noted = experts.changes[: min(ROOM, int(experts.marks[2]))].tolist()
        found = {(int(row), int(noticed), evidence) for row, noticed, evidence in noted}
        self.changes = [*self.changes, *sorted(found.difference(self.changes))][-MOST_KEPT:]
        experts.marks[2] = 0

    def _fetch_rescaled(self) -> None:
        assert self.state is not None
        scale = self.state.scale
        noted = scale.changes[: min(ROOM, int(scale.n_changes[0]))].tolist()
        found = {(int(row), int(column), *others) for row, column, *others in noted}
        known = [*self.rescaled, *sorted(found.difference(self.rescaled))]
        gone = max(0, len(known) - MOST_KEPT)
        self.rescaled, self._told = known[gone:], max(0, self._told - gone)
        scale.n_changes[0] = 0

    def _renew_landmarks(self) -> None:
        """Draw landmarks from the last rows, where those known do not stand for them."""
        assert self.state is not None
        state, missing = self.state, float(self.state.options[3])
        if self.n_rows < len(state.recent):
            return
        drawn = self.n_rows - CHECKED >= len(state.recent)
        if drawn and missing < max(_MOST_MISSING, 2.0 * state.options[4]):
            return
        d, old, rows = self.n_columns, state.features, state.recent
        kind, (_, gamma, coef0, degree) = int(old.kind[0]), old.numbers
        try:
            features = take_landmarks(kind, rows, gamma, coef0, degree)
        except ValueError:  # the kernel is too large there: those known have to do
            return
        before = np.array([old.compute(row) for row in rows])
        after = np.array([features.compute(row) for row in rows])
        wanted = np.einsum("rk,mek->mer", before, state.curved.means[:, :, d + 1 :])
        inverse = np.linalg.pinv(after, rcond=1e-6)
        state.curved.means[:, :, d + 1 :] = np.einsum("kr,mer->mek", inverse, wanted)
        among = np.arange(d + 1, state.curved.means.shape[2])
        state.curved.spreads[:, :, d + 1 :, :] = 0.0
        state.curved.spreads[:, :, :, d + 1 :] = 0.0
        state.curved.spreads[:, :, among, among] = state.curved.priors[:, None]
        self.state = state._replace(features=features)
        found = [measure_missing(row, features, one) for row, one in zip(rows, after, strict=True)]
        state.options[3:] = float(np.mean(found))

    def _is_costly(self) -> bool:
        assert self.state is not None
        return self.state.plain.spreads.size + self.state.curved.spreads.size > _COSTLY

    def _let_rest(self, changed: bool) -> None:
        """Let experts without weight sleep; wake up neighbours of the leading one, and all after a
        change."""
        assert self.state is not None
        state = self.state
        weights = state.experts.now.sum(axis=1)
        floor = _NO_WEIGHT * SHARE * state.experts.first.sum(axis=1)
        self._quiet = np.where(weights > floor, 0, self._quiet + 1)
        start = state.first.means.shape[1]
        for bank in (state.plain, state.curved):
            here = slice(start, start + bank.means.shape[1])
            start = here.stop
            if here.stop == here.start:
                continue
            leader = int(np.argmax(weights[here]))
            needed = np.full(len(bank.awake), changed) | _find_neighbours(bank, leader)
            called = needed & ~bank.awake
            bank.means[:, called] = bank.means[:, [leader]]
            bank.spreads[:, called] = bank.spreads[:, [leader]]
            state.experts.now[here][called] = SHARE * state.experts.first[here][called]
            bank.awake[called] = True
            self._quiet[here][needed] = 0
            rest = (self._quiet[here] >= _QUIET_LOOKS) & ~state.experts.is_slow[here]
            bank.awake[rest] = False
            state.experts.now[here][rest] = 0.0
        state.experts.now[...] /= state.experts.now.sum()

    # -- what is known ----------------------------------------------------------------------------

    def _filter_weights(self) -> tuple[Array, Array, Array]:
        """Weights of first-order, plain and curved filters."""
        assert self.state is not None
        weights = self.state.experts.now.sum(axis=1)
        n_first, n_plain = self.state.first.means.shape[1], self.state.plain.means.shape[1]
        return weights[:n_first], weights[n_first : n_first + n_plain], weights[n_first + n_plain :]

    @property
    def grid(self) -> tuple[Array, Array]:
        """Coupling and C of plain and curved filters."""
        assert self.state is not None
        q = np.concatenate([self.state.plain.moves, self.state.curved.moves])
        c = np.concatenate([self.state.plain.strengths, self.state.curved.strengths])
        return c / q, c / np.sqrt(c / q)

    @property
    def watches(self) -> bool:
        """Whether there are slow experts, by which changes are noticed."""
        return self.state is not None and bool(self.state.experts.is_slow.any())

    def _mean(self, values: Array) -> float:
        """The geometric mean of values of filters with a coupling, by weight."""
        _, plain, curved = self._filter_weights()
        weights = np.concatenate([plain, curved])
        if not weights.sum() > 0.0:
            weights = np.ones(len(values))
        return float(np.exp(weights @ np.log(values) / weights.sum()))

    @property
    @one_at_a_time
    def coupling(self) -> float:
        """The present coupling: a mean over experts, by weight."""
        couplings = self.grid[0]
        return self._mean(couplings) if len(couplings) else _FIRST_ORDER_COUPLING

    @property
    @one_at_a_time
    def C(self) -> float:  # noqa: N802
        """The present C, the same mean."""
        Cs = self.grid[1]
        if len(Cs):
            return self._mean(Cs)
        assert self.state is not None
        weights = self._filter_weights()[0]
        return float(np.exp(weights @ np.log(self.state.first.priors) / weights.sum()))

    @property
    def curved_share(self) -> float:
        return float(self._filter_weights()[2].sum())

    @property
    def plane(self) -> Array:
        """The hyperplanes of all straight experts, by weight: (machines, columns + 1), on the scale
        of columns."""
        assert self.state is not None
        first, plain, _ = self._filter_weights()
        total = first.sum() + plain.sum()
        mixed: Array = np.einsum("e,med->md", first, self.state.first.means)
        mixed += np.einsum("e,med->md", plain, self.state.plain.means)
        mixed /= max(total, 1e-300)
        return mixed

    @property
    def raw_plane(self) -> Array:
        """The same for rows as they are given."""
        assert self.state is not None
        plane = self.plane
        if self.parameters.scaled:
            means, deviations = self.state.scale.means, self.state.scale.deviations
            plane[:, :-1] /= deviations
            plane[:, -1] -= plane[:, :-1] @ means
        if self.parameters.tube is not None:
            target = self.state.target_scale
            plane *= target.deviations
            plane[:, -1] += target.means
        return plane

    def answer(self, rows: Array) -> Array:
        """Probabilities of classes in the order of their appearance, or numbers (rows, 1)."""
        with self.held():
            if self.parameters.tube is None and self.n_classes < 2:
                return np.ones((len(rows), 1))
            assert self.state is not None
            n_answers = 1 if self.parameters.tube is not None else self.n_classes
            answers = np.empty((len(rows), n_answers))
            predict_rows(rows, self.state, answers)
            if self.parameters.tube is not None:
                scale = self.state.target_scale
                answers *= np.sqrt(scale.squares)
                answers += scale.means
        return answers

    @one_at_a_time
    def answer_at(self, rows: Array, times: Any) -> Array:
        """The same at given times: in the past by the hyperplanes that were kept last before them,
        or first of all. What curved experts said then was not kept."""
        answers = self.answer(rows)
        if times is None:
            return answers
        numbers = self.axis.numbers(times, len(rows), one_for_all=True)
        past = np.flatnonzero(numbers < self.last_time)
        if len(past) == 0 or not self.record.rows:
            return answers
        if self.parameters.tube is None and self.n_classes < 2:
            return answers
        kept = np.array([*self.record.times, self.last_time])
        places = np.maximum(np.searchsorted(kept, numbers[past], side="right") - 1, 0)
        planes = [*self.record.raw_planes, self.raw_plane]
        assert self.state is not None
        for at, place in zip(past, places, strict=True):
            row = np.where(np.isnan(rows[at]), self.state.scale.means, rows[at])
            values = planes[place] @ np.append(row, 1.0)
            if self.parameters.tube is None:
                values = read_planes(values, self.n_classes)
            answers[at] = values
        return answers

    # -- what is told -----------------------------------------------------------------------------

    @one_at_a_time
    def list_planes(self) -> Array:
        """Hyperplanes for rows as they are given: those kept, and the present one; (machines,
        instants, columns + 1). Machines that were added later are zero before."""
        planes = [*self.record.raw_planes, self.raw_plane]
        listed = np.zeros((len(planes[-1]), len(planes), self.n_columns + 1))
        for at, plane in enumerate(planes):
            plane = spread_machines(plane, len(planes[-1]))
            listed[: len(plane), at] = plane
        return listed

    @one_at_a_time
    def list_times(self) -> Array:
        """Times of these."""
        return self.axis.restore(np.array([*self.record.times, self.last_time]))

    @one_at_a_time
    def measure_drift(self) -> Array:
        """How far hyperplanes are from those kept before, on the scale of columns."""
        planes = [*self.record.planes, self.plane]
        drift = np.zeros(len(planes))
        for at in range(1, len(planes)):
            after = planes[at]
            before = spread_machines(planes[at - 1], len(after))
            drift[at] = np.linalg.norm(after[: len(before)] - before) if len(before) else 0.0
        return drift

    @one_at_a_time
    def find_changes(self, k: int | None = None) -> Array:
        """Rows where changes began, in order; the `k` with the most evidence."""
        self._fetch_changes()
        changes = list(join_changes(self.changes))
        if k is not None:
            changes = sorted(sorted(changes, key=lambda one: -one.evidence)[:k])
        return np.array([change.row for change in changes], dtype=np.int64)

    @one_at_a_time
    def tell_history(self) -> StreamHistory:
        """All that was kept, for people."""
        self._fetch_changes()
        record = self.record
        return StreamHistory(
            np.array(record.rows, dtype=np.int64), np.array(record.times),
            np.array(record.couplings), np.array(record.Cs), np.array(record.curved),
            np.array(record.losses), join_changes(self.changes),
        )  # fmt: skip

    @one_at_a_time
    def fetch_rescaled(self) -> list[tuple[int, int, float, float]]:
        """Changes of scale of columns since this was last called."""
        if self.state is not None and self.state.scale.n_changes[0]:
            self._fetch_rescaled()
        fresh, self._told = self.rescaled[self._told :], len(self.rescaled)
        return fresh

    @one_at_a_time
    def certify(self) -> StreamCertificate:
        """What was promised and what was reached, and whether filters are sound."""
        assert self.state is not None
        experts = self.state.experts
        regret, bound = bound_regret(experts)
        sound = True
        for bank in (self.state.plain, self.state.curved):
            sound &= bool(np.isfinite(bank.means).all())
            for spread in bank.spreads.reshape(-1, *bank.spreads.shape[2:]):
                size = np.abs(spread).max(initial=0.0)
                even = np.abs(spread - spread.T).max(initial=0.0) <= 1e-6 * size
                sound &= bool(np.isfinite(spread).all() and even)
                sound = sound and bool(np.linalg.eigvalsh(spread).min() > -1e-7 * size)
        return StreamCertificate(
            self.n_rows, float(experts.evidence[2]), float(experts.losses.min()), regret, bound,
            sound,
        )  # fmt: skip


def _find_neighbours(bank: FilterBank, leader: int) -> Array:
    """Which filters of a bank are near one of them."""
    coupling = np.log10(bank.strengths / bank.moves)
    C = np.log10(bank.strengths) - 0.5 * coupling
    near: Array = np.abs(coupling - coupling[leader]) <= _NEAR
    near &= np.abs(C - C[leader]) <= _NEAR
    return near


def spread_machines(plane: Array, n_machines: int) -> Array:
    """The hyperplane of two classes as those of both, where there have come to be more."""
    return np.concatenate([-plane, plane]) if len(plane) == 1 and n_machines > 1 else plane


def _grow(array: Array, n_new: int) -> Array:
    """An array with room for more machines."""
    return np.concatenate([array, np.zeros((n_new, *array.shape[1:]))])
