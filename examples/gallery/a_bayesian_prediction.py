"""Why did the classifier say "malignant", and what does it look at in general?

A tree-augmented naive Bayes classifier says exactly what each column adds to the odds: for one
tumour as a waterfall, for all tumours as a line of dots for each column.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from lindero.bayes import TAN
from lindero.plot import ExplanationDisplay
from lindero.plot.style import load_pyplot


def main(folder: Path = Path("demo/gallery"), n_columns: int = 10) -> Path:
    """Draw the explanation of one tumour, and of all that were not learned."""
    held = load_breast_cancer()
    names = [str(name).removeprefix("mean ") for name in held.feature_names[:n_columns]]
    table = pd.DataFrame(held.data[:, :n_columns], columns=names)
    kind = np.where(held.target == 0, "malignant", "benign")
    X, new, y, truth = train_test_split(table, kind, random_state=0, stratify=kind)
    model = TAN(numeric="gaussian").fit(X, y)
    # The malignant tumour that the model is least sure of.
    chances = model.predict_proba(new)[:, 1]
    sought = (truth == "malignant") & (chances > 0.5)
    row = int(np.where(sought, chances, 2.0).argmin())
    figure, axes = load_pyplot().subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    display = ExplanationDisplay.from_estimator(model, new, row=row, ax=axes[0])
    display.plot(ax=axes[1])
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "a_bayesian_prediction.png", dpi=80)
    return folder / "a_bayesian_prediction.png"


if __name__ == "__main__":
    print(main())
