"""What a comparison found: scores of every machine on every fold, their ranking, and which to take.

Folds are few, and machines that are hardly worse than the best are often simpler. Of those that no
test tells from it, and that are within one standard error of it, the simplest is recommended, and
of equally simple ones the fastest.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from lindero.evaluation.measures import find_measure
from lindero.evaluation.registry import BASELINE, REGRESSION
from lindero.evaluation.significance import PairedTest, compare_with_best, estimate_error
from lindero.runtime.arrays import Array, make_plain

#: Fewer rows than this are warned of.
FEW_ROWS = 200

#: What measures are called in sentences.
_WORDS = {"error": "error", "cost": "mean cost", "rmse": "root mean squared error"}


@dataclass(frozen=True)
class MachineResult:
    """One machine of a comparison.

    Attributes
    ----------
    name, machine : str
        Its name in the comparison, and among :data:`lindero.evaluation.MACHINES`.
    simplicity : int
        1 for a machine that a sentence explains; larger for others.
    advantage : str
        Why to prefer it to others that are as good.
    scores : dict of str to ndarray of shape (n_folds,)
        Each measure on each fold; NaN where there is none (yet).
    seconds_learning, seconds_predicting : ndarray of shape (n_folds,)
        Time to choose parameters and fit, and to predict.
    parameters : list of dict or None
        What was chosen in each fold.
    answers : ndarray of shape (n_rows,)
        Out-of-fold predictions of the first round: positions among the classes (−1 where a row was
        not tested), or numbers (NaN).
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Out-of-fold probabilities; NaN where a row was not tested.
    failure : str or None
        Why it is not in the running.
    warnings : tuple of str
        What it warned of.

    See Also
    --------
    Comparison : All machines.
    """

    name: str
    machine: str
    simplicity: int
    advantage: str
    scores: dict[str, Array]
    seconds_learning: Array
    seconds_predicting: Array
    parameters: list[dict[str, Any] | None]
    answers: Array
    probabilities: Array | None
    failure: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def done(self) -> Array:
        """Which folds are done."""
        through: Array = ~np.isnan(self.seconds_learning)
        return through

    @property
    def is_judged(self) -> bool:
        """Whether it is in the running and has done a fold."""
        return self.failure is None and bool(self.done.any())

    def mean(self, measure: str) -> float:
        """Mean of a measure over the folds done; NaN if there are none."""
        values = self.scores[measure][self.done]
        return float(values.mean()) if len(values) else float("nan")

    def deviation(self, measure: str) -> float:
        """Its standard deviation over the folds; NaN with fewer than two."""
        values = self.scores[measure][self.done]
        return float(values.std(ddof=1)) if len(values) > 1 else float("nan")

    @property
    def seconds(self) -> float:
        """Median time of a fold, all in all; the first may include the time to compile."""
        both = (self.seconds_learning + self.seconds_predicting)[self.done]
        return float(np.median(both)) if len(both) else float("nan")

    @property
    def usual_parameters(self) -> dict[str, Any]:
        """What was chosen in most folds, of equals the first; for numbers that depend on the rows
        of a fold, such as gamma, the choice of the first fold."""
        chosen = [params for params in self.parameters if params is not None]
        if not chosen:
            return {}
        counts = Counter(repr(params) for params in chosen)
        most = max(counts.values())
        return next(params for params in chosen if counts[repr(params)] == most)


@dataclass(frozen=True)
class Comparison:
    """Machines under the same nested cross-validation, from :func:`compare`.

    Attributes
    ----------
    task : {"classification", "regression"}
        What was learned.
    measure : {"error", "cost", "rmse"}
        What machines are ranked by; less is better.
    data, target : str
        The data in a line, and the name of the target.
    classes, costs : ndarray or None
        The classes, in order; costs of predicting the class of a column where that of a row is
        true.
    n_rows : int
        Rows in all.
    fold_sizes : tuple of (int, int)
        Training and test rows of each fold.
    time_respecting : bool
        Whether folds go forward in time.
    truth : ndarray of shape (n_rows,)
        Positions of the true classes, or the targets.
    machines : tuple of MachineResult
        In the order in which they were given.
    baseline : float
        Mean score of always predicting the commonest class, the class of least cost, or the mean.
    notes : tuple of str
        Remarks on data, folds and machines.
    seconds : float
        Time in all.
    complete : bool
        Whether all folds of all machines were done.
    tuning_rows, random_state : int
        As given to :func:`compare`.
    left_out : tuple of str
        Columns that name the rows, which no machine was given.

    See Also
    --------
    compare : Where it comes from.
    lindero.report.write_report : The same as a page.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.evaluation import compare
    >>> result = compare(*load_iris(return_X_y=True), machines=["naive-bayes"], folds=3)
    >>> result, result.measures
    (Comparison(3 folds; from the best: naive-bayes), ('error', 'log_loss'))
    """

    task: str
    measure: str
    data: str
    target: str
    classes: Array | None
    costs: Array | None
    n_rows: int
    fold_sizes: tuple[tuple[int, int], ...]
    time_respecting: bool
    truth: Array
    machines: tuple[MachineResult, ...]
    baseline: float
    notes: tuple[str, ...]
    seconds: float
    complete: bool
    tuning_rows: int
    random_state: int
    left_out: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> MachineResult:
        found = {machine.name: machine for machine in self.machines}
        if name not in found:
            raise KeyError(f"There is no {name!r} in the comparison; there are {', '.join(found)}.")
        return found[name]

    def __repr__(self) -> str:
        names = ", ".join(machine.name for machine in self.ranked)
        return f"Comparison({len(self.fold_sizes)} folds; from the best: {names})"

    @property
    def measures(self) -> tuple[str, ...]:
        """What was measured, the measure of the ranking first."""
        if self.task == REGRESSION:
            return ("rmse", "mae")
        return ("error", "log_loss") if self.costs is None else ("cost", "error", "log_loss")

    @property
    def test_to_train(self) -> float:
        """Test rows for each training row, on average."""
        return float(np.mean([test / train for train, test in self.fold_sizes]))

    @cached_property
    def ranked(self) -> tuple[MachineResult, ...]:
        """Machines from the best to the worst; those that failed or have not begun come last."""

        def key(machine: MachineResult) -> tuple[float, int, float]:
            folds = self._common if self._common.any() else machine.done
            score = float(machine.scores[self.measure][folds].mean())
            return score, machine.simplicity, machine.seconds

        judged = sorted((m for m in self.machines if m.is_judged), key=key)
        return (*judged, *(m for m in self.machines if not m.is_judged))

    @cached_property
    def _common(self) -> Array:
        """Folds that all machines in the running have done."""
        running = [m.done for m in self.machines if m.is_judged]
        common: Array = np.logical_and.reduce([np.ones(len(self.fold_sizes), dtype=bool), *running])
        return common

    @property
    def best(self) -> MachineResult | None:
        """The machine of the least mean; of equals the simplest. None before the first fold."""
        return self.ranked[0] if self.ranked[0].is_judged else None

    @cached_property
    def against_best(self) -> dict[str, PairedTest]:
        """Every other machine held against the best, on the folds that all have done."""
        if self.best is None or not self._common.any():
            return {}
        scores = {m.name: m.scores[self.measure][self._common] for m in self.ranked if m.is_judged}
        best = scores.pop(self.best.name)
        tests = compare_with_best(best, list(scores.values()), self.test_to_train)
        return dict(zip(scores, tests, strict=True))

    @cached_property
    def standard_error(self) -> float:
        """Of the best machine's mean over folds that share rows; NaN with fewer than two."""
        if self.best is None:
            return float("nan")
        return estimate_error(self.best.scores[self.measure][self._common], self.test_to_train)

    def verdict(self, machine: MachineResult) -> tuple[str, str]:
        """The p-value of a machine against the best, and what it means, as text."""
        if machine is self.best:
            return "", "the best"
        test = self.against_best.get(machine.name)
        if test is None:
            return "", "no fold in common"
        p = "—" if math.isnan(test.adjusted) else f"{test.adjusted:.3f}"
        return p, "worse" if test.distinguishable else "not distinguishable"

    @cached_property
    def _equals(self) -> list[MachineResult]:
        """The best machine, and those that no test tells from it."""
        assert self.best is not None
        tests = self.against_best.items()
        return [self.best, *(self[name] for name, test in tests if not test.distinguishable)]

    @cached_property
    def recommended(self) -> MachineResult | None:
        """The simplest machine that is as good as the best; None where none was judged."""
        if self.best is None:
            return None
        reach = 0.0 if math.isnan(self.standard_error) else self.standard_error
        near = [
            machine
            for machine in self._equals
            if machine is self.best or self.against_best[machine.name].difference <= reach
        ]
        # The baseline, which looks at no column, is what others are held against.
        near = [machine for machine in near if machine.machine != BASELINE] or near
        return min(near, key=lambda machine: (machine.simplicity, machine.seconds))

    def recommendation(self) -> str:
        """Which machine to take and why, in plain words."""
        best, taken = self.best, self.recommended
        if best is None or taken is None:
            return "No machine was judged on any fold, so there is nothing to recommend."
        sentences = [_explain_choice(self, best, taken), _mention_others(self, self._equals, taken)]
        sentences += _list_cautions(self, best)
        return " ".join(sentence for sentence in sentences if sentence)

    def to_dict(self) -> dict[str, Any]:
        """All but predictions of single rows as plain values for JSON; the best machine first."""
        best, recommended = self.best, self.recommended
        names = (
            "data", "target", "task", "classes", "n_rows", "left_out", "time_respecting", "costs",
            "measure", "baseline", "complete", "seconds", "tuning_rows", "random_state", "notes",
        )  # fmt: skip
        values = {
            **{name: getattr(self, name) for name in names},
            "folds": self.fold_sizes,
            "best": None if best is None else best.name,
            "recommended": None if recommended is None else recommended.name,
            "recommendation": self.recommendation(),
            "machines": [self._machine_to_dict(machine) for machine in self.ranked],
        }
        return make_plain(values)  # type: ignore[no-any-return]

    def _machine_to_dict(self, machine: MachineResult) -> dict[str, Any]:
        test, told = self.against_best.get(machine.name), None
        if test is not None:
            told = {
                "difference": test.difference,
                "p_value": test.p_value,
                "p_value_adjusted": test.adjusted,
                "p_value_wilcoxon": test.wilcoxon,
                "verdict": test.verdict,
            }
        return {
            "name": machine.name,
            "machine": machine.machine,
            "failure": machine.failure,
            "mean": {name: machine.mean(name) for name in self.measures},
            "deviation": {name: machine.deviation(name) for name in self.measures},
            "scores": {name: machine.scores[name] for name in self.measures},
            "seconds_learning": machine.seconds_learning,
            "seconds_predicting": machine.seconds_predicting,
            "parameters": machine.parameters,
            "against_best": told,
            "warnings": machine.warnings,
        }


