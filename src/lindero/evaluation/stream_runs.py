"""A stream of a data set, with snapshots from which it can go on.

A snapshot is taken where a batch ends (and, for machines that are refitted, where a refit is due),
so that a resumed run has the same batches and refits as an uninterrupted one. Model files restore a
machine bit for bit. Where labels come late, rows that wait for theirs are learned after the
snapshot, as they would have been.

    snapshots/row-000001000.lin    the machine, and the settings of the stream
    snapshots/answers.csv          row, true and predicted class (or number), log-loss

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
import scipy.sparse as sp

from lindero.errors import warn_user
from lindero.evaluation.build import TABLE_STEP, make_machine, scale_to_target, unwrap_machine
from lindero.evaluation.registry import CLASSIFICATION, REGRESSION, MachineSpec, find_machine
from lindero.evaluation.rows import drop_unlabelled
from lindero.evaluation.stream_models import (
    StreamTable,
    adapt_model,
    learns_new_classes,
    scales_inside,
)
from lindero.evaluation.stream_results import PrequentialResult
from lindero.evaluation.stream_targets import ClassTarget, read_target
from lindero.evaluation.streams import (
    StreamEvaluation,
    StreamProgress,
    StreamSchedule,
    read_stream_times,
)
from lindero.runtime.arrays import make_plain

#: The file of answers in a folder of snapshots.
ANSWERS = "answers.csv"
_NAME = "row-{:09d}.lin"

#: Machines that learn row by row, by task.
_ROW_BY_ROW = {
    CLASSIFICATION: "incremental-svc or naive-bayes",
    REGRESSION: "incremental-svr or adaptive-svr",
}

#: Rows that are only learned, by default; of a machine that needs none first, one.
_WARM_UP = 100

#: New categories that a warning lists.
_LISTED = 3

#: Called with the rows tested so far, and the wrong answers or the absolute errors among them.
Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class StreamSettings:
    """The settings of a stream, from beginning to end; snapshots contain them."""

    machine: str
    params: dict[str, Any]
    batch_size: int = 1
    #: Rows that are only learned; None is a number that `Stream.begin` chooses.
    warm_up: Any = None
    #: Rows after which a label is known.
    delay: int = 0
    refit_every: int | None = None
    refit_on: int | None = None
    seed: int = 0


_SETTINGS = [field.name for field in dataclasses.fields(StreamSettings)]

#: Settings that snapshots of older versions do not have.
_ADDED = {"delay"}


@dataclass
class Stream:
    """A machine that goes through the rows of a data set; `model` is the machine with its table
    encoder, if it has one."""

    dataset: Any
    settings: StreamSettings
    model: Any
    evaluation: StreamEvaluation
    saved: list[str] = field(default_factory=list)
    resumed_from: str | None = None

    @classmethod
    def begin(cls, dataset: Any, settings: StreamSettings, costs: Any = None) -> Stream:
        """Start a stream."""
        dataset, machine = sort_labelled(dataset), find_machine(settings.machine)
        _require_task(machine, dataset)
        every, warm_up, delay = settings.refit_every, settings.warm_up, settings.delay
        if settings.refit_on is not None and every is None:
            raise ValueError("refit_on (--refit-on) needs refit_every (--refit-every).")
        if every is not None:  # refits happen at ends of batches
            every = settings.batch_size * math.ceil(every / settings.batch_size)
        model = make_machine(machine, settings.params, random_state=settings.seed)
        if every is None and not hasattr(unwrap_machine(model), "partial_fit"):
            raise ValueError(
                f"{machine.name} cannot learn row by row: use --refit-every 100 (refit_every=100), "
                f"or a machine that can, such as {_ROW_BY_ROW[machine.task]}."
            )
        is_scaled = every is None and scales_inside(unwrap_machine(model))
        if warm_up is None:
            warm_up = choose_warm_up(dataset, is_scaled)
        if warm_up + delay >= dataset.n_rows:
            waiting = f", and the next {delay} wait for labels" if delay else ""
            raise ValueError(
                f"The data have {dataset.n_rows} rows, and the first {warm_up} are not tested"
                f"{waiting}: none are left. Lower warm_up (--warm-up)"
                f"{' or delay (--delay)' if delay else ''}."
            )
        if not is_scaled:
            scaled = scale_to_target(machine, dataset.y[:warm_up])
            model = make_machine(scaled, settings.params, random_state=settings.seed)
        settings = dataclasses.replace(settings, warm_up=warm_up, refit_every=every)
        fit_encoder(model, dataset, warm_up, is_scaled)
        target = read_target(dataset.y, dataset.n_rows, unwrap_machine(model), machine.task)
        return cls(dataset, settings, model, _evaluate(dataset, settings, model, target, costs))

    @classmethod
    def resume(cls, dataset: Any, place: str, costs: Any = None) -> Stream:
        """Continue a stream from a snapshot."""
        from lindero.persist import load

        dataset = sort_labelled(dataset)
        path, noted, known = read_snapshot(place)
        settings = StreamSettings(**{name: noted[name] for name in _SETTINGS if name in noted})
        spec = find_machine(settings.machine)
        _require_task(spec, dataset)
        if noted["rows"] > dataset.n_rows:
            raise ValueError(
                f"The snapshot was taken after {noted['rows']} rows, but the data have only "
                f"{dataset.n_rows}: resume with the same data."
            )
        model = load(path)
        machine, classes = unwrap_machine(model), noted["classes"]
        if classes is not None and (settings.refit_every or learns_new_classes(machine)):
            classes = np.unique(np.append(np.array(classes), dataset.y))
        advice = f"{spec.name} cannot learn classes that appear later: begin again with all rows."
        target = read_target(dataset.y, dataset.n_rows, machine, spec.task, classes, advice)
        evaluation = _evaluate(dataset, settings, model, target, costs)
        truth, answers = known["truth"], known["answers"]
        if isinstance(target, ClassTarget):
            place_of = [target.code_of.get(label, -2) for label in noted["classes"]]
            truth, answers = (np.array([*place_of, -1])[codes] for codes in (truth, answers))
        first = evaluation.schedule.first_tested
        differ = np.flatnonzero(target.truth[first : noted["rows"]] != truth)
        if len(differ):
            what = "target" if target.classes is None else "class"
            raise ValueError(
                f"Row {first + int(differ[0]) + 1} has another {what} than when the snapshot was "
                "taken: resume with the same data, in the same order."
            )
        evaluation.restore(noted["rows"], answers, known.get("log_losses"))
        evaluation.seconds_learning, evaluation.seconds_predicting = noted["seconds"]
        return cls(dataset, settings, model, evaluation, resumed_from=str(path))

    @property
    def machine(self) -> MachineSpec:
        return find_machine(self.settings.machine)

    @property
    def position(self) -> int:
        """Rows that have been predicted, or only learned, so far."""
        return self.evaluation.n_seen

    @property
    def seconds(self) -> float:
        return self.evaluation.seconds_learning + self.evaluation.seconds_predicting

    def run(self, progress: Progress, save_every: int | None = None, folder: str = "") -> None:
        """Go through the rest of the rows, and save snapshots."""
        settings, evaluation = self.settings, self.evaluation
        n_rows, first = self.dataset.n_rows, evaluation.schedule.first_tested
        step = n_rows
        if save_every is not None:
            unit = settings.refit_every or settings.batch_size
            step = unit * math.ceil(save_every / unit)
            Path(folder).mkdir(parents=True, exist_ok=True)

        def report(state: StreamProgress) -> None:
            progress(state.n_done, evaluation.loss)

        while evaluation.n_seen < n_rows:
            stop = min(max(evaluation.n_seen, first) + step, n_rows)
            evaluation.run(stop, report)
            if save_every is not None and (stop - first) % step == 0:
                self.saved.append(write_snapshot(self, folder))

    def choose_window(self, given: int | None) -> int:
        """Rows per point of the curves."""
        return given or max(20, min(1000, self.dataset.n_rows // 10))

    def build_result(self, window: int | None) -> PrequentialResult:
        """What was found so far."""
        return self.evaluation.make_result(self.choose_window(window), self.model)


def _evaluate(
    dataset: Any, settings: StreamSettings, model: Any, target: Any, costs: Any
) -> StreamEvaluation:
    """The evaluation of a machine whose table encoder, if it has one, is fitted."""
    machine, n_rows, times = unwrap_machine(model), dataset.n_rows, dataset.times
    table = dataset.X
    if machine is not model:
        table = model.named_steps[TABLE_STEP].transform(table)
    given = None
    if times is not None and find_machine(settings.machine).takes_times:
        given = read_stream_times(times, n_rows)
    told = None if learns_new_classes(machine) else target.classes
    every, last = settings.refit_every, settings.refit_on
    return StreamEvaluation(
        adapt_model(machine, StreamTable(table), target.labels, given, told, every, last),
        target,
        StreamSchedule(n_rows, settings.batch_size, settings.warm_up, settings.delay),
        times=times,
        costs=target.read_costs(costs),
    )


# -- the first rows -------------------------------------------------------------------------------


def choose_warm_up(dataset: Any, is_scaled: bool) -> int:
    """Rows that are only learned, where the user does not say: one, if the machine scales columns
    itself and there is nothing else to learn of them (categories, missing values)."""
    if is_scaled and _has_numbers_only(dataset):
        return 1
    return max(1, min(_WARM_UP, int(dataset.n_rows) // 5))


def _has_numbers_only(dataset: Any) -> bool:
    if sp.issparse(dataset.X):
        return True
    numbers = all(kind == "number" for kind in dataset.kinds.values())
    return numbers and not any(column.null_count for column in dataset.X.columns)


def fit_encoder(model: Any, dataset: Any, warm_up: int, is_scaled: bool) -> None:
    """Fit the table encoder, if there is one, to the first rows. A machine that scales columns
    itself gets numbers as they are, gaps too: means of the first rows would stand among values of
    another unit later, and hide that it changed."""
    if unwrap_machine(model) is model:
        return
    encoder = model.named_steps[TABLE_STEP]
    if is_scaled:
        encoder.set_params(fill_missing=False)
    encoder.fit(dataset.rows(np.arange(warm_up)).X)
    if is_scaled:
        encoder.mean_ = np.zeros_like(encoder.mean_)
        encoder.scale_ = np.ones_like(encoder.scale_)
    if not sp.issparse(dataset.X):
        _warn_of_new_categories(encoder, dataset.X, warm_up)


def _warn_of_new_categories(encoder: Any, X: Any, warm_up: int) -> None:
    """Say which categories come after the first rows, and are none of those known."""
    described = zip(X.column_names, encoder.categories_, encoder.others_, strict=True)
    for name, known, other in described:
        if not known or other is not None:
            continue
        values = [v for v in X.column(name).unique().to_pylist() if v is not None]
        new = [str(v) for v in values if v not in known and str(v) not in known]
        if new:
            listed = ", ".join(map(repr, new[:_LISTED])) + (", …" if len(new) > _LISTED else "")
            plural = len(new) > 1
            warn_user(
                f"Column {name!r}: {listed} {'do' if plural else 'does'} not occur in the first "
                f"{warm_up} rows, and {'count' if plural else 'counts'} as none of the known "
                "values. A larger warm_up (--warm-up) learns more of them.",
                UserWarning,
            )


def sort_labelled(dataset: Any) -> Any:
    """The rows with a target in order of time; those with equal times keep their order."""
    dataset = drop_unlabelled(dataset)
    if dataset.times is None:
        return dataset
    order = np.argsort(dataset.times, kind="stable")
    return dataset if (np.diff(order) > 0).all() else dataset.rows(order)


def _require_task(machine: MachineSpec, dataset: Any) -> None:
    if machine.task not in _ROW_BY_ROW:
        raise ValueError(
            f"{machine.name} is for {machine.task}; a stream is for classification or regression."
        )
    if dataset.task != machine.task:
        kinds = {CLASSIFICATION: "holds classes", REGRESSION: "is a number"}
        kinds |= {"unlabelled": "is missing", "ranking": "is a rank"}
        raise ValueError(
            f"{machine.name} is for {machine.task}, but the target {kinds[dataset.task]}."
        )


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
    evaluation = stream.evaluation
    target, tested = evaluation.target, evaluation.tested
    truth, answers = target.truth[tested].tolist(), evaluation.answers[tested].tolist()
    columns: list[list[Any]] = [list(range(tested.start + 1, tested.stop + 1))]
    header, labels = ["row", "true", "predicted"], None
    if isinstance(target, ClassTarget):
        labels = target.classes.tolist()
        shown = [*map(guard_formula, labels), ""]
        header += ["true_code", "predicted_code"]
        columns += [[shown[code] for code in codes] for codes in (truth, answers)]
    columns += [truth, answers]
    if evaluation.log_losses is not None:
        header.append("log_loss")
        columns.append(evaluation.log_losses[tested].tolist())
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
    write_whole_bytes(Path(folder) / ANSWERS, text.getvalue().encode("utf-8", errors="replace"))
    path = Path(folder) / _NAME.format(stream.position)
    noted = {
        **dataclasses.asdict(stream.settings),
        "rows": stream.position,
        "classes": labels,
        "seconds": [evaluation.seconds_learning, evaluation.seconds_predicting],
    }
    save(stream.model, path, summary={"stream": make_plain(noted)})
    return str(path)


def _is_sound(noted: Any) -> bool:
    """Whether a file says of a stream what `write_snapshot` has it say."""
    needed = {*_SETTINGS, "rows", "classes", "seconds"} - _ADDED
    if not isinstance(noted, dict) or not needed <= set(noted):
        return False

    def is_count(name: str, least: int) -> bool:
        return type(noted[name]) is int and least <= noted[name] < 2**53

    seconds, classes = noted["seconds"], noted["classes"]
    return (
        type(noted["machine"]) is str
        and isinstance(noted["params"], dict)
        and is_count("batch_size", 1)
        and is_count("warm_up", 1)
        and all(is_count(name, 0) for name in _ADDED & set(noted))
        and is_count("seed", 0)
        and is_count("rows", noted["warm_up"] + noted.get("delay", 0))
        and all(noted[name] is None or is_count(name, 1) for name in ("refit_every", "refit_on"))
        and isinstance(seconds, list)
        and len(seconds) == 2
        and all(type(value) in (int, float) for value in seconds)
        and (classes is None or _are_labels(classes))
    )


def _are_labels(classes: Any) -> bool:
    return (
        isinstance(classes, list)
        and len({type(label) for label in classes}) == 1
        and type(classes[0]) in (str, int, float, bool)
    )


def read_snapshot(place: str) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """A snapshot, or the last one in a folder: its path, the settings and progress of the stream,
    and the truth, answers and (if known) log-losses of the rows tested; classes as positions."""
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
    known = _read_answers(answers, noted["classes"])
    n_tested = noted["rows"] - noted["warm_up"] - noted.get("delay", 0)
    if len(known["truth"]) < n_tested:
        raise ValueError(
            f"{str(answers)!r} holds {len(known['truth'])} answers, but the snapshot has "
            f"{n_tested}: they do not belong together."
        )
    return path, noted, {name: values[:n_tested] for name, values in known.items()}


def _read_answers(path: Path, classes: list[Any] | None) -> dict[str, Any]:
    read: Any = float if classes is None else int
    names = {"truth": "true", "answers": "predicted"}
    if classes is not None:
        names = {name: f"{column}_code" for name, column in names.items()}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        known = {name: [read(row[column]) for row in rows] for name, column in names.items()}
        has_losses = bool(rows) and "log_loss" in rows[0]
        losses = [float(row["log_loss"]) for row in rows] if has_losses else None
    except (KeyError, ValueError, TypeError):
        raise ValueError(
            f"{str(path)!r} is damaged: it does not hold the answers of a stream."
        ) from None
    if classes is not None and not (
        all(0 <= code < len(classes) for code in known["truth"])
        and all(-1 <= code < len(classes) for code in known["answers"])
    ):
        raise ValueError(f"{str(path)!r} is damaged: it holds classes that do not exist.")
    arrays = {name: np.array(values, dtype=read) for name, values in known.items()}
    return arrays if losses is None else {**arrays, "log_losses": np.array(losses)}
