"""The symmetric matrix similar to γ, and the transform between them."""

import pytest
import torch
from hypothesis import assume, given

from pgso import Graph, dense_pgso, polynomial, shift
from pgso.errors import InputError
from pgso.spectrum import density, eigenvalues, symmetrised, symmetriser
from tests.strategies import edge_lists, parameters


@given(edges=edge_lists(undirected=True), S=parameters())
def test_it_is_T_inverse_gamma_T_and_symmetric(edges, S):
    d_a = edges.adjacency.sum(1) + S[6]
    assume((d_a > 0).all() or (S[4] == 0) == (S[5] == 0))  # else there is no T
    graph = edges.graph.to(torch.float64)
    matrix, T = symmetrised(graph, S).to_dense(), symmetriser(graph, S)
    gamma = dense_pgso(edges.adjacency, S)
    torch.testing.assert_close(matrix, matrix.t())
    torch.testing.assert_close(matrix, gamma * T / T.unsqueeze(1), rtol=1e-9, atol=1e-9)


@given(edges=edge_lists(undirected=True), S=parameters())
def test_the_transform_is_a_power_of_the_degrees_and_can_be_inverted(edges, S):
    *_, e2, e3, a = S
    assume((edges.adjacency.sum(1) + a > 0).all() or (e2 == 0) == (e3 == 0))
    T = symmetriser(edges.graph.to(torch.float64), S)
    degrees = edges.adjacency.sum(1).tolist()
    wanted = [(d + a) ** ((e2 - e3) / 2) if d + a > 0 else 1.0 for d in degrees]
    torch.testing.assert_close(T, torch.tensor(wanted, dtype=torch.float64))
    assert T.min() > 0


def test_eigenvectors_come_back_through_the_transform():
    graph = Graph.from_dense([[0, 2, 1, 0], [2, 0, 3, 0], [1, 3, 1, 1], [0, 0, 1, 0.0]])
    S = (0.3, -0.8, 0.5, 0.7, -0.4, 0.9, 1.2)
    values, vectors = torch.linalg.eigh(symmetrised(graph, S).to_dense())
    gamma = dense_pgso(graph.to_torch_sparse().to_dense(), S)
    w = symmetriser(graph, S).unsqueeze(1) * vectors
    torch.testing.assert_close(gamma @ w, w * values)


def test_a_symmetric_operator_is_left_as_it_is():
    graph = Graph.from_dense(torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    A = graph.to_torch_sparse().to_dense()
    torch.testing.assert_close(symmetrised(graph, "gcn").to_dense(), dense_pgso(A, "gcn"))
    assert symmetriser(graph, "gcn").tolist() == [1, 1, 1]


def test_both_are_differentiable_in_S():
    S = torch.tensor([0.0, 1, 0, 0, -1, 0, 1], requires_grad=True)
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    (symmetrised(graph, S).to_dense().square().sum() + symmetriser(graph, S).sum()).backward()
    assert S.grad.isfinite().all()
    assert S.grad[4] != 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_they_have_the_wider_type_of_graph_and_S(dtype):
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]])).to(dtype)
    for S in ("mean", torch.ones(7, dtype=torch.float64), torch.ones(7)):
        wider = dtype if isinstance(S, str) else torch.promote_types(dtype, S.dtype)
        assert symmetrised(graph, S).dtype == symmetriser(graph, S).dtype == wider


@pytest.mark.parametrize(
    "make",
    [
        lambda op: -2 * op,
        lambda op: 0.5 * op**0 - op,
        lambda op: op**3,
        lambda op: polynomial(2 * op + op**0, [0.3, -1.0, 0.5], "chebyshev"),
    ],
)
def test_expressions_have_a_symmetric_twin_too(make):
    graph = Graph.from_dense([[0, 2, 1, 0], [2, 0, 3, 0], [1, 3, 1, 1], [0, 0, 1, 0.0]])
    op = make(shift(graph.to(torch.float64), (0.3, -0.8, 0.5, 0.7, -0.4, 0.9, 1.2)))
    matrix, T = symmetrised(op).to_dense(), symmetriser(op)
    torch.testing.assert_close(matrix, matrix.t())
    torch.testing.assert_close(matrix, op.to_dense() * T / T.unsqueeze(1))


def test_an_operator_per_channel_has_no_single_twin():
    op = shift(torch.tensor([[0, 1], [1, 0]]), torch.ones(7, 1, 2))
    for function in (symmetrised, eigenvalues, density):
        with pytest.raises(InputError, match="a spectrum per channel"):
            function(op)
