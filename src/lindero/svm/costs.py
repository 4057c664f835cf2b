"""From what errors cost to what a cost-sensitive machine asks of each class and row.

The loss of the machine (`lindero.problems.margin`) has two parameters, C₊ and C₋. With λ = 2C₋ − 1
it predicts + where the odds of a positive exceed λ/C₊. Let an error on a positive cost c₊ more than
being right, one on a negative c₋, and r = c₊/c₋. The expected cost is least if + is predicted
where the odds exceed 1/r, so

    C₊ = r λ

and λ stays free. It is how many times as far from the positives as from the negatives the boundary
lies where classes can be separated. There the data do not say where in the gap the classes meet.
Assume that any place is as likely as any other, and that rows become rare in proportion to the
distance left to it. Then a boundary at share t of the way from the negatives to the positives errs
on t³ positives to (1 − t)³ negatives, on average, and c₊ t³ + c₋ (1 − t)³ is least where
(1 − t)/t = √r. Hence

    λ = √r,    C₊ = r √r,    C₋ = (1 + √r)/2

(For rows that stay as frequent up to that place the same reasoning gives λ = r.) λ = 1 would be
plain class weights, C₊ = r and C₋ = 1, which a large C makes void on such data. The costs
themselves, C₊ = c₊ and C₋ = c₋, would shift the odds to (2c₋ − 1)/c₊, which is right only where
c₋ = 1. Margins are to favour the class whose errors cost more, so that one is the positive.

All this holds for f that can follow the odds from place to place. Where it cannot, as with a linear
kernel on classes that overlap, unequal margins move the boundary beyond the place of least cost,
and λ = 1 is better; where rows are few and features many, they save far more than weights can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lindero.runtime.arrays import Array


class MisclassificationCosts(NamedTuple):
    """Parameters of :class:`~lindero.svm.CostSensitiveSVC`, as keywords:
    ``CostSensitiveSVC(**costs._asdict())``."""

    cost_positive: float
    cost_negative: float
    positive_class: Any


def costs_from_matrix(
    matrix: Any, classes: Sequence[Any] = (0, 1), *, margin_ratio: float | None = None
) -> MisclassificationCosts:
    """Parameters of :class:`~lindero.svm.CostSensitiveSVC` for a matrix of costs.

    The machine then predicts, given enough data, the class of least expected cost. What is
    returned depends on the ratio of the two net costs (of an error, less what being right costs)
    and not on the unit they are in; how much errors weigh against a wide margin is for `C` to say.

    Parameters
    ----------
    matrix : array-like of shape (2, 2)
        ``matrix[i][j]`` is the cost of predicting ``classes[j]`` where ``classes[i]`` is true. With
        ``classes=(negative, positive)`` this is
        ``[[true negative, false positive], [false negative, true positive]]``. What is right may
        cost something too, or earn it (a negative cost).
    classes : sequence of two labels, default=(0, 1)
        The labels that rows and columns of the matrix stand for, in their order.
    margin_ratio : float or None, default=None
        How many times as far from the positives as from the negatives the boundary is to lie where
        the classes can be separated, at least 1. None is the square root of the ratio of the net
        costs, which is best if the classes may meet anywhere in the gap and thin out towards that
        place. 1 is class weights alone, which is better for linear kernels on classes that
        overlap.

    Returns
    -------
    costs : MisclassificationCosts
        A named tuple of `cost_positive`, `cost_negative` and `positive_class`: the class whose
        errors cost more, and where both cost the same the second one.

    Raises
    ------
    ValueError
        If no such machine can express the costs: being wrong about a class must cost more than
        being right about it, or one class could be predicted always.

    See Also
    --------
    CostSensitiveSVC : Takes the costs.
    IncrementalSVC : Takes them too, and learns sample by sample.

    Examples
    --------
    A missed illness costs 20, a false alarm 2, and treating an illness that was found 2:

    >>> from lindero.svm import CostSensitiveSVC, costs_from_matrix
    >>> costs = costs_from_matrix([[0, 2], [20, 2]], classes=("healthy", "ill"))
    >>> costs
    MisclassificationCosts(cost_positive=27.0, cost_negative=2.0, positive_class='ill')
    >>> model = CostSensitiveSVC(**costs._asdict())
    """
    if len(classes) != 2 or classes[0] == classes[1]:
        raise ValueError(f"classes must be two different labels, got {classes!r}.")
    first, second = _net_costs(matrix, classes)
    swapped = first > second
    if margin_ratio is not None and not 1.0 <= margin_ratio < np.inf:
        raise ValueError(
            f"margin_ratio must be a finite number of at least 1, got {margin_ratio!r}: the "
            "boundary is to keep further away from the class whose errors cost more."
        )
    with np.errstate(over="ignore"):
        ratio = max(first, second) / min(first, second)
        apart = float(np.sqrt(ratio) if margin_ratio is None else margin_ratio)
        cost_positive = float(ratio * apart)
    if not np.isfinite(cost_positive):
        raise ValueError(
            f"The net costs of errors, {first:g} and {second:g}, are too far apart: the weights "
            "that they ask for overflow. Take margin_ratio=1, or less extreme costs."
        )
    return MisclassificationCosts(cost_positive, (1.0 + apart) / 2, classes[0 if swapped else 1])


def _net_costs(matrix: Any, classes: Sequence[Any]) -> tuple[np.float64, np.float64]:
    """What an error on each class costs more than being right."""
    costs = np.asarray(matrix, dtype=np.float64)
    if costs.shape != (2, 2):
        raise ValueError(
            f"The matrix of costs must have shape (2, 2), not {costs.shape}: "
            "[[true negative, false positive], [false negative, true positive]]."
        )
    if not np.isfinite(costs).all():
        raise ValueError(
            f"The costs must be finite, got {costs.tolist()}. If an error must not happen at all, "
            "give it a cost that is large compared with the others."
        )
    with np.errstate(over="ignore"):
        net = costs[[0, 1], [1, 0]] - costs[[0, 1], [0, 1]]
    if not np.isfinite(net).all():
        raise ValueError("The differences of the costs overflow: state them in a larger unit.")
    for code in (0, 1):
        if net[code] <= 0:
            right, wrong = classes[code], classes[1 - code]
            raise ValueError(
                f"Predicting {wrong!r} where {right!r} is true costs {costs[code, 1 - code]:g}, no "
                f"more than being right ({costs[code, code]:g}): {wrong!r} may be predicted always "
                "as far as such rows go, and no classifier is needed. Rows of the matrix are true "
                "classes, columns are predicted ones; look whether yours are the other way round."
            )
    return net[0], net[1]


class ClassTerms(NamedTuple):
    """What a cost-sensitive problem asks of each of two classes, in their order."""

    margins: Array
    weights: Array


def class_terms(
    classes: Array, positive_class: Any, cost_positive: float, cost_negative: float
) -> ClassTerms:
    """Margins Ω and factors of C of two classes. Signs stay those of the classes' order, y = 1 for
    the second: where the first is the positive class, its constraint −f ≥ 1 is y f ≥ 1 as well.
    """
    require_two(classes)
    if cost_negative <= 0.5:
        raise ValueError(
            f"cost_negative must be above 1/2, got {cost_negative:g}: errors on negatives weigh "
            "2·cost_negative − 1 and their margin is 1 / (2·cost_negative − 1), and both must be "
            "positive. To favour the negatives, make theirs the positive_class."
        )
    weight = 2.0 * cost_negative - 1.0
    margins, weights = np.full(2, 1.0 / weight), np.full(2, weight)
    labels, positive = classes.tolist(), 1
    if positive_class is not None:
        try:
            positive = labels.index(positive_class)
        except ValueError:
            raise ValueError(
                f"positive_class={positive_class!r} is not among the classes of y, which are "
                f"{labels[0]!r} and {labels[1]!r}."
            ) from None
    margins[positive], weights[positive] = 1.0, cost_positive
    return ClassTerms(margins, weights)


def require_two(classes: Array) -> None:
    """Refuse more or fewer classes than two, in the words of scikit-learn."""
    if len(classes) != 2:
        kind = "multiclass" if len(classes) > 2 else "a single class"
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: y has "
            f"{len(classes)} different labels. With several, use SVC with class_weight."
        )
