"""Compiled code on disk: kept where it can be, and never a reason to fail."""

import importlib
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
def source(tmp_path, monkeypatch):
    """A file with a compiled function, and a place for what is compiled."""
    (tmp_path / "loops.py").write_text(textwrap.dedent(TWICE))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


@pytest.fixture
def is_found(source, monkeypatch):
    """A function that imports the file anew, calls what is in it, and says whether that was found
    compiled."""

    def call():
        monkeypatch.delitem(sys.modules, "loops", raising=False)
        twice = importlib.import_module("loops").twice
        assert twice(21) == 42
        return dict(twice.stats.cache_hits) != {}

    call.files = lambda ending: list((source / "cache").rglob(f"*.{ending}"))
    yield call
    sys.modules.pop("loops", None)


def test_what_one_process_compiles_another_one_finds(source):
    call = "import loops; print(loops.twice(21), dict(loops.twice.stats.cache_hits) != {})"
    paths = os.pathsep.join([str(source), *sys.path])
    environment = {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(source / "cache")}
    for found in (False, True):
        done = subprocess.run(
            [sys.executable, "-c", call], env=os.environ | environment,
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["42", str(found)]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["cut", "empty", "rubbish"])
def test_a_broken_file_is_written_again(is_found, ending, damage):
    assert not is_found()
    [file] = is_found.files(ending)
    data = file.read_bytes()
    file.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "rubbish": b"rubbish"}[damage])
    assert not is_found()
    assert is_found()


def test_another_version_of_the_package_compiles_anew(is_found):
    assert not is_found()
    assert is_found()
    [file] = is_found.files("nbi")
    stamp = lindero.__version__.encode()
    file.write_bytes(file.read_bytes().replace(stamp, b"9" * len(stamp)))
    assert not is_found()


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
