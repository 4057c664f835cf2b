"""Every estimator in every state that a model file must hold, small enough to be damaged often.

A case is a name, a function that makes the estimator, rows to ask it, and what it would learn next.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero import bayes, svm
from lindero.persist import load_libsvm, save_libsvm

_RNG = np.random.default_rng(8)
X = np.round(_RNG.normal(size=(16, 3)), 2)
Y2 = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
Y3 = np.digitize(X[:, 0] - X[:, 2], [-0.5, 0.6])
WORDS = np.array(["no", "perhaps", "yes"], dtype=object)[Y3]
#: Labels of every second row or so, for machines that learn from the others, too.
PARTLY = np.where(np.arange(16) % 5 < 3, np.array(["no", "yes"], dtype=object)[Y2], None)
VALUES = np.round(X @ [1.0, -2.0, 0.5], 2)
QUERIES = np.repeat([1, 2], 8)
DATES = np.datetime64("2024-01-01T00:00", "s") + np.arange(16) * np.timedelta64(3600, "s")
NEW = np.round(_RNG.normal(size=(5, 3)), 2)
#: Categories, numbers, missing values, and a column without any.
TABLE = [
    [["red", "green", "blue", None][k % 4], float(x) if k % 5 else None, bool(y), None]
    for k, (x, y) in enumerate(zip(X[:, 1], Y2, strict=True))
]
NEW_TABLE = [["red", 0.5, True, None], ["violet", None, False, None], [None, 1.5, None, None]]
SENTENCES = [["the", "cat", "sleeps"], ["a", "tree"], ["cats", "sleep"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["N", "V"]]
#: Windows of 25 and 75 samples.
AUTO = {"gamma": 0.5, "window": "auto", "max_window": 75}


@dataclass(frozen=True)
class Case:
    """An estimator to be made, rows to ask it about, and what it learns next, if it can."""

    name: str
    make: Callable[[], Any]
    rows: Any = None
    learn: Callable[[Any], Any] | None = None

    def made(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.make()

    def further(self, estimator: Any) -> Any:
        """The estimator after it has learned more."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.learn(estimator)
        return estimator


def answers(case: Case, estimator: Any) -> list[np.ndarray]:
    """All that an estimator says of the rows of its case."""
    if case.rows is None:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = [estimator.predict(case.rows)]
        for name in ("decision_function", "predict_proba", "score_samples"):
            if hasattr(estimator, name):
                told.append(getattr(estimator, name)(case.rows))
        if hasattr(estimator, "times_"):
            told.append(estimator.predict(case.rows, times=estimator.times_[-2:][0]))
    return [np.asarray(values) for values in told]


def same_bits(one: list[np.ndarray], two: list[np.ndarray]) -> bool:
    """Whether answers are the same to the last bit."""
    return len(one) == len(two) and all(
        a.dtype == b.dtype
        and a.shape == b.shape
        and (np.array_equal(a, b) if a.dtype == object else a.tobytes() == b.tobytes())
        for a, b in zip(one, two, strict=True)
    )


def _batch(name: str, kind: Any, X: Any, *target: Any, **params: Any) -> Case:
    rows = sp.csr_array(NEW) if sp.issparse(X) else NEW
    if params.get("kernel") == "precomputed":
        rows, X = NEW @ X.T, X @ X.T
    return Case(name, lambda: kind(**params).fit(X, *target), rows)


def _stream(name: str, kind: Any, X: Any, y: np.ndarray, first: int = 6, **params: Any) -> Case:
    """A machine that has learned and forgotten, and goes on doing so."""
    if first > len(y) - 10:
        stacked = [X, 1.1 * X, 0.9 * X] if sp.issparse(X) else [X, X + 0.1, X - 0.1]
        X = sp.csr_array(sp.vstack(stacked)) if sp.issparse(X) else np.vstack(stacked)
        y = np.tile(y, 3)

    def go_on(machine: Any, start: int, stop: int) -> Any:
        for i in range(start, stop):
            machine.partial_fit(X[i : i + 1], y[i : i + 1])
            if i % 3 == 0:
                machine.forget(machine.sample_ids_[1])
        return machine

    def begun() -> Any:
        return go_on(kind(**params).partial_fit(X[:first], y[:first]), first, first + 5)

    rows = sp.csr_array(NEW) if sp.issparse(X) else NEW
    return Case(name, begun, rows, lambda machine: go_on(machine, first + 5, first + 10))


