"""What of the paper holds, in a table and a few sentences made from the ledgers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from pgso.evaluation.statistics import LEVEL, t_test
from pgso.gso.parameters import NAMES
from pgso.records import RunRecord
from pgso.report.differences import differences
from pgso_studies import structure
from pgso_studies.claims import Claim, claims_of
from pgso_studies.classification import (
    FAILS,
    HOLDS,
    NODE_SETS,
    TABLES,
    UNDECIDED,
    CarriedOver,
    Cell,
    Ledgers,
    OneRevision,
    judged,
    positive,
)
from pgso_studies.graph_classification import (
    EPOCHS,
    LARGER_CLASS,
    above_guessing,
    at_one_epoch,
    fair_runs,
)
from pgso_studies.ledger import read_ledger
from pgso_studies.plan import plan_table
from pgso_studies.published import PUBLISHED
from pgso_studies.recipes import NODES, fixed_runs, variant_of
from pgso_studies.study import EXPERIMENTS, final_runs
from pgso_studies.summaries import group, mean_and_interval, scores, table

NOT_RUN = "not run yet"
PROPERTY_TESTS = "random graphs and S in every test run"
ROUNDING = 1e-9  # a mean of twenty times 71.9 may be a little less


def verdicts(results: Path) -> str:
    """A row a claim: where it is made, what we measured, and whether it holds."""
    ledgers, says = OneRevision.of(_ledgers(results))
    printed = judged(ledgers)
    cells = [cell for cell in printed if cell.test.points]
    nodes = [cell for cell in printed if cell.dataset in NODE_SETS]
    graphs = [cell for cell in printed if cell.dataset not in NODE_SETS]
    rows = [
        ["Theorems 1 and 2", "real spectrum, inside the interval", PROPERTY_TESTS, HOLDS],
        ["Table 3", "learning S gains on Cora, CiteSeer, arxiv", *_gains(nodes)],
        ["Table 4", "it gains on MUTAG, PTC, IMDB, molhiv", *_gains(graphs)],
        ["Section 5.3", "it never harms", *_harms(cells)],
    ]
    by_claim: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims_of(ledgers):
        by_claim.setdefault((claim.where, claim.says), []).append(claim)
    rows += [[*said, *_summary(cases)] for said, cases in by_claim.items()]
    header = ["where", "the paper says", "we measured", "does it hold?"]
    return f"{table(header, rows)}\n\nMade from the records in `results/`. {says}"


def reasons(results: Path) -> str:
    """Selection on validation, baselines from elsewhere, and how closely S fits, in numbers."""
    ledgers, _ = OneRevision.of(_ledgers(results))
    cells = [cell for cell in judged(ledgers) if cell.test.points]
    if not cells:
        return f"Tables 3 and 4 are {NOT_RUN}."
    return f"{_selection(cells)}\n{_baselines(ledgers)}\n\n{_closer_fit(cells)}"


def instead(results: Path) -> str:
    """Where the fixed operator is wrong: plain, learned, residual, and both; test scores."""
    ledgers, _ = OneRevision.of(_ledgers(results))
    tuned = structure.scores_by_graph(ledgers["structure"])
    runs = group(ledgers["recipes"], lambda record: record.spec.dataset, NODES)
    rows = []
    for dataset, members in runs.items():
        if dataset not in NODES:
            continue
        plain = [record for record in members if not record.spec.residual]
        residual = [record for record in members if record.spec.residual]
        fixed, fixed_residual = fixed_runs(plain), fixed_runs(residual)
        if not fixed or not fixed_residual:
            continue
        rows.append(
            [
                dataset,
                f"{np.mean(scores(fixed)):.1f}",
                mean_and_interval(differences(_papers(plain), fixed)),
                mean_and_interval(differences(fixed_residual, fixed)),
                mean_and_interval(differences(_papers(residual), fixed_residual)),
                mean_and_interval(
                    structure.points(tuned.get(dataset, {}), "residual, learned", "residual")
                ),
            ]
        )
    if not rows:
        return f"The study of recipes is {NOT_RUN}."
    header = ["test", "fixed GCN", "PGSO: S learned", "a residual map instead",
              "both: S adds", "S adds, both tuned"]  # fmt: skip
    return table(header, rows)


def gains(results: Path) -> str:
    """Where S gains: substitute features, MUTAG, plain GCNs, and sets where nothing is known."""
    ledgers, _ = OneRevision.of(_ledgers(results))
    sentences = [
        _with_substitutes(judged(ledgers)),
        _on_mutag(ledgers),
        _in_a_plain_gcn(ledgers["structure"]),
        _direction(ledgers),
        _by_guessing(ledgers["graph_classification"]),
    ]
    return "\n".join(f"- {sentence}" for sentence in sentences if sentence) or f"- {NOT_RUN}."


def structure_pays(results: Path) -> str:
    """What banks, direction, filters and S inside them gain: a row for each question."""
    ledgers, _ = OneRevision.of(_ledgers(results))
    if not ledgers["structure"]:
        return f"The study of structure is {NOT_RUN}."
    return structure.answers_table(
        structure.answers_of(structure.scores_by_graph(ledgers["structure"]))
    )


# Which tables stand on which page; `python -m pgso_studies` writes them.
PAGES: Mapping[str, Mapping[str, Callable[[Path], str]]] = {
    "docs/what_we_found.md": {
        "verdicts": verdicts,
        "reasons": reasons,
        "gains": gains,
        "instead": instead,
    },
    "docs/beyond_one_s.md": {"answers": structure_pays},
    "docs/studies.md": {"plan": plan_table},
}


def _ledgers(results: Path) -> Ledgers:
    return {
        name: list(read_ledger(results / name / "records.jsonl").values()) for name in EXPERIMENTS
    }


def _papers(records: Sequence[RunRecord]) -> list[RunRecord]:
    """PGSO learned by the paper's recipe."""
    return [r for r in records if r.spec.operator == "pgso" and variant_of(r.spec) == "paper"]


