"""Models as files of ONNX, for programs that have no Python, or no lindero.

The graph takes raw rows, as they stand in a table: scales, categories and missing values are part
of it. `docs/production.md` lists inputs and outputs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.operator import KernelFunction
from lindero.persist.onnx_graphs.graph import GraphBuilder
from lindero.persist.onnx_graphs.kernel_machines import add_decisions, add_kernel_machine
from lindero.persist.onnx_graphs.networks import add_bayes_classifier, add_joint
from lindero.persist.onnx_graphs.tables import add_encoder, add_matrix
from lindero.persist.safe_file import write_whole_bytes
from lindero.svm.fitted_machines import find_kernel
from lindero.svm.following import bring_to_cpu

#: Why other machines have no form in ONNX.
_REASONS = {
    "AdaptiveSVC": "it moves in time, and a graph has no clock",
    "AdaptiveSVR": "it moves in time, and a graph has no clock",
    "RankSVM": "its answers are ranks within a query, not of a row",
    "TMClustering": "it describes groups of rows rather than predicting",
    "CalibratedClassifierCV": "it averages calibrated machines; export the machine inside",
}


def to_onnx(model: Any, *, about: Mapping[str, str] | None = None) -> Any:
    """A fitted model as a graph of ONNX.

    Parameters
    ----------
    model : estimator or Pipeline
        A support vector machine with a linear, poly, rbf or sigmoid kernel (SVC, NuSVC,
        CostSensitiveSVC, SVR, NuSVR, OneClassSVM, the incremental ones, SVCCV and SVRCV), alone or
        after a :class:`~lindero.evaluation.TableEncoder`; a Bayesian classifier; or one of these
        with calibrated probabilities, a threshold or costs.
    about : dict of str or None, default=None
        What inputs are, by their names, for the notes of the graph: how the month of a date comes
        about, say. The graph says what type each is, and how a missing value is written, by itself.

    Returns
    -------
    graph : onnx.ModelProto
        Its inputs are the columns of the table, one each, if they have names, or else X. A missing
        number is NaN, a missing text "". Its outputs are `label` and `decision` or `probabilities`,
        or `prediction` for numbers.

    Raises
    ------
    ValueError
        If the model has no form in ONNX; the message says why.
    ImportError
        If the package onnx is not installed (``pip install lindero[onnx]``).

    See Also
    --------
    save_onnx : Writes it to a file.
    save : Files of lindero itself, for every model.

    Examples
    --------
    >>> from lindero.persist import to_onnx
    >>> from lindero.svm import SVC
    >>> model = SVC(kernel="linear").fit([[0.0], [2.0]], ["no", "yes"])
    >>> graph = to_onnx(model).graph  # doctest: +SKIP
    >>> [output.name for output in graph.output]  # doctest: +SKIP
    ['label', 'decision']
    """
    check_is_fitted(model)
    decides = type(model).__name__ == "DecisionClassifier"
    inner = bring_to_cpu(model.estimator_ if decides else model)
    before, machine = _take_apart(inner)
    graph = GraphBuilder()
    name = type(machine).__name__
    if decides:
        _add_decisions_of(graph, model, before, machine)
    elif _is_bayes(machine):
        add_bayes_classifier(graph, machine)
    else:
        add_kernel_machine(
            graph, machine, _require_kernel(machine), _add_rows(graph, before, machine)
        )
    return graph.finish(f"{name} of lindero", {"machine": name}, about)


def _take_apart(model: Any) -> tuple[list[Any], Any]:
    """What stands before the machine of a model, a table encoder and the scaler of a search if
    there are any; and the machine."""
    steps = [step for _, step in getattr(model, "steps", ())] or [model]
    before = [step for step in steps[:-1] if step is not None and step != "passthrough"]
    machine = getattr(steps[-1], "best_estimator_", steps[-1])
    scalers: list[Any] = []
    if hasattr(machine, "steps"):
        *scalers, machine = [step for _, step in machine.steps]
    name = type(machine).__name__
    if name in _REASONS:
        raise ValueError(f"{name} cannot be exported to ONNX: {_REASONS[name]}.")
    others = [step for step in before if type(step).__name__ != "TableEncoder"]
    if others or len(before) > 1:
        raise ValueError(
            f"A pipeline with {type((others or before)[0]).__name__} cannot be exported to ONNX: "
            "only a table encoder may stand before a machine."
        )
    return [*before, *scalers], machine


def _is_bayes(machine: Any) -> bool:
    return hasattr(machine, "__lindero_estimate__")


def _require_kernel(machine: Any) -> KernelFunction:
    function = find_kernel(machine)
    if function is None:
        raise ValueError(
            f"{type(machine).__name__} cannot be exported to ONNX here: support vector machines "
            "and Bayesian classifiers of lindero can."
        )
    return function


def _add_rows(graph: GraphBuilder, before: list[Any], machine: Any) -> str:
    """The numbers that a machine takes."""
    first = before[0] if before else machine
    if type(first).__name__ == "TableEncoder":
        rows, scalers = add_encoder(graph, first), before[1:]
    else:
        names = getattr(first, "feature_names_in_", None)
        rows, scalers = add_matrix(graph, names, machine.n_features_in_), before
    for scaler in scalers:
        if scaler.mean_ is not None:
            rows = graph.add("Sub", rows, graph.constant(np.asarray(scaler.mean_)))
        rows = graph.add("Div", rows, graph.constant(np.asarray(scaler.scale_)))
    return rows


def _add_decisions_of(graph: GraphBuilder, model: Any, before: list[Any], machine: Any) -> None:
    """Label and probabilities of a `DecisionClassifier`: machine, curve, threshold or costs."""
    curve, n_classes = model.curve_, len(model.classes_)
    if curve is None:
        if not _is_bayes(machine):
            _require_kernel(machine)
        shares = graph.add("Softmax", add_joint(graph, machine), axis=1)
    else:
        if not curve.seen.all() or _is_bayes(machine):
            raise ValueError(
                "Its calibration has no form in ONNX here: a class had too few rows, or the "
                "machine has probabilities of its own. Train with more rows, or without it."
            )
        rows = _add_rows(graph, before, machine)
        parts = getattr(machine, "machines_", [machine])  # one for each class, or one
        values = [add_decisions(graph, each, _require_kernel(each), rows) for each in parts]
        decided = graph.add("Concat", *values, axis=1) if len(values) > 1 else values[0]
        scaled = graph.add("Mul", decided, graph.constant(float(curve.slope)))
        if n_classes == 2:
            moved = graph.add("Add", scaled, graph.constant(float(curve.offset)))
            zero = graph.add("Mul", moved, graph.constant(0.0))
            scaled = graph.add("Concat", zero, moved, axis=1)
        shares = graph.add("Softmax", scaled, axis=1)
    if model.threshold_ is not None:
        second = graph.add("Gather", shares, graph.constant(np.array(1)), axis=1)
        over = graph.add("GreaterOrEqual", second, graph.constant(float(model.threshold_)))
        codes = graph.cast(over, "integer")
    elif model.rule_ == "costs":
        expected = graph.add(
            "MatMul", shares, graph.constant(np.asarray(model.costs_, dtype=float))
        )
        codes = graph.add("ArgMin", expected, axis=1, keepdims=0)
    else:
        codes = graph.add("ArgMax", shares, axis=1, keepdims=0)
    graph.add_labels(codes, model.classes_)
    graph.add_output("probabilities", shares, "number", [n_classes])


def save_onnx(
    model: Any, path: str | os.PathLike[Any], *, about: Mapping[str, str] | None = None
) -> None:
    """Write a fitted model as a file of ONNX.

    A call that fails leaves an existing file as it was.

    Parameters
    ----------
    model : estimator or Pipeline
        As for :func:`to_onnx`.
    path : str or path-like
        The file.
    about : dict of str or None, default=None
        As for :func:`to_onnx`.

    See Also
    --------
    to_onnx : The graph itself, with what it takes and gives.

    Examples
    --------
    >>> from lindero.persist import save_onnx
    >>> from lindero.svm import SVC
    >>> model = SVC().fit([[0.0], [2.0]], ["no", "yes"])
    >>> save_onnx(model, "model.onnx")  # doctest: +SKIP
    """
    write_whole_bytes(path, to_onnx(model, about=about).SerializeToString())
