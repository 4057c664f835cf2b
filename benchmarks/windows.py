"""Windows of fixed length against one that finds its length, and how soon changes are found.

    python benchmarks/windows.py                # all streams, some minutes
    python benchmarks/windows.py --rows 1500 --seeds 1

Every row is predicted before it is learned. Streams are made here, from a seed each: a plane
(linear kernel) or a bent surface (rbf) in 2 to 10 dimensions, with up to 15 % of the labels wrong.
It stays (calm), turns at once (abrupt, three times at most), turns over a quarter of the rows
(gradual), or turns all the time (drift). Detection is on calm and abrupt streams: cuts of the
window, and river's ADWIN with its defaults on the errors of the window of 1 000. An alarm is false
unless it comes within 400 rows of a change and before the next.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from lindero.svm import IncrementalSVC

KINDS = ("calm", "abrupt", "gradual", "drift")
WINDOWS: tuple[Any, ...] = (100, 300, 1000, "auto")

#: Rows that are given at once at first; rows within which an alarm belongs to a change.
FIRST, LATEST = 20, 400


def make_stream(kind: str, seed: int, n: int) -> tuple[np.ndarray, np.ndarray, str, list[int]]:
    """Rows, labels, the kernel that suits, and the rows at which the labels change at once."""
    random = np.random.default_rng([seed, KINDS.index(kind)])
    d = int(random.integers(2, 11))
    X = random.normal(size=(n, d))
    first, second = np.linalg.qr(random.normal(size=(d, 2)))[0].T
    angle, changes = np.zeros(n), []
    if kind == "abrupt":
        spread = np.arange(1, int(random.integers(2, 5)))
        changes = [int(n * (k + random.uniform(-0.2, 0.2)) / (len(spread) + 1)) for k in spread]
        for row in changes:
            angle[row:] += np.pi * random.uniform(0.4, 1.0)
    elif kind == "gradual":
        angle = np.pi * random.uniform(0.5, 1.0) * np.clip(4 * np.arange(n) / n - 1.5, 0, 1)
    elif kind == "drift":
        angle = np.pi * random.uniform(0.3, 2.0) * np.arange(n) / 1000
    score = np.cos(angle) * (X @ first) + np.sin(angle) * (X @ second)
    curved = bool(seed % 2)
    if curved:
        score += 0.5 * ((X @ first) ** 2 - 1.0)
    y = (score > 0).astype(int)
    wrong = random.random(n) < random.choice([0.0, 0.05, 0.15])
    return X, np.where(wrong, 1 - y, y), "rbf" if curved else "linear", changes


def follow(X: np.ndarray, y: np.ndarray, kernel: str, window: Any) -> tuple[np.ndarray, float, Any]:
    """Which rows are predicted wrongly, rows a second of processor time, and the machine."""
    model = IncrementalSVC(kernel=kernel, window=window)
    model.partial_fit(X[:FIRST], y[:FIRST], classes=[0, 1])
    wrong = np.zeros(len(y), dtype=bool)
    begun = time.process_time()
    for i in range(FIRST, len(y)):
        wrong[i] = model.predict(X[i : i + 1])[0] != y[i]
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    return wrong, (len(y) - FIRST) / (time.process_time() - begun), model


def find_alarms(errors: np.ndarray) -> list[int]:
    """Rows at which ADWIN finds that errors have become more."""
    from river.drift import ADWIN

    detector, alarms = ADWIN(), []
    for row, error in enumerate(errors):
        before = detector.estimation
        detector.update(float(error))
        if detector.drift_detected and detector.estimation > before:
            alarms.append(row)
    return alarms


def judge_alarms(alarms: list[int], changes: list[int], n: int) -> tuple[list[int], int]:
    """Delays of the changes that were found, and the number of false alarms."""
    ends = [*changes[1:], n]
    found = {
        change: [row for row in alarms if change <= row < min(end, change + LATEST)]
        for change, end in zip(changes, ends, strict=False)
    }
    delays = [rows[0] - change for change, rows in found.items() if rows]
    false = len(alarms) - sum(len(rows) for rows in found.values())
    return delays, false


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    print("| stream | kernel, features | " + " | ".join(map(str, WINDOWS)), end=" | ")
    print("auto − best | cuts | rows a second of processor time: 1000, auto |")
    print("| --- | --- |" + " --- |" * (len(WINDOWS) + 3))
    detected: dict[str, list[tuple[list[int], int, int]]] = {"cuts": [], "ADWIN": []}
    for kind in given.kinds:
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            X, y, kernel, changes = make_stream(kind, seed, given.rows)
            runs = {window: follow(X, y, kernel, window) for window in WINDOWS}
            right = {w: 100 * (1 - run[0][FIRST:].mean()) for w, run in runs.items()}
            gain = right["auto"] - max(right[window] for window in WINDOWS[:-1])
            cuts = runs["auto"][2].window_cuts_.tolist()
            cells = [f"{kind} {seed}", f"{kernel}, {X.shape[1]}"]
            cells += [f"{value:.1f}" for value in right.values()]
            cells += [f"{gain:+.1f}", str(len(cuts))]
            cells += [f"{runs[1000][1]:.0f}, {runs['auto'][1]:.0f}"]
            print("| " + " | ".join(cells) + " |", flush=True)
            if kind in ("calm", "abrupt"):
                for name, alarms in (("cuts", cuts), ("ADWIN", find_alarms(runs[1000][0]))):
                    delays, false = judge_alarms(alarms, changes, given.rows)
                    detected[name].append((delays, false, len(changes)))
    print("\n| detector | changes found | median delay | false alarms |\n| --- | --- | --- | --- |")
    for name, results in detected.items():
        delays = [delay for found, _, _ in results for delay in found]
        n_changes, false = sum(r[2] for r in results), sum(r[1] for r in results)
        median = f"{np.median(delays):.0f} rows" if delays else "none"
        print(f"| {name} | {len(delays)} of {n_changes} | {median} | {false} |")


if __name__ == "__main__":
    main()
