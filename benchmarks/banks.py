"""Banks and filters with a learned operator against PyG's layers."""

from collections.abc import Callable

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.graphs import arxiv_shaped, power_law_edges
from benchmarks.layers import step_of
from benchmarks.measure import Row, faster, peak_memory, take_turns
from pgso.convs.filter import FilterConv
from pgso.graph import Graph, product
from pgso.models.gnn import GNN

WIDTHS = (128, 256, 40)  # features, hidden, classes of ogbn-arxiv


def run() -> list[Row]:
    torch.manual_seed(0)
    return [*_sage(), *_directed(), *_filter()]


class Theirs(nn.Module):
    """Two of PyG's layers, with dropout before both, as our networks have it."""

    def __init__(self, make: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        narrow, hidden, out = WIDTHS
        self.first, self.second = make(narrow, hidden), make(hidden, out)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Class scores."""
        x = self.first(functional.dropout(x, 0.5, self.training), edges).relu()
        return self.second(functional.dropout(x, 0.5, self.training), edges)


def bare_products(*graphs: Graph) -> Callable[[], None]:
    """The dense and sparse products of a step of two layers, and nothing else.

    The terms are ``"self"`` and one for each of the graphs. In the first layer graphs are
    multiplied on the left of the weights, in the second on their right; the features learn nothing.
    """
    n, terms = graphs[0].num_nodes, 1 + len(graphs)
    narrow, hidden, out = WIDTHS
    x, h = torch.randn(n, narrow), torch.randn(n, hidden)
    g, many = torch.randn(n, out), torch.randn(n, terms * out)
    first, second = torch.randn(hidden, narrow), torch.randn(terms * out, hidden)
    entries = [torch.rand(graph.pattern.col.numel()) for graph in graphs]

    def call() -> None:
        sums = x @ first.t()
        h @ second.t()
        for graph, values in zip(graphs, entries, strict=True):
            sums.addmm_(product(graph.pattern, values, x), first.t())
            product(graph.pattern, values, g)  # and back:
            product(graph.transposed, values, g)
            product(graph.transposed, values, h @ first)
            h.t() @ x
        many @ second
        many.t() @ h
        h.t() @ x

    return call


def _sage() -> list[Row]:
    edge_index, n = arxiv_shaped()
    x, y = torch.randn(n, WIDTHS[0]), torch.randint(0, WIDTHS[2], (n,))
    graph = Graph.from_edge_index(edge_index, num_nodes=n)
    ones = torch.ones(edge_index.size(1))
    csr = torch.sparse_coo_tensor(edge_index.flip(0), ones, (n, n)).to_sparse_csr()
    ours = step_of(GNN("bank", *WIDTHS, terms=("self", "gcn")), y, x, graph)
    on_csr = step_of(Theirs(pyg.SAGEConv), y, x, csr)
    on_edges = step_of(Theirs(pyg.SAGEConv), y, x, edge_index)
    bare = bare_products(graph)
    learned, with_csr, floor = take_turns(ours, on_csr, bare, rounds=5)
    again, with_edges, floor_again = take_turns(ours, on_edges, bare, rounds=2)
    name = "BankConv(self, gcn) step vs PyG SAGEConv(mean) on {}, arxiv shape"
    return [
        faster(name.format("edge_index"), again, with_edges, 5, floor_again),
        faster(name.format("CSR"), learned, with_csr, 1.3, floor),
    ]


def _directed() -> list[Row]:
    n = 169_343
    both = power_law_edges(n, 2_320_000)
    edge_index = both[:, : both.size(1) // 2]  # each edge once, in one direction
    x, y = torch.randn(n, WIDTHS[0]), torch.randint(0, WIDTHS[2], (n,))
    graph = Graph.from_edge_index(edge_index, num_nodes=n)
    terms = ("self", "gcn@in", "gcn@out")
    ours = step_of(GNN("bank", *WIDTHS, terms=terms), y, x, graph)
    theirs = step_of(
        Theirs(lambda narrow, wide: pyg.DirGNNConv(pyg.GCNConv(narrow, wide))), y, x, edge_index
    )
    learned, fixed, floor = take_turns(ours, theirs, bare_products(graph, graph.T), rounds=2)
    name = "BankConv(self, in, out) step vs PyG DirGNNConv(GCNConv), directed arxiv shape"
    return [faster(name, learned, fixed, 4, floor)]


def _filter() -> list[Row]:
    """Forward and backward of one layer of degree 10; PyG's K counts the terms."""
    edge_index, n = arxiv_shaped()
    x, g = torch.randn(n, WIDTHS[0]), torch.randn(n, WIDTHS[2])
    graph = Graph.from_edge_index(edge_index, num_nodes=n)
    our_layer = FilterConv(WIDTHS[0], WIDTHS[2], K=10, basis="chebyshev")
    their_layer = pyg.ChebConv(WIDTHS[0], WIDTHS[2], K=11)

    def ours() -> None:
        our_layer.zero_grad()
        our_layer(x, graph).backward(g)

    def theirs() -> None:
        their_layer.zero_grad()
        their_layer(x, edge_index).backward(g)

    name = "Chebyshev filter of degree 10, forward and backward, vs PyG ChebConv(K=11), {}"
    learned, fixed = take_turns(ours, theirs, rounds=2)
    return [
        faster(name.format("time"), learned, fixed, 4),
        faster(name.format("peak MiB"), peak_memory(ours), peak_memory(theirs), 3),
    ]
