import pytest
import torch

from tests.training.tasks import write_triangles_and_paths


@pytest.fixture(scope="session")
def shapes_root(tmp_path_factory):
    """A data root with one collection of graphs."""
    root = tmp_path_factory.mktemp("data")
    write_triangles_and_paths(root)
    return root


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
