"""A comparison as a page that needs nothing but itself."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from lindero.evaluation.measures import MEASURES
from lindero.evaluation.registry import REGRESSION
from lindero.evaluation.results import Comparison, MachineResult, write_mean, write_score
from lindero.persist.safe_file import write_whole_bytes
from lindero.report import charts
from lindero.report.page import bullets, code, figure, page, paragraph, table
from lindero.report.page import heading as page_heading
from lindero.runtime.arrays import make_plain


def write_report(
    comparison: Comparison, path: str | os.PathLike[Any], *, command: str | None = None
) -> None:
    """Write a comparison as a single page of HTML, charts included.

    Parameters
    ----------
    comparison : Comparison
        From :func:`~lindero.evaluation.compare`.
    path : str or path-like
        The file. It is written whole, or not at all.
    command : str or None, default=None
        The command that made it, to be shown at the end.

    See Also
    --------
    lindero.evaluation.compare : Where the comparison comes from.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from lindero.evaluation import compare
    >>> from lindero.report import write_report
    >>> result = compare(*load_iris(return_X_y=True), machines=["naive-bayes"], folds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "report.html")
    ...     write_report(result, path)
    ...     os.path.getsize(path) > 1000
    True
    """
    title = f"Which machine for {comparison.target}?"
    text = page(title, [page_heading(title, 1), *make_body(comparison, command)])
    write_whole_bytes(path, text.encode("utf-8", errors="replace"))


def make_body(comparison: Comparison, command: str | None = None, *, level: int = 2) -> list[str]:
    """The parts of the page, as HTML, with headings of this level."""

    def heading(text: str) -> str:
        return page_heading(text, level)

    names = ", ".join(map(repr, comparison.left_out))
    left_out = [f"Left out, with different values in most rows: {names}."] if names else []
    body = [
        paragraph(comparison.data, "muted"),
        paragraph(comparison.recommendation(), "advice"),
        heading("Results"),
        _make_results_table(comparison),
        paragraph(_describe_method(comparison), "muted"),
        bullets([*left_out, *comparison.notes]),
    ]
    taken = comparison.recommended
    if taken is not None:
        body += [
            heading("Scores by fold"),
            figure(charts.draw_scores(comparison), _write_scores_caption(comparison)),
            heading("Score and time"),
            figure(
                charts.draw_times(comparison),
                "Time of a fold: tuning, fitting and predicting. Blue: the best mean.",
            ),
            *_show_predictions(comparison, taken, heading),
            heading("Chosen parameters"),
            _make_parameters_table(comparison),
        ]
        warned = [f"{m.name}: {text}" for m in comparison.ranked for text in m.warnings]
        body += [heading("Warnings"), bullets(warned)] if warned else []
    if command:
        body += [heading("Command"), code(command)]
    return body


def _make_results_table(comparison: Comparison) -> str:
    """Every machine from the best to the worst."""
    measures = comparison.measures
    titles = [MEASURES[measure].title for measure in measures]
    header = ["machine", *titles, "seconds per fold", "p", "against the best"]
    rows, taken = [], comparison.recommended
    for machine in comparison.ranked:
        if machine.failure is not None:
            rows.append([machine.name, f"left out; {machine.failure}"])
        elif not machine.is_judged:
            rows.append([machine.name, "not begun"])
        else:
            scores = [write_mean(machine, measure) for measure in measures]
            seconds = f"{machine.seconds:.2f}"
            rows.append([machine.name, *scores, seconds, *comparison.verdict(machine)])
    chosen = None if taken is None else comparison.ranked.index(taken)
    return table(header, rows, figures=range(1, len(measures) + 3), chosen=chosen)


def _describe_method(comparison: Comparison) -> str:
    n_folds = len(comparison.fold_sizes)
    train, test = np.mean(comparison.fold_sizes, axis=0)
    order = "the same for all machines"
    if comparison.time_respecting:
        order = "forward in time, each trained on earlier rows"
    return (
        "Means over the folds ± one standard deviation; the recommended machine is in bold. "
        f"{n_folds} folds, {order}, with {train:.0f} training and {test:.0f} test rows on average; "
        "parameters were chosen by inner folds of the training rows. p: corrected resampled t-test "
        "(Nadeau and Bengio) against the best, adjusted for the number of machines (Holm)."
    )


def _write_scores_caption(comparison: Comparison) -> str:
    constant = "the mean" if comparison.task == REGRESSION else "the same class"
    return (
        "Small dots: folds. Large dots: means over the folds. Bars: one standard deviation either "
        "side. Blue: the best mean. Dashed line, where it is near: the baseline, always predicting "
        f"{constant}, with {write_score(comparison.measure, comparison.baseline)}."
    )


def _show_predictions(
    comparison: Comparison, taken: MachineResult, heading: Callable[[str], str]
) -> list[str]:
    """Out-of-fold predictions of the recommended machine."""
    if comparison.task == REGRESSION:
        return [
            heading(f"Predictions of {taken.name}"),
            figure(
                charts.draw_predictions(comparison, taken),
                "Out-of-fold predictions against true values; perfect ones lie on the dashed line.",
            ),
        ]
    matrix = charts.draw_confusion_matrix(comparison, taken)
    parts = [
        heading(f"Confusion matrix of {taken.name}"),
        figure(
            matrix,
            "Rows: true classes. Columns: predicted classes, out of fold. Shades: shares of a row.",
        ),
    ]
    if matrix is None:
        parts.append(paragraph(_list_confusions(comparison, taken)))
    reliability = charts.draw_reliability(comparison, taken)
    if reliability is not None:
        parts += [
            heading(f"Reliability diagram of {taken.name}"),
            figure(
                reliability,
                "Predicted probabilities against observed frequencies, out of fold; calibrated "
                "ones lie on the dashed line. Grey bars: one standard deviation by chance, were "
                "the probabilities right. Larger dots: more rows.",
            ),
        ]
    return parts


def _list_confusions(comparison: Comparison, taken: MachineResult) -> str:
    assert comparison.classes is not None
    counts = charts.count_confusions(comparison, taken)
    np.fill_diagonal(counts, 0)
    most = [np.unravel_index(flat, counts.shape) for flat in np.argsort(-counts, axis=None)[:8]]
    listed = [
        f"{comparison.classes[j]} as {comparison.classes[i]} ({counts[j, i]})"
        for j, i in most
        if counts[j, i]
    ]
    if not listed:
        return "It makes no errors."
    return (
        f"There are {len(comparison.classes)} classes. The most frequent confusions, true class as "
        f"predicted class: {', '.join(listed)}."
    )


def write_parameters(params: dict[str, Any]) -> str:
    """Parameters as they are typed on the command line."""
    if not params:
        return "defaults"
    return ", ".join(f"{name}={_write_value(value)}" for name, value in params.items())


def _write_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(make_plain(value))


def _make_parameters_table(comparison: Comparison) -> str:
    rows = []
    for machine in comparison.ranked:
        chosen = [params for params in machine.parameters if params is not None]
        if not chosen:
            continue
        usual = write_parameters(machine.usual_parameters)
        count = sum(write_parameters(params) == usual for params in chosen)
        rows.append([machine.name, usual, f"{count} of {len(chosen)} folds"])
    return table(["machine", "chosen most often", "in"], rows)
