"""Fit machines of every kind; print how good they are, and draw some of them.

Run it with ``make pictures``; they go to the folder ``demo``.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import matplotlib
import moving_boundary
import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_moons,
)
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.bayes import TAN, NaiveBayes
from lindero.persist import load_libsvm, save_libsvm
from lindero.plot import BoundaryDisplay, SentenceDisplay
from lindero.svm import (
    SVC,
    SVR,
    ChainSVC,
    CostSensitiveSVC,
    IncrementalSVC,
    NuSVC,
    OneClassSVM,
    RankSVM,
    TransductiveSVC,
    costs_from_matrix,
)

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path("demo")

#: Words, parts of speech and chunks.
SENTENCES = """
The/DT/B-NP old/JJ/I-NP ferry/NN/I-NP left/VBD/B-VP the/DT/B-NP harbour/NN/I-NP at/IN/B-PP noon/NN/B-NP ././O
She/PRP/B-NP has/VBZ/B-VP never/RB/I-VP seen/VBN/I-VP the/DT/B-NP sea/NN/I-NP ././O
Three/CD/B-NP small/JJ/I-NP boats/NNS/I-NP waited/VBD/B-VP behind/IN/B-PP the/DT/B-NP wall/NN/I-NP ././O
The/DT/B-NP captain/NN/I-NP wants/VBZ/B-VP to/TO/I-VP sell/VB/I-VP his/PRP$/B-NP house/NN/I-NP ././O
Rain/NN/B-NP fell/VBD/B-VP on/IN/B-PP the/DT/B-NP empty/JJ/I-NP market/NN/I-NP square/NN/I-NP ././O
They/PRP/B-NP will/MD/B-VP open/VB/I-VP a/DT/B-NP new/JJ/I-NP school/NN/I-NP in/IN/B-PP May/NNP/B-NP ././O
Prices/NNS/B-NP of/IN/B-PP fresh/JJ/B-NP fish/NN/I-NP rose/VBD/B-VP again/RB/B-ADVP ././O
My/PRP$/B-NP brother/NN/I-NP often/RB/B-ADVP works/VBZ/B-VP at/IN/B-PP night/NN/B-NP ././O
He/PRP/B-NP was/VBD/B-VP told/VBN/I-VP to/TO/I-VP wait/VB/I-VP for/IN/B-PP the/DT/B-NP doctor/NN/I-NP ././O
The/DT/B-NP young/JJ/I-NP teacher/NN/I-NP will/MD/B-VP wait/VB/I-VP for/IN/B-PP the/DT/B-NP last/JJ/I-NP ferry/NN/I-NP in/IN/B-PP the/DT/B-NP rain/NN/I-NP and/CC/O sell/VB/B-VP fresh/JJ/B-NP fish/NN/I-NP at/IN/B-PP noon/NN/B-NP ././O
"""  # noqa: E501


def xor_machine() -> tuple[SVC, np.ndarray, np.ndarray]:
    """The four points of XOR, separated without error by a quadratic kernel."""
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    y = np.array([1, -1, -1, 1])
    return SVC(C=float("inf"), kernel="poly", degree=2, gamma=1, coef0=1).fit(X, y), X, y


def report(title: str, score: float, model: Any, measure: str = "accuracy") -> None:
    certificate = model.certificate_
    print(f"\n{title}")
    print(f"  {measure:<17} {score:.3f}")
    if hasattr(model, "support_"):
        free, bounded = len(model.free_support_), len(model.bounded_support_)
        print(f"  support vectors   {free} on the margin, {bounded} beyond it")
    print(f"  optimum between   {certificate.dual:.6g} and {certificate.primal:.6g}")
    if "KKT" in certificate.status:
        tol = f"  (tol {model.tol:.0e})" if hasattr(model, "tol") else ""
        print(f"  KKT gap           {certificate.kkt_gap:.1e}{tol}")
    print(f"  status            {certificate.status}")
    print(f"  time              {certificate.seconds:.3f} s, {certificate.n_iter} steps")


def held_out(
    title: str, model: Any, X: np.ndarray, y: np.ndarray, measure: str = "accuracy"
) -> None:
    """Fit on three quarters of the rows, report accuracy (or R²) on the rest."""
    split = train_test_split(X, y, random_state=0, stratify=y if measure == "accuracy" else None)
    pipeline = make_pipeline(StandardScaler(), model).fit(split[0], split[2])
    report(title, pipeline.score(split[1], split[3]), model, measure)


def ranked() -> None:
    """Documents of forty queries, put in order by a linear score."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(800, 10)), np.repeat(np.arange(40), 20)
    y = np.digitize(X @ rng.normal(size=10) + rng.normal(size=800), [-2, 0, 2])
    model = RankSVM().fit(X[:600], y[:600], qid=qid[:600])
    report(f"Ranking, linear kernel, {model.n_pairs_} pairs", model.score(X[600:], y[600:],
           qid=qid[600:]), model, "NDCG@10")  # fmt: skip


