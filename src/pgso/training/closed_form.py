"""A run with a closed-form head: nothing is trained, and its record holds the finding."""

from pathlib import Path
from typing import Any

from pgso.errors import InputError
from pgso.finding import find
from pgso.records import RunRecord, RunSpec


def find_operator(spec: RunSpec, root: str | Path | None, versions: dict[str, str]) -> RunRecord:
    """The record of ``pgso find`` on the dataset of a spec, whose other choices do not matter."""
    for name in ("task", "base"):
        if getattr(spec, name) is not None:
            raise InputError(
                f"a closed-form head takes the dataset as it is; leave {name} out of the run"
            )
    options: dict[str, Any] = dict(spec.data_options)
    finding = find(spec.dataset, root=root, seed=spec.seed, objective=spec.objective, **options)
    best = finding.best
    return RunRecord(
        spec=spec,
        metric=finding.record.metric,
        positive=finding.record.positive,
        val=best.val,
        test=best.test,
        chosen=best.name,
        parameters=() if best.S is None else (best.S,),
        finding=finding.record,
        versions=versions,
        timing={"seconds": finding.record.seconds},
    )
