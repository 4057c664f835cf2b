"""A sensor loses its calibration, and somebody replaces it: weights, offset and drift over time.

The picture is made for dark slides.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lindero.plot import PathDisplay
from lindero.svm import AdaptiveSVR

DAYS, REPLACED = 360, 240


def main(folder: Path = Path("demo/gallery"), n_days: int = DAYS) -> Path:
    """Fit readings of three sensors to what was measured in the laboratory, and draw the path."""
    rng = np.random.default_rng(0)
    readings = rng.normal(size=(n_days, 3))
    day = np.arange(n_days)
    replaced = REPLACED * n_days // DAYS
    # The first one fades until it is replaced; the second is steady; the third says nothing.
    fading = np.where(day < replaced, 2.0 - 1.5 * day / replaced, 2.0)
    truth = fading * readings[:, 0] - 1.0 * readings[:, 1] + 0.1 * rng.normal(size=n_days)
    dates = np.datetime64("2025-01-01") + day
    model = AdaptiveSVR(coupling=1e3, epsilon=0.05).fit(readings, truth, times=dates)
    display = PathDisplay.from_estimator(
        model, names=["temperature", "pressure", "humidity"], theme="dark"
    )
    folder.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(folder / "a_sensor_that_drifts.png", dpi=85)
    return folder / "a_sensor_that_drifts.png"


if __name__ == "__main__":
    print(main())
