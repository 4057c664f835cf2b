"""``lindero train``: data to a model."""

from __future__ import annotations

import shlex
import time
from typing import Any

import click

from lindero.cli.options import (
    DataSource,
    data_options,
    folds_option,
    machine_names,
    machine_options,
    output_options,
    seed_option,
)
from lindero.cli.output import Output

_EXAMPLES = """\b
Examples:
  lindero train heart.csv -m svc --set C=10
  lindero train heart.csv -m naive-bayes -o heart.lin
  lindero train prices.parquet -m svr --target price --tune
"""


@click.command(epilog=f"{_EXAMPLES}\n{machine_names()}")
@data_options
@machine_options
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(dir_okay=False),
    default="model.lin",
    show_default=True,
    help="Where to save the model.",
)
@click.option("--tune", is_flag=True, help="Search a grid of parameters first (see tune).")
@folds_option
@seed_option
@output_options
@click.pass_obj
def command(
    output: Output,
    data: DataSource,
    machine: str,
    settings: tuple[str, ...],
    path: str,
    tune: bool,
    folds: int,
    seed: int,
) -> None:
    """Fit a machine to data and save it.

    Numbers are standardised, categories and missing values are taken care of, and the model
    remembers how: predict takes tables like DATA.
    """
    from lindero.cli.reading import assignments, chosen_machine, chosen_params, typed
    from lindero.cli.saving import require_place, save_model

    require_place(path)
    dataset = data.load(machine)
    found = chosen_machine(machine, dataset)
    params = chosen_params(settings, found, dataset)
    output.note(dataset.summary())
    begun = time.perf_counter()
    if tune:
        from lindero.cli.tune import search

        tuning = search(output, found, dataset, params, None, folds, seed)
        model, params = tuning.model, tuning.params
    else:
        model = _fitted(output, found, dataset, params, seed)
    seconds = time.perf_counter() - begun
    result, sentence = save_model(model, path, found, data, dataset, params, seconds)
    if tune:
        result["tuning"] = tuning.best.to_dict()
    text = f"{_title(found.name, assignments(params))} on {dataset.n_rows} rows"
    text += f", to predict {dataset.target!r}" if found.has_target else ""
    text += f"\n{sentence}\n"
    text += f"Trained in {seconds:.2f} s; saved as {path}."
    output.result(result, text)
    if data.path == "-":
        return
    saved = shlex.quote(path)
    output.note(
        f"Next: {typed('cv', data, found.name, params)}  (how well it does on unseen rows)\n"
        f"      lindero predict {saved} NEW_DATA  (apply it)\n"
        f"      lindero info {saved}  (look inside)"
    )


def _title(name: str, assigned: list[str]) -> str:
    return f"{name} with {', '.join(assigned)}" if assigned else name


def _fitted(output: Output, machine: Any, dataset: Any, params: dict[str, Any], seed: int) -> Any:
    from lindero.cli.reading import roles
    from lindero.evaluation import fit_machine, make_machine, scale_to_target
    from lindero.evaluation.build import unwrap_machine

    model = make_machine(scale_to_target(machine, dataset.y), params, random_state=seed)
    final = unwrap_machine(model)
    if not output.is_live or not hasattr(final, "verbose"):
        with output.waiting(f"training {machine.name}"):
            return fit_machine(model, dataset.X, **roles(dataset))
    # These machines draw a bar of their own.
    final.set_params(verbose=True)
    fit_machine(model, dataset.X, **roles(dataset))
    unwrap_machine(model).set_params(verbose=False)
    return model
