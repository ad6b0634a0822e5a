"""Table 1: each choice of S is the operator it is said to be, as other libraries build it."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.sparse import csgraph, csr_array
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import get_laplacian, to_dense_adj

from pgso import PRESETS, Graph, apply_pgso, dense_pgso
from tests.strategies import edge_lists


def random_walk(A: np.ndarray) -> np.ndarray:
    """D^-1 A, where a node without neighbours keeps an empty row."""
    d = A.sum(1, keepdims=True)
    return np.divide(A, d, out=np.zeros_like(A), where=d > 0)


def gcn(A: np.ndarray) -> np.ndarray:
    A_1 = A + np.eye(len(A))
    root = 1 / np.sqrt(A_1.sum(1))
    return root[:, None] * A_1 * root


def symmetric(A: np.ndarray) -> np.ndarray:
    d = A.sum(1)
    root = np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    return root[:, None] * A * root


def normalised(A: np.ndarray, left: float, right: float) -> np.ndarray:
    """D^left A D^right, where a node without neighbours keeps an empty row and column."""
    d = A.sum(1)
    safe = np.where(d > 0, d, 1.0)
    return np.where(d > 0, safe**left, 0)[:, None] * A * np.where(d > 0, safe**right, 0)


TABLE = {
    "adjacency": lambda A: A,
    "laplacian": lambda A: np.diag(A.sum(1)) - A,
    "signless_laplacian": lambda A: np.diag(A.sum(1)) + A,
    "random_walk_laplacian": lambda A: np.eye(len(A)) - random_walk(A),
    "symmetric_laplacian": lambda A: np.eye(len(A)) - symmetric(A),
    "gcn": gcn,
    "mean": random_walk,
    "gin": lambda A: A + np.eye(len(A)),
    "quarter": lambda A: normalised(A, -0.25, -0.25),
    "three_quarters": lambda A: normalised(A, -0.75, -0.25),
    "transition": lambda A: normalised(A, 0, -1),
    "gat": lambda A: A + np.eye(len(A)),
    "zeros": np.zeros_like,
}


def test_every_preset_is_in_this_table():
    assert set(TABLE) == set(PRESETS)


@pytest.mark.parametrize("preset", TABLE)
@pytest.mark.parametrize("weights", ["none", "positive"])
@given(data=edge_lists(undirected=True))
def test_the_preset_is_the_operator_of_the_table(preset, weights, data):
    edges = data if weights == "positive" else data._replace(edge_weight=None)
    if edges.edge_weight is not None:
        edges = edges._replace(edge_weight=edges.edge_weight.abs())
    wanted = torch.from_numpy(TABLE[preset](edges.adjacency.numpy()))
    identity = torch.eye(edges.num_nodes, dtype=torch.float64)
    torch.testing.assert_close(dense_pgso(edges.adjacency, preset), wanted)
    torch.testing.assert_close(apply_pgso(identity, edges.graph, preset), wanted)


@pytest.fixture(params=["unweighted", "weighted"])
def network(request):
    """Connected, so that libraries with other conventions for isolated nodes agree."""
    network = nx.connected_watts_strogatz_graph(12, 4, 0.3, seed=1)
    if request.param == "weighted":
        for number, (u, v) in enumerate(network.edges):
            network[u][v]["weight"] = 0.5 + number / 8
    return network


def operator(network, preset: str) -> np.ndarray:
    identity = torch.eye(len(network), dtype=torch.float64)
    return apply_pgso(identity, Graph.from_networkx(network), preset).numpy()


def test_the_laplacians_are_those_of_networkx(network):
    assert np.allclose(operator(network, "adjacency"), nx.to_numpy_array(network))
    assert np.allclose(operator(network, "laplacian"), nx.laplacian_matrix(network).toarray())
    assert np.allclose(
        operator(network, "symmetric_laplacian"), nx.normalized_laplacian_matrix(network).toarray()
    )


def test_the_laplacians_are_those_of_scipy(network):
    A = csr_array(nx.to_numpy_array(network))
    assert np.allclose(operator(network, "laplacian"), csgraph.laplacian(A).toarray())
    assert np.allclose(
        operator(network, "symmetric_laplacian"), csgraph.laplacian(A, normed=True).toarray()
    )


@pytest.mark.parametrize(
    ("preset", "kind"),
    [("laplacian", None), ("symmetric_laplacian", "sym"), ("random_walk_laplacian", "rw")],
)
def test_the_laplacians_are_those_of_pytorch_geometric(network, preset, kind):
    graph = Graph.from_networkx(network)
    index, weight = get_laplacian(graph.edge_index, graph.edge_weight, normalization=kind)
    source, target = index
    # get_laplacian stores row i in the first line, where a message's source stands.
    wanted = torch.zeros(len(network), len(network)).index_put((source, target), weight, True)
    assert np.allclose(operator(network, preset), wanted, atol=1e-6)


def test_the_gcn_operator_is_that_of_pytorch_geometric(network):
    graph = Graph.from_networkx(network)
    index, weight = gcn_norm(graph.edge_index, graph.edge_weight, graph.num_nodes)
    wanted = to_dense_adj(index, edge_attr=weight, max_num_nodes=graph.num_nodes)[0].t()
    assert np.allclose(operator(network, "gcn"), wanted, atol=1e-6)
