"""The paired comparison in Python, of our networks and of the user's own."""

import os

import pytest
import torch
from torch import nn
from torch_geometric import nn as pyg
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GCN

import pgso
from pgso.errors import InputError
from pgso.report.comparison import Comparison

N = 60
RING = torch.stack([torch.arange(N), (torch.arange(N) + 1) % N])
DATA = Data(
    x=torch.rand(N, 4, generator=torch.Generator().manual_seed(0)),
    edge_index=torch.cat([RING, RING.flip(0)], dim=1),
    y=(torch.arange(N) // 5) % 2,
)


def test_data_in_memory_are_compared_on_splits_of_their_own():
    records = []
    found = pgso.compare(DATA, seeds=2, epochs=4, tell=records.append)
    assert isinstance(found, Comparison)
    assert found.operators == ("fixed", "pgso", "mpgso", "found")
    told = [(record.spec.operator, record.spec.seed) for record in records]
    assert sorted(told) == sorted((name, seed) for name in found.operators for seed in range(2))
    assert found.verdict


def test_the_command_and_python_give_the_same_scores():
    found = pgso.compare("karate", seeds=1, epochs=4)
    alone = pgso.fit(pgso.RunSpec(dataset="karate", operator="fixed", seed=0, epochs=4))
    fixed = next(entry for entry in found.test.summaries if entry.operator == "fixed")
    assert fixed.mean == pytest.approx(100 * alone.test)


def test_a_model_of_the_user_is_compared_with_its_converted_self():
    model = GCN(4, 8, num_layers=2, out_channels=2, dropout=0.5)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    records = []
    found = pgso.compare(DATA, model, seeds=2, epochs=6, tell=records.append)
    assert found.conv == "GCN"
    assert found.operators == ("fixed", "pgso", "mpgso")
    # The first loss is of the same weights, the same dropout and the same operator.
    first = [record.curves["loss"][0] for record in records]
    assert first[0] == pytest.approx(first[1], rel=1e-4) == pytest.approx(first[2], rel=1e-4)
    assert first[0] != pytest.approx(first[3], rel=1e-4)
    assert records[0].curves["loss"][-1] != records[1].curves["loss"][-1]
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            {"model": GCN(4, 8, 2, out_channels=3)},
            r"shape \(60, 2\), one for each class, got \(60, 3\)",
        ),
        ({"model": torch.nn.Linear(4, 2)}, "Linear"),
        ({"model": GCN(4, 8, 2, 2), "conv": "gin"}, "conv is a choice of our networks"),
        ({"model": GCN(4, 8, 2, 2), "learn": ("m2",)}, "learn is a choice of our networks"),
        ({"model": GCN(4, 8, 2, 2), "s_loss": "val"}, "s_loss is a choice of our networks"),
        ({"task": "graph"}, "the data are a node task, not a graph task"),
        ({"seeds": 0}, "seeds must be a whole number from 1 to 10000"),
        ({"seeds": 10**9}, "seeds must be a whole number from 1 to 10000"),
        ({"model": 5}, "model must be a torch module, got int"),
        ({"operator": "fixed"}, "compare chooses operator itself"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, problem):
    with pytest.raises((InputError, TypeError), match=problem):
        pgso.compare(DATA, **{"seeds": 1, "epochs": 1, **arguments})


class Jumping(nn.Module):
    """A module as users write them, without reset_parameters."""

    def __init__(self, outputs=2):
        super().__init__()
        self.convs = nn.ModuleList([pyg.GCNConv(4, 8), pyg.SAGEConv(8, 8)])
        self.jump, self.out = pyg.JumpingKnowledge("cat"), nn.Linear(16, outputs)

    def forward(self, x, edge_index):
        layers = []
        for conv in self.convs:
            x = conv(x, edge_index).relu()
            layers.append(x)
        return self.out(self.jump(layers))


class OfData(nn.Module):
    """A module as in PyG's tutorials."""

    def __init__(self):
        super().__init__()
        self.conv = pyg.GCNConv(4, 2)

    def forward(self, data):
        return self.conv(data.x, data.edge_index).log_softmax(dim=-1)


class Typed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = pyg.RGCNConv(4, 2, 2)

    def forward(self, x, edge_index, edge_type):
        return self.conv(x, edge_index, edge_type)


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = pyg.GraphConv(4, 2)

    def forward(self, x, edge_index, batch):
        return pyg.global_mean_pool(self.conv(x, edge_index), batch)


def sequential():
    layers = [(pyg.GCNConv(4, 8), "x, edge_index -> x"), nn.ReLU()]
    return pyg.Sequential("x, edge_index", [*layers, (pyg.GATConv(8, 2), "x, edge_index -> x")])


def extended(**more):
    return Data(**{**DATA.to_dict(), **more})


