"""The record of a finding: its rungs, and what a page shows beside them."""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

import pgso
from pgso.bases import undirected
from pgso.data import Task
from pgso.data.description import (
    adjusted_homophily,
    cells_of,
    component_sizes,
    sketch_of,
    sketched_items,
)
from pgso.data.task import IN_MEMORY
from pgso.drawing import errors
from pgso.errors import InputError
from pgso.finding.advice import code_of, command_of, spec_of
from pgso.finding.heads import Head
from pgso.finding.ladder import Fitted, Ladder
from pgso.finding.predictor import calibration
from pgso.finding.problem import Problem
from pgso.finding.rungs import GCN
from pgso.finding.scores import probabilities
from pgso.finding.verdict import leaks_of, score_of_guessing, signal_of, verdict_of, whole_verdict
from pgso.graph.degrees import received_weight
from pgso.records.data import Sketch
from pgso.records.finding import FindingRecord, GraphStatistics, Prediction, RungRecord, Spectrum
from pgso.records.spec import SevenNumbers

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
    guess = score_of_guessing(problem)
    rungs = {name: rung_record(f, best, problem, guess) for name, f in ladder.fitted.items()}
    kept, statistics = rungs[best.rung.name], graph_statistics(problem)
    head_records = {one.name: one.record(problem) for one in heads}
    signal, leaks, families = signal_of(ladder, best), leaks_of(problem), ladder.family_shares()
    learned = [ladder.fitted[name].rung.family == "learned" for name in ladder.steps]
    last = learned.index(True) if any(learned) else len(learned) - 1  # S was learned for the one
    verdict = verdict_of(
        kept,
        rungs[GCN],
        list(rungs.values()),
        problem.objective,
        statistics,
        over=ladder.steps[last - 1] if last > 0 else "",
        direction=ladder.direction_matters(best),
    )
    gains = [rung.points for rung in rungs.values() if rung.points is not None and rung is not kept]
    is_directed, dataset = statistics.is_directed, wanted["dataset"]
    spec = spec_of(kept, is_directed, wanted, task)
    can_be_compared = len(problem.val) and len(problem.test)
    can_be_compared = can_be_compared or dataset == IN_MEMORY  # which compare splits
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
            verdict, signal, families, head_records[head.name], kept, problem, leaks
        ),
        leaks=leaks,
        guess=guess,
        headroom=max(gains, default=None),
        judges=len(best.losses),
        spec=spec.model_dump(mode="json"),
        code=code_of(spec, problem, is_known),
        command=command_of(kept, is_directed, wanted) if can_be_compared else "",
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
    longest = max(of_x, key=len, default=())
    hops = tuple(letter.S for letter in reversed(longest))  # the last letter meets x first
    evidence = fitted.evidence
    score, best_score = fitted.pooled(problem), best.pooled(problem)

    def merit(value: float) -> float:
        """A score below the score of guessing counts as much as guessing."""
        return max(map(problem.objective.merit, (value, guess)))

    return RungRecord(
        name=fitted.rung.name,
        family=fitted.rung.family,
        terms=fitted.terms,
        blocks=tuple(str(word) for word in fitted.words),
        adds=fitted.rung.adds,
        scales=fitted.fit.scales,
        S=hops[0] if hops else None,
        S_per_hop=hops if len(set(hops)) > 1 else (),
        hops=len(hops),
        penalty=fitted.fit.penalty,
        loo_loss=fitted.fit.loss,
        loss=float(fitted.losses.mean()),
        loo=fitted.loo,
        val=fitted.val,
        test=fitted.test,
        points=None if score is None or best_score is None else merit(score) - merit(best_score),
        gain=None if evidence is None else evidence.gain,
        interval=None if evidence is None else evidence.interval,
        p=None if evidence is None else evidence.p,
        seconds=fitted.seconds,
    )


def graph_statistics(problem: Problem) -> GraphStatistics:
    """What a reader wants to know first."""
    graph, degree = problem.graph, problem.graph.degree.double()
    return GraphStatistics(
        num_graphs=len(problem.nodes_per_graph),
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        is_directed=not graph.is_undirected,
        degree_median=float(degree.median()) if len(degree) else 0.0,
        degree_mean=float(degree.mean()) if len(degree) else 0.0,
        degree_max=float(degree.max()) if len(degree) else 0.0,
        isolated=int((received_weight(graph) == 0).sum()),
        components=len(component_sizes(graph)),
        adjusted_homophily=adjusted_homophily(problem),
        num_features=problem.num_features,
        num_labels=len(problem.train),
        label_share=len(problem.train) / max(len(problem.y), 1),
        classes=tuple(problem.Y.mean(dim=0).tolist()) if problem.classes else (),
    )


def sketch_with_predictions(problem: Problem, out: Tensor) -> Sketch | None:  # out: (items, C)
    """Some nodes in the plane with labels, predictions and errors."""
    part = sketch_of(problem)
    if part is None:
        return None
    rows = out[sketched_items(problem, part.nodes)]
    rows = rows.argmax(dim=1) if problem.answer == "class" else rows
    predicted, given = cells_of(rows, problem.classes), part.colours
    wrong = errors(given["label"], predicted, given["split"])
    shown = {"label": given["label"], "prediction": predicted, "error": wrong}
    return part.model_copy(update={"colours": {**shown, "split": given["split"]}})


def some_predictions(problem: Problem, out: Tensor) -> tuple[Prediction, ...]:  # (items, C)
    """Predictions of the test set, or of what has no label; every k-th one if there are many."""
    items = problem.test
    if not len(items):
        labelled = torch.zeros(len(problem.y), dtype=torch.bool)
        labelled[problem.judges] = True
        items = (~labelled).nonzero()[:, 0]
    items = items.sort().values[:: max(1, -(-len(items) // ROWS))]

    def written(values: Tensor) -> tuple[str, ...]:
        """Four digits; large numbers whole."""
        return tuple(f"{v:,.0f}" if 1000 <= abs(v) < 1e9 else f"{v:.4g}" for v in values.tolist())

    found = []
    for item in items.tolist():
        y, row = problem.y[item], dict[str, Any]()
        if problem.classes:
            said = probabilities(problem, out[item].unsqueeze(0))[0]
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
