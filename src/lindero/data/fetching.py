"""Published data sets by name: from a folder if it has them, else from OpenML.

The environment variable ``LINDERO_DATA`` names the folder. It may hold the files of `CATALOGUE`
and others, which are known by their names without extensions. scikit-learn downloads from OpenML
and caches what it has downloaded.
"""

from __future__ import annotations

import os
import re
import socket
import urllib.request
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from lindero.data.content import read_content, suggest
from lindero.data.dataset import Dataset
from lindero.data.loading import load_content
from lindero.data.tables import find_kind, read_number_targets, read_targets
from lindero.errors import DataError

_ENDINGS = ("csv", "tsv", "parquet", "arff", "dat", "svm")
_OPENML_HOST = "api.openml.org"
_SECONDS_TO_CONNECT = 10.0
_PLAIN_NAME = re.compile(r"[\w.+ ()-]{1,200}")


def list_published() -> dict[str, str]:
    """List the published data sets that `fetch` knows by name.

    Returns
    -------
    sets : dict
        From each name to a line about the data set.

    See Also
    --------
    fetch : Get one of them.

    Examples
    --------
    >>> from lindero.data import list_published
    >>> list_published()["iris"]
    'three kinds of iris, 4 lengths; 150 rows'
    """
    return {name: f"{known.about}; {known.n_rows} rows" for name, known in CATALOGUE.items()}


def fetch(name: str) -> Dataset:
    """Get a published data set.

    It comes from the folder ``LINDERO_DATA``, or from OpenML if the folder does not have it.

    Parameters
    ----------
    name : str
        As `list_published` has it, that of a file in the folder (no extension), or of OpenML.

    Returns
    -------
    data : Dataset
        The data set.

    Raises
    ------
    DataError
        If neither has it.

    See Also
    --------
    list_published : The names that are known.
    load : Read any file.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.data import fetch
    >>> folder = tempfile.TemporaryDirectory()
    >>> with open(os.path.join(folder.name, "coins.csv"), "w") as file:
    ...     _ = file.write("weight,coin\\n2.3,cent\\n3.9,euro\\n2.2,cent\\n")
    >>> before = os.environ.get("LINDERO_DATA", "")
    >>> os.environ["LINDERO_DATA"] = folder.name
    >>> fetch("coins").y.tolist()
    ['cent', 'euro', 'cent']
    >>> os.environ["LINDERO_DATA"] = before
    >>> folder.cleanup()
    """
    if not isinstance(name, str) or not _PLAIN_NAME.fullmatch(name):
        raise DataError(
            f"{name!r} is not the name of a data set. Names consist of letters and digits."
        )
    known = CATALOGUE.get(name)
    folder = os.environ.get("LINDERO_DATA", "")
    path = _find_file(Path(folder).expanduser(), name, known) if folder else None
    if path is not None:
        return _check_size(_read_file(path, known), name, known)
    place = f"the folder {folder}" if folder else "a folder"
    where = f"{name!r} is not in {place} (LINDERO_DATA{'' if folder else ' is not set'}), and"
    file = f"its file, {known.file}," if known else "a file of that name"
    advice = f"Put {file} into a folder and set LINDERO_DATA to that folder"
    if known is not None and known.openml is None:
        raise DataError(f"{where} OpenML does not have it. {advice}.")
    hint = "" if known else suggest(name, CATALOGUE)
    try:
        _require_network()
        return _check_size(fetch_openml_dataset(known.openml if known else name, name), name, known)
    except OSError as error:
        raise DataError(
            f"{where} OpenML cannot be reached ({getattr(error, 'reason', None) or error}).{hint} "
            f"{advice}, or connect to the network."
        ) from None
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{where} OpenML does not provide it: {error}{hint}") from None


def _find_file(folder: Path, name: str, known: PublishedSet | None) -> Path | None:
    if not folder.is_dir():
        raise DataError(f"LINDERO_DATA is {str(folder)!r}, which is not a folder.")
    names = [known.file] if known else []
    names += [f"{name}.{ending}{packed}" for ending in _ENDINGS for packed in ("", ".gz")]
    return next((folder / file for file in names if (folder / file).is_file()), None)


