"""svmlight files: rows of ``label [qid:number] index:value … [# comment]``.

SVMlight and LIBSVM use this format, and scikit-learn reads it. Here its errors get a line number,
and indices a limit: models keep a number for every index up to the largest, so that one digit too
many would ask for terabytes.
"""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.data.content import Content
from lindero.runtime.arrays import Array

LARGEST_INDEX = 10**8

_QUERY = re.compile(rb"^[^#\n]*\sqid:", re.M)


def read_svmlight(content: Content) -> tuple[Any, Array, Array | None]:
    """Features (CSR), labels, and queries where rows name them."""
    from sklearn.datasets import load_svmlight_file

    has_queries = _QUERY.search(content.data) is not None
    try:
        X, y, *queries = load_svmlight_file(io.BytesIO(content.data), query_id=has_queries)
    except (ValueError, OverflowError, IndexError) as error:
        raise find_fault(content) or content.error(f"is not an svmlight file: {error}.") from None
    if X.shape[1] > LARGEST_INDEX or X.shape[0] == 0 or not np.isfinite(y).all():
        raise find_fault(content) or content.error("has no rows.")
    if has_queries and len(queries[0]) != len(y):
        raise content.error("has rows with a qid and rows without. Give each row one.")
    # Indices fit 32 bits, which scikit-learn's own estimators require.
    if X.nnz < 2**31:
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array(X), np.asarray(y), np.asarray(queries[0]) if has_queries else None


def find_fault(content: Content) -> Exception | None:
    """An error that names the first bad line."""
    n_rows = 0
    for number, line in enumerate(bytes(content.data).split(b"\n"), start=1):
        words = line.partition(b"#")[0].split()
        if not words:
            continue
        n_rows += 1
        if complaint := _find_label_fault(words[0]) or _find_entry_fault(words[1:]):
            return content.error(complaint, number)
    return None if n_rows else content.error("has only comments, and no rows.")


def _find_label_fault(word: bytes) -> str | None:
    if np.isfinite(_parse_number(word)):
        return None
    if b"," in word and not any(np.isnan(_parse_number(part)) for part in word.split(b",")):
        return f"has several labels ({_shorten(word)}). Only one label a row is supported."
    return f"a row must begin with a finite number as its label, not with {_shorten(word)}."


def _find_entry_fault(words: list[bytes]) -> str | None:
    previous = -1
    for place, word in enumerate(words):
        name, colon, value = word.partition(b":")
        if not colon:
            return f"expected index:value, not {_shorten(word)}."
        if name == b"qid" and place == 0:
            if not re.fullmatch(rb"-?[0-9]{1,18}", value):
                return f"qid must be an integer, not {_shorten(value)}."
            continue
        if not name.isdigit():
            return f"an index must be an integer of at least 0, not {_shorten(name)}."
        index = int(name) if len(name) < 20 else LARGEST_INDEX + 1
        if index > LARGEST_INDEX:
            return f"index {_shorten(name)} is above {LARGEST_INDEX}, the largest allowed."
        if index <= previous:
            return f"indices must increase, but {index} comes after {previous}."
        if np.isnan(_parse_number(value)) and value.lower().lstrip(b"+-") != b"nan":
            return f"the value of index {index} is not a number: {_shorten(value)}."
        previous = index
    return None


def _parse_number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")


def _shorten(word: bytes) -> str:
    text = word[:40].decode("utf-8", errors="backslashreplace")
    return repr(text) + ("..." if len(word) > 40 else "")
