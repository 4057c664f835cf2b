"""A boundary that moves: an adaptive machine beside plain ones, on a stream whose concept changes.

Two clouds stand still, change places by turning round each other, and stand still again. Part of
``make pictures``; by itself it writes its picture to the folder ``demo``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from lindero.data import make_rotating
from lindero.evaluation import PrequentialResult, prequential
from lindero.svm import SVC, AdaptiveSVC

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

#: Samples that stand still, turn, and stand still again.
STILL, TURNING = 250, 100
NOISE = 0.35

#: n_scale is that of all rows: on a stream C then means the same at its beginning and its end.
SETTINGS: dict[str, Any] = {"coupling": 1e5, "n_scale": 2 * STILL + TURNING}

ADAPTIVE, ALL_ROWS, LATEST_ROWS = "AdaptiveSVC", "SVC, all rows so far", "SVC, the last 100 rows"
COLOURS = {ADAPTIVE: "#2f855a", ALL_ROWS: "#718096", LATEST_ROWS: "#805ad5"}
CLASSES = {-1: ("#2b6cb0", "o"), 1: ("#dd6b20", "s")}


def stream() -> tuple[np.ndarray, np.ndarray]:
    """Rows in the order of time, and their classes."""
    before, y_before = make_rotating(STILL, step=0.0, noise=NOISE, random_state=0)
    turning, y_turning = make_rotating(TURNING, step=np.pi / TURNING, noise=NOISE, random_state=1)
    after, y_after = make_rotating(STILL, step=0.0, noise=NOISE, random_state=2)
    # Half a turn later every point is opposite to where it was.
    return np.vstack([before, turning, -after]), np.concatenate([y_before, y_turning, y_after])


def on_the_stream(X: np.ndarray, y: np.ndarray) -> dict[str, PrequentialResult]:
    """Each row is predicted before it is learned, so all of them are test data."""
    curves = {"warm_up": 20, "window": 50}
    plain = SVC(kernel="linear")
    prequential(AdaptiveSVC(**SETTINGS), X[:50], y[:50])  # compile first
    return {
        ADAPTIVE: prequential(AdaptiveSVC(**SETTINGS), X, y, **curves),
        LATEST_ROWS: prequential(plain, X, y, refit_every=5, refit_on=100, **curves),
        ALL_ROWS: prequential(plain, X, y, refit_every=5, **curves),
    }


def report(X: np.ndarray, y: np.ndarray, results: dict[str, PrequentialResult]) -> None:
    print(f"\nA stream of {len(y)} rows whose boundary turns by half a circle")
    print("  accuracy, each row predicted before it is learned")
    for name, result in results.items():
        seconds = result.seconds_learning + result.seconds_predicting
        print(f"    {name:<24} {result.accuracy:.3f}  ({seconds:.2f} s)")
    model = results[ADAPTIVE].model
    print("  accuracy afterwards, of all rows again")
    print(f"    {'by the line of its time':<24} {model.score(X, y, times=model.times_):.3f}")
    print(f"    {'by the last line':<24} {model.score(X, y):.3f}  (predict without times)")


def draw_line(ax: Axes, w: np.ndarray, b: float, **style: Any) -> None:
    """Where w·x + b = 0, across the picture."""
    nearest = -b * w / (w @ w)
    along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    ax.plot(*(nearest + np.array([[-9.0], [9.0]]) * along).T, **style)


def draw_instant(
    ax: Axes, now: int, X: np.ndarray, y: np.ndarray, model: AdaptiveSVC, plain: SVC
) -> None:
    """Rows around an instant, the line of that instant, and the one line of a plain machine."""
    rows = np.arange(now - 12, now + 13)
    for label, (colour, marker) in CLASSES.items():
        points = X[rows][y[rows] == label]
        ax.scatter(*points.T, s=22, c=colour, marker=marker, alpha=0.75, linewidths=0,
                   label=f"class {label}".replace("-", "−"))  # fmt: skip
    draw_line(ax, plain.coef_[0], plain.intercept_[0], color=COLOURS[ALL_ROWS], lw=1.5, ls="--",
              label="SVC, one line for all rows")  # fmt: skip
    draw_line(ax, model.coef_[now], model.intercept_[now], color=COLOURS[ADAPTIVE], lw=2.5,
              label="AdaptiveSVC, the line of this row")  # fmt: skip
    ax.set(xlim=(-2.4, 2.4), ylim=(-2.4, 2.4), aspect="equal", xticks=[], yticks=[])
    ax.set_title(f"row {now}, and 12 either side", fontsize=11)


def draw(folder: Path, X: np.ndarray, y: np.ndarray, results: dict[str, PrequentialResult]) -> Path:
    """The line at five instants; how far it moves and how often predictions err, along time."""
    model, plain = AdaptiveSVC(**SETTINGS).fit(X, y), SVC(kernel="linear").fit(X, y)
    figure = plt.figure(figsize=(13, 8.6), layout="constrained")
    grid = figure.add_gridspec(3, 5, height_ratios=[1.25, 0.8, 1.0])
    instants = (125, 275, 300, 325, 475)
    for place, now in enumerate(instants):
        draw_instant(figure.add_subplot(grid[0, place]), now, X, y, model, plain)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)

    moved = figure.add_subplot(grid[1, :])
    moved.fill_between(model.times_, model.drift_, color=COLOURS[ADAPTIVE], alpha=0.25, lw=0)
    moved.plot(model.times_, model.drift_, color=COLOURS[ADAPTIVE], lw=1.2)
    moved.set(ylabel="drift_", ylim=(0, 1.3 * model.drift_.max()))
    moved.set_title("How far the line of each row is from that of the row before", fontsize=11)

    errors = figure.add_subplot(grid[2, :], sharex=moved)
    for name, result in results.items():
        errors.plot(result.rows, 100 * (1 - result.curve_accuracy), color=COLOURS[name],
                    lw=2.2 if name == ADAPTIVE else 1.6, label=f"{name}: "
                    f"{100 * (1 - result.accuracy):.1f} % in all")  # fmt: skip
    errors.set(xlabel="row of the stream", ylabel="errors in the last 50 (%)", xlim=(0, len(y)))
    errors.set_ylim(0, None)
    errors.set_title("Errors, each row predicted before it is learned", fontsize=11)
    errors.legend(framealpha=1.0, edgecolor="none", loc="upper left")
    for ax in (moved, errors):
        ax.axvspan(STILL, STILL + TURNING, color="#a0aec0", alpha=0.15, lw=0)
        ax.spines[["top", "right"]].set_visible(False)
        for now in instants:
            ax.axvline(now, color="#1a202c", lw=0.6, ls=":")
    moved.text(STILL + TURNING / 2, 1.25 * model.drift_.max(), "the clouds turn", ha="center",
               va="top", fontsize=10, color="#4a5568", backgroundcolor="#f1f3f7")  # fmt: skip
    path = folder / "adaptive.png"
    figure.savefig(path, dpi=110)
    return path


def main(folder: Path = Path("demo")) -> Path:
    """Print how the machines do, and draw them; where the picture is."""
    folder.mkdir(exist_ok=True)
    X, y = stream()
    results = on_the_stream(X, y)
    report(X, y, results)
    return draw(folder, X, y, results)


if __name__ == "__main__":
    print(f"\nA picture of a boundary that moves: {main()}")
