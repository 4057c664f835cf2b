"""The code of the page on model files runs, and what it says of the format is so."""

import re
from pathlib import Path

from lindero.persist.container import FORMAT_VERSION, MOST_ARRAYS, MOST_DOCUMENT_BYTES
from lindero.persist.registry import MOST_OBJECTS
from lindero.persist.values import MOST_DEPTH, ValueReader

PAGE = Path(__file__).parents[2] / "docs" / "model-files.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert "four rows" in capsys.readouterr().out
    assert (tmp_path / "svc.lin").exists()


def test_every_kind_of_value_is_on_the_page():
    tags = ValueReader({"arrays": [], "objects": []}, [])._read
    assert [tag for tag in tags if f'{{"{tag}"' not in TEXT] == []


def test_the_limits_on_the_page_are_those_of_the_code():
    assert f"version {FORMAT_VERSION}" in TEXT
    assert f"{MOST_ARRAYS // 1000} 000 arrays" in TEXT
    assert "2²⁸ bytes" in TEXT
    assert MOST_DOCUMENT_BYTES == 2**28
    assert f"nested {MOST_DEPTH} deep" in TEXT
    assert "a million objects" in TEXT
    assert MOST_OBJECTS == 10**6
