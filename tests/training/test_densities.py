"""What a report is given besides its records."""

import numpy as np
import pytest
import torch

from pgso import Graph, RunSpec, fit, load_task
from pgso.records import Store
from pgso.records.record import without_spectra
from pgso.spectrum import density
from pgso.training import pages
from pgso.training.fit import on_base
from pgso.training.pages import (
    FRAMES,
    POINTS,
    SHOWN,
    complete_spectra,
    surroundings,
)


@pytest.fixture
def spectra_of(tmp_path):
    """The spectra of runs, by the key of their spec."""
    return lambda runs: {
        run.spec.key: run.spectra for run in complete_spectra(runs, Store(tmp_path))
    }


@pytest.fixture(scope="module")
def runs():
    spec = RunSpec(dataset="karate", epochs=30, hidden_channels=8)
    return [fit(spec.but(operator=name)) for name in ("fixed", "mpgso")]


def test_densities_follow_every_operator_through_the_run(runs, spectra_of):
    actual = spectra_of(runs)[runs[1].spec.key]
    assert len(actual["start"]) == len(actual["learned"]) == 2
    for layer in (0, 1):
        frames = [frame for frame in actual["by_epoch"] if frame["operator"] == layer]
        assert len(frames) == FRAMES
        assert [frames[0]["epoch"], frames[-1]["epoch"]] == [0, 29]
        assert frames[0]["density"] != frames[-1]["density"]
        for frame in frames:
            assert np.trapezoid(frame["density"], frame["grid"]) == pytest.approx(1, abs=1e-6)


def test_a_fixed_operator_has_one_density(runs, spectra_of):
    actual = spectra_of(runs)[runs[0].spec.key]
    assert actual["by_epoch"] == []
    assert actual["start"] == actual["learned"]


def test_what_is_computed_is_stored_and_not_computed_again(runs, tmp_path, monkeypatch):
    store = Store(tmp_path)
    complete = complete_spectra(runs, store)
    assert [store.get(run.spec).spectra for run in runs] == [run.spectra for run in complete]
    assert not without_spectra(complete)
    monkeypatch.setattr(pages, "density", None)
    assert complete_spectra(complete, store) == complete


def test_a_mean_over_the_nodes_is_not_shown_as_an_operator(runs, spectra_of):
    record = runs[1]
    several = record.model_copy(update={"spec": record.spec.but(shape="node")})
    assert spectra_of([several]) == {several.spec.key: None}


def test_a_network_on_another_matrix_has_the_densities_of_that_matrix(runs, spectra_of):
    record = runs[0]
    other = record.model_copy(update={"network": {"base": "ppr"}})
    graph = on_base(load_task("karate"), "ppr").graph
    for run, wanted in ((record, load_task("karate").graph), (other, graph)):
        actual = spectra_of([runs[1], run])[run.spec.key]
        grid = density(wanted, record.start[0], num_points=POINTS).grid
        np.testing.assert_allclose(actual["start"][0]["grid"], grid, rtol=1e-6)


def test_terms_on_a_relation_have_no_spectrum_of_all_edges(runs, spectra_of):
    other = runs[0].model_copy(update={"network": {"terms": ("self", "mean@cites")}})
    assert spectra_of([other])[other.spec.key] == {}


def test_the_piece_is_connected_and_its_degrees_are_those_of_the_whole_graph():
    size = 30
    ids = torch.arange(size * size).view(size, size)
    right = torch.stack([ids[:, :-1].flatten(), ids[:, 1:].flatten()])
    down = torch.stack([ids[:-1].flatten(), ids[1:].flatten()])
    edges = torch.cat([right, down], dim=1)
    piece = surroundings(Graph.from_edge_index(torch.cat([edges, edges.flip(0)], dim=1)))
    A = np.array(piece["adjacency"])
    assert A.shape == (SHOWN, SHOWN)
    assert (A == A.T).all()
    reached = np.linalg.matrix_power(A + np.eye(SHOWN), SHOWN)[0]
    assert (reached > 0).all()
    assert piece["degree"][0] == 4 == A[0].sum()


def test_a_hub_is_not_the_centre():
    star = torch.stack([torch.zeros(200, dtype=torch.long), torch.arange(1, 201)])
    ring = torch.stack([torch.arange(1, 201), torch.arange(1, 201).roll(1)])
    edges = torch.cat([star, ring], dim=1)
    piece = surroundings(Graph.from_edge_index(torch.cat([edges, edges.flip(0)], dim=1)))
    assert piece["degree"][0] == 3


@pytest.mark.parametrize("weight", [None, torch.tensor([2.0, 3.0])])
def test_directed_and_weighted_entries_stand_as_in_the_adjacency(weight):
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [2, 2]]), weight, num_nodes=3)
    piece = surroundings(graph)
    one, two = (1.0, 1.0) if weight is None else (2.0, 3.0)
    assert piece["adjacency"][0] == [0.0, *sorted((one, two))]
    assert piece["degree"] == [one + two, 0.0, 0.0]


def test_a_graph_without_edges_shows_one_node():
    graph = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.long), num_nodes=3)
    assert surroundings(graph) == {"adjacency": [[0.0]], "degree": [0.0]}
