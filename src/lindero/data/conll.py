"""Column files of CoNLL: a token a line, its columns divided by blanks or tabs, sentences by empty
lines.

The first column is the word, the last the label, unless another is named. Lines of ``-DOCSTART-``
are left out, as are lines that begin with # and have another number of columns: these are comments.
A file is known by its labels, O or B-, I-, E- or S- with a kind, in most of its first lines.
"""

from __future__ import annotations

import os
from itertools import accumulate

import numpy as np
import pyarrow as pa

from lindero.data.content import Content, read_content
from lindero.data.dataset import Dataset
from lindero.data.reading import Reading, Roles
from lindero.runtime.texts import shorten

#: What a document begins with, and what lines that may be no tokens do.
_DOCUMENT = "-DOCSTART-"
_NO_TOKENS = ("# ", _DOCUMENT)


def read_conll(
    path: str | os.PathLike[str], *, max_megabytes: float | None = None
) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Read the sentences of a file of CoNLL, as lists.

    Parameters
    ----------
    path : str or path-like
        The file, compressed with gzip or not; "-" is standard input.
    max_megabytes : float, default=None
        Megabytes that a file may grow to when it is unpacked, as in `load`.

    Returns
    -------
    sentences : list of list of list of str
        For each sentence its tokens, each with all of its columns but the last.
    labels : list of list of str
        The last column, for each sentence.

    Raises
    ------
    DataError
        If the file cannot be read, or a line has another number of columns.

    See Also
    --------
    load : The same as a table, with columns by name.
    lindero.svm.ChainSVC : Learns from them.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.data import read_conll
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "chunks.txt")
    ...     with open(path, "w") as file:
    ...         _ = file.write("He PRP B-NP\\nslept VBD B-VP\\n\\nRain NN B-NP\\n")
    ...     sentences, labels = read_conll(path)
    >>> sentences[0], labels
    ([['He', 'PRP'], ['slept', 'VBD']], [['B-NP', 'B-VP'], ['B-NP']])
    """
    content = read_content(path, max_megabytes).as_text()
    tokens, lengths = read_sentences(content)
    ends = list(accumulate(lengths))
    parts = [tokens[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    if len(tokens[0]) < 2:
        raise content.error("has one column only: the last one is to be the label.")
    sentences = [[token[:-1] for token in part] for part in parts]
    return sentences, [[token[-1] for token in part] for part in parts]


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
    for role in ("time", "qid", "weight", "position"):
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
