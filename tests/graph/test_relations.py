"""Several kinds of edges between the same nodes."""

import pytest
import torch

from pgso import Graph
from pgso.errors import InputError, UnknownNameError
from pgso.graph import Relations

KNOWS, LIKES = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[2, 0], [0, 1]])


def test_all_relations_are_on_the_same_nodes():
    relations = Relations({"knows": KNOWS, "likes": LIKES})
    assert relations.num_nodes == 3
    assert relations.part("knows").num_nodes == 3
    assert Relations({"knows": KNOWS}, num_nodes=7).num_nodes == 7


def test_the_union_sums_edges_of_several_relations():
    weighted = Graph.from_edge_index(LIKES, torch.tensor([0.5, 2.0]))
    union = Relations({"knows": KNOWS, "likes": weighted}).union
    wanted = torch.zeros(3, 3)
    wanted[1, 0], wanted[0, 1], wanted[0, 2] = 3.0, 1.0, 0.5
    torch.testing.assert_close(union.to_torch_sparse().to_dense(), wanted)
    assert not union.is_undirected


def test_gradients_reach_learned_weights_after_a_use_without_them():
    weight = torch.ones(2, requires_grad=True)
    relations = Relations({"knows": KNOWS, "likes": Graph.from_edge_index(LIKES, weight)})
    with torch.no_grad():
        assert not relations.union.weight.requires_grad
    (gradient,) = torch.autograd.grad(relations.union.degree.sum(), weight)
    assert gradient.tolist() == [1.0, 1.0]


def test_a_part_is_the_graph_of_its_relation():
    relations = Relations({"knows": KNOWS, "likes": LIKES})
    assert relations.part("likes").num_edges == 2
    assert relations.part(None) is relations.union
    moved = relations.to("cpu")
    assert moved.part("likes").num_edges == 2


def test_bad_relations_are_refused_in_words():
    with pytest.raises(UnknownNameError, match=r"no relation is called 'know'\. Did you mean"):
        Relations({"knows": KNOWS}).part("know")
    with pytest.raises(InputError, match="at least one graph"):
        Relations({})
    for name in ("in", "out", "self", "", 3):
        with pytest.raises(InputError, match="a relation cannot be called"):
            Relations({name: KNOWS})
