"""Columns of a table as inputs of a graph, and as what machines take.

    number                      a float64 input, NaN where it is missing
    category of text            a text input, "" where it is missing
    category of numbers, flags  a float64 input (0 and 1 for flags), NaN where it is missing

A table with names has one input of shape (rows, 1) for each column, called like it; one without
names, whose columns are all numbers, has a single input X of shape (rows, columns), and otherwise
inputs x0, x1, ... Columns that had no value in training are no inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.bayes.tables.schema import CATEGORY, NUMBER, UNKNOWN
from lindero.persist.onnx_graphs.graph import ML, GraphBuilder

#: What a table encoder has learned that a graph can do; more is refused.
_KNOWN = {
    "form_", "kinds_", "categories_", "mean_", "scale_", "indicated_", "n_features_in_",
    "feature_names_in_", "others_", "details_",
}  # fmt: skip


@dataclass(frozen=True)
class InputColumn:
    """A column as an input: its tensor of shape (rows, 1), or None if it has no value."""

    tensor: str | None
    kind: str
    values: tuple[Any, ...]
    #: The value that stands for all that are not listed, if one does.
    other: Any = None

    @property
    def is_text(self) -> bool:
        """Whether its values are texts."""
        return bool(self.values) and isinstance(self.values[0], str)

    def find_missing(self, graph: GraphBuilder) -> str:
        """Flags of shape (rows, 1): where it is missing."""
        assert self.tensor is not None
        if self.is_text:
            return graph.add("Equal", self.find_codes(graph), graph.constant(np.array(0)))
        return graph.add("IsNaN", self.tensor)

    def find_codes(self, graph: GraphBuilder, unseen: int | None = None) -> str:
        """Of a category, 0 where it is missing, and the number of its value from 1 on; `unseen` is
        the code of values that are not known, by default one more than there are values."""
        assert self.tensor is not None
        codes = np.arange(1, len(self.values) + 1)
        other = len(self.values) + 1 if unseen is None else unseen
        if self.other in self.values and self.other is not None:
            other = self.values.index(self.other) + 1
        if self.is_text:
            texts = list(self.values)
            pairs = dict(zip(texts, codes.tolist(), strict=True)) | ({} if "" in texts else {"": 0})
            return graph.add(
                "LabelEncoder", self.tensor, domain=ML, keys_strings=list(pairs),
                values_int64s=list(pairs.values()), default_int64=other,
            )  # fmt: skip
        found = graph.cast(self.find_values(graph), "integer")
        code = graph.sum(graph.add("Mul", found, graph.constant(codes[None, :])), 1, keep=True)
        none = graph.add("Equal", code, graph.constant(np.array(0)))
        code = graph.add("Where", none, graph.constant(np.array(other)), code)
        missing = graph.add("IsNaN", self.tensor)
        return graph.add("Where", missing, graph.constant(np.array(0)), code)

    def find_values(self, graph: GraphBuilder) -> str:
        """Of a category, flags of shape (rows, values): which it is."""
        assert self.tensor is not None
        if self.is_text:
            codes = np.arange(1, len(self.values) + 1)
            return graph.add("Equal", self.find_codes(graph), graph.constant(codes[None, :]))
        numbers = np.array([float(value) for value in self.values])
        return graph.add("Equal", self.tensor, graph.constant(numbers[None, :]))


def add_columns(
    graph: GraphBuilder,
    names: Sequence[str] | None,
    kinds: Sequence[str],
    values: Sequence[Sequence[Any]],
    others: Sequence[Any] | None = None,
) -> list[InputColumn]:
    """The inputs of a table; `others` are the values that stand for rare and new ones."""
    if names is None and all(kind == NUMBER for kind in kinds):
        whole = graph.add_input("X", "number", len(kinds))
        return [
            InputColumn(
                graph.add("Gather", whole, graph.constant(np.array([place])), axis=1), kind, ()
            )
            for place, kind in enumerate(kinds)
        ]
    columns = []
    for place, (kind, own) in enumerate(zip(kinds, values, strict=True)):
        if kind not in (NUMBER, CATEGORY) or (kind == CATEGORY and not own):
            columns.append(InputColumn(None, UNKNOWN, ()))
            continue
        name = f"x{place}" if names is None else str(names[place])
        text = kind != NUMBER and isinstance(own[0], str)
        tensor = graph.add_input(name, "text" if text else "number", 1)
        other = None if others is None else others[place]
        columns.append(InputColumn(tensor, kind, tuple(own), other))
    return columns


def add_matrix(graph: GraphBuilder, names: Sequence[str] | None, n_columns: int) -> str:
    """Numbers of shape (rows, columns), none of them missing."""
    if names is None:
        return graph.add_input("X", "number", n_columns)
    parts = [graph.add_input(str(name), "number", 1) for name in names]
    return graph.add("Concat", *parts, axis=1)


def add_encoder(graph: GraphBuilder, encoder: Any) -> str:
    """What a fitted `TableEncoder` makes of a table: numbers of shape (rows, columns)."""
    more = sorted(name for name in vars(encoder) if name.endswith("_") and name not in _KNOWN)
    if more:
        raise ValueError(
            "The table encoder of this model does what has no form in ONNX yet "
            f"({', '.join(more)}). Train without such columns (--drop), or keep the model as .lin."
        )
    names = getattr(encoder, "feature_names_in_", None)
    if encoder.form_ == "sparse":
        rows = add_matrix(graph, names, encoder.n_features_in_)
        return graph.add("Div", rows, graph.constant(encoder.scale_[None, :]))
    kinds, categories = encoder.kinds_, encoder.categories_
    others = getattr(encoder, "others_", None)
    _require_plain(names, kinds)
    if names is None and all(kind == NUMBER for kind in kinds):
        rows = graph.add_input("X", "number", len(kinds))
        return _encode_numbers(graph, encoder, rows)
    parts: list[str] = []
    for place, column in enumerate(add_columns(graph, names, kinds, categories, others)):
        if column.tensor is None:
            continue
        if column.kind == NUMBER:
            mean, scale = encoder.mean_[place], encoder.scale_[place]
            parts.append(_standardise(graph, column.tensor, mean, scale))
        else:
            parts.append(graph.cast(column.find_values(graph), "number"))
        if encoder.indicated_[place]:
            parts.append(graph.cast(column.find_missing(graph), "number"))
    return graph.add("Concat", *parts, axis=1)


def _require_plain(names: Sequence[str] | None, kinds: Sequence[str]) -> None:
    """Refuse texts that are hashed and dates that are taken apart."""
    special = [place for place, kind in enumerate(kinds) if kind in ("text", "date")]
    if special:
        listed = ", ".join(repr(f"x{k}" if names is None else str(names[k])) for k in special)
        raise ValueError(
            f"Words of long texts and parts of dates have no form in ONNX here: {listed}. Train "
            "without these columns (--drop), or with numbers made of them."
        )


def _standardise(graph: GraphBuilder, numbers: str, mean: Any, scale: Any) -> str:
    """(x − mean) / scale, and 0 where x is missing."""
    centred = graph.add("Sub", numbers, graph.constant(np.asarray(mean, dtype=np.float64)))
    scaled = graph.add("Div", centred, graph.constant(np.asarray(scale, dtype=np.float64)))
    return graph.add("Where", graph.add("IsNaN", numbers), graph.constant(0.0), scaled)


def _encode_numbers(graph: GraphBuilder, encoder: Any, rows: str) -> str:
    """All columns at once; those with an indicator are followed by it."""
    scaled = _standardise(graph, rows, encoder.mean_[None, :], encoder.scale_[None, :])
    gaps = np.flatnonzero(encoder.indicated_)
    if not len(gaps):
        return scaled
    missing = graph.cast(graph.add("IsNaN", rows), "number")
    told = graph.add("Gather", missing, graph.constant(gaps), axis=1)
    both = graph.add("Concat", scaled, told, axis=1)
    d = len(encoder.indicated_)
    order = [
        place
        for column in range(d)
        for place in (
            [column, d + int(np.searchsorted(gaps, column))]
            if encoder.indicated_[column]
            else [column]
        )
    ]
    return graph.add("Gather", both, graph.constant(np.array(order)), axis=1)
