"""The command ``lindero``: imports only the command that is asked for.

Exit codes: 0 when done, 1 for an error that the user can fix (one sentence on standard error), 2
for wrong usage, 130 when interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from lindero import __version__
from lindero.cli.output import (
    INTERRUPTED,
    CommandError,
    Output,
    explain_error,
    writing_to_standard_output,
)

#: Commands by what they are for: the module that has each as `command`, and a description, which is
#: kept here so that the help text does not import any command.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Begin": {
        "demo": ("lindero.cli.demo", "See what lindero can do."),
        "play": ("lindero.cli.play", "Draw points, and see what every machine makes of them."),
        "compare": ("lindero.cli.compare", "Find the best machine for your data."),
    },
    "Models": {
        "train": ("lindero.cli.train", "Train a machine and save it."),
        "predict": ("lindero.cli.predict", "Apply a saved model to data."),
        "explain": ("lindero.cli.explain", "Explain predictions, row by row."),
        "update": ("lindero.cli.update", "Learn new rows, and forget old ones."),
        "cv": ("lindero.cli.cv", "Cross-validate a machine."),
        "tune": ("lindero.cli.tune", "Find the best parameters of a machine."),
        "info": ("lindero.cli.info", "Show what a saved model contains."),
    },
    "Models that go on learning": {
        "stream": ("lindero.cli.stream", "Predict and learn row by row."),
        "serve": ("lindero.cli.serve", "Serve models that go on learning, over HTTP."),
        "follow": ("lindero.cli.follow", "Keep models equal to those of a server."),
    },
    "Files and more": {
        "scale": ("lindero.cli.scale", "Convert a table to scaled numbers."),
        "convert": ("lindero.cli.convert", "Convert models and data to other formats."),
        "data": ("lindero.cli.data", "List and download published data sets."),
        "reproduce": ("lindero.cli.reproduce", "Compute published tables and figures."),
        "completion": ("lindero.cli.completion", "Set up shell completion."),
    },
}
COMMANDS = {name: found for group in GROUPS.values() for name, found in group.items()}


class Commands(click.Group):
    """Commands that are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order in which users need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        return import_module(COMMANDS[cmd_name][0]).command if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Names and descriptions, without importing any command."""
        width = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{name:{width}}", words) for name, (_, words) in group.items()]
                )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names that begin with what is typed, without importing any command."""
        known = [CompletionItem(name, help=words) for name, (_, words) in COMMANDS.items()]
        names = [item for item in known if item.value.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Suggest a command for a name that does not exist."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from lindero.evaluation.registry import find_closest

            near = find_closest(args[0], list(COMMANDS)) if args else None
            if near is None or "did you mean" in error.message.lower():
                raise
            said = f"{error.message.rstrip('.')}. Did you mean {near!r}?"
            raise click.UsageError(said, ctx) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note --json, for errors that come before the command has read its options."""
        output = ctx.ensure_object(Output)
        options = args[: args.index("--")] if "--" in args else args
        output.json = "--json" in options
        with _reporting_errors(output):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error becomes one sentence and an exit code."""
        output = ctx.ensure_object(Output)
        with output.showing_warnings(), _reporting_errors(output):
            result = super().invoke(ctx)
            with writing_to_standard_output():
                sys.stdout.flush()  # a full disk shows here
            return result


@contextmanager
def _reporting_errors(output: Output) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        _write_error(output, "Interrupted: nothing was saved.")
        click.echo("\nInterrupted: nothing was saved.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except click.ClickException as error:
        # One that shows the help of a group has no message of its own.
        _write_error(output, error.format_message() or "No command was given.")
        raise
    except Exception as error:
        message = explain_error(error)
        if message is None:
            raise
        _write_error(output, message.format_message())
        if output.debug:
            raise
        raise message from None


def _write_error(output: Output, message: str) -> None:
    """Print an error as JSON, for scripts; standard output itself may fail."""
    if output.json:
        with suppress(CommandError, OSError):
            output.write_json({"error": message})


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="lindero %(version)s")
def cli() -> None:
    """Decision boundaries that explain themselves. Help on train: lindero train -h"""


def main() -> None:
    """Run the command line."""
    # Imports create many objects that all stay: collecting garbage among them takes a tenth of
    # the time of a short command.
    gc.set_threshold(100_000, 50, 100)
    # A shell may have closed them, and Python has none then.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        cli.main(prog_name="lindero")
    finally:
        try:
            sys.stdout.flush()
        except OSError:  # reported before, so that it needs no traceback
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
