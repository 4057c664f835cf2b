"""A file is written as a whole or not at all."""

import os
import stat

import pytest

from lindero.persist.safe_file import write_whole


def failing_lines():
    yield "half of a model\n"
    raise RuntimeError("no more")


@pytest.mark.parametrize("before", [None, "what was there"])
def test_a_write_that_fails_leaves_what_was_there(tmp_path, before):
    path = tmp_path / "model"
    names = []
    if before is not None:
        path.write_text(before)
        names = ["model"]
    with pytest.raises(RuntimeError, match="no more"):
        write_whole(path, failing_lines())
    assert [file.name for file in tmp_path.iterdir()] == names
    assert [file.read_text() for file in tmp_path.iterdir()] == [before] * len(names)


def test_a_failure_to_take_its_place_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_text("what was there")

    def refuse(source, target):
        raise OSError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        write_whole(path, ["a model\n"])
    assert path.read_text() == "what was there"
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_the_old_file_is_whole_while_the_new_one_is_written(tmp_path):
    path = tmp_path / "model"
    path.write_text("what was there")
    seen = []

    def lines():
        yield "a line\n" * 100_000
        seen.append(path.read_text())

    write_whole(path, lines())
    assert seen == ["what was there"]
    assert path.read_text() == "a line\n" * 100_000


def test_permissions_stay_and_new_files_have_the_usual_ones(tmp_path):
    old, new, usual = tmp_path / "old", tmp_path / "new", tmp_path / "usual"
    old.write_text("what was there")
    old.chmod(0o640)
    usual.write_text("")
    write_whole(old, ["a model\n"])
    write_whole(new, ["a model\n"])
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == usual.stat().st_mode


def test_what_is_not_finished_is_not_more_open_than_the_old_file(tmp_path):
    path = tmp_path / "model"
    path.write_text("what was there")
    path.chmod(0o600)
    seen = []

    def lines():
        yield "a model\n"
        seen.extend(stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir())

    write_whole(path, lines())
    assert seen == [0o600, 0o600]


def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "model", ["a model\n"])
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640


def test_no_file_takes_the_place_of_a_pipe_or_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe or device"):
        write_whole(tmp_path / "pipe", ["a model\n"])
    with pytest.raises(OSError, match="pipe or device"):
        write_whole(os.devnull, ["a model\n"])
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_no_file_takes_the_place_of_a_folder(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="add the name of a file"):
        write_whole(tmp_path / "folder", ["a model\n"])
    assert os.listdir(tmp_path) == ["folder"]


def test_a_link_to_itself_stays(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "link")
    with pytest.raises(OSError, match="symbolic link"):
        write_whole(tmp_path / "link", ["a model\n"])
    assert (tmp_path / "link").is_symlink()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("what was there")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", ["a model\n"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "a model\n"


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "model", ["a model\n"])
