"""Values that turn up in further batches, where `fit` has pooled rare ones."""

import numpy as np
import pyarrow as pa
import pytest

from lindero.bayes import AODE, KDB, TAN, NaiveBayes


def table(towns):
    return pa.table(
        {"town": pa.array(list(towns)), "sex": pa.array(["f", "m"] * (len(towns) // 2))}
    )


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    towns = random.choice(["a", "b", "c"], 2000).astype(object)
    towns[:60] = [f"rare{k % 30}" for k in range(60)]
    return towns, ((towns == "a") ^ (random.random(2000) < 0.2)).astype(int)


@pytest.mark.parametrize("kind", [NaiveBayes, TAN, KDB, AODE])
def test_new_values_join_the_pool(rows, kind):
    towns, y = rows
    model = kind().fit(table(towns), y)
    before = model.predict_proba(table(["rare1", "rare1", "never", "never"]))
    np.testing.assert_array_equal(before[:2], before[2:])
    model.partial_fit(table(["new"] * 50), [1] * 50)
    after = model.predict_proba(table(["rare1", "rare1", "new", "new", "never", "never"]))
    np.testing.assert_array_equal(after[:2], after[2:4])
    np.testing.assert_array_equal(after[:2], after[4:])
    assert (after[:2, 1] > before[:2, 1]).all()  # what was learned of one is of the pool
    model.forget(table(["new"] * 50), [1] * 50)
    again = model.predict_proba(table(["rare1", "rare1", "never", "never"]))
    np.testing.assert_allclose(again, before, atol=1e-12)


@pytest.mark.parametrize("kind", [NaiveBayes, TAN])
def test_a_batch_of_pooled_values_is_what_one_fit_counts(rows, kind):
    towns, y = rows
    model = kind().fit(table(towns), y)
    model.partial_fit(table(["rare2", "new"]), [1, 0])
    whole = kind().fit(table([*towns, "rare2", "new"]), [*y, 1, 0])
    asked = table(["a", "b", "rare1", "new"])
    np.testing.assert_allclose(model.predict_proba(asked), whole.predict_proba(asked), atol=1e-10)


def test_without_a_pool_new_values_are_values_of_their_own(rows):
    towns, y = rows
    known = ~np.char.startswith(towns.astype(str), "rare")
    kept = towns[known][: known.sum() // 2 * 2]
    model = NaiveBayes().fit(table(kept), y[known][: len(kept)])
    model.partial_fit(table(["new"] * 50), [1] * 50)
    found = model.predict_proba(table(["new", "new", "never", "never"]))
    assert (found[:2, 1] > found[2:, 1]).all()
