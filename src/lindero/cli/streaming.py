"""A stream in segments: from one snapshot to the next, each by `lindero.evaluation.prequential`.

A segment ends where a batch ends (and, for machines that are fitted anew, where they are), so that
going on from its end is what an uninterrupted run does there: the same batches, the same fits, and
a machine that a file gives back to the last bit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lindero.cli.mistakes import Mistake
from lindero.cli.options import AUTO
from lindero.evaluation import PrequentialResult, prequential
from lindero.evaluation.build import TABLE_STEP, make_machine, unwrap_machine
from lindero.evaluation.registry import CLASSIFICATION, MachineSpec, find_machine
from lindero.evaluation.streams import code_stream_labels, read_stream_labels

#: Rows that are only learned, where nothing else is said.
_WARM_UP = 100

#: Called with rows tested so far in a segment, and how many of them were right.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class StreamSettings:
    """What a stream is run with, from its beginning to its end; a snapshot keeps it."""

    machine: str
    params: dict[str, Any]
    batch_size: int
    warm_up: int
    refit_every: int | None
    refit_on: int | None
    seed: int


@dataclass
class Stream:
    """A machine on its way along the rows.

    `answers` are positions among `classes`, of the rows from `settings.warm_up` to `position`.
    """

    dataset: Any
    settings: StreamSettings
    model: Any
    classes: Any
    position: int = 0
    answers: list[int] = field(default_factory=list)
    seconds_learning: float = 0.0
    seconds_predicting: float = 0.0
    saved: list[str] = field(default_factory=list)
    resumed_from: str | None = None

    # -- where a stream comes from ------------------------------------------------------------

    @classmethod
    def begun(
        cls,
        dataset: Any,
        machine: str,
        texts: Sequence[str],
        *,
        batch_size: int,
        warm_up: int | None,
        refit_every: int | None,
        refit_on: int | None,
        seed: int,
    ) -> Stream:
        """A stream at its beginning."""
        from lindero.cli.reading import chosen_params

        dataset = in_order_of_time(dataset)
        usual = "incremental-svc" if dataset.times is None else "adaptive-svc"
        found = find_machine(usual if machine == AUTO else machine)
        _require_classes(found, dataset)
        params = chosen_params(texts, found, dataset)
        if refit_on is not None and refit_every is None:
            raise Mistake("--refit-on says what to fit anew; say how often too: --refit-every.")
        if refit_every is not None:  # fits fall on ends of batches
            refit_every = batch_size * math.ceil(refit_every / batch_size)
        if warm_up is None:
            warm_up = max(1, min(_WARM_UP, dataset.n_rows // 5))
        if warm_up >= dataset.n_rows:
            raise Mistake(
                f"The data have {dataset.n_rows} rows, and the first {warm_up} are not tested: "
                "none are left. Lower --warm-up."
            )
        settings = StreamSettings(
            found.name, params, batch_size, warm_up, refit_every, refit_on, seed
        )
        model = make_machine(found, params, random_state=seed)
        if refit_every is None and not hasattr(unwrap_machine(model), "partial_fit"):
            raise Mistake(
                f"{found.name} cannot learn row by row: say --refit-every 100 to have it fitted "
                "anew, or take a machine that can, such as incremental-svc or naive-bayes."
            )
        return cls(
            dataset, settings, model, np.unique(read_stream_labels(dataset.y, dataset.n_rows))
        )

    @classmethod
    def resumed(cls, dataset: Any, place: str) -> Stream:
        """A stream where a snapshot left it."""
        from lindero.cli.snapshots import read_snapshot

        dataset = in_order_of_time(dataset)
        snapshot = read_snapshot(place)
        known = {field.name for field in dataclasses.fields(StreamSettings)}
        noted = snapshot.noted
        settings = StreamSettings(**{name: noted[name] for name in known})
        _require_classes(find_machine(settings.machine), dataset)
        stream = cls(dataset, settings, snapshot.model, np.array(noted["classes"]))
        stream.position = noted["rows"]
        stream.resumed_from = snapshot.path
        stream.seconds_learning, stream.seconds_predicting = noted["seconds"]
        if stream.position > dataset.n_rows:
            raise Mistake(
                f"The snapshot has seen {stream.position} rows, but the data have "
                f"{dataset.n_rows} only: resume with the data that it was taken of."
            )
        truth = code_stream_labels(read_stream_labels(dataset.y, dataset.n_rows), stream.classes)
        tested = truth[settings.warm_up : stream.position]
        differ = np.flatnonzero(tested != np.array(snapshot.truth[: len(tested)], dtype=int))
        if len(differ):
            row = settings.warm_up + int(differ[0])
            raise Mistake(
                f"Row {row + 1} of the data is of another class than when the snapshot was taken: "
                "resume with the same data, in the same order."
            )
        stream.answers = list(snapshot.answers[: len(tested)])
        return stream

    # -- going on -----------------------------------------------------------------------------

    @property
    def machine(self) -> MachineSpec:
        return find_machine(self.settings.machine)

    @property
    def seconds(self) -> float:
        return self.seconds_learning + self.seconds_predicting

    def run(self, progress: Progress, save_every: int | None, folder: str) -> None:
        """To the end of the data, with snapshots on the way."""
        from lindero.cli.snapshots import write_snapshot

        settings = self.settings
        table = self._table()
        step = None
        if save_every is not None:
            unit = settings.refit_every or settings.batch_size
            step = unit * math.ceil(save_every / unit)
            Path(folder).mkdir(parents=True, exist_ok=True)
        while self.position < self.dataset.n_rows:
            start = max(self.position, settings.warm_up)
            stop = self.dataset.n_rows if step is None else min(start + step, self.dataset.n_rows)
            self._segment(table, start, stop, progress)
            if step is not None and (stop - settings.warm_up) % step == 0:
                self.saved.append(write_snapshot(self, folder))

    def _table(self) -> Any:
        """Features as the machine takes them: encoded by what the first rows were like."""
        X = self.dataset.X
        if unwrap_machine(self.model) is self.model:
            return X
        encoder = self.model.named_steps[TABLE_STEP]
        if self.position == 0:
            first = np.arange(self.settings.warm_up)
            encoder.fit(self.dataset.rows(first).X)
        return encoder.transform(X)

    def _segment(self, table: Any, start: int, stop: int, progress: Progress) -> None:
        """Test and learn the rows from `start` to `stop`."""
        settings, beginning = self.settings, self.position == 0
        machine = unwrap_machine(self.model)
        # Machines that are fitted anew need the rows before, and are fitted to them at once; that
        # is what they are at the end of the segment before, too.
        first = 0 if beginning or settings.refit_every is not None else start
        times = self.dataset.times
        given: dict[str, Any] = {
            "times": times[first:stop] if times is not None and self.machine.takes_times else None,
            "batch_size": settings.batch_size,
            "warm_up": start - first,
            "classes": self.classes,
            "refit_every": settings.refit_every,
            "refit_on": settings.refit_on,
            "fresh": False,
            "callback": lambda state: progress(state.n_done, round(state.accuracy * state.n_done)),
        }
        try:
            part = prequential(machine, table[first:stop], self.dataset.y[first:stop], **given)
        except KeyboardInterrupt as interrupt:
            done = getattr(interrupt, "result", None)
            if done is not None:
                self._take(done, start)
            raise
        self._take(part, start)

    def _take(self, part: PrequentialResult, start: int) -> None:
        self.answers += part.answers.tolist()
        self.position = start + len(part.answers)
        self.seconds_learning += part.seconds_learning
        self.seconds_predicting += part.seconds_predicting

    # -- what came of it ----------------------------------------------------------------------

    @property
    def truth(self) -> Any:
        """Positions of the true classes of the rows that were tested."""
        labels = read_stream_labels(self.dataset.y, self.dataset.n_rows)
        codes = code_stream_labels(labels, self.classes)
        return codes[self.settings.warm_up : self.settings.warm_up + len(self.answers)]

    def window(self, given: int | None) -> int:
        """Rows that a point of the curve is about."""
        return given or max(20, min(1000, self.dataset.n_rows // 10))

    def result(self, window: int | None) -> PrequentialResult:
        """All segments as one."""
        first, n_tested = self.settings.warm_up, len(self.answers)
        return PrequentialResult(
            self.model, self.classes, np.arange(first, first + n_tested), self.truth,
            np.array(self.answers, dtype=int), self.window(window), self.seconds_predicting,
            self.seconds_learning, self.position == self.dataset.n_rows,
        )  # fmt: skip


def in_order_of_time(dataset: Any) -> Any:
    """The same rows, the earliest first; rows of the same time stay in their order."""
    if dataset.times is None:
        return dataset
    order = np.argsort(dataset.times, kind="stable")
    return dataset if (np.diff(order) > 0).all() else dataset.rows(order)


def _require_classes(machine: MachineSpec, dataset: Any) -> None:
    if machine.task != CLASSIFICATION:
        raise Mistake(f"{machine.name} is for {machine.task}; a stream is for classification.")
    if dataset.task != CLASSIFICATION:
        what = {"regression": "a number", "unlabelled": "missing"}.get(dataset.task, "a rank")
        raise Mistake(f"A stream is for classification, and the target is {what}.")
