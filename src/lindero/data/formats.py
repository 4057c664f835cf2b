"""Which format a file is in, told by what it holds rather than by its name.

Parquet says so in its first bytes. Among texts, the first line that is neither blank nor a comment
decides: one that begins with ``@`` is a declaration of ARFF or KEEL, where only KEEL names inputs
and outputs or gives ranges; files whose first lines are mostly ``label index:value …`` are
svmlight; all others are CSV.
"""

from __future__ import annotations

import difflib
import re

from lindero.data.content import Content
from lindero.errors import DataError

FORMATS = ("csv", "tsv", "parquet", "arff", "keel", "svmlight")
_ALSO = {"libsvm": "svmlight", "svm": "svmlight", "dat": "keel", "txt": "csv"}

#: What files that are often mistaken for tables begin with.
_OTHERS = {
    b"PK\x03\x04": "a zip archive (or a file of Excel, LibreOffice or NumPy, which are some)",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x1f\x8b": "packed twice",
    b"\xd0\xcf\x11\xe0": "a file of an old Excel",
    b"\x93NUMPY": "an array of NumPy",
    b"\x89HDF": "an HDF5 file",
    b"ARROW1": "a Feather file",
    b"SQLite format 3": "a data base of SQLite",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
}

#: Lines looked at to tell svmlight from CSV.
_LINES = 20
_SIGNIFICANT_BYTES = 2**16
_KEEL = re.compile(rb"^[ \t]*@(?:inputs?|outputs?)\b|^[ \t]*@attribute[^\n{]*\[", re.I | re.M)
_ROWS = re.compile(rb"^[ \t]*@data\b", re.I | re.M)
_ENTRY = re.compile(rb"(?:qid|sid|cost|[0-9]+):\S+")


def named_format(name: str) -> str:
    """The format that a user has named."""
    plain = str(name).lower().lstrip(".").removesuffix(".gz")
    plain = _ALSO.get(plain, plain)
    if plain in FORMATS:
        return plain
    close = difflib.get_close_matches(plain, [*FORMATS, *_ALSO], n=1)
    raise DataError(
        f"format={name!r} is none that lindero reads: {', '.join(FORMATS)}."
        + (f" Did you mean {close[0]!r}?" if close else "")
    )


def recognised_format(content: Content) -> str:
    """The format of a file."""
    if content.head(4) == b"PAR1":
        return "parquet"
    require_no_other(content)
    head = content.head(_SIGNIFICANT_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    while head.startswith((b"%", b"#")):
        head = head.partition(b"\n")[2].lstrip()
    if head.startswith(b"@"):
        rows = _ROWS.search(content.data)
        end = rows.start() if rows else len(content.data)
        return "keel" if _KEEL.search(content.data, 0, end) else "arff"
    return "svmlight" if _is_svmlight(head) else "csv"


def require_no_other(content: Content) -> None:
    """Refuse files whose first bytes say that they are something else."""
    head = content.head(32)
    for start, what in _OTHERS.items():
        if head.startswith(start):
            raise content.error(
                f"is {what}, which lindero does not read. Save the table as CSV or Parquet."
            )


def _is_svmlight(head: bytes) -> bool:
    """Whether at least half of the first lines are a label and entries, and some have an entry: a
    damaged line is then complained about as what it should be."""
    fitting = entries = n_lines = 0
    for line in head.split(b"\n", _LINES)[:_LINES]:
        words = line.partition(b"#")[0].split(None, 4)[:4]
        if words:
            fits = _is_label(words[0]) and all(map(_ENTRY.fullmatch, words[1:]))
            fitting += fits
            entries += fits * (len(words) - 1)
            n_lines += 1
    return entries > 0 and 2 * fitting >= n_lines


def _is_label(word: bytes) -> bool:
    try:
        [float(part) for part in word.split(b",")]
    except ValueError:
        return False
    return True
