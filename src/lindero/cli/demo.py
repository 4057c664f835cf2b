"""``lindero demo``: what lindero can do, in a minute."""

from __future__ import annotations

import time
from pathlib import Path

import click

from lindero.cli.options import output_options
from lindero.cli.output import Output

_EXAMPLES = """\b
Examples:
  lindero demo
  lindero demo --folder pages
"""

_PAGE = "report.html"


@click.command(epilog=_EXAMPLES)
@click.option(
    "--folder",
    type=click.Path(file_okay=False),
    default="demo",
    show_default=True,
    help="Where to write the page.",
)
@output_options
@click.pass_obj
def command(output: Output, folder: str) -> None:
    """See what lindero can do.

    Machines are compared on a table with words and gaps, where one error costs more than the
    other; one follows a boundary that moves; one learns rows one by one and forgets one again. A
    page with pictures says what came out. The first time some seconds go into compiling.
    """
    from lindero.cli.comparison_table import live_table, result_text
    from lindero.cli.demo_page import write_demo_page
    from lindero.cli.demo_parts import COMPARED, COSTS, cancer_table, followed, forgotten, next_door
    from lindero.evaluation import compare

    begun = time.perf_counter()
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    output.note("The first run on a machine compiles inner loops, which takes some seconds.")
    with next_door() as elsewhere:
        following, forgetting = elsewhere(followed), elsewhere(forgotten)
        dataset = cancer_table()
        with live_table(output) as progress:
            comparison = compare(
                dataset, machines=COMPARED, costs=COSTS, folds=4, progress=progress
            )
        with output.waiting("following a boundary that moves"):
            moving, changed = following.result(), forgetting.result()
    page = str(place / _PAGE)
    write_demo_page(page, comparison, moving, changed)
    seconds = time.perf_counter() - begun
    values = {
        "comparison": comparison.to_dict(),
        "following": moving.to_dict(),
        "forgetting": changed.to_dict(),
        "report": page,
        "seconds": seconds,
    }
    parts = [
        "1  Machines compared, where to miss a malignant tumour costs 10 times a false alarm",
        result_text(comparison, None),
        "2  A boundary that moves: each row is predicted before it is learned",
        moving.text(),
        "3  Rows learned one by one, and one forgotten again",
        changed.text(),
        f"All of it with pictures: {page}   ({seconds:.0f} s)",
    ]
    output.result(values, "\n\n".join(parts))
    output.note("Next: lindero compare YOUR_TABLE.csv --report report.html")
