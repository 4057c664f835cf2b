"""What incremental machines refuse, in words that help, without being changed in any way."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from tests.svm.incremental.failures import (
    LABELS,
    MACHINES,
    TARGETS,
    WEIGHTS,
    X,
    goes_on,
    learned,
    refused,
    rows_for,
    y_for,
)

from lindero.errors import KernelError
from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR


def with_value(value, n=6):
    changed = X[20 : 20 + n].copy()
    changed[n // 2, 1] = value
    return changed


# -- rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (with_value(np.nan), "NaN"),
        (with_value(np.inf), "infinity"),
        (with_value(np.nan, 40), "NaN"),
        (X[20:26, :3], "3 features.*expecting 4"),
        (X[:0], "0 sample"),
        (X[20], "2D array"),
        (X[20:26].astype(complex), "[Cc]omplex"),
        (X[20:26].astype(str), "numbers|could not convert|dtype"),
        (sp.csr_array(X[20:26, :3]), "3 features.*expecting 4"),
        (pd.DataFrame({name: ["x"] * 6 for name in "abcd"}), "text"),
    ],
    ids=[
        "NaN", "infinite", "NaN among many", "narrow", "empty", "one dimension", "complex", "text",
        "sparse narrow", "text columns",
    ],
)  # fmt: skip
def test_a_bad_table_changes_nothing_at_all(machine, table, message):
    model = learned(machine)
    n = len(table) if not sp.issparse(table) else table.shape[0]
    y = () if machine is IncrementalOneClassSVM else (y_for(machine)[:n],)
    with refused(model, ValueError, message):
        model.partial_fit(table, *y)
    goes_on(model)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2, 0, 1, 0], "label.*2.*classes are.*0, 1"),
        ([0, 1, 0, 0, 1], "5 values.*6 rows"),
        ([0.5, 1, 0, 0, 1, 0], "[Uu]nknown label type|label.*0.5"),
        ([np.nan, 1, 0, 0, 1, 0], "NaN"),
        (None, "y"),
        (np.zeros((6, 2)), "1d array"),
        (["0", "1", "a", "1", "0", "0"], "label|type"),
    ],
    ids=["third", "too few", "fraction", "NaN", "missing", "two columns", "text"],
)
def test_bad_labels(labels, message):
    model = learned(IncrementalSVC)
    with refused(model, ValueError, message):
        model.partial_fit(X[20:26], labels)
    goes_on(model)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (np.where(TARGETS[20:26] > 0, np.nan, 1.0), "NaN"),
        (np.where(TARGETS[20:26] > 0, np.inf, 1.0), "infinity"),
        (TARGETS[20:25], "5 values.*6 rows"),
        (None, "y is needed"),
        (["high"] * 6, "could not convert"),
    ],
    ids=["NaN", "infinite", "too few", "missing", "text"],
)
def test_bad_targets(targets, message):
    model = learned(IncrementalSVR)
    with refused(model, ValueError, message):
        model.partial_fit(X[20:26], targets)
    goes_on(model)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, -1, 1, 1, 1], "not negative|[Nn]egative"),
        ([1, 1, np.nan, 1, 1, 1], "nan|NaN|finite"),
        ([1, 1, np.inf, 1, 1, 1], "inf|finite"),
        ([1, 1, 1], r"3|\(6,\)"),
        ([1e308] * 6, "overflow"),
    ],
    ids=["negative", "NaN", "infinite", "too few", "huge"],
)
def test_bad_costs(machine, weights, message):
    model = learned(machine)
    with refused(model, ValueError, message):
        model.partial_fit(
            *rows_for(machine, 20, 26), **{WEIGHTS.get(machine, "sample_weight"): weights}
        )
    goes_on(model)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_sample_of_no_weight_takes_no_part(machine):
    model = learned(machine)
    decide = "predict" if machine is IncrementalSVR else "decision_function"
    before = getattr(model, decide)(X)
    name = WEIGHTS.get(machine, "sample_weight")
    model.partial_fit(*rows_for(machine, 20, 21), **{name: [0.0]})
    assert model.sample_ids_.tolist() == list(range(21))
    np.testing.assert_allclose(getattr(model, decide)(X), before, atol=1e-9)
    model.replace(20, **{name: 1.0})
    other = learned(machine, 21)
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(other, decide)(X), atol=1e-8)
    model.replace(20, **{name: 0.0})
    np.testing.assert_allclose(getattr(model, decide)(X), before, atol=1e-8)


# -- classes --------------------------------------------------------------------------------------


def test_labels_that_were_not_declared():
    model = IncrementalSVC(gamma="auto").partial_fit(X[:3], np.zeros(3, int), classes=[0, 1])
    with refused(model, ValueError, "label.*7.*as declared"):
        model.partial_fit(X[3:5], [0, 7])
    new = IncrementalSVC(gamma="auto")
    with pytest.raises(ValueError, match=r"label.*7.*as declared"):
        new.partial_fit(X[:2], [0, 7], classes=[0, 1])
    assert vars(new).keys() == new.get_params().keys()


@pytest.mark.parametrize("declared", [[0, 1], None])
def test_classes_other_than_those_of_the_first_call(declared):
    model = IncrementalSVC(gamma="auto").partial_fit(X[:10], LABELS[:10], classes=declared)
    model.partial_fit(X[10:12], LABELS[10:12], classes=[1, 0])
    with refused(model, ValueError, r"classes=\[0, 2\] differs from the \[0, 1\]"):
        model.partial_fit(X[12:14], LABELS[12:14], classes=[0, 2])


@pytest.mark.parametrize("classes", [[0], [0, 1, 2]])
def test_classes_that_are_not_two(classes):
    new = IncrementalSVC(gamma="auto")
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        new.partial_fit(X[:4], np.zeros(4, int), classes=classes)
    with pytest.raises(NotFittedError):
        new.predict(X)


def test_three_classes_at_once():
    with pytest.raises(ValueError, match="multiclass"):
        IncrementalSVC(gamma="auto").partial_fit(X[:3], [0, 1, 2])


def test_a_positive_class_that_does_not_come():
    model = IncrementalSVC(positive_class="ill", gamma="auto").partial_fit(X[:2], ["well", "well"])
    with refused(model, ValueError, "positive_class='ill' is not among the classes"):
        model.partial_fit(X[2:3], ["unknown"])
    model.partial_fit(X[2:3], ["ill"])
    assert model.classes_.tolist() == ["ill", "well"]


def test_labels_of_another_type_than_the_first_are_not_mixed_with_them():
    model = IncrementalSVC(gamma="auto").partial_fit(X[:2], [0, 0])
    with refused(model, ValueError, "label|type"):
        model.partial_fit(X[2:3], ["a"])


# -- ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (99, "No sample of id 99 is held"),
        (-1, "No sample of id -1 is held"),
        ([1, 99, 2], "No sample of id 99 is held"),
        (list(range(50, 60)), "50, 51, 52, 53, 54 and 5 more"),
        ([1, 1], "1 more than once"),
        (1.0, "integer"),
        ([1.0, 2.0], "integer"),
        ("1", "integer"),
        ([[1, 2]], "integer"),
        (True, "integer"),
        (None, "integer"),
    ],
    ids=str,
)
def test_ids_that_are_none(machine, ids, message):
    model = learned(machine)
    name = WEIGHTS.get(machine, "sample_weight")
    with refused(model, ValueError, message):
        model.forget(ids)
    with refused(model, ValueError, message):
        model.replace(ids, **{name: 2.0})


@pytest.mark.parametrize("machine", MACHINES)
def test_a_sample_cannot_be_forgotten_twice(machine):
    model = learned(machine).forget([3, 5])
    with refused(model, ValueError, "No sample of id 5 is held"):
        model.forget([4, 5])
    assert 4 in model.sample_ids_


def test_the_last_sample_of_a_class_stays():
    model = IncrementalSVC(C=1e4, gamma="auto").fit(X[:10], [0] * 9 + [1])
    with refused(model, ValueError, "no sample of class .*1.*Learn another"):
        model.forget(9)
    with refused(model, ValueError, "no sample of class .*0"):
        model.forget(list(range(9)))
    with refused(model, ValueError, "no sample of class .*1"):
        model.replace(9, 0)
    with refused(model, ValueError, "no sample of class"):
        model.replace([8, 9], [0, 0])
    model.replace([8, 9], [1, 0])
    assert model.forget(9).predict(X[8:9]).tolist() == [1]


@pytest.mark.parametrize("machine", MACHINES)
def test_the_last_sample_stays(machine):
    model = machine(gamma="auto").partial_fit(*rows_for(machine, 0, 1))
    with refused(model, ValueError, "no sample"):
        model.forget(0)


@pytest.mark.parametrize(
    ("machine", "given", "message"),
    [
        (IncrementalSVC, {"y": 7}, "label.*7"),
        (IncrementalSVC, {"y": [0, 1, 1]}, r"shape \(3,\).*2 ids"),
        (IncrementalSVC, {"sample_cost": -1.0}, "not negative"),
        (IncrementalSVC, {"sample_cost": [1.0, 2.0, 3.0]}, r"shape \(3,\).*2 ids"),
        (IncrementalSVC, {"sample_cost": np.nan}, "finite"),
        (IncrementalSVR, {"y": np.nan}, "NaN"),
        (IncrementalSVR, {"y": "high"}, "could not convert"),
        (IncrementalSVR, {"sample_weight": [1.0, -2.0]}, "[Nn]egative"),
        (IncrementalOneClassSVM, {"sample_weight": -2.0}, "[Nn]egative"),
        (IncrementalOneClassSVM, {"sample_weight": np.inf}, "inf"),
    ],
)
def test_bad_replacements(machine, given, message):
    model = learned(machine)
    with refused(model, ValueError, message):
        model.replace([3, 4], **given)


def test_the_other_class_does_not_come_by_replacing():
    model = IncrementalSVC(gamma="auto").partial_fit(X[:3], [0, 0, 0])
    with refused(model, ValueError, "samples of the other class come by partial_fit"):
        model.replace(1, 1)


# -- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "name", "value"),
    [
        *((machine, "kernel", value) for machine in MACHINES for value in ("precomputed", "cubic")),
        *((machine, "window", value) for machine in MACHINES for value in (1, 0, -3, 2.5, "big")),
        *((machine, "gamma", -1.0) for machine in MACHINES),
        *((machine, "cache_size", 0) for machine in MACHINES),
        *((IncrementalSVC, "C", value) for value in (0.0, -1.0, "big", np.nan)),
        *((IncrementalSVR, "C", value) for value in (0.0, -1.0, np.inf)),
        (IncrementalSVR, "epsilon", -0.1),
        *((IncrementalOneClassSVM, "nu", value) for value in (0.0, 1.1, "half")),
        (IncrementalSVC, "cost_positive", 0.0),
    ],
)
def test_bad_parameters(machine, name, value):
    new = machine(**{name: value})
    for call in (new.fit, new.partial_fit):
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            call(*rows_for(machine, 0, 20))
    assert vars(new).keys() == new.get_params().keys()
    model = learned(machine)
    model.set_params(**{name: value})
    with refused(model, ValueError, f"'{name}' parameter"):
        model.fit(*rows_for(machine, 0, 20))


@pytest.mark.parametrize("value", [0.5, 0.2, -1.0])
@pytest.mark.parametrize("labels", [LABELS, np.zeros(60, int)], ids=["both", "one class"])
def test_costs_of_negatives_that_no_machine_has(value, labels):
    new = IncrementalSVC(cost_negative=value, gamma="auto")
    with pytest.raises(ValueError, match="cost_negative must be above 1/2"):
        new.partial_fit(X, labels)
    with pytest.raises(NotFittedError):
        new.predict(X)


@pytest.mark.parametrize("machine", MACHINES)
def test_before_any_sample(machine):
    new = machine()
    name = WEIGHTS.get(machine, "sample_weight")
    for call in (
        lambda: new.predict(X),
        lambda: new.forget(0),
        lambda: new.replace(0, **{name: 1.0}),
        new.certify,
        new.leave_one_out,
        lambda: new.certificate_,
        lambda: new.sample_ids_,
        lambda: new.updates_,
        lambda: new.support_,
        lambda: new.intercept_,
    ):
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize("machine", [IncrementalSVC, IncrementalSVR])
@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_ends_of_a_path_that_are_none(machine, value):
    model = learned(machine)
    with refused(model, ValueError, "C_from must be positive and finite"):
        model.path(value, 1.0)
    with refused(model, ValueError, "C_to must be positive and finite"):
        model.path(1.0, value)
    path = model.path(0.5, 2.0)
    for outside in (0.49, 2.01, np.nan):
        with pytest.raises(ValueError, match="not on the path"):
            path.at(outside)


@pytest.mark.parametrize("machine", MACHINES)
def test_too_few_samples_for_leaving_one_out(machine):
    model = machine(gamma="auto").partial_fit(*rows_for(machine, 0, 1))
    with refused(model, ValueError, "leave_one_out needs two samples"):
        model.leave_one_out()


def test_a_kernel_of_the_users_own_that_fails_in_the_middle():
    def moody(A, B):
        if len(B) and B.max() > 50:
            raise RuntimeError("too large for me")
        return A @ B.T + 1.0

    model = IncrementalSVC(kernel=moody, gamma="auto").fit(X[:20], LABELS[:20])
    bad = X[20:26].copy()
    bad[3, 0] = 60.0
    with refused(model, RuntimeError, "too large for me"):
        model.partial_fit(bad, LABELS[20:26])
    goes_on(model)


def test_a_kernel_of_the_users_own_of_the_wrong_shape():
    new = IncrementalSVC(kernel=lambda A, B: np.zeros(len(A)))
    with pytest.raises(KernelError, match="must return"):
        new.fit(X, LABELS)
    assert vars(new).keys() == new.get_params().keys()
