"""Loading a file: its format, its columns, and the role of each.

The format is detected from the content. Parquet has a signature. ARFF and KEEL begin with ``@``, of
which only KEEL declares inputs, outputs or ranges. If nearly all of the first lines end with labels
of chunks (`lindero.data.conll`), the file is one of CoNLL. If most of them are ``label [qid:number]
index:value …``, it is svmlight; otherwise it is CSV. Formats are told apart in one file, as each
has to leave the others theirs.

scikit-learn reads svmlight files. Here their errors get a line number, and indices a limit: models
keep a number for every index up to the largest, so that one digit too many would ask for terabytes.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import types

from lindero.data.conll import load_conll
from lindero.data.content import Content, read_content, suggest
from lindero.data.csv_files import read_csv
from lindero.data.dataset import Dataset
from lindero.data.declared_files import read_declared
from lindero.data.number_formats import NumberFormat, check_format
from lindero.data.reading import SINGLE_ROLES, Reading, Roles, read_columns
from lindero.data.tables import (
    SourceTable,
    find_kind,
    read_number_targets,
    read_objects,
    read_parquet,
    read_positions,
    read_queries,
    read_targets,
    read_times,
    read_weights,
)
from lindero.errors import DataError
from lindero.runtime.arrays import Array
from lindero.runtime.texts import shorten

FORMATS = ("csv", "tsv", "parquet", "arff", "keel", "svmlight", "conll")
_ALSO = {"libsvm": "svmlight", "svm": "svmlight", "dat": "keel", "txt": "csv"}

#: Signatures of files that are often mistaken for tables.
_OTHERS = {
    b"PK\x03\x04": "a zip archive (as are files of Excel, LibreOffice and NumPy)",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x1f\x8b": "compressed twice",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"ARROW1": "a Feather file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
    b"\x89PNG": "an image",
}

#: The largest index of an svmlight file, and the bytes that a column takes: models and encoders
#: keep something for each, whether rows have it or not.
LARGEST_INDEX = 10**8
_COLUMN_BYTES = 128

_QUERY = re.compile(rb"^[^#\n]*\sqid:", re.M)

#: Lines that tell svmlight from CSV.
_LINES = 20
_SIGNIFICANT_BYTES = 2**16
_KEEL = re.compile(rb"^[ \t]*@(?:inputs?|outputs?)\b|^[ \t]*@attribute[^\n{]*\[", re.I | re.M)
_ROWS = re.compile(rb"^[ \t]*@data\b", re.I | re.M)

#: A label of a chunk.
_CHUNK = re.compile(rb"O|[BIES]-[^\s,;\"]+")
_ENTRY = re.compile(rb"(?:qid|sid|cost|[0-9]+):\S+")


def load(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | int | bool | None = None,
    time: str | int | None = None,
    qid: str | int | None = None,
    weight: str | int | None = None,
    id: str | int | Sequence[str | int] | None = None,
    drop: str | int | Sequence[str | int] | None = None,
    only: str | int | Sequence[str | int] | None = None,
    position: str | int | Sequence[str | int] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    dates: bool | None = None,
    keep_row_names: bool | None = None,
    like: Any = None,
    max_megabytes: float | None = None,
) -> Dataset:
    """Load a table from a file.

    Columns are given by name or by position, counted from 0, or backwards from −1.

    Columns that name rows are left out, with a warning: text with different values in more than
    half of at least 50 rows, and whole numbers that all differ under a name such as `id`.

    Parameters
    ----------
    path : str or path-like
        The file, compressed with gzip or not; "-" is standard input.
    format : {"csv", "tsv", "parquet", "arff", "keel", "svmlight", "conll"}, default=None
        Format of the file; None detects it from the content. In files of CoNLL each line is a
        token, the last column its label, and empty lines end sentences.
    target : str, int or False, default=None
        The column to predict. None takes one called class, target, label or y, in any case, or
        else the last column. With False there is no target: all columns are features.
    time : str or int, default=None
        The column of times: numbers, or dates such as 2024-05-01T12:30:00.
    qid : str or int, default=None
        The column with the query, or the sequence, that each row belongs to. Files of svmlight
        and CoNLL have their own.
    weight : str or int, default=None
        The column of sample weights.
    id : str, int or list of these, default=None
        The column, or columns, that name the rows. They are kept as text and are not features.
    drop : str, int or list of these, default=None
        Columns that are not read.
    only : str, int or list of these, default=None
        The only columns that are features; others may still be the target, a time and so on.
    position : str, int or list of these, default=None
        The columns that say where each row is, such as latitude and longitude, in this order:
        numbers. They are not features.
    header : bool, default=None
        Whether the first line of a CSV file names the columns; None detects it.
    delimiter : str, default=None
        The character between fields of a CSV file; None detects it.
    decimal : {".", ","}, default=None
        The decimal sign; None detects it, column by column.
    thousands : str, default=None
        The separator of thousands; None detects it. Percent and currency signs need no option:
        they are recognised where a whole column has them.
    dates : bool, default=None
        Whether columns of dates and times become features: year, month, weekday, hour and elapsed
        days, those that vary. None is True; with False they stay text.
    keep_row_names : bool, default=None
        Whether columns that name rows are features all the same. None is False.
    like : Dataset or Reading, default=None
        Training data: columns get the same roles, are left out, and are read in the same way. A
        target that this file does not have is no error then.
    max_megabytes : float, default=None
        Megabytes that a file may grow to when it is unpacked or its zeros are filled in. None
        allows 128, or 100 times the size of the file if that is more.

    Returns
    -------
    data : Dataset
        Features, target, and what else is known of each row.

    Raises
    ------
    DataError
        If the file cannot be read or has no such column. The message says what to do.

    See Also
    --------
    fetch : Get a published data set by name.
    Dataset : What is returned.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.data import load
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "flowers.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("petal,colour,class\\n1.4,red,a\\n4.7,?,b\\n1.3,red,a\\n5.1,blue,b\\n")
    >>> data = load(path)
    >>> data.summary()  # doctest: +NORMALIZE_WHITESPACE
    "flowers.csv: 4 rows, 2 columns (1 number, 1 category), 12.5 % missing;
    target 'class': a 2, b 2"
    >>> folder.cleanup()
    """
    columns: dict[str, Any] = {
        "target": target,
        "time": time,
        "qid": qid,
        "weight": weight,
        "id": id,
    }
    columns |= {"drop": drop, "only": only, "position": position}
    written: dict[str, Any] = {"decimal": decimal, "thousands": thousands, "dates": dates}
    written |= {"keep_row_names": keep_row_names, "like": like}
    chosen = None if format is None else parse_format(format)
    content = read_content(path, max_megabytes)
    try:
        return load_content(content, chosen, header, delimiter, **written, **columns)
    except MemoryError:
        raise content.error("needs more memory than there is.") from None


def load_content(
    content: Content,
    format: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    known_width: int = 0,
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    dates: bool | None = None,
    keep_row_names: bool | None = None,
    like: Any = None,
    **columns: Any,
) -> Dataset:
    """The data set in a file whose bytes were read, with the options of `load`. As many columns of
    an svmlight file as a model knows already (`known_width`) ask for no room."""
    roles = Roles(**columns)
    numbers = check_format(decimal, thousands)
    known = getattr(like, "reading", like)
    if known is not None and not isinstance(known, Reading):
        raise TypeError(f"like must be a Dataset that load returned, not {type(like).__name__}.")
    options = Interpretation(numbers, dates is not False, bool(keep_row_names), known)
    kind = detect_format(content) if format is None else parse_format(format)
    if kind not in ("csv", "tsv") and not (header is None and delimiter is None):
        raise content.error(f"header= and delimiter= are for CSV files, but this is {kind}.")
    if kind == "parquet":
        return build_dataset(read_parquet(content), roles, content, options)
    refuse_other_formats(content)
    content = content.as_text()
    if kind == "conll":
        return load_conll(content, roles, known)
    if kind == "svmlight":
        return _load_svmlight(content, roles, known_width, known)
    if kind in ("arff", "keel"):
        return build_dataset(read_declared(content), roles, content, options)
    if kind == "tsv" and delimiter is None:
        delimiter = "\t"
    sign = None if numbers is None else numbers.decimal
    source = read_csv(content, delimiter, header, sign)
    return build_dataset(source, roles, content, options)


@dataclass(frozen=True)
class Interpretation:
    """What is made of columns: the format of numbers that the user gave, whether dates become
    features and row names stay, and how training data were read."""

    numbers: NumberFormat | None = None
    dates: bool = True
    keep_row_names: bool = False
    like: Reading | None = None


def _load_svmlight(
    content: Content, roles: Roles, known_width: int, like: Reading | None
) -> Dataset:
    if unfit := roles.list_given():
        part = next(iter(unfit))
        raise content.error(
            f"{part}={unfit[part]!r} was given, but columns of svmlight files have no names: the "
            "target comes first in each row, then qid:."
        )
    first = None if like is None else like.first_index
    X, y, queries, first = read_svmlight(content, known_width, first)
    more: dict[str, Any] = {"qid": queries, "reading": Reading(first_index=first)}
    if roles.target is False:
        return Dataset(X, None, None, {}, content.source, **more)
    return Dataset(X, read_number_targets(y), "label", {}, content.source, **more)


def build_dataset(
    source: SourceTable, roles: Roles, content: Content, options: Interpretation | None = None
) -> Dataset:
    """A data set, with each column in its role."""
    options = options or Interpretation()
    table, like = source.table, options.like
    if like is not None:
        roles = roles.complete(like, table.column_names)
    named = roles.resolve(table.column_names, content, source.outputs)
    features = [name for name in table.column_names if name not in named.taken()]
    if source.inputs is not None:
        features = [name for name in features if name in source.inputs]
    if named.only:
        features = [name for name in features if name in named.only]
    if not features and like is not None:
        raise content.error(
            "has none of the columns that are features in the training rows: bring all of them."
        )
    if not features:
        raise content.error(
            "has no columns left for features: all of them have another role. Pass target=False "
            "if there is no target."
        )

    def values(name: str) -> pa.ChunkedArray:
        column = table[name]
        return source.text_of(name) if types.is_temporal(column.type) else column

    def feature(name: str) -> pa.ChunkedArray:
        if like is not None and (name in like.dates or name in like.numbers):
            return table[name] if types.is_temporal(table[name].type) else written(name)
        return table[name] if options.dates else values(name)

    def written(name: str) -> pa.ChunkedArray:
        """Text as it stands in the file, unless that has numbers."""
        kind = table[name].type
        is_number = types.is_integer(kind) or types.is_floating(kind)
        form = None if like is None else like.numbers.get(name)
        has_numbers = source.has_types and is_number and form is not None
        if form == NumberFormat(source.decimal) and is_number and name not in source.doubtful:
            has_numbers = True  # as they were read in training
        return table[name] if has_numbers else source.text_of(name)

    def goal(name: str) -> pa.ChunkedArray:
        return written(name) if like is not None and name in like.numbers else values(name)

    keeps_all = options.keep_row_names or like is not None
    read = read_columns(
        {name: feature(name) for name in features},
        content,
        target=None if named.target is None else (named.target, goal(named.target)),
        like=like,
        dates=options.dates,
        numbers=options.numbers,
        keep=None if keeps_all else frozenset(named.only),
        is_declared=source.is_declared,
        doubtful=dict.fromkeys(source.doubtful, source.text_of),
    )
    if not read.columns:
        raise content.error("has no columns left for features: all of them are left out.")
    columns = {
        name: source.text_of(name) if types.is_temporal(column.type) else column
        for name, column in read.columns.items()
    }
    with_commas: dict[str, NumberFormat] = {}
    if like is None and source.decimal == ",":
        own = [*features, *([] if named.target is None else [named.target])]
        with_commas = {n: NumberFormat(",") for n in own if types.is_floating(table[n].type)}
    reading = Reading(
        **{role: getattr(named, role) for role in SINGLE_ROLES},
        id=named.id,
        drop=(*named.drop, *read.left_out),
        only=named.only,
        position=named.position,
        dates=read.dates,
        numbers={**with_commas, **read.numbers},
        keep_row_names=options.keep_row_names,
    )
    return Dataset(
        X=type(table).from_arrays(list(columns.values()), names=list(columns)),
        y=None if read.target is None else read_targets(read.target),
        target=named.target,
        kinds={name: find_kind(column) for name, column in columns.items()},
        source=content.source,
        times=named.time and read_times(table[named.time], named.time, content),
        weights=named.weight and read_weights(values(named.weight), named.weight, content),
        qid=named.qid and read_queries(values(named.qid), named.qid, content),
        ids=_read_names(source, named.id),
        positions=read_positions(table, named.position, content),
        left_out=read.left_out,
        notes=read.notes,
        reading=reading,
    )


def _read_names(source: SourceTable, names: tuple[str, ...]) -> Array | None:
    """Names of rows: a vector, or a column for each of several."""
    if not names:
        return None
    columns = [read_objects(source.text_of(name)) for name in names]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def parse_format(name: str) -> str:
    """The format that a user named."""
    plain = str(name).lower().lstrip(".").removesuffix(".gz")
    plain = _ALSO.get(plain, plain)
    if plain in FORMATS:
        return plain
    hint = suggest(plain, [*FORMATS, *_ALSO])
    raise DataError(f"format={name!r} is unknown. lindero reads {', '.join(FORMATS)}.{hint}")


def detect_format(content: Content) -> str:
    """The format of a file, from its content."""
    if content.head(4) == b"PAR1":
        return "parquet"
    refuse_other_formats(content)
    head = content.head(_SIGNIFICANT_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    while head.startswith((b"%", b"#")):
        head = head.partition(b"\n")[2].lstrip()
    if head.startswith(b"@"):
        rows = _ROWS.search(content.data)
        end = rows.start() if rows else len(content.data)
        return "keel" if _KEEL.search(content.data, 0, end) else "arff"
    if _is_conll(head):
        return "conll"
    return "svmlight" if _is_svmlight(head) else "csv"


def refuse_other_formats(content: Content) -> None:
    """Refuse files with the signature of another format."""
    head = content.head(32)
    for start, what in _OTHERS.items():
        if head.startswith(start):
            raise content.error(
                f"is {what}, which lindero does not read. Save the table as CSV or Parquet."
            )


def _is_svmlight(head: bytes) -> bool:
    """Whether at least half of the first lines are a label and entries, and any has an entry. With
    half, a damaged line is reported as what it should be."""
    fitting = entries = n_lines = 0
    for line in head.split(b"\n", _LINES)[:_LINES]:
        words = line.partition(b"#")[0].split(None, 4)[:4]
        if words:
            fits = _is_label(words[0]) and all(map(_ENTRY.fullmatch, words[1:]))
            fitting += fits
            entries += fits * (len(words) - 1)
            n_lines += 1
    return entries > 0 and 2 * fitting >= n_lines


def _is_conll(head: bytes) -> bool:
    """Whether nearly all of the first lines end with a label of a chunk, after other columns."""
    fitting = n_lines = n_chunks = 0
    for line in head.split(b"\n", 2 * _LINES)[: 2 * _LINES]:
        words = line.split()
        is_label = len(words) > 1 and _CHUNK.fullmatch(words[-1]) is not None
        if len(words) < 2 or words[0] == b"-DOCSTART-" or (words[0] == b"#" and not is_label):
            continue  # the last is a comment
        n_lines += 1
        fitting += is_label and b"," not in words[0][1:]
        n_chunks += is_label and words[-1] != b"O"
    return n_chunks > 0 and fitting >= 0.9 * n_lines


def _is_label(word: bytes) -> bool:
    try:
        return bool([float(part) for part in word.split(b",")])
    except ValueError:
        return False


# -- svmlight -------------------------------------------------------------------------------------


def read_svmlight(
    content: Content, known_width: int = 0, first_index: str | None = None
) -> tuple[Any, Array, Array | None, str]:
    """Features (CSR), labels, queries where rows name them, and the index of the first column.
    Where it is not given, that is 0 in files that have this index, and else 1."""
    from sklearn.datasets import load_svmlight_file

    has_queries = _QUERY.search(content.data) is not None
    try:
        X, y, *queries = load_svmlight_file(
            io.BytesIO(content.data), query_id=has_queries, zero_based=True
        )
    except (ValueError, OverflowError, IndexError) as error:
        raise find_fault(content) or content.error(f"is not an svmlight file: {error}.") from None
    if X.shape[1] > LARGEST_INDEX or X.shape[0] == 0 or not np.isfinite(y).all():
        raise find_fault(content) or content.error("has no rows.")
    has_zero = X.nnz == 0 or int(X.indices.min()) == 0
    if first_index == "1" and has_zero and X.nnz:
        raise content.error(
            "has the index 0, but the columns of the data that the model was trained on are "
            "counted from 1. Add 1 to each index."
        )
    first_index = first_index or ("0" if has_zero else "1")
    if first_index == "1" and X.shape[1] > 1:
        X = sp.csr_array((X.data, X.indices - 1, X.indptr), shape=(X.shape[0], X.shape[1] - 1))
    content.require_room(
        _COLUMN_BYTES * max(0, X.shape[1] - known_width),
        f"has an index of {X.shape[1]}, and rows as wide as that",
    )
    if has_queries and len(queries[0]) != len(y):
        raise content.error("has rows with a qid and rows without. Give each row one.")
    # Indices fit 32 bits, which scikit-learn's own estimators require.
    if X.nnz < 2**31:
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    queries = np.asarray(queries[0]) if has_queries else None
    return sp.csr_array(X), np.asarray(y), queries, first_index


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
        return f"has several labels ({shorten(word, 40)!r}). Only one label a row is supported."
    return f"a row must begin with a finite number as its label, not with {shorten(word, 40)!r}."


def _find_entry_fault(words: list[bytes]) -> str | None:
    previous = -1
    for place, word in enumerate(words):
        name, colon, value = word.partition(b":")
        if not colon:
            return f"expected index:value, not {shorten(word, 40)!r}."
        if name == b"qid" and place == 0:
            if not re.fullmatch(rb"-?[0-9]{1,18}", value):
                return f"qid must be an integer, not {shorten(value, 40)!r}."
            continue
        if not name.isdigit():
            return f"an index must be an integer of at least 0, not {shorten(name, 40)!r}."
        index = int(name) if len(name) < 20 else LARGEST_INDEX + 1
        if index > LARGEST_INDEX:
            return f"index {shorten(name, 40)!r} is above {LARGEST_INDEX}, the largest allowed."
        if index <= previous:
            return f"indices must increase, but {index} comes after {previous}."
        if np.isnan(_parse_number(value)) and value.lower().lstrip(b"+-") != b"nan":
            return f"the value of index {index} is not a number: {shorten(value, 40)!r}."
        previous = index
    return None


def _parse_number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")
