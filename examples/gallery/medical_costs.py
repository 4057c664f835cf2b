"""One tumour in ten is malignant, and missing it costs twenty times as much as a false alarm.

Costs inside the margin, costs as weights of classes, and no costs at all, judged on tumours that
none of the machines has seen: for every ratio of costs, not for one alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.plot import CostDisplay
from lindero.plot.style import load_pyplot
from lindero.svm import SVC, CostSensitiveSVC, costs_from_matrix

MISSED, FALSE_ALARM = 20.0, 1.0


def main(folder: Path = Path("demo/gallery"), n_columns: int = 10) -> Path:
    """Draw the cost curves of three machines."""
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(y == 0, "malignant", "benign")
    rng = np.random.default_rng(0)
    # Of the malignant ones as many as make a tenth.
    kept = rng.choice(np.flatnonzero(y == "malignant"), 40, replace=False)
    rows = np.concatenate([np.flatnonzero(y == "benign"), kept])
    split = train_test_split(
        X[rows][:, :n_columns], y[rows], test_size=0.5, stratify=y[rows], random_state=0
    )
    costs = {("malignant", "benign"): MISSED, ("benign", "malignant"): FALSE_ALARM}
    inside = costs_from_matrix([[0, FALSE_ALARM], [MISSED, 0]], classes=("benign", "malignant"))
    machines = {
        "costs inside the margin": CostSensitiveSVC(C=1.0, **inside._asdict()),
        "costs as class weights": SVC(class_weight={"malignant": MISSED, "benign": FALSE_ALARM}),
        "no costs": SVC(),
    }
    figure, ax = load_pyplot().subplots(figsize=(6.6, 5.2), layout="constrained")
    for name, machine in machines.items():
        model = make_pipeline(StandardScaler(), machine).fit(split[0], split[2])
        CostDisplay.from_estimator(model, split[1], split[3], costs=costs, name=name, ax=ax)
    ax.set_title("Tumours that were not learned", fontsize=10)
    ax.set_ylim(0.0, 0.4)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "medical_costs.png", dpi=90)
    return folder / "medical_costs.png"


if __name__ == "__main__":
    print(main())
