"""Specs that train, code that runs, commands that are accepted."""

import json
import shlex
from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

import pgso
from pgso.cli.choices import pairs
from pgso.finding import find
from pgso.finding.summary import IDENTITY, code_of, command_of, network_of, spec_of
from pgso.records.finding import RungRecord
from tests.finding.problems import GCN, OUT, generated

WANTED = {"dataset": "karate", "seed": 0, "objective": None, "data_options": {}}
S = (0.0, 1.0, 0.5, 0.0, -0.4, -0.3, 0.9)


@pytest.fixture(scope="module")
def problem():
    return generated((GCN, GCN), nodes=200, labels=80, val=50)


@pytest.fixture(scope="module")
def rungs(problem):
    finding = find(problem.graph, problem.raw, problem.y, train=problem.train, val=problem.val)
    bank = finding.record.rung("self + mean, 1 hop")
    learned = {"family": "learned", "S": S}
    return {
        "features": finding.record.rung("no graph"),
        "own": finding.record.rung("gcn, 2 hops"),
        "bank": bank,
        "learned": finding.record.rung("gcn, 2 hops").model_copy(
            update=learned | {"terms": ("learned",)}
        ),
        "learned bank": bank.model_copy(update=learned | {"terms": ("self", "learned")}),
        "learned directions": bank.model_copy(
            update=learned | {"terms": ("self", "learned@in", "learned@out")}
        ),
        "direction": bank.model_copy(update={"terms": ("mean@out",), "blocks": ("mean@out x",)}),
        "learned direction": bank.model_copy(
            update=learned | {"terms": ("learned@out",), "blocks": ("learned@out x",)}
        ),
    }


KINDS = ["features", "own", "bank", "learned", "learned bank", "learned directions"]
KINDS += ["direction", "learned direction"]


