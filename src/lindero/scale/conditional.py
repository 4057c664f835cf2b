"""The conditional likelihood of rows in partitions: a pass gives it, and its derivative.

CLL(θ) = Σ_rows w log P(c | x; θ) and its derivative by log θ, counts less expected counts
(`bayes.discriminative.objective`), are sums over rows. So a pass sends θ to all partitions and gets
back a number and one sum for each cell of the tables; for Gaussian columns three sums for each
class. Rows stay where they are. Only cells that some row has are sent and returned, where no
missing parent is summed out.

`PartitionedRows` stands where solvers expect rows in memory; they take the same steps, but for the
rounding of sums. Numbers are in units of the whole table. In each partition equal rows of the same
class are taken together, where there are no numbers: what an iteration costs then is the number of
different rows, not of rows.

Several problems, such as those of the folds of a cross-validation, are solved side by side: each in
a thread that waits for its answer, until all wait, and one pass answers all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.discriminative.cells import FamilyCells, SeenCells
from lindero.bayes.discriminative.gaussians import GaussianColumns, find_units
from lindero.bayes.discriminative.objective import (
    ConditionalProblem,
    ConditionalRows,
    NetworkParameters,
    ObjectiveValue,
)
from lindero.bayes.discriminative.posteriors import RowThreads
from lindero.bayes.evidence import Sample
from lindero.bayes.networks.network import FamilyCounts
from lindero.bayes.structure_search.table import merge_rows
from lindero.runtime.arrays import Array
from lindero.scale.folds import Selection
from lindero.scale.partitions import Rows, Source
from lindero.scale.runner import Runner, ThreadRunner

#: Threads of this process keep what is read of partitions, if it takes no more than this.
_KEPT_BYTES = 2**29

#: Passes over less than this take less time than starting threads.
_FEW_BYTES = 2**22

#: Views of a partition whose rows stay prepared.
_MOST_PREPARED = 8

#: Bytes that problems which are solved side by side may take, and vectors that a solver keeps.
_SOLVING_BYTES, _VECTORS = 2**29, 60

Result = TypeVar("Result")


# -- what partitions keep, and what they are asked ------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowView:
    """Which rows of a partition are looked at, and how: attributes and the cells of a network over
    some of them (`members`), Gaussian columns that vary and their units, and the fold left out."""

    number: int  # tells views of a fit apart
    attributes: Attributes
    cells: FamilyCells
    members: tuple[int, ...]
    varying: Array
    units: tuple[Array, Array]
    selection: Selection


class KeptPart:
    """A partition as it was read, the number of each row in its class where folds are wanted, and
    rows that are prepared for passes."""

    def __init__(self, sample: Sample | None, numbers: Array | None, n_classes: int) -> None:
        self.sample, self.numbers, self.n_classes = sample, numbers, n_classes
        self._prepared: dict[int, ConditionalRows | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_prepared": {}}

    def select(self, selection: Selection) -> Sample | None:
        """Some of the rows; None if there are none."""
        sample = self.sample
        if sample is not None and not selection.takes_all:
            assert self.numbers is not None
            sample = sample.take(selection.choose(self.numbers))
        return sample if sample is not None and sample.n_rows else None

    def code(
        self,
        attributes: Attributes,
        selection: Selection,
        members: tuple[int, ...] | None = None,
    ) -> CodedRows | None:
        """Some of the rows, in the code of all attributes or of some; None if there are none."""
        sample = self.select(selection)
        if sample is None:
            return None
        codes, cards = attributes.encode(sample.table)
        if members is not None:
            codes, cards = codes[list(members)], cards[list(members)]
        return CodedRows(codes, cards, sample.y, self.n_classes, sample.weights)

    def prepare(self, view: RowView) -> ConditionalRows | None:
        """The rows of a view; None if there are none."""
        if view.number not in self._prepared:
            if len(self._prepared) >= _MOST_PREPARED:
                del self._prepared[next(iter(self._prepared))]
            self._prepared[view.number] = self._prepare(view)
        return self._prepared[view.number]

    def _prepare(self, view: RowView) -> ConditionalRows | None:
        sample, members = self.select(view.selection), view.members
        rows = self.code(view.attributes, view.selection, members)
        if sample is None or rows is None:
            return None
        numbers = view.attributes.select_gaussian(sample.table)[view.varying]
        if not len(numbers):
            rows = merge_rows(rows, tuple(range(len(members))))
            numbers = np.empty((0, rows.n_rows))
        return ConditionalRows(
            view.cells, rows.codes, rows.y, rows.weights, np.ascontiguousarray(numbers), 1,
            view.units,
        )  # fmt: skip


class PassQuestion(Protocol):
    """What a pass asks of a partition. Answers merge; None is of no rows."""

    def answer(self, part: KeptPart) -> Any: ...


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows."""

    values: tuple[Any, ...]

    def merge(self, other: Sums) -> Sums:
        return Sums(tuple(a + b for a, b in zip(self.values, other.values, strict=True)))


