"""Blocks of rows: every row once, and each process sends what the others want."""

import copy
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pgso.errors import InputError
from pgso.graph import Graph
from pgso.scale.partition import Partition, balanced_bounds
from tests.scale.test_sampler import random_graph


@given(seed=st.integers(0, 99), blocks=st.integers(1, 5), n=st.integers(5, 20))
def test_blocks_are_whole_and_fit_together(seed, blocks, n):
    graph = random_graph(n=n, degree=3, weighted=True, loops=True, seed=seed)
    parts = [Partition.of(graph, rank, blocks) for rank in range(blocks)]
    assert sum(part.num_own for part in parts) == n
    assert min(part.num_own for part in parts) > 0
    dense = graph.to_torch_sparse().to_dense()
    for one in parts:
        halo = torch.cat(
            [torch.arange(0)]
            + [other.to_send.split(other.sent)[one.rank] + other.start for other in parts]
        )
        assert one.wanted == tuple(other.sent[one.rank] for other in parts)
        nodes = torch.cat([torch.arange(one.start, one.start + one.num_own), halo])
        rows = one.graph.to_torch_sparse().to_dense()[: one.num_own]
        torch.testing.assert_close(rows, dense[nodes[: one.num_own]][:, nodes])
        assert torch.equal(one.graph.degree, graph.degree[nodes])


def test_blocks_have_about_as_many_edges():
    graph = random_graph(n=400, degree=5)
    bounds = balanced_bounds(graph, 4)
    entries = graph.pattern.rowptr[list(bounds)].diff()
    assert entries.max() < 1.1 * entries.min()


def test_more_processes_than_nodes_are_refused():
    with pytest.raises(InputError, match="start 2 at most"):
        balanced_bounds(Graph.from_edge_index(torch.tensor([[0], [1]])), 3)


def test_a_copy_of_a_block_has_fetched_nothing():
    graph = random_graph(n=20, degree=3)
    part, x = Partition.of(graph, 0, 2), torch.zeros(1)
    part.fetched.of(x, lambda: x)
    for copied in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part)):
        assert copied.fetched.of(x, lambda: "made anew") == "made anew"
        assert torch.equal(copied.to_send, part.to_send)
    assert part.fetched.of(x, lambda: "made anew") is x
