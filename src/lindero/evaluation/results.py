"""What a comparison found: scores of every machine on every fold, their ranking, and which to take.

Machines that no test tells from the best, and that give away at most half a standard error (the
smaller one of the best machine's score and of the difference), are as good as it by this measure.
Where the measure counts answers, which are right or wrong, the Brier score tells them apart
further: it sees by how much, and moves less from sample to sample. (Log-loss does so, too, but
hangs on a few rows where machines whose answers are good are overconfident, as naive Bayes often
is.) A simpler machine is recommended where it gives away at most a tenth of a standard error of the
finest measure there is, and of equally simple ones the fastest; what is given away is said.

A machine that answers the same whatever the columns say, the baseline above all, is never
recommended while another one is better by a proper score: where a class is rare, the same answer
for all has few errors, and is of no use. Nor is the baseline while another one ranks the rows far
better than chance: probabilities from few rows may be worse than the shares of the classes, and
still tell who is to be looked at first.

Scores, ranking and the sentences about them are one file: what is said is what the ranking did.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lindero.evaluation.measures import (
    LABELS,
    MEASURES,
    NUMBERS,
    PROBABILITIES,
    Measure,
    average_folds,
    choose_others,
    find_measure,
    find_positive,
)
from lindero.evaluation.registry import CLASSIFICATION, REGRESSION
from lindero.evaluation.significance import (
    LEVEL,
    MANY_FOLDS,
    PairedTest,
    PooledRows,
    RowTest,
    compare_rows,
    compare_with_best,
    estimate_error,
    estimate_row_error,
    rank_test,
)
from lindero.runtime.arrays import Array, make_plain, write_plain

#: Fewer rows than this are warned of.
FEW_ROWS = 200

#: The name of the machine that looks at no column.
BASELINE = "baseline"

#: What measures are called in sentences, where it is not their title.
_WORDS = {"cost": "mean cost", "rmse": "root mean squared error"}

#: From this area below the ROC curve on the columns say something about the target.
SOME_AREA = 0.6

#: Differences of up to this share of a standard error say nothing.
AS_GOOD = 0.5

#: A simpler machine may be worse by at most this share of a standard error of the finest measure.
GIVEN_AWAY = 0.1

#: What tells machines apart that are as good by their answers.
FINER = "brier"


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

    @property
    def is_baseline(self) -> bool:
        """Whether it is the machine that looks at no column."""
        return self.machine == BASELINE

    @cached_property
    def is_constant(self) -> bool:
        """Whether all rows that it was tested on got the same answer."""
        known = self.answers == self.answers  # not NaN
        known = known if self.answers.dtype.kind == "f" else self.answers >= 0
        return len(np.unique(self.answers[known])) == 1

    def mean(self, measure: str) -> float:
        """Mean of a measure over the folds that could be judged; NaN if there are none."""
        return average_folds(self.scores[measure][self.done])

    def deviation(self, measure: str) -> float:
        """Its standard deviation over the folds; NaN with fewer than two."""
        values = self.scores[measure][self.done]
        values = values[~np.isnan(values)]
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
    measure : str
        What machines are ranked by, one of :data:`lindero.evaluation.MEASURES`.
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
        Mean score, by the measure, of always predicting the commonest class, the class of least
        cost, or the mean.
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
    weights : ndarray of shape (n_rows,) or None
        How much each row counts.
    reason : str
        Why it is this measure.

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
    (Comparison(3 folds; from the best: naive-bayes), ('error', 'log_loss', 'roc_auc'))
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
    weights: Array | None = None
    reason: str = ""

    def __getitem__(self, name: str) -> MachineResult:
        found = {machine.name: machine for machine in self.machines}
        if name not in found:
            raise KeyError(f"There is no {name!r} in the comparison; there are {', '.join(found)}.")
        return found[name]

    def __repr__(self) -> str:
        names = ", ".join(machine.name for machine in self.ranked)
        return f"Comparison({len(self.fold_sizes)} folds; from the best: {names})"

    @cached_property
    def _measure(self) -> Measure:
        return find_measure(self.measure)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """What is shown: the measure of the ranking first, and two others."""
        return choose_others(self.measure, self.task, self.truth, self.costs, self.weights)

    @property
    def test_to_train(self) -> float:
        """Test rows for each training row, on average."""
        return float(np.mean([test / train for train, test in self.fold_sizes]))

    @cached_property
    def ranked(self) -> tuple[MachineResult, ...]:
        """Machines from the best to the worst; those that failed or have not begun come last."""

        def key(machine: MachineResult) -> tuple[float, int, float]:
            folds = self._common if self._common.any() else machine.done
            score = self._measure.orient(average_folds(machine.scores[self.measure][folds]))
            return math.inf if math.isnan(score) else score, machine.simplicity, machine.seconds

        judged = sorted((m for m in self.machines if m.is_judged), key=key)
        return (*judged, *(m for m in self.machines if not m.is_judged))

    @cached_property
    def _common(self) -> Array:
        """Folds that all machines in the running have done."""
        running = [m.done for m in self.machines if m.is_judged]
        common: Array = np.logical_and.reduce([np.ones(len(self.fold_sizes), dtype=bool), *running])
        return common

    @property
    def is_uneven(self) -> bool:
        """Whether machines have done different folds, of which some are common to all."""
        folds = self._common
        return bool(folds.any()) and any(
            (machine.done != folds).any() for machine in self.machines if machine.is_judged
        )

    @property
    def n_common(self) -> int:
        """Folds that all machines in the running have done."""
        return int(self._common.sum())

    def take_common(self, machine: MachineResult) -> MachineResult:
        """A machine with its scores on the folds by which all are ranked."""
        if not self.is_uneven:
            return machine
        folds = self._common
        scores = {name: np.where(folds, own, np.nan) for name, own in machine.scores.items()}
        return replace(machine, scores=scores)

    @cached_property
    def best(self) -> MachineResult | None:
        """The machine of the best mean; of equals the simplest. None before the first fold. One
        that answers the same for all rows is passed over while another is better by a proper
        score."""
        judged = [machine for machine in self.ranked if machine.is_judged]
        if not judged:
            return None
        sound = (machine for machine in judged if not self._is_beaten_constant(machine))
        return next(sound, None) or self._find_best_constant(judged)

    def _is_beaten_constant(self, machine: MachineResult) -> bool:
        """Whether it gives the same answer to all rows, and another machine is better by any proper
        score; or is the baseline, and another one ranks the rows. Where the measure looks at
        probabilities, answers do not count."""
        looks_at_answers = self._measure.needs in (LABELS, NUMBERS)
        if machine.is_baseline and self._is_ranking_found:
            return True
        if not (machine.is_baseline or (looks_at_answers and machine.is_constant)):
            return False
        return any(
            measure.orient(other.mean(measure.name)) < measure.orient(machine.mean(measure.name))
            for other in self.machines
            if other.is_judged and not other.is_baseline and other is not machine
            for measure in MEASURES.values()
            if measure.is_proper and measure.name in machine.scores
        )

    @cached_property
    def _is_ranking_found(self) -> bool:
        """Whether a machine has a ROC AUC of 0.6, and ranks the rows better than chance."""
        found = []
        for machine in self.machines:
            if not machine.is_judged or machine.is_baseline or machine.probabilities is None:
                continue
            rows = np.flatnonzero(~np.isnan(machine.probabilities).any(axis=1))
            p_value = rank_test(self.truth[rows], machine.probabilities[rows])
            found.append(p_value if machine.mean("roc_auc") >= SOME_AREA else 1.0)
        return bool(found) and len(found) * min(found) < LEVEL

    def _find_best_constant(self, judged: list[MachineResult]) -> MachineResult:
        """Where all answer the same, and each is beaten by another: the one of the best
        probabilities, or numbers."""
        others = [machine for machine in judged if not machine.is_baseline]
        proper = "log_loss" if self.task == CLASSIFICATION else "rmse"
        return min(others, key=lambda machine: np.nan_to_num(machine.mean(proper), nan=np.inf))

    @property
    def columns_say_something(self) -> bool:
        """Whether a machine beats the baseline by a proper score, or has a ROC AUC of 0.6."""
        judged = [machine for machine in self.machines if machine.is_judged]
        known = [m for m in judged if "roc_auc" in m.scores and not m.is_baseline]
        return any(self._is_beaten_constant(m) for m in judged if m.is_baseline) or any(
            machine.mean("roc_auc") >= SOME_AREA for machine in known
        )

    def describe_baseline(self) -> str:
        """What the baseline answers, in words that stand behind its name."""
        if self.task == REGRESSION:
            return "always predicting the mean"
        if self._measure.needs == PROBABILITIES:
            return "the shares of the classes for every row"
        return "always predicting the same class"

    @cached_property
    def against_best(self) -> dict[str, PairedTest]:
        """Every other machine held against the best, on the folds and rows that both have done."""
        if self.best is None or not self._common.any():
            return {}
        best, folds = self.best, self._common
        others = [m for m in self.ranked if m.is_judged and m is not best and self._has_score(m)]
        for machine in (best, *others):
            folds = folds & ~np.isnan(machine.scores[self.measure])
        if not folds.any():
            return {}
        scores = [self._measure.orient(m.scores[self.measure][folds]) for m in (best, *others)]
        rows = [self._compare_rows(best, machine) for machine in others]
        tests = compare_with_best(scores[0], scores[1:], self.test_to_train, rows)
        return {machine.name: test for machine, test in zip(others, tests, strict=True)}

    @property
    def test_name(self) -> str:
        """The test that machines are held against the best by."""
        names = dict.fromkeys(test.test for test in self.against_best.values())
        return " or ".join(names) or "no test"

    def _has_score(self, machine: MachineResult) -> bool:
        return bool(np.any(~np.isnan(machine.scores[self.measure][self._common])))

    @cached_property
    def _pooled(self) -> PooledRows:
        positive = None
        if self.classes is not None and len(self.classes) == 2:
            positive = find_positive(self.truth)
        return PooledRows(self._measure, self.truth, self.weights, self.costs, positive)

    def _take_tested(self, *machines: MachineResult) -> tuple[PooledRows, list[Any]]:
        """Rows that all of these machines have predicted, and their predictions."""
        known = np.ones(self.n_rows, dtype=bool)
        for machine in machines:
            known &= (
                machine.answers >= 0
                if self.task == CLASSIFICATION
                else (~np.isnan(machine.answers))
            )
            if machine.probabilities is not None:
                known &= ~np.isnan(machine.probabilities).any(axis=1)
        rows = np.flatnonzero(known)
        tables = [m.probabilities for m in machines]
        taken = [None if table is None else table[rows] for table in tables]
        found = [(m.answers[rows], table) for m, table in zip(machines, taken, strict=True)]
        return self._pooled.take(rows), found

    def _compare_rows(self, best: MachineResult, other: MachineResult) -> RowTest | None:
        """The test of pooled rows, where folds are few."""
        if len(self.fold_sizes) >= MANY_FOLDS:
            return None
        rows, predictions = self._take_tested(best, other)
        return compare_rows(rows, *predictions)

    @cached_property
    def standard_error(self) -> float:
        """Of the best machine's score: from the rows tested where folds are few, else from folds,
        which share rows; NaN with fewer than two."""
        if self.best is None:
            return float("nan")
        own = math.nan
        if len(self.fold_sizes) < MANY_FOLDS:
            rows, (predictions,) = self._take_tested(self.best)
            own = estimate_row_error(rows, predictions)
        if not math.isnan(own):
            return own
        return estimate_error(self.best.scores[self.measure][self._common], self.test_to_train)

    def verdict(self, machine: MachineResult) -> tuple[str, str]:
        """The p-value of a machine against the best, and what it means, as text."""
        if machine is self.best:
            return "", "the best"
        test = self.against_best.get(machine.name)
        if test is None:
            return "", "no score in common"
        p = "—" if math.isnan(test.adjusted) else f"{test.adjusted:.3f}"
        if machine.is_baseline:
            return p, "baseline"
        return p, "worse" if test.distinguishable else "not distinguishable"

    @cached_property
    def _equals(self) -> list[MachineResult]:
        """The best machine, and those that no test tells from it."""
        assert self.best is not None
        tests = self.against_best.items()
        equals = [self[name] for name, test in tests if not test.distinguishable]
        return [self.best, *(m for m in equals if not self._is_beaten_constant(m))]

    @cached_property
    def recommended(self) -> MachineResult | None:
        """The simplest of the machines that are as good as the best by the finest measure there is;
        None where none was judged."""
        if self.best is None:
            return None
        near = self._find_near(AS_GOOD)
        sharpest = self.sharpest
        if sharpest is None:
            near = self._find_near(GIVEN_AWAY)
        else:
            near = [m for m in near if self._is_as_sharp(m, sharpest)]
        return min(near, key=lambda machine: (machine.simplicity, machine.seconds))

    @cached_property
    def sharpest(self) -> MachineResult | None:
        """The machine of the best Brier score among those as good as the best by their answers;
        None where the measure looks at probabilities or numbers itself, or they are not known."""
        if self.best is None or self._measure.needs != LABELS:
            return None
        known = [m for m in self._find_near(AS_GOOD) if not math.isnan(self.find_finer(m))]
        return min(known, key=self.find_finer) if self.best in known else None

    def find_finer(self, machine: MachineResult) -> float:
        """The Brier score on the folds by which all are ranked; NaN where it is not known."""
        if machine.probabilities is None or FINER not in machine.scores:
            return math.nan
        return self.take_common(machine).mean(FINER)

    def _is_as_sharp(self, machine: MachineResult, sharpest: MachineResult) -> bool:
        if machine is sharpest:
            return True
        rows, predictions = self._take_tested(sharpest, machine)
        test = compare_rows(replace(rows, measure=find_measure(FINER)), *predictions)
        if test is None:
            return False
        away = self.find_finer(machine) - self.find_finer(sharpest)
        return bool(away <= GIVEN_AWAY * test.standard_error)

    def _find_near(self, share: float) -> list[MachineResult]:
        """The best machine, and those that give away at most this share of a standard error: the
        smaller one of the best machine's score and of the difference."""

        def is_near(machine: MachineResult) -> bool:
            test = self.against_best[machine.name]
            errors = [self.standard_error, test.standard_error]
            known = [error for error in errors if not math.isnan(error)]
            return test.difference <= (share * min(known) if known else 0.0)

        return [m for m in self._equals if m is self.best or is_near(m)]

    def recommendation(self) -> str:
        """Which machine to take and why, in plain words."""
        best, taken = self.best, self.recommended
        if best is None or taken is None:
            cut = "" if self.complete else " before the comparison was cut short"
            return f"No machine was judged on any fold{cut}, so there is nothing to recommend."
        sentences = [
            "" if self.measure in ("error", "rmse") else self.reason,
            _explain_choice(self, best, taken),
            _mention_others(self, self._equals, taken),
            *_list_cautions(self, best),
        ]
        return " ".join(sentence for sentence in sentences if sentence)

    def to_dict(self) -> dict[str, Any]:
        """All but predictions of single rows as plain values for JSON; the best machine first."""
        best, recommended = self.best, self.recommended
        names = (
            "data", "target", "task", "classes", "n_rows", "left_out", "time_respecting", "costs",
            "measure", "measures", "reason", "baseline", "complete", "seconds", "tuning_rows",
            "random_state", "notes",
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
                "standard_error": test.standard_error,
                "test": test.test,
                "verdict": test.verdict,
            }
        return {
            "name": machine.name,
            "machine": machine.machine,
            "failure": machine.failure,
            "mean": {name: machine.mean(name) for name in machine.scores},
            "deviation": {name: machine.deviation(name) for name in machine.scores},
            "scores": machine.scores,
            "seconds_learning": machine.seconds_learning,
            "seconds_predicting": machine.seconds_predicting,
            "parameters": machine.parameters,
            "against_best": told,
            "warnings": machine.warnings,
        }


