"""Layer by layer with all neighbours: the outputs of the whole graph."""

import pytest
import torch

import pgso
from pgso.convs import CONVS
from pgso.errors import InputError
from pgso.scale import predict_by_layer
from tests.scale.test_sampler import random_graph

CHOICES = [{}, {"norm": "batch", "residual": True}, {"jk": "cat"}, {"num_layers": 3, "jk": "last"}]


@pytest.mark.parametrize("choices", CHOICES)
@pytest.mark.parametrize("conv", CONVS)
def test_it_gives_the_outputs_of_the_whole_graph(conv, choices):
    graph, x = random_graph(n=40, degree=4, weighted=True, loops=True), torch.randn(40, 6)
    model = pgso.GNN(conv, 6, 8, 3, operator="mpgso", **choices)
    model(x, graph)  # batch norm has seen something
    expected = model.eval()(x, graph)
    out = predict_by_layer(model.train(), x, graph, batch_size=7)
    torch.testing.assert_close(out, expected.detach(), rtol=1e-4, atol=1e-5)


def test_sparse_features_and_categories_are_read_row_by_row():
    graph, x = random_graph(n=20), torch.randn(20, 6).relu()
    model = pgso.GNN("sgc", 6, 8, 3).eval()
    torch.testing.assert_close(
        predict_by_layer(model, x.to_sparse_csr(), graph, 6), model(x, graph).detach()
    )
    kinds = torch.randint(0, 3, (20, 2))
    model = pgso.GNN("gcn", 2, 8, 3, categories=[3, 3]).eval()
    torch.testing.assert_close(
        predict_by_layer(model, kinds, graph, 6), model(kinds, graph).detach()
    )


def test_incoming_edges_have_the_degrees_of_both_ends():
    graph, x = random_graph(n=20), torch.randn(20, 6)
    model = pgso.GNN("bank", 6, 8, 3, terms=("self", "gcn@in")).eval()
    out = predict_by_layer(model, x, graph, batch_size=7)
    torch.testing.assert_close(out, model(x, graph).detach(), rtol=1e-4, atol=1e-5)


def test_outgoing_edges_are_refused():
    model = pgso.GNN("bank", 6, 8, 3, terms=("self", "gcn@out"))
    with pytest.raises(InputError, match="edges into its nodes only"):
        predict_by_layer(model, torch.randn(20, 6), random_graph(n=20), batch_size=7)


def test_graph_tasks_are_refused():
    with pytest.raises(InputError, match="graph by graph"):
        predict_by_layer(pgso.GNN("gcn", 2, 4, 2, task="graph"), torch.ones(12, 2), random_graph())
