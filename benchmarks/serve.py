"""A store: milliseconds a write and an answer, beside the disk's own; opening; sizes.

    python benchmarks/serve.py [--rows 5000] [--operations 20000]

The disk's own time is that of appending 4 096 bytes to a file and waiting for it (fsync).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import numpy as np

from lindero.bayes import NaiveBayes
from lindero.serve import OnlineStore
from lindero.svm import IncrementalSVC


def milliseconds(calls):
    """Median and 99th percentile of some calls."""
    seconds = []
    for call in calls:
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return "{:.2f} | {:.2f}".format(*np.percentile(1e3 * np.array(seconds), [50, 99]))


def make_rows(n, d, seed=0):
    """Two clouds; one row in forty on the wrong side."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.standard_normal((n, d))
    X[:, 0] += 2.0 * y
    return X, y


def wait_for_disk(folder, n=200):
    with open(os.path.join(folder, "plain"), "ab", buffering=0) as file:

        def append():
            file.write(bytes(4096))
            os.fsync(file.fileno())

        return milliseconds([append] * n)


def measure_svm(folder, n, n_writes=200):
    X, y = make_rows(n + n_writes, 20)
    path = os.path.join(folder, "svm.db")
    with OnlineStore(path, IncrementalSVC(gamma=0.05)) as store:
        store.learn(X[:n], y[:n], ids=np.arange(n))
        store.predict(X[:5])
        held = store._held["model"].machine
        print(f"| of which support vectors | {len(held.support_)} | |")
        one = [
            lambda i=i: store.learn(X[i : i + 1], y[i : i + 1], ids=[i]) for i in range(n, len(X))
        ]
        print(f"| learn a row, full | {milliseconds(one)} |", flush=True)
        print(f"| predict a row | {milliseconds([lambda: store.predict(X[:1])] * 500)} |")
        many = np.tile(X, (2, 1))[:10_000]
        print(f"| predict 10 000 rows | {milliseconds([lambda: store.predict(many)] * 5)} |")
        gone = [lambda i=i: store.forget(i) for i in range(10)]
        print(f"| forget a row | {milliseconds(gone)} |", flush=True)
    print(f"| file, MB (rows alone: {X.nbytes / 1e6:.1f}) | {os.path.getsize(path) / 1e6:.1f} | |")
    print(f"| open again | {milliseconds([lambda: OnlineStore(path).close()] * 3)} |", flush=True)


def measure_log(folder, n_operations):
    X, y = make_rows(n_operations, 20)
    path = os.path.join(folder, "log.db")
    estimator = NaiveBayes(numeric="gaussian")
    with OnlineStore(path, estimator, classes=[-1, 1], durability="normal") as store:
        calls = [lambda i=i: store.learn(X[i : i + 1], y[i : i + 1]) for i in range(n_operations)]
        print(f"| learn a row, normal, naive Bayes | {milliseconds(calls)} |", flush=True)
    size = os.path.getsize(path) / 1e6
    print(
        f"| file, MB, of {n_operations} writes (rows alone: {X.nbytes / 1e6:.1f}) | {size:.1f} | |"
    )
    print(
        f"| open it again | {milliseconds([lambda: OnlineStore(path).close()] * 3)} |", flush=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--operations", type=int, default=20_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        print("| | p50, ms | p99, ms |\n| --- | --- | --- |")
        print(f"| the disk itself | {wait_for_disk(folder)} |", flush=True)
        measure_svm(folder, given.rows)
        measure_log(folder, given.operations)


if __name__ == "__main__":
    main()
