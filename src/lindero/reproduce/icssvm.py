"""Incremental cost-sensitive SVM (Quan, Gu, Zheng and Gu, 2016): one sample more, or all again.

Table 1 (the data sets, counted), figure 1 (the time of an update and of training again, against
the rows held) and figure 2 (iterations of an update). The figures' points are not printed as
numbers; what the text says of them is, and stands in tables here. Beside them the iterations of the
printed algorithm, transcribed. A paper is one file.

The protocol is the paper's: features scaled to [0, 1], C = 10, C₊ = 1, C₋ = 2, three kernels, one
sample added to a machine of each size, ten repetitions. Time is processor time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.reproduce.cells import (
    Cell,
    Measured,
    PaperFigure,
    PaperPlan,
    PaperTable,
    Settings,
    SummaryCell,
    Work,
    find_file,
)
from lindero.reproduce.figures import COLOURS, INK, MARKERS
from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class BenchmarkSet:
    """A set of table 1: its file, and rows, attributes and ratio of the classes as printed."""

    file: str
    n_rows: int
    n_attributes: int
    ratio: float
    digits: int = 0


SETS = {
    "abalone19": BenchmarkSet("keel_abalone19.csv.gz", 4174, 8, 130),
    "ijcnn1": BenchmarkSet("ijcnn1.svm.gz", 49990, 22, 9.3, 1),
    "page-blocks0": BenchmarkSet("keel_page-blocks0.csv.gz", 5472, 10, 8.8, 1),
    "segment0": BenchmarkSet("keel_segment0.csv.gz", 2308, 19, 6),
    "shuttle-c0-vs-c4": BenchmarkSet("keel_shuttle-c0-vs-c4.csv.gz", 1829, 9, 13.9, 1),
    "svmguide3": BenchmarkSet("svmguide3.svm.gz", 1243, 22, 3.2, 1),
    "winequality-red-4": BenchmarkSet("keel_winequality-red-4.csv.gz", 1599, 11, 29),
    "yeast4": BenchmarkSet("keel_yeast4.csv.gz", 1484, 8, 28),
}

#: The paper's kernels; σ = 1.414 is γ = 1/2σ² = 0.25.
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "quadratic": {"kernel": "poly", "degree": 2, "gamma": 2.0, "coef0": 1.0},
    "Gaussian": {"kernel": "rbf", "gamma": 0.25},
}
COSTS: dict[str, Any] = {"C": 10.0, "cost_positive": 1.0, "cost_negative": 2.0}

#: Rows held when a sample is added, as far as a set has them.
SIZES = [50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000]
_FEW_SIZES = [100, 300, 1000]

#: Samples added to a machine of each size, one after another; the paper adds one.
ADDITIONS = 10

#: What the text says of figure 2: "mostly between 0 and 2", "no more than 8".
USUALLY, AT_MOST = 2.0, 8.0

#: Where matrices are singular the paper adds a small number to their diagonal: from the start, or
#: where two samples are equal.
_SMALL = 1e-8
_RIDGE = {"linear": _SMALL, "quadratic": _SMALL, "Gaussian": 0.0}


# -- what is measured ------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def read_set(name: str) -> tuple[Array, Array, int]:
    """Features in [0, 1] and classes 0 and 1 of a set, and its number of attributes."""
    from lindero.data import load
    from lindero.evaluation import TableEncoder

    data = load(find_file(SETS[name].file))
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    y = np.array([str(label) in ("1", "positive") for label in np.asarray(data.y).tolist()])
    return TableEncoder(scaling="range").fit_transform(X), y.astype(np.int64), int(X.shape[1])


def describe_set(name: str) -> Measured:
    """Rows, attributes, and how many times as large the larger class is."""
    _, y, n_attributes = read_set(name)
    n_positive = int(y.sum())
    return {
        "rows": len(y), "attributes": n_attributes, "ratio": (len(y) - n_positive) / n_positive
    }  # fmt: skip


def order_rows(y: Array, seed: int) -> Array:
    """Rows in random order, but one of each class first: machines need both."""
    order = np.random.default_rng(seed).permutation(len(y))
    first = [int(np.flatnonzero(y[order] == label)[0]) for label in (0, 1)]
    return np.concatenate([order[first], np.delete(order, first)])


def measure_updates(name: str, kernel: str, sizes: Sequence[int], seed: int) -> Measured:
    """Milliseconds, iterations and corrections of rounding of one more sample for machines of each
    size, and milliseconds of training again: by decomposition, as in the paper, and by the solver
    that lindero chooses.

    Samples are added to a machine one after another: lists have one entry for each size, those of
    updates one list of them.
    """
    from lindero.svm import CostSensitiveSVC, IncrementalSVC

    X, y, _ = read_set(name)
    _warm_up(kernel)
    parameters = {**COSTS, **KERNELS[kernel]}
    order = order_rows(y, seed)
    updates, iterations, corrections, again, chosen = [], [], [], [], []
    for n in fit_sizes(sizes, len(y)):
        rows, added = order[:n], order[n : n + ADDITIONS]
        model = IncrementalSVC(**parameters).fit(X[rows], y[rows])
        updates.append([
            _measure(model.partial_fit, X[row : row + 1], y[row : row + 1]) for row in added
        ])  # fmt: skip
        iterations.append(model.updates_["iterations"][n:].tolist())
        corrections.append(model.updates_["corrections"][n:].tolist())
        one_more = order[: n + 1]
        batch = CostSensitiveSVC(**parameters, solver="working_set")
        again.append(_measure(batch.fit, X[one_more], y[one_more]))
        batch = CostSensitiveSVC(**parameters)
        chosen.append(_measure(batch.fit, X[one_more], y[one_more]))
    update = float(np.mean(updates[-1]))
    return {
        "sizes": fit_sizes(sizes, len(y)), "updates": updates, "iterations": iterations,
        "corrections": corrections, "again": again, "chosen": chosen,
        "update": update, "batch": again[-1],
        "ratio": again[-1] / update, "chosen_ratio": chosen[-1] / update,
    }  # fmt: skip


def fit_sizes(sizes: Sequence[int], n_rows: int) -> list[int]:
    """Those sizes that leave rows to add, and the largest possible one."""
    most = min(n_rows - ADDITIONS, sizes[-1])
    return [*(n for n in sizes if n < most), most]


def count_iterations(name: str, kernel: str, n: int, n_added: int, seed: int) -> Measured:
    """Mean iterations of the same updates, ours and by the printed algorithm."""
    from sklearn.metrics.pairwise import pairwise_kernels

    from lindero.svm import IncrementalSVC

    X, y, _ = read_set(name)
    rows = order_rows(y, seed)[: n + n_added]
    X, y = X[rows], y[rows]
    parameters = KERNELS[kernel]
    model = IncrementalSVC(**COSTS, **parameters).fit(X[:n], y[:n])
    options = {key: value for key, value in parameters.items() if key != "kernel"}
    K = pairwise_kernels(X, metric=parameters["kernel"], **options)
    factor = 2 * COSTS["cost_negative"] - 1
    printed = PublishedUpdates(
        K,
        np.where(y == 1, 1.0, -1.0),
        COSTS["C"] * np.where(y == 1, COSTS["cost_positive"], factor),
        np.where(y == 1, 1.0, 1 / factor),
        _RIDGE[kernel],
    )
    alpha = np.zeros(n)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    printed.start(alpha, float(model.intercept_[0]))
    theirs = [printed.add(new) for new in range(n, n + n_added)]
    for new in range(n, n + n_added):
        model.partial_fit(X[new : new + 1], y[new : new + 1])
    ours = model.updates_["iterations"][n:]
    return {
        "ours": float(ours.mean()),
        "printed": float(np.mean(theirs)),
        "apart": float(100 * np.mean(ours != theirs)),
    }


@lru_cache
def _warm_up(kernel: str) -> None:
    """Compile and load before anything is measured."""
    from lindero.svm import CostSensitiveSVC, IncrementalSVC

    random = np.random.default_rng(0)
    X = random.random((1200, 5))
    y = (X[:, 0] + 0.5 * random.random(1200) > 0.7).astype(np.int64)
    parameters = {**COSTS, **KERNELS[kernel]}
    for solver in ("working_set", "auto"):
        for n in (100, 1200):
            CostSensitiveSVC(**parameters, solver=solver).fit(X[:n], y[:n])
    model = IncrementalSVC(**parameters).fit(X[:1100], y[:1100])
    for row in range(1100, 1200):
        model.partial_fit(X[row : row + 1], y[row : row + 1])


def _measure(work: Callable[..., Any], *arguments: Any) -> float:
    """Milliseconds of the processor, all threads together."""
    begun = time.process_time()
    work(*arguments)
    return 1e3 * (time.process_time() - begun)


# -- the printed algorithm ------------------------------------------------------------------------

#: How far from its margin a value is on it.
_MET = 1e-9

#: Rates that are rounding.
_STILL = 1e-12

#: Share of its bound by which a coefficient may miss it at the start.
_AT_BOUND = 1e-7


class PublishedUpdates:
    """Learning a sample by algorithm 2.1 as it is printed, with equations (14) to (19): samples, α,
    b and the sets O, M and I; `add` returns the iterations of the while loop.

    Errata are corrected: it is printed with "while η = 1" for "while η < 1", and adds ψ to α where
    φ is meant. Two things it leaves open. An empty set M, where only b can move: here to where the
    first sample reaches its margin, which counts as an iteration. And a singular bordered matrix,
    for which it suggests a small multiple of the identity, added to Q: `ridge`. It is here to be
    counted beside `IncrementalSVC`, and is that one's slow twin in the tests: dense matrices,
    solved anew in every iteration.

    K are kernel values of all samples, those to come included, y is ±1, `bounds` are C_i and
    `margins` Ω_i.
    """

    def __init__(
        self, K: Array, y: Array, bounds: Array, margins: Array, ridge: float = 0.0
    ) -> None:
        self.Q = y[:, None] * y * (K + ridge * np.eye(len(y)))
        self.y, self.bounds, self.margins = y, bounds, margins
        self.alpha, self.b = np.zeros(len(y)), 0.0
        self.outside: list[int] = []
        self.on_margin: list[int] = []
        self.inside: list[int] = []

    def start(self, alpha: Array, b: float) -> None:
        """Begin at a known optimum over the first samples."""
        n = len(alpha)
        self.alpha[:n], self.b = alpha, b
        share = alpha / self.bounds[:n]
        self.outside = np.flatnonzero(share <= _AT_BOUND).tolist()
        self.inside = np.flatnonzero(share >= 1.0 - _AT_BOUND).tolist()
        free = (share > _AT_BOUND) & (share < 1.0 - _AT_BOUND)
        self.on_margin = np.flatnonzero(free).tolist()
        self.alpha[self.outside] = 0.0
        self.alpha[self.inside] = self.bounds[self.inside]

    def compute_values(self, samples: Sequence[int]) -> Array:
        """y f of some samples."""
        values: Array = self.Q[samples] @ self.alpha + self.y[samples] * self.b
        return values

    def add(self, new: int) -> int:
        """Learn a sample."""
        iterations = 0
        above = float(self.compute_values([new])[0] - self.margins[new])
        if above >= -_MET:
            (self.on_margin if above <= _MET else self.outside).append(new)
            return iterations
        while True:
            iterations += 1
            way = float(self.bounds[new] - self.alpha[new])
            others = [*self.outside, *self.inside, new]
            if self.on_margin:
                b_rate, phi = self._solve(new, way)
                psi = self.y[others] * b_rate + self.Q[np.ix_(others, self.on_margin)] @ phi
                psi += self.Q[others, new] * way
                eta = 1.0
            else:  # α waits for a partner
                b_rate, phi, way, eta = float(self.y[new]), np.zeros(0), 0.0, np.inf
                psi = self.y[others] * b_rate
            eta, sample, joins = self._find_event(others, psi, phi, eta)
            self.b += eta * b_rate
            self.alpha[self.on_margin] += eta * phi
            self.alpha[new] += eta * way
            if sample < 0:  # α of the new one has come to its bound
                self.alpha[new] = self.bounds[new]
                self.inside.append(new)
                return iterations
            self._move(sample, joins)
            if sample == new:
                return iterations

    def _solve(self, new: int, way: float) -> tuple[float, Array]:
        """The rates φ of b and of α on the margin, by (18)."""
        m = len(self.on_margin)
        bordered = np.zeros((m + 1, m + 1))
        bordered[0, 1:] = bordered[1:, 0] = self.y[self.on_margin]
        bordered[1:, 1:] = self.Q[np.ix_(self.on_margin, self.on_margin)]
        right = np.append(self.y[new], self.Q[self.on_margin, new]) * way
        try:
            rates = -np.linalg.solve(bordered, right)
        except np.linalg.LinAlgError:  # two equal samples on the margin
            bordered.flat[m + 2 :: m + 2] += _SMALL
            rates = -np.linalg.solve(bordered, right)
        return float(rates[0]), rates[1:]

    def _find_event(
        self, others: Sequence[int], psi: Array, phi: Array, eta: float
    ) -> tuple[float, int, str]:
        """The step by (15) and (16), and which sample goes where; −1 if none does."""
        sample, joins = -1, ""
        outside = set(self.outside)
        missing = self.margins[list(others)] - self.compute_values(others)
        for one, far, rate in zip(others, missing, psi, strict=True):
            inwards = -1.0 if one in outside else 1.0
            if inwards * rate > _STILL:
                step = max(inwards * far, 0.0) / (inwards * rate)
                if step < eta:
                    eta, sample, joins = step, one, "on_margin"
        for one, rate in zip(self.on_margin, phi, strict=True):
            room = self.bounds[one] - self.alpha[one]
            if rate < -_STILL and self.alpha[one] / -rate < eta:
                eta, sample, joins = self.alpha[one] / -rate, one, "outside"
            if rate > _STILL and room / rate < eta:
                eta, sample, joins = room / rate, one, "inside"
        return float(eta), int(sample), joins

    def _move(self, sample: int, joins: str) -> None:
        """A sample goes from its set, if it has one, to another."""
        for members in (self.outside, self.on_margin, self.inside):
            if sample in members:
                members.remove(sample)
        getattr(self, joins).append(sample)
        if joins != "on_margin":
            self.alpha[sample] = 0.0 if joins == "outside" else self.bounds[sample]


# -- what the text says, counted ------------------------------------------------------------------


def plan_points(measured: Sequence[Measured]) -> list[float]:
    """The points of figure 2: iterations of the first update at each size, repetitions averaged."""
    first = np.array([[counts[0] for counts in one["iterations"]] for one in measured])
    return [float(mean) for mean in first.mean(axis=0)]


def plan_share_above(measured: Sequence[Measured]) -> list[float]:
    """How many of the points are above 2, in per cent."""
    return [100 * float(np.mean(np.array(plan_points(measured)) > USUALLY))]


def plan_most(measured: Sequence[Measured], value: str = "iterations") -> list[float]:
    """The most iterations, or corrections, of a single update, by repetition."""
    return [float(np.max(one[value])) for one in measured]


def plan_curves(measured: Sequence[Measured]) -> list[dict[str, list[Measured]]]:
    """What works returned, by panel and then by kernel: repetitions."""
    n_seeds = len(measured) // (len(SETS) * len(KERNELS))
    curves = [list(measured[at : at + n_seeds]) for at in range(0, len(measured), n_seeds)]
    panels = [curves[at : at + len(KERNELS)] for at in range(0, len(curves), len(KERNELS))]
    return [dict(zip(KERNELS, panel, strict=True)) for panel in panels]


def plan_mean(works: Sequence[Measured], name: str) -> float:
    """The mean of a number over repetitions."""
    return float(np.mean([one[name] for one in works]))


def plan_faster(measured: Sequence[Measured]) -> list[float]:
    """How many curves end below those of training again."""
    curves = [works for panel in plan_curves(measured) for works in panel.values()]
    return [float(sum(plan_mean(own, "update") < plan_mean(own, "batch") for own in curves))]


def plan_longer(measured: Sequence[Measured], kernel: str) -> list[float]:
    """In how many panels training again takes longer than with the Gaussian kernel."""
    panels = plan_curves(measured)
    longer = (plan_mean(p[kernel], "batch") > plan_mean(p["Gaussian"], "batch") for p in panels)
    return [float(sum(longer))]


def plan_growth(measured: Sequence[Measured], name: str) -> list[float]:
    """The exponent e in time ∝ nᵉ, by least squares over the logarithms, for each curve."""
    exponents = []
    for panel in plan_curves(measured):
        for own in panel.values():
            times = np.mean([[np.mean(entry) for entry in one[name]] for one in own], axis=0)
            exponents.append(float(np.polyfit(np.log(own[0]["sizes"]), np.log(times), 1)[0]))
    return exponents


# -- pictures --------------------------------------------------------------------------------------


def draw_panels(
    figure: Figure, measured: Sequence[Measured]
) -> Iterator[tuple[Axes, str, list[Measured], dict[str, Any]]]:
    """Eight panels; yields for each curve its axes, kernel, repetitions and colours."""
    axes = figure.subplots(4, 2, sharey=True).ravel()
    for ax, name, panel in zip(axes, SETS, plan_curves(measured), strict=True):
        for k, (kernel, works) in enumerate(panel.items()):
            mark = {"color": COLOURS[k], "marker": MARKERS[(2, 3, 0)[k]], "markersize": 4}
            yield ax, kernel, works, mark
        ax.set_title(name)
        ax.set_xscale("log")
    for ax in axes[-2:]:
        ax.set_xlabel("samples held, n")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)


def draw_times(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 1."""
    for ax, kernel, works, mark in draw_panels(figure, measured):
        sizes = works[0]["sizes"]
        updates = np.mean([np.mean(one["updates"], axis=1) for one in works], axis=0)
        again = np.mean([one["again"] for one in works], axis=0)
        ax.plot(sizes, updates, "-", label=f"{kernel}, one more", **mark)
        ax.plot(sizes, again, "--", label=f"{kernel}, all again", markerfacecolor="none", **mark)
        ax.set_yscale("log")
    for ax in figure.axes[::2]:
        ax.set_ylabel("time, ms")


