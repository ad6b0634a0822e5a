"""Own and converted models in the tools of PyG and torch."""

import copy
import pickle
import sys
import types

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from pgso import CONVS, GNN, PGSO, BankConv, Graph, convert, fold
from pgso.errors import InputError

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 5, 5, 4], [1, 0, 2, 1, 3, 2, 0, 0, 4, 5]])
NUM_EDGES = EDGES.size(1)
MULTIGRAPH = torch.cat([EDGES, torch.tensor([[2, 0, 1], [2, 1, 1]])], dim=1)  # loops, a duplicate
X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))

MODELS = {
    **{f"own {conv}": lambda conv=conv: GNN(conv, 4, 8, 3, dropout=0.0) for conv in CONVS},
    "GCN": lambda: convert(pyg.GCN(4, 8, 2, 3, norm="batch", jk="cat")),
    "GAT": lambda: convert(pyg.GAT(4, 8, 2, 3, heads=2)),
    "GATv2": lambda: convert(pyg.GAT(4, 8, 2, 3, v2=True)),
    "GIN": lambda: convert(pyg.GIN(4, 32, 2, 3)),
    "GraphSAGE": lambda: convert(pyg.GraphSAGE(4, 8, 2, 3)),
}


def away_from_the_start(model):
    """The model for inference, with other scalars: at the start much of γ is 0."""
    with torch.no_grad():
        for gso in model.modules():
            if isinstance(gso, PGSO):
                for place, scalar in enumerate(gso.parameters()):
                    scalar.add_(0.1 * (place - 2))
    return model.eval()


@pytest.fixture(params=MODELS)
def model(request):
    torch.manual_seed(0)
    return away_from_the_start(MODELS[request.param]())


@pytest.mark.parametrize("apply_sigmoid", [True, False])
@pytest.mark.parametrize("edges", [EDGES, MULTIGRAPH], ids=["simple", "multigraph"])
def test_a_mask_of_ones_changes_nothing_and_gets_a_gradient(model, apply_sigmoid, edges):
    before = model(X, edges)
    mask = torch.full((edges.size(1),), 50.0 if apply_sigmoid else 1.0, requires_grad=True)
    set_masks(model, mask, edges, apply_sigmoid)
    torch.testing.assert_close(model(X, edges), before, atol=1e-5, rtol=1e-5)
    clear_masks(model)
    half = torch.zeros(edges.size(1)) if apply_sigmoid else torch.full((edges.size(1),), 0.5)
    half.requires_grad_()
    set_masks(model, half, edges, apply_sigmoid)
    (gradient,) = torch.autograd.grad(model(X, edges).square().sum(), half)
    assert (gradient[:NUM_EDGES] != 0).all()
    clear_masks(model)
    assert torch.equal(model(X, edges), before)


