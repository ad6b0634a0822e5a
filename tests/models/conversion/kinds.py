"""Every kind of layer that ``convert`` knows, with the options that change what it computes."""

from collections.abc import Callable
from typing import NamedTuple

import torch_geometric.nn as pyg
from torch import nn

WIDTH, EDGE_WIDTH = 4, 2


class Kind(NamedTuple):
    make: Callable[[], nn.Module]
    edges: str = "nothing"  # what the layer takes on edges: "nothing", "weights" or "features"


def mlp():
    return nn.Sequential(nn.Linear(WIDTH, 3), nn.ReLU(), nn.Linear(3, 3))


KINDS = {
    "gcn": Kind(lambda: pyg.GCNConv(WIDTH, 3), "weights"),
    "gcn improved": Kind(lambda: pyg.GCNConv(WIDTH, 3, improved=True), "weights"),
    "gcn without loops": Kind(lambda: pyg.GCNConv(WIDTH, 3, add_self_loops=False), "weights"),
    "gcn of A": Kind(lambda: pyg.GCNConv(WIDTH, 3, normalize=False, bias=False), "weights"),
    "sgc": Kind(lambda: pyg.SGConv(WIDTH, 3, K=2), "weights"),
    "sgc without loops": Kind(lambda: pyg.SGConv(WIDTH, 3, add_self_loops=False), "weights"),
    "tag": Kind(lambda: pyg.TAGConv(WIDTH, 3, K=2), "weights"),
    "tag of A": Kind(lambda: pyg.TAGConv(WIDTH, 3, K=2, normalize=False, bias=False), "weights"),
    "appnp": Kind(lambda: pyg.APPNP(3, 0.2), "weights"),
    "appnp of A": Kind(lambda: pyg.APPNP(2, 0.2, normalize=False), "weights"),
    "appnp with dropout": Kind(lambda: pyg.APPNP(3, 0.2, dropout=0.4), "weights"),
    "graph": Kind(lambda: pyg.GraphConv(WIDTH, 3), "weights"),
    "graph mean": Kind(lambda: pyg.GraphConv(WIDTH, 3, aggr="mean", bias=False), "weights"),
    "le": Kind(lambda: pyg.LEConv(WIDTH, 3), "weights"),
    "cheb": Kind(lambda: pyg.ChebConv(WIDTH, 3, K=3), "weights"),
    "cheb rw": Kind(lambda: pyg.ChebConv(WIDTH, 3, K=3, normalization="rw"), "weights"),
    "cheb of L": Kind(lambda: pyg.ChebConv(WIDTH, 3, K=2, normalization=None), "weights"),
    "gin": Kind(lambda: pyg.GINConv(mlp(), eps=0.3)),
    "gin with learned eps": Kind(lambda: pyg.GINConv(mlp(), train_eps=True)),
    "sage": Kind(lambda: pyg.SAGEConv(WIDTH, 3)),
    "sage sum": Kind(lambda: pyg.SAGEConv(WIDTH, 3, aggr="sum", normalize=True, project=True)),
    "sage without root": Kind(lambda: pyg.SAGEConv(WIDTH, 3, root_weight=False)),
    "gat": Kind(lambda: pyg.GATConv(WIDTH, 3, heads=2, dropout=0.4)),
    "gat averaged": Kind(lambda: pyg.GATConv(WIDTH, 3, heads=2, concat=False, residual=True)),
    "gat without loops": Kind(lambda: pyg.GATConv(WIDTH, 3, add_self_loops=False)),
    "gat edges": Kind(lambda: pyg.GATConv(WIDTH, 3, edge_dim=EDGE_WIDTH), "features"),
    "gatv2": Kind(lambda: pyg.GATv2Conv(WIDTH, 3, heads=2, dropout=0.4)),
    "gatv2 shared": Kind(
        lambda: pyg.GATv2Conv(WIDTH, 3, share_weights=True, add_self_loops=False, concat=False)
    ),
    "gatv2 edges": Kind(
        lambda: pyg.GATv2Conv(WIDTH, 3, edge_dim=EDGE_WIDTH, fill_value="max"), "features"
    ),
    "gine": Kind(lambda: pyg.GINEConv(mlp(), eps=0.2, edge_dim=EDGE_WIDTH), "features"),
}
