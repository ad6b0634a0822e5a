"""The paper's empirical claims, one row each: what we measured, and whether it bears them out."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pgso.evaluation.statistics import t_interval
from pgso.gso.parameters import NAMES
from pgso.records import RunRecord
from pgso.report.differences import differences
from pgso_studies import convergence, sbm_sparsity, spectral_support
from pgso_studies.classification import (
    ABSENT,
    FAILS,
    FAR,
    HOLDS,
    TABLES,
    UNDECIDED,
    WEAK,
    CarriedOver,
    Cell,
    Judgement,
    Ledgers,
    OneRevision,
    judged,
    positive,
)
from pgso_studies.initialisations import VARIANTS, end_of, variant_of
from pgso_studies.summaries import curve, group, mean_and_interval, table

STUDIES = (*TABLES, "sbm_sparsity", "spectral_support", "initialisations", "convergence")


class Claim(NamedTuple):
    """A row about S, spectra, starts or epochs."""

    where: str
    says: str
    case: str  # the variant, start or dataset it is measured on; empty if there is one only
    values: Sequence[float]
    verdict: str
    why: str = ""
    digits: int = 1

    @property
    def measured(self) -> str:
        """Mean and interval."""
        return mean_and_interval(self.values, self.digits)

    def row(self) -> list[str]:
        """As the page shows it."""
        says = f"{self.says}: {self.case}" if self.case else self.says
        return [self.where, says, self.measured, str(len(self.values)), self.verdict, self.why]


def page(ledgers: Ledgers) -> str:
    """``CLAIMS.md``: every claim with its measured effect and verdict."""
    ledgers, says = OneRevision.of({name: ledgers.get(name, []) for name in STUDIES})
    cells = judged(ledgers)
    rows = claims_of(ledgers)
    header = ["paper", "claim", "measured, mean [95 %]", "n", "verdict", "why"]
    return (
        "# The paper's empirical claims\n\nMade by `pgso report` from the records of the studies. "
        f"{says}\n\n## Tables 3 and 4, on the paper's metric and on test\n\n"
        f"{_tables(cells)}\n\n## S, spectra, starts and epochs\n\n"
        f"{_counts([row.verdict for row in rows])}. Each interval stands alone: with so many, one "
        "in twenty misses its mean by chance.\n\n"
        f"{table(header, [row.row() for row in rows])}\n"
    )


def claims_of(ledgers: Ledgers) -> list[Claim]:
    """What the paper says of S, spectra, starts and epochs, each case judged."""
    return [
        *_block_models(ledgers),
        *_starts(ledgers),
        *_support(ledgers),
        *_convergence(ledgers),
    ]


def _counts(verdicts: Sequence[str]) -> str:
    return ", ".join(
        f"{verdicts.count(verdict)} {verdict}" for verdict in (HOLDS, FAILS, UNDECIDED, ABSENT)
    )


def _tables(cells: Sequence[Cell]) -> str:
    """The learned cells, then what the paper says of all of them."""
    run = [cell for cell in cells if cell.test.points]
    lines = []
    for part, label in (("val", "Validation, the paper's metric"), ("test", "Test")):
        judgements = [getattr(cell, part) for cell in cells]
        sure = sum(judgement.is_sure for judgement in judgements)
        counted = _counts([judgement.verdict for judgement in judgements])
        lines.append(
            f"- **{label}**: {counted}; {sure} of them decided for all {len(run)} at once."
        )
    rows = [
        [
            f"{cell.conv}-{cell.operator} on {cell.dataset}",
            f"{cell.printed:+.2f}",
            mean_and_interval(cell.val.points),
            _verdict(cell.val),
            mean_and_interval(cell.test.points),
            _verdict(cell.test),
            cell.same.written(),
            str(len(cell.test.points)),
            explanation(cell),
        ]
        for cell in cells
    ]
    header = ["learned minus fixed", "paper", "validation [95 %]", "better?", "test [95 %]",
              "better?", "same settings, test", "pairs", "notes"]  # fmt: skip
    listed = "\n".join(lines)
    return (
        "*Holds*: the mean of the paired differences is above 0 and its 95 % interval leaves out "
        "0; *does not hold*: it is below. **Bold** verdicts stay when all cells of a column are "
        f"tested together (Holm, family-wise 5 %).\n\n{listed}\n{_differ(run)}{_overall(run)}\n"
        f"{table(header, rows)}\n\n{_pairing(run)} Seeds of Cora and CiteSeer vary the training on "
        "one split, and folds share training graphs, so an interval says what another seed or fold "
        "would give, not what another graph would. *Weak baseline*: the fixed network is more than "
        f"{WEAK:.0f} points below what is printed for it, or, with substitute features, {FAR:.0f} "
        "below the best fixed network; a gain over it says little."
    )


def _pairing(run: Sequence[Cell]) -> str:
    """What the two runs of a pair share, and what *same settings* means."""
    alike = sum(cell.same.is_tuned_alike for cell in run)
    missing = sum(not cell.same.points for cell in run)
    absent = f" For {missing} cells there are no such runs." if missing else ""
    return (
        "Tuned model against tuned model: pairs share seed and split. Fixed and learned were tuned "
        f"separately, and in {alike} of {len(run)} cells to the same settings; there they also "
        "share the first weights. *Same settings*: learned minus fixed on test with the same "
        "width, depth, rate and decay. Where tuning chose different ones, the tuning runs say it: "
        f"one value a tuning seed, the mean over all settings of the grid.{absent}"
    )


def _verdict(judgement: Judgement) -> str:
    return f"**{judgement.verdict}**" if judgement.is_sure else judgement.verdict


def explanation(cell: Cell) -> str:
    """A weak baseline, where validation and test differ, and how a model that loses fits."""
    parts = [cell.weak] if cell.weak else []
    if not cell.test.points:
        if cell.stand_in:
            stand_in = mean_and_interval(cell.stand_in)
            parts.append(f"without its features; with others, on its graph: {stand_in}")
        return "; ".join(parts)
    if cell.val.verdict != cell.test.verdict:
        parts.append(_difference(cell))
    lower, count = cell.fits_better
    if cell.test.verdict == FAILS and count:
        parts.append(f"its training loss is lower in {lower} of {count} pairs")
    return "; ".join(parts)


def _difference(cell: Cell) -> str:
    """What validation says and test does not, or the other way round."""
    val, test = (float(np.mean(part.points)) for part in (cell.val, cell.test))
    if cell.val.verdict == HOLDS:
        return f"{val:+.1f} points on validation, which chose the epoch, are {test:+.1f} on test"
    if cell.test.verdict == HOLDS:
        return f"the gain on test does not show on validation ({val:+.1f})"
    unsure = "test" if cell.test.verdict == UNDECIDED else "validation"
    return f"{unsure} is not sure of the loss"


def _differ(run: Sequence[Cell]) -> str:
    """What is left on test of the gains and of the losses on validation."""
    lines = []
    for verdict, name in ((HOLDS, "gains"), (FAILS, "losses")):
        over = CarriedOver.of(run, verdict)
        if over is not None:
            lines.append(
                f"- Of {over.number} {name} on validation, test confirms {over.confirmed}: a mean "
                f"of {over.val:+.1f} points there is {over.test:+.1f} on test.\n"
            )
    return "".join(lines)


def _overall(run: Sequence[Cell]) -> str:
    """Section 5.3: never harms, and no clear winner."""
    if not run:
        return "- PGSO and mPGSO never harm (5.3): not run.\n"
    harmed = [cell.name for cell in run if cell.test.verdict == FAILS]
    means = {(c.dataset, c.conv, c.operator): float(np.mean(c.test.points)) for c in run}
    better = [
        mean - means[dataset, conv, "pgso"]
        for (dataset, conv, operator), mean in means.items()
        if operator == "mpgso" and (dataset, conv, "pgso") in means
    ]
    never = f"**{FAILS}**: worse on test in {', '.join(harmed)}" if harmed else UNDECIDED
    return (
        f"- *PGSO and mPGSO never harm* (5.3): {never}.\n"
        "- *No clear winner between PGSO and mPGSO* "
        f"(5.3; mean over {len(better)} cells within 0.5 points on test): {within(better, 0.5)}, "
        f"{mean_and_interval(better)}.\n"
    )


def within(values: Sequence[float], limit: float) -> str:
    """Whether the mean is closer to 0 than the limit, as far as the interval tells."""
    interval = t_interval(values)
    if interval is None:
        return UNDECIDED if values else ABSENT
    if -limit < interval.low and interval.high < limit:
        return HOLDS
    return FAILS if interval.low > limit or interval.high < -limit else UNDECIDED


def _block_models(ledgers: Ledgers) -> Iterator[Claim]:
    records = ledgers.get("sbm_sparsity", [])
    by_variant = group(records, sbm_sparsity.variant_of)
    where, grows = "Section 5.1", "a grows as block models get sparser"
    aligned = "e2 and e3 are closely aligned (within 0.1)"
    for variant in sbm_sparsity.VARIANTS:
        runs = by_variant.get(variant, [])
        rise = sbm_sparsity.slopes(runs, "a") if runs else []
        yield Claim(where, grows, variant, rise, positive(rise), digits=3)
    for variant in sbm_sparsity.VARIANTS:
        runs = by_variant.get(variant, [])
        gap = sbm_sparsity.exponent_gap(runs) if runs else []
        yield Claim(where, aligned, variant, gap, within(gap, 0.1), digits=3)


def _support(ledgers: Ledgers) -> Iterator[Claim]:
    records = ledgers.get("spectral_support", [])
    where = "Section 4.2"
    centred = "the spectral support stays centred at 0 (centre within 10 % of the half-width)"
    smooth = "the bounds move smoothly (no step above 20 % of the whole way)"
    centres, _ = spectral_support.centre_and_width(records)
    verdict = within(centres, 0.1)
    why = "d_max decides one end, low degrees the other" if verdict == FAILS else ""
    yield Claim(where, centred, "", centres, verdict, why, 3)
    steps = []
    for record in records:
        upper = np.array([bounds[0][1] for bounds in curve(record, "interval")[1]])
        steps.append(float(np.abs(np.diff(upper)).max() / max(np.ptp(upper), 1e-12)))
    above = positive([step - 0.2 for step in steps])
    yield Claim(where, smooth, "", steps, {HOLDS: FAILS, FAILS: HOLDS}.get(above, above), digits=3)


def _starts(ledgers: Ledgers) -> Iterator[Claim]:
    records = ledgers.get("initialisations", [])
    where, says = "Section 5.2", "the start hardly matters (within 2 test points of GCN's, Cora)"
    by_variant = group(records, lambda record: variant_of(record.spec), VARIANTS)
    if not by_variant:
        yield Claim(where, says, "", [], ABSENT)
    for variant, members in by_variant.items():
        by_start = group(members, lambda record: str(record.spec.preset))
        gcn = by_start.pop("gcn", [])
        for start, runs in by_start.items():
            points = differences(runs, gcn)
            verdict = within(points, 2.0)
            why = _stays_behind(runs, gcn) if verdict == FAILS and gcn else ""
            case = f"{start}, {variant}" if variant else start
            yield Claim(where, says, case.replace("_", " "), points, verdict, why)


def _stays_behind(runs: Sequence[RunRecord], gcn: Sequence[RunRecord]) -> str:
    """Why a start ends lower: does it move, and does it fit the training set?"""
    if all(r.curves["parameters"][-1] == r.curves["parameters"][0] for r in runs):
        return "S never moves: where γ is 0 in every layer, so are features and gradients"
    fit, usual = (np.mean([100 * r.curves["train"][-1] for r in group]) for group in (runs, gcn))
    m2 = np.mean([end_of(r)[NAMES.index("m2")] for r in runs])
    held = f"(m2 ends at {m2:+.1f}, {fit:.0f} % of the training set against {usual:.0f} %)"
    if fit < usual - 2:
        return f"S moves, and the network fits its training set less well {held}"
    return f"it fits the training set as well with another S, which carries over less {held}"


def _convergence(ledgers: Ledgers) -> Iterator[Claim]:
    records = ledgers.get("convergence", [])
    says = "it converges faster (epochs earlier at 95 % of the fixed one's best)"
    if not records:
        yield Claim("Appendix B.5", says, "", [], ABSENT)
    for dataset, runs in group(records, lambda record: record.spec.dataset).items():
        ahead = convergence.epochs_ahead(runs)
        verdict, loss = positive(ahead), convergence.loss_difference(runs)
        why = f"nor does its training loss end lower: {mean_and_interval(loss, 3)}"
        shown = why if verdict == FAILS and positive(loss) != FAILS else ""
        yield Claim("Appendix B.5", says, dataset, ahead, verdict, shown)