@dataclass(frozen=True, eq=False)
class RowFacts:
    """What does not change between passes: whether missing parents are summed out, and whether
    nothing is missing; weight, counts, and the cells that rows look up."""

    sums_out: bool
    is_complete: bool
    total_weight: float
    counts: Array
    seen: Array

    def merge(self, other: RowFacts) -> RowFacts:
        return RowFacts(
            self.sums_out or other.sums_out,
            self.is_complete and other.is_complete,
            self.total_weight + other.total_weight,
            self.counts + other.counts,
            self.seen | other.seen,
        )


@dataclass(frozen=True, eq=False)
class AskFacts:
    """What there is to know before the first evaluation."""

    view: RowView

    def answer(self, part: KeptPart) -> RowFacts | None:
        rows = part.prepare(self.view)
        if rows is None:
            return None
        return RowFacts(
            rows.sums_out, rows.is_complete, rows.total_weight, rows.counts, rows.find_seen()
        )


@dataclass(frozen=True, eq=False)
class AskLikelihood:
    """CLL and its derivative. `logs` are those of the cells `where`, or of all cells (None)."""

    view: RowView
    where: Array | None
    logs: Array
    mean: Array
    sd: Array

    def answer(self, part: KeptPart) -> Sums | None:
        rows = part.prepare(self.view)
        if rows is None:
            return None
        logs = self.logs
        if self.where is not None:
            logs = np.zeros((rows.cells.size, rows.cells.n_classes))
            logs[self.where] = self.logs
        found = rows.evaluate(NetworkParameters(logs, self.mean, self.sd))
        cells = found.cells if self.where is None else found.cells[self.where]
        return Sums((found.log_likelihood, cells, found.moments))


@dataclass(frozen=True, eq=False)
class AskSeparation:
    """How many partitions have rows whose own class is not the most probable one."""

    view: RowView
    parameters: NetworkParameters

    def answer(self, part: KeptPart) -> Sums | None:
        rows = part.prepare(self.view)
        return None if rows is None else Sums((int(not rows.separates(self.parameters)),))


# -- passes ---------------------------------------------------------------------------------------


@dataclass
class HeldPart:
    """A partition that is read once, and then stays in this process."""

    label: str
    number: int
    part: Any
    read: Callable[[int, str, Rows], KeptPart]
    kept: KeptPart | None = None

    def load(self) -> Any:
        if self.kept is None:
            self.kept = self.read(self.number, self.label, self.part.load())
        return self.kept


def _take_as_it_is(number: int, label: str, rows: Any) -> Any:
    return rows


def _answer_all(part: KeptPart, *, questions: tuple[PassQuestion, ...]) -> list[Any]:
    return [question.answer(part) for question in questions]


def _merge_answers(one: list[Any], other: list[Any]) -> list[Any]:
    return [
        b if a is None else a if b is None else a.merge(b) for a, b in zip(one, other, strict=True)
    ]


