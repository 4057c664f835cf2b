"""Every public estimator can be saved, and every attribute it has is checked when it is loaded."""

import inspect
import rlcompleter

import pytest
from sklearn.base import BaseEstimator

import lindero
import lindero.bayes
import lindero.evaluation
import lindero.svm
from lindero.persist import load, save
from lindero.persist.fields import Fields
from lindero.persist.registry import EstimatorKind, all_kinds, kind_of
from tests.persist.model_bank import cases

KINDS = tuple(all_kinds())


def public_estimators():
    """Estimators among the public names of all packages."""
    found = {}
    for package in (lindero, lindero.svm, lindero.bayes, lindero.evaluation):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isclass(thing) and issubclass(thing, BaseEstimator):
                found[name] = thing
    return found


ESTIMATORS = public_estimators()


def test_there_are_public_estimators():
    assert len(ESTIMATORS) > 20


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_public_estimator_is_registered(name):
    kind = kind_of(ESTIMATORS[name]())
    assert isinstance(kind, EstimatorKind), (
        f"{name} cannot be saved: give it an entry among the KINDS of lindero.persist.kinds, and "
        "cases in tests/persist/model_bank.py."
    )
    assert kind.name.endswith(f".{name}")


def test_every_public_estimator_has_a_fitted_case():
    fitted = {type(case.made()).__name__ for case in cases() if case.rows is not None}
    assert set(ESTIMATORS) - fitted <= {"TableEncoder"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_entry_names_a_class(kind):
    assert f"{kind.type.__module__}:{kind.type.__qualname__}" == kind.home


def test_names_are_given_once():
    assert len({kind.name for kind in KINDS}) == len({kind.home for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.rows is not None], ids=lambda case: case.name
)
def test_every_fitted_attribute_is_checked(case):
    estimator = case.made()
    kind = kind_of(estimator)
    given = Fields(kind.name, kind.state(estimator), estimator)
    kind.check(given)
    assert given.unasked == set(), "the check of its entry does not look at these attributes"


@pytest.mark.parametrize("name", lindero.evaluation.MACHINES)
def test_every_machine_by_name_can_be_saved(name, tmp_path):
    machine = lindero.evaluation.make_machine(name, {})
    save(machine, tmp_path / "model.lin")
    assert repr(load(tmp_path / "model.lin")) == repr(machine)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_every_name_of_a_fitted_estimator_can_be_asked_for(case):
    """Tab completion asks for all that `dir` lists, and takes an AttributeError for an answer."""
    estimator = case.made()
    names = [*dir(estimator), *(name for kind in type(estimator).__mro__ for name in vars(kind))]
    for name in names:
        getattr(estimator, name, None)
    completer = rlcompleter.Completer({"estimator": estimator})
    assert completer.complete("estimator.fi", 0).startswith("estimator.fit")
