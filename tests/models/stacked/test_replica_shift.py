import pytest
import torch

from pgso.graph import Graph
from pgso.graph.reach import Reach
from pgso.gso.presets import PRESETS
from pgso.gso.shift import unchecked_shift
from pgso.models.stacked.replica_shift import ReplicaShift

PATH = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4, 4, 5], [1, 0, 2, 1, 3, 2, 4, 3, 5, 4]])
ONE_WAY = PATH[:, ::2]
# The last keeps much more of a node than it gets: its gradients are taken apart.
STARTS = [PRESETS["gcn"], PRESETS["laplacian"], (50.0, 0.1, 3.0, 0.2, -0.3, 0.1, 1.5)]


def many(edges=PATH, copies=300):
    """Enough paths for powers to be taken by degree."""
    parts = [edges + 6 * number for number in range(copies)]
    return Graph.from_edge_index(torch.cat(parts, dim=1), num_nodes=6 * copies)


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("degrees", ["row", "both"])
@pytest.mark.parametrize(
    "graph", [Graph.from_edge_index(PATH), Graph.from_edge_index(ONE_WAY), many()]
)
def test_every_replica_has_the_product_and_the_gradients_it_has_alone(graph, degrees, learn):
    S = torch.tensor([list(map(float, start)) for start in STARTS]).T
    x = torch.randn(3, graph.num_nodes, 4)
    g = torch.randn_like(x)
    columns = graph.column_sums if degrees == "both" and not graph.is_undirected else None

    together, features = S.clone().requires_grad_(learn), x.clone().requires_grad_()
    operator = ReplicaShift(graph, graph.copies(3), together, columns, fixed=not learn)
    out = operator.times(features)
    out.backward(g)
    for r in range(3):
        alone, own = S[:, r].clone().requires_grad_(learn), x[r].clone().requires_grad_()
        expected = unchecked_shift(graph, alone, degrees, fixed=not learn).times(own)
        expected.backward(g[r])
        assert torch.equal(out[r], expected)
        assert torch.equal(features.grad[r], own.grad)
        if learn:
            torch.testing.assert_close(together.grad[:, r], alone.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("edges", [PATH, ONE_WAY])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_reach_computes_the_rows_that_are_asked_for(edges, weighted):
    weight = torch.rand(edges.size(1)) if weighted else None
    if weighted and edges is PATH:
        weight = weight[::2].repeat_interleave(2)  # as much there as back
    graph = Graph.from_edge_index(edges, weight, 6)
    reach = Reach.of(graph, torch.tensor([0, 5]), hops=1, copies=3)
    columns, rows = reach.nodes
    S = torch.tensor([list(map(float, start)) for start in STARTS]).T
    x, g = torch.randn(3, 6, 4), torch.randn(3, len(rows), 4)
    copies = graph.copies(3)

    whole_S, whole_x = S.clone().requires_grad_(), x.clone().requires_grad_()
    whole = ReplicaShift(graph, copies, whole_S).times(whole_x)[:, rows]
    whole.backward(g)
    some_S, some_x = S.clone().requires_grad_(), x[:, columns].clone().requires_grad_()
    some = ReplicaShift(graph, copies, some_S, reach=reach).times(some_x)
    some.backward(g)
    assert torch.equal(some, whole)
    assert torch.equal(some_x.grad, whole_x.grad[:, columns])
    torch.testing.assert_close(some_S.grad, whole_S.grad, rtol=1e-5, atol=1e-6)


def test_there_is_no_reach_where_all_nodes_are_seen():
    graph = Graph.from_edge_index(PATH)
    assert Reach.of(graph, torch.arange(6), hops=1, copies=2) is None
    assert Reach.of(graph, torch.tensor([2]), hops=9, copies=2) is None
