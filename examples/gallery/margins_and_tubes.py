"""What holds a boundary: margins, unequal margins, tubes and regions, and their support vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from lindero.plot import BoundaryDisplay
from lindero.plot.style import load_pyplot
from lindero.svm import SVC, SVR, CostSensitiveSVC, OneClassSVM


def main(folder: Path = Path("demo/gallery"), resolution: int = 250) -> Path:
    """Draw four machines."""
    rng = np.random.default_rng(1)
    figure, axes = load_pyplot().subplots(2, 2, figsize=(9.6, 8.8), layout="constrained")
    X, y = load_iris(return_X_y=True)
    petals, kinds = X[:, 2:], load_iris().target_names[y]
    X = np.vstack([rng.normal([-2, 0], 0.8, (40, 2)), rng.normal([2, 0.5], 0.8, (40, 2))])
    state = np.repeat(["healthy", "ill"], 40)
    x = np.sort(rng.uniform(0, 6, 60))
    height = np.sin(x) + 0.15 * rng.normal(size=60)
    cloud = np.vstack([rng.normal(0, 0.6, (150, 2)), rng.normal(2.5, 0.4, (80, 2))])
    costly = CostSensitiveSVC(
        C=1e3, kernel="linear", cost_positive=9, cost_negative=2, positive_class="ill"
    )
    drawn = [
        ("Three kinds of iris", SVC(gamma=2.0).fit(petals, kinds), petals, kinds),
        ("Missing an ill one costs more: unequal margins", costly.fit(X, state), X, state),
        ("SVR: flat within a tube", SVR(C=10, gamma=0.5, epsilon=0.2).fit(x[:, None], height),
         x[:, None], height),
        ("OneClassSVM: where the data are", OneClassSVM(nu=0.05, gamma=0.25).fit(cloud), cloud,
         None),
    ]  # fmt: skip
    for ax, (title, model, points, targets) in zip(axes.flat, drawn, strict=True):
        one = points.shape[1] == 1
        BoundaryDisplay.from_estimator(
            model, points, targets, ax=ax, resolution=None if one else resolution
        )
        ax.set_title(title, fontsize=10)
    axes[0, 0].set(xlabel="petal length (cm)", ylabel="petal width (cm)")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "margins_and_tubes.png", dpi=80)
    return folder / "margins_and_tubes.png"


if __name__ == "__main__":
    print(main())
