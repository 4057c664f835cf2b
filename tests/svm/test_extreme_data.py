"""Tables that nobody scaled: each is solved or refused, and what is called optimal is."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from tests.naive import extended

from lindero import svm
from lindero.persist import load, save


def two_clouds(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1, -1)


def is_optimal(model):
    return model.certificate_.status.startswith("Optimal")


def signed_coefficients(model, n):
    z = np.zeros(n)
    z[model.support_] = model.dual_coef_[0]
    return z


def test_high_powers_of_raw_columns():
    table = load_breast_cancer()
    X, y = table.data[:100], table.target[:100]
    with pytest.warns(UserWarning, match="rounding in double precision"):
        model = svm.SVR(kernel="poly", gamma=1, degree=6, C=100).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.certificate_.kkt_gap > model.tol


def test_columns_of_scales_that_no_number_holds_together():
    X, y = two_clouds(200, 2)
    with pytest.warns(UserWarning, match=r"differ in scale by a factor of 1e\+18"):
        model = svm.SVC(kernel="linear", C=1e10).fit(X * [1, 1e18], y)
    assert not is_optimal(model)
    assert np.isin(model.predict(X * [1, 1e18]), [-1, 1]).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize(
    "name",
    [
        "SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "CostSensitiveSVC", "RankSVM",
        "IncrementalSVC", "IncrementalSVR", "IncrementalOneClassSVM", "AdaptiveSVC", "AdaptiveSVR",
    ],
)  # fmt: skip
def test_kernel_values_that_overflow_are_refused_with_the_column(name, kernel):
    X, y = two_clouds()
    if name.startswith("Adaptive") and kernel == "poly":
        pytest.skip("adaptive machines have no such kernel")
    model = getattr(svm, name)(kernel=kernel)
    X[:, 1] *= 1e160
    with pytest.raises(ValueError, match=r"column 1 holds values up to .*e\+160\. Scale"):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


def test_a_constant_that_overflows_in_a_power_is_refused():
    X, y = two_clouds()
    with pytest.raises(ValueError, match="too large to compute with"):
        svm.NuSVR(kernel="poly", coef0=1e300).fit(X, y)


def test_a_kernel_matrix_that_overflows_is_refused():
    K = np.eye(4) * 1e200
    with pytest.raises(ValueError, match=r"holds values up to 1e\+200: divide it"):
        svm.SVC(kernel="precomputed").fit(K, [0, 1, 0, 1])


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e-5, 1e5, 1e20, 1e60])
@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"])
@pytest.mark.filterwarnings("ignore")
def test_a_table_in_other_units_is_solved_or_said_not_to_be(name, scale):
    X, y = two_clouds()
    for kernel in ("linear", "rbf", "poly"):
        model = getattr(svm, name)(kernel=kernel)
        if (name, kernel, scale) == ("NuSVC", "linear", 1e-150):
            with pytest.raises(ValueError, match="Scale the features first"):  # coefficients
                model.fit(X * scale, y)
            continue
        model.fit(X * scale, y)
        assert np.isfinite(model.predict(X * scale)).all()
        if kernel == "rbf":  # gamma="scale" has the unit of the data
            assert is_optimal(model)


def test_the_machine_of_a_scaled_table_is_the_scaled_machine():
    X, y = two_clouds()
    unit = 2.0**100
    one = svm.SVC(kernel="linear", C=1.0).fit(X, y)
    other = svm.SVC(kernel="linear", C=1.0 / unit**2).fit(X * unit, y)
    np.testing.assert_allclose(other.dual_coef_ * unit**2, one.dual_coef_, rtol=1e-6)
    np.testing.assert_allclose(other.coef_ * unit, one.coef_, rtol=1e-6)


@pytest.mark.parametrize("size", [1e6, 1e7, 1e8])
@pytest.mark.parametrize("C", [1.0, 1e3])
@pytest.mark.filterwarnings("ignore")
def test_a_large_column_does_not_hide_the_small_ones(size, C):
    """‖x‖² + ‖z‖² − 2⟨x,z⟩ would lose what the small columns say."""
    rng = np.random.default_rng(3)
    X = np.column_stack([size * rng.integers(0, 3, 80), rng.normal(size=(80, 2))])
    y = np.where(X[:, 1] + 0.2 * rng.normal(size=80) > 0, 1.0, -1.0)
    model = svm.SVC(kernel="rbf", gamma=1.0, C=C).fit(X, y)
    K = extended.kernel_matrix(X, "rbf", 1.0)
    gap = extended.classification_gap(K, y, C, signed_coefficients(model, 80))
    assert is_optimal(model)
    assert gap <= 1.01 * model.tol
    assert model.certify(X, y).kkt_gap == pytest.approx(gap, abs=1e-9)
    decisions = K @ signed_coefficients(model, 80) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), decisions.astype(float), atol=1e-8)


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e10])
@pytest.mark.filterwarnings("ignore")
def test_weights_of_rows_far_from_zero_have_their_digits(offset):
    X, y = two_clouds(100)
    model = svm.SVC(kernel="linear", C=1e3).fit(X + offset, y)
    K = extended.kernel_matrix(X + offset, "linear")
    gap = extended.classification_gap(K, y, 1e3, signed_coefficients(model, 100))
    assert (gap <= 1.01 * model.tol) == is_optimal(model)
    shown = y * model.decision_function(X + offset)
    assert (shown > 0).mean() > 0.85


def test_rows_too_large_to_compare_are_refused_when_predicting():
    X, y = two_clouds()
    model = svm.SVC().fit(X, y)
    new = X[:5].copy()
    new[3, 0] = 1e200
    with pytest.raises(ValueError, match="Row 3 holds values too large"):
        model.predict(new)


def test_when_time_is_up_the_pairs_left_are_not_begun():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), np.arange(120) % 40
    with pytest.warns(UserWarning, match="time_limit"):
        model = svm.SVC(time_limit=1e-9).fit(X, y)
    assert len(model.certificate_.parts) == 40 * 39 // 2
    assert model.certificate_.kkt_gap == np.inf
    assert model.n_iter_.sum() == 0
    assert model.predict(X).shape == (120,)


def broken_sparse(kind):
    X = sp.random_array((50, 6), density=0.5, format="csr", random_state=np.random.default_rng(0))
    if kind == "index":
        X.indices[3] = 10**8
    elif kind == "negative index":
        X.indices[3] = -5
    elif kind == "pointer":
        X.indptr[5] = 10**6
    elif kind == "pointers that fall":
        X.indptr[5], X.indptr[6] = X.indptr[6] + 3, X.indptr[5]
    elif kind == "end":
        X.indptr[-1] = 10**7
    elif kind == "end at nothing":
        X.indptr[-1] = 0
    elif kind == "nothing, pointed at":
        X.data, X.indices = X.data[:0], X.indices[:0]
        X.indptr[:] = 0
        X.indptr[1] = 3
    else:
        X = X.tocsc() if kind == "column-wise" else X.tocoo()
        (X.indices if kind == "column-wise" else X.coords[1])[0] = 77_777_777
    return X


@pytest.mark.parametrize(
    "kind",
    [
        "index",
        "negative index",
        "pointer",
        "pointers that fall",
        "end",
        "end at nothing",
        "nothing, pointed at",
        "column-wise",
        "triplets",
    ],
)
def test_sparse_arrays_whose_indices_lead_out_of_them_are_refused(kind):
    sound = broken_sparse("none").tocsr()
    sound.indices.clip(0, 5, out=sound.indices)
    sound.sum_duplicates()
    y = np.arange(50) % 2
    fitted, learned = svm.SVC().fit(sound, y), svm.IncrementalSVC().fit(sound, y)
    for call in (
        lambda X: svm.SVC().fit(X, y),
        fitted.predict,
        lambda X: svm.IncrementalSVC().partial_fit(X, y),
        learned.predict,
        lambda X: svm.OneClassSVM().fit(X),
        lambda X: svm.AdaptiveSVC().fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"indices do not fit its shape \(50, 6\)"):
            call(broken_sparse(kind))


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
@pytest.mark.filterwarnings("ignore")
def test_a_fit_out_of_time_can_be_saved_and_gone_on_with(name, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), np.arange(120) % 6
    options = {"nu": 0.3} if name == "NuSVC" else {}
    model = getattr(svm, name)(time_limit=1e-9, warm_start=True, **options).fit(X, y)
    save(model, tmp_path / "model.lin")
    again = load(tmp_path / "model.lin").set_params(time_limit=None).fit(X, y)
    model.set_params(time_limit=None).fit(X, y)
    assert is_optimal(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("C", [1.0, 1e40])
@pytest.mark.filterwarnings("ignore")
def test_kernels_without_a_positive_value(C):
    X, y = two_clouds()
    distances = -np.abs(X[:, :1] - X[:, :1].T)
    model = svm.SVC(kernel="precomputed", C=C).fit(distances, y)
    assert np.isfinite(model.decision_function(distances)).all()
    np.fill_diagonal(distances, -1.0)
    assert np.isfinite(svm.SVC(kernel="precomputed", C=C).fit(distances, y).intercept_).all()


def test_the_column_of_a_sparse_value_that_overflows():
    X = sp.csr_array((np.array([1e200, 1.0]), np.array([7, 3]), np.array([0, 1, 2])), (2, 2**30))
    with pytest.raises(ValueError, match="column 7 holds"):
        svm.SVC(kernel="linear").fit(X, [0, 1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore")
def test_indefinite_kernels_are_judged_by_themselves(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=30) > 0).astype(int)
    model = svm.SVC(kernel="sigmoid", gamma=0.1, coef0=-1.0, C=1000.0).fit(X, y)
    assert is_optimal(model) == (model.certify(X, y).kkt_gap <= model.tol)


@pytest.mark.parametrize("name", ["SVC", "SVR", "IncrementalSVC"])
@pytest.mark.filterwarnings("ignore")
def test_few_rows_of_a_million_sparse_columns(name):
    rng = np.random.default_rng(0)
    places = (np.repeat(np.arange(20), 20), rng.integers(0, 2**20, 400))
    X = sp.csr_array((rng.normal(size=400), places), shape=(20, 2**20))
    y = np.arange(20) % 2
    model = getattr(svm, name)(kernel="linear").fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("C", [1e150, 1e205, 1e300])
@pytest.mark.filterwarnings("ignore")
def test_bounds_whose_objective_overflows_come_to_an_end(C):
    """½ zᵀK z is then neither more nor less than it was, and no step is taken."""
    X = 1e4 + np.random.default_rng(0).normal(size=(8, 5))
    y = np.array([0.3, -0.9, -0.4, 0.2, -0.2, 0.3, 0.9, 0.3])
    try:
        model = svm.NuSVR(kernel="linear", C=C, nu=0.64).fit(X, y)
    except ValueError:
        return  # said to be too large is as good
    assert np.isfinite(model.predict(X)).all()
    assert model.certificate_.kkt_gap <= model.tol or model.fit_status_ == 1


def test_rows_so_small_that_coefficients_overflow_are_refused():
    X, y = two_clouds()
    with pytest.raises(ValueError, match=r"Coefficients up to .* Scale the features first"):
        svm.NuSVC(kernel="linear", nu=0.3).fit(X * 3e-151, y)
