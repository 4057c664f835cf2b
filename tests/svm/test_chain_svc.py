"""ChainSVC and TokenHasher: what is accepted and refused, answers, scores, and how a fit ends."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.refusals import refused

from lindero.svm import ChainSVC, TokenHasher
from lindero.svm.sequences import find_chunks
from lindero.svm.token_hasher import find_shape

RNG = np.random.default_rng(3)
LENGTHS = RNG.integers(1, 7, 30)
TOKENS = RNG.normal(size=(LENGTHS.sum(), 4))
LABELS = np.array(["a", "b", "c"])[
    np.digitize(TOKENS[:, 0] + 0.8 * np.roll(TOKENS[:, 0], 1), [-0.7, 0.7])
]
ENDS = np.cumsum(LENGTHS)[:-1]
PARTS, TAGS = np.split(TOKENS, ENDS), np.split(LABELS, ENDS)
WORDS = [[["The", "DT"], ["cats", "NNS"], ["slept", "VBD"]], [["It", "PRP"], ["rains", "VBZ"]]]
CHUNKS = [["B-NP", "I-NP", "B-VP"], ["B-NP", "B-VP"]]

#: Rows of one table are one sequence, whose labels depend on each other.
_ONE_SEQUENCE = {
    "check_methods_subset_invariance": "the label of a row depends on its neighbours",
    "check_methods_sample_order_invariance": "the label of a row depends on its neighbours",
}


@parametrize_with_checks(
    [ChainSVC(max_iter=200)],
    expected_failed_checks=lambda estimator: _ONE_SEQUENCE,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_tables_lists_and_sparse_rows_are_the_same_sequences():
    model = ChainSVC(C=1.0).fit(TOKENS, LABELS, lengths=LENGTHS)
    flat = model.predict(TOKENS, lengths=LENGTHS)
    assert flat.shape == LABELS.shape
    for parts in (PARTS, tuple(PARTS), [sp.csr_array(part) for part in PARTS]):
        same = ChainSVC(C=1.0).fit(parts, TAGS)
        np.testing.assert_array_equal(same.coef_, model.coef_)
        found = same.predict(parts)
        assert [len(part) for part in found] == LENGTHS.tolist()
        np.testing.assert_array_equal(np.concatenate(found), flat)
    sparse = clone(model).fit(sp.csr_array(TOKENS), LABELS, lengths=LENGTHS)
    np.testing.assert_array_equal(sparse.coef_, model.coef_)
    alone = model.predict(PARTS[0])
    np.testing.assert_array_equal(alone, flat[: LENGTHS[0]])


def test_transitions_learn_what_tokens_do_not_tell():
    """Labels alternate whatever the tokens are."""
    lengths = np.full(20, 5)
    labels = np.tile([0, 1, 0, 1, 0], 20)
    X = RNG.normal(size=(100, 2))
    model = ChainSVC(C=1.0).fit(X, labels, lengths=lengths)
    assert model.score(X, labels, lengths=lengths) == 1.0
    assert model.transition_coef_[0, 1] > model.transition_coef_[0, 0]
    assert model.start_coef_[0] > model.start_coef_[1]
    assert model.end_coef_[0] > model.end_coef_[1]
    alone = ChainSVC(C=1.0, transitions=False).fit(X, labels, lengths=lengths)
    assert alone.score(X, labels, lengths=lengths) < 0.9
    assert not alone.transition_coef_.any()
    assert not alone.start_coef_.any()
    assert not alone.end_coef_.any()


def test_scores_of_labels():
    model = ChainSVC(C=1.0).fit(PARTS, TAGS)
    found = model.predict(PARTS)
    same = np.concatenate(found) == LABELS
    assert model.score(PARTS, TAGS) == same.mean()
    whole = [np.array_equal(a, b) for a, b in zip(found, TAGS, strict=True)]
    assert model.score(PARTS, TAGS, measure="sequences") == np.mean(whole)
    with pytest.raises(ValueError, match="needs labels such as B-NP"):
        model.score(PARTS, TAGS, measure="chunks")
    with pytest.raises(ValueError, match="measure must be one of"):
        model.score(PARTS, TAGS, measure="f1")
    strange = [np.full(len(part), "z") for part in TAGS]
    assert model.score(PARTS, strange) == 0.0  # labels unseen in training
    with pytest.raises(ValueError, match="cannot be mixed"):
        model.score(PARTS, [np.zeros(len(part)) for part in TAGS])


def test_chunks_are_those_of_the_evaluation_of_conll():
    labels = ["B-NP", "I-NP", "O", "I-VP", "I-NP", "B-NP", "I-NP", "B-NP", "I-VP"]
    chunks = find_chunks(labels, np.array([0, 6, 9]))
    assert chunks == {
        (0, 2, "NP"), (3, 4, "VP"), (4, 5, "NP"), (5, 6, "NP"), (6, 7, "NP"), (7, 8, "NP"),
        (8, 9, "VP"),
    }  # fmt: skip


def test_the_best_labellings_come_in_order():
    model = ChainSVC(C=1.0).fit(PARTS, TAGS)
    for (labels, scores), best, part in zip(
        model.predict_top(PARTS, 4), model.predict(PARTS), PARTS, strict=True
    ):
        assert labels.shape == (min(4, 3 ** len(part)), len(part))
        np.testing.assert_array_equal(labels[0], best)
        assert (np.diff(scores) <= 0).all()
        assert len({tuple(row) for row in labels.tolist()}) == len(labels)
    with pytest.raises(ValueError, match="k must be"):
        model.predict_top(PARTS, 0)


def test_costs_of_labels_move_answers():
    costs = np.ones((3, 3)) - np.eye(3)
    costs[0] *= 10  # to miss an "a"
    plain = ChainSVC(C=0.1).fit(PARTS, TAGS)
    costly = ChainSVC(C=0.1, loss=costs).fit(PARTS, TAGS)

    def missed(model):
        found = np.concatenate(model.predict(PARTS))
        return np.sum((LABELS == "a") & (found != "a"))

    assert missed(costly) < missed(plain)
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        ChainSVC(loss=[[0, 1], [1, 0]]).fit(PARTS, TAGS)


def test_words_are_hashed():
    model = ChainSVC(C=1.0).fit(WORDS, CHUNKS)
    assert [part.tolist() for part in model.predict(WORDS)] == CHUNKS
    assert model.score(WORDS, CHUNKS, measure="chunks") == 1.0
    assert model.hasher_ == TokenHasher()
    assert model.n_features_in_ == 2
    flat = [token for sentence in WORDS for token in sentence]
    labels = [label for sentence in CHUNKS for label in sentence]
    same = ChainSVC(C=1.0).fit(flat, labels, lengths=[3, 2])
    np.testing.assert_array_equal(same.coef_, model.coef_)
    with pytest.raises(ValueError, match="fitted to tokens with 2"):
        model.predict([["It", "rains"]])
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(flat, columns=["word", "pos"])
    named = ChainSVC(C=1.0).fit(frame, labels, lengths=[3, 2])
    assert named.feature_names_in_.tolist() == ["word", "pos"]
    np.testing.assert_array_equal(named.coef_, model.coef_)
    polars = pytest.importorskip("polars")
    other = ChainSVC(C=1.0).fit(polars.from_pandas(frame), labels, lengths=[3, 2])
    np.testing.assert_array_equal(other.predict(frame, lengths=[3, 2]), labels)


def test_hashes_stay_within_their_sentences_and_never_change():
    hasher = TokenHasher(1000, window=1, affixes=2)
    tokens = [token for sentence in WORDS for token in sentence]
    both = hasher.transform(tokens, [3, 2])
    one = hasher.transform(WORDS[0])
    np.testing.assert_array_equal(both[:3].toarray(), one.toarray())
    assert both.shape == (5, 1000)
    assert (np.diff(both.indptr) == len(hasher.list_templates(2))).all()
    # Model files rely on it.
    assert one.indices[:6].tolist() == EXPECTED
    own = TokenHasher(templates=[("word", 0), [("suffix2", -1), ("column1", 1)]])
    assert own.transform(tokens, [3, 2]).nnz == 10
    assert find_shape("Mid-1998s") == "Xx-0x"


EXPECTED = [459, 831, 411, 846, 279, 344]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_features": 0}, "n_features of TokenHasher"),
        ({"window": 1.5}, "window of TokenHasher"),
        ({"templates": [("words", 0)]}, "no part of a template"),
        ({"templates": [[("word", "x")]]}, "no part of a template"),
    ],
)
def test_hashers_that_cannot_be(params, words):
    with pytest.raises(ValueError, match=words):
        TokenHasher(**params)


def test_tokens_that_cannot_be_hashed():
    with pytest.raises(ValueError, match="column2"):
        TokenHasher(templates=[("column2", 0)]).transform([["a", "b"]])
    with pytest.raises(ValueError, match="split it first"):
        TokenHasher().transform("a text")
    with pytest.raises(ValueError, match=r"same number|as many columns"):
        TokenHasher().transform([["a", "b"], ["c"]])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([*PARTS[:2], np.empty((0, 4))], TAGS[:3]), r"X\[2\] is empty"),
        (([], []), "no sequences"),
        ((PARTS, TAGS[:-1]), "29 sequences, but X has 30"),
        ((PARTS, [TAGS[0][:-1], *TAGS[1:]]), r"y\[0\] has"),
        ((TOKENS, LABELS, LENGTHS[:-1]), "lengths sum to"),
        ((TOKENS, LABELS, [0, *LENGTHS]), r"lengths\[0\] is 0"),
        ((TOKENS, LABELS, LENGTHS + 0.5), "whole numbers"),
        ((TOKENS, None, LENGTHS), "requires y to be passed"),
        ((TOKENS, LABELS[:-1], LENGTHS), "a label for each token"),
        ((TOKENS, np.zeros(len(TOKENS)), LENGTHS), "only one class"),
        ((TOKENS * np.nan, LABELS, LENGTHS), "NaN"),
        ((TOKENS * 1e80, LABELS, LENGTHS), "too large"),
        (([PARTS[0], PARTS[1][:, :2]], TAGS[:2]), "same columns"),
        ((np.full((len(TOKENS), 1), None), LABELS, LENGTHS), ""),
        ((3, LABELS), "must be a table"),
        (("text", ["a"]), "must be a table|not a text"),
        (([["a", "b"], [["c", "D"]]], [["x", "y"], ["x"]]), ""),
    ],
)
def test_what_is_refused(given, words):
    model = ChainSVC().fit(PARTS, TAGS)
    with refused(model, (ValueError, TypeError), words):
        model.fit(*given)


@pytest.mark.parametrize(
    ("parameter", "value"), [("C", -1.0), ("loss", "zero"), ("tol", 2.0), ("hasher", "x")]
)
def test_parameters_that_are_refused(parameter, value):
    model = ChainSVC().fit(PARTS, TAGS)
    model.set_params(**{parameter: value})
    with refused(model, ValueError, f"'{parameter}' parameter of ChainSVC"):
        model.fit(PARTS, TAGS)


def test_new_sequences_are_checked():
    with pytest.raises(NotFittedError):
        ChainSVC().predict(PARTS)
    model = ChainSVC().fit(PARTS, TAGS)
    with pytest.raises(ValueError, match="features"):
        model.predict([part[:, :2] for part in PARTS])
    with pytest.raises(ValueError, match="lengths sum"):
        model.predict(TOKENS, lengths=[1, 2])


def test_limits_interruption_and_progress():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        short = ChainSVC(C=10.0, max_iter=1, tol=1e-6).fit(PARTS, TAGS)
    assert short.fit_status_ == 1
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        ChainSVC(C=10.0, time_limit=1e-9, tol=1e-9).fit(PARTS, TAGS)

    def stop(report):
        raise KeyboardInterrupt

    model = ChainSVC(callback=stop)
    with pytest.raises(KeyboardInterrupt, match="best model so far"):
        model.fit(PARTS, TAGS)
    model.predict(PARTS)
    assert model.certificate_.primal >= model.certificate_.dual
    done = ChainSVC().fit(PARTS, TAGS).certificate_
    assert done.status.startswith("Optimal")
    assert done.duality_gap <= 0.01 * done.primal


def test_lists_of_sequences_are_divided_as_rows_are():
    scores = cross_val_score(ChainSVC(C=1.0), PARTS, TAGS, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.4
