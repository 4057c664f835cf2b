"""Papers one after another: what is missing is computed, what is there is kept, and reports follow.

What a work returned is appended to ``finished.jsonl`` in the folder of the run as soon as it is
there: a line with the key of the work and a hash of the code that it came from. A run that was
interrupted, or that is asked for other papers, takes from there whatever fits. The hash covers the
files of lindero that compute (not the command line, reports and plots), the paper's own file
without what only draws and lists, and the versions of Python, NumPy, SciPy and scikit-learn.

Errors of a work stop nothing: the cell says what was the matter. Ctrl-C writes the reports of what
is there, and ends the run with a KeyboardInterrupt whose attribute `result` holds the same.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import lindero
from lindero.reproduce.cells import (
    Lacking,
    Measured,
    PaperPlan,
    Settings,
    Verdict,
    Work,
    judge,
)
from lindero.runtime.arrays import make_plain
from lindero.runtime.workers import Inline, WorkerPool

#: Papers in the order of the report, by the names that are typed.
PAPERS = {
    "asvm": "lindero.reproduce.asvm",
    "icssvm": "lindero.reproduce.icssvm",
    "tm": "lindero.reproduce.tm",
    "lectures": "lindero.reproduce.lectures",
    "svm-tutorial": "lindero.reproduce.svm_tutorial",
}

#: Parts of lindero that compute nothing which stands in a table.
_NOT_COMPUTING = ("cli", "notebook.py", "play", "plot", "report", "reproduce", "serve")


@dataclass(frozen=True)
class ReproductionProgress:
    """How far a run is: works done of all, and about how many seconds are left (None at first)."""

    n_done: int
    n_total: int
    seconds_left: float | None
    latest: str = ""


@dataclass(frozen=True)
class Reproduction:
    """What a run came to.

    Attributes
    ----------
    papers : tuple of PaperPlan
        What was published.
    results : dict
        What works returned, by their keys.
    complete : bool
        Whether all works are done; a run that was interrupted is not complete.
    folder : str
        Where the reports are: ``report.html``, ``report.md`` and ``figures/``.
    seconds : float
        How long the run took.
    worked : dict
        Seconds of the processor that each work took, in this run or before.
    """

    papers: tuple[PaperPlan, ...]
    results: dict[str, Measured | Lacking]
    complete: bool
    folder: str
    settings: Settings
    n_jobs: int
    seconds: float
    worked: dict[str, float]

    def find_seconds(self, paper: PaperPlan | None = None) -> float:
        """Seconds of the processor that all works took, or those of a paper, now or before."""
        papers = self.papers if paper is None else (paper,)
        keys = {work.key for one in papers for work in one.works}
        return sum(self.worked[key] for key in keys)

    def list_verdicts(self) -> list[tuple[PaperPlan, Any, Any, Verdict]]:
        """Paper, table, cell and verdict of all numbers."""
        return [
            (paper, table, cell, judge(cell, self.results))
            for paper in self.papers
            for table in paper.tables
            for cell in table.cells
        ]

    def count(self, name: str) -> dict[str, int]:
        """Published numbers of a paper: how many, how many agree, differ, cannot be compared."""
        found = [
            verdict.allowed
            for paper, _, cell, verdict in self.list_verdicts()
            if paper.name == name and (cell.published is not None or cell.shown)
        ]
        return {
            "published": len(found),
            "agree": found.count(True),
            "differ": found.count(False),
            "not compared": found.count(None),
        }

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        numbers = [
            {
                "paper": paper.name, "table": table.title, "row": cell.row, "column": cell.column,
                "published": cell.published, "ours": cell.collect(self.results),
                "allowed": verdict.allowed, "words": verdict.words,
            }
            for paper, table, cell, verdict in self.list_verdicts()
        ]  # fmt: skip
        return {
            "papers": {paper.name: self.count(paper.name) for paper in self.papers},
            "numbers": numbers,
            "figures": [figure.name for paper in self.papers for figure in paper.figures],
            "complete": self.complete,
            "folder": self.folder,
            "seconds": self.seconds,
        }

    def format(self) -> str:
        """As text: a line for each paper, and the numbers that differ."""
        lines = []
        for paper in self.papers:
            counts = self.count(paper.name)
            said = ", ".join(f"{n} {what}" for what, n in counts.items() if n or what == "agree")
            lines.append(f"{paper.name}: {said}; {len(paper.figures)} figures")
        for paper, table, cell, verdict in self.list_verdicts():
            if verdict.allowed is False:
                place = f"{paper.name}, {table.title}: {cell.row}, {cell.column}"
                printed = cell.write_published()
                lines.append(f"  {place}: published {printed}, ours {verdict.ours}")
        lacks = [one.sentence for one in self.results.values() if isinstance(one, Lacking)]
        if lacks and self.complete:
            n = len(lacks)
            lines.append(f"{n} work{'s' if n > 1 else ''} gave nothing, the first: {lacks[0]}")
        return "\n".join(lines)


def run(
    papers: Sequence[str] | str = "all",
    *,
    quick: bool = False,
    out: str | Path = "reproduced",
    n_jobs: int = 1,
    n_seeds: int | None = None,
    progress: Callable[[ReproductionProgress], None] | None = None,
) -> Reproduction:
    """Compute published tables and figures, and write reports with ours beside them.

    Parameters
    ----------
    papers : sequence of str or str, default="all"
        ``asvm``, ``icssvm``, ``tm``, ``lectures``, ``svm-tutorial``, or ``all``.
    quick : bool, default=False
        Fewer seeds and smaller data: minutes instead of an hour.
    out : str or Path, default="reproduced"
        The folder to write to; what it holds from an earlier run is not computed again.
    n_jobs : int, default=1
        Processes that work; -1 for one on each core.
    n_seeds : int, optional
        Seeds of each number, instead of those that the papers' plans take.
    progress : callable, optional
        Called with a `ReproductionProgress` whenever a work is done.

    Returns
    -------
    reproduction : Reproduction

    Examples
    --------
    >>> import tempfile
    >>> from lindero.reproduce import run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = run("lectures", quick=True, out=folder)
    >>> found.count("lectures")
    {'published': 21, 'agree': 20, 'differ': 1, 'not compared': 0}
    """
    begun = time.perf_counter()
    settings = Settings(quick=quick, n_seeds=_check_seeds(n_seeds))
    plans = tuple(make_plan(name, settings) for name in choose_papers(papers))
    n_workers = _count_workers(n_jobs)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    kept = FinishedWorks(folder / "finished.jsonl")
    works = list({work.key: work for plan in plans for work in plan.works}.values())
    interrupt = None
    try:
        _do(works, kept, n_workers, progress)
    except KeyboardInterrupt as raised:
        interrupt = raised
    finally:
        kept.close()
    undone = Lacking("Not computed yet: the run was interrupted.")
    held = {work.key: kept.find(work) for work in works}
    results = {key: undone if one is None else one for key, one in held.items()}
    found = Reproduction(
        plans, results, interrupt is None, str(folder), settings, n_workers,
        time.perf_counter() - begun, {work.key: kept.find_seconds(work) for work in works},
    )  # fmt: skip
    from lindero.reproduce.document import write_reports

    write_reports(found)
    if interrupt is not None:
        interrupt.result = found  # type: ignore[attr-defined]
        raise interrupt
    return found


def choose_papers(names: Sequence[str] | str) -> list[str]:
    """The papers that are asked for, in the order of the report."""
    asked = [names] if isinstance(names, str) else list(names)
    for name in asked:
        if name not in (*PAPERS, "all"):
            raise ValueError(f"There is no paper {name!r}. Papers: {', '.join(PAPERS)}, or all.")
    if not asked:
        raise ValueError(f"No paper was asked for. Papers: {', '.join(PAPERS)}, or all.")
    return [name for name in PAPERS if name in asked or "all" in asked]


def make_plan(name: str, settings: Settings) -> PaperPlan:
    """The plan of a paper."""
    plan: PaperPlan = import_module(PAPERS[name]).plan(settings)
    return plan


def _check_seeds(n_seeds: Any) -> int | None:
    if n_seeds is not None and (
        isinstance(n_seeds, bool) or int(n_seeds) != n_seeds or n_seeds < 1
    ):
        raise ValueError(f"n_seeds must be a positive integer or None; it is {n_seeds!r}.")
    return None if n_seeds is None else int(n_seeds)


def _count_workers(n_jobs: int) -> int:
    from joblib import cpu_count

    if n_jobs == 0 or n_jobs < -1 or int(n_jobs) != n_jobs:
        raise ValueError(f"n_jobs must be a positive integer or -1; it is {n_jobs!r}.")
    return int(cpu_count()) if n_jobs == -1 else int(n_jobs)


# -- works, and what they returned -----------------------------------------------------------------


@dataclass
class FinishedWorks:
    """What works returned, in a file of lines that only grows; a line that was cut off is left
    out."""

    path: Path
    _found: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    _lacks: dict[str, Lacking] = field(default_factory=dict)
    _file: Any = None

    def __post_init__(self) -> None:
        self.path.touch()  # by which the folder is known as one of a run
        content = self.path.read_bytes()
        for line in content.splitlines():
            with suppress(ValueError, KeyError, TypeError):
                held = json.loads(line)
                self._found[held["key"], held["code"]] = {
                    "measured": held["measured"], "processor": float(held["processor"])
                }  # fmt: skip
        if content and not content.endswith(b"\n"):  # the next line begins a line of its own
            with self.path.open("ab") as file:
                file.write(b"\n")

    def find(self, work: Work) -> Measured | Lacking | None:
        """What a work returned, or why it returned nothing."""
        held = self._found.get((work.key, hash_code(work.function)))
        return self._lacks.get(work.key) if held is None else held["measured"]

    def find_seconds(self, work: Work) -> float:
        """Seconds of the processor that a work took."""
        held = self._found.get((work.key, hash_code(work.function)))
        return 0.0 if held is None else held["processor"]

    def add(self, work: Work, returned: Measured | Lacking, processor: float) -> None:
        """Keep what a work returned, and the seconds of the processor that it took; what is lacking
        is tried again in the next run."""
        if isinstance(returned, Lacking):
            self._lacks[work.key] = returned
            return
        code = hash_code(work.function)
        kept = {"processor": processor, "measured": make_plain(dict(returned))}
        self._found[work.key, code] = kept
        line = json.dumps({"key": work.key, "code": code, **kept})
        if self._file is None:
            self._file = self.path.open("a", encoding="utf-8")
        self._file.write(line + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _do(
    works: Iterable[Work],
    kept: FinishedWorks,
    n_workers: int,
    progress: Callable[[ReproductionProgress], None] | None,
) -> None:
    """Do the works that are not done, those that measure time last and one by one."""
    every = list(works)
    waiting = [work for work in every if kept.find(work) is None]
    beside = [work for work in waiting if not work.alone]
    clock = _TimeLeft(waiting, n_workers)

    def tell(latest: str = "") -> None:
        if progress is not None:
            n_left = len(waiting) - clock.n_done
            left = clock.estimate()
            progress(ReproductionProgress(len(every) - n_left, len(every), left, latest))

    tell()
    for group, n_together in ((beside, n_workers), ([w for w in waiting if w.alone], 1)):
        if not group:
            continue
        n_together = min(n_together, len(group))
        pool = Inline(None) if n_together == 1 else WorkerPool(n_together, None)
        todo = {work.key: work for work in group}
        queue = sorted(group, key=lambda work: -work.seconds if n_together > 1 else 0.0)
        try:
            while todo:
                while queue and pool.n_free:
                    work = queue.pop(0)
                    pool.start(work.key, do_work, work)
                for outcome in pool.wait(1.0):
                    work = todo.pop(outcome.key)
                    lost = Lacking(
                        "The process that computed it ended, perhaps for want of memory."
                    )
                    returned, processor = (lost, 0.0) if outcome.lost else outcome.value
                    kept.add(work, returned, processor)
                    clock.tick(work, outcome.seconds)
                    tell(work.key)
        finally:
            pool.close()


def do_work(_: Any, work: Work) -> tuple[Measured | Lacking, float]:
    """Do a work; what goes wrong becomes a sentence. Seconds of the processor, too: on a machine
    that does other things those of the clock say little."""
    begun = time.process_time()
    returned: Measured | Lacking
    try:
        returned = work.function(**work.arguments)
    except (lindero.errors.LinderoError, OSError, ImportError) as error:
        returned = Lacking(str(error))
    except Exception as error:
        returned = Lacking(f"It failed: {type(error).__name__}: {error}")
    return returned, time.process_time() - begun


class _TimeLeft:
    """Seconds left, from the guesses of the works and how far they were off until now."""

    def __init__(self, waiting: Sequence[Work], n_workers: int) -> None:
        self._left = sum(work.seconds / (1 if work.alone else n_workers) for work in waiting)
        self._n_workers, self._guessed, self._took = n_workers, 0.0, 0.0
        self.n_done = 0

    def tick(self, work: Work, seconds: float) -> None:
        """A work is done."""
        self.n_done += 1
        self._left -= work.seconds / (1 if work.alone else self._n_workers)
        self._guessed += work.seconds
        self._took += seconds

    def estimate(self) -> float | None:
        """Seconds left; None before anything is done."""
        if not self._guessed:
            return None
        return max(0.0, self._left) * self._took / self._guessed


# -- which code it came from -----------------------------------------------------------------------


@cache
def hash_code(function: Callable[..., Any]) -> str:
    """A hash of all code that a work of this function runs through."""
    digest = hashlib.sha256(_hash_package())
    path = inspect.getsourcefile(inspect.unwrap(function))
    if path is not None and Path(path).is_file():
        digest.update(_strip_drawing(Path(path).read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:16]


def _strip_drawing(source: str) -> str:
    """Python without functions that only draw or list, without docstrings and comments, and without
    what is imported from this folder: how works are listed and drawn changes none of them."""
    tree = ast.parse(source)
    tree.body = [part for part in tree.body if not _is_aside(part)]
    for part in ast.walk(tree):
        if isinstance(part, ast.FunctionDef):
            part.body = [line for line in part.body if not _is_aside(line)]
    return ast.dump(tree)


def _is_aside(part: ast.stmt) -> bool:
    if isinstance(part, ast.FunctionDef):
        return part.name.startswith(("draw", "plan"))
    if isinstance(part, ast.ImportFrom):
        return part.module in ("lindero.reproduce.cells", "lindero.reproduce.figures")
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


@cache
def _hash_package() -> bytes:
    root = Path(lindero.__file__).parent
    digest = hashlib.sha256(sys.version.encode())
    for name in ("numpy", "scipy", "sklearn"):
        digest.update(f"{name} {import_module(name).__version__}".encode())
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if place.parts[0] not in _NOT_COMPUTING:
            digest.update(place.as_posix().encode() + path.read_bytes())
    return digest.digest()