def _path(name: str, kind: Any, y: np.ndarray, times: Any, **params: Any) -> Case:
    """An adaptive machine in the middle of its path."""
    first = {"classes": np.unique(y)} if kind is svm.AdaptiveSVC else {}

    def go_on(machine: Any, start: int, stop: int) -> Any:
        for i in range(start, stop):
            time = None if times is None else times[i : i + 1]
            machine.partial_fit(X[i : i + 1], y[i : i + 1], times=time)
        return machine

    def begun() -> Any:
        time = None if times is None else times[:6]
        return go_on(kind(**params).partial_fit(X[:6], y[:6], times=time, **first), 6, 11)

    return Case(name, begun, NEW, lambda machine: go_on(machine, 11, 16))


def _counted(name: str, kind: Any, **params: Any) -> Case:
    """A Bayesian classifier between two batches of a table."""

    def begun() -> Any:
        return kind(**params).partial_fit(TABLE[:10], WORDS[:10], classes=np.unique(WORDS))

    return Case(name, begun, NEW_TABLE, lambda model: model.partial_fit(TABLE[10:], WORDS[10:]))


def _table(name: str, kind: Any, y: Any = WORDS, **params: Any) -> Case:
    return Case(name, lambda: kind(**params).fit(TABLE, y), NEW_TABLE)


def _piped() -> Any:
    from lindero.evaluation import make_machine

    return make_machine("svc", {"C": 2.0}).fit(TABLE, WORDS)


def _decided(y: Any, **params: Any) -> Any:
    from lindero.evaluation import DecisionClassifier, make_machine

    machine = params.pop("machine", None) or make_machine("svc", {"C": 2.0})
    return DecisionClassifier(machine, **params).fit(TABLE, y)


def _wrapped() -> list[Case]:
    """Machines inside of others: pipelines, curves, thresholds and costs."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import (
        MaxAbsScaler,
        MinMaxScaler,
        OneHotEncoder,
        RobustScaler,
        StandardScaler,
    )

    gaps = np.where(np.abs(X) < 0.2, np.nan, X)
    texts = np.array([[str(row[0]), str(row[2])] for row in TABLE], dtype=object)
    costs = {("yes", "no"): 5.0}
    return [
        Case("pipeline of scalers", lambda: make_pipeline(
            StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), svm.SVC()
        ).fit(X, Y2), NEW),
        Case("pipeline with an imputer", lambda: Pipeline(
            [("gaps", SimpleImputer()), ("svm", svm.SVC(kernel="linear"))]
        ).fit(gaps, WORDS), NEW),
        Case("pipeline of categories", lambda: make_pipeline(
            OneHotEncoder(handle_unknown="ignore", sparse_output=False), svm.SVC()
        ).fit(texts, Y2), np.array([["red", "True"], ["pink", "False"]], dtype=object)),
        Case("calibrated", lambda: svm.calibrate(svm.SVC(), cv=2).fit(X, Y3), NEW),
        Case("calibrated by steps", lambda: svm.calibrate(
            svm.SVC(), method="isotonic", cv=2).fit(X, Y2), NEW),
        Case("calibrated by a temperature", lambda: svm.calibrate(
            svm.SVC(), method="temperature", cv=2).fit(X, Y3), NEW),
        Case("calibrated pipeline", lambda: svm.calibrate(
            make_pipeline(StandardScaler(), svm.SVC()), cv=2).fit(X, WORDS), NEW),
        Case("decisions", lambda: _decided(WORDS, cv=2), NEW_TABLE),
        Case("decisions by a threshold", lambda: _decided(Y2, threshold=0.3, cv=2), NEW_TABLE),
        Case("decisions by costs", lambda: _decided(
            WORDS, costs=costs, machine=bayes.NaiveBayes()), NEW_TABLE),
        Case("decisions by margins", lambda: _decided(
            WORDS, costs=costs, margins="always", cv=2), NEW_TABLE),
    ]  # fmt: skip


def _guest(name: str, params: dict[str, Any], y: Any = WORDS) -> Any:
    """A machine of scikit-learn behind a table's encoder, as `lindero train` saves it."""
    from lindero.evaluation import find_machine, make_machine

    task = "regression" if y is VALUES else "classification"
    spec = find_machine(name, task)
    return make_machine(spec, params, random_state=0).fit(TABLE, y)


