"""A stream in segments between snapshots, each run by `prequential`.

A segment ends where a batch ends (and, for machines that are refitted, where a refit is due), so
that a resumed run has the same batches and refits as an uninterrupted one. Model files restore a
machine bit for bit.

    snapshots/row-000001000.lin    the machine, and the settings of the stream
    snapshots/answers.csv          row, true class, predicted class

Answers are written before the machine, so that every machine has its answers, whatever interrupts
the run. When a stream is resumed, answers for later rows are dropped.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lindero.evaluation.build import TABLE_STEP, make_machine, unwrap_machine
from lindero.evaluation.registry import CLASSIFICATION, MachineSpec, find_machine
from lindero.evaluation.rows import drop_unlabelled
from lindero.evaluation.streams import (
    PrequentialResult,
    StreamProgress,
    prequential,
    read_stream_labels,
)
from lindero.runtime.arrays import make_plain
from lindero.validation import encode_labels

#: The file of answers in a folder of snapshots.
ANSWERS = "answers.csv"
_NAME = "row-{:09d}.lin"

#: Rows that are only learned, by default.
_WARM_UP = 100

#: Called with the rows tested so far, and the number of correct ones.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class StreamSettings:
    """The settings of a stream, from beginning to end; snapshots contain them."""

    machine: str
    params: dict[str, Any]
    batch_size: int = 1
    #: Rows that are only learned; None is a number that `Stream.begin` chooses.
    warm_up: Any = None
    refit_every: int | None = None
    refit_on: int | None = None
    seed: int = 0


_SETTINGS = [field.name for field in dataclasses.fields(StreamSettings)]


@dataclass
class Stream:
    """A machine that goes through the rows.

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

    @classmethod
    def begin(cls, dataset: Any, settings: StreamSettings) -> Stream:
        """Start a stream."""
        dataset, machine = sort_labelled(dataset), find_machine(settings.machine)
        _require_classes(machine, dataset)
        every, warm_up = settings.refit_every, settings.warm_up
        if settings.refit_on is not None and every is None:
            raise ValueError("refit_on (--refit-on) needs refit_every (--refit-every).")
        if every is not None:  # refits happen at ends of batches
            every = settings.batch_size * math.ceil(every / settings.batch_size)
        if warm_up is None:
            warm_up = max(1, min(_WARM_UP, dataset.n_rows // 5))
        if warm_up >= dataset.n_rows:
            raise ValueError(
                f"The data have {dataset.n_rows} rows, and the first {warm_up} are not tested: "
                "none are left. Lower warm_up (--warm-up)."
            )
        model = make_machine(machine, settings.params, random_state=settings.seed)
        if every is None and not hasattr(unwrap_machine(model), "partial_fit"):
            raise ValueError(
                f"{machine.name} cannot learn row by row: use --refit-every 100 (refit_every=100), "
                "or a machine that can, such as incremental-svc or naive-bayes."
            )
        settings = dataclasses.replace(settings, warm_up=warm_up, refit_every=every)
        classes = np.unique(read_stream_labels(dataset.y, dataset.n_rows))
        return cls(dataset, settings, model, classes)

    @classmethod
    def resume(cls, dataset: Any, place: str) -> Stream:
        """Continue a stream from a snapshot."""
        from lindero.persist import load

        dataset = sort_labelled(dataset)
        path, noted, codes = read_snapshot(place)
        settings = StreamSettings(**{name: noted[name] for name in _SETTINGS})
        _require_classes(find_machine(settings.machine), dataset)
        if noted["rows"] > dataset.n_rows:
            raise ValueError(
                f"The snapshot was taken after {noted['rows']} rows, but the data have only "
                f"{dataset.n_rows}: resume with the same data."
            )
        stream = cls(dataset, settings, load(path), np.array(noted["classes"]), noted["rows"])
        stream.resumed_from = str(path)
        stream.seconds_learning, stream.seconds_predicting = noted["seconds"]
        codes = codes[: stream.position - settings.warm_up]
        stream.answers = codes[:, 1].tolist()
        differ = np.flatnonzero(stream.truth != codes[:, 0])
        if len(differ):
            raise ValueError(
                f"Row {settings.warm_up + int(differ[0]) + 1} has another class than when the "
                "snapshot was taken: resume with the same data, in the same order."
            )
        return stream

    @property
    def machine(self) -> MachineSpec:
        return find_machine(self.settings.machine)

    @property
    def seconds(self) -> float:
        return self.seconds_learning + self.seconds_predicting

    def run(self, progress: Progress, save_every: int | None = None, folder: str = "") -> None:
        """Go through the rest of the rows, and save snapshots."""
        settings = self.settings
        table = self._encode_table()
        step = None
        if save_every is not None:
            unit = settings.refit_every or settings.batch_size
            step = unit * math.ceil(save_every / unit)
            Path(folder).mkdir(parents=True, exist_ok=True)
        while self.position < self.dataset.n_rows:
            start = max(self.position, settings.warm_up)
            stop = self.dataset.n_rows if step is None else min(start + step, self.dataset.n_rows)
            self._run_segment(table, start, stop, progress)
            if step is not None and (stop - settings.warm_up) % step == 0:
                self.saved.append(write_snapshot(self, folder))

    def _encode_table(self) -> Any:
        """Encode the features, with scales fitted to the first rows."""
        X = self.dataset.X
        if unwrap_machine(self.model) is self.model:
            return X
        encoder = self.model.named_steps[TABLE_STEP]
        if self.position == 0:
            first = np.arange(self.settings.warm_up)
            encoder.fit(self.dataset.rows(first).X)
        return encoder.transform(X)

    def _run_segment(self, table: Any, start: int, stop: int, progress: Progress) -> None:
        """Predict and learn the rows from `start` to `stop`."""
        settings, beginning = self.settings, self.position == 0
        machine = unwrap_machine(self.model)
        # Machines that are refitted need the rows before, and are refitted to them at once, as they
        # were at the end of the segment before.
        first = 0 if beginning or settings.refit_every is not None else start
        times = self.dataset.times if self.machine.takes_times else None
        before, right = len(self.answers), self.n_right

        def report(state: StreamProgress) -> None:
            progress(before + state.n_done, right + round(state.accuracy * state.n_done))

        try:
            part = prequential(
                machine,
                table[first:stop],
                self.dataset.y[first:stop],
                times=None if times is None else times[first:stop],
                batch_size=settings.batch_size,
                warm_up=start - first,
                classes=self.classes,
                refit_every=settings.refit_every,
                refit_on=settings.refit_on,
                fresh=False,
                callback=report,
            )
        except KeyboardInterrupt as interrupt:
            if hasattr(interrupt, "result"):
                self._record(interrupt.result, start)
            raise
        self._record(part, start)

    def _record(self, part: PrequentialResult, start: int) -> None:
        self.answers += part.answers.tolist()
        self.position = start + len(part.answers)
        self.seconds_learning += part.seconds_learning
        self.seconds_predicting += part.seconds_predicting

    @property
    def truth(self) -> Any:
        """Positions of the true classes of the rows tested so far."""
        labels = read_stream_labels(self.dataset.y, self.dataset.n_rows)
        codes = encode_labels(labels, self.classes, "Resume with the same data.")
        return codes[self.settings.warm_up :][: len(self.answers)]

    @property
    def n_right(self) -> int:
        """How many of the rows tested so far were predicted right."""
        return int((self.truth == np.array(self.answers)).sum())

    def choose_window(self, given: int | None) -> int:
        """Rows per point of the error curve."""
        return given or max(20, min(1000, self.dataset.n_rows // 10))

    def build_result(self, window: int | None) -> PrequentialResult:
        """The result of all segments together."""
        first, n_tested = self.settings.warm_up, len(self.answers)
        return PrequentialResult(
            self.model, self.classes, np.arange(first, first + n_tested), self.truth,
            np.array(self.answers, dtype=int), self.choose_window(window), self.seconds_predicting,
            self.seconds_learning, self.position == self.dataset.n_rows,
        )  # fmt: skip


def sort_labelled(dataset: Any) -> Any:
    """The rows with a target in order of time; those with equal times keep their order."""
    dataset = drop_unlabelled(dataset)
    if dataset.times is None:
        return dataset
    order = np.argsort(dataset.times, kind="stable")
    return dataset if (np.diff(order) > 0).all() else dataset.rows(order)


def _require_classes(machine: MachineSpec, dataset: Any) -> None:
    if machine.task != CLASSIFICATION:
        raise ValueError(f"{machine.name} is for {machine.task}; a stream is for classification.")
    if dataset.task != CLASSIFICATION:
        what = {"regression": "a number", "unlabelled": "missing"}.get(dataset.task, "a rank")
        raise ValueError(f"A stream is for classification, but the target is {what}.")


def require_unused(folder: str) -> None:
    """Refuse a folder with snapshots or answers of another run, which would be lost."""
    if (Path(folder) / ANSWERS).exists() and not any(Path(folder).glob("row-*.lin")):
        raise ValueError(
            f"{folder!r} holds a file {ANSWERS!r} already, which snapshots would replace: choose "
            "another folder (--snapshots), or remove it."
        )
    if any(Path(folder).glob("row-*.lin")):
        raise ValueError(
            f"{folder!r} holds snapshots of another run: continue it (--resume {folder}), choose "
            "another folder (--snapshots), or remove it."
        )


def write_snapshot(stream: Stream, folder: str) -> str:
    """Save the current state of a stream; return the path."""
    from lindero.data.csv_files import guard_formula
    from lindero.persist import save
    from lindero.persist.safe_file import write_whole_bytes

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "true", "predicted", "true_code", "predicted_code"])
    labels = stream.classes.tolist()
    shown = [*map(guard_formula, labels), ""]
    pairs = zip(stream.truth.tolist(), stream.answers, strict=True)
    for row, (true, answer) in enumerate(pairs, start=stream.settings.warm_up + 1):
        writer.writerow([row, shown[true], shown[max(answer, -1)], true, answer])
    write_whole_bytes(Path(folder) / ANSWERS, text.getvalue().encode("utf-8", errors="replace"))
    path = Path(folder) / _NAME.format(stream.position)
    noted = {
        **dataclasses.asdict(stream.settings),
        "rows": stream.position,
        "classes": labels,
        "seconds": [stream.seconds_learning, stream.seconds_predicting],
    }
    save(stream.model, path, summary={"stream": make_plain(noted)})
    return str(path)


def _is_sound(noted: Any) -> bool:
    """Whether a file says of a stream what `write_snapshot` has it say."""
    if not isinstance(noted, dict) or not {*_SETTINGS, "rows", "classes", "seconds"} <= set(noted):
        return False

    def is_count(name: str, least: int) -> bool:
        return type(noted[name]) is int and least <= noted[name] < 2**53

    seconds, classes = noted["seconds"], noted["classes"]
    return (
        type(noted["machine"]) is str
        and isinstance(noted["params"], dict)
        and is_count("batch_size", 1)
        and is_count("warm_up", 0)
        and is_count("seed", 0)
        and is_count("rows", noted["warm_up"])
        and all(noted[name] is None or is_count(name, 1) for name in ("refit_every", "refit_on"))
        and isinstance(seconds, list)
        and len(seconds) == 2
        and all(type(value) in (int, float) for value in seconds)
        and isinstance(classes, list)
        and len({type(label) for label in classes}) == 1
        and type(classes[0]) in (str, int, float, bool)
    )


def read_snapshot(place: str) -> tuple[Path, dict[str, Any], Any]:
    """A snapshot, or the last one in a folder: its path, the settings and progress of the stream,
    and true and predicted codes of the rows tested, one pair a row."""
    from lindero.persist import inspect

    path = Path(place)
    if path.is_dir():
        found = sorted(path.glob("row-*.lin"))
        if not found:
            raise ValueError(f"There are no snapshots in {place!r}: use --save-every first.")
        path = found[-1]
    noted = inspect(path).summary.get("stream")
    answers = path.parent / ANSWERS
    if noted is None or not answers.is_file():
        raise ValueError(
            f"{str(path)!r} is not a snapshot with its answers ({ANSWERS}) in the same folder."
        )
    if not _is_sound(noted):
        raise ValueError(f"{str(path)!r} is damaged: it does not describe a stream.")
    try:
        with answers.open(encoding="utf-8", newline="") as file:
            rows = [
                (int(row["true_code"]), int(row["predicted_code"])) for row in csv.DictReader(file)
            ]
    except (KeyError, ValueError, TypeError):
        raise ValueError(
            f"{str(answers)!r} is damaged: it does not hold the answers of a stream."
        ) from None
    n_tested = noted["rows"] - noted["warm_up"]
    n_classes = len(noted["classes"])
    if not all(0 <= true < n_classes and -1 <= found < n_classes for true, found in rows):
        raise ValueError(f"{str(answers)!r} is damaged: it holds classes that do not exist.")
    if len(rows) < n_tested:
        raise ValueError(
            f"{str(answers)!r} holds {len(rows)} answers, but the snapshot has {n_tested}: they do "
            "not belong together."
        )
    return path, noted, np.array(rows, dtype=int).reshape(-1, 2)