def _gains(printed: Sequence[Cell]) -> tuple[str, str]:
    cells = [cell for cell in printed if cell.test.points]
    if not cells:
        return NOT_RUN, ""
    parts = []
    for part, label in (("val", "validation"), ("test", "test")):
        verdicts = [getattr(cell, part).verdict for cell in cells]
        parts.append(f"{label}: {verdicts.count(HOLDS)} better, {verdicts.count(FAILS)} worse")
    better = sum(cell.test.verdict == HOLDS for cell in cells)
    run = f"{len(cells)} of {len(printed)} models run"
    stand_ins = [positive(cell.stand_in) for cell in printed if cell.stand_in]
    if stand_ins:
        parts.append(
            f"with substitute features: {stand_ins.count(HOLDS)} of {len(stand_ins)} better, "
            f"{stand_ins.count(FAILS)} worse"
        )
    return f"{run}; {'; '.join(parts)}; others undecided", f"in {better} of {len(cells)}"


def _harms(cells: Sequence[Cell]) -> tuple[str, str]:
    if not cells:
        return NOT_RUN, ""
    worse = sum(cell.test.verdict == FAILS for cell in cells)
    sure = sum(cell.test.verdict == FAILS and cell.test.is_sure for cell in cells)
    measured = f"{worse} of {len(cells)} models are worse on test, {sure} of them"
    return f"{measured} after Holm's correction for all", FAILS if worse else UNDECIDED


def _summary(cases: Sequence[Claim]) -> tuple[str, str]:
    """What was measured in every case of a claim, and one verdict."""
    run = [claim for claim in cases if claim.values]
    if not run:
        return NOT_RUN, ""
    measured = [
        f"{claim.case}: {claim.measured}" if claim.case else claim.measured for claim in run
    ]
    return "; ".join(measured), _of([claim.verdict for claim in run])


def _of(verdicts: Sequence[str]) -> str:
    """One word for several verdicts."""
    if not verdicts:
        return ""
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return f"in {verdicts.count(HOLDS)} of {len(verdicts)}"


