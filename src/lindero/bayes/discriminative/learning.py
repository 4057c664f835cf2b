"""Discriminative parameters: the network of a graph that predicts the class of its rows best.

Generative parameters make whole rows most probable, discriminative ones their classes given the
attributes. The objective is in `objective`; there are two solvers:

    "tm"            moves counts (`tm`): each step is a set of consistent counts. Where counts
                    close to zero allow only small steps L-BFGS goes on, and the status says so
    "accelerated"   L-BFGS (`lbfgs`), in fewer iterations where steps are many

Both begin at the generative estimate, and for naive Bayes and trees without missing values and
without a penalty they end in the same network.

**Early stopping.** Discriminative parameters of many tables overfit long before their optimum.
After each step the log-loss of validation rows, −Σ w log P(y | x) / Σ w, is taken. Once it has not
improved for `patience` steps learning ends, with the parameters of the best step. The generative
estimate is the first of them.

**Choice of the penalty.** Small tables of many parameters need a strong penalty, large ones hardly
any. For every strength of a fixed list and for every fold, parameters are learned from the other
folds (so are cut points and arcs, by the caller who makes the folds) and judged by the log-loss of
the fold's rows. The largest strength is taken whose loss exceeds the least one by no more than the
standard error of the difference: where rows cannot tell two apart, the one nearer to the generative
estimate is safer. The i-th row of a class is in fold i mod 5: nothing is drawn.

**Parents without any value** tell their children nothing. They are left out before learning, and
put in again afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from lindero.bayes.columns.moments import Moments, add_log_densities
from lindero.bayes.discriminative.cells import FamilyCells
from lindero.bayes.discriminative.convergence import LearningEnd, LearningOutcome, LearningStep
from lindero.bayes.discriminative.lbfgs import climb
from lindero.bayes.discriminative.logistic import fit_margins
from lindero.bayes.discriminative.objective import ConditionalProblem, ConditionalRows, Watch
from lindero.bayes.discriminative.tm import LearningResult, move_counts
from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.runtime.arrays import Array

#: Iterations without which L-BFGS is not begun.
_FEWEST_LEFT = 2


def move_counts_or_climb(
    problem: ConditionalProblem, max_iter: int, tolerance: float, watch: Watch | None = None
) -> LearningResult:
    """Move counts, and climb from where that stalls."""
    moved = move_counts(problem, max_iter, tolerance, watch)
    left = max_iter - moved.n_iter
    if moved.end.outcome is not LearningOutcome.STALLED or left < _FEWEST_LEFT:
        return moved
    climbed = climb(problem, left, tolerance, watch, moved.parameters)
    end, n_steps = climbed.end, len(moved.trace) - 1
    handed_over = (
        f" Counts close to zero allowed only small steps: after {n_steps} of them L-BFGS went on "
        "from there."
    )
    return LearningResult(
        climbed.parameters,
        (*moved.trace, *climbed.trace[1:]),
        moved.n_iter + climbed.n_iter,
        LearningEnd(end.outcome, end.status + handed_over),
    )


SOLVERS: dict[str, Callable[[ConditionalProblem, int, float, Watch | None], LearningResult]] = {
    "tm": move_counts_or_climb,
    "accelerated": climb,
}

#: Pseudo-counts of every value that are tried.
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)

N_FOLDS = 5

#: Relative improvement at which learning ends here; no finer one changes a choice.
FOLD_TOLERANCE = 1e-6


#: The log-loss of a network with its means and standard deviations.
Measure = Callable[[Network, Array, Array], float]


# -- early stopping -------------------------------------------------------------------------------


class EarlyStopping:
    """Ends learning by the log-loss of validation rows, after `patience` steps without improvement.

    `losses` are those after each step, the first being that of the generative estimate; `best` are
    the network, means and standard deviations of the least one. A code of r + 1 is a new value.
    """

    def __init__(
        self,
        codes: Array,
        y: Array,
        weights: Array | None = None,
        numbers: Array | None = None,
        patience: int = 5,
    ) -> None:
        y = np.asarray(y, dtype=np.int64)
        weights = np.ones(len(y)) if weights is None else np.asarray(weights)
        if not weights.sum() > 0:
            raise ValueError("Early stopping needs validation rows with weight.")
        numbers = np.empty((0, len(y))) if numbers is None else numbers

        def measure(network: Network, mean: Array, sd: Array) -> float:
            losses = compute_row_losses(network, mean, sd, codes, y, numbers)
            return float(weights @ losses / weights.sum())

        self._begin(measure, patience)

    @classmethod
    def by(cls, measure: Measure, patience: int = 5) -> EarlyStopping:
        """By a function that gives the log-loss of rows which are elsewhere."""
        stopping = cls.__new__(cls)
        stopping._begin(measure, patience)
        return stopping

    def _begin(self, measure: Measure, patience: int) -> None:
        if patience < 1:
            raise ValueError(f"patience is {patience}: it must be one step or more.")
        self.measure, self.patience = measure, patience
        self.losses: list[float] = []
        self.best: tuple[Network, Array, Array] | None = None

    @property
    def best_step(self) -> int:
        """The step of the least loss, the first of those that are equal."""
        return int(np.argmin(self.losses))

    def __call__(self, network: Network, mean: Array, sd: Array) -> bool:
        """Take the loss of the parameters after a step; True ends learning."""
        self.losses.append(self.measure(network, mean, sd))
        if self.best_step == len(self.losses) - 1:
            self.best = network, mean, sd
        return len(self.losses) - 1 - self.best_step >= self.patience


def compute_row_losses(
    network: Network, mean: Array, sd: Array, codes: Array, y: Array, numbers: Array
) -> Array:
    """−log P(y | x) of every row."""
    return -compute_log_posteriors(network, mean, sd, codes, numbers)[np.arange(len(y)), y]


def compute_log_posteriors(
    network: Network, mean: Array, sd: Array, codes: Array, numbers: Array
) -> Array:
    """log P(c | x) of every row, (n_rows, K)."""
    scores = network.log_joint(codes)
    if len(numbers):
        add_log_densities(np.ascontiguousarray(numbers), mean, sd, scores)
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


# -- learning -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DiscriminativeFit:
    """What discriminative learning found."""

    network: Network
    mean: Array  # of the normals of numbers, (n_numbers, K)
    sd: Array
    trace: tuple[LearningStep, ...]  # from the generative estimate on
    n_iter: int  # evaluations of the objective
    end: LearningEnd
    is_global: bool  # whether this is the optimum, and the only one

    @property
    def status(self) -> str:
        """Why learning ended, in sentences."""
        return self.end.status

    @property
    def is_converged(self) -> bool:
        """Whether learning came to rest at a maximum, or was stopped early."""
        return self.end.outcome.is_converged


def learn_discriminatively(
    families: FamilyCounts,
    codes: Array,
    y: Array,
    weights: Array | None = None,
    *,
    numbers: Array | None = None,
    moments: Moments | None = None,
    alpha: float = 1.0,
    prior: Array | None = None,
    penalty: float = 0.0,
    solver: str = "accelerated",
    max_iter: int = 1000,
    tolerance: float = 1e-8,
    stopping: EarlyStopping | None = None,
    n_threads: int | None = None,
) -> DiscriminativeFit:
    """Learn the parameters of a graph for the prediction of the class.

    `families` are the graph and its counts, whose estimate with `alpha` pseudo-counts, above 0, and
    class probabilities `prior` (by default their shares) is the start. Rows are as in
    `ConditionalRows`; `moments` are those of `numbers`. `penalty` are pseudo-counts of every value,
    distributed as that estimate. Learning ends after `max_iter` evaluations of the objective, when
    an iteration improves it by less than the share `tolerance`, or by `stopping`.
    """
    require_options(solver, max_iter)
    problem = _pose_problem(
        families, codes, y, weights, numbers, moments, alpha, prior, n_threads
    ).with_penalty(penalty)
    return solve_problem(problem, families, solver, max_iter, tolerance, stopping)


def require_options(solver: str, max_iter: int) -> None:
    """Refuse a solver that there is not, and too few iterations."""
    if solver not in SOLVERS:
        raise ValueError(f"solver is {solver!r}; there are {sorted(SOLVERS)}.")
    if max_iter < 2:
        raise ValueError(f"max_iter is {max_iter}: learning takes two iterations at least.")


def solve_problem(
    problem: ConditionalProblem,
    families: FamilyCounts,
    solver: str,
    max_iter: int,
    tolerance: float,
    stopping: EarlyStopping | None = None,
) -> DiscriminativeFit:
    """Learn the parameters of a graph from a problem that is posed, over families without unseen
    parents; `families` may have them."""
    if stopping is not None:
        problem.show(problem.estimate(problem.counts, problem.sums), stopping)
    result = SOLVERS[solver](problem, max_iter, tolerance, stopping)
    network = problem.build_network(result.parameters)
    mean, sd = problem.rows.gaussian.unstandardise(result.parameters.mean, result.parameters.sd)
    end, trace = result.end, result.trace
    if stopping is not None and stopping.best is not None:
        network, mean, sd = stopping.best
        _, logs = FamilyCells.from_network(network)
        if problem.is_free:
            logs = fit_margins(problem.rows.cells, logs, problem.counts.sum(axis=1))
            network = problem.build_network(replace(result.parameters, logs=logs))
        if end.outcome is LearningOutcome.STOPPED_EARLY or stopping.best_step < len(trace) - 1:
            end = LearningEnd.of(LearningOutcome.STOPPED_EARLY, best=stopping.best_step)
        trace = trace[: stopping.best_step + 1]
    is_global = problem.is_free and end.outcome is LearningOutcome.CONVERGED
    network = restore_network(network, families)
    return DiscriminativeFit(network, mean, sd, trace, result.n_iter, end, is_global)


def _pose_problem(
    families: FamilyCounts,
    codes: Array,
    y: Array,
    weights: Array | None,
    numbers: Array | None,
    moments: Moments | None,
    alpha: float,
    prior: Array | None = None,
    n_threads: int | None = None,
) -> ConditionalProblem:
    """The problem without a penalty; see `learn_discriminatively`."""
    families = drop_unseen_parents(families)
    n_classes = len(families.of_class)
    cells = FamilyCells(families.parents, families.with_class, families.cards, n_classes)
    rows = ConditionalRows(cells, codes, y, weights, numbers, n_threads)
    if moments is None and numbers is not None:
        moments = Moments.of(np.ascontiguousarray(numbers), y, n_classes, weights)
    return ConditionalProblem.of(rows, families, alpha, moments, prior)


# -- choice of the penalty ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Coded rows, their classes, weights and numbers."""

    codes: Array
    y: Array
    weights: Array | None
    numbers: Array


