"""``lindero completion``: the line that sets up shell completion."""

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


@click.command(epilog="\b\nExample:\n  lindero completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(list(_LINES)), required=False)
@output_options
@click.pass_obj
def command(output: Output, shell: str | None) -> None:
    """Set up shell completion.

    Prints the line to add to the settings of SHELL (bash, zsh or fish; by default the one you
    use). New shells then complete commands, options, machines and files.
    """
    found = shell or Path(os.environ.get("SHELL", "bash")).name
    found = found if found in _LINES else "bash"
    line, place = _LINES[found]
    output.show_result({"shell": found, "line": line, "file": place}, line)
    output.note(f"Add this line to {place}, and open a new shell.")
