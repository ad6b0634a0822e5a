"""The network around the convs: norms, residual maps, jumping knowledge, pooling, embeddings."""

import pytest
import torch

from pgso import GNN
from pgso.errors import InputError, UnknownNameError

EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
BATCH = torch.tensor([0, 0, 0, 1, 1])
X = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("jk", [None, "last", "cat", "max", "lstm"])
@pytest.mark.parametrize("task", ["node", "graph"])
@pytest.mark.parametrize("norm", [None, "batch", "layer"])
def test_every_combination_gives_an_answer_and_gradients(norm, task, jk):
    model = GNN("gcn", 4, 8, 3, norm=norm, task=task, jk=jk, residual=True, dropout=0.0)
    out = model(X, EDGES, batch=BATCH if task == "graph" else None)
    assert out.shape == ((5, 3) if task == "node" else (2, 3))
    out.square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("pooling", "pool"),
    [("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax)],
)
def test_pooling_is_over_the_nodes_of_each_graph(pooling, pool):
    model = GNN("gcn", 4, 8, 3, task="graph", pooling=pooling).eval()
    nodes = X
    for layer in model.layers:
        nodes = layer(nodes, EDGES, None)
    wanted = model.head(torch.stack([pool(nodes[:3], dim=0), pool(nodes[3:], dim=0)]))
    torch.testing.assert_close(model(X, EDGES, batch=BATCH), wanted)


def test_one_graph_needs_no_batch():
    model = GNN("gin", 4, 8, 3, task="graph").eval()
    whole = model(X, EDGES, batch=torch.zeros(5, dtype=torch.long), num_graphs=1)
    torch.testing.assert_close(model(X, EDGES), whole)


def test_an_empty_graph_at_the_end_of_a_batch_has_an_answer():
    model = GNN("gcn", 4, 8, 3, task="graph").eval()
    assert model(X, EDGES, batch=BATCH, num_graphs=3).shape == (3, 3)


def test_dropout_acts_before_every_layer_in_training_only():
    model = GNN("gcn", 4, 8, 3, dropout=0.5)
    assert not torch.equal(model(X, EDGES), model(X, EDGES))
    assert torch.equal(model.eval()(X, EDGES), model(X, EDGES))
    whole = GNN("gcn", 4, 8, 3, num_layers=1, dropout=0.9, input_dropout=0.0)
    assert torch.equal(whole(X, EDGES), whole(X, EDGES))


def test_integer_features_are_embedded():
    model = GNN("gin", 2, 8, 3, categories=[7, 3], task="graph").eval()
    kinds = torch.tensor([[6, 0], [0, 2], [3, 1], [6, 2], [1, 1]])
    assert model(kinds, EDGES, batch=BATCH).shape == (2, 3)
    assert model.encoder.vectors.weight.shape == (10, 8)


def test_a_residual_map_adds_the_input():
    model = GNN("gcn", 4, 8, 3, num_layers=1, residual=True).eval()
    (layer,) = model.layers
    wanted = layer.conv(X, EDGES) + layer.residual(X)
    torch.testing.assert_close(model(X, EDGES), wanted)


def test_reset_draws_new_weights_and_brings_operators_back():
    model = GNN("gat", 4, 8, 3, norm="batch", jk="cat")
    before = [parameter.clone() for parameter in model.head.parameters()]
    with torch.no_grad():
        model.operators[0].m2.add_(1)
    model.reset_parameters()
    assert model.operators[0].parameters_tuple() == model.operators[0].start
    assert not torch.equal(before[0], model.head.weight)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"operator": "pgos"}, "no operator is called 'pgos'. Did you mean 'pgso'"),
        ({"task": "edge"}, "no task is called 'edge'"),
        ({"norm": "instance"}, "no norm is called 'instance'"),
        ({"jk": "sum"}, "no jk is called 'sum'"),
        ({"pooling": "median"}, "no pooling is called 'median'"),
        ({"preset": "gnc"}, "no preset is called 'gnc'"),
        ({"learn": ("m4",)}, "no parameter is called 'm4'"),
    ],
)
def test_unknown_names_are_refused_with_what_is_known(options, words):
    with pytest.raises(UnknownNameError) as caught:
        GNN("gcn", 4, 8, 3, **options)
    assert words in str(caught.value)
    assert "Known: " in str(caught.value)


def test_impossible_sizes_are_refused_in_words():
    with pytest.raises(UnknownNameError, match="no conv is called 'gnc'"):
        GNN("gnc", 4, 8, 3)
    with pytest.raises(InputError, match="num_layers must be an integer of at least 1, got 0"):
        GNN("gcn", 4, 8, 3, num_layers=0)
    with pytest.raises(InputError, match="out_channels must be positive"):
        GNN("gcn", 4, 8, 0)
    edges, model = torch.tensor([[0, 1], [1, 2]]), GNN("gcn", 4, 8, 2, task="graph")
    with pytest.raises(InputError, match="each of the 3 nodes, got 2 numbers"):
        model(torch.ones(3, 4), edges, batch=torch.tensor([0, 0]))


def test_a_gin_for_nodes_does_not_squeeze_everything_through_as_many_units_as_classes():
    model = GNN("gin", 8, 16, 3, task="node")
    assert [layer.conv.nn.norm.num_features for layer in model.layers] == [16, 16]
    assert model.head.out_channels == 3


def test_what_finds_S_from_structure_does_not_change_the_weights_that_are_drawn():
    weights = []
    for operator in ("fixed", "pgso", "mpgso"):
        torch.manual_seed(0)
        model = GNN("gcn", 4, 8, 8, operator=operator, shape="structural")
        weights.append(model.layers[0].conv.lin.weight)
    assert torch.equal(weights[0], weights[1])
    assert torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("p", [-0.5, 1.5, float("nan"), "a"])
def test_a_dropout_that_is_no_probability_is_refused_at_once(p):
    with pytest.raises(InputError, match="dropout must be between 0 and 1"):
        GNN("gcn", 4, 8, 3, dropout=p)
    with pytest.raises(InputError, match="input_dropout must be between 0 and 1"):
        GNN("gcn", 4, 8, 3, input_dropout=p)
    with pytest.raises(InputError, match="dropout must be between 0 and 1"):
        GNN("gat", 4, 8, 3, attention_dropout=p)


def test_categories_out_of_range_are_refused_with_their_column():
    model = GNN("gcn", 2, 8, 3, categories=[3, 2])
    edges = torch.tensor([[0, 1], [1, 0]])
    model(torch.tensor([[2, 1], [0, 0]]), edges)
    for x, message in [
        ([[3, 0], [0, 0]], "column 0 has 3 categories, counted from 0; got 3"),
        ([[0, -1], [0, 0]], "column 1 has 2 categories, counted from 0; got -1"),
        ([[0], [0]], r"shape \(n, 2\)"),
        ([[0.0, 1.0], [0.0, 1.0]], "must be integers"),
    ]:
        with pytest.raises(InputError, match=message):
            model(torch.tensor(x), edges)
