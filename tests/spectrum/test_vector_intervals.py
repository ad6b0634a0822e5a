"""Theorem 2 where S has a value per node or per channel."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pgso import Graph
from pgso.errors import InputError
from pgso.spectrum import gershgorin_interval
from tests.gso.test_channels import dense_by_node, graphs_with
from tests.strategies import parameters


@given(drawn=graphs_with(parameters(), "node", undirected=True), sign=st.sampled_from([-1, 1]))
def test_eigenvalues_are_real_and_inside_if_all_m2_have_one_sign(drawn, sign):
    edges, S = drawn
    S[1] = sign * S[1].abs()  # zeros among them
    low, high = gershgorin_interval(edges.graph, S)
    values = torch.linalg.eigvals(dense_by_node(edges.adjacency, S))
    slack = 1e-5 * (1 + float(values.abs().max()))
    assert values.imag.abs().max() <= 1e3 * slack  # repeated eigenvalues lose half the digits
    assert low.shape == high.shape == ()
    assert values.real.min() >= low - slack
    assert values.real.max() <= high + slack


def test_two_signs_give_complex_eigenvalues_and_are_refused():
    edge = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    S = torch.tensor([[0.0, 0.0], [1.0, -1.0], *[[0.0, 0.0]] * 5]).unsqueeze(2)
    assert torch.linalg.eigvals(dense_by_node(edge.to_torch_sparse().to_dense(), S)).imag.any()
    with pytest.raises(InputError, match="m2 is 1 at node 0 and -1 at its neighbour 1"):
        gershgorin_interval(edge, S)


@given(drawn=graphs_with(parameters(), "channel", undirected=True))
def test_every_channel_has_the_interval_of_its_own_operator(drawn):
    edges, S = drawn
    low, high = gershgorin_interval(edges.graph, S)
    for c in range(3):
        one = gershgorin_interval(edges.graph, S[:, 0, c])
        torch.testing.assert_close((low[c], high[c]), one)
