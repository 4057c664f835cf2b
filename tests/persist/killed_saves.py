"""Processes that save all the time and are killed: what they leave behind.

    python -m tests.persist.killed_saves 200

prints how often the file was that of the one model and of the other, and how many unfinished files
the killed processes left. It fails where the file is anything else.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from lindero.persist import load, save
from lindero.svm import SVC


def models() -> list[SVC]:
    """Two models of some hundred kilobytes that are told apart by C."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 200)), rng.integers(0, 2, 300)
    return [SVC(C=C).fit(X, y) for C in (1.0, 2.0)]


def saving(both: list[SVC], path: Path) -> None:
    """Save one model and the other, for ever."""
    while True:
        for model in both:
            save(model, path)


def run(count: int, folder: Path) -> dict[str, object]:
    both, path = models(), folder / "model.lin"
    save(both[0], path)
    expected = {model.C: model.dual_coef_.tobytes() for model in both}
    found: Counter[str] = Counter()
    rng = np.random.default_rng(1)
    for _ in range(count):
        child = os.fork()
        if child == 0:
            saving(both, path)
        time.sleep(float(rng.uniform(0.001, 0.03)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        model = load(path)
        assert model.dual_coef_.tobytes() == expected[model.C]
        found[str(model.C)] += 1
    left = [name for name in os.listdir(folder) if name != path.name]
    return {"found": dict(found), "unfinished": len(left), "bytes": path.stat().st_size}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(int(sys.argv[1]), Path(folder))))
