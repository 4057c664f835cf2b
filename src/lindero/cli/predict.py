"""``lindero predict``: apply a saved model."""

from __future__ import annotations

from typing import Any

import click

from lindero.cli.options import (
    DataSource,
    cost_option,
    data_options,
    file_option,
    force_option,
    gather_roles,
    output_options,
    parse_threshold,
    position_option,
)
from lindero.cli.output import CommandError, Output, align_columns
from lindero.cli.partitions import predict_partitions

_EXAMPLES = """\b
Examples:
  lindero predict model.lin new.csv -o predictions.csv
  lindero predict model.lin new.csv --proba --explain
  lindero predict model.lin new.csv --threshold 0.2
"""


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL", type=click.Path())
@position_option
@data_options
@file_option("Where to write (csv, tsv, parquet or arff); by default csv to standard output.")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option("--decision", is_flag=True, help="Add decision values.")
@click.option("--explain", is_flag=True, help="Add a sentence that explains each prediction.")
@click.option(
    "--threshold",
    metavar="NUMBER",
    help="From which probability on the second of two classes is answered, such as 0.2, or yes=0.2 "
    "for the class yes; by default as in training.",
)
@cost_option
@force_option
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
    threshold: str | None,
    costs: tuple[str, ...],
) -> None:
    """Apply a saved model to data.

    Columns are found by the names they had in training. Answers follow the threshold or the costs
    of training, if there were any; --threshold and --cost override them. A folder of Parquet files,
    or a pattern such as 'new-*.parquet', is read and answered a row group at a time. If DATA has
    the target,
    the predictions are scored; the scores go to standard error if the predictions go to standard
    output.
    """
    from lindero.cli.saved_model import SavedModel
    from lindero.cli.writing import choose_format, require_writable, write_columns
    from lindero.scale.partitions import are_partitions

    if path is not None:
        require_writable(output, [path], [model, data.path])
        if choose_format(path) == "svmlight":
            raise CommandError(
                "Predictions cannot be written as svmlight: use csv, tsv, parquet or arff."
            )
    saved = SavedModel.read(model)
    rule = _read_rule(saved, threshold, costs)
    if are_partitions(data.path):
        predict_partitions(
            output, data, saved, path,
            lambda part, X: _predict_columns(saved, part, X, rule, proba, decision, explain),
        )  # fmt: skip
        return
    dataset, X = saved.load(data, output)
    columns = _predict_columns(saved, dataset, X, rule, proba, decision, explain)
    scores = _score(saved, dataset, X, columns["prediction"], rule)
    if path is not None:
        write_columns(columns, path)
    result: dict[str, Any] = {"model": model, "data": dataset.source, "rows": dataset.n_rows}
    if scores:
        result["scores"] = scores
    if output.json:
        if path is None:
            lists = [list(values) for values in columns.values()]
            rows = zip(*lists, strict=True)
            result["predictions"] = [dict(zip(columns, row, strict=True)) for row in rows]
        else:
            result["output"] = path
        output.write_json(result)
        return
    if path is None:
        write_columns(columns, None)
    else:
        click.echo(f"{dataset.n_rows} predictions of {saved.machine.name} written to {path}.")
    if scores and not output.quiet:
        from lindero.evaluation.measures import title_measure

        text = align_columns([[title_measure(name), value] for name, value in scores.items()])
        click.echo(text, err=path is None)


def _read_rule(saved: Any, threshold: str | None, costs: tuple[str, ...]) -> dict[str, Any]:
    """The threshold and the costs that the user gave, for classes of the model."""
    if threshold is None and not costs:
        return {}
    from lindero.cli.compare import parse_class_costs
    from lindero.evaluation.measures import has_probabilities, read_costs

    option = "--threshold" if costs == () else "--cost"
    if threshold is not None and costs:
        raise click.UsageError("Use either --threshold or --cost.")
    classes = getattr(saved.model, "classes_", None)
    if classes is None:
        raise CommandError(f"{saved.machine.name} does not predict classes: leave out {option}.")
    if not has_probabilities(saved.model):
        raise CommandError(
            f"{option} needs probabilities, and {saved.path} has none: train it with --proba."
        )
    if getattr(saved.model, "rule_", None) == "margins":
        raise CommandError(
            f"{saved.path} has the costs of training in its margins: train again with other costs "
            f"instead of {option}."
        )
    if costs:
        return {"costs": read_costs(parse_class_costs(costs, classes.tolist()), classes)}
    return {"threshold": parse_threshold(threshold, classes.tolist(), tuned=False)}