def assign_folds(y: Array) -> Array:
    """The fold of each row, classes being spread evenly."""
    fold = np.empty(len(y), dtype=np.int64)
    for c in np.unique(y):
        own = np.flatnonzero(y == c)
        fold[own] = np.arange(len(own)) % N_FOLDS
    return fold


@dataclass(frozen=True, eq=False)
class PenaltyFold:
    """The rows to learn from, with their counts, and the rows held out, with their places."""

    families: FamilyCounts
    moments: Moments
    rows: LearningRows
    held: LearningRows
    places: Array


def choose_penalty(
    folds: Iterable[PenaltyFold],
    weights: Array,
    alpha: float,
    solver: str = "accelerated",
    max_iter: int = 1000,
    is_time_up: Callable[[], bool] = lambda: False,
) -> tuple[float, dict[float, float]]:
    """The strength to take, and the cross-validated log-loss of each. Every row, of these weights,
    is held out once at most. Rows of a fold are prepared once, for all strengths. When time is up,
    the folds so far decide: one at the least."""
    losses, judged = np.zeros((len(STRENGTHS), len(weights))), np.zeros(len(weights))
    for fold in folds:
        if judged.any() and is_time_up():
            break
        rows, held = fold.rows, fold.held
        judged[fold.places] = weights[fold.places]
        problem = _pose_problem(
            fold.families, rows.codes, rows.y, rows.weights, rows.numbers, fold.moments, alpha
        )
        for at, strength in enumerate(STRENGTHS):
            posed = problem.with_penalty(strength)
            found = SOLVERS[solver](posed, max_iter, FOLD_TOLERANCE, None).parameters
            network = restore_network(posed.build_network(found), fold.families)
            normals = problem.rows.gaussian.unstandardise(found.mean, found.sd)
            losses[at, fold.places] = compute_row_losses(
                network, *normals, held.codes, held.y, held.numbers
            )
    if not judged.any():  # no class has two rows
        return STRENGTHS[-1], {}
    mean = losses @ judged / judged.sum()
    chosen = STRENGTHS[_choose_safest(losses, judged)]
    return chosen, dict(zip(STRENGTHS, mean.tolist(), strict=True))


