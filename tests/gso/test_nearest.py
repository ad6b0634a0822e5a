import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from pgso import PRESETS, Graph, dense_pgso
from pgso.gso.shift import nearest_preset
from tests.strategies import edge_lists, parameters

KITE = Graph.from_edge_index(
    torch.tensor([[0, 1, 0, 2, 1, 2, 2, 3, 3, 4], [1, 0, 2, 0, 2, 1, 3, 2, 4, 3]])
)


@pytest.mark.parametrize("factor", [1.0, -3.0, 0.25])
@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"zeros", "gat"}))
def test_a_preset_is_nearest_to_its_own_multiples(name, factor):
    m1, m2, m3, *exponents = PRESETS[name]
    S = (factor * m1, factor * m2, factor * m3, *exponents)
    assert nearest_preset(KITE, S) == (name, 0.0)


def test_the_same_matrix_by_another_tuple_is_recognised():
    assert nearest_preset(KITE, (1, -1, 0, 0, -0.5, -0.5, 0)) == ("symmetric_laplacian", 0.0)
    assert nearest_preset(KITE, "gat") == ("gin", 0.0)  # A_1 and A + I


def test_what_rounding_leaves_of_a_laplacian_is_no_matrix():
    loops = Graph.from_edge_index(torch.tensor([[0, 1], [0, 1]]), torch.tensor([5.0, 1.0]))
    name, distance = nearest_preset(loops, (0, 1, 0, 0, 3, 0, 0))  # 625 and 1: as (1e-16, 0) is
    assert name != "symmetric_laplacian"
    assert distance > 0.1


def test_nothing_is_nearest_to_zeros():
    assert nearest_preset(KITE, "zeros") == ("zeros", 0.0)


@given(edge_lists(), parameters())
def test_the_distance_is_the_least_over_presets_and_factors(edges, S):
    gamma = dense_pgso(edges.adjacency, S)
    assume(float(gamma.norm()) > 1e-6)
    distances = []
    for preset in PRESETS.values():
        P = dense_pgso(edges.adjacency, preset)
        if float(P.norm()) > 1e-12:
            c = (gamma * P).sum() / P.square().sum()
            distances.append(float((gamma - c * P).norm() / gamma.norm()))
    name, distance = nearest_preset(edges.graph, S)
    assert name in PRESETS
    assert distance == pytest.approx(min([1.0, *distances]), abs=1e-5)


@given(parameters(), st.sampled_from([0.5, -2.0, 8.0]))
def test_a_factor_makes_no_difference(S, factor):
    m1, m2, m3, *exponents = S
    scaled = (factor * m1, factor * m2, factor * m3, *exponents)
    assert nearest_preset(KITE, S)[1] == pytest.approx(nearest_preset(KITE, scaled)[1], abs=1e-5)


def test_a_graph_without_edges_or_nodes_has_a_nearest_preset():
    empty = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.long), num_nodes=3)
    assert nearest_preset(empty, (0, 0, 5, 0, 0, 0, 0))[1] == 0
    nothing = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.long), num_nodes=0)
    assert nearest_preset(nothing, "gcn") == ("zeros", 0.0)
