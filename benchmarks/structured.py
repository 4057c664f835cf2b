"""ChainSVC on chunks of CoNLL-2000, beside conditional random fields on the same features.

    python benchmarks/structured.py             the published split: train.txt, test.txt
    python benchmarks/structured.py --held-out  a sixth of the training sentences as the test, on
                                                which the defaults of ChainSVC were chosen
    python benchmarks/structured.py --classes   StructuredSVC with costs on letter

Both machines get the features of one TokenHasher: CRFsuite as texts of the column numbers. Times
are of this process on the processor; both machines use one thread. Chunk F1 is of one function,
whose rules are those of the evaluation of CoNLL.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from data_sets import FOLDER
from lindero.data import load
from lindero.svm import ChainSVC, HierarchyModel, MulticlassModel, StructuredSVC, TokenHasher
from lindero.svm.sequences import measure_sequences
from svc import machine, table

Corpus = tuple[list[list[str]], np.ndarray, np.ndarray]


def read_corpus(name: str) -> Corpus:
    """Tokens, labels, and lengths of sentences."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(FOLDER / "text_conll2000.zip") as archive:
            path = archive.extract(f"conll2000/{name}.txt", folder)
        data = load(path)
    columns = [column.to_pylist() for column in data.X.columns]
    tokens = [list(token) for token in zip(*columns, strict=True)]
    return tokens, data.y, data.lengths


def split_corpus(corpus: Corpus, share: float = 1 / 6, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Whole sentences in two parts."""
    tokens, labels, lengths = corpus
    held = np.random.default_rng(seed).random(len(lengths)) < share
    of_tokens = np.repeat(held, lengths)

    def take(sentences: np.ndarray, kept: np.ndarray) -> Corpus:
        chosen = [token for token, keep in zip(tokens, kept, strict=True) if keep]
        return chosen, labels[kept], lengths[sentences]

    return take(~held, ~of_tokens), take(held, of_tokens)


def on_processor(call: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.process_time()
    result = call()
    return time.process_time() - begun, result


def fit_fields(rows: Any, labels: np.ndarray, lengths: np.ndarray, new: Any, sizes: Any) -> Any:
    """CRFsuite with its own defaults (L-BFGS, c2 = 1): seconds of training, predictions."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.select("lbfgs")
    for sentence, tags in zip(
        as_texts(rows, lengths), np.split(labels, np.cumsum(lengths)[:-1]), strict=True
    ):
        trainer.append(sentence, tags.tolist())
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "fields")
        seconds, _ = on_processor(lambda: trainer.train(path))
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        found = [tag for sentence in as_texts(new, sizes) for tag in tagger.tag(sentence)]
    return seconds, np.array(found), trainer.logparser.last_iteration


def as_texts(rows: Any, lengths: np.ndarray) -> list[list[list[str]]]:
    names = rows.indices.astype(str).reshape(rows.shape[0], -1).tolist()
    ends = np.cumsum(lengths)
    return [names[a:b] for a, b in zip(ends - lengths, ends, strict=True)]


def compare(train: Corpus, test: Corpus, with_peer: bool, params: dict[str, Any]) -> None:
    hasher = TokenHasher()
    hashing, rows = on_processor(lambda: hasher.transform(train[0], train[2]))
    new = hasher.transform(test[0], test[2])
    ChainSVC(tol=0.5).fit(rows[:50], train[1][:50])  # compile and load
    begun = time.perf_counter()
    seconds, model = on_processor(lambda: ChainSVC(**params).fit(rows, train[1], lengths=train[2]))
    wall = time.perf_counter() - begun
    certificate = model.certificate_
    found = model.predict(new, lengths=test[2])
    scores = measure_sequences(test[1], found, test[2])
    out = [["ChainSVC", f"{seconds:.0f}", *write_scores(scores)]]
    print(
        f"{len(train[2])} sentences, {len(train[1])} tokens, {len(model.columns_)} columns, "
        f"{len(model.classes_)} labels; features of the training part in {hashing:.1f} s"
    )
    print(f"{certificate}\n{wall:.0f} s by the clock", flush=True)
    print(f"gap as a share of the objective: {certificate.duality_gap / certificate.primal:.2e}")
    if with_peer:
        seconds, found, last = fit_fields(rows, train[1], train[2], new, test[2])
        scores = measure_sequences(test[1], found, test[2])
        out.append([f"CRFsuite, {last['num']} iterations", f"{seconds:.0f}", *write_scores(scores)])
    table(["machine", "training, s of processor", "chunk F1", "tokens", "sentences"], out)


def write_scores(scores: dict[str, float]) -> list[str]:
    names = ("chunk_f1", "token_accuracy", "sequence_accuracy")
    return [f"{100 * scores[name]:.2f}" for name in names]


def on_letter() -> None:
    """Letters with costs of 1, and in a tree of vowels and consonants."""
    from data_sets import _letter

    X, y = _letter()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    vowels = set("AEIOU")
    classes = np.unique(y)
    parents = {c: "vowel" if str(c) in vowels else "consonant" for c in classes.tolist()}
    out = []
    for name, model in (("1", MulticlassModel()), ("tree", HierarchyModel(parents))):
        seconds, fitted = on_processor(lambda model=model: StructuredSVC(model, tol=1e-2).fit(X, y))
        gap = fitted.certificate_.duality_gap / fitted.certificate_.primal
        right = float(np.mean(fitted.predict(X) == y))
        out.append([name, f"{seconds:.1f}", f"{gap:.1e}", f"{right:.3f}"])
    table(["costs", "s of processor", "gap / objective", "right in training"], out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--held-out", action="store_true", help="a part of the training sentences")
    parser.add_argument("--no-peer", action="store_true", help="ChainSVC only")
    parser.add_argument("--classes", action="store_true", help="StructuredSVC on letter")
    parser.add_argument("-C", type=float, help="another C than the default")
    arguments = parser.parse_args()
    print(f"Machine: {machine()}")
    if arguments.classes:
        on_letter()
        return
    train = read_corpus("train")
    if arguments.held_out:
        train, test = split_corpus(train)
    else:
        test = read_corpus("test")
    params = {} if arguments.C is None else {"C": arguments.C}
    compare(train, test, not arguments.no_peer, params)


if __name__ == "__main__":
    main()
