"""The graph as a layer reads it, remembered as long as it lives."""

import gc
import weakref

import torch
from hypothesis import given

from pgso import shift
from pgso.conversion.layer import Reading
from pgso.graph import EdgeList
from tests.strategies import edge_lists, parameters

READINGS = [
    Reading(),
    Reading("fill"),
    Reading("fill", fill=2.0),
    Reading("drop", "outgoing"),
    Reading(degree="count", empty=1.0),
]


def dense(graph, S):
    """γ as a matrix, from a prepared graph or from edges in their order."""
    values, pattern = shift(graph, torch.tensor(S)).entries(), graph.pattern
    zeros = torch.zeros(graph.num_nodes, graph.num_nodes)
    return zeros.index_put((pattern.row.long(), pattern.col.long()), values, accumulate=True)


@given(edges=edge_lists(weights="positive"), S=parameters())
def test_prepared_and_as_they_come_the_edges_give_the_same_matrix(edges, S):
    for reading in READINGS:
        inputs = edges.edge_index, edges.edge_weight.float(), edges.num_nodes
        one, other = reading.graph(*inputs), reading.edges(*inputs)
        assert isinstance(other, EdgeList)
        torch.testing.assert_close(dense(one, S), dense(other, S), atol=1e-3, rtol=1e-4)


def test_an_existing_self_loop_keeps_its_weight_and_a_missing_one_is_filled():
    edge_index, weight = torch.tensor([[0, 0], [0, 1]]), torch.tensor([0.25, 1.0])
    edges = Reading("fill").edges(edge_index, weight, 2)
    assert edges.loops.tolist() == [-0.75, 0.0]  # a = 1 comes on top
    assert edges.degree.tolist() == [-0.75, 1.0]


def test_a_graph_is_prepared_once_and_again_when_it_or_its_weights_change():
    edge_index, weight = torch.tensor([[0, 1], [1, 1]]), torch.ones(2)
    reading = Reading("fill")
    first = reading.graph(edge_index, weight, 2)
    assert reading.graph(edge_index, weight, 2) is first
    assert reading.graph(edge_index, weight.clone(), 2) is not first
    edge_index[0, 0] = 1
    assert reading.graph(edge_index, weight, 2) is not first
    assert reading.graph(edge_index, None, 3).num_nodes == 3


def test_learned_weights_keep_their_gradient_and_are_not_kept():
    edge_index = torch.tensor([[0, 1], [1, 0]])
    weight = torch.ones(2, requires_grad=True)
    graph = Reading("fill").graph(edge_index, weight, 2)
    assert graph.degree.requires_grad
    assert Reading("fill").graph(edge_index, weight, 2) is not graph


def test_what_is_remembered_goes_with_the_edges():
    edge_index = torch.tensor([[0, 1], [1, 0]])
    known = weakref.ref(Reading("drop").graph(edge_index, None, 2))
    assert known() is not None
    del edge_index
    gc.collect()
    assert known() is None
