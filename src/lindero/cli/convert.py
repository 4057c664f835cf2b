"""``lindero convert``: models and data in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lindero.cli import saved_model, writing
from lindero.cli.options import DataSource, data_options, force_option, output_options
from lindero.cli.output import CommandError, Output

_EXAMPLES = """\b
Models: .lin  .libsvm .model (LIBSVM)  .svmlight (SVMlight)  .bif  .xmlbif  .onnx
Data:   .csv  .tsv  .parquet  .arff  .svm (svmlight)

\b
Examples:
  lindero convert model.lin model.onnx
  lindero convert model.lin model.libsvm
  lindero convert heart.arff heart.parquet
"""
_MODELS = tuple(dict.fromkeys(saved_model.MODEL_ENDINGS.values()))
_DATA = tuple(dict.fromkeys(writing.ENDINGS.values()))


@click.command(epilog=_EXAMPLES)
@data_options
@click.argument("path", metavar="OUT", type=click.Path(dir_okay=False))
@click.option(
    "--to",
    type=click.Choice(tuple(dict.fromkeys([*_MODELS, *_DATA]))),
    help="Format of OUT; by default that of its extension.",
)
@click.option("--class-name", metavar="NAME", help="The class variable of a BIF file.")
@force_option
@output_options
@click.pass_obj
def command(
    output: Output, data: DataSource, path: str, to: str | None, class_name: str | None
) -> None:
    """Convert models and data to other formats.

    DATA is a data file or a model; its content tells which. Files of LIBSVM and SVMlight do not
    include the scales of a model: scale rows for them first (lindero scale --like). Files of ONNX
    do, and take rows as they stand in a table. Labels that are text become numbers in files of
    LIBSVM; OUT.labels beside them says which.
    """
    writing.require_writable(output, [path], [data.path], "OUT")
    is_file = data.path != "-" and data.options["format"] is None and Path(data.path).is_file()
    if is_file and saved_model.detect_model_format(data.path) is not None:
        found = _convert_model(output, data.path, path, to, class_name)
    else:
        found = _convert_data(data, path, to)
    output.show_result({"input": data.path, "output": path, "format": found}, f"{path} written.")


def _convert_model(
    output: Output, source: str, path: str, to: str | None, class_name: str | None
) -> str:
    wanted = to or saved_model.MODEL_ENDINGS.get(Path(path).suffix.lower())
    if wanted not in _MODELS:
        raise CommandError(
            f"{source} is a model, but {path!r} is not a model format: use --to, or one of the "
            f"extensions {', '.join(saved_model.MODEL_ENDINGS)}."
        )
    from lindero.evaluation.registry import find_inner

    saved = saved_model.SavedModel.read(source, class_name)
    if wanted == "libsvm":
        _require_label_map(output, saved.model, path, source)
    saved_model.write_model(saved.model, path, wanted, saved.summary)
    made = saved_model.describe_date_parts(saved.summary) if wanted == "onnx" else {}
    if made:
        listed = "\n".join(f"  {name}: {said}" for name, said in made.items())
        output.note(f"{path} takes parts of dates, which are to be made before:\n{listed}")
    if wanted in ("libsvm", "svmlight") and hasattr(find_inner(saved.model), "named_steps"):
        output.note(f"{path} has no scales. Scale rows for it: lindero scale DATA --like {source}")
    return wanted


def _require_label_map(output: Output, model: Any, path: str, source: str) -> None:
    """Refuse to replace a file where the label map would be."""
    from lindero.evaluation.build import unwrap_machine
    from lindero.persist.text.label_maps import find_label_map, needs_label_map

    if needs_label_map(unwrap_machine(model)):
        writing.require_writable(output, [find_label_map(path)], [source], "OUT")


def _convert_data(data: DataSource, path: str, to: str | None) -> str:
    wanted = writing.choose_format(path, to)
    if wanted not in _DATA:
        raise CommandError(f"{data.path} is data, and {wanted} is a format of models.")
    # Columns are written as they are, unless the user says otherwise.
    chosen = {"dates": data.options["dates"] or False, "keep_row_names": True}
    dataset = DataSource(data.path, {**data.options, **chosen}).load()
    writing.write_dataset(dataset, path, wanted)
    return wanted
