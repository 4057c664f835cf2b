"""Lectures on naive Bayes and support vector machines (Bravo, DCC, Universidad de Chile).

Bayes' theorem, the table of tax returns by hand, and the pictures of machines: margins, noise and
C, and the lift of a kernel. The slides' points are not listed: ours are of seeds, on the same axes.
A source is one file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.reproduce.cells import (
    Cell,
    Measured,
    PaperFigure,
    PaperPlan,
    PaperTable,
    Settings,
    Work,
)
from lindero.reproduce.figures import (
    COLOURS,
    DASHES,
    INK,
    MARKERS,
    MUTED,
    draw_line,
    draw_points,
    frame_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The grid that the slides call typical: C = 2⁻⁵, 2⁻³, …, 2¹⁵, and σ = 2⁻¹⁵, 2⁻¹³, …, 2³.
COSTS = [2.0**k for k in range(-5, 16, 2)]
WIDTHS = [2.0**k for k in range(-15, 4, 2)]


# -- what is measured ------------------------------------------------------------------------------


def infer_meningitis() -> Measured:
    """The probability of meningitis where a neck is stiff, of a million patients: one in 50 000 has
    it, half of these a stiff neck, as one in 20 of all."""
    from lindero.bayes import NaiveBayes

    ill, stiff, both = 1e6 / 50_000, 1e6 / 20, 0.5 * 1e6 / 50_000
    necks = [["stiff"], ["loose"], ["stiff"], ["loose"]]
    classes = ["meningitis", "meningitis", "other", "other"]
    weights = [both, ill - both, stiff - both, 1e6 - ill - stiff + both]
    model = NaiveBayes(alpha=0.0).fit(necks, classes, sample_weight=weights)
    return {"value": float(model.predict_proba([["stiff"]])[0, 0])}


def learn_returns(alpha: float) -> Measured:
    """What naive Bayes learns from the ten tax returns, with a pseudo-count."""
    import pyarrow as pa

    from lindero.bayes import NaiveBayes
    from lindero.data import load_tax_table

    data = load_tax_table()
    model = NaiveBayes(alpha=alpha).fit(data.X, data.y)
    status, refund = (
        model.network_.table(name, backend="pyarrow").to_pydict() for name in ("status", "refund")
    )
    honest, false = status["class"].index("No"), refund["class"].index("Yes")
    # The first column of a table may be the class, or a value of the same name.
    of_refund = refund.get("Yes", refund.get("Yes_"))
    alone = pa.table({"refund": pa.array([None], pa.string()),
                      "status": pa.array([None], pa.string()), "income": [130.0]})  # fmt: skip
    density = model.predict_joint_log_proba(alone)[0] - model.class_log_prior_
    return {
        "no": float(np.exp(model.class_log_prior_[0])),
        "yes": float(np.exp(model.class_log_prior_[1])),
        "married": float(status["Married"][honest]), "refund": float(of_refund[false]),
        "mean": float(model.theta_[0, 0]), "spread": float(model.scale_[0, 0]),
        "density": float(np.exp(density[0])),
    }  # fmt: skip


def compute_densities() -> Measured:
    """dnorm(130, 110, 54.5), and the formula as the slide prints it, √(2πσ) for √(2π)σ."""
    x, mean, spread = 130.0, 110.0, 54.5
    bell = float(np.exp(-((x - mean) ** 2) / (2 * spread**2)))
    return {"right": bell / (np.sqrt(2 * np.pi) * spread),
            "printed": bell / np.sqrt(2 * np.pi * spread)}  # fmt: skip


def make_separable(seed: int, noise: bool = False) -> tuple[Any, Any]:
    """Squares above circles; with noise, a circle Q and a square P close to the other class."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(26) % 2, -1, 1)
    X = random.uniform(-1, 1, size=(26, 2)) * [1.5, 0.9]
    X = X + np.where(y == 1, 1.0, -1.0)[:, None] * [1.0, 1.7] + 4.0
    if noise:
        X, y = np.vstack([X, [[6.2, 4.3], [1.8, 3.6]]]), np.append(y, [-1, 1])
    return X, y


