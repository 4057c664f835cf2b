"""Streams for benchmarks: river's generators, its real tables, and those of LINDERO_DATA.

Each is a table of numbers in time order, a code for each label, and the rows where its concept is
known to change. Columns with categories are one-hot, for every model alike.

Concepts follow each other abruptly, or one takes over from the other: within `width` rows around
the change, a row is of the new concept with a probability that rises along a sigmoid.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from adaptive_streams import STREAMS
from data_sets import FOLDER

#: Columns of numbers that mean categories.
CATEGORIES = {
    "agrawal": {"elevel", "car", "zipcode"},
    "stagger": {"size", "color", "shape"},
}

#: Long files are followed this many times as far as generated streams.
FILES_LONGER = 2


@dataclass(frozen=True)
class Stream:
    """Rows in time order, labels 0, 1, …, and where the concept begins to change."""

    name: str
    seed: int | None
    X: np.ndarray
    y: np.ndarray
    changes: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        return self.name if self.seed is None else f"{self.name}, seed {self.seed}"

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    @property
    def baseline(self) -> float:
        """Accuracy of the commonest class, or of the label before, whichever is better."""
        rest = self.y[len(self.y) // 10 :]
        return float(max(np.bincount(rest).max() / len(rest), np.mean(rest[1:] == rest[:-1])))


def make_table(rows: list[dict[Any, Any]], categories: Iterable[str] = ()) -> np.ndarray:
    """Numbers as they are, words and categories one-hot, in the order of columns."""
    frame = pd.DataFrame(rows)
    words = [c for c in frame if not pd.api.types.is_numeric_dtype(frame[c]) or c in categories]
    frame = frame.astype({c: float for c in frame if c not in words})
    return pd.get_dummies(frame, columns=words, dtype=float).to_numpy(dtype=np.float64)


def follow(
    concepts: list[Any], n_rows: int, width: int, seed: int
) -> tuple[list[Any], tuple[int, ...]]:
    """Rows of concepts of equal length, one after another, and the rows where changes begin."""
    rng = np.random.default_rng(seed)
    sources: list[Iterator[Any]] = [iter(concept) for concept in concepts]
    places = [n_rows * k // len(sources) for k in range(1, len(sources))]
    rows = []
    for row in range(n_rows):
        source = 0
        for k, place in enumerate(places, 1):
            late = 4.0 * (row - place) / width if width else np.inf if row >= place else -np.inf
            source = k if rng.random() < 1.0 / (1.0 + np.exp(-np.clip(late, -500, 500))) else source
        rows.append(next(sources[source]))
    return rows, tuple(place - width // 2 for place in places)


def generators(seed: int) -> dict[str, tuple[list[Any], int]]:
    """Concepts of each generated stream, and the width of its changes as a share in 1/100."""
    from river.datasets import synth

    def variants(make: Callable[..., Any], kinds: Iterable[int], **fixed: Any) -> list[Any]:
        numbered = enumerate(kinds)
        return [make(classification_function=k, seed=100 * seed + i, **fixed) for i, k in numbered]

    def sea() -> list[Any]:
        return [synth.SEA(variant=k, noise=0.1, seed=100 * seed + k) for k in range(4)]

    def clouds(n_classes: int) -> list[Any]:
        return [synth.RandomRBFDrift(
            seed_model=seed, seed_sample=seed, n_classes=n_classes, n_features=10, n_centroids=20,
            change_speed=0.001, n_drift_centroids=10,
        )]  # fmt: skip

    def hyperplane(n_moving: int, speed: float) -> list[Any]:
        return [synth.Hyperplane(seed=seed, n_drift_features=n_moving, mag_change=speed)]

    def lights(n_moved: int, irrelevant: bool) -> Any:
        return synth.LEDDrift(
            seed=100 * seed + n_moved, noise_percentage=0.1, irrelevant_features=irrelevant,
            n_drift_features=n_moved,
        )  # fmt: skip

    return {
        "hyperplane slow": (hyperplane(2, 0.001), 0),
        "hyperplane fast": (hyperplane(5, 0.01), 0),
        "sea abrupt": (sea(), 0),
        "sea gradual": (sea(), 10),
        "sine abrupt": (variants(synth.Sine, range(4)), 0),
        "sine gradual": (variants(synth.Sine, range(4)), 10),
        "mixed abrupt": (variants(synth.Mixed, (0, 1, 0, 1)), 0),
        "mixed gradual": (variants(synth.Mixed, (0, 1)), 20),
        "agrawal abrupt": (variants(synth.Agrawal, (0, 3, 6)), 0),
        "agrawal gradual": (variants(synth.Agrawal, (2, 7)), 20),
        "rbf drift": (clouds(2), 0),
        "rbf drift 4": (clouds(4), 0),
        "stagger abrupt": (variants(synth.STAGGER, (0, 1, 2)), 0),
        "led": ([synth.LED(seed=seed, noise_percentage=0.1)], 0),
        "led abrupt": ([lights(0, True), lights(7, True)], 0),
    }


def generate(name: str, seed: int, n_rows: int, concepts: list[int] | None = None) -> Stream:
    """A stream of one of the generators; with `concepts`, of only these of its concepts."""
    sources, share = generators(seed)[name]
    if concepts is not None:
        sources = [sources[k] for k in concepts]
    rows, changes = follow(sources, n_rows, n_rows * share // 100, seed)
    X = make_table([x for x, _ in rows], CATEGORIES.get(name.split()[0], ()))
    y = np.unique([int(label) for _, label in rows], return_inverse=True)[1]
    return Stream(name, seed, X, y, changes)


def bundled(name: str, n_rows: int) -> Stream:
    """A real table that river brings along."""
    from river import datasets

    kinds = {"phishing": datasets.Phishing, "bananas": datasets.Bananas,
             "segments": datasets.ImageSegments}  # fmt: skip
    rows = list(itertools.islice(kinds[name](), n_rows))
    y = np.unique([label for _, label in rows], return_inverse=True)[1]
    return Stream(name, None, make_table([x for x, _ in rows]), y)


def read(name: str, n_rows: int) -> Stream:
    """A file of LINDERO_DATA."""
    frame = pd.read_csv(FOLDER / f"stream_{name}.csv.gz", nrows=n_rows).drop(columns=STREAMS[name])
    X = frame.iloc[:, :-1].to_numpy(dtype=np.float64)
    return Stream(f"{name} (file)", None, X, frame.iloc[:, -1].to_numpy(dtype=np.intp))


def make_streams(n_rows: int, seeds: int, only: list[str] | None) -> list[Stream]:
    """All streams whose name contains one of `only`; files that are not there are left out."""

    def wanted(name: str) -> bool:
        return not only or any(part in name for part in only)

    streams = []
    for name in STREAMS:
        if not wanted(f"{name} (file)"):
            continue
        if not (FOLDER / f"stream_{name}.csv.gz").exists():
            print(f"{name} is left out: it is not in {FOLDER} (set LINDERO_DATA).")
            continue
        streams.append(read(name, FILES_LONGER * n_rows))
    streams += [
        bundled(name, n_rows) for name in ("phishing", "bananas", "segments") if wanted(name)
    ]
    for name in generators(0):
        if wanted(name):
            streams += [generate(name, seed, n_rows) for seed in range(1, seeds + 1)]
    return streams
