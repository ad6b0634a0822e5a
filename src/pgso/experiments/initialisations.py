"""Section 5.2: does it matter where the operator starts? (Figures 3 and 6)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pgso.experiments.study import EXPERIMENTS, Experiment, Size
from pgso.experiments.summaries import (
    LINES,
    group,
    mean_and_spread,
    mean_curve,
    named_curve,
    new_figure,
    parameter_curve,
    save,
    scores,
    table,
)
from pgso.gso.parameters import NAMES
from pgso.records import RunRecord, RunSpec

STARTS = ("gcn", "adjacency", "random_walk_laplacian", "symmetric_laplacian", "zeros")


class Initialisations(Experiment):
    """GCN-PGSO on Cora from five starting points, 150 epochs each."""

    title = "Where the operator starts"
    paper = "Figures 3 and 6"
    curves = ("train", "val", "parameters")

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Five presets, ten seeds, three layers as in Section 5.1."""
        del done
        if size == Size.QUICK:
            base, seeds = RunSpec(dataset="karate", epochs=8, hidden_channels=8), range(2)
        else:
            base, seeds = RunSpec(dataset="Cora", epochs=150, num_layers=3), range(10)
        return [base.but(preset=start, seed=seed) for start in STARTS for seed in seeds]

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """S from each start, accuracy curves, and where S ends."""
        by_start = group(records, lambda record: str(record.spec.preset))
        figure = new_figure(len(by_start), width=3.0)
        axes = figure.subplots(1, len(by_start), sharey=True, squeeze=False)[0]
        for axis, (start, runs) in zip(axes, by_start.items(), strict=True):
            for name in NAMES:
                epochs, mean, _ = mean_curve(runs, parameter_curve(0, name))
                axis.plot(epochs, mean, label=name, **LINES[name])
            axis.set(title=start.replace("_", " "), xlabel="epoch")
        axes[0].legend(frameon=False, fontsize=7, ncols=2)
        trajectories = save(figure, figures, "figure_3")

        figure = new_figure(2)
        for axis, part in zip(figure.subplots(1, 2), ("train", "val"), strict=True):
            for start, runs in by_start.items():
                epochs, mean, _ = mean_curve(runs, named_curve(part))
                axis.plot(epochs, 100 * mean, label=start)
            axis.set(xlabel="epoch", ylabel=f"{part} accuracy")
        axis.legend(frameon=False, fontsize=7)
        accuracy = save(figure, figures, "figure_6")

        rows = []
        for start, runs in by_start.items():
            last = [record.curves["parameters"][-1][0] for record in runs]
            means = [sum(column) / len(column) for column in zip(*last, strict=True)]
            cells = [mean_and_spread(scores(runs, part)) for part in ("val", "test")]
            rows.append((start, *cells, *(f"{value:.2f}" for value in means)))
        header = ["start", "val", "test", *(f"{name} at the end" for name in NAMES)]
        return (
            f"# {self.title} ({self.paper})\n\nGCN-PGSO on {records[0].spec.dataset}, "
            f"{records[0].spec.epochs} epochs.\n\n{trajectories}\n\n{accuracy}\n\n"
            f"{table(header, rows)}\n{self.footer('initialisations', records)}"
        )


EXPERIMENTS.register("initialisations")(Initialisations())
