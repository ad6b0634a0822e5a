"""Every kind of layer that ``convert`` knows, with the options that change what it computes."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch_geometric.nn as pyg
from torch import nn

WIDTH, EDGE_WIDTH, RELATIONS = 4, 2, 2


class Kind(NamedTuple):
    make: Callable[[], nn.Module]
    edges: str = "nothing"  # what the layer takes on edges, or "weights", "features" or "types"
    first: bool = False  # whether it takes the features of the first layer beside x

    def inputs(self, x, edge_index, *further):
        """The arguments of ``forward``."""
        return (x, 0.5 * x, edge_index, *further) if self.first else (x, edge_index, *further)


def on_edges(kind, num_edges, weight=None):
    """The further argument that a layer of this kind takes."""
    if kind.edges == "features":
        return [torch.randn(num_edges, EDGE_WIDTH)]
    if kind.edges == "types":
        return [(torch.arange(num_edges) > 4).long()]
    return [] if weight is None or kind.edges == "nothing" else [weight]


def mlp():
    return nn.Sequential(nn.Linear(WIDTH, 3), nn.ReLU(), nn.Linear(3, 3))


def pna(aggregators=("mean", "min", "max", "std"), **options):
    scalers = ["identity", "amplification", "attenuation", "linear", "inverse_linear"]
    return pyg.PNAConv(WIDTH, 3, list(aggregators), scalers, torch.tensor([1, 3, 2]), **options)


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
    "lg": Kind(lambda: pyg.LGConv(), "weights"),
    "lg of A": Kind(lambda: pyg.LGConv(normalize=False), "weights"),
    "gcn2": Kind(lambda: pyg.GCN2Conv(WIDTH, 0.2), "weights", first=True),
    "gcn2 apart": Kind(
        lambda: pyg.GCN2Conv(WIDTH, 0.2, 1.0, layer=2, shared_weights=False, add_self_loops=False),
        "weights",
        first=True,
    ),
    "gcn2 of A": Kind(lambda: pyg.GCN2Conv(WIDTH, 0.2, normalize=False), "weights", first=True),
    "arma": Kind(lambda: pyg.ARMAConv(WIDTH, 3, 2, 3, dropout=0.4), "weights"),
    "arma shared": Kind(
        lambda: pyg.ARMAConv(WIDTH, 3, 2, 3, shared_weights=True, act=None, bias=False), "weights"
    ),
    "mixhop": Kind(lambda: pyg.MixHopConv(WIDTH, 3), "weights"),
    "mixhop of some powers": Kind(
        lambda: pyg.MixHopConv(WIDTH, 3, [1, 3], add_self_loops=False, bias=False), "weights"
    ),
    "cluster": Kind(lambda: pyg.ClusterGCNConv(WIDTH, 3)),
    "cluster with a stronger diagonal": Kind(lambda: pyg.ClusterGCNConv(WIDTH, 3, 0.7)),
    "simple": Kind(lambda: pyg.SimpleConv(), "weights"),
    "simple mean": Kind(lambda: pyg.SimpleConv("mean", combine_root="cat"), "weights"),
    "simple sum with root": Kind(lambda: pyg.SimpleConv(combine_root="sum"), "weights"),
    "simple mean with root": Kind(lambda: pyg.SimpleConv("mean", combine_root="sum"), "weights"),
    "simple sum with loops": Kind(lambda: pyg.SimpleConv(combine_root="self_loop"), "weights"),
    "simple mean with loops": Kind(
        lambda: pyg.SimpleConv("mean", combine_root="self_loop"), "weights"
    ),
    "transformer": Kind(lambda: pyg.TransformerConv(WIDTH, 3, heads=2, dropout=0.4)),
    "transformer averaged": Kind(
        lambda: pyg.TransformerConv(WIDTH, 3, heads=2, concat=False, beta=True)
    ),
    "transformer without root": Kind(lambda: pyg.TransformerConv(WIDTH, 3, root_weight=False)),
    "transformer edges": Kind(
        lambda: pyg.TransformerConv(WIDTH, 3, heads=2, edge_dim=EDGE_WIDTH), "features"
    ),
    "rgcn": Kind(lambda: pyg.RGCNConv(WIDTH, 3, RELATIONS), "types"),
    "rgcn sum": Kind(
        lambda: pyg.RGCNConv(WIDTH, 3, RELATIONS, aggr="add", root_weight=False, bias=False),
        "types",
    ),
    "rgcn of bases": Kind(lambda: pyg.RGCNConv(WIDTH, 3, RELATIONS, num_bases=3), "types"),
    "rgcn of blocks": Kind(lambda: pyg.RGCNConv(WIDTH, 6, RELATIONS, num_blocks=2), "types"),
    "pna": Kind(lambda: pna()),
    "pna of towers": Kind(
        lambda: pna(["std", "sum"], edge_dim=EDGE_WIDTH, towers=1, divide_input=True), "features"
    ),
}
