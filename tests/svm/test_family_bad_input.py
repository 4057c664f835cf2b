"""What SVR, NuSVC, NuSVR and OneClassSVM refuse, in words that help, without being changed."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from clouds import two_clouds
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from tests.refusals import refused

from lindero.errors import KernelError
from lindero.svm import SVR, NuSVC, NuSVR, OneClassSVM

MACHINES = [SVR, NuSVR, OneClassSVM, NuSVC]
REGRESSORS = [SVR, NuSVR]

X, LABELS = two_clouds(40)
TARGETS = X[:, 0] + 0.1 * X[:, 1]


def y_for(machine):
    return LABELS if machine is NuSVC else TARGETS


def with_value(value):
    changed = X.copy()
    changed[3, 1] = value
    return changed


@pytest.fixture(params=[False, True], ids=["new", "fitted before"])
def make(request):
    """A machine of a class, new or fitted before."""

    def make(machine, **params):
        model = machine(**params)
        if request.param:
            model = machine().fit(X, y_for(machine)).set_params(**params)
        return model

    return make


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (with_value(np.nan), ValueError, "NaN"),
        (with_value(np.inf), ValueError, "infinity"),
        (X[:0], ValueError, "0 sample"),
        (X[0], ValueError, "2D array"),
        (X.astype(complex), ValueError, "[Cc]omplex"),
        (X.astype(str), ValueError, "numbers|could not convert|dtype"),
        (pd.DataFrame({"town": ["a", "b"] * 20}), ValueError, "'town'.*text"),
    ],
    ids=["NaN", "infinite", "empty", "one dimension", "complex", "text", "text column"],
)
def test_bad_tables(make, machine, data, error, message):
    model = make(machine)
    with refused(model, error, message):
        model.fit(data, y_for(machine)[: len(data)])


@pytest.mark.parametrize("machine", REGRESSORS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(TARGETS > 0, np.nan, TARGETS), "NaN"),
        (np.where(TARGETS > 0, np.inf, TARGETS), "infinity"),
        (TARGETS[:-1], "39.*40"),
        (np.column_stack([TARGETS, TARGETS]), "1d array"),
        (None, "requires y"),
        (np.full(40, "high"), "could not convert"),
    ],
    ids=["NaN", "infinite", "too few", "two columns", "missing", "text"],
)
def test_bad_targets(make, machine, y, message):
    model = make(machine)
    with refused(model, ValueError, message):
        model.fit(X, y)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(39), "sample_weight.shape"),
        (-np.ones(40), "[Nn]egative"),
        (np.full(40, np.nan), "NaN"),
        (np.zeros(40), "zero"),
    ],
    ids=["too few", "negative", "NaN", "all zero"],
)
def test_bad_weights(make, machine, weights, message):
    model = make(machine)
    with refused(model, ValueError, message):
        model.fit(X, y_for(machine), sample_weight=weights)


@pytest.mark.parametrize(
    ("machine", "name", "value"),
    [
        *((machine, "C", value) for machine in REGRESSORS for value in (0.0, -1.0, "big")),
        *((machine, "C", np.inf) for machine in REGRESSORS if machine is not SVR),
        *((SVR, "epsilon", value) for value in (-0.1, "wide", None)),
        *((machine, "kernel", "gaussian") for machine in MACHINES),
        *((machine, "gamma", -1.0) for machine in MACHINES),
        *((machine, "degree", -1) for machine in MACHINES),
        *((machine, "tol", 0.0) for machine in MACHINES),
        *((machine, "cache_size", 0) for machine in MACHINES),
        *((machine, "time_limit", -1.0) for machine in MACHINES),
        (SVR, "solver", "simplex"),
    ],
)
def test_bad_parameters(make, machine, name, value):
    model = make(machine, **{name: value})
    with refused(model, ValueError, f"'{name}' parameter"):
        model.fit(X, y_for(machine))


@pytest.mark.parametrize("machine", MACHINES)
def test_bad_kernels(make, machine):
    model = make(machine, kernel="precomputed")
    with refused(model, ValueError, r"square kernel matrix.*\(40, 4\)"):
        model.fit(X, y_for(machine))
    model = make(machine, kernel=lambda A, B: np.zeros(len(A)))
    with refused(model, KernelError, "must return"):
        model.fit(X, y_for(machine))


def test_interior_points_need_the_linear_kernel(make):
    model = make(SVR, solver="interior_point")
    with refused(model, ValueError, "needs kernel='linear'"):
        model.fit(X, TARGETS)


@pytest.mark.parametrize("machine", MACHINES)
def test_predictions_before_a_fit_or_of_another_width(machine):
    with pytest.raises(NotFittedError):
        machine().predict(X)
    model = machine().fit(X, y_for(machine))
    with pytest.raises(ValueError, match=r"3 features.*expecting 4"):
        model.predict(X[:, :3])


@pytest.mark.parametrize("machine", [SVR, NuSVR])
def test_a_stopped_fit_is_usable_says_what_is_left_and_can_go_on(machine):
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((600, 5))
    y = rng.standard_normal(600)
    model = machine(C=1e3, max_iter=20, warm_start=True)
    with pytest.warns(ConvergenceWarning, match=r"max_iter.*gap left is"):
        model.fit(wide, y)
    assert model.fit_status_ == 1
    assert np.isfinite(model.predict(wide)).all()
    first = model.certificate_.dual
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(max_iter=2000).fit(wide, y)
    assert model.certificate_.dual > first


@pytest.mark.parametrize("machine", MACHINES)
def test_a_callback_sees_progress_and_can_stop(machine):
    reports = []
    model = machine(callback=lambda report: reports.append(report) or len(reports) > 1)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((900, 5))
    y = np.arange(900) % 2 if machine is NuSVC else rng.standard_normal(900)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, y)
    assert len(reports) == 2
    assert reports[0].tol <= model.tol
    assert model.certificate_.status.startswith("Stopped by the callback")


@pytest.mark.parametrize("machine", REGRESSORS)
def test_targets_given_again_are_looked_at(machine):
    model = machine().fit(X, TARGETS)
    assert model.certify(X, TARGETS[:, None]).kkt_gap <= model.tol
    for y, message in (
        (None, "targets given to fit"),
        (np.where(TARGETS > 0, np.nan, TARGETS), "NaN"),
        (TARGETS[:-1], r"40 rows.*39"),
    ):
        with pytest.raises(ValueError, match=message):
            model.certify(X, y)


@pytest.mark.parametrize("machine", MACHINES)
def test_tables_of_all_kinds_give_the_same_machine(machine):
    y = y_for(machine)
    whole = np.round(4 * X)
    expected = machine(gamma=0.1).fit(whole, y).predict(whole)
    for table in (whole.astype(np.int8), whole.astype(np.float32), sp.csr_array(whole)):
        found = machine(gamma=0.1).fit(table, y).predict(table)
        np.testing.assert_allclose(found, expected, atol=2e-3)
    frame = pd.DataFrame(whole, columns=list("abcd"))
    model = machine(gamma=0.1).fit(frame, y)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-9)
