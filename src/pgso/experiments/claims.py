"""The paper's empirical claims, one row each: what we measured, and whether it bears them out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pgso.experiments import convergence, sbm_sparsity, spectral_support
from pgso.experiments.classification import paired_differences
from pgso.experiments.node_classification import final_runs
from pgso.experiments.published import PUBLISHED
from pgso.experiments.summaries import curve, group, mean_and_interval, scores, table
from pgso.experiments.tuned import OPERATORS
from pgso.gso.parameters import NAMES
from pgso.records import RunRecord
from pgso.records.numerics import check_one_revision
from pgso.report.pairs import differences, pairs
from pgso.report.statistics import t_interval

STAND_INS = {"ogbn-arxiv": "ogbn-arxiv-topicbag"}  # the same graph, labels and split
HOLDS, FAILS, UNDECIDED, ABSENT = "holds", "does not hold", "undecided", "not run"
Ledgers = Mapping[str, Sequence[RunRecord]]


class Claim(NamedTuple):
    """A row of the page."""

    where: str
    says: str
    measured: str
    verdict: str
    why: str = ""


def page(ledgers: Ledgers) -> str:
    """``CLAIMS.md``: every claim with its measured effect and verdict."""
    records = [record for ledger in ledgers.values() for record in ledger]
    check_one_revision(records, "pgso run every study again before its claims are judged")
    rows = [*_block_models(ledgers), *_support(ledgers), *_starts(ledgers)]
    rows += [*_cells(ledgers), *_convergence(ledgers)]
    counts = ", ".join(
        f"{sum(row.verdict == verdict for row in rows)} {verdict}"
        for verdict in (HOLDS, FAILS, UNDECIDED, ABSENT)
    )
    header = ["paper", "claim", "measured, mean [95 % interval]", "verdict", "why"]
    return (
        "# The paper's empirical claims\n\nMade by `pgso report` from the records of the studies. "
        f"{counts}.\n\n{table(header, rows)}\n"
    )


def _positive(values: Sequence[float]) -> str:
    """Whether the mean is above 0, as far as the interval tells."""
    interval = t_interval(values)
    if interval is None:
        return UNDECIDED
    return HOLDS if interval.low > 0 else FAILS if interval.high < 0 else UNDECIDED


def _within(values: Sequence[float], limit: float) -> str:
    """Whether the mean is closer to 0 than the limit, as far as the interval tells."""
    interval = t_interval(values)
    if interval is None:
        return UNDECIDED
    if -limit < interval.low and interval.high < limit:
        return HOLDS
    return FAILS if interval.low > limit or interval.high < -limit else UNDECIDED


def _block_models(ledgers: Ledgers) -> Iterator[Claim]:
    records = ledgers.get("sbm_sparsity", [])
    by_variant = group(records, sbm_sparsity.variant_of)
    for variant in sbm_sparsity.VARIANTS:
        runs = by_variant.get(variant, [])
        name = f"5.1, {variant}"
        grows, aligned = "a grows with sparsity", "e2 and e3 are closely aligned (within 0.1)"
        if not runs:
            yield Claim(name, grows, "–", ABSENT)
            yield Claim(name, aligned, "–", ABSENT)
            continue
        rise, gap = sbm_sparsity.slopes(runs, "a"), sbm_sparsity.exponent_gap(runs)
        yield Claim(name, grows, mean_and_interval(rise, 2), _positive(rise))
        yield Claim(name, aligned, mean_and_interval(gap, 3), _within(gap, 0.1))


def _support(ledgers: Ledgers) -> Iterator[Claim]:
    records = ledgers.get("spectral_support", [])
    centred = "the spectral support stays centred at 0 (centre within 10 % of the half-width)"
    smooth = "the bounds move smoothly (no step above 20 % of the whole way)"
    if not records:
        yield Claim("4.2", centred, "–", ABSENT)
        yield Claim("4.2", smooth, "–", ABSENT)
        return
    centres, _ = spectral_support.centre_and_width(records)
    verdict = _within(centres, 0.1)
    why = "d_max decides one end, low degrees the other" if verdict == FAILS else ""
    yield Claim("4.2", centred, mean_and_interval(centres, 3), verdict, why)
    steps = []
    for record in records:
        upper = np.array([bounds[0][1] for bounds in curve(record, "interval")[1]])
        steps.append(float(np.abs(np.diff(upper)).max() / max(np.ptp(upper), 1e-12)))
    largest = [step - 0.2 for step in steps]
    verdict = {HOLDS: FAILS, FAILS: HOLDS}.get(_positive(largest), UNDECIDED)
    yield Claim("4.2", smooth, mean_and_interval(steps, 3), verdict)


def _starts(ledgers: Ledgers) -> Iterator[Claim]:
    records = ledgers.get("initialisations", [])
    says = "accuracy is not very sensitive to the start (within 2 points of GCN's)"
    by_start = group(records, lambda record: str(record.spec.preset))
    if "gcn" not in by_start:
        yield Claim("5.2", says, "–", ABSENT)
        return
    for start, runs in by_start.items():
        if start == "gcn":
            continue
        points = differences(runs, by_start["gcn"])
        verdict = _within(points, 2.0)
        why = _stays_behind(runs, by_start["gcn"]) if verdict == FAILS else ""
        yield Claim("5.2", f"{says}: {start}", mean_and_interval(points), verdict, why)


def _stays_behind(runs: Sequence[RunRecord], gcn: Sequence[RunRecord]) -> str:
    """Why a start ends lower: does it move, and does it fit the training set?"""
    if all(r.curves["parameters"][-1] == r.curves["parameters"][0] for r in runs):
        return "S never moves: where γ is 0 in every layer, so are features and gradients"
    fit, usual = (np.mean([100 * r.curves["train"][-1] for r in each]) for each in (runs, gcn))
    m2 = np.mean([r.parameters[0][NAMES.index("m2")] for r in runs])
    held = f"(m2 ends at {m2:+.1f}, {fit:.0f} % of the training set against {usual:.0f} %)"
    if fit < usual - 2:
        return f"S does not find its way to a smoothing operator, and the network underfits {held}"
    return f"it fits the training set as well with another S, which carries over less {held}"


def _cells(ledgers: Ledgers) -> Iterator[Claim]:
    """Each of the 64 differences in Tables 3 and 4, then what the paper says of all of them."""
    records = [
        record
        for name in ("node_classification", "graph_classification")
        for record in final_runs(ledgers.get(name, []))
        if record.spec.data_options.get("protocol", "fair") == "fair"
    ]
    cells = group(records, lambda record: (record.spec.dataset, record.spec.conv))
    harmed, shown, better = [], 0, []
    for dataset, conv, operator in PUBLISHED:
        if operator == "fixed":
            continue
        printed = PUBLISHED[dataset, conv, operator].mean - PUBLISHED[dataset, conv, "fixed"].mean
        says = f"{conv}-{operator} is {printed:+.2f} points better on {dataset}"
        found = paired_differences(cells.get((dataset, conv), []), operator)
        if not found:
            stand_in = cells.get((STAND_INS.get(dataset, ""), conv), [])
            other = mean_and_interval(paired_differences(stand_in, operator))
            why = f"without its features; with others, on its graph: {other}" if stand_in else ""
            yield Claim("Tables 3, 4", says, "–", ABSENT, why)
            continue
        verdict = _positive(found)
        shown += 1
        harmed += [f"{dataset} {conv} {operator}"] if verdict == FAILS else []
        why = _overfits(cells[dataset, conv], operator) if verdict == FAILS else ""
        yield Claim("Tables 3, 4", says, mean_and_interval(found), verdict, why)
    for runs in cells.values():
        means = {name: scores([r for r in runs if r.spec.operator == name]) for name in OPERATORS}
        if all(means.values()):
            better.append(float(np.mean(means["mpgso"]) - np.mean(means["pgso"])))
    never = "PGSO and mPGSO never harm"
    if not shown:
        yield Claim("5.3", never, "–", ABSENT)
        yield Claim("5.3", "no clear winner between PGSO and mPGSO", "–", ABSENT)
        return
    verdict = FAILS if harmed else UNDECIDED
    measured = f"{len(harmed)} of {shown} cells are worse beyond doubt"
    yield Claim("5.3", never, measured, verdict, ", ".join(harmed))
    tie = "no clear winner between PGSO and mPGSO (mean over cells within 0.5 points)"
    yield Claim("5.3", tie, mean_and_interval(better), _within(better, 0.5))


def _overfits(records: Sequence[RunRecord], operator: str) -> str:
    """Says so where the learned runs fit the training set better and the test set worse."""
    by_operator = group(records, lambda record: str(record.spec.operator))
    lower = [
        learned.curves["loss"][-1] < fixed.curves["loss"][-1]
        for learned, fixed in pairs(by_operator.get(operator, []), by_operator.get("fixed", []))
    ]
    if not lower or 2 * sum(lower) <= len(lower):
        return "its training loss is not lower either"
    return f"overfitting: its training loss is lower in {sum(lower)} of {len(lower)} pairs"


def _convergence(ledgers: Ledgers) -> Iterator[Claim]:
    records = ledgers.get("convergence", [])
    says = "the learned operator converges faster (epochs to 95 % of the fixed one's best)"
    if not records:
        yield Claim("B.5", says, "–", ABSENT)
    for dataset, runs in group(records, lambda record: record.spec.dataset).items():
        ahead = convergence.epochs_ahead(runs)
        verdict, loss = _positive(ahead), convergence.loss_difference(runs)
        why = f"nor does its training loss end lower: {mean_and_interval(loss, 3)}"
        shown = why if verdict == FAILS and _positive(loss) != FAILS else ""
        yield Claim("B.5", f"{says}: {dataset}", mean_and_interval(ahead), verdict, shown)
