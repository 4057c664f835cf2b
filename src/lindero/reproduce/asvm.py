"""Adaptive SVM (Grinblat, Granitto and Ceccatto, 2007): one hyperplane for each sample.

Figures 1 to 9, the training errors in the text, both tables; and beside them what the paper does
not compare: windows over the latest rows, parameters chosen by validation, standardised columns.

The paper shows one draw of each data set. Pictures here are of seed 0. A paper is one file.
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
    find_file,
)
from lindero.reproduce.figures import COLOURS, DASHES, GRID, INK, draw_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Radians from one sample to the next, by data set.
STEPS = {1: np.pi / 500, 2: 3 * np.pi / 1000}

#: Training errors in per cent, by data set and C₂, as the text has them.
ROTATING = {
    1: {10.0: 0.0, 1e3: 0.0, 1e6: 0.0, 1e8: 2.6},
    2: {1e3: 0.0, 1e6: 0.0, 1e7: 0.2, 1e8: 28.8},
}

#: Errors on a grid in per cent, by C₂: the first table, figures 6 to 9.
SIGMOID = {1e3: 3.61, 1e4: 2.12, 5e4: 2.81, 5e5: 5.17}
LINEAR, GAUSSIAN = 5.73, 2.37
GAMMA = 2.94

#: The grid of the second table, and a coarse one for quick runs.
COUPLINGS = [10.0, 1e2, 1e3, 5e3, 1e4, 5e4]
NEIGHBOURS = [3, 4, 5, 7, 10, 15, 20, 25]
_FEW_COUPLINGS, _FEW_NEIGHBOURS = [1e2, 1e3, 1e4], [5, 15]

#: C and γ = 1/2σ² of the machines beside it: 2⁻⁵, 2⁻³, …, 2¹⁵, and σ = 2⁻¹⁵, 2⁻¹³, …, 2³.
WIDE_CS = [2.0**k for k in range(-5, 16, 2)]
WIDE_GAMMAS = [0.5 / 4.0**k for k in range(-15, 4, 2)]

#: Windows and couplings that follow a stream; rows after which parameters are chosen.
WINDOWS = [25, 50, 100, 200]
STREAMED, PENALTIES = [1e3, 1e4, 1e5], [0.01, 0.1]
_WARM_UP, _CHOSEN_AT = 50, 250


# -- what is measured ------------------------------------------------------------------------------


def train_rotating(data_set: int, coupling: float, seed: int) -> Measured:
    """The error of the adaptive machine on its own training rows, in per cent."""
    from lindero.data import make_rotating
    from lindero.svm import AdaptiveSVC

    X, y = make_rotating(500, step=STEPS[data_set], random_state=seed)
    model = AdaptiveSVC(coupling=coupling, C=1.0).fit(X, y)
    outputs = np.einsum("ij,ij->i", model.coef_, X) + model.intercept_
    return {"value": 100 * float(np.mean(np.where(outputs > 0, 1, -1) != y))}


def train_one_hyperplane(data_set: int, seed: int) -> Measured:
    """The same of a plain linear machine."""
    from lindero.data import make_rotating
    from lindero.svm import SVC

    X, y = make_rotating(500, step=STEPS[data_set], random_state=seed)
    return {"value": 100 * (1 - SVC(kernel="linear", C=1.0).fit(X, y).score(X, y))}


def follow_path(data_set: int, couplings: Sequence[float], seed: int) -> Measured:
    """The curves w(t), one for each coupling, and w of the plain machine."""
    from lindero.data import make_rotating
    from lindero.svm import SVC, AdaptiveSVC

    X, y = make_rotating(500, step=STEPS[data_set], random_state=seed)
    paths = [AdaptiveSVC(coupling=value, C=1.0).fit(X, y).coef_.tolist() for value in couplings]
    plain = SVC(kernel="linear", C=1.0).fit(X, y).coef_[0].tolist()
    return {"couplings": list(couplings), "paths": paths, "plain": plain}


def make_points(data_set: int, seed: int) -> Measured:
    """The rows of a data set."""
    from lindero.data import make_rotating, make_sigmoid

    if data_set == 3:
        X, y = make_sigmoid(500, random_state=seed)
    else:
        X, y = make_rotating(500, step=STEPS[data_set], random_state=seed)
    return {"X": np.round(X, 4).tolist(), "y": y.tolist()}


def make_sigmoid_machine(kind: str, coupling: float = 0.0, gamma: float = 0.0) -> Any:
    """A machine of the first table."""
    from lindero.svm import SVC, AdaptiveSVC

    if kind == "adaptive":
        return AdaptiveSVC(coupling=coupling, graph="space", n_neighbors=5, C=1.0)
    return SVC(kernel="linear", C=1.0) if kind == "linear" else SVC(gamma=gamma, C=1.0)


def measure_sigmoid(
    kind: str, seed: int, coupling: float = 0.0, gamma: float = 0.0, standardised: bool = False
) -> Measured:
    """The error on a grid over data set 3, in per cent, and what is answered there, row by row."""
    from lindero.data import make_sigmoid, make_sigmoid_grid

    X, y = make_sigmoid(500, random_state=seed)
    grid, truth = make_sigmoid_grid(100)
    middle, unit = (X.mean(axis=0), X.std(axis=0)) if standardised else (0.0, 1.0)
    model = make_sigmoid_machine(kind, coupling, gamma).fit((X - middle) / unit, y)
    answers = model.predict((grid - middle) / unit)
    lines = (answers.reshape(100, 100) > 0).astype(int)
    return {
        "value": 100 * float(np.mean(answers != truth)),
        "answers": ["".join(map(str, line)) for line in lines.tolist()],
    }


def measure_searched(seed: int) -> Measured:
    """The error of a Gaussian machine on the grid, C and γ chosen by cross-validation on the
    training rows."""
    from lindero.data import make_sigmoid, make_sigmoid_grid
    from lindero.svm import SVCCV

    grid, truth = make_sigmoid_grid(100)
    model = SVCCV().fit(*make_sigmoid(500, random_state=seed))
    return {"value": 100 * float(np.mean(model.predict(grid) != truth))}


def measure_printed_axes(seed: int) -> Measured:
    """The error of a linear machine where x₂ ≥ 1/(1 + exp(−x₁)) is class 1, as printed."""
    from lindero.svm import SVC

    random = np.random.default_rng(seed)
    low, high = (-0.2, -5.0), (1.2, 5.0)
    X = random.uniform(low, high, size=(500, 2))
    axes = [np.linspace(low[k], high[k], 100) for k in (0, 1)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)

    def label(points: Any) -> Any:
        return np.where(points[:, 1] >= 1.0 / (1.0 + np.exp(-points[:, 0])), 1, -1)

    model = SVC(kernel="linear", C=1.0).fit(X, label(X))
    return {"value": 100 * float(np.mean(model.predict(grid) != label(grid)))}


def split_cancer(
    machine: str, split: int, couplings: Sequence[float] = (), neighbours: Sequence[int] = (),
    folds: int = 10,
) -> Measured:  # fmt: skip
    """The test error on a split of breast cancer, in per cent, parameters by cross-validation on
    its training part."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    from lindero.svm import SVCCV, AdaptiveSVC

    with np.load(find_file("ida_breast_cancer.npz")) as held:
        X, y = held["X"], held["y"].astype(int)
        order = np.argsort(~held["split_is_original"], kind="stable")  # original ones first
        train, test = (held[name][order[split]] for name in ("train_idx", "test_idx"))
    cv = StratifiedKFold(folds, shuffle=True, random_state=0)
    if machine == "adaptive":
        grid = {"coupling": list(couplings), "n_neighbors": list(neighbours)}
        model = GridSearchCV(AdaptiveSVC(graph="space", C=1.0), grid, cv=cv)
    elif machine == "gaussian":
        model = SVCCV(Cs=WIDE_CS, gammas=WIDE_GAMMAS, cv=cv)
    else:
        model = SVCCV(Cs=WIDE_CS, kernel="linear", cv=cv)
    model.fit(X[train], y[train])
    return {"value": 100 * float(np.mean(model.predict(X[test]) != y[test]))}


