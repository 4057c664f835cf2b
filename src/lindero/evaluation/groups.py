"""Whether a model treats groups of rows alike: rates by group, with counts and intervals.

Of classes: the share of errors, and how often each class is answered (the selection rate); with two
classes also how often the second is found where it is true (the true positive rate), and answered
where it is not (the false positive rate). Intervals are Wilson's, which hold for few rows too:

    (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n),    z = 1.96 for 95 %

Of numbers: the mean of prediction − truth, with ±z standard errors, and the mean absolute error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array
from lindero.validation import find_missing, require_one_each

_Z = 1.959963984540054

#: Numbers of more different values than this are cut into quarters.
_MOST_VALUES = 10


@dataclass(frozen=True)
class Rate:
    """A share of rows, and where it may lie.

    Attributes
    ----------
    value : float
        The share, or a mean; NaN where there are no rows.
    n_rows : int
        Of how many rows.
    low, high : float
        Its 95 % interval.

    See Also
    --------
    measure_groups : Makes them.
    """

    value: float
    n_rows: int
    low: float
    high: float

    @classmethod
    def of(cls, hits: Array) -> Rate:
        """The share of flags that are true."""
        n = len(hits)
        if n == 0:
            return cls(math.nan, 0, 0.0, 1.0)
        p = float(np.mean(hits))
        middle = p + _Z**2 / (2 * n)
        reach = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n))
        whole = 1 + _Z**2 / n
        return cls(p, n, max(0.0, (middle - reach) / whole), min(1.0, (middle + reach) / whole))

    @classmethod
    def of_mean(cls, values: Array) -> Rate:
        """The mean of numbers."""
        n = len(values)
        if n == 0:
            return cls(math.nan, 0, -math.inf, math.inf)
        mean = float(np.mean(values))
        reach = _Z * float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.inf
        return cls(mean, n, mean - reach, mean + reach)


@dataclass(frozen=True)
class GroupRates:
    """The rates of one group of rows.

    Attributes
    ----------
    group : str
        Its name.
    n_rows : int
        How many rows it has.
    rates : dict of Rate
        By name, such as "error" and "selection rate".

    See Also
    --------
    measure_groups : Makes them.
    """

    group: str
    n_rows: int
    rates: dict[str, Rate]


def measure_groups(
    truth: Any, answers: Any, groups: Any, *, classes: Sequence[Any] | None = None
) -> list[GroupRates]:
    """Rates of each group of rows.

    Parameters
    ----------
    truth : array-like of shape (n_rows,)
        Labels, or numbers.
    answers : array-like of shape (n_rows,)
        What a model predicts.
    groups : array-like of shape (n_rows,)
        The group of each row. Numbers with more than ten values are cut into quarters; rows without
        a value are a group of their own.
    classes : sequence or None, default=None
        All classes; None for numbers. The second of two is the one that is "selected".

    Returns
    -------
    found : list of GroupRates
        Largest group first.

    See Also
    --------
    choose_least_cost : Answers by costs, the same for all groups.

    References
    ----------
    .. [1] Wilson, E. B.: Probable inference, the law of succession, and statistical inference.
       Journal of the American Statistical Association 22 (1927).
    .. [2] Hardt, M., Price, E., Srebro, N.: Equality of opportunity in supervised learning. NIPS
       (2016).

    Examples
    --------
    >>> from lindero.evaluation import measure_groups
    >>> truth, answers = ["no", "yes", "yes", "no"], ["no", "yes", "no", "no"]
    >>> found = measure_groups(truth, answers, ["a", "a", "b", "b"], classes=["no", "yes"])
    >>> [(each.group, each.rates["error"].value) for each in found]
    [('a', 0.0), ('b', 0.5)]
    """
    truth, answers = np.asarray(truth), np.asarray(answers)
    names = name_groups(groups)
    require_one_each("answers", answers, len(truth))
    require_one_each("groups", names, len(truth))
    found, counts = np.unique(names, return_counts=True)
    order = sorted(range(len(found)), key=lambda k: (-counts[k], found[k]))
    return [
        GroupRates(
            str(found[k]), int(counts[k]), _measure(truth, answers, names == found[k], classes)
        )
        for k in order
    ]


def _measure(
    truth: Array, answers: Array, inside: Array, classes: Sequence[Any] | None
) -> dict[str, Rate]:
    own, given = truth[inside], answers[inside]
    if classes is None:
        away = given.astype(np.float64) - own.astype(np.float64)
        return {"bias": Rate.of_mean(away), "mean absolute error": Rate.of_mean(np.abs(away))}
    rates = {"error": Rate.of(own != given)}
    if len(classes) == 2:
        positive = classes[1]
        rates["selection rate"] = Rate.of(given == positive)
        rates["true positive rate"] = Rate.of(given[own == positive] == positive)
        rates["false positive rate"] = Rate.of(given[own != positive] == positive)
    else:
        rates |= {f"answers {label}": Rate.of(given == label) for label in classes}
    return rates


def name_groups(groups: Any) -> Array:
    """The name of the group of each row."""
    values = groups if isinstance(groups, np.ndarray) else np.array(list(groups), dtype=object)
    missing = find_missing(values)
    known = values[~missing].tolist()
    names = np.full(len(values), "(missing)", dtype=object)
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in known)
    if numeric and len(set(known)) > _MOST_VALUES:
        numbers = np.array(known, dtype=np.float64)
        cuts = np.unique(np.quantile(numbers, [0.25, 0.5, 0.75]))
        texts = [f"{cut:.6g}" for cut in cuts]
        middle = [f"{a} to {b}" for a, b in pairwise(texts)]
        titles = np.array([f"up to {texts[0]}", *middle, f"above {texts[-1]}"], dtype=object)
        names[~missing] = titles[np.searchsorted(cuts, numbers)]
    else:
        names[~missing] = [str(value) for value in known]
    return names.astype(str)


def compare_groups(found: Sequence[GroupRates]) -> list[str]:
    """Sentences on the largest differences between groups, and whether chance explains them."""
    if len(found) < 2:
        return ["All rows are of one group: there is nothing to compare."]
    said = []
    for name in found[0].rates:
        rates = [(each.group, each.rates[name]) for each in found if each.rates[name].n_rows]
        if len(rates) < 2:
            continue
        low = min(rates, key=lambda pair: pair[1].value)
        high = max(rates, key=lambda pair: pair[1].value)
        apart = low[1].high < high[1].low
        words = "do not overlap" if apart else "overlap, so this may be chance"
        text = f"{name}: lowest {low[1].value:.3g} ({low[0]}), highest {high[1].value:.3g} "
        text += f"({high[0]})"
        if name == "selection rate" and high[1].value > 0:
            text += f", a ratio of {low[1].value / high[1].value:.2f}"
        said.append(f"{text}; their intervals {words}.")
    return said
