"""What the two result tables share: 12 models, paired deltas, the paper's numbers beside."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from pgso.experiments.published import PUBLISHED, Cell
from pgso.experiments.summaries import (
    figure_of,
    group,
    legend_beside,
    mean_and_interval,
    mean_and_spread,
    panels,
    save,
    scores,
    table,
)
from pgso.experiments.tuned import CONVS, OPERATORS
from pgso.records import RunRecord
from pgso.report.colours import OPERATORS as COLOURS
from pgso.report.labels import LABELS
from pgso.report.pairs import differences
from pgso.report.statistics import t_interval


def paired_differences(
    records: Sequence[RunRecord], operator: str, part: str = "test"
) -> list[float]:
    """Learned minus fixed as the objective shows it, run by run of the same seed."""
    by_operator = group(records, lambda record: str(record.spec.operator))
    return differences(by_operator.get(operator, []), by_operator.get("fixed", []), part)


def results(
    records: Sequence[RunRecord],
    datasets: Mapping[str, str],
    paper: Mapping[tuple[str, str, str], Cell],
) -> str:
    """One table per dataset: 4 convs x 3 operators, paired deltas, and what the paper reports."""
    pages = []
    by_dataset = group(records, lambda record: record.spec.dataset)
    for dataset, note in datasets.items():
        runs = by_dataset.get(dataset, [])
        if not runs:
            pages.append(f"## {dataset}\n\nNot run: its files were not there.\n")
            continue
        by_conv = group(runs, lambda record: record.spec.conv)
        rows = []
        for conv in CONVS:
            members = by_conv.get(conv, [])
            by_operator = group(members, lambda record: str(record.spec.operator))
            for operator in OPERATORS:
                cell = by_operator.get(operator, [])
                published = paper.get((dataset, conv, operator))
                delta = paired_differences(members, operator)
                rows.append(
                    (
                        f"{conv} {operator}",
                        mean_and_spread(scores(cell, "val")),
                        mean_and_spread(scores(cell, "test")),
                        "" if operator == "fixed" else mean_and_interval(delta),
                        "" if published is None else f"{published.mean} ± {published.sd}",
                        _chosen(cell),
                    )
                )
        header = ["model", "val", "test", "test, minus fixed [95 %]", "paper", "chosen"]
        absent = [conv for conv in CONVS if conv not in by_conv]
        not_run = f" Not run yet: {', '.join(absent)}." if absent else ""
        pages.append(f"## {dataset}\n\n{note}{not_run}\n\n{table(header, rows)}\n")
    return "\n".join(pages)


def points(
    records: Sequence[RunRecord],
    datasets: Iterable[str],
    figures: Path,
    name: str,
    printed_as: str = "printed in the paper",
) -> str:
    """Figure 4: a group of points per architecture, a panel per dataset; 95 % intervals.

    A panel is as high as its means and what is printed ask for; an interval of very few seeds may
    leave it. Points, not bars as in the paper: the axes do not begin at 0. What the paper prints is
    a hollow diamond of the same colour.
    """
    by_dataset = group(records, lambda record: record.spec.dataset, datasets)
    axes = panels(len(by_dataset))
    for axis, (dataset, runs) in zip(axes, by_dataset.items(), strict=True):
        cells = group(runs, lambda record: (record.spec.conv, str(record.spec.operator)))
        for shift, operator in enumerate(OPERATORS):
            by_column = {
                column + 0.2 * (shift - 1): scores(cells.get((conv, operator), []))
                for column, conv in enumerate(CONVS)
            }
            run = {column: values for column, values in by_column.items() if values}
            means = [sum(values) / len(values) for values in run.values()]
            ends = [t_interval(values) for values in run.values()]
            reach = [end.high - mean if end else 0.0 for end, mean in zip(ends, means, strict=True)]
            colour = COLOURS[operator]
            axis.errorbar(
                [*run],
                means,
                yerr=reach,
                fmt="o",
                markersize=3.5,
                elinewidth=1,
                color=colour,
                label=LABELS[operator],
            )
            printed = {
                column + 0.2 * (shift - 1): PUBLISHED[dataset, conv, operator].mean
                for column, conv in enumerate(CONVS)
                if (dataset, conv, operator) in PUBLISHED
            }
            label = printed_as if shift == 0 else None
            axis.plot([*printed], [*printed.values()], "D", markersize=4, markerfacecolor="none",
                      markeredgecolor=colour, markeredgewidth=0.8, label=label)  # fmt: skip
        heights = [value for line in axis.lines for value in np.ravel(line.get_ydata())]
        room = max(np.ptp(heights), 2.0) * 0.6 if heights else 0.0
        low, high = axis.get_ylim()
        if heights:
            low, high = max(low, min(heights) - room), min(high, max(heights) + room)
        axis.set(title=dataset, xticks=range(len(CONVS)), xticklabels=[c.upper() for c in CONVS])
        axis.set_ylim(max(low, 0.0), min(high, 100.0))
        axis.set_ylabel(f"test, {runs[0].objective.heading}")
    legend_beside(axes[-1], "means and 95 % intervals")
    return save(figure_of(axes), figures, name)


def _chosen(records: Sequence[RunRecord]) -> str:
    if not records:
        return ""
    spec = records[0].spec
    size = f"{spec.num_layers} x {spec.hidden_channels}"
    return f"{size}, dropout {spec.dropout:g}, rate {spec.lr:g}, decay {spec.weight_decay:g}"
