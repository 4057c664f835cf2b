"""From options to what commands work with, and from parameters back to what is typed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lindero.cli.options import DataSource
from lindero.cli.output import Output
from lindero.evaluation.registry import MachineSpec, choose_machine


def prepare(
    output: Output, data: DataSource, name: str, settings: Sequence[str]
) -> tuple[Any, MachineSpec, dict[str, Any]]:
    """The data set, the machine and its parameters, as the options say."""
    from lindero.evaluation import parse_settings

    dataset = data.load(name)
    machine = choose_machine(name, dataset)
    params = parse_settings(settings, machine, dataset.y)
    output.note(dataset.summary())
    return dataset, machine, params


def gather_roles(dataset: Any) -> dict[str, Any]:
    """What `fit_machine` takes beside X: targets, times, queries and weights."""
    names = ("y", "times", "qid", "weights")
    return {name: getattr(dataset, name) for name in names}


def format_params(params: dict[str, Any]) -> list[str]:
    """Parameters as they are typed after --set."""
    return [f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in params.items()]


def format_command(command: str, data: DataSource, machine: str, params: dict[str, Any]) -> str:
    """A command for the same data, as it is typed."""
    words = ["-m", machine]
    for text in format_params(params):
        words += ["--set", text]
    return data.format_command(command, words)
