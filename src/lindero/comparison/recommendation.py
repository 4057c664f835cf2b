"""Which machine to take, in plain words.

The machine of the least mean is not taken blindly: folds are few, and machines that are hardly
worse are often simpler. Of those that no test tells from the best, and that are within one standard
error of it, the simplest is taken, and of equally simple ones the fastest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy import stats

if TYPE_CHECKING:
    from lindero.comparison.results import Comparison, MachineResult

#: Below so many rows a warning is due.
FEW_ROWS = 200

#: What measures are called in sentences.
_WORDS = {"error": "error", "cost": "mean cost", "rmse": "root mean squared error"}


@dataclass(frozen=True)
class Advice:
    """The machine to take, and why."""

    machine: MachineResult
    words: str


def advice(comparison: Comparison) -> Advice | None:
    """The simplest machine that is as good as the best; None where none was judged."""
    best = comparison.best
    if best is None:
        return None
    equals = [best, *_indistinguishable(comparison)]
    taken = min(_near(comparison, equals), key=lambda m: (m.simplicity, m.seconds))
    sentences = [_choice(comparison, taken), _others(comparison, equals, taken)]
    sentences += _cautions(comparison, best)
    return Advice(taken, " ".join(sentence for sentence in sentences if sentence))


def _indistinguishable(comparison: Comparison) -> list[MachineResult]:
    tests = comparison.against_best
    return [comparison[name] for name, test in tests.items() if not test.distinguishable]


def _near(comparison: Comparison, equals: list[MachineResult]) -> list[MachineResult]:
    """Those within one standard error of the best, which is the first."""
    error, tests = comparison.standard_error, comparison.against_best
    reach = 0.0 if math.isnan(error) else error
    return [equals[0], *(m for m in equals[1:] if tests[m.name].difference <= reach)]


def score_text(measure: str, value: float) -> str:
    """A score as people read it: errors in per cent, others with three figures."""
    if math.isnan(value):
        return "—"
    return f"{100 * value:.1f} %" if measure == "error" else f"{value:.3g}"


def score_with_spread(machine: MachineResult, measure: str) -> str:
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


def _choice(comparison: Comparison, taken: MachineResult) -> str:
    best, measure = comparison.best, comparison.measure
    assert best is not None
    word = _WORDS[measure]
    own = score_with_spread(taken, measure)
    if taken is best:
        lead = f"Take {taken.name}: its {word}, {own}, is the least"
        if len(comparison.against_best) == 0:
            return f"{lead}, and no other machine was judged."
        return f"{lead} of {1 + len(comparison.against_best)} machines."
    return (
        f"Take {taken.name}: its {word} is {own}, and though {best.name} has "
        f"{score_text(measure, best.mean(measure))}, the folds do not tell the two apart "
        f"(p = {comparison.against_best[taken.name].adjusted:.2f}), and {taken.virtue}."
    )


def _others(comparison: Comparison, equals: list[MachineResult], taken: MachineResult) -> str:
    if not comparison.against_best:
        return ""
    names = [m.name for m in equals[1:] if m is not taken]
    worse = len(comparison.against_best) + 1 - len(equals)
    if not names:
        if worse == 0:
            return ""
        return (
            "All others are worse than the best by more than chance."
            if worse > 1
            else ("The other one is worse than the best by more than chance.")
        )
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    verb = "is" if len(names) == 1 else "are"
    rest = f", {worse} {'is' if worse == 1 else 'are'} worse" if worse else ""
    return f"Of the others, {listed} {verb} not distinguishable from the best{rest}."


def _cautions(comparison: Comparison, best: MachineResult) -> list[str]:
    measure, words = comparison.measure, []
    if best.mean(measure) >= comparison.baseline:
        constant = "the mean" if comparison.task == "regression" else "the same class"
        words.append(
            f"Caution: always answering {constant} does as well "
            f"({score_text(measure, comparison.baseline)}), so these columns may tell nothing of "
            "the target."
        )
    n_folds = int(best.done.sum())
    if comparison.n_rows < FEW_ROWS and n_folds > 1 and comparison.standard_error > 0:
        reach = stats.t.ppf(0.975, n_folds - 1) * comparison.standard_error
        words.append(
            f"Caution: with {comparison.n_rows} rows the best machine's own "
            f"{_WORDS[measure]} is known to about ± {score_text(measure, float(reach))} only; more "
            "rows may change the order."
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
