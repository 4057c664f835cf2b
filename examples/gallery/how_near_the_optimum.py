"""Is it worth waiting? The gap to the optimum as a fit goes on, for three values of C."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import make_classification

from lindero.plot import CertificateDisplay
from lindero.plot.style import load_pyplot
from lindero.svm import SVC


def main(folder: Path = Path("demo/gallery"), n_rows: int = 3000) -> Path:
    """Draw the gaps of three fits, side by side."""
    X, y = make_classification(n_rows, 20, n_informative=8, flip_y=0.1, random_state=0)
    SVC(C=1.0).fit(X[:500], y[:500])  # inner loops are compiled by the first fit
    figure, axes = load_pyplot().subplots(
        1, 3, figsize=(11, 3.6), sharey=True, layout="constrained"
    )
    for ax, C in zip(axes, (0.1, 1.0, 100.0), strict=True):
        CertificateDisplay.from_estimator(SVC(C=C, tol=1e-5), X, y, ax=ax)
        ax.set_title(f"C = {C:g}", fontsize=10, loc="left")
        ax.set_ylabel("KKT gap" if ax is axes[0] else "")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "how_near_the_optimum.png", dpi=80)
    return folder / "how_near_the_optimum.png"


if __name__ == "__main__":
    print(main())
