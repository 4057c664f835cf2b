"""Twin of rows packed for many passes: which columns one row has alone, and what is left."""

import numpy as np


def pack(X):
    """S, the columns of it in the order in which rows first have them, and the squares of the
    entries of each row that are in no other."""
    held = X != 0
    shared = np.flatnonzero(held.sum(axis=0) > 1)
    columns = sorted(shared, key=lambda j: (int(np.argmax(held[:, j])), j))
    alone = X[:, held.sum(axis=0) == 1]
    return X[:, columns], columns, (alone**2).sum(axis=1)
