"""A store over time: days of writes, how large it becomes, how long opening and forgetting take.

    python benchmarks/store.py --only days [--operations 1000000]     a day of a stream, at once
    python benchmarks/store.py --only open [--operations 100000]      opening and size
    python benchmarks/store.py --only forget [--rows 5000] [--store postgresql://…]     forgetting

A day is 1 000 000 operations on a machine that holds the last 5 000 rows: of a thousand, 896 learn
a row, 100 predict one, two forget one of the rows held, one replaces one, and one asks for the
certificate, which is computed from scratch. Writes are "normal": they do not wait for the disk.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import tempfile
import time

import numpy as np

from lindero.bayes import NaiveBayes
from lindero.serve import OnlineStore
from lindero.svm import IncrementalSVC

COLUMNS = 20


def make_row(rng, moment):
    """Two clouds that turn around each other once a day; two rows in a thousand are wrong."""
    side = rng.choice((-1, 1))
    x = rng.standard_normal(COLUMNS)
    angle = 2.0 * np.pi * moment
    x[0] += 4.0 * side * np.cos(angle)
    x[1] += 4.0 * side * np.sin(angle)
    return x[None], [int(-side if rng.random() < 0.002 else side)]


def megabytes_of_process():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class AllocatorCounts(ctypes.Structure):
    """What glibc counts: `uordblks` and `hblkhd` are the bytes in use."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    ]  # fmt: skip


def megabytes_in_use():
    """Of those of the process: what was asked for and not given back. The rest is room that the C
    library keeps, in pieces, for the next time."""
    count = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if count is None:
        return float("nan")
    count.restype = AllocatorCounts
    found = count()
    return (found.uordblks + found.hblkhd) / 1e6


def live_days(folder, n_operations, window):
    rng = np.random.default_rng(0)
    path = os.path.join(folder, "days.db")
    machine = IncrementalSVC(gamma=0.02, window=window)
    print(
        "| operations | minutes | processor minutes | memory, MB | in use, MB | file, MB | KKT gap "
        "| accuracy |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    begun, begun_working = time.perf_counter(), time.process_time()
    widest, kinds = 0.0, dict.fromkeys(("learn", "predict", "forget", "replace", "certificate"), 0)

    def tell(number):
        print(
            f"| {number} | {(time.perf_counter() - begun) / 60:.1f} "
            f"| {(time.process_time() - begun_working) / 60:.1f} | {megabytes_of_process():.0f} "
            f"| {megabytes_in_use():.0f} | {os.path.getsize(path) / 1e6:.0f} | {widest:.1e} "
            f"| {store.scores().get('accuracy', 0.0):.4f} |",
            flush=True,
        )

    with OnlineStore(path, machine, classes=[-1, 1], durability="normal") as store:
        first = [make_row(rng, 0.0) for _ in range(100)]
        store.learn(np.vstack([x for x, _ in first]), [y[0] for _, y in first])
        n_learned, gone = 100, set()
        for number in range(1, n_operations + 1):
            x, y = make_row(rng, number / n_operations)
            place = number % 1000
            recent = n_learned - 1 - int(rng.integers(min(window, n_learned) - 1))
            if place in (250, 750) and recent not in gone:
                kind = "forget"
                store.forget(recent)
                gone.add(recent)
            elif place == 500 and recent not in gone:
                kind = "replace"
                store.replace(recent, x, y)
            elif place == 0:
                kind = "certificate"
                widest = max(widest, store.certificate().kkt_gap)
            elif place % 10 == 5:
                kind = "predict"
                store.predict(x)
            else:
                kind = "learn"
                store.learn(x, y)
                n_learned += 1
            kinds[kind] += 1
            if number % max(1000, n_operations // 20) == 0:
                tell(number)
    print(f"\noperations: {kinds}; file after closing {os.path.getsize(path) / 1e6:.0f} MB")
    print(f"raw rows: {n_learned * COLUMNS * 8 / 1e6:.0f} MB")
    measure_opening(path)


def measure_opening(path):
    for _ in range(3):
        begun, working = time.perf_counter(), time.process_time()
        OnlineStore(path).close()
        print(
            f"opening: {time.perf_counter() - begun:.2f} s, "
            f"processor {time.process_time() - working:.2f} s",
            flush=True,
        )


def open_many(folder, n_operations):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_operations, COLUMNS))
    y = np.where(X[:, 0] > 0, 1, -1)
    raw = X.nbytes / 1e6
    for estimator in (NaiveBayes(numeric="gaussian"), IncrementalSVC(gamma=0.05, window=1000)):
        path = os.path.join(folder, f"{type(estimator).__name__}.db")
        with OnlineStore(path, estimator, classes=[-1, 1], durability="normal") as store:
            for i in range(n_operations):
                store.learn(X[i : i + 1], y[i : i + 1])
        size = os.path.getsize(path) / 1e6
        print(
            f"{type(estimator).__name__}: {n_operations} operations, file {size:.1f} MB, "
            f"raw rows {raw:.1f} MB, {size / raw:.2f} times"
        )
        measure_opening(path)


def forget_some(path, n_rows, n_forgotten=50):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, COLUMNS))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(n_rows) > 0, 1, -1)
    with OnlineStore(path, IncrementalSVC(gamma=0.05)) as store:
        store.learn(X, y, ids=np.arange(n_rows))
        taken = []
        for i in range(n_forgotten):
            begun, working = time.perf_counter(), time.process_time()
            store.forget(i)
            taken.append((time.perf_counter() - begun, time.process_time() - working))
    wall, working = 1e3 * np.array(taken).T
    print(
        f"forget a row of {n_rows}: ms p50 {np.median(wall):.0f}, p99 {np.quantile(wall, 0.99):.0f}"
    )
    print(f"processor ms p50 {np.median(working):.0f}")
    if os.path.exists(path):
        print(f"file {os.path.getsize(path) / 1e6:.1f} MB, raw rows {X.nbytes / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["days", "open", "forget"])
    parser.add_argument("--operations", type=int)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--store", help="an address, for forgetting in PostgreSQL")
    parser.add_argument("--window", type=int, default=5000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stores-", dir=".") as folder:
        if given.only in (None, "forget"):
            forget_some(given.store or os.path.join(folder, "forget.db"), given.rows)
        if given.only in (None, "open"):
            open_many(folder, given.operations or 100_000)
        if given.only in (None, "days"):
            live_days(folder, given.operations or 1_000_000, given.window)


if __name__ == "__main__":
    main()
