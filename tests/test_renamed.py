"""Old names of parameters still work, and warn at the user's line."""

import inspect
import pickle

import pytest
from sklearn.base import BaseEstimator, clone

from lindero.renamed import current_names, renamed_parameters


@renamed_parameters(max_passes="max_iter", fit="criterion")
class Model(BaseEstimator):
    def __init__(self, a=1, *, max_iter=10, criterion="bic"):
        self.a = a
        self.max_iter = max_iter
        self.criterion = criterion

    def fit(self):
        return self


def test_an_old_name_sets_the_new_parameter_and_warns_here():
    with pytest.warns(
        FutureWarning, match="'max_passes' of Model is now called 'max_iter'"
    ) as told:
        model = Model(2, max_passes=5)
    assert told[0].filename == __file__
    assert (model.a, model.max_iter) == (2, 5)


def test_the_signature_and_the_parameters_have_new_names_only():
    assert list(inspect.signature(Model).parameters) == ["a", "max_iter", "criterion"]
    assert Model(max_iter=3).get_params() == {"a": 1, "max_iter": 3, "criterion": "bic"}


@pytest.mark.filterwarnings("error")
def test_new_names_do_not_warn():
    model = Model(max_iter=3).set_params(criterion="cll")
    copies = clone(model), pickle.loads(pickle.dumps(model))
    assert all(copy.get_params() == model.get_params() for copy in copies)


def test_set_params_takes_old_names():
    with pytest.warns(FutureWarning, match="max_passes"):
        model = Model().set_params(max_passes=7, a=3)
    assert (model.a, model.max_iter) == (3, 7)


def test_an_attribute_of_an_old_name_is_the_new_one():
    model = Model(max_iter=3)
    with pytest.warns(FutureWarning, match="max_passes"):
        assert model.max_passes == 3
    with pytest.warns(FutureWarning, match="max_passes"):
        model.max_passes = 4
    assert model.max_iter == 4


def test_a_method_keeps_its_name():
    with pytest.warns(FutureWarning, match="'fit' of Model is now called 'criterion'"):
        model = Model(fit="cll")
    assert model.criterion == "cll"
    assert model.fit() is model


@pytest.mark.parametrize("call", [Model, Model().set_params])
def test_both_names_at_once_are_refused(call):
    with pytest.raises(TypeError, match="both 'max_iter' and its old name 'max_passes'"):
        call(max_iter=1, max_passes=2)


@pytest.mark.filterwarnings("error")
def test_parameters_of_old_files_get_their_new_names():
    assert current_names(Model, {"a": 1, "max_passes": 2}) == {"a": 1, "max_iter": 2}
    assert current_names(BaseEstimator, {"a": 1}) == {"a": 1}
