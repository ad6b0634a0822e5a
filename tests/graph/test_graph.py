"""The prepared graph: what every constructor agrees on, and that it stays as it is."""

import copy
import dataclasses
import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data

from pgso import Graph, apply_pgso, dense_pgso
from pgso.errors import InputError
from pgso.graph import EdgeList
from pgso.graph.degrees import received_weight
from tests.strategies import edge_lists, random_features


def matrix(graph: Graph) -> torch.Tensor:
    return graph.to_torch_sparse().to_dense().double()


def every_form(edges) -> dict[str, Graph]:
    """The same graph through every door."""
    A, n = edges.adjacency, edges.num_nodes
    network = nx.MultiDiGraph()
    network.add_nodes_from(f"node {i}" for i in range(n))
    weights = [None] * edges.edge_index.size(1)
    if edges.edge_weight is not None:
        weights = edges.edge_weight.tolist()
    for source, target, weight in zip(*edges.edge_index.tolist(), weights, strict=True):
        attributes = {} if weight is None else {"weight": weight}
        network.add_edge(f"node {source}", f"node {target}", **attributes)
    column = None if edges.edge_weight is None else edges.edge_weight.unsqueeze(1)
    data = Data(edge_index=edges.edge_index, edge_weight=edges.edge_weight, num_nodes=n)
    return {
        "edge_index": Graph.from_edge_index(*edges),
        "int32": Graph.from_edge_index(edges.edge_index.int(), *edges[1:]),
        "a column of weights": Graph.from_edge_index(edges.edge_index, column, n),
        "Data": Graph.from_data(data),
        "Batch": Graph.from_data(Batch.from_data_list([data])),
        "adj_t": Graph.from_data(Data(adj_t=A.to_sparse_csr(), num_nodes=n)),
        "networkx": Graph.from_networkx(network),
        "scipy csr": Graph.from_scipy(scipy.sparse.csr_array(A.numpy())),
        "scipy lil": Graph.from_scipy(scipy.sparse.lil_matrix(A.numpy())),
        "dense": Graph.from_dense(A),
        "array": Graph.from_dense(A.numpy()),
        "list": Graph.from_dense(A.tolist()),
        "coo": Graph.from_torch_sparse(A.to_sparse()),
        "csr": Graph.from_torch_sparse(A.to_sparse_csr()),
        "csc": Graph.from_torch_sparse(A.to_sparse_csc()),
    }


@given(edges=edge_lists())
def test_every_constructor_makes_the_same_matrix(edges):
    A = edges.adjacency
    for name, graph in every_form(edges).items():
        assert graph.num_nodes == edges.num_nodes, name
        assert torch.equal(matrix(graph), A), name
        assert torch.equal(graph.degree.double(), A.sum(1)), name
        loops = torch.zeros(A.size(0)) if graph.loops is None else graph.loops
        assert torch.equal(loops.double(), A.diagonal()), name
        assert torch.equal(received_weight(graph).double(), (A - A.diag().diag()).abs().sum(1))


def test_weights_that_cancel_are_symmetric_up_to_their_rounding():
    edges = torch.tensor([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    weight = torch.tensor([0.1, 0.2, -0.3, -0.3, 0.2, 0.1], dtype=torch.float64)
    graph = Graph.from_edge_index(edges, weight)
    one, other = graph.edge_weight.tolist()
    assert one != other
    assert graph.is_undirected
    small = torch.tensor([1e-7, 1.0, 2e-7, 1.0])  # another weight is no rounding
    pairs = torch.tensor([[0, 1, 1, 2], [1, 2, 0, 1]])
    assert not Graph.from_edge_index(pairs, small).is_undirected
    assert not Graph.from_edge_index(pairs, -small).is_undirected


@given(edges=edge_lists())
def test_a_graph_is_undirected_if_its_matrix_is_symmetric(edges):
    A = edges.adjacency
    assert Graph.from_dense(A).is_undirected == torch.equal(A, A.t())


@given(edges=edge_lists(undirected=True))
def test_undirected_edges_make_an_undirected_graph_that_shares_its_transpose(edges):
    graph = edges.graph
    assert graph.is_undirected
    assert graph.transposed is graph.pattern


@given(edges=edge_lists())
def test_the_edges_can_be_taken_out_and_put_in_again(edges):
    graph = edges.graph
    again = Graph.from_edge_index(graph.edge_index, graph.edge_weight, graph.num_nodes)
    assert torch.equal(matrix(again), matrix(graph))
    assert again.num_edges == graph.num_edges == graph.edge_index.size(1)
    assert repr(again) == repr(graph)
    assert graph.edge_index.dtype == torch.int64


def test_the_weight_of_a_self_loop_survives_among_edges_of_weight_one():
    graph = Graph.from_edge_index(torch.tensor([[0, 0, 1], [0, 1, 0]]), torch.tensor([2.5, 1, 1]))
    assert matrix(graph).tolist() == [[2.5, 1], [1, 0]]
    assert graph.edge_weight.tolist() == [2.5, 1, 1]
    assert repr(graph) == "Graph(num_nodes=2, num_edges=3, undirected, weighted)"


def test_edges_are_sorted_by_target_then_source():
    graph = Graph.from_edge_index(torch.tensor([[2, 0, 1, 0], [1, 1, 0, 2]]))
    assert graph.edge_index.tolist() == [[1, 0, 2, 0], [0, 1, 1, 2]]


@pytest.mark.parametrize("weight", [None, torch.ones(4), torch.ones(4, dtype=torch.int64)])
def test_weights_of_one_are_not_stored(weight):
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 1], [1, 0, 2, 1]]), weight)
    assert graph.weight is None
    assert graph.edge_weight is None


