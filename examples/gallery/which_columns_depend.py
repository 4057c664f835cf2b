"""Which measurements of a tumour depend on which, once the diagnosis is known?

The tree that a tree-augmented naive Bayes classifier has found. Arcs are as thick as what they
tell, bars say what the diagnosis tells of each column, and one table is written out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from lindero.bayes import TAN
from lindero.plot import NetworkDisplay
from lindero.plot.style import load_pyplot


def main(folder: Path = Path("demo/gallery"), n_columns: int = 10) -> Path:
    """Draw the network of ten columns."""
    held = load_breast_cancer()
    names = [str(name).removeprefix("mean ") for name in held.feature_names[:n_columns]]
    table = pd.DataFrame(held.data[:, :n_columns], columns=names)
    model = TAN().fit(table, np.where(held.target == 0, "malignant", "benign"))
    figure, ax = load_pyplot().subplots(figsize=(7.4, 6.2), layout="constrained")
    NetworkDisplay.from_estimator(model, tables=["area"], ax=ax)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "which_columns_depend.png", dpi=80)
    return folder / "which_columns_depend.png"


if __name__ == "__main__":
    print(main())
