"""``lindero demo``: what lindero can do, in a minute.

A comparison of machines, a boundary that moves, and a row that is forgotten; then a report on them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lindero.cli.options import folder_option, force_option, output_options
from lindero.cli.output import Output

if TYPE_CHECKING:
    from concurrent.futures import Future

    from lindero.evaluation import Comparison
    from lindero.report.picture import Picture


_EXAMPLES = """\b
Examples:
  lindero demo
  lindero demo --folder pages
"""

_PAGE = "report.html"
_TITLE = "What lindero can do"

#: Machines of the comparison, and costs of errors.
COMPARED = ("naive-bayes", "tan", "svc-linear", "svc-gaussian", "cost-sensitive-svc-gaussian")
COSTS = {("malignant", "benign"): 10.0, ("benign", "malignant"): 1.0}

#: Rows of the stream while the clouds stand still, rotate, and stand still again.
STILL, TURNING = 200, 100
_NOISE = 0.35

#: Rows that a point of the error curves is about.
_WINDOW = 50

ADAPTIVE, LATEST, ALL = "adaptive-svc", "svc, the last 100 rows", "svc, all rows so far"

#: Rows whose boundaries are drawn, and how many rows around them.
_INSTANTS = (100, 225, 250, 275, 400)
_AROUND = 12
_SIDE, _REACH = 140.0, 2.3


@click.command(epilog=_EXAMPLES)
@folder_option("--folder", "demo", "Where to write the report.")
@force_option
@output_options
@click.pass_obj
def command(output: Output, folder: str) -> None:
    """See what lindero can do.

    Machines are compared on a table with categories and missing values, where one error costs more
    than the other. One machine follows a boundary that moves. One learns row by row and forgets a
    row again. The results are written to an HTML report. The first run compiles for some seconds.
    """
    from lindero.cli.compare import format_result, watch_comparison
    from lindero.cli.writing import require_writable
    from lindero.evaluation import compare

    begun = time.perf_counter()
    place = Path(folder)
    if not _is_demo_page(place / _PAGE):
        require_writable(output, [str(place / _PAGE)] if place.is_dir() else [])
    place.mkdir(parents=True, exist_ok=True)
    output.note("The first run compiles inner loops, which takes some seconds.")
    with working_beside() as elsewhere:
        following, forgetting = elsewhere(follow_boundary), elsewhere(forget_row)
        dataset = make_cancer_table()
        with watch_comparison(output) as progress:
            comparison = compare(
                dataset, machines=COMPARED, costs=COSTS, folds=4, progress=progress
            )
        with output.showing_status("following a boundary that moves"):
            moving, changed = following.result(), forgetting.result()
    page = str(place / _PAGE)
    write_demo_page(page, comparison, moving, changed)
    seconds = time.perf_counter() - begun
    values = {
        "comparison": comparison.to_dict(),
        "following": {"rows": len(moving.y), "error": moving.errors},
        "forgetting": changed,
        "report": page,
        "seconds": seconds,
    }
    parts = [
        "1  Machines compared: missing a malignant tumour costs 10 times as much as a false alarm",
        format_result(comparison, None),
        "2  A boundary that moves: each row is predicted before it is learned",
        moving.format(),
        "3  Rows learned one by one, and one of them forgotten",
        format_forgotten(changed),
        f"Report with charts: {page}   ({seconds:.0f} s)",
    ]
    output.show_result(values, "\n\n".join(parts))
    output.advise("Next: lindero compare YOUR_TABLE.csv --report report.html")


def _is_demo_page(path: Path) -> bool:
    """Whether a file is the report of an earlier demo, which may be replaced."""
    try:
        with path.open("rb") as file:
            return f"<title>{_TITLE}</title>".encode() in file.read(2**12)
    except OSError:
        return False


@contextmanager
def working_beside() -> Iterator[Callable[..., Future[Any]]]:
    """A function that starts work in a second process, which halves the time to compile."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    executor = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield executor.submit
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def make_cancer_table() -> Any:
    """Tumours as a table with a categorical column and missing values."""
    import numpy as np
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    from lindero.data import Dataset

    bunch = load_breast_cancer()
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    for name, values in zip(bunch.feature_names[:12].tolist(), bunch.data.T, strict=False):
        gaps = rng.random(len(values)) < 0.03
        if name == "mean area":
            values = np.array(["small", "medium", "large"])[np.digitize(values, [450.0, 700.0])]
        columns[name] = pa.array(values, mask=gaps)
    kinds = {name: "category" if name == "mean area" else "number" for name in columns}
    target = bunch.target_names[bunch.target]
    return Dataset(pa.table(columns), target, "diagnosis", kinds, "breast cancer")