def draw_iterations(figure: Figure, measured: Sequence[Measured]) -> None:
    """Figure 2."""
    for ax, kernel, works, mark in draw_panels(figure, measured):
        ax.plot(works[0]["sizes"], plan_points(works), "-", label=kernel, **mark)
    for ax in figure.axes:
        ax.axhspan(0.0, USUALLY, color="#000000", alpha=0.06, linewidth=0)
        ax.axhline(AT_MOST, color=INK, linewidth=0.6, linestyle=":")
        ax.set_yscale("symlog", linthresh=USUALLY)
        ax.set_ylim(bottom=-0.1)
        ax.set_yticks([0, 1, 2, 8, 30, 100], ["0", "1", "2", "8", "30", "100"])
        ax.minorticks_off()
    for ax in figure.axes[::2]:
        ax.set_ylabel("iterations")


# -- the plan --------------------------------------------------------------------------------------


def plan(settings: Settings) -> PaperPlan:
    """The tables and figures."""
    sizes = settings.choose(full=SIZES, quick=_FEW_SIZES)
    seeds = settings.seeds(full=10, quick=2)
    updates = {
        (name, kernel): [
            Work(measure_updates, {"name": name, "kernel": kernel, "sizes": sizes, "seed": seed},
                 seconds=0.3 if settings.quick else 2.0, alone=True)
            for seed in seeds
        ]
        for name in SETS
        for kernel in KERNELS
    }  # fmt: skip
    every = [work for works in updates.values() for work in works]
    return PaperPlan(
        "icssvm",
        "ICSSVM: an incremental cost-sensitive support vector machine",
        "X. Quan, Y. Gu, G. Zheng, B. Gu (2016). Journal of University of Science and Technology "
        "of China 46(9), 727–735.",
        (
            plan_table_1(),
            PaperFigure(
                "icssvm-1", "Figure 1: time of an update, and of training again",
                "Milliseconds of the processor against the samples held: one sample more (lines) "
                "and all samples again by decomposition (dashes). Means of "
                f"{len(seeds)} repetitions with {ADDITIONS} updates each. The paper's axes have "
                "seconds on its machine; both are logarithmic here, since the two differ by powers "
                "of ten.", every, draw_times, (8.0, 10.0),
            ),
            plan_claims(every),
            plan_times(updates),
            PaperFigure(
                "icssvm-2", "Figure 2: iterations of an update",
                f"Mean of {len(seeds)} repetitions for one sample more, against the samples held. "
                "The grey band is what the text calls usual, 0 to 2; the dotted line, 8, is what "
                "it says no point exceeds.",
                every, draw_iterations, (8.0, 10.0),
            ),
            *plan_iterations(updates),
            plan_transcription(settings),
        ),
        "Features are scaled to [0, 1]; a constant column becomes 0 if it is 0 and otherwise 1. "
        "C = 10, C₊ = 1, C₋ = 2. Rows come in random order, but one of each class comes first, "
        "since small samples of abalone19 have no row of the smaller class otherwise; its one "
        "column of names (sex) becomes three. Times are of this machine and of compiled code, the "
        "paper's of Matlab on a laptop of 2015: only their ratios can be compared. The text "
        "announces numbers of samples on the margin, too, but prints none.",
    )  # fmt: skip


