"""Coded rows, random and real, and graphs over them, for tests of conditional learning."""

import numpy as np
import pandas as pd

from lindero.bayes.columns.attributes import encode_cut, find_mdl_cuts
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import count_pairs, measure_conditional_information
from lindero.bayes.discriminative.cells import FamilyCells
from lindero.bayes.discriminative.logistic import absorb_normalisers
from lindero.bayes.discriminative.objective import ConditionalProblem, ConditionalRows
from lindero.bayes.networks.network import FamilyCounts
from lindero.bayes.tan import find_tree


def random_rows(random, n_rows, cards, n_classes):
    """Codes that depend on each other and, weakly, on the class; and classes."""
    y = random.integers(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)
    hidden = random.integers(0, 4, n_rows)
    codes = [
        1 + np.where(random.random(n_rows) < 0.3, y + hidden, random.integers(0, r, n_rows)) % r
        for r in cards
    ]
    return np.array(codes).astype(np.uint8), y


def naive(d):
    return ((),) * d


def chain(d):
    return ((), *((i - 1,) for i in range(1, d)))


def loops(d):
    """Two parents each that are not parents of one another: no perfect graph."""
    return ((), (), *((i - 2, 0) if i > 2 else (0, 1) for i in range(2, d)))


def counted(parents, codes, cards, y, n_classes, weights=None, with_class=None):
    with_class = (True,) * len(parents) if with_class is None else with_class
    return FamilyCounts.count(parents, with_class, CodedRows(codes, cards, y, n_classes, weights))


def problem_of(families, codes, y, weights=None, alpha=1.0, **options):
    cells = FamilyCells(
        families.parents, families.with_class, families.cards, len(families.of_class)
    )
    rows = ConditionalRows(cells, codes, y, weights, options.pop("numbers", None))
    return ConditionalProblem.of(rows, families, alpha, **options)


def read_table(path):
    """Complete rows of a published table: codes (numbers cut by MDL), cards, classes."""
    table = pd.read_csv(path, na_values="?").dropna()
    classes, y = np.unique(table.iloc[:, -1].to_numpy(str), return_inverse=True)
    codes, cards = [], []
    for name in table.columns[:-1]:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(float)
            cuts = find_mdl_cuts(values, y, len(classes))
            codes.append(encode_cut(values, cuts, np.empty(len(y), np.uint8)))
            cards.append(len(cuts) + 1)
        else:
            kinds, own = np.unique(column.to_numpy(str), return_inverse=True)
            codes.append((own + 1).astype(np.uint8))
            cards.append(len(kinds))
    return np.array(codes), np.array(cards), y


def learned_tree(codes, cards, y):
    counts = count_pairs(CodedRows(codes, cards, y, int(y.max()) + 1))
    return find_tree(measure_conditional_information(counts)[0])


def from_logistic(coefficients, intercepts, cards, parents, with_class):
    """The network whose posterior is that of a logistic regression on indicators, of a graph that
    `is_global`; attributes without the class as parent become uniform."""
    cells = FamilyCells(parents, with_class, np.asarray(cards, dtype=np.int64), len(intercepts))
    chosen = np.flatnonzero(cells.informative[:-1])
    assert np.shape(coefficients) == (len(intercepts), len(chosen))
    logs = np.zeros((cells.size, cells.n_classes))
    logs[chosen], logs[-1] = np.asarray(coefficients).T, intercepts
    return cells.to_network(absorb_normalisers(cells, logs))
