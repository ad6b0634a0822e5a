"""Do leave-one-out scores rank trained networks? Rungs of ``find`` beside trained networks."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from scipy.stats import spearmanr

from pgso.experiments.summaries import group, table
from pgso.objectives import OBJECTIVES
from pgso.records import RunRecord, RunSpec
from pgso.records.finding import FindingRecord, RungRecord
from pgso.records.ledger import read_ledger

STUDIES = ("recipes", "structure")  # whose fixed networks differ in their operators
FEWEST = 3  # networks that make a rank correlation


def trained_runs(results: Path) -> list[RunRecord]:
    """The runs of the studies that stand beside the atlas."""
    ledgers = (results / name / "records.jsonl" for name in STUDIES)
    return [record for ledger in ledgers for record in read_ledger(ledger).values()]


def rung_names(spec: RunSpec) -> Iterator[str]:
    """The rungs that see what a trained network sees, the one with as many hops first.

    A run in closed form is no trained network: it is what ``find`` keeps.

    Example:
        >>> list(rung_names(RunSpec(dataset="Cora", operator="fixed", residual=True)))
        ['self + gcn, 2 hops', 'self + gcn, 1 hop']
    """
    if spec.operator != "fixed" or spec.conv not in ("gcn", "gin", "bank"):
        return
    if spec.head == "closed_form":
        return
    terms = tuple(spec.terms or (spec.preset or spec.conv,))
    if spec.residual and "self" not in terms:
        terms = ("self", *terms)
    presets = {str(term).partition("@")[0] for term in terms if term != "self"}
    if len(presets) != 1:
        return
    name = presets.pop()
    if any("@" in str(term) for term in terms):
        name = f"{name} in + out"
    if "self" in terms:
        name = f"self + {name}"
    for hops in range(min(spec.num_layers, 3), 0, -1):
        yield f"{name}, {hops} hop{'s' if hops > 1 else ''}"


def pairs_of(
    finding: FindingRecord, runs: Sequence[RunRecord]
) -> dict[str, tuple[float, float, int]]:
    """Leave-one-out score and mean test score of every rung that was trained, and its runs."""
    merit = OBJECTIVES[finding.metric].merit
    rungs = {rung.name: rung for rung in finding.rungs}
    by_rung: dict[str, list[float]] = {}
    for run in runs:
        rung = _rung_of(run.spec, rungs, finding.same_as)
        if rung is not None and rung.loo is not None and run.test is not None:
            by_rung.setdefault(rung.name, []).append(merit(run.test))
    return {
        name: (merit(rungs[name].loo), fmean(scores), len(scores))
        for name, scores in by_rung.items()
    }


def agreement(findings: Mapping[str, FindingRecord], runs: Sequence[RunRecord]) -> str:
    """The section of the page; empty where nothing was trained."""
    rows, correlations, centred = [], [], []
    by_dataset = group(runs, lambda run: run.spec.dataset)
    for dataset, members in sorted(by_dataset.items(), key=lambda entry: entry[0].lower()):
        finding = findings.get(dataset)
        pairs = {} if finding is None else pairs_of(finding, members)
        if finding is None or len(pairs) < FEWEST:
            continue
        values = np.array([(loo, test) for loo, test, _ in pairs.values()])
        objective = OBJECTIVES[finding.metric]
        by_loo = max(pairs, key=lambda name: pairs[name][0])
        by_test = max(pairs, key=lambda name: pairs[name][1])
        lost = pairs[by_test][1] - pairs[by_loo][1]
        correlation = (
            spearmanr(values[:, 0], values[:, 1]).statistic if np.ptp(values, 0).all() else 0.0
        )
        correlations.append(float(correlation))
        spread = values.std(axis=0)
        centred.append((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
        rows.append(
            (
                dataset,
                str(len(pairs)),
                str(sum(count for _, _, count in pairs.values())),
                f"{correlation:.2f}",
                by_loo,
                by_test,
                objective.written(lost),
            )
        )
    if not rows:
        return ""
    together = np.concatenate(centred)
    pooled = float(spearmanr(together[:, 0], together[:, 1]).statistic)
    right = sum(row[4] == row[5] for row in rows)
    header = ["dataset", "networks", "runs", "rank correlation", "best by leave-one-out",
              "best trained", "lost on test"]  # fmt: skip
    return (
        f"Fixed networks of the studies ({', '.join(STUDIES)}), each beside the rung that sees "
        "what it sees: the leave-one-out score of the rung against the mean test score of the "
        f"trained network. Mean rank correlation {fmean(correlations):.2f} over {len(rows)} "
        f"graphs, {pooled:.2f} over all networks together (standardised by graph). The rung with "
        f"the best leave-one-out score is the best network on {right} of {len(rows)}; lost is what "
        f"the best trained network has more.\n\n{table(header, rows)}\n"
    )


def _rung_of(
    spec: RunSpec, rungs: Mapping[str, RungRecord], same_as: Mapping[str, str]
) -> RungRecord | None:
    for name in rung_names(spec):
        rung = rungs.get(same_as.get(name, name))
        if rung is not None:
            return rung
    return None
