"""A comparison as a page that needs nothing but itself."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lindero.errors import count_alike
from lindero.evaluation.explanations import explain
from lindero.evaluation.importance import Importance, measure_recommended
from lindero.evaluation.measures import find_measure, find_positive
from lindero.evaluation.registry import REGRESSION
from lindero.evaluation.results import Comparison, MachineResult
from lindero.persist.safe_file import write_whole_bytes
from lindero.report import charts
from lindero.report.charts import draw_twice
from lindero.report.page import (
    bullets,
    code,
    describe_origin,
    figure,
    page,
    pair,
    paragraph,
    table,
)
from lindero.report.page import heading as page_heading
from lindero.runtime.arrays import make_plain, write_plain

#: Columns whose importance is shown.
_MOST_COLUMNS = 15


def write_report(
    comparison: Comparison,
    path: str | os.PathLike[Any],
    *,
    command: str | None = None,
    next_command: str | None = None,
    data: Any = None,
    y: Any = None,
) -> None:
    """Write a comparison as a single page of HTML, charts included.

    Parameters
    ----------
    comparison : Comparison
        From :func:`~lindero.evaluation.compare`.
    path : str or path-like
        The file. It is written whole, or not at all; one that is there is replaced.
    command : str or None, default=None
        The command that made it.
    next_command : str or None, default=None
        The command that trains the recommended machine.
    data : Dataset, table or None, default=None
        The data of the comparison. With them the page tells their hash, the importance of columns
        and why two rows get their predictions: the recommended machine is fitted once more for it.
    y : array-like or None, default=None
        Targets, where `data` is a table.

    See Also
    --------
    lindero.evaluation.compare : Where the comparison comes from.
    write_stream_report : The page of a stream.

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
    body = make_body(comparison, command, next_command=next_command, data=data, y=y)
    text = page(title, [page_heading(title, 1), *body])
    write_whole_bytes(path, text.encode("utf-8", errors="replace"))


def make_body(
    comparison: Comparison,
    command: str | None = None,
    *,
    next_command: str | None = None,
    data: Any = None,
    y: Any = None,
    level: int = 2,
) -> list[str]:
    """The parts of the page, as HTML, with headings of this level."""

    def heading(text: str) -> str:
        return page_heading(text, level)

    body = [
        paragraph(comparison.data, "muted"),
        paragraph(comparison.recommendation(), "advice"),
    ]
    if next_command:
        body += [paragraph("Train it on all rows:"), code(next_command)]
    body += [
        heading("Results"),
        _make_results_table(comparison),
        paragraph(_describe_method(comparison), "muted"),
        bullets(list(comparison.notes)),
    ]
    taken = comparison.recommended
    if taken is not None:
        body += [
            heading("Scores by fold"),
            figure(
                draw_twice(lambda width: charts.draw_scores(comparison, width)),
                _write_scores_caption(comparison),
            ),
            *_show_times(comparison, heading),
            *_show_predictions(comparison, taken, heading),
            *_show_reasons(comparison, data, y, heading),
            heading("Chosen parameters"),
            _make_parameters_table(comparison),
        ]
        warned = [
            f"{m.name}: {text}" for m in comparison.ranked for text in count_alike(m.warnings)
        ]
        body += [heading("Warnings"), bullets(warned)] if warned else []
    source = data if y is None else (data, y)
    return [*body, *describe_origin(command, source, more=_list_facts(comparison), level=level)]


def _list_facts(comparison: Comparison) -> list[tuple[str, str]]:
    """What was compared how, besides machines."""
    folds = f"{len(comparison.fold_sizes)}, seed {comparison.random_state}"
    names = ", ".join(map(repr, comparison.left_out))
    facts = [("target", comparison.target), ("rows", f"{comparison.n_rows}"), ("folds", folds)]
    if comparison.costs is not None:
        facts.append(("costs", json.dumps(make_plain(comparison.costs))))
    facts.append(
        ("left-out columns", f"{names} (different values in most rows)" if names else "none")
    )
    facts.append(("time", f"{comparison.seconds:.0f} s"))
    return facts