def write_score(measure: str, value: float) -> str:
    """A score as people read it: errors in per cent, others with three figures."""
    if math.isnan(value):
        return "—"
    return f"{100 * value:.1f} %" if find_measure(measure).in_percent else write_plain(value)


def write_mean(machine: MachineResult, measure: str) -> str:
    """Mean ± deviation over the folds."""
    mean, spread = machine.mean(measure), machine.deviation(measure)
    if math.isnan(mean):
        return "—"
    if find_measure(measure).in_percent:
        own = f"{100 * mean:.1f}"
        return f"{own} %" if math.isnan(spread) else f"{own} ± {100 * spread:.1f} %"
    if math.isnan(spread):
        return write_plain(mean)
    # As many places for both as the spread has with two figures.
    places = 0 if spread == 0 else max(0, min(6, 1 - math.floor(math.log10(spread))))
    return f"{write_plain(mean)} ± 0" if spread == 0 else f"{mean:.{places}f} ± {spread:.{places}f}"


def name_measure(measure: str) -> str:
    """A measure as it is called in a sentence."""
    return _WORDS.get(measure, find_measure(measure).title)


def _explain_choice(comparison: Comparison, best: MachineResult, taken: MachineResult) -> str:
    measure, word = comparison.measure, name_measure(comparison.measure)
    own = write_mean(comparison.take_common(taken), measure)
    if taken is best:
        which = "highest" if find_measure(measure).greater_is_better else "lowest"
        lead = f"Take {taken.name}: its {word}, {own}, is the {which}"
        if not comparison.against_best:
            return f"{lead}, and no other machine was judged."
        passed = comparison.ranked.index(best)
        if passed:
            names = ", ".join(machine.name for machine in comparison.ranked[:passed])
            verb = "gives" if passed == 1 else "give"
            return (
                f"{lead} of the machines that look at the columns: {names} {verb} the same answer "
                "to all rows, which says nothing about any of them."
            )
        return f"{lead} of {1 + len(comparison.against_best)} machines."
    test = comparison.against_best[taken.name]
    other = write_score(measure, comparison.take_common(best).mean(measure))
    reasons = [f"gives away {_write_loss(comparison, test)}"]
    sharp, blurred = comparison.find_finer(taken), comparison.find_finer(best)
    if comparison.sharpest is not None and sharp < blurred:
        losses = f"{write_score(FINER, sharp)} against {write_score(FINER, blurred)}"
        reasons.append(f"has the better probabilities (Brier score {losses})")
    if taken.simplicity < best.simplicity:
        reasons.append(taken.advantage)
    return (
        f"Take {taken.name}: its {word} is {own}, and though {best.name} has {other}, "
        f"the test rows do not tell the two apart (p = {test.adjusted:.2f}). "
        f"It {', and '.join(reasons)}."
    )


