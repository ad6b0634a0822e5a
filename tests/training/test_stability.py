import torch
from hypothesis import given
from hypothesis import strategies as st

from pgso import PGSO, Graph
from pgso.spectrum import gershgorin_interval
from pgso.training.learning import limit_radius
from tests.strategies import edge_lists, parameters


def certified_radius(graph, gso):
    return max(abs(float(end)) for end in gershgorin_interval(graph, gso.S.detach()))


@given(edge_lists(undirected=True), parameters(), st.sampled_from([0.01, 0.5, 1.0, 3.0]))
def test_the_certified_radius_is_limited_and_nothing_but_the_scale_changes(edges, S, radius):
    graph, gso = edges.graph, PGSO(S)
    before, old = certified_radius(graph, gso), gso.S.detach().clone()
    limit_radius([gso], graph, radius)
    now = gso.S.detach()
    torch.testing.assert_close(now[3:], old[3:], rtol=0, atol=0)
    if before <= radius:
        torch.testing.assert_close(now, old, rtol=0, atol=0)
    else:
        torch.testing.assert_close(now[:3], old[:3] * (radius / before), rtol=1e-5, atol=1e-12)
        assert certified_radius(graph, gso) <= radius


def test_the_operator_goes_on_learning():
    path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    gso = PGSO("adjacency")
    limit_radius([gso], Graph.from_edge_index(path), 0.5)
    gso(torch.randn(3, 2), path).square().sum().backward()
    assert all(parameter.grad is not None for parameter in gso.parameters())


def test_an_operator_that_is_no_longer_finite_is_left_to_the_session():
    gso = PGSO("gcn")
    with torch.no_grad():
        gso.m1.fill_(float("nan"))
    limit_radius([gso], Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]])), 0.5)
    assert gso.m2.item() == 1
