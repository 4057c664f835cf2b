"""From what users pass to samples of a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import (
    _check_n_features,
    _num_samples,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from lindero.bayes.cautions import warn_of_small_weights, warn_of_text
from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.evidence import Sample
from lindero.bayes.tables.schema import Schema
from lindero.bayes.tables.table import Table
from lindero.bayes.tables.user_table import UserTable, computed
from lindero.errors import warn_user
from lindero.labels import declared_classes, label_codes, require_labels
from lindero.runtime.arrays import Array
from lindero.validation import class_labels, row_factors


def first_sample(
    classifier: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    usual_numeric: str,
    classes: Any = None,
    first_of_many: bool = False,
) -> tuple[Attributes, Sample]:
    """The sample of a first call, which may be the first of many. Sets what the classifier knows of
    its columns and classes."""
    X, y, weights = _weighed(X, y, sample_weight)
    table = UserTable.of(X)
    if classes is None:
        if first_of_many and len(np.unique(y)) == 1:
            raise ValueError(
                f"y has only one class ('{y[0]}') so far: name all classes as classes= in the "
                "first call of partial_fit."
            )
        classifier.classes_, codes = class_labels(y)
    else:
        classifier.classes_, _ = class_labels(declared_classes(classes))
        codes = label_codes(y, classifier.classes_, "Name all of them as classes=.")
    warn_of_small_weights(classifier.classes_, codes, weights)
    prior_of(classifier, np.ones(len(classifier.classes_)))
    schema = Schema.learned(table, classifier.categorical_features)
    validate_data(classifier, X, skip_check_array=True)
    if classifier.categorical_features is None:
        warn_of_text(schema, len(y))
    attributes = Attributes.planned(schema, classifier.numeric, usual_numeric)
    sample = Sample(schema.read(table, unseen="error"), codes, weights)
    return attributes, sample


def further_sample(
    classifier: Any, X: Any, y: Any, sample_weight: Any, classes: Any
) -> tuple[Attributes, Sample]:
    """The sample of a further call, whose categories may be new."""
    if classes is not None and not np.array_equal(declared_classes(classes), classifier.classes_):
        raise ValueError(
            f"classes={list(classes)} differs from the {classifier.classes_.tolist()} of the first "
            "call. Call fit to begin anew."
        )
    X, y, weights = _weighed(X, y, sample_weight)
    table = UserTable.of(X)
    advice = "Name all classes as classes= in the first call of partial_fit."
    codes = label_codes(y, classifier.classes_, advice)
    warn_of_small_weights(classifier.classes_, codes, weights)
    attributes = classifier._attributes
    _require_width(classifier, X, table, attributes.schema)
    attributes = attributes.extended(table)
    return attributes, Sample(attributes.schema.read(table, unseen="error"), codes, weights)


def new_rows(classifier: Any, X: Any) -> Table:
    """Rows to be predicted."""
    schema = classifier._attributes.schema
    table = UserTable.of(X)
    _require_width(classifier, X, table, schema)
    read: Table = schema.read(table, unseen=classifier.unseen)
    return read


def _require_width(classifier: Any, X: Any, table: UserTable, schema: Schema) -> None:
    if schema.names is None or table.names is None:
        _check_n_features(classifier, X, reset=False)
    if schema.names is not None and table.names is None:  # in scikit-learn's words
        warn_user(
            f"X does not have valid feature names, but {type(classifier).__name__} was fitted with "
            "feature names",
            UserWarning,
        )


def _weighed(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
    """Rows with weight, their classes and weights."""
    require_labels(y)
    y = column_or_1d(y, warn=True)
    if type(X) is not np.ndarray or (X.ndim == 2 and len(X) != len(y)):
        computed(X)
        if getattr(X, "ndim", 2) == 2:
            check_consistent_length(X, y)
    if sample_weight is None:
        return X, y, None
    weights = row_factors(sample_weight, _num_samples(X), "sample_weight")
    kept = np.flatnonzero(weights > 0.0)
    if len(kept) == 0:
        raise ValueError("sample_weight is zero everywhere: there is nothing to learn from.")
    if len(kept) < len(weights):
        # Rows that do not count bring no categories either.
        X, y, weights = _safe_indexing(X, kept), y[kept], weights[kept]
    return X, y, weights


def prior_of(classifier: Any, of_class: Array) -> Array | None:
    """The probabilities of the classes where their shares are not to be taken."""
    given, n_classes = classifier.class_prior, len(of_class)
    if given is None:
        return None if classifier.fit_prior else np.full(n_classes, 1.0 / n_classes)
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
