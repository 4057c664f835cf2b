"""Options that several commands share, and what they mean."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from lindero.evaluation.registry import MACHINES, find_machine

AUTO = "auto"

#: What is taken for data of each task where no machine is named.
USUAL_MACHINES = {
    "classification": "svc",
    "regression": "svr",
    "ranking": "rank-svm",
    "unlabelled": "one-class-svm",
}

FORMATS = ("csv", "tsv", "parquet", "arff", "keel", "svmlight")


@dataclass(frozen=True)
class DataSource:
    """A file of data and how to read it, as the options say.

    Attributes
    ----------
    path : str
        The file; "-" is standard input.
    options : dict
        Those of `lindero.data.load`; None where nothing was said.
    """

    path: str
    options: dict[str, Any]

    def load(self, machine: str = AUTO) -> Any:
        """The data set, for a machine of this name: some have no target."""
        from lindero.cli.reading import read_dataset

        return read_dataset(self.path, self.options, machine)

    def typed(self, command: str, more: Sequence[str]) -> str:
        """Another command for the same data, with more words of its own."""
        words = ["lindero", command, self.path, *more]
        for name, value in self.options.items():
            if isinstance(value, bool):
                words.append(f"--{name}" if value else f"--no-{name}")
            elif value is not None:
                words += [f"--{name}", str(value)]
        return shlex.join(words)


class MachineName(click.ParamType[str]):
    """The name of a machine, which shells complete."""

    name = "machine"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """The name itself, if there is such a machine."""
        if value == AUTO:
            return AUTO
        try:
            return find_machine(str(value)).name
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Machines that begin like what is typed."""
        return [
            CompletionItem(name, help=machine.one_line)
            for name, machine in MACHINES.items()
            if name.startswith(incomplete)
        ]


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The argument DATA and how to read it; the command gets a `DataSource` as `data`."""
    names = ("format", "target", "time", "qid", "weight", "id", "header", "delimiter")

    @functools.wraps(function)
    def gathered(*args: Any, data: str, **options: Any) -> Any:
        chosen = {name: options.pop(name) for name in names}
        if options.pop("no_target"):
            if chosen["target"] is not None:
                raise click.UsageError("--target and --no-target exclude each other.")
            chosen["target"] = False
        return function(*args, data=DataSource(data, chosen), **options)

    declared = [
        click.argument("data", metavar="DATA", type=click.Path(allow_dash=True)),
        click.option(
            "--format",
            type=click.Choice(FORMATS),
            help="Format of DATA; by default it is looked at.",
        ),
        click.option(
            "--target",
            metavar="COLUMN",
            help="Column to predict, by name or position; by default one called class, target, "
            "label or y, or else the last.",
        ),
        click.option("--no-target", is_flag=True, help="All columns are features."),
        click.option("--time", metavar="COLUMN", help="Column with the time of each row."),
        click.option("--qid", metavar="COLUMN", help="Column with the query of each row."),
        click.option("--weight", metavar="COLUMN", help="Column with the weight of each row."),
        click.option("--id", metavar="COLUMN", help="Column that names the rows."),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether the first line names the columns; by default it is looked at.",
        ),
        click.option("--delimiter", metavar="CHARACTER", help="What separates columns."),
    ]
    return _declare(gathered, declared)


def machine_names() -> str:
    """The end of a help text: all machines."""
    return f"Machines: {', '.join(MACHINES)}. On one of them: lindero info svc"


def machine_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Which machine, and its parameters."""
    declared = [
        click.option(
            "-m",
            "--machine",
            type=MachineName(),
            default=AUTO,
            show_default=True,
            help="Which machine; auto is svc, svr, rank-svm or one-class-svm, as the data are.",
        ),
        click.option(
            "--set",
            "settings",
            metavar="NAME=VALUE",
            multiple=True,
            help="A parameter of the machine, such as C=10. Can be repeated.",
        ),
    ]
    return _declare(function, declared)


def folds_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Number of folds of cross-validation."""
    return click.option(
        "--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Folds."
    )(function)


def seed_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """What chance begins with."""
    return click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Where chance begins: the same seed gives the same result.",
    )(function)


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--json, --quiet and --debug, which go to the `Output` that a command gets by `pass_obj`."""

    def remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and param.name is not None:
            from lindero.cli.output import Output

            setattr(ctx.ensure_object(Output), param.name, True)

    words = {
        "json": "Print the result as JSON, for scripts.",
        "quiet": "Print nothing but the result.",
        "debug": "Show where in the code an error came from.",
    }
    declared = [
        click.option(
            f"--{name}",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=remember,
            help=text,
        )
        for name, text in words.items()
    ]
    return _declare(function, declared)


def _declare(function: Callable[..., Any], declared: list[Any]) -> Callable[..., Any]:
    for option in reversed(declared):
        function = option(function)
    return function
