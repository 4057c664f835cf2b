"""Options that several commands share, and the data and machines that they describe.

What users type is in one place, and so one file.
"""

from __future__ import annotations

import functools
import json
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from lindero.evaluation.registry import (
    AUTO,
    BASELINE,
    MACHINES,
    MachineSpec,
    choose_machine,
    find_contenders,
    find_machine,
    list_comparable,
)

FORMATS = ("csv", "tsv", "parquet", "arff", "keel", "svmlight", "conll")


@dataclass(frozen=True)
class DataSource:
    """A data file, or "-" for standard input, and the options of `lindero.data.load` to read it
    with, None where the user gave none."""

    path: str
    options: dict[str, Any]

    def load(self, machine: str = AUTO) -> Any:
        """Read the data set for a machine; some machines have no target."""
        from lindero.evaluation.rows import load_for_machine

        return load_for_machine(self.path, machine, **self.options)

    def prepare(
        self, output: Any, name: str, settings: Sequence[str]
    ) -> tuple[Any, MachineSpec, dict[str, Any]]:
        """The data set, the machine of a name and its parameters, as --set has them."""
        from lindero.evaluation import parse_settings
        from lindero.evaluation.build import choose_table_parameters

        dataset = self.load(name)
        machine = choose_machine(name, dataset)
        params = parse_settings(settings, machine, dataset.y)
        describe_data(output, dataset)
        keeps = self.options["keep_row_names"] or self.options["only"]
        kept = choose_table_parameters(machine, keeps, dataset.X)
        return dataset, machine, {**kept, **params}

    def suggest(self, command: str, machine: str, params: dict[str, Any]) -> str:
        """A command that fits a machine to the same data, as it is typed."""
        settings = [word for text in format_params(params) for word in ("--set", text)]
        return self.format_command(command, ["-m", machine, *settings])

    def format_command(self, command: str, more: Sequence[str]) -> str:
        """Another command for the same data, with more arguments."""
        words = ["lindero", command, self.path, *more]
        for name, value in self.options.items():
            option = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            elif isinstance(value, tuple):
                words += [word for one in value for word in (f"--{option}", str(one))]
            elif value is not None:
                words += [f"--{option}", str(value)]
        return shlex.join(words)


def describe_data(output: Any, dataset: Any) -> None:
    """Say in a line what the data are, and what was made of their columns."""
    output.note("\n".join([dataset.summary(), *dataset.notes]))


def make_source(path: str) -> DataSource:
    """A data file that is read with no options given."""
    command = click.command()(data_options(lambda data: data))
    source: DataSource = command.main([path], standalone_mode=False)
    return source


def gather_roles(dataset: Any) -> dict[str, Any]:
    """What `fit_machine` takes beside X: targets, times, queries, weights and positions."""
    names = ("y", "times", "qid", "weights", "positions")
    return {name: getattr(dataset, name) for name in names}


def gather_ids(dataset: Any) -> Any:
    """Names of rows as machines take them; None where there are none, or several for each row."""
    ids = dataset.ids
    if ids is None or ids.ndim != 1:
        return None
    return ids if ids.dtype.kind in "iu" else ids.astype(str)


def format_params(params: dict[str, Any]) -> list[str]:
    """Parameters as they are typed after --set."""
    return [f"{name}={v if isinstance(v, str) else json.dumps(v)}" for name, v in params.items()]


# click before 8.4 has no type parameter here.
if TYPE_CHECKING:
    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType


