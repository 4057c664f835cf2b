"""``lindero info``: what a saved model contains, or the parameters of a machine."""

from __future__ import annotations

import inspect as signatures
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lindero.cli.options import file_option, force_option, make_source, output_options
from lindero.cli.output import CommandError, Output, align_columns
from lindero.evaluation.registry import MACHINES, MachineSpec, find_guests

#: Columns and classes that are listed.
_MOST_NAMED = 20

#: What no training takes.
_MOST_SECONDS = 1e15


_EXAMPLES = """\b
Examples:
  lindero info model.lin
  lindero info model.lin --card --data test.csv --group sex -o card.md
  lindero info svc
  lindero info
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="[MODEL]", type=click.Path(), required=False)
@click.option("--card", is_flag=True, help="Write a model card, as Markdown.")
@click.option(
    "--data",
    metavar="DATA",
    type=click.Path(),
    help="Data to measure the model on, for the card; not those of training.",
)
@click.option(
    "--group",
    "groups",
    metavar="COLUMN",
    multiple=True,
    help="Column of DATA whose groups are to be compared, for the card. Can be repeated.",
)
@file_option("Where to write the card.")
@force_option
@output_options
@click.pass_obj
def command(
    output: Output,
    model: str | None,
    card: bool,
    data: str | None,
    groups: tuple[str, ...],
    path: str | None,
) -> None:
    """Show what a saved model contains.

    MODEL may also be the name of a machine, to show its parameters. Without MODEL all machines are
    listed.
    """
    if (data or groups or path) and not card:
        raise click.UsageError("--data, --group and -o are for a model card: add --card.")
    if card:
        if model is None or not Path(model).exists():
            raise click.UsageError("A model card is about a model file: give one.")
        if groups and data is None:
            raise click.UsageError("--group compares groups of rows: give these with --data.")
        _write_card(output, model, data, groups, path)
    elif model is None:
        rows = [[name, machine.task, machine.one_line] for name, machine in MACHINES.items()]
        listed = [{"name": row[0], "task": row[1], "description": row[2]} for row in rows]
        output.show_result({"machines": listed}, align_columns(rows))
    elif model in MACHINES and not Path(model).exists():
        _show_machine(output, MACHINES[model])
    elif find_guests(model) and not Path(model).exists():
        _show_machine(output, find_guests(model)[0])
    else:
        _show_model(output, model)


def _write_card(
    output: Output, model: str, data: str | None, groups: tuple[str, ...], path: str | None
) -> None:
    """The card, to a file or to standard output."""
    from lindero.cli.saved_model import SavedModel, detect_model_format
    from lindero.cli.writing import require_writable, write_bytes
    from lindero.persist import inspect
    from lindero.report.model_card import build_model_card

    require_writable(output, [path], [model, data])
    if detect_model_format(model) != "lin":
        raise CommandError(f"{model} is not a model of lindero (.lin), and says nothing of itself.")
    info = inspect(model)
    more: dict[str, Any] = {}
    if data is not None:
        more = _measure(output, SavedModel.read(model), data, groups)
    text = build_model_card(info, name=Path(model).stem, **more)
    if path is not None:
        write_bytes(text.encode("utf-8"), path)
        output.show_result({"model": model, "card": path}, f"{path} written.")
        return
    found: dict[str, Any] = {k: v for k, v in more.items() if k == "tested"}
    if "scores" in more:
        found |= {"scores": more["scores"].model, "baseline": more["scores"].baseline}
        found["confusion"] = more["scores"].confusion
    by_group = {
        column: [asdict(each) for each in several]
        for column, several in more.get("groups", {}).items()
    }
    output.show_result({"model": model, "card": text, **found, "groups": by_group}, text.rstrip())


def _measure(output: Output, saved: Any, data: str, groups: tuple[str, ...]) -> dict[str, Any]:
    """Measures of a model on other data, and rates by group."""
    from lindero.cli.saved_model import stamp_data
    from lindero.evaluation.build import predict_rows
    from lindero.evaluation.fold_scores import judge_model
    from lindero.evaluation.groups import measure_groups
    from lindero.evaluation.rows import EvaluationRows
    from lindero.validation import find_labelled

    stamp = stamp_data(data).get("data_sha256")
    if stamp is not None and stamp == saved.summary.get("data_sha256"):
        output.warn(
            f"{data} are the data that the model was trained with: measures on them are too good. "
            "Use others."
        )
    dataset, X = saved.load(make_source(data), output)
    machine = saved.machine
    if not machine.has_target or machine.task in ("ranking", "tagging"):
        raise CommandError(
            f"{machine.name} has no target that its answers could be compared with: leave --data "
            "out."
        )
    if dataset.y is None:
        raise CommandError(f"{data} has no target to compare predictions with.")
    times = dataset.times if machine.takes_times else None
    answers = predict_rows(saved.model, X, times=times)
    known = find_labelled(dataset.y)
    rows = _find_rows(known, dataset.n_rows)
    truth = dataset.y[rows]
    measured = EvaluationRows(X, dataset.y, times, None, dataset.weights).take(rows)
    scores = judge_model(machine, saved.model, measured)
    classes = getattr(saved.model, "classes_", None)
    labels = None if classes is None else classes.tolist()
    found = {
        column: measure_groups(
            truth, answers[rows], _find_groups(dataset, column, data)[rows], classes=labels
        )
        for column in groups
    }
    return {"scores": scores, "tested": dataset.summary(), "groups": found}


def _find_rows(known: Any, n_rows: int) -> Any:
    """Positions of rows that have a target."""
    import numpy as np

    return np.arange(n_rows) if known is None else np.flatnonzero(known)


def _find_groups(dataset: Any, column: str, path: str) -> Any:
    """The values of a column, feature or not: those that the model does not take are read from the
    file as they are."""
    import numpy as np

    from lindero.data import load

    table = dataset.X
    if column == dataset.target:
        return np.array(dataset.y, dtype=object)
    if column not in getattr(table, "column_names", []) and path != "-":
        table = load(path, target=False, dates=False, keep_row_names=True).X
    names = getattr(table, "column_names", [])
    if column in names:
        return np.array(table[column].to_pylist(), dtype=object)
    from lindero.evaluation.registry import suggest_name

    raise CommandError(f"{path} has no column {column!r}: {suggest_name(column, names)}")


def _show_machine(output: Output, machine: MachineSpec) -> None:
    defaults = {**_find_defaults(machine), **machine.preset}
    rows = []
    for name, value in defaults.items():
        tried = ", ".join(map(str, machine.grid.get(name, ())))
        rows.append([name, "none" if value is None else str(value), tried])
    text = f"{machine.name}: {machine.one_line}\n\n"
    text += align_columns(rows, ["parameter", "default", "grid of tune"])
    output.show_result(
        {
            "name": machine.name,
            "task": machine.task,
            "class": machine.path.replace(":", "."),
            "description": machine.one_line,
            "defaults": defaults,
            "grid": dict(machine.grid),
        },
        text,
    )


def _show_model(output: Output, path: str) -> None:
    from lindero.cli.saved_model import detect_model_format, read_model

    kind = detect_model_format(path)
    if kind == "lin":
        from lindero.persist import inspect

        info = inspect(path)
        output.show_result(asdict(info), align_columns(_list_facts(info)))
        return
    model = read_model(path, kind)  # of another program
    facts: dict[str, Any] = {"format": kind, "model": repr(model)}
    for name, words in (("n_features_in_", "columns"), ("classes_", "classes")):
        if hasattr(model, name):
            facts[words] = getattr(model, name)
    if hasattr(model, "support_"):
        facts["support vectors"] = len(model.support_)
    output.show_result(facts, align_columns([[name, str(value)] for name, value in facts.items()]))


def _list_facts(info: Any) -> list[list[str]]:
    """What is known of a model of lindero."""
    from lindero.report.model_card import describe_decisions, list_costs

    noted = dict(info.summary)
    convergence, seconds = noted.get("convergence"), noted.get("seconds")
    if not isinstance(convergence, dict):  # a summary that a user wrote
        convergence = {}
    classes = noted.get("classes")
    classes = classes if isinstance(classes, list) else []
    is_time = isinstance(seconds, (int, float)) and 0 <= seconds < _MOST_SECONDS
    name = info.estimator.rpartition(".")[2]
    machine = next((m for m in MACHINES.values() if m.class_name == name), None)
    usual = {} if machine is None else _find_defaults(machine)
    changed = {k: v for k, v in info.parameters.items() if k not in usual or usual[k] != v}
    facts = {
        "machine": noted.get("machine"),
        "estimator": _name_estimator(info.estimator) + (", after a table encoder" * info.encoded),
        "parameters": ", ".join(f"{k}={v}" for k, v in changed.items()) or "all default",
        "data": noted.get("data"),
        "columns": _list_columns(info.input),
        "target": noted.get("target"),
        "classes": ", ".join(map(str, classes[:_MOST_NAMED])),
        "decisions": " ".join(describe_decisions(noted, classes)),
        "costs": ", ".join(list_costs(noted.get("costs"), classes)[:_MOST_NAMED]),
        "stream": _describe_stream(noted),
        "status": convergence["status"] if "status" in convergence else noted.get("status"),
        "date": noted.get("date"),
        "trained in": f"{seconds:.2f} s" if is_time else None,
        "file": f"{info.n_bytes} bytes, format {info.format_version}, "
        f"lindero {info.lindero_version}",
        "sha256": info.sha256,
    }
    return [[name, str(value)] for name, value in facts.items() if value]


def _describe_stream(noted: dict[str, Any]) -> str:
    """How far a stream has come, and how fast it changes; notes of a user may be anything."""
    told, n_rows = noted.get("stream"), noted.get("n_samples")
    if not isinstance(told, dict) or type(n_rows) is not int:
        return ""
    words = [f"{n_rows} rows"]
    coupling = told.get("coupling")
    if isinstance(coupling, float) and 0.0 < coupling < _MOST_SECONDS:
        reach = max(1.0, coupling**0.5)
        counted = f"the last {reach:.0f} count" if reach < n_rows else "all of them count"
        words.append(f"coupling {coupling:.3g}: {counted}")
    count, row = told.get("n_changes"), told.get("last_change")
    if count == 0:
        words.append("no change noticed")
    elif type(count) is int and type(row) is int:
        changes = "one change" if count == 1 else f"{count} changes"
        words.append(f"{changes} noticed, the last from row {row} on")
    return "; ".join(words)


def _name_estimator(kind: str) -> str:
    """The class of a model, and whose it is."""
    package, _, name = kind.partition(".")
    return f"scikit-learn's {name}" if package == "sklearn" else f"lindero.{kind}"


def _find_defaults(machine: MachineSpec) -> dict[str, Any]:
    """Default parameters of the class of a machine."""
    parameters = signatures.signature(machine.load()).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


#: What is said of columns that are no categories.
_KINDS = {
    "number": "",
    "text": " (text, hashed)",
    "date": " (dates)",
    "left out": " (left out)",
    "unknown": " (empty)",
}


def _list_columns(described: dict[str, Any]) -> str:
    """The columns that a model expects."""
    named = [c for c in described.get("columns") or [] if c["name"] is not None]
    if not named:
        return str(described.get("n_features"))
    shown = [
        c["name"] + _KINDS.get(c["kind"], f" ({c['n_values']} values)") for c in named[:_MOST_NAMED]
    ]
    return ", ".join(shown) + (", ..." if len(named) > _MOST_NAMED else "")