def fit_margin(seed: int, noise: bool, C: float | None) -> Measured:
    """A linear machine; C of None is a hard margin. What the slides say of it, too."""
    from lindero.svm import SVC

    X, y = make_separable(seed, noise)
    exact: dict[str, Any] = {"C": np.inf, "tol": 1e-8} if C is None else {"C": C}
    model = SVC(kernel="linear", **exact).fit(X, y)
    w, b = model.coef_[0], float(model.intercept_[0])
    multipliers = np.zeros(len(y))
    multipliers[model.support_] = np.abs(model.dual_coef_[0])
    outputs = y * (X @ w + b)
    edges = [X[y == label][np.argmin(outputs[y == label])] for label in (1, -1)]
    judged = model.certify(X, y)
    return {
        "X": X.tolist(), "y": y.tolist(), "w": w.tolist(), "b": b, "C": C,
        "support": model.support_.tolist(), "n_vectors": len(model.support_),
        "width": 2.0 / float(np.linalg.norm(w)), "n_wrong": int((outputs < 0).sum()),
        "n_inside": int((outputs < 1 - 1e-6).sum()),
        "apart": abs(float(w @ (edges[0] - edges[1])) - 2.0),
        "sum": float(np.abs((multipliers * y) @ X - w).max()),
        "balance": abs(float(multipliers @ y)),
        "slack": float(np.abs(multipliers * (outputs - 1.0)).max()),
        "gap": judged.duality_gap,
    }  # fmt: skip


def try_kernels(seed: int) -> Measured:
    """Φ(u)·Φ(v) beside (u·v + 1)², and eigenvalues of kernels below zero."""
    X = np.random.default_rng(seed).normal(size=(40, 2))
    first, second = X.T
    root = np.sqrt(2.0)
    Phi = np.column_stack([first**2, second**2, root * first, root * second, root * first * second,
                           np.ones(40)])  # fmt: skip
    products = X @ X.T
    squares = np.diag(products)[:, None] + np.diag(products)[None, :] - 2 * products
    kernels = {"poly": (products + 1) ** 2, "gaussian": np.exp(-squares / 2),
               "sigmoid": np.tanh(products - 1.0)}  # fmt: skip
    found = {"apart": float(np.abs(Phi @ Phi.T - kernels["poly"]).max())}
    for name, K in kernels.items():
        values = np.linalg.eigvalsh(K)
        found[name] = int((values < -1e-9 * values.max()).sum())
    return found


