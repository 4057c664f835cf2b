"""The list of machines is complete, and says what is true."""

import inspect
import re

import pytest
from sklearn.base import BaseEstimator

import lindero.bayes
import lindero.svm
from lindero.evaluation import MACHINES, find_machine, identify_machine, make_machine
from lindero.evaluation.build import unwrap_machine


def public_estimators():
    named = [
        getattr(module, name) for module in (lindero.svm, lindero.bayes) for name in module.__all__
    ]
    return {thing for thing in named if inspect.isclass(thing) and issubclass(thing, BaseEstimator)}


@pytest.mark.parametrize("name", MACHINES)
def test_every_path_leads_to_an_estimator_with_the_parameters_listed(name):
    machine = MACHINES[name]
    parameters = inspect.signature(machine.load()).parameters
    assert issubclass(machine.load(), BaseEstimator)
    assert set(machine.grid) <= set(parameters)
    assert set(machine.preset) <= set(parameters)


def test_every_public_estimator_has_a_name():
    assert len(public_estimators()) > 15
    assert {machine.load() for machine in MACHINES.values()} == public_estimators()


def test_names_are_in_kebab_case_and_each_has_words():
    for name, machine in MACHINES.items():
        assert machine.name == name
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
        assert machine.one_line.endswith(".")


@pytest.mark.parametrize("name", MACHINES)
def test_an_estimator_knows_which_machine_it_is_of(name):
    assert identify_machine(make_machine(name)) is MACHINES[name]


@pytest.mark.parametrize("name", MACHINES)
def test_times_and_targets_are_as_the_list_says(name):
    machine = MACHINES[name]
    parameters = inspect.signature(machine.load().fit).parameters
    assert machine.takes_times == ("times" in parameters)
    assert (machine.task == "ranking") == ("qid" in parameters)
    optional = parameters["y"].default is None
    assert machine.has_target != optional


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("scv", "svc"), ("SVC", "svc"), ("naive_bayes", "naive-bayes"), ("ranksvm", "rank-svm")],
)
def test_a_mistyped_name_is_guessed(typed, meant):
    with pytest.raises(ValueError, match=f"did you mean '{meant}'"):
        find_machine(typed)


def test_a_name_like_no_other_lists_all():
    with pytest.raises(ValueError, match="svc, nu-svc"):
        find_machine("xyzzy")


def test_an_estimator_of_elsewhere_is_of_no_machine():
    from sklearn.svm import SVC, LinearSVC

    assert identify_machine(LinearSVC()) is None
    assert identify_machine(SVC()) is None


def test_presets_parameters_and_seeds_reach_the_estimator():
    assert make_machine("tan-tm").learning == "discriminative"
    assert make_machine("tan-tm", {"learning": "generative"}).learning == "generative"
    assert unwrap_machine(make_machine("nu-svr", {"nu": 0.3})).nu == 0.3
    assert make_machine("tm-clustering", random_state=7).random_state == 7
    assert make_machine("tm-clustering", {"random_state": 1}, random_state=7).random_state == 1


def test_categories_are_a_matter_of_the_table_encoder():
    model = make_machine("svc", {"C": 2, "categorical_features": ["code"]})
    assert model[0].categorical_features == ["code"]
    assert model[1].C == 2
    assert make_machine("tan", {"categorical_features": "all"}).categorical_features == "all"
