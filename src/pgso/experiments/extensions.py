"""Section 3.2 and 3.3: do other matrices, or richer parameters, add to the plain PGSO?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pgso.experiments.registry import EXPERIMENTS, Experiment, Size
from pgso.experiments.summaries import footer, group, mean_and_interval, mean_and_spread, table
from pgso.records import RunRecord, RunSpec

DATASETS: dict[str, dict[str, Any]] = {
    "Cora": {},
    "CiteSeer": {},
    "Texas": {"data_options": {"undirected": True}},
    "minesweeper": {"num_layers": 3, "norm": "batch", "data_options": {"rows": 50, "cols": 50}},
}
# The plain mPGSO first; each other one changes the matrix or the shape of S, and nothing else.
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "base ppr": {"base": "ppr"},
    "base heat": {"base": "heat"},
    "per node": {"shape": "node"},
    "per channel": {"shape": "channel"},
    "structural": {"shape": "structural"},
}


class Extensions(Experiment):
    """Diffusion bases, and S per node, channel or place, paired with the plain mPGSO by seed."""

    title = "Other graph matrices and richer parameters"
    paper = "Sections 3.2 and 3.3: what they name and leave out"

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Graphs x variants x seeds."""
        del done
        datasets, seeds, epochs = DATASETS, 10, 200
        if size == Size.QUICK:
            datasets, seeds, epochs = {"karate": {"hidden_channels": 8}}, 2, 4
        elif size == Size.BUDGET:
            seeds, epochs = 3, 100
        return [
            RunSpec(
                dataset=name, seed=seed, operator="mpgso", epochs=epochs, **{**suited, **choices}
            )
            for name, suited in datasets.items()
            for choices in VARIANTS.values()
            for seed in range(seeds)
        ]

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """The score of the plain mPGSO, and test points above it by seed."""
        del figures
        rows = []
        for dataset, members in group(records, lambda record: record.spec.dataset).items():
            plain = scores_by_seed(members, "plain")
            row = [dataset, mean_and_spread(list(plain.values()))]
            for variant in list(VARIANTS)[1:]:
                own = scores_by_seed(members, variant)
                row.append(mean_and_interval([own[s] - plain[s] for s in own if s in plain]))
            rows.append(row)
        header = ["", "plain mPGSO, test", *list(VARIANTS)[1:]]
        return (
            f"# {self.title}\n\nTest points above the plain mPGSO of the same seed and split, mean "
            f"[95 % interval], GCN.\n\n{table(header, rows)}\n{footer('extensions', records)}"
        )


def scores_by_seed(records: Sequence[RunRecord], variant: str) -> dict[int, float]:
    """Test scores in points of the runs of a variant."""
    choices = {"base": None, "shape": "scalar", **VARIANTS[variant]}
    return {
        record.spec.seed: 100 * record.test
        for record in records
        if record.test is not None
        and all(getattr(record.spec, name) == value for name, value in choices.items())
    }


EXPERIMENTS.register("extensions")(Extensions())
