"""Heads: the rung explains, the head predicts.

The closed form of the kept rung is the first head. Two others may take its place, on evidence:

- a *blend* mixes the predictions of all rungs, where labels are few;
- *boosted* trees see what the kept rung says, its blocks, the structure of the graph and the labels
  of neighbours, and are mixed with the closed form.

Every head is judged by labels that it has not seen. A rung has its leave-one-out predictions.
Trees predict each fifth of the training labels from the other four. The weights of a mixture are
fitted to four fifths of the labels that judge, and judged by the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor

from pgso.data.arrays import Array
from pgso.errors import UnknownNameError
from pgso.evaluation.statistics import Evidence, challenge
from pgso.finding.blocks import Word
from pgso.finding.columns import LABEL_PATHS
from pgso.finding.ladder import Fitted, Ladder
from pgso.finding.problem import Problem
from pgso.finding.propagation import Letter
from pgso.finding.ridge import sample
from pgso.finding.scores import losses, score
from pgso.records.finding import HeadRecord

HeadName = Literal["ridge", "blend", "boosted"]
HEADS = ("auto", "ridge", "blend", "boosted")
FOLDS = 5
FEWEST_FOR_TREES = 400  # labels that judge
FEWEST_FOR_A_BLEND = 50  # likewise: weights of rungs that a dozen labels choose are luck
RISK = 0.02  # of taking trees that are no better
PULL = 0.01  # of the labels: this share says that the kept rung alone is right
MOST_ROWS = 8192  # that fit the weights of a mixture: they are few numbers
LEAST_WEIGHT = 0.02  # of a rung in a blend
COLUMNS = 128  # of all blocks together that trees see
MOST_TREES = 2000  # of one fit
MOST_LABELS = 20_000  # that trees are fitted to


@dataclass(frozen=True, eq=False)
class Head:
    """What predicts: outputs of every item, and honest ones of the labels that judge."""

    name: HeadName
    out: Tensor  # (items, C) logits or numbers
    honest: Tensor  # (train + val, C) by fits that did not see the label
    losses: Tensor  # (train + val,)
    weights: dict[str, float]  # of the rungs, and of "trees"
    seconds: float = 0.0
    evidence: Evidence | None = None  # against the closed form
    trees: "Trees | None" = None
    table: "Table | None" = None  # what the trees see beside the outputs of the closed form

    def record(self, problem: Problem) -> HeadRecord:
        """The head as it is written down."""
        count = len(problem.train)
        y, objective = problem.y, problem.objective
        parts = (
            (self.honest[:count], y[problem.train]),
            (self.honest[count:], y[problem.val]),
            (self.out[problem.test], y[problem.test]),
        )
        loo, val, test = (score(objective, *part) for part in parts)
        return HeadRecord(
            name=self.name,
            weights={name: round(weight, 4) for name, weight in self.weights.items()},
            loss=float(self.losses.mean()),
            loo=loo,
            val=val,
            test=test,
            gain=None if self.evidence is None else self.evidence.gain,
            p=None if self.evidence is None else self.evidence.p,
            seconds=self.seconds,
        )


def heads_of(ladder: Ladder, best: Fitted, wanted: str = "auto") -> tuple[Head, list[Head]]:
    """The head that is kept, and all that were tried.

    Args:
        ladder: With every rung fitted.
        best: The rung that is kept.
        wanted: ``"ridge"``, ``"blend"`` or ``"boosted"`` takes that one whatever the evidence;
            ``"auto"`` takes the closed form unless another head is better.
    """
    if wanted not in HEADS:
        raise UnknownNameError("head", wanted, HEADS)
    ridge = closed_form(ladder, best)
    tried = [ridge]
    if wanted in ("auto", "boosted"):
        boosted = boosted_head(ladder, best, ridge, at_any_size=wanted == "boosted")
        tried += [] if boosted is None else [boosted]
    enough = len(ridge.honest) >= FEWEST_FOR_A_BLEND
    is_open = wanted == "auto" and enough and not _is_taken(tried[-1], ladder.problem, ridge)
    if wanted == "blend" or is_open:
        tried += [blended_head(ladder, best, ridge)]
    if wanted != "auto":
        return tried[-1], tried
    taken = [head for head in tried if _is_taken(head, ladder.problem, ridge)]
    return taken[-1] if taken else ridge, tried


def _is_taken(head: Head, problem: Problem, ridge: Head) -> bool:
    """Trees need evidence; a blend must not be worse. Neither is kept for its loss alone."""
    if head.evidence is None:
        return False
    if head.name == "boosted" and head.evidence.p > RISK:
        return False
    if head.evidence.gain <= 0 or len(head.weights) == 1:
        return False
    y = problem.y[torch.cat([problem.train, problem.val])]
    new, old = (score(problem.objective, side.honest, y) for side in (head, ridge))
    merit = problem.objective.merit
    return new is None or old is None or merit(new) >= merit(old)


def closed_form(ladder: Ladder, best: Fitted) -> Head:
    """The kept rung's own predictions."""
    out = ladder.predict(best)
    honest = torch.cat([best.readout(best.fit.loo), out[ladder.problem.val]])
    return Head("ridge", out, honest, best.losses, {best.rung.name: 1.0})


