"""What to do with a finding: the spec of a network, code to paste, a command to confirm it."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from pgso.data.dataset import is_table, suited
from pgso.data.task import IN_MEMORY, Task
from pgso.finding.problem import Problem
from pgso.records import RunSpec
from pgso.records.finding import RungRecord
from pgso.records.spec import SevenNumbers

SLOWER = 0.03  # the learning rate of several layers on a table, where one layer has 0.1
NORMALISED = -0.95  # e2 + e3 of operators whose rows or spectrum stay near 1: GCN's has -1
LESS_DECAY = 1e-3  # where several hops make features small, weights have to be large
IDENTITY: SevenNumbers = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)  # γ = I: a network without a graph


def network_of(rung: RungRecord, is_directed: bool, is_table: bool = False) -> dict[str, Any]:
    """The choices of a run whose network has this rung's operators, a layer per hop.

    One operator is a GCN with that operator. Several terms are a bank, and so is a term that names
    a direction or a relation. On a directed graph, other terms see every edge with its reverse.
    Columns of a table are best served by a network that is as linear as the closed form: powers of
    one operator are hops without layers between them (SGC), and deeper banks learn slower.
    """
    layers: dict[str, Any] = {"num_layers": max(rung.hops, 1 if is_table else 2)}
    if rung.S is None:  # no operator on features; one whose neighbours' labels tell needs a graph
        has_labels = any(block.endswith("labels") for block in rung.blocks)
        preset: str | SevenNumbers = "gcn" if has_labels else IDENTITY
        return {"conv": "gcn", "operator": "fixed", "preset": preset, **layers}
    if not is_table and rung.S[4] + rung.S[5] > NORMALISED:
        layers["norm"] = "batch"  # sums over many neighbours are large
    is_learned, deep = rung.family == "learned", is_table and rung.hops > 1
    operator = ("mpgso" if rung.S_per_hop else "pgso") if is_learned else "fixed"
    names_edges = any("@" in term for term in rung.terms)
    base = {"base": "undirected"} if is_directed and not names_edges else {}
    terms = network_terms(rung)
    if len(terms) > 1 or names_edges:
        layers |= {"lr": SLOWER} if deep else {}
        return {"conv": "bank", "operator": operator, "terms": terms, **layers, **base}
    layers |= {"weight_decay": LESS_DECAY} if deep else {}
    conv, preset = "sgc" if deep else "gcn", rung.S if is_learned else rung.terms[0]
    return {"conv": conv, "operator": operator, "preset": preset, **layers, **base}


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


def spec_of(
    rung: RungRecord, is_directed: bool, wanted: Mapping[str, Any], task: Task | None = None
) -> RunSpec:
    """The run that trains a network with this rung's operator."""
    of_table = task is not None and is_table(task)
    spec = RunSpec(**wanted, **network_of(rung, is_directed, of_table))
    spec = spec if task is None else suited(spec, task)
    if spec.residual and spec.terms and len(spec.terms) > 1:  # the residual map is the term
        spec = spec.but(terms=tuple(term for term in spec.terms if term != "self"))
    return spec


TRAINING = """
objective, train, val, test = task.objective, task.train, task.val, task.test
scale = objective.scale(task.y[train], log=False)  # of numbers
y = task.y if scale is None else scale.encode(task.y)
best, scores = -float("inf"), None
for epoch in range({epochs}):
    model.train()
    loss = objective.loss({call}[train], y[train])
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        out = {call}
    out = out if scale is None else scale.decode(out)
    now = [objective.score(out[part].numpy(), task.y[part].numpy()) for part in (val, test)]
    if objective.merit(now[0]) > best:  # the epoch that validation likes best
        best, scores = objective.merit(now[0]), now
print(objective.label, "on validation and test:", scores)
"""


def code_of(spec: RunSpec, problem: Problem, is_known: bool) -> str:
    """A script that trains the network of a spec; data that have no name are called ``data``."""
    given = {"seed": spec.seed, "objective": spec.objective, **spec.data_options}
    words = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    data = f"pgso.load_task({', '.join([repr(spec.dataset), *words])})"
    if not is_known:
        data = "pgso.Task.of(data)  # PyG's data; or Task.of(graph, x, y), or found.task"
    options = [f"num_layers={spec.num_layers!r}", f"operator={spec.operator!r}"]
    for name in ("preset", "terms", "residual", "norm", "dropout"):
        if getattr(spec, name) != RunSpec.model_fields[name].default:
            options.append(f"{name}={getattr(spec, name)!r}")
    if problem.categories is not None:
        options.append("categories=task.categories")
    edges, call = "task.edges", "model(task.x, edges)"
    if problem.kind == "graph":
        options.append('task="graph"')
        edges = "task.batch(torch.arange(task.num_graphs))"
        call = "model(edges.x, edges.graph, batch=edges.batch)"
    elif spec.base is not None:
        edges = f"pgso.bases.{spec.base}(task.graph)"
    rates = f"lr={spec.lr}, exponent_lr={spec.exponent_lr}, weight_decay={spec.weight_decay}"
    lines = [
        "import torch",
        "",
        "import pgso",
        "",
        f"task = {data}",
        "model = pgso.GNN(",
        f"    {spec.conv!r}, task.num_features, {spec.hidden_channels}, task.num_outputs,",
        f"    {', '.join(options)},",
        ")",
        f"edges = {edges}",
        f"groups = pgso.param_groups(model, {rates})",
    ]
    if spec.operator != "fixed" and spec.s_rate != 1:
        lines += ["for group in groups[1:]:  # S", f"    group['lr'] *= {spec.s_rate}"]
    lines += [
        "optimiser = torch.optim.Adam(groups)",
        f"scheduler = torch.optim.lr_scheduler.StepLR(optimiser, {spec.lr_step}, {spec.lr_decay})",
    ]
    return "\n".join(lines) + TRAINING.format(epochs=spec.epochs, call=call)


def command_of(rung: RungRecord, is_directed: bool, wanted: Mapping[str, Any]) -> str:
    """What compares the rung's operator with learned ones in trained networks.

    A command, or a call in Python for data that have no name.
    """
    choices = {} if rung.S is None else network_of(rung, is_directed)
    choices.pop("operator", None)  # all are compared
    objective = {"objective": wanted["objective"]} if wanted.get("objective") else {}
    if wanted["dataset"] == IN_MEMORY:
        defaults = {"conv": "gcn", "preset": "gcn", "num_layers": 2}
        given = {k: v for k, v in (choices | objective).items() if defaults.get(k) != v}
        return f"pgso.compare({', '.join(['data', *(f'{k}={v!r}' for k, v in given.items())])})"
    words = ["pgso", "compare", wanted["dataset"]]
    words += ["--objective", *objective.values()] if objective else []
    for name, value in wanted.get("data_options", {}).items():
        words += ["--option", f"{name}={json.dumps(value)}"]
    for name in ("conv", "base", "preset", "terms"):
        value = choices.get(name)
        if isinstance(value, tuple):
            words += ["--set", f"{name}={json.dumps(value)}"]
        elif value is not None and (name, value) != ("conv", "gcn"):
            words += [f"--{name}", value]
    words += ["--layers", str(rung.hops)] if choices and rung.hops > 2 else []
    return shlex.join(words)
