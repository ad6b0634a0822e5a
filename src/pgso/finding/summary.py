"""The record of a finding: its rungs, what a page shows beside them, and what to do with it."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

import pgso
from pgso.bases import undirected
from pgso.data import Task, description
from pgso.data.dataset import is_table, suited
from pgso.data.task import IN_MEMORY
from pgso.drawing import errors
from pgso.errors import InputError
from pgso.finding.heads import Head
from pgso.finding.ladder import Fitted, Ladder
from pgso.finding.predictor import calibration
from pgso.finding.problem import Problem
from pgso.finding.rungs import GCN
from pgso.finding.verdict import guess_of, leaks_of, signal_of, verdict_of, whole_verdict
from pgso.graph.degrees import received_weight
from pgso.records import RunSpec
from pgso.records.data import Sketch
from pgso.records.finding import FindingRecord, GraphStatistics, Prediction, RungRecord, Spectrum
from pgso.records.spec import SevenNumbers

SLOWER = 0.03  # the learning rate of several layers on a table, where one layer has 0.1
NORMALISED = -0.95  # e2 + e3 of operators whose rows or spectrum stay near 1: GCN's has -1
LESS_DECAY = 1e-3  # where several hops make features small, weights have to be large
IDENTITY: SevenNumbers = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)  # γ = I: a network without a graph
ROWS = 100  # of the table of predictions
POINTS = 200  # of the density
MOST_EDGES = 1_000_000  # above which the density takes as long as a rung


def record_of(
    ladder: Ladder,
    best: Fitted,
    head: Head,
    heads: Sequence[Head],
    wanted: Mapping[str, Any],  # the dataset, its options, the seed and the objective
    task: Task | None,  # None: the data came as arrays, and nothing is suggested for them
    is_known: bool,  # whether the dataset can be loaded by its name or path
    start: float,
) -> FindingRecord:
    """All there is to know about a finding, as data."""
    problem, out = ladder.problem, head.out
    guessed, guess = guess_of(problem)
    rungs = {name: rung_record(f, best, problem, guess) for name, f in ladder.fitted.items()}
    kept, statistics = rungs[best.rung.name], graph_statistics(problem)
    head_records = {one.name: one.record(problem) for one in heads}
    signal, families = signal_of(ladder, best, guessed), ladder.family_shares(best)
    leaks = leaks_of(problem)
    learned = [ladder.fitted[name].rung.family == "learned" for name in ladder.steps]
    last = learned.index(True) if any(learned) else len(learned) - 1  # S was learned for the one
    verdict = verdict_of(
        kept,
        rungs[GCN],
        list(rungs.values()),
        problem.objective,
        told_of(statistics, problem),
        over=ladder.steps[last - 1] if last > 0 else "",
        direction=statistics.is_directed and ladder.direction_matters(best),
    )
    is_directed, dataset = statistics.is_directed, wanted["dataset"]
    spec = spec_of(kept, is_directed, wanted, task)
    command = command_of(kept, is_directed, wanted, task is not None and is_table(task))
    has_parts = len(problem.val) and len(problem.test)  # compare splits what is in memory
    return FindingRecord(
        dataset=dataset,
        seed=wanted["seed"],
        kind=problem.kind,
        metric=problem.metric,
        positive=problem.objective.positive_name,
        graph=statistics,
        rungs=tuple(rungs.values()),
        same_as=ladder.same_as,
        steps=tuple(ladder.steps),
        best=kept.name,
        heads=tuple(head_records.values()),
        head=head.name,
        reference=GCN,
        signal=signal,
        families=families,
        verdict=whole_verdict(
            verdict, signal, families, head_records[head.name], kept, problem, leaks, head.is_shown
        ),
        leaks=leaks,
        guess=guess,
        judges=len(best.said.losses),
        spec=spec.model_dump(mode="json"),
        code=code_of(spec, problem, is_known),
        command=command if has_parts or dataset == IN_MEMORY else "",
        predictions=some_predictions(problem, out),
        coverage=calibration(problem, head)[1],
        sketch=sketch_with_predictions(problem, out),
        targets=problem.targets,
        spectrum=spectrum_of(problem, kept.S),
        versions={"pgso": pgso.__version__, "torch": torch.__version__},
        seconds=perf_counter() - start,
    )


def rung_record(
    fitted: Fitted, best: Fitted, problem: Problem, guess: float | None = None
) -> RungRecord:
    """A rung as it is written down; ``guess`` is the score below which nothing is lost."""
    of_x = [word.letters for word in fitted.words if word.of == "x"]
    terms = [term for word in of_x for term in [letter.term for letter in word] or ["self"]]
    longest = max(of_x, key=len, default=())
    hops = tuple(letter.S for letter in reversed(longest))  # the last letter meets x first
    evidence = {} if fitted.evidence is None else vars(fitted.evidence)  # gain, interval and p
    scores, points = [problem.pooled(one.loo, one.val) for one in (fitted, best)], None
    if None not in scores:  # one below the score of guessing counts as much as guessing
        own, kept = (max(map(problem.objective.merit, (score, guess))) for score in scores)
        points = own - kept
    return RungRecord(
        name=fitted.rung.name,
        family=fitted.rung.family,
        terms=tuple(dict.fromkeys(terms)) or ("self",),
        blocks=tuple(str(word) for word in fitted.words),
        adds=fitted.rung.adds,
        scales=fitted.fit.scales,
        S=hops[0] if hops else None,
        S_per_hop=hops if len(set(hops)) > 1 else (),
        hops=len(hops),
        penalty=fitted.fit.penalty,
        loo_loss=fitted.fit.loss,
        loss=float(fitted.said.losses.mean()),
        loo=fitted.loo,
        val=fitted.val,
        test=fitted.test,
        points=points,
        seconds=fitted.seconds,
        **evidence,
    )


def graph_statistics(problem: Problem) -> GraphStatistics:
    """What a reader wants to know first."""
    graph = problem.graph
    degree = graph.degree.double() if graph.num_nodes else torch.zeros(1)
    return GraphStatistics(
        num_graphs=len(problem.nodes_per_graph),
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        is_directed=not graph.is_undirected,
        degree_median=float(degree.median()),
        degree_mean=float(degree.mean()),
        degree_max=float(degree.max()),
        isolated=int((received_weight(graph) == 0).sum()),
        components=len(description.component_sizes(graph)),
        adjusted_homophily=description.adjusted_homophily(problem),
        num_features=problem.num_features,
        num_labels=len(problem.train),
        classes=tuple(problem.Y.mean(dim=0).tolist()) if problem.classes else (),
    )


def told_of(statistics: GraphStatistics, problem: Problem) -> GraphStatistics:
    """Without a homophily that is within two standard errors of 0: too few labels are joined."""
    edges = int(torch.isin(problem.graph.edge_index, problem.judges).all(dim=0).sum())
    homophily, by_chance = statistics.adjusted_homophily, sum(p**2 for p in statistics.classes)
    least = (4 if statistics.is_directed else 8) * by_chance  # an undirected edge counts twice
    if homophily is None or homophily**2 * (1 - by_chance) * edges > least:
        return statistics
    return statistics.model_copy(update={"adjusted_homophily": None})


def sketch_with_predictions(problem: Problem, out: Tensor) -> Sketch | None:  # out: (items, C)
    """Some nodes in the plane with labels, predictions and errors."""
    part = description.sketch_of(problem)
    if part is None:
        return None
    rows = out[description.sketched_items(problem, part.nodes)]
    rows = rows.argmax(dim=1) if problem.answer == "class" else rows
    predicted, given = description.cells_of(rows, problem.classes), part.colours
    wrong = errors(given["label"], predicted, given["split"])
    shown = {"label": given["label"], "prediction": predicted, "error": wrong}
    return part.model_copy(update={"colours": {**shown, "split": given["split"]}})


def some_predictions(problem: Problem, out: Tensor) -> tuple[Prediction, ...]:  # (items, C)
    """Predictions of the test set, or of what has no label; every k-th one if there are many."""
    unlabelled = ~torch.isin(torch.arange(len(problem.y)), problem.judges)
    items = problem.test if len(problem.test) else unlabelled.nonzero()[:, 0]
    items = items.sort().values[:: max(1, -(-len(items) // ROWS))]

    def written(values: Tensor) -> tuple[str, ...]:
        """Four digits; large numbers whole."""
        return tuple(f"{v:,.0f}" if 1000 <= abs(v) < 1e9 else f"{v:.4g}" for v in values.tolist())

    found = []
    for item in items.tolist():
        y, row = problem.y[item], dict[str, Any]()
        if problem.classes:
            logits = out[item].unsqueeze(0)
            said = (logits.softmax(dim=1) if problem.answer == "class" else logits.sigmoid())[0]
            chosen = int(said.argmax())
            right = (y == 1).nonzero()[:, 0] if y.dim() else y[y >= 0].reshape(-1)
            row["predicted"] = (problem.classes[chosen],)
            row["probability"] = round(float(said[chosen]), 4)
            row["truth"] = tuple(problem.classes[k] for k in right.tolist())
        else:
            row |= {"predicted": written(out[item]), "probability": None}
            row["truth"] = written(y) if bool(y.isfinite().any()) else ()
        name = str(item) if problem.ids is None else problem.ids[item]
        found.append(Prediction(item=name, **row))
    return tuple(found)


def spectrum_of(problem: Problem, S: SevenNumbers | None) -> Spectrum | None:
    """The density of γ's eigenvalues on the graph, every edge with its reverse."""
    from pgso.spectrum import density  # imports PyG, which saved models do not need

    if S is None or problem.graph.num_edges > MOST_EDGES:
        return None
    try:
        made = density(undirected(problem.graph), S, num_points=POINTS)
    except InputError:  # such as weights or an S beyond what Theorem 2 covers
        return None
    parts = {"grid": made.grid, "density": made.density}
    return Spectrum(**{k: tuple(float(f"{v:.5g}") for v in part) for k, part in parts.items()})


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
    is_learned, deep = rung.family == "learned", is_table and rung.hops > 1
    operator = ("mpgso" if rung.S_per_hop else "pgso") if is_learned else "fixed"
    names_edges = any("@" in term for term in rung.terms)
    base = {"base": "undirected"} if is_directed and not names_edges else {}
    terms, numbers = list(rung.terms), ",".join(map(repr, rung.S))
    if len(rung.blocks) > 1 and rung.hops > 1 and "self" not in terms:
        terms.insert(0, "self")  # which powers beside each other need in a network: γx and γ²x
    is_bank = len(terms) > 1 or names_edges
    if not is_table and (is_bank or rung.S[4] + rung.S[5] > NORMALISED):
        layers["norm"] = "batch"  # sums are large; a bank on Photo gains 20 points by it
    if is_bank:
        terms = [re.sub("^learned(?=@|$)", numbers, term) for term in terms]
        layers |= {"lr": SLOWER} if deep else {}
        return {"conv": "bank", "operator": operator, "terms": tuple(terms), **layers, **base}
    layers |= {"weight_decay": LESS_DECAY} if deep else {}
    conv, preset = "sgc" if deep else "gcn", rung.S if is_learned else rung.terms[0]
    return {"conv": conv, "operator": operator, "preset": preset, **layers, **base}


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