# A blend of rungs.


def blended_head(ladder: Ladder, best: Fitted, ridge: Head) -> Head:
    """Non-negative weights over the predictions of all rungs (a super learner).

    The fit is pulled to the kept rung, as if some more labels said that it alone is right. Rungs
    with the labels of neighbours take no part unless one is kept: another graph has no labels.
    """
    start, problem = perf_counter(), ladder.problem
    others = [f for f in ladder.fitted.values() if f is not best and not _needs_labels(f)]
    rungs = [best, *others]
    fits = _Mixing.of(problem, rungs, ladder)
    weights = fits.weights(np.arange(len(best.losses)))
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    weights /= weights.sum()
    used = np.flatnonzero(weights)
    parts = [ridge if rungs[k] is best else closed_form(ladder, rungs[k]) for k in used]
    out = mixture(bool(problem.classes), [part.out for part in parts], weights[used])
    honest = torch.empty_like(ridge.honest)
    for rows in _folds(torch.cat([problem.train, problem.val])):
        rest = np.setdiff1d(np.arange(len(best.losses)), rows)
        of_fold = fits.weights(rest)[used]
        of_fold = of_fold / of_fold.sum() if of_fold.sum() > 0 else weights[used]
        honest[rows] = mixture(
            bool(problem.classes), [part.honest[rows] for part in parts], of_fold
        )
    named = {rungs[k].rung.name: float(weights[k]) for k in used}
    return _judged("blend", problem, out, honest, named, ridge, perf_counter() - start)


def _needs_labels(fitted: Fitted) -> bool:
    return any(word.of == "labels" for word in fitted.words)


@dataclass(frozen=True, eq=False)
class _Mixing:
    """What the weights of a mixture are fitted to."""

    values: Array  # (n, K) the probability of the truth, or (n T, K) the error of numbers
    columns: int  # T; 0: classes

    @classmethod
    def of(cls, problem: Problem, rungs: Sequence[Fitted], ladder: Ladder) -> "_Mixing":
        if problem.classes:
            loss = torch.stack([rung.losses for rung in rungs], dim=1)
            if problem.class_weight is not None:
                y = problem.y[torch.cat([problem.train, problem.val])]
                loss = loss / problem.class_weight[y].unsqueeze(1)
            return cls(loss.neg().exp().numpy(), 0)
        y = problem.y[torch.cat([problem.train, problem.val])].double()
        errors = [(closed_form(ladder, rung).honest - y).nan_to_num().flatten() for rung in rungs]
        return cls(torch.stack(errors, dim=1).numpy(), y.size(1))

    def weights(self, rows: Array) -> Array:  # (K,), which sum to 1
        """Of the first rung, which is kept, and of the others."""
        if not self.columns:
            return _likeliest(self.values[rows], PULL * len(rows))
        T = self.columns
        errors = self.values.reshape(-1, T, self.values.shape[1])[rows].reshape(len(rows) * T, -1)
        return _least_squares(errors, PULL)


def _likeliest(P: Array, pull: float, steps: int = 200) -> Array:  # (n, K) -> (K,)
    """The weights of a mixture with the largest likelihood, by expectation and maximisation."""
    rows = sample(len(P), MOST_ROWS)
    if rows is not None:
        P, pull = P[rows.numpy()], pull * MOST_ROWS / len(P)
    weights = np.full(P.shape[1], 1 / P.shape[1])
    first = np.zeros(P.shape[1])
    first[0] = pull
    for _ in range(steps):
        share = P * weights
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-30)
        weights = (share.sum(axis=0) + first) / (len(P) + pull)
    return weights


