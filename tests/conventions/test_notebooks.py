"""Every estimator in a notebook: names to complete, a card with certificate and documentation."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lindero.bayes
import lindero.svm
from lindero import notebook
from lindero.evaluation import TableEncoder

KINDS = [
    getattr(module, name)
    for module in (lindero.svm, lindero.bayes)
    for name in module.__all__
    if inspect.isclass(getattr(module, name)) and issubclass(getattr(module, name), BaseEstimator)
]

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
TWO = (X[:, 0] > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.4, 0.4])


def fit(kind, y):
    model = kind()
    if "n_clusters" in model.get_params():
        model.set_params(n_clusters=2)
    takes = inspect.signature(model.fit).parameters
    given = {"times": np.arange(30), "qid": np.repeat(np.arange(6), 5)}
    more = {name: values for name, values in given.items() if name in takes}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **more)


def assert_completes(model):
    """As an editor does that looks at every name, with its value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of old names
        assert {name for name, _ in inspect.getmembers(model)} <= set(dir(model))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_names_and_cards_of_estimators(kind):
    fresh = kind()
    assert_completes(fresh)
    assert "Not fitted" in fresh._repr_html_()
    for y in (TWO, THREE):
        try:
            model = fit(kind, y)
        except ValueError as error:  # of two classes only
            assert "class" in str(error)  # noqa: PT017
            continue
        assert_completes(model)
        card = model._repr_html_()
        assert "Documentation of" in model._repr_mimebundle_()["text/html"]
        assert f"Documentation of {kind.__name__}" in card
        assert "Parameters" in card
        if hasattr(getattr(model, "best_estimator_", model), "certificate_"):
            assert "Certificate: " in card
            assert "KKT gap" in card


def learn(kind, *parts):
    model = kind(gamma=0.5)
    for part in parts:
        rows = X[part]
        if kind is lindero.svm.IncrementalOneClassSVM:
            model.partial_fit(rows)
        elif kind is lindero.svm.IncrementalSVC:
            model.partial_fit(rows, TWO[part], classes=[0, 1])
        else:
            model.partial_fit(rows, TWO[part].astype(float))
    return model


@pytest.mark.parametrize(
    "kind",
    [
        lindero.svm.IncrementalSVC,
        lindero.svm.IncrementalSVR,
        lindero.svm.IncrementalOneClassSVM,
    ],
    ids=lambda kind: kind.__name__,
)
def test_machines_in_the_middle_of_learning_have_cards(kind):
    one_class = np.flatnonzero(TWO == 0)[:3]
    for parts in ([slice(0, 1)], [one_class], [slice(0, 1), slice(1, 20)]):
        try:
            model = learn(kind, *parts)
        except ValueError:
            continue
        assert_completes(model)
        assert "KKT gap" in model._repr_html_() or "Not fitted" in model._repr_html_()
    model = learn(kind, slice(0, 12))
    for sample in list(model.sample_ids_):
        try:
            model.forget(sample)
        except ValueError:
            break
        assert_completes(model)
        model._repr_html_()


def test_machines_that_move_have_cards_between_updates():
    model = fit(lindero.svm.AdaptiveSVC, TWO)
    model.partial_fit(X[:3], TWO[:3], times=np.arange(30, 33))
    assert_completes(model)
    assert "33 rows of a stream, regret" in model._repr_html_()
    model = lindero.svm.AdaptiveSVC(coupling=1e3).fit(X, TWO)
    model.partial_fit(X[:3], TWO[:3])
    assert_completes(model)
    assert "KKT gap" in model._repr_html_()


def test_copies_and_pipelines_have_cards():
    model = make_pipeline(StandardScaler(), lindero.svm.SVC()).fit(X, TWO)
    assert "SVC" in model._repr_html_()
    assert "Not fitted" in clone(model)[-1]._repr_html_()
    assert "Documentation of TableEncoder" in TableEncoder().fit(X)._repr_html_()


def test_the_link_is_made_from_the_address_of_the_package(monkeypatch):
    model = lindero.svm.SVC().fit(X, TWO)
    monkeypatch.setattr(notebook, "find_address", lambda: "https://docs.example.org/lindero")
    page = "https://docs.example.org/lindero/api/lindero.svm.SVC.html"
    assert notebook.link_documentation(model) == page
    assert f'href="{page}"' in model._repr_html_()
    monkeypatch.setattr(notebook, "find_address", lambda: "")
    assert model._get_doc_link() == ""
    assert "its page" not in model._repr_html_()
    assert "lindero.svm.SVC.html" not in model._repr_html_()
    assert "Documentation of SVC" in model._repr_html_()  # its docstring is there without a network


def test_nothing_in_a_card_is_code():
    model = lindero.svm.SVC(kernel=lambda a, b: a @ b.T).fit(X, TWO)
    assert "<lambda>" not in model._repr_html_()


def test_unfitted_certificates_are_errors_that_hasattr_knows():
    with pytest.raises(NotFittedError):
        _ = lindero.svm.IncrementalSVC().certificate_