def _predict_columns(
    saved: Any,
    dataset: Any,
    X: Any,
    rule: dict[str, Any],
    proba: bool,
    decision: bool,
    explain: bool,
) -> dict[str, Any]:
    """The columns to write."""
    from lindero.cli.saved_model import require_no_places
    from lindero.evaluation.build import compute_decisions, compute_probabilities, predict_rows

    columns: dict[str, Any] = {} if dataset.ids is None else {"id": dataset.ids}
    if dataset.ids is not None and dataset.ids.ndim == 2:
        columns = dict(zip(dataset.reading.id, dataset.ids.T, strict=True))
    times = dataset.times if saved.machine.takes_times else None
    where = {"times": times, "positions": dataset.positions}
    if rule:
        from lindero.evaluation.decisions import decide_classes

        codes = decide_classes(compute_probabilities(saved.model, X, times=times), **rule)
        columns["prediction"] = saved.model.classes_[codes]
    else:
        columns["prediction"] = predict_rows(saved.model, X, qid=dataset.qid, **where)
    if proba:
        columns.update(_predict_probabilities(saved, X, times))
    if decision:
        values = compute_decisions(saved.model, X, **where)
        if values is None:
            raise ValueError(f"{saved.machine.name} has no decision values: leave out --decision.")
        if values.ndim == 1:
            columns["decision"] = values
        else:
            named = zip(saved.model.classes_, values.T, strict=False)
            columns.update({f"decision({label})": column for label, column in named})
    if explain:
        from lindero.evaluation import explain_rows

        require_no_places(dataset, saved.path)

        columns["why"] = explain_rows(saved.model, X, times=times)
    return columns


def _predict_probabilities(saved: Any, X: Any, times: Any) -> dict[str, Any]:
    from lindero.evaluation.build import compute_probabilities
    from lindero.evaluation.measures import has_probabilities

    if saved.machine.task == "regression":
        raise ValueError(
            f"{saved.machine.name} predicts numbers, and regressions have no probabilities of "
            "classes: leave out --proba."
        )
    if not has_probabilities(saved.model):
        raise ValueError(
            f"{saved.machine.name} has no probabilities: use --decision for decision values, or "
            "train with --proba, or a Bayesian machine, such as naive-bayes-tm."
        )
    values = compute_probabilities(saved.model, X, times=times)
    labels = getattr(saved.model, "classes_", range(values.shape[1]))
    return {f"P({label})": column for label, column in zip(labels, values.T, strict=True)}


def _score(saved: Any, dataset: Any, X: Any, found: Any, rule: dict[str, Any]) -> dict[str, float]:
    """Scores on the rows whose target is known."""
    import numpy as np

    from lindero.evaluation.folds import take_rows
    from lindero.evaluation.measures import measure_machine
    from lindero.validation import find_missing

    machine = saved.machine
    has_queries = machine.task not in ("ranking", "tagging") or dataset.qid is not None
    if not machine.has_target or dataset.y is None or not has_queries:
        return {}
    known = np.flatnonzero(~find_missing(dataset.y))
    if len(known) == 0 or _has_other_labels(saved.model, dataset.y[known]):
        return {}
    data = {"X": X, "found": found, **gather_roles(dataset)}
    if len(known) < dataset.n_rows:
        data = {name: take_rows(values, known) for name, values in data.items()}
    return measure_machine(machine, saved.model, **data, costs=rule.get("costs"))


def _has_other_labels(model: Any, y: Any) -> bool:
    """Whether no label is a class of the model, so that scores would be meaningless; warns."""
    from lindero.errors import warn_user

    classes = getattr(model, "classes_", None)
    if classes is None or set(y.tolist()) & set(classes.tolist()):
        return False
    there, known = (
        ", ".join(map(str, list(some)[:5])) for some in (dict.fromkeys(y.tolist()), classes)
    )
    warn_user(
        f"Not scored: no label of the data ({there}) is a class of the model ({known}). Are they "
        "coded differently?",
        UserWarning,
    )
    return True
