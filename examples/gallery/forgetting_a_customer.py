"""A customer asks to be forgotten: what does the model lose?

The machine that says who will leave is learned once; forgetting a customer is a small change of it,
exactly as if she had never been there. Before it is done, the change is looked at.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lindero.plot import BoundaryDisplay, UpdateDisplay
from lindero.plot.style import load_pyplot
from lindero.svm import IncrementalSVC


def make_customers(count: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Months since the last order and orders a year, who left, and the customers' numbers."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.gamma(2.0, 2.0, count), rng.gamma(3.0, 2.0, count)])
    score = 0.7 * X[:, 0] - 0.5 * X[:, 1] + 0.8 * rng.normal(size=count)
    return X, np.where(score > 0, "left", "stayed"), [f"C-{1000 + k}" for k in range(count)]


def main(folder: Path = Path("demo/gallery"), count: int = 120) -> Path:
    """Draw what forgetting changes, and the boundaries before and after."""
    X, y, names = make_customers(count)
    model = IncrementalSVC(C=10.0, gamma=0.05)
    model.partial_fit(X[:-20], y[:-20], ids=names[:-20])
    for k in range(count - 20, count):
        model.partial_fit(X[k : k + 1], y[k : k + 1], ids=[names[k]])
    # Somebody whom the model relies on: far on the wrong side.
    wrong = np.abs(model.decision_function(X)) * (model.predict(X) != y)
    asking = names[int(wrong.argmax())]
    figure = load_pyplot().figure(figsize=(10.5, 6.2), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1.25, 1])
    axes = [figure.add_subplot(grid[row, column]) for column in (0, 1) for row in (0, 1)]
    UpdateDisplay.from_estimator(model, forget=asking, axes=axes[:2])
    for place, title in enumerate((f"With {asking}", f"As if {asking} had never been there")):
        ax = axes[2 + place]
        if place:
            model.forget(asking)
        BoundaryDisplay.from_estimator(model, X, y, ax=ax, resolution=150)
        ax.set(title=title, xlabel="months since the last order", ylabel="orders a year")
        if not place:
            ax.get_legend().remove()  # the one below is for both
        ax.plot(*X[names.index(asking)], "k*", markersize=12, markeredgecolor="w", zorder=6)
    assert asking not in model.sample_ids_.tolist()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "forgetting_a_customer.png", dpi=80)
    return folder / "forgetting_a_customer.png"


if __name__ == "__main__":
    print(main())
