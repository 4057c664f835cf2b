"""The page of the documentation about the command line is what the commands say."""

from importlib.metadata import version
from pathlib import Path

import click
import pytest

from lindero.cli.main import COMMANDS, cli
from tests.cli.documentation import build_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"


@pytest.mark.skipif(
    version("click") < "8.2", reason="click before 8.2 writes choices with other brackets"
)
def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == build_page(), (
        "Write it again: python -m tests.cli.documentation > docs/command-line.md"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_words_in_the_list_of_commands_are_those_of_the_command(name):
    command = cli.get_command(click.Context(cli), name)
    assert command.help.strip().split("\n")[0] == COMMANDS[name][1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name):
    command = cli.get_command(click.Context(cli), name)
    below = command.commands.values() if isinstance(command, click.Group) else [command]
    for each in below:
        options = [option for option in each.params if isinstance(option, click.Option)]
        assert [option.name for option in options if not option.help] == []
        assert [option.name for option in options if option.required] == []