def _closer_fit(cells: Sequence[Cell]) -> str:
    worse, better = (_fits(cells, verdict) for verdict in (FAILS, HOLDS))
    return (
        "Overfitting alone is not the reason: the learned run ends with a lower training loss "
        f"{worse} of models that are worse on test, and {better} of models that are better."
    )


def _fits(cells: Sequence[Cell], verdict: str) -> str:
    """``in 200 of 200 pairs``: how often the learned run fits its training set better."""
    judged_so = [cell for cell in cells if cell.test.verdict == verdict]
    lower, count = (sum(cell.fits_better[k] for cell in judged_so) for k in (0, 1))
    return f"in {lower} of {count} pairs"


def _selection(cells: Sequence[Cell]) -> str:
    sentence = (
        "1. **Selection on validation.** The paper reports validation accuracy, on which epochs "
        "and hyper-parameters are chosen."
    )
    gains, losses = (CarriedOver.of(cells, verdict) for verdict in (HOLDS, FAILS))
    if gains is not None:
        sentence += (
            f" {gains.number} models gain there; test confirms {gains.confirmed}, and a mean of "
            f"{gains.val:+.1f} points is {gains.test:+.1f}."
        )
    if losses is not None:
        sentence += (
            f" Of the losses, test confirms {losses.confirmed} of {losses.number}, and "
            f"{losses.val:+.1f} points are {losses.test:+.1f}."
        )
    return sentence


def _baselines(ledgers: Ledgers) -> str:
    """Our fixed networks against the baselines that the paper copies, by protocol."""
    finals = [
        record
        for name in TABLES
        for record in final_runs(ledgers.get(name, []))
        if record.spec.operator == "fixed"
    ]
    on_test, each_fold, one_epoch = {}, {}, {}
    for cell, runs in group(finals, lambda r: (r.spec.dataset, r.spec.conv)).items():
        if (*cell, "fixed") not in PUBLISHED:
            continue
        protocols = group(runs, lambda r: str(r.spec.data_options.get("protocol", "fair")))
        if cell[0] not in EPOCHS:
            on_test[cell] = scores(protocols.get("fair", []))
            continue
        each_fold[cell] = scores(protocols.get("fair", []), "val")
        one_epoch[cell] = at_one_epoch(protocols.get("gin", []))
    narrower = any(dataset == "ogbg-molhiv" for dataset, _ in on_test)
    aside = " (on ogbg-molhiv with narrower ones than published)" if narrower else ""
    return (
        "2. **Baselines from elsewhere.** The paper trains its learned models and copies the fixed "
        "ones. Trained side by side, the fixed networks reach the printed baseline on test in "
        f"{_reached(on_test)} cases{aside}. On sets with folds it depends on the protocol: "
        f"{_reached(each_fold)} on validation with an epoch for each fold, {_reached(one_epoch)} "
        "with one epoch for ten folds, as the GIN paper has it. So a part of what is printed may "
        "be a difference of protocols."
    )


def _reached(ours: Mapping[tuple[str, str], Sequence[float]]) -> str:
    """``4 of 8``: in how many cells our mean is what the paper prints for it, or more."""
    cells = {cell: float(np.mean(values)) for cell, values in ours.items() if values}
    reached = sum(mean >= PUBLISHED[*cell, "fixed"].mean - ROUNDING for cell, mean in cells.items())
    return f"{reached} of {len(cells)}"


def _with_substitutes(cells: Sequence[Cell]) -> str:
    """The graph of a dataset whose features cannot be had, with others in their place."""
    run = [cell for cell in cells if cell.stand_in]
    if not run:
        return ""
    gain = [cell for cell in run if positive(cell.stand_in) == HOLDS]
    weak = [cell for cell in gain if cell.weak]
    named = ", ".join(f"{c.conv} {c.operator}" for c in gain if not c.weak) or "none"
    aside = ""
    if weak:
        over = ", ".join(dict.fromkeys(cell.conv for cell in weak))
        aside = f"; what {over} gains is over a baseline that is too weak to count ({weak[0].weak})"
    return (
        f"On the graph of {run[0].dataset} with substitute features, {len(gain)} of {len(run)} "
        f"models gain with S: {named}{aside}."
    )


