"""``lindero compare``: which machine suits the data."""

# DOC comparison_table.py
# """A comparison in a terminal: a table that fills as folds are done, and the one that remains."""

# DOC costs.py
# """Costs of errors as they are typed: ``--cost ill:healthy=20``."""


from __future__ import annotations
import shlex
import sys
from dataclasses import replace
from typing import Any
import click
from click.shell_completion import CompletionItem
from lindero.cli.output import INTERRUPTED
from lindero.cli.options import (
    DataSource,
    data_options,
    folds_option,
    output_options,
    seed_option,
)
from lindero.cli.output import Output
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from lindero.cli.options import DataSource
from lindero.cli.output import Output, aligned
from collections.abc import Sequence
import numpy as np
from lindero.cli.output import Mistake


# -- compare ---------------------------------------------------------------------------------------


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
        from lindero.comparison.contenders import find_contenders

        try:
            find_contenders(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Machines that begin like what is typed."""
        from lindero.comparison import CONTENDERS
        from lindero.machines.registry import MACHINES

        return [
            CompletionItem(name, help=MACHINES[contender.machine].one_line)
            for name, contender in CONTENDERS.items()
            if name.startswith(incomplete)
        ]


#: Text of more different values than this share of the rows, and of this many rows, names them.
_OWN_VALUES, _FEWEST_ROWS = 0.5, 50


def _without_names_of_rows(dataset: Any) -> Any:
    """Without columns of text that name the rows: machines learn nothing from them, slowly."""
    from lindero.errors import warn_user

    if not hasattr(dataset.X, "column_names") or dataset.n_rows < _FEWEST_ROWS:
        return dataset
    import pyarrow.compute as pc

    names = [
        name
        for name in dataset.X.column_names
        if dataset.kinds[name] == "category"
        and pc.count_distinct(dataset.X[name]).as_py() > _OWN_VALUES * dataset.n_rows
    ]
    if not names or len(names) == dataset.n_features:
        return dataset
    warn_user(
        f"Left out: {', '.join(map(repr, names))}, with different values in most rows, as names, "
        "numbers of customers and dates have. Machines learn nothing from such columns.",
        UserWarning,
    )
    kept = [name for name in dataset.X.column_names if name not in names]
    kinds = {name: dataset.kinds[name] for name in kept}
    return replace(dataset, X=dataset.X.select(kept), kinds=kinds)


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
    from lindero.cli.compare import live_table, result_text, train_command
    from lindero.cli.compare import costs_of
    from lindero.cli.saved_model import require_place
    from lindero.comparison import compare, write_report

    if report is not None:
        require_place(report)
    dataset = _without_names_of_rows(data.load())
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
        write_report(result, report, command=_typed())
        values["report"] = report
    output.result(values, result_text(result, report))
    if interrupted:
        sys.exit(INTERRUPTED)
    if values["next"] is not None:
        output.note(f"Next: {values['next']}")


def _typed() -> str:
    return shlex.join(["lindero", *sys.argv[1:]])


# -- comparison table ------------------------------------------------------------------------------


#: Columns of a terminal from which on all measures are shown while a comparison runs.
_WIDE = 80

#: Called as the comparison goes on.
Report = Callable[[Any], None]


# -- while it runs ----------------------------------------------------------------------------


@contextmanager
def live_table(output: Output) -> Iterator[Report]:
    """A function to call with the progress of a comparison; draws it where someone watches."""
    if not output.is_live:
        yield lambda state: None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield lambda state: live.update(_drawn(state, console.width))


def _drawn(state: Any, width: int) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.spinner import Spinner
    from rich.table import Table
    from rich.text import Text

    comparison = state.comparison
    running = state.running[0] if state.running else None
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    table.add_column("machine", no_wrap=True)
    table.add_column("folds", justify="right", no_wrap=True)
    measures = comparison.measures if width >= _WIDE else comparison.measures[:1]
    for title in _titles(measures):
        table.add_column(title, justify="right", no_wrap=True)
    if width >= _WIDE:
        table.add_column("seconds a fold", justify="right", no_wrap=True)
    n_folds = len(comparison.fold_sizes)
    for machine in comparison.machines:
        mark = Spinner("dots") if machine.name == running else Text("")
        style = "bold" if machine is comparison.best else ""
        if machine.failure is not None:
            table.add_row(mark, machine.name, Text("left out", style="dim"))
            continue
        figures = [_score(machine, measure) for measure in measures]
        if width >= _WIDE:
            figures.append("" if math.isnan(machine.seconds) else f"{machine.seconds:.2f}")
        done = f"{int(machine.done.sum())}/{n_folds}"
        table.add_row(mark, machine.name, done, *figures, style=style)
    words = f" {state.n_done} of {state.n_total} fits, {state.seconds:.0f} s"
    bar = ProgressBar(total=state.n_total, completed=state.n_done, width=min(40, width))
    return Group(table, bar, Text(f"{words}; Ctrl-C shows what is known", style="dim"))


# -- when it is done --------------------------------------------------------------------------


def result_text(comparison: Any, report: str | None) -> str:
    """The table, what is to be said about it, and the recommendation."""
    from lindero.comparison.report import beside

    rows, failures = [], []
    for machine in comparison.ranked:
        if machine.failure is not None:
            failures.append(f"{machine.name} was left out; {machine.failure}")
        elif not machine.done.any():
            failures.append(f"{machine.name} was not begun.")
        else:
            figures = [_score(machine, measure) for measure in comparison.measures]
            seconds = f"{machine.seconds:.2f}"
            rows.append([machine.name, *figures, seconds, *beside(comparison, machine)])
    header = ["machine", *_titles(comparison.measures), "seconds", "p", "beside the best"]
    n_folds = len(comparison.fold_sizes)
    order = " forward in time" if comparison.time_respecting else ""
    parts = [f"{comparison.data}\n{n_folds} folds{order}, {comparison.seconds:.1f} s in all"]
    if rows:
        parts.append(aligned(rows, header))
    said = "\n".join([*failures, *comparison.notes])
    parts += [said] if said else []
    parts.append(comparison.recommendation())
    if report is not None:
        parts.append(f"The page with all results: {report}")
    return "\n\n".join(parts)


def _titles(measures: Sequence[str]) -> list[str]:
    from lindero.comparison.results import MEASURES

    return [MEASURES[measure] for measure in measures]


def _score(machine: Any, measure: str) -> str:
    from lindero.comparison.recommendation import score_with_spread

    return score_with_spread(machine, measure) if machine.done.any() else ""


def train_command(comparison: Any, data: DataSource) -> str | None:
    """What to type to train the recommended machine on all rows."""
    from lindero.cli.reading import typed
    from lindero.machines.registry import MACHINES

    machine = comparison.recommended
    if machine is None:
        return None
    preset = MACHINES[machine.machine].preset
    chosen = {k: v for k, v in machine.usual_parameters.items() if preset.get(k) != v}
    rounded = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in chosen.items()}
    return typed("train", data, machine.machine, rounded)


# -- costs -----------------------------------------------------------------------------------------


_EXAMPLE = "write --cost TRUE:PREDICTED=COST, for example --cost ill:healthy=20"


def costs_of(texts: Sequence[str], dataset: Any) -> dict[tuple[Any, Any], float]:
    """From pairs of classes, true and predicted, to costs."""
    if dataset.y is None or dataset.y.dtype.kind == "f":
        raise Mistake("Costs are for classes, and the target is a number: leave --cost out.")
    known = {str(label): label for label in np.unique(dataset.y).tolist()}
    costs: dict[tuple[Any, Any], float] = {}
    for text in texts:
        pair, equals, number = text.rpartition("=")
        if not equals:
            raise Mistake(f"--cost {text} has no '=': {_EXAMPLE}.")
        try:
            cost = float(number)
        except ValueError:
            raise Mistake(f"--cost {text}: {number!r} is no number; {_EXAMPLE}.") from None
        costs[_classes(text, pair, known)] = cost
    return costs


def _classes(text: str, pair: str, known: dict[str, Any]) -> tuple[Any, Any]:
    """The two classes; names may hold colons themselves."""
    parts = pair.split(":")
    for place in range(1, len(parts)):
        true, predicted = ":".join(parts[:place]), ":".join(parts[place:])
        if true in known and predicted in known:
            return known[true], known[predicted]
    names = ", ".join(list(known)[:10])
    raise Mistake(f"--cost {text} does not name two of the classes {names}: {_EXAMPLE}.")
