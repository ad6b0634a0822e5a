"""Is there anything to find? Features, graph, both or neither, each against guessing."""

from typing import Literal

import torch
from torch import Tensor

from pgso.finding.evidence import FEWEST, compare
from pgso.finding.ladder import Fitted
from pgso.finding.problem import Problem
from pgso.finding.rungs.no_graph import NO_GRAPH
from pgso.finding.scores import Readout, losses, pooled, score

Signal = Literal["features", "graph", "both", "neither"]
RISK = 0.025  # of taking chance for a signal: half of it for the features, half for the graph

SENTENCES: dict[Signal, str] = {
    "features": "",
    "graph": " The features of a node alone are no better than guessing: the signal is in the "
    "graph.",
    "both": "",
    "neither": "Neither the features nor what the graph makes of them tell these labels apart: no "
    "operator is better than {guess}. Look for other features, or for more labels.",
}
FEW = (
    "{labels} labels are too few to tell a signal from chance, so the simplest model stays; find "
    "needs {fewest} or more."
)
NO_FEATURES = (
    "The graph does not tell these labels apart, and there are no features. Look for features, or "
    "for more labels."
)
WEAK = (
    "Nothing here is surely better than {guess}; what comes closest is {best}. Look for other "
    "features, or for more labels."
)


def signal_of(problem: Problem, no_graph: Fitted, best: Fitted) -> Signal:
    """What the labels follow, by the losses of every label that may judge.

    Args:
        problem: Whose labels they are.
        no_graph: The features alone.
        best: The rung that is kept, which may be the same.
    """
    evidences = compare(guessing(problem), torch.stack([no_graph.losses, best.losses]))
    features, rung_helps = (evidence.p <= RISK for evidence in evidences)
    if best is no_graph:
        return "features" if features else "neither"
    if not rung_helps:
        return "neither"
    return "both" if features else "graph"


def guessing(problem: Problem) -> Tensor:  # (train + val,)
    """The losses of a guess that looks at nothing."""
    return losses(problem, _guesses(problem))


def score_of_guessing(problem: Problem) -> float | None:
    """The score of a guess that looks at nothing, on all labels that judge.

    No score below it is something to gain from: without a signal, leave-one-out scores fall far
    below chance, because a label that is left out is rarer among the others.
    """
    guesses = _guesses(problem)
    if not problem.classes:  # the same number for all: else R² would be below 0 by itself
        mean = problem.y[problem.train].double().mean(dim=0)
        guesses = [(mean.expand(len(y), -1), y) for _, y in guesses]
    scores = [score(problem.objective, *part) for part in guesses]
    loo, val = scores
    return pooled(problem, loo, val)


def _guesses(problem: Problem) -> list[tuple[Tensor, Tensor]]:
    """The classes' shares, or the mean, beside the truth: of training and of validation labels.

    As for the rungs, a training number is not guessed from itself, and the shares are those that
    their logits start from.
    """
    y, train, val = problem.y, problem.train, problem.val
    if problem.classes:
        nothing = Readout.of(problem, 0.0)
        shape = (len(train) + len(val), len(problem.classes))
        guesses = nothing(torch.zeros(shape)).split([len(train), len(val)])
    else:
        targets = y[train].double()
        others = (targets.sum(dim=0) - targets) / max(len(targets) - 1, 1)
        guesses = others, targets.mean(dim=0).expand(len(val), -1)
    return list(zip(guesses, (y[train], y[val]), strict=True))


def with_signal(verdict: str, signal: Signal, problem: Problem, best: str) -> str:
    """The verdict on operators, with what it is worth; ``best`` is the kept rung's name."""
    guess = "the most frequent class" if problem.classes else "the mean"
    labels = len(problem.train) + len(problem.val)
    if labels < FEWEST:
        return FEW.format(labels=labels, fewest=FEWEST)
    if not problem.has_features and signal in ("neither", "graph"):
        return NO_FEATURES if signal == "neither" else verdict
    if signal == "neither":
        sentence = SENTENCES[signal] if best == NO_GRAPH else WEAK
        return sentence.format(guess=guess, best=best)
    return verdict + SENTENCES[signal]
