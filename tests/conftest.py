"""How the tests run: the same examples on every machine of CI, fresh ones at a desk."""

import os

import pytest
import torch
from hypothesis import HealthCheck, settings

settings.register_profile(
    "desk", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("desk"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.fixture(autouse=True)
def _same_random_numbers():
    torch.manual_seed(0)
