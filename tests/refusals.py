"""A call that must fail, with a message that helps, and leave the estimator as it was."""

from __future__ import annotations

import re
from contextlib import contextmanager

import numpy as np
import pytest


@contextmanager
def refused(model, error, message):
    """The block raises `error`, its text matches `message`, and `model` is exactly as before."""
    before = dict(vars(model))
    contents = {name: np.array(value, copy=True) for name, value in arrays_of(before)}
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        yield
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    for name, value in arrays_of(vars(model)):
        np.testing.assert_array_equal(value, contents[name])


def arrays_of(attributes):
    return [(name, value) for name, value in attributes.items() if isinstance(value, np.ndarray)]
