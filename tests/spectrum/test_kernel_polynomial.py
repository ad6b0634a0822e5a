"""The spectral density: a density, and the exact histogram within its own error bars."""

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given

from pgso import PRESETS, Graph
from pgso.errors import InputError
from pgso.spectrum import density, eigenvalues, interval
from tests.strategies import edge_lists, parameters

GRAPHS = {
    "random": networkx.gnp_random_graph(300, 0.03, seed=0),
    "scale-free": networkx.barabasi_albert_graph(300, 2, seed=0),
    "many components": networkx.gnp_random_graph(300, 0.005, seed=0),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("preset", PRESETS)
def test_it_matches_the_exact_histogram_within_its_error_bars(name, preset):
    graph = Graph.from_networkx(GRAPHS[name])
    exact = eigenvalues(graph, preset, k=None)
    low, high = (float(end) for end in interval(graph, preset))
    edges = np.linspace(low - 0.5, high + 0.5, 12)
    share, error = density(graph, preset).histogram(edges)
    expected = np.histogram(exact, edges)[0] / graph.num_nodes
    assert (abs(share - expected) <= error + 1e-3).all()


def test_its_error_bars_are_narrow_enough_to_say_something():
    graph = Graph.from_networkx(GRAPHS["random"])
    share, error = density(graph, "gcn").histogram(np.linspace(-1.1, 1.1, 8))
    assert error.max() < 0.2
    assert share.sum() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("edges", [[1.0, 0.0], [0.5], [[0.0, 1.0]]])
def test_bins_that_are_none_are_refused(edges):
    found = density(Graph.from_networkx(GRAPHS["random"]), "gcn", num_moments=10)
    with pytest.raises(InputError, match="each above the last"):
        found.histogram(edges)


def test_more_probes_give_smaller_errors():
    graph = Graph.from_networkx(GRAPHS["random"])
    few, many = (density(graph, "gcn", num_probes=p).error.mean() for p in (8, 128))
    assert many < few / 2


@given(edges=edge_lists(undirected=True), S=parameters())
def test_it_is_a_density_for_every_graph_and_S(edges, S):
    spectrum = density(edges.graph, S, num_moments=40, num_points=300)
    assert np.trapezoid(spectrum.density, spectrum.grid) == pytest.approx(1)
    assert (spectrum.density >= -1e-4 * spectrum.density.max()).all()
    assert (np.diff(spectrum.grid) > 0).all()
    low, high = interval(edges.graph, S)
    assert spectrum.grid[0] <= low
    assert high <= spectrum.grid[-1]


def test_the_same_seed_gives_the_same_density():
    graph = Graph.from_networkx(GRAPHS["random"])
    first, second, other = (density(graph, "gcn", seed=s).density for s in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_too_few_probes_are_refused():
    path = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(InputError, match="num_probes must be at least 2, got 1"):
        density(path, "gcn", num_probes=1)


def test_the_grid_is_that_of_the_optimal_interval():
    star = Graph.from_networkx(networkx.star_graph(400))  # Theorem 2 has ±400, eigenvalues ±20
    found = density(star, "adjacency")
    assert found.grid[-1] == pytest.approx(20.4, rel=1e-3)
    shares, errors = found.histogram([-22.0, -18.0, 18.0, 22.0])
    assert shares[1] == pytest.approx(399 / 401, abs=errors[1] + 1e-3)
