"""A sparse matrix times features, and its gradients."""

import pytest
import torch
from hypothesis import given, settings
from torch.autograd import gradcheck

from pgso.graph import EdgeList, Graph, product, row_dots, weighted_product
from tests.strategies import edge_lists, random_features


def dense(pattern, values):
    n = pattern.shape[0]
    matrix = values.new_zeros(n, n)
    return matrix.index_put((pattern.row.long(), pattern.col.long()), values, accumulate=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@given(edges=edge_lists())
def test_the_product_is_that_of_the_dense_matrix(dtype, edges):
    pattern = edges.graph.pattern
    values = random_features(pattern.row.numel(), 1, dtype=dtype).flatten()
    x = random_features(edges.num_nodes, dtype=dtype)
    wanted = dense(pattern, values.double()) @ x.double()
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(
        product(pattern, values, x).double(), wanted, rtol=16 * eps, atol=16 * eps
    )


@settings(max_examples=15)
@given(edges=edge_lists(max_nodes=4))
def test_the_weighted_product_is_differentiable_in_values_and_features(edges):
    graph = edges.graph
    values = random_features(graph.pattern.row.numel(), 1).flatten().requires_grad_()
    x = random_features(edges.num_nodes, 2).requires_grad_()
    assert gradcheck(lambda values, x: weighted_product(graph, values, x), (values, x))


@given(edges=edge_lists())
def test_unsorted_edges_give_the_same_weighted_product(edges):
    unsorted = EdgeList.of(edges.edge_index, edges.edge_weight, edges.num_nodes)
    values = random_features(unsorted.pattern.row.numel(), 1).flatten()
    x = random_features(edges.num_nodes)
    torch.testing.assert_close(
        weighted_product(unsorted, values, x), dense(unsorted.pattern, values) @ x
    )


@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (3, 0)])
def test_row_dots_are_the_dot_products_of_rows(shape):
    left, right = torch.randn(shape), torch.randn(shape)
    torch.testing.assert_close(row_dots(left, right), (left * right).sum(1))


def test_row_dots_of_half_precision_are_taken_in_single():
    ones = torch.ones(1, 1000, dtype=torch.bfloat16)
    assert row_dots(ones, ones).dtype == torch.float32
    assert row_dots(ones, ones).tolist() == [1000]


def test_gradients_of_values_hold_over_several_blocks_of_entries():
    graph = Graph.from_edge_index(torch.randint(60, (2, 3000)), torch.ones(3000) / 2)
    pattern = graph.pattern
    values = random_features(pattern.row.numel(), 1).flatten().requires_grad_()
    x, g = random_features(60, 512), random_features(60, 512)  # 512 entries to a block
    (actual,) = torch.autograd.grad(weighted_product(graph, values, x), values, g)
    assert actual.numel() > 1024
    torch.testing.assert_close(actual, (g @ x.t())[pattern.row, pattern.col])
