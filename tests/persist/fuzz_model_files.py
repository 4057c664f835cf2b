"""Damaged model files by the thousand: each is loaded or refused, and costs little.

    python -m tests.persist.fuzz_model_files 500000 --seed 1

writes damaged files, loads them, and asks what loads to predict. It ends with a line of JSON, or
with the first file that made anything else than a model or a ModelFileError, took longer than two
seconds, or took too much memory.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from lindero.errors import ModelFileError
from lindero.persist import load, save
from lindero.persist.container import unpack
from tests.persist.model_bank import answers, cases
from tests.persist.model_damage import BYTES, MEANINGS, damaged

MOST_SECONDS = 2.0
MOST_MEGABYTES = 300

#: Files that are damaged in what they say, beside each that is damaged in its bytes.
_MEANINGS_EACH = 4


def sound_files(folder: Path) -> list[tuple[Any, tuple[bytes, str, list[Any]]]]:
    """Every case with its file, taken apart."""
    path, sound = folder / "sound.lin", []
    for case in cases():
        estimator = case.made()
        save(estimator, path)
        contents = unpack(path)
        answers(case, estimator)  # compiled before anything is timed
        sound.append((case, (path.read_bytes(), json.dumps(contents.document), contents.arrays)))
    return sound


def outcome(path: Path, case: Any, learns: bool) -> str:
    """How loading and predicting ended; what must not happen goes through."""
    try:
        estimator = load(path)
    except ModelFileError as refused:
        return "refused" if str(refused).startswith(f"{path}: ") else "refused without a name"
    if estimator is None or not hasattr(estimator, "predict"):
        return "loaded"
    try:
        answers(case, estimator)
    except NotFittedError:
        return "answered: not fitted"
    except ValueError as told:
        # The file of a sound model, of other columns than the rows that it is asked about.
        if not str(told).startswith(("Column ", "X has ", "times ")):
            raise
        return "answered: these are not its columns"
    if learns and case.learn is not None:
        # Numbers that no training gives may lead nowhere, but not out of the arrays.
        signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS / 2)
        try:
            case.further(estimator)
        except Exception as told:
            return f"answered, then {type(told).__name__}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    return "answered"


def _stop(*_: Any) -> None:
    raise TimeoutError


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(count: int, seed: int, learns: bool = False) -> dict[str, Any]:
    """Load so many damaged files; what happened, counted."""
    rng = np.random.default_rng(seed)
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lin"
        sound = sound_files(Path(folder))
        kinds = [*BYTES, *(_MEANINGS_EACH * list(MEANINGS))]
        before, slowest = megabytes(), 0.0
        with path.open("wb", buffering=0) as file:
            for number in range(count):
                case, parts = sound[rng.integers(len(sound))]
                kind = kinds[number % len(kinds)]
                data = damaged(parts, kind, int(rng.choice([1, 1, 1, 2, 4])), rng)
                file.seek(0)
                file.write(data)
                file.truncate()
                begun = time.perf_counter()
                faulthandler.dump_traceback_later(20 * MOST_SECONDS, exit=True)
                try:
                    result = outcome(path, case, learns)
                    assert megabytes() - before < MOST_MEGABYTES, megabytes() - before
                except BaseException:
                    Path("damaged.lin").write_bytes(data)
                    print(f"number {number}, {case.name}, {kind}: kept as damaged.lin")
                    raise
                seconds = time.perf_counter() - begun
                slowest = max(slowest, seconds)
                assert seconds < MOST_SECONDS, (number, case.name, kind, seconds)
                outcomes[f"{kind}: {result}"] += 1
        faulthandler.cancel_dump_traceback_later()
    grown = megabytes() - before
    return {"slowest": slowest, "megabytes": grown, "outcomes": dict(sorted(outcomes.items()))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learn", action="store_true", help="let what loads learn as well")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _stop)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with threadpool_limits(1):
        try:
            print(json.dumps(run(options.count, options.seed, options.learn)))
        except Exception:
            traceback.print_exc()
            raise SystemExit(1) from None


if __name__ == "__main__":
    main()
