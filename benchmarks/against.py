"""Is anything slower than in another revision? Both in one run, by turns.

    make bench-against BASE=v0.1.0                            everything (some fifteen minutes)
    make bench-against BASE=v0.1.0 ARGS="--only bayes"        one part: start, svc, family,
                                                              incremental, adaptive, bayes

The other revision is checked out into a folder of its own. Each part runs in a process of its own,
first with one revision, then with the other, in turns that change, after one turn that compiles and
does not count. A figure is the least time over all turns. What the two compute must agree: each
case also returns a number (an objective, a likelihood, a sum of answers) that is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent

#: A case: its name, and a function that does the work once and returns a number to compare.
Case = tuple[str, Callable[[], float]]


def repeat(
    work: Callable[[], float], patience: float = 0.8, most: int = 300
) -> tuple[float, float]:
    """The least time of several runs, and the number that the last one returned."""
    work()
    best, value, begun = np.inf, 0.0, time.perf_counter()
    for _ in range(most):
        start = time.perf_counter()
        value = work()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begun > patience:
            break
    return best, value


def svc_cases() -> Iterator[Case]:
    from data_sets import LARGE, SMALL, available, synthetic
    from lindero.svm import SVC

    def objective(model: Any) -> float:
        return float(model.certificate_.dual)

    for task in SMALL:
        X, y = task.load()
        for kernel in ("rbf", "linear"):
            settings = {"C": task.C, "gamma": task.gamma, "kernel": kernel}
            yield (
                f"SVC {task.name}, {kernel}",
                lambda X=X, y=y, s=settings: objective(SVC(**s).fit(X, y)),
            )
    for task in available(LARGE):
        if task.name in ("synthetic", "a9a", "ijcnn1", "letter"):
            X, y = task.load()
            model = SVC(C=task.C, gamma=task.gamma)
            yield f"SVC {task.name}, rbf", lambda m=model, X=X, y=y: objective(m.fit(X, y))
            yield (
                f"SVC {task.name}, predict 5 000",
                lambda m=model, X=X: float(m.decision_function(X[:5_000]).sum()),
            )
    X, y = synthetic(200_000, 50)
    yield "SVC 200 000×50, linear", lambda: objective(SVC(kernel="linear").fit(X, y))


def family_cases() -> Iterator[Case]:
    from data_sets import synthetic
    from lindero.svm import SVCCV, SVR, CostSensitiveSVC, NuSVC, NuSVR, OneClassSVM, RankSVM

    X, y = synthetic(5_000, 20)
    target = X[:, 0] * X[:, 1] + 0.1 * X[:, 2]
    few, labels = X[:200], y[:200]
    for name, fit in {
        "SVR 5 000×20": lambda: SVR(C=10).fit(X, target),
        "NuSVR 2 000×20": lambda: NuSVR(C=10).fit(X[:2_000], target[:2_000]),
        "NuSVC 5 000×20": lambda: NuSVC(nu=0.3).fit(X, y),
        "OneClassSVM 5 000×20": lambda: OneClassSVM(nu=0.1).fit(X),
        "CostSensitiveSVC 5 000×20": lambda: CostSensitiveSVC(C=10, cost_positive=2).fit(X, y),
        "SVR 200×20": lambda: SVR().fit(few, target[:200]),
        "NuSVC 200×20": lambda: NuSVC(nu=0.3).fit(few, labels),
        "OneClassSVM 200×20": lambda: OneClassSVM(nu=0.1).fit(few),
    }.items():
        yield name, lambda fit=fit: float(fit().certificate_.dual)
    search = SVCCV(Cs=[0.1, 1, 10, 100], gammas=[0.01, 0.1, 1])
    yield "SVCCV 1 000×20, 12 points", lambda: float(search.fit(X[:1_000], y[:1_000]).best_score_)
    query = np.repeat(np.arange(250), 20)
    yield (
        "RankSVM 5 000×20",
        lambda: float(RankSVM().fit(X, (target > 0).astype(int), qid=query).coef_.sum()),
    )


def incremental_cases() -> Iterator[Case]:
    from data_sets import synthetic
    from lindero.svm import SVC, IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

    X, y = synthetic(6_000, 20)
    target = X[:, 0] * X[:, 1]

    def add(model: Any, targets: Any, begin: int, count: int) -> Callable[[], float]:
        """Learn rows one by one, then forget them again: each run begins with the same model."""
        targets = [] if targets is None else [targets]
        model.fit(X[:begin], *[t[:begin] for t in targets])

        def work() -> float:
            for row in range(begin, begin + count):
                model.partial_fit(X[row : row + 1], *[t[row : row + 1] for t in targets])
            ids = model.sample_ids_[-count:]
            model.forget(ids)
            return float(model.certificate_.dual)

        return work

    svc = {"C": 10, "gamma": 0.05}
    yield "IncrementalSVC, 10 in and out at 5 000", add(IncrementalSVC(**svc), y, 5_000, 10)
    yield "IncrementalSVC, 50 in and out at 500", add(IncrementalSVC(**svc), y, 500, 50)
    yield "IncrementalSVC linear, 50 at 500", add(IncrementalSVC(kernel="linear"), y, 500, 50)
    yield "IncrementalSVR, 20 in and out at 500", add(IncrementalSVR(**svc), target, 500, 20)
    yield (
        "IncrementalOneClassSVM, 50 at 500",
        add(IncrementalOneClassSVM(nu=0.1, gamma=0.05), None, 500, 50),
    )

    def stream() -> float:
        model = IncrementalSVC(window=300, **svc)
        for row in range(1_000):
            model.partial_fit(X[row : row + 1], y[row : row + 1])
        return float(model.certificate_.dual)

    yield "IncrementalSVC, stream of 1 000, window 300", stream
    fitted = SVC().fit(X[:300], y[:300])
    yield "SVC leave_one_out 300×20", lambda: float(fitted.leave_one_out(X[:300], y[:300]).sum())


def adaptive_cases() -> Iterator[Case]:
    from lindero.data import make_rotating
    from lindero.svm import AdaptiveSVC, AdaptiveSVR

    X, y = make_rotating(500, random_state=0)
    for coupling in (10.0, 1e6):
        yield (
            f"AdaptiveSVC 500×2, coupling {coupling:g}",
            lambda c=coupling: float(AdaptiveSVC(coupling=c).fit(X, y).certificate_.dual),
        )
    many, labels = make_rotating(100_000, step=2 * np.pi / 100_000, random_state=0)
    yield (
        "AdaptiveSVC 100 000×2",
        lambda: float(AdaptiveSVC(coupling=2e8).fit(many, labels).certificate_.dual),
    )
    wide, sides = make_rotating(2_000, n_features=8, random_state=0)

    def online() -> float:
        model = AdaptiveSVC(coupling=1e3)
        for row in range(1_000):
            rows = slice(row, row + 1)
            model.partial_fit(wide[rows], sides[rows], classes=[-1, 1])
        return float(model.predict(wide[:100]).sum())

    yield "AdaptiveSVC, stream of 1 000, d = 8", online
    yield (
        "AdaptiveSVC 2 000×8 in space",
        lambda: float(AdaptiveSVC(coupling=1e3, graph="space").fit(wide, sides).certificate_.dual),
    )
    yield (
        "AdaptiveSVR 500×2",
        lambda: float(AdaptiveSVR(coupling=1e3).fit(X, X[:, 0]).certificate_.dual),
    )


def bayes_cases() -> Iterator[Case]:
    from data_sets import linked
    from lindero.bayes import AODE, KDB, TAN, NaiveBayes, StructuralTM

    every = {"categorical_features": "all"}
    for n, d in ((1_000, 10), (100_000, 30)):
        X, y = linked(n, d, 5)
        for kind in (NaiveBayes, TAN):
            model = kind(**every).fit(X, y)
            name = f"{kind.__name__} {n}×{d}"

            def fit(kind: Any = kind, X: Any = X, y: Any = y) -> float:
                return float(np.sum(kind(**every).fit(X, y).class_log_prior_))

            yield f"{name}, fit", fit
            yield f"{name}, predict_proba", lambda m=model, X=X: float(m.predict_proba(X).sum(0)[0])
    X, y = linked(20_000, 20, 3)
    for kind in (KDB, AODE):
        yield (
            f"{kind.__name__} 20 000×20, fit and predict_proba",
            lambda kind=kind: float(kind(**every).fit(X, y).predict_proba(X[:5_000]).sum(0)[0]),
        )
    learned = {"learning": "discriminative", "penalty": 1.0, **every}
    yield (
        "NaiveBayes by TM, 20 000×20",
        lambda: float(NaiveBayes(**learned).fit(X, y).predict_proba(X).sum(0)[0]),
    )
    yield (
        "StructuralTM 2 000×10",
        lambda: float(
            StructuralTM(penalty=1.0, **every).fit(X[:2_000, :10], y[:2_000]).history_[-1].score
        ),
    )
    numbers = np.random.default_rng(0).normal(size=(20_000, 20)) + y[:, None] * 0.2
    yield (
        "TAN 20 000×20 numbers, fit",
        lambda: float(np.sum(TAN().fit(numbers, y).class_log_prior_)),
    )
    gaps = np.where(np.random.default_rng(1).random(numbers.shape) < 0.1, np.nan, numbers)
    holes = TAN().fit(gaps, y)
    yield (
        "TAN 20 000×20 with gaps, predict_proba",
        lambda: float(holes.predict_proba(gaps).sum(0)[0]),
    )


_START = {
    "import lindero.svm": "import lindero.svm; lindero.svm.SVC",
    "import lindero.bayes": "import lindero.bayes; lindero.bayes.TAN",
    "new process, SVC fit": (
        "from sklearn.datasets import load_iris; from lindero.svm import SVC;"
        "X, y = load_iris(return_X_y=True); SVC().fit(X, y); SVC(kernel='linear').fit(X, y)"
    ),
    "new process, TAN fit": (
        "from sklearn.datasets import load_iris; from lindero.bayes import TAN;"
        "X, y = load_iris(return_X_y=True); TAN().fit(X, y).predict_proba(X)"
    ),
    "lindero --help": "import sys; sys.argv = ['lindero', '--help'];"
    "from lindero.cli.main import main; main()",
}


def start_cases() -> Iterator[Case]:
    def run(program: str) -> float:
        subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
        return 0.0

    for name, program in _START.items():
        yield name, lambda program=program: run(program)


PARTS = {
    "start": start_cases, "svc": svc_cases, "family": family_cases,
    "incremental": incremental_cases, "adaptive": adaptive_cases, "bayes": bayes_cases,
}  # fmt: skip


def measure(part: str) -> None:
    """Print the figures of a part, for whichever lindero is imported, as JSON."""
    import warnings

    warnings.simplefilter("ignore")
    most = 8 if part == "start" else 300
    print(json.dumps({name: repeat(work, most=most) for name, work in PARTS[part]()}))


def measure_elsewhere(part: str, source: Path) -> dict[str, tuple[float, float]]:
    done = subprocess.run(
        [sys.executable, str(HERE / "against.py"), "--measure", part],
        env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{part} failed with the lindero of {source}:\n{done.stderr}")
    found: dict[str, tuple[float, float]] = json.loads(done.stdout)
    return found


def compare(parts: list[str], base: Path, now: Path, turns: int) -> list[list[Any]]:
    rows = []
    for part in parts:
        best: dict[Path, dict[str, float]] = {base: {}, now: {}}
        values: dict[Path, dict[str, float]] = {base: {}, now: {}}
        for turn in range(turns + 1):
            for source in (base, now) if turn % 2 else (now, base):
                figures = measure_elsewhere(part, source)
                for name, (seconds, value) in figures.items() if turn else ():
                    best[source][name] = min(seconds, best[source].get(name, np.inf))
                    values[source][name] = value
        for name, before in best[base].items():
            old, new = values[base][name], values[now][name]
            agree = abs(old - new) <= 1e-6 * max(1.0, abs(old))
            rows.append([name, before, best[now][name], agree])
            print_row(*rows[-1])
    return rows


def print_row(name: str, before: float, after: float, agree: bool) -> None:
    unit, factor = ("s", 1.0) if before >= 1 else ("ms", 1e3)
    verdict = "" if agree else " — **other results**"
    cells = (f"{name}{verdict}", f"{factor * before:.4g} {unit}", f"{factor * after:.4g} {unit}")
    print("| " + " | ".join((*cells, f"{after / before:.2f}")) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?", help="the other revision")
    parser.add_argument("--only", choices=list(PARTS), action="append", help="only these parts")
    parser.add_argument("--turns", type=int, default=4, help="how often both are measured")
    parser.add_argument("--measure", choices=list(PARTS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    if not arguments.base:
        parser.error("name the revision to compare with")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "-q", "--detach", str(base), arguments.base], check=True)
        try:
            print(f"\n| case | {arguments.base} | now | ratio |\n| --- | --- | --- | --- |")
            rows = compare(
                arguments.only or list(PARTS), base / "src", HERE.parent / "src", arguments.turns
            )
        finally:
            subprocess.run([*git, "remove", "--force", str(base)], check=True)
    slower = [f"{name} ({after / before:.2f})" for name, before, after, _ in rows
              if after > 1.05 * before]  # fmt: skip
    print(f"\nslower by more than 5 %: {', '.join(slower) or 'nothing'}")


if __name__ == "__main__":
    main()
