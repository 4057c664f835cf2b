"""``lindero train``: from data to a saved model."""

from __future__ import annotations

import shlex
import time
from typing import Any

import click

from lindero.cli import options
from lindero.cli.output import Output

_EXAMPLES = """\b
Examples:
  lindero train heart.csv -m svc --set C=10
  lindero train heart.csv -m naive-bayes -o heart.lin
  lindero train prices.parquet -m svr --target price --tune
"""


@click.command(epilog=f"{_EXAMPLES}\n{options.list_machines()}")
@options.data_options
@options.machine_options
@options.file_option("Where to save the model.", "model.lin")
@options.force_option
@click.option("--tune", is_flag=True, help="Search a grid of parameters first (see lindero tune).")
@options.measure_option
@options.folds_option
@options.seed_option
@options.output_options
@click.pass_obj
def command(
    output: Output,
    data: options.DataSource,
    machine: str,
    settings: tuple[str, ...],
    path: str,
    tune: bool,
    measure: str | None,
    folds: int,
    seed: int,
) -> None:
    """Train a machine and save it.

    Numbers are standardised, categories and missing values are encoded, and the model file includes
    how, so that predict accepts tables like DATA.
    """
    from lindero.cli.saved_model import save_model
    from lindero.cli.writing import require_writable

    require_writable(output, [path], [data.path])
    dataset, found, params = data.prepare(output, machine, settings)
    begun = time.perf_counter()
    if tune:
        from lindero.cli.tune import search

        chosen = {"params": params, "measure": measure, "folds": folds, "random_state": seed}
        tuning = search(output, found, dataset, **chosen)
        model, params = tuning.model, tuning.params
    else:
        model = _fit(output, found, dataset, params, seed)
    seconds = time.perf_counter() - begun
    result, sentence = save_model(model, path, found, data, dataset, params, seconds)
    if tune:
        result["tuning"] = tuning.best.to_dict()
    assigned = f" with {', '.join(options.format_params(params))}" if params else ""
    text = f"{found.name}{assigned} on {dataset.n_rows} rows"
    text += f", to predict {dataset.target!r}" if found.has_target else ""
    text += f"\n{sentence}\nTrained in {seconds:.2f} s; saved as {path}."
    output.show_result(result, text)
    if data.path == "-":
        return
    saved = shlex.quote(path)
    output.note(
        f"Next: {data.suggest('cv', found.name, params)}  (cross-validate it)\n"
        f"      lindero predict {saved} NEW_DATA  (apply it)\n"
        f"      lindero info {saved}  (look inside)"
    )


def _fit(output: Output, machine: Any, dataset: Any, params: dict[str, Any], seed: int) -> Any:
    from lindero.evaluation import fit_machine, make_machine, scale_to_target
    from lindero.evaluation.build import unwrap_machine

    model = make_machine(scale_to_target(machine, dataset.y), params, random_state=seed)
    final = unwrap_machine(model)
    if not output.is_live or not hasattr(final, "verbose"):
        with output.showing_status(f"training {machine.name}"):
            return fit_machine(model, dataset.X, **options.gather_roles(dataset))
    # These machines draw their own progress bar.
    final.set_params(verbose=True)
    fit_machine(model, dataset.X, **options.gather_roles(dataset))
    unwrap_machine(model).set_params(verbose=False)
    return model