def _choose_safest(losses: Array, weights: Array) -> int:
    """The strongest whose loss is within a standard error of the least; see the module."""
    total = weights.sum()
    best = int(np.argmin(losses @ weights))
    apart = losses - losses[best]
    mean = apart @ weights / total
    variance = ((apart - mean[:, None]) ** 2) @ weights / total
    return choose_safest(best, mean, variance, total)


def choose_safest(best: int, mean: Array, variance: Array, total: float) -> int:
    """The same from the `best`, and from mean and variance of what rows, of a total weight, lose
    more than with it."""
    near = mean <= np.sqrt(variance) / np.sqrt(total)
    near[: best + 1] = False
    near[best] = True
    return int(np.flatnonzero(near)[-1])


# -- parents without any value --------------------------------------------------------------------


def drop_unseen_parents(families: FamilyCounts) -> FamilyCounts:
    """The same families without parents that no row has a value of."""
    gone = _find_unseen(families)
    if not gone:
        return families
    parents, tables = [], []
    for above, table in zip(families.parents, families.tables, strict=True):
        kept = tuple(0 if p in gone else slice(None) for p in above)
        parents.append(tuple(p for p in above if p not in gone))
        tables.append(table[(slice(None), *kept)])
    return replace(families, parents=tuple(parents), tables=tuple(tables))


