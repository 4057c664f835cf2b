"""Column files of CoNLL: tokens, sentences and labels, and what is wrong with a line."""

import pytest

from lindero.data import load, read_conll
from lindero.errors import DataError
from lindero.svm import ChainSVC
from tests.data.files import columns_of, loaded

CHUNKS = "He PRP B-NP\nsaw VBD B-VP\n# # B-NP\n\nIt PRP B-NP\nrains VBZ B-VP\n. . O\n"


def test_sentences_of_tokens(tmp_path):
    data = loaded(tmp_path, CHUNKS, "a.txt")
    assert data.task == "tagging"
    assert data.qid.tolist() == [0, 0, 0, 1, 1, 1]
    assert data.y.tolist() == ["B-NP", "B-VP", "B-NP", "B-NP", "B-VP", "O"]
    assert columns_of(data) == {
        "word": ["He", "saw", "#", "It", "rains", "."],
        "column1": ["PRP", "VBD", "#", "PRP", "VBZ", "."],
    }
    assert data.summary().endswith("2 sequences")
    model = ChainSVC().fit(data.X, data.y, lengths=[3, 3])
    assert model.feature_names_in_.tolist() == ["word", "column1"]


def test_sentences_as_lists(tmp_path):
    (tmp_path / "a.txt").write_text(CHUNKS)
    sentences, labels = read_conll(tmp_path / "a.txt")
    assert sentences[1] == [["It", "PRP"], ["rains", "VBZ"], [".", "."]]
    assert labels == [["B-NP", "B-VP", "B-NP"], ["B-NP", "B-VP", "O"]]
    (tmp_path / "b.txt").write_text("a\nb\n")
    with pytest.raises(DataError, match="one column only"):
        read_conll(tmp_path / "b.txt")


def test_tabs_comments_and_documents(tmp_path):
    text = "-DOCSTART- -X- O\n\n# text = Green tea\nGreen tea\tNN\tB-NP\nis\tVBZ\tB-VP\n\n\n"
    data = loaded(tmp_path, text, "a.txt")
    assert columns_of(data)["word"] == ["Green tea", "is"]
    assert data.qid.tolist() == [0, 0]


def test_columns_by_name_and_position(tmp_path):
    text = "He PRP\nsaw VBD\n\nIt PRP\n"
    assert loaded(tmp_path, text, format="conll").y.tolist() == ["PRP", "VBD", "PRP"]
    data = loaded(tmp_path, CHUNKS, target="column1", drop="column2")
    assert data.y.tolist()[:2] == ["PRP", "VBD"]
    assert list(columns_of(data)) == ["word"]
    none = loaded(tmp_path, CHUNKS, target=False)
    assert none.y is None
    assert list(columns_of(none)) == ["word", "column1", "column2"]


def test_new_sentences_without_labels_are_read_as_in_training(tmp_path):
    data = loaded(tmp_path, CHUNKS)
    new = loaded(tmp_path, "He PRP\nsaw VBD\n", format="conll", like=data)
    assert list(columns_of(new)) == ["word", "column1"]
    assert new.y is None


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a DT B-NP\nb B-NP\n", {}, "line 2: a token has 2 columns, and those before have 3"),
        ("\n\n", {"format": "conll"}, "is empty"),
        (CHUNKS, {"qid": "word"}, "sentences are told apart by empty lines"),
        (CHUNKS, {"target": "chunk"}, "chunk"),
        ("a\nb\n", {"format": "conll", "target": "word"}, "no columns left"),
    ],
)
def test_what_is_refused(tmp_path, text, options, words):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(DataError, match=words):
        load(tmp_path / "a.txt", **options)


def test_other_files_are_not_taken_for_it(tmp_path):
    assert loaded(tmp_path, "a,b,O\n1,2,O\n").task != "tagging"
    assert loaded(tmp_path, "1 1:2\n-1 2:1\n").task == "classification"
