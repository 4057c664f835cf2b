"""What can be seen of an incremental machine: the same names before and after it has learned."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from tests.svm.incremental.failures import MACHINES, X, learned, rows_for

from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

#: Fitted attributes of all, and those of one.
ATTRIBUTES = (
    "sample_ids_", "ids_", "next_id_", "updates_", "certificate_", "support_", "support_vectors_",
    "free_support_", "bounded_support_", "dual_coef_", "intercept_", "shape_fit_",
)  # fmt: skip
#: Names that are there only with some parameters.
OTHERS = {
    "coef_", "predict_proba", "predict_log_proba", "stored_ids_", "window_", "window_history_",
    "window_cuts_",
}  # fmt: skip
OWN = {
    IncrementalSVC: ("margins_", "n_support_"),
    IncrementalSVR: (),
    IncrementalOneClassSVM: ("offset_",),
}


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("machine", MACHINES)
def test_every_name_that_is_listed_can_be_asked_for(machine, kernel):
    """Tab completion asks for all of them, and takes an AttributeError for an answer only."""
    fitted = {*ATTRIBUTES, *OWN[machine], *({"coef_"} if kernel == "linear" else ())}
    model = machine(kernel=kernel)
    for expected in (set(), fitted):
        names = set(dir(model))
        assert fitted & names == expected
        assert all(hasattr(model, name) for name in names)
        everywhere = {name for kind in machine.__mro__ for name in vars(kind)}
        missing = {name for name in everywhere if not hasattr(model, name)}
        assert missing - {"_model", "_holder", "_all_machines"} <= fitted | OTHERS
        model.fit(*rows_for(machine, 0, 20))


@pytest.mark.parametrize("machine", MACHINES)
def test_attributes_of_a_machine_that_holds_nothing_say_so(machine):
    for name in (*ATTRIBUTES, *OWN[machine]):
        with pytest.raises(NotFittedError, match="holds no samples yet"):
            getattr(machine(), name)
    with pytest.raises(AttributeError, match="only available when kernel='linear'"):
        machine().coef_  # noqa: B018


@pytest.mark.parametrize("machine", MACHINES)
def test_estimators_are_final_and_have_one_abstract_class_above_them(machine):
    between = [kind for kind in machine.__mro__ if kind.__module__.startswith("lindero")]
    assert len(between) == 2
    assert BaseEstimator in between[1].__bases__
    assert not machine.__subclasses__()


@pytest.mark.parametrize("machine", MACHINES)
def test_a_copy_of_a_machine_that_has_been_looked_at_goes_on(machine):
    model = learned(machine)
    decide = "predict" if machine is IncrementalSVR else "decision_function"
    values = getattr(model, decide)(X)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(getattr(copied, decide)(X), values)
    for each in (model, copied):
        each.partial_fit(*rows_for(machine, 20, 26))
    np.testing.assert_allclose(getattr(copied, decide)(X), getattr(model, decide)(X), atol=1e-9)
    assert not hasattr(clone(copied), "sample_ids_")


@pytest.mark.parametrize("machine", MACHINES)
def test_gamma_has_the_default_of_all_machines(machine):
    assert inspect.signature(machine).parameters["gamma"].default == "scale"
