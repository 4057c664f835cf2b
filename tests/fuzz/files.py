"""Model files, damaged: each is refused, or gives a model that answers and learns like any other.

A file is loaded, what loads is asked to predict, and then to learn. It may be refused by a
ModelFileError; a model may refuse rows that it was not fitted to, or refuse to learn, by a
ValueError. Whatever else happens, takes longer than two seconds or much memory, must not.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from lindero.errors import ModelFileError
from lindero.persist import inspect, load, save
from lindero.persist.container import unpack
from lindero.svm.fitted_machines import find_kernel
from tests.fuzz.broken import Broken
from tests.persist.model_bank import Case, answers, cases
from tests.persist.model_damage import BYTES, MEANINGS, damaged

MOST_SECONDS = 2.0
MOST_MEGABYTES = 300

#: Files that are damaged in what they say, beside each that is damaged in its bytes.
_MEANINGS_EACH = 4
_KINDS = [*BYTES, *(_MEANINGS_EACH * list(MEANINGS))]

#: How messages begin about rows that a model was not fitted to.
_OTHER_ROWS = ("Column ", "Row ", "X has ", "times ")

#: Powers of a polynomial kernel beyond which its values are infinite, as they should be.
_MOST_DEGREE = 64


@cache
def sound_files() -> list[tuple[Case, tuple[bytes, str, list[Any]]]]:
    """Every case with its file, taken apart; made once in a process."""
    sound = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sound.lin"
        for case in cases():
            estimator = case.made()
            save(estimator, path)
            contents = unpack(path)
            answers(case, estimator)  # compiled before anything is timed
            if case.learn is not None:
                case.further(load(path))
            text = json.dumps(contents.document)
            sound.append((case, (path.read_bytes(), text, contents.arrays)))
    return sound


@cache
def _path_of(process: int) -> str:
    """A file to write to, for a process."""
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    return os.path.join(folder, f"lindero-fuzz-{process}.lin")


class _TooLongError(BaseException):
    """No subclass of Exception, so that nothing but the case itself is stopped by it."""


def _stop(*_: Any) -> None:
    raise _TooLongError


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def play(seed: int) -> str:
    rng = np.random.default_rng(seed)
    sound = sound_files()
    case, parts = sound[rng.integers(len(sound))]
    kind = _KINDS[rng.integers(len(_KINDS))]
    data = damaged(parts, kind, int(rng.choice([1, 1, 1, 2, 4])), rng)
    path = Path(_path_of(os.getpid()))
    path.write_bytes(data)
    before, begun = _megabytes(), time.process_time()  # of a busy machine, too
    previous = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        outcome = _try_file(path, case)
    except _TooLongError:
        raise Broken(f"{case.name}, {kind}: no end after {MOST_SECONDS} s") from None
    except (Broken, MemoryError):
        raise
    except Exception as error:
        raise Broken(f"{case.name}, {kind}: {type(error).__name__}: {error}") from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous)
        path.unlink(missing_ok=True)
    seconds, grown = time.process_time() - begun, _megabytes() - before
    if seconds > MOST_SECONDS or grown > MOST_MEGABYTES:
        raise Broken(f"{case.name}, {kind}: {seconds:.1f} s, {grown:.0f} megabytes")
    return f"{kind}: {outcome}"


def _try_file(path: Path, case: Case) -> str:
    """How loading, predicting and learning ended."""
    try:
        str(inspect(path))
    except ModelFileError as refused:
        _require_named(path, refused)
    try:
        estimator = load(path)
    except ModelFileError as refused:
        _require_named(path, refused)
        return "refused"
    try:
        told = answers(case, estimator)
    except NotFittedError:
        return "loaded, not fitted"
    except AttributeError as error:
        if "has no attribute 'predict'" not in str(error):
            raise
        return "loaded, with nothing to answer"
    except ValueError as error:
        if not str(error).startswith(_OTHER_ROWS):
            raise
        return "answered: these are not its columns"
    _require_finite(case, estimator, told)
    if case.learn is None:
        return "answered"
    try:
        case.further(estimator)
        told = answers(case, estimator)
    except ValueError:
        return "answered, then refused to learn"
    except AttributeError as error:
        if "has no attribute 'partial_fit'" not in str(error):  # as with another graph
            raise
        return "answered, then refused to learn"
    _require_finite(case, estimator, told)
    return "answered and learned"


def _require_named(path: Path, refused: ModelFileError) -> None:
    if not str(refused).startswith(f"{path}: "):
        raise Broken(f"a refusal does not name the file: {refused}")


def _require_finite(case: Case, estimator: Any, told: list[np.ndarray]) -> None:
    """Refuse answers that are no numbers: log probabilities may be those of 0."""
    function = find_kernel(estimator)
    if function is not None and function.name == "poly" and function.degree > _MOST_DEGREE:
        return
    for values in told:
        if values.dtype.kind == "f" and (np.isnan(values).any() or (values == np.inf).any()):
            raise Broken(f"{case.name} answers {values[~np.isfinite(values)][0]}")
