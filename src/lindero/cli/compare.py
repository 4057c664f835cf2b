"""``lindero compare``: which machine suits the data."""

from __future__ import annotations

import math
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import click

from lindero.cli import options
from lindero.cli.cluster import cluster_option, use_cluster
from lindero.cli.output import INTERRUPTED, CommandError, Output, align_columns, run_interruptible
from lindero.evaluation.registry import BASELINE, MACHINES, find_machine

_EXAMPLES = """\b
Examples:
  lindero compare heart.csv --report heart.html
  lindero compare heart.csv --cost ill:healthy=20 --cost healthy:ill=1
  lindero compare churn.csv --measure average-precision
  lindero compare prices.csv --time day --folds 8
  lindero compare heart.csv -m naive-bayes -m svc --json
  lindero compare sales.parquet --time-budget 600
"""


#: Terminals of at least this width show all measures while a comparison runs.
_WIDE = 80

#: Seconds that a comparison may take on a terminal, where someone waits.
_USUAL_BUDGET = 120.0

#: Seconds between two lines of progress where there is no terminal, and before the first one.
_EVERY, _AT_FIRST = 10.0, 1.0

#: Signals that end a comparison, which then shows what it has, besides that of Ctrl-C.
_ENDING = ("SIGTERM", "SIGHUP")

_COST_EXAMPLE = "write --cost TRUE:PREDICTED=COST, for example --cost ill:healthy=20"


@click.command(epilog=_EXAMPLES)
@options.data_options
@click.option(
    "-m",
    "--machine",
    "machines",
    type=options.MachineName(compared=True),
    multiple=True,
    help="A machine to compare, such as tan, svc-linear or random-forest. Can be repeated; by "
    "default all that suit the data.",
)
@click.option(
    "--baselines/--no-baselines",
    default=True,
    show_default=True,
    help="Compare scikit-learn's logistic or ridge regression, random forest and gradient boosting "
    "too, and a baseline that looks at no column.",
)
@options.measure_option
@options.cost_option
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
@click.option(
    "--time-budget",
    type=click.FloatRange(0.0),
    metavar="SECONDS",
    help="Time that the comparison may take; slow machines are dropped. 0 is no limit. By default "
    f"{_USUAL_BUDGET:.0f} on a terminal, and no limit in scripts.",
)
@options.count_option(
    "--jobs", "Number of parallel processes; by default one for each core, as memory allows."
)
@cluster_option
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
    time_budget: float | None,
    jobs: int | None,
    cluster: str | None,
    report: str | None,
    seed: int,
    **settings: Any,
) -> None:
    """Find the best machine for your data.

    All machines that suit the data are tuned and tested on the same folds, by nested
    cross-validation: parameters are chosen within the training rows. With times (--time), test rows
    are always later than training rows. Machines are ranked by --measure, and the table shows it
    first. Ctrl-C ends the comparison and shows the results so far, as SIGTERM does.
    """
    from lindero.cli.writing import require_writable
    from lindero.evaluation import compare
    from lindero.report import write_report

    require_writable(output, [report], [data.path], "--report")
    dataset = data.load()
    options.describe_data(output, dataset)
    if time_budget is None and output.is_live:
        time_budget = _USUAL_BUDGET
    with (
        nullcontext() if cluster is None else use_cluster(cluster),
        watch_comparison(output) as progress,
        ending_on_signals() as ended_by,
    ):
        result, interrupted = run_interruptible(
            compare,
            dataset,
            machines=machines or None,
            costs=parse_costs(costs, dataset) if costs else None,
            time_budget=time_budget or None,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
            **settings,  # baselines, measure, task, folds, repeats, inner_folds, tuning_rows
        )
    values = result.to_dict()
    values["next"] = suggest_command(result, data, costs, seed)
    values["next_own"] = suggest_own_command(result, data, costs, seed)
    if report is not None:
        write_report(
            result, report, command=shlex.join(["lindero", *sys.argv[1:]]),
            next_command=values["next"], data=dataset,
        )  # fmt: skip
        values["report"] = report
    output.show_result(values, format_result(result, report))
    if interrupted:
        sys.exit(128 + ended_by[0] if ended_by else INTERRUPTED)
    if values["next"] is not None:
        output.advise(f"Next: {values['next']}")
    if values["next_own"] is not None:
        output.advise(f"Or, with a machine of lindero: {values['next_own']}")


