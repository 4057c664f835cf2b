"""AdaptiveSVC on streams, beside linear learners and forests that learn as they go.

Every model sees the same rows in the same order, one at a time: predict, then learn. Columns that
hold more than zeros and ones are standardised by the mean and deviation of the first tenth, for all
alike. Parameters are chosen by the accuracy on the first tenth (the first fifth of it is not
counted); a new model with the best then learns the tenth, and is tested on all that follows.

AdaptiveSVC has a fixed n (`n_scale`), so that its parameters mean the same however long a stream
has been, and a horizon of 200 samples. "window" is a plain linear machine of the last rows, whose
number is tuned: one hyperplane where AdaptiveSVC has one for each row.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import SGDClassifier

from data_sets import FOLDER
from lindero.evaluation import PrequentialResult, prequential
from lindero.svm import AdaptiveSVC, IncrementalSVC
from svc import table

#: Columns that are left out: the number of the day, and the price that the class is made from.
STREAMS: dict[str, list[str]] = {
    "elec2": ["date", "nswprice"],
    "noaa_weather": [],
    "sea": [],
    "usenet1": [],
}


@dataclass(frozen=True)
class Contender:
    """A model and what of it is tuned."""

    name: str
    make: Callable[..., Any]
    grid: dict[str, list[Any]]
    linear: bool = True
    fixed: dict[str, Any] = field(default_factory=dict)
    #: river's ALMA has no constant of its own: a column of ones stands for it.
    with_ones: bool = False

    def settings(self) -> list[dict[str, Any]]:
        values = itertools.product(*self.grid.values())
        return [dict(zip(self.grid, chosen, strict=True)) for chosen in values]


def contenders() -> list[Contender]:
    from river import forest, linear_model, tree

    return [
        Contender("AdaptiveSVC", AdaptiveSVC,
                  {"C": [0.1, 1.0], "coupling": [10.0**k for k in range(11)]},
                  fixed={"n_scale": 1_000.0, "horizon": 200, "online": "exact"}),
        Contender("window", IncrementalSVC,
                  {"window": [50, 100, 300, 1000], "C": [0.1, 1.0]}, fixed={"kernel": "linear"}),
        Contender("SGD hinge", SGDClassifier,
                  {"alpha": [1e-5, 1e-4, 1e-3, 1e-2], "eta0": [0.003, 0.03, 0.3, 3.0]},
                  fixed={"loss": "hinge", "learning_rate": "constant", "random_state": 0}),
        Contender("ALMA", linear_model.ALMAClassifier,
                  {"alpha": [0.5, 0.7, 0.9, 0.99], "C": [0.5, 2**0.5, 4.0]}, with_ones=True),
        Contender("PA", linear_model.PAClassifier,
                  {"C": [1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0], "mode": [1, 2]}),
        Contender("Hoeffding adaptive tree", tree.HoeffdingAdaptiveTreeClassifier,
                  {"grace_period": [50, 200], "delta": [1e-7, 1e-2]}, False, {"seed": 0}),
        Contender("adaptive random forest", forest.ARFClassifier,
                  {"lambda_value": [1, 6]}, False, {"seed": 0}),
    ]  # fmt: skip


def load(name: str, n_rows: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Standardised rows, classes 0 and 1, and the number of rows there are."""
    frame = pd.read_csv(FOLDER / f"stream_{name}.csv.gz").drop(columns=STREAMS[name])
    X, y = frame.iloc[:, :-1].to_numpy(dtype=np.float64), frame.iloc[:, -1].to_numpy(dtype=int)
    total = len(y)
    X, y = X[:n_rows], y[:n_rows]
    first = X[: len(y) // 10]
    words = np.isin(X, (0.0, 1.0)).all(axis=0)
    mean, deviation = first.mean(axis=0), first.std(axis=0)
    deviation[np.ptp(first, axis=0) == 0.0] = 1.0  # nothing has moved there yet, but for rounding
    return np.where(words, X, (X - mean) / deviation), y, total


def run(contender: Contender, X: np.ndarray, y: np.ndarray) -> tuple[PrequentialResult, str]:
    """Tuned on the first tenth, tested on the rest."""
    if contender.with_ones:
        X = np.column_stack([X, np.ones(len(X))])
    tenth = len(y) // 10
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for settings in contender.settings():
        model = contender.make(**contender.fixed, **settings)
        score = prequential(model, X[:tenth], y[:tenth], warm_up=tenth // 5).accuracy
        if score > best[0]:
            best = score, settings
    model = contender.make(**contender.fixed, **best[1])
    result = prequential(model, X, y, warm_up=tenth)
    return result, ", ".join(f"{key}={value:g}" for key, value in best[1].items())


def streams(names: list[str], n_rows: int | None, only: list[str] | None) -> None:
    try:
        models = contenders()
    except ImportError:
        print("\nStreams are left out: river is not installed.")
        return
    models = [m for m in models if not only or any(part in m.name for part in only)]
    summary: dict[str, dict[str, float]] = {}
    for name in names:
        if not (FOLDER / f"stream_{name}.csv.gz").exists():
            print(f"\n{name} is left out: it is not in {FOLDER} (set LINDERO_DATA).")
            continue
        X, y, total = load(name, n_rows)
        tenth = len(y) // 10
        rest = y[tenth:]
        cut = "" if len(y) == total else f", cut after {len(y)} of {total} rows"
        print(f"\n### {name}, {X.shape[1]} features: accuracy and κ on rows {tenth} to "
              f"{len(y) - 1}{cut}")  # fmt: skip
        rows = [
            ["the previous label (no-change baseline)",
             f"{100 * np.mean(rest == y[tenth - 1 : -1]):.2f}",
             "", "", "", ""],
            ["always the commoner class", f"{100 * max(rest.mean(), 1 - rest.mean()):.2f}",
             "0.000", "", "", ""],
        ]  # fmt: skip
        for contender in models:
            result, settings = run(contender, X, y)
            summary.setdefault(contender.name, {})[name] = 100 * result.accuracy
            seconds = result.seconds_predicting + result.seconds_learning
            least = np.nanmin(result.curve_accuracy[min(999, len(rest) - 1) :])
            rows.append([contender.name, f"{100 * result.accuracy:.2f}", f"{result.kappa:.3f}",
                         f"{100 * least:.1f}", f"{len(y) / seconds:.0f}", settings])  # fmt: skip
            print(f"done: {contender.name}", flush=True)
        table(["model", "accuracy, %", "κ", "worst 1000 rows, %", "rows a second", "chosen"], rows)
    _summary(models, summary)


def _summary(models: list[Contender], summary: dict[str, dict[str, float]]) -> None:
    """How far AdaptiveSVC is ahead of the linear models and behind the others."""
    ours, *others = models
    if ours.name != "AdaptiveSVC" or not others or not summary:
        return
    rows = []
    for name, accuracy in summary[ours.name].items():
        line = [name, f"{accuracy:.2f}"]
        for linear in (True, False):
            group = {m.name: summary[m.name][name] for m in others if m.linear == linear}
            best = max(group, key=group.get, default=None)
            line.append("" if best is None else f"{best} {group[best]:.2f}"
                        f" ({accuracy - group[best]:+.2f})")  # fmt: skip
        rows.append(line)
    print("\n### AdaptiveSVC beside the best of the others (wanted: ahead of the linear models, "
          "and at most 2 points behind trees and forests)")  # fmt: skip
    table(["stream", "AdaptiveSVC", "best linear (lead)", "best tree or forest (lead)"], rows)
