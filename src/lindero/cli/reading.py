"""From files and options to what commands work with: data sets, and the machine to use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lindero.cli.options import AUTO, USUAL_MACHINES, DataSource
from lindero.evaluation.registry import MachineSpec, find_machine


def read_dataset(path: str, options: dict[str, Any], machine: str = AUTO) -> Any:
    """The data set of a file. For a machine without target, a column that is called like one is
    left out, and said so; no other is taken for the target."""
    from lindero.data import load
    from lindero.data.content import read_content
    from lindero.data.roles import TARGET_NAMES
    from lindero.errors import warn_user

    if machine == AUTO or find_machine(machine).has_target or options["target"] is not None:
        return _labelled(load(path, **options))
    content = read_content(path)
    dataset = loaded_again(content, {**options, "target": False})
    for name in getattr(dataset.X, "column_names", ()):
        if name.lower() in TARGET_NAMES:
            warn_user(
                f"{machine} learns without a target: column {name!r} is left out. If it is a "
                "feature, say --no-target.",
                UserWarning,
            )
            return loaded_again(content, {**options, "target": name}).without_target()
    return dataset


def _labelled(dataset: Any) -> Any:
    """Without the rows whose target is missing: nothing can be learned from them."""
    from lindero.errors import warn_user
    from lindero.labels import missing_values

    missing = None if dataset.y is None else missing_values(dataset.y)
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


def loaded_again(content: Any, options: dict[str, Any]) -> Any:
    """The data set of a file that was read, which standard input can be only once."""
    from lindero.data.formats import named_format
    from lindero.data.loading import loaded
    from lindero.data.roles import Roles

    kind = None if options["format"] is None else named_format(options["format"])
    parts = Roles(*(options[name] for name in ("target", "time", "qid", "weight", "id")))
    return loaded(content, kind, parts, options["header"], options["delimiter"])


def chosen_machine(name: str, dataset: Any) -> MachineSpec:
    """The machine that was named, or the usual one for such data."""
    if name == AUTO and dataset.y is None and dataset.target is not None:
        raise ValueError(
            f"The target {dataset.target!r} has no value in any row: name another column "
            "(--target), or say that there is no target (--no-target)."
        )
    return find_machine(USUAL_MACHINES[dataset.task] if name == AUTO else name)


def chosen_params(settings: Sequence[str], machine: MachineSpec, dataset: Any) -> dict[str, Any]:
    """Parameters of the machine, as they were set. Classes are text where they stand before a
    colon, whatever they are in the data."""
    from lindero.evaluation.build import parse_settings

    params = parse_settings(settings, machine)
    weights = params.get("class_weight")
    if isinstance(weights, dict) and dataset.y is not None:
        known = {json.dumps(label): label for label in set(dataset.y.tolist())}
        params["class_weight"] = {known.get(name, name): w for name, w in weights.items()}
    return params


def roles(dataset: Any) -> dict[str, Any]:
    """What `fit_machine` and the like take beside X: targets, times, queries and weights."""
    return {
        "y": dataset.y,
        "times": dataset.times,
        "qid": dataset.qid,
        "weights": dataset.weights,
    }


def assignments(params: dict[str, Any]) -> list[str]:
    """Parameters as they are typed."""
    return [f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in params.items()]


def typed(command: str, data: DataSource, machine: str, params: dict[str, Any]) -> str:
    """A command for the same data, as it is typed."""
    words = ["-m", machine]
    for text in assignments(params):
        words += ["--set", text]
    return data.typed(command, words)
