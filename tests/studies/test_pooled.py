"""The study of pooled evidence: one decision a graph, from the judging labels of all seeds."""

from pathlib import Path

from pgso.records import RunRecord, RunSpec
from pgso.records.record import Judged
from pgso_studies.pooled import CHALLENGERS
from pgso_studies.structure import GRAPHS
from pgso_studies.study import EXPERIMENTS, Size

STUDY = EXPERIMENTS["pooled"]


def runs(operator: str, right: float, tests: list[float], rung: str | None = None):
    """Runs of one operator: of 100 labels of its own, each seed has a share right."""
    spec = next(s for s in STUDY.runs(Size.FULL, {}) if s.dataset == "digits")
    outcomes = [float(k < 100 * right) for k in range(100)]
    return [
        RunRecord(
            spec=spec.but(operator=operator, seed=seed),
            val=0.5,
            test=test,
            rung=rung,
            judged=Judged(items=range(100 * seed, 100 * seed + 100), outcomes=outcomes),
        )
        for seed, test in enumerate(tests)
    ]


def row(records: list[RunRecord]) -> list[str]:
    page = STUDY.page(records, Path("figures"))
    (line,) = [line for line in page.splitlines() if line.startswith("| digits")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_graph_has_every_operator_in_residual_networks_and_no_seed_decides_alone():
    specs = STUDY.runs(Size.FULL, {})
    assert len(specs) == len(GRAPHS) * (1 + len(CHALLENGERS)) * 10
    assert all(spec.residual and spec.judges and spec.evidence is None for spec in specs)
    assert {s.s_loss for s in specs} == {"held_out"}


def test_a_gain_that_the_judging_labels_are_sure_of_is_kept_and_judged_on_test():
    fixed = runs("fixed", 0.60, [0.70, 0.71, 0.69])
    better = runs("pgso", 0.90, [0.75, 0.77, 0.73])
    cells = row(fixed + better)
    assert cells[5] == "PGSO"
    assert cells[-1].startswith("+5.0 [")


def test_a_gain_on_test_alone_is_not_taken():
    fixed = runs("fixed", 0.60, [0.70, 0.71, 0.69])
    same = runs("mpgso", 0.60, [0.80, 0.81, 0.79])
    cells = row(fixed + same)
    assert cells[5] == "fixed"
    assert cells[-1] == "+0.0"


def test_found_counts_only_where_find_found_something():
    fixed = runs("fixed", 0.60, [0.70, 0.71, 0.69])
    assert row(fixed + runs("found", 0.90, [0.9, 0.9, 0.9]))[5] == "fixed"
    assert row(fixed + runs("found", 0.90, [0.9, 0.9, 0.9], rung="self + gcn"))[5] == "found"


def test_the_page_counts_graphs_without_harm_and_with_gains():
    page = STUDY.page(runs("fixed", 0.6, [0.7, 0.7]), Path("figures"))
    assert "above -0.3 points on 1 of 1 graphs, above 0 on 0." in page
    assert isinstance(STUDY.runs(Size.QUICK, {})[0], RunSpec)
