"""Section 5.1: does S adapt to the sparsity of a block model? (Figures 2 and 5)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from pgso.gso.parameters import NAMES
from pgso.records import RunRecord, RunSpec
from pgso.report.words import OPERATORS
from pgso_studies.study import EXPERIMENTS, Experiment, Size
from pgso_studies.summaries import (
    LINES,
    group,
    legend_beside,
    mean_and_interval,
    mean_and_spread,
    new_figure,
    save,
    scores,
    table,
)

LEVELS = tuple((round(0.50 - 0.02 * step, 2), round(0.25 - 0.01 * step, 2)) for step in range(15))
VARIANTS: dict[str, dict[str, Any]] = {
    "as described": {"attributes": "one", "norm": None, "input_dropout": None},
    "with BatchNorm": {"attributes": "one", "norm": "batch", "input_dropout": None},
    "with BatchNorm, no dropout of the input": {
        "attributes": "one",
        "norm": "batch",
        "input_dropout": 0.0,
    },
    "with label attributes (what the public code ran)": {
        "attributes": "labels",
        "norm": None,
        "input_dropout": None,
    },
}
SIZE, COMMUNITIES, GRAPHS = 200, 3, 25


def spec_of(variant: str, level: tuple[float, float], seed: int, **changes: object) -> RunSpec:
    """One graph of one level in one variant."""
    chosen = VARIANTS[variant]
    p, q = level
    options = {"p": p, "q": q, "size": SIZE, "attributes": chosen["attributes"]}
    return RunSpec(
        dataset="sbm",
        data_options=options,
        num_layers=3,
        hidden_channels=64,
        norm=chosen["norm"],
        input_dropout=chosen["input_dropout"],
        seed=seed,
    ).but(**changes)


class SbmSparsity(Experiment):
    """15 levels (p, q) from (.50, .25) to (.22, .11), 25 graphs each, 3-layer GCN-PGSO."""

    title = "Block models of varying sparsity"
    paper = "Figures 2 and 5"

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Every level, every graph, all four variants."""
        del done
        levels, graphs, changes = LEVELS, GRAPHS, {}
        if size == Size.QUICK:
            levels, graphs = LEVELS[::7], 2
            changes = {"epochs": 5, "hidden_channels": 8}
        return [
            spec_of(variant, level, seed, **changes)
            for seed in range(graphs)
            for variant in VARIANTS
            for level in levels
        ]

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """S and accuracy against sparsity in each variant, and the adjacency pictures."""
        by_variant = group(records, variant_of, VARIANTS)
        figure = new_figure(len(by_variant), 2, width=2.1, height=2.0)
        axes = figure.subplots(2, len(by_variant), squeeze=False)
        rows = []
        for column, (variant, runs) in enumerate(by_variant.items()):
            levels = group(runs, level_of)
            p = sorted(levels, reverse=True)
            for k, name in enumerate(NAMES):
                values = [[final_S(record)[k] for record in levels[level]] for level in p]
                means = np.array([np.mean(level) for level in values])
                sds = np.array([np.std(level, ddof=1) if len(level) > 1 else 0 for level in values])
                axes[0, column].errorbar(p, means, sds, label=name, elinewidth=0.6, **LINES[name])
            accuracy = [np.mean(scores(levels[level])) for level in p]
            axes[1, column].plot(p, accuracy, marker="o", markersize=3, color=OPERATORS["pgso"])
            axes[1, column].axhline(100 / COMMUNITIES, color=OPERATORS["fixed"], linestyle="dotted")
            axes[1, column].set_ylim(20, 103)
            title = variant.split(" (")[0].replace(", ", ",\n")
            axes[0, column].set(title=title, ylabel="" if column else "learned value")
            label = "" if column else "test accuracy, %\n(dotted: chance)"
            axes[1, column].set(xlabel="p = 2q, sparser to the right", ylabel=label)
            for axis in axes[:, column]:
                axis.invert_xaxis()
            rows.append(
                (
                    variant,
                    mean_and_spread(scores(levels[p[0]])),
                    mean_and_spread(scores(levels[p[-1]])),
                    mean_and_interval(slopes(runs, "a"), 3),
                    mean_and_interval(exponent_gap(runs), 2),
                )
            )
        legend_beside(axes[0, -1])
        learned = save(figure, figures, "figure_2")
        header = [
            "variant",
            "test accuracy, densest",
            "sparsest",
            "change of a, densest to sparsest",
            "e2 - e3",
        ]
        graphs = max(record.spec.seed for record in records) + 1
        note = "" if graphs >= GRAPHS else f" The paper has {GRAPHS}."
        return (
            f"# {self.title} ({self.paper})\n\n{graphs} graphs per level.{note}\n\n{learned}\n\n"
            f"{table(header, rows)}\n\n## Adjacency matrices (Figure 5)\n\n"
            f"{save(adjacency_pictures(), figures, 'figure_5')}\n"
            f"{self.footer('sbm_sparsity', records)}"
        )


def variant_of(record: RunRecord) -> str:
    """The name of the variant a run belongs to."""
    spec = record.spec
    chosen = {
        "attributes": spec.data_options["attributes"],
        "norm": spec.norm,
        "input_dropout": spec.input_dropout,
    }
    return next(name for name, choice in VARIANTS.items() if choice == chosen)


def level_of(record: RunRecord) -> float:
    """P of the run's level."""
    return float(record.spec.data_options["p"])


def final_S(record: RunRecord) -> Sequence[float]:
    """S after the last epoch, as the paper reports it, not at the epoch that validation chose."""
    last: Sequence[float] = record.curves["parameters"][-1][0]
    return last


def slopes(records: Sequence[RunRecord], scalar: str) -> list[float]:
    """Per seed: the fitted change of a scalar from the densest to the sparsest level."""
    k = NAMES.index(scalar)
    changes = []
    for runs in group(records, lambda record: record.spec.seed).values():
        p = [level_of(record) for record in runs]
        if len(set(p)) > 1:
            fit = stats.linregress(p, [final_S(record)[k] for record in runs])
            changes.append(float(fit.slope) * (LEVELS[-1][0] - LEVELS[0][0]))
    return changes


def exponent_gap(records: Sequence[RunRecord]) -> list[float]:
    """Per run: e2 - e3."""
    e2, e3 = NAMES.index("e2"), NAMES.index("e3")
    return [final_S(record)[e2] - final_S(record)[e3] for record in records]


def adjacency_pictures() -> Figure:
    """One sampled adjacency matrix per level, nodes ordered by community."""
    rng = np.random.default_rng(0)
    figure = new_figure(5, 3, width=1.3, height=1.45)
    label = np.repeat(np.arange(COMMUNITIES), SIZE)
    for axis, (p, q) in zip(figure.subplots(3, 5).flat, LEVELS, strict=True):
        probability = np.where(label[:, None] == label[None, :], p, q)
        upper = np.triu(rng.random(probability.shape) < probability, 1)
        axis.imshow(upper | upper.T, cmap="Greys", interpolation="nearest")
        axis.set(xticks=[], yticks=[])
        axis.set_title(f"({p:.2f}, {q:.2f})", fontsize=8)
    return figure


EXPERIMENTS.register("sbm_sparsity")(SbmSparsity())