class RowPasses:
    """Passes over partitions that are kept where there is room for them, and read anew if not.
    `row_bytes` are those of a row as it is kept."""

    def __init__(
        self,
        runner: Runner,
        read: Callable[[int, str, Rows], KeptPart],
        n_rows: int,
        row_bytes: float,
    ) -> None:
        self._runner, self._read = runner, read
        n_bytes = n_rows * row_bytes
        if not isinstance(runner, ThreadRunner):
            runner.keep(n_bytes, read)
        elif n_bytes <= _KEPT_BYTES:
            source: Source = runner.source
            held = tuple(
                HeldPart(part.label, number, part, read)
                for number, part in enumerate(source.partitions)
            )
            threads = 1 if n_bytes <= _FEW_BYTES else None
            self._runner = runner.over(replace(source, partitions=held), threads)
            self._read = _take_as_it_is
        self._shared: _SharedPasses | None = None
        self._n_views = 0

    def ask(self, question: PassQuestion) -> Any:
        """The answer of all rows; None if there are none."""
        if self._shared is not None:
            return self._shared.ask(question)
        return self.ask_all([question])[0]

    def ask_all(self, questions: Sequence[PassQuestion]) -> list[Any]:
        """The answers to several questions, in one pass."""
        work = partial(_answer_all, questions=tuple(questions))
        answers: list[Any] = self._runner.reduce(self._read, work, _merge_answers)
        return answers

    def run_side_by_side(self, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
        """The results of several tasks; what all of them ask at a time is one pass."""
        if len(tasks) == 1:
            return [tasks[0]()]
        self._shared = _SharedPasses(self.ask_all)
        try:
            return self._shared.run(tasks)
        finally:
            self._shared = None

    def pose(
        self,
        attributes: Attributes,
        families: FamilyCounts,
        moments: Moments | None,
        alpha: float,
        *,
        members: tuple[int, ...] | None = None,
        varying: Array | None = None,
        selection: Selection,
    ) -> ConditionalProblem:
        """The problem of a graph, as `ConditionalProblem.of` poses it for rows in memory."""
        self._n_views += 1
        n_classes = len(families.of_class)
        cells = FamilyCells(families.parents, families.with_class, families.cards, n_classes)
        members = tuple(range(cells.n_attributes)) if members is None else members
        if varying is None:
            varying = np.zeros(len(attributes.gaussian), dtype=bool)
        units = np.zeros((0, 1)), np.ones((0, 1))
        if moments is not None and len(moments.count):
            units = find_units(moments.of_columns())
        view = RowView(self._n_views, attributes, cells, members, varying, units, selection)
        facts: RowFacts | None = self.ask(AskFacts(view))
        if facts is None:
            nothing = np.zeros((cells.size, n_classes))
            facts = RowFacts(False, True, 0.0, nothing, np.zeros(cells.size, dtype=bool))
        return ConditionalProblem.of(PartitionedRows(self, view, facts), families, alpha, moments)


def count_side_by_side(problem: ConditionalProblem) -> int:
    """How many such problems memory lets be solved at a time."""
    size = 8.0 * _VECTORS * (problem.counts.size + problem.sums.size)
    return max(1, int(_SOLVING_BYTES // size))


class _SharedPasses:
    """Threads that ask; once all of those that run are waiting, one pass answers them."""

    def __init__(self, ask_all: Callable[[Sequence[PassQuestion]], list[Any]]) -> None:
        self._ask_all, self._turn = ask_all, threading.Condition()
        self._waiting: list[_Asked] = []
        self._n_running, self._broken = 0, False

    def ask(self, question: PassQuestion) -> Any:
        asked = _Asked(question)
        with self._turn:
            self._waiting.append(asked)
            self._turn.notify_all()
            self._turn.wait_for(lambda: asked.is_done or self._broken)
        if not asked.is_done:
            raise RuntimeError("A pass over the partitions failed.")
        return asked.answer

    def run(self, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
        self._n_running = len(tasks)
        with ThreadPoolExecutor(len(tasks), thread_name_prefix="lindero-solver") as pool:
            futures = [pool.submit(self._work, task) for task in tasks]
            try:
                while True:
                    with self._turn:
                        self._turn.wait_for(lambda: len(self._waiting) == self._n_running)
                        asked, self._waiting = self._waiting, []
                    if not asked:
                        break
                    answers = self._ask_all([one.question for one in asked])
                    with self._turn:
                        for one, answer in zip(asked, answers, strict=True):
                            one.answer, one.is_done = answer, True
                        self._turn.notify_all()
            except BaseException:
                with self._turn:
                    self._broken = True
                    self._turn.notify_all()
                raise
            return [future.result() for future in futures]

    def _work(self, task: Callable[[], Result]) -> Result:
        try:
            return task()
        finally:
            with self._turn:
                self._n_running -= 1
                self._turn.notify_all()


@dataclass(eq=False)
class _Asked:
    question: PassQuestion
    answer: Any = None
    is_done: bool = False


# -- rows for solvers -----------------------------------------------------------------------------


class PartitionedRows:
    """Rows in partitions as solvers know rows (`objective.LikelihoodRows`)."""

    def __init__(
        self, passes: RowPasses, view: RowView, facts: RowFacts, seen: SeenCells | None = None
    ) -> None:
        self._passes, self._view, self._facts = passes, view, facts
        self.cells = view.cells
        self.layout: FamilyCells | SeenCells = view.cells if seen is None else seen
        self.counts = facts.counts if seen is None else seen.gather_sums(facts.counts)
        self.is_complete, self.total_weight = facts.is_complete, facts.total_weight
        self.threads = RowThreads(1)
        self.gaussian = GaussianColumns(np.empty((len(view.units[0]), 0)), units=view.units)
        self._reduced: dict[bool, PartitionedRows] = {}
        self._where: Array | None = None
        self._small = np.arange(0)
        if seen is not None:
            self._where = np.append(np.flatnonzero(seen.seen), view.cells.size - 1)
            self._small = seen.place[self._where]

    def evaluate(self, parameters: NetworkParameters) -> ObjectiveValue:
        """CLL and its derivative at some parameters: one pass over the rows."""
        logs, where = parameters.logs, self._where
        sent = logs if where is None else logs[self._small]
        found: Sums | None = self._passes.ask(
            AskLikelihood(self._view, where, sent, parameters.mean, parameters.sd)
        )
        cells = np.zeros_like(logs)
        if found is None:
            return ObjectiveValue(0.0, 0.0, cells, np.zeros((3, *parameters.mean.shape)))
        value, of_cells, of_numbers = found.values
        cells[slice(None) if where is None else self._small] = of_cells
        return ObjectiveValue(value, value, cells, of_numbers)

    def separates(self, parameters: NetworkParameters) -> bool:
        """Whether every row has its own class as the most probable one; tables are normalised."""
        found: Sums | None = self._passes.ask(AskSeparation(self._view, parameters))
        return found is None or found.values[0] == 0

    def reduce(self, has_rests: bool) -> PartitionedRows | None:
        """The same rows over the cells that they have; None where values are summed out."""
        if self._facts.sums_out:
            return None
        if has_rests not in self._reduced:
            seen = SeenCells(self.cells, self._facts.seen, has_rests)
            self._reduced[has_rests] = PartitionedRows(self._passes, self._view, self._facts, seen)
        return self._reduced[has_rests]
