"""Networks that the ladder of ``find`` proposes, from the training labels alone."""

from dataclasses import replace
from typing import Any, NamedTuple

from pgso.data import Task
from pgso.errors import InputError
from pgso.finding.advice import network_of
from pgso.finding.finding import check_problem, rung_record
from pgso.finding.ladder import Ladder
from pgso.finding.problem import Problem
from pgso.records import RunSpec

PROPOSES = ("gcn", "sgc", "gin", "gat")  # convs that leave the operator open


class Candidate(NamedTuple):
    """A rung, and what its network changes in a spec."""

    rung: str
    changes: dict[str, Any]
    operator: str  # how its network is trained: fixed, or learned from where the rung has S


def candidates_of(spec: RunSpec, task: Task) -> list[Candidate]:
    """The kept rung's network first, then the networks of other rungs by leave-one-out loss.

    Validation labels take no part: they judge the networks. Only GCNs become banks or change the
    edges that they see; other architectures take the operator of rungs that have one. There are no
    candidates where ``find`` has no answer: links, several labels, and terms that were asked for.

    Args:
        spec: Whose network is changed.
        task: Its data.
    """
    if spec.conv not in PROPOSES or spec.terms is not None:
        return []
    try:
        problem = Problem.of(replace(task, val=task.val[:0]))
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
        choices = network_of(rung, is_directed)
        operator = str(choices.pop("operator"))
        changes = _expressible(choices, spec, rung.family)
        tried = [candidate.changes for candidate in proposed]
        if changes is not None and changes not in tried:
            proposed.append(Candidate(rung.name, changes, operator))
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
