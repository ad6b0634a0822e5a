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
from pgso.finding.advice import code_of, command_of, network_terms, spec_of
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


@pytest.mark.parametrize("is_directed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_code_runs(rungs, problem, kind, is_directed):
    if is_directed:
        problem = generated((OUT,), nodes=200, labels=80, val=50, directed=True)
    data = Data(x=problem.raw, edge_index=problem.graph.edge_index)
    names = {"data": data}
    code = code_of(rungs[kind], problem)
    exec(code, names)
    assert names["out"].shape == (200, 3)
    assert ("BankConv" in code) == is_bank(rungs[kind])
    if "direction" in kind:
        assert names["model"].operators[-1].edges == "out"
    reverses = is_directed and kind in ("own", "bank", "learned", "learned bank")
    assert ("bases.undirected" in code) == reverses


def test_a_learned_S_is_in_the_code_as_seven_numbers(rungs, problem):
    for kind in ("learned", "learned bank", "learned directions", "learned direction"):
        names = {"data": Data(x=problem.raw, edge_index=problem.graph.edge_index)}
        exec(code_of(rungs[kind], problem), names)
        for gso in names["model"].operators:
            assert gso.parameters_tuple() == pytest.approx(S)


def test_a_fixed_networks_operators_are_those_of_the_rung(problem):
    directed = generated((OUT,), nodes=400, directed=True)
    finding = find(directed.graph, directed.x, directed.y, train=directed.train, val=directed.val)
    assert finding.best.family == "directions"
    names = {"data": Data(x=directed.x, edge_index=directed.graph.edge_index)}
    exec(finding.to_pyg(), names)
    terms = [term for term in finding.best.terms if term != "self"]
    assert [gso.edges for gso in names["model"].operators] == [t.split("@")[1] for t in terms]


def test_weights_of_edges_are_in_the_code(rungs, problem):
    weight = torch.rand(problem.graph.num_edges)
    graph = pgso.Graph.from_edge_index(problem.graph.edge_index, weight, 200)
    names = {"data": Data(problem.raw, graph.edge_index, edge_weight=graph.edge_weight)}
    code = code_of(rungs["bank"], replace(problem, graph=graph))
    exec(code, names)
    assert names["out"].shape == (200, 3)


def test_kinds_of_edges_are_in_the_code(rungs, problem):
    rung = rungs["bank"].model_copy(update={"terms": ("self", "mean@likes")})
    names = {"x": problem.raw, "relations": pgso.Relations({"likes": problem.graph})}
    exec(code_of(rung, problem), names)
    assert names["out"].shape == (200, 3)


def test_molecules_are_embedded(rungs, problem):
    rung, graphs = rungs["bank"], replace(problem, kind="graph", categories=(3, 2), num_features=2)
    x = torch.randint(2, (200, 2))
    data = Data(x=x, edge_index=problem.graph.edge_index, batch=torch.arange(200) // 100)
    names = {"data": data}
    exec(code_of(rung, graphs), names)
    assert names["out"].shape == (2, 3)


def test_powers_beside_each_other_need_self(rungs):
    both = rungs["bank"].model_copy(
        update={"terms": ("mean",), "blocks": ("mean x", "mean² x"), "hops": 2}
    )
    assert network_terms(both) == ("self", "mean")
    assert network_terms(rungs["own"]) == ("gcn",)


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
    names = {"data": Data(x=problem.raw, edge_index=twice)}
    exec(code_of(rungs["own"], replace(problem, graph=graph)), names)
    expected = names["model"].eval()(problem.raw, pgso.bases.undirected(graph))
    torch.testing.assert_close(names["model"](names["data"].x, names["graph"]), expected)
