"""A comparison as a page that needs nothing but itself."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from lindero.comparison import charts
from lindero.comparison.page import code, figure, listed, page, paragraph, table
from lindero.comparison.page import heading as page_heading
from lindero.comparison.plain_values import plain
from lindero.comparison.recommendation import score_text, score_with_spread
from lindero.comparison.results import MEASURES, Comparison, MachineResult
from lindero.persist.safe_file import write_whole_bytes


def write_report(
    comparison: Comparison, path: str | os.PathLike[Any], *, command: str | None = None
) -> None:
    """Write a comparison as a single page of HTML, pictures included.

    Parameters
    ----------
    comparison : Comparison
        From :func:`compare`.
    path : str or path-like
        The file. It is written whole, or not at all.
    command : str or None, default=None
        What was typed to make it, to be shown at the end.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from lindero.comparison import compare, write_report
    >>> result = compare(*load_iris(return_X_y=True), machines=["naive-bayes"], folds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "report.html")
    ...     write_report(result, path)
    ...     os.path.getsize(path) > 1000
    True
    """
    title = f"Which machine for {comparison.target}?"
    text = page(title, [page_heading(title, 1), *comparison_body(comparison, command)])
    write_whole_bytes(path, text.encode("utf-8", errors="replace"))


def comparison_body(
    comparison: Comparison, command: str | None = None, *, level: int = 2
) -> list[str]:
    """The parts of the page, as HTML, with headings of this level."""

    def heading(text: str) -> str:
        return page_heading(text, level)

    body = [
        paragraph(comparison.data, "muted"),
        paragraph(comparison.recommendation(), "advice"),
        heading("Results"),
        results_table(comparison),
        paragraph(_how(comparison), "muted"),
        listed(comparison.notes),
    ]
    taken = comparison.recommended
    if taken is not None:
        body += [
            heading("How the folds came out"),
            figure(charts.spread_of_scores(comparison), _spread_caption(comparison)),
            heading("What it takes"),
            figure(
                charts.scores_against_time(comparison),
                "Time of a fold: choosing parameters, fitting, answering. Blue is the least mean.",
            ),
            *_how_it_errs(comparison, taken, heading),
            heading("Parameters that were chosen"),
            _parameters_table(comparison),
            *_warnings(comparison, heading),
        ]
    if command:
        body += [heading("How this page was made"), code(command)]
    return body


def results_table(comparison: Comparison) -> str:
    """Every machine from the best to the worst, with what became of it."""
    measures = comparison.measures
    header = ["machine", *(MEASURES[m] for m in measures), "seconds a fold", "p"]
    header.append("beside the best")
    rows, chosen = [], None
    for place, machine in enumerate(comparison.ranked):
        if machine is comparison.recommended:
            chosen = place
        if machine.failure is not None:
            rows.append([machine.name, f"left out; {machine.failure}"])
        elif not machine.done.any():
            rows.append([machine.name, "not begun"])
        else:
            scores = [score_with_spread(machine, measure) for measure in measures]
            rows.append(
                [machine.name, *scores, f"{machine.seconds:.2f}", *beside(comparison, machine)]
            )
    return table(header, rows, figures=range(1, len(measures) + 3), chosen=chosen)


def beside(comparison: Comparison, machine: MachineResult) -> tuple[str, str]:
    """The p-value against the best, and what it means."""
    if machine is comparison.best:
        return "", "the best"
    test = comparison.against_best.get(machine.name)
    if test is None:
        return "", "no fold in common"
    p = "—" if math.isnan(test.adjusted) else f"{test.adjusted:.3f}"
    return p, "worse" if test.distinguishable else "not distinguishable"


def _how(comparison: Comparison) -> str:
    n_folds = len(comparison.fold_sizes)
    train, test = np.mean(comparison.fold_sizes, axis=0)
    order = (
        "forward in time, each trained on what was before"
        if comparison.time_respecting
        else "the same for all machines"
    )
    return (
        "Means over the folds ± one standard deviation; the machine to take is in bold. "
        f"{n_folds} folds, {order}, with {train:.0f} training and {test:.0f} test rows on average; "
        "parameters were chosen inside the training rows. p: corrected resampled t-test (Nadeau "
        "and Bengio) against the best, adjusted for the number of machines (Holm)."
    )


def _spread_caption(comparison: Comparison) -> str:
    constant = "the mean" if comparison.task == "regression" else "the same class"
    return (
        "Small dots are folds, large ones their mean, bars one standard deviation either side; "
        "blue is the least mean. "
        f"Always answering {constant} gives "
        f"{score_text(comparison.measure, comparison.baseline)} (the dashed line, where it is "
        "near)."
    )


def _how_it_errs(
    comparison: Comparison, taken: MachineResult, heading: Callable[[str], str]
) -> list[str]:
    """Answers of the machine to take."""
    if comparison.task == "regression":
        return [
            heading(f"Answers of {taken.name}"),
            figure(
                charts.answers_against_truth(comparison, taken),
                "Every row was predicted by a machine that had not seen it.",
            ),
        ]
    matrix = charts.confusion(comparison, taken)
    parts = [
        heading(f"What {taken.name} takes for what"),
        figure(
            matrix,
            "Rows are true classes, columns predicted ones; every row of the data was predicted by "
            "a machine that had not seen it. Shades are shares of a row.",
        ),
    ]
    if matrix is None:
        parts.append(paragraph(_commonest_confusions(comparison, taken)))
    reliable = charts.reliability(comparison, taken)
    if reliable is not None:
        parts += [
            heading(f"Whether the probabilities of {taken.name} can be believed"),
            figure(
                reliable,
                "On the dashed line what is said with a probability is so as often. Grey bars: "
                "where points would lie by chance, were the probabilities right (one deviation). "
                "Larger dots stand for more rows.",
            ),
        ]
    return parts


def _commonest_confusions(comparison: Comparison, taken: MachineResult) -> str:
    assert comparison.classes is not None
    counts = charts.confusion_counts(comparison, taken)
    np.fill_diagonal(counts, 0)
    most = [np.unravel_index(flat, counts.shape) for flat in np.argsort(-counts, axis=None)[:8]]
    told = [
        f"{comparison.classes[i]} for {comparison.classes[j]} ({counts[j, i]})"
        for j, i in most
        if counts[j, i]
    ]
    if not told:
        return "It makes no errors."
    return f"There are {len(comparison.classes)} classes. Most often it takes {', '.join(told)}."


def parameters_text(params: dict[str, Any]) -> str:
    """Parameters as they are set on the command line."""
    if not params:
        return "as they are"
    return ", ".join(f"{name}={_value(value)}" for name, value in params.items())


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    value = plain(value)
    return value if isinstance(value, str) else json.dumps(value)


def _parameters_table(comparison: Comparison) -> str:
    rows = []
    for machine in comparison.ranked:
        chosen = [params for params in machine.parameters if params is not None]
        if not chosen:
            continue
        counts = Counter(parameters_text(params) for params in chosen)
        usual = parameters_text(machine.usual_parameters)
        share = f"{counts[usual]} of {len(chosen)} folds"
        rows.append([machine.name, usual, share])
    return table(["machine", "chosen most often", "in"], rows)


def _warnings(comparison: Comparison, heading: Callable[[str], str]) -> list[str]:
    said = [f"{machine.name}: {text}" for machine in comparison.ranked for text in machine.warnings]
    return [heading("What the machines had to say"), listed(said)] if said else []
