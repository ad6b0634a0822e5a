"""Section 4.2: how the spectral support and S move while a GCN-PGSO learns Cora (Figure 1)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pgso.gso.parameters import NAMES
from pgso.records import RunRecord, RunSpec
from pgso.report.words import OPERATORS
from pgso_studies.study import EXPERIMENTS, Experiment, Size
from pgso_studies.summaries import (
    LINES,
    curve,
    figure_of,
    legend_beside,
    mean_and_interval,
    mean_curve,
    panels,
    parameter_curve,
    save,
    table,
)


class SpectralSupport(Experiment):
    """GCN-PGSO on Cora: the interval of Theorem 2 and S against epochs."""

    title = "Spectral support during training"
    paper = "Figure 1"
    curves = ("parameters", "interval")

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Ten seeds."""
        del done
        if size == Size.QUICK:
            return [RunSpec(dataset="karate", epochs=10, seed=seed) for seed in range(2)]
        return [RunSpec(dataset="Cora", seed=seed) for seed in range(10)]

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """Figure 1 (a) and (b), and where the interval is centred."""
        left, right = panels(2, width=3.2, height=2.5)
        for side, end in enumerate(("lower", "upper")):

            def bound(record: RunRecord, side: int = side) -> tuple[list[int], list[float]]:
                epochs, values = curve(record, "interval")
                return epochs, [operators[0][side] for operators in values]

            epochs, mean, sd = mean_curve(records, bound)
            left.plot(epochs, mean, color=OPERATORS["pgso"], linewidth=1.2)
            left.fill_between(
                epochs, mean - sd, mean + sd, color=OPERATORS["pgso"], alpha=0.2, lw=0
            )
            left.annotate(f"{end} bound", (epochs[-1], mean[-1]), xytext=(-2, 4 if side else -10),
                          textcoords="offset points", ha="right", fontsize=7.5)  # fmt: skip
        left.set(xlabel="epoch", ylabel="bounds of Theorem 2", title="(a) spectral support")
        left.margins(y=0.15)
        for name in NAMES:
            epochs, mean, sd = mean_curve(records, parameter_curve(0, name))
            right.plot(epochs, mean, label=name, **LINES[name])
        right.set(xlabel="epoch", ylabel="value", title="(b) S")
        legend_beside(right)
        shown = save(figure_of([left]), figures, "figure_1")

        centres, widths = centre_and_width(records)
        rows = [
            ("centre of the interval / its half-width, last epoch", mean_and_interval(centres, 2)),
            ("half-width, last epoch over first", mean_and_interval(widths, 2)),
        ]
        return (
            f"# {self.title} ({self.paper})\n\nGCN-PGSO on {records[0].spec.dataset}, "
            f"{len(records)} seeds; lines are means, bands one standard deviation.\n\n{shown}\n\n"
            f"{table(['', 'mean [95 % interval]'], rows)}\n"
            f"{self.footer('spectral_support', records)}"
        )


def centre_and_width(records: Sequence[RunRecord]) -> tuple[list[float], list[float]]:
    """Per run: centre relative to half-width at the end, and how much wider the end is."""
    centres, widths = [], []
    for record in records:
        (low0, high0), (low, high) = (record.curves["interval"][at][0] for at in (0, -1))
        centres.append((low + high) / (high - low))
        widths.append((high - low) / (high0 - low0))
    return centres, widths


EXPERIMENTS.register("spectral_support")(SpectralSupport())