@dataclass(frozen=True)
class FollowedBoundary:
    """The errors of machines on the stream, and the lines of the adaptive one."""

    errors: dict[str, float]
    curves: dict[str, tuple[Any, Any]]
    X: Any
    y: Any
    lines: Any
    drift: Any

    def format(self) -> str:
        """As text."""
        lines = [f"  {name:<24} {100 * error:5.1f} % errors" for name, error in self.errors.items()]
        first, last = STILL + 1, STILL + TURNING
        moved = f"The boundary moved most at row {int(self.drift.argmax()) + 1}"
        return "\n".join([*lines, f"{moved}; the clouds rotate from row {first} to row {last}."])


def make_moving_rows() -> tuple[Any, Any]:
    """Two clouds that stand still, change places by rotating, and stand still again."""
    import numpy as np

    from lindero.data import make_rotating

    before, y_before = make_rotating(STILL, step=0.0, noise=_NOISE, random_state=0)
    step = np.pi / TURNING
    turning, y_turning = make_rotating(TURNING, step=step, noise=_NOISE, random_state=1)
    after, y_after = make_rotating(STILL, step=0.0, noise=_NOISE, random_state=2)
    # Half a turn later every point is opposite to where it was.
    return np.vstack([before, turning, -after]), np.concatenate([y_before, y_turning, y_after])


def follow_boundary() -> FollowedBoundary:
    """Compare an adaptive machine with plain ones that are fitted again and again."""
    import numpy as np

    from lindero.evaluation.streams import prequential
    from lindero.svm import SVC, AdaptiveSVC

    X, y = make_moving_rows()
    curves: dict[str, Any] = {"warm_up": 20, "window": _WINDOW}
    # n_scale is that of all rows, so that C means the same at both ends of the stream.
    settings: dict[str, Any] = {"coupling": 1e5, "n_scale": len(y)}
    plain = SVC(kernel="linear")
    results = {
        ADAPTIVE: prequential(AdaptiveSVC(**settings), X, y, **curves),
        LATEST: prequential(plain, X, y, refit_every=10, refit_on=100, **curves),
        ALL: prequential(plain, X, y, refit_every=10, **curves),
    }
    fitted = AdaptiveSVC(**settings).fit(X, y)
    return FollowedBoundary(
        {name: 1.0 - result.accuracy for name, result in results.items()},
        {name: (r.rows + 1, 1.0 - r.curve_accuracy) for name, r in results.items()},
        X, y, np.column_stack([fitted.coef_, fitted.intercept_]), fitted.drift_,
    )  # fmt: skip


def format_forgotten(values: dict[str, Any]) -> str:
    """How a machine changed when it forgot a row, as text."""
    return (
        f"{values['n_first']} rows at once, then {values['n_one_by_one']} one by one, with "
        f"{values['iterations']:.1f} iterations each on average; each update is exact.\n"
        f"Leave-one-out error, exact: {100 * values['leave_one_out']:.1f} %\n"
        f"Sample {values['sample']} is forgotten: decision values change by up to "
        f"{values['moved']:.3f}, and differ by {values['left']:.0e}\n"
        "from those of a machine that never saw it."
    )


