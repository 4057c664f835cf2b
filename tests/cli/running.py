"""Running commands: inside this process, and as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

from click.testing import CliRunner

from lindero.cli.main import cli

#: Before click 8.2, both streams are one unless asked for.
_APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


class Here:
    """A folder with files, in which commands are run."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def write(self, name, content):
        """A file of text or bytes."""
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        (self.folder / name).write_bytes(data)
        return name

    def read(self, name):
        """The text of a file."""
        return (self.folder / name).read_text(encoding="utf-8")

    def names(self):
        """All files."""
        return sorted(path.name for path in self.folder.iterdir())

    def run(self, *arguments, stdin=None):
        """The result of a command: exit_code, stdout, stderr."""
        return CliRunner(**_APART).invoke(cli, list(arguments), input=stdin, prog_name="lindero")

    def json(self, *arguments):
        """What a command that succeeds prints with --json."""
        result = self.run(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    def refused(self, *arguments, stdin=None):
        """The sentence of a command that a user is to put right."""
        result = self.run(*arguments, stdin=stdin)
        assert result.exit_code == 1, (result.stdout, result.stderr)
        said = result.stderr.strip().splitlines()[-1]
        assert said.startswith("Error: ")
        assert "Traceback" not in result.stderr
        return said.removeprefix("Error: ")


def lindero(*arguments, folder, **options):
    """A process of its own, as from a shell."""
    return subprocess.run(
        [sys.executable, "-m", "lindero", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **options.pop("env", {})},
        timeout=120,
        **options,
    )
