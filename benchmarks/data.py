"""Loading a CSV file of mixed columns: `lindero.data.load` beside `pandas.read_csv`, in one run.

    python benchmarks/data.py [--megabytes 100]

The file has whole numbers, decimals, words from short lists, words of their own, dates, truth
values, text in quotes or without, and 2 % missing values. The readers take turns, and the least
time of each counts: by the clock, and of the processor, which other work on the machine disturbs
less. pandas is told that ``?`` is missing too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lindero.data import load

_ROWS_AT_ONCE = 50_000


def write_mixed(path: Path, n_bytes: int, quotes: bool, seed: int = 0) -> int:
    """Write rows until the file is that large; how many there are."""
    rng = np.random.default_rng(seed)
    cities = np.array(["Lima", "Quito", "La Paz", "Santiago", "Bogotá", "Caracas", "Asunción"])
    n_rows = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("age,income,height,city,code,day,member,remark,score,class\n")
        while file.tell() < n_bytes:
            n = _ROWS_AT_ONCE
            day = np.datetime64("2020-01-01") + rng.integers(0, 1500, n)
            note = np.where(rng.random(n) < 0.5, '"a, b"' if quotes else "a b", "plain")
            columns = [
                rng.integers(18, 95, n).astype(str),
                np.char.mod("%.2f", rng.lognormal(10, 1, n)),
                np.char.mod("%.6f", rng.normal(170, 10, n)),
                rng.choice(cities, n),
                np.char.mod("c%07d", rng.integers(0, 10**7, n)),
                day.astype(str),
                rng.choice(np.array(["true", "false"]), n),
                note,
                np.char.mod("%.17g", rng.normal(size=n)),
                rng.choice(np.array(["yes", "no"]), n),
            ]
            for j in (0, 1, 3, 8):
                columns[j] = np.where(rng.random(n) < 0.02, "", columns[j])
            file.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))
            n_rows += n
    return n_rows


def seconds(action: Callable[[], Any]) -> tuple[float, float]:
    """How long an action takes, by the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - clock, time.process_time() - processor


def compared(path: Path, repeats: int) -> tuple[list[float], list[float]]:
    """The least times of lindero and of pandas, by the clock and of the processor."""
    readers: tuple[Callable[[], Any], ...] = (
        lambda: load(path),
        lambda: pd.read_csv(path, na_values=["?"]),
    )
    times = np.array([[seconds(reader) for reader in readers] for _ in range(repeats)])
    ours, theirs = times.min(axis=0).tolist()
    return ours, theirs


def main() -> None:
    """Write the files, load them, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    print("| file | rows | lindero, s | pandas, s | ratio | processor: lindero | pandas | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for quotes in (False, True):
            path = Path(folder) / "mixed.csv"
            n_rows = write_mixed(path, asked.megabytes * 10**6, quotes)
            assert load(path).n_rows == len(pd.read_csv(path)) == n_rows
            ours, theirs = compared(path, asked.repeats)
            cells = [f"{path.stat().st_size / 1e6:.0f} MB{', with quotes' * quotes}", f"{n_rows}"]
            for mine, other in zip(ours, theirs, strict=True):
                cells += [f"{mine:.2f}", f"{other:.2f}", f"{mine / other:.2f}"]
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
