"""Section 3.2 and 3.3: do other matrices, or richer parameters, add to the plain PGSO?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pgso.records import RunRecord, RunSpec
from pgso.report.differences import differences
from pgso_studies.study import EXPERIMENTS, Experiment, Size
from pgso_studies.summaries import (
    group,
    mean_and_interval,
    mean_and_spread,
    scores,
    table,
)

DATASETS: dict[str, dict[str, Any]] = {
    "Cora": {},
    "CiteSeer": {},
    "Texas": {"data_options": {"undirected": True}},
    "minesweeper": {"num_layers": 3, "norm": "batch", "data_options": {"rows": 50, "cols": 50}},
}
TOY: dict[str, dict[str, Any]] = {"karate": {"hidden_channels": 8}}
# The plain mPGSO first; each other one changes the matrix or the shape of S, and nothing else.
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "gcn": {
        "plain": {},
        "base ppr": {"base": "ppr"},
        "base heat": {"base": "heat"},
        "base non-backtracking": {"base": "non-backtracking"},
        "per node": {"shape": "node"},
        "per channel": {"shape": "channel"},
        "structural": {"shape": "structural"},
    },
    "gat": {"plain": {}, "per head": {"shape": "head"}},
}
LENGTH = {Size.QUICK: (2, 4), Size.FULL: (10, 200)}  # seeds and epochs


class Extensions(Experiment):
    """Other bases, and S per node, channel, head or place, paired with the plain mPGSO by seed."""

    title = "Other graph matrices and richer parameters"
    paper = "Sections 3.2 and 3.3: what they name and leave out"

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Graphs x layers x variants x seeds."""
        del done
        seeds, epochs = LENGTH[size]
        return [
            RunSpec(
                dataset=name,
                conv=conv,
                seed=seed,
                operator="mpgso",
                epochs=epochs,
                **{**settings, **choices},
            )
            for name, settings in (TOY if size == Size.QUICK else DATASETS).items()
            for conv, variants in VARIANTS.items()
            for choices in variants.values()
            for seed in range(seeds)
        ]

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """A table for each layer: the score of the plain mPGSO, and points above it by seed."""
        del figures
        longest = max((record.spec.epochs for record in records), default=0)
        records = [record for record in records if record.spec.epochs == longest]
        tables = "\n\n".join(
            f"## {conv.upper()}\n\n{variants_table(members, VARIANTS[conv])}"
            for conv, members in group(records, lambda record: record.spec.conv, VARIANTS).items()
        )
        return (
            f"# {self.title}\n\nTest points above the plain mPGSO of the same seed and split, mean "
            f"[95 % interval], {longest} epochs. An interval that holds 0 shows no difference; "
            "with many of them, expect one in twenty to miss it by chance.\n\n"
            f"{tables}\n{self.footer('extensions', records)}"
        )


def variants_table(records: Sequence[RunRecord], variants: Mapping[str, dict[str, Any]]) -> str:
    """A row for each graph, a column for each variant."""
    rows = []
    for dataset, members in group(records, lambda record: record.spec.dataset, DATASETS).items():
        plain, *others = (runs_with(members, choices) for choices in variants.values())
        above = [mean_and_interval(differences(runs, plain)) for runs in others]
        rows.append([dataset, mean_and_spread(scores(plain)), *above])
    return table(["", "plain mPGSO, test", *list(variants)[1:]], rows)


def runs_with(records: Sequence[RunRecord], choices: Mapping[str, Any]) -> list[RunRecord]:
    """The runs with these choices."""
    choices = {"base": None, "shape": "scalar", **choices}
    return [
        record
        for record in records
        if all(getattr(record.spec, name) == value for name, value in choices.items())
    ]


EXPERIMENTS.register("extensions")(Extensions())