def plan_table_1() -> PaperTable:
    """The data sets."""
    cells = []
    for name, one in SETS.items():
        works = [Work(describe_set, {"name": name}, seconds=0.5)]
        cells += [
            Cell(name, "rows", works, "rows", one.n_rows, digits=0, rule="exact"),
            Cell(name, "attributes", works, "attributes", one.n_attributes, digits=0, rule="exact",
                 why="The file has 21 columns with values; the 22nd is empty, and files of this "
                     "format do not write what is empty."),
            Cell(name, "ratio", works, "ratio", one.ratio, digits=one.digits, rule="exact",
                 why="4142 rows to 32 are 129.4, which the paper seems to have rounded to tens."),
        ]  # fmt: skip
    return PaperTable(
        "Table 1: data sets", "Rows, attributes, and the ratio of the classes, counted.", cells
    )


def plan_claims(every: Sequence[Work]) -> PaperTable:
    """What the text says of figure 1."""
    n_curves = len(SETS) * len(KERNELS)
    cells = [
        SummaryCell(
            "an update is faster than training again", f"curves of {n_curves}", every,
            published=n_curves, digits=0, rule="exact", shown="“significantly”, in all panels",
            summarise=plan_faster, why="A curve ends above that of training again.",
        ),
        *(SummaryCell(
            "training again takes longer than with the Gaussian kernel",
            f"{kernel}, panels of {len(SETS)}", every, digits=0, rule="none", shown="“in most”",
            summarise=partial(plan_longer, kernel=kernel),
            remark="The paper has no number. Ours is that of data sets.",
        ) for kernel in ("linear", "quadratic")),
        SummaryCell(
            "growth with n", "exponent, update", every, digits=2, rule="none",
            shown="“basically unchanged”", summarise=partial(plan_growth, name="updates"),
            remark="e in time ∝ nᵉ, over all 24 curves. An update looks at every sample held once "
                   "at least, so that it cannot stay below 1 for ever.",
        ),
        SummaryCell(
            "growth with n", "exponent, batch", every, digits=2, rule="none",
            shown="“steady growth”", summarise=partial(plan_growth, name="again"),
            remark="The same of training again, by decomposition.",
        ),
    ]  # fmt: skip
    return PaperTable(
        "Figure 1 in words", "What the text says of figure 1, and what comes out here.", cells
    )


