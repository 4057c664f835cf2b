"""What a user is warned of: data that can be learned from, but probably not as it was meant."""

from __future__ import annotations

import numpy as np

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.evidence import Sample
from lindero.bayes.tables.schema import Schema
from lindero.errors import warn_user
from lindero.runtime.arrays import Array

#: Columns that a warning names.
_MOST_NAMED = 5

#: Text of no more values than this may be anything; the share of others that text of numbers may
#: have; and the share of rows beyond which values are names of rows.
_FEW_VALUES = 15
_FEW_OTHERS = 0.1
_OWN_VALUES = 0.5

#: Numbers of a column that are looked at first for more than two different ones.
_FIRST_NUMBERS = 64


def warn_of_small_weights(classes: Array, codes: Array, weights: Array | None) -> None:
    """Of weights that look like shares: they count rows, and make less than a row or two then."""
    if weights is None:
        return
    n_rows, n_classes = len(codes), len(classes)
    rows = np.bincount(codes, minlength=n_classes)
    weight = np.bincount(codes, weights, n_classes)
    light = np.flatnonzero((rows >= 2) & (weight < 2.0))
    total = float(weight.sum())
    if not len(light) and not total < 2 * n_classes <= n_rows:
        return
    what = f"the {n_rows} rows a weight of {total:.3g}"
    if len(light):
        c = light[0]
        what = f"the {rows[c]} rows of class {classes[c]!s} a weight of {weight[c]:.3g}"
    warn_user(
        f"sample_weight gives {what} together. Weights count rows, so little is learned from "
        "these; if the weights are shares, multiply them by n/Σw: sample_weight * "
        "(len(sample_weight) / sum(sample_weight)).",
        UserWarning,
    )


def warn_of_text(schema: Schema, n_rows: int) -> None:
    """Of text that is probably numbers, or names the rows."""
    for at in schema.category_columns:
        values, title = schema.columns[at].values, schema.title(at)
        if len(values) <= _FEW_VALUES or not isinstance(values[0], str):
            continue
        others = [value for value in values if not _is_number(value)]
        if len(others) <= _FEW_OTHERS * len(values):
            rest = f", the others are {others[:3]}" if others else ""
            warn_user(
                f"Column {title!r} is text, but nearly all of its {len(values)} values are numbers"
                f"{rest}. If it is meant as numbers, convert it (pandas.to_numeric), or read the "
                "file with na_values for what stands for a missing value.",
                UserWarning,
            )
        elif len(values) > _OWN_VALUES * n_rows:
            warn_user(
                f"Column {title!r} has {len(values)} different values in {n_rows} rows. If it "
                "names the rows, or holds dates, leave it out: nothing can be learned from it.",
                UserWarning,
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def warn_of_the_warm_up(attributes: Attributes, sample: Sample, classes: Array) -> None:
    """Of cut points and arcs that stay though they were learned from too little."""
    absent = np.bincount(sample.y, minlength=len(classes)) == 0
    if absent.any():
        warn_user(
            f"The warm-up ends after {sample.n_rows} rows, though no row of the classes "
            f"{classes[absent].tolist()} has come: cut points and arcs are learned without them, "
            "and stay. Shuffle the rows, declare only classes that come, or raise warm_up.",
            UserWarning,
        )
    mdl = [k for k, method in enumerate(attributes.methods) if method == "mdl"]
    if mdl and not any(len(attributes.cuts[k]) for k in mdl):  # type: ignore[arg-type]
        titles = [attributes.schema.title(attributes.schema.number_columns[k]) for k in mdl]
        warn_user(
            f"The warm-up ends after {sample.n_rows} rows without any cut: the columns "
            f"{_named(titles)} have one value each, and stay like that. Shuffle the rows, raise "
            "warm_up, or give numeric='quantile' or cut points.",
            UserWarning,
        )


def warn_of_codes(attributes: Attributes, sample: Sample, moments: Moments) -> None:
    """Of Gaussian columns that look like categories written as numbers."""
    flat = ((moments.count >= 2) & (moments.squares == 0.0)).any(axis=1)
    if flat.any():
        mean, _ = moments.normals()
        flat &= (mean != mean[:, :1]).any(axis=1)
    first = sample.table.numbers[:, :_FIRST_NUMBERS]
    may_be_whole = ((first % 1.0 == 0.0) | np.isnan(first)).all(axis=1)
    doubtful = [
        attributes.schema.title(attributes.schema.number_columns[k])
        for at, k in enumerate(attributes.gaussian)
        if flat[at] or (may_be_whole[k] and _holds_two_whole_numbers(sample.table.numbers[k]))
    ]
    if doubtful:
        warn_user(
            f"The columns {_named(doubtful)} hold two whole numbers only, or a single number in "
            "some class, which no normal density fits. If they are codes, say "
            "categorical_features; or give numeric='mdl'.",
            UserWarning,
        )


def _holds_two_whole_numbers(values: Array) -> bool:
    """Whether there are two different values, both whole and both more than once."""
    first = values[:_FIRST_NUMBERS]
    if len(np.unique(first[~np.isnan(first)])) > 2:
        return False
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    if not low < high or low % 1.0 or high % 1.0:
        return False
    n_low, n_high = np.count_nonzero(values == low), np.count_nonzero(values == high)
    missing = np.count_nonzero(np.isnan(values))
    return bool(min(n_low, n_high) > 1 and n_low + n_high + missing == len(values))


def _named(titles: list[str]) -> str:
    more = len(titles) - _MOST_NAMED
    return f"{titles[:_MOST_NAMED]}" + (f" and {more} more" if more > 0 else "")
