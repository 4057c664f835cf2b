"""Settings for the tests of model files."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """LIBSVM's threads wait for each other longer than they work on problems of this size."""
    with threadpool_limits(1):
        yield
