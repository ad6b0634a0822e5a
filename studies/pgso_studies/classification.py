"""What the two result tables share: 12 models, paired deltas, the paper's numbers beside."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from pgso.evaluation.statistics import LEVEL, holm, t_interval, t_test
from pgso.records import RunRecord
from pgso.report.differences import differences, pairs
from pgso.report.words import LABELS
from pgso.report.words import OPERATORS as COLOURS
from pgso_studies.published import PUBLISHED, Printed
from pgso_studies.study import CONVS, OPERATORS, TUNING_SEEDS, final_runs
from pgso_studies.summaries import (
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


def paired_differences(
    records: Sequence[RunRecord], operator: str, part: str = "test"
) -> list[float]:
    """Learned minus fixed as the objective shows it, run by run of the same seed."""
    by_operator = group(records, lambda record: str(record.spec.operator))
    return differences(by_operator.get(operator, []), by_operator.get("fixed", []), part)


def results(
    records: Sequence[RunRecord],
    datasets: Mapping[str, str],
    paper: Mapping[tuple[str, str, str], Printed],
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


TABLES = ("node_classification", "graph_classification")
STAND_INS = {"ogbn-arxiv": "ogbn-arxiv-topicbag"}  # the same graph, labels and split
NODE_SETS = ("Cora", "CiteSeer", *STAND_INS)
WEAK, FAR = 3.0, 10.0  # points
HOLDS, FAILS, UNDECIDED, ABSENT = "holds", "does not hold", "undecided", "not run"
Ledgers = Mapping[str, Sequence[RunRecord]]


class OneRevision(NamedTuple):
    """The records that may stand on one page, and a sentence about them."""

    ledgers: Ledgers
    says: str

    @classmethod
    def of(cls, ledgers: Ledgers) -> "OneRevision":
        """Of the newest revision that there is; older records are left out, and the page says so.

        Example:
            >>> from pgso.records import RunSpec
            >>> old = RunRecord(spec=RunSpec(dataset="karate"), numerics=1)
            >>> new = RunRecord(spec=RunSpec(dataset="karate"), numerics=2)
            >>> OneRevision.of({"convergence": [new], "recipes": [old]}).says
            'Revision 2 of the numerics. Not run again yet, and left out: recipes (1).'
        """
        newest = max((r.numerics for records in ledgers.values() for r in records), default=None)
        if newest is None:
            return cls(ledgers, "There are no records yet.")
        chosen = {
            name: [record for record in records if record.numerics == newest]
            for name, records in ledgers.items()
        }
        left_out = {name: len(ledgers[name]) - len(chosen[name]) for name in ledgers}
        listed = ", ".join(f"{name} ({count})" for name, count in left_out.items() if count)
        says = f"Revision {newest} of the numerics."
        return cls(chosen, f"{says} Not run again yet, and left out: {listed}." if listed else says)


class Judgement(NamedTuple):
    """Learned minus fixed on one part of the data, in points, and whether that is above 0."""

    points: list[float]
    verdict: str = ABSENT
    is_sure: bool = False  # of all comparisons together, by Holm's correction


class Cell(NamedTuple):
    """A learned model on a dataset."""

    dataset: str
    conv: str
    operator: str
    printed: float  # the difference that the paper prints
    val: Judgement
    test: Judgement
    stand_in: list[float]  # on test, with substitute features
    same: "SameSettings"  # on test
    weak: str  # how far the fixed network is below what it should reach; empty if it is not
    fits_better: tuple[int, int]  # in how many pairs the learned run ends at a lower training loss

    @property
    def name(self) -> str:
        """``Cora gcn pgso``."""
        return f"{self.dataset} {self.conv} {self.operator}"


class SameSettings(NamedTuple):
    """Learned minus fixed on test with the same width, depth, rate and decay.

    Where both were tuned to the same settings, these are the final runs. Elsewhere they come from
    the runs that tuned: one value for each tuning seed, the mean over all settings of the grid.
    """

    points: list[float]
    is_tuned_alike: bool = False
    settings: int = 1  # over which a value is the mean

    @classmethod
    def of(cls, records: Sequence[RunRecord], operator: str) -> "SameSettings":
        """Of all runs of one architecture on one dataset, tuning runs included."""
        finals = group(final_runs(records), lambda record: str(record.spec.operator))
        learned, fixed = finals.get(operator, []), finals.get("fixed", [])
        if not learned or not fixed:
            return cls([])
        if _settings(learned[0]) == _settings(fixed[0]):
            return cls(differences(learned, fixed), is_tuned_alike=True)
        tuning = [record for record in records if record.spec.seed in TUNING_SEEDS]
        by_settings = group(tuning, _settings)
        values: dict[int, list[float]] = {}
        for members in by_settings.values():
            by_operator = group(members, lambda record: str(record.spec.operator))
            for pair in pairs(by_operator.get(operator, []), by_operator.get("fixed", [])):
                points = pair.difference()
                if points is not None:
                    values.setdefault(pair.run.spec.seed, []).append(points)
        return cls([fmean(points) for points in values.values()], settings=len(by_settings))

    def written(self) -> str:
        """``+0.4 [-0.1, 0.9]``, and where it comes from."""
        if not self.points:
            return "–"
        measured = mean_and_interval(self.points)
        if self.is_tuned_alike:
            return f"{measured}, tuned alike"
        return f"{measured}, {len(self.points)} tuning seeds, mean of {self.settings} settings"


def _settings(record: RunRecord) -> str:
    """What two runs share that differ in operator and seed only."""
    return record.spec.but(operator="fixed", seed=0).key


class CarriedOver(NamedTuple):
    """What validation says of some cells, and what test says of the same cells."""

    number: int  # of cells with this verdict on validation
    confirmed: int  # of these, cells with the same verdict on test
    val: float  # their mean difference on validation, in points
    test: float

    @classmethod
    def of(cls, cells: Sequence[Cell], verdict: str) -> "CarriedOver | None":
        """Of the cells that have this verdict on validation; None where there is none."""
        chosen = [cell for cell in cells if cell.val.verdict == verdict]
        if not chosen:
            return None
        confirmed = sum(cell.test.verdict == verdict for cell in chosen)
        val, test = (
            float(np.mean([np.mean(getattr(cell, part).points) for cell in chosen]))
            for part in ("val", "test")
        )
        return cls(len(chosen), confirmed, val, test)


def positive(values: Sequence[float]) -> str:
    """Whether the mean is above 0, as far as the 95 % interval tells."""
    interval = t_interval(values)
    if interval is None:
        return UNDECIDED if values else ABSENT
    return HOLDS if interval.low > 0 else FAILS if interval.high < 0 else UNDECIDED


def judged(ledgers: Ledgers) -> list[Cell]:
    """All learned cells of the two tables; those that were not run have no points.

    On validation the paper judges; the test scores are what it compares itself with. All cells
    that were run are corrected together, on validation and on test separately.
    """
    records = [
        record
        for name in TABLES
        for record in ledgers.get(name, [])
        if record.spec.data_options.get("protocol", "fair") == "fair"
    ]
    all_runs = group(records, lambda record: (record.spec.dataset, record.spec.conv))
    runs = {key: final_runs(members) for key, members in all_runs.items()}
    weak = weak_baselines(runs)
    keys = [key for key in PUBLISHED if key[2] != "fixed"]
    parts = {}
    for part in ("val", "test"):
        points = [paired_differences(runs.get(key[:2], []), key[2], part) for key in keys]
        corrected = holm([t_test(values) for values in points])
        parts[part] = [
            Judgement(values, positive(values), p is not None and p <= 1 - LEVEL)
            for values, p in zip(points, corrected, strict=True)
        ]
    return [
        Cell(
            dataset=dataset,
            conv=conv,
            operator=operator,
            printed=PUBLISHED[dataset, conv, operator].mean
            - PUBLISHED[dataset, conv, "fixed"].mean,
            val=val,
            test=test,
            stand_in=paired_differences(runs.get((STAND_INS.get(dataset, ""), conv), []), operator),
            same=SameSettings.of(all_runs.get((dataset, conv), []), operator),
            weak=weak.get((dataset, conv)) or weak.get((STAND_INS.get(dataset, ""), conv), ""),
            fits_better=_fits_better(runs.get((dataset, conv), []), operator),
        )
        for (dataset, conv, operator), val, test in zip(
            keys, parts["val"], parts["test"], strict=True
        )
    ]


def weak_baselines(
    runs: Mapping[tuple[str, str], Sequence[RunRecord]],
) -> dict[tuple[str, str], str]:
    """The fixed networks whose score is too low to show a gain of S, each with a sentence.

    A baseline is weak if it is more than ``WEAK`` points below what the paper prints for it: on
    test in Table 3, on validation in Table 4. With substitute features nothing is printed, and it
    is weak if it is more than ``FAR`` points below the best fixed network.
    """
    fixed = {
        key: [record for record in members if record.spec.operator == "fixed"]
        for key, members in runs.items()
    }
    weak = {}
    for (dataset, conv), members in fixed.items():
        if not members:
            continue
        printed = PUBLISHED.get((dataset, conv, "fixed"))
        part = "test" if dataset in NODE_SETS or printed is None else "val"
        ours = fmean(scores(members, part) or [0.0])
        if printed is not None and ours < printed.mean - WEAK:
            weak[dataset, conv] = f"weak baseline: {ours:.1f}, printed {printed.mean:.1f}"
        elif dataset in STAND_INS.values():
            others = {c: fmean(scores(m)) for (d, c), m in fixed.items() if d == dataset and m}
            best = max(others, key=lambda name: others[name])
            if ours < others[best] - FAR:
                weak[dataset, conv] = (
                    f"weak baseline: fixed {conv} {ours:.1f}, fixed {best} {others[best]:.1f}"
                )
    return weak


def _fits_better(records: Sequence[RunRecord], operator: str) -> tuple[int, int]:
    by_operator = group(records, lambda record: str(record.spec.operator))
    lower = [
        learned.curves["loss"][-1] < fixed.curves["loss"][-1]
        for learned, fixed in pairs(by_operator.get(operator, []), by_operator.get("fixed", []))
        if learned.curves.get("loss") and fixed.curves.get("loss")
    ]
    return sum(lower), len(lower)
