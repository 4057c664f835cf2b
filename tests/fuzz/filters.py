"""Streams of extreme rows through adaptive machines that follow them by filters.

Learned in batches of any size, saved, pickled and asked on the way, a machine is to the last bit
what it is after the same rows one by one. Its answers are numbers, its probabilities add up to one,
what it says of itself is sound, and calls that are refused change nothing.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lindero import svm
from lindero.persist import load, save
from tests.fuzz.adaptive import make_times
from tests.fuzz.broken import Broken
from tests.fuzz.fits import extreme, kernel_options, make_table, make_targets


def make_rows(rng: np.random.Generator, scaled: bool) -> np.ndarray:
    """A table with spikes, gaps, constant columns and changes of unit."""
    X = np.asarray(make_table(rng)[:700], dtype=np.float64)
    n, d = X.shape
    way = rng.random()
    if way < 0.2:
        X[rng.integers(n) :, rng.integers(d)] *= 10.0 ** rng.integers(-12, 12)
    elif way < 0.3:
        X[rng.integers(n) :, rng.integers(d)] = rng.choice([0.0, 1e300, -1e-300, 5.0])
    if scaled and rng.random() < 0.4:
        X[rng.random(X.shape) < rng.choice([0.05, 0.5, 1.0])] = np.nan
    return np.clip(X, -1e300, 1e300)


def make_options(rng: np.random.Generator, name: str) -> dict[str, Any]:
    options: dict[str, Any] = {"online": "filter", **kernel_options(rng)}
    if rng.random() < 0.3:
        options["kernel"] = "auto"
    if rng.random() < 0.5:
        options["C"] = extreme(rng, 1.0, -6, 10)
    if rng.random() < 0.5:
        options["coupling"] = extreme(rng, 1.0, -6, 12)
    options["n_components"] = int(rng.choice([2, 3, 7, 20]))
    options["scale"] = bool(rng.random() < 0.8)
    options["time_weighted"] = bool(rng.random() < 0.5)
    if name == "AdaptiveSVR":
        options["epsilon"] = extreme(rng, 0.1, -6, 2)
    return options


def play(seed: int) -> str:
    rng = np.random.default_rng(seed)
    name = str(rng.choice(["AdaptiveSVC", "AdaptiveSVC", "AdaptiveSVR"]))
    options = make_options(rng, name)
    X = make_rows(rng, options["scale"])
    y = make_targets(rng, name, np.nan_to_num(X))
    times = make_times(rng, len(X))
    weights = None if rng.random() < 0.7 else rng.choice([0.0, 1.0, 1e-6, 1e6, 1e300], len(X))
    kind = getattr(svm, name)
    alone, model = kind(**options), kind(**options)
    at, n_refused = 0, 0
    while at < len(X):
        rows = slice(at, at + int(rng.choice([1, 2, 7, 60, 300])))
        at = rows.stop
        before = look(model)
        try:
            learn(model, X, y, times, weights, rows)
        except ValueError as refused:
            if len(str(refused)) < 20 or look(model) != before:
                raise Broken(f"{name} refused with {refused!r}") from refused
            n_refused += 1
            continue
        for row in range(rows.start, min(rows.stop, len(X))):
            learn(alone, X, y, times, weights, slice(row, row + 1))
        model = go_through_stores(rng, model)
        check(model, alone, X)
    return f"{name}: {'refused' if n_refused else 'learned'}"


def learn(model: Any, X: Any, y: Any, times: Any, weights: Any, rows: slice) -> None:
    options = {} if times is None else {"times": times[rows]}
    if weights is not None:
        options["sample_weight"] = weights[rows]
    model.partial_fit(X[rows], y[rows], **options)


def go_through_stores(rng: np.random.Generator, model: Any) -> Any:
    """The model, or what comes back of it."""
    way = rng.random()
    if way < 0.2:
        return pickle.loads(pickle.dumps(model))
    if way < 0.3:
        return copy.deepcopy(model)
    if way < 0.6:
        with tempfile.TemporaryDirectory() as folder:
            save(model, Path(folder) / "model.lin")
            return load(Path(folder) / "model.lin")
    return model


def look(model: Any) -> bytes:
    """All numbers of a stream; what was noted is told apart by nobody, fetched or not."""
    stream = getattr(model, "_stream", None)
    if stream is None:
        return b""
    state = stream.copy()
    state._fetch_changes()
    state.fetch_rescaled()
    arrays: list[Any] = []
    for part in state.state:
        arrays += [part] if isinstance(part, np.ndarray) else part
    noted = {id(state.state.experts.changes), id(state.state.scale.changes)}
    told = b"".join(array.tobytes() for array in arrays if id(array) not in noted)
    record = state.record
    kept = [*record.rows, *record.losses, state.n_classes, state.changes, state._looked]
    return told + repr(kept).encode() + state._quiet.tobytes()


def check(model: Any, alone: Any, X: np.ndarray) -> None:
    if look(model) != look(alone):
        raise Broken("it is not what it is after the same rows one by one")
    with np.errstate(all="ignore"):
        answers = model.predict(X)
        if answers.dtype.kind == "f" and not np.isfinite(answers).all():
            raise Broken(f"it answers {answers[~np.isfinite(answers)][0]}: {model.certificate_}")
        if hasattr(model, "predict_proba"):
            P = model.predict_proba(X)
            if not (np.abs(P.sum(axis=1) - 1.0) < 1e-9).all() or not (P >= 0.0).all():
                raise Broken("probabilities do not add up to one")
        certificate = model.certificate_
    if not certificate.sound:
        raise Broken("its numbers are not sound")
    if not certificate.regret <= certificate.regret_bound + 1e-6 * (1.0 + abs(certificate.loss)):
        raise Broken(f"the regret is beyond what was promised: {certificate}")
    if not np.isfinite(model.coef_).all():
        raise Broken("a hyperplane is no number")
