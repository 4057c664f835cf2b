"""The data sets of the benchmarks: what is made here, and what the folder LINDERO_DATA holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_svmlight_file, make_classification
from sklearn.preprocessing import StandardScaler

FOLDER = Path(
    os.environ.get("LINDERO_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
os.environ.setdefault("LINDERO_DATA", str(FOLDER))  # where lindero looks, too


@dataclass(frozen=True)
class Task:
    """A data set with the parameters of the machine that is trained on it."""

    name: str
    load: Callable[[], tuple[Any, np.ndarray]]
    C: float
    gamma: float


def synthetic(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four clusters a class, half of the features informative, 5 % of the labels wrong."""
    X, y = make_classification(
        n, d, n_informative=max(3, d // 2), n_redundant=0, n_clusters_per_class=4, flip_y=0.05,
        random_state=seed,
    )  # fmt: skip
    return StandardScaler().fit_transform(X), y


def linked(n: int, d: int, n_values: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Categories that depend on the class and, each, on the column before."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    X = np.empty((n, d), dtype=np.int64)
    X[:, 0] = random.integers(0, n_values, n)
    for j in range(1, d):
        follows = random.random(n) < 0.3
        X[:, j] = np.where(follows, X[:, j - 1] + y, random.integers(0, n_values, n)) % n_values
    return X, y


def svmlight(name: str, n_features: int, dense: bool = False) -> tuple[Any, np.ndarray]:
    """A file of the folder in that format, with labels."""
    X, y = load_svmlight_file(str(FOLDER / f"{name}.svm.gz"), n_features=n_features)
    # 32-bit indices, which scikit-learn's SVC insists on
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return (X.toarray() if dense else X), y


def _cod_rna() -> tuple[np.ndarray, np.ndarray]:
    held = np.load(FOLDER / "cod_rna.npz")
    return held["X"][:50_000].astype(np.float64), held["y"][:50_000]


def _letter() -> tuple[np.ndarray, np.ndarray]:
    table = np.genfromtxt(FOLDER / "letter.csv.gz", delimiter=",", skip_header=1, dtype=str)
    return StandardScaler().fit_transform(table[:, :-1].astype(np.float64)), table[:, -1]


def _mnist() -> tuple[np.ndarray, np.ndarray]:
    held = np.load(FOLDER / "mnist.npz")
    return held["X_train"][:10_000] / 255.0, held["y_train"][:10_000]


LARGE = (
    Task("synthetic", lambda: synthetic(20_000, 50), 1.0, 1 / 50),
    Task("a9a", lambda: svmlight("a9a", 123), 1.0, 4 / 123),
    Task("w8a", lambda: svmlight("w8a", 300), 8.0, 0.05),
    Task("ijcnn1", lambda: svmlight("ijcnn1", 22, dense=True), 10.0, 1.0),
    Task("cod_rna", _cod_rna, 1.0, 1 / 8),
    Task("letter", _letter, 10.0, 1 / 16),
    Task("mnist", _mnist, 10.0, 0.0131),
)

SMALL = (
    Task("iris", lambda: load_iris(return_X_y=True), 1.0, 0.25),
    Task("200 x 10", lambda: synthetic(200, 10), 1.0, 0.1),
    Task("300 x 30", lambda: synthetic(300, 30), 1.0, 1 / 30),
)


def available(tasks: tuple[Task, ...]) -> list[Task]:
    """Those whose data are at hand."""
    made_here = {"synthetic", "iris", "200 x 10", "300 x 30"}
    return [task for task in tasks if task.name in made_here or FOLDER.exists()]
