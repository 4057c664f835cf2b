"""Random networks, and rows for them, on which every way of inference is judged."""

import numpy as np

from lindero.bayes.networks.network import estimate_network


def random_network(random, most_parents, n_attributes=None, alpha=None, dense=False):
    """Up to six attributes of 2 to 4 values, some without the class; 2 to 4 classes.

    Dense networks give all attributes as many parents as they may have.
    """
    d = int(random.integers(1, 7)) if n_attributes is None else n_attributes
    cards, n_classes = random.integers(2, 5, d), int(random.integers(2, 5))
    alpha = float(random.choice([0.0, 0.5, 1.0])) if alpha is None else alpha
    order, parents = random.permutation(d), [()] * d
    for place, i in enumerate(order):
        most = min(place, most_parents)
        n_parents = most if dense else random.integers(0, most + 1)
        chosen = random.choice(order[:place], n_parents, replace=False) if n_parents else ()
        parents[i] = tuple(int(p) for p in chosen)
    counts = [
        random.poisson(2.0, [*(cards[j] + 1 for j in (i, *parents[i])), n_classes]).astype(float)
        for i in range(d)
    ]
    with_class = random.random(d) < 0.75
    return estimate_network(
        counts, parents, with_class, cards, random.integers(1, 9, n_classes), alpha
    )


def random_codes(random, network, n_rows, missing=0.35, new=0.08, dtype=np.uint8):
    """Rows of values, some of them missing and some not known to the network."""
    codes = np.array([random.integers(1, r + 1, n_rows) for r in network.cards])
    codes[random.random(codes.shape) < missing] = 0
    is_new = random.random(codes.shape) < new
    return np.where(is_new, network.cards[:, None] + 1, codes).astype(dtype)