def compare_cancer(split: int, couplings: Sequence[float], neighbours: Sequence[int], folds: int
                   ) -> Measured:  # fmt: skip
    """All three machines on a split, and how much worse the adaptive one is than the Gaussian."""
    found: dict[str, float] = {}
    for machine in ("adaptive", "gaussian", "linear"):
        found[machine] = split_cancer(machine, split, couplings, neighbours, folds)["value"]
    return {**found, "behind": found["adaptive"] - found["gaussian"]}


def follow_rows(
    data_set: int, noise: float, seed: int, windows: Sequence[int], couplings: Sequence[float],
    penalties: Sequence[float],
) -> Measured:  # fmt: skip
    """Errors on the second half of the rows, each predicted before it is learned, in per cent: of
    windows, of couplings, and of those of each kind with the fewest errors on the first half."""
    from lindero.data import make_rotating
    from lindero.evaluation import prequential
    from lindero.svm import SVC, AdaptiveSVC, IncrementalSVC

    X, y = make_rotating(500, step=STEPS[data_set], noise=noise, random_state=seed)
    plain = SVC(kernel="linear", C=1.0)

    def follow(model: Any, **options: Any) -> tuple[float, float]:
        found = prequential(model, X, y, warm_up=_WARM_UP, probabilities=False, **options)
        wrong, late = found.answers != found.truth, found.rows >= _CHOSEN_AT
        return 100 * float(wrong[~late].mean()), 100 * float(wrong[late].mean())

    def adapt(coupling: float, C: float) -> tuple[float, float]:
        return follow(AdaptiveSVC(coupling=coupling, C=C, n_scale=len(y), online="exact"))

    fixed = {f"window {size}": follow(plain, refit_every=1, refit_on=size) for size in windows}
    coupled = {f"coupling {value:g}": adapt(value, 1.0) for value in couplings}
    others = {f"{value:g} {C:g}": adapt(value, C) for value in couplings for C in penalties}
    late = {name: errors[1] for name, errors in (fixed | coupled).items()}
    late["all rows"] = follow(plain, refit_every=1)[1]
    late["window auto"] = follow(IncrementalSVC(kernel="linear", C=1.0, window="auto"))[1]
    late["coupling auto"] = follow(AdaptiveSVC())[1]
    for name, runs in (
        ("window chosen", fixed),
        ("coupling chosen", coupled),
        ("both chosen", coupled | others),
    ):
        late[name] = min(runs.values(), key=lambda errors: errors[0])[1]
    return late


