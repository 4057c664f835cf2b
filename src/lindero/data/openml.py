"""A data set of OpenML, fetched by scikit-learn, as a table.

Without pandas scikit-learn gives arrays of floats, in which categories are numbered; their names
come beside them and are put back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.data.dataset import Dataset
from lindero.data.row_values import kind_of, number_targets, target_values
from lindero.errors import DataError


def openml_dataset(title: Any, name: str) -> Dataset:
    """The first version of a set on OpenML."""
    from sklearn.datasets import fetch_openml  # and all it stands on

    held = fetch_openml(title, version=1, as_frame=False, parser="liac-arff")
    if held.target is None or np.ndim(held.target) != 1:
        raise DataError(
            f"{name!r} has no single target on OpenML. Fetch it by scikit-learn's fetch_openml."
        )
    source = f"OpenML {title}"
    target = held.target_names[0]
    if sp.issparse(held.data):
        return Dataset(sp.csr_array(held.data), _target(held.target), target, {}, source)
    return _from_array(held, target, source)


def _from_array(held: Any, target: str, source: str) -> Dataset:
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for j, name in enumerate(held.feature_names):
        codes = held.data[:, j].astype(np.float64)
        missing = np.isnan(codes)
        words = (held.categories or {}).get(name)
        if words is None:
            columns[name] = pa.array(codes, mask=missing)
        else:
            texts = np.array([*map(str, words)], dtype=object)
            columns[name] = pa.array(
                texts[np.where(missing, 0, codes).astype(np.intp)], pa.string(), mask=missing
            )
    X = pa.table(columns)
    kinds = {name: kind_of(X[name]) for name in columns}
    return Dataset(X, _target(held.target), target, kinds, source)


def _target(values: Any) -> Any:
    import pyarrow as pa

    if np.asarray(values).dtype.kind == "O":
        return target_values(pa.chunked_array([pa.array(values, pa.string())]))
    return number_targets(np.asarray(values, dtype=np.float64))