def _make_results_table(comparison: Comparison) -> str:
    """Every machine from the best to the worst."""
    measures = comparison.measures
    titles = [find_measure(measure).title for measure in measures]
    header = ["machine", *titles, "seconds per fold", "p", "against the best"]
    written = [charts.write_scores(comparison, measure) for measure in measures]
    rows, baseline = [], None
    for machine in comparison.ranked:
        if machine.failure is not None:
            rows.append([machine.name, f"left out; {machine.failure}"])
        elif not machine.is_judged:
            rows.append([machine.name, "not begun"])
        else:
            scores = [own[machine.name] for own in written]
            seconds = write_plain(machine.seconds, 2)
            verdict = comparison.verdict(machine)
            if machine is comparison.recommended:
                verdict = (verdict[0], "recommended")
            elif machine is comparison.best:
                verdict = (verdict[0], "best mean, not distinguishable")
            baseline = len(rows) if machine.is_baseline else baseline
            rows.append([machine.name, *scores, seconds, *verdict])
    taken = comparison.recommended
    chosen = None if taken is None else comparison.ranked.index(taken)
    n_measures = len(measures)
    return table(
        header, rows, figures=range(1, n_measures + 3),
        minor=[*range(2, n_measures + 1), n_measures + 1, n_measures + 2],
        chosen=chosen, muted=baseline,
    )  # fmt: skip


def _describe_method(comparison: Comparison) -> str:
    n_folds = len(comparison.fold_sizes)
    train, test = np.mean(comparison.fold_sizes, axis=0)
    order = "the same for all machines"
    if comparison.time_respecting:
        order = "forward in time, each trained on earlier rows"
    return (
        "Means over the folds ± one standard deviation; the recommended machine is in bold. "
        f"{n_folds} folds, {order}, with {train:.0f} training and {test:.0f} test rows on average; "
        "parameters were chosen by inner folds of the training rows. p: "
        f"{comparison.test_name} against the best, adjusted for the number of machines (Holm)."
    )


def _write_scores_caption(comparison: Comparison) -> str:
    factor = 100.0 if find_measure(comparison.measure).in_percent else 1.0
    unit = " %" if factor == 100.0 else ""
    return (
        "Small dots: folds. Large dots: means over the folds. Bars: one standard deviation either "
        "side. In colour: the recommended machine. Dashed line, where it is near: the baseline, "
        f"{comparison.describe_baseline()}, with {write_plain(factor * comparison.baseline)}{unit}."
    )


def _show_times(comparison: Comparison, heading: Callable[[str], str]) -> list[str]:
    """Scores against times, of more than one machine."""
    if sum(machine.is_judged for machine in comparison.machines) < 2:
        return []
    said = "Time of a fold: tuning, fitting and predicting. In colour: the recommended machine."
    picture = draw_twice(lambda width: charts.draw_times(comparison, width))
    return [heading("Score and time"), figure(picture, said)]


def _show_predictions(
    comparison: Comparison, taken: MachineResult, heading: Callable[[str], str]
) -> list[str]:
    """Out-of-fold predictions of the recommended machine."""
    if comparison.task == REGRESSION:
        return [
            heading("Predicted and true values"),
            figure(
                charts.draw_predictions(comparison, taken),
                f"Out-of-fold predictions of {taken.name} against true values; perfect ones lie on "
                "the dashed line.",
            ),
        ]
    matrix = draw_twice(lambda width: charts.draw_confusion_matrix(comparison, taken, width))
    parts = [
        heading("Confusion matrix"),
        figure(
            matrix,
            f"Answers of {taken.name}, out of fold. Rows: true classes. Columns: predicted "
            "classes. Shades: shares of a row.",
        ),
    ]
    if not matrix:
        parts.append(paragraph(_list_confusions(comparison, taken)))
    parts.append(pair(_list_squares(comparison, taken, heading)))
    return parts


