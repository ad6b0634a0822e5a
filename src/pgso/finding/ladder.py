"""The ladder: every rung fitted, then climbed from the simplest, on evidence only."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import torch
from torch import Tensor

from pgso.finding import learning
from pgso.finding.blocks import Blocks, Word
from pgso.finding.evidence import Evidence, compare
from pgso.finding.problem import Problem
from pgso.finding.ridge import Block, Fit, choose_scales, fit
from pgso.finding.rungs import FAMILIES, Rung
from pgso.finding.rungs.no_graph import NO_GRAPH
from pgso.finding.rungs.own import GCN, GIN
from pgso.finding.scores import Readout, losses, score, temperature
from pgso.finding.threads import threads_for

MOST_NUMBERS = 400_000_000  # that are kept for rungs to come: 1.5 GiB
RISK = 0.05  # of a wrong climb, shared among the three steps:
AS_GOOD = 0.16  # one standard error: the simplest rung that is not further from the best is taken
TO_OWN, TO_OTHERS, TO_LEARNED = 0.02, 0.025, 0.005


@dataclass(eq=False)
class Fitted:
    """A rung with its fit and what its labels say."""

    rung: Rung
    words: tuple[Word, ...]  # without those whose scale is 0
    fit: Fit
    readout: Readout
    losses: Tensor  # (train + val,) of every label that may judge, leave-one-out for train
    loo: float | None  # scores
    val: float | None
    test: float | None
    seconds: float
    evidence: Evidence | None = None  # against the rung that was the incumbent

    @property
    def terms(self) -> tuple[str, ...]:
        """The operators with weights of their own, as ``BankConv`` names them."""
        found = [word.letters[0].term if word.letters else "self" for word in self.words]
        return tuple(dict.fromkeys(found))

    def pooled(self, problem: Problem) -> float | None:
        """The score on all labels that judge: the mean of both parts, weighted by their sizes."""
        parts = [(self.loo, len(problem.train)), (self.val, len(problem.val))]
        known = [(score, size) for score, size in parts if score is not None]
        if not known:
            return None
        return sum(score * size for score, size in known) / sum(size for _, size in known)


@dataclass(eq=False)
class Ladder:
    """All rungs of a problem, and the one that is kept."""

    problem: Problem
    tell: Callable[[str], None] = lambda name: None
    fitted: dict[str, Fitted] = field(default_factory=dict)
    same_as: dict[str, str] = field(default_factory=dict)  # rungs that turned out to be another one
    steps: list[str] = field(default_factory=list)  # the incumbents, in order

    def __post_init__(self) -> None:
        self.blocks = Blocks.of(self.problem)

    def climb(self) -> Fitted:
        """Fit every rung, and climb."""
        with threads_for(self.problem):
            return self._climb()

    def _climb(self) -> Fitted:
        with torch.no_grad():
            for family in sorted(FAMILIES.values(), key=lambda family: family.rank):
                for rung in family.rungs(self):
                    self.add(rung)
                    if self.blocks.numbers_kept > MOST_NUMBERS:
                        self.blocks.forget()
        incumbent = self.fitted[NO_GRAPH]
        self.steps.append(NO_GRAPH)
        references = [self.fitted[name] for name in (GCN, GIN) if name in self.fitted]
        if self.problem.kind == "node":
            references = references[:1]
        incumbent = self._step(incumbent, references, TO_OWN)
        more = [f for f in self.fitted.values() if self._may_challenge(f, incumbent)]
        incumbent = self._step(incumbent, more, TO_OTHERS)
        learned = self._learn(incumbent)
        if learned is not None:
            rows, challenger = learned
            incumbent = self._step(incumbent, [challenger], TO_LEARNED, without=rows)
        return incumbent

    def loss(self, name: str) -> float:
        """The leave-one-out error of a rung; of one that turned out to be another, the other's."""
        name = self.same_as.get(name, name)
        return self.fitted[name].fit.loss if name in self.fitted else math.inf

    def add(self, rung: Rung) -> Fitted:
        """Fit a rung, unless its blocks turn out to be those of one that is there."""
        start = perf_counter()
        self.tell(rung.name)
        blocks = [self.blocks.block(word) for word in rung.words]
        shares = choose_scales(blocks, self.problem.targets)
        kept = [b for b, share in enumerate(shares) if share > 0]
        words = tuple(rung.words[b] for b in kept)
        for other in self.fitted.values():
            if other.words == words:
                self.same_as[rung.name] = other.rung.name
                return other
        self.fitted[rung.name] = self._fit(
            rung, words, [blocks[b] for b in kept], [shares[b] for b in kept], start
        )
        return self.fitted[rung.name]

    def predict(self, best: Fitted) -> Tensor:  # (items, C)
        """Logits or numbers of every node or graph."""
        return best.readout(self.blocks.predict(best.words, best.fit))

    def _fit(
        self,
        rung: Rung,
        words: tuple[Word, ...],
        blocks: Sequence[Block],
        shares: Sequence[float],
        start: float,
    ) -> Fitted:
        problem = self.problem
        found = fit(blocks, problem.targets, shares)
        y, objective = problem.y, problem.objective
        readout = Readout.of(problem, temperature(problem, found.loo))
        out = readout(self.blocks.predict(words, found))
        train = readout(found.loo), y[problem.train]
        val, test = ((out[part], y[part]) for part in (problem.val, problem.test))
        return Fitted(
            rung=rung,
            words=words,
            fit=found,
            readout=readout,
            losses=losses(problem, [train, val]),
            loo=score(objective, *train),
            val=score(objective, *val),
            test=score(objective, *test),
            seconds=perf_counter() - start,
        )

    def _may_challenge(self, challenger: Fitted, incumbent: Fitted) -> bool:
        return challenger is not incumbent and (
            challenger.rung.complexity >= incumbent.rung.complexity
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
        rows = torch.stack([challenger.losses[judges] for challenger in challengers])
        found = compare(incumbent.losses[judges], rows)
        for challenger, evidence in zip(challengers, found, strict=True):
            challenger.evidence = evidence
        better = [
            challenger
            for challenger, evidence in zip(challengers, found, strict=True)
            if evidence.p <= risk and _scores_higher(challenger, incumbent, self.problem)
        ]
        if not better:
            return incumbent
        by_loss = sorted(better, key=lambda challenger: float(challenger.losses[judges].mean()))
        best = by_loss[0]
        for candidate in sorted(by_loss, key=lambda challenger: challenger.rung.complexity):
            (evidence,) = compare(candidate.losses[judges], best.losses[judges].unsqueeze(0))
            if evidence.p > AS_GOOD or candidate is best:
                self.steps.append(candidate.rung.name)
                return candidate
        raise AssertionError("the best one is as good as itself")

    def _learn(self, start: Fitted) -> tuple[Tensor, Fitted] | None:
        """The incumbent with a learned S, and the labels it was learned on."""
        problem = self.problem
        letters = {letter.S for word in start.words for letter in word.letters}
        if problem.kind != "node" or len(letters) != 1 or len(problem.train) < learning.FEWEST:
            return None
        begin = perf_counter()
        count = min(learning.ROWS, len(problem.train) // 2)
        generator = torch.Generator().manual_seed(1)
        rows = torch.randperm(len(problem.train), generator=generator)[:count]
        name = f"{start.rung.name}, S learned"
        self.tell(name)
        S = learning.learn(problem, start.words, start.fit, rows)
        words = learning.with_S(start.words, S)
        rung = Rung(name, "learned", words, complexity=start.rung.complexity + 1)
        with torch.no_grad():
            self.blocks.forget()
            blocks = [self.blocks.block(word) for word in words]
            shares = choose_scales(blocks, problem.targets)
            shares = tuple(max(share, 1e-6) for share in shares)
            self.fitted[name] = self._fit(rung, words, blocks, shares, begin)
        return rows, self.fitted[name]


def _scores_higher(challenger: Fitted, incumbent: Fitted, problem: Problem) -> bool:
    """Evidence is about losses. A rung whose score is worse is not kept for its loss."""
    new, old = challenger.pooled(problem), incumbent.pooled(problem)
    merit = problem.objective.merit
    return new is None or old is None or merit(new) >= merit(old)
