"""``lindero train``: from data to a saved model."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from typing import Any

import click

from lindero.cli import options
from lindero.cli.cluster import cluster_option
from lindero.cli.output import CommandError, Output
from lindero.cli.partitions import train_partitions
from lindero.evaluation.registry import CLASSIFICATION, find_inner

_EXAMPLES = """\b
Examples:
  lindero train heart.csv -m svc --set C=10
  lindero train heart.csv -m naive-bayes -o heart.lin
  lindero train prices.parquet -m svr --target price --tune
  lindero train heart.csv --cost ill:healthy=20
  lindero train churn.csv --proba --threshold f1
  lindero train 'sales/part-*.parquet' -y returned -m tan --cluster local
"""


@click.command(epilog=f"{_EXAMPLES}\n{options.list_machines()}")
@options.position_option
@options.data_options
@options.machine_options
@options.file_option("Where to save the model.", options.MODEL_NAME)
@options.force_option
@click.option("--tune", is_flag=True, help="Search a grid of parameters first (see lindero tune).")
@options.measure_option
@options.cost_option
@options.proba_option
@options.threshold_option
@options.folds_option
@options.seed_option
@cluster_option
@options.output_options
@click.pass_obj
def command(
    output: Output,
    data: options.DataSource,
    machine: str,
    settings: tuple[str, ...],
    path: str,
    tune: bool,
    cluster: str | None,
    measure: str | None,
    costs: tuple[str, ...],
    proba: bool,
    threshold: str | None,
    folds: int,
    seed: int,
) -> None:
    """Train a machine and save it.

    Numbers are standardised, categories and missing values are encoded, and the model file includes
    how, so that predict accepts tables like DATA.

    With --cost the class of least expected cost is answered, with --threshold or a --measure of
    answers the second of two classes from a probability on that is tuned on rows left out; the
    model file includes it, and predict uses it.

    A folder of Parquet files, or a pattern such as 'part-*.parquet', is read a row group at a time,
    and never in memory as a whole; with --cluster on the workers of Dask. Linear machines, machines
    on landmarks and Bayesian ones that count can do that.
    """
    from lindero.cli.saved_model import save_model
    from lindero.cli.writing import require_writable
    from lindero.scale.partitions import are_partitions
    from lindero.validation import find_missing

    require_writable(output, [path], [data.path])
    if cluster is not None or are_partitions(data.path):
        asked_for = {"--tune": tune, "--measure": measure, "--cost": costs, "--proba": proba,
                     "--threshold": threshold}  # fmt: skip
        refused = [option for option, value in asked_for.items() if value]
        train_partitions(output, data, machine, settings, path, cluster, refused)
        return
    dataset, found, params = data.prepare(output, machine, settings)
    if found.name.startswith("incremental") and len(data.options["id"]) > 1:
        output.warn(
            f"{found.name} knows each row by one id, and there are several (--id): it counts its "
            "rows from 0 instead. To update it by ids, train with one."
        )
    leaves_out = tune or costs or threshold is not None or proba
    if found.takes_unlabelled and leaves_out and find_missing(dataset.y).any():
        raise CommandError(
            "--tune, --cost, --threshold and --proba need rows with a target to be left out in "
            f"turn, and {found.name} was given rows without: leave these options out, and choose "
            "parameters by --set."
        )
    asked = read_decisions(dataset, found, measure, costs, threshold, proba)
    begun = time.perf_counter()
    if tune:
        from lindero.cli.tune import search

        chosen = {"measure": measure, "costs": asked["costs"], "folds": folds}
        tuning = search(output, found, dataset, params=params, random_state=seed, **chosen)
        model, params = decide_after(output, tuning, found, dataset, asked, seed), tuning.params
        if options.gather_ids(dataset) is not None and found.name.startswith("incremental"):
            model = fit_decisions(output, found, dataset, params, asked, seed)  # with ids
    else:
        model = fit_decisions(output, found, dataset, params, asked, seed)
    seconds = time.perf_counter() - begun
    more = {"tuning": tuning.best.to_dict()} if tune else {}
    result, sentence = save_model(model, path, found, data, dataset, params, seconds, **more)
    assigned = f" with {', '.join(options.format_params(params))}" if params else ""
    text = f"{found.name}{assigned} on {dataset.n_rows} rows"
    text += f", to predict {dataset.target!r}" if found.has_target else ""
    text += f"\n{sentence}\nTrained in {seconds:.2f} s; saved as {path}."
    output.show_result(result, text)
    if data.path == "-":
        return
    saved = shlex.quote(path)
    words = [word for text in options.format_params(params) for word in ("--set", text)]
    words += options.repeat_options(measure, costs)
    output.advise(
        f"Next: {data.format_command('cv', ['-m', found.name, *words])}  (cross-validate it)\n"
        f"      lindero predict {saved} NEW_DATA  (apply it)\n"
        f"      lindero info {saved}  (look inside)"
    )


def read_decisions(
    dataset: Any,
    machine: Any,
    measure: str | None,
    costs: Sequence[str],
    threshold: str | None = None,
    proba: bool = False,
) -> dict[str, Any]:
    """What `make_decision_machine` takes of the options of a command."""
    import numpy as np

    from lindero.cli.compare import parse_costs

    asked: dict[str, Any] = {"costs": None, "threshold": None, "proba": proba, "measure": None}
    if costs:
        asked["costs"] = parse_costs(costs, dataset)
    if machine.task == CLASSIFICATION:
        asked["measure"] = measure
    elif proba or threshold is not None:
        option = "--proba" if proba else "--threshold"
        why = ", so it has no probabilities" if machine.task == "regression" else ""
        raise CommandError(f"{machine.name} does not predict classes{why}: leave out {option}.")
    if threshold is not None:
        asked["threshold"] = options.parse_threshold(threshold, np.unique(dataset.y).tolist())
    return asked


def fit_decisions(
    output: Output,
    machine: Any,
    dataset: Any,
    params: dict[str, Any],
    asked: dict[str, Any],
    seed: int,
) -> Any:
    """A machine fitted to all rows, that answers as `asked`."""
    from lindero.evaluation import fit_machine, make_decision_machine, scale_to_target

    spec = scale_to_target(machine, dataset.y)
    model = make_decision_machine(spec, params, y=dataset.y, random_state=seed, **asked)
    return _fit(output, model, machine, dataset, fit_machine)


def decide_after(
    output: Output, tuning: Any, machine: Any, dataset: Any, asked: dict[str, Any], seed: int
) -> Any:
    """The model of a search; where more is asked for, fitted again with the best parameters."""
    from lindero.evaluation.measures import has_probabilities

    needs_more = asked["proba"] and not has_probabilities(tuning.model)
    if asked["threshold"] is None and not needs_more:
        return tuning.model
    return fit_decisions(output, machine, dataset, tuning.params, asked, seed)


def _fit(output: Output, model: Any, machine: Any, dataset: Any, fit: Any) -> Any:
    from lindero.evaluation.build import unwrap_machine

    final = unwrap_machine(model)
    one_fit = find_inner(model) is model
    roles = {**options.gather_roles(dataset), "ids": options.gather_ids(dataset)}
    if not output.is_live or not hasattr(final, "verbose") or not one_fit:
        with output.showing_status(f"training {machine.name}"):
            return fit(model, dataset.X, **roles)
    # These machines draw their own progress bar.
    final.set_params(verbose=True)
    fit(model, dataset.X, **roles)
    unwrap_machine(model).set_params(verbose=False)
    return model
