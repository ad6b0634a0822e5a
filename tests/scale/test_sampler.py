"""Sampled neighbours: right on average, exact when all are drawn, the same on every path."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric import nn as pyg
from torch_geometric.nn import GAT, GCN, GIN, GraphSAGE

import pgso
from pgso.convs import CONVS
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.scale import NeighborSampler

S = (0.3, 1.2, -0.4, 0.2, -0.6, -0.3, 0.7)


def random_graph(n=12, degree=5, weighted=False, loops=False, seed=0):
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(0, n, (2, n * degree), generator=generator)
    if not loops:
        edges = edges[:, edges[0] != edges[1]]
    weight = torch.rand(edges.size(1), generator=generator) + 0.5 if weighted else None
    return Graph.from_edge_index(edges, weight, n)


def sample(graph, seeds, sizes, seed=0):
    rng = np.random.default_rng(seed)
    return NeighborSampler(graph).sample(torch.as_tensor(seeds), sizes, rng)


@given(seed=st.integers(0, 99), weighted=st.booleans(), loops=st.booleans())
def test_all_neighbours_give_the_rows_of_the_whole_product(seed, weighted, loops):
    graph = random_graph(weighted=weighted, loops=loops, seed=seed)
    x = torch.randn(12, 3)
    part = sample(graph, [7, 2, 5], [-1])
    ours = pgso.apply_pgso(x[part.sample.nodes], part, S)[:3]
    torch.testing.assert_close(ours, pgso.apply_pgso(x, graph, S)[[7, 2, 5]])


@given(seed=st.integers(0, 99), sizes=st.lists(st.sampled_from([1, 2, 4, -1]), max_size=3))
def test_the_arrays_are_those_of_a_graph_made_of_the_same_edges(seed, sizes):
    graph = random_graph(weighted=True, loops=True, seed=seed)
    part = sample(graph, [0, 4], sizes, seed)
    again = Graph.from_edge_index(part.edge_index, part.edge_weight, part.num_nodes)
    for mine, theirs in ((part.pattern, again.pattern), (part.transposed, again.transposed)):
        for name in ("rowptr", "row", "col", "diagonal"):
            assert torch.equal(getattr(mine, name), getattr(theirs, name)), name
    assert torch.equal(part.transposition, again.transposition)
    assert part.num_edges == again.num_edges
    torch.testing.assert_close(part.entries, again.entries)


def test_degrees_and_self_loops_are_those_of_the_whole_graph():
    graph = random_graph(weighted=True, loops=True)
    part = sample(graph, [3, 1], [2, 1])
    assert torch.equal(part.degree, graph.degree[part.sample.nodes])
    assert torch.equal(part.loops, graph.loops[part.sample.nodes])


def copies(graph, count):
    """The same graph side by side: a sample of all is a sample of each, drawn independently."""
    n, (source, target) = graph.num_nodes, graph.edge_index
    shift = n * torch.arange(count).unsqueeze(1)
    edges = torch.stack([(source + shift).flatten(), (target + shift).flatten()])
    weight = None if graph.edge_weight is None else graph.edge_weight.repeat(count)
    return Graph.from_edge_index(edges, weight, n * count)


@pytest.mark.parametrize("weighted", [False, True])
def test_sampled_rows_are_right_on_average(weighted):
    graph = random_graph(n=10, degree=8, weighted=weighted, loops=True).to(torch.float64)
    x, draws = torch.randn(10, 2, dtype=torch.float64), 2000
    graph = copies(graph, 1)  # degrees summed in 64 bits, as in many copies
    part = sample(copies(graph, draws), torch.arange(10 * draws), [3])
    rows = pgso.apply_pgso(x[part.sample.nodes % 10], part, S)[: 10 * draws].view(draws, 10, 2)
    error = rows.mean(0) - pgso.apply_pgso(x, graph, S)
    assert (error.abs() < 5 * rows.std(0) / draws**0.5 + 1e-9).all()
    assert rows.std(0).max() > 0.05  # it was random


def test_two_hops_of_a_linear_network_are_right_on_average():
    graph = random_graph(n=10, degree=6).to(torch.float64)
    x, draws = torch.randn(10, 2, dtype=torch.float64), 2000
    seeds = torch.tensor([4, 8]) + 10 * torch.arange(draws).unsqueeze(1)
    part = sample(copies(graph, draws), seeds.flatten(), [2, 3])
    once = pgso.apply_pgso(x[part.sample.nodes % 10], part, S)
    rows = pgso.apply_pgso(once, part, S)[: 2 * draws].view(draws, 2, 2)
    twice = pgso.apply_pgso(pgso.apply_pgso(x, graph, S), graph, S)[[4, 8]]
    assert ((rows.mean(0) - twice).abs() < 5 * rows.std(0) / draws**0.5).all()
    assert rows.std(0).max() > 0.05


def test_every_subset_of_neighbours_is_as_likely():
    star = Graph.from_edge_index(torch.tensor([[1, 2, 3, 4], [0, 0, 0, 0]]))
    part = sample(copies(star, 1200), 5 * torch.arange(1200), [2])
    drawn = part.sample.nodes[1200:].view(1200, 2) % 5
    pairs, counts = torch.unique(drawn, dim=0, return_counts=True)
    assert len(pairs) == 6
    assert (counts - 200).abs().max() < 5 * 200**0.5


@pytest.mark.parametrize("conv", [name for name in CONVS if not CONVS[name].many_hops])
def test_every_conv_gives_the_whole_graphs_outputs_when_all_neighbours_are_drawn(conv):
    graph, x = random_graph(n=30, degree=3), torch.randn(30, 4)
    model = pgso.GNN(conv, 4, 8, 3, preset=S).eval()
    part = sample(graph, [5, 17], [-1, -1])
    torch.testing.assert_close(
        model(x[part.sample.nodes], part)[:2], model(x, graph)[[5, 17]], rtol=1e-4, atol=1e-5
    )


def test_a_filter_is_not_trained_on_samples():
    with pytest.raises(pgso.errors.InputError, match="reaches many hops far"):
        pgso.fit(pgso.RunSpec(dataset="karate", conv="filter", sample=(5, 5)))


def test_converted_attention_takes_whole_graphs():
    part = sample(random_graph(n=30), [5, 17], [-1, -1])
    with pytest.raises(InputError, match=r"GATPGSO .* PyG's NeighborLoader"):
        pgso.convert(GAT(4, 8, 2, 3))(torch.randn(part.num_nodes, 4), part)


@pytest.mark.parametrize("model", [GCN, GraphSAGE, GIN])
def test_converted_models_read_degrees_in_the_whole_graph(model):
    graph, x = random_graph(n=30, degree=3, loops=True), torch.randn(30, 4)
    net = pgso.convert(model(4, 8, 2, 3)).eval()
    with torch.no_grad():
        for name, value in net.named_parameters():
            if name.endswith(("e2", "e3", "e1")):
                value += 0.3
    part = sample(graph, [5, 17], [-1, -1])
    torch.testing.assert_close(
        net(x[part.sample.nodes], part)[:2], net(x, graph)[[5, 17]], rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    "layer", [pyg.GCNConv(4, 3), pyg.SGConv(4, 3), pyg.ClusterGCNConv(4, 3), pyg.ChebConv(4, 3, 2)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_converted_layers_replace_self_loops_of_a_sample_too(layer, weighted):
    edges = torch.tensor([[0, 1, 2, 3, 3, 1], [1, 2, 3, 0, 3, 1]])
    graph = Graph.from_edge_index(edges, torch.rand(6) + 0.5 if weighted else None)
    x, part = torch.randn(4, 4), sample(graph, [3, 1], [-1])
    options = {"lambda_max": 2.0} if isinstance(layer, pyg.ChebConv) else {}
    net = pgso.convert(layer).eval()
    torch.testing.assert_close(
        net(x[part.sample.nodes], part, **options)[:2], net(x, graph, **options)[[3, 1]]
    )


def test_a_converted_polynomial_is_told_the_scale_of_the_whole_graph():
    part = sample(random_graph(), [3], [-1])
    with pytest.raises(InputError, match="needs lambda_max, that of the whole graph"):
        pgso.convert(pyg.ChebConv(4, 3, 2))(torch.randn(part.num_nodes, 4), part)


def test_a_reversed_flow_is_refused():
    net = pgso.convert(pyg.SAGEConv(4, 3, flow="target_to_source"))
    graph = random_graph()
    net(torch.randn(12, 4), graph)
    part = sample(graph, [5], [-1])
    with pytest.raises(InputError, match="edges into its nodes only"):
        net(torch.randn(part.num_nodes, 4), part)


def test_outgoing_edges_are_not_trained_on_samples():
    with pytest.raises(InputError, match="edges into its nodes only"):
        pgso.fit(pgso.RunSpec(dataset="karate", terms=("self", "gcn@out"), sample=(5, 5)))


def test_an_operator_found_from_structure_reads_it_in_the_whole_graph():
    graph, x = random_graph(n=30, degree=3), torch.randn(30, 4)
    gso = pgso.PGSO("gcn", shape="structural")
    torch.nn.init.normal_(gso.network.out.weight, std=0.1)
    part = sample(graph, [5, 17], [-1])
    torch.testing.assert_close(gso(x[part.sample.nodes], part)[:2], gso(x, graph)[[5, 17]])


def test_attention_sums_to_one_over_what_the_sample_stands_for():
    star = Graph.from_edge_index(torch.stack([torch.arange(1, 101), torch.zeros(100).long()]))
    part = sample(star, [0], [10])
    x = torch.ones(101, 4)  # every neighbour says the same: sampling cannot change the mean
    x[0] = -1
    conv = pgso.GATConv(4, 8, "gat").eval()
    torch.testing.assert_close(conv(x[part.sample.nodes], part)[:1], conv(x, star)[:1])


def test_a_batch_is_forgotten_before_the_next():
    graph = random_graph()
    sampler, rng = NeighborSampler(graph), np.random.default_rng(0)
    sampler.sample(torch.tensor([3]), [2], rng)
    with pytest.raises(InputError, match="distinct"):
        sampler.sample(torch.tensor([3, 3]), [2], rng)
    part = sampler.sample(torch.tensor([4, 3]), [2], rng)
    assert part.sample.nodes[:2].tolist() == [4, 3]
    assert part.sample.nodes.unique().numel() == part.num_nodes


def test_nodes_that_are_not_there_are_refused():
    with pytest.raises(InputError, match="between 0 and 11"):
        sample(random_graph(), [12], [2])


def test_gradients_reach_the_edge_weights_of_the_whole_graph():
    edges = random_graph(loops=True).edge_index
    weight = torch.rand(edges.size(1), requires_grad=True)
    graph, x = Graph.from_edge_index(edges, weight, 12), torch.randn(12, 3)
    part = sample(graph, [7, 2], [-1])
    ours = pgso.apply_pgso(x[part.sample.nodes], part, S)[:2].square().sum()
    theirs = pgso.apply_pgso(x, graph, S)[[7, 2]].square().sum()
    (mine,), (expected,) = (
        torch.autograd.grad(loss, weight, retain_graph=True) for loss in (ours, theirs)
    )
    torch.testing.assert_close(mine, expected)
    assert expected.abs().max() > 0
