"""The examples of the page about streams run, the Python ones and the commands."""

import doctest
import re
import shlex
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "streams.md"


def test_the_examples_run(here):
    text = PAGE.read_text(encoding="utf-8")
    example = doctest.DocTestParser().get_doctest(text, {}, "streams.md", str(PAGE), 0)
    result = doctest.DocTestRunner(verbose=False).run(example)
    assert (result.failed, result.attempted > 20) == (0, True)
    commands = [
        line
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(commands) == 5
    for command in commands:
        result = here.run(*shlex.split(command)[1:])
        assert result.exit_code == 0, (command, result.stderr)
    assert "change points" in here.read("visits.html").lower()
