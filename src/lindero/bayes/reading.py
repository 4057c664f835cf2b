"""From what users pass to samples of a classifier, with warnings of what was probably not meant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import (
    _check_n_features,
    _num_samples,
    column_or_1d,
    validate_data,
)

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.evidence import Sample
from lindero.bayes.tables.schema import Schema, Table, UserTable, require_computed
from lindero.bayes.tables.wide_columns import (
    FEW_VALUES,
    FEWEST_ROWS,
    OWN_VALUES,
    is_text,
    say_left_out,
)
from lindero.errors import warn_user
from lindero.runtime.arrays import Array
from lindero.validation import (
    encode_labels,
    find_classes,
    read_declared_classes,
    read_row_factors,
    require_labels,
    require_one_each,
)

#: Positive weights lie between these: counts are multiplied and divided by each other.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-60, 1e60


def read_first_sample(
    classifier: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    usual_numeric: str,
    classes: Any = None,
    first_of_many: bool = False,
) -> tuple[Attributes, Sample]:
    """The sample of a first call. Sets what the classifier knows of its columns and classes."""
    X, y, weights = _read_rows_with_weight(X, y, sample_weight)
    table = UserTable.of(X)
    if classes is None:
        if first_of_many and len(np.unique(y)) == 1:
            raise ValueError(
                f"y has only one class ('{y[0]}') so far: name all classes as classes= in the "
                "first call of partial_fit."
            )
        classifier.classes_, codes = find_classes(y)
    else:
        classifier.classes_, _ = find_classes(read_declared_classes(classes))
        codes = encode_labels(y, classifier.classes_, "Name all of them as classes=.")
    warn_of_small_weights(classifier.classes_, codes, weights)
    choose_prior(classifier.class_prior, classifier.fit_prior, len(classifier.classes_))
    schema = Schema.learn(table, classifier.categorical_features)
    validate_data(classifier, X, skip_check_array=True)
    if classifier.categorical_features is None:
        given = classifier.numeric if isinstance(classifier.numeric, Mapping) else {}
        keep = {at for at in range(schema.n_columns) if at in given or schema.title(at) in given}
        if first_of_many:  # further batches tell which values are rare
            warn_of_text(schema, len(y))
        else:
            schema = tidy_columns(schema, table, keep, classifier._least_rows)
    attributes = Attributes.plan(schema, classifier.numeric, usual_numeric)
    return attributes, Sample(schema.read(table, unseen="error"), codes, weights)


def read_further_sample(
    classifier: Any, attributes: Attributes, X: Any, y: Any, sample_weight: Any, classes: Any
) -> tuple[Attributes, Sample]:
    """The sample of a further call, whose categories may be new."""
    if classes is not None and not np.array_equal(
        read_declared_classes(classes), classifier.classes_
    ):
        raise ValueError(
            f"classes={list(classes)} differs from the {classifier.classes_.tolist()} of the first "
            "call. Call fit to start again."
        )
    X, y, weights = _read_rows_with_weight(X, y, sample_weight)
    table = UserTable.of(X)
    advice = "Name all classes as classes= in the first call of partial_fit."
    codes = encode_labels(y, classifier.classes_, advice)
    warn_of_small_weights(classifier.classes_, codes, weights)
    _require_width(classifier, X, table, attributes.schema)
    attributes = attributes.extend(table)
    return attributes, Sample(attributes.schema.read(table, unseen="error"), codes, weights)


def read_learned_sample(
    classifier: Any, attributes: Attributes, X: Any, y: Any, sample_weight: Any
) -> tuple[UserTable, Sample]:
    """Rows that were learned before: nothing in them is new."""
    X, y, weights = _read_rows_with_weight(X, y, sample_weight)
    table = UserTable.of(X)
    codes = encode_labels(y, classifier.classes_, "Rows of other classes were not learned.")
    _require_width(classifier, X, table, attributes.schema)
    schema = attributes.schema
    read = schema.read(table, unseen="smooth")
    for at, column in enumerate(schema.category_columns):
        new = read.codes[at] > read.cards[at]
        if new.any():
            row = int(np.argmax(new))
            raise ValueError(
                f"Row {row} of X was not learned: its value of column {schema.title(column)!r} is "
                "none of those that were. Pass rows as they were given to fit or partial_fit."
            )
    return table, Sample(read, codes, weights)


def read_new_rows(estimator: Any, attributes: Attributes, X: Any) -> Table:
    """Rows to be predicted."""
    table = UserTable.of(X)
    _require_width(estimator, X, table, attributes.schema)
    return attributes.schema.read(table, unseen=estimator.unseen)


def _require_width(classifier: Any, X: Any, table: UserTable, schema: Schema) -> None:
    if schema.names is None or table.names is None:
        _check_n_features(classifier, X, reset=False)
    if schema.names is not None and table.names is None:  # in scikit-learn's words
        warn_user(
            f"X does not have valid feature names, but {type(classifier).__name__} was fitted with "
            "feature names",
            UserWarning,
        )
    if schema.names is None and table.names is not None:
        warn_user(
            f"X has feature names, but {type(classifier).__name__} was fitted without feature "
            "names: its columns are taken in the order in which they stand.",
            UserWarning,
        )


def _read_rows_with_weight(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
    """Rows with weight, their classes and weights."""
    require_labels(y)
    y = column_or_1d(y, warn=True)
    if type(X) is not np.ndarray or (X.ndim == 2 and len(X) != len(y)):
        require_computed(X)
        if getattr(X, "ndim", 2) == 2:
            require_one_each("y", y, _num_samples(X))
    if sample_weight is None:
        return X, y, None
    weights = read_count_weights(sample_weight, _num_samples(X))
    kept = np.flatnonzero(weights > 0.0)
    if len(kept) == 0:
        raise ValueError("sample_weight is zero everywhere: there is nothing to learn from.")
    if len(kept) < len(weights):
        # Rows that do not count bring no categories either.
        X, y, weights = _safe_indexing(X, kept), y[kept], weights[kept]
    return X, y, weights


def read_count_weights(sample_weight: Any, n_rows: int) -> Array:
    """Weights that count rows, none negative; products and ratios of counts are finite."""
    weights = read_row_factors(sample_weight, n_rows, "sample_weight")
    beyond = np.flatnonzero((weights > 0) & ((weights < _LEAST_WEIGHT) | (weights > _MOST_WEIGHT)))
    if len(beyond):
        row = int(beyond[0])
        raise ValueError(
            f"sample_weight is {weights[row]:g} in row {row}, but weights count rows: positive "
            f"ones lie between {_LEAST_WEIGHT:g} and {_MOST_WEIGHT:g}. Divide all of them by a "
            "constant, or leave such rows out."
        )
    return weights


def choose_prior(given: Any, fit_prior: bool, n_classes: int) -> Array | None:
    """The probabilities of the classes; None where their shares are to be taken."""
    if given is None:
        return None if fit_prior else np.full(n_classes, 1.0 / n_classes)
    try:
        prior = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"class_prior={given!r} must be probabilities.") from None
    if prior.shape != (n_classes,):
        raise ValueError(
            f"class_prior has shape {prior.shape}, but there are {n_classes} classes: give one "
            "probability for each."
        )
    if not (prior >= 0.0).all() or not np.isclose(prior.sum(), 1.0):
        raise ValueError(f"class_prior={prior.tolist()} must be probabilities that sum up to 1.")
    return prior


# -- warnings of data that can be learned from, but probably not as it was meant ------------------

#: Columns that a warning names.
_MOST_NAMED = 5

#: Text of no more values than this may be anything; the share of others that text of numbers may
#: have.
_FEW_VALUES = 15
_FEW_OTHERS = 0.1

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


def tidy_columns(schema: Schema, table: UserTable, keep: set[int], least: int | None) -> Schema:
    """A schema with rare values pooled and without columns that name rows and texts; says so, or
    that all columns are such, and stay. `least` is as `Schema.tidy` has it."""
    tidied, names, texts, scattered = schema.tidy(table, least, keep)
    warn_of_text(schema, table.n_rows, is_tidied=tidied is not schema)
    if names:
        warn_user(say_left_out(names, "name it in categorical_features"), UserWarning)
    for title in texts:
        warn_user(
            f"Column {title!r} is left out: it holds texts, whose words Bayesian classifiers do "
            "not count. Name it in categorical_features if its values are categories.",
            UserWarning,
        )
    for title in scattered:
        warn_user(
            f"Column {title!r} is left out: few rows have the same value of it. Name it in "
            "categorical_features to keep it.",
            UserWarning,
        )
    return tidied


def warn_of_text(
    schema: Schema, n_rows: int, is_tidied: bool = False, read: Collection[str] = ()
) -> None:
    """Of text that is probably numbers, or names the rows; where there are enough rows to be sure
    of that, `Schema.tidy` leaves it out. Columns `read` are taken word by word."""
    doubted = warn_of_numbers(schema)
    if n_rows >= FEWEST_ROWS and is_tidied:
        return
    for at in schema.category_columns:
        values, title = schema.columns[at].values, schema.title(at)
        if len(values) <= _FEW_VALUES or at in doubted or not isinstance(values[0], str):
            continue
        if title in read:
            continue
        if len(values) > OWN_VALUES * n_rows:
            is_words = len(values) > FEW_VALUES and is_text(values)
            words = " linear-svc counts the words of texts." if is_words else ""
            warn_user(
                f"Column {title!r} has {len(values)} different values in {n_rows} rows. If it "
                "names the rows, or holds dates, leave it out: nothing can be learned from it."
                + words,
                UserWarning,
            )


def warn_of_numbers(schema: Schema) -> set[int]:
    """Of text that is probably numbers: the columns."""
    found = set()
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
            found.add(at)
    return found


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
            f"{_show(titles)} have one value each, and stay like that. Shuffle the rows, raise "
            "warm_up, or give numeric='quantile' or cut points.",
            UserWarning,
        )


def warn_of_codes(attributes: Attributes, sample: Sample, moments: Moments) -> None:
    """Of Gaussian columns that look like categories written as numbers."""
    if not attributes.gaussian:
        return
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
    # Years of dates are numbers, be they only two.
    doubtful = [title for title in doubtful if not title.endswith(" year")]
    if doubtful:
        warn_user(
            f"The columns {_show(doubtful)} hold two whole numbers only, or a single number in "
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


def _show(titles: list[str]) -> str:
    more = len(titles) - _MOST_NAMED
    return f"{titles[:_MOST_NAMED]}" + (f" and {more} more" if more > 0 else "")
