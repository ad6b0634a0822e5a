"""Fixed or learned? Several trainings of one spec, and the one that validation says to keep."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from pgso.records import RunRecord, RunSpec
from pgso.training.checkpoint import take_best
from pgso.training.evidence import confidence_in_gain
from pgso.training.session import Session


class Trained(NamedTuple):
    """A training that has ended."""

    session: Session
    record: RunRecord

    @property
    def merit(self) -> float:
        """Its validation score, larger is better; below any where it never had one."""
        return self.record.merit


Train = Callable[[RunSpec, str], Trained]  # the name tells the trainings of a spec apart


def is_choice(spec: RunSpec) -> bool:
    """Whether a spec takes several trainings."""
    return spec.operator == "auto" or (spec.operator != "fixed" and spec.evidence is not None)


def num_trainings(spec: RunSpec) -> int:
    """How many trainings a spec takes."""
    if spec.operator == "auto":
        return 3 + len(spec.presets)
    return 2 if is_choice(spec) else 1


def choose(spec: RunSpec, train: Train) -> tuple[Trained, dict[str, float]]:
    """The training to keep, and how sure validation was of each that challenged one before.

    First the fixed operator; then, for ``auto``, the other fixed ones of ``presets``; then the
    learned ones, which start at the fixed one that was kept. What is simpler stays unless the
    challenger is better on validation: by chance or not, or, with ``evidence``, as surely as the
    spec's ``needed_evidence`` says.
    """
    presets = spec.presets if spec.operator == "auto" else ()
    learned = ("pgso", "mpgso") if spec.operator == "auto" else (spec.operator,)
    best = train(spec.but(operator="fixed"), "fixed")
    confidence: dict[str, float] = {}
    needed = spec.needed_evidence
    for names, field in ((presets, "preset"), (learned, "operator")):
        challengers = {name: train(best.session.spec.but(**{field: name}), name) for name in names}
        if needed is not None:
            sure = {name: _confidence(best, each) for name, each in challengers.items()}
            challengers = {n: each for n, each in challengers.items() if sure[n] > needed}
            confidence |= sure
        best = max(
            [best, *challengers.values()], key=lambda each: each.merit
        )  # the first, if equal
    return best, confidence


def _confidence(best: Trained, challenger: Trained) -> float:
    """How sure validation is that the second is better, each at its best epoch."""
    if not best.session.best_weights or not challenger.session.best_weights:
        return float(bool(challenger.session.best_weights))  # one of them diverged at once
    task = best.session.task
    before, after = _validation_scores(best.session), _validation_scores(challenger.session)
    y = best.session.scoring.by_part(best.session.scoring.y)["val"]
    return confidence_in_gain(task.objective, before, after, y)


def _validation_scores(session: Session) -> Tensor:  # (validation examples, outputs)
    take_best(session)
    out, _ = session.evaluate()
    return session.scoring.by_part(out)["val"]
