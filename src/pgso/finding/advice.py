"""What to do with a finding: the spec of a network, code to paste, a command to confirm it."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from pgso.data.task import IN_MEMORY
from pgso.finding.problem import Problem
from pgso.records import RunSpec
from pgso.records.finding import RungRecord
from pgso.records.spec import SevenNumbers

IDENTITY: SevenNumbers = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)  # γ = I: a network without a graph


def network_of(rung: RungRecord, is_directed: bool) -> dict[str, Any]:
    """The choices of a run whose network has this rung's operators, a layer per hop.

    One operator is a GCN with that operator. Several terms are a bank, and so is a term that names
    a direction or a relation. On a directed graph, other terms see every edge with its reverse, as
    they did when they were found.

    Args:
        rung: The rung that is kept.
        is_directed: Whether the graph is.
    """
    layers = {"num_layers": max(rung.hops, 2)}
    if rung.S is None:
        return {"conv": "gcn", "operator": "fixed", "preset": IDENTITY, **layers}
    operator = "fixed"
    if rung.family == "learned":
        operator = "mpgso" if rung.S_per_hop else "pgso"
    names_edges = any("@" in term for term in rung.terms)
    base = {"base": "undirected"} if is_directed and not names_edges else {}
    terms = network_terms(rung)
    if len(terms) > 1 or names_edges:
        return {"conv": "bank", "operator": operator, "terms": terms, **layers, **base}
    preset = rung.S if rung.family == "learned" else rung.terms[0]
    return {"conv": "gcn", "operator": operator, "preset": preset, **layers, **base}


def network_terms(rung: RungRecord) -> tuple[str, ...]:
    """The terms of a layer; a learned S is written as its seven numbers.

    Powers of one operator beside each other, such as γx and γ²x, need ``self`` in a network.
    """
    terms = list(rung.terms)
    if len(rung.blocks) > 1 and rung.hops > 1 and "self" not in terms:
        terms.insert(0, "self")
    numbers = ",".join(repr(value) for value in rung.S or ())
    return tuple(
        term.replace("learned", numbers, 1) if term.partition("@")[0] == "learned" else term
        for term in terms
    )


def spec_of(rung: RungRecord, is_directed: bool, wanted: Mapping[str, Any]) -> RunSpec:
    """The run that trains a network with this rung's operator.

    Args:
        rung: The rung that is kept.
        is_directed: Whether the graph is.
        wanted: The dataset, its options, the seed and the objective.
    """
    return RunSpec(**{**wanted, **network_of(rung, is_directed)})


def code_of(rung: RungRecord, problem: Problem) -> str:
    """A few lines of Python with a model that has this rung's operator."""
    inputs, outputs = problem.num_features, problem.num_outputs
    if rung.S is None and problem.kind == "node" and problem.categories is None:
        return (
            "from torch_geometric.nn import MLP\n\n"
            f"model = MLP([{inputs}, 64, {outputs}], dropout=0.5)  # no graph\n"
            "out = model(data.x)\n"
        )
    choices = network_of(rung, not problem.graph.is_undirected)
    weighted = problem.graph.edge_weight is not None
    edges = "data.edge_index, data.edge_weight" if weighted else "data.edge_index"
    lines = ["import pgso"]
    before: list[str] = []
    if choices.pop("base", None):
        before = ["graph = pgso.bases.undirected(pgso.Graph.from_data(data))"]
        edges = "graph"
    conv = choices.pop("conv")
    words = [f"{name}={value!r}" for name, value in choices.items()]
    if problem.categories is not None:
        words.append(f"categories={problem.categories!r}")
    if problem.kind == "graph":
        words.append("task='graph'")
        edges += ", batch=data.batch"
    made = "a stack of pgso.BankConv" if conv == "bank" else "a stack of pgso.GCNConv"
    lines += ["", f"model = pgso.GNN(  # {made}"]
    lines += [f'    "{conv}", {inputs}, 64, {outputs},']
    call = f"out = model(data.x, {edges})"
    edges_of_terms = {term.partition("@")[2] for term in choices.get("terms", ())}
    if edges_of_terms - {"", "in", "out"}:
        call = "out = model(x, relations)  # pgso.Relations; of a task: task.x, task.relations"
    elif problem.relations is not None:
        call, before = "out = model(x, graph)  # of a task: task.x, task.graph", []
    lines += [f"    {', '.join(words)},", ")", *before, call]
    return "\n".join(lines) + "\n"


def command_of(rung: RungRecord, is_directed: bool, wanted: Mapping[str, Any]) -> str:
    """The command that compares the rung's operator with learned ones in trained networks."""
    if wanted["dataset"] == IN_MEMORY:
        return _call_of(rung, is_directed, wanted)
    words = ["pgso", "compare", wanted["dataset"]]
    if wanted.get("objective"):
        words += ["--objective", wanted["objective"]]
    for name, value in wanted.get("data_options", {}).items():
        words += ["--option", f"{name}={json.dumps(value)}"]
    if rung.S is not None:
        choices = network_of(rung, is_directed)
        if choices["conv"] != "gcn":
            words += ["--conv", choices["conv"]]
        if "base" in choices:
            words += ["--base", choices["base"]]
        if isinstance(choices.get("preset"), str):
            words += ["--preset", choices["preset"]]
        for name in ("preset", "terms"):
            if isinstance(choices.get(name), tuple):
                words += ["--set", f"{name}={json.dumps(choices[name])}"]
        if rung.hops > 2:
            words += ["--layers", str(rung.hops)]
    return shlex.join(words)


def _call_of(rung: RungRecord, is_directed: bool, wanted: Mapping[str, Any]) -> str:
    """The same in Python, for data that have no name."""
    choices = {} if rung.S is None else network_of(rung, is_directed)
    choices.pop("operator", None)  # all are compared
    if wanted.get("objective"):
        choices["objective"] = wanted["objective"]
    defaults = {"conv": "gcn", "preset": "gcn", "num_layers": 2}
    said = [f"{name}={value!r}" for name, value in choices.items() if defaults.get(name) != value]
    return f"pgso.compare({', '.join(['data', *said])})"
