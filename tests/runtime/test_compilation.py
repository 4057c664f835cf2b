"""Compiled code on disk: kept where it can be, and never a reason to fail."""

import os
import subprocess
import sys
import textwrap

import numba
import pytest
from numba.core import caching

import lindero
from lindero.runtime import compilation
from lindero.runtime.compilation import EXACT, compiled

TWICE = """
    from lindero.runtime.compilation import EXACT, compiled

    @compiled(EXACT)
    def twice(x):
        return 2 * x
"""


@pytest.fixture
def program(tmp_path):
    """A program with a compiled function, run in a process of its own; what its cache did."""
    (tmp_path / "loops.py").write_text(textwrap.dedent(TWICE))
    call = "import loops; print(loops.twice(21), dict(loops.twice.stats.cache_hits) != {})"

    def run(**environment):
        paths = os.pathsep.join([str(tmp_path), *sys.path])
        known = os.environ | {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", call], env=known | environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        answer, found = done.stdout.split()
        assert answer == "42"
        return found == "True"

    run.files = lambda ending: list((tmp_path / "cache").rglob(f"*.{ending}"))
    return run


def test_what_is_compiled_is_found_again(program):
    assert not program()
    assert program()


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["cut", "empty", "rubbish"])
def test_a_broken_file_is_written_again(program, ending, damage):
    program()
    [file] = program.files(ending)
    data = file.read_bytes()
    file.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "rubbish": b"rubbish"}[damage])
    assert not program()
    assert program()


def test_another_version_of_the_package_compiles_anew(program, monkeypatch):
    program()
    [file] = program.files("nbi")
    stamp = lindero.__version__.encode()
    file.write_bytes(file.read_bytes().replace(stamp, b"9" * len(stamp)))
    assert not program()


def nowhere(cls, *_):
    return None


@pytest.fixture
def no_usual_place(monkeypatch):
    for locator in caching.CacheImpl._locator_classes:
        monkeypatch.setattr(locator, "from_function", classmethod(nowhere))


def three():
    return 3


def test_without_a_usual_place_a_private_folder_is_used(no_usual_place, monkeypatch, tmp_path):
    monkeypatch.setattr(compilation.tempfile, "gettempdir", lambda: str(tmp_path))
    function = compiled(EXACT)(three)
    assert function() == 3
    [folder] = tmp_path.iterdir()
    assert list(folder.rglob("*.nbc"))
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_folder_that_others_may_write_to_is_not_used(no_usual_place, monkeypatch, tmp_path):
    monkeypatch.setattr(compilation.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"lindero-compiled-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    assert compiled(EXACT)(three)() == 3
    assert not list(folder.rglob("*.nbc"))


def test_without_any_place_everything_is_compiled(no_usual_place, monkeypatch):
    monkeypatch.setattr(compilation._TemporaryFolder, "from_function", classmethod(nowhere))
    assert compiled(EXACT)(three)() == 3


def test_a_full_disk_only_means_that_nothing_is_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    function = compiled(EXACT)(three)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", full)
    assert function() == 3
    assert not list(tmp_path.rglob("*.nbc"))
