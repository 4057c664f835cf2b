"""From files and options to what commands work with: data sets, and the machine to use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lindero.cli.options import AUTO, USUAL_MACHINES, DataSource
from lindero.cli.output import Output
from lindero.evaluation.registry import MachineSpec, find_machine


def read_dataset(path: str, options: dict[str, Any], machine: str = AUTO) -> Any:
    """The data set of a file. For a machine without a target, a column with the name of a target is
    left out, with a warning; no other column is taken for the target."""
    from lindero.data import load
    from lindero.data.content import read_content
    from lindero.data.loading import TARGET_NAMES
    from lindero.errors import warn_user

    if machine == AUTO or find_machine(machine).has_target or options["target"] is not None:
        return _drop_unlabelled(load(path, **options))
    content = read_content(path)
    dataset = load_again(content, {**options, "target": False})
    for name in getattr(dataset.X, "column_names", ()):
        if name.lower() in TARGET_NAMES:
            warn_user(
                f"{machine} learns without a target: column {name!r} is left out. If it is a "
                "feature, use --no-target.",
                UserWarning,
            )
            return load_again(content, {**options, "target": name}).without_target()
    return dataset


def _drop_unlabelled(dataset: Any) -> Any:
    """Without the rows whose target is missing: nothing can be learned from them."""
    from lindero.errors import warn_user
    from lindero.validation import find_missing

    missing = None if dataset.y is None else find_missing(dataset.y)
    if missing is None or not missing.any():
        return dataset
    if missing.all():
        raise ValueError(f"The target {dataset.target!r} is missing in all rows.")
    warn_user(
        f"{int(missing.sum())} of {dataset.n_rows} rows are left out: they have no value of the "
        f"target {dataset.target!r}.",
        UserWarning,
    )
    return dataset.rows(~missing)


def load_again(content: Any, options: dict[str, Any]) -> Any:
    """The data set in a file that was read already, since standard input can be read only once."""
    from lindero.data.loading import Roles, load_content, parse_format

    kind = None if options["format"] is None else parse_format(options["format"])
    roles = Roles(*(options[name] for name in ("target", "time", "qid", "weight", "id")))
    return load_content(content, kind, roles, options["header"], options["delimiter"])


def prepare(
    output: Output, data: DataSource, name: str, settings: Sequence[str]
) -> tuple[Any, MachineSpec, dict[str, Any]]:
    """The data set, the machine and its parameters, as the options say."""
    dataset = data.load(name)
    machine = choose_machine(name, dataset)
    params = parse_params(settings, machine, dataset)
    output.note(dataset.summary())
    return dataset, machine, params


def choose_machine(name: str, dataset: Any) -> MachineSpec:
    """The machine that was named, or the default for such data."""
    if name == AUTO and dataset.y is None and dataset.target is not None:
        raise ValueError(
            f"The target {dataset.target!r} has no value in any row. Choose another column "
            "(--target), or use --no-target."
        )
    return find_machine(USUAL_MACHINES[dataset.task] if name == AUTO else name)


def parse_params(settings: Sequence[str], machine: MachineSpec, dataset: Any) -> dict[str, Any]:
    """Parameters of the machine from --set. Classes in class_weight are text, and are converted to
    those of the data."""
    from lindero.evaluation.build import parse_settings

    params = parse_settings(settings, machine)
    weights = params.get("class_weight")
    if isinstance(weights, dict) and dataset.y is not None:
        known = {json.dumps(label): label for label in set(dataset.y.tolist())}
        params["class_weight"] = {known.get(name, name): w for name, w in weights.items()}
    return params


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
