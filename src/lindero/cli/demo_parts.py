"""What the demo shows: a table to compare machines on, a boundary that moves, a row forgotten."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Machines of the comparison, and what errors cost.
COMPARED = ("naive-bayes", "tan", "svc-linear", "svc-gaussian", "cost-sensitive-svc-gaussian")
COSTS = {("malignant", "benign"): 10.0, ("benign", "malignant"): 1.0}

#: Rows of the stream that stand still, turn, and stand still again.
STILL, TURNING = 200, 100
_NOISE = 0.35

ADAPTIVE, LATEST, ALL = "adaptive-svc", "svc, the last 100 rows", "svc, all rows so far"


@contextmanager
def next_door() -> Iterator[Callable[..., Future[Any]]]:
    """A function that has work done in a second process, so that compiling takes half as long."""
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(1, mp_context=context)
    try:
        yield executor.submit
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


# -- machines compared ------------------------------------------------------------------------


def cancer_table() -> Any:
    """Tumours as a table with a column in words and with gaps."""
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    from lindero.data import Dataset

    bunch = load_breast_cancer()
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    for k, name in enumerate(bunch.feature_names[:12].tolist()):
        values = bunch.data[:, k]
        gaps = rng.random(len(values)) < 0.03
        if name == "mean area":
            words = np.array(["small", "middle", "large"])[np.digitize(values, [450.0, 700.0])]
            columns[name] = pa.array(words, mask=gaps)
        else:
            columns[name] = pa.array(values, mask=gaps)
    kinds = {name: "category" if name == "mean area" else "number" for name in columns}
    target = bunch.target_names[bunch.target]
    return Dataset(pa.table(columns), target, "diagnosis", kinds, "breast cancer")


# -- a boundary that moves --------------------------------------------------------------------


@dataclass(frozen=True)
class Followed:
    """How machines did on the stream, and the lines of the adaptive one."""

    errors: dict[str, float]
    curves: dict[str, tuple[Any, Any]]
    window: int
    X: Any
    y: Any
    lines: Any
    drift: Any

    def to_dict(self) -> dict[str, Any]:
        """Figures as plain values."""
        return {"rows": len(self.y), "error": self.errors}

    def text(self) -> str:
        """Figures in words."""
        lines = [f"  {name:<24} {100 * error:5.1f} % errors" for name, error in self.errors.items()]
        first, last = STILL + 1, STILL + TURNING
        moved = f"The lines moved most at row {int(np.argmax(self.drift)) + 1}"
        return "\n".join([*lines, f"{moved}; the clouds turn from row {first} to row {last}."])


def moving_rows() -> tuple[Any, Any]:
    """Two clouds that stand still, change places by turning, and stand still again."""
    from lindero.data import make_rotating

    before, y_before = make_rotating(STILL, step=0.0, noise=_NOISE, random_state=0)
    step = np.pi / TURNING
    turning, y_turning = make_rotating(TURNING, step=step, noise=_NOISE, random_state=1)
    after, y_after = make_rotating(STILL, step=0.0, noise=_NOISE, random_state=2)
    # Half a turn later every point is opposite to where it was.
    return np.vstack([before, turning, -after]), np.concatenate([y_before, y_turning, y_after])


def followed() -> Followed:
    """An adaptive machine beside plain ones that are fitted again and again."""
    from lindero.evaluation import prequential
    from lindero.svm import SVC, AdaptiveSVC

    X, y = moving_rows()
    curves: dict[str, Any] = {"warm_up": 20, "window": 50}
    # n_scale is that of all rows, so that C means the same at both ends of the stream.
    settings: dict[str, Any] = {"coupling": 1e5, "n_scale": len(y)}
    plain = SVC(kernel="linear")
    results = {
        ADAPTIVE: prequential(AdaptiveSVC(**settings), X, y, **curves),
        LATEST: prequential(plain, X, y, refit_every=10, refit_on=100, **curves),
        ALL: prequential(plain, X, y, refit_every=10, **curves),
    }
    fitted = AdaptiveSVC(**settings).fit(X, y)
    return Followed(
        {name: 1.0 - result.accuracy for name, result in results.items()},
        {name: (r.rows + 1, 1.0 - r.curve_accuracy) for name, r in results.items()},
        50, X, y, np.column_stack([fitted.coef_, fitted.intercept_]), fitted.drift_,
    )  # fmt: skip


# -- a row forgotten --------------------------------------------------------------------------


@dataclass(frozen=True)
class Forgotten:
    """What a machine was before and after it forgot a row."""

    n_first: int
    n_one_by_one: int
    iterations: float
    leave_one_out: float
    sample: int
    moved: float
    left: float

    def to_dict(self) -> dict[str, Any]:
        """Figures as plain values."""
        return dict(vars(self))

    def text(self) -> str:
        """Figures in words."""
        return (
            f"{self.n_first} rows at once, then {self.n_one_by_one} one by one, with "
            f"{self.iterations:.1f} steps each on average; every one leaves the exact optimum.\n"
            f"Leave-one-out error, exact: {100 * self.leave_one_out:.1f} %\n"
            f"Sample {self.sample} is forgotten: decisions move by up to {self.moved:.3f}, and "
            f"differ by {self.left:.0e} from those\nof a machine that never saw it."
        )


def forgotten() -> Forgotten:
    """Rows learned one at a time; then one is forgotten, as if it had never been there."""
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
    return Forgotten(
        n_first, len(y) - n_first, iterations, float(wrong.mean()), sample, moved, left
    )