def _least_squares(errors: Array, pull: float) -> Array:  # (n, K) -> (K,)
    """Weights >= 0 of sum 1 whose mixture has the smallest squared error, pulled to the first."""
    n, K = errors.shape
    scale = np.sqrt(np.mean(errors[:, 0] ** 2)) or 1.0
    pulled = np.sqrt(pull) * np.eye(K)[1:]
    rows = np.concatenate([errors / (scale * np.sqrt(n)), pulled, np.full((1, K), 100.0)])
    weights, _ = nnls(rows, np.append(np.zeros(len(rows) - 1), 100.0))
    return np.asarray(weights / weights.sum())


def mixture(is_classes: bool, outs: Sequence[Tensor], weights: Array) -> Tensor:
    """Outputs mixed: probabilities of classes, as their logarithms, or numbers."""
    mixed = torch.zeros_like(outs[0], dtype=torch.float64)
    for out, weight in zip(outs, weights, strict=True):
        mixed += float(weight) * (out.double().softmax(dim=1) if is_classes else out.double())
    return mixed.clamp(min=1e-12).log() if is_classes else mixed


def _folds(items: Tensor) -> list[Array]:
    """Five parts of the places of items, the same ones in whatever order the items are."""
    ranks = items.argsort().argsort().numpy()
    fold = np.random.default_rng(0).permutation(len(ranks))[ranks] % FOLDS
    return [np.flatnonzero(fold == k) for k in range(FOLDS)]


def _judged(
    name: HeadName,
    problem: Problem,
    out: Tensor,
    honest: Tensor,
    weights: dict[str, float],
    ridge: Head,
    seconds: float,
    trees: "Trees | None" = None,
    table: "Table | None" = None,
) -> Head:
    y = problem.y[torch.cat([problem.train, problem.val])]
    judged = losses(problem, [(honest, y)])
    (evidence,) = challenge(ridge.losses, judged.unsqueeze(0))
    return Head(name, out, honest, judged, weights, seconds, evidence, trees, table)


# Boosted trees.


def boosted_head(
    ladder: Ladder, best: Fitted, ridge: Head, at_any_size: bool = False
) -> Head | None:
    """Trees on what the kept rung says and on its columns, mixed with the closed form.

    Args:
        ladder: With every rung fitted.
        best: The rung that is kept.
        ridge: Its closed form.
        at_any_size: Whether to fit trees to few labels too.

    Returns:
        None where labels are too few.
    """
    start, problem = perf_counter(), ladder.problem
    judges = len(problem.train) + len(problem.val)
    if judges < FEWEST_FOR_TREES and not at_any_size:
        return None
    table = Table.of(ladder, best)
    said = ridge.out.clone()
    said[problem.train] = ridge.honest[: len(problem.train)]
    columns = np.concatenate([said.numpy(), table.columns], axis=1)
    rows = problem.train.numpy()
    out = np.empty((len(rows), problem.num_outputs))
    rounds: list[int] = []
    for fold in _folds(problem.train):
        others = np.setdiff1d(np.arange(len(rows)), fold)
        trees = Trees.grown(problem, columns, rows[others])
        rounds.append(trees.rounds)
        out[fold] = trees(columns[rows[fold]])
    trees = Trees.grown(problem, columns, rows, round(float(np.mean(rounds))))
    every = torch.from_numpy(trees(columns))
    honest = torch.cat([torch.from_numpy(out), every[problem.val]])
    mixing = _two(problem, ridge.honest, honest)
    weights = mixing(np.arange(judges))
    mixed = torch.empty_like(ridge.honest)
    for fold in _folds(torch.cat([problem.train, problem.val])):
        others = np.setdiff1d(np.arange(judges), fold)
        mixed[fold] = mixture(
            bool(problem.classes), [ridge.honest[fold], honest[fold]], mixing(others)
        )
    named = {best.rung.name: float(weights[0]), "trees": float(weights[1])}
    out_of_all = mixture(bool(problem.classes), [ridge.out, every], weights)
    seconds = perf_counter() - start
    return _judged("boosted", problem, out_of_all, mixed, named, ridge, seconds, trees, table)


