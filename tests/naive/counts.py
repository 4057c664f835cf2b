"""Twin of `lindero.bayes.counts.counts`, one row at a time."""

import numpy as np


def family_table(codes, cards, y, n_classes, family, weights=None):
    """Weight of the rows with each combination of values of a family's attributes and the class."""
    weights = np.ones(len(y)) if weights is None else weights
    table = np.zeros((*(cards[i] + 1 for i in family), n_classes))
    for row in range(len(y)):
        table[(*(codes[i, row] for i in family), y[row])] += weights[row]
    return table
