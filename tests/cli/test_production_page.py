"""The examples of the page about production run, the Python ones and the commands."""

import doctest
import importlib.util
import re
import shlex
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "production.md"


def test_the_examples_run(here):
    has_onnx = importlib.util.find_spec("onnx") is not None
    text = PAGE.read_text(encoding="utf-8")
    if not has_onnx:
        text = (
            text.partition("## ONNX")[0] + "## scikit-learn" + text.partition("## scikit-learn")[2]
        )
    example = doctest.DocTestParser().get_doctest(text, {}, "production.md", str(PAGE), 0)
    result = doctest.DocTestRunner(verbose=False).run(example)
    assert result.attempted > 20
    assert result.failed == 0
    commands = [
        line
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(commands) >= 6
    for command in commands:
        words = shlex.split(command)
        result = here.run(*words[1:])
        assert result.exit_code == 0, (command, result.stderr)
    assert "### By job" in here.read("card.md")