def _read_file(path: Path, known: PublishedSet | None) -> Dataset:
    if path.suffix == ".npz":
        return _read_arrays(path)
    data = load_content(read_content(path), dates=False, keep_row_names=True)  # as published
    width = known.n_features if known else None
    if width is not None and sp.issparse(data.X) and data.X.shape[1] < width:
        X = data.X.copy()
        X.resize((data.n_rows, width))
        return replace(data, X=X)
    return data


def _read_arrays(path: Path) -> Dataset:
    """NumPy arrays: X and y, or those of the training rows followed by those of the test rows."""
    try:
        with np.load(path, allow_pickle=False) as held:
            parts = ("",) if "X" in held else ("_train", "_test")
            X = np.concatenate([held[f"X{part}"] for part in parts])
            y = np.concatenate([held[f"y{part}"] for part in parts])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} does not hold arrays X and y: {error}.", str(path)) from None
    names = [f"x{j}" for j in range(X.shape[1])]
    table = pa.table([pa.array(column) for column in np.ascontiguousarray(X.T)], names=names)
    target = read_number_targets(y.astype(np.float64))
    return Dataset(table, target, "y", dict.fromkeys(names, "number"), str(path))


def _check_size(data: Dataset, name: str, known: PublishedSet | None) -> Dataset:
    if known is not None and data.n_rows != known.n_rows:
        raise DataError(
            f"{data.source} has {data.n_rows} rows, but {name!r} as published has {known.n_rows}: "
            "it is another data set. Read the file with lindero.data.load.",
            data.source,
        )
    return data


def _require_network() -> Any:
    """Fail quickly without a network; with a proxy this cannot be tested."""
    if not urllib.request.getproxies():
        socket.create_connection((_OPENML_HOST, 443), timeout=_SECONDS_TO_CONNECT).close()


def fetch_openml_dataset(title: Any, name: str) -> Dataset:
    """The first version of a data set on OpenML, downloaded by scikit-learn as arrays of floats
    with coded categories, whose names are put back here."""
    from sklearn.datasets import fetch_openml  # a slow import

    held = fetch_openml(title, version=1, as_frame=False, parser="liac-arff")
    if held.target is None or np.ndim(held.target) != 1:
        raise DataError(
            f"{name!r} has no single target on OpenML. Use scikit-learn's fetch_openml."
        )
    y = held.target
    if np.asarray(y).dtype.kind == "O":
        target = read_targets(pa.chunked_array([pa.array(y, pa.string())]))
    else:
        target = read_number_targets(np.asarray(y, dtype=np.float64))
    X = sp.csr_array(held.data) if sp.issparse(held.data) else _build_table(held)
    kinds = {name: find_kind(X[name]) for name in getattr(X, "column_names", ())}
    return Dataset(X, target, held.target_names[0], kinds, f"OpenML {title}")


def _build_table(held: Any) -> Any:
    columns: dict[str, Any] = {}
    for j, name in enumerate(held.feature_names):
        codes = held.data[:, j].astype(np.float64)
        missing = np.isnan(codes)
        words = (held.categories or {}).get(name)
        if words is None:
            columns[name] = pa.array(codes, mask=missing)
        else:
            texts = np.array([*map(str, words)], dtype=object)
            texts = texts[np.where(missing, 0, codes).astype(np.intp)]
            columns[name] = pa.array(texts, pa.string(), mask=missing)
    return pa.table(columns)


@dataclass(frozen=True)
class PublishedSet:
    """A published data set."""

    about: str
    #: Another data set of the same name is not taken for this one.
    n_rows: int
    #: In the folder of data.
    file: str
    #: Its name on OpenML; None if OpenML does not have it in this form.
    openml: str | None = None
    #: Where the file may lack the last columns, which are zero.
    n_features: int | None = None


