"""Fixed or learned? Several trainings of one spec, and the one that validation says to keep."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from pgso.data import DATASETS, Task
from pgso.data.dataset import is_table
from pgso.errors import InputError
from pgso.evaluation.statistics import confidence_in_gain
from pgso.finding.ladder import Ladder
from pgso.finding.problem import Problem
from pgso.finding.summary import network_of, rung_record
from pgso.records import RunRecord, RunSpec
from pgso.records.finding import FindingRecord
from pgso.records.suggestions import PROPOSES
from pgso.training.session import Session, take_best

NOT_OVERRULED = {"num_layers", "lr", "norm", "weight_decay"}  # where the user has said them


class Candidate(NamedTuple):
    """A rung, and what its network changes in a spec."""

    rung: str
    changes: dict[str, Any]
    operator: str  # how its network is trained: fixed, or learned from where the rung has S
    closed_form: tuple[float | None, float | None] | None = None  # its own scores: val and test


class Trained(NamedTuple):
    """A training that has ended."""

    session: Session
    record: RunRecord


Train = Callable[[RunSpec, str], Trained]  # the name tells the trainings of a spec apart


def candidates_of(
    spec: RunSpec, task: Task, finding: FindingRecord | None = None
) -> list[Candidate]:
    """The kept rung's network first, then the networks of other rungs by leave-one-out loss.

    Validation labels take no part: they judge the networks. Only on a user's own data, ``found``
    is what :func:`pgso.find` keeps with all labels, with a layer for each of its hops; a finding of
    the same data then saves the search. Only GCNs become banks or change the edges that they see.
    There are no candidates where ``find`` has no answer, nor for terms that were asked for.
    """
    if spec.conv not in PROPOSES or spec.terms is not None:
        return []
    is_find = spec.operator == "found" and spec.dataset not in DATASETS
    if finding is not None and is_find:
        is_directed, best = finding.graph.is_directed, finding.rung(finding.best)
        rungs = [best, *sorted(finding.rungs, key=lambda rung: rung.loss)]
    else:
        try:
            problem = Problem.prepared(task if is_find else replace(task, val=task.val[:0]))
        except InputError:
            return []
        is_directed, ladder = not problem.graph.is_undirected, Ladder(problem)
        kept = ladder.climb()
        others = sorted(ladder.fitted.values(), key=lambda fitted: float(fitted.said.losses.mean()))
        rungs = [rung_record(fitted, kept, problem) for fitted in (kept, *others)]
    proposed: list[Candidate] = []
    for rung in rungs:
        choices = network_of(rung, is_directed, is_find and is_table(task))
        operator = str(choices.pop("operator"))
        changes = {name: v for name, v in choices.items() if name in ("preset", "terms", "base")}
        if changes.get("base") == spec.base or spec.base is not None:
            changes.pop("base", None)
        if rung.family == "moments":
            continue  # networks pool sums of nodes, not of their products
        if spec.conv != "gcn" or spec.sample:
            if {"terms", "base"} & changes.keys():
                continue
        elif "terms" in changes:
            terms = changes["terms"]
            if spec.residual and len(terms) > 1:  # the residual map is the term
                terms = tuple(term for term in terms if term != "self")
            changes |= {"terms": terms, "conv": "bank", "preset": None}
        if is_find and spec.conv == "gcn":  # also layers and rates
            said = NOT_OVERRULED & spec.model_fields_set
            changes = {k: v for k, v in {**choices, **changes}.items() if k not in said}
        if changes not in [one.changes for one in proposed]:
            scores = (rung.val, rung.test) if is_find else None
            proposed.append(Candidate(rung.name, changes, operator, scores))
    return proposed


def choose(
    spec: RunSpec, task: Task, train: Train, finding: FindingRecord | None = None
) -> tuple[Trained, dict[str, float], Candidate | None]:
    """Train what a spec asks for, and keep the best.

    ``found`` is the network of the rung that the ladder keeps. Otherwise the fixed operator comes
    first. For ``auto``, other fixed operators follow: the spec's ``presets``, and the networks that
    the ladder proposes, best first. Then come the learned ones, which start at the fixed one that
    was kept. A challenger is kept if its validation score is better. With ``evidence`` validation
    must also be as sure of it as the spec's ``needed_evidence`` says.

    Returned are the training that is kept, how sure validation was of every challenger, and the
    candidate whose network it is, if the ladder proposed it.
    """
    if spec.operator == "found":
        candidate = next(iter(candidates_of(spec, task, finding)), None)
        changes = {} if candidate is None else candidate.changes
        mode = "fixed" if candidate is None else candidate.operator
        trained = train(_but(spec, {**changes, "operator": mode, "evidence": None}), "found")
        return trained, {}, candidate
    simple = spec.but(operator="fixed")
    best = train(simple, "fixed")
    fixed: dict[str, RunSpec] = {}
    candidates: dict[str, Candidate] = {}
    if spec.operator == "auto":
        fixed = {name: simple.but(preset=name) for name in spec.presets}
        # Not the network that was trained first; GCN's own operator may be called by its name.
        known = [{"preset": "gcn"}] if (simple.preset, simple.conv) == (None, "gcn") else []
        proposed = candidates_of(spec, task, finding) if spec.candidates else []
        new = [
            one
            for one in proposed
            if _but(simple, one.changes) != simple and one.changes not in known
        ]
        candidates = {one.rung: one for one in new[: spec.candidates]}
        fixed |= {name: _but(simple, one.changes) for name, one in candidates.items()}
    best, sure, name = _challenge(spec, best, {n: train(s, n) for n, s in fixed.items()})
    modes = ("pgso", "mpgso") if spec.operator == "auto" else (spec.operator,)
    learned = {mode: train(best.session.spec.but(operator=mode), mode) for mode in modes}
    best, more, _ = _challenge(spec, best, learned)
    return best, sure | more, candidates.get(name)


def _but(spec: RunSpec, changes: Mapping[str, object]) -> RunSpec:
    """The spec with changes. The data stay as they are, also if the terms suggest other data."""
    return spec.but(**{**changes, "data_options": spec.data_options})


def _challenge(
    spec: RunSpec, best: Trained, challengers: Mapping[str, Trained]
) -> tuple[Trained, dict[str, float], str]:
    """What is kept, how sure validation is of each challenger, and the winner's name or ''."""
    trained = {"": best, **challengers}  # validation score: larger is better
    needed, sure = spec.needed_evidence, {}
    if needed is not None:
        sure = {name: confidence_of(best, one) for name, one in challengers.items()}
        trained = {n: one for n, one in trained.items() if n not in sure or sure[n] > needed}
    merit = {name: one.record.merit for name, one in trained.items()}
    if needed is not None and spec.judges:
        merit = {name: sure.get(name, -1.0) for name in trained}
    name = max(merit, key=lambda name: merit[name])
    return trained[name], sure, name


def confidence_of(best: Trained, challenger: Trained) -> float:
    """How sure validation is that the second is better, each at its best epoch."""
    sessions = best.session, challenger.session
    if not all(session.best_weights for session in sessions):
        return float(bool(challenger.session.best_weights))  # one of them diverged at once
    objective, (one, other) = best.session.task.objective, (s.selection for s in sessions)
    if not best.session.spec.judges:
        outputs = []
        for session in sessions:
            take_best(session)
            outputs.append(session.by_part(session.evaluate()[0])["val"])
        return confidence_in_gain(objective, outputs[0], outputs[1], one.answers)
    rows = one.judges & other.judges
    if one.judged is None or other.judged is None or not bool(rows.any()):
        return 0.0
    return confidence_in_gain(objective, one.judged[rows], other.judged[rows], one.answers[rows])
