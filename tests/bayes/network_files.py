"""Networks to be written to files and read back."""

import numpy as np

from lindero.bayes.files.bif import read_bif, read_xmlbif, write_bif, write_xmlbif
from lindero.bayes.files.exchange import from_exchange, to_exchange
from lindero.bayes.networks.network import Network


def to_bif(*parts, **named):
    return write_bif(to_exchange(*parts, **named))


def to_xmlbif(*parts, **named):
    return write_xmlbif(to_exchange(*parts, **named))


def from_bif(text, class_name=None):
    return from_exchange(read_bif(text), class_name)


def from_xmlbif(text, class_name=None):
    return from_exchange(read_xmlbif(text), class_name)


def random_network(cards, n_classes, parents, with_class, seed=0):
    """A network of random tables, some of whose probabilities are tiny or 0."""
    rng = np.random.default_rng(seed)
    tables = []
    for i, card in enumerate(cards):
        around = tuple(cards[p] for p in parents[i])
        table = rng.random((*around, card, n_classes if with_class[i] else 1)) ** 6
        if card > 2 and with_class[i]:
            table[..., -1, 0] = 0.0  # the value rules out the first class
        tables.append(table / table.sum(axis=-2, keepdims=True))
    prior = rng.random(n_classes) + 0.1
    with np.errstate(divide="ignore"):
        return Network(
            np.array(cards),
            n_classes,
            tuple(parents),
            tuple(with_class),
            np.log(prior / prior.sum()),
            tuple(np.log(table) for table in tables),
        )


def plain():
    """Three attributes in no special order, one without the class; all names are words."""
    network = random_network([3, 2, 4], 3, [(2, 1), (), (1,)], [True, True, False])
    values = [["low", "mid", "high"], ["yes", "no"], ["a", "b", "C", "c"]]
    return network, ["size", "wet", "letter"], values, "kind", ["x", "y", "z"]


def awkward():
    """Names and values that no format takes as they are, and attributes with few values."""
    network = random_network(
        [3, 1, 0, 4, 3, 2],
        2,
        [(), (0,), (), (1, 2), (3,), (4,)],
        [True, True, True, True, True, False],
    )
    names = ["größe in cm", "table", "Class", "vegetable5", "größe, in cm", "class"]
    values = [
        [1, 2.5, "2.5"],
        ["only one"],
        [],
        ["<=0.8", "(0.8, 1.75]", ">1.75", "日本"],
        [True, False, None],
        ["default", 'a"b;{}|//'],
    ]
    return network, names, values, "CLASS", [-1, 1]


def complete_codes(network, n_rows=40, seed=1):
    """Rows without missing values, but for attributes that have none."""
    rng = np.random.default_rng(seed)
    return np.array([rng.integers(min(r, 1), r + 1, n_rows) for r in network.cards]).astype(
        np.uint8
    )
