"""The code in the README runs, from top to bottom."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert (tmp_path / "model.libsvm").exists()


def test_the_pictures_and_pages_of_the_readme_exist():
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
