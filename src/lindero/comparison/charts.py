"""The pictures of a comparison: how scores spread, what they take, and how the best one errs."""

from __future__ import annotations

import math

import numpy as np

from lindero.comparison.drawing import (
    Picture,
    Scale,
    free_place,
    number_text,
    shortened,
    text_width,
)
from lindero.comparison.recommendation import score_text
from lindero.comparison.results import MEASURES, Comparison, MachineResult
from lindero.runtime.arrays import Array

#: Width of pictures; pages shrink them to fit.
_WIDTH = 760

#: More classes than this are not drawn as a matrix.
MOST_CLASSES = 40

_BINS = 10


def _standing(comparison: Comparison) -> list[MachineResult]:
    return [m for m in comparison.ranked if m.failure is None and m.done.any()]


def _axis_words(comparison: Comparison) -> tuple[str, float]:
    """The measure in words, and what it is multiplied by for reading."""
    if comparison.measure == "error":
        return "error (%)", 100.0
    return MEASURES[comparison.measure], 1.0


def spread_of_scores(comparison: Comparison) -> str:
    """Every machine's scores on all folds, its mean, and one deviation either side."""
    machines = _standing(comparison)
    measure = comparison.measure
    words, factor = _axis_words(comparison)
    scores = [factor * m.scores[measure][m.done] for m in machines]
    names = [shortened(m.name, 34) for m in machines]
    left = 16 + max(text_width(name) for name in names)
    right, row, top = 96, 28, 12
    bottom = top + row * len(machines)
    picture = Picture(_WIDTH, bottom + 44, "Scores of all machines on all folds")
    means = np.array([values.mean() for values in scores])
    baseline = factor * comparison.baseline
    high = max(float(values.max()) for values in scores)
    low = min(float(values.min()) for values in scores)
    # What needs no look at the columns is shown where it does not push all else together.
    shows_baseline = baseline <= high + 0.6 * (high - low)
    high = max(high, baseline) if shows_baseline else high
    room = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    least = max(0.0, low - room) if low >= 0 else low - room
    x = Scale(least, high + room, left, _WIDTH - right)
    picture.axis_below(x, top, bottom, f"{words}, less is better")
    if shows_baseline:
        picture.line(x(baseline), top, x(baseline), bottom, "reference")
    for place, (machine, values, name) in enumerate(zip(machines, scores, names, strict=True)):
        y = top + row * (place + 0.5)
        style = "best" if machine is comparison.best else "other"
        picture.text(left - 10, y + 4, name, anchor="end")
        if len(values) > 1:
            spread = values.std(ddof=1)
            ends = max(least, means[place] - spread), min(x.high, means[place] + spread)
            picture.line(x(ends[0]), y, x(ends[1]), y, f"{style} bar")
        for fold, value in enumerate(values):
            hint = f"{machine.name}, fold {fold + 1}: {score_text(measure, value / factor)}"
            picture.circle(x(value), y, 3, f"{style} fold", hint)
        picture.circle(x(means[place]), y, 5.5, style, f"{machine.name}: mean of the folds")
        own = score_text(measure, machine.mean(measure))
        picture.text(_WIDTH - right + 12, y + 4, own, style="value")
    return str(picture)


def scores_against_time(comparison: Comparison) -> str:
    """What a machine reaches and what it takes, time on a logarithmic axis."""
    machines = _standing(comparison)
    words, factor = _axis_words(comparison)
    height, left, right, top, bottom = 380, 76, 24, 14, 330
    picture = Picture(_WIDTH, height, "Scores against the time they take")
    seconds = np.array([max(m.seconds, 1e-4) for m in machines])
    means = factor * np.array([m.mean(comparison.measure) for m in machines])
    room = 0.08 * float(np.ptp(means)) or 0.1 * float(means.max()) or 1.0
    least = max(0.0, means.min() - room) if means.min() >= 0 else means.min() - room
    x = Scale(seconds.min() / 1.6, seconds.max() * 1.6, left, _WIDTH - right, logarithmic=True)
    y = Scale(float(least), float(means.max()) + room, bottom, top)
    picture.axis_below(x, top, bottom, "seconds for a fold, tuning included")
    picture.axis_left(y, left, _WIDTH - right, words)
    spots = [(x(s), y(value)) for s, value in zip(seconds.tolist(), means.tolist(), strict=True)]
    placed = [(px - 6, py - 6, px + 6, py + 6) for px, py in spots]
    for machine, (px, py) in zip(machines, spots, strict=True):
        style = "best" if machine is comparison.best else "other"
        name = shortened(machine.name, 34)
        at = free_place(px, py, text_width(name), placed, (left, _WIDTH))
        if abs(at[1] - 4 - py) > 13:
            edge = at[0] if at[0] > px else at[0] + text_width(name)
            picture.line(px, py, edge, at[1] - 4, "leader")
        picture.circle(px, py, 5.5, style, f"{machine.name}: {machine.seconds:.2f} s")
        picture.text(*at, name)
    return str(picture)


