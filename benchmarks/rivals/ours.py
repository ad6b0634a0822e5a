"""``find`` as a rival among others: its predictions go to the same judge."""

from typing import Any

import pgso
from benchmarks.rivals.field import has_heads
from benchmarks.rivals.problem import Answer, Problem


def find_ridge(problem: Problem, task: Any) -> Answer:
    """The closed form: the kept rung's own ridge regression."""
    return _find(problem, task, {"head": "ridge"} if has_heads() else {})


def find(problem: Problem, task: Any) -> Answer:
    """What a user gets: the head that the evidence keeps."""
    return _find(problem, task, {})


def _find(problem: Problem, task: Any, options: dict[str, Any]) -> Answer:
    found = pgso.find(task, seed=problem.seed, **options)
    head = getattr(found.best, "head", None)
    return Answer(found.predict().numpy(), found.best.name + (f" ({head})" if head else ""))