def _list_squares(
    comparison: Comparison, taken: MachineResult, heading: Callable[[str], str]
) -> list[str]:
    """Calibration, ROC and precision–recall, where there are probabilities."""
    assert comparison.classes is not None
    drawn = (
        (
            "Calibration",
            charts.draw_calibration(comparison, taken),
            "Predicted probabilities against observed frequencies, out of fold; calibrated ones "
            "lie on the dashed line. Grey bars: one standard deviation by chance. Larger dots: "
            "more rows.",
        ),
        ("ROC", charts.draw_roc(comparison, taken), _describe_curve(comparison, "roc_auc", taken)),
        (
            "Precision–recall",
            charts.draw_precision_recall(comparison, taken),
            _describe_curve(comparison, "average_precision", taken),
        ),
    )
    return [
        heading(title) + figure(picture, caption) for title, picture, caption in drawn if picture
    ]


def _describe_curve(comparison: Comparison, measure: str, taken: MachineResult) -> str:
    assert comparison.classes is not None
    title = find_measure(measure).title
    known = measure in taken.scores and not math.isnan(taken.mean(measure))
    area = f"{title}: {write_plain(taken.mean(measure))}. " if known else ""
    if len(comparison.classes) == 2:
        positive = comparison.classes[find_positive(comparison.truth)]
        chance = "what chance gives" if measure == "roc_auc" else f"the share of {positive}"
        return f"{area}For {positive}, out of fold. Dot: the answers. Dashed: {chance}."
    return f"{area}Mean over the classes, each against the rest, out of fold."


def _show_reasons(
    comparison: Comparison, data: Any, y: Any, heading: Callable[[str], str]
) -> list[str]:
    """Which columns matter, from the recommended machine fitted once more."""
    if data is None:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said in the comparison
        try:
            found = measure_recommended(comparison, data, y)
        except (ValueError, TypeError) as error:
            return [heading("Columns that matter"), paragraph(f"Not known: {error}", "muted")]
    if found is None:
        return []
    shown = found.rank(_MOST_COLUMNS)
    names, means, spreads = (
        [found.names[j] for j in shown],
        found.means[shown],
        found.spreads[shown],
    )
    measure = find_measure(found.measure)
    factor = 100.0 if measure.in_percent else 1.0
    unit = " (percentage points)" if measure.in_percent else ""
    axis = f"loss of {measure.title}{unit}"

    def draw(width: int) -> str:
        return charts.draw_importance(names, factor * means, factor * spreads, axis, width)

    left = len(found.names) - len(shown)
    more = f" {left} more columns matter less or were not tried." if left else ""
    taken = comparison.recommended
    assert taken is not None
    parts = [
        heading("Columns that matter"),
        figure(
            draw_twice(draw),
            f"Permutation importance: how much worse {taken.name} gets on {found.n_rows} held-out "
            f"rows when a column is shuffled, mean of {found.n_shuffles} shuffles ± one standard "
            f"deviation. Columns that say the same share their importance.{more}",
        ),
    ]
    return [*parts, *_show_examples(found, heading)]


def _show_examples(found: Importance, heading: Callable[[str], str]) -> list[str]:
    """Why a few rows get their predictions."""
    try:
        examples = [explain(found.model, row)[0] for row in found.list_examples()]
    except (ValueError, TypeError, AttributeError):
        return []
    parts = [heading("Predictions explained")] if examples else []
    for example in examples:

        def draw(width: int, example: Any = example) -> str:
            return charts.draw_waterfall(example, width)

        parts.append(figure(draw_twice(draw), f"{example.sentence()}. Method: {example.method}."))
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
        return write_plain(value, 4).replace(",", "")
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
