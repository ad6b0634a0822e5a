"""GNN with an S per node, channel, head or place."""

import networkx as nx
import pytest
import torch

from pgso import GNN, Graph
from pgso.errors import InputError

GRAPH = Graph.from_networkx(nx.karate_club_graph(), weight=None)


@pytest.mark.parametrize("conv", ["gcn", "gin", "sgc", "gat"])
@pytest.mark.parametrize("shape", [("node", 34), "channel", "head", "structural"])
def test_every_shape_starts_as_the_plain_network(conv, shape):
    if conv == "gat" and shape == "channel":
        pytest.skip("attention has heads")
    options = {"heads": 4} if conv == "gat" else {}
    models = []
    for each in ("scalar", shape):
        torch.manual_seed(0)
        models.append(GNN(conv, 5, 8, 3, operator="mpgso", shape=each, dropout=0.0, **options))
    plain, rich = models
    rich.load_state_dict({**rich.state_dict(), **weights(plain)})
    x = torch.randn(34, 5)
    torch.testing.assert_close(rich(x, GRAPH), plain(x, GRAPH), rtol=1e-4, atol=1e-5)
    rich(x, GRAPH).square().sum().backward()
    for gso in rich.operators:
        assert all(p.grad.isfinite().all() for p in gso.parameters())


def weights(model):
    """What does not belong to operators."""
    own = {"m1", "m2", "m3", "e1", "e2", "e3", "a"}
    state = model.state_dict()
    return {name: value for name, value in state.items() if name.rsplit(".", 1)[-1] not in own}


def test_layers_of_different_widths_cannot_share_channels():
    with pytest.raises(InputError, match="operator='mpgso'"):
        GNN("gcn", 5, 8, 3, operator="pgso", shape="channel")
    GNN("gcn", 5, 8, 8, operator="pgso", shape="channel")
    GNN("gcn", 5, 8, 3, operator="fixed", shape="channel")
