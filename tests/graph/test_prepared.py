"""A raw edge_index is prepared once, noticed when it changes, and forgotten with the tensor."""

import gc
import weakref

import pytest
import torch
from torch_geometric.data import Data

from pgso import PGSO, Graph, apply_pgso
from pgso.errors import InputError


@pytest.fixture
def edges():
    return torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_the_same_tensor_gives_the_same_graph(edges):
    assert Graph.of(edges) is Graph.of(edges)
    assert Graph.of(edges, num_nodes=5) is Graph.of(edges, num_nodes=5)


def test_an_equal_but_different_tensor_gives_another_graph(edges):
    assert Graph.of(edges) is not Graph.of(edges.clone())


def test_a_change_in_place_is_noticed(edges):
    before = Graph.of(edges)
    edges[:, 2:] = 0
    after = Graph.of(edges)
    assert after is not before
    assert after.num_nodes == 2
    assert after.degree.tolist() == [3, 1]


def test_the_answer_does_not_depend_on_what_was_asked_before(edges):
    assert Graph.of(edges).num_nodes == 3
    assert Graph.of(edges, num_nodes=7).num_nodes == 7
    assert Graph.of(edges).num_nodes == 3


def test_two_sizes_of_one_edge_index_are_both_remembered(edges):
    small, large = Graph.of(edges), Graph.of(edges, num_nodes=7)
    assert Graph.of(edges) is small
    assert Graph.of(edges, num_nodes=7) is large


def test_too_few_nodes_are_refused_also_the_second_time(edges):
    Graph.of(edges)
    with pytest.raises(InputError, match="names node 2"):
        Graph.of(edges, num_nodes=2)


def test_a_graph_is_forgotten_when_its_edge_index_dies():
    edges = torch.tensor([[0, 1], [1, 0]])
    graph = weakref.ref(Graph.of(edges))
    assert graph() is not None
    del edges
    gc.collect()
    assert graph() is None


def test_an_old_graph_is_forgotten_when_its_edge_index_changes(edges):
    graph = weakref.ref(Graph.of(edges))
    edges.zero_()
    Graph.of(edges)
    gc.collect()
    assert graph() is None


def test_weights_are_remembered_by_identity_and_version(edges):
    weight = torch.tensor([2.0, 2.0, 3.0, 3.0])
    weighted = Graph.of(edges, weight)
    assert Graph.of(edges, weight) is weighted
    weight[0] = 5.0
    assert Graph.of(edges, weight).degree.tolist() == [2, 8, 3]
    assert Graph.of(edges, torch.ones(4)).degree.tolist() == [1, 2, 1]
    assert Graph.of(edges).degree.tolist() == [1, 2, 1]


def test_weights_that_died_are_not_mistaken_for_none(edges):
    Graph.of(edges, torch.full((4,), 2.0))
    gc.collect()
    assert Graph.of(edges).weight is None


def test_the_weights_are_not_kept_alive(edges):
    weight = torch.full((4,), 2.0)
    alive = weakref.ref(weight)
    Graph.of(edges, weight)
    del weight
    gc.collect()
    assert alive() is None


def test_the_structure_is_shared_between_weights(edges):
    first, second = Graph.of(edges, torch.rand(4)), Graph.of(edges, torch.rand(4))
    assert first.pattern is second.pattern


def test_learned_weights_survive_several_backward_passes(edges):
    weight = torch.rand(4, requires_grad=True)
    collected = []
    for _ in range(2):
        weight.grad = None
        apply_pgso(torch.eye(3), edges, "gcn", weight).square().sum().backward()
        collected.append(weight.grad)
    assert torch.equal(*collected)
    assert collected[0].abs().min() > 0


def test_a_learned_operator_survives_several_backward_passes(edges):
    gso = PGSO("gcn")
    for _ in range(2):
        gso(torch.eye(3), edges).square().sum().backward()
    assert gso.e2.grad != 0


def test_a_graph_first_seen_in_inference_mode_can_be_trained_on(edges):
    weight, fixed = torch.rand(4, requires_grad=True), torch.full((4,), 2.0)
    with torch.inference_mode():
        Graph.of(edges)
        Graph.of(edges, fixed)
    apply_pgso(torch.eye(3), edges, "gcn", weight).sum().backward()
    assert weight.grad is not None
    gso = PGSO("gcn")
    gso.on(edges, fixed).to_torch_sparse().to_dense().sum().backward()
    assert gso.m2.grad is not None


def test_tensors_made_in_inference_mode_are_prepared_each_time():
    with torch.inference_mode():
        edges = torch.tensor([[0, 1], [1, 0]])
        assert Graph.of(edges).num_edges == 2
        edges[1, 1] = 1
        assert Graph.of(edges).degree.tolist() == [0, 2]


def test_whatever_stands_for_a_graph_is_taken(edges):
    graph = Graph.from_edge_index(edges)
    assert Graph.of(graph) is graph
    for form in (edges, graph.to_torch_sparse(), Data(edge_index=edges, num_nodes=3)):
        assert Graph.of(form).degree.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    "form",
    [
        Graph.from_dense(torch.eye(2)),
        torch.eye(2).to_sparse(),
        Data(edge_index=torch.tensor([[0, 1], [0, 1]]), num_nodes=2),
    ],
    ids=["Graph", "sparse", "Data"],
)
def test_weights_for_a_graph_that_has_its_own_are_refused(form):
    with pytest.raises(InputError, match="edge_weight goes with an edge_index"):
        Graph.of(form, torch.ones(2))


def test_a_sparse_matrix_is_prepared_once_until_it_changes():
    A = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).to_sparse_csr()
    first = Graph.of(A)
    assert Graph.of(A) is first
    A.values().mul_(2)
    assert Graph.of(A).degree.tolist() == [2, 2]


def test_a_data_object_is_prepared_once():
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
    assert Graph.of(data) is Graph.of(data)
    assert Graph.of(data).num_nodes == 3