LAYERS = {
    "own gcn": (lambda: CONVS["gcn"](4, 3), "lin"),
    "GCNConv": (lambda: convert(pyg.GCNConv(4, 3)), "lin"),
    "GraphConv": (lambda: convert(pyg.GraphConv(4, 3)), "lin_rel"),
    "SAGEConv": (lambda: convert(pyg.SAGEConv(4, 3)), "lin_l"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_mask_of_zero_removes_the_message_and_keeps_the_degrees(name):
    make, linear = LAYERS[name]
    layer = make()
    message = torch.zeros(6, 6)
    message[2, 1] = layer.gso.on(EDGES).to_dense()[2, 1]
    mask = torch.ones(NUM_EDGES)
    mask[2] = 0.0  # 1 -> 2
    set_masks(layer, mask, EDGES, apply_sigmoid=False)
    masked = layer(X, EDGES)
    clear_masks(layer)
    removed = message @ X @ getattr(layer, linear).weight.t()
    assert removed.abs().max() > 0
    torch.testing.assert_close(masked, layer(X, EDGES) - removed, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layer", [pyg.LEConv(4, 3), pyg.GINConv(torch.nn.Identity())])
def test_masks_on_converted_layers_do_what_they_do_on_pygs(layer):
    mask, outputs = torch.rand(NUM_EDGES), []
    for model in (layer, convert(layer)):
        set_masks(model, mask, EDGES, apply_sigmoid=False)
        outputs.append(model(X, EDGES))
    torch.testing.assert_close(*outputs)


def test_a_mask_on_an_edge_of_weight_0_masks_no_other_edge():
    edges = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    gso, x, mask = PGSO("gcn"), torch.randn(3, 4), torch.linspace(0.1, 0.9, 6)
    outputs = []
    for kept in (6, 5):  # without its reverse, the last edge is none
        weight = torch.tensor([1.0, 1.0, 2.0, 2.0, 0.0, 0.0])[:kept]
        set_masks(gso, mask[:kept], edges[:, :kept], apply_sigmoid=False)
        outputs.append(gso(x, edges[:, :kept], weight))
    torch.testing.assert_close(*outputs)


@pytest.mark.parametrize(
    "layer",
    [
        BankConv(4, 3, terms=("self", "gcn@out")),
        convert(pyg.GCNConv(4, 3, flow="target_to_source")),
        convert(pyg.LEConv(4, 3, flow="target_to_source")),
    ],
)
def test_masks_are_in_the_order_of_a_graphs_edges_where_they_are_reversed(layer):
    graph = Graph.from_edge_index(EDGES, num_nodes=len(X))
    set_masks(layer, torch.rand(NUM_EDGES), graph.edge_index, apply_sigmoid=False)
    torch.testing.assert_close(layer(X, graph), layer(X, graph.edge_index))


def test_gnn_explainer_masks_nodes_and_edges(model):
    before = model(X, EDGES)
    explainer = Explainer(
        model,
        algorithm=GNNExplainer(epochs=3),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "node",
            "return_type": "raw",
        },
    )
    explanation = explainer(X, EDGES, index=2)
    assert explanation.node_mask.shape == X.shape
    assert explanation.edge_mask.shape == (NUM_EDGES,)
    assert explanation.edge_mask[[2, 5]].min() > 0  # the edges into node 2
    assert explanation.edge_mask[0] > 0 or explanation.edge_mask[3] > 0  # and of the second hop
    torch.testing.assert_close(model(X, EDGES), before)


@pytest.mark.parametrize("conv", ["gcn", "gat"])
def test_masks_allow_for_nodes_without_edges_at_the_end(conv):
    model, x = GNN(conv, 4, 8, 3).eval(), torch.cat([X, torch.randn(2, 4)])
    wanted = model(x, EDGES)
    set_masks(model, torch.ones(NUM_EDGES), EDGES, apply_sigmoid=False)
    torch.testing.assert_close(model(x, EDGES), wanted)


@pytest.mark.parametrize("conv", [*CONVS, "gin of another network"])
def test_a_layer_that_is_not_to_be_explained_is_not_masked(conv):
    name = conv.split()[0]
    layer = CONVS[name](4, 3, nn=nn.Linear(4, 3)) if " " in conv else CONVS[name](4, 3)
    layer.eval()
    wanted = layer(X, EDGES)
    layer.explain = False
    set_masks(layer, torch.zeros(NUM_EDGES), EDGES, apply_sigmoid=False)
    torch.testing.assert_close(layer(X, EDGES), wanted)


def test_pyg_summary_counts_the_scalars(model, monkeypatch):
    table = types.SimpleNamespace(tabulate=lambda rows, **_: str(rows))  # not a dependency of ours
    monkeypatch.setitem(sys.modules, "tabulate", table)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert f"{count:,}" in pyg.summary(model, X, EDGES)


def test_pyg_summary_takes_sparse_features(monkeypatch):
    table = types.SimpleNamespace(tabulate=lambda rows, **_: str(rows))
    monkeypatch.setitem(sys.modules, "tabulate", table)
    assert "[6, 4]" in pyg.summary(GNN("gcn", 4, 8, 3), X.to_sparse_csr(), EDGES)


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
def test_copies_answer_alike_and_share_what_was_shared(model, duplicate):
    other = duplicate(model)
    assert torch.equal(other(X, EDGES), model(X, EDGES))
    assert len(list(other.parameters())) == len(list(model.parameters()))
    with torch.no_grad():
        next(g for g in other.modules() if isinstance(g, PGSO)).m2.add_(1)
    assert not torch.equal(other(X, EDGES), model(X, EDGES))


def test_a_state_dict_comes_back(model):
    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(X, EDGES), model(X, EDGES))


TRACED = {  # one layer each: tracing takes seconds
    **{f"own {conv}": lambda conv=conv: GNN(conv, 4, 8, 3, num_layers=1) for conv in CONVS},
    "GCNConv": lambda: convert(pyg.GCNConv(4, 3)),
    "GATConv": lambda: convert(pyg.GATConv(4, 3, heads=2)),
    "SAGEConv": lambda: convert(pyg.SAGEConv(4, 3)),
}


@pytest.mark.parametrize("name", TRACED)
def test_a_compiled_model_has_the_same_values_and_gradients(name):
    torch._dynamo.reset()
    model = away_from_the_start(TRACED[name]())
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    parameters = list(model.parameters())
    wanted = torch.autograd.grad(model(X, MULTIGRAPH).square().sum(), parameters)
    values = compiled(X, MULTIGRAPH)
    torch.testing.assert_close(values, model(X, MULTIGRAPH), atol=1e-5, rtol=1e-5)
    actual = torch.autograd.grad(values.square().sum(), parameters)
    for one, other in zip(actual, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "prepare"),
    [
        *[pytest.param(name, lambda model: model, id=name) for name in TRACED],
        *[pytest.param(name, fold, id=f"{name} folded") for name in ("own gcn", "GCNConv")],
    ],
)
def test_an_exported_model_takes_graphs_of_any_size(name, prepare):
    served = prepare(away_from_the_start(TRACED[name]()))
    n, num_edges = torch.export.Dim("n"), torch.export.Dim("E")
    graph = "graph" if isinstance(served, GNN) else "edge_index"
    program = torch.export.export(
        served, (X, EDGES), dynamic_shapes={"x": {0: n}, graph: {1: num_edges}}
    )
    assert not any("pgso" in str(node.target) for node in program.graph.nodes)  # loads without us
    x, edges = torch.randn(11, 4), torch.randint(0, 11, (2, 30))
    torch.testing.assert_close(program.module()(x, edges), served(x, edges), atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_a_trace_of_our_own_model_is_refused_with_what_takes_any_graph():
    model = GNN("gcn", 4, 8, 3).eval()
    model(X, EDGES)  # its graph is known already
    with pytest.raises(InputError, match=r"use torch\.export\.export"):
        torch.jit.trace(model, (X, EDGES))
