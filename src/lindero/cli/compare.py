"""``lindero compare``: which machine suits the data."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from lindero.cli import options
from lindero.cli.output import INTERRUPTED, CommandError, Output, align_columns, run_interruptible

_EXAMPLES = """\b
Examples:
  lindero compare heart.csv --report heart.html
  lindero compare heart.csv --cost ill:healthy=20 --cost healthy:ill=1
  lindero compare prices.csv --time day --folds 8
  lindero compare heart.csv -m naive-bayes -m svc --json
"""


#: Terminals of at least this width show all measures while a comparison runs.
_WIDE = 80

_COST_EXAMPLE = "write --cost TRUE:PREDICTED=COST, for example --cost ill:healthy=20"


@click.command(epilog=_EXAMPLES)
@options.data_options
@click.option(
    "-m",
    "--machine",
    "machines",
    type=options.MachineName(compared=True),
    multiple=True,
    help="A machine to compare, such as tan or svc-linear. Can be repeated; by default all that "
    "suit the data.",
)
@click.option(
    "--cost",
    "costs",
    metavar="TRUE:PREDICTED=COST",
    multiple=True,
    help="Cost of an error, such as ill:healthy=20. Can be repeated; other errors cost 1.",
)
@click.option(
    "--task",
    type=click.Choice(("classification", "regression")),
    help="The task; by default it depends on the target.",
)
@options.folds_option
@options.count_option("--repeats", "Repetitions of cross-validation, each with new folds.", 1)
@options.count_option(
    "--inner-folds", "Number of inner folds, on which parameters are chosen.", 3, 2
)
@options.count_option(
    "--tuning-rows", "Largest number of training rows to choose parameters on.", 2000, 20
)
@options.count_option("--jobs", "Number of parallel processes.", 1)
@options.report_option("Write an HTML report with all results and charts.")
@options.force_option
@options.seed_option
@options.output_options
@click.pass_obj
def command(
    output: Output,
    /,
    data: options.DataSource,
    machines: tuple[str, ...],
    costs: tuple[str, ...],
    jobs: int,
    report: str | None,
    seed: int,
    **settings: Any,
) -> None:
    """Find the best machine for your data.

    All machines that suit the data are tuned and tested on the same folds, by nested
    cross-validation: parameters are chosen within the training rows. With times (--time), test rows
    are always later than training rows. Ctrl-C ends the comparison and shows the results so far.
    """
    from lindero.cli.writing import require_writable
    from lindero.evaluation import compare
    from lindero.report import write_report

    require_writable(output, [report], [data.path])
    dataset = data.load()
    output.note(dataset.summary())
    with watch_comparison(output) as progress:
        result, interrupted = run_interruptible(
            compare,
            dataset,
            machines=machines or None,
            costs=parse_costs(costs, dataset) if costs else None,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
            **settings,  # task, folds, repeats, inner_folds, tuning_rows
        )
    values = result.to_dict()
    values["next"] = suggest_command(result, data)
    if report is not None:
        write_report(
            result, report, command=shlex.join(["lindero", *sys.argv[1:]]),
            next_command=values["next"], data=dataset,
        )  # fmt: skip
        values["report"] = report
    output.show_result(values, format_result(result, report))
    if interrupted:
        sys.exit(INTERRUPTED)
    if values["next"] is not None:
        output.note(f"Next: {values['next']}")


@contextmanager
def watch_comparison(output: Output) -> Iterator[Callable[[Any], None]]:
    """A live table on a terminal: yields a function to call with the progress of a comparison."""
    if not output.is_live:
        yield lambda state: None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield lambda state: live.update(_draw_table(state, console.width))


def _draw_table(state: Any, width: int) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.spinner import Spinner
    from rich.table import Table
    from rich.text import Text

    from lindero.evaluation.measures import MEASURES
    from lindero.evaluation.results import write_mean

    comparison = state.comparison
    running = state.running[0] if state.running else None
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    table.add_column("machine", no_wrap=True)
    measures = comparison.measures if width >= _WIDE else comparison.measures[:1]
    titles = [MEASURES[measure].title for measure in measures]
    for title in ("folds", *titles, *(["s/fold"] if width >= _WIDE else [])):
        table.add_column(title, justify="right", no_wrap=True)
    n_folds = len(comparison.fold_sizes)
    for machine in comparison.machines:
        mark = Spinner("dots") if machine.name == running else Text("")
        style = "bold" if machine is comparison.best else ""
        if machine.failure is not None:
            table.add_row(mark, machine.name, Text("left out", style="dim"))
            continue
        begun = machine.done.any()
        figures = [write_mean(machine, measure) if begun else "" for measure in measures]
        if width >= _WIDE:
            figures.append("" if math.isnan(machine.seconds) else f"{machine.seconds:.2f}")
        done = f"{int(machine.done.sum())}/{n_folds}"
        table.add_row(mark, machine.name, done, *figures, style=style)
    words = f" {state.n_done} of {state.n_total} fits, {state.seconds:.0f} s"
    words += "; Ctrl-C ends it and shows the results so far"
    bar = ProgressBar(total=state.n_total, completed=state.n_done, width=min(40, width))
    return Group(table, bar, Text(words, style="dim"))


def format_result(comparison: Any, report: str | None) -> str:
    """The table of results, notes and the recommendation."""
    from lindero.evaluation.measures import MEASURES
    from lindero.evaluation.results import write_mean

    rows, failures = [], []
    for machine in comparison.ranked:
        if machine.failure is not None:
            failures.append(f"{machine.name} was left out; {machine.failure}")
        elif not machine.is_judged:
            failures.append(f"{machine.name} was not started.")
        else:
            figures = [write_mean(machine, measure) for measure in comparison.measures]
            seconds = f"{machine.seconds:.2f}"
            rows.append([machine.name, *figures, seconds, *comparison.verdict(machine)])
    titles = [MEASURES[measure].title for measure in comparison.measures]
    header = ["machine", *titles, "seconds", "p", "against the best"]
    n_folds = len(comparison.fold_sizes)
    order = " in order of time" if comparison.time_respecting else ""
    parts = [f"{comparison.data}\n{n_folds} folds{order}, {comparison.seconds:.1f} s in total"]
    if rows:
        parts.append(align_columns(rows, header))
    said = "\n".join([*failures, *comparison.notes])
    parts += [said] if said else []
    parts.append(comparison.recommendation())
    if report is not None:
        parts.append(f"Report: {report}")
    return "\n\n".join(parts)


def suggest_command(comparison: Any, data: options.DataSource) -> str | None:
    """The command that trains the recommended machine on all rows."""
    from lindero.evaluation.registry import MACHINES

    machine = comparison.recommended
    if machine is None:
        return None
    preset = MACHINES[machine.machine].preset
    chosen = {k: v for k, v in machine.usual_parameters.items() if preset.get(k) != v}
    rounded = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in chosen.items()}
    return data.suggest("train", machine.machine, rounded)


def parse_costs(texts: Sequence[str], dataset: Any) -> dict[tuple[Any, Any], float]:
    """From pairs of true and predicted class to costs."""
    import numpy as np

    if dataset.y is None or dataset.y.dtype.kind == "f":
        raise CommandError("--cost is for classes, but the target is a number: leave it out.")
    known = {str(label): label for label in np.unique(dataset.y).tolist()}
    costs: dict[tuple[Any, Any], float] = {}
    for text in texts:
        pair, equals, number = text.rpartition("=")
        if not equals:
            raise CommandError(f"--cost {text} has no '=': {_COST_EXAMPLE}.")
        classes = _parse_classes(text, pair, known)
        try:
            costs[classes] = float(number)
        except ValueError:
            said = f"--cost {text}: {number!r} is not a number; {_COST_EXAMPLE}."
            raise CommandError(said) from None
    return costs


def _parse_classes(text: str, pair: str, known: dict[str, Any]) -> tuple[Any, Any]:
    """The two classes, whose names may contain colons."""
    parts = pair.split(":")
    for place in range(1, len(parts)):
        true, predicted = ":".join(parts[:place]), ":".join(parts[place:])
        if true in known and predicted in known:
            return known[true], known[predicted]
    names = ", ".join(list(known)[:10])
    raise CommandError(f"--cost {text} does not name two of the classes {names}: {_COST_EXAMPLE}.")
