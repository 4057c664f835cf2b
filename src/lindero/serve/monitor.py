"""How a server is doing: scores of models over time, and counters of requests.

Each labelled row is scored before it is learned. What the log says of that is kept here as a curve,
the latest entries of it. *Drift* compares the latest rows with those before: the difference of
their means, in standard errors. It is a hint for people, not a test at a level: whoever looks
often enough will see a large one by chance.
"""

from __future__ import annotations

import bisect
import math
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lindero.serve.store import OnlineStore

#: Entries of the log that a curve remembers; points of it that are shown, and rows of each.
MOST_ENTRIES, MOST_POINTS, FEWEST_ROWS = 5000, 60, 20

#: The latest rows: a fifth of those remembered, within these bounds.
_FEWEST_LATEST, _MOST_LATEST = 30, 500

#: Standard errors from which on a difference is called one.
_NOTABLE = 3.0


@dataclass(frozen=True)
class Scored:
    """Rows that were scored together: how many, and the sum of their scores."""

    sequence: int
    time: float
    n: float
    total: float


class Curve:
    """Scores of one model, as they came.

    Examples
    --------
    >>> from lindero.serve.monitor import Curve, Scored
    >>> curve = Curve()
    >>> for k in range(200):
    ...     curve.add("accuracy", Scored(k, float(k), 1.0, float(k < 150 or k % 2)))
    >>> curve.tell_drift()["state"]
    'worse'
    """

    def __init__(self) -> None:
        self.measure: str | None = None
        self._scored: deque[Scored] = deque(maxlen=MOST_ENTRIES)
        self._lock = threading.Lock()

    def add(self, measure: str, scored: Scored) -> None:
        with self._lock:
            self.measure = measure
            if scored.n > 0:
                self._scored.append(scored)

    def points(self) -> list[dict[str, float]]:
        """Means over neighbouring rows, oldest first."""
        with self._lock:
            scored = list(self._scored)
        n_rows = sum(one.n for one in scored)
        width = max(FEWEST_ROWS, n_rows / MOST_POINTS)
        found: list[dict[str, float]] = []
        n, total = 0.0, 0.0
        for one in scored:
            n, total = n + one.n, total + one.total
            if n >= width or one is scored[-1]:
                point = {"sequence": one.sequence, "time": one.time, "n": n, "value": total / n}
                found.append(point)
                n, total = 0.0, 0.0
        return found

    def tell_drift(self) -> dict[str, Any]:
        """The latest rows beside those before."""
        with self._lock:
            scored, measure = list(self._scored), self.measure
        n_rows = sum(one.n for one in scored)
        wanted = min(_MOST_LATEST, max(_FEWEST_LATEST, n_rows / 5))
        latest: list[Scored] = []
        while scored and sum(one.n for one in latest) < wanted:
            latest.append(scored.pop())
        if sum(one.n for one in scored) < _FEWEST_LATEST or measure is None:
            return {"state": "too few rows", "n": n_rows}
        (now, error_now), (before, error_before) = (
            _mean_and_error(part, measure) for part in (latest, scored)
        )
        error = math.hypot(error_now, error_before)
        gain = now - before if measure == "accuracy" else before - now
        z = gain / error if error > 0 else math.copysign(math.inf, gain) if gain else 0.0
        state = "worse" if z < -_NOTABLE else "better" if z > _NOTABLE else "steady"
        return {
            "state": state,
            "latest": now,
            "before": before,
            "n_latest": sum(one.n for one in latest),
            "n_before": sum(one.n for one in scored),
            "standard_errors": z if math.isfinite(z) else None,
        }


def _mean_and_error(scored: list[Scored], measure: str) -> tuple[float, float]:
    """The mean of some rows, and its standard error."""
    n = sum(one.n for one in scored)
    mean = sum(one.total for one in scored) / n
    if measure == "accuracy":
        return mean, math.sqrt(max(mean * (1.0 - mean), 1.0 / n) / n)
    spread = sum(one.n * (one.total / one.n - mean) ** 2 for one in scored)
    return mean, math.sqrt(spread / n / max(1, len(scored) - 1))


