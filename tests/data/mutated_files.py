"""Data files of every text format, damaged at random, and what loading them must not do.

    python -m tests.data.mutated_files 500000

loads that many, spread over the formats, and prints how each format fared. Number and format of a
file determine it, so ``--format arff --first 1234`` loads again what was complained about. A load
may give a sound data set or a DataError; anything else is a fault, and so is one that takes more
than two seconds of processor time, or that runs out of memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from lindero.data import load
from lindero.errors import DataError

MOST_SECONDS = 2.0

_CSV = (
    "size,colour,price,when,class\n"
    "1.5,red,10,2024-01-05,yes\n"
    '2.25,"dark, green",NA,2024-01-06,no\n'
    "-3e2,?,12,2024-01-07,yes\n"
    ',"a ""b""\nc",13,2024-01-08,no\n'
    "7,blue,14,2024-01-09,yes\n"
)
_SEMICOLONS = "a;b;y\n1,5;x;0\n2,5;;1\n3,25;z;0\n4;w;1\n"
_NO_HEADER = "5.1\t3.5\tsetosa\n4.9\t3.0\tsetosa\n6.2\t2.9\tversicolor\n5.9\t3.0\tvirginica\n"
_PLAIN_ARFF = (
    "% a comment\n@RELATION weather\n\n@ATTRIBUTE outlook {sunny, overcast, rainy}\n"
    "@ATTRIBUTE temperature REAL\n@attribute 'wind speed' numeric\n@ATTRIBUTE play {yes, no}\n\n"
    "@DATA\nsunny,85,0.5,no\novercast,83,?,yes\nrainy,70,2e1,yes\nsunny,72,3,no\n"
)
_QUOTED_ARFF = (
    "@relation 'a b'\n@attribute text string\n@attribute kind {'<0', \"0<=X<200\", '>=200'}\n"
    "@attribute day date 'yyyy-MM-dd'\n@attribute n integer\n@data\n"
    "'it\\'s', '<0', 2024-01-01, 1\n% between\n\"say \\\"x\\\"\", '>=200', ?, 2\n"
    "plain, '<0', ?, 3\n"
)
_SPARSE_ARFF = (
    "@relation s\n@attribute a numeric\n@attribute b numeric\n@attribute c {u, v}\n@data\n"
    "{0 1.5, 2 v}\n{}\n{1 -2}\n{0 3, 1 4, 2 v}\n"
)
_KEEL = (
    "@relation yeast4\n@attribute Mcg real [0.11, 1.0]\n@attribute Sex {M, F, I}\n"
    "@attribute Rings integer [1, 29]\n@attribute Class {positive, negative}\n"
    "@inputs Mcg, Sex, Rings\n@outputs Class\n@data\n0.58, M, 15, negative\n0.43, F, 7, negative\n"
    "0.64, I, <null>, positive\n0.42, M, 12, negative\n"
)
_SVMLIGHT = "+1 1:0.5 3:2 7:-1e-3 # first\n-1 2:1\n+1 1:1 2:1 3:1\n-1\n1 10:4\n"
_QUERIES = "2 qid:1 1:0.5 2:1\n0 qid:1 1:0.25\n1 qid:2 2:3 # doc\n0 qid:2 1:1 2:0\n"

SOUND = {
    "csv": [_CSV, _SEMICOLONS, _NO_HEADER],
    "arff": [_PLAIN_ARFF, _QUOTED_ARFF, _SPARSE_ARFF],
    "keel": [_KEEL],
    "svmlight": [_SVMLIGHT, _QUERIES],
}
_NUMBERS = re.findall(
    r"\S+",
    "1000000000000 4251398048237748224 99999999999999999999999999 2147483648 -2147483649 1e999 "
    "-1e308 nan inf -Infinity 1_0 0x1F 1e 1.5.2 --1 +-1 ١٢ ½ 1:2:3 007 -0 1,5 00:00 2024-13-45 "
    "9999999999:1 0:1 -1:1 qid:9 qid:x {1 }",
)
_SIGNS = [
    *",;\t| :\"'\\{}%#@?[]\n\r\0\x1a\x85\u2028\ufeffé\ud7ff",
    *("\r\n", "\n\n\n", '""', "''"),
]
_WORDS = re.findall(
    r"\S+",
    "@data @attribute @relation @inputs @outputs @end NA null NaN ? class true false numeric real "
    "string {} '' \"\" {a,b} {'a','b relational",
)


def mutated(form, number):
    """The bytes of a damaged file, determined by its format and number."""
    rng = random.Random(f"{form} {number}")
    data = rng.choice(SOUND[form]).encode("utf-8")
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        data = rng.choice(_DAMAGES)(data, rng)
    if rng.random() < 0.03:
        data = gzip.compress(data, mtime=0)
        if rng.random() < 0.7:
            data = _flip(data, rng) if rng.random() < 0.5 else _cut(data, rng)
    return data


def options(form, number):
    """What to pass to `load` beside the file."""
    rng = random.Random(f"options {form} {number}")
    if rng.random() < 0.7:
        return {}
    chosen = [{"format": form}, {"target": False}, {"target": 0}, {"time": "when"}]
    chosen += [{"id": 0, "weight": 2}, {"qid": 2}, {"time": 2}]
    if form == "csv":
        chosen += [{"header": True}, {"header": False}, {"delimiter": rng.choice(",;\t| x")}]
    return rng.choice(chosen)


def _flip(data, rng):
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _cut(data, rng):
    return data[: rng.randrange(len(data) + 1)]


def _insert(choices):
    def damaged(data, rng):
        at = rng.randrange(len(data) + 1)
        return data[:at] + rng.choice(choices).encode("utf-8") + data[at:]

    return damaged


def _replace_sign(data, rng):
    old, new = (rng.choice(_SIGNS).encode("utf-8") for _ in range(2))
    return data.replace(old, new, rng.choice((1, 3, -1)))


def _delete(data, rng):
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.randint(1, 12) :]


def _lines(data, rng):
    lines = data.splitlines(keepends=True) or [b""]
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[i]
        case 1:
            lines[i], lines[j] = lines[j], lines[i]
        case 2:
            lines[i:i] = [lines[j]] * rng.choice((1, 2, 50))
        case 3:
            lines[i] = b"\n"
        case 4:
            lines[i] = lines[i].rstrip(b"\r\n")
    return b"".join(lines)


def _long(data, rng):
    fillers = [
        " ",
        "1,",
        "9",
        "1:1 ",
        "x",
        "\t",
        ",",
        '"',
        "'",
        "\\",
        "{",
        "a b ",
        "','",
        '\\"',
        "é",
    ]
    at = rng.randrange(len(data) + 1)
    filler = rng.choice(fillers).encode("utf-8")
    return data[:at] + filler * rng.choice((30, 300, 3000, 30_000)) + data[at:]


_DAMAGES = [
    _flip,
    _cut,
    _insert(_NUMBERS),
    _insert(_SIGNS),
    _insert(_WORDS),
    _replace_sign,
    _delete,
    _lines,
]
# Long lines take longer, and a few of them tell as much.
_DAMAGES = _DAMAGES * 8 + [_long]


def trial(form, number, path):
    """Load one file; what came of it, in a word."""
    path.write_bytes(mutated(form, number))
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = load(path, **options(form, number))
            assert data.summary().count("\n") == 0
        assert data.n_rows > 0
        assert data.y is None or data.y.shape == (data.n_rows,)
        assert data.task in ("classification", "regression", "ranking", "tagging", "unlabelled")
        outcome = "loaded"
    except DataError as error:
        if "more memory than" in str(error):
            raise MemoryError(str(error)) from None
        outcome = "refused"
    seconds = time.process_time() - started
    assert seconds <= MOST_SECONDS, f"{seconds:.1f} seconds"
    return outcome, seconds


def trials(form, first, count):
    """Load many files; how many were loaded and refused, and what went wrong."""
    found = Counter(loaded=0, refused=0)
    faults, slowest = [], 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        for number in range(first, first + count):
            try:
                outcome, seconds = trial(form, number, path)
                found[outcome] += 1
                slowest = max(slowest, seconds)
            except Exception as error:
                faults.append(f"{form} {number}: {type(error).__name__}: {str(error)[:300]}")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    return {
        "format": form, **found, "slowest": slowest, "megabytes": grown, "faults": faults[:20],
        "n_faults": len(faults),
    }  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=1)
    parser.add_argument("--format", choices=SOUND)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args(arguments)
    forms = [asked.format] if asked.format else list(SOUND)
    n_faults = 0
    for form in forms:
        result = trials(form, asked.first, -(-asked.count // len(forms)))
        print(json.dumps(result))
        n_faults += result["n_faults"]
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