CODE = """import torch

import pgso

task = {data}
model = pgso.GNN(
    {spec.conv!r}, task.num_features, {spec.hidden_channels}, task.num_outputs,
    {options},
)
edges = {edges}
groups = pgso.param_groups(model, {rates})
{slower}optimiser = torch.optim.Adam(groups)
scheduler = torch.optim.lr_scheduler.StepLR(optimiser, {spec.lr_step}, {spec.lr_decay})
objective, train, val, test = task.objective, task.train, task.val, task.test
scale = objective.scale(task.y[train], log=False)  # of numbers
y = task.y if scale is None else scale.encode(task.y)
best, scores = -float("inf"), None
for epoch in range({spec.epochs}):
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
    slower = ""
    if spec.operator != "fixed" and spec.s_rate != 1:
        slower = f"for group in groups[1:]:  # S\n    group['lr'] *= {spec.s_rate}\n"
    made = {"data": data, "options": ", ".join(options), "edges": edges, "call": call}
    return CODE.format(spec=spec, rates=rates, slower=slower, **made)


def command_of(
    rung: RungRecord, is_directed: bool, wanted: Mapping[str, Any], is_table: bool = False
) -> str:
    """The command, or the call in Python, that compares the rung's operator with learned ones."""
    choices = {} if rung.S is None else network_of(rung, is_directed, is_table)
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
    for name in ("conv", "base", "preset", "terms", "norm"):
        value = choices.get(name)
        if isinstance(value, tuple):
            words += ["--set", f"{name}={json.dumps(value)}"]
        elif value is not None and (name, value) != ("conv", "gcn"):
            words += [f"--{name}", value]
    words += ["--layers", str(rung.hops)] if choices and rung.hops > 2 - is_table else []
    return shlex.join(words)
