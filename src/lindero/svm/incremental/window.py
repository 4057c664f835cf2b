"""A window that finds its own length: long in calm, short after a change.

**Windows as experts.** N lengths L_1 < ... < L_N = `max_window`, a factor of three apart. Expert k
is the exact machine over the last L_k samples, or over all since the last cut (below) where these
are fewer. As long as there are no more than L_k, experts k, k+1, ..., N are one and the same
machine, so it is held once: a longer one is made, as a copy, when the longest held is full. Every
update of every machine is exact, learning as well as forgetting; what is held is bounded by L_1 +
... + L_N samples, less than 1.5 `max_window`.

**Weights.** Each row is predicted by all machines before any learns it. With losses l_k, weights
follow fixed share (Herbster and Warmuth, "Tracking the best expert", Machine Learning 32, 1998):

    v_k = w_k exp(-l_k) / sum_i w_i exp(-l_i),        w_k <- (1 - alpha) v_k + alpha / N.

The window that answers is the one of the largest weight. For classes, l is the log-loss of p =
sigma(2 f) with the decision value f cut off at -1 and 1, the likelihood that belongs to the hinge
loss (Sollich, Machine Learning 46, 2002). It is mixable: for the mixture sum_k w_k p_k of
probabilities, over T rows and against any sequence of windows that changes k times,

    loss(mixture) - loss(sequence) <= ln N + k ln(N / alpha) + (T - 1 - k) ln(1 / (1 - alpha)).

With alpha = 1/1000 a change costs at most 8.3 + ln(N/4) nats and calm 0.001 a row. Costs of classes
multiply their losses by a factor of at most one, which leaves p^factor concave and the bound as it
is. For numbers, l = min(4, |y - f| / b) with b the running mean of absolute errors, and the bound
is one of the mix loss, -ln sum_k w_k exp(-l_k).

**Cuts.** After a change a long window is full of samples of the past, and would be of no use until
they have left. For two neighbours in length, let D = l_longer - l_shorter, at most R in size. While
the longer one is expected to be no worse, E[D | past] <= 0, and for 0 < lambda < 1/R

    M <- (M + 1)(1 + lambda D)                        (Shiryaev and Roberts, as an e-detector)

is not negative and M_t - t is a supermartingale. So at the first time tau at which M reaches c, c
<= E[M_tau] <= E[tau]: false alarms come c rows apart on average, at least, whatever the
distribution of the data (Shin, Ramdas and Rinaldo, "E-detectors", 2024). The mean of M over several
lambda has the same property, and the sum over N - 1 pairs has it for c / (N - 1). With c = 10 000
(N - 1), cuts without a reason are 10 000 rows apart on average, or more.

At an alarm all windows are dropped that are longer than the shorter one of the pair, and longer
than the one of the largest weight. They grow again as samples come. What weight they have left and
that of the longest window kept, the same machine from now on, are shared anew: the longer ones get
1/2 at the first cut in `max_window` rows, 1/4 at the second, and so on, since a window that was cut
again and again is less likely to be worth its length. The bound above holds from cut to cut.

A hard margin that a row would make impossible is one that only a shorter window can have: the
longest is dropped then, too. If no window is left, the row is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy, deepcopy
from typing import Any, Self

import numpy as np

from lindero.errors import NotSeparableError
from lindero.kernels.growing import GrowingKernel
from lindero.runtime.arrays import Array
from lindero.solvers.active_set import ActiveSet
from lindero.svm.incremental.machine import (
    HeldSamples,
    IncrementalMachine,
    OnlineFormulation,
    UpdateLog,
)

#: Lengths are this factor apart; the shortest is not below, and there are not more.
_RATIO, _SHORTEST, MOST_WINDOWS = 3, 25, 6

#: Part of the weight that is shared out anew with every row.
_SHARED = 1e-3

#: Rows between cuts without a reason, on average.
_ROWS_BETWEEN_FALSE_CUTS = 10_000

#: The lambda of the test, in units of 1/R.
_BETS = np.array([0.1, 0.3, 0.8])
N_BETS = len(_BETS)

#: The largest loss of a number, in units of the mean error; rows that this is the mean of.
_MOST_ERROR, ROWS_OF_SCALE = 4.0, 64

#: Entries of the history, cuts that are remembered, and updates that are logged.
_HISTORY, _CUTS, _LOGGED = 1_000, 1_000, 1_000


def make_lengths(max_window: int) -> list[int]:
    """Lengths of windows, shortest first."""
    lengths = [int(max_window)]
    while lengths[0] // _RATIO >= _SHORTEST and len(lengths) < MOST_WINDOWS:
        lengths.insert(0, lengths[0] // _RATIO)
    return lengths


class WindowChoice:
    """Weights of windows and evidence against them.

    `n_held` of the windows exist; the last of them stands for all longer ones. `evidence` has a row
    for each pair of neighbours and a column for each lambda.
    """

    def __init__(self, lengths: list[int]) -> None:
        n = len(lengths)
        self.lengths = np.array(lengths, dtype=np.int64)
        self.weights = np.full(n, 1.0 / n)
        self.evidence = np.zeros((n - 1, N_BETS))
        self.n_held, self.leading, self.n_rows = 1, 0, 0
        #: Mean error of numbers, and how many it is the mean of.
        self.scale, self.n_errors = 0.0, 0
        #: A window for every `stride`-th row, the first being row 0; rows of cuts.
        self.stride = 1
        self.history: list[int] = []
        self.cuts: list[int] = []

    _NUMBERS = ("n_held", "leading", "n_rows", "scale", "n_errors", "stride")
    _ARRAYS = ("lengths", "weights", "evidence")
    _LISTS = ("history", "cuts")

    def state(self) -> dict[str, Any]:
        """What is saved of the choice."""
        plain = {name: getattr(self, name) for name in (*self._NUMBERS, *self._ARRAYS)}
        lists = {name: np.array(getattr(self, name), dtype=np.int64) for name in self._LISTS}
        return {**plain, **lists}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The choice as it was saved."""
        choice = cls(state["lengths"].tolist())
        for name in cls._NUMBERS:
            setattr(choice, name, state[name])
        choice.weights, choice.evidence = state["weights"].copy(), state["evidence"].copy()
        choice.history, choice.cuts = state["history"].tolist(), state["cuts"].tolist()
        return choice

    def make_next(self) -> Self:
        """A copy to judge the next row; the history is that of both."""
        choice = copy(self)
        choice.evidence = self.evidence.copy()
        return choice

    def judge(self, values: Array, target: float, formulation: OnlineFormulation) -> int:
        """Weigh windows by what they said of a row; how many of them are to be kept."""
        errors = formulation.lose(values, target)
        most = formulation.largest_difference
        if most is None:
            most, losses = _MOST_ERROR, self._scale(errors)
        else:
            losses = errors
        n, n_held = len(self.lengths), self.n_held
        of_all = np.append(losses, np.full(n - n_held, losses[-1]))
        weights = self.weights * np.exp(of_all.min() - of_all)
        self.weights = (1.0 - _SHARED) * weights / weights.sum() + _SHARED / n
        differences = np.diff(losses)[:, None]
        known = (self.evidence[: n_held - 1] + 1.0) * (1.0 + _BETS / most * differences)
        # Beyond what is enough, evidence is not counted: it would overflow in the end.
        enough = _ROWS_BETWEEN_FALSE_CUTS * max(1, n - 1)
        self.evidence[: n_held - 1] = np.minimum(known, 1e6 * enough)
        alarms = np.flatnonzero(known.mean(axis=1) >= enough)
        return min(int(alarms[0]), self._find_leading()) + 1 if len(alarms) else n_held

    def _scale(self, errors: Array) -> Array:
        """Losses from absolute errors, in units of their running mean; a single error, however
        large, does not move it far."""
        error = float(self._weights_held @ errors)
        scale = self.scale
        losses = np.minimum(errors / scale, _MOST_ERROR) if scale > 0.0 else np.zeros(len(errors))
        if scale > 0.0 and self.n_errors >= ROWS_OF_SCALE // 4:
            error = min(error, _MOST_ERROR * scale)
        self.n_errors = min(self.n_errors + 1, ROWS_OF_SCALE)
        self.scale = scale + (error - scale) / self.n_errors
        return losses

    @property
    def _weights_held(self) -> Array:
        """Weights of the windows that exist."""
        last = self.n_held - 1
        return np.append(self.weights[:last], self.weights[last:].sum())

    def _find_leading(self) -> int:
        """The window of the largest weight."""
        return int(np.argmax(self._weights_held))

    def cut(self, n_kept: int) -> None:
        """Drop all windows but the shortest ones."""
        if n_kept < self.n_held:
            self.evidence[n_kept - 1 :] = 0.0
            self.n_held = n_kept
            self.cuts = [*self.cuts[1 - _CUTS :], self.n_rows]
            recent = self.n_rows - int(self.lengths[-1])
            shares = np.full(len(self.weights) - n_kept + 1, 0.5)
            shares[0] = 1.0 - 0.5 ** sum(row > recent for row in self.cuts)
            shares[-1] = 1.0
            shares[1:] *= np.cumprod(1.0 - shares[:-1])
            total = self.weights[n_kept - 1 :].sum()
            self.weights = np.append(self.weights[: n_kept - 1], total * shares)

    def record(self) -> None:
        """A row has been learned: find the window that leads, and keep a thinned history of it."""
        self.leading = self._find_leading()
        if self.n_rows % self.stride == 0:
            self.history.append(int(self.lengths[self.leading]))
            if len(self.history) > _HISTORY:
                self.history, self.stride = self.history[::2], 2 * self.stride
        self.n_rows += 1

    def make_history(self) -> Array:
        """A structured array: rows, counted from 0, and the window after each."""
        history = np.empty(len(self.history), dtype=[("row", np.int64), ("window", np.int64)])
        history["row"] = self.stride * np.arange(len(self.history))
        history["window"] = self.history
        return history


