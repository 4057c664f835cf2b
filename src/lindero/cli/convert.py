"""``lindero convert``: models and data in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lindero.cli import model_formats, tables
from lindero.cli.output import Mistake
from lindero.cli.options import DataSource, data_options, output_options
from lindero.cli.output import Output

_EXAMPLES = """\b
Models: .lin  .libsvm .model (LIBSVM)  .svmlight (SVMlight)  .bif  .xmlbif
Data:   .csv  .tsv  .parquet  .arff  .svm (svmlight)
\b
Examples:
  lindero convert model.lin model.libsvm
  lindero convert heart.arff heart.parquet
"""
_MODELS = tuple(dict.fromkeys(model_formats.ENDINGS.values()))
_DATA = tuple(dict.fromkeys(tables.ENDINGS.values()))


@click.command(epilog=_EXAMPLES)
@data_options
@click.argument("path", metavar="OUT", type=click.Path(dir_okay=False))
@click.option(
    "--to",
    type=click.Choice(tuple(dict.fromkeys([*_MODELS, *_DATA]))),
    help="Format of OUT; by default what its name says.",
)
@click.option("--class-name", metavar="NAME", help="Which variable of a BIF file is the class.")
@output_options
@click.pass_obj
def command(
    output: Output, data: DataSource, path: str, to: str | None, class_name: str | None
) -> None:
    """Turn models and data into other formats.

    DATA is a file of data or of a model: it is looked at. Of a model only the machine goes to
    LIBSVM and SVMlight: scale rows for it first (lindero scale --like).
    """
    from lindero.cli.saved_model import require_place

    require_place(path)
    kind = None
    if data.path != "-" and data.options["format"] is None and Path(data.path).is_file():
        kind = model_formats.model_format(data.path)
    if kind is not None:
        found = _convert_model(output, data.path, kind, path, to, class_name)
    else:
        found = _convert_data(data, path, to)
    output.result({"input": data.path, "output": path, "format": found}, f"{path} written.")


def _convert_model(
    output: Output, source: str, kind: str, path: str, to: str | None, class_name: str | None
) -> str:
    wanted = to or model_formats.ENDINGS.get(Path(path).suffix.lower())
    if wanted not in _MODELS:
        raise Mistake(
            f"{source} is a model, and {path!r} names no format of models: take one of "
            f"{', '.join(model_formats.ENDINGS)}, or say it by --to."
        )
    model = model_formats.read_model(source, kind, class_name)
    summary: dict[str, Any] = {}
    if kind == "lin":
        from lindero.persist import inspect

        summary = dict(inspect(source).summary or {})
    model_formats.write_model(model, path, wanted, summary)
    if wanted in ("libsvm", "svmlight") and hasattr(model, "named_steps"):
        output.note(
            f"{path} holds the machine alone. Scale rows for it: lindero scale DATA --like {source}"
        )
    return wanted


def _convert_data(data: DataSource, path: str, to: str | None) -> str:
    wanted = tables.format_of(path, to)
    if wanted not in _DATA:
        raise Mistake(f"{data.path} is data, which {wanted} does not hold.")
    dataset = data.load()
    if wanted == "svmlight":
        write_as_svmlight(svmlight_numbers(dataset), dataset, path)
    else:
        tables.write_table(tables.dataset_table(dataset), path, wanted)
    return wanted


def svmlight_numbers(dataset: Any) -> Any:
    """The features as they are, if all of them are numbers."""
    import numpy as np

    X = dataset.X
    if not hasattr(X, "column_names"):
        return X
    for name, column in zip(X.column_names, X.columns, strict=True):
        if dataset.kinds.get(name) != "number" or column.null_count:
            why = "is no number" if dataset.kinds.get(name) != "number" else "has missing values"
            raise Mistake(
                f"Column {name!r} {why}, which svmlight cannot hold. lindero scale turns such "
                "tables into numbers."
            )
    return np.column_stack([column.to_numpy() for column in X.columns])


def write_as_svmlight(numbers: Any, dataset: Any, path: str) -> None:
    """Rows of numbers and their labels; labels that are text are numbered, and that is said."""
    import numpy as np

    from lindero.errors import warn_user

    y, qid = dataset.y, dataset.qid
    if y is not None and np.asarray(y).dtype.kind not in "biuf":
        labels, y = np.unique(np.asarray(y, dtype=str), return_inverse=True)
        if len(labels) == 2:
            y = 2 * y - 1
        pairs = zip(labels.tolist(), np.unique(y).tolist(), strict=True)
        told = ", ".join(f"{label!r} is {code}" for label, code in pairs)
        warn_user(f"svmlight has numbers for labels: {told}.", UserWarning)
    if qid is not None and np.asarray(qid).dtype.kind not in "iu":
        _, qid = np.unique(np.asarray(qid), return_inverse=True)
    tables.write_svmlight(numbers, y, qid, path)
