"""Models as files of ONNX, for programs that have no Python, or no lindero.

The graph takes raw rows, as they stand in a table: scales, categories and missing values are part of
it. `docs/production.md` lists inputs and outputs.
"""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from lindero.persist.onnx_graphs.graph import GraphBuilder
from lindero.persist.onnx_graphs.kernel_machines import add_kernel_machine
from lindero.persist.onnx_graphs.networks import add_bayes_classifier
from lindero.persist.onnx_graphs.tables import add_encoder, add_matrix
from lindero.persist.safe_file import write_whole_bytes
from lindero.svm.fitting import find_kernel

#: Why other machines have no form in ONNX.
_REASONS = {
    "AdaptiveSVC": "it moves in time, and a graph has no clock",
    "AdaptiveSVR": "it moves in time, and a graph has no clock",
    "RankSVM": "its answers are ranks within a query, not of a row",
    "TMClustering": "it describes groups of rows rather than predicting",
    "CalibratedClassifierCV": "it averages calibrated machines; export the machine inside",
    "DecisionClassifier": "its calibration and threshold are not part of a graph yet; export the "
    "machine inside (estimator_)",
}


def to_onnx(model: Any) -> Any:
    """A fitted model as a graph of ONNX.

    Parameters
    ----------
    model : estimator or Pipeline
        A support vector machine with a linear, poly, rbf or sigmoid kernel (SVC, NuSVC,
        CostSensitiveSVC, SVR, NuSVR, OneClassSVM, the incremental ones, SVCCV and SVRCV), alone or
        after a :class:`~lindero.evaluation.TableEncoder`; or a Bayesian classifier.

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
    steps = list(getattr(model, "steps", ())) or [("machine", model)]
    machine = steps[-1][1]
    machine = getattr(machine, "best_estimator_", machine)
    name = type(machine).__name__
    if name in _REASONS:
        raise ValueError(f"{name} cannot be exported to ONNX: {_REASONS[name]}.")
    before = [step for _, step in steps[:-1] if step not in (None, "passthrough")]
    encoders = [step for step in before if type(step).__name__ == "TableEncoder"]
    if len(before) > 1 or len(encoders) < len(before):
        other = next((step for step in before if step not in encoders), before[0])
        raise ValueError(
            f"A pipeline with {type(other).__name__} cannot be exported to ONNX: only a table "
            "encoder may stand before a machine."
        )
    function = find_kernel(machine)
    is_bayes = hasattr(machine, "__lindero_estimate__") and hasattr(machine, "predict_proba")
    if function is None and not is_bayes:
        check_is_fitted(machine)
        raise ValueError(
            f"{name} cannot be exported to ONNX here: support vector machines and Bayesian "
            "classifiers of lindero can."
        )
    check_is_fitted(machine)
    graph = GraphBuilder()
    if is_bayes:
        add_bayes_classifier(graph, machine)
    else:
        assert function is not None
        if before:
            rows = add_encoder(graph, before[0])
        else:
            names = getattr(machine, "feature_names_in_", None)
            rows = add_matrix(graph, names, machine.n_features_in_)
        add_kernel_machine(graph, machine, function, rows)
    return graph.finish(f"{name} of lindero", {"machine": name})


def save_onnx(model: Any, path: str | os.PathLike[Any]) -> None:
    """Write a fitted model as a file of ONNX.

    A call that fails leaves an existing file as it was.

    Parameters
    ----------
    model : estimator or Pipeline
        As for :func:`to_onnx`.
    path : str or path-like
        The file.

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
    write_whole_bytes(path, to_onnx(model).SerializeToString())