def _on_mutag(ledgers: Ledgers) -> str:
    """Which models gain on MUTAG, and what S did there."""
    cells = [cell for cell in judged(ledgers) if cell.dataset == "MUTAG" and cell.test.points]
    gain = [cell for cell in cells if cell.test.verdict == HOLDS]
    if not gain:
        return ""
    runs = [
        record
        for record in final_runs(ledgers["graph_classification"])
        if (record.spec.dataset, record.spec.conv) == ("MUTAG", "gcn")
        and record.spec.operator == "pgso"
        and record.spec.data_options.get("protocol", "fair") == "fair"
        and record.parameters
    ]
    what = ""
    if runs:
        exponents = (
            float(np.mean([record.parameters[0][NAMES.index(name)] for record in runs]))
            for name in ("e2", "e3")
        )
        e2, e3 = (f"{value:.2f}" for value in exponents)
        what = (
            f" In GCN, S ends at e2 = {e2} and e3 = {e3} on average (it starts at -0.5 each; sums "
            "have 0). Why that helps is open."
        )
    named = ", ".join(f"{cell.conv} {cell.operator}" for cell in gain)
    same = [cell.same.points for cell in gain if not cell.same.is_tuned_alike]
    undecided = sum(positive(points) != HOLDS for points in same)
    alike = ""
    if undecided:
        alike = f" With the same settings for both, too few runs decide it in {undecided} of these."
    return f"On MUTAG {len(gain)} of {len(cells)} models gain on test: {named}.{alike}{what}"


def _in_a_plain_gcn(records: Sequence[RunRecord]) -> str:
    """Learning S without anything else, over the graphs of the study of structure."""
    if not records:
        return ""
    answer = structure.Answer.of(structure.QUESTIONS[0], structure.scores_by_graph(records))
    if not answer.rows:
        return ""
    _, middle, better, worse, sure_better, sure_worse, graphs = answer.summary()
    return (
        f"In a plain GCN over {graphs} graphs, the median graph changes by {middle} points. The "
        f"interval lies above 0 on {better} and below on {worse}; tested together (Holm), "
        f"{sure_better} and {sure_worse} are left. Two versions of one graph count once."
    )


def _direction(ledgers: Ledgers) -> str:
    """Where edges that keep their direction pay, in a bank."""
    by_graph = structure.scores_by_graph(ledgers["structure"])
    questions = [q for q in structure.QUESTIONS if q.text.startswith("Does direction pay")]
    said = []
    for question in questions:
        by_sign: dict[str, list[str]] = {"better": [], "worse": [], "undecided": []}
        for dataset, points in structure.Answer.of(question, by_graph).by_graph.items():
            p = t_test(points)
            sure = "better" if fmean(points) > 0 else "worse"
            word = sure if p is not None and p <= 1 - LEVEL else "undecided"
            by_sign[word].append(f"{dataset} ({mean_and_interval(points)})")
        found = [f"{word} on {', '.join(rows)}" for word, rows in by_sign.items() if rows]
        if found:
            said.append(f"{question.one} minus {question.other}: {'; '.join(found)}")
    if not said:
        return ""
    return f"Directed terms, where edges have a direction. {'. '.join(said)}."


def _by_guessing(records: Sequence[RunRecord]) -> str:
    """The sets of graphs on which no model is known to beat the larger class."""
    none = [
        f"{dataset} ({100 * share:.1f} by guessing)"
        for dataset, share in LARGER_CLASS.items()
        if (runs := fair_runs(records, dataset)) and not above_guessing(runs, share)
    ]
    if not none:
        return ""
    return (
        f"On {', '.join(none)} no model, fixed or learned, is known to beat always naming the "
        "larger class, so differences there say little about operators."
    )
