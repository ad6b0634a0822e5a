"""A stronger fixed network beside a comparison: is it the operator, or is it the network?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pgso.records import RunRecord, RunSpec
from pgso.report.differences import Difference, Summary


@dataclass(frozen=True)
class Reference:
    """A network with more structure and the architecture's own operator, on the same seeds."""

    description: str  # "a fixed residual gcn of 6 layers"
    changes: dict[str, Any]  # the choices in which it differs from the runs that are compared
    test: Summary
    val: Summary | None
    differences: tuple[Difference, ...]  # each learned operator minus the reference, on test

    def difference(self, operator: str | None) -> Difference | None:
        """The comparison of one learned operator with the reference, if there is one."""
        return next((entry for entry in self.differences if entry.operator == operator), None)

    @property
    def code(self) -> str:
        """The reference as a change of the spec that is compared."""
        changed = ", ".join(f"{name}={value!r}" for name, value in self.changes.items())
        return f"spec.but({changed})"


def describe(spec: RunSpec) -> str:
    """A fixed network in words.

    Example:
        >>> describe(RunSpec(dataset="karate", residual=True, norm="batch", num_layers=6))
        'a fixed residual gcn of 6 layers with batch norm'
    """
    residual = "residual " if spec.residual else ""
    norm = f" with {spec.norm} norm" if spec.norm else ""
    layers = "1 layer" if spec.num_layers == 1 else f"{spec.num_layers} layers"
    return f"a fixed {residual}{spec.conv} of {layers}{norm}"


def changes(spec: RunSpec, reference: RunSpec) -> dict[str, Any]:
    """What a reference has that the compared runs have not; its operator first."""
    old = spec.model_dump(exclude={"operator", "seed"})
    new = reference.model_dump(exclude={"operator", "seed"})
    return {"operator": reference.operator} | {
        name: value for name, value in new.items() if value != old[name]
    }


def scored(records: Iterable[RunRecord]) -> list[RunRecord]:
    """The runs of a reference that count."""
    return [record for record in records if record.test is not None]
