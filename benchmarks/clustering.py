"""TMClustering: EM and TM against held-back classes, and beside GaussianMixture and plain NumPy.

    python benchmarks/clustering.py                       everything (a minute)
    python benchmarks/clustering.py --only agreement      one part: agreement, numbers, categories

Tables are printed as Markdown. Everything runs on this machine in this run.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.mixture import GaussianMixture

from bayes import ALL_CATEGORIES, WEKA, read_uci
from data_sets import FOLDER
from lindero.bayes import TMClustering
from peers import best_time
from svc import machine, table

#: Weights of the pull towards EM that are tried of "tm"; 1 is the default.
PENALTIES = (0.01, 0.1, 1.0)


def sets() -> list[tuple[str, Any, Any, dict[str, Any]]]:
    """Tables, their classes, and parameters that say what their columns are."""
    found = []
    for name in [*WEKA, "corral"]:
        if not (FOLDER / f"uci_{name}.csv.gz").exists():
            print(f"\n{name} is left out: it is not in {FOLDER} (set LINDERO_DATA).")
            continue
        kinds = {"categorical_features": "all"} if name in ALL_CATEGORIES else {}
        found.append((name, *read_uci(name), kinds))
    loaders = {"wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}
    loaders |= {} if found else {"iris": load_iris}
    return found + [(name, *load(return_X_y=True), {}) for name, load in loaders.items()]


def agreement() -> None:
    """Agreement of clusters with classes, as many clusters as classes; and what BIC chooses."""
    rows = []
    for name, X, y, kinds in sets():
        n_classes = len(np.unique(y))
        models = [TMClustering(n_classes, random_state=0, **kinds)]
        models += [
            TMClustering(n_classes, method="tm", penalty=penalty, random_state=0, **kinds)
            for penalty in PENALTIES
        ]
        cells = [name, f"{len(y)}", f"{n_classes}"]
        moved, times = [], []
        first = None
        for model in models:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, model = best_time(model.fit, X, repeats=2)
            times.append(seconds)
            found = model.labels_
            first = found if first is None else first
            moved.append(int((found != first).sum()))
            scores = adjusted_rand_score(y, found), normalized_mutual_info_score(y, found)
            cells.append(" / ".join(f"{score:.3f}" for score in scores))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, by_bic = best_time(TMClustering(random_state=0, **kinds).fit, X, repeats=1)
        cells += [
            ", ".join(map(str, moved[1:])), f"{1e3 * times[0]:.0f}", f"{1e3 * times[-1]:.0f}",
            f"{by_bic.n_clusters_}", f"{adjusted_rand_score(y, by_bic.labels_):.3f}",
            f"{seconds:.2f}",
        ]  # fmt: skip
        rows.append(cells)
    shown = [f"tm, penalty {penalty:g}" for penalty in PENALTIES]
    print("\n### Agreement with the classes, ARI / NMI, as many clusters as classes; and by BIC")
    table(["set", "rows", "classes", "em", *shown, "rows that tm moves", "em, ms", "tm, ms",
           "BIC's clusters", "their ARI", "s"], rows)  # fmt: skip
    scores = np.array([[float(cell.split(" / ")[0]) for cell in row[3:7]] for row in rows])
    print(f"\nMean ARI: {', '.join(f'{mean:.4f}' for mean in scores.mean(axis=0))}")


def blobs(n: int, d: int, n_clusters: int) -> np.ndarray:
    """Numbers around means of their own."""
    random = np.random.default_rng(0)
    means = 1.5 * random.normal(size=(n_clusters, d))
    return means[random.integers(0, n_clusters, n)] + random.normal(size=(n, d))


def numbers() -> None:
    """Numbers, beside scikit-learn's mixture with diagonal covariances: ten passes of each."""
    rows = []
    for n, d, k in ((1_000, 10, 5), (100_000, 10, 5), (100_000, 30, 10)):
        X = blobs(n, d, k)
        ours = TMClustering(k, n_init=1, max_iter=10, tol=0.0, random_state=0)
        theirs = GaussianMixture(k, covariance_type="diag", max_iter=10, tol=0.0,
                                 init_params="k-means++", random_state=0)  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours.fit(X)  # compile and load
            fit, model = best_time(ours.fit, X, repeats=9)
            their_fit, other = best_time(theirs.fit, X, repeats=9)
        rows.append([f"{n} × {d}", f"{k}", f"{1e3 * fit:.1f}", f"{1e3 * their_fit:.1f}",
                     f"{their_fit / fit:.1f}×", f"{model.score(X):.4f}",
                     f"{other.score(X):.4f}"])  # fmt: skip
    print("\n### Numbers: ten passes of EM from one start, starts and labels included")
    table(["table", "clusters", "fit, ms", "GaussianMixture (diag)", "ratio", "mean log-likelihood",
           "theirs"], rows)  # fmt: skip


