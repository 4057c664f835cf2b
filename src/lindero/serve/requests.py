"""What a caller passes, as rows that a store can keep: checked before anything is written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindero.serve.ledger import make_salt
from lindero.serve.stored_model import StoredModel
from lindero.serve.stored_rows import GivenRows, encode_row

#: Rows at once, in one call.
MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class NewRow:
    """A row to be learned."""

    own_id: Any
    data: bytes
    names: tuple[str, ...] | None
    counted: bool
    salt: bytes = field(default_factory=make_salt)

    @property
    def id(self) -> str:
        return json.dumps(self.own_id)


def read_new_rows(
    held: StoredModel, X: Any, y: Any, ids: Any, weights: Any, times: Any, replaces: bool
) -> list[NewRow]:
    """The rows to learn, with the ids that are given, or else with numbers."""
    table = GivenRows.of(X)
    n_rows = len(table.values)
    if not 1 <= n_rows <= MOST_ROWS:
        raise ValueError(f"Give 1 to {MOST_ROWS} rows at once, not {n_rows}.")
    if held.names is None and table.names is not None and held.is_fitted:
        raise ValueError(
            "The columns have names, but the rows before had none: pass them without, in the "
            "same order."
        )
    table = table.in_order(held.names)
    width = getattr(held.estimator, "n_features_in_", None) if held.is_fitted else None
    if width is not None and len(table.values[0]) != width:
        raise ValueError(f"The rows have {len(table.values[0])} columns, the model {width}.")
    first = held.next_id
    if ids is None and first is None:
        raise ValueError("The rows of this model have ids of your own: give ids.")
    if ids is not None and held.counted and not replaces:
        raise ValueError("The rows of this model are counted: give no ids.")
    if ids is None:
        assert first is not None
        chosen: list[Any] = list(range(first, first + n_rows))
    else:
        chosen = list(list_ids(ids))
        if len(chosen) != n_rows:
            raise ValueError(f"There are {n_rows} rows, but {len(chosen)} different ids.")
    encoded = _encode(held, table, y, weights, times)
    return [
        NewRow(own_id, data, table.names, ids is None)
        for own_id, data in zip(chosen, encoded, strict=True)
    ]


def read_again(
    held: StoredModel, X: Any, y: Any, ids: Any, weights: Any, times: Any
) -> list[tuple[str | None, bytes]]:
    """The rows of a request that may have been learned already: ids, where they are given, and
    bytes."""
    encoded = _encode(held, GivenRows.of(X).in_order(held.names), y, weights, times)
    listed = [None] * len(encoded) if ids is None else [json.dumps(id) for id in list_ids(ids)]
    if len(listed) != len(encoded):
        raise ValueError(f"There are {len(encoded)} rows, but {len(listed)} different ids.")
    return list(zip(listed, encoded, strict=True))


def _encode(held: StoredModel, table: GivenRows, y: Any, weights: Any, times: Any) -> list[bytes]:
    """The bytes of rows, with what stands beside them."""
    n_rows = len(table.values)
    columns = [
        _list_values(y, "y", n_rows),
        _list_values(weights, "sample_weight", n_rows),
        _list_values(times, "times", n_rows),
    ]
    encoded = []
    for at, values in enumerate(table.values):
        own = [None if column is None else column[at] for column in columns]
        if y is not None and own[0] is None:
            raise ValueError(f"Row {at} has no label. Leave it out, or label it first.")
        encoded.append(encode_row(values, held.is_numeric, *own))
    return encoded


def list_ids(ids: Any) -> tuple[Any, ...]:
    listed = [ids] if isinstance(ids, (str, int)) else np.asarray(ids, dtype=object).tolist()
    plain = [id.item() if isinstance(id, np.generic) else id for id in listed]
    for id in plain:
        if isinstance(id, bool) or not isinstance(id, (int, str)):
            raise ValueError(f"Ids are integers or text, but {id!r} is a {type(id).__name__}.")
    if not plain:
        raise ValueError("Give at least one id.")
    return tuple(dict.fromkeys(plain)) if len(set(plain)) < len(plain) else tuple(plain)


def _list_values(values: Any, what: str, n_rows: int) -> list[Any] | None:
    if values is None:
        return None
    listed = np.asarray(values).ravel().tolist() if not isinstance(values, list) else list(values)
    listed = [value.item() if isinstance(value, np.generic) else value for value in listed]
    if len(listed) != n_rows:
        raise ValueError(f"There are {n_rows} rows, but {what} has {len(listed)} values.")
    return listed
