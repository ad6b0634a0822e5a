"""Does the robust recipe take gains and avoid harm, if all seeds decide together?"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pgso.evaluation.statistics import t_interval
from pgso.records import RunRecord, RunSpec
from pgso.report.differences import decision_of, differences
from pgso.report.doubts import nothing_found
from pgso.report.words import LABELS
from pgso_studies.structure import GRAPHS
from pgso_studies.study import EXPERIMENTS, Experiment, Size
from pgso_studies.summaries import group, mean_and_interval, mean_and_spread, scores, table

CHALLENGERS = ("pgso", "mpgso", "found")
# Every operator is trained once a seed; the page decides, once for all seeds.
ROBUST = {"recipe": "robust", "evidence": None, "residual": True}
SEEDS = {Size.QUICK: 3, Size.FULL: 10}
HARMLESS = -0.3  # points


class Pooled(Experiment):
    """Fixed, PGSO, mPGSO and found in residual networks: one decision a graph, on validation."""

    title = "The robust recipe with pooled evidence"
    paper = "Beyond the paper: one decision for all seeds"

    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """Graphs x operators x seeds; S learns from labels that neither choose nor judge."""
        del done
        graphs = GRAPHS
        if size == Size.QUICK:
            graphs = {"karate": {"epochs": 4, "hidden_channels": 8}}
        return [
            RunSpec(dataset=name, seed=seed, operator=operator, **ROBUST, **settings)
            for name, settings in graphs.items()
            for operator in ("fixed", *CHALLENGERS)
            for seed in range(SEEDS[size])
        ]

    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """A row a graph: what validation keeps, and what that is worth on test."""
        del figures
        rows, harmless, gains = [], 0, 0
        for dataset, runs in group(records, lambda r: r.spec.dataset, GRAPHS).items():
            by_operator = group(
                [r for r in runs if not nothing_found(r)], lambda r: str(r.spec.operator)
            )
            decision = decision_of([r for members in by_operator.values() for r in members])
            fixed = by_operator.get("fixed", [])
            kept = "fixed" if decision is None else decision.kept
            points = differences(by_operator.get(kept, []), fixed)
            if not points:
                continue
            interval = t_interval(points)
            low = min(points) if interval is None else interval.low
            harmless, gains = harmless + (low > HARMLESS), gains + (low > 0)
            rows.append(
                [
                    dataset,
                    mean_and_spread(scores(fixed)),
                    *(_offered(by_operator.get(name, []), fixed) for name in CHALLENGERS),
                    LABELS[kept],
                    "too few labels" if decision is None else _sure(decision.confidence),
                    mean_and_interval(points),
                ]
            )
        header = ["", "fixed, test", *(f"{LABELS[name]} minus fixed" for name in CHALLENGERS)]
        header += ["kept", "how sure validation is", "kept minus fixed"]
        return (
            f"# {self.title}\n\nResidual networks, ten seeds a graph. S learns from a third of the "
            "validation labels, another third chooses the epoch, the last third judges; all seeds "
            "decide once, together (standard errors are clustered by label and by seed). The "
            "challengers share a risk of one in ten. Differences are test points, paired by seed, "
            "with 95 % intervals; where the fixed operator is kept they are exactly 0.\n\n"
            f"{table(header, rows)}\n\nThe lower end of the last column is above {HARMLESS} points "
            f"on {harmless} of {len(rows)} graphs, above 0 on {gains}.\n"
            f"{self.footer('pooled', records)}"
        )


def _offered(runs: Sequence[RunRecord], fixed: Sequence[RunRecord]) -> str:
    return mean_and_interval(differences(runs, fixed))


def _sure(confidence: Mapping[str, float]) -> str:
    return ", ".join(f"{LABELS[name]} {100 * value:.0f} %" for name, value in confidence.items())


EXPERIMENTS.register("pooled")(Pooled())