def _guests() -> list[Case]:
    """scikit-learn's machines, bare and behind encoders, and what is put around them."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    few: dict[str, Any] = {"n_estimators": 2, "max_depth": 3, "random_state": 0}
    steps: dict[str, Any] = {"max_iter": 2, "min_samples_leaf": 2, "random_state": 0}
    bare = [
        _batch("LogisticRegression", LogisticRegression, X, Y2),
        _batch("LogisticRegression of three", LogisticRegression, X, WORDS),
        _batch("Ridge", Ridge, X, VALUES),
        _batch("RandomForestClassifier", RandomForestClassifier, X, WORDS, **few),
        _batch("RandomForestRegressor", RandomForestRegressor, X, VALUES, **few),
        _batch("HistGradientBoosting", HistGradientBoostingClassifier, X, Y2, **steps),
        _batch("HistGradientBoosting of three", HistGradientBoostingClassifier, X, WORDS, **steps),
        _batch("HistGradientBoostingRegressor", HistGradientBoostingRegressor, X, VALUES, **steps),
    ]
    behind = [
        Case(
            "logistic regression of a table", lambda: _guest("logistic-regression", {}), NEW_TABLE
        ),
        Case("ridge of a table", lambda: _guest("ridge", {}, VALUES), NEW_TABLE),
        Case("forest of a table", lambda: _guest("random-forest", few), NEW_TABLE),
        Case("boosting of a table", lambda: _guest("gradient-boosting", steps), NEW_TABLE),
    ]

    def by_columns(machine: Any) -> Any:
        numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
        coded = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        parts = [
            ("numbers", numbers, [0, 1]),
            ("texts", OneHotEncoder(handle_unknown="ignore", sparse_output=False), [2]),
            ("coded", coded, [3]),
            ("left", "drop", [4]),
        ]
        return make_pipeline(ColumnTransformer(parts, remainder="passthrough"), machine)

    mixed = np.array(
        [
            [np.nan if x[0] > 1 else x[0], x[1], *"ab"[k % 2], k % 3, "no", x[2]]
            for k, x in enumerate(X)
        ],
        dtype=object,
    )
    asked = np.array([[0.5, np.nan, "a", 2, "no", 0.1], [1, 2, "c", 9, "", -3.0]], dtype=object)
    inside = [
        Case("pipeline by columns", lambda: by_columns(svm.SVC()).fit(mixed, Y2), asked),
        Case("forest by columns", lambda: by_columns(
            RandomForestClassifier(**few)).fit(mixed, WORDS), asked),
        Case("calibrated by columns", lambda: svm.calibrate(
            by_columns(svm.SVC()), cv=2).fit(mixed, Y2), asked),
        Case("decisions of a logistic regression", lambda: _decided(
            Y2, threshold=0.3, cv=2, machine=_guest("logistic-regression", {})), NEW_TABLE),
        Case("decisions of a forest", lambda: _decided(
            WORDS, costs={("yes", "no"): 5.0}, cv=2, machine=_guest("random-forest", few)
        ), NEW_TABLE),
        Case("decisions of boosting", lambda: _decided(
            WORDS, cv=2, machine=_guest("gradient-boosting", steps)), NEW_TABLE),
    ]  # fmt: skip
    return [*bare, *behind, *inside]


def _batches() -> list[Case]:
    """Machines fitted to all samples at once."""
    sparse = sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
    return [
        _batch("SVC", svm.SVC, X, Y2),
        _batch("SVC linear", svm.SVC, X, WORDS, kernel="linear", class_weight="balanced"),
        _batch("SVC ovr", svm.SVC, X, Y3, multiclass="ovr", gamma=0.5),
        _batch("SVC ovo, sparse", svm.SVC, sparse, Y3, C=3),
        _batch("SVC sparse, linear", svm.SVC, sparse, Y2, kernel="linear"),
        _batch("SVC precomputed", svm.SVC, X, Y2, kernel="precomputed"),
        _batch("SVC single precision", svm.SVC, X.astype(np.float32), Y2.astype(bool)),
        _batch("SVC warm", svm.SVC, X, Y3, warm_start=True, kernel="poly", degree=2),
        _batch("SVC weights of classes", svm.SVC, X, Y2, class_weight={0: 1.0, 1: 2.5}),
        _batch("LinearSVC", svm.LinearSVC, X, Y2),
        _batch("LinearSVC classes, sparse", svm.LinearSVC, sparse, Y3, loss="hinge"),
        _batch("LinearSVC warm", svm.LinearSVC, X, Y3, loss="hinge", warm_start=True),
        _batch("LinearSVC few weights", svm.LinearSVC, X, Y3, penalty="l1", warm_start=True),
        _batch("LinearSVC all classes", svm.LinearSVC, sparse, Y3, multi_class="crammer_singer"),
        _batch("LinearSVC through the origin", svm.LinearSVC, X, Y2, fit_intercept=False),
        _batch("SVC through the origin", svm.SVC, X, Y3, fit_intercept=False, gamma=0.5),
        _batch("SVR through the origin", svm.SVR, X, VALUES, fit_intercept=False, gamma=0.5),
        Case("SVC of LIBSVM", _of_libsvm, NEW),
        _batch("LinearSVR through the origin", svm.LinearSVR, X, X[:, 0], fit_intercept=False),
        _batch("LinearSVR", svm.LinearSVR, X, X[:, 0], epsilon=0.1),
        _batch("LinearSVR squared", svm.LinearSVR, X, X[:, 0], loss="squared_epsilon_insensitive"),
        _batch("LinearSVCCV", svm.LinearSVCCV, X, Y2, Cs=[0.1, 1.0], cv=3),
        _batch("NuSVC", svm.NuSVC, X, Y2, nu=0.3),
        _batch("CostSensitiveSVC", svm.CostSensitiveSVC, X, Y2, cost_positive=3.0),
        _batch("SVR", svm.SVR, X, VALUES),
        _batch("SVR warm, linear", svm.SVR, X, VALUES, kernel="linear", warm_start=True),
        _batch("NuSVR", svm.NuSVR, X, VALUES),
        _batch("OneClassSVM", svm.OneClassSVM, X, nu=0.3),
        _batch("NystromSVC", svm.NystromSVC, X, Y2, n_components=5),
        _batch("NystromSVC ovr, warm", svm.NystromSVC, X, Y3, multiclass="ovr", warm_start=True),
        _batch("NystromSVC costs, sparse", svm.NystromSVC, sparse, Y2, kernel="poly",
               costs=svm.costs_from_matrix([[0, 1], [4, 0]]), n_components=4),
        _batch("NystromSVR", svm.NystromSVR, X, VALUES, n_components=6, landmarks="leverage"),
        _batch("TransductiveSVC", svm.TransductiveSVC, X, PARTLY, held_out_folds=2),
        _batch("TransductiveSVC ovr, warm", svm.TransductiveSVC, sparse, Y3, kernel="linear",
               warm_start=True),
        _batch("RankSVM", svm.RankSVM, X, VALUES, QUERIES),
        _batch("RankSVM rbf", svm.RankSVM, X, VALUES, QUERIES, kernel="rbf"),
        _batch("ChainSVC", svm.ChainSVC, X, WORDS, np.full(8, 2)),
        _batch("ChainSVC sparse", svm.ChainSVC, sparse, Y2, transitions=False, C=2.0),
        Case(
            "ChainSVC words",
            lambda: svm.ChainSVC(hasher=svm.TokenHasher(1000, window=1)).fit(SENTENCES, TAGS),
            [["the", "cat"], ["a", "tree"]],
        ),
        _batch("StructuredSVC", svm.StructuredSVC, X, Y3),
        _batch("StructuredSVC costs", svm.StructuredSVC, sparse, Y2,
               model=svm.MulticlassModel([[0, 1], [3, 0]])),
        _batch("StructuredSVC tree", svm.StructuredSVC, X, WORDS,
               model=svm.HierarchyModel({"no": "clear", "yes": "clear", "perhaps": "vague"})),
        _batch("SVCCV", svm.SVCCV, X, Y2, Cs=[1, 10], gammas=[0.1, "scale"], cv=2),
        _batch("SVRCV", svm.SVRCV, X, VALUES, Cs=[1.0], kernel="linear", cv=_folds()),
        _batch("SVCCV standardized", svm.SVCCV, X, Y3, Cs=[1, 10], cv=2),
        _batch("SVRCV standardized", svm.SVRCV, sparse, VALUES, Cs=[1.0], cv=2),
        _batch("SVC probability", svm.SVC, X, Y3, probability=True),
        _batch("NuSVC probability", svm.NuSVC, X, Y2, nu=0.3, probability=True),
        _batch("AdaptiveSVC", svm.AdaptiveSVC, X, WORDS, C=1.0, coupling=10.0),
        _batch("AdaptiveSVC rbf", svm.AdaptiveSVC, X, Y2, kernel="rbf", C=1.0, coupling=5.0),
        _batch(
            "AdaptiveSVC space", svm.AdaptiveSVC, X, Y2, graph="space", blend=2, n_neighbors=3,
            C=1.0, coupling=1000.0,
        ),
        _batch(
            "AdaptiveSVC rbf in space", svm.AdaptiveSVC, X, Y2, graph="space", n_neighbors=3,
            kernel="rbf", C=1.0, coupling=5.0,
        ),
        _batch(
            "AdaptiveSVR graph", svm.AdaptiveSVR, X, VALUES, graph=_ring(), C=1.0, coupling=1000.0
        ),
    ]  # fmt: skip


def _of_libsvm() -> Any:
    """A classifier with probabilities that was read from a file of LIBSVM."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model"
        save_libsvm(svm.SVC(probability=True, gamma=0.5).fit(X, Y3), path)
        return load_libsvm(path, n_features=X.shape[1])