def _write_loss(comparison: Comparison, test: PairedTest) -> str:
    """What a simpler machine gives away, in the unit of the measure and in standard errors."""
    lost = max(test.difference, 0.0)
    if lost == 0.0:
        return "nothing"
    percent = find_measure(comparison.measure).in_percent
    amount = f"{100 * lost:.2g} points" if percent else f"{lost:.2g}"
    errors = [e for e in (comparison.standard_error, test.standard_error) if e > 0]
    share = f" ({lost / min(errors):.2g} standard errors)" if errors else ""
    return f"{amount} of {name_measure(comparison.measure)}{share}"


def _mention_others(
    comparison: Comparison, equals: list[MachineResult], taken: MachineResult
) -> str:
    names = [m.name for m in equals[1:] if m is not taken]
    worse = sum(test.distinguishable for test in comparison.against_best.values())
    if not names:
        others = "All others are" if worse > 1 else "The other one is"
        if worse < len(comparison.against_best):
            return ""
        return f"{others} worse than the best by more than chance." if worse else ""
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    verb = "is" if len(names) == 1 else "are"
    rest = f", {worse} {'is' if worse == 1 else 'are'} worse" if worse else ""
    return f"Of the others, {listed} {verb} not distinguishable from the best{rest}."


def _list_cautions(comparison: Comparison, best: MachineResult) -> list[str]:
    measure, words = comparison.measure, []
    orient = find_measure(measure).orient
    if orient(best.mean(measure)) >= orient(comparison.baseline):
        value = write_score(measure, comparison.baseline)
        told = f"Caution: the baseline, {comparison.describe_baseline()}, does as well"
        if comparison.columns_say_something:
            words.append(
                f"{told} by {name_measure(measure)} ({value}), which says little here: by "
                "log-loss or ROC AUC the columns do say something about the target."
            )
        else:
            words.append(f"{told} ({value}), so these columns may say nothing about the target.")
    taken = comparison.recommended
    if comparison.classes is not None and taken is not None and taken.is_constant:
        label = comparison.classes[taken.answers[taken.answers >= 0][0]]
        words.append(
            f"Caution: {taken.name} finds {str(label)!r} the likeliest class of every row. Use its "
            "probabilities; or say what errors cost, or rank by F1 or balanced accuracy, and the "
            "threshold follows."
        )
    n_folds = int(best.done.sum())
    if comparison.n_rows < FEW_ROWS and n_folds > 1 and comparison.standard_error > 0:
        reach = 2.0 * comparison.standard_error
        words.append(
            f"Caution: with {comparison.n_rows} rows the best machine's own "
            f"{name_measure(measure)} is known to about ± {write_score(measure, float(reach))} "
            "only; more rows may change the order."
        )
    elif comparison.n_rows < FEW_ROWS:
        words.append(f"Caution: {comparison.n_rows} rows are few; more rows may change the order.")
    if comparison.is_uneven:
        words.append(
            f"Ranks, and the figures in these sentences, are from the {comparison.n_common} of "
            f"{len(comparison.fold_sizes)} folds that all machines have done; a mean in the table "
            "is over all folds that its machine has done."
        )
    if not comparison.complete:
        words.append("The comparison was cut short, so all of this is about the folds done.")
    return words
