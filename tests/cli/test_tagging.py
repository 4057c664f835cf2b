"""Sequences at the command line: files of CoNLL, tables with a column of sequences, chain-svc."""

import pytest

SENTENCES = """He PRP B-NP
saw VBD B-VP
the DT B-NP
cat NN I-NP

It PRP B-NP
slept VBD B-VP

The DT B-NP
dogs NNS I-NP
saw VBD B-VP
it PRP B-NP

Cats NNS B-NP
sleep VBP B-VP
. . O

"""


@pytest.fixture
def trained(here):
    here.write("train.txt", 3 * SENTENCES)
    return here.json("train", "train.txt", "--set", "C=1")


def test_files_of_conll_train_a_chain_and_are_scored(here, trained):
    assert trained["machine"] == "chain-svc"
    assert "Optimal" in trained["convergence"]["status"]
    here.write("test.txt", SENTENCES)
    found = here.json("predict", "model.lin", "test.txt", "-o", "p.csv")
    assert found["scores"] == {
        "token_accuracy": 1.0,
        "sequence_accuracy": 1.0,
        "chunk_f1": 1.0,
    }
    assert here.read("p.csv").splitlines()[:3] == ["prediction", "B-NP", "B-VP"]


def test_new_sentences_need_no_labels(here, trained):
    new = "".join(
        line.rpartition(" ")[0] + "\n" if line else "\n" for line in SENTENCES.split("\n")
    )
    here.write("new.txt", new)
    found = here.json("predict", "model.lin", "new.txt", "--format", "conll", "-o", "p.csv")
    assert "scores" not in found
    assert here.read("p.csv").splitlines()[1:4] == ["B-NP", "B-VP", "B-NP"]


def test_cross_validation_leaves_whole_sentences_out(here, trained):
    found = here.json("cv", "train.txt", "-m", "chain-svc", "--folds", "3")
    assert "token_accuracy" in str(found)
    tuned = here.json("tune", "train.txt", "-m", "chain-svc", "--folds", "2")
    assert "C" in str(tuned)


def test_tables_with_a_column_of_sequences(here):
    rows = [f"s{k // 4},{k % 4},{'up' if k % 4 < 2 else 'down'}" for k in range(40)]
    here.write("moves.csv", "\n".join(["session,step,label", *rows]) + "\n")
    result = here.json("train", "moves.csv", "--qid", "session", "-o", "m.lin")
    assert result["machine"] == "chain-svc"
    found = here.json("predict", "m.lin", "moves.csv", "-o", "p.csv")
    assert found["scores"]["token_accuracy"] == 1.0
    words = here.refused("train", "moves.csv", "-m", "chain-svc", "-o", "n.lin")
    assert "--qid" in words


def test_sequences_are_not_compared(here, trained):
    assert "chain-svc" in here.refused("compare", "train.txt")
