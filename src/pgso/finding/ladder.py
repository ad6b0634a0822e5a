"""The ladder: every rung fitted, then climbed from the simplest, on evidence only."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from pgso.evaluation.statistics import Evidence, challenge
from pgso.finding import learning
from pgso.finding.blocks import Blocks, Word
from pgso.finding.problem import Problem
from pgso.finding.ridge import Fit, choose_scales, fit, leave_one_out
from pgso.finding.rungs import FAMILIES, GCN, GIN, NO_GRAPH, Family, Rung
from pgso.finding.scores import (
    LEAST_GAIN,
    Readout,
    Said,
    evidence_of,
    folds_of,
    losses,
    pooled,
    said,
    score,
    temperature,
)

MANY_LABELS = 1000  # from which on decompositions are long enough to be shared by threads
MOST_NUMBERS = 400_000_000  # that are kept for rungs to come: 1.5 GiB
FEW_CLASSES = 10  # up to which the squared error and the log loss want the same penalty
AS_GOOD = 0.16  # one standard error: the simplest rung that is not further from the best is taken
RESAMPLES, GROUPS = 500, 2048  # of the labels, which are drawn in so many groups at most
RISK = 0.05  # of a wrong climb, shared among the steps:
TO_OWN = {"node": 0.015, "graph": 0.02}  # and 0.005 for each family that extends the kept rung, of
TO_OTHERS = {"node": 0.02, "graph": 0.025}  # which graph tasks have one and node tasks three


@dataclass(eq=False)
class Fitted:
    """A rung with its fit and what its labels say."""

    rung: Rung
    words: tuple[Word, ...]  # words whose scale is 0 are left out
    fit: Fit
    readout: Readout
    said: Said  # of every label that may judge, leave-one-out for train
    loo: float | None  # scores
    val: float | None
    test: float | None
    seconds: float = 0.0
    evidence: Evidence | None = None  # against the rung that was the incumbent

    @property
    def losses(self) -> Tensor:  # (train + val,)
        """Of every label that may judge."""
        return self.said.losses

    @property
    def terms(self) -> tuple[str, ...]:
        """The operators with weights of their own, as ``BankConv`` names them."""
        of_x = [word for word in self.words if word.of == "x"]
        names = [[letter.term for letter in word.letters] or ["self"] for word in of_x]
        return tuple(dict.fromkeys(name for word in names for name in word)) or ("self",)

    def pooled(self, problem: Problem, without: Tensor | None = None) -> float | None:
        """The score on all labels that judge; ``without`` some training labels, by place."""
        if without is None:
            return pooled(problem, self.loo, self.val)
        judges = torch.ones(len(problem.train), dtype=torch.bool)
        judges[without] = False
        out, y = self.readout(self.fit.loo[judges]), problem.y[problem.train[judges]]
        loo = score(problem.objective, out, y)
        return pooled(problem, loo, self.val, num_train=len(y))


@dataclass(eq=False)
class Ladder:
    """All rungs of a problem, and the one that is kept."""

    problem: Problem
    tell: Callable[[str], None] = lambda name: None
    fitted: dict[str, Fitted] = field(default_factory=dict)
    same_as: dict[str, str] = field(default_factory=dict)  # rungs that turned out to be another one
    steps: list[str] = field(default_factory=list)  # the incumbents, in order

    def __post_init__(self) -> None:
        self.blocks = Blocks(self.problem)
        self._incumbent: Fitted | None = None

    @property
    def incumbent(self) -> Fitted:
        """The rung that is kept, once there is one."""
        assert self._incumbent is not None
        return self._incumbent

    @cached_property
    def learning_rows(self) -> Tensor:
        """Half of the training labels at most; the others, and validation, judge."""
        count = min(learning.ROWS, len(self.problem.train) // 2)
        generator = torch.Generator().manual_seed(1)
        return torch.randperm(len(self.problem.train), generator=generator)[:count]

    def climb(self) -> Fitted:
        """Fit every rung, and climb."""
        families = sorted(FAMILIES.values(), key=lambda family: family.rank)
        kind = self.problem.kind
        with threads_for(self.problem):
            for family in families:
                if not family.learns:
                    self._add(family)
            self.steps.append(NO_GRAPH)
            own = (GCN, GIN) if kind == "graph" else (GCN,)
            references = [self.fitted[name] for name in own if name in self.fitted]
            kept = self._step(self.fitted[NO_GRAPH], references, TO_OWN[kind])
            least = kept.rung.complexity
            more = [f for f in self.fitted.values() if f.rung.complexity >= least and f is not kept]
            self._incumbent = kept = self._step(kept, more, TO_OTHERS[kind])
            for family in families:
                if family.learns:
                    before = set(self.fitted)
                    self._add(family)
                    more = [self.fitted[name] for name in self.fitted if name not in before]
                    learned = any(f.rung.family == "learned" for f in more)
                    without = self.learning_rows if learned else None
                    self._incumbent = kept = self._step(kept, more, family.risk, without)
            if not (self._beats_no_graph(kept) and self._needs_its_graph(kept)):
                self.steps.append(NO_GRAPH)
                self._incumbent = self.fitted[NO_GRAPH]
        return self.incumbent

    def _beats_no_graph(self, kept: Fitted) -> bool:
        """Whether a rung beats its nodes alone where each has the penalty that suits its log loss.

        The squared error chooses penalties, and with many classes the log loss wants smaller ones.
        A further block of noise may then move the penalty to the better side, which is no merit of
        the block. The rung was the best of many, which share the risk.
        """
        problem = self.problem
        if kept.rung.name == NO_GRAPH or len(problem.classes) <= FEW_CLASSES:
            return True

        def at_best(rung: Fitted) -> Tensor:  # (l,)
            """The calibrated leave-one-out losses with the penalty that suits them best."""
            blocks, tried = [self.blocks.block(word) for word in rung.words], []
            for loo in leave_one_out(blocks, problem.Y, rung.fit.scales):
                readout = Readout.of(problem, temperature(problem, loo))
                tried.append(losses(problem, readout(loo), problem.y[problem.train]))
            return min(tried, key=lambda each: float(each.mean()))

        with torch.no_grad():
            alone, own = at_best(self.fitted[NO_GRAPH]), at_best(kept)
        (evidence,) = challenge(alone, own.unsqueeze(0))
        risk = RISK / len(self.fitted)
        return evidence.p <= risk and evidence.gain > LEAST_GAIN * float(alone.mean())

    def _needs_its_graph(self, kept: Fitted) -> bool:
        """Whether a rung beats itself on the same graph with its nodes relabelled at random.

        Averaging over strangers calms an overconfident fit, and less shrinkage looks like a gain.
        Neither needs this graph. Where a random one does as well, the graph says nothing.
        """
        if kept.rung.name == NO_GRAPH or self.problem.kind == "graph":
            return True  # the nodes of a graph that is classified keep its size and its degrees
        with torch.no_grad():
            blocks = Blocks(self.problem.relabelled())
            stranger = self._judged(kept.rung, blocks, *self._chosen(blocks, kept.words))
        (evidence,) = evidence_of(self.problem, stranger.said, [kept.said])
        return evidence.p <= RISK and evidence.gain > 0

    def direction_matters(self, kept: Fitted) -> bool:
        """Whether a rung with directions beats the best one that ignores them."""

        def has_ways(fitted: Fitted) -> bool:
            edges = {letter.edges for word in fitted.words for letter in word.letters}
            return bool(edges & {"in", "out"})

        if not has_ways(kept):
            return False
        without = [fitted for fitted in self.fitted.values() if not has_ways(fitted)]
        twin = min(without, key=lambda fitted: float(fitted.losses.mean()))
        (evidence,) = evidence_of(self.problem, twin.said, [kept.said])
        return evidence.p <= RISK

    def family_shares(self) -> dict[str, float]:
        """How often each family is chosen where the labels that judge are drawn again.

        In every resample the simplest rung within one standard error of the best is chosen. Labels
        that S was learned on are left out where an S was learned.
        """
        rungs = sorted(self.fitted.values(), key=lambda fitted: fitted.rung.complexity)
        judges = torch.ones(len(rungs[0].losses), dtype=torch.bool)
        if any(fitted.rung.family == "learned" for fitted in rungs):
            judges[self.learning_rows] = False
        losses = torch.stack([fitted.losses[judges] for fitted in rungs]).double()  # (R, n)
        centred = losses - losses.mean(dim=1, keepdim=True)
        squares = centred.square().sum(dim=1)
        variance = squares.unsqueeze(1) + squares - 2 * centred @ centred.t()
        error = variance.clamp(min=0).sqrt() / losses.size(1)  # (R, R) of a difference of means
        generator = torch.Generator().manual_seed(0)
        part = torch.randperm(losses.size(1), generator=generator) % GROUPS
        sums = losses.new_zeros(len(rungs), GROUPS).index_add_(1, part, losses)
        counts = torch.bincount(part, minlength=GROUPS).double()
        draws = torch.poisson(torch.ones(GROUPS, RESAMPLES, dtype=torch.float64), generator)
        means = sums @ draws / (counts @ draws).clamp(min=1)  # (R, resamples)
        best = means.argmin(dim=0)
        as_good = means - means.gather(0, best.unsqueeze(0)) <= error[:, best]
        chosen = as_good.byte().argmax(dim=0)  # the first, which is the simplest
        shares = Counter(rungs[k].rung.family for k in chosen.tolist())
        return {name: count / RESAMPLES for name, count in shares.most_common()}

    def _add(self, family: Family) -> None:
        for rung in family.rungs(self):
            with torch.no_grad():
                self.add(rung)
            if rung.family == "learned" or self.blocks.numbers_kept > MOST_NUMBERS:
                self.blocks.forget()  # nothing else shares what a learned S computes

    def loss(self, name: str) -> float:
        """The leave-one-out error of a rung. A rung that equals another one has its error."""
        name = self.same_as.get(name, name)
        return self.fitted[name].fit.loss if name in self.fitted else math.inf

    def add(self, rung: Rung) -> Fitted:
        """Fit a rung, unless its blocks are equal to the blocks of a rung that was fitted."""
        start = perf_counter()
        self.tell(rung.name)
        words, shares = self._chosen(self.blocks, rung.words)
        for other in self.fitted.values():
            if other.words == words:
                self.same_as[rung.name] = other.rung.name
                return other
        self.fitted[rung.name] = fitted = self._judged(rung, self.blocks, words, shares)
        fitted.seconds = perf_counter() - start
        return fitted

    def _chosen(
        self, blocks: Blocks, words: Sequence[Word]
    ) -> tuple[tuple[Word, ...], tuple[float, ...]]:
        """The words that are of use, and the scale of each."""
        made = [blocks.block(word) for word in words]
        is_full = [bool(block.features.any()) for block in made]
        if any(is_full):  # blocks of zeros say nothing
            words = [word for word, full in zip(words, is_full, strict=True) if full]
            made = [block for block, full in zip(made, is_full, strict=True) if full]
        shares = choose_scales(made, self.problem.Y)
        used = [(word, share) for word, share in zip(words, shares, strict=True) if share > 0]
        return tuple(word for word, _ in used), tuple(share for _, share in used)

    def predict(self, best: Fitted) -> Tensor:  # (items, C)
        """Logits or numbers of every node or graph."""
        return best.readout(self.blocks.predict(best.words, best.fit))

    def _judged(
        self, rung: Rung, blocks: Blocks, words: tuple[Word, ...], shares: Sequence[float]
    ) -> Fitted:
        """The fit on some words, with its calibration, its losses and its scores."""
        problem = self.problem
        ridge = fit([blocks.block(word) for word in words], problem.Y, shares)
        readout = Readout.of(problem, temperature(problem, ridge.loo))
        out, loo = readout(blocks.predict(words, ridge)), readout(ridge.loo)
        val, test = out[problem.val], out[problem.test]
        y, objective = problem.y, problem.objective
        return Fitted(
            rung=rung,
            words=words,
            fit=ridge,
            readout=readout,
            said=said(problem, loo, val),
            loo=score(objective, loo, y[problem.train]),
            val=score(objective, val, y[problem.val]),
            test=score(objective, test, y[problem.test]),
        )

    def _step(
        self,
        incumbent: Fitted,
        challengers: Sequence[Fitted],
        risk: float,
        without: Tensor | None = None,
    ) -> Fitted:
        """The incumbent, or the simplest of the challengers that are as good as the best one."""
        judges = torch.ones(len(incumbent.losses), dtype=torch.bool)
        if without is not None:
            judges[without] = False
        if not challengers:
            return incumbent
        sides = [challenger.said for challenger in challengers]
        evidences = evidence_of(self.problem, incumbent.said, sides, judges)
        for challenger, evidence in zip(challengers, evidences, strict=True):
            challenger.evidence = evidence
        least = LEAST_GAIN * float(incumbent.losses[judges].mean())
        better = [
            challenger
            for challenger, evidence in zip(challengers, evidences, strict=True)
            if evidence.p <= risk
            and evidence.gain > least
            and self._scores_higher(challenger, incumbent, without)
        ]
        if not better:
            return incumbent
        by_loss = sorted(better, key=lambda challenger: float(challenger.losses[judges].mean()))
        best = by_loss[0]
        for candidate in sorted(by_loss, key=lambda challenger: challenger.rung.complexity):
            (evidence,) = evidence_of(self.problem, candidate.said, [best.said], judges)
            if evidence.p > AS_GOOD or candidate is best:
                if not self._holds(candidate, incumbent, risk):
                    return incumbent
                self.steps.append(candidate.rung.name)
                return candidate
        raise AssertionError("the best one is as good as itself")

    def _holds(self, candidate: Fitted, incumbent: Fitted, risk: float) -> bool:
        """Whether a rung with labels of neighbours is better where whole folds are left out.

        A label is a column of its neighbours, whose rows fit the weights that predict it: leaving
        out its row alone leaves it there. From here on the rung has the predictions of the folds.
        """
        if not any(word.is_of_labels for word in candidate.words):
            return True
        problem, loo = self.problem, candidate.fit.loo.clone()
        for rows in folds_of(problem.train):
            others = np.setdiff1d(np.arange(len(loo)), rows)
            rest = replace(problem, train=problem.train[others], val=problem.val[:0])
            blocks = Blocks(rest)
            made = [blocks.block(word) for word in candidate.words]
            ridge = fit(made, rest.Y, candidate.fit.scales)
            out = blocks.predict(candidate.words, ridge)[problem.train[rows]].double()
            if rest.scale is not None and problem.scale is not None:
                out = problem.scale.encode(rest.scale.decode(out))
            loo[rows] = out
        out, y = candidate.readout(loo), problem.y[problem.train]
        candidate.fit = replace(candidate.fit, loo=loo)
        every = torch.cat([out, self.predict(candidate)[problem.val]])
        judged = losses(problem, every, problem.y[problem.judges])
        candidate.said = Said(judged, None if problem.classes else every)
        candidate.loo = score(problem.objective, out, y)
        (evidence,) = evidence_of(problem, incumbent.said, [candidate.said])
        candidate.evidence = evidence
        is_higher = self._scores_higher(candidate, incumbent, None)
        return evidence.p <= risk and evidence.gain > 0 and is_higher

    def _scores_higher(self, challenger: Fitted, incumbent: Fitted, without: Tensor | None) -> bool:
        """Evidence is about losses. A rung whose score is worse is not kept for its loss."""
        new, old = (rung.pooled(self.problem, without) for rung in (challenger, incumbent))
        merit = self.problem.objective.merit
        return new is None or old is None or merit(new) >= merit(old)


@contextmanager
def threads_for(problem: Problem) -> Iterator[None]:
    """How many threads a problem gets: a small one gets one.

    On a busy machine two threads took 15 times as long as one on Cora.
    """
    if len(problem.train) >= MANY_LABELS:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