@contextmanager
def ending_on_signals() -> Iterator[list[int]]:
    """Let signals that ask a process to end do what Ctrl-C does; yields those that came."""
    came: list[int] = []

    def interrupt(number: int, frame: Any) -> None:
        came.append(number)
        raise KeyboardInterrupt

    before = {}
    for name in _ENDING:
        number = getattr(signal, name, None)
        # Only the main thread may; a process that is to outlive its terminal ignores SIGHUP.
        with suppress(ValueError):
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, interrupt)
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def watch_comparison(output: Output) -> Iterator[Callable[[Any], None]]:
    """Yields a function to call with the progress of a comparison, which is shown as a live table
    on a terminal, and otherwise, unless --quiet, as a line every ten seconds."""
    if output.is_live:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        with Live(console=console, refresh_per_second=8, transient=True) as live:
            yield lambda state: live.update(_draw_table(state, console.width))
    elif output.quiet:
        yield lambda state: None
    else:
        yield from _write_lines()


def _write_lines() -> Iterator[Callable[[Any], None]]:
    """Lines on standard error, by a thread of their own: a fit may take longer than ten seconds."""
    begun, ended, latest = time.perf_counter(), threading.Event(), [None]

    def write() -> None:
        pause = _AT_FIRST
        while not ended.wait(pause):
            line = describe_progress(latest[0], time.perf_counter() - begun)
            with suppress(OSError, ValueError):  # standard error may be closed
                click.echo(line, err=True)
            pause = _EVERY

    def keep(state: Any) -> None:
        latest[0] = state

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield keep
    finally:
        ended.set()
        thread.join()


def describe_progress(state: Any, seconds: float) -> str:
    """The progress of a comparison in a line."""
    if state is None:
        return f"{seconds:.0f} s: reading the data"
    from lindero.evaluation.measures import find_measure
    from lindero.evaluation.results import write_score

    parts = [f"{seconds:.0f} s: {state.n_done} of {state.n_total} fits"]
    running = state.active or (() if state.running is None else (state.running[0],))
    if running:
        parts.append(f"now {', '.join(running)}")
    if state.is_compiling:
        parts.append("compiling, which happens once on this machine")
    comparison = state.comparison
    if comparison.best is not None and comparison.best.is_judged:
        best = comparison.best
        value = write_score(comparison.measure, best.mean(comparison.measure))
        title = find_measure(comparison.measure).title
        parts.append(f"best so far {best.name} ({title} {value})")
    return "; ".join(parts)


def _draw_table(state: Any, width: int) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.spinner import Spinner
    from rich.table import Table
    from rich.text import Text

    from lindero.evaluation.measures import find_measure
    from lindero.evaluation.results import write_mean, write_score

    comparison = state.comparison
    running = {name.partition(" (")[0] for name in state.active}
    running |= {state.running[0]} if state.running else set()
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    table.add_column("machine", no_wrap=True)
    measures = comparison.measures if width >= _WIDE else comparison.measures[:1]
    titles = [find_measure(measure).title for measure in measures]
    for title in ("folds", *titles, *(["s/fold"] if width >= _WIDE else [])):
        table.add_column(title, justify="right", no_wrap=True)
    n_folds = len(comparison.fold_sizes)
    for machine in comparison.machines:
        mark = Spinner("dots") if machine.name in running else Text("")
        style = "bold" if machine is comparison.best else ""
        if machine.failure is not None:
            table.add_row(mark, machine.name, Text("left out", style="dim"))
            continue
        begun = machine.done.any()
        figures = [write_mean(machine, measure) if begun else "" for measure in measures]
        if width >= _WIDE:
            figures.append("" if math.isnan(machine.seconds) else f"{machine.seconds:.2f}")
        done = f"{int(machine.done.sum())}/{n_folds}"
        if not begun and machine.name in state.first_scores:  # from a few rows
            first = write_score(comparison.measure, state.first_scores[machine.name])
            figures[0] = f"about {first}"
        table.add_row(mark, machine.name, done, *figures, style=style)
    words = f" {state.n_done} of {state.n_total} fits, {state.seconds:.0f} s"
    words += "; compiling, once on this machine" if state.is_compiling else ""
    words += "; Ctrl-C ends it and shows the results so far"
    bar = ProgressBar(total=state.n_total, completed=state.n_done, width=min(40, width))
    return Group(table, bar, Text(words, style="dim"))


