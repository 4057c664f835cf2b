"""Data that cannot be used: one sentence that says where, and what to do; nothing is written."""

import errno
import os

import pytest

FILES = {
    "empty.csv": ("", "is empty"),
    "blank.csv": ("\n\n\n", "is empty"),
    "header.csv": ("a,b,class\n", "no rows"),
    "delimiters.csv": ("a,b,class\n1,2,x\n1;2;y\n3,4,x\n", "line 3"),
    "ragged.csv": ("a,b,class\n1,2,x\n1,2,y,9\n3,4,y\n", "line 3"),
    "one.csv": ("a,b,class\n1,2,x\n2,3,x\n3,4,x\n", "one value only (x)"),
    "binary.csv": (b"a,b,class\n1,\x00,x\n", "line 2"),
    "nothing.csv": ("a,b,class\n" + ",,x\n,,y\n" * 10, "No column"),
    "twice.csv": ("a,a,class\n1,2,x\n2,3,y\n", "'a'"),
    "infinite.csv": ("a,class\n" + "1,x\ninf,y\n" * 10, "infinity"),
}


@pytest.mark.parametrize("command", ["train", "cv", "tune"])
@pytest.mark.parametrize("name", FILES)
def test_the_sentence_names_the_file_or_the_place(here, name, command):
    content, words = FILES[name]
    here.write(name, content)
    assert words in here.refused(command, name)
    assert here.names() == [name]


def test_letters_of_another_encoding_are_read_and_told_of(here):
    here.write("latin.csv", "näme,class\né,x\nü,y\né,x\n".encode("latin-1"))
    result = here.run("train", "latin.csv")
    assert result.exit_code == 0
    assert "Latin-1" in result.stderr


@pytest.mark.parametrize("command", ["train", "cv", "tune", "scale"])
def test_a_file_that_is_not_there(here, flowers, command):
    said = here.refused(command, "flower.csv")
    assert "no file flower.csv" in said
    assert "flowers.csv" in said


def test_a_target_that_is_not_there(here, flowers):
    said = here.refused("train", flowers, "--target", "clas")
    assert "'clas'" in said
    assert "'class'" in said
    assert "--target" in said
    assert "target=" not in said


def test_advice_is_in_words_of_the_command_line(here):
    here.write("header.csv", "a,b,class\n")
    assert "--no-header" in here.refused("train", "header.csv")
    here.write("ragged.csv", "a,b,class\n1,2,x\n1,2\n3,4,y\n")
    said = here.refused("train", "ragged.csv")
    assert "--delimiter" in said
    assert "delimiter=" not in said


def test_numbers_for_classes_and_classes_for_numbers(here, flowers):
    assert "such as svr" in here.refused("train", flowers, "-m", "svc", "--target", "width")
    said = here.refused("train", flowers, "-m", "svr")
    assert "such as svc" in said


def test_sparse_rows_for_a_machine_that_takes_tables(here):
    here.write("a.svm", "-1 1:0.5\n1 1:2\n")
    assert "lindero convert" in here.refused("train", "a.svm", "-m", "tan")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("c=10", "did you mean 'C'?"),
        ("gama=1", "did you mean 'gamma'?"),
        ("nonsense=1", "there are C, kernel"),
        ("C", "name=value"),
        ("C=abc", "'C'"),
        ("C=-1", "'C'"),
        ("kernel=rbff", "'kernel'"),
        ("class_weight={x", "JSON"),
    ],
)
def test_settings_that_are_none(here, flowers, setting, words):
    assert words in here.refused("train", flowers, "-m", "svc", "--set", setting)
    assert here.names() == ["flowers.csv"]


def test_a_machine_that_does_not_exist_is_a_matter_of_usage(here, flowers):
    result = here.run("train", flowers, "-m", "scv")
    assert result.exit_code == 2
    assert "did you mean 'svc'?" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["train"], ["train", "x.csv", "--nonsense"], ["nonsense"], ["cv", "x.csv", "--folds", "1"]],
)
def test_usage_that_is_wrong_has_exit_code_two(here, arguments):
    result = here.run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage:")


def test_a_command_that_is_mistyped_is_guessed(here):
    assert "Did you mean 'train'?" in here.run("trian").stderr


def test_folders_that_are_not_there_are_noticed_before_the_work(here, flowers):
    assert "create it before" in here.refused("train", flowers, "-o", "none/model.lin")
    assert "create it before" in here.refused("tune", flowers, "-o", "none/model.lin")


def test_a_full_disk_leaves_the_model_that_was_there(here, flowers, model, monkeypatch):
    before = (here.folder / model).read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    said = here.refused("train", flowers, "-m", "naive-bayes", "-o", model, "--force")
    assert "no space left" in said
    assert (here.folder / model).read_bytes() == before
    assert here.names() == ["flowers.csv", "model.lin"]


def test_a_failed_training_leaves_the_model_that_was_there(here, flowers, model):
    before = (here.folder / model).read_bytes()
    here.refused("train", flowers, "--set", "C=-1", "-o", model, "--force")
    assert (here.folder / model).read_bytes() == before


def test_an_interruption_saves_nothing(here, flowers, monkeypatch):
    from lindero.svm import SVC

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(SVC, "fit", interrupted)
    result = here.run("train", flowers)
    assert result.exit_code == 130
    assert "nothing was saved" in result.stderr
    assert here.names() == ["flowers.csv"]


def test_a_defect_is_said_to_be_one_and_debug_shows_where(here, flowers, monkeypatch):
    from lindero.svm import SVC

    def broken(*_, **__):
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(SVC, "fit", broken)
    assert "lindero itself failed (ZeroDivisionError" in here.refused("train", flowers)
    result = here.run("train", flowers, "--debug")
    assert isinstance(result.exception, ZeroDivisionError)