def make_rings(seed: int, n: int = 120) -> tuple[Any, Any]:
    """Circles near the middle, squares around them."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, -1, 1)
    radius = np.where(y == 1, random.uniform(0.75, 1.2, n), random.uniform(0.0, 0.5, n))
    angle = random.uniform(0, 2 * np.pi, n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def lift_rings(seed: int) -> Measured:
    """Errors of a line among the points, and of a plane among the lifted ones."""
    from lindero.svm import SVC

    X, y = make_rings(seed)
    lifted = np.column_stack([X, (X**2).sum(axis=1)])
    flat = SVC(kernel="linear", C=1e3).fit(X, y)
    plane = SVC(kernel="linear", C=1e3).fit(lifted, y)
    return {
        "X": X.tolist(), "y": y.tolist(), "w": plane.coef_[0].tolist(),
        "b": float(plane.intercept_[0]), "flat": 100 * (1 - flat.score(X, y)),
        "lifted": 100 * (1 - plane.score(lifted, y)),
    }  # fmt: skip


def search_costs(seed: int, n: int) -> Measured:
    """Cross-validated accuracy over the grid of C and σ, on two moons."""
    from sklearn.datasets import make_moons

    from lindero.svm import SVCCV

    X, y = make_moons(n, noise=0.3, random_state=seed)
    gammas = [0.5 / width**2 for width in WIDTHS]
    model = SVCCV(Cs=COSTS, gammas=gammas, standardize=False).fit(X, y)
    held = model.cv_results_
    scores = np.asarray(held["mean_test_score"], dtype=np.float64)
    places = [[COSTS.index(float(C)), int(np.argmin(np.abs(np.array(gammas) - gamma)))]
              for C, gamma in zip(held["param_C"], held["param_gamma"], strict=True)]  # fmt: skip
    grid = np.full((len(COSTS), len(WIDTHS)), np.nan)
    for (i, j), score in zip(places, scores, strict=True):
        grid[i, j] = score
    return {"accuracy": grid.tolist(), "n_points": int(np.isfinite(grid).sum()),
            "best": float(np.nanmax(grid))}  # fmt: skip


# -- what is drawn ---------------------------------------------------------------------------------


def _draw_boundary(ax: Axes, found: Measured, name: str, place: int) -> None:
    """A boundary with its margins."""
    draw_line(ax, found["w"], found["b"], color=COLOURS[place], label=f"${name}$")
    for number, value in enumerate((1, -1), start=1):
        draw_line(ax, found["w"], found["b"], value, color=COLOURS[place], linewidth=0.9,
                   linestyle="--", label=f"${name[0]}_{{{name[2]}{number}}}$".lower())  # fmt: skip


def draw_choices(figure: Figure, measured: Sequence[Measured]) -> None:
    """One solution, others, and two with their margins."""
    found = measured[0]
    X, y = np.array(found["X"]), np.array(found["y"])
    w = np.array(found["w"])
    turned = np.array([w[0] * 0.12, w[1]])  # separates, too
    outputs = X @ turned
    ends = outputs[y == -1].max(), outputs[y == 1].min()
    middle, half = -0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0])
    other = {"w": (turned / half).tolist(), "b": middle / half}
    left, right = figure.subplots(1, 2)
    for share in np.linspace(0.0, 1.0, 6):
        direction = (1 - share) * w + share * turned
        along = X @ direction
        offset = -0.5 * (along[y == -1].max() + along[y == 1].min())
        draw_line(left, direction, offset, color=MUTED, linewidth=1.0)
    _draw_boundary(right, found, "B_1", 2)
    _draw_boundary(right, other, "B_2", 3)
    for ax, title in ((left, "infinitely many solutions"), (right, "which one is better?")):
        draw_points(ax, X, y, size=26)
        frame_points(ax, X, title)
    right.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def draw_margin(figure: Figure, measured: Sequence[Measured]) -> None:
    """The margin d = 2/‖w‖ between w·x + b = 1 and −1."""
    found = measured[0]
    X, y, w, b = np.array(found["X"]), np.array(found["y"]), np.array(found["w"]), found["b"]
    ax = figure.add_subplot()
    for value, text in ((0, r"$w \cdot x + b = 0$"), (1, r"$w \cdot x + b = 1$"),
                        (-1, r"$w \cdot x + b = -1$")):  # fmt: skip
        draw_line(ax, w, b, value, linestyle=DASHES[abs(value)], color=(INK, *COLOURS[2:4])[value],
                   label=text)  # fmt: skip
    draw_points(ax, X, y, size=26)
    vectors = X[found["support"]]
    ax.scatter(vectors[:, 0], vectors[:, 1], s=110, facecolors="none", edgecolors=INK, zorder=4,
               label="support vector")  # fmt: skip
    middle = X.mean(axis=0)
    middle = middle - (middle @ w + b) * w / (w @ w)
    ends = [middle + side * w / (w @ w) for side in (-1, 1)]
    ax.annotate("", ends[1], ends[0], arrowprops={"arrowstyle": "<->", "color": INK})
    ax.annotate(f"d = {found['width']:.2f}", middle, xytext=(8, 2), textcoords="offset points")
    frame_points(ax, X)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def draw_noise(figure: Figure, measured: Sequence[Measured]) -> None:
    """The soft margin B₁ and the hard one B₂ with two examples of noise."""
    soft, hard = measured
    X, y = np.array(soft["X"]), np.array(soft["y"])
    ax = figure.add_subplot()
    _draw_boundary(ax, soft, "B_1", 2)
    _draw_boundary(ax, hard, "B_2", 3)
    draw_points(ax, X, y, size=26)
    for name, place, shift in (("Q", X[-2], (7, 4)), ("P", X[-1], (-14, -10))):
        ax.annotate(name, place, xytext=shift, textcoords="offset points", fontweight="bold")
    frame_points(ax, X)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def draw_costs(figure: Figure, measured: Sequence[Measured]) -> None:
    """Width of the margin, examples within it and errors, against C."""
    ordered = sorted(measured, key=lambda one: float(one["C"]))
    costs = [one["C"] for one in ordered]
    left, right = figure.subplots(1, 2)
    left.plot(costs, [one["width"] for one in ordered], "o-", color=COLOURS[0], markersize=4)
    left.set(xscale="log", xlabel="C", ylabel="width of the margin, 2/‖w‖")
    for place, (key, name) in enumerate((("n_inside", "within the margin, or wrong"),
                                         ("n_vectors", "support vectors"),
                                         ("n_wrong", "on the wrong side"))):  # fmt: skip
        right.plot(costs, [one[key] for one in ordered], color=COLOURS[place],
                   linestyle=DASHES[place], marker=MARKERS[place], markersize=4,
                   label=name)  # fmt: skip
    right.set(xscale="log", xlabel="C", ylabel="examples of 28")
    right.set_ylim(bottom=0)
    right.legend(loc="upper right")


def draw_transformed(figure: Figure, measured: Sequence[Measured]) -> None:
    """Circles around a middle, and the same where a line separates them."""
    from lindero.svm import SVC

    random = np.random.default_rng(4)
    X = np.vstack([random.uniform(0, 1, size=(120, 2)), random.uniform(0.32, 0.68, size=(40, 2))])
    distance = np.linalg.norm(X - 0.5, axis=1)
    X, y = X[np.abs(distance - 0.2) > 0.02], np.where(distance > 0.2, 1, -1)
    y = y[np.abs(distance - 0.2) > 0.02]
    left, right = figure.subplots(1, 2)
    draw_points(left, X, y, size=14)
    angle = np.linspace(0, 2 * np.pi, 200)
    left.plot(0.5 + 0.2 * np.cos(angle), 0.5 + 0.2 * np.sin(angle), color=INK)
    left.set(xlim=(0, 1), ylim=(0, 1), xlabel="$x_1$", ylabel="$x_2$", aspect="equal",
             title="where they are")  # fmt: skip
    moved = X**2 - X
    plane = SVC(kernel="linear", C=1e5).fit(moved, y)
    draw_points(right, moved, y, size=14)
    draw_line(right, plane.coef_[0], float(plane.intercept_[0]))
    right.set(xlim=(-0.26, 0.01), ylim=(-0.26, 0.01), aspect="equal", title="transformed",
              xlabel="$x_1^2 - x_1$", ylabel="$x_2^2 - x_2$")  # fmt: skip


def draw_lift(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 5: points in the plane, and lifted by their distance."""
    X, y, lifted = _find_lifted(measured[0])
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")
    draw_points(left, X, y, size=12)
    left.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    _draw_in_space(right, lifted, y)