def plan_times(updates: dict[tuple[str, str], list[Work]]) -> PaperTable:
    """Times at the largest size, which the paper has as a picture only."""
    cells = []
    for (name, kernel), works in updates.items():
        row = f"{name}, {kernel}"
        cells += [
            Cell(row, "one more, ms", works, "update", digits=3),
            Cell(row, "all again / one more", works, "ratio", digits=0, unit="×"),
            Cell(row, "by lindero's choice / one more", works, "chosen_ratio", digits=0, unit="×"),
        ]
    return PaperTable(
        "Time at the largest size",
        "Processor time of an update at the largest n of each panel, and how many times as long "
        "training all samples again takes: by decomposition, as in the paper, and by the solver "
        "that lindero chooses.",
        cells,
    )


def plan_iterations(updates: dict[tuple[str, str], list[Work]]) -> list[PaperTable]:
    """What the text says of figure 2."""
    why = (
        "A point is a mean of few updates, and a single one that goes through many changes of "
        "the sets lifts it far. At 500 samples the printed algorithm takes as many on average "
        "(last table); which rows the paper added is not known."
    )
    points = [
        SummaryCell(
            name, kernel, works, published=AT_MOST, digits=2, rule="most", shown="at most 8",
            summarise=plan_points, why=why,
        )
        for (name, kernel), works in updates.items()
    ]  # fmt: skip
    shares = [
        SummaryCell(
            name, kernel, works, published=50.0, digits=0, rule="most", unit=" %",
            shown="under half (“mostly 0 to 2”)", summarise=plan_share_above,
            why="Most points of this curve lie above 2; the paper says “on most sets”.",
        )
        for (name, kernel), works in updates.items()
    ]  # fmt: skip
    most = [
        SummaryCell(
            name, f"{kernel}, {value}", works, digits=0, rule="none",
            summarise=partial(plan_most, value=value),
        )
        for (name, kernel), works in updates.items()
        for value in ("iterations", "corrections")
    ]  # fmt: skip
    return [
        PaperTable(
            "Figure 2 in numbers: its points",
            "Iterations of one update, repetitions averaged; mean ± sd over the sizes. The text "
            "says that no point is above 8.",
            points,
        ),
        PaperTable(
            "Figure 2 in numbers: points above 2",
            "How many of the points are above 2. The text says that on most sets most points are "
            "between 0 and 2.",
            shares,
        ),
        PaperTable(
            "The most iterations of a single update",
            "Mean ± sd over the repetitions, all sizes and updates of each together. The paper has "
            "averages only, which hide these. Corrections are steps that only remove rounding, "
            "which the printed algorithm does not do: they are no iterations.",
            most,
        ),
    ]