def told_from_a_table() -> None:
    """Text, numbers and gaps as they are; and why a row is what it is."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    size = np.where(X[:, 2] < 2.5, "short", np.where(X[:, 2] < 4.8, "middle", "long"))
    rows = [[word, *row[:2], row[3]] for word, row in zip(size, X.tolist(), strict=True)]
    for row in rows:
        row[rng.integers(0, 4)] = None  # one value of each row is missing
    names = load_iris().target_names[y]
    split = train_test_split(rows, names, random_state=0, stratify=y)
    print("\nBayesian classifiers on iris, petal length in words, a quarter of all values missing")
    for model in (NaiveBayes(), TAN()):
        score = model.fit(split[0], split[2]).score(split[1], split[3])
        print(f"  {type(model).__name__:<17} {score:.3f}")
    print(f"  why               {model.explain(split[1][:1]).sentence(0)}")


def learned_and_forgotten() -> None:
    """Samples one at a time; then one of them is forgotten, as if it had never been there."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = IncrementalSVC(C=1.0, gamma="auto").fit(X[:400], y[:400])
    for row in range(400, len(y)):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    report("Breast cancer, 169 samples learned one at a time", model.score(X, y), model)
    iterations = model.updates_["iterations"][400:]
    print(f"  iterations        {iterations.mean():.2f} an update, at most {iterations.max()}")
    wrong = (np.sign(model.leave_one_out()) > 0) != (y == model.classes_[1])
    print(f"  leave-one-out     {1 - wrong.mean():.3f}, exact")
    gone = int(model.sample_ids_[model.bounded_support_[0]])
    before, (row,) = model.decision_function(X), np.flatnonzero(model.sample_ids_ == gone)
    model.forget(gone)
    never = IncrementalSVC(C=1.0, gamma="auto").fit(np.delete(X, row, axis=0), np.delete(y, row))
    moved = np.abs(model.decision_function(X) - before).max()
    left = np.abs(model.decision_function(X) - never.decision_function(X)).max()
    print(f"  sample {gone} forgotten: decisions moved by up to {moved:.2f}, and differ from")
    print(f"                    those of a model that never saw it by {left:.0e}")