_PUBLISHED: dict[str, tuple[Any, ...]] = {
    # UCI, used in papers on discriminative Bayesian networks
    "breast": ("breast cancer, 9 grades, 2 classes", 699, "uci_breast.csv.gz", "breast-w"),
    "cleve": ("Cleveland heart disease, 2 classes", 303, "uci_cleve.csv.gz", "heart-c"),
    "corral": ("six booleans, one of them a decoy", 128, "uci_corral.csv.gz"),
    "crx": ("Australian credit screening, 2 classes", 690, "uci_crx.csv.gz", "credit-approval"),
    "german": ("German credit, 2 classes", 1000, "uci_german.csv.gz", "credit-g"),
    "heart": ("Statlog heart, 2 classes", 270, "uci_heart.csv.gz", "heart-statlog"),
    "hepatitis": ("survival of hepatitis, many missing", 155, "uci_hepatitis.csv.gz", "hepatitis"),
    "iris": ("three kinds of iris, 4 lengths", 150, "uci_iris.csv.gz", "iris"),
    "lymphography": ("lymphography, 4 classes", 148, "uci_lymphography.csv.gz", "lymph"),
    "vote": ("votes of the US House in 1984, 2 parties", 435, "uci_vote.csv.gz", "vote"),
    # KEEL, rare classes
    "abalone19": ("abalone, age 19 against the rest, 1:129", 4174, "keel_abalone19.csv.gz"),
    "page-blocks0": ("blocks of pages, 1:9", 5472, "keel_page-blocks0.csv.gz"),
    "segment0": ("segments of pictures, 1:6", 2308, "keel_segment0.csv.gz"),
    "shuttle-c0-vs-c4": ("space shuttle, 1:14", 1829, "keel_shuttle-c0-vs-c4.csv.gz"),
    "winequality-red-4": ("red wine of grade 4, 1:29", 1599, "keel_winequality-red-4.csv.gz"),
    "yeast4": ("sites of proteins in yeast, 1:28", 1484, "keel_yeast4.csv.gz"),
    # LIBSVM and others, larger
    "a9a": ("Adult, income above 50 000, sparse", 32561, "a9a.svm.gz", None, 123),
    "a9a-test": ("the test rows of a9a", 16281, "a9a.t.svm.gz", None, 123),
    "cod-rna": ("non-coding RNA, columns standardised", 59535, "cod_rna.npz"),
    "ijcnn1": ("engine misfires, 1:9", 49990, "ijcnn1.svm.gz", None, 22),
    "letter": ("printed letters, 26 classes", 20000, "letter.csv.gz", "letter"),
    "mnist": ("handwritten digits, 28×28, 10 classes", 70000, "mnist.npz", "mnist_784"),
    "svmguide3": ("vehicles, 22 columns, 2 classes", 1243, "svmguide3.svm.gz", None, 22),
    "w8a": ("web pages, sparse, 1:33", 49749, "w8a.svm.gz", None, 300),
    # streams
    "elec2": ("electricity price in time, up or down", 45312, "stream_elec2.csv.gz", "electricity"),
    "weather": ("rain at Offutt, day by day", 18159, "stream_noaa_weather.csv.gz"),
    "sea": ("SEA concepts, four in turn", 50000, "stream_sea.csv.gz"),
    "usenet1": ("messages, interest changes", 1500, "stream_usenet1.csv.gz"),
    # ranking
    "mq2008-train": (
        "LETOR MQ2008 fold 1, 471 queries",
        9630,
        "mq2008_fold1_train.svm.gz",
        None,
        46,
    ),
    "mq2008-vali": ("LETOR MQ2008 fold 1, 157 queries", 2707, "mq2008_fold1_vali.svm.gz", None, 46),
    "mq2008-test": ("LETOR MQ2008 fold 1, 156 queries", 2874, "mq2008_fold1_test.svm.gz", None, 46),
    # regression
    "abalone": ("rings of abalone", 4177, "reg_abalone.csv.gz", "abalone"),
    "cadata": ("houses in California", 20640, "reg_cadata.csv.gz", "houses"),
    "cpusmall": ("load of a processor", 8192, "reg_cpusmall.csv.gz", "cpu_small"),
    # Rätsch's benchmark
    "ida-banana": ("IDA benchmark: banana", 5300, "ida_banana.npz", "banana"),
    "ida-breast-cancer": ("IDA benchmark: breast cancer", 277, "ida_breast_cancer.npz"),
    "ida-diabetis": ("IDA benchmark: diabetis, standardised", 768, "ida_diabetis.npz"),
    "ida-german": ("IDA benchmark: German credit", 1000, "ida_german.npz"),
    "ida-heart": ("IDA benchmark: heart", 270, "ida_heart.npz"),
    "ida-titanic": ("IDA benchmark: titanic", 2201, "ida_titanic.npz"),
}

CATALOGUE = {name: PublishedSet(*known) for name, known in _PUBLISHED.items()}