def confusion(comparison: Comparison, machine: MachineResult) -> str | None:
    """How often each class was taken for which; None for too many classes."""
    assert comparison.classes is not None
    n_classes = len(comparison.classes)
    if n_classes > MOST_CLASSES:
        return None
    counts = confusion_counts(comparison, machine)
    names = [shortened(str(label), 16) for label in comparison.classes.tolist()]
    widest = max(text_width(name) for name in names)
    cell = min(84.0, max(17.0, 520.0 / n_classes))
    size = 12 if cell >= 34 else 9.5 if cell >= 24 else 8
    left = 34 + widest
    turned = widest > cell - 6
    above = 30 + (widest * 0.72 + 8 if turned else 16)
    side = cell * n_classes
    spill = widest * 0.72 if turned else 10
    picture = Picture(max(left + side + spill, 260), above + side + 8, "Confusion matrix")
    picture.text(left + side / 2, 14, "predicted", anchor="middle", style="tick")
    picture.text(14, above + side / 2, "true", anchor="middle", style="tick", turned=-90)
    totals = np.maximum(counts.sum(axis=1), 1)
    for i, name in enumerate(names):
        y = above + cell * i
        picture.text(left - 8, y + cell / 2 + 4, name, anchor="end", size=min(12, size + 2))
        x = left + cell * (i + 0.5)
        if turned:
            picture.text(x + 4, above - 8, name, turned=-45, size=min(12, size + 2))
        else:
            picture.text(x, above - 8, name, anchor="middle", size=min(12, size + 2))
        for j in range(n_classes):
            share = counts[i, j] / totals[i]
            style = "right" if i == j else "wrong"
            hint = f"true {names[i]}, predicted {names[j]}: {counts[i, j]} ({100 * share:.1f} %)"
            x = left + cell * j
            strength = math.sqrt(share) if counts[i, j] else 0.0
            picture.rectangle(x, y, cell - 1, cell - 1, "empty")
            picture.rectangle(x, y, cell - 1, cell - 1, style, strength=0.75 * strength, hint=hint)
            if counts[i, j]:
                picture.text(
                    x + cell / 2 - 0.5, y + cell / 2 + size / 3, str(counts[i, j]),
                    anchor="middle", style="count", size=_fitting(str(counts[i, j]), cell, size),
                )  # fmt: skip
    return str(picture)


def _fitting(text: str, cell: float, size: float) -> float:
    """A size of text that fits a cell."""
    width = text_width(text, size)
    return size if width <= cell - 3 else size * (cell - 3) / width


def confusion_counts(comparison: Comparison, machine: MachineResult) -> Array:
    """Rows of each true class (a row) by predicted class (a column), out of fold."""
    assert comparison.classes is not None
    n_classes = len(comparison.classes)
    tested = machine.answers >= 0
    cells = comparison.truth[tested] * n_classes + machine.answers[tested]
    counts: Array = np.bincount(cells, minlength=n_classes * n_classes)
    return counts.reshape(n_classes, n_classes)


def reliability(comparison: Comparison, machine: MachineResult) -> str | None:
    """How often what is said with a probability is so; None without probabilities.

    Of two classes the probability of the second, of several that of the likeliest.
    """
    found = machine.probabilities
    if found is None or comparison.classes is None:
        return None
    known = ~np.isnan(found).any(axis=1)
    if comparison.classes.size == 2:
        said, so = found[known, 1], comparison.truth[known] == 1
        words = f"probability of {shortened(str(comparison.classes[1]), 24)}"
        share = "how often it was so"
    else:
        said = found[known].max(axis=1)
        so = found[known].argmax(axis=1) == comparison.truth[known]
        words, share = "probability of the likeliest class", "how often it was right"
    size, left, top = 380, 70, 14
    picture = Picture(left + size + 24, top + size + 48, "Reliability of probabilities")
    x, y = Scale(0.0, 1.0, left, left + size), Scale(0.0, 1.0, top + size, top)
    picture.axis_below(x, top, top + size, words)
    picture.axis_left(y, left, left + size, share)
    picture.line(x(0), y(0), x(1), y(1), "reference")
    bins = np.minimum((said * _BINS).astype(int), _BINS - 1)
    most = np.bincount(bins, minlength=_BINS).max()
    points = []
    for code in range(_BINS):
        inside = bins == code
        count = int(inside.sum())
        if count:
            points.append((said[inside].mean(), so[inside].mean(), count))
    picture.path([(x(p), y(q)) for p, q, _ in points], "best line")
    for p, q, count in points:
        # One standard deviation of so many rows, were the probability right.
        spread = math.sqrt(max(p * (1 - p), 0.0) / count)
        picture.line(x(p), y(max(0, p - spread)), x(p), y(min(1, p + spread)), "expected")
        hint = f"said {number_text(p)}, was {number_text(q)}, {count} rows"
        picture.circle(x(p), y(q), 3 + 7 * math.sqrt(count / most), "best", hint)
    return str(picture)


def answers_against_truth(comparison: Comparison, machine: MachineResult) -> str:
    """Numbers as they were predicted out of fold, against what they are; at most 2000 rows."""
    tested = np.flatnonzero(~np.isnan(machine.answers))
    if len(tested) > 2000:
        tested = np.sort(np.random.default_rng(0).choice(tested, 2000, replace=False))
    truth, answers = comparison.truth[tested], machine.answers[tested]
    both = np.concatenate([truth, answers])
    room = 0.03 * float(np.ptp(both)) or 1.0
    low, high = float(both.min()) - room, float(both.max()) + room
    size, left, top = 380, 76, 14
    picture = Picture(left + size + 24, top + size + 48, "Predicted against true numbers")
    x, y = Scale(low, high, left, left + size), Scale(low, high, top + size, top)
    picture.axis_below(x, top, top + size, f"true {shortened(comparison.target, 40)}")
    picture.axis_left(y, left, left + size, "predicted")
    picture.line(x(low), y(low), x(high), y(high), "reference")
    for t, a in zip(truth.tolist(), answers.tolist(), strict=True):
        picture.circle(x(t), y(a), 2.5, "best fold")
    return str(picture)
