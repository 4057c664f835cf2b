"""Tables of numbers and of categories, and the same in partitions."""

import numpy as np
import pandas as pd


def clouds(n=3000, d=5, apart=1.0, seed=0):
    """Two clouds around 2, and labels −1 and 1."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.5, 1, -1)
    direction = random.normal(size=d)
    X = random.normal(size=(n, d)) + apart * np.outer(y, direction / np.linalg.norm(direction))
    return X + 2.0, y


def mixed_table(n=1200, seed=0):
    """Columns of all kinds, and the class in "label"."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 3, n)
    return pd.DataFrame(
        {
            "id": random.permutation(n),
            "colour": np.array(["red", "blue", "green"])[(codes + (random.random(n) < 0.4)) % 3],
            "rare": [f"v{int(k)}" for k in random.exponential(8, n)],
            "height": random.normal(size=n) + codes,
            "flag": random.random(n) < 0.3 + 0.2 * codes,
            "gaps": np.where(random.random(n) < 0.1, np.nan, random.normal(size=n) - codes),
            "label": np.array(["a", "b", "c"])[codes],
        }
    )


def write_parts(table, folder, ends, row_group_size=250):
    """Parquet files of the rows up to each of the ends."""
    start = 0
    for number, end in enumerate(ends):
        path = folder / f"part-{number}.parquet"
        table.iloc[start:end].to_parquet(path, row_group_size=row_group_size)
        start = end
    return str(folder)
