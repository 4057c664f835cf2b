"""Sequences as users have them, flat for the machine: tokens below each other, and lengths.

What is accepted: a table of tokens with `lengths`, or a list with one table (dense, sparse, or of
text) for each sequence. Text is words, or rows of words with further columns. Answers come back as
the sequences came. And how well labels agree: by token, by sequence, by chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from lindero.runtime.arrays import Array
from lindero.svm.token_hasher import read_lengths
from lindero.validation import make_label_array, make_plain_labels


@dataclass(frozen=True)
class Sequences:
    """All tokens below each other, and how many each sequence has."""

    tokens: Any
    lengths: Array
    #: Whether they came in a list, and go back as one.
    listed: bool

    @property
    def bounds(self) -> Array:
        """Where each sequence begins, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def divide(self, labels: Array) -> Any:
        """Labels of all tokens, as the sequences came."""
        return np.split(labels, np.cumsum(self.lengths)[:-1]) if self.listed else labels


def read_sequences(X: Any, lengths: Any) -> Sequences:
    """Sequences that a user passed."""
    if lengths is not None or not _is_list_of_sequences(X):
        n_tokens = _count_rows(X)
        return Sequences(X, read_lengths(lengths, n_tokens), False)
    sizes = np.array([_count_rows(part) for part in X], dtype=np.int64)
    if len(sizes) == 0 or sizes.min() == 0:
        which = "X has no sequences" if len(sizes) == 0 else f"X[{int(np.argmin(sizes))}] is empty"
        raise ValueError(f"{which}: a sequence has at least one token. Leave empty ones out.")
    if any(sp.issparse(part) for part in X):
        _require_one_width(X)
        return Sequences(sp.vstack([sp.csr_array(part) for part in X], "csr"), sizes, True)
    if all(isinstance(part, np.ndarray) for part in X) and X[0].ndim == 2:
        _require_one_width(X)
        return Sequences(np.concatenate(list(X)), sizes, True)
    tokens = [token for part in X for token in part]
    plain = [isinstance(token, str) for token in tokens]
    if any(plain) and not all(plain):
        number = plain.index(not plain[0])
        raise ValueError(
            f"Tokens are words, or lists of a word and further columns, not both: the first is "
            f"{tokens[0]!r}, and token {number} is {tokens[number]!r}."
        )
    if not plain[0]:
        widths = {np.size(token) for token in tokens}
        if len(widths) > 1:
            raise ValueError(
                f"Tokens have between {min(widths)} and {max(widths)} columns: all need the same."
            )
    return Sequences(tokens, sizes, True)


def count_runs(names: Any) -> Array:
    """Lengths of sequences, from what tells the rows of one from those of the next."""
    array = np.asarray(names)
    starts = np.flatnonzero(array[1:] != array[:-1]) + 1
    return np.diff(np.concatenate([[0], starts, [len(array)]]))


def _require_one_width(parts: Sequence[Any]) -> None:
    for number, part in enumerate(parts):
        shape: tuple[int, ...] = getattr(part, "shape", ())
        if len(shape) != 2 or shape[1] != parts[0].shape[1]:
            raise ValueError(
                f"X[{number}] has the shape {tuple(shape)}, but X[0] has {parts[0].shape[1]} "
                "columns: each sequence is a table with the same columns."
            )


def _is_list_of_sequences(X: Any) -> bool:
    """Whether X is a list of tables, and not a table: rows of numbers are a table."""
    if not isinstance(X, (list, tuple)):
        return isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and (
            len(X) > 0 and not isinstance(X[0], str)
        )  # fmt: skip
    if len(X) == 0:
        return True
    first = next((part for part in X if _count_rows(part)), X[0])
    if sp.issparse(first) or getattr(first, "ndim", 0) == 2:
        return True
    if isinstance(first, (str, bytes)) or not hasattr(first, "__len__"):
        return False
    inner: Any = first[0] if len(first) else 0.0
    return isinstance(inner, str) or np.ndim(inner) == 1


def _count_rows(X: Any) -> int:
    if hasattr(X, "shape") and len(X.shape):
        return int(X.shape[0])
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise ValueError(
            f"X must be a table of tokens, or a list of one for each sequence, not "
            f"{type(X).__name__}."
        )
    return len(X)


