"""The page about pictures: its examples run, and it has every display."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import lindero.plot

PAGE = Path(__file__).parents[2] / "docs" / "plots.md"
DISPLAYS = [name for name in lindero.plot.__all__ if name.endswith("Display")]

plt = pytest.importorskip("matplotlib.pyplot")


def test_the_examples_run():
    text = PAGE.read_text(encoding="utf-8")
    example = doctest.DocTestParser().get_doctest(text, {}, "plots.md", str(PAGE), 0)
    result = doctest.DocTestRunner(verbose=False).run(example)
    assert (result.failed, result.attempted > 40) == (0, True)


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_display_is_on_the_page_and_explains_itself(name):
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")
    cls = getattr(lindero.plot, name)
    text = inspect.getdoc(cls)
    for section in ("Parameters", "Attributes", "See Also", "Examples"):
        assert re.search(rf"^{section}\n-+$", text, re.M), section
    made = [getattr(cls, method) for method in dir(cls) if method.startswith("from_")]
    assert made
    for method in (*made, cls.plot):
        assert "theme" in inspect.signature(method).parameters
        assert inspect.getdoc(method)


def test_the_package_loads_neither_matplotlib_nor_displays_before_they_are_asked_for():
    import subprocess
    import sys

    code = (
        "import sys, lindero.plot, lindero.report.streams\n"
        "assert 'matplotlib' not in sys.modules\n"
        "assert 'lindero.plot.network' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    import sys

    from lindero.plot.style import load_pyplot

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'lindero\[plot\]'"):
        load_pyplot()
