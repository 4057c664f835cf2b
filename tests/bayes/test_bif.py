"""BIF: written and read back, read by other programs, and refused when damaged."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.bayes.network_files import (
    awkward,
    from_bif,
    from_xmlbif,
    plain,
    random_network,
    to_bif,
    to_xmlbif,
)

FORMATS = {"bif": (to_bif, from_bif), "bifxml": (to_xmlbif, from_xmlbif)}
CASES = {"plain": plain, "awkward": awkward}


@pytest.fixture(params=FORMATS)
def exchange(request):
    return FORMATS[request.param]


@pytest.mark.parametrize("case", CASES)
def test_a_network_reads_back_as_it_was(case, exchange):
    write, read = exchange
    network, *rest = CASES[case]()
    found, *found_rest = read(write(network, *rest))
    assert found_rest == rest
    types = [[type(value) for value in own] for own in [*rest[1], rest[3]]]
    assert types == [[type(value) for value in own] for own in [*found_rest[1], found_rest[3]]]
    assert_array_equal(found.cards, network.cards)
    assert found.parents == network.parents
    assert found.with_class == network.with_class
    assert_allclose(found.log_prior, network.log_prior, rtol=1e-14)
    for table, expected in zip(found.log_tables, network.log_tables, strict=True):
        assert_allclose(table, expected, rtol=1e-12, atol=1e-14)
    assert found.unseen is None


def test_what_was_read_back_writes_the_same_text(exchange):
    write, read = exchange
    once = read(write(*awkward()))
    assert read(write(*once))[1:] == once[1:]


def test_names_that_are_words_stay_as_they_are():
    text = to_bif(*plain())
    assert "probability ( size | letter, wet, kind ) {" in text
    assert "property" not in text.replace("property role = class ;", "")


def test_values_of_numpy_become_plain_ones(exchange):
    write, read = exchange
    network = random_network([2], 2, [()], [True])
    text = write(network, ["x"], [np.array([3, 5])], "y", np.array(["a", "b"]))
    assert read(text)[2:] == ([[3, 5]], "y", ["a", "b"])


def test_many_values_that_simplify_to_the_same_word(exchange):
    write, read = exchange
    network = random_network([3000], 2, [()], [True])
    values = [[chr(0x4E00 + k) for k in range(3000)]]
    assert read(write(network, ["x"], values, "y", [0, 1]))[2] == values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ["a"]}, "names has 1 and values 3 entries"),
        ({"values": [["a"], ["yes", "no"], list("abcd")]}, r"values\[0\] has 1 entries"),
        ({"classes": ["x"]}, "classes has 1 entries"),
        ({"class_name": "x" * 6000}, "too long for the format"),
    ],
)
def test_what_does_not_fit_the_network_is_refused(change, message, exchange):
    given = dict(zip(["network", "names", "values", "class_name", "classes"], plain(), strict=True))
    with pytest.raises(ValueError, match=message):
        exchange[0](**(given | change))