def _ring() -> Any:
    ring = sp.lil_array((16, 16))
    for i in range(16):
        ring[i, (i + 1) % 16] = ring[(i + 1) % 16, i] = 1.0
    return ring.tocsc()


def _folds() -> Any:
    from sklearn.model_selection import KFold

    return KFold(3, shuffle=True, random_state=0)


def _long_stream() -> Case:
    """A stream long enough for records, with a change of concept and of a unit, and gaps."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(640, 3))
    y = np.digitize(np.where(np.arange(640) < 300, rows[:, 0], -rows[:, 0]), [-0.5, 0.5])
    y[:40] = np.minimum(y[:40], 1)
    rows[400:, 1] *= 1e4
    rows[rng.random(rows.shape) < 0.1] = np.nan

    def begun() -> Any:
        return svm.AdaptiveSVC(kernel="linear", C=1.0).partial_fit(rows[:600], y[:600])

    return Case(
        "AdaptiveSVC long stream", begun, NEW, lambda model: model.partial_fit(rows[600:], y[600:])
    )


def _streams() -> list[Case]:
    sparse = sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
    exact: dict[str, Any] = {"C": 1.0, "coupling": 1000.0, "kernel": "linear", "online": "exact"}
    return [
        _stream("IncrementalSVC", svm.IncrementalSVC, X, Y2, gamma=0.5),
        _stream("IncrementalSVC window", svm.IncrementalSVC, X, Y2, gamma=0.5, window=8),
        _stream("IncrementalSVC auto", svm.IncrementalSVC, X, Y2, first=30, **AUTO),
        _stream("IncrementalSVC auto, sparse", svm.IncrementalSVC, sparse, Y2, first=30, **AUTO),
        _stream("IncrementalSVC sparse", svm.IncrementalSVC, sparse, Y2, kernel="linear"),
        _stream("IncrementalSVC hard", svm.IncrementalSVC, X, Y2, C=np.inf, gamma=0.5),
        _stream("IncrementalSVR", svm.IncrementalSVR, X, VALUES, gamma=0.5),
        _stream("IncrementalSVR auto", svm.IncrementalSVR, X, VALUES, first=30, **AUTO),
        _stream("IncrementalOneClassSVM", svm.IncrementalOneClassSVM, X, VALUES, gamma=0.5),
        _path("AdaptiveSVC stream", svm.AdaptiveSVC, WORDS, None, **{**exact, "coupling": 20.0}),
        _path("AdaptiveSVC dates", svm.AdaptiveSVC, Y2, DATES, **exact, time_weighted=True),
        _path("AdaptiveSVR stream", svm.AdaptiveSVR, VALUES, np.arange(16) * 2, **exact, horizon=6),
        _path(
            "AdaptiveSVC filter", svm.AdaptiveSVC, WORDS, None, online="filter", n_components=4,
            coupling=1e4, kernel="rbf",
        ),
        _path(
            "AdaptiveSVC filter, dates", svm.AdaptiveSVC, Y2, DATES, kernel="linear", C=1.0,
            time_weighted=True,
        ),
        _path(
            "AdaptiveSVR filter", svm.AdaptiveSVR, VALUES, np.arange(16) * 2, online="filter",
            n_components=3, coupling=1e6, kernel="poly", scale=False,
        ),
        _long_stream(),
    ]  # fmt: skip


def _networks() -> list[Case]:
    kinds = (bayes.NaiveBayes, bayes.TAN, bayes.KDB, bayes.AODE)
    fitted = [_table(kind.__name__, kind) for kind in kinds]
    warming = [_counted(f"{kind.__name__} warming up", kind) for kind in kinds]
    counting = [_counted(f"{kind.__name__} counting", kind, warm_up=2) for kind in kinds]
    arcs = [("x0", "x2"), ("class", "x0")]
    return [
        *fitted,
        *warming,
        *counting,
        _table("NaiveBayes gaussian", bayes.NaiveBayes, Y2, numeric="gaussian", alpha=0.0),
        _table("TAN em", bayes.TAN, missing="em"),
        _table("KDB cut points", bayes.KDB, numeric={1: [-0.5, 0.5]}, class_prior=[0.2, 0.3, 0.5]),
        _table("KDB selective", bayes.KDB, k=3, selective=True),
        _table("NetworkClassifier", bayes.NetworkClassifier, arcs=arcs, without_class=["x1"]),
        _table("TAN discriminative", bayes.TAN, learning="discriminative", penalty=1.0),
        _table("NaiveBayes discriminative", bayes.NaiveBayes, Y2, learning="discriminative"),
        _table("StructuralTM", bayes.StructuralTM, penalty=1.0),
        _table("TMClustering", bayes.TMClustering, None, n_clusters=2, random_state=0),
        _table("TMClustering tm", bayes.TMClustering, None, method="tm", random_state=1),
    ]


def cases() -> list[Case]:
    """All of them, and every estimator before it is fitted."""
    unfitted = [
        Case(f"{name} unfitted", getattr(module, name))
        for module in (svm, bayes)
        for name in module.__all__
        if hasattr(getattr(module, name), "get_params")
    ]
    piped = Case("pipeline", _piped, NEW_TABLE)
    return [*_batches(), *_streams(), *_networks(), piped, *_wrapped(), *_guests(), *unfitted]
