"""``lindero info``: what a saved model contains, or the parameters of a machine."""

from __future__ import annotations

import inspect as signatures
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lindero.cli.options import output_options
from lindero.cli.output import Output, align_columns
from lindero.evaluation.registry import MACHINES, MachineSpec

#: Columns and classes that are listed.
_MOST_NAMED = 20

#: What no training takes.
_MOST_SECONDS = 1e15


@click.command(epilog="\b\nExamples:\n  lindero info model.lin\n  lindero info svc\n  lindero info")
@click.argument("model", metavar="[MODEL]", type=click.Path(), required=False)
@output_options
@click.pass_obj
def command(output: Output, model: str | None) -> None:
    """Show what a saved model contains.

    MODEL may also be the name of a machine, to show its parameters. Without MODEL all machines are
    listed.
    """
    if model is None:
        rows = [[name, machine.task, machine.one_line] for name, machine in MACHINES.items()]
        listed = [{"name": row[0], "task": row[1], "description": row[2]} for row in rows]
        output.show_result({"machines": listed}, align_columns(rows))
    elif model in MACHINES and not Path(model).exists():
        _show_machine(output, MACHINES[model])
    else:
        _show_model(output, model)


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
        "estimator": f"lindero.{info.estimator}" + (", after a table encoder" * info.encoded),
        "parameters": ", ".join(f"{k}={v}" for k, v in changed.items()) or "all default",
        "data": noted.get("data"),
        "columns": _list_columns(info.input),
        "target": noted.get("target"),
        "classes": ", ".join(map(str, classes[:_MOST_NAMED])),
        "decisions": " ".join(_describe_decisions(noted, classes)),
        "costs": _list_costs(noted.get("costs"), classes),
        "status": convergence["status"] if "status" in convergence else noted.get("status"),
        "trained in": f"{seconds:.2f} s" if is_time else None,
        "file": f"{info.n_bytes} bytes, format {info.format_version}, "
        f"lindero {info.lindero_version}",
        "sha256": info.sha256,
    }
    return [[name, str(value)] for name, value in facts.items() if value]


def _describe_decisions(noted: dict[str, Any], classes: list[Any]) -> list[str]:
    """How the model comes to probabilities and answers; notes of a user may be anything."""
    from lindero.cli.saved_model import describe_decisions

    kinds: dict[str, Any] = {
        "calibration": str, "threshold": (int, float), "rule": str, "reason": str,
    }  # fmt: skip
    told = {k: noted[k] for k, kind in kinds.items() if isinstance(noted.get(k), kind)}
    return describe_decisions(told, classes)


def _list_costs(costs: Any, classes: list[Any]) -> str:
    """Costs that are not 0 for what is right and 1 for what is wrong, as --cost has them."""
    n = len(classes)
    if not isinstance(costs, list) or len(costs) != n:
        return ""
    listed = []
    for i, row in enumerate(costs):
        if not isinstance(row, list) or len(row) != n:
            return ""
        for j, cost in enumerate(row):
            if isinstance(cost, (int, float)) and cost != (i != j):
                listed.append(f"{classes[i]}:{classes[j]}={cost:g}")
    return ", ".join(listed[:_MOST_NAMED])


def _find_defaults(machine: MachineSpec) -> dict[str, Any]:
    """Default parameters of the class of a machine."""
    parameters = signatures.signature(machine.load()).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def _list_columns(described: dict[str, Any]) -> str:
    """The columns that a model expects."""
    named = [c for c in described.get("columns") or [] if c["name"] is not None]
    if not named:
        return str(described.get("n_features"))
    shown = [
        f"{c['name']}" + ("" if c["kind"] == "number" else f" ({c['n_values']} values)")
        for c in named[:_MOST_NAMED]
    ]
    return ", ".join(shown) + (", ..." if len(named) > _MOST_NAMED else "")