def latent(n: int, d: int, n_clusters: int, n_values: int = 5) -> np.ndarray:
    """Categories that are the cluster's own in every other row."""
    random = np.random.default_rng(0)
    z = random.integers(0, n_clusters, n)[:, None]
    own = random.integers(0, n_values, (n_clusters, d))[z[:, 0]]
    return np.where(random.random((n, d)) < 0.5, own, random.integers(0, n_values, (n, d)))


def numpy_em(X: np.ndarray, n_clusters: int, n_passes: int, alpha: float = 1.0) -> float:
    """EM in plain NumPy, on indicators of all values; the log-likelihood of the last pass."""
    n, d = X.shape
    n_values = int(X.max()) + 1
    indicators = np.zeros((n, d, n_values))
    np.put_along_axis(indicators, X[:, :, None], 1.0, axis=2)
    indicators = indicators.reshape(n, -1)
    shares = np.random.default_rng(0).dirichlet(np.ones(n_clusters), n)
    likelihood = 0.0
    for _ in range(n_passes):
        counts = (indicators.T @ shares).reshape(d, n_values, -1) + alpha
        logs = np.log(counts / counts.sum(axis=1, keepdims=True)).reshape(-1, n_clusters)
        joint = indicators @ logs + np.log(shares.mean(axis=0))
        largest = joint.max(axis=1, keepdims=True)
        shares = np.exp(joint - largest)
        sums = shares.sum(axis=1, keepdims=True)
        likelihood = float((largest + np.log(sums)).sum())
        shares /= sums
    return likelihood


def categories() -> None:
    """Categories, beside plain NumPy: ten passes of each."""
    rows = []
    for n, d, k in ((1_000, 10, 5), (100_000, 30, 5), (100_000, 30, 10)):
        X = latent(n, d, k)
        ours = TMClustering(k, n_init=1, max_iter=10, tol=0.0, random_state=0,
                            categorical_features="all")  # fmt: skip
        more = TMClustering(k, n_init=1, max_iter=30, tol=0.0, random_state=0,
                            categorical_features="all")  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours.fit(X)  # compile and load
            fit, short = best_time(ours.fit, X, repeats=9)
            longer, long = best_time(more.fit, X, repeats=9)
            plain, _ = best_time(numpy_em, X, k, 10, repeats=2)
        a_pass = (longer - fit) / (long.n_iter_ - short.n_iter_)
        rows.append([f"{n} × {d}", f"{k}", f"{1e3 * fit:.1f}", f"{1e3 * a_pass:.2f}",
                     f"{1e3 * plain:.1f}", f"{plain / fit:.1f}×"])  # fmt: skip
    print("\n### Categories of 5 values: ten passes of EM from one start (wanted: 30 ms a pass for "
          "100 000 × 30 and 5 clusters)")  # fmt: skip
    table(["table", "clusters", "fit, ms", "a pass, ms", "NumPy", "ratio"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {"agreement": agreement, "numbers": numbers, "categories": categories}
    parser.add_argument("--only", choices=parts, action="append", help="run only these parts")
    chosen = parser.parse_args()
    print(f"Machine: {machine()}")
    for name, part in parts.items():
        if not chosen.only or name in chosen.only:
            part()


if __name__ == "__main__":
    main()
