"""The page of the documentation that shows the help of every command.

``python -m tests.cli.documentation > docs/command-line.md`` writes it.
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
lindero train heart.csv -m svc        # train, save as model.lin
lindero cv heart.csv -m svc           # cross-validate
lindero predict model.lin new.csv     # apply it
```

DATA is a file (csv, tsv, parquet, arff, keel or svmlight, compressed with gzip or not), or `-` for
standard input. Categories and missing values are encoded for machines that need numbers, and the
model file includes the encoding.

Results go to standard output, as one JSON object with `--json`; an error is then `{"error": ...}`.
Warnings go to standard error. Hints and progress are shown only on a terminal, and not with
`--quiet`; a long comparison says every ten seconds how far it is, without a terminal too. Control
characters in names and labels are shown as `\\x1b`.

No command writes over a file that it reads. Other files that exist are replaced only with
`--force`. (Snapshots of a stream that goes on and the page of an earlier demo may be
replaced.)

In CSV files text that a spreadsheet would run as a formula (it begins with `=`, `+`, `-`, `@` or a
control character, and is no number) gets an apostrophe in front: `'=1+2`. lindero takes it away
when it reads the file.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | an error that you can fix: one sentence on standard error says how |
| 2 | wrong usage: an unknown command or option, or a file that must not be replaced |
| 130 | interrupted (Ctrl-C): results so far are shown |
| 143 | a comparison that was asked to end (SIGTERM): results so far are shown |

For shell completion of commands, options, files and machines, add the line that
`lindero completion` prints to the settings of your shell: for bash
`lindero completion bash >> ~/.bashrc`.

The rest of this page is the output of `--help`.
"""


def build_page() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, _describe("lindero", cli)]
    for name in COMMANDS:
        parts += _describe_all(f"lindero {name}", cli.get_command(click.Context(cli), name))
    return "\n".join(parts)


def _describe_all(path: str, command: click.Command | None) -> Iterator[str]:
    """The help of a command, and of those below it."""
    if command is None:
        return
    yield _describe(path, command)
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _describe_all(f"{path} {name}", below)


def _describe(path: str, command: click.Command) -> str:
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
    click.echo(build_page(), nl=False)
