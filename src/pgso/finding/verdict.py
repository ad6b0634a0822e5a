"""The finding in a few sentences: what the labels follow, what was tested, and what is left.

What a rung means is said by its family (``rungs``). Here the sentences are put together: a leak
goes first, then whether there is a signal at all, then the kept rung and the best alternative.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas
import torch

from pgso.data.arrays import Array
from pgso.data.inputs import as_scipy
from pgso.evaluation.statistics import FEWEST
from pgso.finding.ladder import Fitted, Ladder
from pgso.finding.problem import Problem, Readout, Said, evidence_of
from pgso.finding.ridge import sample
from pgso.finding.rungs import FAMILIES, NO_GRAPH, Context
from pgso.objectives import Objective
from pgso.records.finding import GraphStatistics, HeadRecord, RungRecord

Signal = Literal["features", "graph", "both", "neither"]
RISK = 0.025  # of taking chance for a signal: half of it for the features, half for the graph

GUESS = {
    "class": "the most frequent class",
    "labels": "how frequent each label is",
    "value": "the mean",
}
SAID = {
    "graph only": " The features of a node alone are no better than guessing: the signal is in the "
    "graph.",
    "nothing": "Neither the features nor what the graph makes of them tell these labels apart: no "
    "linear operator is better than {guess}. Look for other features, or for more labels.",
    "not linear": "Neither the features nor what the graph makes of them tell these labels apart "
    "by a linear operator: none is better than {guess}.",
    "few": "{labels} labels are too few to tell a signal from chance, so the simplest model stays; "
    f"find needs {FEWEST} or more.",
    "no features": "The graph does not tell these labels apart, and there are no features. Look "
    "for features, or for more labels.",
    "weak": "Nothing here is surely better than {guess}; what comes closest is {best}. Look for "
    "other features, or for more labels.",
    "other": " Other labels may tell another story: drawn again at random, these choose {other} in "
    "{most:.0f} % and {kept} in {own:.0f} %.",
    "same": " Drawn again at random, the labels choose the same in {own:.0f} %.",
}


def verdict_of(
    best: RungRecord,
    reference: RungRecord,
    rungs: Sequence[RungRecord],
    objective: Objective,
    graph: GraphStatistics,
    over: str = "",
    direction: bool = True,
) -> str:
    """What the labels follow, what to use, and how much another rung could gain."""
    if graph.num_edges == 0:
        return "The graph has no edges, labels follow the features: use no graph."
    gained = None if reference.points is None else -reference.points
    gain = difference(gained or 0.0, objective)
    gain = gain and f"{gain} than with GCN's own operator on labels left out"
    others = [rung for rung in rungs if rung.name != best.name and rung.points is not None]
    left = "No other candidate scores better on these labels." if others else ""
    other, rest = max(others, key=lambda rung: rung.points or 0.0, default=best), ""
    more = difference(max(other.points or 0.0, 0.0), objective) if others else ""
    if more:
        surely = other.p is not None and other.p <= RISK and best.p is not None
        why = "which is within chance" if surely else "which is not significant"
        why = f"{other.name}: {more}, {why}"
        left = f"The best alternative, {why}."
        rest = f" (best alternative, {why} with {graph.num_labels:,} labels)"
    if best.adds and not best.hops:  # what was added left no operator in place
        best = best.model_copy(update={"family": best.adds[0], "adds": best.adds[1:]})
    says = FAMILIES[best.family].says
    alone = f" ({gain})" if gain and not best.adds else ""  # else it is of all together
    context = Context(alone, gained or 0.0, graph, rest, over, direction)
    said = " ".join([says(best, context), *(FAMILIES[k].says(best, context) for k in best.adds)])
    if gain and best.adds:
        said += f" Together: {gain}."
    return said if not left or (rest and rest in said) else f"{said} {left}"


def whole_verdict(
    verdict: str,
    signal: Signal,
    families: Mapping[str, float],
    head: HeadRecord,
    best: RungRecord,
    problem: Problem,
    leaks: Sequence[str],
    is_shown: bool,
) -> str:
    """The verdict on the kept rung, what it is worth, and what predicts; is that shown to pay?"""
    other, most = next(iter(families.items()))
    parts = ["same" if other == best.family else "other"]
    if len(problem.judges) < FEWEST:
        verdict, parts = "", ["few"]
    elif signal == "neither":
        nothing = "nothing" if best.name == NO_GRAPH else "weak"
        nothing = nothing if problem.has_features else "no features"
        verdict, parts = "", ["not linear" if head.name == "boosted" and is_shown else nothing]
    elif signal == "graph" and problem.has_features:
        parts += ["graph only"]
    verdict += "".join(SAID[part] for part in parts).format(
        other=FAMILIES[other].called or other,
        most=100 * most,
        kept=FAMILIES[best.family].called or best.family,
        own=100 * families.get(best.family, 0.0),
        labels=len(problem.judges),
        guess=GUESS[problem.answer],
        best=best.name,
    )
    if not is_shown and head.name != "ridge":
        what = {"boosted": "Trees on top", "blend": "A blend of rungs"}[head.name]
        verdict += f" {what}, as asked for, not shown to be better than the closed form."
    elif head.name == "boosted" or (head.name == "blend" and signal != "neither"):
        new, old = (problem.pooled(side.loo, side.val) for side in (head, best))
        gain, objective = "", problem.objective
        if new is not None and old is not None:
            gain = difference(max(objective.merit(new) - objective.merit(old), 0.0), objective)
            gain = f" ({gain} on labels left out)" if gain else ""
        has_edges = problem.graph.num_edges > 0
        what = f"A blend of {len(head.weights)} rungs predicts at least as well"
        if head.name == "boosted":
            sees = ", which see neighbours too," if best.name == NO_GRAPH and has_edges else ""
            what = f"Trees on top{sees} predict better than the closed form"
        verdict += f" {what}{gain}."
    if not leaks:
        return verdict
    listed = ", ".join(f"`{name}`" for name in leaks[:3])
    more = f" and {len(leaks) - 3} more columns" if len(leaks) > 3 else ""
    each, them = (": each of them", "them") if len(leaks) > 1 else ("", "it")
    return (
        f"{listed}{more}{each} alone predicts the label. If that was written down after the label "
        f"was known, leave {them} out and ask again. {verdict}"
    )


def difference(merit: float, objective: Objective) -> str:
    """A difference of scores in words, if rounding does not hide it; positive merit is better."""
    if not float(objective.written(abs(merit)).replace(",", "")) > 0:
        return ""
    higher = (merit >= 0) == objective.larger_is_better
    size = objective.written(abs(merit)) + (" points" if objective.in_percent else "")
    return f"{objective.label} {size} {'higher' if higher else 'lower'}"


def signal_of(ladder: Ladder, best: Fitted, guessed: Said) -> Signal:
    """What the labels follow, by the losses of every label that may judge.

    A kept rung with a graph has beaten itself on that graph with its nodes relabelled at random.
    """
    no_graph = ladder.fitted[NO_GRAPH]
    evidences = evidence_of(ladder.problem, guessed, [no_graph.said, best.said])
    features, rung_helps = (evidence.p <= RISK for evidence in evidences)
    if best is no_graph:
        return "features" if features else "neither"
    return ("both" if features else "graph") if rung_helps else "neither"


def guess_of(problem: Problem) -> tuple[Said, float | None]:
    """What a guess that looks at nothing says, and its score: the classes' shares, or the mean.

    As for the rungs, a training number is not guessed from itself, and the shares are those that
    their logits start from. No score below that of guessing is something to gain from: a label that
    is left out is rarer among the others, so that leave-one-out scores fall far below chance.
    """
    num_train = len(problem.train)
    if problem.classes:
        out = Readout.of(problem)(torch.zeros(len(problem.judges), len(problem.classes)))
        train = same = out[:num_train]
        val = out[num_train:]
    else:
        targets = problem.y[problem.train].double()
        mean = targets.mean(dim=0)
        train = (targets.sum(dim=0) - targets) / max(num_train - 1, 1)
        val = mean.expand(len(problem.val), -1)
        same = mean.expand(num_train, -1)  # the same for all: else R² would be below 0 by itself
    score = problem.pooled(problem.score(same, problem.train), problem.score(val, problem.val))
    return Said.of(problem, train, val), score


# Of the balanced accuracy, or of a rank correlation's square: what no honest column has.
LEAK = 0.98
FEWEST_FOR_A_LEAK = 30  # labels, and of every class ...
FEWEST_OF_A_CLASS = 5  # ... this many: fewer are told apart by chance
ALL_TRIED = 200  # columns up to which each gets a tree; of more, those that correlate do
MOST_LABELS = 5000  # that are looked at


def leaks_of(problem: Problem) -> tuple[str, ...]:
    """The names of columns that predict the label alone, or nearly so.

    They are rarely known before the label is: a flag that was set afterwards, or the label under
    another name. For classes each column gets a decision tree with a leaf per class; for numbers
    its rank correlation counts.
    """
    labelled = problem.judges
    is_open = problem.kind == "node" and problem.has_features and problem.answer != "labels"
    if not is_open or len(labelled) < FEWEST_FOR_A_LEAK:
        return ()
    labelled = labelled[sample(len(labelled), MOST_LABELS)]
    y, x = problem.y[labelled].numpy(), problem.raw
    is_dense = x.layout == torch.strided
    values = x[labelled].numpy() if is_dense else as_scipy(x)[labelled.numpy()].toarray()
    if problem.classes:
        counts = np.bincount(y)
        if (counts > 0).sum() < 2 or counts[counts > 0].min() < FEWEST_OF_A_CLASS:
            return ()
        suspects = np.arange(values.shape[1])
        if len(suspects) > ALL_TRIED:
            squares = _correlations(values, np.eye(int(y.max()) + 1)[y])
            suspects = np.flatnonzero(squares.max(axis=1) >= 0.5)[:ALL_TRIED]
        from sklearn.metrics import balanced_accuracy_score  # slow to import, not always needed
        from sklearn.tree import DecisionTreeClassifier

        leaves: dict[str, Any] = {"max_leaf_nodes": len(np.unique(y)), "class_weight": "balanced"}
        found = []
        for c in suspects:
            tree = DecisionTreeClassifier(**leaves, random_state=0).fit(values[:, [c]], y)
            if balanced_accuracy_score(y, tree.predict(values[:, [c]])) >= LEAK:
                found.append(c)
    else:
        if y.shape[1] > 1 or not np.isfinite(y).all():
            return ()
        ranks = [pandas.DataFrame(side).rank().to_numpy() for side in (values, y)]
        squares = _correlations(*ranks)
        found = list(np.flatnonzero(squares[:, 0] >= LEAK))
    return tuple(problem.name_of_column(int(c)) for c in found)


def _correlations(values: Array, targets: Array) -> Array:  # (n, F), (n, C) -> (F, C), squared
    sides = []
    for side in (values.astype(np.float64), targets.astype(np.float64)):
        centred = side - side.mean(axis=0)
        norm = np.linalg.norm(centred, axis=0)
        sides.append(np.divide(centred, norm, out=np.zeros_like(centred), where=norm > 0))
    return np.asarray((sides[0].T @ sides[1]) ** 2)
