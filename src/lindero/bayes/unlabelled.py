"""From what users pass to rows without classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, validate_data

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.reading import warn_of_text
from lindero.bayes.tables.schema import Schema, Table
from lindero.bayes.tables.user_table import UserTable
from lindero.runtime.arrays import Array
from lindero.validation import row_factors


def unlabelled_rows(
    estimator: Any, X: Any, sample_weight: Any
) -> tuple[Attributes, Table, Array | None, Table]:
    """Attributes with their cuts; the rows that have weight, and their weights; and all rows.

    Sets what the estimator knows of its columns.
    """
    everything, weights, places = UserTable.of(X), None, None
    if sample_weight is not None:
        weights = row_factors(sample_weight, _num_samples(X), "sample_weight")
        places = np.flatnonzero(weights > 0.0)
        if len(places) == 0:
            raise ValueError("sample_weight is zero everywhere: there is nothing to cluster.")
    # Rows that do not count bring no categories either.
    partly = weights is not None and len(places) < len(weights)  # type: ignore[arg-type]
    counted = UserTable.of(_safe_indexing(X, places)) if partly else everything
    schema = Schema.learn(counted, estimator.categorical_features)
    validate_data(estimator, X, skip_check_array=True)
    if estimator.categorical_features is None:
        warn_of_text(schema, counted.n_rows)
    attributes = Attributes.plan(schema, estimator.numeric, "gaussian")
    _refuse_mdl(attributes)
    table = every = schema.read(counted, unseen="error")
    if partly:
        assert weights is not None
        weights = weights[places]
        # A value that only rows without weight have is no error in these.
        unseen = "missing" if estimator.unseen == "error" else estimator.unseen
        every = schema.read(everything, unseen=unseen)
    one_class = np.zeros(table.n_rows, dtype=np.intp)
    attributes = attributes.learn_cuts(table, one_class, 1, weights, estimator.n_bins)
    return attributes, table, weights, every


def _refuse_mdl(attributes: Attributes) -> None:
    for column, method in zip(attributes.schema.number_columns, attributes.methods, strict=True):
        if method == "mdl":
            raise ValueError(
                f"numeric='mdl' for column {attributes.schema.title(column)} cuts where classes "
                "change, but there are no classes here. Use 'gaussian', 'quantile', 'uniform', or "
                "cut points."
            )
