"""``lindero compare``: which machine suits the data."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click
from click.shell_completion import CompletionItem

from lindero.cli.mistakes import INTERRUPTED
from lindero.cli.options import (
    DataSource,
    data_options,
    folds_option,
    output_options,
    seed_option,
)
from lindero.cli.output import Output

_EXAMPLES = """\b
Examples:
  lindero compare heart.csv --report heart.html
  lindero compare heart.csv --cost ill:healthy=20 --cost healthy:ill=1
  lindero compare prices.csv --time day --folds 8
  lindero compare heart.csv -m naive-bayes -m svc --json
"""


class ContenderName(click.ParamType[str]):
    """A machine of the comparison; kernels are told apart, as in svc-linear."""

    name = "machine"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """The name itself, if there is such a machine."""
        from lindero.evaluation.registry import find_contenders

        try:
            find_contenders(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Machines that begin like what is typed."""
        from lindero.evaluation import CONTENDERS

        return [
            CompletionItem(name, help=contender.one_line)
            for name, contender in CONTENDERS.items()
            if name.startswith(incomplete)
        ]


@click.command(epilog=_EXAMPLES)
@data_options
@click.option(
    "-m",
    "--machine",
    "machines",
    type=ContenderName(),
    multiple=True,
    help="A machine to compare, such as tan or svc-linear. Can be repeated; by default all that "
    "suit the data.",
)
@click.option(
    "--cost",
    "costs",
    metavar="TRUE:PREDICTED=COST",
    multiple=True,
    help="What it costs to predict a class where another is true. Can be repeated; errors that "
    "are not named cost 1.",
)
@click.option(
    "--task",
    type=click.Choice(("classification", "regression")),
    help="What the target is; by default it is looked at.",
)
@folds_option
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Rounds of folds, each shuffled anew.",
)
@click.option(
    "--inner-folds",
    type=click.IntRange(min=2),
    default=3,
    show_default=True,
    help="Folds inside the training rows, to choose parameters by.",
)
@click.option(
    "--tuning-rows",
    type=click.IntRange(min=20),
    default=2000,
    show_default=True,
    help="Parameters are chosen by at most so many training rows.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes that work at the same time.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    help="Write a page with all results and pictures to this file (HTML).",
)
@seed_option
@output_options
@click.pass_obj
def command(
    output: Output,
    data: DataSource,
    machines: tuple[str, ...],
    costs: tuple[str, ...],
    task: str | None,
    folds: int,
    repeats: int,
    inner_folds: int,
    tuning_rows: int,
    jobs: int,
    report: str | None,
    seed: int,
) -> None:
    """Find the machine that suits your data.

    All machines that suit the data are tuned and judged on the same folds, with times (--time)
    always on rows later than those they learned from. Parameters are chosen inside the training
    rows, so no machine has seen what it is judged on. Ctrl-C ends the comparison and shows what is
    known by then.
    """
    from lindero.cli.comparison_table import live_table, result_text, train_command
    from lindero.cli.costs import costs_of
    from lindero.cli.saving import require_place
    from lindero.evaluation import compare

    if report is not None:
        require_place(report)
    dataset = data.load()
    output.note(dataset.summary())
    result, interrupted = None, False
    with live_table(output) as progress:
        try:
            result = compare(
                dataset,
                machines=machines or None,
                costs=costs_of(costs, dataset) if costs else None,
                task=task,
                folds=folds,
                repeats=repeats,
                inner_folds=inner_folds,
                tuning_rows=tuning_rows,
                random_state=seed,
                n_jobs=jobs,
                progress=progress,
            )
        except KeyboardInterrupt as interrupt:
            result = getattr(interrupt, "result", None)
            interrupted = True
    if result is None:
        sys.exit(INTERRUPTED)
    values = result.to_dict()
    values["next"] = train_command(result, data)
    if report is not None:
        from lindero.report import write_report

        write_report(result, report, command=_typed())
        values["report"] = report
    output.result(values, result_text(result, report))
    if interrupted:
        sys.exit(INTERRUPTED)
    if values["next"] is not None:
        output.note(f"Next: {values['next']}")


def _typed() -> str:
    return shlex.join(["lindero", *sys.argv[1:]])