class Curves:
    """Those of all models of a store."""

    def __init__(self, store: OnlineStore) -> None:
        self._curves = {name: Curve() for name in store.models}
        self._known = {name: store.scores(model=name) for name in store.models}
        for entry in store.score_history(max(0, store.sequence - MOST_ENTRIES)):
            self._add(*entry)

    def __getitem__(self, model: str) -> Curve:
        return self._curves[model]

    def follow(self, model: str, sequence: int, moment: float, scores: dict[str, float]) -> None:
        """Take note of what all scores of a model are after a write."""
        before, self._known[model] = self._known[model], scores
        n = scores["n"] - before["n"]
        sums = {
            name: scores[name] * scores["n"] - before.get(name, 0.0) * before["n"]
            for name in scores
            if name != "n"
        }
        if n > 0:
            self._add(model, sequence, moment, {"n": n, **sums})

    def _add(self, model: str, sequence: int, moment: float, scored: dict[str, float]) -> None:
        for measure, total in scored.items():
            if measure != "n":
                self._curves[model].add(measure, Scored(sequence, moment, scored["n"], total))


#: Upper ends of the classes of durations, in seconds.
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Counters:
    """Requests by operation and status, and how long they took. For one thread."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], int] = {}
        self._times: dict[str, list[float]] = {}
        self._rows: dict[tuple[str, str], int] = {}

    def count(self, operation: str, status: int, seconds: float) -> None:
        key = operation, status
        self._requests[key] = self._requests.get(key, 0) + 1
        times = self._times.get(operation)
        if times is None:
            times = self._times[operation] = [0.0] * (len(_BOUNDS) + 2)
        times[bisect.bisect_left(_BOUNDS, seconds)] += 1
        times[-1] += seconds

    def count_rows(self, operation: str, model: str, n: int) -> None:
        key = operation, model
        self._rows[key] = self._rows.get(key, 0) + n

    def write(self, gauges: Iterable[tuple[str, str, dict[str, str], float]]) -> str:
        """The text format of Prometheus. `gauges` are names, explanations, labels and values."""
        lines = [
            "# HELP lindero_requests_total Requests that were answered.",
            "# TYPE lindero_requests_total counter",
        ]
        for (operation, status), n in sorted(self._requests.items()):
            labels = {"operation": operation, "status": str(status)}
            lines.append(_sample("lindero_requests_total", labels, n))
        lines += [
            "# HELP lindero_rows_total Rows of requests that were done.",
            "# TYPE lindero_rows_total counter",
        ]
        for (operation, model), n in sorted(self._rows.items()):
            labels = {"operation": operation, "model": model}
            lines.append(_sample("lindero_rows_total", labels, n))
        lines += [
            "# HELP lindero_request_seconds How long requests took.",
            "# TYPE lindero_request_seconds histogram",
        ]
        for operation, times in sorted(self._times.items()):
            so_far = 0.0
            for bound, count in zip((*_BOUNDS, math.inf), times[:-1], strict=True):
                so_far += count
                labels = {"operation": operation, "le": "+Inf" if bound == math.inf else f"{bound}"}
                lines.append(_sample("lindero_request_seconds_bucket", labels, so_far))
            labels = {"operation": operation}
            lines.append(_sample("lindero_request_seconds_sum", labels, times[-1]))
            lines.append(_sample("lindero_request_seconds_count", labels, so_far))
        told: set[str] = set()
        for name, words, labels, value in gauges:
            if name not in told:
                told.add(name)
                lines += [f"# HELP {name} {words}", f"# TYPE {name} gauge"]
            lines.append(_sample(name, labels, value))
        return "\n".join(lines) + "\n"


def _sample(name: str, labels: dict[str, str], value: float) -> str:
    def escape(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    inside = ",".join(f'{key}="{escape(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value:.10g}" if inside else f"{name} {value:.10g}"
