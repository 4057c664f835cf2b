"""`lindero.evaluation.compare` as a user calls it: how long it takes, and how good its advice is.

    python benchmarks/compare.py                     times of five tables (some six minutes)
    python benchmarks/compare.py --only soybean      one of them
    python benchmarks/compare.py --folder DIR        tables as CSV or ARFF files of this folder
    python benchmarks/compare.py --quality           advice on 12 real sets of LINDERO_DATA

Times are of one default comparison each, no time budget, beside the wish of at most so many seconds
on two quiet cores; and, from the same run, what scikit-learn's four baselines reach and take. Where
other work disturbs, seconds of the processor over two tell more than those of the clock.
soybean, kr-vs-kp, satimage and shuttle are read from the folder where it has them
(``soybean.csv``, ...); for those it has not, a table of the same shape is made. The churn table is
always made.

For the quality of advice, a third of the rows is held out, several times. The rest is compared, and
then every machine is tuned and fitted to the rest and judged on the rows held out. Advice is good
where the recommended machines are, on average, within half a point of error, or 0.01 of log-loss,
of the one machine that is best on average on the rows held out, baselines included. That one is
chosen in hindsight; several splits keep it from being the luckiest of a few rows.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from data_sets import FOLDER
from lindero.data import load
from lindero.evaluation import Comparison, compare
from lindero.evaluation.comparison import judge_machine
from lindero.evaluation.learning import ComparisonPlan
from lindero.evaluation.measures import find_positive
from lindero.evaluation.registry import BASELINE, GUESTS, MachineSpec, choose_contenders
from lindero.evaluation.rows import read_comparison
from lindero.validation import find_classes

#: Sets of LINDERO_DATA for the quality of advice.
QUALITY = (
    "uci_breast", "uci_cleve", "uci_crx", "uci_german", "uci_heart", "uci_hepatitis",
    "uci_lymphography", "uci_vote", "keel_page-blocks0", "keel_segment0", "keel_yeast4",
    "keel_abalone19",
)  # fmt: skip

#: How near to the best the recommended machine has to be, by measure.
NEAR = {"error": 0.005, "log_loss": 0.01}

#: Splits of sets up to so many rows, and of larger ones.
MANY_ROWS, MANY_SPLITS, FEW_SPLITS = 1500, 10, 3


# -- tables ----------------------------------------------------------------------------------------


def make_categories(n: int, d: int, n_values: int, n_classes: int, seed: int = 0) -> Any:
    """Columns of categories, half of which depend on the class; 5 % of the values are missing."""
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.full(n_classes, 2.0))
    y = random.choice(n_classes, n, p=shares)
    columns = {}
    for j in range(d):
        tables = random.dirichlet(np.full(n_values, 0.5), n_classes if j % 2 else 1)
        levels = np.cumsum(tables, axis=1)[y if j % 2 else np.zeros(n, dtype=int)]
        codes = (random.random(n)[:, None] > levels).sum(axis=1)
        gaps = random.random(n) < 0.05
        columns[f"c{j}"] = pa.array([f"v{code}" for code in codes], mask=gaps)
    return pa.table(columns), np.array([f"class{code}" for code in y])


def make_numbers(n: int, d: int, n_classes: int, seed: int = 0) -> Any:
    """Two clusters a class in numbers."""
    return make_classification(
        n, d, n_informative=max(4, d // 2), n_redundant=d // 4, n_classes=n_classes,
        n_clusters_per_class=2, class_sep=1.5, random_state=seed,
    )  # fmt: skip


def make_churn(n: int = 20_000, seed: int = 3) -> Any:
    """Customers, of whom some 2.4 % leave; 15 columns of numbers and categories."""
    random = np.random.default_rng(seed)
    noise = {f"x{j}": random.normal(size=n).round(3) for j in range(5)}
    table = {
        "age": random.integers(18, 90, n), "tenure": random.exponential(30, n).round(1),
        "bill": random.lognormal(3.6, 0.5, n).round(2), "calls": random.poisson(1.2, n),
        "usage": random.gamma(2, 10, n).round(2),
        "plan": random.choice(["basic", "plus", "pro", "family"], n, p=[0.5, 0.3, 0.1, 0.1]),
        "region": random.choice([f"R{k:02d}" for k in range(25)], n),
        "payment": random.choice(["card", "bank", "cash"], n),
        "device": random.choice(["ios", "android", "other"], n),
        "discount": random.random(n) < 0.3, **noise,
    }  # fmt: skip
    odds = (
        -5.4 + 0.55 * table["calls"] - 0.02 * table["tenure"] + 0.8 * (table["plan"] == "basic")
        + 0.6 * (table["payment"] == "cash") + 0.012 * table["bill"]
        - 0.01 * (table["age"] - 45) + 0.5 * noise["x0"]
    )  # fmt: skip
    leaves = random.random(n) < 1 / (1 + np.exp(-odds))
    return pa.table(table), np.where(leaves, "yes", "no")


#: Seconds wished for, and how a table of the same shape is made.
TABLES: dict[str, tuple[float, Callable[[], Any]]] = {
    "soybean": (60, lambda: make_categories(683, 35, 4, 19)),
    "kr-vs-kp": (60, lambda: make_categories(3196, 36, 2, 2)),
    "satimage": (120, lambda: make_numbers(6435, 36, 6)),
    "shuttle": (180, lambda: make_numbers(58_000, 9, 7)),
    "churn": (90, make_churn),
}


def read_table(name: str, folder: Path) -> tuple[Any, Any, str]:
    """The table, its targets if they come apart, and where it is from."""
    for ending in (".csv", ".csv.gz", ".arff"):
        path = folder / f"{name}{ending}"
        if path.exists() and name != "churn":
            return load(path), None, "file"
    return *TABLES[name][1](), "made"


# -- times -----------------------------------------------------------------------------------------


def measure_times(names: list[str], folder: Path, jobs: int | None) -> None:
    guests = [guest for guest in GUESTS["classification"] if guest != BASELINE]
    heads = [
        "table", "rows", "from", "wished s", "s", "processor s", "measure", "recommended",
        "best of lindero",
    ]  # fmt: skip
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before\n")
    print(f"| {' | '.join([*heads, *guests, BASELINE])} |")
    print("|" + " --- |" * (len(heads) + len(guests) + 1))
    for name in names:
        wished, _ = TABLES[name]
        X, y, origin = read_table(name, folder)
        begun, worked = time.perf_counter(), sum(os.times()[:4])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = compare(X, y, n_jobs=jobs)
        spent, worked = time.perf_counter() - begun, sum(os.times()[:4]) - worked
        own = next(m for m in result.ranked if m.is_judged and m.name not in (*guests, BASELINE))
        cells = [
            name, result.n_rows, origin, f"{wished:.0f}", f"{spent:.0f}", f"{worked:.0f}",
            result.measure, result.recommended.name, write(result, own.name, with_name=True),
            *(write(result, guest) for guest in (*guests, BASELINE)),
        ]  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        for machine in result.machines:
            if machine.failure is not None:
                print(f"<!-- {name}: {machine.name} {machine.failure} -->", flush=True)


def write(result: Comparison, name: str, with_name: bool = False) -> str:
    """The mean score of a machine, and the seconds of a fold."""
    machine = result[name]
    if not machine.done.any():
        return "–"
    text = f"{machine.mean(result.measure):.4f} ({machine.seconds:.1f} s)"
    return f"{name} {text}" if with_name else text


# -- quality ---------------------------------------------------------------------------------------


def judge_advice(names: list[str], jobs: int | None) -> None:
    heads = [
        "set", "rows", "splits", "measure", "recommended", "held out", "best of all", "held out",
        "lost", "± s.e.", "good",
    ]  # fmt: skip
    print(f"| {' | '.join(heads)} |")
    print("|" + " --- |" * len(heads))
    n_good = 0
    for name in names:
        data = read_comparison(
            load(FOLDER / f"{name}.csv.gz"), None, times=None, sample_weight=None, task=None
        )
        truth = find_classes(data.rows.y)[1]
        n_splits = FEW_SPLITS if len(truth) > MANY_ROWS else MANY_SPLITS
        splits = [judge_split(data.rows, seed, jobs) for seed in range(n_splits)]
        measure = splits[0].measure
        names_judged = set.intersection(*(set(split.held) for split in splits))
        means = {
            machine: float(np.mean([split.held[machine] for split in splits]))
            for machine in names_judged
        }
        best = min(means, key=means.__getitem__)
        lost = np.array([split.held[split.taken] - split.held[best] for split in splits])
        good = lost.mean() <= NEAR[measure]
        n_good += good
        taken = Counter(split.taken for split in splits)
        cells = [
            name, len(truth), n_splits, measure,
            ", ".join(f"{machine} {n}" for machine, n in taken.most_common()),
            f"{np.mean([split.held[split.taken] for split in splits]):.4f}",
            best, f"{means[best]:.4f}", f"{lost.mean():.4f}",
            f"{lost.std(ddof=1) / np.sqrt(n_splits):.4f}", "yes" if good else "no",
        ]  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        if any(split.taken == BASELINE for split in splits):
            print(f"<!-- {name}: a constant answer was recommended -->", flush=True)
    print(f"\n{n_good} of {len(names)} within reach of the best.")


@dataclass(frozen=True)
class JudgedSplit:
    """What was recommended, and what every machine then reached on the rows held out."""

    measure: str
    taken: str
    held: dict[str, float]


def judge_split(rows: Any, seed: int, jobs: int | None) -> JudgedSplit:
    classes, truth = find_classes(rows.y)
    train, test = train_test_split(
        np.arange(len(truth)), test_size=1 / 3, stratify=truth, random_state=seed
    )
    some = rows.take(train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = compare(some.X, some.y, n_jobs=jobs)
        positive = find_positive(truth) if len(classes) == 2 else None
        plan = ComparisonPlan(classes, None, 3, 2000, 0, result.measure, positive)
        contenders: list[MachineSpec] = choose_contenders(
            None, "classification", n_classes=len(classes), has_costs=False, has_times=False,
            sparse=False,
        )[0]  # fmt: skip
        judged = [judge_machine(m, rows, truth, (train, test), plan) for m in contenders]
    held = {one.name: one.scores[result.measure] for one in judged if one.failure is None}
    return JudgedSplit(result.measure, result.recommended.name, held)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", help="a table; can be repeated")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the tables are")
    parser.add_argument("--quality", action="store_true", help="advice on real sets")
    parser.add_argument("--jobs", type=int, help="processes; one for each core by default")
    given = parser.parse_args()
    if given.quality:
        judge_advice(given.only or list(QUALITY), given.jobs)
    else:
        measure_times(given.only or list(TABLES), given.folder, given.jobs)


if __name__ == "__main__":
    main()