def draw_costs() -> Path:
    """Class weights and costs inside the margin, on classes that can be separated."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal([-2, 0], 0.8, (40, 2)), rng.normal([2, 0.5], 0.8, (40, 2))])
    y = np.repeat(["healthy", "ill"], 40)
    costs = costs_from_matrix([[0, 1], [16, 0]], classes=("healthy", "ill"))
    machines = [
        ("SVC, class weights 1 : 16", SVC(C=1e3, kernel="linear",
                                          class_weight={"healthy": 1, "ill": 16})),
        ("CostSensitiveSVC, costs 1 : 16", CostSensitiveSVC(C=1e3, kernel="linear",
                                                            **costs._asdict())),
    ]  # fmt: skip
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    for ax, (title, model) in zip(axes, machines, strict=True):
        BoundaryDisplay.from_estimator(model.fit(X, y), X, y, ax=ax)
        ax.set_title(title)
    path = FOLDER / "costs.png"
    figure.savefig(path, dpi=110)
    return path


def draw() -> Path:
    """Three boundaries side by side, with margins and support vectors."""
    X, y = load_iris(return_X_y=True)
    petals, later = X[y > 0][:, 2:], y[y > 0]
    machines = [
        ("XOR: hard margin, quadratic kernel", *xor_machine()),
        ("Iris: soft margin, linear", SVC(kernel="linear").fit(petals, later), petals, later),
        ("Iris: soft margin, Gaussian", SVC(gamma=2.0).fit(petals, later), petals, later),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    for ax, (title, model, points, labels) in zip(axes, machines, strict=True):
        BoundaryDisplay.from_estimator(model, points, labels, ax=ax)
        ax.set_title(title)
    for ax in axes[1:]:
        ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / "boundaries.png"
    figure.savefig(path, dpi=110)
    return path


def draw_family() -> Path:
    """A tube around a curve, and a region around a cloud."""
    rng = np.random.default_rng(1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.0), layout="constrained")
    x = np.sort(rng.uniform(0, 6, 60))
    y = np.sin(x) + 0.15 * rng.normal(size=60)
    model = SVR(C=10, gamma=0.5, epsilon=0.2).fit(x[:, None], y)
    BoundaryDisplay.from_estimator(model, x[:, None], y, ax=left)
    left.set_title("SVR: flat within a tube of half-width 0.2")
    cloud = np.vstack([rng.normal(0, 0.6, (150, 2)), rng.normal(2.5, 0.4, (80, 2))])
    BoundaryDisplay.from_estimator(OneClassSVM(nu=0.05, gamma=0.25).fit(cloud), cloud, ax=right)
    right.set_title("OneClassSVM: where the data are, at most 5 % outside")
    path = FOLDER / "family.png"
    figure.savefig(path, dpi=110)
    return path


def draw_sentence() -> Path:
    """The last sentence, in the chunks that a chain fitted to the others finds."""
    tokens = [
        [token.split("/") for token in line.split()] for line in SENTENCES.strip().splitlines()
    ]
    words = [[token[:2] for token in sentence] for sentence in tokens]
    labels = [[token[2] for token in sentence] for sentence in tokens]
    model = ChainSVC(C=1.0).fit(words[:-1], labels[:-1])
    figure, ax = plt.subplots(figsize=(9, 2.2), layout="constrained")
    SentenceDisplay.from_estimator(model, words[-1], labels[-1], ax=ax)
    path = FOLDER / "sentence.png"
    figure.savefig(path, dpi=130)
    return path


def draw_moons() -> Path:
    """Two moons with six labels: what they say alone, and with 194 rows without a label."""
    X, truth = make_moons(200, noise=0.08, random_state=0)
    y, rng = np.full(200, -1), np.random.default_rng(0)
    for label in (0, 1):
        y[rng.choice(np.flatnonzero(truth == label), 3, replace=False)] = label
    known = y >= 0
    after = TransductiveSVC(held_out_folds=0).fit(X, y)
    before = SVC(C=after.C, gamma=after.__lindero_kernel__().gamma).fit(X[known], y[known])
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    grid = np.stack(np.meshgrid(np.linspace(-1.5, 2.5, 240), np.linspace(-1, 1.5, 160)), axis=-1)
    for ax, model, title in (
        (axes[0], before, "SVC: six labels"),
        (axes[1], after, "TransductiveSVC: six labels, 194 rows without"),
    ):
        values = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        ax.contourf(grid[..., 0], grid[..., 1], values > 0, levels=[-0.5, 0.5, 1.5],
                    colors=["#4c78a8", "#e45756"], alpha=0.15)  # fmt: skip
        ax.contour(grid[..., 0], grid[..., 1], values, levels=[-1, 0, 1], colors="#222222",
                   linestyles=["dotted", "solid", "dotted"], linewidths=1.0)  # fmt: skip
        ax.plot(*X[~known].T, ".", color="#888888")
        for label, colour in ((0, "#4c78a8"), (1, "#e45756")):
            ax.plot(*X[y == label].T, "o", color=colour, markersize=9, markeredgecolor="#222222")
        wrong = 100 * np.mean(model.predict(X[~known]) != truth[~known])
        ax.set_title(f"{title}: {wrong:.0f} % wrong")
    path = FOLDER / "moons.png"
    figure.savefig(path, dpi=110)
    return path


def draw_gallery(folder: Path) -> None:
    """The pictures of all scripts in the folder gallery."""
    for script in sorted((Path(__file__).parent / "gallery").glob("*.py")):
        print(f"A picture of the gallery: {runpy.run_path(str(script))['main'](folder)}")
        plt.close("all")


def main() -> None:
    print("The first fit on a machine compiles inner loops, which takes some seconds.", flush=True)
    xor_machine()
    model, X, y = xor_machine()
    report("XOR, hard margin (C = infinity), quadratic kernel", model.score(X, y), model)
    held_out("Breast cancer, soft margin, linear kernel", SVC(kernel="linear"),
             *load_breast_cancer(return_X_y=True))  # fmt: skip
    held_out("Handwritten digits, ten classes, Gaussian kernel", SVC(),
             *load_digits(return_X_y=True))  # fmt: skip
    held_out("Breast cancer, at most a tenth inside the margin", NuSVC(nu=0.1),
             *load_breast_cancer(return_X_y=True))  # fmt: skip
    held_out("Diabetes progression, Gaussian regression", SVR(C=50, epsilon=10, gamma=0.02),
             *load_diabetes(return_X_y=True), measure="R²")  # fmt: skip
    ranked()
    learned_and_forgotten()
    told_from_a_table()
    moving = moving_boundary.main(FOLDER)
    print(f"\nA picture of three boundaries with margins and support vectors: {draw()}")
    print(f"A picture of a tube and a region: {draw_family()}")
    print(f"A picture of costs inside the margin: {draw_costs()}")
    print(f"A picture of a sentence in chunks: {draw_sentence()}")
    print(f"A picture of six labels and what lies between: {draw_moons()}")
    print(f"A picture of a boundary that moves: {moving}")
    draw_gallery(FOLDER / "gallery")
    save_libsvm(model, FOLDER / "xor.libsvm")
    same = (load_libsvm(FOLDER / "xor.libsvm").predict(X) == model.predict(X)).all()
    print(
        f"The XOR machine as a LIBSVM file: {FOLDER / 'xor.libsvm'} (reads back the same: {same})"
    )


if __name__ == "__main__":
    main()