def plan_transcription(settings: Settings) -> PaperTable:
    """Our iterations beside those of the printed algorithm."""
    n, n_added = settings.choose(full=(500, 40), quick=(100, 20))
    cells = []
    for name in SETS:
        for kernel in KERNELS:
            works = [
                Work(count_iterations,
                     {"name": name, "kernel": kernel, "n": n, "n_added": n_added, "seed": seed},
                     seconds=0.5 if settings.quick else 3.0)
                for seed in settings.seeds(full=5, quick=1)
            ]  # fmt: skip
            remark = "Not in the paper." if kernel == "Gaussian" else (
                "Where more samples are on the margin than the kernel has dimensions the paper "
                "adds a small number to the diagonal, which is another problem; lindero moves "
                "along the direction without curvature."
            )  # fmt: skip
            cells += [
                Cell(f"{name}, {kernel}", "as printed", works, "printed"),
                Cell(f"{name}, {kernel}", "lindero", works, "ours"),
                Cell(f"{name}, {kernel}", "updates that differ", works, "apart", digits=1,
                     unit=" %", remark=remark),
            ]  # fmt: skip
    return PaperTable(
        "Iterations beside the printed algorithm",
        f"Mean iterations of the same {n_added} updates of machines over {n} samples: by the "
        "algorithm as it is printed (errata corrected), and by `IncrementalSVC`.",
        cells,
    )
