"""``lindero update``: a saved model learns new rows, and forgets old ones."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path
from typing import Any

import click

from lindero.cli.options import (
    DataSource,
    data_options,
    file_option,
    force_option,
    gather_ids,
    gather_roles,
    output_options,
)
from lindero.cli.output import CommandError, Output, align_columns

_EXAMPLES = """\b
Examples:
  lindero update model.lin new.csv -o updated.lin
  lindero update model.lin new.csv --forget gone.csv --in-place
  lindero update model.lin --forget gone.csv --in-place

\b
Machines that learn further rows: incremental-svc, incremental-svr,
incremental-one-class-svm, adaptive-svc, adaptive-svr, and the Bayesian ones
that count: naive-bayes, tan, kdb, aode, network-classifier.
"""

#: Names of a column of ids in a file of rows to forget, beside that of training.
_ID_NAMES = ("id", "ids")


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL", type=click.Path())
@data_options(required=False)  # rows may be forgotten without any being learned
@click.option(
    "--forget",
    type=click.Path(dir_okay=False),
    help="Rows to forget: a file with their ids, one a line or in a column called like that of "
    "training (incremental machines), or a table of whole rows (Bayesian machines).",
)
@file_option("Where to save the updated model.")
@click.option("--in-place", is_flag=True, help="Replace MODEL itself.")
@force_option
@output_options
@click.pass_obj
def command(
    output: Output,
    model: str,
    data: DataSource,
    forget: str | None,
    path: str | None,
    in_place: bool,
) -> None:
    """Learn new rows, and forget old ones.

    The result is the model that would have been trained with the new rows and without the forgotten
    ones; categories, scales and parameters stay those of training. Before it learns the rows of
    DATA, the old model is tested on them.
    """
    from lindero.cli.saved_model import SavedModel, describe_convergence
    from lindero.evaluation.updating import require_updatable, update_machine

    _require_target_file(output, model, data.path, forget, path, in_place)
    saved = SavedModel.read(model)
    try:
        require_updatable(saved.model, saved.machine, learns=data.path is not None)
    except ValueError as error:
        raise CommandError(f"{error} {_tell_training(saved, data, path)}") from None
    _, certificate_before = describe_convergence(saved.model)
    given = {} if data.path is None else _read_new_rows(saved, data, output)
    given |= {} if forget is None else _read_forgotten(saved, data, forget, output)
    with output.showing_status("updating"):
        update = update_machine(saved.model, **given)
    target = model if in_place else path
    assert target is not None
    values, certificate = describe_convergence(update.model)
    result = {
        "model": target,
        "machine": saved.machine.name,
        "rows_before": update.rows_before,
        "rows_after": update.rows_after,
        "learned": update.learned,
        "forgotten": update.forgotten,
        "scores_before": update.scores,
        "kept": update.kept,
        "convergence": values,
    }
    _save(saved, update, target, data, forget, values)
    output.show_result(result, _describe(result, certificate_before, certificate))
    output.advise(f"Next: lindero info {shlex.quote(target)}  (look inside)")


def _require_target_file(
    output: Output,
    model: str,
    data: str | None,
    forget: str | None,
    path: str | None,
    in_place: bool,
) -> None:
    """Refuse commands that say nothing to do, or not where to save it."""
    from lindero.cli.writing import require_writable

    if data is None and forget is None:
        raise click.UsageError("Nothing to do: give new rows (DATA), or --forget.")
    if (path is None) != in_place:
        raise click.UsageError(
            "Use either -o FILE, for the updated model, or --in-place, to replace MODEL."
        )
    require_writable(output, [path], [model, data, forget])


def _tell_training(saved: Any, data: DataSource, path: str | None) -> str:
    """How to train the model again, as a command."""
    from lindero.cli.options import format_params
    from lindero.report.model_card import list_costs

    noted, model = saved.summary, saved.path
    old = str(noted.get("data") or "").partition(": ")[0] or f"the rows of {model}"
    params, roles = noted.get("params"), noted.get("roles")
    words = ["lindero", "train", "ALL_ROWS", "-m", saved.machine.name]
    for role, name in roles.items() if isinstance(roles, dict) else ():
        words += [f"--{role}", str(name)]
    for text in format_params(params if isinstance(params, dict) else {}):
        words += ["--set", text]
    costs = list_costs(noted.get("costs"), noted.get("classes") or [])
    for cost in costs:
        words += ["--cost", cost]
    if "calibration" in noted:
        words += ["--proba"]
    if isinstance(noted.get("threshold"), float) and not costs:
        words += ["--threshold", f"{noted['threshold']:.6g}"]
    words += ["-o", path or model] + (["--force"] if path is None else [])
    new = "and the new ones" if data.path is None else f"and {Path(data.path).name}"
    return f"Put {old} {new} into one file, ALL_ROWS, then: {shlex.join(words)}"


def _read_new_rows(saved: Any, data: DataSource, output: Output) -> dict[str, Any]:
    """What `update_machine` takes of new rows; those without a target are left out."""
    from lindero.evaluation.registry import find_inner
    from lindero.evaluation.rows import drop_unlabelled

    dataset, X = saved.load(data, output)
    if saved.machine.has_target:
        if dataset.y is None:
            name = saved.summary.get("target")
            raise CommandError(
                f"{dataset.source} has no target"
                + (f": it lacks the column {name!r}." if name else ": name its column (--target).")
            )
        from dataclasses import replace

        dataset = drop_unlabelled(replace(dataset, X=X))
        X = dataset.X
    ids = gather_ids(dataset)
    final = _find_final(saved)
    own = getattr(final, "ids_", None)
    has_ids = own is not None and own.dtype.kind == "U"
    known_by = (saved.summary.get("roles") or {}).get("id")
    if own is not None and not has_ids and find_inner(saved.model) is not saved.model:
        known_by = None  # what is inside of a calibrated machine counts its rows
    if own is not None and known_by is not None and ids is None:
        if dataset.ids is not None:
            raise CommandError(
                f"{saved.path} knows its rows by the column {known_by!r}: give one --id, not "
                "several."
            )
        raise CommandError(
            f"{saved.path} knows its rows by the column {known_by!r}, which {dataset.source} "
            "lacks: add it, or name another (--id)."
        )
    if known_by is None and not has_ids:
        ids = None  # samples are counted
    roles = {name: gather_roles(dataset)[name] for name in ("y", "times", "weights")}
    return {"X": X, **roles, "ids": _match_type(ids, own)}


def _find_final(saved: Any) -> Any:
    from lindero.evaluation.build import unwrap_machine

    return unwrap_machine(saved.model)


def _match_type(ids: Any, own: Any) -> Any:
    """Ids as a machine has them: numbers, or text."""
    import numpy as np

    if ids is None or own is None:
        return None
    ids = np.asarray(ids)
    if own.dtype.kind == "U":
        return ids.astype(str)
    try:
        return ids.astype(np.int64)
    except ValueError:
        raise CommandError(
            f"The model knows its rows by whole numbers, and {str(ids[0])!r} is none."
        ) from None


def _read_forgotten(saved: Any, data: DataSource, forget: str, output: Output) -> dict[str, Any]:
    """Rows to forget: by their ids, or whole."""
    from dataclasses import replace

    final = _find_final(saved)
    own = getattr(final, "ids_", None)
    if own is not None:
        return {"forget": _match_type(_read_ids(saved, forget), own)}
    if not hasattr(final, "forget"):
        return {"forget": [0]}  # which is refused with the reason
    try:
        whole = replace(data, path=forget)
        dataset, X = saved.load(whole, output)
    except (CommandError, ValueError) as error:
        raise CommandError(
            f"{saved.machine.name} keeps counts, not rows, and knows no ids: {forget} must hold "
            f"the whole rows to forget, with all columns and the target. {error}"
        ) from None
    if dataset.y is None:
        raise CommandError(f"{forget} lacks the target: rows are forgotten with their class.")
    weighed_by = (saved.summary.get("roles") or {}).get("weight")
    if weighed_by is not None and dataset.weights is None:
        raise CommandError(
            f"{saved.path} learned its rows with the weights in the column {weighed_by!r}, which "
            f"{forget} lacks: add it, or name another (--weight)."
        )
    return {"forget_rows": (X, dataset.y, dataset.weights)}


def _read_ids(saved: Any, path: str) -> list[str]:
    """Ids in a file: a column that is named in its first line, or one on each line."""
    known = (saved.summary.get("roles") or {}).get("id")
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = [[cell.strip() for cell in row] for row in csv.reader(file) if any(row)]
    if not lines:
        raise CommandError(f"{path} holds no ids.")
    names = [name for name in (known, *_ID_NAMES) if name is not None]
    lowered = [cell.lower() for cell in lines[0]]
    column = next((lowered.index(n.lower()) for n in names if n.lower() in lowered), None)
    if column is not None:
        lines = lines[1:]
    elif max(map(len, lines)) > 1:
        wanted = " or ".join(map(repr, names))
        raise CommandError(
            f"{path} has several columns, and none of them is called {wanted}: which are the ids?"
        )
    ids = [row[column or 0] for row in lines if len(row) > (column or 0)]
    if not ids:
        raise CommandError(f"{path} holds no ids.")
    return list(dict.fromkeys(ids))


def _save(
    saved: Any, update: Any, target: str, data: DataSource, forget: str | None, values: Any
) -> None:
    """Save the model with the story of its updates."""
    from lindero.cli.saved_model import stamp_data
    from lindero.persist import save
    from lindero.runtime.arrays import make_plain

    step = {
        **stamp_data(data.path),
        "data": None if data.path is None else Path(data.path).name,
        "learned": update.learned,
        "forgotten": update.forgotten,
        "scores_before": update.scores,
    }
    told = saved.summary.get("updates")
    summary = {
        **saved.summary,
        "rows": update.rows_after,
        "convergence": values,
        "updates": [*(told if isinstance(told, list) else []), step],
    }
    save(update.model, target, summary=make_plain(summary))


def _describe(result: dict[str, Any], before: str, after: str) -> str:
    def show(number: float) -> str:
        return f"{number:.10g}"

    def count(verb: str, number: int) -> list[str]:
        return [f"{verb} {number} row{'s' if number > 1 else ''}"] if number else []

    done = count("learned", result["learned"]) + count("forgot", result["forgotten"])
    text = f"{result['machine']}: {' and '.join(done)}, "
    text += f"{show(result['rows_before'])} before, {show(result['rows_after'])} now."
    if result["scores_before"]:
        from lindero.evaluation.measures import title_measure

        rows = [[title_measure(name), v] for name, v in result["scores_before"].items()]
        text += "\nThe old model on the new rows, before it learned them:\n"
        text += "\n".join(f"  {line}" for line in align_columns(rows).splitlines())
    text += f"\n{result['kept']}" if result["kept"] else ""
    text += f"\nBefore: {before}\nNow:    {after}" if before != after else f"\n{after}"
    return f"{text}\nSaved as {result['model']}."
