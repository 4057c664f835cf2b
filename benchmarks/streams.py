"""AdaptiveSVC with no parameter given, beside all that learns streams, in one run.

    make bench-streams                              everything (about 15 minutes on two idle cores)
    make bench-streams ARGS="--only sine --peers PA ARF"
    make bench-streams ARGS=--drift                 changes noticed, beside ADWIN and Page-Hinkley

Every model sees the same rows in the same order, one at a time: predict, then learn. Rows after the
first tenth count. river's linear models are behind its StandardScaler, SGDClassifier behind a
running scale; several classes are one model for each against the rest. Each of these is given the
better, on the rows that count, of its default and of the best of a small grid on the first tenth.
Trees, forests and lindero take rows as they are, with their defaults; lindero is not told the
classes either. "window 300" is a linear machine of the last 300 rows, behind a running scale,
and "window" one whose length and C are chosen like the parameters of the linear models: the
default is all rows.

Rows a second are of the processor, not of the clock: other work on the machine disturbs them less.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.linear_model import SGDClassifier

from lindero.svm import AdaptiveSVC, IncrementalSVC
from stream_drift import compare_detectors
from stream_sets import Stream, make_streams
from svc import table

OURS = ("AdaptiveSVC()", "AdaptiveSVC linear")
FOREST = "ARF"

#: Streams of up to so many columns are those whose rows a second are promised.
FEW_COLUMNS = 10


class RiverModel:
    """A model of river: one row is a dictionary, two classes are False and True."""

    def __init__(self, model: Any, X: np.ndarray, y: np.ndarray) -> None:
        self.model = model
        names = [f"x{j}" for j in range(X.shape[1])]
        self.rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
        self.labels = y.astype(bool).tolist() if y.max() < 2 else y.tolist()

    def predict(self, i: int) -> Any:
        return self.model.predict_one(self.rows[i])

    def learn(self, i: int) -> None:
        self.model.learn_one(self.rows[i], self.labels[i])


class ScaledModel:
    """A model of scikit-learn with `partial_fit`, behind a running mean and deviation."""

    def __init__(self, model: Any, X: np.ndarray, y: np.ndarray) -> None:
        self.model, self.X, self.labels = model, X, y
        self.classes = np.unique(y)
        self.n, self.mean, self.squares = 0, np.zeros(X.shape[1]), np.zeros(X.shape[1])

    def _scale(self, i: int) -> np.ndarray:
        deviation = np.sqrt(self.squares / max(1, self.n))
        deviation[deviation == 0.0] = 1.0
        return ((self.X[i] - self.mean) / deviation)[None, :]

    def predict(self, i: int) -> Any:
        return self.model.predict(self._scale(i))[0] if self.n else None

    def learn(self, i: int) -> None:
        self.n += 1
        change = self.X[i] - self.mean
        self.mean += change / self.n
        self.squares += change * (self.X[i] - self.mean)
        self.model.partial_fit(self._scale(i), self.labels[i : i + 1], classes=self.classes)


class WindowModel(ScaledModel):
    """A machine of lindero that keeps the last rows; it begins once it has seen two classes."""

    def __init__(self, model: Any, X: np.ndarray, y: np.ndarray) -> None:
        super().__init__(model, X, y)
        self.waiting: list[np.ndarray] | None = []

    def predict(self, i: int) -> Any:
        if self.waiting is not None:
            return self.labels[i - 1] if i else None
        return super().predict(i)

    def learn(self, i: int) -> None:
        self.n += 1
        change = self.X[i] - self.mean
        self.mean += change / self.n
        self.squares += change * (self.X[i] - self.mean)
        if self.waiting is None:
            self.model.partial_fit(self._scale(i), self.labels[i : i + 1])
            return
        self.waiting.append(self._scale(i))
        if len(self.waiting) >= 20 and len(np.unique(self.labels[: i + 1])) > 1:
            seen = self.labels[: i + 1]
            self.model.partial_fit(np.vstack(self.waiting), seen, classes=self.classes)
            self.waiting = None


class RawModel:
    """A model of lindero, with rows as they are."""

    def __init__(self, model: Any, X: np.ndarray, y: np.ndarray) -> None:
        self.model, self.X, self.labels = model, X, y

    def predict(self, i: int) -> Any:
        return self.model.predict(self.X[i : i + 1])[0] if i else None

    def learn(self, i: int) -> None:
        self.model.partial_fit(self.X[i : i + 1], self.labels[i : i + 1])


@dataclass(frozen=True)
class Peer:
    """A model, and what of it is tuned: the first setting is its default."""

    name: str
    face: type[RiverModel | ScaledModel | RawModel]
    make: Callable[..., Any]
    grid: Sequence[dict[str, Any]] = ({},)
    linear: bool = True
    slow: bool = False


@dataclass
class Run:
    """What a peer did on a stream."""

    stream: str
    n_rows: int
    peer: str
    accuracy: float
    rows_a_second: float
    settings: dict[str, Any] = field(default_factory=dict)


def _grid(**values: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())
    ]


def _add_one(row: dict[str, float]) -> dict[str, float]:
    """ALMA has no constant of its own: a column of ones, not scaled, stands for it."""
    return {**row, "one": 1.0}


def find_peers() -> list[Peer]:
    from river import (
        compose,
        ensemble,
        forest,
        linear_model,
        multiclass,
        optim,
        preprocessing,
        tree,
    )

    def scaled(make: Callable[..., Any], ones: bool = False) -> Callable[..., Any]:
        def build(several: bool, **settings: Any) -> Any:
            model = make(**settings)
            steps = [compose.FuncTransformer(_add_one)] if ones else []
            last = multiclass.OneVsRestClassifier(model) if several else model
            return compose.Pipeline(preprocessing.StandardScaler(), *steps, last)

        return build

    def logistic(rate: float | None = None) -> Any:
        if rate is None:
            return linear_model.LogisticRegression()
        return linear_model.LogisticRegression(optimizer=optim.SGD(rate), intercept_lr=rate)

    def plain(make: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
        return lambda several, **settings: make(**fixed, **settings)

    rates = _grid(learning_rate=["constant"], eta0=[0.003, 0.03, 0.3])
    return [
        Peer(OURS[0], RawModel, plain(AdaptiveSVC)),
        Peer(OURS[1], RawModel, plain(AdaptiveSVC, kernel="linear")),
        Peer("PA", RiverModel, scaled(linear_model.PAClassifier),
             [{}, *_grid(C=[0.001, 0.01, 0.1, 1.0], mode=[1, 2])]),
        Peer("ALMA", RiverModel, scaled(linear_model.ALMAClassifier, ones=True),
             [{}, *_grid(alpha=[0.5, 0.7, 0.9, 0.99], C=[0.5, 2**0.5])]),
        Peer("logistic", RiverModel, scaled(logistic),
             [{}, *_grid(rate=[0.003, 0.01, 0.03, 0.1, 0.3, 1.0])]),
        Peer("perceptron", RiverModel, scaled(linear_model.Perceptron),
             [{}, *_grid(l2=[1e-4, 1e-3, 1e-2, 1e-1])]),
        Peer("SGD hinge", ScaledModel, plain(SGDClassifier, loss="hinge", random_state=0),
             [{}, *rates]),
        Peer("SGD log", ScaledModel, plain(SGDClassifier, loss="log_loss", random_state=0),
             [{}, *rates]),
        Peer("window 300", WindowModel, plain(IncrementalSVC, kernel="linear", window=300)),
        Peer("window", WindowModel, plain(IncrementalSVC, kernel="linear"),
             [{}, *_grid(window=[50, 100, 300, 1000], C=[0.1, 1.0])]),
        Peer("HAT", RiverModel, plain(tree.HoeffdingAdaptiveTreeClassifier, seed=0), linear=False),
        Peer(FOREST, RiverModel, plain(forest.ARFClassifier, seed=0), linear=False, slow=True),
        Peer("SRP", RiverModel, plain(ensemble.SRPClassifier, seed=0), linear=False, slow=True),
        Peer("LB", RiverModel,
             lambda several: ensemble.LeveragingBaggingClassifier(
                 tree.HoeffdingTreeClassifier(), seed=0
             ), linear=False, slow=True),
    ]  # fmt: skip


def follow_stream(model: Any, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Predict, then learn, row by row. Which rows were right, and seconds of the processor."""
    right = np.zeros(len(y), dtype=bool)
    labels = y.tolist()
    began = time.process_time()
    for i, label in enumerate(labels):
        right[i] = model.predict(i) == label
        model.learn(i)
    return right, time.process_time() - began