def has_text(tokens: Any) -> bool:
    """Whether tokens are words, and not rows of numbers."""
    if sp.issparse(tokens):
        return False
    frame = open_frame(tokens)
    if frame is not None:
        kinds = frame.schema.values()
        return not all(kind.is_numeric() or kind == nw.Boolean for kind in kinds)
    table = np.asarray(tokens, dtype=None if isinstance(tokens, np.ndarray) else object)
    if table.dtype.kind in "US":
        return True
    return table.dtype == object and any(isinstance(value, str) for value in table.flat)


def open_frame(tokens: Any) -> Any:
    """A dataframe of any library, or None for what is none."""
    frame = nw.from_native(tokens, pass_through=True, eager_only=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def read_labels(y: Any, sequences: Sequences) -> Array:
    """Labels of all tokens: as a list for a list of sequences, or flat."""
    if y is None:
        raise ValueError(
            "Fitting requires y to be passed, but the target y is None: give each token a label."
        )
    lengths = sequences.lengths
    nested = sequences.listed and len(y) > 0 and all(
        not isinstance(part, str) and hasattr(part, "__len__") for part in y
    )  # fmt: skip
    if nested and len(y) != len(lengths):
        raise ValueError(
            f"y has {len(y)} sequences, but X has {len(lengths)}: each needs its labels."
        )
    if nested:
        for number, (part, length) in enumerate(zip(y, lengths, strict=True)):
            if len(part) != length:
                raise ValueError(
                    f"y[{number}] has {len(part)} labels, but X[{number}] has {length} tokens."
                )
        flat = np.array([label for part in y for label in part], dtype=object)
        return make_plain_labels(flat)
    labels = make_label_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    total = int(lengths.sum())
    if labels.ndim != 1 or len(labels) != total:
        told = f"{len(labels)} sequences" if sequences.listed else f"shape {labels.shape}"
        raise ValueError(
            f"y has {told}, but X has {len(lengths)} sequences with {total} tokens: pass a label "
            "for each token, in lists as X is, or in one vector."
        )
    return labels


# -- how well labels agree ------------------------------------------------------------------------


def find_chunks(labels: Sequence[Any], bounds: Array) -> set[tuple[int, int, str]]:
    """Chunks of labels such as B-NP, I-NP and O: first token, end, kind. As in the evaluation of
    CoNLL, an I- after another kind begins a chunk, too."""
    chunks = set()
    for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        begun, kind = first, ""
        for t in range(first, stop):
            mark, _, now = str(labels[t]).partition("-")
            inside = mark in ("I", "E") and now == kind and kind != ""
            if not inside:
                if kind:
                    chunks.add((begun, t, kind))
                begun, kind = t, now if mark in ("B", "I", "E", "S") else ""
        if kind:
            chunks.add((begun, stop, kind))
    return chunks


def measure_labels(measure: str, right: Array, found: Array, bounds: Array) -> float:
    """How well labels agree, from 0 to 1."""
    same = right == found
    if measure == "hamming":
        return float(same.mean())
    if measure == "sequences":
        return float(np.logical_and.reduceat(same, bounds[:-1]).mean())
    wanted, had = find_chunks(right.tolist(), bounds), find_chunks(found.tolist(), bounds)
    if not wanted:
        raise ValueError(
            'measure="chunks" needs labels such as B-NP, I-NP and O, and y has no chunk. Use '
            '"hamming".'
        )
    return 2.0 * len(wanted & had) / (len(wanted) + len(had))


def measure_sequences(right: Array, found: Array, lengths: Array | None) -> dict[str, float]:
    """All measures by name; that of chunks where labels are of chunks."""
    sizes = np.array([len(right)]) if lengths is None else lengths
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    told = {
        "token_accuracy": measure_labels("hamming", right, found, bounds),
        "sequence_accuracy": measure_labels("sequences", right, found, bounds),
    }
    if any(str(label).startswith(("B-", "I-")) for label in set(right.tolist())):
        told["chunk_f1"] = measure_labels("chunks", right, found, bounds)
    return told
