"""What a paper published, and how we come to the same: works, cells, tables and figures.

A paper is a file of this folder with one function, ``plan(settings) -> PaperPlan``. It says what
the paper printed, and for each number and picture which pieces of work give ours:

    Work         a function of plain arguments (numbers, texts, lists) at the top level of the
                 paper's file, which returns a mapping from names to numbers, texts or nested lists.
                 Workers run it in any order, and what it returned is kept in a file; so it takes
                 its seed as an argument and depends on nothing else. Published data it reads from
                 `find_file`: where they are missing, the error that this raises becomes the
                 sentence that stands in the cell. Any other error does so too; nothing aborts.
    Cell         one number: row and column of the table, as published, and the works, one a seed or
                 fold, with the name under which each returned ours. ``published=None`` is for what
                 we put beside the paper. `rule` says how the two are compared, `why` the likely
                 reason if they differ, `remark` what is worth saying anyway.
    PaperTable   cells under a title.
    PaperFigure  works, and a function ``draw(figure, measured)``: an empty matplotlib figure (of
                 the size that is asked for, with constrained layout) and what the works returned,
                 in their order. It may fit what takes less than a second, to use a display of
                 `lindero.plot`. Colours and marks are those of `figures`.
    PaperPlan    a paper: title, where it is from, and its parts in their order of reading.

`Settings` say how thorough a run is: ``settings.seeds(full=10, quick=3)`` are seeds, and
``settings.choose(full=..., quick=...)`` is anything else. What a run is to be quick about goes into
the arguments of its works.

Functions whose names begin with ``draw`` or ``plan`` may change without anything being computed
anew; after any other change in the paper's file, or in what lindero computes with, its works are
done again (see `runner`).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from lindero.errors import DataError
from lindero.runtime.arrays import make_plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Thing = TypeVar("Thing")

#: Names and what was measured, as JSON has them.
Measured = Mapping[str, Any]

#: How ours is compared with the published number:
#: exact   no chance is in it: ours, rounded as published, must be the same
#: draw    published is one draw (of data, of folds); ours are draws, too, and the published one
#:         agrees if it lies where 95 % of further draws would
#: mean    both are means of draws with a spread: equal as far as their standard errors tell
#: most    published is a limit that no draw may exceed
#: none    they are not comparable; `remark` says why
Rule = Literal["exact", "draw", "mean", "most", "none"]


@dataclass(frozen=True)
class Work:
    """A piece of work. `seconds` is a guess, for the time left; one that is `alone` measures time,
    and nothing else of ours runs beside it."""

    function: Callable[..., Measured]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 1.0
    alone: bool = False

    @property
    def key(self) -> str:
        """What tells it from others: its function and arguments."""
        told = json.dumps(make_plain(dict(self.arguments)), sort_keys=True)
        return f"{self.function.__module__}.{self.function.__qualname__}({told})"


@dataclass(frozen=True)
class Lacking:
    """Why a work returned nothing: data that are missing, or an error."""

    sentence: str


#: What works returned, by their keys.
Results = Mapping[str, Measured | Lacking]


@dataclass(frozen=True)
class Cell:
    """A published number, or one of ours beside the published ones."""

    row: str
    column: str
    works: Sequence[Work]
    value: str = "value"
    published: float | None = None
    published_sd: float | None = None
    #: Draws that the published mean and standard deviation are of.
    published_draws: int = 1
    #: Digits after the point in what was published, and in ours.
    digits: int = 2
    rule: Rule = "draw"
    why: str = ""
    remark: str = ""
    #: The published number as it is printed, where that is not `digits` digits.
    shown: str = ""
    #: After a number, as " %" or "/13".
    unit: str = ""

    def collect(self, results: Results) -> list[float]:
        """Ours, one for each work that returned it."""
        found = (results[work.key] for work in self.works)
        values = [one.get(self.value) for one in found if not isinstance(one, Lacking)]
        return [float(value) for value in values if value is not None]

    def find_lack(self, results: Results) -> str:
        """Why a work returned nothing; empty where all did."""
        lacks = (results[work.key] for work in self.works)
        return next((one.sentence for one in lacks if isinstance(one, Lacking)), "")

    def write(self, value: float) -> str:
        """A number of this cell."""
        return f"{value:.{self.digits}f}{self.unit}".replace("-", "−")

    def write_published(self) -> str:
        """The published number as it is printed; empty where there is none."""
        if self.shown or self.published is None:
            return self.shown
        spread = "" if self.published_sd is None else f" ± {self.published_sd:.{self.digits}f}"
        return f"{self.published:.{self.digits}f}{spread}{self.unit}".replace("-", "−")


@dataclass(frozen=True)
class SummaryCell(Cell):
    """Numbers that come from what all works returned together, in their order."""

    summarise: Callable[[Sequence[Measured]], Sequence[float]] = lambda _: ()

    def collect(self, results: Results) -> list[float]:
        """Ours, as `summarise` gives them; nothing where a work returned nothing."""
        found = [results[work.key] for work in self.works]
        measured = [one for one in found if not isinstance(one, Lacking)]
        return list(self.summarise(measured)) if len(measured) == len(found) else []


@dataclass(frozen=True)
class Verdict:
    """What a comparison of a cell came to: `allowed` is None where nothing can be compared."""

    ours: str
    difference: str
    allowed: bool | None
    words: str


def judge(cell: Cell, results: Results) -> Verdict:
    """Compare ours with the published number, by the rule of the cell.

    Examples
    --------
    >>> works = [Work(dict, {"value": value}) for value in (2.0, 2.5, 3.0)]
    >>> cell = Cell("C2 = 1e4", "error", works, published=2.12, unit=" %")
    >>> verdict = judge(cell, {work.key: work.arguments for work in works})
    >>> verdict.ours, verdict.difference, verdict.allowed
    ('2.50 ± 0.50 %', '+0.38', True)
    """
    values = cell.collect(results)
    lack = cell.find_lack(results)
    if not values:
        return Verdict("—", "", None, lack or cell.remark or "Nothing was measured.")
    mean = float(np.mean(values))
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    middle = "" if spread is None else f" ± {spread:.{cell.digits}f}"
    if cell.rule == "exact" and not float(middle[3:] or 0):
        middle = ""  # nothing varies, as it should
    ours = f"{mean:.{cell.digits}f}{middle}{cell.unit}".replace("-", "−")
    words = f" Only {len(values)} of {len(cell.works)} draws: {lack}" if lack else ""
    if cell.published is None:
        return Verdict(ours, "", None, f"{cell.remark}{words}".strip())
    apart = mean - cell.published
    difference = f"{apart:+.{cell.digits}f}".replace("-", "−")
    if difference.strip("+−0.") == "":
        difference = "0"
    allowed, said = _compare(cell, values, mean, spread)
    parts = [said, cell.why if allowed is False else "", cell.remark]
    return Verdict(ours, difference, allowed, " ".join(part for part in parts if part) + words)


def _compare(
    cell: Cell, values: Sequence[float], mean: float, spread: float | None
) -> tuple[bool | None, str]:
    """Whether the difference is allowed, and in words."""
    if cell.published is None or cell.rule == "none":
        return None, ""
    half = 0.5000001 * 10.0**-cell.digits  # what rounding hides
    apart = abs(mean - cell.published)
    if cell.rule == "most":
        if max(values) <= cell.published:
            return True, "Never above it."
        return False, f"Above it by up to {cell.write(max(values) - cell.published)}."
    if cell.rule == "exact":
        worst = max(abs(value - cell.published) for value in values)
        return (True, "The same.") if worst <= half else (False, "Not the same.")
    if spread is None:
        if apart <= half:
            return True, "The same."
        return None, "One draw of ours: its spread is not known."
    if not spread and apart <= half:
        return True, "The same in every draw."
    n = len(values)
    theirs, draws = cell.published_sd, cell.published_draws
    if cell.rule == "mean" and theirs is not None:
        error = math.sqrt(spread**2 / n + theirs**2 / draws)
        room, about = _find_quantile(n + draws - 2) * error + half, "the two means"
        if apart <= room:
            return True, f"Yes: {about} differ by less than chance allows (±{cell.write(room)})."
        return False, f"No: {about} differ by more than chance allows (±{cell.write(room)})."
    # A further draw differs from the mean of n by its own spread and that of the mean.
    room = _find_quantile(n - 1) * spread * math.sqrt(1.0 + 1.0 / n) + half
    if apart <= room:
        return True, f"Yes: a draw lies within ±{cell.write(room)} of our mean."
    return False, f"No: 95 % of draws lie within ±{cell.write(room)} of our mean."


def _find_quantile(freedom: int) -> float:
    """How many standard errors 95 % of a Student distribution lie within."""
    from scipy.stats import t

    return float(t.ppf(0.975, max(1, freedom)))


@dataclass(frozen=True)
class PaperTable:
    """Cells under a title. `what` says what the numbers are, `note` what is worth knowing."""

    title: str
    what: str
    cells: Sequence[Cell]
    note: str = ""


@dataclass(frozen=True)
class PaperFigure:
    """A picture. `name` names its files; `size` is in inches."""

    name: str
    title: str
    caption: str
    works: Sequence[Work]
    draw: Callable[[Figure, Sequence[Measured]], None]
    size: tuple[float, float] = (6.0, 4.0)


@dataclass(frozen=True)
class PaperPlan:
    """A paper: its parts, tables and figures, in their order."""

    name: str
    title: str
    source: str
    parts: Sequence[PaperTable | PaperFigure]
    introduction: str = ""

    @property
    def tables(self) -> list[PaperTable]:
        """The tables."""
        return [part for part in self.parts if isinstance(part, PaperTable)]

    @property
    def figures(self) -> list[PaperFigure]:
        """The figures."""
        return [part for part in self.parts if isinstance(part, PaperFigure)]

    @property
    def works(self) -> list[Work]:
        """All works, each once, in their order."""
        cells = (cell for table in self.tables for cell in table.cells)
        asked = [cell.works for cell in cells] + [figure.works for figure in self.figures]
        return list({work.key: work for works in asked for work in works}.values())


@dataclass(frozen=True)
class Settings:
    """How thorough a run is: `n_seeds` overrides the number of seeds of every cell."""

    quick: bool = False
    n_seeds: int | None = None

    def choose(self, *, full: Thing, quick: Thing) -> Thing:
        """One thing for a full run, another for a quick one."""
        return quick if self.quick else full

    def seeds(self, *, full: int, quick: int) -> range:
        """Seeds, from 0."""
        return range(self.n_seeds or self.choose(full=full, quick=quick))


def find_file(name: str) -> Path:
    """A file in the folder of published data, LINDERO_DATA; a `DataError` where it is missing."""
    folder = os.environ.get("LINDERO_DATA", "")
    if not folder:
        raise DataError(f"Needs {name}: set LINDERO_DATA to a folder that has this file.", name)
    path = Path(folder).expanduser() / name
    if not path.is_file():
        raise DataError(f"Needs {name}, which is not in the folder LINDERO_DATA names.", name)
    return path
