"""Lines of a model file, read in pieces of bounded size, and support vectors as text.

A model file is text from anywhere, so nothing in it is believed before it is checked. Two rules
keep its numbers from doing harm:

* Memory grows with what was read, never with what a number in the file announces. A line is read
  in pieces of some thousand words, so that one endless line costs no more than many short ones.
* A word is a number only if it looks like one: digits of ASCII, no underscores, not too long, and
  finite.

Every complaint is a `ModelFileError` that names the line.

Numbers are written in 17 significant digits, which name a float64 exactly: what is read back is the
same number.
"""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import isfinite
from operator import lt
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from lindero.errors import ModelFileError

#: Characters of a line read at once.
PIECE = 2**16

#: Longest number; the decimal expansion of the largest float has 309 digits.
LONGEST_NUMBER = 400

#: Longest word: an index, a colon and a number.
LONGEST_WORD = LONGEST_NUMBER + 20

LARGEST_INDEX = 2**31 - 1


class ModelText:
    """An open model file: its current line, and errors that name it."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._piece = b""
        self.path = path
        self.line = 0
        status = os.fstat(file.fileno())
        #: Length in bytes; unknown for a pipe.
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None

    def error(self, message: str) -> ModelFileError:
        """The error to raise about the current line."""
        return ModelFileError(f"{self.path}, line {self.line}: {message}", self.path, self.line)

    def next_line(self) -> bool:
        """Go to the next line that is not blank; False at the end of the file."""
        while True:
            self.line += 1
            self._piece = self._file.readline(PIECE)
            while self._piece.isspace() and not self._piece.endswith(b"\n"):
                self._piece = self._file.readline(PIECE)
            if not self._piece:
                return False
            if not self._piece.isspace():
                return True

    def require_line(self, expected: str) -> None:
        """Go to the next line, which must exist."""
        if not self.next_line():
            raise self.error(f"the file ends here, but {expected} should follow. Is it complete?")

    def require_end(self) -> None:
        """Refuse anything but blank lines in the rest of the file."""
        if self.next_line():
            raise self.error("the model is complete, but the file goes on. Remove what follows.")

    def pieces(self, comment: bytes | None = None) -> Iterator[list[bytes]]:
        """The words of the current line in lists of bounded length; none from `comment` on."""
        piece, carried = self._piece, b""
        while True:
            ended = piece.endswith(b"\n") or len(piece) < PIECE
            piece = carried + piece
            if comment is not None and comment in piece:
                yield piece.partition(comment)[0].split()
                if not ended:
                    self._skip_line()
                return
            if ended:
                yield piece.split()
                return
            # The last word may go on in the next piece.
            whole, _, carried = piece.replace(b"\t", b" ").rpartition(b" ")
            if len(carried) > LONGEST_WORD:
                raise self.error(f"a word of more than {LONGEST_WORD} characters.")
            yield whole.split()
            piece = self._file.readline(PIECE)

    def _skip_line(self) -> None:
        """Leave the rest of the line unread."""
        while True:
            piece = self._file.readline(PIECE)
            if piece.endswith(b"\n") or len(piece) < PIECE:
                return

    def short_line(self) -> bytes:
        """The current line, which must not be longer than a piece."""
        if not self._piece.endswith(b"\n") and len(self._piece) == PIECE:
            raise self.error(f"a line of the header has more than {PIECE} characters.")
        return self._piece.strip()

    def words(self) -> Iterator[bytes]:
        """The words of the current line, one at a time."""
        return chain.from_iterable(self.pieces())

    # -- numbers ------------------------------------------------------------------------------

    def number(self, word: bytes, name: str) -> float:
        """A finite number."""
        return self.numbers([word], name)[0]

    def numbers(self, words: Sequence[bytes], name: str) -> list[float]:
        """Finite numbers."""
        try:
            values = [float(word) for word in words]
        except ValueError:
            values = []
        text = b"".join(words)
        too_long = len(text) > LONGEST_NUMBER and max(map(len, words)) > LONGEST_NUMBER
        if len(values) < len(words) or b"_" in text or too_long or not all(map(isfinite, values)):
            culprit = next(word for word in words if not _is_number(word))
            raise self.error(f"{name} must be a finite number, not {quote(culprit)}.")
        return values

    def integer(self, word: bytes, name: str, least: int, most: int = LARGEST_INDEX) -> int:
        """An integer from `least` to `most`."""
        digits = word[1:] if word[:1] in (b"-", b"+") else word
        if not digits.isdigit() or len(digits) > 10 or not least <= int(word) <= most:
            raise self.error(
                f"{name} must be an integer from {least} to {most}, not {quote(word)}."
            )
        return int(word)

    def exactly(self, words: Iterable[bytes], count: int, name: str) -> Iterator[bytes]:
        """`count` words, no fewer and no more."""
        found = 0
        for word in words:
            found += 1
            if found > count:
                raise self.error(f"{name} needs {count} values, but more are given.")
            yield word
        if found < count:
            raise self.error(f"{name} needs {count} values, but only {found} are given.")


class VectorReader:
    """Rows of ``index:value`` words, gathered into the three arrays of a CSR matrix."""

    def __init__(self, text: ModelText, largest_index: int, limit: str) -> None:
        self._text = text
        self._largest = largest_index
        self._limit = limit
        self.values = array("d")
        self.indices = array("i")
        self.ends = array("q", [0])
        self.highest = 0

    def add(self, words: Sequence[bytes]) -> None:
        """More words of the current row."""
        if not words:
            return
        parts = [word.partition(b":") for word in words]
        if not all(colon for _, colon, _ in parts):
            culprit = next(word for word in words if b":" not in word)
            raise self._text.error(f"expected index:value, not {quote(culprit)}.")
        indices = [self._index(word) for word, _, _ in parts]
        previous = self.indices[-1] if len(self.indices) > self.ends[-1] else 0
        if not (previous < indices[0] and all(map(lt, indices, indices[1:]))):
            raise self._text.error("the indices of a vector must ascend.")
        self.values.extend(self._text.numbers([value for _, _, value in parts], "a value"))
        self.indices.extend(indices)

    def _index(self, word: bytes) -> int:
        if word.isdigit() and len(word) <= 10:
            index = int(word)
            if 1 <= index <= self._largest:
                return index
        raise self._text.error(
            f"an index must be an integer from 1 to {self._largest}{self._limit}, not "
            f"{quote(word)}."
        )

    def end_row(self) -> None:
        """The current row is complete."""
        if len(self.indices) > self.ends[-1]:
            self.highest = max(self.highest, self.indices[-1])
        self.ends.append(len(self.indices))

    def matrix(self, n_features: int) -> sp.csr_array:
        """All rows; indices of the file count from 1, columns from 0."""
        columns = np.asarray(self.indices)
        columns -= 1
        shape = (len(self.ends) - 1, n_features)
        return sp.csr_array((np.asarray(self.values), columns, np.asarray(self.ends)), shape=shape)


def quote(word: bytes) -> str:
    """A word of the file as it may stand in a message: ASCII, and short."""
    text = word[:40].decode("ascii", errors="backslashreplace")
    return repr(text) + ("..." if len(word) > 40 else "")


def _is_number(word: bytes) -> bool:
    try:
        return isfinite(float(word)) and b"_" not in word and len(word) <= LONGEST_NUMBER
    except ValueError:
        return False


# -- writing ---------------------------------------------------------------------------------------


def format_number(value: Any) -> str:
    """A number in as many digits as tell it from all others."""
    return format(float(value), ".17g")


def format_vectors(vectors: Any) -> Iterator[str]:
    """The text of each row of a dense or CSR array, indices counted from 1, a blank after each."""
    for i in range(vectors.shape[0]):
        if sp.issparse(vectors):
            inside = slice(vectors.indptr[i], vectors.indptr[i + 1])
            columns, values = vectors.indices[inside], vectors.data[inside]
            order = np.argsort(columns, kind="stable")
            columns, values = columns[order], values[order]
        else:
            columns = np.flatnonzero(vectors[i])
            values = vectors[i, columns]
        entries = zip(columns.tolist(), values.astype(np.float64).tolist(), strict=True)
        yield "".join(f"{j + 1}:{value:.17g} " for j, value in entries if value != 0)
