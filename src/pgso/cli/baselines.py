"""What a network must beat, printed beside the operators, and what speaks against the result."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pgso.cli.terminal import Console
from pgso.records import RunRecord


class Judgement(NamedTuple):
    """Baselines by name, with their mean scores; and doubts, in sentences."""

    baselines: list[dict[str, Any]]
    doubts: list[str]

    def show(self, console: Console, record: RunRecord) -> None:
        """Print both."""
        from pgso.report.grid import Grid

        objective = record.objective
        rows = [
            (entry["label"], *(objective.written(entry[part]) for part in ("val", "test")))
            for entry in self.baselines
        ]
        if rows:
            title = f"What a network must beat, {objective.heading}"
            console.print(Grid(title, ("model", "validation", "test"), tuple(rows)).to_rich())
        for doubt in self.doubts:
            console.print(f"Note: {doubt}.", soft_wrap=True, style="bold")


def judge(records: Sequence[RunRecord], data: Path | None) -> Judgement:
    """The baselines of the runs' data, fitted now: seconds at most."""
    from statistics import fmean

    from pgso.data.load import task_of
    from pgso.training.baselines import baselines
    from pgso.training.doubts import doubts

    specs = {record.spec.seed: record.spec for record in records}
    tasks = {seed: task_of(spec, data) for seed, spec in specs.items()}
    found = {seed: baselines(task) for seed, task in tasks.items()}
    merged: dict[str, dict[str, Any]] = {}
    for group in found.values():
        for baseline in group:
            entry = merged.setdefault(
                baseline.name,
                {"name": baseline.name, "label": baseline.label, "val": [], "test": []},
            )
            for part in ("val", "test"):
                score = getattr(baseline, part)
                if score is not None:
                    entry[part].append(score)
    for entry in merged.values():
        for part in ("val", "test"):
            entry[part] = fmean(entry[part]) if entry[part] else None
    return Judgement(list(merged.values()), doubts(tasks, found, records))