def is_bank(rung):
    return len(rung.terms) > 1 or "@" in rung.terms[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_spec_trains(rungs, kind):
    spec = spec_of(rungs[kind], False, WANTED)
    assert (spec.conv == "bank") == is_bank(rungs[kind])
    assert pgso.RunSpec(**json.loads(spec.model_dump_json())) == spec
    record = pgso.fit(spec.but(epochs=2))
    assert record.status == "done"
    if kind.startswith("learned"):
        assert record.parameters[0] == pytest.approx(S, abs=0.1)


def run(rung, problem, **more):
    """Run the code of a rung on a problem's data, for two epochs; the names that it leaves."""
    spec = spec_of(rung, not problem.graph.is_undirected, WANTED | {"dataset": "in memory"})
    code = code_of(spec.but(epochs=2), problem, is_known=False)
    graph = problem.graph
    data = Data(problem.raw, graph.edge_index, edge_weight=graph.edge_weight, y=problem.y, **more)
    names = {"data": data}
    exec(code, names)
    return code, names


@pytest.mark.parametrize("is_directed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_code_runs(rungs, problem, kind, is_directed):
    if is_directed:
        problem = generated((OUT,), nodes=200, labels=80, val=50, directed=True)
    code, names = run(rungs[kind], problem)
    assert names["out"].shape == (200, 3)
    assert ("'bank'" in code) == is_bank(rungs[kind])
    if "direction" in kind:
        assert names["model"].operators[-1].edges == "out"
    reverses = is_directed and kind in ("own", "bank", "learned", "learned bank")
    assert ("bases.undirected" in code) == reverses


def test_a_learned_S_is_in_the_code_as_seven_numbers(rungs, problem):
    for kind in ("learned", "learned bank", "learned directions", "learned direction"):
        _, names = run(rungs[kind], problem)
        for gso in names["model"].operators:
            assert gso.parameters_tuple() == pytest.approx(S, abs=0.05)


def test_a_fixed_networks_operators_are_those_of_the_rung(problem):
    directed = generated((OUT,), nodes=400, directed=True)
    finding = find(directed.graph, directed.x, directed.y, train=directed.train, val=directed.val)
    assert finding.best.family == "directions"
    _, names = run(finding.record.rung(finding.best.name), directed)
    terms = [term for term in finding.best.terms if term != "self"]
    edges = [gso.edges for gso in names["model"].operators]
    assert edges[: len(terms)] == [t.split("@")[1] for t in terms]


def test_weights_of_edges_are_in_the_code(rungs, problem):
    weight = torch.rand(problem.graph.num_edges)
    graph = pgso.Graph.from_edge_index(problem.graph.edge_index, weight, 200)
    _, names = run(rungs["bank"], replace(problem, graph=graph))
    assert names["edges"].edge_weight is not None
    assert names["out"].shape == (200, 3)


def test_the_printed_script_runs_as_it_is_and_trains_as_the_spec_does():
    found = find("karate")
    names = {}
    torch.manual_seed(found.spec().seed)  # as a run does; scores of 8 test nodes depend on it
    exec(found.to_pyg(), names)
    record = pgso.fit(found.spec())
    assert names["loss"].item() == pytest.approx(record.curves["loss"][-1], rel=1e-3)
    assert names["scores"][0] == record.val


def test_powers_beside_each_other_need_self(rungs):
    both = rungs["bank"].model_copy(
        update={"terms": ("mean",), "blocks": ("mean x", "mean² x"), "hops": 2}
    )
    assert network_of(both, is_directed=False)["terms"] == ("self", "mean")
    assert network_of(rungs["own"], is_directed=False)["preset"] == "gcn"


def test_banks_are_normalised_but_on_tables(rungs):
    wanted = WANTED | {"dataset": "./mine"}
    for is_table, norm in ((False, "batch"), (True, None)):
        assert network_of(rungs["bank"], False, is_table).get("norm") == norm
        assert ("--norm batch" in command_of(rungs["bank"], False, wanted, is_table)) == bool(norm)
    assert "norm" not in network_of(rungs["own"], is_directed=False)
    deep = rungs["bank"].model_copy(update={"hops": 2})
    assert command_of(deep, False, wanted, is_table=True).endswith("--layers 2")


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_asks_for_the_network_of_the_spec(rungs, kind):
    wanted = WANTED | {"dataset": "./my graph", "data_options": {"undirected": False}}
    words = shlex.split(command_of(rungs[kind], True, wanted))
    assert words[:3] == ["pgso", "compare", "./my graph"]
    spec = spec_of(rungs[kind], True, wanted)
    settings = [words[k + 1] for k, word in enumerate(words) if word == "--set"]
    for name, value in pairs(settings).items():
        assert tuple(value) == getattr(spec, name)
    assert ("--conv bank" in " ".join(words)) == (spec.conv == "bank")
    assert "undirected=false" in words
    assert ("--base" in words) == (spec.base is not None)


def test_code_for_directed_edges_that_are_listed_twice_builds_the_operator_that_was_found(rungs):
    problem = generated((OUT,), nodes=200, labels=80, val=50, directed=True)
    twice = torch.cat([problem.graph.edge_index, problem.graph.edge_index[:, :50]], dim=1)
    graph = pgso.Graph.from_edge_index(twice, num_nodes=200)
    _, names = run(rungs["own"], replace(problem, graph=graph))
    expected = names["model"].eval()(problem.raw, pgso.bases.undirected(graph))
    torch.testing.assert_close(names["model"](names["data"].x, names["edges"]), expected)


def test_a_rung_of_neighbours_labels_alone_proposes_a_network_that_sees_the_graph():
    kept = {"name": "labels", "family": "labels", "hops": 0, "complexity": 3, "loss": 0.1}
    labels = RungRecord.model_construct(
        **kept, S=None, S_per_hop=None, terms=("self",), blocks=("adjacency labels",)
    )
    features = labels.model_copy(update={"blocks": ("x",)})
    assert network_of(labels, is_directed=False)["preset"] == "gcn"
    assert network_of(features, is_directed=False)["preset"] == IDENTITY
