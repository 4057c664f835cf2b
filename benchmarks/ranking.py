"""RankSVM against a linear machine on explicit pairwise differences, in the same process.

    python benchmarks/ranking.py            synthetic documents up to a quarter of the largest set
    python benchmarks/ranking.py --full     all 100 000 documents: some 7 GB for the peer

Objectives are those of all pairs, evaluated for both machines by one function. The peer's time
includes the forming of the differences. The last table is RankSVM alone, as documents grow.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from data_sets import FOLDER
from lindero.svm.rank_svm import RankSVM
from peers import best_time
from svc import machine, table

#: Passes after which the peer gives up, as it does by default after a few times as many.
MOST_PASSES = 300

Ranked = tuple[np.ndarray, np.ndarray, np.ndarray]


def documents(n_queries: int, size: int = 100, n_features: int = 50, seed: int = 0) -> Ranked:
    """Grades 0 to 4 of a noisy linear score: half of the documents are of grade 0, 3 % of 4."""
    rng = np.random.default_rng(seed)
    n = n_queries * size
    X = rng.standard_normal((n, n_features))
    score = X @ rng.standard_normal(n_features) / n_features**0.5 + rng.standard_normal(n)
    y = np.digitize(score, np.quantile(score, [0.5, 0.75, 0.9, 0.97]))
    return X, y, np.repeat(np.arange(n_queries), size)


def mq2008() -> Ranked:
    """The training part of the first fold of LETOR 4.0's MQ2008."""
    path = str(FOLDER / "mq2008_fold1_train.svm.gz")
    X, y, qid = load_svmlight_file(path, n_features=46, query_id=True)
    return X.toarray(), y, qid


def differences(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """x_i − x_j of all pairs of a query with y_i > y_j."""
    ends = np.flatnonzero(np.append(qid[1:] != qid[:-1], True)) + 1
    left, right = [], []
    for begin, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        more, less = np.nonzero(y[begin:end, None] > y[begin:end])
        left.append(begin + more)
        right.append(begin + less)
    D: np.ndarray = X[np.concatenate(left)]
    D -= X[np.concatenate(right)]
    return D


def by_pairs(X: np.ndarray, y: np.ndarray, qid: np.ndarray, C: float, tol: float) -> LinearSVC:
    """A machine on the differences, every second one turned round to have two classes."""
    D = differences(X, y, qid)
    D[::2] *= -1
    signs = np.ones(len(D))
    signs[::2] = -1
    peer = LinearSVC(
        loss="hinge",
        fit_intercept=False,
        dual=True,
        C=C,
        tol=tol,
        max_iter=MOST_PASSES,
        random_state=0,
    )
    return peer.fit(D, signs)


def objective(D: np.ndarray, w: np.ndarray, C: float) -> float:
    return float(0.5 * w @ w + C * np.maximum(0.0, 1 - D @ w).sum())


def compare(name: str, data: Ranked, C: float, tol: float) -> list[str]:
    """One row: times, their ratio, and objectives."""
    X, y, qid = data
    ours, model = best_time(lambda: RankSVM(C=C).fit(X, y, qid))
    theirs, peer = best_time(by_pairs, X, y, qid, C, tol)
    D = differences(X, y, qid)
    reached = [objective(D, w, C) for w in (model.coef_, peer.coef_[0])]
    passes = int(np.max(peer.n_iter_))
    return [
        name, f"{C:g}", f"{model.n_pairs_}", f"{ours:.3f}",
        f"{theirs:.1f} ({passes} passes{', not converged' if passes >= MOST_PASSES else ''})",
        f"{theirs / ours:.0f}×", f"{reached[0]:.7g}", f"{reached[1] / reached[0] - 1:+.1e}",
    ]  # fmt: skip


def against_pairs(full: bool) -> None:
    rows = []
    RankSVM().fit(*documents(5))  # compile and load
    tasks = [(f"{100 * q} × 50, {q} queries", documents(q), C)
             for q in (100, 250) for C in (1e-4, 1e-2)]  # fmt: skip
    tasks.append(("10000 × 50, 100 queries", documents(100), 1.0))
    if (FOLDER / "mq2008_fold1_train.svm.gz").exists():
        tasks += [("MQ2008 9630 × 46, 471 queries", mq2008(), C) for C in (1e-2, 1.0)]
    if full:
        tasks.append(("100000 × 50, 1000 queries", documents(1_000), 1e-2))
    for name, data, C in tasks:
        rows.append(compare(name, data, C, tol=0.1))
        print(f"done: {name}, C={C:g}", flush=True)
    print("\n### Linear ranking: RankSVM(tol=1e-4), explicit pairs + LinearSVC(tol=0.1)")
    table(["documents", "C", "pairs", "lindero, s", "pairs, s", "ratio", "objective",
           "pairs' above"], rows)  # fmt: skip


def growth() -> None:
    """Documents, queries and levels grow: RankSVM alone, C = 1."""
    rows = []
    for n_queries, size in ((100, 100), (1_000, 100), (10_000, 10), (10, 10_000), (1, 100_000)):
        X, y, qid = documents(n_queries, size)
        seconds, model = best_time(RankSVM().fit, X, y, qid)
        certificate = model.certificate_
        gap = certificate.duality_gap / certificate.primal
        rows.append([f"{len(y)}", f"{n_queries}", f"{model.n_pairs_}", f"{seconds:.3f}",
                     f"{model.n_iter_}", f"{gap:.1e}"])  # fmt: skip
    print("\n### RankSVM alone, 50 features, five grades, C = 1")
    table(["documents", "queries", "pairs", "seconds", "Newton steps", "relative gap"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("pairs", "growth"), help="run only this part")
    parser.add_argument("--full", action="store_true", help="add the set of 100 000 documents")
    arguments = parser.parse_args()
    print(f"Machine: {machine()}")
    if arguments.only != "pairs":
        growth()
    if arguments.only != "growth":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # stated in the table
            against_pairs(arguments.full)


if __name__ == "__main__":
    main()
