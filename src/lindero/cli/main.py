"""The command ``lindero``: finds the command asked for, and imports no other.

Exit codes: 0 when done, 1 for what a user can put right (one sentence on standard error), 2 for a
command that was typed wrongly, 130 when interrupted.
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
from lindero.cli.mistakes import INTERRUPTED, Mistake, as_mistake, to_standard_output
from lindero.cli.output import Output

#: Every command: the module that has it as `command`, and what it does. The words stand here so
#: that help need not import any command.
COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("lindero.cli.train", "Fit a machine to data and save it."),
    "predict": ("lindero.cli.predict", "Apply a saved model to data."),
    "cv": ("lindero.cli.cv", "Say how well a machine does on unseen rows."),
    "tune": ("lindero.cli.tune", "Find the best parameters of a machine."),
    "compare": ("lindero.cli.compare", "Find the machine that suits your data."),
    "stream": ("lindero.cli.stream", "Learn from rows as they come."),
    "scale": ("lindero.cli.scale", "Turn a table into scaled numbers."),
    "convert": ("lindero.cli.convert", "Turn models and data into other formats."),
    "info": ("lindero.cli.info", "Show what is in a saved model."),
    "data": ("lindero.cli.data", "List and fetch published data sets."),
    "demo": ("lindero.cli.demo", "See what lindero can do."),
    "completion": ("lindero.cli.completion", "Have your shell complete commands and names."),
}


class Commands(click.Group):
    """Commands that are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Names and words, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names that begin like what is typed, without importing any."""
        names = [
            CompletionItem(name, help=words)
            for name, (_, words) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """With a word on what was probably meant by a name that does not exist."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from lindero.evaluation.registry import find_closest

            near = find_closest(args[0], list(COMMANDS)) if args else None
            if near is None or "did you mean" in error.message.lower():
                raise
            said = f"{error.message.rstrip('.')}. Did you mean {near!r}?"
            raise click.UsageError(said, ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what goes wrong becomes one sentence and an exit code."""
        output = ctx.ensure_object(Output)
        with output.showing_warnings(), _in_words(output):
            result = super().invoke(ctx)
            with to_standard_output():
                sys.stdout.flush()  # a full disk shows here
            return result


@contextmanager
def _in_words(output: Output) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        click.echo("\nInterrupted: nothing was saved.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except Exception as error:
        mistake = None if output.debug else as_mistake(error)
        if mistake is None:
            raise
        if output.json and not isinstance(error, click.UsageError):
            with suppress(Mistake):  # the output itself may be what is wrong
                output.write_json({"error": mistake.format_message()})
        raise mistake from None


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Help on one: lindero train --help",
)
@click.version_option(__version__, message="lindero %(version)s")
def cli() -> None:
    """Decision boundaries that learn, adapt and explain themselves."""


def main() -> None:
    """Run the command line."""
    # Imports make very many objects that all stay: looking for garbage among them takes a tenth
    # of the time of a short command.
    gc.set_threshold(100_000, 50, 100)
    try:
        cli.main(prog_name="lindero")
    finally:
        _close_output()


def _close_output() -> None:
    """Have everything written now: what cannot be was said, and needs no traceback at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
