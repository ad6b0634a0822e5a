"""Which way of learning S takes the gain where there is one, and does no harm elsewhere?"""

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
    "Chameleon": {"data_options": {"undirected": True}},
    "Actor": {"data_options": {"undirected": True}},
    "minesweeper": {"num_layers": 3, "norm": "batch"},
    "digits": {},
    "sbm": {"num_layers": 3, "norm": "batch", "data_options": {"p": 0.22, "q": 0.11}},
    "MUTAG": {"conv": "gin", "num_layers": 3, "input_dropout": 0.0, "epochs": 100},
    "PTC_MR": {"conv": "gin", "num_layers": 3, "input_dropout": 0.0, "epochs": 100},
    "IMDB-BINARY": {"conv": "gin", "num_layers": 3, "input_dropout": 0.0, "epochs": 50},
    "IMDB-MULTI": {"conv": "gin", "num_layers": 3, "input_dropout": 0.0, "epochs": 50},
}
# The paper's recipe first; each other one changes how S is learned, and nothing else.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "no decay": {"s_decay": "none"},
    "slow": {"s_rate": 0.1, "s_decay": "none"},
    "to the start": {"s_decay": "start", "s_rate": 0.3},
    "late": {"s_delay": 50, "s_decay": "none"},
    "validation": {"s_loss": "val", "s_decay": "none"},
    "validation, slow": {"s_loss": "val", "s_rate": 0.3, "s_decay": "none"},
    "validation, slower": {"s_loss": "val", "s_rate": 0.1, "s_decay": "none"},
}
LEARNED = ("pgso", "mpgso")


class Recipes(Experiment):
    """Every variant on twelve graphs, paired with the fixed operator, with and without residual."""

    title = "Recipes for learning S"
    paper = "Appendix B.2.2, and what it leaves open"

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Graphs x (fixed + variants x {pgso, mpgso}) x residual x seeds."""
        del done
        datasets, variants, seeds = DATASETS, VARIANTS, 10
        if size == Size.QUICK:
            datasets = {"karate": {"epochs": 4, "hidden_channels": 8}}
            variants, seeds = {name: VARIANTS[name] for name in ("paper", "validation")}, 2
        elif size == Size.BUDGET:
            seeds = 5
        found = []
        for residual in (False, True):
            for seed in range(seeds):
                for name, suited in datasets.items():
                    base = RunSpec(dataset=name, seed=seed, residual=residual, **suited)
                    found.append(base.but(operator="fixed"))
                    for operator in LEARNED:
                        for choices in variants.values():
                            found.append(base.but(operator=operator, **choices))
        return found

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """Paired differences to the fixed operator in test points, by graph and variant."""
        del figures
        parts = []
        for residual, runs in group(records, lambda record: record.spec.residual).items():
            rows = []
            for dataset, members in group(runs, lambda record: record.spec.dataset).items():
                fixed = {r.spec.seed: r for r in members if r.spec.operator == "fixed"}
                baseline = [100 * r.test for r in fixed.values() if r.test is not None]
                cells = [dataset, mean_and_spread(baseline)]
                for variant in VARIANTS:
                    per_operator = [
                        mean_and_interval(differences(members, variant, name)) for name in LEARNED
                    ]
                    cells.append(" / ".join(per_operator))
                rows.append(cells)
            title = "With residual connections" if residual else "Without residual connections"
            parts.append(f"## {title}\n\n{table(['', 'fixed, test', *VARIANTS], rows)}\n")
        body = "\n".join(parts)
        return (
            f"# {self.title}\n\nTest points above the fixed operator by seed: PGSO / mPGSO, "
            f"mean [95 % interval].\n\n{body}\n{footer('recipes', records)}"
        )


def variant_of(spec: RunSpec) -> str | None:
    """The variant whose choices a spec has."""
    own = {name: getattr(spec, name) for name in ("s_loss", "s_rate", "s_decay", "s_delay")}
    default = RunSpec(dataset="any")
    for name, choices in VARIANTS.items():
        if own == {field: choices.get(field, getattr(default, field)) for field in own}:
            return name
    return None


def differences(records: Sequence[RunRecord], variant: str, operator: str) -> list[float]:
    """Learned minus fixed, in test points, by seed."""
    fixed = {r.spec.seed: r.test for r in records if r.spec.operator == "fixed"}
    found = []
    for record in records:
        if record.spec.operator == operator and variant_of(record.spec) == variant:
            baseline = fixed.get(record.spec.seed)
            if record.test is not None and baseline is not None:
                found.append(100 * (record.test - baseline))
    return found


EXPERIMENTS.register("recipes")(Recipes())