class MachineName(_TextType):
    """The name of a machine, with shell completion; when machines are compared, the name may
    include the kernel, as in svc-linear."""

    name = "machine"

    def __init__(self, compared: bool = False) -> None:
        self._compared = compared

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """The name itself, if there is such a machine."""
        try:
            if self._compared:
                find_contenders(str(value))
            elif value == BASELINE:
                raise ValueError(
                    "baseline looks at no column, and is there for comparisons only: take another "
                    "machine."
                )
            elif value != AUTO:
                find_machine(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Machines whose names begin with what is typed."""
        return [
            CompletionItem(name, help=machine.one_line)
            for name, machine in {
                **({} if self._compared else MACHINES),
                **list_comparable(),
            }.items()
            if name.startswith(incomplete)
        ]


def data_options(
    function: Callable[..., Any] | None = None, *, required: bool = True
) -> Callable[..., Any]:
    """DATA and the options to read it; the command gets a `DataSource` as `data`, whose path is
    None where DATA is not `required` and not given."""
    if function is None:
        return functools.partial(data_options, required=required)
    columns = ("target", "time", "qid", "weight", "id", "drop", "only", "position")
    written = ("header", "delimiter", "decimal", "thousands", "dates", "keep_row_names")
    names = ("format", *columns, *written, "max_megabytes")

    @functools.wraps(function)
    def gather(*args: Any, data: str, **options: Any) -> Any:
        options.setdefault("position", ())
        chosen = {name: options.pop(name) for name in names}
        chosen["keep_row_names"] = chosen["keep_row_names"] or None
        if options.pop("no_target"):
            if chosen["target"] is not None:
                raise click.UsageError("Use either --target or --no-target.")
            chosen["target"] = False
        return function(*args, data=DataSource(data, chosen), **options)

    column = functools.partial(click.option, metavar="COLUMN")
    declared: list[Any] = [
        click.argument(
            "data",
            metavar="DATA" if required else "[DATA]",
            type=click.Path(allow_dash=True),
            required=required,
        ),
        click.option(
            "--format", type=click.Choice(FORMATS), help="Format of DATA; detected by default."
        ),
        column(
            "-y",
            "--target",
            help="Column to predict, by name or position; by default one called class, target, "
            "label or y, or else the last.",
        ),
        click.option(
            "--no-target", is_flag=True, help="There is no target: all columns are features."
        ),
        column("--time", help="Column with the time of each row."),
        column("--qid", help="Column with the query, or the sequence, of each row."),
        column("--weight", help="Column with the weight of each row."),
        column(
            "--id",
            multiple=True,
            help="Column with the name of each row; not a feature. Can be "
            "repeated, as --drop and --only.",
        ),
        column("--drop", multiple=True, help="Column that is not read."),
        column("--only", multiple=True, help="Column that is a feature; no others are."),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether the first line names the columns; detected by default.",
        ),
        click.option(
            "--delimiter", metavar="CHARACTER", help="Delimiter of a CSV file; detected by default."
        ),
        click.option(
            "--decimal",
            type=click.Choice((".", ",")),
            help="Decimal sign of numbers; recognised by default.",
        ),
        click.option(
            "--thousands",
            metavar="CHARACTER",
            help="Separator of thousands; recognised by default, as percent and currency signs.",
        ),
        click.option(
            "--dates/--no-dates",
            default=None,
            help="Whether dates and times become features (year, month, weekday, hour, elapsed "
            "days); by default they do.",
        ),
        click.option(
            "--keep-row-names",
            is_flag=True,
            help="Use columns with a different value in most rows, which are left out by default.",
        ),
        click.option(
            "--max-megabytes",
            type=click.FloatRange(0, min_open=True),
            metavar="NUMBER",
            help="Megabytes that DATA may grow to when it is unpacked or zeros are filled in; by "
            "default 128, or 100 times its size.",
        ),
    ]
    command: Callable[..., Any] = gather
    for option in reversed(declared):
        command = option(command)
    return command


def _split_columns(ctx: Any, param: Any, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for one in given for name in one.split(",") if name.strip())


#: Where rows are, for commands with machines that can use it.
position_option = click.option(
    "--position",
    metavar="COLUMNS",
    multiple=True,
    callback=_split_columns,
    help="Columns that say where each row is, such as lat,lon; not features (adaptive machines "
    "with graph=space).",
)


def list_machines() -> str:
    """The list of machines at the end of a help text."""
    return f"Machines: {', '.join(MACHINES)}. For details: lindero info svc"


def count_option(
    name: str, text: str, default: int | None = None, least: int = 1
) -> Callable[..., Any]:
    """An option that is a number of something."""
    shown = default is not None
    number = click.IntRange(min=least)
    return click.option(name, type=number, default=default, show_default=shown, help=text)


#: Parameters of the machine.
settings_option = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the machine, such as C=10. Can be repeated.",
)


class MeasureName(_TextType):
    """The name of a measure, with hyphens or underscores, with shell completion."""

    name = "measure"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """The name as Python has it, if there is such a measure."""
        from lindero.evaluation.measures import find_measure

        try:
            return find_measure(str(value)).name
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Measures whose names begin with what is typed."""
        from lindero.evaluation.measures import MEASURES

        names = {name.replace("_", "-"): measure for name, measure in MEASURES.items()}
        return [
            CompletionItem(name, help=measure.title)
            for name, measure in names.items()
            if name.startswith(incomplete)
        ]


#: What machines or parameters are ranked by.
measure_option = click.option(
    "--measure",
    type=MeasureName(),
    help="What to rank by: error, balanced-accuracy, roc-auc, average-precision, f1, log-loss, "
    "brier, cost, mcc or kappa; mae, rmse, r2 or pinball (pinball@0.9) for numbers. By default "
    "cost where there are costs, log-loss where a class is rare.",
)

#: What errors cost; `lindero.cli.compare.parse_costs` reads them.
cost_option = click.option(
    "--cost",
    "costs",
    metavar="TRUE:PREDICTED=COST",
    multiple=True,
    help="Cost of an error, such as ill:healthy=20. Can be repeated; other errors cost 1.",
)


proba_option = click.option(
    "--proba", is_flag=True, help="Have probabilities: machines without any are calibrated."
)

threshold_option = click.option(
    "--threshold",
    metavar="NUMBER",
    help="From which probability on the second of two classes is answered, such as 0.3, or "
    "yes=0.3 for the class yes; or a measure to tune it for, such as f1.",
)


def parse_threshold(text: str | None, classes: Sequence[Any], tuned: bool = True) -> Any:
    """A threshold on the second of two classes, or the name of a measure to tune it for."""
    from lindero.cli.output import CommandError

    if text is None:
        return None
    label, equals, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = None
    if value is None and tuned and not equals:
        from lindero.evaluation.measures import LABELS, find_measure

        measure = find_measure(text, "classification")
        if measure.needs != LABELS:
            raise CommandError(
                f"--threshold {text}: {measure.title} does not depend on a threshold. Take a "
                "number from 0 to 1, or a measure of answers, such as f1."
            )
        return measure.name
    if value is None or not 0.0 <= value <= 1.0:
        raise CommandError(f"--threshold {text} is not a number from 0 to 1.")
    if len(classes) != 2:
        raise CommandError(
            f"--threshold is for two classes, and there are {len(classes)}: use --cost instead."
        )
    names = [str(name) for name in classes]
    if equals and label not in names:
        raise CommandError(f"--threshold {text} names none of the classes {', '.join(names)}.")
    # The first class from a share on is the second one above the rest.
    return min(math.nextafter(1.0 - value, 2.0), 1.0) if equals and label == names[0] else value


def find_asked_measure(result: Any) -> str | None:
    """The measure of a comparison or a search, as the next command has to name it: None where it
    would be the same without."""
    usual = "error", "accuracy", "rmse", "r2", "cost"
    measure: str = result.measure
    return None if result.reason and measure in usual else measure


def repeat_options(measure: str | None, costs: Sequence[str]) -> list[str]:
    """--measure and --cost as they were given, for the next command."""
    words = [] if measure is None else ["--measure", measure.replace("_", "-")]
    return words + [word for text in costs for word in ("--cost", text)]


#: The model that train writes where no other name is given.
MODEL_NAME = "model.lin"


def choose_model_name(taken: Sequence[str] = ()) -> list[str]:
    """-o for the next command, where the usual name is taken or that of a file."""
    from lindero.cli.writing import find_free_name

    name = find_free_name(MODEL_NAME, taken)
    return [] if name == MODEL_NAME else ["-o", name]


folds_option = count_option("--folds", "Number of folds.", 5, 2)

seed_option = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed of random numbers: the same seed gives the same result.",
)


