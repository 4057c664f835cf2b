"""Sound model files of every kind, and ways to damage them."""

import numpy as np

from tests.persist.foreign import (
    CLASSIFIERS,
    KERNELS,
    TYPES,
    table,
    target,
    trained,
    written,
)

HUGE = [
    b"1000000",
    b"2147483647",
    b"2147483648",
    b"99999999999999999999",
    b"1e308",
    b"-1e308",
    b"1e999",
]
NOT_FINITE = [b"nan", b"inf", b"-inf", b"NaN", b"Infinity"]
NOT_ASCII = ["١٢", "－1", "½", "é", "\u2028", "1\u00a02"]


def sound_libsvm(folder):
    """Models of LIBSVM over few rows: every type and kernel, with and without probabilities."""
    X = np.round(table(8, 3), 2)
    models = []
    for svm_type in TYPES:
        for kernel in KERNELS:
            labels = "three turned" if svm_type in CLASSIFIERS else "none"
            model = trained(svm_type, kernel, X, target(svm_type, X, labels), "-n 0.4")
            models.append(written(model, folder / "sound").read_bytes())
    more = trained("c_svc", "rbf", X, target("c_svc", X, "two"), "-b 1")
    models.append(written(more, folder / "sound").read_bytes())
    return models


def svmlight_text(kernel, vectors, *, degree=3, gamma=1, factor=1, constant=1, b=0.25, n=9):
    """A model as svm_learn writes it; `vectors` are pairs of a coefficient and a row."""
    rows = []
    for coefficient, row in vectors:
        entries = [f"{j + 1}:{value:.8g}" for j, value in enumerate(row) if value]
        rows.append(" ".join([f"{coefficient:.32g}", *entries, "#"]))
    width = max((len(row) for _, row in vectors), default=0)
    head = f"""SVM-light Version V6.02
{kernel} # kernel type
{degree} # kernel parameter -d 
{gamma:.8g} # kernel parameter -g 
{factor:.8g} # kernel parameter -s 
{constant:.8g} # kernel parameter -r 
empty# kernel parameter -u 
{width} # highest feature index 
{n} # number of training documents 
{len(vectors) + 1} # number of support vectors plus 1 
{b:.8g} # threshold b, each following line is a SV (starting with alpha*y)
"""  # noqa: W291
    return head + "".join(row + "\n" for row in rows)


def sound_svmlight():
    """Models of SVMlight over few rows, with every kernel."""
    X = np.round(table(6, 3), 2)
    coefficients = np.random.default_rng(3).normal(size=6)
    vectors = list(zip(coefficients, X, strict=True))
    return [svmlight_text(kernel, vectors).encode("ascii") for kernel in range(4)]


def _flip(text, rng):
    text = bytearray(text)
    for place in rng.integers(0, len(text), rng.integers(1, 4)):
        text[place] = rng.integers(0, 256)
    return bytes(text)


def _on_lines(change):
    def damaged(text, rng):
        lines = text.splitlines(keepends=True)
        change(lines, rng)
        return b"".join(lines)

    return damaged


def _remove(lines, rng):
    del lines[rng.integers(len(lines))]


def _duplicate(lines, rng):
    i = rng.integers(len(lines))
    lines.insert(i, lines[i])


def _swap(lines, rng):
    i, j = rng.integers(0, len(lines), 2)
    lines[i], lines[j] = lines[j], lines[i]


def _long_line(lines, rng):
    i = rng.integers(len(lines))
    filler = [b" ", b"1 ", b"9", b"1:1 ", b"x", b"\t"][rng.integers(6)]
    lines[i] = lines[i].rstrip(b"\n") + filler * int(rng.integers(100, 60_000)) + b"\n"


def _truncate(text, rng):
    return text[: rng.integers(len(text))]


def _word(choices):
    """Put another word in the place of one that looks like a number."""

    def damaged(text, rng):
        words = [word for word in text.replace(b":", b" ").split() if word[-1:].isdigit()]
        if not words:
            return text
        old = words[rng.integers(len(words))]
        new = choices[rng.integers(len(choices))]
        # One of its places, not always the first.
        pieces = text.split(old)
        cut = rng.integers(1, len(pieces))
        return old.join(pieces[:cut]) + new + old.join(pieces[cut:])

    return damaged


def _negate(text, rng):
    lines = text.splitlines(keepends=True)
    heads = [i for i, line in enumerate(lines[:14]) if any(c in b"0123456789" for c in line)]
    if not heads:
        return text
    i = heads[rng.integers(len(heads))]
    place = next(k for k, c in enumerate(lines[i]) if c in b"0123456789")
    lines[i] = lines[i][:place] + b"-" + lines[i][place:]
    return b"".join(lines)


DAMAGES = {
    "bytes flipped": _flip,
    "line removed": _on_lines(_remove),
    "line duplicated": _on_lines(_duplicate),
    "lines swapped": _on_lines(_swap),
    "cut short": _truncate,
    "huge number": _word(HUGE),
    "negative count": _negate,
    "not finite": _word(NOT_FINITE),
    "not ASCII": _word([word.encode("utf-8") for word in NOT_ASCII]),
    "odd number": _word([b"", b"1_0", b"0x10", b"1e", b"--1", b"0", b"-0", b"1:2:3", b":", b"1.5"]),
    "long line": _on_lines(_long_line),
    "empty": lambda text, rng: b"\n" * int(rng.integers(3)),
}
