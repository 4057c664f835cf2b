"""Column files of CoNLL: a token a line, its columns divided by blanks or tabs, sentences by empty
lines.

The first column is the word, the last the label, unless another is named. Lines of ``-DOCSTART-``
are left out, as are lines that begin with # and have another number of columns: these are comments.
A file is known by its labels, O or B-, I-, E- or S- with a kind, in most of its first lines.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lindero.data.content import Content
from lindero.data.dataset import Dataset
from lindero.data.reading import Reading, Roles
from lindero.runtime.texts import shorten

#: What a document begins with, and what lines that may be no tokens do.
_DOCUMENT = "-DOCSTART-"
_NO_TOKENS = ("# ", _DOCUMENT)


def read_sentences(content: Content) -> tuple[list[list[str]], list[int]]:
    """The tokens of all sentences, and the length of each."""
    text = bytes(content.data).decode("utf-8")
    lines = [line.rstrip("\r") for line in text.split("\n")]
    tokens_of = (line for line in lines if line.strip() and not line.startswith(_NO_TOKENS))
    tabs = "\t" in next(tokens_of, "")
    tokens: list[list[str]] = []
    lengths: list[int] = []
    n_open, width = 0, 0
    for number, line in enumerate([*lines, ""], start=1):
        if not line.strip() or line.startswith(_DOCUMENT):
            if n_open:
                lengths.append(n_open)
            n_open = 0
            continue
        words = line.split("\t") if tabs else line.split()
        if width == 0 and not line.startswith("# "):
            width = len(words)
        if len(words) != width:
            if line.startswith("#"):
                continue
            raise content.error(
                f"a token has {len(words)} columns, and those before have {width}: "
                f"{shorten(line, 60)!r}.",
                number,
            )
        tokens.append(words)
        n_open += 1
    if not tokens:
        raise content.error("has no tokens.")
    return tokens, lengths


def load_conll(content: Content, roles: Roles, like: Reading | None = None) -> Dataset:
    """The data set of a file of CoNLL: `qid` numbers its sentences."""
    tokens, lengths = read_sentences(content)
    names = ["word", *(f"column{k}" for k in range(1, len(tokens[0])))]
    if like is not None:
        roles = roles.complete(like, names)
    elif roles.target is None and len(names) > 1:
        roles = Roles(**{**vars(roles), "target": names[-1]})
    for role in ("time", "qid", "weight"):
        if role in roles.list_given():
            raise content.error(
                f"{role}={getattr(roles, role)!r} was given, but tokens have no {role}: sentences "
                "are told apart by empty lines."
            )
    named = roles.resolve(names, content)
    columns = dict(zip(names, zip(*tokens, strict=True), strict=True))
    features = [name for name in names if name not in named.taken()]
    features = [name for name in features if not named.only or name in named.only]
    if not features:
        raise content.error("has no columns left for features: all of them have another role.")
    return Dataset(
        X=pa.table({name: list(columns[name]) for name in features}),
        y=None if named.target is None else np.array(columns[named.target]),
        target=named.target,
        kinds=dict.fromkeys(features, "category"),
        source=content.source,
        qid=np.repeat(np.arange(len(lengths)), lengths),
        reading=Reading(target=named.target, drop=named.drop, only=named.only),
    )