class WindowLadder:
    """Machines over windows of rising length of one stream, and which of them answers.

    Each holds what the shorter ones hold. Changes concern all of them, or none.
    """

    def __init__(self, machine: IncrementalMachine, max_window: int) -> None:
        lengths = make_lengths(max_window)
        machine.window = lengths[0]
        self.machines = [machine]
        self.choice = WindowChoice(lengths)

    @property
    def leading(self) -> IncrementalMachine:
        """The machine that answers."""
        return self.machines[self.choice.leading]

    @property
    def longest(self) -> IncrementalMachine:
        """The machine that holds whatever any of them holds."""
        return self.machines[-1]

    # -- what is saved ------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What is saved of all machines but the leading one, and of the choice."""
        others = [machine.state() for machine in self.machines if machine is not self.leading]
        return {
            "choice": self.choice,
            "engines": [state["_engine"] for state in others],
            "samples": [state["_samples"] for state in others],
            "updates": [state["_updates"] for state in others],
            "seconds": np.array([state["_seconds"] for state in others]),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The ladder as it was saved, to be completed by the leading machine."""
        ladder = cls.__new__(cls)
        ladder.choice = state["choice"]
        parts = (state[name] for name in ("engines", "samples", "updates"))
        ladder.machines = [
            _restore_machine(OnlineFormulation(), engine, samples, updates, float(seconds), 0)
            for engine, samples, updates, seconds in zip(*parts, state["seconds"], strict=True)
        ]
        return ladder

    def complete(self, leading: IncrementalMachine) -> None:
        """Take up the machine that was saved elsewhere."""
        self.machines.insert(self.choice.leading, leading)
        for machine, length in zip(self.machines, self.choice.lengths.tolist(), strict=False):
            machine.formulation, machine.verbose = leading.formulation, leading.verbose
            machine.window = length

    def copy_whole(self) -> Self:
        """The same, in arrays of its own."""
        twin = type(self).__new__(type(self))
        twin.machines = [machine.copy_whole() for machine in self.machines]
        twin.choice = deepcopy(self.choice)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """With the columns of kernels, so that a copy goes on to the last bit."""
        parts = []
        for machine in self.machines:
            engine = machine.active_set.state()
            engine["kernel"] = engine["kernel"].state()
            rest = (machine.samples, machine.updates, machine.seconds, machine.window)
            parts.append((machine.formulation, engine, *rest, machine.verbose))
        return {"parts": parts, "choice": self.choice}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.choice = state["choice"]
        self.machines = []
        for formulation, engine, *rest, verbose in state["parts"]:
            kernel = GrowingKernel.from_state(engine["kernel"])
            active_set = ActiveSet.from_state({**engine, "kernel": kernel})
            machine = _restore_machine(formulation, active_set, *rest)
            machine.verbose = verbose
            self.machines.append(machine)

    # -- learning -----------------------------------------------------------------------------

    def learn(self, X: Any, targets: Array, factors: Array, ids: Any = None) -> None:
        """Learn samples one after another: however many are given at once, it is the same."""
        names = self.longest.samples.read_ids(ids, len(targets))
        if len(targets) == 1:
            self._learn_row(X, targets, factors, names)
            return
        with self._aside() as ladder:
            for row in range(len(targets)):
                one = slice(row, row + 1)
                ladder._learn_row(X[one], targets[one], factors[one], names and names[one])

    def _learn_row(
        self, X: Any, targets: Array, factors: Array, names: list[int | str] | None
    ) -> None:
        machines, lengths = self.machines, self.choice.lengths
        longest, n_held = machines[-1], len(machines)
        if n_held < len(lengths) and len(longest.samples.slots) >= lengths[n_held - 1]:
            longer = longest.copy_whole()
            longer.window = int(lengths[n_held])
            machines = [*machines, longer]
        while True:
            try:
                choice, n_kept = self._try_row(machines, X, targets, factors, names)
                break
            except NotSeparableError:
                if len(machines) == 1:
                    raise
                machines = machines[:-1]
        # From here on nothing can fail.
        choice.cut(n_kept)
        choice.record()
        before, self.machines, self.choice = self.machines, machines[:n_kept], choice
        for machine in self.machines:
            machine.commit()
            machine.updates.keep_last(_LOGGED)
        for machine in before[n_kept:] + machines[n_kept:]:
            machine.erase()

    def _try_row(
        self,
        machines: list[IncrementalMachine],
        X: Any,
        targets: Array,
        factors: Array,
        names: list[int | str] | None,
    ) -> tuple[WindowChoice, int]:
        """Have some machines learn a row, all or none; what is to be chosen then, and how many
        machines are to be kept."""
        choice = self.choice.make_next()
        with ExitStack() as attempts:
            for machine in machines:
                attempts.enter_context(machine.attempt())
            values = np.array(
                [machine.predict_and_learn(X, targets, factors, names) for machine in machines]
            )
            for machine in machines:
                machine.settle()
            n_kept = len(machines)
            choice.cut(n_kept)
            choice.n_held = n_kept
            if factors[0] > 0.0:
                n_kept = choice.judge(values, float(targets[0]), machines[0].formulation)
        return choice, n_kept

    # -- forgetting and changing --------------------------------------------------------------

    def forget(self, slots: Array) -> None:
        """Forget samples, by their slots in the longest window."""
        with self._aside() as ladder:
            for k, own, _ in ladder._find_everywhere(slots):
                samples = ladder.machines[k].samples
                left = samples.alive.copy()
                left[own] = False
                if ladder._may_be(k, samples.targets, left):
                    ladder.machines[k].forget(own)
                else:
                    ladder._fill_up(k)

    def change(self, slots: Array, targets: Array, factors: Array) -> None:
        """Other targets and factors for samples, by their slots in the longest window."""
        with self._aside() as ladder:
            for k, own, known in ladder._find_everywhere(slots):
                samples = ladder.machines[k].samples
                after = samples.targets.copy()
                after[own] = targets[known]
                if ladder._may_be(k, after, samples.alive):
                    ladder.machines[k].change(own, targets[known], factors[known])
                else:
                    ladder._fill_up(k)

    def _find_everywhere(self, slots: Array) -> Iterator[tuple[int, Array, Array]]:
        """For each window, longest first: the slots there of samples of the longest, and which of
        the samples these are."""
        ids = [self.longest.samples.id_of(slot) for slot in slots.tolist()]
        numbers = np.array(ids, dtype=np.int64)
        for k in reversed(range(len(self.machines))):
            own, known = self.machines[k].samples.find_numbers(numbers)
            if len(own):
                yield k, own, known

    def _may_be(self, k: int, targets: Array, left: Array) -> bool:
        """Whether a window has samples left, and some of every class that it had."""
        machine = self.machines[k]
        if k == len(self.machines) - 1:
            return True  # has been asked already
        if not machine.formulation.by_class:
            return bool(left.any())
        samples = machine.samples
        now = np.unique(samples.targets[samples.alive])
        return len(np.unique(targets[left])) >= len(now)

    def _fill_up(self, k: int) -> None:
        """Make a window anew from the next longer one."""
        machine = self.machines[k]
        self.machines[k] = self.machines[k + 1].copy_whole()
        self.machines[k].fit_window(int(self.choice.lengths[k]))
        machine.erase()

    @contextmanager
    def _aside(self) -> Iterator[Self]:
        """Change a copy inside the block, and become it at its end; nothing is left of the other,
        whichever that is."""
        ladder = self.copy_whole()
        try:
            yield ladder
        except BaseException:
            for machine in ladder.machines:
                machine.erase()
            raise
        before = self.machines
        self.machines, self.choice = ladder.machines, ladder.choice
        for machine in before:
            machine.erase()


def _restore_machine(
    formulation: OnlineFormulation,
    engine: ActiveSet,
    samples: HeldSamples,
    updates: UpdateLog,
    seconds: float,
    window: int,
) -> IncrementalMachine:
    state = {
        "_engine": engine,
        "_samples": samples,
        "_updates": updates,
        "_seconds": seconds,
        "_fitted_window": window,
    }
    return IncrementalMachine.from_state(formulation, state, verbose=False)
