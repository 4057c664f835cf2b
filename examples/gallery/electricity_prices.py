"""Do electricity prices go up or down next? Rules that held in spring do not hold in autumn.

An adaptive machine, which forgets as fast as the market changes, beside a naive Bayes classifier
that forgets nothing; half a day is predicted at a time. Half hours of New South Wales (the file
stream_elec2.csv.gz in the folder LINDERO_DATA); without the file a stream of the same shape is
generated, and the picture says so.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from lindero.bayes import NaiveBayes
from lindero.data import load
from lindero.evaluation import prequential
from lindero.plot import PrequentialDisplay, StreamDisplay
from lindero.plot.style import load_pyplot
from lindero.svm import AdaptiveSVC

FILE = "stream_elec2.csv.gz"


def read_prices(n_rows: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Demand, the neighbour's prices and the time of day; whether the price rose; the source."""
    path = Path(os.environ.get("LINDERO_DATA", "")) / FILE
    if path.is_file():
        data = load(path)
        columns = ["period", "nswdemand", "vicprice", "vicdemand", "transfer"]
        X = np.column_stack([data.X[name].to_numpy() for name in columns])[:n_rows]
        y = np.where(np.asarray(data.y[:n_rows]) == 1, "down", "up")
        return X.astype(float), y, "Electricity prices in New South Wales"
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 5))
    season = np.repeat(np.arange(4), -(-n_rows // 4))[:n_rows]
    sign = np.where(season % 2, -1.0, 1.0)
    score = sign * (X[:, 1] - 0.5) + 0.5 * (X[:, 2] - 0.5) + 0.15 * rng.normal(size=n_rows)
    return X, np.where(score > 0, "up", "down"), f"Generated prices ({FILE} is not here)"


def main(folder: Path = Path("demo/gallery"), n_rows: int = 12_000) -> Path:
    """Draw the errors of both, and how many rows matter to the adaptive machine."""
    X, y, source = read_prices(n_rows)
    batch = {"batch_size": 24, "warm_up": 240, "window": 1000, "probabilities": False}
    adaptive = prequential(AdaptiveSVC(), X, y, **batch)
    results = {
        f"{name}: {100 * (1 - result.accuracy):.1f} % in all": result
        for name, result in (
            ("AdaptiveSVC", adaptive),
            ("NaiveBayes", prequential(NaiveBayes(), X, y, **batch)),
        )
    }
    figure, axes = load_pyplot().subplots(3, 1, figsize=(7.2, 6.4), layout="constrained")
    PrequentialDisplay.from_result(results, ax=axes[0])
    StreamDisplay.from_estimator(adaptive.model, axes=axes[1:])
    figure.suptitle(source, fontsize=11)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "electricity_prices.png", dpi=90)
    return folder / "electricity_prices.png"


if __name__ == "__main__":
    print(main())
