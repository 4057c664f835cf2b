"""The whole way of fits and answers on a device, rehearsed with torch on the CPU."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import lindero
from lindero import persist
from lindero.devices.settings import REHEARSAL
from lindero.errors import DeviceError, DeviceMemoryError, DeviceRefusal
from lindero.svm import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    LinearSVC,
    LinearSVCCV,
    NystromSVC,
    OneClassSVM,
    TransductiveSVC,
)
from tests.devices.machines import (
    ATTRIBUTES,
    BINARY,
    MACHINES,
    NUMBERS,
    THREE,
    WEIGHTS,
    WORDS,
    X,
    answers_of,
    scale_of,
)

torch = pytest.importorskip("torch", reason="torch is not installed (lindero[gpu])")


@pytest.fixture
def rehearsal():
    with lindero.config_context(device=REHEARSAL):
        yield


def tensors(*arrays):
    return tuple(
        values if values is None or values.dtype.kind == "U" else torch.from_numpy(values)
        for values in arrays
    )


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_a_fit_on_a_device_is_the_fit_of_the_cpu(name, weights, rehearsal):
    machine, y = MACHINES[name]
    rows, targets, counts = tensors(X, y, weights)
    with lindero.config_context(device=None):
        known = clone(machine).fit(X, y, sample_weight=weights)
    model = clone(machine).fit(rows, targets, sample_weight=counts)

    tol = 2 * machine.tol * scale_of(known.certificate_)
    assert model.certificate_.status.startswith("Optimal")
    assert model.certificate_.kkt_gap <= machine.tol
    assert model.certificate_.dual == pytest.approx(known.certificate_.dual, abs=tol)
    assert model.certificate_.primal == pytest.approx(known.certificate_.primal, abs=tol)
    again = model.certify(rows, targets, sample_weight=counts)
    assert again.kkt_gap <= machine.tol
    for attribute in ATTRIBUTES:
        assert isinstance(getattr(model, attribute), torch.Tensor), attribute
    found, expected = answers_of(model, rows), answers_of(known, X)
    for method, values in expected.items():
        if values.dtype.kind == "U":
            assert (found[method] == values).all()
            continue
        assert isinstance(found[method], torch.Tensor)
        assert found[method].shape == values.shape
        off = np.abs(found[method].numpy() - values)
        assert np.mean(off > 0.01 * np.abs(values).max()) < 0.02, method
    if hasattr(model, "score"):
        assert model.score(rows, targets) == pytest.approx(known.score(X, y), abs=0.02)


@pytest.mark.parametrize("name", MACHINES)
def test_numpy_arrays_are_computed_there_and_come_back(name, rehearsal):
    machine, y = MACHINES[name]
    with lindero.config_context(device=None):
        known = clone(machine).fit(X, y)
    model = clone(machine).fit(X, y)
    assert vars(model).keys() == vars(known).keys()
    for attribute in ATTRIBUTES:
        value, expected = getattr(model, attribute), getattr(known, attribute)
        assert isinstance(value, np.ndarray), attribute
        assert value.dtype == expected.dtype
    for values in answers_of(model, X).values():
        assert isinstance(values, np.ndarray)
    assert model.certificate_.kkt_gap <= machine.tol


def test_dataframes_keep_their_names(rehearsal):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = SVC().fit(table, BINARY)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert isinstance(model.predict(table), np.ndarray)


def test_labels_may_be_anything_that_labels_may_be(rehearsal):
    rows = torch.from_numpy(X)
    known = SVC().fit(rows, torch.from_numpy(BINARY))
    for labels in (BINARY, BINARY.tolist(), torch.from_numpy(BINARY).int()):
        model = SVC().fit(rows, labels)
        assert isinstance(model.predict(rows), torch.Tensor)
        assert (model.predict(rows) == known.predict(rows)).all()
    floats = SVC().fit(rows, torch.from_numpy(BINARY).double())
    assert floats.predict(rows).dtype == torch.float64
    words = SVC().fit(rows, WORDS.tolist())
    assert words.predict(rows).tolist() == SVC().fit(rows, WORDS).predict(rows).tolist()
    assert isinstance(known.classes_, torch.Tensor)
    assert isinstance(words.classes_, np.ndarray)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_rows_keep_their_type(dtype, rehearsal):
    rows = torch.from_numpy((X * 10).round()).to(dtype)
    model = SVC(gamma=0.01).fit(rows, THREE)
    wanted = torch.float64 if dtype is torch.int64 else dtype
    assert model.support_vectors_.dtype == wanted
    assert model.dual_coef_.dtype == torch.float64
    assert model.decision_function(rows).dtype == torch.float64


def test_rows_that_are_not_contiguous_or_want_gradients_are_rows_as_any(rehearsal):
    known = SVC().fit(torch.from_numpy(X), THREE)
    spread = torch.from_numpy(np.asfortranarray(X))
    striding = torch.from_numpy(np.repeat(X, 2, axis=0))[::2]
    wanting = torch.from_numpy(X.copy()).requires_grad_()
    for rows in (spread, striding, wanting):
        model = SVC().fit(rows, THREE)
        assert torch.equal(model.dual_coef_, known.dual_coef_)
        assert not model.decision_function(rows).requires_grad


def test_sparse_tensors_are_made_dense_there(rehearsal):
    rows = torch.from_numpy(np.where(X > 0.5, X, 0.0))
    known = SVC().fit(rows, THREE)
    for sparse in (rows.to_sparse(), rows.to_sparse_csr()):
        model = SVC().fit(sparse, THREE)
        assert torch.equal(model.support_vectors_, known.support_vectors_)
        assert torch.equal(model.predict(sparse), known.predict(rows))


def test_sparse_arrays_come_back_sparse(rehearsal):
    import scipy.sparse as sp

    table = sp.csr_array(np.where(X > 0.5, X, 0.0))
    model = SVC().fit(table, THREE)
    assert sp.issparse(model.support_vectors_)
    assert sp.issparse(model.dual_coef_)
    assert (model.predict(table) == model.predict(table.toarray())).all()


def test_a_warm_start_goes_on_there(rehearsal):
    rows, labels = torch.from_numpy(X), torch.from_numpy(THREE)
    model = SVC(C=50.0, warm_start=True, tol=1e-6).fit(rows, labels)
    first = model.decision_function(rows)
    model.fit(rows, labels)
    assert torch.allclose(model.decision_function(rows), first, atol=1e-4)
    assert isinstance(model.dual_coef_, torch.Tensor)


def test_tiny_kernels_are_solved_in_a_unit_of_their_own(rehearsal):
    scale = 1e-9
    machine = SVC(kernel="poly", degree=2, gamma=1.0)
    with lindero.config_context(device=None):
        known = clone(machine).fit(scale * X, BINARY).certificate_
    found = machine.fit(torch.from_numpy(scale * X), torch.from_numpy(BINARY)).certificate_
    assert found.status.startswith("Optimal")
    assert found.dual == pytest.approx(known.dual, rel=1e-3)


def test_probabilities_are_where_rows_are(rehearsal):
    rows = torch.from_numpy(X)
    with pytest.warns(FutureWarning, match="probability"):
        model = SVC(probability=True).fit(rows, THREE)
    found = model.predict_proba(rows)
    assert isinstance(found, torch.Tensor)
    assert torch.allclose(found.sum(dim=1), torch.ones(len(rows), dtype=torch.float64))
    assert isinstance(model.predict_log_proba(rows), torch.Tensor)


def test_estimates_and_certificates_are_plain(rehearsal):
    rows, labels = torch.from_numpy(X), torch.from_numpy(BINARY)
    model = SVC().fit(rows, labels)
    with lindero.config_context(device=None):
        known = SVC().fit(X, BINARY).estimate_xi_alpha(X, BINARY)
    assert model.estimate_xi_alpha(rows, labels).error == pytest.approx(known.error, abs=0.05)
    assert isinstance(model.coef_ if model.kernel == "linear" else model.intercept_, torch.Tensor)


# -- searches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("search", "y"),
    [
        (SVCCV(Cs=[1, 10], gammas=[0.1, 1.0], cv=3), THREE),
        (SVCCV(Cs=[1, 10], gammas=["scale"], cv=3, standardize=True), WORDS),
        (SVCCV(kernel="linear", Cs=[1], cv=3, multiclass="ovr"), THREE),
        (SVRCV(Cs=[1, 10], gammas=[0.1], cv=3), NUMBERS),
    ],
    ids=["SVCCV", "SVCCV, standardised", "SVCCV, linear", "SVRCV"],
)
def test_a_search_there_finds_what_it_finds_here(search, y, rehearsal):
    rows, targets = tensors(X, y)
    with lindero.config_context(device=None):
        known = clone(search).fit(X, y)
    model = clone(search).fit(rows, targets)
    assert model.best_params_ == known.best_params_
    assert model.scores_ == pytest.approx(known.scores_, abs=0.05)
    assert isinstance(model.scores_, np.ndarray)
    assert model.score(rows, targets) == pytest.approx(known.score(X, y), abs=0.03)
    machine = getattr(model.best_estimator_, "steps", [("", model.best_estimator_)])[-1][1]
    assert isinstance(machine.dual_coef_, torch.Tensor)
    if y is not WORDS:
        assert isinstance(model.predict(rows), torch.Tensor)
    again = pickle.loads(pickle.dumps(model)).to_cpu()
    assert isinstance(again.predict(X), np.ndarray)
    numpy_model = clone(search).fit(X, y)
    assert isinstance(numpy_model.predict(X), np.ndarray)
    assert numpy_model.best_params_ == known.best_params_


# -- moving ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MACHINES)
def test_models_move_there_and_back(name, rehearsal, tmp_path):
    machine, y = MACHINES[name]
    rows, targets = tensors(X, y)
    model = clone(machine).fit(rows, targets)
    here = model.to_cpu()
    assert isinstance(here.support_vectors_, np.ndarray)
    assert isinstance(model.support_vectors_, torch.Tensor)
    with lindero.config_context(device=None):
        for method, values in answers_of(here, X).items():
            assert isinstance(values, np.ndarray), method
    there = here.to_device(REHEARSAL)
    for method, values in answers_of(there, rows).items():
        expected = getattr(model, method)(rows)
        if isinstance(values, torch.Tensor):
            assert torch.equal(values, expected.to(values.dtype)), method
        else:
            assert (values == expected).all()
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert torch.equal(copied.dual_coef_, model.dual_coef_)
        assert type(copied.predict(rows)) is type(model.predict(rows))
    assert persist.to_bytes(model) == persist.to_bytes(here)
    loaded = persist.from_bytes(persist.to_bytes(model))
    assert isinstance(loaded.dual_coef_, np.ndarray)


def test_a_twin_for_scikit_learn_is_one_in_numpys_terms(rehearsal):
    rows = torch.from_numpy(X)
    model = SVC().fit(rows, torch.from_numpy(THREE))
    assert (model.to_sklearn().predict(X) == model.predict(rows).numpy()).all()


def test_a_device_that_is_not_there_is_refused():
    model = SVC().fit(X, BINARY)
    if not torch.cuda.is_available():
        with pytest.raises(DeviceError, match=r"no device 'cuda'.*0 CUDA cards"):
            model.to_device("cuda")
    with pytest.raises(DeviceError, match="no device 'mps'"):
        model.to_device("mps")
    with pytest.raises(ValueError, match="library must be"):
        model.to_device("cuda", library="jax")
    with pytest.raises(DeviceRefusal, match="function in Python"):
        SVC(kernel=lambda a, b: a @ b.T).fit(X, BINARY).to_device("cuda")


# -- bad input -------------------------------------------------------------------------------------


def bad(change):
    rows = torch.from_numpy(X.copy())
    return change(rows)


def spoiled(rows, value):
    rows[7, 2] = value
    return rows


BAD_ROWS = {
    "half": (lambda rows: rows.half(), "float16 values.*X.float"),
    "bfloat16": (lambda rows: rows.bfloat16(), "bfloat16 values.*X.float"),
    "complex": (lambda rows: rows.to(torch.complex64), "complex64 values"),
    "bool": (lambda rows: rows > 0, "bool values.*X.float"),
    "one-dimensional": (lambda rows: rows[:, 0], r"Expected 2D array.*reshape"),
    "three-dimensional": (lambda rows: rows[None], "Expected 2D array, got 3D"),
    "no rows": (lambda rows: rows[:0], r"0 sample\(s\)"),
    "no columns": (lambda rows: rows[:, :0], r"0 feature\(s\)"),
    "NaN": (lambda rows: spoiled(rows, np.nan), "contains NaN.*row 7, column 2.*Imputer"),
    "infinite": (lambda rows: spoiled(rows, np.inf), "contains infinity.*row 7, column 2"),
    "without values": (lambda rows: rows.to("meta"), "'meta'"),
}


@pytest.mark.parametrize(("change", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_are_named_and_change_nothing(change, message, rehearsal):
    rows = torch.from_numpy(X)
    model = SVC().fit(rows, BINARY)
    before = dict(vars(model))
    for call in (lambda: model.fit(bad(change), BINARY), lambda: model.predict(bad(change))):
        with pytest.raises(ValueError, match=message):
            call()
    assert vars(model) == before


def test_other_bad_input_is_named_and_changes_nothing(rehearsal):
    rows = torch.from_numpy(X)
    model = SVC().fit(rows, BINARY)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="X has 2 features, but SVC is expecting 3"):
        model.predict(rows[:, :2])
    with pytest.raises(ValueError, match="y has 89 values, but X has 90 rows"):
        model.fit(rows, BINARY[:-1])
    with pytest.raises(ValueError, match=r"sample_weight.*\(89,\)"):
        model.fit(rows, BINARY, torch.ones(89))
    with pytest.raises(ValueError, match="only one class"):
        model.fit(rows, torch.zeros(90))
    with pytest.raises(ValueError, match="no label in row 3"):
        model.fit(rows, spoil_label(torch.from_numpy(BINARY).double()))
    with pytest.raises(ValueError, match=r"too large to compute with.*column 1"):
        SVC(kernel="poly", degree=9, gamma=1.0).fit(
            rows * torch.from_numpy(np.array([1, 1e60, 1])), BINARY
        )
    assert vars(model) == before


def spoil_label(labels):
    labels[3] = np.nan
    return labels


class _ElsewhereTensor:
    """What a tensor on a second card shows of itself; there is none here."""

    __module__ = "torch"
    device = torch.device("cuda:1")
    layout = torch.strided


def test_vectors_on_another_device_are_refused(rehearsal):
    rows = torch.from_numpy(X)
    with pytest.raises(ValueError, match="y is on cuda:1, but X is in cpu-torch"):
        SVC().fit(rows, _ElsewhereTensor())
    with pytest.raises(ValueError, match="sample_weight is on cuda:1"):
        SVC().fit(rows, BINARY, _ElsewhereTensor())
    with (
        lindero.config_context(device=None),
        pytest.raises(ValueError, match="y is on cuda:1, but X is in the CPU's memory"),
    ):
        SVC().fit(X, _ElsewhereTensor())


def test_nothing_moves_unasked(rehearsal):
    rows = torch.from_numpy(X)
    there = SVC().fit(rows, BINARY)
    here = there.to_cpu()
    with pytest.raises(DeviceRefusal, match=r"X is torch tensors.*in the CPU's memory.*to_d"):
        here.predict(rows)
    with pytest.raises(DeviceRefusal, match=r"X is in the CPU's memory.*to_cpu\(\)"):
        there.predict(X)
    with pytest.raises(DeviceRefusal, match="nothing is moved unasked"):
        there.certify(X, BINARY)


# -- what the CPU has to do ------------------------------------------------------------------------

REFUSED = {
    "callable": (SVC(kernel=lambda a, b: a @ b.T), "function in Python"),
    "hard margin": (SVC(C=float("inf"), kernel="poly", gamma=1.0), "C=inf"),
    "without intercept": (SVC(fit_intercept=False), "fit_intercept"),
    "coordinate descent": (
        SVC(kernel="linear", solver="coordinate_descent"),
        "solver='coordinate_descent'",
    ),
    "few weights": (LinearSVC(penalty="l1"), "penalty='l1'"),
    "one problem for all classes": (LinearSVC(multi_class="crammer_singer"), "crammer_singer"),
    "landmarks, callable": (
        NystromSVC(kernel=lambda a, b: a @ b.T, n_components=20),
        "function in Python",
    ),
    "TransductiveSVC": (TransductiveSVC(), "TransductiveSVC"),
}


def many_classes(machine):
    """A third class, where a machine is another one with two."""
    return (X[:, 1] > 0).astype(int) if getattr(machine, "multi_class", "") != "" else 0


@pytest.mark.parametrize(("machine", "why"), REFUSED.values(), ids=REFUSED)
def test_rows_on_a_device_are_refused_where_only_the_cpu_knows_how(machine, why, rehearsal):
    labels = (X[:, 0] > 0).astype(int) + many_classes(machine)
    with pytest.raises(DeviceRefusal, match=f"(?s){why}.*CPU.*X.cpu"):
        clone(machine).fit(torch.from_numpy(X), labels)


@pytest.mark.parametrize(("machine", "why"), REFUSED.values(), ids=REFUSED)
def test_the_cpu_computes_numpy_arrays_that_the_device_cannot(machine, why, rehearsal):
    labels = (X[:, 0] > 0).astype(int) + many_classes(machine)
    with pytest.warns(UserWarning, match=f"CPU computes this, not cpu.*{why}") as caught:
        model = clone(machine).fit(X, labels)
    assert sum("CPU computes" in str(warning.message) for warning in caught) == 1
    with lindero.config_context(device=None):
        known = clone(machine).fit(X, labels)
        assert (model.predict(X) == known.predict(X)).all()


@pytest.mark.parametrize(
    "machine",
    [SVC(), LinearSVC(), LinearSVC(loss="hinge"), NystromSVC(n_components=20), LinearSVCCV(cv=2)],
    ids=lambda machine: type(machine).__name__,
)
def test_rows_stay_where_they_are(machine, rehearsal, monkeypatch):
    from lindero.devices.rows import DeviceRows

    def fail(*args):
        raise AssertionError("Rows were taken to the CPU's memory.")

    monkeypatch.setattr(DeviceRows, "to_host", fail)
    monkeypatch.setattr(DeviceRows, "__array__", fail, raising=False)
    rows = torch.from_numpy(X)
    model = clone(machine).fit(rows, BINARY)
    assert isinstance(model.predict(rows), torch.Tensor)
    assert isinstance(model.decision_function(rows), torch.Tensor)


def test_leaving_rows_out_is_for_the_cpu(rehearsal):
    rows = torch.from_numpy(X)
    model = SVC().fit(rows, BINARY)
    with pytest.raises(DeviceRefusal, match=r"leave_one_out.*X.cpu"):
        model.leave_one_out(rows, BINARY)
    with pytest.warns(UserWarning, match="CPU computes this"):
        values = model.to_cpu().leave_one_out(X, BINARY)
    assert values.shape == (90,)


def test_without_a_card_the_cpu_computes_and_says_so():
    if torch.cuda.is_available():
        pytest.skip("there is a card")
    said = r"device='cuda' was asked for, but torch finds no CUDA card: the CPU computes"
    with lindero.config_context(device="cuda"), pytest.warns(UserWarning, match=said):
        model = SVC().fit(X, BINARY)
    assert isinstance(model.dual_coef_, np.ndarray)


# -- failures --------------------------------------------------------------------------------------


def fail_with(error, monkeypatch):
    from lindero.devices.rows import DeviceRows

    def fail(*args):
        raise error

    monkeypatch.setattr(DeviceRows, "make_kernel", fail)
    monkeypatch.setattr(DeviceRows, "evaluate", fail)


def test_too_little_memory_changes_nothing_and_says_what_to_do(rehearsal, monkeypatch):
    rows = torch.from_numpy(X)
    model = SVC().fit(rows, BINARY)
    before = dict(vars(model))
    text = "CUDA out of memory. Tried to allocate 12.50 GiB. GPU 0 has a total capacity of 3 GiB"
    fail_with(torch.OutOfMemoryError(text), monkeypatch)
    for call in (lambda: model.fit(rows, THREE), lambda: model.predict(rows)):
        with pytest.raises(DeviceMemoryError, match=r"12.50 GiB more were asked for.*Nothing was"):
            call()
    assert vars(model) == before
    with pytest.warns(UserWarning, match=r"CPU computes this.*too little memory"):
        other = SVC().fit(X, BINARY)
    monkeypatch.undo()
    assert (other.predict(X[:5]) == model.to_cpu().predict(X[:5])).all()


def test_a_card_that_is_lost_changes_nothing_and_says_what_to_do(rehearsal, monkeypatch):
    rows = torch.from_numpy(X)
    model = SVR().fit(rows, NUMBERS)
    before = dict(vars(model))
    fail_with(RuntimeError("CUDA error: unspecified launch failure\nCompile with ..."), monkeypatch)
    for call in (lambda: model.fit(rows, NUMBERS), lambda: SVR().fit(X, NUMBERS)):
        with pytest.raises(DeviceError, match=r"failed: CUDA error.*as it was before"):
            call()
    assert vars(model) == before


def test_errors_of_others_are_theirs(rehearsal, monkeypatch):
    fail_with(RuntimeError("something else"), monkeypatch)
    with pytest.raises(RuntimeError, match=r"^something else$"):
        SVC().fit(torch.from_numpy(X), BINARY)


# -- settings --------------------------------------------------------------------------------------


def test_settings_are_set_read_and_given_back():
    assert lindero.get_config() == {"device": None}
    with lindero.config_context(device="cuda:1"):
        assert lindero.get_config() == {"device": "cuda:1"}
        with lindero.config_context(device="cpu"):
            assert lindero.get_config() == {"device": None}
        assert lindero.get_config() == {"device": "cuda:1"}
    lindero.set_config(device=torch.device("cuda", 0))
    assert lindero.get_config() == {"device": "cuda:0"}
    lindero.set_config()
    assert lindero.get_config() == {"device": None}


@pytest.mark.parametrize("device", ["gpu", "mps", 3, "cuda:x"])
def test_unknown_devices_are_refused(device):
    with pytest.raises(ValueError, match="is not known: use 'cuda'"):
        lindero.set_config(device=device)


def test_settings_of_threads_are_their_own():
    import threading

    seen = []
    with lindero.config_context(device="cuda"):
        thread = threading.Thread(target=lambda: seen.append(lindero.get_config()["device"]))
        thread.start()
        thread.join()
    assert seen == [None]


def test_a_region_is_found_there_too(rehearsal):
    rows = torch.from_numpy(X)
    model = OneClassSVM(nu=0.3)
    assert isinstance(model.fit_predict(rows), torch.Tensor)
    assert set(model.predict(rows).tolist()) == {1, -1}


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`",
        "Triton Error [CUDA]: out of memory",
    ],
)
def test_libraries_of_a_card_that_find_no_memory_are_understood(rehearsal, monkeypatch, text):
    fail_with(RuntimeError(text), monkeypatch)
    with pytest.raises(DeviceMemoryError, match="too little memory"):
        SVC().fit(torch.from_numpy(X), BINARY)
