"""Equation (1), against the formula written out entry by entry."""

import pytest
import torch
from hypothesis import given, settings
from torch.autograd import gradcheck

from pgso import dense_pgso
from pgso.gso.formula import positive_power
from tests.strategies import edge_lists, parameters, smooth_parameters


@given(edges=edge_lists(), S=parameters())
def test_every_entry_is_that_of_equation_1(edges, S):
    m1, m2, m3, e1, e2, e3, a = S
    A = edges.adjacency.tolist()
    d_a = [sum(row) + a for row in A]

    def power(i, exponent):
        return d_a[i] ** exponent if d_a[i] > 0 else float(exponent == 0)

    wanted = [
        [
            m2 * power(i, e2) * (A_ij + a * (i == j)) * power(j, e3)
            + (m1 * power(i, e1) + m3) * (i == j)
            for j, A_ij in enumerate(row)
        ]
        for i, row in enumerate(A)
    ]
    torch.testing.assert_close(dense_pgso(edges.adjacency, S), torch.tensor(wanted).double())


@settings(max_examples=15)
@given(edges=edge_lists(max_nodes=4), S=smooth_parameters())
def test_it_is_differentiable_in_the_matrix_and_in_S(edges, S):
    A = edges.adjacency.requires_grad_()
    vector = torch.tensor(S, dtype=torch.float64, requires_grad=True)
    assert gradcheck(dense_pgso, (A, vector), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_answer_has_the_type_of_the_matrix(dtype):
    A = torch.ones(2, 2, dtype=dtype)
    for S in ("gcn", torch.ones(7, dtype=torch.float64), torch.ones(7)):
        assert dense_pgso(A, S).dtype == dtype


def test_integer_matrices_are_read_as_floating_point():
    assert dense_pgso(torch.tensor([[0, 1], [1, 0]]), "laplacian").tolist() == [[1, -1], [-1, 1]]


def test_an_empty_matrix_has_an_empty_operator():
    assert dense_pgso(torch.empty(0, 0), "gcn").shape == (0, 0)


@pytest.mark.parametrize("exponent", [-2.0, -0.5, 0.0, 0.5, 1.0])
def test_the_power_of_nothing_is_zero_or_one_and_has_no_gradient(exponent):
    base = torch.tensor([0.0, -1.0, 4.0], requires_grad=True)
    learned = torch.tensor(exponent, requires_grad=True)
    power = positive_power(base, learned)
    nothing = float(exponent == 0)  # x⁰ = 1
    assert power.tolist() == [nothing, nothing, 4**exponent]
    for_base, for_exponent = torch.autograd.grad(power.sum(), (base, learned))
    assert for_base.tolist() == pytest.approx([0, 0, exponent * 4 ** (exponent - 1)])
    assert for_exponent.item() == pytest.approx(4**exponent * 1.3862944)
