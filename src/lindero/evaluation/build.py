"""Machines behind a few verbs: make one by its name, fit it, ask it.

Times, queries and weights of rows: each machine takes these by a name of its own, or not at all;
here is the one place that knows. C and epsilon of regressions are in units of the target's standard
deviation where they are not set (`scale_to_target`): whether prices are in euros or in thousands
then makes no difference.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from lindero.bayes.tables.wide_columns import find_row_names
from lindero.evaluation.encoder import TableEncoder
from lindero.evaluation.folds import take_rows
from lindero.evaluation.registry import (
    CLASSIFICATION,
    RANKING,
    REGRESSION,
    TAGGING,
    MachineSpec,
    find_final,
    find_inner,
    find_machine,
    identify_machine,
    suggest_name,
)
from lindero.runtime.arrays import Array
from lindero.svm.sequences import count_runs

#: Guests use several threads from this many rows on.
_MANY_ROWS = 10_000

#: Steps of the pipelines that are built here.
TABLE_STEP = "table"
MACHINE_STEP = "machine"

#: Defaults of regressions, in standard deviations of the target.
_USUAL = {"C": 1.0, "epsilon": 0.1}

#: Regressions whose `tol` is a gap in the units of the target.
_TOL_OF_TARGET = ("SVR", "NuSVR", "NystromSVR", "LinearSVR")


# -- making ---------------------------------------------------------------------------------------


def make_machine(
    machine: str | MachineSpec,
    params: Mapping[str, Any] | None = None,
    *,
    random_state: int | None = None,
) -> Any:
    """An unfitted estimator for tables with numbers, categories and missing values.

    Parameters
    ----------
    machine : str or MachineSpec
        Its name, one of :data:`~lindero.evaluation.MACHINES`.
    params : dict or None, default=None
        Parameters of the estimator, and those of its table encoder.
    random_state : int or None, default=None
        Given to estimators that have such a parameter, unless `params` does.

    Returns
    -------
    estimator : estimator or Pipeline
        A Bayesian classifier takes tables as they are; any other comes as a pipeline of a
        :class:`~lindero.evaluation.TableEncoder`, the step "table", and itself, the step "machine".

    See Also
    --------
    fit_machine : Fits it, with times, queries and weights.
    scale_to_target : C and epsilon of a regression in units of the target.

    Examples
    --------
    >>> from lindero.evaluation import make_machine
    >>> model = make_machine("svc", {"C": 10})
    >>> rows = [["red", 1.0], ["blue", 2.0], ["red", 4.0], ["blue", None]]
    >>> model.fit(rows, ["low", "low", "high", "low"]).predict([["red", 4.5]])
    array(['high'], dtype='<U4')
    """
    found = find_machine(machine) if isinstance(machine, str) else machine
    kind = found.load()
    given = {**found.preset, **(params or {})}
    _sharpen(given, params or {}, kind)
    of_table = {name: given.pop(name) for name in list_encoder_parameters(found) if name in given}
    if random_state is not None and "random_state" in inspect.signature(kind).parameters:
        given.setdefault("random_state", random_state)
    estimator = kind(**given)
    if found.takes_tables:
        return estimator
    from sklearn.pipeline import Pipeline

    return Pipeline([(TABLE_STEP, TableEncoder(**of_table)), (MACHINE_STEP, estimator)])


def _sharpen(given: dict[str, Any], chosen: Mapping[str, Any], kind: type) -> None:
    """A `tol` in units of the target is for the usual epsilon: a smaller one that was chosen needs
    a smaller tol."""
    epsilon = chosen.get("epsilon")
    if kind.__name__ not in _TOL_OF_TARGET or "tol" in chosen or "tol" not in given:
        return
    if isinstance(epsilon, (int, float)) and epsilon >= 0.0:
        usual = inspect.signature(kind).parameters["tol"].default
        given["tol"] = min(given["tol"], max(0.01 * epsilon, usual))


def list_encoder_parameters(machine: MachineSpec) -> tuple[str, ...]:
    """Parameters that go to the table encoder of a machine, where it has one."""
    names = ("categorical_features", "min_count", "text_columns", "keep_row_names")
    return () if machine.takes_tables else names


def choose_table_parameters(machine: MachineSpec, keep_row_names: Any, X: Any) -> dict[str, Any]:
    """What `make_machine` is told to have a machine keep the columns of X that name rows. Bayesian
    classifiers, which read tables themselves, take `categorical_features` for that."""
    if not keep_row_names:
        return {}
    if not machine.takes_tables:
        return {"keep_row_names": True}
    found = find_row_names(X)
    return {"categorical_features": found} if found else {}


def unwrap_machine(model: Any) -> Any:
    """The machine itself, whether it comes in a pipeline, in what calibrates it, or alone."""
    return find_final(model)


def scale_to_target(machine: str | MachineSpec, y: Any) -> MachineSpec:
    """A regression of which C is tried, with C, epsilon and tol, where they are not set and it has
    them, in units of the target's standard deviation.

    Parameters
    ----------
    machine : str or MachineSpec
        Any machine; others than regressions come back as they are.
    y : array-like or None
        Targets.

    Returns
    -------
    machine : MachineSpec
        For :func:`make_machine`. :func:`cross_validate` and :func:`tune` do this by themselves.

    See Also
    --------
    make_machine : An estimator of the result.

    Examples
    --------
    >>> from lindero.evaluation import make_machine, scale_to_target
    >>> prices = [100_000.0, 300_000.0]
    >>> make_machine(scale_to_target("svr", prices))["machine"].C
    100000.0
    """
    found = find_machine(machine) if isinstance(machine, str) else machine
    if found.task != REGRESSION or y is None or "C" not in found.grid:
        return found
    values = np.asarray(y)
    if values.dtype.kind not in "iuf" or len(values) < 2 or not np.isfinite(values).all():
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        unit = float(f"{np.std(values, dtype=np.float64):.3g}")
    if unit == 0.0 or not np.isfinite(unit):
        return found

    def scale(value: float) -> float:
        return float(f"{unit * value:.3g}")

    grid = {
        name: tuple(map(scale, tried)) if name in _USUAL else tried
        for name, tried in found.grid.items()
    }
    takes = inspect.signature(found.load()).parameters
    usual = {name: scale(value) for name, value in _USUAL.items() if name in takes}
    if found.class_name in _TOL_OF_TARGET:
        usual["tol"] = scale(takes["tol"].default)
    return replace(found, grid=grid, preset={**usual, **found.preset})


# -- parameters as they are typed -----------------------------------------------------------------

_WORDS = {"none": None, "true": True, "false": False}

#: What only a program can give.
_NOT_FOR_TYPING = ("callback", "verbose")


def parse_settings(
    pairs: Iterable[str], machine: str | MachineSpec, y: Array | None = None
) -> dict[str, Any]:
    """Parameters of a machine from texts like ``C=10``.

    Parameters
    ----------
    pairs : iterable of str
        Of the form ``name=value``.
    machine : str or MachineSpec
        Whose parameters they are.
    y : ndarray or None, default=None
        Labels of the data, which the keys of `class_weight` and `balance` then stand for.

    Returns
    -------
    params : dict
        Names and values. Which values are allowed is for the estimator to say.

    See Also
    --------
    make_machine : Takes them.

    Examples
    --------
    >>> from lindero.evaluation import parse_settings
    >>> parse_settings(["C=10", "gamma=scale", "shrinking=false"], "svc")
    {'C': 10, 'gamma': 'scale', 'shrinking': False}
    """
    known = list_parameters(machine)
    params: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals:
            raise ValueError(f"{pair!r} is not a setting: write name=value, for example C=10.")
        if name not in known:
            title = machine if isinstance(machine, str) else machine.name
            raise ValueError(f"{title} has no parameter {name!r}: {suggest_name(name, known)}")
        params[name] = parse_value(text)
    for name in ("class_weight", "balance"):
        values = params.get(name)
        if isinstance(values, dict) and y is not None:  # keys of JSON are text
            labels = {json.dumps(label): label for label in set(y.tolist())}
            params[name] = {labels.get(key, key): value for key, value in values.items()}
    return params


def list_parameters(machine: str | MachineSpec) -> list[str]:
    """Parameters that can be typed."""
    found = find_machine(machine) if isinstance(machine, str) else machine
    own = inspect.signature(found.load()).parameters
    return [name for name in (*own, *list_encoder_parameters(found)) if name not in _NOT_FOR_TYPING]


def parse_value(text: str) -> Any:
    """What JSON reads; None, a list without brackets, such as ``1,10,100``; or the text itself."""
    text = text.strip()
    try:
        return json.loads(text)
    except ValueError:
        pass
    if text[:1] in ("[", "{", '"'):
        raise ValueError(
            f"{text!r} cannot be read: lists, mappings and quoted text are written as in JSON, "
            'for example [1, 10] or {"yes": 5}.'
        )
    if "," in text:
        return [parse_value(part) for part in text.split(",") if part.strip()]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:  # what JSON does not write: .5, +3, 1_000, inf
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        return text


# -- fitting and asking ---------------------------------------------------------------------------


def fit_machine(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    times: Any = None,
    qid: Any = None,
    weights: Any = None,
    ids: Any = None,
    positions: Any = None,
) -> Any:
    """Fit an estimator of :func:`~lindero.evaluation.make_machine` with what it can use.

    Parameters
    ----------
    model : estimator or Pipeline
        From `make_machine`.
    X : table
        Rows.
    y : array-like or None, default=None
        Labels or targets.
    times, qid, weights : array-like or None, default=None
        Time, query or sequence, and weight of each row. Times are left out for machines that have
        no use for them; queries and weights are refused where they would be ignored.
    ids : array-like or None, default=None
        Ids of the rows, for machines that forget rows by them; left out for others.
    positions : array-like or None, default=None
        Where each row is, for adaptive machines; refused where it would be ignored.

    Returns
    -------
    model : estimator or Pipeline
        The fitted model itself.

    See Also
    --------
    cross_validate : How well a machine does on unseen rows.
    tune : Chooses parameters first.

    Examples
    --------
    >>> from lindero.evaluation import fit_machine, make_machine
    >>> model = fit_machine(make_machine("naive-bayes"), [["red"], ["blue"]], ["a", "b"])
    >>> model.predict([["red"]]).tolist()
    ['a']
    """
    final = unwrap_machine(model)
    takes = inspect.signature(final.fit).parameters
    machine, title = identify_machine(final), type(final).__name__
    if machine is not None:
        title = machine.name
        if machine.has_target:
            require_target(machine, y)
        if machine.takes_tables and sp.issparse(X):
            raise ValueError(
                f"{title} takes tables, not sparse rows: make them a table first (lindero convert "
                "rows.svm rows.csv, or X.toarray())."
            )
        if machine.task == TAGGING and qid is None:
            raise ValueError(
                f"{title} labels sequences, but the data say nothing of them: name the column that "
                "tells them apart (--qid, qid=), or use a file of CoNLL."
            )
        if machine.task == RANKING and qid is None:
            raise ValueError(
                f"{title} ranks rows within a query, but the data have no queries: name their "
                "column (--qid, qid=)."
            )
    if weights is not None and "sample_weight" not in takes:
        raise ValueError(f"{title} takes no weights of rows: leave them out.")
    if positions is not None:
        _require_places(model, takes, title)
    if not hasattr(model, "steps") and "ids" not in inspect.signature(model.fit).parameters:
        ids = None  # around a machine that takes them, but not itself
    if times is not None and "times" not in takes and getattr(final, "window", None) is not None:
        # A window is one of time, whatever the order of the table.
        order = np.argsort(np.asarray(times), kind="stable")
        X, y, weights, ids = (take_rows(part, order) for part in (X, y, weights, ids))
    given = {"times": times, "qid": qid, "sample_weight": weights, "ids": ids}
    given["positions"] = positions
    given["lengths"] = None if qid is None else count_runs(qid)
    prefix = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    more = {f"{prefix}{k}": v for k, v in given.items() if v is not None and k in takes}
    with _keep_threads_few(machine, X):
        return model.fit(X, y if machine is None or machine.has_target else None, **more)


def _require_places(model: Any, takes: Mapping[str, Any], title: str) -> None:
    """Refuse positions where they would be ignored."""
    if "positions" not in takes:
        raise ValueError(
            f"{title} takes no positions of rows: have their columns be features (no --position), "
            "or take adaptive-svc or adaptive-svr with graph=space."
        )
    if not hasattr(model, "steps"):
        raise ValueError(
            f"{title} cannot have its probabilities, costs or threshold chosen by rows left out "
            "while rows have positions: leave these out."
        )


def _keep_threads_few(machine: MachineSpec | None, X: Any) -> Any:
    """One thread for guests on small tables: to bring several together takes longer than the work,
    and much longer where other processes want the cores."""
    if machine is None or not machine.is_guest or np.shape(X)[0] > _MANY_ROWS:
        return nullcontext()
    return threadpool_limits(1, user_api="openmp")


def require_target(machine: MachineSpec, y: Any) -> None:
    """Refuse data without a target, and numbers for classes or classes for numbers."""
    if y is None:
        raise ValueError(
            f"{machine.name} learns to predict a target, but the data have none: name a column "
            "(--target), or pass y."
        )
    values = np.asarray(y)
    classes = machine.task in (CLASSIFICATION, TAGGING)
    if classes and len(values) and (values == values[0]).all():
        raise ValueError(
            f"The target has one value only ({values[0]!s}): {machine.name} needs rows of at least "
            "two classes."
        )
    if not classes and values.dtype.kind not in "biuf":
        raise ValueError(
            f"{machine.name} predicts numbers, but the target holds {values[0]!r}: name another "
            "target, or take a machine for classes, such as svc."
        )
    if machine.task == CLASSIFICATION and values.dtype.kind == "f" and np.isfinite(values).all():
        fractions = values[values % 1.0 != 0.0]
        if len(fractions):
            raise ValueError(
                f"{machine.name} predicts classes, but the target holds numbers such as "
                f"{fractions[0]:g}: take a machine for numbers, such as svr, or name another "
                "target."
            )


def predict_rows(
    model: Any, X: Any, *, times: Any = None, qid: Any = None, positions: Any = None
) -> Array:
    """Predictions of a fitted machine: a class, a number, a rank, or 1 and −1 for inliers and
    outliers."""
    machine = identify_machine(model)
    if machine is not None and machine.task == TAGGING:
        labels: Array = model.predict(X, lengths=None if qid is None else count_runs(qid))
        return labels
    return _ask(model, model.predict, X, times, positions)


def compute_decisions(
    model: Any, X: Any, *, times: Any = None, positions: Any = None
) -> Array | None:
    """Decision values of rows; None for a machine that has none."""
    final, inner = unwrap_machine(model), find_inner(model)
    if not hasattr(final, "decision_function"):
        return None
    encoded = X if inner is final else inner[:-1].transform(X)
    return _ask(final, final.decision_function, encoded, times, positions)


def compute_probabilities(model: Any, X: Any, *, times: Any = None) -> Array:
    """Probabilities of each class of a machine that has them."""
    return _ask(model, model.predict_proba, X, times)


def _ask(model: Any, method: Any, X: Any, times: Any, positions: Any = None) -> Array:
    machine = identify_machine(model)
    moves = machine is not None and machine.takes_times
    given = {"times": times if moves else None, "positions": positions}
    given = {name: value for name, value in given.items() if value is not None}
    if given:
        taken = inspect.signature(method).parameters.values()
        if not any(p.kind is p.VAR_KEYWORD for p in taken):
            known = {p.name for p in taken}
            given = {name: value for name, value in given.items() if name in known}
    values: Array = method(X, **given)
    return values
