"""``lindero reproduce``: published tables and figures, ours beside them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lindero.cli.options import count_option, folder_option, force_option, output_options
from lindero.cli.output import INTERRUPTED, Output

if TYPE_CHECKING:
    from lindero.reproduce.runner import ReproductionProgress

_EXAMPLES = """\b
Examples:
  lindero reproduce asvm --quick
  lindero reproduce lectures svm-tutorial --out pages
  LINDERO_DATA=sets lindero reproduce all --jobs 2
"""

_NAMES = ("asvm", "icssvm", "tm", "lectures", "svm-tutorial", "all")

#: Seconds between lines where there is no terminal.
_EVERY = 10.0


@click.command(epilog=_EXAMPLES)
@click.argument("papers", metavar="[PAPER]...", nargs=-1, type=click.Choice(_NAMES))
@click.option(
    "--quick",
    is_flag=True,
    help="Fewer seeds and smaller data: some minutes instead of an hour.",
)
@folder_option("--out", "reproduced", "Where to write report.html, report.md and figures.")
@count_option("--jobs", "Processes that work; by default one for each core.")
@count_option("--seeds", "Seeds of each number, instead of those of the report.")
@force_option
@output_options
@click.pass_obj
def command(
    output: Output, papers: tuple[str, ...], quick: bool, out: str, jobs: int | None,
    seeds: int | None,
) -> None:  # fmt: skip
    """Compute published tables and figures.

    PAPER is asvm (adaptive machines), icssvm (costs and updates), tm (discriminative Bayesian
    classifiers), lectures (naive Bayes and machines), svm-tutorial, or all, which is the default.
    Each published number stands beside ours, with the difference and whether the spread allows it.
    Published data sets are read from the folder that LINDERO_DATA names; what is missing is said.
    What is computed is kept in the folder: Ctrl-C, and the same command again, go on.
    """
    from lindero.cli.writing import require_writable
    from lindero.reproduce import run

    folder = Path(out)
    # What an earlier run wrote may be replaced.
    if folder.is_dir() and not (folder / "finished.jsonl").exists():
        require_writable(output, [str(folder / "report.html"), str(folder / "report.md")], (),
                         "--out")  # fmt: skip
    interrupted = False
    with _showing_progress(output) as progress:
        try:
            found = run(
                papers or "all", quick=quick, out=out, n_jobs=jobs or -1, n_seeds=seeds,
                progress=progress,
            )  # fmt: skip
        except KeyboardInterrupt as interrupt:
            if not hasattr(interrupt, "result"):
                raise
            found, interrupted = interrupt.result, True
    text = f"{found.format()}\n\nReport: {folder / 'report.html'}   ({found.seconds:.0f} s)"
    output.show_result(found.to_dict(), text)
    if interrupted:
        output.advise("Interrupted: the same command goes on where it stopped.")
        sys.exit(INTERRUPTED)


@contextmanager
def _showing_progress(output: Output) -> Iterator[Callable[[Any], None]]:
    """Yields a function to call with the progress: a bar on a terminal, and otherwise, unless
    --quiet or --json, a line every ten seconds."""
    if output.is_live:
        with output.showing_progress("reproducing") as advance:
            yield lambda state: advance(state.n_done, state.n_total)
        return
    latest = [time.perf_counter()]

    def write(state: ReproductionProgress) -> None:
        if time.perf_counter() - latest[0] >= _EVERY:
            latest[0] = time.perf_counter()
            output.advise(describe_progress(state))

    yield write


def describe_progress(state: ReproductionProgress) -> str:
    """How far a run is, in a line."""
    words = f"{state.n_done} of {state.n_total} works done"
    if state.seconds_left is None or state.n_done == state.n_total:
        return words
    minutes = state.seconds_left / 60
    left = f"{minutes:.0f} minutes" if minutes >= 1.5 else f"{state.seconds_left:.0f} seconds"
    return f"{words}, about {left} left"
