"""``lindero completion``: what to add to a shell so that it completes commands and names."""

from __future__ import annotations

import os
from pathlib import Path

import click

from lindero.cli.options import output_options
from lindero.cli.output import Output

_LINES = {
    "bash": ('eval "$(_LINDERO_COMPLETE=bash_source lindero)"', "~/.bashrc"),
    "zsh": ('eval "$(_LINDERO_COMPLETE=zsh_source lindero)"', "~/.zshrc"),
    "fish": (
        "_LINDERO_COMPLETE=fish_source lindero | source",
        "~/.config/fish/completions/lindero.fish",
    ),
}


@click.command(
    epilog="\b\nExample:\n  lindero completion bash >> ~/.bashrc",
)
@click.argument("shell", type=click.Choice(list(_LINES)), required=False)
@output_options
@click.pass_obj
def command(output: Output, shell: str | None) -> None:
    """Have your shell complete commands and names.

    Prints the line to add to the settings of SHELL (bash, zsh or fish; by default the one you
    use). Commands, options, machines and files are completed in every new shell then.
    """
    found = shell or _usual()
    line, place = _LINES[found]
    output.result({"shell": found, "line": line, "file": place}, line)
    output.note(f"Add this line to {place}, and open a new shell.")


def _usual() -> str:
    """The shell of the user, as far as it is one of those known."""
    name = Path(os.environ.get("SHELL", "bash")).name
    return name if name in _LINES else "bash"