# -- what is drawn ---------------------------------------------------------------------------------


def draw_set(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figures 1 and 2: two clouds that rotate."""
    ax = figure.add_subplot()
    draw_points(ax, measured[0]["X"], measured[0]["y"])
    ax.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    ax.legend(loc="center")


def draw_sigmoid_set(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 3: points on both sides of a logistic curve."""
    ax = figure.add_subplot()
    draw_points(ax, measured[0]["X"], measured[0]["y"])
    _draw_logistic(ax)
    ax.set(xlim=(-0.2, 1.2), ylim=(-5, 5), xlabel="$x_1$", ylabel="$x_2$")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _draw_logistic(ax: Any) -> None:
    up = np.linspace(-5, 5, 200)
    ax.plot(1 / (1 + np.exp(-up)), up, color=INK, linewidth=1.2, label="true boundary")


def draw_paths(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figures 4 and 5: the ends of the vectors w(t), joined in order of time."""
    found = measured[0]
    ax = figure.add_subplot()
    for place, (value, path) in enumerate(zip(found["couplings"], found["paths"], strict=True)):
        W = np.array(path)
        colour = (COLOURS[2], COLOURS[0], COLOURS[1], INK)[place]
        ax.plot(W[:, 0], W[:, 1], color=colour, linestyle=DASHES[place],
                label=f"$C_2$ = {_write_power(value)}")  # fmt: skip
        ax.plot(*W[0], "o", color=colour, markersize=4)
    ax.plot(*found["plain"], "o", color=INK, markersize=11, fillstyle="none", label="plain SVM")
    ax.set(xlabel="$w_1$", ylabel="$w_2$", aspect="equal")
    ax.axhline(0, color=GRID, linewidth=0.7, zorder=0)
    ax.axvline(0, color=GRID, linewidth=0.7, zorder=0)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _write_power(value: float) -> str:
    """A number as the paper writes it: 5·10⁴."""
    power = int(np.floor(np.log10(value)))
    factor = value / 10**power
    if power < 2:
        return f"{value:g}"
    return f"$10^{power}$" if factor == 1 else f"{factor:g}·$10^{power}$"


def draw_regions(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figures 6 to 9: what is answered on the grid, where it is wrong, and the training rows."""
    from matplotlib.colors import ListedColormap

    points, found = measured
    ax = figure.add_subplot()
    answers = np.array([[int(letter) for letter in line] for line in found["answers"]])
    across, up = np.linspace(-0.2, 1.2, 100), np.linspace(-5, 5, 100)
    truth = across[None, :] >= 1 / (1 + np.exp(-up[:, None]))
    ax.pcolormesh(across, up, answers, cmap=ListedColormap(COLOURS[:2]), alpha=0.22,
                  shading="nearest", vmin=0, vmax=1, rasterized=True)  # fmt: skip
    wrong = np.ma.masked_where(answers == truth, np.ones_like(answers))
    ax.pcolormesh(across, up, wrong, cmap=ListedColormap([INK]), alpha=0.45, shading="nearest",
                  rasterized=True)  # fmt: skip
    draw_points(ax, points["X"], points["y"], size=6)
    _draw_logistic(ax)
    ax.fill_between([], [], color=INK, alpha=0.45, label="answered wrongly")
    ax.set(xlim=(-0.2, 1.2), ylim=(-5, 5), xlabel="$x_1$", ylabel="$x_2$",
           title=f"{found['value']:.2f} % wrong")  # fmt: skip
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def draw_couplings(figure: Figure, measured: Sequence[Measured]) -> None:
    """Error against coupling, columns as they are and standardised."""
    ax = figure.add_subplot()
    for place, (name, label) in enumerate(
        (("raw", "columns as they are"), ("standardised", "columns standardised"))
    ):
        couplings = sorted({one["coupling"] for one in measured})
        errors = [[one[name] for one in measured if one["coupling"] == c] for c in couplings]
        means = np.array([np.mean(each) for each in errors])
        spreads = np.array([np.std(each, ddof=1) if len(each) > 1 else 0.0 for each in errors])
        ax.plot(couplings, means, color=COLOURS[place], linestyle=DASHES[place], marker="o",
                markersize=3, label=f"adaptive, {label}")  # fmt: skip
        ax.fill_between(couplings, means - spreads, means + spreads, color=COLOURS[place],
                        alpha=0.18, linewidth=0)  # fmt: skip
    ax.plot(list(SIGMOID), list(SIGMOID.values()), "X", color=INK, label="published")
    ax.axhline(LINEAR, color=COLOURS[2], linestyle=DASHES[2], label="linear SVM, published")
    ax.axhline(GAUSSIAN, color=COLOURS[3], linestyle=DASHES[3], label="Gaussian SVM, published")
    ax.set(xscale="log", ylim=(0, 7), xlabel="$C_2$", ylabel="error on the grid, %")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def measure_both_units(coupling: float, seed: int) -> Measured:
    """The error of the adaptive machine with columns as they are, and standardised."""
    found = [
        measure_sigmoid("adaptive", seed, coupling, standardised=each) for each in (False, True)
    ]
    return {"coupling": coupling, "raw": found[0]["value"], "standardised": found[1]["value"]}


# -- what the paper has ----------------------------------------------------------------------------

_SETS = {
    1: "Two clouds of 250 points, standard deviation 0.1, that make half a turn "
       "(i·π/500 at sample i).",
    2: "The same clouds, half as fast again (3iπ/1000): they make three quarters of a turn, and "
       "the classes overlap more.",
    3: "500 uniform points in [−0.2, 1.2] × [−5, 5], of class +1 where x₁ ≥ 1/(1 + exp(−x₂)). "
       "The paper prints the axes the other way round, with which its own figures cannot be had: "
       "see the table of data set 3.",
}  # fmt: skip


def plan(settings: Settings) -> PaperPlan:
    """The tables and figures of the paper."""
    return PaperPlan(
        "asvm",
        "Adaptive support vector machines",
        "G. L. Grinblat, P. M. Granitto, H. A. Ceccatto: Máquinas de Vectores Soporte Adaptativas. "
        "XIII Congreso Argentino de Ciencias de la Computación, 2007.",
        [
            plan_set(1),
            plan_set(2),
            plan_set(3),
            plan_rotating(settings),
            plan_paths(1),
            plan_paths(2),
            plan_windows(settings),
            plan_sigmoid(settings),
            *plan_regions(),
            plan_standardised(settings),
            plan_sweep(settings),
            plan_cancer(settings),
        ],
        "The paper shows one draw of its artificial data, and does not say which. Ours are means "
        "and standard deviations over seeds, and the published figure agrees if it lies where 95 % "
        "of further draws would. C₃, the penalty of errors, is 1 throughout, as is C of the "
        "machines beside it.",
    )


def plan_set(data_set: int) -> PaperFigure:
    """Figures 1 to 3."""
    return PaperFigure(
        f"asvm-{data_set}-data", f"Figure {data_set}: data set {data_set}", _SETS[data_set],
        [Work(make_points, {"data_set": data_set, "seed": 0}, 0.05)],
        draw_sigmoid_set if data_set == 3 else draw_set,
        (5.2, 3.6) if data_set == 3 else (4.4, 4.2),
    )  # fmt: skip


def plan_rotating(settings: Settings) -> PaperTable:
    """The training errors in the text of section 4.1."""
    seeds = settings.seeds(full=10, quick=4)
    cells = []
    for data_set, published in ROTATING.items():
        row = f"data set {data_set}"
        for value, error in published.items():
            works = [
                Work(train_rotating, {"data_set": data_set, "coupling": value, "seed": seed}, 0.02)
                for seed in seeds
            ]
            cells.append(Cell(row, f"C₂ = {_name_coupling(value)}", works, published=error,
                              digits=1, unit=" %", shown="0" if error == 0 else ""))  # fmt: skip
        remark = (
            "Not in a table; the text says that C₂ = 10⁸ on data set 2 is about what a standard "
            "SVM would give." if data_set == 2 else ""
        )  # fmt: skip
        works = [Work(train_one_hyperplane, {"data_set": data_set, "seed": s}, 0.02) for s in seeds]
        cells.append(Cell(row, "linear SVM", works, digits=1, unit=" %", remark=remark))
    return PaperTable(
        "Training errors in section 4.1",
        "Errors on the training rows, in per cent.",
        cells,
        "Data sets have no wrong labels: at small couplings a hyperplane for each sample follows "
        "the clouds, at large ones all hyperplanes are nearly one.",
    )


def _name_coupling(value: float) -> str:
    """A coupling as the paper writes it, in plain text."""
    power = int(np.floor(np.log10(value)))
    factor = value / 10**power
    raised = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    if power < 2:
        return f"{value:g}"
    return f"10{raised}" if factor == 1 else f"{factor:g}·10{raised}"


def plan_paths(data_set: int) -> PaperFigure:
    """Figures 4 and 5."""
    caption = (
        "The ends of the vectors w(t), joined in order of time, for C₂ of the text; a dot marks "
        "the first, the ring the plain linear SVM. The larger C₂, the shorter the curve, until it "
        "is nearly the point of the plain machine."
    )
    if data_set == 2:
        caption += (
            " The caption in the paper lists C₂ = 10, 10³, 10⁶ and 10⁸, which are those of figure "
            "4; the text lists 10³, 10⁶, 10⁷ and 10⁸, and its errors fit these."
        )
    arguments = {"data_set": data_set, "couplings": list(ROTATING[data_set]), "seed": 0}
    return PaperFigure(
        f"asvm-{data_set + 3}-path", f"Figure {data_set + 3}: w(t) of data set {data_set}", caption,
        [Work(follow_path, arguments, 0.1)], draw_paths, (5.6, 3.9),
    )  # fmt: skip


def plan_windows(settings: Settings) -> PaperTable:
    """Beside the paper: windows over the latest rows."""
    seeds = settings.seeds(full=10, quick=1)
    tried: dict[str, Any] = settings.choose(
        full={"windows": WINDOWS, "couplings": STREAMED, "penalties": PENALTIES},
        quick={"windows": WINDOWS[:3:2], "couplings": STREAMED[:1], "penalties": PENALTIES[:1]},
    )
    names = {
        **{f"coupling {c:g}": f"adaptive, C₂ = {_name_coupling(c)}" for c in tried["couplings"]},
        "coupling chosen": "adaptive, C₂ chosen",
        "both chosen": "adaptive, C₂ and C₃ chosen",
        "coupling auto": "adaptive, mixture of all",
        **{f"window {w}": f"window of {w} rows" for w in tried["windows"]},
        "window chosen": "window, its length chosen",
        "window auto": "window that finds its length",
        "all rows": "all rows so far",
    }
    cells = []
    sets = settings.choose(full=((1, 0.1), (2, 0.1), (2, 0.5)), quick=((2, 0.5),))
    for data_set, noise in sets:
        works = [
            Work(follow_rows, {"data_set": data_set, "noise": noise, "seed": seed, **tried},
                 settings.choose(full=9.0, quick=2.0))
            for seed in seeds
        ]  # fmt: skip
        row = f"data set {data_set}" + ("" if noise == 0.1 else ", clouds five times as wide")
        cells += [Cell(row, name, works, value=key, digits=1, unit=" %")
                  for key, name in names.items()]  # fmt: skip
    return PaperTable(
        "Beside the paper: windows",
        "Errors in per cent on rows 251 to 500, each predicted before it is learned. C is 1 "
        "but where it is chosen; what is chosen has the fewest errors on the rows before (51 to "
        "250). The mixture is `AdaptiveSVC()` on a stream, with experts of many C₂ and C₃, and the "
        'window that finds its length is `IncrementalSVC(window="auto")`.',
        cells,
        "The paper argues against windows and shows none. On its own data sets, whose clouds lie "
        "far apart, any window up to 200 rows makes no error either. Where clouds overlap, the "
        "adaptive machine with C₃ = 1 makes more errors than a short window, and about as many "
        "once C₃ is chosen, too.",
    )


def plan_sigmoid(settings: Settings) -> PaperTable:
    """The first table."""
    seeds = settings.seeds(full=10, quick=4)

    def works(**arguments: Any) -> list[Work]:
        return [Work(measure_sigmoid, {**arguments, "seed": seed}, 0.1) for seed in seeds]

    cells = [
        Cell("adaptive", f"C₂ = {_name_coupling(value)}", works(kind="adaptive", coupling=value),
             published=error, unit=" %")
        for value, error in SIGMOID.items()
    ]  # fmt: skip
    axes = [Work(measure_printed_axes, {"seed": seed}, 0.1) for seed in seeds]
    searched = [Work(measure_searched, {"seed": seed}, 0.8) for seed in seeds]
    cells += [
        Cell("linear SVM", "C = 1", works(kind="linear"), published=LINEAR, unit=" %"),
        Cell("Gaussian SVM", "γ = 2.94, C = 1", works(kind="gaussian", gamma=GAMMA),
             published=GAUSSIAN, unit=" %",
             remark="The published one is the best of several γ on the test grid of its one draw."),
        Cell("Gaussian SVM", "C and γ by cross-validation", searched, unit=" %",
             remark="Not in the paper, which keeps C at 1 and columns as they are: columns "
                    "standardised, C and γ chosen on the training rows."),
        Cell("linear SVM", "axes as printed", axes, unit=" %",
             remark="With the axes as the paper prints them its 5.73 % is impossible: class +1 "
                    "where x₂ ≥ 1/(1 + exp(−x₁)) is nearly a straight line."),
    ]  # fmt: skip
    return PaperTable(
        "Table 1: test errors on data set 3",
        "Errors on a grid of 100 × 100 points, in per cent; each point is answered by the "
        "hyperplane of the nearest training row. Neighbours are the 5 nearest, either way.",
        cells,
    )


def plan_regions() -> list[PaperFigure]:
    """Figures 6 to 9."""
    found = []
    for number, value in enumerate(SIGMOID, start=6):
        caption = (
            f"Answers on the grid for C₂ = {_name_coupling(value)}, where they are wrong, and the "
            f"training rows (seed 0). The paper's own draw has {SIGMOID[value]:.2f} %."
        )
        if number == 9:
            caption += " Its caption says 5·10⁴, which is that of figure 8; the text says 5·10⁵."
        arguments = {"kind": "adaptive", "coupling": value, "seed": 0}
        found.append(PaperFigure(
            f"asvm-{number}-regions",
            f"Figure {number}: data set 3, C₂ = {_name_coupling(value)}", caption,
            [Work(make_points, {"data_set": 3, "seed": 0}, 0.05),
             Work(measure_sigmoid, arguments, 0.1)],
            draw_regions, (5.2, 3.6),
        ))  # fmt: skip
    return found


def plan_standardised(settings: Settings) -> PaperTable:
    """Beside the paper: data set 3 with standardised columns."""
    seeds = settings.seeds(full=10, quick=4)

    def works(**arguments: Any) -> list[Work]:
        settled = {**arguments, "standardised": True}
        return [Work(measure_sigmoid, {**settled, "seed": seed}, 0.1) for seed in seeds]

    cells = [
        Cell("adaptive", f"C₂ = {_name_coupling(value)}", works(kind="adaptive", coupling=value),
             unit=" %")
        for value in (1e2, *SIGMOID)
    ]  # fmt: skip
    cells += [
        Cell("linear SVM", "C = 1", works(kind="linear"), unit=" %"),
        Cell("Gaussian SVM", "γ = 2.94, C = 1", works(kind="gaussian", gamma=GAMMA), unit=" %"),
    ]
    return PaperTable(
        "Beside the paper: data set 3, columns standardised",
        "The same as table 1, with each column in units of its mean and standard deviation on the "
        "training rows.",
        cells,
        "One column of data set 3 is seven times as wide as the other. Once both have the same "
        "width, the Gaussian machine is better on average than the adaptive one at any of these "
        "couplings: the order that the paper's table shows is one of units.",
    )


def plan_sweep(settings: Settings) -> PaperFigure:
    """Beside the paper: error against coupling."""
    couplings = settings.choose(full=[10.0**(k / 2) for k in range(2, 13)],
                                quick=[10.0**k for k in range(1, 7)])  # fmt: skip
    works = [
        Work(measure_both_units, {"coupling": value, "seed": seed}, 0.2)
        for value in couplings
        for seed in settings.seeds(full=10, quick=2)
    ]
    return PaperFigure(
        "asvm-couplings", "Beside the paper: error against coupling",
        "Data set 3: mean and standard deviation over seeds, with the four published errors. "
        "With standardised columns the best couplings are 10³ and below instead of 10⁴.",
        works, draw_couplings, (6.6, 3.4),
    )  # fmt: skip


def plan_cancer(settings: Settings) -> PaperTable:
    """The second table."""
    grid: dict[str, Any] = settings.choose(
        full={"couplings": COUPLINGS, "neighbours": NEIGHBOURS, "folds": 10},
        quick={"couplings": _FEW_COUPLINGS, "neighbours": _FEW_NEIGHBOURS, "folds": 3},
    )
    first = settings.seeds(full=10, quick=1)
    more = range(settings.n_seeds or settings.choose(full=30, quick=1))
    each = settings.choose(full=18.0, quick=1.5)

    def works(splits: range) -> list[Work]:
        return [Work(compare_cancer, {"split": split, **grid}, each) for split in splits]

    few = (
        "The published mean is of 100 splits, of which the first ten are to be had; splits of 277 "
        "rows overlap, so that chance is larger than this rule of thumb says. The Gaussian machine "
        "is as much worse on them."
    )
    cells = [
        Cell("adaptive SVM", "test error", works(first), "adaptive", published=27.0,
             published_sd=5.7, published_draws=100, digits=1, unit=" %", rule="mean", why=few),
        Cell("Gaussian SVM", "test error", works(first), "gaussian", published=26.0,
             published_sd=4.7, published_draws=100, digits=1, unit=" %", rule="mean",
             why="As above: it is the splits, or how C and γ were chosen, and not the machine.",
             remark="The paper notes that its source gives the spread as 0.47 in one place and as "
                    "4.7 in another."),
        Cell("adaptive − Gaussian", "difference", works(first), "behind", published=1.0,
             digits=1, unit=" %",
             remark="On the same splits, which leaves out how hard they are."),
        Cell("linear SVM", "test error", works(first), "linear", digits=1, unit=" %"),
    ]  # fmt: skip
    if len(more) > len(first):
        cells += [
            Cell(f"{name}, {len(more)} splits", "test error", works(more), value, digits=1,
                 unit=" %", remark=f"Ten original splits and {len(more) - 10} drawn alike.")
            for name, value in (("adaptive SVM", "adaptive"), ("Gaussian SVM", "gaussian"))
        ]  # fmt: skip
    return PaperTable(
        "Table 2: breast cancer",
        f"Test errors in per cent on splits of 200 and 77 rows; C₂, the number of neighbours, C "
        f"and γ by {grid['folds']}-fold cross-validation on the training part of each"
        + ("." if not settings.quick else ", over a coarser grid than the paper's."),
        cells,
        "The adaptive machine is no better than the Gaussian one here, as the paper says.",
    )
