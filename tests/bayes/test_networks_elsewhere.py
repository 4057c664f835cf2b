"""Networks written here and read by pyAgrum and pgmpy, and the other way round."""

import numpy as np
import pgmpy.inference
import pgmpy.readwrite
import pyagrum
import pytest
from numpy.testing import assert_allclose

from tests.bayes.network_files import (
    awkward,
    complete_codes,
    from_bif,
    from_xmlbif,
    plain,
    random_network,
    to_bif,
    to_xmlbif,
)

FORMATS = {"bif": (to_bif, from_bif), "bifxml": (to_xmlbif, from_xmlbif)}
CASES = {"plain": plain, "awkward": awkward}
PGMPY = {"bif": pgmpy.readwrite.BIFReader, "bifxml": pgmpy.readwrite.XMLBIFReader}
PGMPY_WRITERS = {"bif": pgmpy.readwrite.BIFWriter, "bifxml": pgmpy.readwrite.XMLBIFWriter}


@pytest.fixture(params=FORMATS)
def suffix(request):
    return request.param


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


def posterior_of(network, codes):
    log_joint = network.log_joint(codes)
    joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def words_of(suffix, text):
    """Names, values, class and classes as the text spells them, without what it says of them."""
    lines = text.splitlines()
    bare = "\n".join(line for line in lines if "property" not in line.lower() or "role" in line)
    return FORMATS[suffix][1](bare)[1:]


def evidence_of(row, names, values):
    return {names[i]: values[i][code - 1] for i, code in enumerate(row) if code}


def observed(network):
    """Codes of rows, complete ones and ones with missing values."""
    codes = complete_codes(network)
    hidden = codes * (np.random.default_rng(2).random(codes.shape) < 0.6)
    return np.hstack([codes, hidden]).astype(np.uint8)


def test_pyagrum_gives_the_same_posterior(case, suffix, tmp_path):
    network, *rest = case
    path = tmp_path / f"network.{suffix}"
    path.write_text(FORMATS[suffix][0](network, *rest), encoding="utf-8")
    names, values, class_name, _ = words_of(suffix, path.read_text(encoding="utf-8"))
    codes = observed(network)
    inference = pyagrum.LazyPropagation(pyagrum.loadBN(str(path)))
    rtol = {"bif": 1e-4, "bifxml": 1e-9}[suffix]  # it reads BIF in single precision
    for row, expected in zip(codes.T, posterior_of(network, codes), strict=True):
        inference.setEvidence(evidence_of(row, names, values))
        found = inference.posterior(class_name).tolist()
        assert_allclose(found, expected, rtol=rtol, atol=1e-3 * rtol)


def test_pgmpy_gives_the_same_posterior(case, suffix):
    network, *rest = case
    text = FORMATS[suffix][0](network, *rest)
    names, values, class_name, classes = words_of(suffix, text)
    model = PGMPY[suffix](string=text).get_model()
    assert model.check_model()
    codes = observed(network)
    inference = pgmpy.inference.VariableElimination(model)
    for row, expected in zip(codes.T, posterior_of(network, codes), strict=True):
        evidence = evidence_of(row, names, values)
        found = inference.query([class_name], evidence=evidence, show_progress=False)
        assert found.state_names[class_name] == classes
        assert_allclose(found.values, expected, rtol=1e-9, atol=1e-12)


def test_a_single_class_is_taken_by_both(suffix, tmp_path):
    network = random_network([2, 3], 1, [(), (0,)], [True, True])
    text = FORMATS[suffix][0](network, ["a", "b"], [["x", "y"], ["x", "y", "z"]], "c", ["one"])
    path = tmp_path / f"network.{suffix}"
    path.write_text(text, encoding="utf-8")
    inference = pyagrum.LazyPropagation(pyagrum.loadBN(str(path)))
    inference.setEvidence({"a": "x", "b": "y"})
    assert_allclose(inference.posterior("c").tolist(), [1.0, 0.0])
    assert PGMPY[suffix](string=text).get_model().check_model()
    assert FORMATS[suffix][1](text)[4] == ["one"]


def test_what_pyagrum_writes_is_read(suffix, tmp_path):
    pyagrum.initRandom(7)
    model = pyagrum.fastBN("c{no|yes}->a[3]->b{x|y|z};c->b;a->d[2]")
    path = str(tmp_path / f"network.{suffix}")
    pyagrum.saveBN(model, path)
    with open(path, encoding="utf-8") as file:
        network, names, values, class_name, classes = FORMATS[suffix][1](file.read(), "c")
    assert (class_name, classes) == ("c", ["no", "yes"])
    inference = pyagrum.LazyPropagation(model)
    codes = complete_codes(network)
    for row, found in zip(codes.T, posterior_of(network, codes), strict=True):
        inference.setEvidence(evidence_of(row, names, values))
        assert_allclose(found, inference.posterior("c").tolist(), rtol=1e-4)  # it rounds


def test_what_pgmpy_writes_is_read(suffix):
    network, *rest = plain()
    model = PGMPY[suffix](string=FORMATS[suffix][0](network, *rest)).get_model()
    text = str(PGMPY_WRITERS[suffix](model))
    found, names, values, class_name, classes = FORMATS[suffix][1](text, "kind")
    assert (sorted(names), class_name) == (["letter", "size", "wet"], "kind")
    order = [names.index(name) for name in rest[0]]
    codes = complete_codes(network)
    moved = np.empty_like(codes)
    for i, k in enumerate(order):
        # Values may have been sorted on the way.
        place = [0] + [values[k].index(value) + 1 for value in rest[1][i]]
        moved[k] = np.array(place)[codes[i]]
    columns = [classes.index(c) for c in rest[3]]
    assert_allclose(posterior_of(found, moved)[:, columns], posterior_of(network, codes), rtol=1e-6)
