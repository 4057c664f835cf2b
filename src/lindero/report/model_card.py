"""A model card: one page of Markdown on what a saved model is, knows, and must not be used for.

The sections are those of Mitchell et al., "Model cards for model reporting" (2019), as far as a
file can tell: details, data, measures, groups, and limits. What only people know (who it is for,
who was asked) is left as a line to fill in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lindero.errors import escape_controls
from lindero.evaluation.fold_scores import ModelScores
from lindero.evaluation.groups import GroupRates, Rate, compare_groups
from lindero.evaluation.measures import title_measure
from lindero.evaluation.registry import CLASSIFICATION, MACHINES, MachineSpec, find_guests
from lindero.runtime.arrays import write_figure

#: Columns that are listed.
_MOST_COLUMNS = 50

_MOST_CLASSES = 20


def build_model_card(
    info: Any,
    *,
    name: str = "model",
    scores: ModelScores | Mapping[str, float] | None = None,
    tested: str | None = None,
    groups: Mapping[str, Sequence[GroupRates]] | None = None,
) -> str:
    """The card of a model file.

    Parameters
    ----------
    info : ModelInfo
        From :func:`lindero.persist.inspect`.
    name : str, default="model"
        The title.
    scores : ModelScores, dict of float or None, default=None
        Measures on other data than those of training, with those of a baseline and a confusion
        matrix where they are of :func:`~lindero.evaluation.fold_scores.judge_model`.
    tested : str or None, default=None
        What data these are, in a line.
    groups : dict of list of GroupRates or None, default=None
        By column, from :func:`~lindero.evaluation.measure_groups`.

    Returns
    -------
    text : str
        Markdown.

    See Also
    --------
    lindero.persist.inspect : What a model file holds.
    lindero.evaluation.measure_groups : Rates by group.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.persist import inspect, save
    >>> from lindero.report.model_card import build_model_card
    >>> from lindero.svm import SVC
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.lin")
    ...     save(SVC().fit([[0.0], [1.0]], ["no", "yes"]), path)
    ...     card = build_model_card(inspect(path), name="line")
    >>> card.splitlines()[0]
    '# Model card: line'
    """
    noted = dict(info.summary)
    machine = _find_machine(info, noted)
    parts = [
        f"# Model card: {_clean(name)}",
        _describe_model(info, noted, machine),
        _describe_data(info, noted),
        _describe_measures(noted, scores, tested),
    ]
    if groups:
        parts.append(_describe_groups(groups, noted))
    if _list_updates(noted):
        parts.append(_describe_updates(noted))
    parts.append(_describe_limits(info, noted, machine, scores))
    return "\n\n".join(parts) + "\n"


def _find_machine(info: Any, noted: Mapping[str, Any]) -> MachineSpec | None:
    name = str(noted.get("machine"))
    guests = [guest for guest in find_guests(name) if guest.task == noted.get("task", guest.task)]
    found = MACHINES.get(name) or next(iter(guests), None)
    name = info.estimator.rpartition(".")[2]
    return found or next((m for m in MACHINES.values() if m.class_name == name), None)


def _describe_model(info: Any, noted: Mapping[str, Any], machine: MachineSpec | None) -> str:
    convergence = noted.get("convergence")
    status = convergence.get("status") if isinstance(convergence, dict) else noted.get("status")
    classes = noted.get("classes")
    listed = [str(label) for label in classes[:_MOST_CLASSES]] if isinstance(classes, list) else []
    chosen = noted.get("params")
    labels = classes if isinstance(classes, list) else []
    facts = {
        "Machine": None if machine is None else f"{machine.name}: {machine.one_line}",
        "Predicts": noted.get("target"),
        "Classes": ", ".join(listed) + (", ..." if len(classes or ()) > len(listed) else ""),
        "Parameters set": ", ".join(f"{k}={v}" for k, v in chosen.items())
        if isinstance(chosen, dict)
        else None,
        "Calibration": noted.get("calibration"),
        "Decision threshold": _tell_threshold(noted, labels),
        "Costs": ", ".join(list_costs(noted.get("costs"), labels)[:_MOST_CLASSES]),
        "Decision rule": noted["reason"] if isinstance(noted.get("reason"), str) else "",
        "Probabilities": _tell_probabilities(info, noted, machine),
        "Date": noted.get("date"),
        "Optimality": status,
        "Format": f"lindero {info.lindero_version}, format {info.format_version}, "
        f"{info.n_bytes} bytes",
        "SHA-256 of the model": f"`{info.sha256}`",
    }
    return "## Model\n\n" + _make_table(["", ""], [[k, v] for k, v in facts.items() if v])


def describe_decisions(noted: Mapping[str, Any], classes: Sequence[Any]) -> list[str]:
    """How a model comes to probabilities and answers, in sentences; none where it is as its machine
    has it. Notes of a user may be anything."""
    kinds: dict[str, Any] = {
        "calibration": str, "threshold": (int, float), "rule": str, "reason": str,
    }  # fmt: skip
    told = {k: noted[k] for k, kind in kinds.items() if isinstance(noted.get(k), kind)}
    said = []
    if "calibration" in told:
        said.append(f"Probabilities by {told['calibration']} calibration on rows left out.")
    if "threshold" in told and len(classes) == 2:
        said.append(f"Answers {classes[1]!s} from a probability of {told['threshold']:.4g} on.")
    elif told.get("rule") == "costs" and "reason" not in told:
        said.append("Answers the class of least expected cost.")
    return [*said, told["reason"]] if "reason" in told else said


def list_costs(costs: Any, classes: Sequence[Any]) -> list[str]:
    """Costs that are not 0 for what is right and 1 for what is wrong, as --cost has them."""
    n = len(classes)
    if not isinstance(costs, list) or len(costs) != n:
        return []
    listed = []
    for i, row in enumerate(costs):
        if not isinstance(row, list) or len(row) != n:
            return []
        for j, cost in enumerate(row):
            if isinstance(cost, (int, float)) and cost != (i != j):
                listed.append(f"{classes[i]}:{classes[j]}={cost:g}")
    return listed


def _describe_data(info: Any, noted: Mapping[str, Any]) -> str:
    facts = {
        "Data": noted.get("data"),
        "Rows known": noted.get("rows"),
        "SHA-256 of the data": f"`{noted['data_sha256']}`" if noted.get("data_sha256") else None,
        "Left out": ", ".join(map(str, noted["left_out"])) if noted.get("left_out") else None,
    }
    text = "## Data\n\n" + _make_table(["", ""], [[k, v] for k, v in facts.items() if v])
    columns = [c for c in info.input.get("columns") or [] if c["name"] is not None]
    if not columns:
        return f"{text}\n\n{info.input.get('n_features')} columns without names."
    rows = [[c["name"], c["kind"], c["n_values"] or ""] for c in columns[:_MOST_COLUMNS]]
    text += "\n\n" + _make_table(["Column", "Kind", "Values"], rows)
    more = len(columns) - _MOST_COLUMNS
    return f"{text}\n\nand {more} more columns." if more > 0 else text


def _tell_threshold(noted: Mapping[str, Any], classes: Sequence[Any]) -> str:
    threshold = noted.get("threshold")
    if not isinstance(threshold, (int, float)) or len(classes) != 2:
        return ""
    return f"{threshold:.4g} (probability of {classes[1]!s})"


def _tell_probabilities(info: Any, noted: Mapping[str, Any], machine: MachineSpec | None) -> str:
    """Whether a classifier has probabilities."""
    if machine is None or machine.task != CLASSIFICATION:
        return ""
    if "calibration" in noted or info.parameters.get("probability") is True:
        return "yes, calibrated"
    return "yes, its own" if machine.takes_tables else "no, decision values only"


def _describe_measures(
    noted: Mapping[str, Any],
    scores: ModelScores | Mapping[str, float] | None,
    tested: str | None,
) -> str:
    text = "## Measures"
    if scores:
        text += f"\n\nOn {_clean(tested or 'other data')}:\n\n"
    if isinstance(scores, ModelScores):
        text += _describe_scores(scores)
    elif scores:
        text += _make_table(["", ""], [[title_measure(n), _show(v)] for n, v in scores.items()])
    stored = noted.get("measures")
    if isinstance(stored, dict):
        rows = [[name.replace("_", " "), _show(value)] for name, value in stored.items()]
        text += "\n\nStored at training:\n\n" + _make_table(["", ""], rows)
    tuning = noted.get("tuning")
    if isinstance(tuning, dict):
        rows = [[name, _show(value)] for name, value in tuning.items() if value is not None]
        text += "\n\nCross-validated, for the parameters that were chosen:\n\n"
        text += _make_table(["", ""], rows)
    if text == "## Measures":
        text += (
            "\n\nNone are stored. Measure it on rows that it was not trained with: "
            "`lindero info MODEL --card --data TEST_DATA`."
        )
    return text


def _describe_scores(scores: ModelScores) -> str:
    """Measures beside those of the baseline, and the confusion matrix."""
    rows = [
        [title_measure(name), _show(value), _show(scores.baseline.get(name, math.nan))]
        for name, value in scores.model.items()
    ]
    reason = _clean(scores.reason)
    text = f"{reason[:1].upper()}{reason[1:]}\n\n" if reason else ""
    text += _make_table(["Measure", "Model", "Baseline"], rows)
    usual = "the mean of these rows" if scores.confusion is None else "the shares of the classes"
    text += f"\n\nThe baseline looks at no column: it knows {usual} only."
    if scores.confusion is None or len(scores.labels) > _MOST_CLASSES:
        return text
    header = ["True \\ predicted", *(str(label) for label in scores.labels)]
    counts = [
        [str(label), *(f"{count:g}" for count in row)]
        for label, row in zip(scores.labels, scores.confusion.tolist(), strict=True)
    ]
    return f"{text}\n\n### Confusion matrix\n\n" + _make_table(header, counts)


def _describe_groups(groups: Mapping[str, Sequence[GroupRates]], noted: Mapping[str, Any]) -> str:
    classes = noted.get("classes")
    text = "## Groups"
    if isinstance(classes, list) and len(classes) == 2:
        text += f"\n\nSelected means: predicted to be {_clean(str(classes[1]))}."
    for column, found in groups.items():
        text += f"\n\n### By {_clean(column)}\n\n"
        names = list(found[0].rates)
        rows = [
            [each.group, each.n_rows, *(_show_rate(each.rates[name]) for name in names)]
            for each in found
        ]
        text += _make_table(["Group", "Rows", *names], rows)
        text += "\n\n" + "\n".join(f"- {_clean(line)}" for line in compare_groups(found))
    return f"{text}\n\nIn brackets: 95 % intervals."


def _list_updates(noted: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = noted.get("updates")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _describe_updates(noted: Mapping[str, Any]) -> str:
    rows = []
    for each in _list_updates(noted):
        before = each.get("scores_before")
        told = ", ".join(f"{k} {_show(v)}" for k, v in before.items()) if before else ""
        rows.append([
            each.get("date"), each.get("data") or "", each.get("learned"), each.get("forgotten"),
            told,
        ])  # fmt: skip
    header = ["Date", "Data", "Learned", "Forgotten", "Measures on the new rows before"]
    return "## Updates\n\n" + _make_table(header, rows)


def _describe_limits(
    info: Any,
    noted: Mapping[str, Any],
    machine: MachineSpec | None,
    scores: ModelScores | Mapping[str, float] | None,
) -> str:
    rows = noted.get("rows")
    said = [
        "Intended use, and who is responsible: *to be filled in*.",
        "It holds for rows like those it was trained on. Nothing warns of rows that are unlike "
        "them (`lindero train -m one-class-svm` makes a model that does).",
        "What it found are associations, not causes.",
    ]
    if info.encoded:
        said.append("Categories that were not in training count as no value, or as rare ones.")
    if isinstance(rows, (int, float)) and rows < 200:
        said.append(f"It knows {rows:g} rows only: measures on so few vary much by chance.")
    if _tell_probabilities(info, noted, machine).startswith("no"):
        said.append("Decision values are no probabilities: train with --proba to have some.")
    elif "calibration" in noted and _list_updates(noted):
        said.append("Its probabilities are calibrated on the rows of training, not of updates.")
    if machine is not None and machine.takes_times:
        said.append("It moves in time: predictions for times far from the last row are guesses.")
    if not scores and not isinstance(noted.get("measures"), dict):
        said.append("It was not tested on other data for this card.")
    return "## Limits\n\n" + "\n".join(f"- {line}" for line in said)


def _show_rate(rate: Rate) -> str:
    if not rate.n_rows:
        return "no rows"
    return f"{rate.value:.3g} ({rate.low:.3g} to {rate.high:.3g}; n={rate.n_rows})"


def _show(value: Any) -> str:
    if isinstance(value, float):
        return "unknown" if math.isnan(value) else write_figure(value)
    if isinstance(value, dict):
        return ", ".join(f"{k}={_show(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(_show, value))
    return str(value)


def _make_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_clean(str(cell)) for cell in row) + " |" for row in lines)


def _clean(text: str) -> str:
    """Text that cannot leave its cell, or become a picture or a link."""
    line = " ".join(escape_controls(text).split())
    for mark in ("|", "[", "]", "<", ">"):
        line = line.replace(mark, f"\\{mark}")
    return line