def _name_measure(measure: str) -> str:
    return _WORDS.get(measure, find_measure(measure).title)


def write_score(measure: str, value: float) -> str:
    """A score as people read it: errors in per cent, others with three figures."""
    if math.isnan(value):
        return "—"
    return f"{100 * value:.1f} %" if measure == "error" else f"{value:.3g}"


def write_mean(machine: MachineResult, measure: str) -> str:
    """Mean ± deviation over the folds."""
    mean, spread = machine.mean(measure), machine.deviation(measure)
    if math.isnan(mean):
        return "—"
    if measure == "error":
        own = f"{100 * mean:.1f}"
        return f"{own} %" if math.isnan(spread) else f"{own} ± {100 * spread:.1f} %"
    if math.isnan(spread):
        return f"{mean:.3g}"
    # As many places for both as the spread has with two figures.
    places = 0 if spread == 0 else max(0, min(6, 1 - math.floor(math.log10(spread))))
    return f"{mean:.3g} ± 0" if spread == 0 else f"{mean:.{places}f} ± {spread:.{places}f}"


def _explain_choice(comparison: Comparison, best: MachineResult, taken: MachineResult) -> str:
    measure, word = comparison.measure, _name_measure(comparison.measure)
    own = write_mean(taken, measure)
    if taken is best:
        lead = f"Take {taken.name}: its {word}, {own}, is the lowest"
        if not comparison.against_best:
            return f"{lead}, and no other machine was judged."
        return f"{lead} of {1 + len(comparison.against_best)} machines."
    return (
        f"Take {taken.name}: its {word} is {own}, and though {best.name} has "
        f"{write_score(measure, best.mean(measure))}, the folds do not tell the two apart "
        f"(p = {comparison.against_best[taken.name].adjusted:.2f}), and {taken.advantage}."
    )


