"""What was forgotten is gone: from arrays, pickles and model files."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.errors import NotSeparableError
from lindero.persist import save
from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

MACHINES = [IncrementalSVC, IncrementalSVR, IncrementalOneClassSVM]
KERNELS = ["linear", "rbf", "poly"]

#: The row to be forgotten, its target, and its id.
ROW, TARGET = 90, 7.123456789012345


def rows_and_targets(machine):
    random = np.random.default_rng(3)
    X = random.normal(size=(120, 4)) + 5.0
    if machine is IncrementalOneClassSVM:
        return X, ()
    y = X[:, 0] + 0.1 * random.normal(size=120)
    if machine is IncrementalSVC:
        return X, ((y > 5.0).astype(int),)
    y[ROW] = TARGET
    return X, (y,)


def arrays_within(thing, seen):
    """All arrays that can be reached from an object, as large as they are."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        yield thing
        if thing.base is not None:
            yield from arrays_within(thing.base, seen)
        if thing.dtype != object:
            return
    if isinstance(thing, dict):
        inside = [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set)):
        inside = list(thing)
    else:
        inside = list(getattr(thing, "__dict__", {}).values())
        if sp.issparse(thing):
            inside += [thing.data, thing.indices, thing.indptr]
    for part in inside:
        yield from arrays_within(part, seen)


def everything(model, path):
    """The bytes of a model in memory, in a pickle and in a file."""
    save(model, path)
    memory = b"|".join(a.tobytes() for a in arrays_within(model, {}) if a.dtype.kind in "fi")
    return {"memory": memory, "pickle": pickle.dumps(model), "file": path.read_bytes()}


def require_gone(model, values, path):
    for place, held in everything(model, path).items():
        left = [value for value in values if np.float64(value).tobytes() in held]
        assert not left, f"{left} in {place}"


def require_held(model, values, path):
    """The search finds what there is."""
    for place, held in everything(model, path).items():
        assert all(np.float64(value).tobytes() in held for value in values), place


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.lin"


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_row_that_was_forgotten(machine, kernel, sparse, path):
    X, targets = rows_and_targets(machine)
    table = sp.csr_array(X) if sparse else X
    model = machine(kernel=kernel, gamma=0.05, coef0=1.0).fit(table, *targets)
    values = [*X[ROW], *([TARGET] if machine is IncrementalSVR else [])]
    require_held(model, X[ROW], path)
    model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    _ = model.certificate_, model.support_vectors_
    model.forget(ROW)
    require_gone(model, values, path)
    require_held(model, X[ROW + 1], path)
    model.forget(np.arange(20, 80))  # from scratch, and gaps are closed
    require_gone(model, [*values, *X[20:80].ravel()], path)
    assert model.certificate_.status.startswith("Optimal")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_rows_that_a_window_had_no_room_for(machine, kernel, path):
    X, targets = rows_and_targets(machine)
    model = machine(kernel=kernel, gamma=0.05, coef0=1.0, window=30)
    for rows in (slice(0, 25), *(slice(i, i + 1) for i in range(25, 60))):
        model.partial_fit(X[rows], *(t[rows] for t in targets))
    held = model.ids_
    gone = np.setdiff1d(np.arange(60), held)
    assert len(gone) == 30
    require_gone(model, X[gone].ravel(), path)
    require_held(model, X[held].ravel(), path)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.filterwarnings("ignore:gamma")
def test_the_only_row_of_the_first_call(machine, kernel, path):
    """The origin was that row."""
    X, targets = rows_and_targets(machine)
    model = machine(kernel=kernel, gamma=0.05, coef0=1.0)
    model.partial_fit(X[:1], *(t[:1] for t in targets))
    for i in range(1, 40):
        model.partial_fit(X[i : i + 1], *(t[i : i + 1] for t in targets))
    model.forget(0)
    require_gone(model, X[0], path)
    assert model.certificate_.status.startswith("Optimal")
    other = machine(kernel=kernel, gamma=0.05, coef0=1.0)
    other.fit(X[1:40], *(t[1:40] for t in targets))
    decide = "predict" if machine is IncrementalSVR else "decision_function"
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(other, decide)(X), atol=1e-7)


def test_a_target_that_was_replaced(path):
    X, targets = rows_and_targets(IncrementalSVR)
    model = IncrementalSVR(gamma=0.05).fit(X, *targets)
    require_held(model, [TARGET], path)
    model.replace(ROW, y=1.0)
    require_gone(model, [TARGET], path)


def test_rows_that_were_refused(path):
    X, _ = rows_and_targets(IncrementalSVC)
    model = IncrementalSVC(C=np.inf, kernel="linear").fit(X, X[:, 0] > 5.0)
    bad = np.vstack([X[:1] + 1.2345678901234, X[:1] + 1.2345678901234])
    with pytest.raises(NotSeparableError):
        model.partial_fit(bad, [False, True])
    require_gone(model, bad.ravel(), path)


def test_an_interrupted_forgetting_leaves_the_origin(monkeypatch):
    X, (y,) = rows_and_targets(IncrementalSVC)
    model = IncrementalSVC(kernel="linear").partial_fit(X[:1], y[:1]).partial_fit(X[1:40], y[1:40])
    before = model.decision_function(X)
    machine = model._machine
    monkeypatch.setattr(machine, "_solve", lambda a: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        model.forget(0)
    monkeypatch.undo()
    assert model.ids_.tolist() == list(range(40))
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-9)
    assert model.forget(0).certificate_.status.startswith("Optimal")


def test_kernels_of_the_users_own_never_see_a_row_that_is_gone():
    def cosine(A, B):
        lengths = np.linalg.norm(A, axis=1)[:, None] * np.linalg.norm(B, axis=1)
        return (A @ B.T) / lengths

    X, (y,) = rows_and_targets(IncrementalSVC)
    model = IncrementalSVC(kernel=cosine, C=100.0).fit(X[:60], y[:60]).forget([3, 4])
    model.partial_fit(X[60:61], y[60:61])
    assert model.certificate_.status.startswith("Optimal")
    assert X[3, 0].tobytes() not in pickle.dumps(model._machine.kernel.rows)


def test_nothing_of_removed_rows_is_left_beside_the_factor():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(160, 2))
    y = np.where(X[:, 0] + rng.normal(size=160) > 0, 1, 0)
    model = IncrementalSVC(C=3.0, gamma=2.0).fit(X[:60], y[:60])
    for row in range(60, 160):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
        if row % 7 == 0:
            model.forget(rng.choice(model.sample_ids_, 3, replace=False))
            factor = model._machine.active_set.point.factor
            assert not factor.R[:, factor.size :].any()
            assert not np.tril(factor.R, -1).any()
