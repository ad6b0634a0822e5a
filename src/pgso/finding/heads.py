"""Heads: the rung explains, the head predicts.

The closed form of the kept rung is the first head. A *blend* of the predictions of all rungs may
take its place, on evidence, or *boosted* trees that see the blocks of the kept rung, the structure
of the graph and the labels of neighbours, mixed with the closed form.

Every head is judged by labels that it has not seen. A rung has its leave-one-out predictions.
Trees predict each fifth of the training labels from the other four, with columns that are made
without the labels of the fifth. The weights of a mixture are fitted to four fifths of the labels
that judge, and judged by the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits
from torch import Tensor

from pgso.data.arrays import Array
from pgso.evaluation.statistics import Evidence, challenge
from pgso.finding.blocks import LABEL_PATHS, Blocks, Letter, Word
from pgso.finding.ladder import AS_GOOD, Fitted, Ladder, one_thread
from pgso.finding.problem import FOLDS, Problem, folds_of, losses
from pgso.finding.ridge import sample
from pgso.records.finding import HeadRecord

HeadName = Literal["ridge", "blend", "boosted"]
HEADS = ("auto", "ridge", "blend", "boosted")
FEWEST_FOR_TREES = 400  # labels that judge
FEWEST_FOR_A_BLEND = 50  # likewise: weights of rungs that a dozen labels choose are luck
RISK = 0.02  # of taking trees that are no better
PULLS = (0.0, 0.003, 0.01, 0.03, 0.1)  # of a blend to the kept rung
STEPS = 200  # of fitting the weights of a mixture, at most
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
    weights: dict[str, float]  # of the rungs, and of "trees"
    losses: Tensor = field(default_factory=lambda: torch.empty(0))  # (train + val,)
    seconds: float = 0.0
    evidence: Evidence | None = None  # against the closed form
    is_shown: bool = False  # whether it may take the place of the closed form
    trees: "Trees | None" = None
    table: "Table | None" = None  # what the trees see

    def record(self, problem: Problem) -> HeadRecord:
        """The head as it is written down."""
        loo, val = self.honest.split([len(problem.train), len(problem.val)])
        parts = (loo, problem.train), (val, problem.val), (self.out[problem.test], problem.test)
        loo, val, test = (problem.score(out, items) for out, items in parts)
        judged = {} if self.evidence is None else {"gain": self.evidence.gain, "p": self.evidence.p}
        return HeadRecord(
            name=self.name,
            weights={name: round(weight, 4) for name, weight in self.weights.items()},
            loss=float(self.losses.mean()),
            loo=loo,
            val=val,
            test=test,
            **judged,
            seconds=self.seconds,
        )


@one_thread()
def heads_of(ladder: Ladder, best: Fitted, wanted: str = "auto") -> tuple[Head, list[Head]]:
    """The head that is kept, and all that were tried; one that is wanted needs no evidence."""
    problem, ridge = ladder.problem, closed_form(ladder, best)
    kept, tried, is_auto = ridge, [ridge], wanted == "auto"
    many, heads = len(ridge.honest), [("blend", blended_head, FEWEST_FOR_A_BLEND)]
    if problem.answer != "labels":  # a tree for each of many labels takes minutes
        heads.insert(0, ("boosted", boosted_head, FEWEST_FOR_TREES))
    for name, head_of, fewest in heads:
        if (kept is ridge and many >= fewest) if is_auto else wanted == name:
            tried.append(head_of(ladder, best, ridge))
            kept = tried[-1] if tried[-1].is_shown or not is_auto else kept
    return kept, tried


def closed_form(ladder: Ladder, best: Fitted) -> Head:
    """The kept rung's own predictions."""
    out = ladder.predict(best)
    honest = torch.cat([best.readout(best.fit.loo), out[ladder.problem.val]])
    return Head("ridge", out, honest, {best.rung.name: 1.0}, best.said.losses)


