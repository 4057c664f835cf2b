"""Kernel operators over every kind of data, against kernel values one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.errors import KernelError
from lindero.kernels.operator import KernelFunction, kernel_operator
from tests.naive.functions import kernel_matrix

NAMES = ["linear", "poly", "rbf", "sigmoid"]
PARAMETERS = {"gamma": 0.05, "degree": 3, "coef0": 0.5}
N_SAMPLES = 37

#: Errors relative to the largest kernel value, in units of the computation's own rounding.
ROUNDINGS = 100


def dense_data(n_features=6):
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 4, (N_SAMPLES, n_features))
    return {
        "float64": rng.standard_normal((N_SAMPLES, n_features)),
        "float32": rng.standard_normal((N_SAMPLES, n_features)).astype(np.float32),
        "uint8": counts.astype(np.uint8),
        "int64": (counts - 2).astype(np.int64),
        "bool": counts > 1,
        "Fortran order": np.asfortranarray(rng.standard_normal((N_SAMPLES, n_features))),
        "every second row": rng.standard_normal((2 * N_SAMPLES, n_features))[::2],
    }


def sparse_data(index_dtype, n_features):
    rng = np.random.default_rng(2)
    X = sp.random_array(
        (N_SAMPLES, n_features), density=200 / n_features / 25, format="csr", random_state=rng
    )
    X.indices, X.indptr = X.indices.astype(index_dtype), X.indptr.astype(index_dtype)
    return X


DATA = {
    **dense_data(),
    "CSR int32": sparse_data(np.int32, 60),
    "CSR int64": sparse_data(np.int64, 60),
    "wide CSR int32": sparse_data(np.int32, 5000),
    "wide CSR int64": sparse_data(np.int64, 5000),
    "CSR with empty rows": sp.csr_array(np.diag(np.arange(N_SAMPLES) % 3).astype(float)),
    "CSR of float32": sparse_data(np.int32, 60).astype(np.float32),
}


def as_dense(X):
    return X.toarray() if sp.issparse(X) else X


def twin(name, X, Z=None):
    Z = X if Z is None else Z
    return kernel_matrix(name, as_dense(X), as_dense(Z), **PARAMETERS)


def operator(name, X, dtype=np.float64):
    return kernel_operator(X, KernelFunction(name, **PARAMETERS), dtype)


def block(kernel, probe, start=0, stop=None):
    stop = kernel.n_samples if stop is None else stop
    out = np.full((len(probe), stop - start), np.nan, dtype=kernel.dtype)
    kernel.block(probe, start, stop, out)
    columns = np.full(out.shape[::-1], np.nan, dtype=kernel.dtype)
    kernel.columns(probe, start, stop, columns)
    assert_near(columns.T, out, kernel.dtype)
    return out


def assert_near(values, expected, dtype):
    assert values.dtype == dtype
    error = ROUNDINGS * np.finfo(dtype).eps * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(values, expected, rtol=0, atol=error)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", NAMES)
class TestProductKernel:
    def test_block_is_the_kernel_of_chosen_rows_with_a_range_of_samples(self, name, data, dtype):
        rows = np.array([3, 0, 36, 3])
        values = block(
            operator(name, DATA[data], dtype), operator(name, DATA[data], dtype).probe(rows), 5, 30
        )
        assert_near(values, twin(name, DATA[data])[rows, 5:30], dtype)

    def test_cross_is_the_kernel_between_two_probes(self, name, data, dtype):
        kernel = operator(name, DATA[data], dtype)
        rows, others = np.array([1, 20]), np.array([2, 30, 1])
        values = kernel.cross(kernel.probe(rows), kernel.probe(others))
        assert_near(values, twin(name, DATA[data])[np.ix_(rows, others)], dtype)

    def test_probe_of_new_rows_matches_probe_of_the_same_rows(self, name, data, dtype):
        kernel = operator(name, DATA[data], dtype)
        new = DATA[data][np.array([4, 9, 11])]
        assert_near(block(kernel, kernel.probe_of(new)), twin(name, new, DATA[data]), dtype)

    def test_diagonal_is_in_float64_and_that_of_the_matrix(self, name, data, dtype):
        diagonal = operator(name, DATA[data], dtype).diagonal()
        assert diagonal.dtype == np.float64
        assert_near(diagonal.astype(dtype), np.diagonal(twin(name, DATA[data])), dtype)

    def test_subset_is_the_kernel_over_those_rows(self, name, data, dtype):
        rows = np.array([30, 2, 17, 5])
        part = operator(name, DATA[data], dtype).subset(rows)
        assert part.n_samples == 4
        values = block(part, part.probe(np.arange(4)))
        assert_near(values, twin(name, DATA[data])[np.ix_(rows, rows)], dtype)

    def test_matrix_is_the_kernel_among_rows_padded_with_zeros(self, name, data, dtype):
        kernel, rows = operator(name, DATA[data], dtype), np.array([3, 0, 2, 3])
        chosen = np.array([30, 2, 17, 5])
        for over, among in ((kernel, rows), (kernel.subset(chosen), chosen[rows])):
            values = over.matrix(rows, 7)
            assert_near(values[:, :4], twin(name, DATA[data])[np.ix_(among, among)], dtype)
            assert values.shape == (4, 7)
            assert not values[:, 4:].any()

    def test_astype_changes_the_precision_and_nothing_else(self, name, data, dtype):
        other = {np.float64: np.float32, np.float32: np.float64}[dtype]
        kernel = operator(name, DATA[data], other).astype(dtype)
        assert_near(block(kernel, kernel.probe(np.arange(3))), twin(name, DATA[data])[:3], dtype)


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_sparse_and_dense_new_rows_give_the_same_values_either_way(index_dtype):
    X = sparse_data(index_dtype, 60)
    sparse, dense = operator("rbf", X), operator("rbf", X.toarray())
    expected = twin("rbf", X)
    assert_near(block(sparse, sparse.probe_of(X.toarray())), expected, np.float64)
    assert_near(block(dense, dense.probe_of(X)), expected, np.float64)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-9), (np.float32, 1e-5)])
def test_gaussian_far_from_the_origin_keeps_its_accuracy(dtype, error):
    X = np.random.default_rng(3).standard_normal((40, 5)) + 1e6
    kernel = operator("rbf", X, dtype)
    np.testing.assert_allclose(
        block(kernel, kernel.probe(np.arange(40))), twin("rbf", X), atol=error
    )
    new = X[:7] + 0.25
    np.testing.assert_allclose(block(kernel, kernel.probe_of(new)), twin("rbf", new, X), atol=error)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("stored", [np.float64, np.float32, np.int64])
class TestPrecomputed:
    def matrix(self, stored):
        return np.random.default_rng(4).integers(-9, 9, (N_SAMPLES, N_SAMPLES)).astype(stored)

    def test_blocks_are_those_of_the_matrix(self, stored, dtype):
        K = self.matrix(stored)
        kernel = operator("precomputed", K, dtype)
        rows, others = np.array([7, 1, 7]), np.array([0, 2])
        assert_near(block(kernel, kernel.probe(rows), 3, 21), K[rows, 3:21], dtype)
        assert_near(
            kernel.cross(kernel.probe(rows), kernel.probe(others)), K[rows[:, None], others], dtype
        )
        np.testing.assert_array_equal(kernel.diagonal(), np.diagonal(K))

    def test_subset_of_a_subset_reads_the_right_rows_and_columns(self, stored, dtype):
        K = self.matrix(stored)
        rows = np.array([30, 2, 17, 5])
        kernel = operator("precomputed", K, dtype).subset(rows).subset(np.array([3, 1]))
        chosen = rows[[3, 1]]
        np.testing.assert_array_equal(kernel.diagonal(), np.diagonal(K)[chosen])
        assert_near(
            block(kernel, kernel.probe(np.array([1, 0]))), K[chosen[::-1, None], chosen], dtype
        )
        assert_near(kernel.matrix(np.array([1]), 3), [[K[2, 2], 0, 0]], dtype)

    def test_new_rows_are_rows_of_kernel_values_with_the_samples(self, stored, dtype):
        K = self.matrix(stored)
        kernel = operator("precomputed", K, dtype)
        assert_near(block(kernel, kernel.probe_of(K[4:6]), 2, 9), K[4:6, 2:9], dtype)


class TestCallable:
    def kernel(self, call, dtype=np.float64, X=DATA["float64"]):
        return kernel_operator(X, KernelFunction("callable", call=call), dtype)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("data", ["float64", "uint8", "CSR int32"])
    def test_all_verbs_agree_with_the_function_itself(self, data, dtype):
        X, rows = DATA[data], np.array([5, 0, 8])
        kernel = self.kernel(lambda A, B: twin("poly", A, B), dtype, X)
        expected = twin("poly", X)
        assert_near(block(kernel, kernel.probe(rows), 4, 19), expected[rows, 4:19], dtype)
        assert_near(
            kernel.cross(kernel.probe(rows), kernel.probe(rows)),
            expected[np.ix_(rows, rows)],
            dtype,
        )
        assert_near(kernel.diagonal().astype(dtype), np.diagonal(expected), dtype)
        assert_near(kernel.matrix(rows, 3), expected[np.ix_(rows, rows)], dtype)
        part = kernel.subset(rows)
        assert_near(block(part, part.probe(np.arange(3))), expected[np.ix_(rows, rows)], dtype)

    def test_diagonal_of_many_samples_is_asked_for_in_small_blocks(self):
        X = np.random.default_rng(5).standard_normal((300, 2))
        shapes = []
        self.kernel(lambda A, B: shapes.append((len(A), len(B))) or A @ B.T, X=X).diagonal()
        assert max(shapes) <= (64, 64)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda A, B: np.zeros(len(A)), "must return"),
            (lambda A, B: np.zeros((len(B), len(A))), "must return"),
            (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN"),
            (lambda A, B: np.full((len(A), len(B)), np.inf), "infinite"),
        ],
        ids=["one dimension", "transposed", "NaN", "infinite"],
    )
    def test_impossible_values_are_refused_by_name(self, call, message):
        kernel = self.kernel(call)
        with pytest.raises(KernelError, match=message):
            block(kernel, kernel.probe(np.array([0, 1])))