def _two(problem: Problem, ridge: Tensor, trees: Tensor) -> Callable[[Array], Array]:
    """A function from rows to the weights of the closed form and of the trees."""
    y = problem.y[torch.cat([problem.train, problem.val])]
    if problem.classes:
        sides = [side.softmax(dim=1).gather(1, y.unsqueeze(1)) for side in (ridge, trees)]
        truth = torch.cat(sides, dim=1).numpy()
        return lambda rows: _likeliest(truth[rows], 0.0)
    sides = [(side - y.double()).nan_to_num() for side in (ridge, trees)]
    errors = torch.stack(sides, dim=2).numpy()  # (n, T, 2)
    return lambda rows: _least_squares(errors[rows].reshape(-1, 2), 0.0)


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of every item that trees see."""

    columns: Array  # (items, p)
    words: tuple[Word, ...]
    reductions: tuple[Tensor | None, ...]  # (p, k) of each word; None: as it is

    @classmethod
    def of(cls, ladder: Ladder, best: Fitted) -> "Table":
        """The blocks of the kept rung, the structure of the graph, and the neighbours' labels."""
        problem = ladder.problem
        words = list(best.words)
        if problem.graph.num_edges:
            words += [Word(of="structure")]
            if problem.kind == "node":
                for presets in LABEL_PATHS.values():
                    words += [Word(tuple(Letter.of(name) for name in presets), of="labels")]
        words = list(dict.fromkeys(words))
        most = max(COLUMNS // len(words), 8)
        values = [ladder.blocks.columns(word).float() for word in words]
        reductions = tuple(_leading(part, most) for part in values)
        return cls(_reduced(values, reductions), tuple(words), reductions)

    def on(self, columns_of: Callable[[Word], Tensor]) -> Array:  # (items, p)
        """The same columns of other nodes."""
        return _reduced([columns_of(word).float() for word in self.words], self.reductions)


def _reduced(values: Sequence[Tensor], reductions: Sequence[Tensor | None]) -> Array:
    pairs = zip(values, reductions, strict=True)
    return np.concatenate([(part if V is None else part @ V).numpy() for part, V in pairs], axis=1)


def _leading(values: Tensor, most: int) -> Tensor | None:  # (n, p) -> (p, most)
    """The leading principal directions, by a randomised decomposition; None: few columns."""
    if values.size(1) <= most:
        return None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        _, _, V = torch.pca_lowrank(values, q=most, niter=2)
    return V


@dataclass(frozen=True, eq=False)
class Trees:
    """Gradient boosting, one model for classes or one for each number."""

    models: tuple[Any, ...]
    num_classes: int  # 0: numbers
    rounds: int  # of boosting, the most of any model

    @classmethod
    def grown(
        cls, problem: Problem, columns: Array, rows: Array, rounds: int | None = None
    ) -> "Trees":
        """Trees for the labels of some rows; ``rounds``: None stops early, by a sixth of them."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        rows = np.sort(rows)  # the same trees in whatever order the labels are
        if len(rows) > MOST_LABELS:
            rows = np.random.default_rng(0).choice(rows, MOST_LABELS, replace=False)
        trees_per_round = len(problem.classes) if len(problem.classes) > 2 else 1
        many = trees_per_round > 10
        options = {
            "learning_rate": 0.2 if many else 0.1,
            "max_iter": rounds or max(min(300, MOST_TREES // trees_per_round), 10),
            "max_leaf_nodes": 8 if many else 15,
            "l2_regularization": 1.0,
            "early_stopping": rounds is None,
            "validation_fraction": 0.15,
            "n_iter_no_change": 5 if many else 10,
            "random_state": 0,
        }
        x = columns[rows]
        if problem.classes:
            weight = None
            y = problem.y[rows].numpy()
            if problem.class_weight is not None:
                weight = problem.class_weight[problem.y[rows]].numpy()
            y, x, weight = _at_least_two_each(y, x, weight)
            model = HistGradientBoostingClassifier(**options).fit(x, y, weight)
            return cls((model,), len(problem.classes), model.n_iter_)
        targets = problem.y[rows].double().numpy()
        models = tuple(
            HistGradientBoostingRegressor(**options).fit(x, column) for column in targets.T
        )
        return cls(models, 0, max(model.n_iter_ for model in models))

    def __call__(self, columns: Array) -> Array:  # (n, p) -> (n, C)
        """Logarithms of probabilities, or numbers."""
        if not self.num_classes:
            return np.stack([model.predict(columns) for model in self.models], axis=1)
        (model,) = self.models
        probabilities = np.full((len(columns), self.num_classes), 1e-6)
        probabilities[:, model.classes_] = np.clip(model.predict_proba(columns), 1e-6, 1)
        return np.asarray(np.log(probabilities / probabilities.sum(axis=1, keepdims=True)))


def _at_least_two_each(
    y: Array, x: Array, weight: Array | None
) -> tuple[Array, Array, Array | None]:
    """Without the labels of classes that have one: early stopping splits by class."""
    counts = np.bincount(y)
    keep = counts[y] > 1
    return y[keep], x[keep], None if weight is None else weight[keep]