def forget_row() -> dict[str, Any]:
    """Learn rows one at a time; then forget one, as if it had never been there."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    from lindero.svm import IncrementalSVC

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    n_first = 450
    model = IncrementalSVC(C=1.0, gamma="auto").fit(X[:n_first], y[:n_first])
    for row in range(n_first, len(y)):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    iterations = float(model.updates_["iterations"][n_first:].mean())
    wrong = (model.leave_one_out() > 0) != (y == model.classes_[1])
    sample = int(model.sample_ids_[model.bounded_support_[0]])
    before, (place,) = model.decision_function(X), np.flatnonzero(model.sample_ids_ == sample)
    model.forget(sample)
    others = np.arange(len(y)) != place
    never = IncrementalSVC(C=1.0, gamma="auto").fit(X[others], y[others])
    moved = float(np.abs(model.decision_function(X) - before).max())
    left = float(np.abs(model.decision_function(X) - never.decision_function(X)).max())
    return {
        "n_first": n_first,
        "n_one_by_one": len(y) - n_first,
        "iterations": iterations,
        "leave_one_out": float(wrong.mean()),
        "sample": sample,
        "moved": moved,
        "left": left,
    }


def write_demo_page(
    path: str, comparison: Comparison, moving: FollowedBoundary, changed: dict[str, Any]
) -> None:
    """Write the report."""
    from lindero.persist.safe_file import write_whole_bytes
    from lindero.report.charts import draw_twice
    from lindero.report.comparison import make_body
    from lindero.report.page import code, figure, heading, page, paragraph
    from lindero.report.streams import draw_error_curves

    body = [
        heading(_TITLE, 1),
        heading("1  Machines compared"),
        paragraph(
            "Tumours in a table of numbers and categories, with missing values. Missing a "
            "malignant one costs 10 times as much as a false alarm."
        ),
        *make_body(comparison, level=3),
        heading("2  A boundary that moves"),
        paragraph(
            "Two clouds stand still, change places by rotating around each other, and stand still "
            "again. Each row is predicted before it is learned."
        ),
        figure(
            draw_twice(
                lambda width: draw_error_curves(
                    moving.curves, width, shaded=(STILL, STILL + TURNING)
                )
            ),
            f"Errors in the last {_WINDOW} rows; the clouds rotate in the shaded range. In total: "
            + "; ".join(f"{name} {100 * error:.1f} %" for name, error in moving.errors.items())
            + ".",
        ),
        figure(
            _draw_instants(moving),
            f"The boundary of adaptive-svc at five rows, and the {_AROUND} rows on either side.",
        ),
        heading("3  Rows learned one by one, and one of them forgotten"),
        *(paragraph(line) for line in format_forgotten(changed).split("\n", 2)),
        heading("Your own data"),
        code("lindero compare YOUR_TABLE.csv --report report.html"),
    ]
    write_whole_bytes(path, page(_TITLE, body).encode("utf-8"))


def _draw_instants(moving: FollowedBoundary) -> str:
    """Clouds and boundaries at a few rows, side by side."""
    from lindero.report.picture import Picture

    gap = 12.0
    width = len(_INSTANTS) * (_SIDE + gap)
    picture = Picture(width, _SIDE + 30, "The boundary at five rows")
    for place, now in enumerate(_INSTANTS):
        left = place * (_SIDE + gap)
        picture.rectangle(left, 22, _SIDE, _SIDE, "empty")
        picture.text(left + _SIDE / 2, 14, f"row {now}", anchor="middle", style="tick")
        _draw_line(picture, moving.lines[now], left)
        for row in range(now - _AROUND, now + _AROUND + 1):
            x, y = _to_picture(moving.X[row], left)
            if left < x < left + _SIDE and 22 < y < 22 + _SIDE:
                style = "best" if moving.y[row] > 0 else "second"
                picture.circle(x, y, 3.0, style)
    return str(picture)


def _to_picture(point: Any, left: float) -> tuple[float, float]:
    middle = _SIDE / 2
    scale = middle / _REACH
    return left + middle + scale * float(point[0]), 22 + middle - scale * float(point[1])


def _draw_line(picture: Picture, line: Any, left: float) -> None:
    """The line w·x + b = 0, inside the frame."""
    import numpy as np

    w, b = line[:2], float(line[2])
    size = float(w @ w)
    if size == 0.0:
        return
    nearest, along = -b * w / size, np.array([-w[1], w[0]]) / np.sqrt(size)
    steps = np.linspace(-2 * _REACH, 2 * _REACH, 401)
    points = nearest + steps[:, None] * along
    inside = points[(np.abs(points) < _REACH).all(axis=1)]
    if len(inside) > 1:
        picture.line(*_to_picture(inside[0], left), *_to_picture(inside[-1], left), "boundary")
