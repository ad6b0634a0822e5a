"""Appendix B.5: loss and accuracy curves, fixed against learned (Figures 7 and 8)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pgso.records import RunRecord, RunSpec
from pgso.report.differences import Pair, pairs
from pgso.report.words import LABELS, OPERATORS
from pgso_studies.study import EXPERIMENTS, Experiment, Size
from pgso_studies.summaries import (
    curve,
    epochs_kept,
    figure_of,
    group,
    legend_beside,
    mean_and_interval,
    mean_curve,
    named_curve,
    panels,
    save,
    table,
)


class Convergence(Experiment):
    """GCN on Cora and GIN on PTC_MR, with the same configuration for both operators."""

    title = "Convergence"
    paper = "Figures 7 and 8"
    curves = ("loss", "train", "val")

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Two tasks, two operators, ten seeds (folds)."""
        del done
        if size == Size.QUICK:
            templates, seeds = [RunSpec(dataset="karate", epochs=8)], range(2)
        else:
            cora = RunSpec(dataset="Cora")
            ptc = RunSpec(dataset="PTC_MR", conv="gin", num_layers=3, input_dropout=0.0)
            templates, seeds = [cora, ptc], range(10)
        return [
            template.but(operator=operator, seed=seed)
            for template in templates
            for operator in ("fixed", "pgso")
            for seed in seeds
        ]

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """Curves, and by how many epochs the learned operator is ahead."""
        parts, rows = [], []
        by_dataset = group(records, lambda record: record.spec.dataset, ["Cora", "PTC_MR"])
        for dataset, runs in by_dataset.items():
            by_operator = group(runs, lambda record: str(record.spec.operator), ["fixed", "pgso"])
            axes = panels(3)
            for axis, name in zip(axes, ("loss", "train", "val"), strict=True):
                for operator, members in by_operator.items():
                    epochs, mean, sd = mean_curve(members, named_curve(name))
                    unit = 1 if name == "loss" else 100
                    mean, sd = unit * mean, unit * sd
                    colour = OPERATORS[operator]
                    axis.plot(epochs, mean, label=LABELS[operator], color=colour, linewidth=1.2)
                    axis.fill_between(epochs, mean - sd, mean + sd, color=colour, alpha=0.2, lw=0)
                axis.set(xlabel="epoch", ylabel=name if name == "loss" else f"{name} accuracy, %")
            legend_beside(axes[-1])
            shown = save(figure_of(axes), figures, f"convergence_{dataset}")
            parts.append(f"## {dataset}\n\n{shown}\n")
            rows.append(
                (
                    dataset,
                    mean_and_interval(epochs_ahead(runs)),
                    mean_and_interval(loss_difference(runs), 3),
                )
            )
        header = ["", "epochs that the fixed operator needs more", "final loss, pgso - fixed"]
        body = "\n".join(parts)
        return (
            f"# {self.title} ({self.paper})\n\nLines are means over the seeds or folds, bands one "
            f"standard deviation.\n\n{body}\nEpochs until the validation score first "
            "reaches 95 % of the fixed run's best, both at the epochs that the ledger keeps "
            f"({epochs_kept(records)}).\n\n{table(header, rows)}\n"
            f"{self.footer('convergence', records)}"
        )


def learned_and_fixed(records: Sequence[RunRecord]) -> list[Pair]:
    """Learned runs, each with the fixed run of the same seed."""
    by_operator = group(records, lambda record: str(record.spec.operator))
    return pairs(by_operator.get("pgso", []), by_operator.get("fixed", []))


def epochs_ahead(records: Sequence[RunRecord]) -> list[float]:
    """How many epochs earlier the learned run reaches 95 % of the fixed run's best."""
    ahead = []
    for learned, fixed in learned_and_fixed(records):
        goal = 0.95 * max(fixed.curves["val"])
        needed = []
        for record in (fixed, learned):
            epochs, values = curve(record, "val")
            reached = [at for at, value in zip(epochs, values, strict=True) if value >= goal]
            needed.append(reached[0] if reached else record.spec.epochs)
        ahead.append(float(needed[0] - needed[1]))
    return ahead


def loss_difference(records: Sequence[RunRecord]) -> list[float]:
    """Final training loss of the learned run minus the fixed run's."""
    return [
        learned.curves["loss"][-1] - fixed.curves["loss"][-1]
        for learned, fixed in learned_and_fixed(records)
    ]


EXPERIMENTS.register("convergence")(Convergence())
