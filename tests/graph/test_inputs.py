"""Other libraries' graphs, with what is particular to each."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric import EdgeIndex
from torch_geometric.data import Data, HeteroData

from pgso import Graph, shift
from pgso.errors import InputError


def matrix(graph: Graph) -> list[list[float]]:
    return graph.to_torch_sparse().to_dense().tolist()


def test_an_undirected_networkx_edge_counts_both_ways_and_its_self_loop_once():
    network = nx.Graph()
    network.add_weighted_edges_from([("b", "a", 2.0), ("a", "a", 5.0)])
    assert matrix(Graph.from_networkx(network)) == nx.to_numpy_array(network).tolist()


def test_a_directed_networkx_edge_goes_from_source_to_target():
    network = nx.DiGraph([(0, 1), (1, 2), (0, 2)])
    assert matrix(Graph.from_networkx(network)) == nx.to_numpy_array(network).T.tolist()


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_multiple_networkx_edges_are_summed(kind):
    network = kind([(0, 1, {"weight": 2.0}), (0, 1, {"weight": 3.0}), (1, 0), (1, 1), (1, 1)])
    assert matrix(Graph.from_networkx(network)) == nx.to_numpy_array(network).T.tolist()


def test_networkx_weights_can_be_left_out_or_read_from_another_attribute():
    network = nx.Graph()
    network.add_edge(0, 1, weight=2.0, length=7.0)
    network.add_edge(1, 2)
    assert Graph.from_networkx(network).edge_weight.tolist() == [2, 2, 1, 1]
    assert Graph.from_networkx(network, weight="length").edge_weight.tolist() == [7, 7, 1, 1]
    assert Graph.from_networkx(network, weight=None).edge_weight is None


def test_the_karate_club_is_what_networkx_says():
    network = nx.karate_club_graph()
    graph = Graph.from_networkx(network)
    assert graph.num_edges == 2 * network.number_of_edges()
    assert graph.degree.tolist() == [degree for _, degree in network.degree(weight="weight")]
    assert graph.is_undirected


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_scipy_matrices_of_every_real_type_are_read(dtype):
    A = np.array([[0, 1, 0], [0, 1, 1], [0, 0, 0]]).astype(dtype)
    assert matrix(Graph.from_scipy(scipy.sparse.csr_array(A))) == A.astype(float).tolist()


def test_duplicate_scipy_entries_are_summed():
    sparse = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert matrix(Graph.from_scipy(sparse)) == [[0, 3], [0, 0]]


def test_uncoalesced_torch_sparse_entries_are_summed():
    sparse = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    assert matrix(Graph.from_torch_sparse(sparse)) == [[0, 3], [0, 0]]


@pytest.mark.parametrize("values", [[[0, 1], [1, 0]], np.eye(2, dtype=bool), torch.eye(2).int()])
def test_integers_and_booleans_are_adjacencies_too(values):
    assert matrix(Graph.from_dense(values)) == torch.as_tensor(values).float().tolist()


@pytest.mark.parametrize("data", [Data(), Data(x=torch.eye(2)), HeteroData(), None, object()])
def test_data_without_edges_is_refused(data):
    with pytest.raises(InputError, match="edge_index"):
        Graph.from_data(data)


EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
MATRIX = torch.zeros(3, 3).index_put((EDGES[1], EDGES[0]), torch.ones(4))
ANYTHING = {
    "Graph": Graph.from_edge_index(EDGES),
    "edge_index": EDGES,
    "int32": EDGES.int(),
    "array": EDGES.numpy(),
    "lists": EDGES.tolist(),
    "PyG's EdgeIndex": EdgeIndex(EDGES, sparse_size=(3, 3)),
    "PyG's Data": Data(edge_index=EDGES, num_nodes=3),
    "PyG's adj_t": Data(adj_t=MATRIX.to_sparse_csr(), num_nodes=3),
    "dense": MATRIX,
    "dense integers": MATRIX.long(),
    "dense array": MATRIX.numpy(),
    "dense lists": MATRIX.tolist(),
    "torch.sparse": MATRIX.to_sparse_csr(),
    "scipy": scipy.sparse.csr_array(MATRIX.numpy()),
    "networkx": nx.path_graph(3),
}


@pytest.mark.parametrize("anything", ANYTHING.values(), ids=ANYTHING.keys())
def test_one_door_takes_every_form_of_a_graph(anything):
    graph = Graph.of(anything)
    assert torch.equal(graph.to_torch_sparse().to_dense(), MATRIX)
    assert torch.equal(shift(anything, "adjacency").to_dense(), MATRIX)


@pytest.mark.parametrize("name", ["edge_index", "torch.sparse", "dense"])
def test_one_door_remembers_what_it_has_read_until_it_changes(name):
    tensor = ANYTHING[name].clone()
    first = Graph.of(tensor)
    assert Graph.of(tensor) is first
    values = tensor.values() if tensor.layout == torch.sparse_csr else tensor
    values[0] = 0
    assert Graph.of(tensor) is not first


def test_two_by_two_integers_are_edges_and_numbers_a_matrix():
    assert Graph.of([[0, 1], [1, 0]]).edge_weight is None
    assert Graph.of([[0.5, 1.0], [1.0, 0.0]]).edge_weight.tolist() == [0.5, 1.0, 1.0]


@pytest.mark.parametrize("bad", [None, "Cora", 3, [["a", "b"]], [[1, 2], [3]], object()])
def test_what_is_no_graph_is_refused_in_one_sentence(bad):
    with pytest.raises(InputError, match=r"a graph must be|graph must be a pgso.Graph"):
        Graph.of(bad)
