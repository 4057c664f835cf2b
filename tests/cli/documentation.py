"""The page of the documentation that shows the help of every command.

``python -m tests.cli.documentation > docs/command-line.md`` writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from lindero.cli.main import COMMANDS, cli

_WIDTH = 80

_INTRODUCTION = """\
# The command line

`lindero` does from a shell what the library does from Python.

```sh
lindero train heart.csv -m svc        # fit, save as model.lin
lindero cv heart.csv -m svc           # how well does it do on unseen rows?
lindero predict model.lin new.csv     # apply it
```

DATA is a file (csv, tsv, parquet, arff, keel or svmlight, packed with gzip or not), or `-` for
standard input. Categories and missing values are taken care of: machines that know numbers only get
a table of numbers, and the model file remembers how it was made.

Results go to standard output, as one JSON object with `--json`. Warnings go to standard error.
Hints and progress are shown on a terminal only, and not with `--quiet`.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | something that you can put right: one sentence on standard error says what |
| 2 | the command was not typed as it should be |
| 130 | interrupted (Ctrl-C): what is done by then is shown |

To have a shell complete commands, options, files and the names of machines, add the line that
`lindero completion` prints to the settings of your shell: for bash
`lindero completion bash >> ~/.bashrc`.

The rest of this page is what `--help` says.
"""


def documentation() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, _section("lindero", cli)]
    for name in COMMANDS:
        parts += _sections(f"lindero {name}", cli.get_command(click.Context(cli), name))
    return "\n".join(parts)


def _sections(path: str, command: click.Command | None) -> Iterator[str]:
    """The help of a command, and of those below it."""
    if command is None:
        return
    yield _section(path, command)
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _sections(f"{path} {name}", below)


def _section(path: str, command: click.Command) -> str:
    settings = {"help_option_names": ["-h", "--help"]}
    context = click.Context(
        command,
        info_name=path,
        terminal_width=_WIDTH,
        max_content_width=_WIDTH,
        **settings,  # type: ignore[arg-type]
    )
    lines = [line.rstrip() for line in command.get_help(context).splitlines()]
    return "\n".join([f"## {path}", "", "```text", *lines, "```", ""])


if __name__ == "__main__":
    click.echo(documentation(), nl=False)
