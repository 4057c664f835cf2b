"""Snapshots of a stream: the machine as it is after some rows, and all answers until then.

    snapshots/row-000001000.lin    the machine, and what the stream is run with
    snapshots/answers.csv          row, true class, predicted class

Answers are written before the machine, so that a machine that is there has its answers, whatever
happened in between; those of later rows are left aside when going on.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lindero.cli.mistakes import Mistake

if TYPE_CHECKING:
    from lindero.cli.streaming import Stream

_ANSWERS = "answers.csv"
_NAME = "row-{:09d}.lin"


@dataclass(frozen=True)
class Snapshot:
    """A machine in the middle of a stream, what it is run with, and answers so far."""

    path: str
    model: Any
    noted: dict[str, Any]
    truth: list[int]
    answers: list[int]


def require_unused(folder: str) -> None:
    """Refuse a folder that holds snapshots of another run: their answers would be lost."""
    if any(Path(folder).glob("row-*.lin")):
        raise Mistake(
            f"{folder!r} holds snapshots of another run: go on with it (--resume {folder}), name "
            "another folder (--snapshots), or remove it."
        )


def write_snapshot(stream: Stream, folder: str) -> str:
    """Save a stream as it is now; where."""
    from lindero.cli.output import plain
    from lindero.persist import save
    from lindero.persist.safe_file import write_whole_bytes

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "true", "predicted", "true_code", "predicted_code"])
    labels = stream.classes.tolist()
    pairs = zip(stream.truth.tolist(), stream.answers, strict=True)
    for row, (true, answer) in enumerate(pairs, start=stream.settings.warm_up + 1):
        writer.writerow([row, labels[true], labels[answer] if answer >= 0 else "", true, answer])
    write_whole_bytes(Path(folder) / _ANSWERS, text.getvalue().encode("utf-8", errors="replace"))
    path = Path(folder) / _NAME.format(stream.position)
    noted = {
        **dataclasses.asdict(stream.settings),
        "rows": stream.position,
        "classes": labels,
        "seconds": [stream.seconds_learning, stream.seconds_predicting],
    }
    save(stream.model, path, summary={"stream": plain(noted)})
    return str(path)


def read_snapshot(place: str) -> Snapshot:
    """The snapshot of a file, or the last one of a folder."""
    from lindero.persist import inspect, load

    path = Path(place)
    if path.is_dir():
        found = sorted(path.glob("row-*.lin"))
        if not found:
            raise Mistake(f"There are no snapshots in {place!r}: stream with --save-every first.")
        path = found[-1]
    noted = inspect(path).summary.get("stream")
    answers = path.parent / _ANSWERS
    if noted is None or not answers.is_file():
        raise Mistake(
            f"{str(path)!r} is no snapshot of a stream with its answers ({_ANSWERS}) beside it."
        )
    try:
        with answers.open(encoding="utf-8", newline="") as file:
            rows = [
                (int(row["true_code"]), int(row["predicted_code"])) for row in csv.DictReader(file)
            ]
    except (KeyError, ValueError, TypeError):
        raise Mistake(
            f"{str(answers)!r} is damaged: it does not hold answers of a stream."
        ) from None
    n_tested = noted["rows"] - noted["warm_up"]
    if len(rows) < n_tested:
        raise Mistake(
            f"{str(answers)!r} holds {len(rows)} answers, but the snapshot has given {n_tested}: "
            "they do not belong together."
        )
    truth, given = zip(*rows, strict=True) if rows else ((), ())
    return Snapshot(str(path), load(path), noted, list(truth), list(given))
