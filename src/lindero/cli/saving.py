"""Saving models, and files in general: whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lindero.cli.convergence import convergence_of
from lindero.cli.mistakes import Mistake
from lindero.cli.options import DataSource


def require_place(path: str) -> None:
    """Refuse a path that cannot be written to, before any work is done."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise Mistake(f"There is no folder {str(folder)!r} to save {path!r} in: make it first.")
    target = Path(path)
    if target.is_dir():
        raise Mistake(f"{path!r} is a folder: name a file in it.")
    if not os.access(folder, os.W_OK):
        raise Mistake(f"You are not allowed to write to the folder {str(folder)!r}.")


def save_model(
    model: Any,
    path: str,
    machine: Any,
    data: DataSource,
    dataset: Any,
    params: dict[str, Any],
    seconds: float,
) -> tuple[dict[str, Any], str]:
    """Save a fitted model with where it came from; the summary, and what it says of itself."""
    from lindero.cli.output import plain
    from lindero.persist import save

    values, sentence = convergence_of(model)
    summary = {
        "machine": machine.name,
        "params": params,
        "data": dataset.summary(),
        "rows": dataset.n_rows,
        "columns": dataset.n_features,
        "target": dataset.target,
        "roles": _roles(data, dataset),
        "convergence": values,
        "seconds": seconds,
    }
    save(model, path, summary=plain(summary))
    return {**summary, "model": path}, sentence


def _roles(data: DataSource, dataset: Any) -> dict[str, str]:
    """Columns that are no features, by what they are."""
    given = {part: data.options[part] for part in ("time", "qid", "weight", "id")}
    return {part: name for part, name in {"target": dataset.target, **given}.items() if name}
