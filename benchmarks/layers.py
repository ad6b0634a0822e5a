"""Whole training steps with a learned operator against PyG's fixed layers."""

from collections.abc import Callable

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch, Data
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import erdos_renyi_graph

from benchmarks.graphs import arxiv_shaped, power_law_edges
from benchmarks.measure import Row, at_most, faster, many, peak_memory, take_turns
from benchmarks.training import Perceptrons, TheirGIN
from pgso.graph import Graph, product, row_dots
from pgso.models.gnn import GNN
from pgso.models.operators import param_groups


def step_of(model: nn.Module, y: Tensor, *inputs: object) -> Callable[[], None]:
    """One forward, backward and Adam step."""
    optimiser = torch.optim.Adam(param_groups(model), fused=True)
    model.train()

    def step() -> None:
        optimiser.zero_grad()
        functional.cross_entropy(model(*inputs), y).backward()
        optimiser.step()

    return step


def run() -> list[Row]:
    torch.manual_seed(0)
    return [*_arxiv(), *_cora(), *_attention(), *_small_graphs()]


def _arxiv() -> list[Row]:
    edge_index, n = arxiv_shaped()
    x, y = torch.randn(n, 128), torch.randint(0, 40, (n,))
    graph = Graph.from_edge_index(edge_index, num_nodes=n)
    index, weight = gcn_norm(edge_index, None, n)
    csr = torch.sparse_coo_tensor(index.flip(0), weight, (n, n)).to_sparse_csr()
    ours = step_of(GNN("gcn", 128, 256, 40), y, x, graph)
    fixed = step_of(GNN("gcn", 128, 256, 40, operator="fixed"), y, x, graph)
    options = {"dropout": 0.5}
    on_edges = step_of(pyg.GCN(128, 256, 2, 40, cached=True, **options), y, x, edge_index)
    on_csr = step_of(pyg.GCN(128, 256, 2, 40, normalize=False, **options), y, x, csr)
    g, hidden, weight = torch.randn(n, 128), torch.randn(n, 256), torch.randn(256, 128)
    entries = torch.rand(graph.pattern.col.numel())

    def first_layer_backwards() -> None:
        """Where the input is a constant, a fixed operator needs no gradient beyond W's."""
        torch.mm(hidden, weight)
        product(graph.pattern, entries, g)

    learned, unlearned, with_csr, extra = take_turns(
        ours, fixed, on_csr, first_layer_backwards, rounds=5
    )
    again, with_edges = take_turns(ours, on_edges, rounds=2)
    return [
        faster("GCN-PGSO step vs PyG GCNConv on edge_index, arxiv shape", again, with_edges, 5),
        faster("GCN-PGSO step vs PyG GCNConv on CSR, arxiv shape", learned, with_csr, 1.2),
        at_most(
            "learned vs fixed operator in our GCN, arxiv shape",
            learned,
            unlearned,
            1.15,
            floor=unlearned + extra,
        ),
    ]


def _cora() -> list[Row]:
    n, width = 2708, 1433
    edge_index = power_law_edges(n, 10_800)
    dense = (torch.rand(n, width) < 0.013).float()
    sparse = dense.to_sparse_csr()
    y = torch.randint(0, 7, (n,))
    graph = Graph.from_edge_index(edge_index, num_nodes=n)

    class Theirs(nn.Module):
        """Kipf and Welling's network: dropout before both layers."""

        def __init__(self) -> None:
            super().__init__()
            self.first = pyg.GCNConv(width, 64, cached=True)
            self.second = pyg.GCNConv(64, 7, cached=True)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            x = self.first(functional.dropout(x, 0.5, self.training), edge_index).relu()
            return self.second(functional.dropout(x, 0.5, self.training), edge_index)

    features = [torch.randn(n, 64), torch.randn(n, 7)]

    def three_dots_a_layer() -> None:
        for x in features:
            for _ in range(3):
                row_dots(x, x)

    ours = many(10, step_of(GNN("gcn", width, 64, 7), y, sparse, graph))
    fixed = many(10, step_of(GNN("gcn", width, 64, 7, operator="fixed"), y, sparse, graph))
    theirs = many(10, step_of(Theirs(), y, dense, edge_index))
    # Theirs apart: whoever comes next finds 15 MB of dense features in the cache.
    learned, unlearned, extra = take_turns(ours, fixed, many(10, three_dots_a_layer), rounds=20)
    again, with_edges = take_turns(ours, theirs, rounds=5)
    name = "learned vs fixed operator in our GCN, ten steps, Cora shape"
    return [
        faster("ten GCN-PGSO steps vs PyG GCNConv, Cora shape", again, with_edges, 5),
        at_most(name, learned, unlearned, 1.15, floor=unlearned + extra),
    ]


def _attention() -> list[Row]:
    edge_index, n = arxiv_shaped()
    x = torch.randn(n, 128)
    y = torch.randint(0, 64, (n,))
    graph = Graph.from_edge_index(edge_index, num_nodes=n)
    ours = step_of(
        GNN("gat", 128, 64, 64, num_layers=1, heads=8, jk="last", dropout=0.0), y, x, graph
    )
    theirs = step_of(pyg.GAT(128, 64, 1, 64, heads=8, jk="last", dropout=0.0), y, x, edge_index)
    learned, fixed = take_turns(ours, theirs, rounds=3)
    return [
        faster("GAT-PGSO step vs PyG GATConv, 8 x 8 heads, time", learned, fixed, 2),
        faster("the same, peak MiB", peak_memory(ours), peak_memory(theirs), 3),
    ]


def _small_graphs() -> list[Row]:
    batch = Batch.from_data_list(
        [
            Data(edge_index=erdos_renyi_graph(18, 0.13), num_nodes=18, x=torch.randn(18, 7))
            for _ in range(32)
        ]
    )
    y = torch.randint(0, 2, (32,))
    graph = Graph.from_data(batch)

    # Like for like: GIN's perceptron has a batch norm in both (pyg.GIN leaves it out by default),
    # and both drop out before every layer and before the read-out.
    model = GNN("gin", 7, 64, 2, num_layers=5, task="graph")
    ours, theirs, floor = take_turns(
        many(10, step_of(model, y, batch.x, graph, None, batch.batch, 32)),
        many(10, step_of(TheirGIN(7, 2), y, batch)),
        many(10, step_of(Perceptrons(7, 2), y, batch)),
        rounds=20,
    )
    name = "ten GIN-PGSO steps vs PyG GIN, a batch of 32 small graphs"
    return [faster(name, ours, theirs, 1.5, floor)]
