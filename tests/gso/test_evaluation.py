"""γ at one S is computed once, for as long as its graph lives."""

import gc
import weakref

import pytest
import torch

from pgso import Graph
from pgso.gso.evaluation import evaluation_of
from pgso.gso.message_passing import pgso_entries

S = torch.tensor([0.3, 1.2, -0.4, 0.7, -0.5, 0.2, 0.6])


def directed_graph() -> Graph:
    return Graph.from_edge_index(
        torch.tensor([[0, 1, 2, 2, 3], [1, 2, 0, 3, 3]]), torch.tensor([1.0, 2.0, 0.5, 3.0, 1.5])
    )


def test_the_same_numbers_are_evaluated_once():
    graph = directed_graph()
    first = evaluation_of(graph, S, False)
    assert evaluation_of(graph, S.clone(), False) is first
    assert first.entries(graph) is first.entries(graph)


@pytest.mark.parametrize("other", [(S + 0.1, False), (S.double(), False), (S, True)])
def test_other_numbers_types_and_sides_are_evaluated_again(other):
    graph = directed_graph()
    first = evaluation_of(graph, S, False)
    assert evaluation_of(graph, *other) is not first


def test_transposed_entries_are_those_of_the_transposed_matrix():
    graph = directed_graph()
    evaluation = evaluation_of(graph, S, False)
    dense = torch.zeros(4, 4)
    dense[graph.pattern.row.long(), graph.pattern.col.long()] = evaluation.entries(graph)
    transposed = torch.zeros(4, 4)
    rows, cols = graph.transposed.row.long(), graph.transposed.col.long()
    transposed[rows, cols] = evaluation.transposed_entries(graph)
    torch.testing.assert_close(transposed, dense.t())


def test_plain_entries_are_the_watched_ones():
    graph = directed_graph()
    with torch.no_grad():
        plain = pgso_entries(graph, S)
    torch.testing.assert_close(plain, pgso_entries(graph, S.clone().requires_grad_()).detach())


def test_what_is_remembered_goes_with_the_graph():
    graph = directed_graph()
    evaluation = evaluation_of(graph, S, False)
    evaluation.transposed_entries(graph)
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None