E = DATA.edge_index.size(1)
PAIRS = {
    "GAT": (DATA, lambda: pyg.GAT(4, 8, 2, 2)),
    "SAGE": (DATA, lambda: pyg.GraphSAGE(4, 8, 2, 2)),
    "GIN": (DATA, lambda: pyg.GIN(4, 8, 2, 2)),
    "lazy": (DATA, lambda: pyg.GCN(-1, 8, 2, 2)),
    "jumping": (DATA, Jumping),
    "sequential": (DATA, sequential),
    "of data": (DATA, OfData),
    "regression": (extended(y=torch.rand(N)), lambda: Jumping(1)),
    "weights": (extended(edge_weight=torch.rand(E)), lambda: GCN(4, 8, 2, 2)),
    "edge features": (
        extended(edge_attr=torch.rand(E, 3)), lambda: pyg.GAT(4, 8, 2, 2, edge_dim=3)
    ),
    "types of edges": (extended(edge_type=torch.arange(E) % 2), Typed),
    "graphs": (
        [
            Data(
                x=torch.rand(5, 4),
                edge_index=torch.randint(0, 5, (2, 12)),  # some of them twice
                y=torch.tensor([k % 2]),
            )
            for k in range(20)
        ],
        Pooled,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_models_of_users_are_compared_on_data_of_theirs(name):
    data, make = PAIRS[name]
    records = []
    torch.manual_seed(0)
    pgso.compare(data, make(), seeds=1, epochs=3, tell=records.append)
    fixed, shared, _ = records
    assert [record.status for record in records] == ["done"] * 3
    if name != "graphs":  # where batches come in between
        assert shared.curves["loss"][0] == pytest.approx(fixed.curves["loss"][0], rel=1e-4)
    assert fixed.parameters == ()
    assert shared.parameters != shared.start


def test_links_are_scored_by_dot_products_of_embeddings():
    records = []
    data = Data(x=DATA.x, edge_index=DATA.edge_index)
    found = pgso.compare(data, GCN(4, 8, 2, 8), seeds=1, epochs=2, task="link", tell=records.append)
    assert found.metric == "link_auc"
    assert all(record.test is not None for record in records)


@pytest.mark.filterwarnings("ignore:There exist node types")  # PyG's own
def test_types_of_nodes_are_given_as_dictionaries():
    data = HeteroData()
    data["user"].x, data["user"].y = torch.rand(20, 3), torch.arange(20) % 2
    data["film"].x = torch.rand(6, 2)
    data["film", "liked_by", "user"].edge_index = torch.randint(0, 6, (2, 30))
    layers = {("film", "liked_by", "user"): pyg.SAGEConv((2, 3), 2)}
    found = pgso.compare(data, pyg.HeteroConv(layers), seeds=1, epochs=2)
    assert found.conv == "HeteroConv"
    with pytest.raises(InputError, match=r"GCN does not take \(x_dict, edge_index_dict\)"):
        pgso.compare(data, GCN(4, 8, 2, 2), seeds=1, epochs=1)


def test_weights_that_a_model_would_leave_out_are_refused():
    with pytest.raises(InputError, match=r"Jumping\.forward takes none"):
        pgso.compare(extended(edge_weight=torch.rand(E)), Jumping(), seeds=1, epochs=1)
    graphs = PAIRS["graphs"][0]
    with pytest.raises(InputError, match=r"Jumping\.forward needs an argument batch"):
        pgso.compare(graphs, Jumping(), seeds=1, epochs=1)
    width = graphs[0].num_features
    with pytest.raises(InputError, match="pool the nodes of each graph"):
        pgso.compare(graphs, GCN(width, 8, 1, 2), seeds=1, epochs=1)


class SeesAnswers(GCN):
    def forward(self, x, edge_index, y=None):
        assert y is None, "it must find the answers by itself"
        return super().forward(x, edge_index)


def test_a_model_is_not_shown_the_answers():
    assert isinstance(pgso.compare(DATA, SeesAnswers(4, 8, 1, 2), seeds=1, epochs=2), Comparison)


@pytest.mark.skipif(not os.environ.get("PGSO_DATA"), reason="Texas is not here")
def test_python_compares_on_the_graph_that_the_record_says():
    told = []
    pgso.compare("Texas", seeds=1, epochs=3, tell=told.append)
    fixed = told[0]
    assert fixed.spec.data_options == {"undirected": True}
    again = pgso.fit(fixed.spec)
    assert (again.val, again.test, again.epoch) == (fixed.val, fixed.test, fixed.epoch)


def test_among_equal_epochs_of_a_model_the_smaller_validation_loss_is_kept():
    told = []
    model = pyg.GCN(34, 16, num_layers=2, out_channels=2)
    pgso.compare("karate", model, seeds=1, epochs=40, tell=told.append)
    fixed = next(record for record in told if record.spec.operator == "fixed")
    assert fixed.val == 1.0
    assert fixed.epoch > 20  # the score is 1 after a few epochs, and the loss falls on
