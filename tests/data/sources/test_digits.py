import pytest

from pgso.data import load_task
from pgso.errors import InputError


def test_an_image_is_joined_with_at_least_its_neighbours():
    task = load_task("digits", neighbours=4)
    assert task.graph.is_undirected
    assert task.graph.loops is None
    assert int(task.graph.degree.min()) >= 4


@pytest.mark.parametrize("neighbours", [0, 1797, 2.5, 10.0, True])
def test_impossible_numbers_of_neighbours_are_refused(neighbours):
    with pytest.raises(InputError, match="neighbours must be a whole number from 1 to 1,796"):
        load_task("digits", neighbours=neighbours)
