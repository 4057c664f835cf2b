"""Features of tokens in their sentences: templates, whose values are hashed to columns.

A template is a list of parts such as ("word", −1), the word before; its value at a token is what
all of its parts are there. Texts are hashed once for each that is different (64 bits of BLAKE2, the
same on every machine), and the hashes of parts are mixed into that of a template, for all tokens at
once. A column is the remainder of that. Two values that share a column share a weight; there are so
many columns that few do, and machines that keep weights for columns they saw need no more memory
for that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from lindero.runtime.arrays import Array

#: A part of a template: what is looked at, and how many tokens further on.
Part = tuple[str, int]

_MIXERS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
_STEP = np.uint64(0x9E3779B97F4A7C15)

_SHAPES = ((re.compile(r"[^\W\d_]"), None), (re.compile(r"\d"), "0"))
_RUNS = re.compile(r"(.)\1+", re.S)


@dataclass(frozen=True)
class TokenHasher:
    """Turns tokens into sparse rows by the usual templates: words, shapes, affixes, neighbours.

    A token is a word, or a word and further columns, such as its part of speech. Its features are:
    the words and the further columns within `window` tokens; pairs of neighbouring words around it;
    pairs and triples of neighbouring values of each further column; prefixes and suffixes; the
    shape, as in "Xx-0" for "Mid-1998"; and a constant.

    Parameters
    ----------
    n_features : int, default=4194304
        Number of columns.
    window : int, default=2
        Tokens on each side that are looked at.
    affixes : int, default=4
        Letters of the longest prefix and suffix.
    shape : bool, default=True
        Whether the shape of the word is a feature.
    templates : sequence of sequences of (str, int), default=None
        Templates instead of those above, each a list of parts, such as ``[("word", -1), ("column1",
        0)]``. Parts are "word", "lower", "shape", "prefix3", "suffix2" and "column1" (the further
        columns, counted from 1), each with an offset.

    See Also
    --------
    ChainSVC : Learns from such rows; given text, it calls a hasher itself.
    lindero.data.load : Reads files of CoNLL, a token a line.

    References
    ----------
    K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg, "Feature hashing for large
    scale multitask learning", ICML 2009.

    Examples
    --------
    >>> from lindero.svm import TokenHasher
    >>> hasher = TokenHasher(window=1, affixes=2)
    >>> rows = hasher.transform([["The", "DT"], ["cat", "NN"], ["Sleep", "VB"]], lengths=[2, 1])
    >>> rows.shape
    (3, 4194304)
    >>> hasher.list_templates(2)[:3]
    [(('word', -1),), (('word', 0),), (('word', 1),)]
    """

    n_features: int = 2**22
    window: int = 2
    affixes: int = 4
    shape: bool = True
    templates: Sequence[Sequence[Part]] | None = None

    def __post_init__(self) -> None:
        for name, least, most in (
            ("n_features", 1, 2**31 - 1),
            ("window", 0, 16),
            ("affixes", 0, 32),
        ):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or not least <= value <= most:
                raise ValueError(
                    f"{name} of TokenHasher must be a whole number from {least} to {most}, not "
                    f"{value!r}."
                )
        if self.templates is not None:
            object.__setattr__(self, "templates", _read_templates(self.templates))

    def list_templates(self, n_columns: int) -> list[tuple[Part, ...]]:
        """The templates for tokens of so many columns, the word included.

        Parameters
        ----------
        n_columns : int
            Columns of a token.

        Returns
        -------
        templates : list of tuple of (str, int)
        """
        if self.templates is not None:
            return [tuple(template) for template in self.templates]
        around = range(-self.window, self.window + 1)
        found: list[tuple[Part, ...]] = [(("word", k),) for k in around]
        if self.window:
            found += [(("word", -1), ("word", 0)), (("word", 0), ("word", 1))]
        for number in range(1, n_columns):
            name = f"column{number}"
            for size in (1, 2, 3):
                starts = range(-self.window, self.window + 2 - size)
                found += [tuple((name, k + j) for j in range(size)) for k in starts]
        for size in range(1, self.affixes + 1):
            found += [((f"prefix{size}", 0),), ((f"suffix{size}", 0),)]
        return [*found, *([(("shape", 0),)] if self.shape else []), ()]

    def transform(self, tokens: Any, lengths: Any = None) -> Any:
        """Sparse rows of tokens.

        Parameters
        ----------
        tokens : array-like of shape (n_tokens,) or (n_tokens, n_columns)
            Words, or words with further columns. Values that are not text are taken as they are
            written.
        lengths : array-like of int, default=None
            Tokens of each sentence, which sum to ``n_tokens``; None is one sentence.

        Returns
        -------
        rows : csr_array of shape (n_tokens, n_features)
        """
        columns = read_tokens(tokens)
        n = len(columns[0])
        sizes = read_lengths(lengths, n)
        ends = np.repeat(np.cumsum(sizes), sizes)
        begins = ends - np.repeat(sizes, sizes)
        place = np.arange(n)
        known: dict[Part, Array] = {}
        attributes: dict[str, Array] = {}
        templates = self.list_templates(len(columns))
        indices = np.empty((n, len(templates)), dtype=np.int32)
        for number, template in enumerate(templates):
            mixed = np.full(n, number + 1, dtype=np.uint64) * _STEP
            for name, offset in template:
                if name not in attributes:
                    attributes[name] = hash_attribute(name, columns)
                if (name, offset) not in known:
                    known[name, offset] = _shift(attributes[name], offset, place, begins, ends)
                mixed = _mix(mixed ^ known[name, offset])
            indices[:, number] = _mix(mixed) % np.uint64(self.n_features)
        starts = np.arange(n + 1, dtype=np.int64) * len(templates)
        return sp.csr_array(
            (np.ones(indices.size), indices.ravel(), starts), shape=(n, self.n_features)
        )


# -- tokens ---------------------------------------------------------------------------------------


def read_tokens(tokens: Any) -> list[Array]:
    """Columns of tokens as text."""
    frame = nw.from_native(tokens, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        return [_as_text(column.to_list()) for column in frame.iter_columns()]
    if isinstance(tokens, (str, bytes)):
        raise ValueError("tokens must be a list of tokens, not a text: split it first.")
    try:
        table = np.asarray(tokens, dtype=object)
    except ValueError:
        table = np.empty(0, dtype=object)
    if table.ndim not in (1, 2) or table.shape[0] == 0 or (table.ndim == 2 and not table.shape[1]):
        raise ValueError(
            "tokens must be at least one word, or a table of tokens with as many columns each; got "
            f"an array of shape {table.shape}."
        )
    if table.ndim == 1:
        if isinstance(table[0], (list, tuple, np.ndarray)):
            raise ValueError("All tokens must have the same number of columns.")
        table = table[:, None]
    return [_as_text(column) for column in table.T]


def _as_text(column: Iterable[Any]) -> Array:
    return np.array([value if isinstance(value, str) else str(value) for value in column], object)


def read_lengths(lengths: Any, n_tokens: int) -> Array:
    """Lengths of sequences: whole numbers above 0 whose sum is that of all tokens."""
    if lengths is None:
        return np.array([n_tokens], dtype=np.int64)
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
        raise ValueError(
            "lengths must be a vector of whole numbers, the number of tokens of each sequence."
        )
    if len(sizes) and sizes.min() < 1:
        number = int(np.argmax(sizes < 1))
        raise ValueError(
            f"lengths[{number}] is {sizes[number]}: a sequence has at least one token. Leave empty "
            "sequences out."
        )
    if int(sizes.sum()) != n_tokens:
        raise ValueError(
            f"lengths sum to {int(sizes.sum())}, but there are {n_tokens} rows: each row belongs "
            "to one sequence."
        )
    return sizes.astype(np.int64)


def _read_templates(templates: Any) -> tuple[tuple[Part, ...], ...]:
    read = []
    for template in templates:
        parts = [template] if isinstance(template, tuple) and len(template) == 2 and isinstance(
            template[0], str
        ) else list(template)  # fmt: skip
        for part in parts:
            sound = len(part) == 2 and isinstance(part[0], str) and isinstance(part[1], int)
            if not sound or not re.fullmatch(
                r"word|lower|shape|(prefix|suffix|column)[1-9]\d{0,3}", part[0]
            ):
                raise ValueError(
                    f"{part!r} is no part of a template: it takes a pair of a name (word, lower, "
                    "shape, prefix3, suffix2, column1) and an offset in tokens."
                )
        read.append(tuple((str(name), int(offset)) for name, offset in parts))
    return tuple(read)


# -- hashes ---------------------------------------------------------------------------------------


def find_shape(word: str) -> str:
    """Letters as X or x, digits as 0, and runs of the same as one."""
    for pattern, mark in _SHAPES:
        if mark is None:
            word = pattern.sub(lambda found: "X" if found[0].isupper() else "x", word)
        else:
            word = pattern.sub(mark, word)
    return _RUNS.sub(r"\1", word)


def hash_attribute(name: str, columns: list[Array]) -> Array:
    """64 bits for each token."""
    values, change = columns[0], _choose_change(name)
    if name.startswith("column"):
        number = int(name[6:])
        if number >= len(columns):
            raise ValueError(
                f"A template asks for {name}, but tokens have {len(columns)} columns, the first of "
                f"them the word: the last is column{len(columns) - 1}."
            )
        values = columns[number]
    hashes: dict[str, int] = {}
    for value in set(values):
        text = f"{name}={change(value)}".encode("utf-8", "surrogatepass")
        hashes[value] = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
    return np.array([hashes[value] for value in values], dtype=np.uint64)


def _choose_change(name: str) -> Callable[[str], str]:
    if name == "lower":
        return str.lower
    if name == "shape":
        return find_shape
    if name.startswith("prefix"):
        return partial(_cut, end=int(name[6:]))
    if name.startswith("suffix"):
        return partial(_cut, start=-int(name[6:]))
    return str


def _cut(word: str, start: int | None = None, end: int | None = None) -> str:
    return word[start:end]


def _shift(hashes: Array, offset: int, place: Array, begins: Array, ends: Array) -> Array:
    """The hash of the token `offset` further on, or how far outside of the sentence that is."""
    target = place + offset
    inside = (target >= begins) & (target < ends)
    outside = np.where(target < begins, target - begins, target - ends + 1)
    moved: Array = _mix(outside.astype(np.int64).view(np.uint64) + _STEP)
    moved[inside] = hashes[target[inside]]
    return moved


def _mix(values: Array) -> Array:
    """The finaliser of SplitMix64: every bit depends on all."""
    values = (values ^ (values >> np.uint64(30))) * _MIXERS[0]
    values = (values ^ (values >> np.uint64(27))) * _MIXERS[1]
    mixed: Array = values ^ (values >> np.uint64(31))
    return mixed
