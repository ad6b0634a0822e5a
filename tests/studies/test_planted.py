"""Generated worlds are what they are called."""

import numpy as np
import pytest

from pgso import load_task
from pgso.data.description import adjusted_homophily
from pgso.errors import InputError, UnknownNameError
from pgso_studies.planted import WORLDS


@pytest.mark.parametrize("world", WORLDS)
def test_a_world_is_whole_and_the_same_each_time(world):
    task, again = (load_task("planted", world=world, nodes=200, seed=1) for _ in range(2))
    assert task.num_nodes == 200
    assert len(task.y.unique()) == task.num_classes >= 2
    assert task.x.equal(again.x)
    assert task.graph.edge_index.equal(again.graph.edge_index)
    assert task.graph.is_undirected != world.startswith("citations")
    assert not (task.graph.edge_index[0] == task.graph.edge_index[1]).any()


@pytest.mark.parametrize(
    ("alike", "low", "high"), [(0.9, 0.7, 1), (0.5, -0.1, 0.1), (0.1, -1, -0.7)]
)
def test_blocks_are_as_homophilous_as_they_say(alike, low, high):
    task = load_task("planted", world=f"blocks-2-{alike:g}")
    assert low <= adjusted_homophily(task) <= high


def test_a_core_has_more_edges_and_sides_have_none_within():
    core = load_task("planted", world="core-periphery-6")
    degree = core.graph.degree.numpy()
    assert degree[core.y == 1].mean() > 4 * degree[core.y == 0].mean()
    sides = load_task("planted", world="bipartite-sides")
    source, target = sides.graph.edge_index
    assert (sides.y[source] != sides.y[target]).all()


def test_citations_go_back_in_time():
    citing, cited = load_task("planted", world="citations-cited").graph.edge_index.numpy()
    assert (cited < citing).all()
    assert np.bincount(cited).max() > 3 * np.bincount(citing).max()


def test_what_there_is_not_is_refused():
    with pytest.raises(UnknownNameError, match="no world is called 'flat'"):
        load_task("planted", world="flat")
    with pytest.raises(InputError, match="between 20 and a million"):
        load_task("planted", nodes=3)
    with pytest.raises(InputError, match="nodes must be a whole number"):
        load_task("planted", nodes=50.5)
