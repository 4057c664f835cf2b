"""Twenty thousand damaged files: each is loaded or refused by its line, and costs little memory."""

import tracemalloc
import warnings
from collections import Counter

import numpy as np
import pytest

from lindero.errors import ModelFileError
from lindero.persist import load_libsvm, load_svmlight
from tests.persist.damage import DAMAGES, sound_libsvm, sound_svmlight

N_FILES = 20_000
MEMORY_BEYOND_THE_FILE = 64 * 2**20

#: Once in so many files all that is allocated is counted, and for every huge number.
COUNTED = 11


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    models = [(text, load_libsvm) for text in sound_libsvm(folder)]
    models += 6 * [(text, load_svmlight) for text in sound_svmlight()]
    return models


def damaged_files(sound):
    """Text, reader and the last damage done, for `N_FILES` files: the same in every run."""
    rng = np.random.default_rng(20)
    kinds = list(DAMAGES)
    for number in range(N_FILES):
        text, load = sound[rng.integers(len(sound))]
        kind = kinds[number % len(kinds)]
        for earlier in rng.choice(kinds[:-2], size=rng.choice([0, 0, 0, 1, 2])):
            text = DAMAGES[earlier](text, rng) or text
        yield DAMAGES[kind](text, rng), load, kind


def outcome(load, path):
    """How loading ended; anything but a model and a ModelFileError goes through."""
    try:
        load(path)
    except ModelFileError as refused:
        error = refused
    else:
        return "loaded"
    assert error.path == str(path)
    assert str(error).startswith(f"{path}, line {error.line}:" if error.line else f"{path}:")
    return "refused by line" if error.line else "refused"


def peak_of_loading(load, path):
    tracemalloc.start()
    try:
        result = outcome(load, path)
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_sound_files_are_loaded(sound, tmp_path):
    path = tmp_path / "model"
    for text, load in sound:
        path.write_bytes(text)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*probability estimates")
            assert outcome(load, path) == "loaded"


def test_damaged_files_are_loaded_or_refused_and_cost_little_memory(sound, tmp_path):
    path = tmp_path / "model"
    outcomes, counted = Counter(), Counter()
    # One file, written over again and again: to make a new one takes longer than to read it.
    with path.open("wb", buffering=0) as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*probability estimates")
        for number, (text, load, kind) in enumerate(damaged_files(sound)):
            file.seek(0)
            file.write(text)
            file.truncate()
            if kind == "huge number" or number % COUNTED == 0:
                result, peak = peak_of_loading(load, path)
                assert peak <= len(text) + MEMORY_BEYOND_THE_FILE, (kind, peak, text[:2000])
                counted[kind] += 1
            else:
                result = outcome(load, path)
            outcomes[kind, result] += 1
    # No kind of damage is always forgiven, and some damage is harmless.
    for kind in DAMAGES:
        assert outcomes[kind, "refused by line"] > 0, kind
    assert sum(outcomes[kind, "loaded"] for kind in DAMAGES) > 500
    assert outcomes.total() == N_FILES
    assert counted["huge number"] == sum(n for (k, _), n in outcomes.items() if k == "huge number")
    assert set(counted) == set(DAMAGES)
