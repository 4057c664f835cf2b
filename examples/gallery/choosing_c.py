"""Which C? All of them: the exact path of solutions, judged on rows that were not learned.

A grid of values of C shows some points of the lower curve. The path shows where each error comes
and goes, and over which stretch of C the least errors are made. The rows that choose C have been
used up by that: how good the machine is, other rows have to say.
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from lindero.plot import CPathDisplay
from lindero.svm import IncrementalSVC


def main(folder: Path = Path("demo/gallery"), n_rows: int = 150) -> Path:
    """Draw the path, and the errors on all other rows."""
    X, y = load_breast_cancer(return_X_y=True)
    scaler = StandardScaler().fit(X[:n_rows])
    model = IncrementalSVC(gamma=0.02).fit(scaler.transform(X[:n_rows]), y[:n_rows])
    display = CPathDisplay.from_estimator(
        model, 0.1, 100.0, X=scaler.transform(X[n_rows:]), y=y[n_rows:]
    )
    folder.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(folder / "choosing_c.png", dpi=85)
    return folder / "choosing_c.png"


if __name__ == "__main__":
    print(main())
