"""A tutorial on support vector machines (Carmona, UNED, 2016): XOR by hand, and figures 1 to 9.

The tutorial's drawings have points that it does not list: ours are of seeds, on the same axes. What
its text says of solutions (which coefficients are zero, which are at their bound, where C leads) is
counted on data, too. A source is one file.
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
    GRID,
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

_ROOT = float(np.sqrt(2.0))
_QUADRATIC: dict[str, Any] = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}

#: φ₁ to φ₆ of the four examples, as the tutorial lists them, and as it writes them.
_TRANSFORMED = (
    (1, _ROOT, _ROOT, _ROOT, 1, 1),
    (1, -_ROOT, _ROOT, -_ROOT, 1, 1),
    (1, -_ROOT, -_ROOT, _ROOT, 1, 1),
    (1, _ROOT, -_ROOT, -_ROOT, 1, 1),
)
_WRITTEN = {1: "1", _ROOT: "√2", -_ROOT: "−√2", -1: "−1", 0: "0", 1 / _ROOT: "1/√2"}

#: Relative to C, or to the margin: less than this is nothing.
_LITTLE = 1e-6


# -- what is measured ------------------------------------------------------------------------------


def solve_xor() -> Measured:
    """The four examples with (⟨x, x'⟩ + 1)² and a hard margin."""
    from lindero.data import make_xor
    from lindero.svm import SVC

    X, y = make_xor()
    model = SVC(C=np.inf, **_QUADRATIC).fit(X, y)
    alpha = np.zeros(4)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    w = (alpha * y) @ transform_quadratic(X)
    grid = np.stack(np.meshgrid(np.linspace(-2, 2, 41), np.linspace(-2, 2, 41)), axis=-1)
    points = grid.reshape(-1, 2)
    apart = np.abs(model.decision_function(points) - points[:, 0] * points[:, 1])
    return {
        "X": X.tolist(), "y": y.tolist(), "phi": transform_quadratic(X).tolist(),
        "n_vectors": len(model.support_), "margin": 1.0 / float(np.linalg.norm(w)),
        "apart": float(apart.max()), "gap": model.certify(X, y).duality_gap,
        **{f"alpha{i}": alpha[i] for i in range(4)},
        **{f"w{j}": w[j] for j in range(6)},
        **{f"D{i}": value for i, value in enumerate(model.decision_function(X))},
        **{f"phi{i}{j}": value for i, row in enumerate(transform_quadratic(X))
           for j, value in enumerate(row)},
    }  # fmt: skip


def transform_quadratic(X: Any) -> Any:
    """φ₁ to φ₆, whose products are (⟨x, x'⟩ + 1)²."""
    first, second = np.asarray(X, dtype=np.float64).T
    one = np.ones_like(first)
    return np.column_stack([one, _ROOT * first, _ROOT * second, _ROOT * first * second,
                            first**2, second**2])  # fmt: skip


def count_dimensions(seed: int) -> Measured:
    """How many dimensions points have in the space of a kernel: the rank of its matrix."""
    from sklearn.metrics.pairwise import polynomial_kernel

    X = np.random.default_rng(seed).uniform(-1, 1, size=(60, 2))
    found = {
        f"rank{degree}": int(np.linalg.matrix_rank(
            polynomial_kernel(X, degree=degree, gamma=1.0, coef0=1.0), tol=1e-9
        ))
        for degree in (2, 3)
    }  # fmt: skip
    products = transform_quadratic(X) @ transform_quadratic(X).T
    return {**found, "apart": float(np.abs(products - (X @ X.T + 1) ** 2).max())}


def make_clouds(seed: int = 3, n: int = 24, apart: float = 1.9) -> tuple[Any, Any]:
    """Two clouds on either side of a line."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, -1, 1)
    X = random.normal(size=(n, 2)) * 0.75 + 3.0 + 0.5 * apart * y[:, None] * np.array([0.8, 0.7])
    return X, y


def solve_separable(seed: int) -> Measured:
    """The optimal hyperplane of separable classes, and what the text says of it."""
    from lindero.svm import SVC

    X, y = make_clouds(seed, apart=3.6)
    model = SVC(kernel="linear", C=np.inf, tol=1e-12).fit(X, y)
    w, b = model.coef_[0], float(model.intercept_[0])
    distances = y * (X @ w + b) / np.linalg.norm(w)
    nearest = [float(distances[y == label].min()) for label in (1, -1)]
    soft = SVC(kernel="linear", C=1e9).fit(X, y)
    of_others = np.delete(np.arange(len(y)), model.support_)
    few = SVC(kernel="linear", C=np.inf, tol=1e-12).fit(X[model.support_], y[model.support_])
    judged = model.certify(X, y)
    return {
        "X": X.tolist(), "y": y.tolist(), "w": w.tolist(), "b": b,
        "support": model.support_.tolist(),
        "times_norm": min(nearest) * float(np.linalg.norm(w)),
        "sides": abs(nearest[0] - nearest[1]),
        "inside": int((distances < (1 - _LITTLE) * min(nearest)).sum()),
        "off_margin": int((distances[model.support_] > (1 + _LITTLE) * min(nearest)).sum()),
        "others": float(np.abs(few.coef_[0] - w).max()) if len(of_others) else 0.0,
        "limit": float(np.abs(soft.coef_[0] - w).max()),
        "gap": judged.duality_gap,
    }  # fmt: skip


def solve_soft(seed: int, n: int, C: float) -> Measured:
    """A soft margin on overlapping classes, and examples that contradict the text."""
    from lindero.svm import SVC

    X, y = make_clouds(seed, n, apart=1.7)
    model = SVC(kernel="linear", C=C).fit(X, y)
    alpha = np.zeros(n)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    outputs = y * model.decision_function(X)
    slack = np.maximum(0.0, 1.0 - outputs)
    none, bound = alpha <= _LITTLE * C, alpha >= (1 - _LITTLE) * C
    free = ~none & ~bound
    wrong = outputs < 0
    tiny = SVC(kernel="linear", C=1e-9).fit(X, y)
    return {
        "X": X.tolist(), "y": y.tolist(), "w": model.coef_[0].tolist(),
        "b": float(model.intercept_[0]), "slack": slack.tolist(),
        "none_slack": int((slack[none] > 1e-5).sum()),
        "slack_unbound": int((~bound[slack > 1e-5]).sum()),
        "free_off": int((np.abs(outputs[free] - 1.0) > 1e-5).sum()),
        "right_above_one": int((slack[~wrong] > 1.0 + 1e-12).sum()),
        "wrong_below_one": int((slack[wrong] < 1.0).sum()),
        "balance": abs(float(alpha @ y)),
        "errors_below_slack": int(wrong.sum() > slack.sum()),
        "tiny": float(np.maximum(0.0, 1.0 - y * tiny.decision_function(X)).max()),
    }  # fmt: skip


def solve_tube(seed: int, n: int, epsilon: float, kernel: str = "linear") -> Measured:
    """A tube around a line, and examples that contradict the text."""
    from lindero.svm import SVR

    random = np.random.default_rng(seed)
    x = np.sort(random.uniform(0, 6, size=n))
    noise = 0.35 * random.normal(size=n)
    y = 0.5 * x + 1.0 + noise if kernel == "linear" else np.sin(1.4 * x) + 0.4 * x + noise
    C = 1.0 if kernel == "linear" else 10.0
    model = SVR(kernel=kernel, C=C, epsilon=epsilon).fit(x[:, None], y)
    beta = np.zeros(n)  # α⁻ − α⁺
    beta[model.support_] = model.dual_coef_[0]
    errors = y - model.predict(x[:, None])
    none, bound = np.abs(beta) <= _LITTLE * C, np.abs(beta) >= (1 - _LITTLE) * C
    apart = np.abs(errors) - epsilon
    line = np.linspace(0, 6, 200)
    return {
        "x": x.tolist(), "y": y.tolist(), "line": line.tolist(), "epsilon": epsilon,
        "f": model.predict(line[:, None]).tolist(), "errors": errors.tolist(),
        "free": np.flatnonzero(~none & ~bound).tolist(), "bound": np.flatnonzero(bound).tolist(),
        "inside_active": int((~none[apart < -1e-5]).sum()),
        "outside_unbound": int((~bound[apart > 1e-5]).sum()),
        "free_off": int((np.abs(apart[~none & ~bound]) > 1e-5).sum()),
        "wrong_sign": int((beta[~none] * errors[~none] < 0).sum()),
        "balance": abs(float(beta.sum())),
        "n_vectors": int((~none).sum()),
    }  # fmt: skip


# -- what is drawn ---------------------------------------------------------------------------------


def _tell(ax: Axes, text: str, place: Any, shift: tuple[float, float] = (6, 6)) -> None:
    box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8}
    ax.annotate(text, place, xytext=shift, textcoords="offset points", zorder=6, bbox=box)


def draw_separating(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 1: a hyperplane that separates, and others of the many that do."""
    found = measured[0]
    X, y = np.array(found["X"]), np.array(found["y"])
    left, right = figure.subplots(1, 2)
    w, b = np.array(found["w"]), found["b"]
    others = _find_separating(X, y, w, b)
    draw_line(left, *max(others, key=lambda plane: np.abs(X @ plane[0] + plane[1]).min()))
    right_labels = {0: "others that separate"}
    for place, (direction, offset) in enumerate(others):
        draw_line(right, direction, offset, color=MUTED, linewidth=1.0,
                   label=right_labels.get(place))  # fmt: skip
    for ax, title in ((left, "(a) a separating hyperplane"), (right, "(b) others")):
        draw_points(ax, X, y, size=28)
        frame_points(ax, X, title)
    _tell(left, "$D(x) > 0$", X[y == 1].max(axis=0) - [0.9, 0.1], (0, 6))
    _tell(left, "$D(x) < 0$", X[y == -1].min(axis=0), (0, -14))
    right.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _find_separating(X: Any, y: Any, w: Any, b: float) -> list[tuple[Any, float]]:
    """Hyperplanes that separate the classes: the optimal one, turned and moved, where it may be."""
    random = np.random.default_rng(1)
    found: list[tuple[Any, float]] = []
    while len(found) < 7:
        turn = random.uniform(-0.7, 0.7)
        c, s = np.cos(turn), np.sin(turn)
        direction = np.array([c * w[0] - s * w[1], s * w[0] + c * w[1]])
        outputs = X @ direction
        gap = outputs[y == -1].max(), outputs[y == 1].min()
        if gap[1] > gap[0]:
            found.append((direction, -float(random.uniform(*gap))))
    return found


def draw_margins(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 2: the margin of some hyperplane, and the largest one."""
    found = measured[0]
    X, y = np.array(found["X"]), np.array(found["y"])
    w, b = np.array(found["w"]), found["b"]
    other = _find_separating(X, y, w, b)[3]
    left, right = figure.subplots(1, 2)
    for ax, (v, c), title, name in (
        (left, other, "(a) not optimal", r"$\tau$"),
        (right, (w, b), "(b) optimal", r"$\tau_{max}$"),
    ):
        reach = float(np.abs(X @ v + c).min())
        draw_line(ax, v, c)
        for side in (-reach, reach):
            draw_line(ax, v, c, side, linestyle="--", linewidth=1.0)
        foot = X.mean(axis=0) - (X.mean(axis=0) @ v + c) * v / (v @ v)
        tip = foot + reach * v / (v @ v)
        bar = {"arrowstyle": "|-|,widthA=0.25,widthB=0.25", "color": COLOURS[2], "shrinkA": 0,
               "shrinkB": 0, "linewidth": 1.5}  # fmt: skip
        ax.annotate("", tip, foot, arrowprops=bar, zorder=5)
        draw_points(ax, X, y, size=28)
        frame_points(ax, X, f"{title}: {name} = {reach / np.linalg.norm(v):.2f}")


def draw_distances(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 3: distances to the optimal hyperplane; support vectors have 1/‖w‖."""
    found = measured[0]
    X, y = np.array(found["X"]), np.array(found["y"])
    w, b = np.array(found["w"]), found["b"]
    ax = figure.add_subplot()
    for value, name in ((0, "$D(x) = 0$"), (1, "$D(x) = +1$"), (-1, "$D(x) = −1$")):
        draw_line(ax, w, b, value, linestyle="--" if value else "-",
                   linewidth=1.0 if value else 1.6)  # fmt: skip
        end = X.mean(axis=0) + 2.4 * np.array([-w[1], w[0]]) / np.linalg.norm(w)
        _tell(ax, name, end + (value - w @ end - b) * w / (w @ w), (-12, 0))
    draw_points(ax, X, y, size=28)
    vectors = X[found["support"]]
    ax.scatter(vectors[:, 0], vectors[:, 1], s=110, facecolors="none", edgecolors=INK,
               label="support vector", zorder=4)  # fmt: skip
    far = int(np.argmax(y * (X @ w + b)))
    near = max(found["support"], key=lambda row: float(y[row]))
    for row, text, shift in ((near, r"$1/\|w\|$", (6, -14)),
                             (far, r"$|D(x_i)|/\|w\|$", (-62, 0))):  # fmt: skip
        foot = X[row] - (X[row] @ w + b) * w / (w @ w)
        ax.annotate("", X[row], foot, arrowprops={"arrowstyle": "<->", "color": COLOURS[2]})
        _tell(ax, text, (X[row] + foot) / 2, shift)
    frame_points(ax, X)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def draw_slacks(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 4: slack variables are distances from the margin of one's own class."""
    found = measured[0]
    X, y = np.array(found["X"]), np.array(found["y"])
    w, b, slack = np.array(found["w"]), found["b"], np.array(found["slack"])
    ax = figure.add_subplot()
    for value in (-1, 0, 1):
        draw_line(ax, w, b, value, linestyle="--" if value else "-",
                   linewidth=1.0 if value else 1.6)  # fmt: skip
    draw_points(ax, X, y, size=28)
    wrong = [int(np.argmax(np.where(y == label, slack, -1.0))) for label in (-1, 1)]
    inside = np.flatnonzero((slack > 0.2) & (slack < 0.95))
    apart = np.linalg.norm(X[inside][:, None] - X[wrong][None], axis=2).min(axis=1)
    chosen = (int(inside[np.argmax(apart)]), *wrong)
    for name, row in zip("ijk", chosen, strict=True):
        edge = X[row] + (y[row] - X[row] @ w - b) * w / (w @ w)
        ax.annotate("", edge, X[row], arrowprops={"arrowstyle": "->", "color": COLOURS[2]})
        behind = 11 * (X[row] - edge) / np.linalg.norm(X[row] - edge)
        ax.annotate(f"$x_{name}$", X[row], xytext=behind, textcoords="offset points",
                    ha="center", va="center")  # fmt: skip
        side = "on its side" if slack[row] < 1 else "on the wrong side"
        ax.plot([], [], " ", label=rf"$\xi_{name}$ = {slack[row]:.2f}, {side}")
    frame_points(ax, X)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def draw_spaces(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 5: a curve in the space of inputs is a hyperplane in the space of features."""
    from lindero.plot import BoundaryDisplay
    from lindero.svm import SVC

    random = np.random.default_rng(0)
    angle, radius = random.uniform(0, 2 * np.pi, 60), np.repeat([0.55, 1.5], 30)
    X = (radius + 0.16 * random.normal(size=60))[:, None] * np.column_stack(
        [np.cos(angle), np.sin(angle)]
    )
    y = np.repeat([1, -1], 30)
    left, right = figure.subplots(1, 2)
    model = SVC(C=10.0, **_QUADRATIC).fit(X, y)
    BoundaryDisplay.from_estimator(model, X, y, ax=left)
    left.set(title="space of inputs", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    squares = X**2
    draw_points(right, squares, y, size=22)
    plane = SVC(kernel="linear", C=10.0).fit(squares, y)
    draw_line(right, plane.coef_[0], float(plane.intercept_[0]))
    right.set(xlim=(-0.1, 4), ylim=(-0.1, 4), title="space of features", aspect="equal",
              xlabel=r"$\phi_5 = x_1^2$", ylabel=r"$\phi_6 = x_2^2$")  # fmt: skip


def draw_xor(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 6: the four examples."""
    found = measured[0]
    ax = figure.add_subplot()
    _draw_examples(ax, found["X"], found["y"])
    ax.set(xlim=(-2, 2), ylim=(-2, 2), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _draw_examples(ax: Axes, X: Any, y: Any) -> None:
    draw_points(ax, X, y, size=60)
    for number, place in enumerate(X, start=1):
        _tell(ax, str(number), place)
    ax.axhline(0, color=GRID, linewidth=0.7, zorder=0)
    ax.axvline(0, color=GRID, linewidth=0.7, zorder=0)


def draw_xor_solution(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 7: the hyperplane in the space of features, and the curve in that of inputs."""
    found = measured[0]
    left, right = figure.subplots(1, 2)
    phi = np.array(found["phi"])
    _draw_examples(left, phi[:, [1, 3]], found["y"])
    for value, name in ((0.0, r"$\phi_4 = 0$"), (_ROOT, r"$\phi_4 = \sqrt{2}$"),
                        (-_ROOT, r"$\phi_4 = -\sqrt{2}$")):  # fmt: skip
        left.axhline(value, color=INK, linestyle="--" if value else "-",
                     linewidth=1.0 if value else 1.6)  # fmt: skip
        _tell(left, name, (-2.4, value), (0, 4))
    left.annotate("", (2.1, _ROOT), (2.1, 0), arrowprops={"arrowstyle": "<->"})
    _tell(left, r"$\tau = \sqrt{2}$", (2.1, _ROOT / 2), (-48, -4))
    names = {"xlabel": r"$\phi_2 = \sqrt{2}\,x_1$", "ylabel": r"$\phi_4 = \sqrt{2}\,x_1 x_2$"}
    left.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), title="(a) space of features", aspect="equal",
             **names)  # fmt: skip
    from lindero.data import make_xor
    from lindero.svm import SVC

    X, y = make_xor()
    model = SVC(C=np.inf, **_QUADRATIC).fit(X, y)
    axis = np.linspace(-2.5, 2.5, 240)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    values = model.decision_function(grid.reshape(-1, 2)).reshape(240, 240)
    right.contourf(axis, axis, values, levels=[-99, 0, 99], colors=[COLOURS[0], COLOURS[1]],
                   alpha=0.15)  # fmt: skip
    right.contour(axis, axis, values, levels=[-1, 0, 1], colors=INK,
                  linestyles=["--", "-", "--"], linewidths=[1.0, 1.6, 1.0])  # fmt: skip
    _draw_examples(right, X, y)
    _tell(right, "$x_1 x_2 = 1$", (0.5, 2.0), (0, 0))
    _tell(right, "$x_1 x_2 = -1$", (-2.2, 0.5), (0, 0))
    right.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), title="(b) space of inputs", aspect="equal",
              xlabel="$x_1$", ylabel="$x_2$")  # fmt: skip


def draw_tube(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 8: the tube, slack variables, and the loss."""
    found = measured[0]
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    _draw_regression(left, found)
    errors, x, y = np.array(found["errors"]), np.array(found["x"]), np.array(found["y"])
    shown = np.where(x < 5.0, errors, 0.0)  # not at the border of the picture
    for row, name, shift in ((int(np.argmax(shown)), r"$\xi_i^-$", (-7, 7)),
                             (int(np.argmin(shown)), r"$\xi_j^+$", (6, -4))):  # fmt: skip
        edge = y[row] - errors[row] + np.sign(errors[row]) * found["epsilon"]
        left.plot([x[row], x[row]], [edge, y[row]], color=COLOURS[1], linewidth=2.0)
        left.annotate(name, (x[row], y[row]), xytext=shift, textcoords="offset points")
    left.legend(loc="upper left", fontsize=7)
    t = np.linspace(-1.5, 1.5, 301)
    right.plot(t, np.maximum(0.0, np.abs(t) - found["epsilon"]), color=COLOURS[0])
    for side in (-1, 1):
        right.axvline(side * found["epsilon"], color=INK, linestyle="--", linewidth=1.0)
    right.set(xlim=(-1.5, 1.5), ylim=(0, 1.2), xlabel="$y - f(x)$", ylabel=r"$L_\epsilon$",
              xticks=[-found["epsilon"], 0, found["epsilon"]],
              xticklabels=[r"$-\epsilon$", "0", r"$\epsilon$"])  # fmt: skip


def _draw_regression(ax: Axes, found: Measured) -> None:
    """A function with its tube, and the rows outside and at its edge."""
    line, f = np.array(found["line"]), np.array(found["f"])
    ax.plot(line, f, color=INK, label="$f(x)$")
    ax.fill_between(line, f - found["epsilon"], f + found["epsilon"], color=COLOURS[0], alpha=0.16,
                    linewidth=0, label=r"tube $\pm\epsilon$")  # fmt: skip
    x, y = np.array(found["x"]), np.array(found["y"])
    rest = np.setdiff1d(np.arange(len(x)), [*found["free"], *found["bound"]])
    for place, (rows, name) in enumerate(
        ((rest, r"inside: $\alpha = 0$"), (found["free"], r"at the edge: $0 < \alpha < C$"),
         (found["bound"], r"outside: $\alpha = C$"))
    ):  # fmt: skip
        ax.scatter(x[rows], y[rows], s=18, color=(COLOURS[0], COLOURS[2], COLOURS[1])[place],
                   marker=MARKERS[place], label=name, zorder=3)  # fmt: skip
    ax.set(xlim=(-0.3, 6.5), xlabel="$x$", ylabel="$y$")


def draw_applets(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 9: what a Gaussian kernel gives, for classes and for numbers."""
    from sklearn.datasets import make_moons

    from lindero.plot import BoundaryDisplay
    from lindero.svm import SVC

    left, right = figure.subplots(1, 2)
    X, y = make_moons(80, noise=0.2, random_state=0)
    BoundaryDisplay.from_estimator(SVC(C=10.0, gamma=1.0).fit(X, y), X, y, ax=left)
    left.set(title="(a) classes", xlabel="$x_1$", ylabel="$x_2$")
    _draw_regression(right, measured[0])
    right.set(title="(b) numbers")
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=7)


def draw_widths(figure: Figure, measured: Sequence[Measured]) -> None:
    """Support vectors against the width of the tube."""
    ax = figure.add_subplot()
    widths = sorted({one["epsilon"] for one in measured})
    counts = [[one["n_vectors"] for one in measured if one["epsilon"] == w] for w in widths]
    ax.plot(widths, [np.mean(each) for each in counts], color=COLOURS[0], marker="o",
            linestyle=DASHES[0])  # fmt: skip
    ax.set(xlabel=r"$\epsilon$", ylabel="support vectors of 60", ylim=(0, 60))


# -- what the tutorial has -------------------------------------------------------------------------


def plan(settings: Settings) -> PaperPlan:
    """The tables and figures of the tutorial."""
    xor, separable = Work(solve_xor, {}, 0.2), Work(solve_separable, {"seed": 3}, 0.2)
    soft = Work(solve_soft, {"seed": 5, "n": 40, "C": 1.0}, 0.1)
    tube = Work(solve_tube, {"seed": 1, "n": 36, "epsilon": 0.3}, 0.1)
    curve = Work(solve_tube, {"seed": 2, "n": 60, "epsilon": 0.3, "kernel": "rbf"}, 0.1)
    own = " The tutorial does not list its points; these are ours, of a seed."
    widths = settings.choose(full=(0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8), quick=(0.1, 0.4, 0.8))
    return PaperPlan(
        "svm-tutorial",
        "A tutorial on support vector machines",
        "E. J. Carmona Suárez: Tutorial sobre Máquinas de Vectores Soporte (SVM). Universidad "
        "Nacional de Educación a Distancia, Madrid, 2016.",
        [
            PaperFigure("svm-tutorial-1-separating", "Figure 1: hyperplanes that separate",
                        "A hyperplane that separates the classes, and some of the infinitely many "
                        "others." + own, [separable], draw_separating, (8.6, 3.5)),
            PaperFigure("svm-tutorial-2-margin", "Figure 2: the margin of a hyperplane",
                        "The margin of a hyperplane that separates, and the largest margin of "
                        "all.", [separable], draw_margins, (7.4, 3.7)),
            PaperFigure("svm-tutorial-3-distance", "Figure 3: distances to the hyperplane",
                        "The distance of an example is |D(x)|/‖w‖; that of support vectors is "
                        "1/‖w‖.", [separable], draw_distances, (6.2, 4.2)),
            plan_hard(settings),
            PaperFigure("svm-tutorial-4-slack", "Figure 4: slack variables",
                        "Examples that are not separable, and their slack: from the margin of "
                        "their own class, up to 1 where they are still on the right side, above "
                        "it where they are not." + own, [soft], draw_slacks, (6.2, 4.2)),
            plan_soft(settings),
            PaperFigure("svm-tutorial-5-spaces", "Figure 5: from inputs to features",
                        "The same examples in the space of inputs, where a quadratic kernel draws "
                        "a curve, and in two of its features, where a line does." + own, [],
                        draw_spaces, (7.4, 4.0)),
            PaperFigure("svm-tutorial-6-xor", "Figure 6: the XOR problem",
                        "The four examples: no line separates them.", [xor], draw_xor, (4.8, 3.5)),
            plan_xor(xor),
            plan_transformed(xor),
            PaperFigure("svm-tutorial-7-xor-solved", "Figure 7: the XOR problem, solved",
                        "(a) In the space of features one axis is enough, with the margin √2 on "
                        "either side. (b) In that of inputs the boundary is x₁x₂ = 0 and the "
                        "margins are x₁x₂ = ±1.", [xor], draw_xor_solution, (7.4, 3.8)),
            PaperFigure("svm-tutorial-8-tube", "Figure 8: regression with a soft margin",
                        "The tube of width 2ε, rows outside it with their slack, and the "
                        "ε-insensitive loss." + own, [tube], draw_tube, (7.8, 3.6)),
            plan_tube(settings),
            PaperFigure("svm-tutorial-tube-widths", "Beside the tutorial: the width of the tube",
                        "The wider the tube, the fewer support vectors, as the tutorial says.",
                        [Work(solve_tube, {"seed": seed, "n": 60, "epsilon": width}, 0.05)
                         for width in widths for seed in settings.seeds(full=10, quick=2)],
                        draw_widths, (4.6, 3.2)),
            PaperFigure("svm-tutorial-9-applet", "Figure 9: curved machines",
                        "The tutorial shows two pictures of a program of LIBSVM's, points clicked "
                        "by hand: a curved boundary between classes, and a curve through numbers. "
                        "The same with our machines, on points of a seed.", [curve], draw_applets,
                        (7.8, 4.0)),
        ],
        "Nothing here depends on chance but the points of some pictures. What the text says of "
        "solutions is counted: examples that contradict it, of which there must be none.",
    )  # fmt: skip


def plan_xor(xor: Work) -> PaperTable:
    """The solution of XOR."""
    works = [xor]

    def number(row: str, column: str, value: str, published: float, shown: str = "",
               digits: int = 8, remark: str = "") -> Cell:  # fmt: skip
        return Cell(row, column, works, value, published, digits=digits, rule="exact",
                    shown=shown or _WRITTEN.get(published, ""), remark=remark)  # fmt: skip

    signs = (1, -1, 1, -1)
    cells = [number("α", f"example {i + 1}", f"alpha{i}", 0.125, "0.125") for i in range(4)]
    cells += [number("support vectors", "count", "n_vectors", 4, "4", 0)]
    cells += [number("w", f"φ{'₁₂₃₄₅₆'[j]}", f"w{j}", 1 / _ROOT if j == 3 else 0) for j in range(6)]
    cells += [number("margin τ", "1/‖w‖", "margin", _ROOT)]
    cells += [number("D(x)", f"example {i + 1}", f"D{i}", sign) for i, sign in enumerate(signs)]
    cells += [
        number("D(x) = x₁x₂", "largest difference", "apart", 0, "0",
               remark="On a grid of 41 × 41 points in [−2, 2]²."),
        number("primal = dual", "duality gap", "gap", 0, "0"),
    ]  # fmt: skip
    return PaperTable(
        "The XOR table: the solution",
        "Hard margin, kernel (⟨x, x'⟩ + 1)².",
        cells,
    )


def plan_transformed(xor: Work) -> PaperTable:
    """The four examples in the space of features."""
    cells = [
        Cell(f"example {i + 1}", f"φ{'₁₂₃₄₅₆'[j]}", [xor], f"phi{i}{j}", float(value), digits=8,
             rule="exact", shown=_WRITTEN[value])
        for i, row in enumerate(_TRANSFORMED) for j, value in enumerate(row)
    ]  # fmt: skip
    dimensions = [Work(count_dimensions, {"seed": 0}, 0.1)]
    cells += [
        Cell("⟨Φ(x), Φ(x')⟩ = (⟨x, x'⟩ + 1)²", "largest difference", dimensions, "apart", 0.0,
             digits=8, rule="exact", shown="0"),
        Cell("dimensions", "degree 2", dimensions, "rank2", 6, digits=0, rule="exact"),
        Cell("dimensions", "degree 3", dimensions, "rank3", 10, digits=0, rule="exact",
             remark="The rank of the kernel matrix of 60 points; the tutorial lists the ten "
                    "monomials."),
    ]  # fmt: skip
    return PaperTable(
        "The XOR table: examples in the space of features",
        "(φ₁, …, φ₆) = (1, √2x₁, √2x₂, √2x₁x₂, x₁², x₂²).",
        cells,
    )


def _count(works: Sequence[Work], row: str, value: str, column: str = "exceptions") -> Cell:
    """A statement that allows no exception."""
    return Cell(row, column, works, value, 0.0, digits=0, rule="exact", shown="none")


def _vanish(works: Sequence[Work], row: str, value: str, digits: int = 6) -> Cell:
    """A difference that the text says is nothing."""
    return Cell(row, "largest difference", works, value, 0.0, digits=digits, rule="exact",
                shown="0")  # fmt: skip


def plan_hard(settings: Settings) -> PaperTable:
    """What section 3 says of a hard margin."""
    works = [Work(solve_separable, {"seed": 3 + s}, 0.2) for s in settings.seeds(full=5, quick=2)]
    return PaperTable(
        "What section 3 says of a hard margin",
        "24 separable examples for each seed.",
        [
            Cell("τ‖w‖", "product", works, "times_norm", 1.0, digits=6, rule="exact", shown="1"),
            _vanish(works, "the nearest example of either class is equally far", "sides"),
            _count(works, "no example lies within the margin", "inside"),
            _count(works, "support vectors lie on the margin", "off_margin"),
            _vanish(works, "without the other examples the hyperplane is the same", "others"),
            _vanish(works, "C → ∞ is the hard margin", "limit"),
            _vanish(works, "the primal and dual optimum coincide", "gap"),
        ],
    )


def plan_soft(settings: Settings) -> PaperTable:
    """What section 4 says of a soft margin."""
    works = [
        Work(solve_soft, {"seed": 5 + seed, "n": 200, "C": C}, 0.1)
        for seed in settings.seeds(full=5, quick=1)
        for C in (0.1, 1.0, 10.0)
    ]
    return PaperTable(
        "What section 4 says of a soft margin",
        "200 overlapping examples for each seed, C = 0.1, 1 and 10.",
        [
            _count(works, "α = 0: separable, ξ = 0", "none_slack"),
            _count(works, "ξ > 0: α = C", "slack_unbound"),
            _count(works, "0 < α < C: on the margin", "free_off"),
            _count(works, "on the right side: ξ ≤ 1", "right_above_one"),
            _count(works, "on the wrong side: ξ > 1", "wrong_below_one"),
            _count(works, "Σ ξ is at least the number of errors", "errors_below_slack"),
            _vanish(works, "Σ αᵢyᵢ = 0", "balance"),
            Cell("C → 0", "largest ξ", works, "tiny", None, digits=2, rule="none", shown="∞",
                 remark="The tutorial says that ξ grows without limit. It does not: with w = 0 no "
                        "ξ is above 2, and none above 1 where classes are equally many."),
        ],
    )  # fmt: skip


def plan_tube(settings: Settings) -> PaperTable:
    """What section 6 says of the tube."""
    works = [
        Work(solve_tube, {"seed": seed, "n": 60, "epsilon": epsilon, "kernel": kernel}, 0.1)
        for seed in settings.seeds(full=5, quick=1)
        for epsilon in (0.1, 0.4)
        for kernel in ("linear", "rbf")
    ]
    return PaperTable(
        "What section 6 says of the tube",
        "60 rows for each seed, ε = 0.1 and 0.4, linear and Gaussian kernel.",
        [
            _count(works, "inside the tube: α⁺ = α⁻ = 0", "inside_active"),
            _count(works, "outside the tube: α⁺ = C or α⁻ = C", "outside_unbound"),
            _count(works, "0 < α < C: at the edge of the tube", "free_off"),
            _count(works, "above the tube α⁻, below it α⁺, never both", "wrong_sign"),
            _vanish(works, "Σ (α⁺ − α⁻) = 0", "balance"),
        ],
    )
