"""Where in the plane of C and γ is a Gaussian machine good, and did the search look there?

The search goes from coarse to fine: empty cells were not worth trying.
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_digits

from lindero.plot import SearchDisplay
from lindero.plot.style import load_pyplot
from lindero.svm import SVCCV


def main(folder: Path = Path("demo/gallery"), n_rows: int = 600) -> Path:
    """Draw the map of a search over handwritten digits."""
    X, y = load_digits(return_X_y=True)
    search = SVCCV(cv=3).fit(X[:n_rows], y[:n_rows])
    figure, ax = load_pyplot().subplots(figsize=(6.8, 4.6), layout="constrained")
    SearchDisplay.from_estimator(search, ax=ax)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "searching_c_and_gamma.png", dpi=85)
    return folder / "searching_c_and_gamma.png"


if __name__ == "__main__":
    print(main())