def run(peer_name: str, stream: Stream) -> Run:
    """One peer on one stream."""
    warnings.simplefilter("ignore")
    peer = next(peer for peer in find_peers() if peer.name == peer_name)
    X, y = stream.X, stream.y
    unchecked = peer.face is ScaledModel  # scikit-learn's checks take most of the time of a row
    sklearn.set_config(assume_finite=unchecked, skip_parameter_validation=unchecked)
    several, tenth = stream.n_classes > 2, len(y) // 10

    def follow(settings: dict[str, Any], n_rows: int) -> tuple[np.ndarray, float]:
        model = peer.face(peer.make(several, **settings), X[:n_rows], y[:n_rows])
        return follow_stream(model, y[:n_rows])

    if peer_name in OURS:
        follow({}, min(50, len(y)))  # compiled, or loaded
    tried = [{}]
    if len(peer.grid) > 1:
        scores = [follow(settings, tenth)[0][tenth // 5 :].mean() for settings in peer.grid]
        best = peer.grid[int(np.argmax(scores))]
        tried += [best] if best else []
    runs = []
    for settings in tried:
        right, seconds = follow(settings, len(y))
        speed = len(y) / max(seconds, 1e-9)
        accuracy = float(right[tenth:].mean())
        runs.append(Run(stream.title, len(y), peer_name, accuracy, speed, settings))
    return max(runs, key=lambda one: one.accuracy)


class Results:
    """Accuracies in % and rows a second of all peers on all streams, (streams, peers) each. What
    was not run is not a number, and streams without it are left out where it is needed."""

    def __init__(self, streams: list[Stream], peers: list[Peer], runs: list[Run]) -> None:
        self.streams, self.peers = streams, peers
        shape = len(streams), len(peers)
        self.accuracies, self.speeds = np.full(shape, np.nan), np.full(shape, np.nan)
        row_of = {stream.title: i for i, stream in enumerate(streams)}
        column_of = {peer.name: j for j, peer in enumerate(peers)}
        for one in runs:
            at = row_of[one.stream], column_of[one.peer]
            self.accuracies[at], self.speeds[at] = 100.0 * one.accuracy, one.rows_a_second

    def over_seeds(self, values: np.ndarray, needed: Sequence[int] = ()) -> dict[str, np.ndarray]:
        """Means of the seeds of each stream, where these peers were run."""
        rows = {name: [s.name == name for s in self.streams] for name in self._names}
        means = {name: values[chosen].mean(axis=0) for name, chosen in rows.items()}
        return {name: v for name, v in means.items() if np.isfinite(v[list(needed)]).all()}

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(stream.name for stream in self.streams))

    def _pick(self, peers: Callable[[Peer], bool]) -> list[int]:
        return [j for j, peer in enumerate(self.peers) if peers(peer)]

    def print_table(self) -> None:
        print("\n### Accuracy in %, of rows after the first tenth, means of seeds")
        means = self.over_seeds(self.accuracies)
        bases = self.over_seeds(np.array([[100.0 * s.baseline] for s in self.streams]))
        first = {stream.name: stream for stream in reversed(self.streams)}
        rows = []
        for name, values in means.items():
            stream = first[name]
            about = f"{name}: {len(stream.y)}×{stream.X.shape[1]}"
            about += f", {stream.n_classes} classes" if stream.n_classes > 2 else ""
            best = np.nanmax(values)
            cells = [f"**{v:.1f}**" if v == best else _write(v, 1) for v in values]
            rows.append([about, f"{bases[name][0]:.1f}", *cells])
        total = np.mean(list(means.values()), axis=0)
        base = np.mean(list(bases.values()))
        rows.append(["**mean**", f"{base:.1f}", *(_write(v, 1) for v in total)])
        for title, chosen in (
            (f"rows a second, at most {FEW_COLUMNS} columns", self._few_columns()),
            ("the same, all", np.ones(len(self.streams), dtype=bool)),
        ):
            if chosen.any():
                speeds = np.median(self.speeds[chosen], axis=0)
                rows.append([title, "", *(_write(v, 0) for v in speeds)])
        table(["stream", "baseline", *(peer.name for peer in self.peers)], rows)

    def _few_columns(self) -> np.ndarray:
        return np.array([s.X.shape[1] <= FEW_COLUMNS for s in self.streams])

    def print_summary(self) -> None:
        rivals = self._pick(lambda peer: peer.linear and peer.name not in OURS)
        forest = self._pick(lambda peer: peer.name == FOREST)
        for ours in self._pick(lambda peer: peer.name in OURS):
            print(f"\n### {self.peers[ours].name}\n")
            if rivals:
                self._tell_rank(ours, rivals)
                self._tell_distance(ours, rivals)
            if forest:
                self._tell_forest(ours, forest[0])
            few = self._few_columns()
            if few.any():
                speeds = self.speeds[few, ours]
                slowest = self.streams[np.flatnonzero(few)[np.argmin(speeds)]].title
                told = f"median {np.median(speeds):.0f}, least {speeds.min():.0f} ({slowest})"
                print(f"- Rows a second, at most {FEW_COLUMNS} columns: {told}.")

    def _tell_rank(self, ours: int, rivals: list[int]) -> None:
        chosen = [ours, *rivals]
        means = np.array(list(self.over_seeds(self.accuracies, chosen).values()))[:, chosen]
        ranks = np.mean([rankdata(-row.round(6)) for row in means], axis=0)
        in_order = [f"{self.peers[chosen[k]].name} {ranks[k]:.2f}" for k in np.argsort(ranks)]
        print(f"- Mean rank among linear peers: {', '.join(in_order)}.")

    def _tell_distance(self, ours: int, rivals: list[int]) -> None:
        """Where the best linear peer, of each stream its own, is ahead."""
        chosen = [ours, *rivals]
        complete = np.isfinite(self.accuracies[:, chosen]).all(axis=1)
        single = {self.streams[i].title: self.accuracies[i] for i in np.flatnonzero(complete)}
        for title, values in (
            ("means of seeds", self.over_seeds(self.accuracies, chosen)),
            ("single streams", single),
        ):
            if not values or (values is single and len(self.streams) == len(self._names)):
                continue  # nothing, or each has one seed
            ahead = {name: float(v[rivals].max() - v[ours]) for name, v in values.items()}
            worst = max(ahead, key=lambda name: ahead[name])
            leader = self.peers[rivals[int(np.argmax(values[worst][rivals]))]].name
            n_behind = sum(distance <= 0.0 for distance in ahead.values())
            print(
                f"- The best linear peer of each stream ({title}) is not ahead on {n_behind} of "
                f"{len(ahead)}; most on {worst}: {ahead[worst]:+.2f} points ({leader}). More than "
                f"1 point: {_list_beyond(ahead, 1.0)}."
            )

    def _tell_forest(self, ours: int, forest: int) -> None:
        values = self.over_seeds(self.accuracies, [ours, forest])
        behind = {name: float(v[forest] - v[ours]) for name, v in values.items()}
        n_ahead = sum(distance < 0.0 for distance in behind.values())
        print(
            f"- {-np.mean(list(behind.values())):+.2f} points from {FOREST} on average, ahead on "
            f"{n_ahead} of {len(behind)}. More than 1.5 points behind: "
            f"{_list_beyond(behind, 1.5)}."
        )


def _write(value: float, digits: int) -> str:
    """A number, or nothing where there is none."""
    return f"{value:.{digits}f}" if np.isfinite(value) else ""


def _list_beyond(distances: dict[str, float], limit: float) -> str:
    """Streams where a distance exceeds a limit, the largest first."""
    names = sorted(distances, key=lambda name: -distances[name])
    told = [f"{name} {distances[name]:.2f}" for name in names if distances[name] > limit]
    return ", ".join(told) or "nowhere"


def _told(peer: str, stream: Stream, kept: Path | None) -> Run:
    done = run(peer, stream)
    if kept is not None:
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(done)) + "\n")
    told = f"{100 * done.accuracy:.2f} %, {done.rows_a_second:.0f} rows a second"
    print(f"done: {stream.title}: {peer} {told} {done.settings or ''}", flush=True)
    return done