def test_duplicate_edges_are_summed():
    graph = Graph.from_edge_index(torch.tensor([[0, 0, 1], [1, 1, 0]]))
    assert matrix(graph).tolist() == [[0, 1], [2, 0]]
    assert graph.num_edges == 2
    assert not graph.is_undirected


def test_row_zero_of_an_edge_index_holds_the_sources():
    graph = Graph.from_edge_index(torch.tensor([[0], [1]]))
    assert matrix(graph).tolist() == [[0, 0], [1, 0]]
    assert graph.degree.tolist() == [0, 1]


def test_the_number_of_nodes_is_one_more_than_the_largest_id_unless_given():
    edges = torch.tensor([[0], [3]])
    assert Graph.from_edge_index(edges).num_nodes == 4
    assert Graph.from_edge_index(edges, num_nodes=9).num_nodes == 9


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])  # torch.tensor([[], []]) is float
def test_a_graph_without_edges_is_a_graph(n, dtype):
    graph = Graph.from_edge_index(torch.empty(2, 0, dtype=dtype), num_nodes=n)
    assert (graph.num_nodes, graph.num_edges, graph.is_undirected) == (n, 0, True)
    assert graph.degree.tolist() == [0] * n
    assert matrix(graph).shape == (n, n)


@given(first=edge_lists(), second=edge_lists())
def test_a_batch_is_a_block_diagonal_matrix(first, second):
    pair = [
        Data(edge_index=one.edge_index, edge_weight=one.adjacency[*one.edge_index.flip(0)].float())
        for one in (first, second)
    ]
    for data, one in zip(pair, (first, second), strict=True):
        data.num_nodes = one.num_nodes
    batch = Graph.from_data(Batch.from_data_list(pair))
    blocks = [matrix(Graph.from_data(data)) for data in pair]
    assert torch.equal(matrix(batch), torch.block_diag(*blocks))
    x = [random_features(one.num_nodes) for one in (first, second)]
    together = apply_pgso(torch.cat(x), batch, "gcn")
    apart = [
        apply_pgso(features, Graph.from_data(data), "gcn")
        for features, data in zip(x, pair, strict=True)
    ]
    torch.testing.assert_close(together, torch.cat(apart))


def test_a_graph_cannot_be_changed():
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.degree = torch.zeros(2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.pattern.row = torch.zeros(2)


def test_a_graph_does_not_follow_later_changes_of_what_it_was_made_from():
    edges, weight = torch.tensor([[0, 1], [1, 0]]), torch.tensor([2.0, 3.0])
    sparse = scipy.sparse.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    from_edges, from_scipy = Graph.from_edge_index(edges, weight), Graph.from_scipy(sparse)
    edges.zero_(), weight.zero_(), sparse.data.fill(0)
    assert matrix(from_edges).tolist() == [[0, 3], [2, 0]]
    assert matrix(from_scipy).tolist() == [[0, 2], [3, 0]]


@given(edges=edge_lists())
def test_another_type_is_the_same_graph(edges):
    graph = edges.graph
    for moved in (graph.to(dtype=torch.float32), graph.to(torch.float32), graph.to("cpu")):
        assert torch.equal(matrix(moved), matrix(graph))
        assert moved.is_undirected == graph.is_undirected
        assert (moved.transposed is moved.pattern) == (graph.transposed is graph.pattern)
    assert graph.to(torch.float32).dtype == torch.float32
    assert graph.to("cpu", torch.float64).dtype == torch.float64
    assert graph.to("cpu").dtype == graph.dtype


@pytest.mark.parametrize("again", [copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))])
def test_a_graph_can_be_copied_and_pickled(again):
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1], [1, 0, 1]]), torch.tensor([2.0, 2, 3]))
    assert received_weight(graph).tolist() == [2, 2]
    twin = again(graph)
    assert torch.equal(matrix(twin), matrix(graph))
    assert twin.transposed is twin.pattern


