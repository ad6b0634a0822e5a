"""Every preset, also one that is added tomorrow."""

import math

import pytest
import torch

from pgso import PGSO, PRESETS, Graph, PGSOParameters, apply_pgso, dense_pgso
from pgso.spectrum import gershgorin_interval

EDGES = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 3]])  # node 3 has a self-loop, node 4 nothing


@pytest.fixture(params=PRESETS)
def name(request):
    return request.param


def test_it_is_seven_finite_numbers_under_a_plain_name(name):
    S = PRESETS[name]
    assert isinstance(S, PGSOParameters)
    assert all(math.isfinite(value) for value in S)
    assert name.isidentifier()
    assert name == name.lower()


def test_it_can_be_learned_and_fixed_by_name(name):
    assert PGSO(name).parameters_tuple() == pytest.approx(PRESETS[name])
    assert not list(PGSO(name, learn=False).parameters())


def test_it_acts_and_learns_on_a_graph_with_an_isolated_node(name):
    graph, x = Graph.from_edge_index(EDGES, num_nodes=5), torch.randn(5, 3)
    gso = PGSO(name)
    out = gso(x, graph)
    torch.testing.assert_close(
        out, dense_pgso(graph.to_torch_sparse().to_dense(), name) @ x, rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(out, apply_pgso(x, graph, name))
    out.square().sum().backward()
    assert all(parameter.grad.isfinite() for parameter in gso.parameters())


def test_it_has_an_interval(name):
    low, high = gershgorin_interval(Graph.from_edge_index(EDGES, num_nodes=5), name)
    assert -math.inf < low <= high < math.inf
