"""The products of several heads as one call, against a product of each head."""

import pytest
import torch
from hypothesis import given

from pgso import Graph
from pgso.graph import product, products, turn
from tests.strategies import edge_lists


def one_by_one(graph, values, x, transposed=False):
    """The slow truth: a product of each head."""
    pattern = graph.transposed if transposed else graph.pattern
    values = turn(values, graph) if transposed else values
    parts = zip(values.unbind(1), x.unbind(1), strict=True)
    return torch.stack([product(pattern, head.contiguous(), part) for head, part in parts], 1)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@given(edges=edge_lists())
def test_all_heads_at_once_have_the_digits_of_each_head(transposed, dtype, edges):
    graph = edges.graph
    values = torch.randn(graph.pattern.row.numel(), 3, dtype=dtype)
    x = torch.randn(edges.num_nodes, 3, 5, dtype=dtype)
    wanted = one_by_one(graph, values, x, transposed)
    assert torch.equal(products(graph, values, x, transposed), wanted)


@pytest.mark.parametrize("width", [1, 4, 8, 33])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_digits_are_the_same_for_long_rows_of_any_width(width, transposed):
    torch.manual_seed(0)
    graph = Graph.from_edge_index(torch.randint(40, (2, 900)))
    values, x = torch.randn(graph.pattern.row.numel(), 8), torch.randn(40, 8, width)
    wanted = one_by_one(graph, values, x, transposed)
    assert torch.equal(products(graph, values, x, transposed), wanted)
    strided = x.transpose(0, 1).contiguous().transpose(0, 1)  # heads that lie apart
    assert torch.equal(products(graph, values, strided, transposed), wanted)


@pytest.mark.parametrize("size", [(0, 2, 3), (2, 2, 0)])
def test_there_may_be_nothing_to_multiply(size):
    graph = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), num_nodes=size[0])
    values = torch.ones(size[0], 2)
    assert products(graph, values, torch.ones(size)).shape == size


@pytest.mark.parametrize("transposed", [False, True])
def test_targets_and_sources_may_be_two_sets_of_nodes(transposed):
    torch.manual_seed(0)
    edges = torch.stack([torch.randint(7, (30,)), torch.randint(4, (30,))])
    graph = Graph.from_edge_index(edges, num_nodes=(4, 7))
    values, x = torch.randn(graph.pattern.row.numel(), 3), torch.randn(4 if transposed else 7, 3, 5)
    wanted = one_by_one(graph, values, x, transposed)
    assert torch.equal(products(graph, values, x, transposed), wanted)