def machine_option(text: str) -> Callable[..., Any]:
    """-m, the machine."""
    return click.option(
        "-m", "--machine", type=MachineName(), default=AUTO, show_default=True, help=text
    )


def machine_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The machine and its parameters."""
    text = (
        "The machine; auto is svc, svr, rank-svm, chain-svc or one-class-svm, by the data, and "
        "linear-svc or linear-svr for texts and sparse tables of very many columns."
    )
    command: Callable[..., Any] = machine_option(text)(settings_option(function))
    return command


def file_option(text: str, default: str | None = None) -> Callable[..., Any]:
    """-o, the file to write."""
    names, kind = ("-o", "--output", "path"), click.Path(dir_okay=False)
    return click.option(*names, type=kind, default=default, show_default=bool(default), help=text)


def folder_option(name: str, default: str, text: str) -> Callable[..., Any]:
    """A folder to write to."""
    folder = click.Path(file_okay=False)
    return click.option(name, type=folder, default=default, show_default=True, help=text)


def report_option(text: str) -> Callable[..., Any]:
    """--report, an HTML file to write."""
    return click.option("--report", type=click.Path(dir_okay=False), help=text)


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Keep a flag in the `Output` that a command gets by `pass_obj`."""
    if value and param.name is not None:
        from lindero.cli.output import Output

        setattr(ctx.ensure_object(Output), param.name, True)


#: --force, for commands that write files; kept by the `Output`.
force_option = click.option(
    "--force",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Replace files that exist; the files that are read are never replaced.",
)


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--json, --quiet and --debug, kept by the `Output` that a command gets by `pass_obj`."""
    words = {
        "json": "Print the result as JSON, for scripts.",
        "quiet": "Print only the result.",
        "debug": "Show the traceback of an error.",
    }
    flag: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}
    for name, text in reversed(words.items()):
        function = click.option(f"--{name}", **flag, callback=_remember, help=text)(function)
    return function


def listening_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """How a server is reached from other machines: TLS, a proxy before it, names it answers to."""
    file = click.Path(exists=True, dir_okay=False)
    declared = [
        click.option("--tls-cert", type=file, help="Certificate."),
        click.option("--tls-key", type=file, help="Its key."),
        click.option(
            "--behind-proxy",
            is_flag=True,
            help="A proxy before the server takes care of TLS: listen on the network without.",
        ),
        click.option(
            "--allow-host",
            "allowed_hosts",
            multiple=True,
            metavar="NAME",
            help="A name or address by which the server is asked, beside those it listens on.",
        ),
    ]
    for option in reversed(declared):
        function = option(function)
    return function


#: Where a server listens.
host_option = click.option(
    "--host", default="127.0.0.1", show_default=True, help="Where to listen."
)