def test_half_precision_weights_are_summed_in_single_precision():
    edges = torch.tensor([[1] * 1000, [0] * 1000])
    graph = Graph.from_edge_index(edges, torch.full((1000,), 0.5, dtype=torch.bfloat16))
    assert graph.degree.tolist() == [500, 0]


def test_gradients_reach_the_entries_of_dense_and_sparse_matrices():
    A = torch.tensor([[0.0, 2.0], [3.0, 1.0]], dtype=torch.float64)
    x = torch.eye(2, dtype=torch.float64)
    dense, sparse = A.clone().requires_grad_(), A.to_sparse().requires_grad_()
    for graph in (Graph.from_dense(dense), Graph.from_torch_sparse(sparse)):
        apply_pgso(x, graph, "gcn").square().sum().backward()
    assert dense.grad[0, 1] != 0
    torch.testing.assert_close(sparse.grad.to_dense(), dense.grad)


def test_repr_says_what_matters():
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 2]]), torch.tensor([1.0, 2.0]))
    assert repr(graph) == "Graph(num_nodes=3, num_edges=2, directed, weighted)"


@pytest.mark.parametrize(
    ("pairs", "weights"),
    [
        ([[0, 1, 1], [1, 0, 2]], [1.0, 1.0, 0.0]),
        ([[0, 1, 1, 1], [1, 0, 2, 2]], [1.0, 1.0, 1.0, -1.0]),
    ],
    ids=["stored zero", "cancelled"],
)
def test_an_edge_of_weight_zero_needs_no_reverse(pairs, weights):
    graph = Graph.from_edge_index(torch.tensor(pairs), torch.tensor(weights))
    assert graph.is_undirected
    assert graph.num_nodes == 3
    x = torch.randn(3, 2, generator=torch.Generator().manual_seed(0))
    expected = dense_pgso(graph.to_torch_sparse().to_dense(), "laplacian") @ x
    torch.testing.assert_close(apply_pgso(x, graph, "laplacian"), expected)


def test_small_integers_of_any_kind_are_weights():
    assert Graph.from_dense(np.array([[0, 2], [2, 0]], dtype=np.uint16)).degree.tolist() == [2, 2]


def test_degrees_are_counted_with_enough_digits_whatever_the_default_type_is():
    leaves = torch.arange(1, 1001)
    star = torch.stack([leaves, torch.zeros_like(leaves)])
    torch.set_default_dtype(torch.bfloat16)
    try:
        actual = Graph.from_edge_index(star).degree[0], EdgeList.of(star, None, 1001).degree[0]
    finally:
        torch.set_default_dtype(torch.float32)
    assert actual == (1000, 1000)


def test_pygs_edge_index_says_how_many_nodes_there_are():
    pairs = [[0, 1], [1, 0]]
    assert Graph.from_edge_index(EdgeIndex(pairs, sparse_size=(5, 5))).num_nodes == 5
    assert Graph.of(EdgeIndex(pairs, sparse_size=(4, 3))).shape == (3, 4)
    assert Graph.from_edge_index(EdgeIndex(pairs)).num_nodes == 2
    with pytest.raises(InputError, match="there are 6 source nodes"):
        Graph.from_edge_index(EdgeIndex(pairs, sparse_size=(5, 5)), num_nodes=6)


def test_duplicate_edges_are_summed_in_double_precision():
    edges = torch.tensor([[0] * 3, [1] * 3])
    weight = torch.tensor([1e8, 2.0, -1e8])
    assert Graph.from_edge_index(edges, weight).edge_weight.tolist() == [2.0]