def _mention_others(
    comparison: Comparison, equals: list[MachineResult], taken: MachineResult
) -> str:
    names = [m.name for m in equals[1:] if m is not taken]
    worse = len(comparison.against_best) + 1 - len(equals)
    if not names:
        others = "All others are" if worse > 1 else "The other one is"
        return f"{others} worse than the best by more than chance." if worse else ""
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    verb = "is" if len(names) == 1 else "are"
    rest = f", {worse} {'is' if worse == 1 else 'are'} worse" if worse else ""
    return f"Of the others, {listed} {verb} not distinguishable from the best{rest}."


def _list_cautions(comparison: Comparison, best: MachineResult) -> list[str]:
    measure, words = comparison.measure, []
    if best.mean(measure) >= comparison.baseline:
        constant = "the mean" if comparison.task == REGRESSION else "the same class"
        words.append(
            f"Caution: the baseline, always predicting {constant}, does as well "
            f"({write_score(measure, comparison.baseline)}), so these columns may say nothing "
            "about the target."
        )
    n_folds = int(best.done.sum())
    if comparison.n_rows < FEW_ROWS and n_folds > 1 and comparison.standard_error > 0:
        reach = stats.t.ppf(0.975, n_folds - 1) * comparison.standard_error
        words.append(
            f"Caution: with {comparison.n_rows} rows the best machine's own "
            f"{_name_measure(measure)} is known to about ± {write_score(measure, float(reach))} only; "
            "more rows may change the order."
        )
    elif comparison.n_rows < FEW_ROWS:
        words.append(f"Caution: {comparison.n_rows} rows are few; more rows may change the order.")
    if 1 < n_folds < 4:
        words.append(
            f"Caution: with {n_folds} folds hardly any difference can be told from chance."
        )
    if not comparison.complete:
        words.append("The comparison was cut short, so all of this is about the folds done.")
    return words
