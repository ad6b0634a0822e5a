"""The interval's own conventions; that it holds the spectrum: tests/paper/test_theorem_2.py."""

import pytest
import torch
from hypothesis import given, settings
from torch.autograd import gradcheck

from pgso import Graph, shift
from pgso.errors import InputError
from pgso.graph.degrees import kinds_of_nodes
from pgso.spectrum import gershgorin_interval
from pgso.spectrum.interval import centres_and_radii
from tests.strategies import edge_lists, parameters, smooth_parameters

PATH = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))


@given(edges=edge_lists(undirected=True, weights="none", loops=False), S=parameters())
def test_without_loops_and_signs_it_is_the_printed_theorem(edges, S):
    m1, m2, m3, e1, e2, e3, a = S
    low, high = gershgorin_interval(edges.graph, S)
    # Duplicates are summed, so these are weighted graphs with positive weights.
    discs = [
        (
            m1 * (d + a) ** e1 + m2 * (d + a) ** (e2 + e3) * a + m3,
            abs(m2) * (d + a) ** (e2 + e3) * d,
        )
        if d + a > 0
        else (m1 * (e1 == 0) + m3 + m2 * a * (e2 == e3 == 0), abs(m2) * d * (e2 == e3 == 0))
        for d in edges.adjacency.sum(1).tolist()
    ]
    assert low.item() == pytest.approx(min(C - R for C, R in discs), rel=1e-12, abs=1e-12)
    assert high.item() == pytest.approx(max(C + R for C, R in discs), rel=1e-12, abs=1e-12)


def test_self_loops_move_the_centre_and_leave_the_radius():
    graph = Graph.from_dense([[3.0, 1.0], [1.0, 0.0]])
    C, R = centres_and_radii(shift(graph, "adjacency"))
    assert C.tolist() == [3, 0]
    assert R.tolist() == [1, 1]


def test_signed_weights_count_by_their_size():
    graph = Graph.from_dense([[0.0, -2.0, 3.0], [-2.0, 0.0, 4.0], [3.0, 4.0, 0.0]])
    _, R = centres_and_radii(shift(graph, (0, 1, 0, 0, 0, 0, 0)))
    assert R.tolist() == [5, 6, 7]


def test_a_node_that_decouples_has_the_eigenvalue_m3():
    lonely = Graph.from_dense(torch.zeros(1, 1))
    C, R = centres_and_radii(shift(lonely, (1, 1, 0.25, 1, 0.5, 0.5, 0)))
    assert (C.tolist(), R.tolist()) == ([0.25], [0])


@settings(max_examples=20)
@given(edges=edge_lists(undirected=True, max_nodes=4), S=smooth_parameters())
def test_each_disc_is_differentiable_in_S(edges, S):
    m1, m2, *others = S
    vector = torch.tensor((m1, m2 or 0.5, *others), dtype=torch.float64, requires_grad=True)
    graph = edges.graph
    assert gradcheck(lambda S: centres_and_radii(shift(graph, S)), (vector,), rtol=1e-3, atol=1e-4)


def test_the_ends_pass_gradients_to_S():
    S = torch.tensor([0.0, 1.0, 0.0, 0.0, -0.5, -0.5, 1.0], requires_grad=True)
    low, high = gershgorin_interval(PATH, S)
    (gradient,) = torch.autograd.grad(high - low, S)
    assert gradient.isfinite().all()
    assert gradient[1] != 0


def test_the_ends_pass_the_whole_gradient_to_edge_weights():
    index = torch.tensor([[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]])

    def ends(weight):
        graph = Graph.from_edge_index(index, torch.stack([*weight[[0, 0, 1, 1, 2]]]))
        return torch.stack(gershgorin_interval(graph, (0.5, -1.5, 0.1, 0.4, -0.3, 0.2, 0.5)))

    weight = torch.tensor([2.0, -0.5, 0.75], dtype=torch.float64, requires_grad=True)
    assert gradcheck(ends, (weight,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_ends_are_in_double_precision(dtype):
    low, high = gershgorin_interval(PATH.to(dtype), "gcn")
    assert low.dtype == high.dtype == torch.float64
    assert low.dim() == high.dim() == 0


def test_a_raw_edge_index_will_do():
    assert gershgorin_interval(PATH.edge_index, "gcn") == gershgorin_interval(PATH, "gcn")


@given(edges=edge_lists(undirected=True), S=parameters())
def test_a_kind_of_node_stands_for_all_that_are_alike(edges, S):
    graph = edges.graph
    C, R = centres_and_radii(shift(graph, S))
    low, high = gershgorin_interval(graph, S)
    torch.testing.assert_close((low, high), ((C - R).min(), (C + R).max()))
    assert low <= (C - R).min()  # rounded outwards
    assert high >= (C + R).max()


def test_nodes_of_one_degree_with_and_without_a_loop_are_told_apart():
    graph = Graph.from_dense([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    kinds = zip(*(part.tolist() for part in kinds_of_nodes(graph)[:3]), strict=True)
    assert sorted(set(kinds)) == [(1, 1, 0), (2, 1, 1), (2, 2, 0)]


def test_degrees_that_are_not_the_numbers_of_neighbours_count():
    # As of a block of rows of a larger graph, whose nodes keep their degrees.
    graph = PATH.reread(torch.tensor([5.0, 4.0, 3.0]))
    C, R = centres_and_radii(shift(graph, "mean"))
    low, high = gershgorin_interval(graph, "mean")
    torch.testing.assert_close((low, high), ((C - R).min(), (C + R).max()))


def test_the_kinds_of_a_large_regular_graph_are_one():
    ring = torch.arange(2000)
    edges = torch.stack(
        [torch.cat([ring, (ring + 1) % 2000]), torch.cat([(ring + 1) % 2000, ring])]
    )
    kinds = kinds_of_nodes(Graph.from_edge_index(edges))
    assert kinds.degree.tolist() == [2]
    assert kinds.number.tolist() == [2000]


@pytest.mark.parametrize("weights", [None, torch.tensor([1.0, 2.0, 1.0, 2.0])])
def test_what_inference_mode_asked_for_first_is_of_use_in_training(weights):
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    if weights is not None:
        weights = weights[[0, 0, 1, 1]]
    graph = Graph.from_edge_index(edges, weights)
    with torch.inference_mode():
        gershgorin_interval(graph, "gcn")
    S = torch.tensor([0.5, 1.0, 0.0, 1.0, -0.5, -0.5, 1.0], requires_grad=True)
    low, high = gershgorin_interval(graph, S)
    (high - low).backward()
    assert S.grad is not None
    assert S.grad.isfinite().all()


@pytest.mark.parametrize("shape", [(7, 2, 1), (7, 5, 1), (6, 1, 4), (7, 2, 2)])
def test_values_for_other_nodes_than_the_graphs_are_refused(shape):
    with pytest.raises(InputError, match="S must have shape"):
        gershgorin_interval(PATH, torch.rand(shape))
