import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch_geometric.data import Batch as PyGBatch
from torch_geometric.data import Data

from pgso import Graph
from pgso.data.batch import Slices
from pgso.errors import InputError
from tests.strategies import edge_lists


@st.composite
def collections(draw):
    """Small graphs of one kind (weighted or not), some of them to be taken, in any order."""
    kind = draw(st.sampled_from(["none", "positive", "signed"]))
    loops = draw(st.booleans())
    graph = edge_lists(undirected=draw(st.sampled_from([True, None])), weights=kind, loops=loops)
    graphs = draw(st.lists(graph, min_size=1, max_size=5))
    indices = draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=7))
    return graphs, torch.tensor(indices)


def as_pyg(graphs):
    """The same in PyG's objects, with features that tell the nodes apart."""
    return [
        Data(
            x=torch.randn(edges.num_nodes, 3),
            edge_index=edges.edge_index,
            edge_weight=edges.edge_weight,
            y=torch.tensor([k % 2]),
            num_nodes=edges.num_nodes,
        )
        for k, edges in enumerate(graphs)
    ]


def union_of(data):
    together = PyGBatch.from_data_list(data)
    sizes = torch.tensor([each.num_nodes for each in data])
    return Slices(Graph.from_data(together), together.x, together.y, sizes)


def assert_same_pattern(left, right):
    assert left.rowptr.dtype == left.row.dtype == left.col.dtype == right.row.dtype
    for part in ("rowptr", "row", "col", "diagonal"):
        assert torch.equal(getattr(left, part), getattr(right, part)), part


@given(collections())
def test_a_batch_is_what_pyg_would_have_collated(collection):
    graphs, indices = collection
    # An edge of weight 0 may be left out where the rest is symmetric: other arrays, the same A.
    for edges in graphs:
        source, target = edges.edge_index
        assume(bool(edges.adjacency[target, source].all()))
    data = as_pyg(graphs)
    union = union_of(data)
    ours = union.batch(indices)
    theirs = PyGBatch.from_data_list([data[i] for i in indices.tolist()])
    expected = Graph.from_data(theirs)

    assert torch.equal(ours.x, theirs.x)
    assert torch.equal(ours.y, theirs.y)
    assert torch.equal(ours.batch, theirs.batch)
    assert ours.num_graphs == theirs.num_graphs
    assert_same_pattern(ours.graph.pattern, expected.pattern)
    assert_same_pattern(ours.graph.transposed, expected.transposed)
    assert torch.equal(ours.graph.transposition, expected.transposition)
    assert torch.equal(ours.graph.entries, expected.entries)
    assert torch.equal(ours.graph.degree, expected.degree)
    assert ours.graph.num_edges == expected.num_edges
    assert (ours.graph.loops is None) == (expected.loops is None)
    # It is undirected if all graphs of the collection are, of which it holds some.
    assert ours.graph.is_undirected == union.graph.is_undirected
    assert expected.is_undirected or not ours.graph.is_undirected
    shares = ours.graph.transposed is ours.graph.pattern
    assert shares == (union.graph.transposed is union.graph.pattern)


@pytest.mark.parametrize("indices", [[2], [-1], [0.5], []])
def test_indices_that_name_no_graph_are_refused(indices):
    graphs = union_of([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=0)] * 2)
    with pytest.raises(InputError, match="a batch needs"):
        graphs.batch(torch.tensor(indices))