def draw_plane(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 6: a plane between the lifted points, and the curve that it is among the others."""
    found = measured[0]
    X, y, lifted = _find_lifted(found)
    w, b = found["w"], found["b"]
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    _draw_in_space(left, lifted, y)
    axis = np.linspace(-1.3, 1.3, 200)
    across, up = np.meshgrid(axis[::20], axis[::20])
    left.plot_surface(across, up, -(w[0] * across + w[1] * up + b) / w[2], color=COLOURS[2],
                      alpha=0.35)  # fmt: skip
    across, up = np.meshgrid(axis, axis)
    right.contour(axis, axis, w[0] * across + w[1] * up + w[2] * (across**2 + up**2) + b,
                  levels=[0], colors=COLOURS[2])  # fmt: skip
    draw_points(right, X, y, size=12)
    right.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")


def _find_lifted(found: Measured) -> tuple[Any, Any, Any]:
    X = np.array(found["X"])
    return X, np.array(found["y"]), np.column_stack([X, (X**2).sum(axis=1)])


def _draw_in_space(ax: Any, points: Any, y: Any) -> None:
    for place, label in enumerate((-1, 1)):
        mine = points[y == label]
        ax.scatter(mine[:, 0], mine[:, 1], mine[:, 2], color=COLOURS[place],
                   marker=MARKERS[place], s=10, depthshade=False)  # fmt: skip
    ax.set(xlabel="$x_1$", ylabel="$x_2$", title="height: $x_1^2 + x_2^2$", xlim=(-1.3, 1.3),
           ylim=(-1.3, 1.3), zlim=(0, 1.5), xticks=(-1, 0, 1), yticks=(-1, 0, 1),
           zticks=(0, 0.5, 1, 1.5))  # fmt: skip
    ax.view_init(18, -60)
    ax.set_box_aspect(None, zoom=0.85)  # room for the numbers


def draw_search(figure: Figure, measured: Sequence[Measured]) -> None:
    """Cross-validated accuracy over C and σ."""
    accuracy = np.array(measured[0]["accuracy"])
    ax = figure.add_subplot()
    shown = ax.pcolormesh(np.log2(WIDTHS), np.log2(COSTS), accuracy, cmap="cividis",
                          shading="nearest", rasterized=True)  # fmt: skip
    best = np.unravel_index(int(np.nanargmax(accuracy)), accuracy.shape)
    ax.plot(np.log2(WIDTHS)[best[1]], np.log2(COSTS)[best[0]], "s", color="white",
            fillstyle="none", markersize=12)  # fmt: skip
    ax.set(xlabel=r"$\log_2 \sigma$", ylabel=r"$\log_2 C$", xticks=np.log2(WIDTHS),
           yticks=np.log2(COSTS))  # fmt: skip
    figure.colorbar(shown, ax=ax, label="accuracy in cross-validation")


# -- what the slides have --------------------------------------------------------------------------


def plan(settings: Settings) -> PaperPlan:
    """The tables and figures of the slides."""
    clean = Work(fit_margin, {"seed": 1, "noise": False, "C": None}, 0.1)
    hard = Work(fit_margin, {"seed": 1, "noise": True, "C": None}, 0.1)
    soft = Work(fit_margin, {"seed": 1, "noise": True, "C": 0.125}, 0.1)
    sweep = [Work(fit_margin, {"seed": 1, "noise": True, "C": C}, 0.05) for C in COSTS]
    rings = Work(lift_rings, {"seed": 0}, 0.1)
    search = Work(search_costs, {"seed": 0, "n": settings.choose(full=400, quick=120)}, 2.0)
    own = " The slides do not list their points; these are ours, of a seed."
    return PaperPlan(
        "lectures",
        "Lectures on naive Bayes and support vector machines",
        "F. Bravo: Clasificación II, Naive Bayes y Support Vector Machines. Departamento de "
        "Ciencias de la Computación, Universidad de Chile.",
        [
            plan_bayes(),
            plan_returns(),
            PaperFigure("lectures-choices", "Slides: which boundary?",
                        "Some of the boundaries that separate, and two with their margins: B₁, "
                        "with the widest, is the better one." + own, [clean], draw_choices,
                        (8.4, 3.6)),
            PaperFigure("lectures-margin", "Slides: the margin of a linear classifier",
                        "The margin d = 2/‖w‖ is the distance between w·x + b = 1 and "
                        "w·x + b = −1.", [clean], draw_margin, (6.2, 3.8)),
            plan_machines(settings),
            PaperFigure("lectures-noise", "Slides: the soft margin",
                        "With a circle Q and a square P of noise: B₁ (C = 1/8) takes them for "
                        "noise, B₂ (hard margin) separates them, with a narrower margin." + own,
                        [soft, hard], draw_noise, (6.2, 3.8)),
            plan_costs(sweep, hard),
            PaperFigure("lectures-costs", "Slides: what C does",
                        "The same examples for each C of the slides' grid: the larger C, the "
                        "narrower the margin and the fewer the errors.", sweep, draw_costs,
                        (7.6, 3.2)),
            PaperFigure("lectures-transformed", "Slides: machines that are not linear",
                        "Circles around the middle and squares around them; in the space of "
                        "x₁² − x₁ and x₂² − x₂, which are features of the slides' Φ, a line "
                        "separates them." + own, [], draw_transformed, (7.4, 3.7)),
            PaperFigure("lectures-5-lift", "Figure 5: lifted into space",
                        "Left: points that no line separates. Right: the same as "
                        "[x₁, x₂, x₁² + x₂²]." + own, [rings], draw_lift, (7.4, 3.7)),
            PaperFigure("lectures-6-plane", "Figure 6: the plane, and what it is below",
                        "Left: the boundary is a plane in space. Right: the same boundary among "
                        "the points themselves.", [rings], draw_plane, (7.4, 3.7)),
            plan_kernels(settings, rings, search),
            PaperFigure("lectures-search", "Slides: a search over C and σ",
                        "The grid that the slides call typical, on two moons: five-fold "
                        "cross-validation, the best point in the square.", [search], draw_search,
                        (5.2, 3.8)),
        ],
    )  # fmt: skip


def plan_bayes() -> PaperTable:
    """Bayes' theorem."""
    return PaperTable(
        "Bayes' theorem",
        "A stiff neck is seen in half of all cases of meningitis, which 1 in 50 000 patients has, "
        "and in 1 of 20 patients.",
        [Cell("P(meningitis | stiff neck)", "probability", [Work(infer_meningitis, {}, 0.1)],
              published=0.0002, digits=4, rule="exact",
              remark="`NaiveBayes` on a million patients, by weight.")],
    )  # fmt: skip


def plan_returns() -> PaperTable:
    """The ten tax returns."""
    plain = [Work(learn_returns, {"alpha": 0.0}, 0.1)]
    laplace = [Work(learn_returns, {"alpha": 1.0}, 0.1)]
    density = [Work(compute_densities, {}, 0.01)]

    def number(row: str, column: str, works: Sequence[Work], value: str, published: float | None,
               shown: str, digits: int, remark: str = "") -> Cell:  # fmt: skip
        return Cell(row, column, works, value, published, digits=digits, rule="exact", shown=shown,
                    remark=remark)  # fmt: skip

    return PaperTable(
        "The table of tax returns",
        "Ten returns, three of them false (Evade = Yes), which `lindero.data.load_tax_table()` "
        "has; naive Bayes with categories and a Gaussian income.",
        [
            number("P(No)", "share", plain, "no", 0.7, "7/10", 6),
            number("P(Yes)", "share", plain, "yes", 0.3, "3/10", 6),
            number("P(Married | No)", "share", plain, "married", 4 / 7, "4/7", 6),
            number("P(Refund = Yes | Yes)", "share", plain, "refund", 0.0, "0", 6),
            number("P(Married | No)", "Laplace", laplace, "married", 0.5, "(4+1)/(7+3)", 6),
            number("income | No", "mean", plain, "mean", 110.0, "110", 1),
            number("income | No", "sd", plain, "spread", 54.5, "54.5", 1),
            number("dnorm(130, 110, 54.5)", "density", density, "right", 0.006843379,
                   "0.006843379", 9),
            number("P(130 | No)", "density", plain, "density", 0.00684, "0.00684", 5,
                   "The model does not round the deviation to 54.5."),
            number("dnorm(130, 110, 54.5)", "formula as printed", density, "printed", None, "", 5,
                   "The slide prints √(2πσ) for √(2π)σ in the formula; its number is that of the "
                   "right one."),
        ],
    )  # fmt: skip


def _vanish(works: Sequence[Work], row: str, value: str) -> Cell:
    """A difference that the slides say is nothing."""
    return Cell(row, "largest difference", works, value, 0.0, digits=6, rule="exact", shown="0")


def plan_machines(settings: Settings) -> PaperTable:
    """What the slides say of a linear machine."""
    works = [
        Work(fit_margin, {"seed": 1 + seed, "noise": False, "C": None}, 0.1)
        for seed in settings.seeds(full=5, quick=2)
    ]
    return PaperTable(
        "What the slides say of a linear machine",
        "26 separable examples for each seed, hard margin.",
        [
            _vanish(works, "w·(x₁ − x₂) = 2 for the nearest of each class", "apart"),
            _vanish(works, "w = Σ λᵢyᵢxᵢ", "sum"),
            _vanish(works, "Σ λᵢyᵢ = 0", "balance"),
            _vanish(works, "λᵢ[yᵢ(w·xᵢ + b) − 1] = 0", "slack"),
            _vanish(works, "the primal and dual problem have the same optimum", "gap"),
        ],
    )


def plan_costs(sweep: Sequence[Work], hard: Work) -> PaperTable:
    """The soft margin over C."""
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    names = [f"C = 2{str(k).translate(raised)}" for k in range(-5, 16, 2)]
    runs = [*zip(names, sweep, strict=True), ("hard margin", hard)]
    cells = [Cell("width of the margin, 2/‖w‖", name, [work], "width") for name, work in runs]
    cells += [Cell("wrong of 28", name, [work], "n_wrong", digits=0) for name, work in runs]
    return PaperTable(
        "Beside the slides: the soft margin over C",
        "The examples of the picture above, P and Q among them.",
        cells,
        "A hard margin on examples with noise is narrow; a soft one with a small C is wide, and "
        "gets P and Q wrong, which is what the slides recommend.",
    )


def plan_kernels(settings: Settings, rings: Work, search: Work) -> PaperTable:
    """What the slides say of kernels."""
    works = [Work(try_kernels, {"seed": seed}, 0.05) for seed in settings.seeds(full=5, quick=2)]

    def count(name: str, value: str, why: str = "") -> Cell:
        return Cell(name, "negative eigenvalues", works, value, 0.0, digits=0, rule="exact",
                    shown="none", why=why)  # fmt: skip

    return PaperTable(
        "What the slides say of kernels",
        "Products in the space of Φ, Mercer's condition on 40 random points, and the lift of the "
        "rings above.",
        [
            _vanish(works, "Φ(u)·Φ(v) = (u·v + 1)²", "apart"),
            count("(x·y + 1)²", "poly"),
            count("Gaussian", "gaussian"),
            count("tanh(x·y − 1)", "sigmoid",
                  "The slides list the sigmoid among kernels that are known to meet Mercer's "
                  "condition; it does not in general."),
            Cell("rings", "errors of a line", [rings], "flat", digits=1, unit=" %"),
            Cell("rings, lifted", "errors of a plane", [rings], "lifted", 0.0, digits=1,
                 rule="exact", unit=" %", shown="none"),
            Cell("grid of C and σ", "points", [search], "n_points", 110, digits=0, rule="exact",
                 shown="11 × 10"),
            Cell("grid of C and σ", "best accuracy", [search], "best", digits=3),
        ],
    )  # fmt: skip
