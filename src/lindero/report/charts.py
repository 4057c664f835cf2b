"""Charts of a comparison, of the columns that matter, and of a single prediction.

One machine is recommended, and it alone has the colour of the page. Charts come in two widths, for
wide pages and for telephones, so that letters keep their size; squares fit both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindero.evaluation.explanations import RowExplanation
from lindero.evaluation.measures import Measure, find_measure, find_positive
from lindero.evaluation.results import Comparison, MachineResult
from lindero.plot.waterfall import WaterfallDisplay
from lindero.report.picture import (
    NARROW,
    WIDE,
    Picture,
    Scale,
    find_free_place,
    measure_text,
    write_number,
)
from lindero.runtime.arrays import Array, write_plain
from lindero.runtime.texts import shorten

#: More classes than this are not drawn as a matrix.
MOST_CLASSES = 40

#: Bins of a calibration curve.
_BINS = 10

#: Ends of axes of probabilities.
_ENDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


def draw_twice(draw: Callable[[int], str | None]) -> str:
    """A chart for wide pages and one for narrow ones; the page shows the one that fits."""
    wide, narrow = draw(WIDE), draw(NARROW)
    if wide is None or narrow is None:
        return ""
    return f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'


# -- scores as they are read ----------------------------------------------------------------------


def write_scores(comparison: Comparison, measure: str, *, spread: bool = True) -> dict[str, str]:
    """The mean of every machine, with as many digits as show their order, and ± one standard
    deviation over the folds."""
    found = find_measure(measure)
    factor = 100.0 if found.in_percent else 1.0
    judged = [machine for machine in comparison.ranked if machine.is_judged]
    means = {machine.name: factor * machine.mean(measure) for machine in judged}
    spreads = {machine.name: factor * machine.deviation(measure) for machine in judged}
    ranks = measure == comparison.measure
    places = choose_places(found, list(means.values()), list(spreads.values()), ranks=ranks)

    def write(value: float) -> str:
        grouping = "," if abs(value) >= 10_000 else ""
        return f"{value:{grouping}.{places}f}".replace("-", "−")

    unit = " %" if found.in_percent else ""
    written = {}
    for name, mean in means.items():
        own = "—" if math.isnan(mean) else write(mean)
        if spread and not math.isnan(mean) and not math.isnan(spreads[name]):
            own = f"{own} ± {write(spreads[name])}"
        written[name] = own if own == "—" else f"{own}{unit}"
    return written


def choose_places(
    measure: Measure, means: Sequence[float], spreads: Sequence[float], *, ranks: bool = True
) -> int:
    """Digits after the point: two figures of a usual spread, and more where two means that differ
    would look the same in a measure that ranks machines."""
    known = sorted(round(mean, 9) for mean in means if math.isfinite(mean))
    if not known:
        return 1
    usual = [spread for spread in spreads if math.isfinite(spread) and spread > 0]
    size = float(np.median(usual)) if usual else 0.1 * (abs(known[-1]) or 1.0)
    least = 1 if measure.in_percent else max(0, 1 - math.floor(math.log10(size)))
    least = min(least, 4)
    if not ranks:
        return least
    for places in range(least, least + 4):
        written = {f"{value:.{places}f}" for value in known}
        if len(written) == len(set(known)):
            return places
    return least + 1


def write_axis(measure: Measure) -> str:
    """The title of an axis, which says which way is better."""
    title = f"{measure.title} (%)" if measure.in_percent else measure.title
    return f"{title}, {'more' if measure.greater_is_better else 'less'} is better"


def _list_drawn(comparison: Comparison) -> list[MachineResult]:
    """Machines with a score. The baseline, which would squeeze the others, is a line instead."""
    scored = [
        machine
        for machine in comparison.ranked
        if machine.is_judged and not math.isnan(machine.mean(comparison.measure))
    ]
    return [machine for machine in scored if not machine.is_baseline] or scored


def _choose_style(comparison: Comparison, machine: MachineResult) -> str:
    return "best" if machine is comparison.recommended else "other"


# -- charts of a comparison -----------------------------------------------------------------------


def draw_scores(comparison: Comparison, width: int = WIDE) -> str:
    """Scores of every machine on all folds, their mean, and one standard deviation either side."""
    measure = find_measure(comparison.measure)
    factor = 100.0 if measure.in_percent else 1.0
    machines = _list_drawn(comparison)
    scores = [factor * m.scores[measure.name][m.done] for m in machines]
    scores = [values[~np.isnan(values)] for values in scores]
    written = write_scores(comparison, measure.name, spread=False)
    names = [shorten(m.name, 34) for m in machines]
    is_narrow = width < WIDE
    left = 14.0 if is_narrow else 16 + max(measure_text(name) for name in names)
    right = 14.0 if is_narrow else 24 + max(measure_text(text) for text in written.values())
    row, top = (44, 8) if is_narrow else (28, 12)
    bottom = top + row * len(machines)
    picture = Picture(width, bottom + 44, "Scores of all machines on all folds")
    low, high = _find_range(scores)
    baseline = factor * comparison.baseline
    # The baseline is shown where it does not push everything else together.
    reach = 0.6 * (high - low)
    shows_baseline = low - reach <= baseline <= high + reach
    if shows_baseline:
        low, high = min(low, baseline), max(high, baseline)
    room = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    least = max(0.0, low - room) if low >= 0 else low - room
    x = Scale(least, high + room, left, width - right)
    picture.axis_below(x, top, bottom, write_axis(measure))
    if shows_baseline:
        picture.line(x(baseline), top, x(baseline), bottom, "reference")
    for place, (machine, values, name) in enumerate(zip(machines, scores, names, strict=True)):
        y = top + row * (place + (0.72 if is_narrow else 0.5))
        style, mean = _choose_style(comparison, machine), float(values.mean())
        if is_narrow:
            picture.text(left, y - 12, name, style=f"label {style}-text")
            picture.text(width - right, y - 12, written[machine.name], anchor="end", style="value")
        else:
            picture.text(left - 10, y + 4, name, anchor="end", style=f"label {style}-text")
            picture.text(width - right + 12, y + 4, written[machine.name], style="value")
        if len(values) > 1:
            spread = float(values.std(ddof=1))
            ends = max(least, mean - spread), min(x.high, mean + spread)
            picture.line(x(ends[0]), y, x(ends[1]), y, f"{style} bar")
        for fold, value in enumerate(values.tolist()):
            hint = f"{machine.name}, fold {fold + 1}: {write_plain(value, 4)}"
            picture.circle(x(value), y, 3, f"{style} fold", hint)
        picture.circle(x(mean), y, 5.5, style, f"{machine.name}: mean of the folds")
    return str(picture)


def _find_range(scores: Sequence[Array]) -> tuple[float, float]:
    """Where most scores are: single folds of machines that are far off do not squeeze the rest."""
    pooled = np.concatenate(scores)
    means = np.array([values.mean() for values in scores])
    low, high = float(min(pooled.min(), means.min())), float(max(pooled.max(), means.max()))
    return low, high


def draw_times(comparison: Comparison, width: int = WIDE) -> str:
    """Scores against the time of a fold, on a logarithmic axis."""
    measure = find_measure(comparison.measure)
    factor = 100.0 if measure.in_percent else 1.0
    machines = _list_drawn(comparison)
    height, left, right, top, bottom = 380, 76, 24, 14, 330
    picture = Picture(width, height, "Scores against time")
    seconds = np.array([max(m.seconds, 1e-4) for m in machines])
    means = factor * np.array([m.mean(measure.name) for m in machines])
    room = 0.08 * float(np.ptp(means)) or 0.1 * float(np.abs(means).max()) or 1.0
    least = max(0.0, means.min() - room) if means.min() >= 0 else means.min() - room
    x = Scale(seconds.min() / 1.6, seconds.max() * 1.6, left, width - right, logarithmic=True)
    y = Scale(float(least), float(means.max()) + room, bottom, top)
    picture.axis_below(x, top, bottom, "seconds per fold, tuning included")
    picture.axis_left(y, left, width - right, write_axis(measure))
    spots = [(x(s), y(value)) for s, value in zip(seconds.tolist(), means.tolist(), strict=True)]
    placed = [(px - 6, py - 6, px + 6, py + 6) for px, py in spots]
    for machine, (px, py) in zip(machines, spots, strict=True):
        style = _choose_style(comparison, machine)
        name = shorten(machine.name, 34 if width == WIDE else 20)
        at = find_free_place(px, py, measure_text(name), placed, (left, width))
        if abs(at[1] - 4 - py) > 13:
            edge = at[0] if at[0] > px else at[0] + measure_text(name)
            picture.line(px, py, edge, at[1] - 4, "leader")
        picture.circle(px, py, 5.5, style, f"{machine.name}: {machine.seconds:.2f} s")
        picture.text(*at, name, style=f"label {style}-text")
    return str(picture)


def draw_confusion_matrix(
    comparison: Comparison, machine: MachineResult, width: int = WIDE
) -> str | None:
    """The confusion matrix; None for too many classes."""
    assert comparison.classes is not None
    n_classes = len(comparison.classes)
    if n_classes > MOST_CLASSES:
        return None
    counts = count_confusions(comparison, machine)
    names = [shorten(str(label), 16) for label in comparison.classes.tolist()]
    widest = max(measure_text(name) for name in names)
    left = 34 + widest
    spill = widest * 0.72 if widest > 78 else 10
    most = 520.0 if width == WIDE else max(width - left - spill, 17.0 * n_classes)
    cell = min(84.0, max(17.0, most / n_classes))
    size = 12 if cell >= 34 else 9.5 if cell >= 24 else 8
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
        way: Any = {"turned": -45} if turned else {"anchor": "middle"}
        picture.text(x + 4 * turned, above - 8, name, size=min(12, size + 2), **way)
        for j in range(n_classes):
            share = counts[i, j] / totals[i]
            style = "right" if i == j else "wrong"
            hint = f"true {names[i]}, predicted {names[j]}: {counts[i, j]} ({100 * share:.1f} %)"
            x = left + cell * j
            strength = math.sqrt(share) if counts[i, j] else 0.0
            picture.rectangle(x, y, cell - 1, cell - 1, "empty")
            picture.rectangle(x, y, cell - 1, cell - 1, style, strength=0.75 * strength, hint=hint)
            if counts[i, j]:
                text = str(counts[i, j])
                fitting = size * min(1.0, (cell - 3) / measure_text(text, size))
                middle = x + cell / 2 - 0.5, y + cell / 2 + size / 3
                picture.text(*middle, text, anchor="middle", style="count", size=fitting)
    return str(picture)


def count_confusions(comparison: Comparison, machine: MachineResult) -> Array:
    """Rows of each true class (a row) by predicted class (a column), out of fold."""
    assert comparison.classes is not None
    n_classes = len(comparison.classes)
    tested = machine.answers >= 0
    cells = comparison.truth[tested] * n_classes + machine.answers[tested]
    counts: Array = np.bincount(cells, minlength=n_classes * n_classes)
    return counts.reshape(n_classes, n_classes)


# -- squares: calibration, ROC, precision and recall, numbers -------------------------------------


def _draw_square(
    title: str, ends: tuple[float, float], below: str, beside: str, *, diagonal: bool = True
) -> tuple[Picture, Scale, Scale]:
    """Two axes of the same range, and a line where they are equal."""
    low, high = ends
    widest = max(measure_text(write_number(tick)) for tick in Scale(low, high, 0, 270).ticks)
    left, top = 30 + max(30.0, widest), 14
    size = NARROW - left - 16
    picture = Picture(NARROW, top + size + 48, title)
    x, y = Scale(low, high, left, left + size), Scale(low, high, top + size, top)
    x.n_ticks = min(x.n_ticks, max(2, int(size / (widest + 14))))
    picture.axis_below(x, top, top + size, below)
    picture.axis_left(y, left, left + size, beside)
    if diagonal:
        picture.line(x(low), y(low), x(high), y(high), "reference")
    return picture, x, y


def draw_calibration(comparison: Comparison, machine: MachineResult) -> str | None:
    """The reliability diagram, predicted probabilities against frequencies, of the rarer of two
    classes, or of the likeliest of several; None without probabilities."""
    found = machine.probabilities
    if found is None or comparison.classes is None:
        return None
    known = ~np.isnan(found).any(axis=1)
    if not known.any():
        return None
    if comparison.classes.size == 2:
        positive = find_positive(comparison.truth)
        predicted, observed = found[known, positive], comparison.truth[known] == positive
        words = f"predicted probability of {shorten(str(comparison.classes[positive]), 18)}"
        share = "observed frequency"
    else:
        predicted = found[known].max(axis=1)
        observed = found[known].argmax(axis=1) == comparison.truth[known]
        words, share = "probability of the likeliest class", "accuracy"
    first, last = float(predicted.min()), float(predicted.max())
    span = (last - first) or 1.0
    bins = np.minimum(((predicted - first) / span * _BINS).astype(int), _BINS - 1)
    held = [bins == code for code in np.unique(bins)]
    points = [(predicted[own].mean(), observed[own].mean(), int(own.sum())) for own in held]
    reached = [(p, q) for p, q, count in points if count >= 5] or [(p, q) for p, q, _ in points]
    most = max(last, *(max(pair) for pair in reached))
    high = next((end for end in _ENDS if end >= most), 1.0)
    lowest = min(first, *(min(pair) for pair in reached))
    low = math.floor(10 * lowest) / 10 if lowest > 0.3 else 0.0
    picture, x, y = _draw_square("Calibration", (low, high), words, share)
    within = [(p, min(max(q, low), high), count) for p, q, count in points]
    picture.path([(x(p), y(q)) for p, q, _ in within], "best line")
    largest = max(count for _, _, count in within)
    for p, q, count in within:
        # One standard deviation of so many rows, were the probability right.
        spread = math.sqrt(max(p * (1 - p), 0.0) / count)
        ends = y(max(low, p - spread)), y(min(high, p + spread))
        picture.line(x(p), ends[0], x(p), ends[1], "expected")
        hint = f"predicted {write_number(p)}, observed {write_number(q)}, {count} rows"
        picture.circle(x(p), y(q), 3 + 5 * math.sqrt(count / largest), "best", hint)
    return str(picture)


def draw_roc(comparison: Comparison, machine: MachineResult) -> str | None:
    """True against false positive rate for all thresholds; of several classes the mean of the
    curves of each against the rest. None without probabilities."""
    from sklearn.metrics import roc_curve

    curve = _average_curves(comparison, machine, roc_curve)
    if curve is None:
        return None
    below, beside = "false positive rate", "true positive rate"
    picture, x, y = _draw_square("ROC", (0.0, 1.0), below, beside)
    picture.path([(x(a), y(b)) for a, b in zip(*curve, strict=True)], "best line")
    point = _find_working_point(comparison, machine)
    if point is not None:
        _, false_rate, true_rate = point
        hint = f"answers: {100 * true_rate:.0f} % found, {100 * false_rate:.0f} % false alarms"
        picture.circle(x(false_rate), y(true_rate), 5.5, "best", hint)
    return str(picture)


def draw_precision_recall(comparison: Comparison, machine: MachineResult) -> str | None:
    """Precision against recall for all thresholds; of several classes the mean of the curves of
    each against the rest. None without probabilities."""
    from sklearn.metrics import precision_recall_curve

    def find_curve(truth: Array, chances: Array, sample_weight: Array | None) -> Any:
        precision, recall, _ = precision_recall_curve(truth, chances, sample_weight=sample_weight)
        return recall[::-1], precision[::-1], None

    curve = _average_curves(comparison, machine, find_curve)
    if curve is None:
        return None
    picture, x, y = _draw_square(
        "Precision–recall", (0.0, 1.0), "recall", "precision", diagonal=False
    )
    if comparison.classes is not None and len(comparison.classes) == 2:
        positive = find_positive(comparison.truth)
        share = float(np.mean(comparison.truth == positive))
        picture.line(x(0.0), y(share), x(1.0), y(share), "reference")
    picture.path([(x(a), y(b)) for a, b in zip(*curve, strict=True)], "best line")
    point = _find_working_point(comparison, machine)
    if point is not None and not math.isnan(point[0]):
        hint = f"answers: precision {point[0]:.2f}, recall {point[2]:.2f}"
        picture.circle(x(point[2]), y(point[0]), 5.5, "best", hint)
    return str(picture)


def _average_curves(
    comparison: Comparison, machine: MachineResult, find_curve: Callable[..., Any]
) -> tuple[list[float], list[float]] | None:
    """A curve from (0, ·) to (1, ·): of the positive class of two, or the mean over classes."""
    found, classes = machine.probabilities, comparison.classes
    if found is None or classes is None:
        return None
    known = ~np.isnan(found).any(axis=1)
    truth, chances = comparison.truth[known], found[known]
    weights = None if comparison.weights is None else comparison.weights[known]
    codes = [find_positive(comparison.truth)] if len(classes) == 2 else range(len(classes))
    codes = [code for code in codes if 0 < (truth == code).sum() < len(truth)]
    if not codes:
        return None
    grid = np.linspace(0.0, 1.0, 201)
    heights = []
    for code in codes:
        across, up, _ = find_curve(truth == code, chances[:, code], sample_weight=weights)
        if len(codes) == 1:
            few = np.unique(np.linspace(0, len(across) - 1, min(len(across), 400)).astype(int))
            return across[few].tolist(), up[few].tolist()
        heights.append(np.interp(grid, across, up))
    return grid.tolist(), np.mean(heights, axis=0).tolist()


def _find_working_point(
    comparison: Comparison, machine: MachineResult
) -> tuple[float, float, float] | None:
    """Precision, false positive rate and recall of the answers for two classes."""
    if comparison.classes is None or len(comparison.classes) != 2:
        return None
    counts = count_confusions(comparison, machine).astype(np.float64)
    positive = find_positive(comparison.truth)
    true_positive, missed = counts[positive, positive], counts[positive, 1 - positive]
    alarms, rest = counts[1 - positive, positive], counts[1 - positive, 1 - positive]
    if not (true_positive + missed and alarms + rest):
        return None
    answered = true_positive + alarms
    precision = true_positive / answered if answered else math.nan
    return precision, alarms / (alarms + rest), true_positive / (true_positive + missed)


def draw_predictions(comparison: Comparison, machine: MachineResult) -> str:
    """Out-of-fold predictions against true numbers; at most 2000 rows."""
    tested = np.flatnonzero(~np.isnan(machine.answers))
    if len(tested) > 2000:
        tested = np.sort(np.random.default_rng(0).choice(tested, 2000, replace=False))
    truth, answers = comparison.truth[tested], machine.answers[tested]
    both = np.concatenate([truth, answers])
    room = 0.03 * float(np.ptp(both)) or 1.0
    ends = float(both.min()) - room, float(both.max()) + room
    title, words = "Predicted against true numbers", f"true {shorten(comparison.target, 30)}"
    picture, x, y = _draw_square(title, ends, words, "predicted")
    for t, a in zip(truth.tolist(), answers.tolist(), strict=True):
        picture.circle(x(t), y(a), 2.5, "best fold")
    return str(picture)


# -- columns that matter, and single predictions --------------------------------------------------


def draw_importance(
    names: Sequence[str], means: Array, spreads: Array, axis: str, width: int = WIDE
) -> str:
    """How much worse the score gets when a column is shuffled, the most important first."""
    titles = [shorten(name, 30 if width == WIDE else 20) for name in names]
    left = 16 + max(measure_text(title) for title in titles)
    row, top, right = 24, 8, 20
    bottom = top + row * len(titles)
    picture = Picture(width, bottom + 44, "Permutation importance")
    low = min(0.0, float((means - spreads).min()))
    high = max(float((means + spreads).max()), 1e-12)
    x = Scale(low, 1.05 * high, left, width - right)
    picture.axis_below(x, top, bottom, axis)
    picture.line(x(0.0), top, x(0.0), bottom, "reference")
    for place, (title, mean, spread) in enumerate(
        zip(titles, means.tolist(), spreads.tolist(), strict=True)
    ):
        y = top + row * (place + 0.5)
        picture.text(left - 8, y + 4, title, anchor="end")
        ends = sorted((x(0.0), x(mean)))
        hint = f"{names[place]}: {write_plain(mean)} ± {write_plain(spread)}"
        picture.rectangle(ends[0], y - 7, ends[1] - ends[0], 14, "right", strength=0.7, hint=hint)
        picture.line(x(mean - spread), y, x(mean + spread), y, "leader")
    return str(picture)


def draw_waterfall(explanation: RowExplanation, width: int = WIDE, *, most: int = 10) -> str:
    """A prediction from its baseline, column by column, to its value, as SVG.

    What is drawn is a :class:`lindero.plot.WaterfallDisplay`, which draws it by matplotlib.
    """
    drawn = WaterfallDisplay.describe(explanation, most=most)
    steps, ends = drawn.steps, drawn.ends
    is_narrow = width < WIDE
    titles = [title for title, *_ in steps]
    left = 14.0 if is_narrow else 16 + max([60.0, *(measure_text(title) for title in titles)])
    row, top = (40, 26) if is_narrow else (26, 26)
    bottom = top + row * (len(steps) + 1)
    picture = Picture(width, bottom + 44, "What each column adds to the prediction")
    places = drawn.places
    room = 0.04 * (max(places) - min(places)) or 0.1
    right = 16 + max(measure_text(text) for text in (*(text for *_, text in steps), ends[1]))
    x = Scale(min(places) - room, max(places) + room, left, width - right)
    middle = (left + width - right) / 2
    fitting = int(2 * min(middle, width - middle) / measure_text("n"))
    picture.axis_below(x, top, bottom, shorten(drawn.axis, fitting))
    start = x(drawn.baseline)
    picture.line(start, top, start, bottom, "reference")
    anchor = "start" if start < width / 2 else "end"
    picture.text(start, top - 10, ends[0], style="value", anchor=anchor)
    for place, (title, (_, begin, stop, text)) in enumerate(zip(titles, steps, strict=True)):
        y = top + row * (place + (0.7 if is_narrow else 0.5))
        low, high = sorted((x(begin), x(stop)))
        if is_narrow:
            picture.text(left, y - 12, title)
        else:
            picture.text(left - 8, y + 4, title, anchor="end")
        style = "right" if stop >= begin else "wrong"
        picture.rectangle(low, y - 8, max(high - low, 1.0), 16, style, hint=f"{title}: {text}")
        picture.line(x(stop), y - 8, x(stop), y + row - 8, "leader")
        picture.text(high + 6, y + 4, text, style="value")
    y = top + row * (len(steps) + 0.5)
    picture.circle(x(drawn.value), y, 5, "boundary")
    picture.text(x(drawn.value) + 10, y + 4, ends[1], style="label best-text")
    return str(picture)
