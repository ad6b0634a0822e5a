"""One process imports every module and takes every walk, for several tests."""

import pytest

from tests.architecture.test_budget import log_of_walks


@pytest.fixture(scope="session")
def walks() -> str:
    """What that process has written."""
    return log_of_walks()
