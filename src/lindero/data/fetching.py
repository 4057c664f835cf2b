"""Published data sets by name: from a folder where there is one, else from OpenML.

The folder is named by the environment variable ``LINDERO_DATA``. It may hold files of the names in
`lindero.data.catalogue`, and others, which are known by their names without endings. scikit-learn
speaks to OpenML, and keeps what it has fetched.
"""

from __future__ import annotations

import difflib
import os
import re
import socket
import urllib.request
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.data.catalogue import CATALOGUE, Published
from lindero.data.content import read_content
from lindero.data.dataset import Dataset
from lindero.data.loading import loaded
from lindero.data.roles import Roles
from lindero.data.row_values import number_targets
from lindero.errors import DataError

_ENDINGS = ("csv", "tsv", "parquet", "arff", "dat", "svm")
_OPENML_HOST = "api.openml.org"
_SECONDS_TO_CONNECT = 10.0
_PLAIN_NAME = re.compile(r"[\w.+ ()-]{1,200}")


def published() -> dict[str, str]:
    """The published data sets that `fetch` knows by name.

    Returns
    -------
    sets : dict
        Their names, and of each a line about it.

    Examples
    --------
    >>> from lindero.data import published
    >>> published()["iris"]
    'three kinds of iris, 4 lengths; 150 rows'
    """
    return {name: f"{known.about}; {known.n_rows} rows" for name, known in CATALOGUE.items()}


def fetch(name: str) -> Dataset:
    """A published data set.

    Parameters
    ----------
    name : str
        A name that `published` lists, that of a file in the folder ``LINDERO_DATA`` without its
        ending, or one that OpenML has.

    Returns
    -------
    data : Dataset
        From the folder, or, if that does not have it, from OpenML.

    Raises
    ------
    DataError
        If neither has it.
    """
    if not isinstance(name, str) or not _PLAIN_NAME.fullmatch(name):
        raise DataError(f"{name!r} is not the name of a data set: those are letters and digits.")
    known = CATALOGUE.get(name)
    folder = os.environ.get("LINDERO_DATA", "")
    path = _file_in(Path(folder).expanduser(), name, known) if folder else None
    if path is not None:
        return _checked(_from_file(path, known), name, known)
    place = (
        f"the folder {folder} (LINDERO_DATA)" if folder else "a folder (LINDERO_DATA is not set)"
    )
    close = difflib.get_close_matches(name, CATALOGUE, n=1)
    hint = f" Did you mean {close[0]!r}?" if close and known is None else ""
    if known is not None and known.openml is None:
        raise DataError(
            f"{name!r} is not in {place}, and OpenML does not have it. Put its file, {known.file}, "
            "into a folder and name that in LINDERO_DATA."
        )
    where = f"{name!r} is not in {place}, and"
    try:
        _require_network()
        from lindero.data.openml import openml_dataset

        return _checked(openml_dataset(known.openml if known else name, name), name, known)
    except OSError as error:
        raise DataError(
            f"{where} OpenML cannot be reached ({getattr(error, 'reason', None) or error}).{hint} "
            + (f"Put its file, {known.file}," if known else "Put a file of that name")
            + " into a folder and name that in LINDERO_DATA, or connect to the network."
        ) from None
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{where} OpenML does not give it: {error}{hint}") from None


def _file_in(folder: Path, name: str, known: Published | None) -> Path | None:
    if not folder.is_dir():
        raise DataError(f"LINDERO_DATA names {str(folder)!r}, which is no folder.")
    names = [known.file] if known else []
    names += [f"{name}.{ending}{packed}" for ending in _ENDINGS for packed in ("", ".gz")]
    return next((folder / file for file in names if (folder / file).is_file()), None)


def _from_file(path: Path, known: Published | None) -> Dataset:
    if path.suffix == ".npz":
        return _from_arrays(path)
    data = loaded(read_content(path), None, Roles())
    width = known.n_features if known else None
    if width is not None and sp.issparse(data.X) and data.X.shape[1] < width:
        X = data.X.copy()
        X.resize((data.n_rows, width))
        return replace(data, X=X)
    return data


def _from_arrays(path: Path) -> Dataset:
    """Arrays of NumPy: X and y, or those of training and test rows, one after the other."""
    import pyarrow as pa

    try:
        with np.load(path, allow_pickle=False) as held:
            parts = ("",) if "X" in held else ("_train", "_test")
            X = np.concatenate([held[f"X{part}"] for part in parts])
            y = np.concatenate([held[f"y{part}"] for part in parts])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is no file with arrays X and y: {error}.", str(path)) from None
    names = [f"x{j}" for j in range(X.shape[1])]
    table = pa.table([pa.array(column) for column in np.ascontiguousarray(X.T)], names=names)
    target = number_targets(y.astype(np.float64))
    return Dataset(table, target, "y", dict.fromkeys(names, "number"), str(path))


def _checked(data: Dataset, name: str, known: Published | None) -> Dataset:
    if known is not None and data.n_rows != known.n_rows:
        raise DataError(
            f"{data.source} has {data.n_rows} rows, but {name!r} as published has {known.n_rows}: "
            "it is another set. Load it from its file by lindero.data.load.",
            data.source,
        )
    return data


def _require_network() -> Any:
    """Fail soon where there is no way out; a proxy is left to find its own."""
    if not urllib.request.getproxies():
        socket.create_connection((_OPENML_HOST, 443), timeout=_SECONDS_TO_CONNECT).close()
