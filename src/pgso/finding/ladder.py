"""The ladder: every rung fitted, then climbed from the simplest, on evidence only."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from pgso.evaluation.statistics import Evidence, challenge
from pgso.finding import learning
from pgso.finding.blocks import Blocks, Word
from pgso.finding.problem import LEAST_GAIN, Problem, Readout, Said, evidence_of, folds_of, losses
from pgso.finding.ridge import PENALTIES, Fit, choose_scales, decomposed, fit, shares_of
from pgso.finding.rungs import FAMILIES, GCN, GIN, NO_GRAPH, Rung

MOST_NUMBERS = 400_000_000  # that are kept for rungs to come: 1.5 GiB
FEW_CLASSES = 10  # up to which the squared error and the log loss want the same penalty
AS_GOOD = 0.16  # one standard error: the simplest rung that is not further from the best is taken
RESAMPLES, GROUPS = 500, 2048  # of the labels, which are drawn in so many groups at most
RISK = 0.05  # of a wrong climb, shared among the steps:
TO_OWN = {"node": 0.015, "graph": 0.02}  # and 0.005 for each family that extends the kept rung, of
TO_OTHERS = {"node": 0.02, "graph": 0.025}  # which graph tasks have one and node tasks three


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread: two gain a sixth on Chameleon, and take 15 times as long on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


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
    by_folds: bool = False  # whether whole folds were left out, and not single labels

    @property
    def is_doubted(self) -> bool:
        """Whether labels of neighbours are among its columns, and only its own was left out."""
        return not self.by_folds and any(word.of.startswith("labels") for word in self.words)


class Ladder:
    """All rungs of a problem, and the one that is kept."""

    incumbent: Fitted  # the rung that is kept, once there is one

    def __init__(self, problem: Problem, tell: Callable[[str], None] = lambda name: None) -> None:
        self.problem, self.tell, self.blocks = problem, tell, Blocks.of(problem)
        self.fitted: dict[str, Fitted] = {}
        self.same_as: dict[str, str] = {}  # rungs that turned out to be another one
        self.steps: list[str] = []  # the incumbents, in order

    @cached_property
    def learning_rows(self) -> Tensor:
        """Half of the training labels at most; the others, and validation, judge."""
        count = min(learning.ROWS, len(self.problem.train) // 2)
        generator = torch.Generator().manual_seed(1)
        return torch.randperm(len(self.problem.train), generator=generator)[:count]

    @one_thread()
    def climb(self) -> Fitted:
        """Fit every rung, and climb."""
        kind, families = self.problem.kind, sorted(FAMILIES.values(), key=lambda each: each.rank)
        for family in families:
            if not family.learns:
                self.add(family.rungs(self))
        self.steps.append(NO_GRAPH)
        own = (GCN, GIN) if kind == "graph" else (GCN,)
        references = [self.fitted[name] for name in own if name in self.fitted]
        kept = self._step(self.fitted[NO_GRAPH], references, TO_OWN[kind])
        least = kept.rung.complexity
        more = [f for f in self.fitted.values() if f.rung.complexity >= least and f is not kept]
        self.incumbent = kept = self._step(kept, more, TO_OTHERS[kind])
        for family in families:
            if family.learns:
                before = set(self.fitted)
                self.add(family.rungs(self))
                more = [self.fitted[name] for name in self.fitted if name not in before]
                has_learned = any(fitted.rung.family == "learned" for fitted in more)
                without = self.learning_rows if has_learned else None
                self.incumbent = kept = self._step(kept, more, family.risk, without)
        if kept.rung.name != NO_GRAPH:
            is_better = len(self.problem.classes) <= FEW_CLASSES or self._beats_no_graph(kept)
            # The nodes of a graph that is classified keep its size and its degrees.
            if not is_better or (kind == "node" and not self._needs_its_graph(kept)):
                self.steps.append(NO_GRAPH)
                self.incumbent = self.fitted[NO_GRAPH]
        return self.incumbent

    def _beats_no_graph(self, kept: Fitted) -> bool:
        """Whether a rung beats its nodes alone where each has the penalty that suits its log loss.

        The squared error chooses penalties, and with many classes the log loss wants smaller ones:
        a block of noise may move the penalty to the better side. The best of many share the risk.
        """
        problem = self.problem

        def at_best(rung: Fitted) -> Tensor:  # (l,)
            """The calibrated leave-one-out losses with the penalty that suits them best."""
            blocks, tried = [self.blocks.block(word) for word in rung.words], []
            spectrum, _ = decomposed(blocks, shares_of(rung.fit.scales), problem.Y)
            for penalty in PENALTIES[::3]:
                loo = spectrum.leave_one_out(problem.Y, penalty)
                readout = Readout.of(problem, loo)
                tried.append(losses(problem, readout(loo), problem.y[problem.train]))
            return min(tried, key=lambda each: float(each.mean()))

        with torch.no_grad():
            alone, own = at_best(self.fitted[NO_GRAPH]), at_best(kept)
        (evidence,) = challenge(alone, own.unsqueeze(0))
        risk = RISK / len(self.fitted)
        return evidence.p <= risk and evidence.gain > LEAST_GAIN * float(alone.mean())

    def _needs_its_graph(self, kept: Fitted) -> bool:
        """Whether a rung beats itself on the same graph with its nodes relabelled at random.

        Averaging over strangers calms an overconfident fit, which needs no graph of its own.
        """
        with torch.no_grad():
            blocks = Blocks.of(self.problem.relabelled())
            stranger = self._fitted(replace(kept.rung, words=kept.words), blocks)
        (evidence,) = evidence_of(self.problem, stranger.said, [kept.said])
        return evidence.p <= RISK and evidence.gain > 0

    def direction_matters(self, kept: Fitted) -> bool:
        """Whether a rung with directions beats the best one that ignores them."""
        without = []
        for fitted in self.fitted.values():
            edges = {letter.edges for word in fitted.words for letter in word.letters}
            without += [] if edges & {"in", "out"} else [fitted]
        if kept in without:
            return False
        twin = min(without, key=lambda fitted: float(fitted.said.losses.mean()))
        (evidence,) = evidence_of(self.problem, twin.said, [kept.said])
        return evidence.p <= RISK

    def family_shares(self, kept: Fitted) -> dict[str, float]:
        """How often each family is chosen where the labels that judge are drawn again.

        In every resample the simplest rung within one standard error of the best is chosen, by
        labels that no S was learned on. A rung with labels of neighbours that looks better than the
        kept one is judged where whole folds are left out.
        """
        rungs = sorted(self.fitted.values(), key=lambda fitted: fitted.rung.complexity)
        for k, fitted in enumerate(rungs):
            if fitted.is_doubted and fitted.said.losses.mean() < kept.said.losses.mean():
                rungs[k] = self._by_folds(fitted)
        judges = torch.ones(len(rungs[0].said.losses), dtype=torch.bool)
        if any(fitted.rung.family == "learned" for fitted in rungs):
            judges[self.learning_rows] = False
        losses = torch.stack([fitted.said.losses[judges] for fitted in rungs]).double()  # (R, n)
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

    def loss(self, name: str) -> float:
        """The leave-one-out error of a rung. A rung that equals another one has its error."""
        name = self.same_as.get(name, name)
        return self.fitted[name].fit.loss if name in self.fitted else math.inf

    def add(self, rungs: Iterable[Rung]) -> None:
        """Fit rungs, unless their blocks are equal to the blocks of a rung that was fitted."""
        for rung in rungs:
            start = perf_counter()
            self.tell(rung.name)
            with torch.no_grad():
                fitted = self._fitted(rung, self.blocks, self.fitted.values())
            if fitted.rung is not rung:
                self.same_as[rung.name] = fitted.rung.name
            else:
                self.fitted[rung.name] = fitted
                fitted.seconds = perf_counter() - start
            # Nothing else shares what a learned S computes.
            self.blocks.forget(0 if rung.family == "learned" else MOST_NUMBERS)

    def _fitted(self, rung: Rung, blocks: Blocks, others: Iterable[Fitted] = ()) -> Fitted:
        """The fit of a rung, calibrated and scored; or another one that has the same blocks."""
        problem = self.problem
        made = {word: blocks.block(word) for word in rung.words}
        # Blocks of zeros say nothing.
        full = {word: block for word, block in made.items() if block.features.any()} or made
        shares = choose_scales(list(full.values()), problem.Y)
        scales = {word: share for word, share in zip(full, shares, strict=True) if share > 0}
        words = tuple(scales)
        for other in others:
            if other.words == words:
                return other
        ridge = fit([blocks.block(word) for word in words], problem.Y, list(scales.values()))
        readout = Readout.of(problem, ridge.loo)
        out = readout(blocks.predict(words, ridge.weights, ridge.intercept))
        loo, val = readout(ridge.loo), out[problem.val]
        return Fitted(
            rung=rung,
            words=words,
            fit=ridge,
            readout=readout,
            said=Said.of(problem, loo, val),
            loo=problem.score(loo, problem.train),
            val=problem.score(val, problem.val),
            test=problem.score(out[problem.test], problem.test),
        )

    def predict(self, best: Fitted) -> Tensor:  # (items, C)
        """Logits or numbers of every node or graph."""
        return best.readout(self.blocks.predict(best.words, best.fit.weights, best.fit.intercept))

    def _step(
        self,
        incumbent: Fitted,
        challengers: Sequence[Fitted],
        risk: float,
        without: Tensor | None = None,
    ) -> Fitted:
        """The incumbent, or the simplest of the challengers that are as good as the best one."""
        if not challengers:
            return incumbent
        judges = torch.ones(len(incumbent.said.losses), dtype=torch.bool)
        if without is not None:
            judges[without] = False
        least, better = LEAST_GAIN * float(incumbent.said.losses[judges].mean()), []
        evidences = evidence_of(self.problem, incumbent.said, [c.said for c in challengers], judges)
        for challenger, evidence in zip(challengers, evidences, strict=True):
            challenger.evidence = evidence
            is_better = evidence.p <= risk and evidence.gain > least
            if is_better and self._scores_higher(challenger, incumbent, without):
                better.append(challenger)
        if not better:
            return incumbent
        better.sort(key=lambda challenger: float(challenger.said.losses[judges].mean()))
        best = better[0]  # and of equally simple ones the better one comes first
        for candidate in sorted(better, key=lambda challenger: challenger.rung.complexity):
            (evidence,) = evidence_of(self.problem, candidate.said, [best.said], judges)
            if evidence.p > AS_GOOD or candidate is best:
                break
        if candidate.is_doubted:
            candidate = self.fitted[candidate.rung.name] = self._by_folds(candidate)
            (evidence,) = evidence_of(self.problem, incumbent.said, [candidate.said])
            candidate.evidence = evidence
            is_better = evidence.p <= risk and evidence.gain > 0
            if not (is_better and self._scores_higher(candidate, incumbent, None)):
                return incumbent
        self.steps.append(candidate.rung.name)
        return candidate

    def _by_folds(self, fitted: Fitted) -> Fitted:
        """A rung with predictions of whole folds in the place of those of single labels.

        A label is a column of its neighbours, whose rows fit the weights that predict it.
        """
        problem, loo = self.problem, fitted.fit.loo.clone()
        for rows in folds_of(problem.train):
            others = np.setdiff1d(np.arange(len(loo)), rows)
            rest = replace(problem, train=problem.train[others], val=problem.val[:0])
            blocks = Blocks.of(rest)
            made = [blocks.block(word) for word in fitted.words]
            ridge = fit(made, rest.Y, fitted.fit.scales)
            out = blocks.predict(fitted.words, ridge.weights, ridge.intercept)
            out = out[problem.train[rows]].double()
            if rest.scale is not None and problem.scale is not None:
                out = problem.scale.encode(rest.scale.decode(out))
            loo[rows] = out
        out, own = fitted.readout(loo), replace(fitted.fit, loo=loo)
        every = torch.cat([out, self.predict(fitted)[problem.val]])
        judged = losses(problem, every, problem.y[problem.judges])
        said = Said(judged, None if problem.classes else every)
        score = problem.score(out, problem.train)
        return replace(fitted, fit=own, said=said, loo=score, by_folds=True)

    def _scores_higher(self, challenger: Fitted, incumbent: Fitted, without: Tensor | None) -> bool:
        """Evidence is about losses. A rung whose score is worse is not kept for its loss."""
        problem, scores = self.problem, list[float | None]()
        for rung in (challenger, incumbent):
            loo, judges = rung.loo, torch.ones(len(problem.train), dtype=torch.bool)
            if without is not None:  # training labels that do not judge
                judges[without] = False
                loo = problem.score(rung.readout(rung.fit.loo[judges]), problem.train[judges])
            scores.append(problem.pooled(loo, rung.val, num_train=int(judges.sum())))
        return problem.is_as_good(*scores)
