"""Changes that AdaptiveSVC notices, beside detectors that watch its errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from lindero.svm import AdaptiveSVC
from stream_sets import Stream, generate
from svc import table

#: Streams with abrupt changes, and the concepts of theirs that calm ones consist of.
ABRUPT = {
    "sea abrupt": [0, 2],
    "sine abrupt": [0, 2],
    "mixed abrupt": [0],
    "agrawal abrupt": [0, 1],
    "stagger abrupt": [0, 2],
    "led abrupt": [0],
}

#: An alarm so many rows after a change, at most, is for it. Further ones in that time count neither
#: for nor against.
REACH = 1_000


@dataclass(frozen=True)
class Verdict:
    """What a detector made of a stream."""

    delays: tuple[int, ...]
    n_missed: int
    n_false: int
    n_rows: int


def judge(alarms: list[int], stream: Stream) -> Verdict:
    """Delays of alarms after changes, changes without any, and alarms without a change."""
    delays, missed = [], 0
    explained: set[int] = set()
    for change, after in zip(stream.changes, (*stream.changes, len(stream.y))[1:], strict=True):
        near = [alarm for alarm in alarms if change <= alarm < min(after, change + REACH)]
        explained |= set(near)
        delays += [near[0] - change] if near else []
        missed += not near
    false = sum(alarm not in explained for alarm in alarms)
    return Verdict(tuple(delays), missed, false, len(stream.y))


def watch(detector: Any, wrong: np.ndarray, rises: bool) -> list[int]:
    """Rows where a detector of river alarms; with `rises`, only where errors became more."""
    alarms = []
    for row, error in enumerate(wrong.tolist()):
        before = detector.estimation if rises else 0.0
        detector.update(error)
        if detector.drift_detected and not (rises and detector.estimation <= before):
            alarms.append(row)
    return alarms


def detectors() -> dict[str, tuple[Callable[[], Any], bool]]:
    from river import drift

    return {
        "ADWIN": (drift.ADWIN, False),
        "ADWIN, rises only": (drift.ADWIN, True),
        "Page-Hinkley": (drift.PageHinkley, False),
        "Page-Hinkley, rises only": (lambda: drift.PageHinkley(mode="up"), False),
    }


def try_stream(stream: Stream) -> dict[str, Verdict]:
    """All detectors on one stream, by the errors of the same machine."""
    warnings.simplefilter("ignore")
    model = AdaptiveSVC()
    wrong = np.zeros(len(stream.y), dtype=int)
    for i in range(len(stream.y)):
        row, label = stream.X[i : i + 1], stream.y[i : i + 1]
        wrong[i] = i == 0 or model.predict(row)[0] != label[0]
        model.partial_fit(row, label)
    verdicts = {"AdaptiveSVC": judge([c.noticed for c in model.history_.changes], stream)}
    for name, (make, rises) in detectors().items():
        verdicts[name] = judge(watch(make(), wrong, rises), stream)
    kind = "changes" if stream.changes else "calm"
    print(f"done: {stream.title} ({kind}), {100 * wrong.mean():.2f} % wrong", flush=True)
    return verdicts


def compare_detectors(n_rows: int, seeds: int, only: list[str] | None, jobs: int) -> None:
    """Delays, missed changes and false alarms, on streams with abrupt changes and without any."""
    names = [name for name in ABRUPT if not only or any(part in name for part in only)]
    chosen = range(1, seeds + 1)
    abrupt = [generate(name, seed, n_rows) for name in names for seed in chosen]
    calm = [generate(name, seed, n_rows, [concept])
            for name in names for concept in ABRUPT[name] for seed in chosen]  # fmt: skip
    verdicts = Parallel(n_jobs=jobs)(delayed(try_stream)(stream) for stream in abrupt + calm)
    with_changes, without = verdicts[: len(abrupt)], verdicts[len(abrupt) :]
    print(f"\n### Abrupt changes: {len(abrupt)} streams of {n_rows} rows")
    headings = ["stream", *with_changes[0]]
    rows = []
    for name in names:
        mine = [v for v, stream in zip(with_changes, abrupt, strict=True) if stream.name == name]
        rows.append([name, *(_tell([v[d] for v in mine]) for d in headings[1:])])
    rows.append(["**all**", *(_tell([v[d] for v in with_changes]) for d in headings[1:])])
    print("Changes noticed of those there are, median delay in rows, false alarms in 10 000 rows.")
    table(headings, rows)
    print(f"\n### Calm: {len(calm)} streams of {n_rows} rows: false alarms in 10 000 rows")
    rows = []
    for name in names:
        mine = [v for v, stream in zip(without, calm, strict=True) if stream.name == name]
        rows.append([name, *(f"{_false_rate([v[d] for v in mine]):.2f}" for d in headings[1:])])
    rows.append(["**all**", *(f"{_false_rate([v[d] for v in without]):.2f}" for d in headings[1:])])
    table(headings, rows)


def _false_rate(verdicts: list[Verdict]) -> float:
    return 1e4 * sum(v.n_false for v in verdicts) / sum(v.n_rows for v in verdicts)


def _tell(verdicts: list[Verdict]) -> str:
    delays = [delay for v in verdicts for delay in v.delays]
    n_changes = len(delays) + sum(v.n_missed for v in verdicts)
    delay = f", {np.median(delays):.0f} rows" if delays else ""
    return f"{len(delays)}/{n_changes}{delay}; {_false_rate(verdicts):.2f}"
