"""Operators of finding are the operators of the library."""

import pytest
import torch

from pgso import PRESETS, Graph, dense_pgso
from pgso.finding.blocks import Letter, Propagation

WEIGHTED = torch.tensor([1.0, 2.0, 0.5, 3.0, 1.5, 1.0])
EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 3, 1, 4]])  # one way, and a loop
ONE_WAY = Graph.from_edge_index(EDGES, WEIGHTED, num_nodes=6)
BOTH_WAYS = Graph.from_edge_index(torch.cat([EDGES[:, :5], EDGES[:, :5].flip(0)], 1), num_nodes=6)
S = (0.3, 1.2, -0.4, 0.7, -0.5, -0.2, 0.9)


def matrix(graph, letter):
    identity = torch.eye(graph.num_nodes, dtype=torch.float64)
    return Propagation(graph).operator(letter).times(identity)


@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"zeros"}))
def test_a_preset_is_its_matrix(name):
    A = BOTH_WAYS.to_torch_sparse().to_dense().double()
    A[5, 5] = 1  # no node without neighbours: what 0 to the power of 0 is, others decide
    graph = Graph.from_dense(A)
    torch.testing.assert_close(matrix(graph, Letter.of(name)), dense_pgso(A, name))


@pytest.mark.parametrize("direction", ["any", "in", "out"])
@pytest.mark.parametrize("graph", [ONE_WAY, BOTH_WAYS], ids=["directed", "undirected"])
def test_the_transpose_is_the_transpose(graph, direction):
    letter = Letter("learned", S, direction)
    identity = torch.eye(6, dtype=torch.float64)
    torch.testing.assert_close(
        Propagation(graph).operator(letter).T.times(identity), matrix(graph, letter).t()
    )


def test_in_and_out_have_degrees_on_both_sides():
    A = ONE_WAY.to_torch_sparse().to_dense().double()
    a, (d_in, d_out) = S[6], (A.sum(1) + S[6], A.sum(0) + S[6])
    A_a = A + a * torch.eye(6, dtype=torch.float64)

    def gamma(A, rows, columns):
        m1, m2, m3, e1, e2, e3, _ = S
        product = m2 * (rows**e2)[:, None] * A * columns**e3
        return m1 * (rows**e1).diag() + product + m3 * torch.eye(6, dtype=torch.float64)

    torch.testing.assert_close(matrix(ONE_WAY, Letter("x", S, "in")), gamma(A_a, d_in, d_out))
    torch.testing.assert_close(matrix(ONE_WAY, Letter("x", S, "out")), gamma(A_a.t(), d_out, d_in))


def test_any_direction_is_the_graph_with_all_reverses():
    undirected = Propagation(ONE_WAY).operator(Letter.of("gcn")).graph
    A = ONE_WAY.to_torch_sparse().to_dense()
    present = (A != 0).float() + (A.t() != 0).float()
    wanted = (A + A.t()) / present.clamp(min=1)
    torch.testing.assert_close(undirected.to_torch_sparse().to_dense(), wanted)
    assert undirected.is_undirected
    assert Propagation(BOTH_WAYS).operator(Letter.of("gcn")).graph is BOTH_WAYS


def test_S_has_a_gradient():
    x, letter = torch.randn(6, 2, dtype=torch.float64), Letter("x", S, "in")
    values = torch.tensor(S, dtype=torch.float64, requires_grad=True)

    def product(values):
        return Propagation(ONE_WAY).operator(letter, values).times(x)

    torch.testing.assert_close(product(values), product(None))
    assert torch.autograd.gradcheck(product, values)


def test_terms_are_written_as_banks_name_them():
    assert Letter.of("gcn").term == "gcn"
    assert Letter.of("mean", "out").term == "mean@out"
