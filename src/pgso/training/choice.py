"""Fixed or learned? Several trainings of one spec, and the one that validation says to keep."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor

from pgso.data import DATASETS, Task
from pgso.data.dataset import is_table
from pgso.errors import InputError
from pgso.evaluation.statistics import confidence_in_gain
from pgso.finding.advice import network_of
from pgso.finding.finding import check_problem, rung_record
from pgso.finding.ladder import Ladder
from pgso.finding.problem import Problem
from pgso.records import RunRecord, RunSpec
from pgso.records.suggestions import PROPOSES
from pgso.training.session import Session, take_best


class Candidate(NamedTuple):
    """A rung, and what its network changes in a spec."""

    rung: str
    changes: dict[str, Any]
    operator: str  # how its network is trained: fixed, or learned from where the rung has S
    closed_form: tuple[float | None, float | None] | None = None  # its own scores: val and test


def candidates_of(spec: RunSpec, task: Task) -> list[Candidate]:
    """The kept rung's network first, then the networks of other rungs by leave-one-out loss.

    Validation labels take no part: they judge the networks. Only on a user's own data, ``found``
    is what :func:`pgso.find` keeps with all labels, with a layer for each of its hops.

    Only GCNs become banks or change the edges that they see; other architectures take the operator
    of rungs that have one. There are no candidates where ``find`` has no answer: links, several
    labels, and terms that were asked for.

    Args:
        spec: Whose network is changed.
        task: Its data.
    """
    if spec.conv not in PROPOSES or spec.terms is not None:
        return []
    is_find = spec.operator == "found" and spec.dataset not in DATASETS
    try:
        problem = Problem.of(task if is_find else replace(task, val=task.val[:0]))
        check_problem(problem)
    except InputError:
        return []
    ladder = Ladder(problem)
    best = ladder.climb()
    others = sorted(ladder.fitted.values(), key=lambda fitted: float(fitted.losses.mean()))
    proposed: list[Candidate] = []
    is_directed = not problem.graph.is_undirected
    for fitted in (best, *others):
        rung = rung_record(fitted, best, problem)
        choices = network_of(rung, is_directed, is_find and is_table(task))
        operator = str(choices.pop("operator"))
        changes = _expressible(choices, spec, rung.family)
        if changes is not None and is_find and spec.conv == "gcn":
            changes = {**choices, **changes}  # also layers and rates, but not what was said
            for name in (
                {"num_layers", "lr", "norm", "weight_decay"}
                & spec.model_fields_set
                & changes.keys()
            ):
                del changes[name]
        tried = [candidate.changes for candidate in proposed]
        if changes is not None and changes not in tried:
            scores = (rung.val, rung.test) if is_find else None
            proposed.append(Candidate(rung.name, changes, operator, scores))
    return proposed


def _expressible(choices: dict[str, Any], spec: RunSpec, family: str) -> dict[str, Any] | None:
    """The choices as changes of this spec; None if its network cannot have this operator."""
    if family == "moments":
        return None  # networks pool sums of nodes, not of their products
    changes: dict[str, Any] = {
        name: choices[name] for name in ("preset", "terms", "base") if name in choices
    }
    if changes.get("base") == spec.base or spec.base is not None:
        changes.pop("base", None)
    if spec.conv != "gcn" or spec.sample:
        return None if {"terms", "base"} & changes.keys() else changes
    if "terms" in changes:
        terms = changes["terms"]
        if spec.residual and len(terms) > 1:  # the residual map is the term
            terms = tuple(term for term in terms if term != "self")
        changes |= {"terms": terms, "conv": "bank", "preset": None}
    return changes


class Trained(NamedTuple):
    """A training that has ended."""

    session: Session
    record: RunRecord

    @property
    def merit(self) -> float:
        """Its validation score, larger is better; minus infinity if it has none."""
        return self.record.merit


class Kept(NamedTuple):
    """The training that is kept, and how sure validation was of every challenger."""

    best: Trained
    confidence: dict[str, float]
    candidate: Candidate | None = None  # whose network it is, if the ladder proposed it


Train = Callable[[RunSpec, str], Trained]  # the name tells the trainings of a spec apart
Propose = Callable[[], list[Candidate]]
Judge = Callable[[Trained, Trained], float]


def choose(spec: RunSpec, train: Train, propose: Propose, judge: Judge | None = None) -> Kept:
    """Train what a spec asks for, and keep the best.

    ``found`` is the network of the rung that the ladder keeps. Otherwise the fixed operator comes
    first. For ``auto``, other fixed operators follow: the spec's ``presets``, and the networks that
    the ladder proposes. Then come the learned ones, which start at the fixed one that was kept.
    A challenger is kept if its validation score is better. With ``evidence`` validation must also
    be as sure of it as the spec's ``needed_evidence`` says.

    Args:
        spec: What was asked for.
        train: Trains a spec.
        propose: The ladder's candidates, best first.
        judge: How sure validation is that the second training is better than the first; by default
            :func:`confidence_of`.
    """
    judge = judge or confidence_of
    if spec.operator == "found":
        proposed = propose()[:1]
        changes = proposed[0].changes if proposed else {}
        mode = proposed[0].operator if proposed else "fixed"
        trained = train(_but(spec, {**changes, "operator": mode, "evidence": None}), "found")
        return Kept(trained, {}, proposed[0] if proposed else None)
    best = train(spec.but(operator="fixed"), "fixed")
    fixed: dict[str, RunSpec] = {}
    candidates: dict[str, Candidate] = {}
    if spec.operator == "auto":
        fixed = {name: best.session.spec.but(preset=name) for name in spec.presets}
        candidates = {one.rung: one for one in _new(spec, propose)}
        fixed |= {n: _but(best.session.spec, one.changes) for n, one in candidates.items()}
    best, sure, name = _challenge(spec, best, {n: train(s, n) for n, s in fixed.items()}, judge)
    modes = ("pgso", "mpgso") if spec.operator == "auto" else (spec.operator,)
    learned = {mode: train(best.session.spec.but(operator=mode), mode) for mode in modes}
    best, more, _ = _challenge(spec, best, learned, judge)
    return Kept(best, sure | more, candidates.get(name or ""))


def _new(spec: RunSpec, propose: Propose) -> list[Candidate]:
    """As many proposals as wanted, without the network that is trained first anyway."""
    if not spec.candidates:
        return []
    fixed_spec = spec.but(operator="fixed")
    proposed = [one for one in propose() if _but(fixed_spec, one.changes) != fixed_spec]
    if fixed_spec.preset is None and fixed_spec.conv == "gcn":  # GCN's own operator by its name
        proposed = [one for one in proposed if one.changes != {"preset": "gcn"}]
    return proposed[: spec.candidates]


def _but(spec: RunSpec, changes: Mapping[str, object]) -> RunSpec:
    """The spec with changes. The data stay as they are, also if the terms suggest other data."""
    return spec.but(**{**changes, "data_options": spec.data_options})


def _challenge(
    spec: RunSpec, best: Trained, challengers: Mapping[str, Trained], judge: Judge
) -> tuple[Trained, dict[str, float], str | None]:
    """What is kept of these, how sure validation is of each challenger, and the winner's name."""
    needed = spec.needed_evidence
    if needed is None:
        names = max(["", *challengers], key=lambda n: (challengers[n] if n else best).merit)
        return (challengers[names] if names else best), {}, names or None
    sure = {name: judge(best, one) for name, one in challengers.items()}
    better = [name for name in challengers if sure[name] > needed]
    if not better:
        return best, sure, None
    name = max(better, key=lambda name: sure[name] if spec.judges else challengers[name].merit)
    if not spec.judges and challengers[name].merit <= best.merit:
        return best, sure, None
    return challengers[name], sure, name


def confidence_of(best: Trained, challenger: Trained) -> float:
    """How sure validation is that the second is better, each at its best epoch."""
    if not best.session.best_weights or not challenger.session.best_weights:
        return float(bool(challenger.session.best_weights))  # one of them diverged at once
    task, one, other = best.session.task, best.session.selection, challenger.session.selection
    if best.session.spec.judges:
        rows = one.judges & other.judges
        if one.judged is None or other.judged is None or not bool(rows.any()):
            return 0.0
        y = one.answers[rows]
        return confidence_in_gain(task.objective, one.judged[rows], other.judged[rows], y)
    before, after = _validation_scores(best.session), _validation_scores(challenger.session)
    return confidence_in_gain(task.objective, before, after, one.answers)


def _validation_scores(session: Session) -> Tensor:  # (validation examples, outputs)
    take_best(session)
    out, _ = session.evaluate()
    return session.scoring.by_part(out)["val"]