def blended_head(ladder: Ladder, best: Fitted, ridge: Head) -> Head:
    """Non-negative weights over the predictions of all rungs (a super learner).

    Rungs with the labels of neighbours take no part unless one is kept: another graph has none.
    Training labels that an S was learned on do not judge.
    """
    start, problem = perf_counter(), ladder.problem
    others = [
        f for f in ladder.fitted.values() if not any(w.of.startswith("labels") for w in f.words)
    ]
    parts = [ridge, *(closed_form(ladder, other) for other in others if other is not best)]
    judges = np.ones(len(ridge.honest), dtype=bool)
    if any(other.rung.family == "learned" for other in others):
        judges[ladder.learning_rows.numpy()] = False
    weights, honest = mixed(problem, [part.honest for part in parts], PULLS, judges)
    pairs = zip(parts, weights, strict=True)
    named = {next(iter(part.weights)): float(weight) for part, weight in pairs if weight > 0}
    out = mixture(problem.answer == "class", [part.out for part in parts], weights)
    return _judged(Head("blend", out, honest, named), problem, ridge, start, judges)


def mixed(
    problem: Problem,
    honest: Sequence[Tensor],  # (train + val, C) of each part, the kept rung first
    pulls: Sequence[float],
    judges: Array,  # (train + val,) of booleans
) -> tuple[Array, Tensor]:  # (K,), (train + val, C)
    """The weights of a mixture, and what it says of every label by weights that did not see it.

    A pull is as if this share of the labels said that the first part alone is right; the one whose
    mixture has the smallest loss is taken.
    """
    y, folds = problem.y[problem.judges], folds_of(problem.judges)
    masks = np.repeat(judges[:, None].astype(np.float64), FOLDS + 1, axis=1)
    for k, rows in enumerate(folds):
        masks[rows, k] = 0
    if problem.class_weight is not None:
        masks *= problem.class_weight[y].unsqueeze(1).numpy()
    is_class = problem.answer == "class"
    if is_class:
        said = [part.softmax(dim=1).gather(1, y.unsqueeze(1))[:, 0] for part in honest]
    else:
        values = honest if not problem.classes else [part.sigmoid() for part in honest]
        said = [(part - y.double()).nan_to_num() for part in values]
    parts = torch.stack(said, dim=-1).numpy()  # (n, K) probabilities, or (n, T, K) errors
    tried = []
    for pull in pulls:
        weights = (_likeliest if is_class else _least_squares)(parts, masks, pull)
        weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
        weights /= weights.sum(axis=0)
        out = torch.empty_like(honest[0])
        for k, rows in enumerate(folds):
            out[rows] = mixture(is_class, [part[rows] for part in honest], weights[:, k])
        loss = float(losses(problem, out[judges], y[judges]).mean())
        tried.append((loss, weights[:, -1], out))
    _, best, out = min(tried, key=lambda one: one[0])
    return best, out


def _likeliest(P: Array, masks: Array, pull: float) -> Array:  # (n, K), (n, J) -> (K, J)
    """The weights of mixtures with the largest likelihood, for the rows that each mask picks."""
    rows = sample(len(P), MOST_ROWS)
    P, masks = P[rows], masks[rows]
    count = masks.sum(axis=0)
    weights = np.full((P.shape[1], masks.shape[1]), 1 / P.shape[1])
    for _ in range(STEPS):
        share = weights * (P.T @ (masks / np.maximum(P @ weights, 1e-30))) / count
        share[0] += pull
        before, weights = weights, share / (1 + pull)
        if np.abs(weights - before).max() < 1e-5:
            break
    return weights


