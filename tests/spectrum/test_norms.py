"""Bounds on the norm of an operator."""

import networkx
import pytest
import torch
from hypothesis import given

from pgso import PGSO, Graph, dense_pgso, shift
from pgso.errors import InputError
from pgso.spectrum import operator_norm_bound
from tests.strategies import edge_lists, parameters

GRAPH = Graph.from_networkx(networkx.barabasi_albert_graph(20, 2, seed=0))


@given(edges=edge_lists(), S=parameters())
def test_it_bounds_the_norm_of_the_operator_on_any_graph(edges, S):
    norm = torch.linalg.matrix_norm(dense_pgso(edges.adjacency, S), 2)
    assert norm <= operator_norm_bound(edges.graph, S) * (1 + 1e-9) + 1e-9


def test_an_operator_per_channel_is_refused_in_words():
    op = PGSO("gcn", shape=("channel", 2)).on(torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(InputError, match="2 matrices, one for each channel"):
        operator_norm_bound(op)


def test_the_norm_of_an_expression_is_bounded():
    op = shift(GRAPH, "mean")
    expression = op @ op - 0.5 * op
    norm = float(torch.linalg.matrix_norm(expression.to_dense(), 2))
    assert norm <= operator_norm_bound(expression) < 3 * norm
