"""Two clouds circle around each other: the boundary at five instants, and as a film.

One line for all rows would be wrong nearly always; the adaptive machine has a line for each row.
"""

from __future__ import annotations

from pathlib import Path

from lindero.data import make_rotating
from lindero.plot import EvolutionDisplay
from lindero.svm import AdaptiveSVC


def main(folder: Path = Path("demo/gallery"), n_rows: int = 500, frames: int = 40) -> Path:
    """Draw the instants, and write the film beside them."""
    X, y = make_rotating(n_rows, noise=0.3, random_state=0)
    model = AdaptiveSVC(coupling=1e5).fit(X, y)
    display = EvolutionDisplay.from_estimator(model, X, y, instants=5)
    folder.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(folder / "a_boundary_that_turns.png", dpi=80)
    if frames:
        display.animate(folder / "a_boundary_that_turns.gif", frames=frames, dpi=70)
    return folder / "a_boundary_that_turns.png"


if __name__ == "__main__":
    print(main())
