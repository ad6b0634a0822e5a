"""How the tests run: the same examples on every machine of CI, fresh ones at a desk."""

import gc
import os

import networkx
import pytest
import torch
from hypothesis import HealthCheck, settings

settings.register_profile(
    "desk", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("desk"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


# What older versions of torch cannot do with γ: with 2.6 these tests fail (docs/installation.md).
NEWER_TORCH = ("compile", "export", "forward_derivatives", "func_grad")


def pytest_collection_modifyitems(items):
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    for item in items if version < (2, 13) else ():
        if any(word in item.name for word in NEWER_TORCH):
            item.add_marker(pytest.mark.skip(reason="tested with torch 2.13 and later"))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without garbage collection, which takes 4 of 12 seconds here.

    The 700,000 objects of modules and tests stay until the end. Later they are not looked at
    again, which takes half a second each time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def real_layout():
    """Place the nodes of pictures in 2 steps instead of 80, which took an eighth of the time.

    Every finding and every comparison draws its graph; only ``test_drawing.py`` looks at it, and
    sets back the real function, which this fixture returns.
    """
    real = networkx.spring_layout

    def rough(graph, **options):
        return real(graph, **{**options, "iterations": 2})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networkx, "spring_layout", rough)
        yield real


@pytest.fixture(autouse=True)
def _same_random_numbers():
    torch.manual_seed(0)