def restore_network(network: Network, families: FamilyCounts) -> Network:
    """A network without such parents as one of the graph of `families`, with them."""
    gone = _find_unseen(families)
    if not gone:
        return network
    log_tables, unseen, without_empty = [], [], {}
    for i, above in enumerate(families.parents):
        new = None if network.unseen is None else network.unseen[i]
        pair = [network.log_tables[i], network.log_tables[i][..., 0, :] if new is None else new]
        for axis, p in enumerate(above):
            if p in gone:
                times = max(1, int(network.cards[p]))
                pair = [np.repeat(np.expand_dims(part, axis), times, axis) for part in pair]
        if any(network.cards[p] == 0 for p in above):
            without_empty[i] = pair[0], pair[1]
            kept = tuple(slice(0 if network.cards[p] == 0 else None) for p in above)
            pair = [part[kept] for part in pair]
        log_tables.append(pair[0])
        unseen.append(pair[1])
    return replace(
        network,
        parents=families.parents,
        log_tables=tuple(log_tables),
        unseen=None if network.unseen is None else tuple(unseen),
        without_empty=without_empty,
    )


def _find_unseen(families: FamilyCounts) -> set[int]:
    """Attributes that are someone's parent, and that no row has a value of."""
    return {p for above in families.parents for p in above if not np.any(families.tables[p][1:])}
