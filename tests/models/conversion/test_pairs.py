"""Converted layers between two sets of nodes, in reversed flow, and in heterogeneous models."""

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch_geometric.data import HeteroData

from pgso import PGSO, convert

SOURCES, TARGETS = torch.randn(4, 8), torch.randn(2, 16)
EDGES = torch.tensor([[0, 1, 2, 3], [0, 0, 1, 1]])
LAYERS = {
    "sage": lambda: pyg.SAGEConv((8, 16), 32),
    "sage sum": lambda: pyg.SAGEConv((8, 16), 32, aggr="sum", project=True),
    "graph": lambda: pyg.GraphConv((8, 16), 32),
    "graph mean": lambda: pyg.GraphConv((8, 16), 32, aggr="mean"),
    "gat": lambda: pyg.GATConv((8, 16), 32, heads=2),
    "gat without loops": lambda: pyg.GATConv((8, 16), 32, heads=2, add_self_loops=False),
    "gatv2": lambda: pyg.GATv2Conv((8, 16), 32, heads=2),
}


@pytest.fixture(params=LAYERS)
def both(request):
    torch.manual_seed(0)
    layer = LAYERS[request.param]()
    return layer, convert(layer)


def test_a_pair_of_features_gives_what_pyg_gives(both):
    layer, converted = both
    torch.testing.assert_close(
        converted((SOURCES, TARGETS), EDGES), layer((SOURCES, TARGETS), EDGES)
    )


def test_a_size_and_missing_targets_are_understood(both):
    layer, converted = both
    if isinstance(layer, pyg.GATv2Conv):
        pytest.skip("GATv2Conv takes no size")
    for pair in ((SOURCES, TARGETS), (SOURCES, None)):
        found, wanted = (one(pair, EDGES, size=(4, 2)) for one in (converted, layer))
        torch.testing.assert_close(found, wanted)


def test_the_scalars_of_a_pair_learn(both):
    _, converted = both
    converted((SOURCES, TARGETS), EDGES).square().sum().backward()
    (gso,) = (module for module in converted.modules() if isinstance(module, PGSO))
    assert gso.m2.grad != 0
    assert all(parameter.grad.isfinite() for parameter in gso.parameters())


@pytest.mark.parametrize("make", [pyg.GINConv, pyg.GINEConv])
def test_gin_adds_the_targets_themselves(make):
    layer = make(nn.Linear(8, 5), eps=0.3)
    converted, targets = convert(layer), torch.randn(2, 8)
    more = (torch.randn(4, 8),) if make is pyg.GINEConv else ()
    for pair in ((SOURCES, targets), (SOURCES, None)):
        found, wanted = (one(pair, EDGES, *more, size=(4, 2)) for one in (converted, layer))
        torch.testing.assert_close(found, wanted)


FLOWS = {
    "gcn": lambda: pyg.GCNConv(8, 3),
    "sage": lambda: pyg.SAGEConv(8, 3),
    "gat": lambda: pyg.GATConv(8, 3),
    "gin": lambda: pyg.GINConv(nn.Linear(8, 3)),
    "graph": lambda: pyg.GraphConv(8, 3),
}


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_reversed_flow_is_honoured_before_and_after_conversion(name, when):
    layer, edges = FLOWS[name](), torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    if when == "before":
        layer.flow = "target_to_source"
    converted = convert(layer)
    layer.flow = converted.flow = "target_to_source"
    torch.testing.assert_close(converted(SOURCES, edges), layer(SOURCES, edges))


def hetero_data():
    data = HeteroData()
    data["user"].x, data["film"].x = torch.randn(5, 8), torch.randn(3, 16)
    data["user", "rates", "film"].edge_index = torch.tensor([[0, 1, 2, 4], [0, 1, 1, 2]])
    data["film", "rated", "user"].edge_index = torch.tensor([[0, 1, 1, 2], [0, 1, 2, 4]])
    data["user", "knows", "user"].edge_index = torch.tensor([[0, 1], [1, 0]])
    return data


class TwoLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = pyg.SAGEConv((-1, -1), 8), pyg.SAGEConv((-1, -1), 4)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


def hetero_convs():
    layers = {
        ("user", "rates", "film"): pyg.SAGEConv((8, 16), 4),
        ("film", "rated", "user"): pyg.GATConv((16, 8), 4, add_self_loops=False),
        ("user", "knows", "user"): pyg.GCNConv(8, 4),
    }
    return pyg.HeteroConv(layers)


@pytest.mark.parametrize("operator", ["pgso", "mpgso"])
@pytest.mark.parametrize(
    "make", [lambda data: pyg.to_hetero(TwoLayers(), data.metadata()), lambda data: hetero_convs()]
)
@pytest.mark.filterwarnings("ignore")  # PyG's own
def test_heterogeneous_models_answer_as_before(make, operator):
    data = hetero_data()
    model = make(data)
    with torch.no_grad():
        wanted = model(data.x_dict, data.edge_index_dict)  # sizes are found on first use
    found = convert(model, operator=operator)(data.x_dict, data.edge_index_dict)
    for kind, values in wanted.items():
        torch.testing.assert_close(found[kind], values)
