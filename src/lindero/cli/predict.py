"""``lindero predict``: a saved model, applied."""

from __future__ import annotations

from typing import Any

import click

from lindero.cli.mistakes import Mistake
from lindero.cli.options import DataSource, data_options, output_options
from lindero.cli.output import Output, aligned

_EXAMPLES = """\b
Examples:
  lindero predict model.lin new.csv -o predictions.csv
  lindero predict model.lin new.csv --proba --explain
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL", type=click.Path())
@data_options
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(dir_okay=False),
    help="Where to write (csv, tsv, parquet or arff); by default to standard output, as csv.",
)
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option("--decision", is_flag=True, help="Add decision values.")
@click.option("--explain", is_flag=True, help="Add a sentence for each row that says why.")
@output_options
@click.pass_obj
def command(
    output: Output,
    model: str,
    data: DataSource,
    path: str | None,
    proba: bool,
    decision: bool,
    explain: bool,
) -> None:
    """Apply a saved model to data.

    Columns are found by the names they had in training; where the target is among them, the
    predictions are scored, on standard error if they go to standard output themselves.
    """
    from lindero.cli.saved_model import SavedModel
    from lindero.cli.saving import require_place
    from lindero.cli.tables import format_of, write_columns

    if path is not None:
        require_place(path)
        if format_of(path) == "svmlight":
            raise Mistake("Predictions are a table: write them as csv, tsv, parquet or arff.")
    saved = SavedModel.read(model)
    dataset, X = saved.load(data, output)
    columns = _columns(saved, dataset, X, proba, decision, explain)
    scores = _scores(saved, dataset, X, columns["prediction"])
    if path is not None:
        write_columns(columns, path)
    told: dict[str, Any] = {"model": model, "data": dataset.source, "rows": dataset.n_rows}
    if scores:
        told["scores"] = scores
    if output.json:
        told.update({"output": path} if path is not None else {"predictions": _listed(columns)})
        output.write_json(told)
        return
    if path is None:
        write_columns(columns, None)
    else:
        click.echo(f"{dataset.n_rows} predictions of {saved.machine.name} written to {path}.")
    if scores and not output.quiet:
        text = aligned([[name.replace("_", " "), value] for name, value in scores.items()])
        click.echo(text, err=path is None)


def _columns(
    saved: Any, dataset: Any, X: Any, proba: bool, decision: bool, explain: bool
) -> dict[str, Any]:
    """What is written of each row."""
    from lindero.evaluation.build import compute_decisions, predict_rows

    columns: dict[str, Any] = {}
    if dataset.ids is not None:
        columns["id"] = dataset.ids
    times = dataset.times if saved.machine.takes_times else None
    columns["prediction"] = predict_rows(saved.model, X, times=times)
    if proba:
        columns.update(_probabilities(saved, X))
    if decision:
        values = compute_decisions(saved.model, X, times=times)
        if values is None:
            raise ValueError(f"{saved.machine.name} has no decision values: leave out --decision.")
        if values.ndim == 1:
            columns["decision"] = values
        else:
            classes = saved.model.classes_
            for label, column in zip(classes, values.T, strict=False):
                columns[f"decision({label})"] = column
    if explain:
        from lindero.evaluation import explain_rows

        columns["why"] = explain_rows(saved.model, X, times=times)
    return columns


def _probabilities(saved: Any, X: Any) -> dict[str, Any]:
    from lindero.evaluation.measures import has_probabilities

    if not has_probabilities(saved.model):
        raise ValueError(
            f"{saved.machine.name} has no probabilities: take --decision for its decision values, "
            "or train a Bayesian machine, such as naive-bayes-tm."
        )
    values = saved.model.predict_proba(X)
    labels = getattr(saved.model, "classes_", range(values.shape[1]))
    return {f"P({label})": column for label, column in zip(labels, values.T, strict=True)}


def _scores(saved: Any, dataset: Any, X: Any, found: Any) -> dict[str, float]:
    """How right the predictions are, on rows whose target is known."""
    import numpy as np

    from lindero.evaluation.folds import take_rows
    from lindero.evaluation.measures import measure_machine
    from lindero.labels import missing_values

    machine = saved.machine
    has_queries = machine.task != "ranking" or dataset.qid is not None
    if not machine.has_target or dataset.y is None or not has_queries:
        return {}
    known = np.flatnonzero(~missing_values(dataset.y))
    if len(known) == 0 or _other_labels(saved.model, dataset.y[known]):
        return {}
    data = {"X": X, "y": dataset.y, "times": dataset.times, "qid": dataset.qid}
    data.update(weights=dataset.weights, found=found)
    if len(known) < dataset.n_rows:
        data = {name: take_rows(values, known) for name, values in data.items()}
    return measure_machine(machine, saved.model, **data)


def _other_labels(model: Any, y: Any) -> bool:
    """Whether no label is a class of the model, which is said: scores would mean nothing."""
    from lindero.errors import warn_user

    classes = getattr(model, "classes_", None)
    if classes is None or set(y.tolist()) & set(classes.tolist()):
        return False
    there, known = (
        ", ".join(map(str, list(some)[:5])) for some in (dict.fromkeys(y.tolist()), classes)
    )
    warn_user(
        f"Not scored: no label of the data ({there}) is a class of the model ({known}). Are they "
        "coded otherwise?",
        UserWarning,
    )
    return True


def _listed(columns: dict[str, Any]) -> list[dict[str, Any]]:
    from lindero.cli.output import plain

    names = list(columns)
    lists = [plain(list(values)) for values in columns.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
