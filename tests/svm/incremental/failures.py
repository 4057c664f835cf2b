"""Calls of incremental machines that must fail and change nothing, for the tests of such."""

from __future__ import annotations

import re
from contextlib import contextmanager

import numpy as np
import pytest
from tests.svm.clouds import two_clouds
from tests.svm.incremental.life import assert_unchanged, state_of

from lindero.svm import IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

MACHINES = [IncrementalSVC, IncrementalSVR, IncrementalOneClassSVM]
X, LABELS = two_clouds(60)
TARGETS = X[:, 0] + 0.3 * X[:, 1]
WEIGHTS = {IncrementalSVC: "sample_cost"}


def y_for(machine):
    return LABELS if machine is IncrementalSVC else TARGETS


def rows_for(machine, start, stop):
    """What partial_fit takes for some rows."""
    if machine is IncrementalOneClassSVM:
        return (X[start:stop],)
    return X[start:stop], y_for(machine)[start:stop]


def learned(machine, n=20, **params):
    return machine(**{"gamma": "auto", **params}).fit(*rows_for(machine, 0, n))


@contextmanager
def refused(model, error, message, probe=X):
    """The block raises `error`, and the machine is as before and can go on learning."""
    before = state_of(model, probe)
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        yield
    assert_unchanged(model, before, probe)


def goes_on(model):
    """Learn the rest, and be what a machine is that never failed."""
    machine = type(model)
    decide = "predict" if machine is IncrementalSVR else "decision_function"
    model.partial_fit(*rows_for(machine, 20, 26))
    other = machine(**model.get_params()).fit(*rows_for(machine, 0, 26))
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(other, decide)(X), atol=1e-8)
    assert model.sample_ids_.tolist() == list(range(26))
