"""Packages that only some tests here need."""

import pytest


@pytest.fixture
def river():
    return pytest.importorskip("river", reason="river is not installed")
