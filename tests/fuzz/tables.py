"""Data files, damaged: each is loaded or refused, soon and in little memory; some are trained on.

A file may be refused by a DataError that names it, and a table of odd columns by a ValueError of
the machine. Sound data sets have as many targets as rows, and answers of machines are numbers.
"""

from __future__ import annotations

import gzip
import os
import random
import resource
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.bayes import NaiveBayes
from lindero.data import load
from lindero.errors import DataError
from lindero.svm import SVC
from tests.data.mutated_files import SOUND, mutated, options
from tests.fuzz.broken import Broken

MOST_SECONDS = 2.0

#: Growth of the memory of a process by one file.
MOST_MEGABYTES = 600

#: Files that ask for much: wide sparse rows, rows without values, and the same again and again.
_GREEDY = (
    "1 {n}:1\n-1 1:1\n1 2:1\n-1 3:1\n",
    "1 qid:1 {n}:1\n0 qid:1 1:1\n",
    "1 1:1 {n}:0\n" * 3,
)

#: Share of cases that ask for much, and of those that are trained on.
_SHARE_GREEDY, _SHARE_TRAINED = 0.02, 0.15


@cache
def _path_of(process: int) -> Path:
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    return Path(folder, f"lindero-fuzz-{process}.data")


@cache
def _compile() -> None:
    """Fit the machines once, so that processes begin with what is compiled."""
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 3
    rows = [[f"{k % 2}", float(k), None] for k in range(12)]
    for table, labels in ((X, y), (sp.csr_array(X), y), (X, y == 0), (sp.csr_array(X), y == 0)):
        SVC(C=10.0).fit(table, labels).decision_function(table)
    for table in (rows, X):
        NaiveBayes().fit(table, y).predict(table)


def _make_greedy(rng: random.Random) -> bytes:
    """A small file that asks for as much memory as it can."""
    way = rng.randrange(4)
    if way < 2:
        data = rng.choice(_GREEDY).format(n=rng.choice([10**6, 2**24, 10**8, 2**31 - 1, 10**18]))
    elif way == 2:
        data = "a,b,class\n" + rng.choice(["1,2,x\n", ",,\n", "0,0,0\n"]) * 10 ** rng.randint(3, 4)
    else:
        n = 10 ** rng.randint(1, 3)
        head = "".join(f"@attribute a{k} numeric\n" for k in range(n))
        data = f"@relation r\n{head}@data\n" + "{}\n" * 10 ** rng.randint(1, 3)
    packed = data.encode()
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        packed = gzip.compress(packed, 1, mtime=0)
    return packed


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def play(seed: int) -> str:
    _compile()
    rng = random.Random(seed)
    form = rng.choice(list(SOUND))
    greedy = rng.random() < _SHARE_GREEDY
    data = _make_greedy(rng) if greedy else mutated(form, seed)
    path = _path_of(os.getpid())
    path.write_bytes(data)
    before, begun = _megabytes(), time.process_time()
    given = {} if greedy else options(form, seed)
    try:
        outcome = _try_file(path, given, rng)
    except Broken:
        raise
    except Exception as error:
        raise Broken(f"{form}: {type(error).__name__}: {error}") from error
    finally:
        path.unlink(missing_ok=True)
    seconds, grown = time.process_time() - begun, _megabytes() - before
    if seconds > MOST_SECONDS or grown > MOST_MEGABYTES:
        raise Broken(f"{form}: {seconds:.1f} s, {grown:.0f} megabytes")
    return f"{'greedy' if greedy else form}: {outcome}"


def _try_file(path: Path, given: dict[str, Any], rng: random.Random) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            dataset = load(path, **given)
        except DataError as refused:
            if "more memory than" in str(refused):
                raise Broken(str(refused)) from refused
            if not (str(refused).startswith(str(path)) or refused.path is None):
                raise Broken(f"a refusal does not name the file: {refused}") from refused
            return "refused"
        _require_sound(dataset)
        if rng.random() >= _SHARE_TRAINED or dataset.y is None:
            return "loaded"
        return f"loaded, {_train(dataset, rng)}"


def _require_sound(dataset: Any) -> None:
    sound = (
        dataset.n_rows > 0
        and (dataset.y is None or dataset.y.shape == (dataset.n_rows,))
        and dataset.task in ("classification", "regression", "ranking", "tagging", "unlabelled")
        and dataset.summary().count("\n") == 0
    )
    if not sound:
        raise Broken(f"loaded, but not sound: {dataset.summary()}")


def _train(dataset: Any, rng: random.Random) -> str:
    """Fit a machine to a table, and have it predict."""
    X, is_sparse = dataset.X, not hasattr(dataset.X, "column_names")
    numeric = is_sparse or all(kind == "number" for kind in dataset.kinds.values())
    machine = SVC(C=10.0) if numeric and (is_sparse or rng.random() < 0.5) else NaiveBayes()
    if isinstance(machine, SVC) and not is_sparse:
        X = np.column_stack([column.to_numpy() for column in X.columns])
    try:
        machine.fit(X, dataset.y)
        answers = machine.predict(X)
        scores = machine.decision_function(X) if isinstance(machine, SVC) else answers
    except ValueError as refused:
        if len(str(refused)) < 20:
            raise Broken(f"refused with {refused!r}") from refused
        return "not trained on"
    if len(answers) != dataset.n_rows or (scores.dtype.kind == "f" and np.isnan(scores).any()):
        raise Broken(f"{type(machine).__name__} answers {scores!r}")
    return "trained on"