def _least_squares(errors: Array, masks: Array, pull: float) -> Array:  # (n, T, K) -> (K, J)
    """Weights >= 0 of sum 1 whose mixtures have the smallest squared error, pulled to the first."""
    K, weights = errors.shape[-1], []
    for mask in masks.T:
        rows = errors[mask > 0].reshape(-1, K)
        gram = rows.T @ rows
        gram /= gram[0, 0] or 1.0
        gram += np.diag([1e-9] + [pull + 1e-9] * (K - 1))
        system = np.concatenate([np.linalg.cholesky(gram).T, np.full((1, K), 100.0)])
        solution, _ = nnls(system, np.append(np.zeros(K), 100.0))
        weights.append(solution / solution.sum())
    return np.stack(weights, axis=1)


def mixture(is_classes: bool, outs: Sequence[Tensor], weights: Array) -> Tensor:
    """Outputs mixed: probabilities of classes, as their logarithms, or numbers, or logits."""
    mixed = torch.zeros_like(outs[0], dtype=torch.float64)
    for out, weight in zip(outs, weights, strict=True):
        if weight > 0:
            mixed += float(weight) * (out.double().softmax(dim=1) if is_classes else out.double())
    return mixed.clamp(min=1e-12).log() if is_classes else mixed


def _judged(head: Head, problem: Problem, ridge: Head, start: float, judges: Array) -> Head:
    """The head with its losses, and the evidence of some labels against the closed form.

    Neither is kept for its loss alone. Trees need evidence; a blend must not be worse. The errors
    of numbers may have heavy tails, so that a blend of them needs some evidence too.
    """
    judged, rows = losses(problem, head.honest, problem.y[problem.judges]), torch.from_numpy(judges)
    (evidence,) = challenge(ridge.losses[rows], judged[rows].unsqueeze(0))
    most = RISK if head.name == "boosted" else 1.0 if problem.classes else AS_GOOD
    new, old = (problem.score(side.honest, problem.judges) for side in (head, ridge))
    is_shown = evidence.p <= most and evidence.gain > 0 and problem.is_as_good(new, old)
    is_shown, seconds = is_shown and len(head.weights) > 1, perf_counter() - start
    return replace(head, losses=judged, evidence=evidence, seconds=seconds, is_shown=is_shown)


def boosted_head(ladder: Ladder, best: Fitted, ridge: Head) -> Head:
    """Trees on the columns of the kept rung, mixed with its closed form.

    Trees do not see what the closed form says. Its leave-one-out predictions are a function of the
    label that is left out wherever rows are alike: trees would read the label out of them, and be
    5 points worse on test than they look (IMDB-MULTI). The mixture sees both.
    """
    start, problem = perf_counter(), ladder.problem
    table = Table.of(ladder, best)
    columns, rows = table.on(ladder.blocks), problem.train.numpy()
    out = np.empty((len(rows), problem.num_outputs))
    rounds: list[int] = []
    for fold in filter(len, folds_of(problem.train)):  # fewer than five labels have fewer folds
        others = np.setdiff1d(np.arange(len(rows)), fold)
        # Labels of the fold are in no column, as labels of the test set are in none.
        rest = Blocks.of(replace(problem, train=problem.train[others], val=problem.val[:0]))
        seen = table.on(ladder.blocks, rest)
        trees = Trees.grown(problem, seen, rows[others])
        rounds.append(trees.rounds)
        out[fold] = trees(seen[rows[fold]])
    trees = Trees.grown(problem, columns, rows, round(float(np.mean(rounds))))
    every = torch.from_numpy(trees(columns))
    honest = torch.cat([torch.from_numpy(out), every[problem.val]])
    judges = np.ones(len(honest), dtype=bool)
    weights, honest = mixed(problem, [ridge.honest, honest], (0.0,), judges)
    named = {best.rung.name: float(weights[0]), "trees": float(weights[1])}
    mixed_out = mixture(bool(problem.classes), [ridge.out, every], weights)
    boosted = Head("boosted", mixed_out, honest, named, trees=trees, table=table)
    return _judged(boosted, problem, ridge, start, judges)


