"""Bayesian classifiers and clusterings on mixed tables of extreme numbers, learning and forgetting.

A call ends with a model whose probabilities are numbers that sum to 1, or is refused with a
ValueError and changes nothing. After `forget` the counts are those of the rows that are left.
"""

from __future__ import annotations

import pickle

import numpy as np

from lindero import bayes
from tests.fuzz.broken import Broken
from tests.fuzz.fits import extreme, make_table

MODELS = ("NaiveBayes", "TAN", "KDB", "AODE", "NetworkClassifier", "StructuralTM", "TMClustering")


def make_mixed_table(rng: np.random.Generator) -> np.ndarray:
    """Columns of numbers, and of categories and truth values in place of some; with gaps."""
    X = np.nan_to_num(make_table(rng).astype(np.float64), posinf=1e300, neginf=-1e300)
    if rng.random() < 0.3:
        return X
    mixed = X.astype(object)
    for column in range(X.shape[1]):
        way = rng.random()
        if way < 0.3:
            names = np.array([f"v{k}" for k in range(int(rng.integers(1, 12)))], dtype=object)
            mixed[:, column] = rng.choice(names, len(X))
        elif way < 0.4:
            mixed[:, column] = [bool(flag) for flag in rng.random(len(X)) < 0.5]
    gaps = rng.choice([0.0, 0.0, 0.1, 0.6, 1.0], p=[0.3, 0.2, 0.3, 0.15, 0.05])
    mixed[rng.random(X.shape) < gaps] = None
    return mixed


def make_model(rng: np.random.Generator, name: str, n_columns: int) -> object:
    options: dict = {}
    if rng.random() < 0.5:
        options["alpha"] = extreme(rng, 1.0, -6, 6)
    if rng.random() < 0.6:
        ways = ["gaussian", "mdl", "quantile", "uniform"]
        options["numeric"] = str(rng.choice(ways if name != "TMClustering" else ways[::2]))
    if rng.random() < 0.2:
        options["n_bins"] = int(rng.integers(2, 60))
    if rng.random() < 0.2:
        options["categorical_features"] = "all"
    if name == "TMClustering":
        options["n_clusters"] = int(rng.integers(1, 4)) if rng.random() < 0.7 else "bic"
        options |= {"method": str(rng.choice(["em", "tm"])), "max_clusters": 3, "n_init": 2}
        options |= {"max_iter": 30, "random_state": 0}
        if rng.random() < 0.3:
            options["penalty"] = extreme(rng, 1.0, -6, 6)
    elif name == "StructuralTM":
        options |= {"max_iter": 20, "penalty": extreme(rng, 1.0, -6, 6)}
    else:
        options["warm_up"] = int(rng.choice([1, 10, 1000]))
        options["fit_prior"] = bool(rng.random() < 0.9)
        if name != "AODE" and rng.random() < 0.25:
            penalty = "auto" if rng.random() < 0.1 else extreme(rng, 1.0, -6, 6)
            options |= {"learning": "discriminative", "penalty": penalty, "max_iter": 30}
            options["solver"] = str(rng.choice(["accelerated", "tm"]))
            options["early_stopping"] = bool(rng.random() < 0.2)
        if name in ("TAN", "KDB", "NetworkClassifier") and rng.random() < 0.2:
            options["missing"] = "em"
    if name == "KDB":
        options |= {"k": int(rng.integers(0, 5)), "selective": bool(rng.random() < 0.3)}
    if name == "NetworkClassifier" and n_columns > 1:
        options["arcs"] = [(k, k + 1) for k in range(n_columns - 1) if rng.random() < 0.5]
    return getattr(bayes, name)(**options)


def play(seed: int) -> str:
    rng = np.random.default_rng(seed)
    name = str(rng.choice(MODELS))
    X = make_mixed_table(rng)
    n = len(X)
    model = make_model(rng, name, X.shape[1])
    y = rng.integers(0, int(rng.choice([1, 2, 2, 3, 6])), n)
    weights = None
    if rng.random() < 0.3:
        weights = rng.integers(0, 4, n).astype(float) * extreme(rng, 1.0, -6, 6)
    targets = () if name == "TMClustering" else (y,)
    learned = n if rng.random() < 0.5 or not hasattr(model, "partial_fit") else max(1, n // 2)
    own = None if weights is None else weights[:learned]
    try:
        model.fit(X[:learned], *(t[:learned] for t in targets), sample_weight=own)
    except ValueError as refused:
        if len(str(refused)) < 20 or hasattr(model, "classes_"):
            raise Broken(f"{name} refused with {refused!r}") from refused
        return f"{name}: refused"
    check_answers(model, name, X[:learned])
    if not hasattr(model, "forget"):
        return f"{name}: fitted"
    how = "fitted"
    for change in ("partial_fit", "forget"):
        rows = rng.permutation(learned)[: int(rng.integers(1, 5))]
        if change == "partial_fit" and learned < n:
            rows = np.arange(learned, n)
        before, total = pickle.dumps(model), model.class_count_
        own = None if weights is None else weights[rows]
        try:
            getattr(model, change)(X[rows], y[rows], sample_weight=own)
            how = change
        except ValueError as refused:
            if len(str(refused)) < 20 or pickle.dumps(model) != before:
                raise Broken(f"{name}.{change} refused with {refused!r}") from refused
            continue
        weight = np.bincount(y[rows], own, int(model.classes_.max()) + 1)[model.classes_]
        wanted = total + weight * (1 if change == "partial_fit" else -1)
        if not np.allclose(model.class_count_, wanted, rtol=1e-9, atol=1e-9 * total.max()):
            raise Broken(f"{name}.{change} counts {model.class_count_}, not {wanted}")
        check_answers(model, name, X[:learned])
    return f"{name}: {how}"


def check_answers(model, name: str, X: np.ndarray) -> None:
    try:
        shares = model.predict_proba(X)
        model.predict(X)
    except ValueError as refused:
        raise Broken(f"{name} was fitted, but predicts not: {refused}") from refused
    if not (np.isfinite(shares).all() and np.allclose(shares.sum(axis=1), 1.0)):
        raise Broken(f"{name} answers {shares[~np.isclose(shares.sum(axis=1), 1.0)][:1]}")
