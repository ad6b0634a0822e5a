"""Theorem 1: γ(A, S) has a real spectrum, and real eigenvectors, for every S."""

import torch
from hypothesis import given

from pgso import dense_pgso
from pgso.spectrum import symmetrised
from tests.strategies import edge_lists, parameters


@given(edges=edge_lists(undirected=True), S=parameters())
def test_the_spectrum_is_real_and_that_of_the_symmetric_matrix(edges, S):
    gamma = dense_pgso(edges.adjacency, S)
    symmetric = symmetrised(edges.graph.to(torch.float64), S).to_dense()
    actual = torch.linalg.eigvals(gamma)
    wanted = torch.linalg.eigvalsh(symmetric)
    # A non-symmetric solver loses half the digits where eigenvalues coincide.
    slack = 1e-6 * (1 + float(torch.linalg.matrix_norm(gamma)))
    assert actual.imag.abs().max() <= slack
    assert (actual.real.sort().values - wanted).abs().max() <= slack


@given(edges=edge_lists(undirected=True), S=parameters())
def test_the_characteristic_polynomial_is_that_of_the_symmetric_matrix(edges, S):
    gamma = dense_pgso(edges.adjacency, S)
    symmetric = symmetrised(edges.graph.to(torch.float64), S).to_dense()
    identity = torch.eye(edges.num_nodes, dtype=torch.float64)
    for shift in (-1.5, 0.25, 2.0):
        one, other = (torch.linalg.det(M - shift * identity) for M in (gamma, symmetric))
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-7 * max(1.0, float(one.abs())))
