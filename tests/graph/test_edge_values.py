"""Values on edges: spread from nodes, summed and normalised over neighbourhoods."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from pgso.graph import EdgeList
from pgso.graph.degrees import on_edges, softmax_over_edges, sum_over_edges
from tests.strategies import edge_lists, random_features


@st.composite
def graphs(draw):
    edges = draw(edge_lists())
    if draw(st.booleans()):
        return edges.graph
    return EdgeList.of(edges.edge_index, edges.edge_weight, edges.num_nodes)


def values_on(graph):
    return random_features(graph.pattern.row.numel(), 2)


@given(graph=graphs())
def test_an_entry_has_the_values_of_its_row_and_column(graph):
    values = random_features(graph.num_nodes, 2)
    assert torch.equal(on_edges(values, graph.pattern.row), values[graph.pattern.row])
    assert torch.equal(on_edges(values, graph.pattern.col), values[graph.pattern.col])


@given(graph=graphs())
def test_sums_are_taken_over_rows(graph):
    values = values_on(graph)
    wanted = torch.zeros(graph.num_nodes, 2, dtype=torch.float64)
    for row, value in zip(graph.pattern.row.tolist(), values, strict=True):
        wanted[row] += value
    torch.testing.assert_close(sum_over_edges(graph, values), wanted)


@given(graph=graphs())
def test_the_softmax_is_that_of_each_row(graph):
    logits = 100 * values_on(graph)
    actual = softmax_over_edges(graph, logits)
    for row in range(graph.num_nodes):
        entries = graph.pattern.row == row
        torch.testing.assert_close(actual[entries], logits[entries].softmax(0))


@settings(max_examples=15)
@given(graph=graphs())
def test_everything_is_differentiable(graph):
    nodes = random_features(graph.num_nodes, 2).requires_grad_()
    entries = values_on(graph).requires_grad_()
    for function, inputs in (
        (lambda graph, values: on_edges(values, graph.pattern.col), nodes),
        (sum_over_edges, entries),
        (softmax_over_edges, entries),
    ):
        assert gradcheck(lambda values, function=function: function(graph, values), (inputs,))


@given(edges=edge_lists())
def test_the_edges_as_they_come_have_the_degrees_of_the_graph(edges):
    unsorted = EdgeList.of(edges.edge_index, edges.edge_weight, edges.num_nodes)
    assert torch.equal(unsorted.degree.double(), edges.adjacency.sum(1))
    assert unsorted.num_nodes == edges.num_nodes
