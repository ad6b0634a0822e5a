"""The learned cells of Tables 3 and 4: what is printed, what we measured, and the verdicts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pgso.experiments.classification import paired_differences
from pgso.experiments.published import PUBLISHED
from pgso.experiments.summaries import group
from pgso.experiments.tuned import final_runs
from pgso.records import RunRecord
from pgso.report.pairs import pairs
from pgso.report.statistics import LEVEL, holm, t_interval, t_test

TABLES = ("node_classification", "graph_classification")
STAND_INS = {"ogbn-arxiv": "ogbn-arxiv-topicbag"}  # the same graph, labels and split
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
    fits_better: tuple[int, int]  # in how many pairs the learned run ends at a lower training loss

    @property
    def name(self) -> str:
        """``Cora gcn pgso``."""
        return f"{self.dataset} {self.conv} {self.operator}"


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
        for record in final_runs(ledgers.get(name, []))
        if record.spec.data_options.get("protocol", "fair") == "fair"
    ]
    runs = group(records, lambda record: (record.spec.dataset, record.spec.conv))
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
            fits_better=_fits_better(runs.get((dataset, conv), []), operator),
        )
        for (dataset, conv, operator), val, test in zip(
            keys, parts["val"], parts["test"], strict=True
        )
    ]


def _fits_better(records: Sequence[RunRecord], operator: str) -> tuple[int, int]:
    by_operator = group(records, lambda record: str(record.spec.operator))
    lower = [
        learned.curves["loss"][-1] < fixed.curves["loss"][-1]
        for learned, fixed in pairs(by_operator.get(operator, []), by_operator.get("fixed", []))
        if learned.curves.get("loss") and fixed.curves.get("loss")
    ]
    return sum(lower), len(lower)
