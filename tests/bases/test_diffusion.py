"""Diffusion against PyG's GDC, which inverts or exponentiates a dense matrix."""

import networkx as nx
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.transforms import GDC

from pgso import PGSO, Graph
from pgso.bases import BASES, diffusion
from pgso.errors import InputError, UnknownNameError
from pgso.spectrum import gershgorin_interval
from tests.strategies import edge_lists

OPTIONS = {"ppr": {"alpha": 0.15}, "heat": {"t": 5.0}}


def exact(graph, kind, **options):
    """The whole matrix by PyG."""
    gdc = GDC(
        normalization_out=None,
        diffusion_kwargs={"method": kind, **options},
        sparsification_kwargs={"method": "threshold", "eps": -1.0},
    )
    weight = graph.edge_weight
    weight = torch.ones(graph.num_edges) if weight is None else weight.float()
    actual = gdc(Data(edge_index=graph.edge_index, edge_attr=weight, num_nodes=graph.num_nodes))
    matrix = torch.zeros(graph.num_nodes, graph.num_nodes)
    matrix[actual.edge_index[1], actual.edge_index[0]] = actual.edge_attr.float()
    return matrix


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("eps", [0.03, 1e-3, 1e-4, 1e-6])
def test_every_entry_is_within_eps_of_the_exact_one(kind, eps):
    graph = Graph.from_networkx(nx.barabasi_albert_graph(120, 2, seed=3))
    wanted = exact(graph, kind, **OPTIONS[kind])
    diffused = diffusion(graph, kind, eps=eps)
    assert diffused.is_undirected
    dense = diffused.to_torch_sparse().to_dense()
    assert (dense - wanted).abs().max() <= eps
    assert dense[dense > 0].min() >= eps / 2


@pytest.mark.parametrize("kind", OPTIONS)
@settings(max_examples=15)
@given(
    edges=edge_lists(undirected=True, weights="positive", loops=False), strength=st.floats(0.1, 0.9)
)
def test_weights_isolated_nodes_and_other_strengths(kind, edges, strength):
    assume(edges.num_nodes > 1 and edges.edge_index.numel())  # PyG needs an edge
    graph = edges.graph.to(torch.float32)
    option = {"alpha": strength} if kind == "ppr" else {"t": 10 * strength}
    diffused = diffusion(graph, kind, eps=1e-3, **option).to_torch_sparse().to_dense()
    assert (diffused - exact(graph, kind, **option)).abs().max() <= 1e-3


def test_the_largest_entries_of_a_row_are_kept():
    graph = Graph.from_networkx(nx.barabasi_albert_graph(60, 3, seed=0))
    whole = diffusion(graph, eps=1e-4).to_torch_sparse().to_dense()
    few = diffusion(graph, eps=1e-4, top_k=5).to_torch_sparse().to_dense()
    largest = whole.topk(5, dim=1).indices
    assert (few.gather(1, largest) > 0).all()
    assert few.count_nonzero() <= 2 * 5 * 60
    kept = few > 0
    torch.testing.assert_close(few[kept], whole[kept], atol=1e-3, rtol=0)


def test_components_stay_apart():
    graph = Graph.from_networkx(nx.disjoint_union(nx.path_graph(5), nx.cycle_graph(4)))
    dense = diffusion(graph, "heat").to_torch_sparse().to_dense()
    assert dense[:5, 5:].abs().sum() == 0


@pytest.mark.parametrize("name", BASES)
def test_a_base_is_a_graph_that_operators_and_theory_accept(name):
    base = BASES[name](Graph.from_networkx(nx.karate_club_graph(), weight=None))
    assert PGSO("gcn")(torch.ones(34, 2), base).isfinite().all()
    low, high = gershgorin_interval(base, "gcn")
    assert low < high


def test_bad_input_is_refused_in_words():
    path = Graph.from_networkx(nx.path_graph(3))
    with pytest.raises(UnknownNameError, match="ppr"):
        diffusion(path, "pqr")
    for options, word in [
        ({"alpha": 1.0}, "alpha"), ({"eps": 0.0}, "eps"), ({"top_k": 0}, "top_k"),
        ({"kind": "heat", "t": -1.0}, "t must be positive"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=word):
            diffusion(path, **options)
    with pytest.raises(InputError, match="undirected"):
        diffusion(Graph.from_edge_index(torch.tensor([[0], [1]])))
    with pytest.raises(InputError, match="0 or more"):
        diffusion(Graph.from_dense([[0.0, -1.0], [-1.0, 0.0]]))


@pytest.mark.parametrize("eps", [1e-3, 1e-7])
def test_heat_of_a_long_time_is_spread_evenly(eps):
    graph = Graph.from_networkx(nx.cycle_graph(5))
    diffused = diffusion(graph, "heat", t=300.0, eps=eps).to_torch_sparse().to_dense()
    torch.testing.assert_close(diffused, torch.full((5, 5), 0.2), atol=eps, rtol=0)


def test_an_edge_index_will_do_and_so_will_no_nodes():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert diffusion(edges).num_nodes == 3
    assert diffusion(Graph.from_edge_index(torch.empty(2, 0, dtype=torch.long))).num_nodes == 0
