"""Fit a hard-margin, a soft-margin and a Gaussian machine; print how good they are, and draw them.

Run it with ``make demo``; pictures go to the folder ``demo``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.plot import BoundaryDisplay
from lindero.svm import SVC

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path("demo")


def xor_machine() -> tuple[SVC, np.ndarray, np.ndarray]:
    """The four points of XOR, separated without error by a quadratic kernel."""
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    y = np.array([1, -1, -1, 1])
    return SVC(C=float("inf"), kernel="poly", degree=2, gamma=1, coef0=1).fit(X, y), X, y


def report(title: str, accuracy: float, model: SVC) -> None:
    certificate = model.certificate_
    print(f"\n{title}")
    print(f"  accuracy          {accuracy:.3f}")
    print(f"  support vectors   {len(model.support_)} of {model.shape_fit_[0]}")
    print(f"  optimum between   {certificate.dual:.6g} and {certificate.primal:.6g}")
    print(f"  KKT gap           {certificate.kkt_gap:.1e}  (tol {model.tol:.0e})")
    print(f"  status            {certificate.status}")
    print(f"  time              {certificate.seconds:.3f} s, {certificate.n_iter} steps")


def held_out(title: str, model: SVC, X: np.ndarray, y: np.ndarray) -> None:
    """Fit on three quarters of the rows, report accuracy on the rest."""
    split = train_test_split(X, y, random_state=0, stratify=y)
    pipeline = make_pipeline(StandardScaler(), model).fit(split[0], split[2])
    report(title, pipeline.score(split[1], split[3]), model)


def draw() -> Path:
    """Three boundaries side by side, with margins and support vectors."""
    X, y = load_iris(return_X_y=True)
    petals, later = X[y > 0][:, 2:], y[y > 0]
    machines = [
        ("XOR: hard margin, quadratic kernel", *xor_machine()),
        ("Iris: soft margin, linear", SVC(kernel="linear").fit(petals, later), petals, later),
        ("Iris: soft margin, Gaussian", SVC(gamma=2.0).fit(petals, later), petals, later),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    for ax, (title, model, points, labels) in zip(axes, machines, strict=True):
        BoundaryDisplay.from_estimator(model, points, labels, ax=ax)
        ax.set_title(title)
    for ax in axes[1:]:
        ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / "boundaries.png"
    figure.savefig(path, dpi=110)
    return path


def main() -> None:
    print("The first fit on a machine compiles inner loops, which takes some seconds.", flush=True)
    xor_machine()
    model, X, y = xor_machine()
    report("XOR, hard margin (C = infinity), quadratic kernel", model.score(X, y), model)
    held_out("Breast cancer, soft margin, linear kernel", SVC(kernel="linear"),
             *load_breast_cancer(return_X_y=True))  # fmt: skip
    held_out("Handwritten digits, ten classes, Gaussian kernel", SVC(),
             *load_digits(return_X_y=True))  # fmt: skip
    print(f"\nA picture of three boundaries with margins and support vectors: {draw()}")


if __name__ == "__main__":
    main()
