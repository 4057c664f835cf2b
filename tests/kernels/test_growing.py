"""A kernel over samples that come and go, against the one over all of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lindero.kernels.growing import GrowingKernel, add_weighted, with_room
from lindero.kernels.operator import KernelFunction, kernel_operator


def euclidean(A, B):
    A, B = (M.toarray() if sp.issparse(M) else M for M in (A, B))
    return np.exp(-np.sqrt(((A[:, None] - B) ** 2).sum(axis=2)))


FUNCTIONS = {
    "linear": KernelFunction("linear"),
    "poly": KernelFunction("poly", 0.5, 3, 1.0),
    "rbf": KernelFunction("rbf", 0.5),
    "sigmoid": KernelFunction("sigmoid", 0.1, 3, -0.5),
    "callable": KernelFunction("callable", call=euclidean),
}

EVENTS = ["append", "column", "sum", "keep", "truncate"]


def table(n, n_features=3, seed=0, form="dense"):
    X = np.random.default_rng(seed).normal(size=(n, n_features))
    X[::3, 1:] = 0.0
    return sp.csr_array(X) if form == "sparse" else X


def matrix_of(function, X):
    kernel = kernel_operator(X, function)
    return kernel.matrix(np.arange(X.shape[0]), X.shape[0])


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns_are_those_of_the_whole_matrix_whenever_rows_came(name, form):
    X = table(200, form=form)
    kernel = GrowingKernel(FUNCTIONS[name], 3, None, 10)
    expected = matrix_of(FUNCTIONS[name], X)
    for start, stop in ((0, 1), (1, 2), (2, 63), (63, 66), (66, 200)):
        kernel.append(X[start:stop])
        assert kernel.n_samples == stop
        for sample in {0, start, stop - 1}:
            np.testing.assert_allclose(
                kernel.column(sample), expected[:stop, sample], rtol=1e-12, atol=1e-14
            )
        np.testing.assert_allclose(
            kernel.diagonal(start, stop), np.diag(expected)[start:stop], rtol=1e-12
        )


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_rows_can_be_of_another_form_than_the_first(form):
    X = table(20)
    kernel = GrowingKernel(FUNCTIONS["rbf"], 3, None, 10)
    kernel.append(table(20, form=form)[:5])
    kernel.append(X[5:9])
    kernel.append(sp.csr_array(X[9:]))
    expected = matrix_of(FUNCTIONS["rbf"], X)
    np.testing.assert_allclose(kernel.column(7), expected[7], rtol=1e-12)
    taken = kernel.rows.take(np.array([2, 7, 12]))
    assert sp.issparse(taken) == (form == "sparse")
    dense = taken.toarray() if form == "sparse" else taken
    np.testing.assert_array_equal(dense, X[[2, 7, 12]])


@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_rows_far_from_zero_are_stored_relative_to_their_origin(name):
    X = table(50)
    far = X + 1e6
    shift = far.mean(axis=0)
    kernel = GrowingKernel(FUNCTIONS[name], 3, shift, 10)
    kernel.append(far[:20])
    kernel.append(far[20:])
    expected = matrix_of(FUNCTIONS[name], far - shift)
    np.testing.assert_allclose(kernel.column(30), expected[30], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(kernel.rows.take(np.array([3, 33])), far[[3, 33]])
    kept = np.arange(50) % 2 == 0
    kernel.keep(kept)
    np.testing.assert_allclose(kernel.column(15), expected[30][kept], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("megabytes", [1e-9, 0.02, 10])
@given(events=st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 999)), max_size=40))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_whatever_happens_columns_and_sums_are_right(megabytes, events):
    function = FUNCTIONS["rbf"]
    pool = table(2000, seed=5)
    kernel = GrowingKernel(function, 3, None, megabytes)
    X = pool[:4]
    kernel.append(X)
    for number, (event, value) in enumerate(events):
        random, n = np.random.default_rng(value), len(X)
        if event == "append":
            new = pool[random.integers(0, 2000, size=1 + value % 30)]
            kernel.append(new)
            X = np.vstack([X, new])
        elif event == "keep" and n > 4:
            kept = random.random(n) < 0.7
            kept[:2] = True
            kernel.keep(kept)
            X = X[kept]
        elif event == "truncate" and n > 4:
            kernel.truncate(n - 1 - value % 3)
            X = X[: n - 1 - value % 3]
        elif event == "sum":
            samples = random.choice(n, size=min(n, 1 + value % 40), replace=False)
            weights = random.normal(size=len(samples))
            out = np.ones(n + 3)
            kernel.add_columns(samples, weights, out)
            np.testing.assert_allclose(
                out[:n], 1 + matrix_of(function, X)[:, samples] @ weights, rtol=1e-11, atol=1e-12
            )
            np.testing.assert_array_equal(out[n:], 1.0)
        sample = (value + number) % len(X)
        expected = matrix_of(function, X)[sample]
        np.testing.assert_allclose(kernel.column(sample), expected, rtol=1e-12, atol=1e-15)
        owners = kernel._owner[kernel._owner >= 0]
        assert len(set(owners)) == len(owners)
        np.testing.assert_array_equal(kernel._owner[kernel._slot_of[owners]], owners)


def test_columns_take_no_more_memory_than_allowed_but_for_a_few():
    X = table(3000)
    kernel = GrowingKernel(FUNCTIONS["rbf"], 3, None, 1.0)
    for start in range(0, 3000, 100):
        kernel.append(X[start : start + 100])
        for sample in range(start, start + 60):
            kernel.column(sample)
    assert kernel._values.nbytes <= 2**20
    small = GrowingKernel(FUNCTIONS["rbf"], 3, None, 1e-9)
    small.append(X)
    out = np.zeros(3000)
    small.add_columns(np.arange(300), np.ones(300), out)
    assert len(small._values) == 16
    np.testing.assert_allclose(out, matrix_of(FUNCTIONS["rbf"], X)[:, :300].sum(axis=1))


def test_columns_of_the_last_sum_are_not_computed_again():
    asked = []

    def counted(A, B):
        asked.append(A.shape[0] * B.shape[0])
        return A @ B.T

    kernel = GrowingKernel(KernelFunction("callable", call=counted), 3, None, 10)
    kernel.append(table(100))
    used = np.array([3, 50, 7])
    kernel.add_columns(used, np.ones(3), np.zeros(100))
    asked.clear()
    kernel.add_columns(used, np.ones(3), np.zeros(100))
    kernel.column(50)
    assert asked == []
    kernel.append(table(1, seed=9))
    assert sum(asked) == 3  # one value for each column kept


@pytest.mark.parametrize("count", range(10))
@pytest.mark.parametrize("n", [1, 5, 1023, 1024, 1025, 2100])
def test_weighted_columns_in_tiles_are_a_plain_product(count, n):
    random = np.random.default_rng(count)
    values = random.normal(size=(12, n + 4))
    slots = random.choice(12, size=count, replace=False)
    weights = random.normal(size=count)
    out = random.normal(size=n)
    expected = out + weights @ values[slots, :n]
    add_weighted(values, slots, weights, n, out)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def test_room_is_doubled_and_what_was_there_is_kept():
    array = np.arange(70.0)
    assert with_room(array, 70, 70) is array
    longer = with_room(array, 70, 71)
    assert len(longer) == 142
    np.testing.assert_array_equal(longer[:70], array)
    assert with_room(np.empty((0, 3)), 0, 1).shape == (64, 3)