@dataclass(frozen=True, eq=False)
class Table:
    """The columns that trees see."""

    words: tuple[Word, ...]
    reductions: tuple[Tensor | None, ...]  # (p, k) of each word; None: as it is

    @classmethod
    def of(cls, ladder: Ladder, best: Fitted) -> "Table":
        """The blocks of the kept rung, the structure of the graph, neighbours' means and labels."""
        problem = ladder.problem
        words = list(best.words)
        if problem.graph.num_edges:
            words += [Word(of="structure")]
            if problem.kind == "node":
                words += [Word((Letter.of("mean"),))]
                for presets in LABEL_PATHS.values():
                    words += [Word(tuple(Letter.of(name) for name in presets), of="labels")]
        seen = (replace(w, of="labels for trees") if w.of == "labels" else w for w in words)
        words = list(dict.fromkeys(seen))
        most, reductions = max(COLUMNS // len(words), 8), []
        for word in words:
            values, V = ladder.blocks.columns(word).float(), None
            if values.size(1) > most:  # the leading principal directions stand for all
                with torch.random.fork_rng(devices=[]):
                    torch.manual_seed(0)
                    _, _, V = torch.pca_lowrank(values, q=most, niter=2)
            reductions.append(V)
        return cls(tuple(words), tuple(reductions))

    def on(self, every: Blocks, labels: Blocks | None = None) -> Array:  # (items, p)
        """The columns of some nodes or graphs; ``labels`` of neighbours may come from others."""
        parts = []
        for word, V in zip(self.words, self.reductions, strict=True):
            source = labels if labels is not None and word.of.startswith("labels") else every
            values = source.columns(word).float()
            parts.append((values if V is None else values @ V).numpy())
        return np.concatenate(parts, axis=1)


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
        """Trees for the labels of some rows; ``rounds``: None stops early."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        rows = np.sort(rows)  # the same trees in whatever order the labels are
        if len(rows) > MOST_LABELS:
            rows = np.random.default_rng(0).choice(rows, MOST_LABELS, replace=False)
        trees_per_round = len(problem.classes) if len(problem.classes) > 2 else 1
        many = trees_per_round > 10
        options: dict[str, Any] = {
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
            y = problem.y[rows].numpy()
            keep = np.bincount(y)[y] > 1  # early stopping splits by class: two of each, or none
            seen = len(np.unique(y[keep]))
            if seen < 2:  # one class, and nodes that are one of a kind: nothing to stop by
                keep[:], options["early_stopping"] = True, False
            elif seen > options["validation_fraction"] * keep.sum():
                options["validation_fraction"] = seen  # one of each of many classes
            weight = problem.class_weight  # of each class, then of each row
            weight = None if weight is None else weight.numpy()[y[keep]]
            with threadpool_limits(1):  # of scikit-learn, which was imported just now
                model = HistGradientBoostingClassifier(**options).fit(x[keep], y[keep], weight)
            return cls((model,), len(problem.classes), model.n_iter_)
        kind = HistGradientBoostingRegressor
        with threadpool_limits(1):
            models = [kind(**options).fit(x, y) for y in problem.y[rows].double().numpy().T]
        return cls(tuple(models), 0, max(model.n_iter_ for model in models))

    def __call__(self, columns: Array) -> Array:  # (n, p) -> (n, C)
        """Logarithms of probabilities, or numbers."""
        if not self.num_classes:
            return np.stack([model.predict(columns) for model in self.models], axis=1)
        (model,) = self.models
        return log_probabilities(model.predict_proba(columns), model.classes_, self.num_classes)


def log_probabilities(seen: Array, classes: Array, num_classes: int) -> Array:  # (n, num_classes)
    """Logarithms of the probabilities of classes, of which trees have seen some."""
    probabilities = np.full((len(seen), num_classes), 1e-6)
    probabilities[:, classes] = np.clip(seen[:, : len(classes)], 1e-6, 1)
    return np.asarray(np.log(probabilities / probabilities.sum(axis=1, keepdims=True)))