def compare(
    streams: list[Stream], peers: list[Peer], jobs: int, kept: Path | None, run_more: bool
) -> None:
    """All peers on all streams, but for what an interrupted run has `kept`."""
    runs = []
    if kept is not None and kept.exists():
        runs = [Run(**json.loads(line)) for line in kept.read_text(encoding="utf-8").splitlines()]
        known, names = {(s.title, len(s.y)) for s in streams}, {p.name for p in peers}
        runs = [one for one in runs if (one.stream, one.n_rows) in known and one.peer in names]
    done = {(one.peer, one.stream) for one in runs}
    # What takes longest begins first.
    tasks = sorted(
        itertools.product(peers, streams),
        key=lambda task: -(10.0 if task[0].slow else 1.0) * task[1].X.size,
    )
    runs += Parallel(n_jobs=jobs)(
        delayed(_told)(peer.name, stream, kept)
        for peer, stream in tasks
        if run_more and (peer.name, stream.title) not in done
    )
    results = Results(streams, peers, runs)
    results.print_table()
    results.print_summary()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000, help="rows of a stream; files: twice")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each generator")
    parser.add_argument("--only", nargs="+", help="parts of names of streams")
    parser.add_argument("--peers", nargs="+", help="parts of names of models")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="keep what is done in a file, and go on from there",
    )
    parser.add_argument("--tell", action="store_true", help="only show what --resume has")
    parser.add_argument("--drift", action="store_true", help="compare detectors of changes instead")
    arguments = parser.parse_args()
    try:
        peers = find_peers()
    except ImportError:
        parser.error("river is not installed: pip install river.")
    if arguments.drift:
        compare_detectors(2 * arguments.rows, arguments.seeds, arguments.only, arguments.jobs)
        return
    wanted = arguments.peers
    peers = [peer for peer in peers if not wanted or any(part in peer.name for part in wanted)]
    streams = make_streams(arguments.rows, arguments.seeds, arguments.only)
    compare(streams, peers, arguments.jobs, arguments.resume, not arguments.tell)


if __name__ == "__main__":
    main()
