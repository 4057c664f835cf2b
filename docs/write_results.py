"""Compute published tables and figures, and write them into docs/results.md.

    python docs/write_results.py                     all papers (about an hour on two cores)
    python docs/write_results.py asvm lectures       these, and leave the sections of the others

LINDERO_DATA names the folder of published data sets. What is computed is kept in demo/reproduced.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lindero.cli.reproduce import describe_progress
from lindero.reproduce import run, update_page

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", help="asvm, icssvm, tm, lectures, svm-tutorial")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", default=str(HERE.parent / "demo" / "reproduced"))
    given = parser.parse_args()
    found = run(
        given.papers or "all", out=given.out, n_jobs=given.jobs,
        progress=lambda state: print(describe_progress(state), flush=True),
    )  # fmt: skip
    update_page(found, HERE / "results.md", HERE / "images" / "results")
    print(found.format())


if __name__ == "__main__":
    main()
