"""Draws docs/images/walks.png: which files one call enters, folder by folder.

python docs/draw_walks.py        # after a change of the layout; needs the plot extra
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "conventions"))

from layout import walk  # noqa: E402

WALKS = (
    "lindero compare",
    "SVC.fit",
    "IncrementalSVC.partial_fit",
    "AdaptiveSVC.fit",
    "TAN.fit",
    "TAN.predict_proba",
)

#: Folders from the top of the house to its ground, as the import contract has them.
FOLDERS = (
    "cli", "report", "evaluation", "persist", "data", "svm", "bayes", "lindero",
    "devices", "solvers", "models", "problems", "graphs", "kernels", "runtime",
)  # fmt: skip
ROW, GAP = 0.36, 0.3


def folder_of(file):
    parts = Path(file).parts
    return parts[0] if len(parts) > 1 else "lindero"


def main():
    walks = {name: walk(name) for name in WALKS}
    placed = {
        name: {folder: [] for folder in FOLDERS} for name in WALKS
    }  # number and file of each step
    for name, steps in walks.items():
        for number, (file, _) in enumerate(steps, 1):
            placed[name].setdefault(folder_of(file), []).append((number, file))
    used = [f for f in FOLDERS if any(placed[name][f] for name in WALKS)]
    heights = {f: max(len(placed[name][f]) for name in WALKS) * ROW + GAP for f in used}
    total = sum(heights.values())
    figure, axes = plt.subplots(figsize=(19, total * 0.72 + 1))
    axes.set_xlim(-0.62, len(WALKS))
    axes.set_ylim(total, -0.95)
    axes.axis("off")
    top = 0.0
    colours = plt.get_cmap("tab10").colors
    points = {name: {} for name in WALKS}
    for band, folder in enumerate(used):
        axes.axhspan(top, top + heights[folder], color="#f2f4f7" if band % 2 else "#e4e9f0", lw=0)
        middle = top + heights[folder] / 2
        axes.text(-0.58, middle, folder, va="center", fontsize=12, weight="bold", color="#334")
        for column, name in enumerate(WALKS):
            for k, (number, file) in enumerate(placed[name][folder]):
                y = top + GAP / 2 + (k + 0.5) * ROW
                points[name][number] = (column + 0.08, y)
                words = str(Path(file).with_suffix(""))
                words = words.split("/", 1)[-1]
                axes.text(column + 0.16, y, words, va="center", fontsize=9.5, color="#223")
        top += heights[folder]
    for column, name in enumerate(WALKS):
        steps = [points[name][number] for number in sorted(points[name])]
        axes.plot(*zip(*steps, strict=True), color=colours[column], lw=1, alpha=0.45, zorder=1)
        for number, (x, y) in sorted(points[name].items()):
            axes.plot(x, y, "o", ms=13, color=colours[column], zorder=2)
            axes.text(x, y, str(number), ha="center", va="center", color="white", fontsize=8)
        axes.text(
            column,
            -0.38,
            name.replace(".", "\n."),
            fontsize=12,
            weight="bold",
            color=colours[column],
        )
        axes.text(column, -0.12, f"{len(steps)} files", fontsize=10, color="#556")
    figure.savefig(ROOT / "docs" / "images" / "walks.png", dpi=80, bbox_inches="tight")


if __name__ == "__main__":
    main()
