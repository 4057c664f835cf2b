"""The picture of a tagged sentence."""

import pytest

from lindero.plot import SentenceDisplay
from lindero.svm import ChainSVC

plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")

WORDS = [["the", "cat", "sleeps"], ["a", "dog", "barks"]]
LABELS = [["B-NP", "I-NP", "B-VP"]] * 2


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_words_stand_in_their_chunks(ax):
    model = ChainSVC(C=1.0).fit(WORDS, LABELS)
    right = ["B-NP", "I-NP", "O"]
    display = SentenceDisplay.from_estimator(model, WORDS[0], right, ax=ax)
    assert display.ax_ is ax
    assert len(ax.patches) == 2
    texts = [text.get_text() for text in ax.texts]
    assert texts.count("NP") == texts.count("VP") == 1
    assert "B-VP (is O)" in texts
    with pytest.raises(ValueError, match="right has 1 labels"):
        SentenceDisplay.from_estimator(model, WORDS[0], ["O"], ax=ax)


def test_long_sentences_have_several_lines(ax):
    words = ["antidisestablishmentarianism"] * 6
    display = SentenceDisplay(words, ["B-NP", *["I-NP"] * 5]).plot(ax=ax)
    assert len(ax.patches) == 3  # one box a line
    assert display.ax_.get_ylim()[0] < -2
    plain = SentenceDisplay(["a", "b"], ["DT", "NN"]).plot(ax=ax)
    assert plain.right is None
