"""Files that earlier versions wrote are loaded, and answer what they answered then."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.persist import inspect, load
from lindero.persist.container import FORMAT_VERSION
from tests.persist.model_bank import Case, answers, cases

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*/*.lin"))


def test_every_case_of_this_format_has_a_file():
    stored = [path for path in FILES if path.parent.name == f"format-{FORMAT_VERSION}"]
    known = {json.loads(path.with_suffix(".json").read_text())["case"] for path in stored}
    assert {case.name for case in cases() if case.rows is not None} <= known


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_stored_file_answers_as_it_did(path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    rows = expected["rows"]
    if expected["sparse"]:
        rows = sp.csr_array(np.array(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = answers(Case(path.stem, load, rows), load(path))
    assert len(told) == len(expected["answers"])
    for values, before in zip(told, expected["answers"], strict=True):
        if values.dtype.kind == "f":
            # Other processors round otherwise.
            np.testing.assert_allclose(values, before, rtol=1e-8, atol=1e-10)
        else:
            assert values.tolist() == before
    assert inspect(path).format_version == int(path.parent.name.removeprefix("format-"))
