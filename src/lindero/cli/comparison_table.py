"""A comparison in a terminal: a table that fills as folds are done, and the one that remains."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lindero.cli.options import DataSource
from lindero.cli.output import Output, aligned

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
    rows, failures = [], []
    for machine in comparison.ranked:
        if machine.failure is not None:
            failures.append(f"{machine.name} was left out; {machine.failure}")
        elif not machine.done.any():
            failures.append(f"{machine.name} was not begun.")
        else:
            figures = [_score(machine, measure) for measure in comparison.measures]
            seconds = f"{machine.seconds:.2f}"
            rows.append([machine.name, *figures, seconds, *comparison.verdict(machine)])
    header = ["machine", *_titles(comparison.measures), "seconds", "p", "against the best"]
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
    from lindero.evaluation.measures import MEASURES

    return [MEASURES[measure] for measure in measures]


def _score(machine: Any, measure: str) -> str:
    from lindero.evaluation.results import write_mean

    return write_mean(machine, measure) if machine.done.any() else ""


def train_command(comparison: Any, data: DataSource) -> str | None:
    """What to type to train the recommended machine on all rows."""
    from lindero.cli.reading import typed
    from lindero.evaluation.registry import MACHINES

    machine = comparison.recommended
    if machine is None:
        return None
    preset = MACHINES[machine.machine].preset
    chosen = {k: v for k, v in machine.usual_parameters.items() if preset.get(k) != v}
    rounded = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in chosen.items()}
    return typed("train", data, machine.machine, rounded)
