"""What one machine shows of a picture: boundary, support vectors, errors, certificate.

A panel is kept while a page is open. It knows the last picture: the incremental machine goes on
from there by exact updates, one for each point that came, went or moved. The families of machines
differ in what they show, and stand side by side in this one file, since the page reads all their
answers alike.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindero.errors import NotSeparableError
from lindero.play.machines import Parameters, write_call, write_rows
from lindero.play.protocol import MOST_FOR_PATH, UNLABELLED, ChosenMachine, PictureRequest
from lindero.runtime.arrays import Array
from lindero.svm.costs import class_terms

#: Points of the curve of a regression.
_CURVE = 241

#: More changes than this, as a number and as a share of the points, are learned in one fit.
_FEW_CHANGES, _SHARE_CHANGED = 40, 0.3

#: Updates after which the log of the incremental machine is begun anew.
_LONGEST_LOG = 20_000

#: The ends of the path in C.
PATH_ENDS = (0.01, 1000.0)

#: Log-odds beyond this look the same.
_MOST_LOG_ODDS = 30.0


class RefusalError(Exception):
    """Why a machine shows nothing: a word that the page has a sentence for, and values in it."""

    def __init__(self, code: str, **values: Any) -> None:
        super().__init__(code)
        self.code, self.values = code, values


@dataclass(frozen=True)
class TrainingRows:
    """The points that a machine learns from, in the order of drawing."""

    ids: Array
    X: Array
    labels: Array
    third: Array
    left_out: int

    def without(self, identity: int) -> TrainingRows:
        """All but one."""
        kept = self.ids != identity
        return TrainingRows(
            self.ids[kept], self.X[kept], self.labels[kept], self.third[kept], self.left_out
        )


@dataclass
class Shown:
    """A fitted machine, ready to be looked at: facts for the page, arrays that do not depend on the
    grid, and values on points of the plane, one row for each function."""

    facts: dict[str, Any]
    evaluate: Callable[[Array], dict[str, Array]]
    arrays: dict[str, Array] = field(default_factory=dict)


def select_rows(request: PictureRequest, chosen: ChosenMachine) -> TrainingRows:
    """The points that the machine can use, or why it cannot."""
    points, machine = request.points, chosen.machine
    labelled = points.labels != UNLABELLED
    if machine.family == "tube" or machine.name == "transductive":
        used = np.ones(len(points.ids), dtype=bool)
    else:
        used = labelled
    labels = points.labels[used]
    if machine.family == "tube":
        if len(labels) < 2:
            raise RefusalError("few_points")
    else:
        classes = np.unique(labels[labels != UNLABELLED])
        if len(classes) < 2:
            raise RefusalError("one_class")
        if len(classes) > machine.most_classes:
            raise RefusalError("third_class")
    return TrainingRows(
        points.ids[used], points.X[used], labels, points.third[used], int((~used).sum())
    )


# -- exact updates ---------------------------------------------------------------------------------


@dataclass
class PointFollower:
    """An incremental machine that follows the points as they are drawn."""

    estimator: Any = None
    _parameters: Parameters | None = None
    _held: dict[int, tuple[int, float, float, int]] = field(default_factory=dict)
    _next: int = 0
    _took: dict[str, Any] = field(default_factory=dict)

    def follow(self, chosen: ChosenMachine, rows: TrainingRows) -> dict[str, Any]:
        """Learn and forget what has changed; what that took."""
        wanted = {
            int(i): (float(x), float(y), int(label))
            for i, (x, y), label in zip(rows.ids, rows.X, rows.labels, strict=True)
        }
        held = self._held
        gone = [i for i in held if i not in wanted]
        new = [i for i in wanted if i not in held]
        moved = [i for i in wanted if i in held and held[i][1:3] != wanted[i][:2]]
        turned = [
            i for i in wanted
            if i in held and i not in moved and held[i][3] != wanted[i][2]
        ]  # fmt: skip
        n_changes = len(gone) + len(new) + len(moved) + len(turned)
        classes = {label for _, _, label in wanted.values()}
        anew = (
            self.estimator is None
            or dict(chosen.parameters) != self._parameters
            or n_changes > max(_FEW_CHANGES, _SHARE_CHANGED * len(wanted))
            or set(self.estimator.classes_.tolist()) != classes
            or len(self.estimator.updates_) > _LONGEST_LOG
        )
        if not anew and n_changes == 0:
            return self._took
        if not anew:
            try:
                self._took = self._update(wanted, gone, new, moved, turned)
                return self._took
            except ValueError:
                pass  # such as the hard margin on the way to points that can be separated again
        self._took = self._begin(chosen, rows, wanted)
        return self._took

    def _begin(
        self, chosen: ChosenMachine, rows: TrainingRows, wanted: dict[int, tuple[float, float, int]]
    ) -> dict[str, Any]:
        self.estimator = None
        estimator = chosen.machine.make(chosen.parameters)
        begun = time.perf_counter()
        estimator.fit(rows.X, rows.labels, ids=np.arange(len(rows.ids)))
        seconds = time.perf_counter() - begun
        self._held = {i: (k, x, y, label) for k, (i, (x, y, label)) in enumerate(wanted.items())}
        self._next, self._parameters = len(wanted), dict(chosen.parameters)
        self.estimator = estimator
        return {"from_scratch": True, "microseconds": 1e6 * seconds, "rows": len(wanted)}

    def _update(
        self,
        wanted: dict[int, tuple[float, float, int]],
        gone: list[int],
        new: list[int],
        moved: list[int],
        turned: list[int],
    ) -> dict[str, Any]:
        estimator, seconds = self.estimator, 0.0
        n_before = len(estimator.updates_)
        for i in [*new, *moved]:
            x, y, label = wanted[i]
            row, number = np.array([[x, y]]), self._next
            self._next += 1
            begun = time.perf_counter()
            estimator.partial_fit(row, [label], ids=[number])
            seconds += time.perf_counter() - begun
            before, self._held[i] = self._held.get(i), (number, x, y, label)
            if before is not None:
                seconds += self._forget(before[0])
        for i in turned:
            number, x, y, _ = self._held[i]
            begun = time.perf_counter()
            estimator.replace(number, y=wanted[i][2])
            seconds += time.perf_counter() - begun
            self._held[i] = (number, x, y, wanted[i][2])
        for i in gone:
            seconds += self._forget(self._held.pop(i)[0])
        log = estimator.updates_[n_before:]
        return {
            "from_scratch": bool(log["from_scratch"].any()),
            "microseconds": 1e6 * seconds,
            "updates": len(log),
            "learned": int((log["kind"] == "add").sum()),
            "forgotten": int((log["kind"] == "forget").sum()),
            "iterations": int(log["iterations"].sum()),
            "set_changes": int(log["set_changes"].sum()),
            "corrections": int(log["corrections"].sum()),
        }

    def _forget(self, number: int) -> float:
        begun = time.perf_counter()
        self.estimator.forget(number)
        return time.perf_counter() - begun

    def order(self, rows: TrainingRows) -> Array:
        """Where each row stands among the samples held."""
        places = {number: k for k, number in enumerate(self.estimator.ids_.tolist())}
        return np.array([places[self._held[int(i)][0]] for i in rows.ids], dtype=np.intp)

    def leave_out(self, identity: int) -> Any:
        """A copy that has forgotten one point."""
        other = copy.deepcopy(self.estimator)
        other.forget(self._held[identity][0])
        return other


@dataclass(frozen=True)
class PathInC:
    """The solutions of a machine for all C, and what they are made of."""

    path: Any
    rows: TrainingRows
    arguments: dict[str, Any]
    bounds: Array
    margins: Array

    @classmethod
    def find(cls, chosen: ChosenMachine, rows: TrainingRows) -> PathInC:
        """Follow the solution from one end to the other."""
        from lindero.svm import IncrementalSVC

        if len(rows.ids) > MOST_FOR_PATH:
            raise RefusalError("path_too_long", most=MOST_FOR_PATH)
        arguments = {**chosen.machine.arguments(chosen.parameters), "C": PATH_ENDS[0]}
        if chosen.machine.name == "transductive" or len(np.unique(rows.labels)) != 2:
            raise RefusalError("no_path")
        with _Refusing():
            estimator = IncrementalSVC(**arguments).fit(rows.X, rows.labels)
            path = estimator.path(*PATH_ENDS)
        margins, weights = np.ones(2), np.ones(2)
        if "cost_positive" in arguments:
            costs = [arguments[name] for name in ("cost_positive", "cost_negative")]
            margins, weights = class_terms(estimator.classes_, arguments["positive_class"], *costs)
        codes = np.searchsorted(estimator.classes_, rows.labels)
        return cls(path, rows, arguments, weights[codes], margins)

    def at(self, C: float) -> tuple[Array, float, Array]:
        """Coefficients, constant, and which coefficients are at their bounds."""
        coefficients, intercept = self.path.at(C)
        bounded = np.abs(coefficients) >= C * self.bounds * (1.0 - 1e-9)
        return coefficients, intercept, bounded

    def values(self, C: float, points: Array) -> Array:
        """Decision values at points of the plane."""
        from sklearn.metrics.pairwise import pairwise_kernels

        coefficients, intercept = self.path.at(C)
        used = np.abs(coefficients) > 0.0
        kernel = {k: v for k, v in self.arguments.items() if k in ("gamma", "degree", "coef0")}
        values: Array = pairwise_kernels(
            points, self.rows.X[used], metric=self.arguments["kernel"], **kernel
        )
        found: Array = values @ coefficients[used] + intercept
        return found


# -- what families of machines show ----------------------------------------------------------------


def _certify(certificate: Any) -> dict[str, Any]:
    return {
        "optimal": certificate.status.startswith("Optimal"),
        "status": certificate.status,
        "kkt_gap": float(certificate.kkt_gap),
        "duality_gap": float(certificate.duality_gap),
        "steps": int(certificate.n_iter),
    }


def _find_margin(estimator: Any, n_classes: int) -> float | None:
    """1/‖w‖, from ‖w‖² = Σ z (f − b) over the support vectors; None where there is none."""
    if n_classes != 2 or not len(estimator.support_):
        return None
    values = estimator.decision_function(estimator.support_vectors_)
    z = np.asarray(estimator.dual_coef_).ravel()
    squared = float(z @ (values - float(estimator.intercept_[0])))
    return squared**-0.5 if squared > 0.0 else None


def show_margin(estimator: Any, rows: TrainingRows, order: Array | None = None) -> Shown:
    """A support vector machine for classes. `order` is where rows stand among its samples."""
    classes = estimator.classes_
    places = np.arange(len(rows.ids)) if order is None else order
    ids = np.empty(len(rows.ids), dtype=np.int64)
    ids[places] = rows.ids
    labelled = rows.labels != UNLABELLED
    predicted = estimator.predict(rows.X)
    wrong = labelled & (predicted != rows.labels)
    margins = getattr(estimator, "margins_", np.ones(2))
    facts = {
        "scale": "margin",
        "classes": classes.tolist(),
        "margins": [float(m) for m in margins],
        "free": ids[estimator.free_support_].tolist(),
        "bounded": ids[estimator.bounded_support_].tolist(),
        "wrong": rows.ids[wrong].tolist(),
        "labelled": int(labelled.sum()),
        "certificate": _certify(estimator.certificate_),
        "margin": _find_margin(estimator, len(classes)),
    }
    if hasattr(estimator, "transduction_"):
        found = np.asarray(estimator.transduction_)[~labelled]
        facts["found"] = [
            [int(i), int(label)] for i, label in zip(rows.ids[~labelled], found, strict=True)
        ]

    def evaluate(points: Array) -> dict[str, Array]:
        values = estimator.decision_function(points)
        if values.ndim == 1:
            return {"value": values}
        pairs = getattr(estimator, "decision_function_shape", None) == "ovo"
        return {"leads": find_leads(values)} if pairs else {"scores": values.T}

    return Shown(facts, evaluate)


def find_leads(values: Array) -> Array:
    """How far each of three classes is above the other two, from values of 0-1, 0-2 and 1-2."""
    first, second, third = values.T
    return np.array(
        [np.minimum(first, second), np.minimum(-first, third), np.minimum(-second, -third)]
    )


def show_path(path: PathInC, C: float) -> Shown:
    """A machine at one place of its path in C."""
    rows = path.rows
    classes = np.unique(rows.labels)
    coefficients, intercept, bounded = path.at(C)
    support = np.abs(coefficients) > 0.0
    values = path.values(C, rows.X)
    wrong = classes[(values >= 0.0).astype(int)] != rows.labels
    squared = float(coefficients @ (values - intercept))
    facts = {
        "scale": "margin",
        "classes": classes.tolist(),
        "margins": path.margins.tolist(),
        "free": rows.ids[support & ~bounded].tolist(),
        "bounded": rows.ids[support & bounded].tolist(),
        "wrong": rows.ids[wrong].tolist(),
        "labelled": len(rows.ids),
        "certificate": None,
        "margin": squared**-0.5 if squared > 0.0 else None,
        "on_path": True,
    }
    return Shown(facts, lambda points: {"value": path.values(C, points)})


def show_tube(estimator: Any, rows: TrainingRows, view: tuple[float, ...]) -> Shown:
    """A regression: its curve, and the points outside the tube."""
    heights = rows.X[:, 1]
    distance = np.abs(estimator.predict(rows.X[:, :1]) - heights)
    facts = {
        "scale": "tube",
        "epsilon": float(estimator.epsilon),
        "free": rows.ids[estimator.free_support_].tolist(),
        "bounded": rows.ids[estimator.bounded_support_].tolist(),
        "wrong": rows.ids[estimator.bounded_support_].tolist(),
        "labelled": len(rows.ids),
        "mean_error": float(distance.mean()),
        "certificate": _certify(estimator.certificate_),
        "margin": None,
    }
    across = np.linspace(view[0], view[1], _CURVE)[:, None]
    return Shown(facts, lambda points: {}, {"curve": estimator.predict(across)})


def show_moving(estimator: Any, rows: TrainingRows) -> Shown:
    """A line for each instant. The page draws the one that it is asked for."""
    classes = estimator.classes_
    predicted = estimator.predict(rows.X, times=estimator.times_)
    carried = np.abs(estimator.dual_coef_[0])
    full = carried >= float(estimator.C_) * (1.0 - 1e-6)
    facts = {
        "scale": "moving",
        "classes": classes.tolist(),
        "margins": [1.0, 1.0],
        "free": rows.ids[estimator.support_[~full]].tolist(),
        "bounded": rows.ids[estimator.support_[full]].tolist(),
        "wrong": rows.ids[predicted != rows.labels].tolist(),
        "labelled": len(rows.ids),
        "order": rows.ids.tolist(),
        "certificate": _certify(estimator.certificate_),
        "margin": None,
    }
    lines = np.column_stack([estimator.coef_, estimator.intercept_])
    return Shown(facts, lambda points: {}, {"lines": lines})


def show_bayes(
    estimator: Any, rows: TrainingRows, table: Callable[[Array, Array | None], Array]
) -> Shown:
    """A Bayesian classifier: log-odds, and its network."""
    classes = estimator.classes_
    X = table(rows.X, rows.third)
    predicted = estimator.predict(X)
    n_columns = X.shape[1]
    network = estimator.network_
    inner = [[a, b] for a, b in network.arcs if a != network.class_name]
    probability = estimator.predict_proba(X)
    own = probability[np.arange(len(X)), np.searchsorted(classes, rows.labels)]
    facts = {
        "scale": "log-odds",
        "classes": classes.tolist(),
        "free": [],
        "bounded": [],
        "wrong": rows.ids[predicted != rows.labels].tolist(),
        "labelled": len(rows.ids),
        "certificate": None,
        "margin": None,
        "log_loss": float(-np.log(np.maximum(own, 1e-300)).mean()),
        "passes": int(estimator.n_iter_),
        "network": {
            "columns": n_columns,
            "arcs": [[int(a[1:]), int(b[1:])] for a, b in inner],
            "normal": [int(name[1:]) for name in network.left_out],
        },
    }

    def evaluate(points: Array) -> dict[str, Array]:
        logs = estimator.predict_log_proba(table(points, None))
        logs = np.clip(logs, -_MOST_LOG_ODDS, 0.0)
        return {"value": logs[:, 1] - logs[:, 0]} if logs.shape[1] == 2 else {"scores": logs.T}

    return Shown(facts, evaluate)


# -- a panel ---------------------------------------------------------------------------------------


class Panel:
    """One machine on one page."""

    def __init__(self) -> None:
        self._follower = PointFollower()
        self._key: Any = None
        self._shown: Shown | None = None
        self._without: tuple[Any, Shown] | None = None
        self._path: tuple[Any, PathInC] | None = None
        self._left_out_error: tuple[Any, float | None] | None = None

    def show(self, request: PictureRequest, chosen: ChosenMachine) -> dict[str, Any]:
        """Fit to the points; the facts. `draw` has the arrays."""
        key = self._make_key(request, chosen)
        if key != self._key:
            # Nothing is shown of a picture that cannot be fitted.
            self._key, self._shown, self._without = None, None, None
            rows = select_rows(request, chosen)
            begun = time.perf_counter()
            self._shown, exact = self._fit(request, chosen, rows)
            took = {"seconds": time.perf_counter() - begun, "exact": exact}
            self._shown.facts |= {"left_out": rows.left_out, **took}
            self._key = key
        assert self._shown is not None
        return {**self._shown.facts, **self._leave_out(request, chosen)}

    def draw(self, request: PictureRequest, resolution: int) -> dict[str, Array]:
        """Values on a grid over the view, from the lower left, and what does not depend on it."""
        assert self._shown is not None
        left, right, bottom, top = request.view
        across = np.linspace(left, right, resolution)
        up = np.linspace(bottom, top, resolution)
        points = np.column_stack([np.tile(across, resolution), np.repeat(up, resolution)])
        arrays = dict(self._shown.arrays)
        arrays |= _reshape(self._shown.evaluate(points), resolution)
        if self._without is not None:
            other = self._without[1]
            found = {**other.arrays, **_reshape(other.evaluate(points), resolution)}
            arrays |= {f"without_{name}": values for name, values in found.items()}
        return arrays

    def find_path(self, request: PictureRequest, chosen: ChosenMachine) -> dict[str, Any]:
        """Where the solution bends as C goes from one end to the other."""
        if chosen.machine.family not in ("margin", "exact"):
            raise RefusalError("no_path")
        rows = select_rows(request, chosen)
        begun = time.perf_counter()
        found = PathInC.find(chosen, rows)
        self._path = (self._make_key(request, chosen, without_penalty=True), found)
        self._key = None
        bends = found.path.C
        return {
            "bends": [float(f"{C:.5g}") for C in bends[1:-1]],
            "ends": list(PATH_ENDS),
            "seconds": time.perf_counter() - begun,
        }

    # -- parts ------------------------------------------------------------------------------------

    def _make_key(
        self, request: PictureRequest, chosen: ChosenMachine, without_penalty: bool = False
    ) -> Any:
        points, parameters = request.points, dict(chosen.parameters)
        if without_penalty:
            parameters.pop("C", None)
        values = (points.ids, points.X, points.labels, points.third)
        view = request.view if chosen.machine.family == "tube" else None
        return (
            chosen.machine.name, tuple(sorted(parameters.items())), request.categories, view,
            chosen.on_path,
            *(array.tobytes() for array in values),
        )  # fmt: skip

    def _fit(
        self, request: PictureRequest, chosen: ChosenMachine, rows: TrainingRows
    ) -> tuple[Shown, dict[str, Any] | None]:
        """A machine fitted to rows; of an incremental one, what that took."""
        penalty = chosen.parameters.get("C", np.inf)
        if chosen.on_path and self._path and PATH_ENDS[0] <= penalty <= PATH_ENDS[1]:
            key, path = self._path
            if key == self._make_key(request, chosen, without_penalty=True):
                return show_path(path, float(penalty)), None
        exact = None
        with _Refusing() as warned:
            if chosen.machine.family == "exact":
                exact = self._follower.follow(chosen, rows)
                order = self._follower.order(rows)
                shown = show_margin(self._follower.estimator, rows, order)
            else:
                shown = _fit_batch(request, chosen, rows)
        shown.facts["warnings"] = warned
        if any("positive semi-definite" in text for text in warned) and shown.facts["certificate"]:
            shown.facts["certificate"] |= {"optimal": False, "status": "A stationary point:"}
        return shown, exact

    def _leave_out(self, request: PictureRequest, chosen: ChosenMachine) -> dict[str, Any]:
        """The machine without one point, and how it does on each point left out."""
        found: dict[str, Any] = {}
        if request.leave_one_out:
            if self._left_out_error is None or self._left_out_error[0] != self._key:
                error = _leave_each_out(request, chosen, self._follower)
                self._left_out_error = (self._key, error)
            found["left_out_error"] = self._left_out_error[1]
        if request.without is None:
            self._without = None
            return found
        key = (self._key, request.without)
        if self._without is None or self._without[0] != key:
            self._without = None
            rows = select_rows(request, chosen)
            if request.without not in rows.ids:
                return found
            fewer = rows.without(request.without)
            try:
                with _Refusing():
                    if len(np.unique(fewer.labels)) < len(np.unique(rows.labels)):
                        raise RefusalError("last_of_class")
                    if chosen.machine.family == "exact" and not self._shown_on_path:
                        other = self._follower.leave_out(request.without)
                        shown = Shown({}, lambda points: {"value": other.decision_function(points)})
                    else:
                        shown = _fit_batch(request, chosen, fewer)
            except RefusalError as refusal:
                found["without_refused"] = refusal.code
                return found
            self._without = (key, shown)
        found["without"] = request.without
        return found

    @property
    def _shown_on_path(self) -> bool:
        return self._shown is not None and bool(self._shown.facts.get("on_path"))


def _reshape(arrays: dict[str, Array], resolution: int) -> dict[str, Array]:
    return {
        name: values.reshape(*values.shape[:-1], resolution, resolution)
        for name, values in arrays.items()
    }


class _Refusing:
    """Turns what a machine says of the points into a refusal, and collects what it warns of."""

    def __enter__(self) -> list[str]:
        self._catching = warnings.catch_warnings(record=True)
        self._caught: Any = self._catching.__enter__()
        warnings.simplefilter("always")
        self._said: list[str] = []
        return self._said

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        texts = [str(w.message) for w in self._caught if issubclass(w.category, UserWarning)]
        self._said += dict.fromkeys(" ".join(text.split())[:300] for text in texts)
        self._catching.__exit__(kind, error, trace)
        if isinstance(error, NotSeparableError):
            raise RefusalError("not_separable") from error
        if isinstance(error, (ValueError, ArithmeticError, np.linalg.LinAlgError)):
            raise RefusalError("refused", message=" ".join(str(error).split())[:400]) from error


def make_table(
    request: PictureRequest, parameters: Parameters
) -> tuple[Callable[[Array, Array | None], Array], list[int]]:
    """From points of the plane to rows of a Bayesian classifier, and which columns are categories.
    Points of a grid have the third column that the page asks for."""
    has_third = bool((request.points.third >= 0).any())
    asked = {"first": 0.0, "second": 1.0}.get(parameters.get("third", "unknown"), np.nan)

    def table(points: Array, third: Array | None) -> Array:
        columns = [points[:, 0], np.round(points[:, 1]) if request.categories else points[:, 1]]
        if has_third:
            own = np.full(len(points), asked)
            if third is not None:
                own = np.where(third >= 0, third, np.nan)
            columns.append(own)
        return np.column_stack(columns)

    return table, ([1] if request.categories else []) + ([2] if has_third else [])


def _fit_batch(request: PictureRequest, chosen: ChosenMachine, rows: TrainingRows) -> Shown:
    """Any machine fitted to rows at once."""
    machine, parameters = chosen.machine, chosen.parameters
    estimator = machine.make(parameters)
    if machine.family == "tube":
        return show_tube(estimator.fit(rows.X[:, :1], rows.X[:, 1]), rows, request.view)
    if machine.family == "moving":
        return show_moving(estimator.fit(rows.X, rows.labels), rows)
    if machine.family == "bayes":
        table, categories = make_table(request, parameters)
        if categories:
            estimator.set_params(categorical_features=categories)
        return show_bayes(estimator.fit(table(rows.X, rows.third), rows.labels), rows, table)
    return show_margin(estimator.fit(rows.X, rows.labels), rows)


def _leave_each_out(
    request: PictureRequest, chosen: ChosenMachine, follower: PointFollower
) -> float | None:
    """The share of points that the machine gets wrong that never saw them; None where that is not
    offered."""
    rows, machine = select_rows(request, chosen), chosen.machine
    two = len(np.unique(rows.labels)) == 2
    if len(rows.ids) > MOST_FOR_PATH or machine.name == "transductive" or not two:
        return None
    try:
        with _Refusing():
            if machine.family == "exact" and follower.estimator is not None:
                values = follower.estimator.leave_one_out()[follower.order(rows)]
            elif machine.family == "margin":
                estimator = machine.make(chosen.parameters).fit(rows.X, rows.labels)
                values = estimator.leave_one_out(rows.X, rows.labels)
            else:
                return None
    except RefusalError:
        return None
    return float(((values > 0.0) != (rows.labels == rows.labels.max())).mean())


# -- as code ---------------------------------------------------------------------------------------


def write_script(request: PictureRequest, chosen: ChosenMachine) -> str:
    """Python that reproduces what the machine shows, with a picture where matplotlib is there."""
    rows = select_rows(request, chosen)
    machine, parameters = chosen.machine, chosen.parameters
    more: dict[str, Any] = {}
    X, y = rows.X, rows.labels.tolist()
    table = X.tolist()
    if machine.family == "bayes":
        make, categories = make_table(request, parameters)
        table = make(X, rows.third).tolist()
        more = {"categorical_features": categories} if categories else {}
    has_missing = any(value != value for row in table for value in row)
    lines = ["import numpy as np"] + (["from numpy import nan"] if has_missing else []) + [
        f"from {machine.home} import {machine.estimator}", "",
        f"points = np.array({write_rows(table)})",
    ]  # fmt: skip
    call = write_call(machine, parameters, more)
    if machine.family == "tube":
        lines += [
            "X, y = points[:, :1], points[:, 1]",
            f"model = {call}.fit(X, y)",
            "print(model.certificate_)",
            'print(f"mean error {np.abs(model.predict(X) - y).mean():.4f}")',
        ]
    else:
        times = ", times=model.times_" if machine.family == "moving" else ""
        labels = write_rows(y).replace("[\n    ", "[").replace("\n]", "]")
        lines += [f"X, y = points, np.array({labels})", f"model = {call}.fit(X, y)"]
        if machine.family != "bayes":
            lines += ["print(model.certificate_)"]
        known = "y >= 0" if machine.name == "transductive" else None
        wrong = f"model.predict(X{times}) != y"
        wrong = f"({wrong})[{known}]" if known else f"({wrong})"
        lines += [f'print(f"{{{wrong}.sum()}} of {{len(y)}} points are on the wrong side")']
    if machine.family == "margin" or machine.family == "exact":
        shown = "X, model.transduction_" if machine.name == "transductive" else "X, y"
        lines += [
            "", "import matplotlib.pyplot as plt", "from lindero.plot import BoundaryDisplay", "",
            f"BoundaryDisplay.from_estimator(model, {shown})", "plt.show()",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"