def format_result(comparison: Any, report: str | None) -> str:
    """The table of results, notes and the recommendation."""
    from lindero.evaluation.measures import find_measure
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
    titles = [find_measure(measure).title for measure in comparison.measures]
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


def suggest_command(
    comparison: Any, data: options.DataSource, costs: Sequence[str] = (), seed: int = 0
) -> str | None:
    """The command that trains the recommended machine on all rows, with the columns, costs, measure
    and parameters of the comparison; None for the baseline, which has nothing to learn."""
    machine = comparison.recommended
    if machine is None or machine.machine == BASELINE:
        return None
    return _write_command(comparison, machine, data, costs, seed)


def suggest_own_command(
    comparison: Any, data: options.DataSource, costs: Sequence[str] = (), seed: int = 0
) -> str | None:
    """Where a guest is recommended, the command that trains the best machine of lindero's own;
    None where that is no better than the baseline."""
    from lindero.evaluation.measures import find_measure

    if comparison.recommended is None or comparison.recommended.machine in MACHINES:
        return None
    own = [m for m in comparison.ranked if m.is_judged and m.machine in MACHINES]
    measure = find_measure(comparison.measure)
    constant = [m for m in comparison.ranked if m.is_judged and m.machine == BASELINE]
    if own and constant:
        found, known = (measure.orient(m.mean(measure.name)) for m in (own[0], constant[0]))
        own = own if found < known else []
    taken = (options.MODEL_NAME,)  # by the command of the guest
    return _write_command(comparison, own[0], data, costs, seed, taken) if own else None


def _write_command(
    comparison: Any,
    machine: Any,
    data: options.DataSource,
    costs: Sequence[str],
    seed: int,
    taken: Sequence[str] = (),
) -> str:
    preset = find_machine(machine.machine, comparison.task).preset
    chosen = {k: v for k, v in machine.usual_parameters.items() if preset.get(k) != v}
    rounded = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in chosen.items()}
    words = ["-m", machine.machine]
    words += [word for text in options.format_params(rounded) for word in ("--set", text)]
    # Predictions carry names of rows; machines that know rows by name need one that is unique.
    named = data.options["id"] or machine.machine.startswith("incremental")
    role = "--drop" if named else "--id"
    words += [word for name in comparison.left_out for word in (role, name)]
    words += options.repeat_options(options.find_asked_measure(comparison), costs)
    words += ["--seed", str(seed)] if seed else []
    words += options.choose_model_name(taken)
    return data.format_command("train", words)


def parse_costs(texts: Sequence[str], dataset: Any) -> dict[tuple[Any, Any], float]:
    """From pairs of true and predicted class to costs."""
    import numpy as np

    if dataset.y is None or dataset.y.dtype.kind == "f":
        raise CommandError("--cost is for classes, but the target is a number: leave it out.")
    return parse_class_costs(texts, np.unique(dataset.y).tolist())


def parse_class_costs(texts: Sequence[str], labels: Sequence[Any]) -> dict[tuple[Any, Any], float]:
    """The same for the classes of a model."""
    known = {str(label): label for label in labels}
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
        if costs[classes] < 0 and classes[0] != classes[1]:
            raise CommandError(
                f"--cost {text}: costs of errors must not be negative. Only right answers may earn "
                "something."
            )
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
