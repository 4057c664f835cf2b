"""Learning from unlabelled rows: the semi-supervised benchmark sets, and scikit-learn beside us.

    python benchmarks/transductive.py                # all 12 splits of each set: some minutes
    python benchmarks/transductive.py --splits 4     # the first four only
    python benchmarks/transductive.py --alone        # without scikit-learn's machines
    python benchmarks/transductive.py --methods switching annealing cccp

Chapelle, Schölkopf and Zien, "Semi-Supervised Learning" (MIT Press, 2006), chapter 21: Digit1,
USPS, g241c and Text (MANIFEST: ssl_set1, 2, 5, 9), 12 splits each with 10 and with 100 labels. The
test error is that on the unlabelled rows, in percent, and the mean over splits. One setting, the
defaults, for all sets. The supervised machine is SVC with the same C, kernel and gamma.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.io import loadmat

SETS = {"Digit1": 1, "USPS": 2, "g241c": 5, "Text": 9}

#: Test errors of the chapter: SVM and TSVM, with 10 and with 100 labels.
PUBLISHED = {
    ("Digit1", 10): (30.60, 17.77), ("USPS", 10): (20.03, 25.20), ("g241c", 10): (47.32, 24.71),
    ("Text", 10): (45.37, 31.21), ("Digit1", 100): (5.53, 6.15), ("USPS", 100): (9.75, 9.77),
    ("g241c", 100): (23.11, 18.46), ("Text", 100): (26.45, 24.52),
}  # fmt: skip


def load(name: str) -> tuple[Any, np.ndarray, dict[int, np.ndarray]]:
    """Rows, labels, and the labelled rows of each split."""
    folder, number = Path(os.environ.get("LINDERO_DATA", "../shared/data")), SETS[name]
    table = loadmat(folder / f"ssl_set{number}.mat")
    X, y = table["X"], table["y"].ravel().astype(np.int64)
    X = sp.csr_array(X).astype(np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    splits = {
        n: loadmat(folder / f"ssl_set{number}_splits_{n}.mat")["idxLabs"].astype(np.int64) - 1
        for n in (10, 100)
    }
    return X, (y + 1) // 2, splits


def transduce(X: Any, y: np.ndarray, **params: Any) -> np.ndarray:
    from lindero.svm import TransductiveSVC

    return TransductiveSVC(held_out_folds=0, **params).fit(X, y).transduction_


def predict_supervised(X: Any, y: np.ndarray) -> np.ndarray:
    from lindero.svm import SVC
    from lindero.validation import compute_spread_gamma

    gamma, labelled = compute_spread_gamma(X, np.ones(X.shape[0])), np.flatnonzero(y >= 0)
    return SVC(C=10.0, gamma=gamma).fit(X[labelled], y[labelled]).predict(X)


def train_itself(X: Any, y: np.ndarray) -> np.ndarray:
    from sklearn.semi_supervised import SelfTrainingClassifier
    from sklearn.svm import SVC

    from lindero.validation import compute_spread_gamma

    gamma = compute_spread_gamma(X, np.ones(X.shape[0]))
    base = SVC(C=10.0, gamma=gamma, probability=True, random_state=0)
    return SelfTrainingClassifier(base).fit(X, y).predict(X)


def spread_labels(X: Any, y: np.ndarray) -> np.ndarray:
    from sklearn.semi_supervised import LabelSpreading

    return LabelSpreading(kernel="knn").fit(X, y).transduction_


def measure(machines: dict[str, Callable[..., np.ndarray]], n_splits: int) -> None:
    header = ["set", "labels", *machines, "published SVM", "published TSVM"]
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for name in SETS:
        X, truth, splits = load(name)
        for n_labels, labelled in splits.items():
            errors: dict[str, list[float]] = {machine: [] for machine in machines}
            seconds = dict.fromkeys(machines, 0.0)
            for rows in labelled[:n_splits]:
                y = np.full(len(truth), -1)
                y[rows] = truth[rows]
                for machine, label in machines.items():
                    begun = time.process_time()
                    found = label(X, y)
                    seconds[machine] += time.process_time() - begun
                    errors[machine].append(100.0 * float(np.mean((found != truth)[y < 0])))
            cells = [
                f"{np.mean(errors[machine]):.2f} ({seconds[machine] / n_splits:.2f})"
                for machine in machines
            ]
            published = [f"{error:.2f}" for error in PUBLISHED[name, n_labels]]
            print("| " + " | ".join([name, str(n_labels), *cells, *published]) + " |", flush=True)
    print("\nIn parentheses: processor seconds for each split.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--methods", nargs="+", default=["switching"])
    parser.add_argument("--alone", action="store_true", help="TransductiveSVC without its peers")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    machines: dict[str, Callable[..., np.ndarray]] = {"SVC": predict_supervised}
    for method in given.methods:
        machines[f"TransductiveSVC, {method}"] = lambda X, y, method=method: transduce(
            X, y, method=method
        )
    if not given.alone:
        machines["SelfTrainingClassifier"] = train_itself
        machines["LabelSpreading"] = spread_labels
    measure(machines, given.splits)


if __name__ == "__main__":
    main()
