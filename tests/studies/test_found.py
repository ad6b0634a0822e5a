"""The numbers of docs/what_we_found.md come from ledgers, and say so where there are none."""

from pathlib import Path

import pytest

from pgso.data import DATASETS, load_task
from pgso.data.places import data_root
from pgso.records import RunRecord, RunSpec
from pgso_studies import found, structure
from pgso_studies.graph_classification import LARGER_CLASS
from pgso_studies.ledger import write_ledger
from pgso_studies.readme import filled

ROOT = Path(__file__).parents[2]
POINTS = (1.0, 1.2, 0.8, 1.1)


def runs(operator: str, shift: float, **choices) -> list[RunRecord]:
    """Four seeds, better than 50 % by so many points on test, and by 1 more on validation."""
    return [
        RunRecord(
            spec=RunSpec(dataset="Cora", operator=operator, seed=seed, **choices),
            test=0.5 + shift * points / 100,
            val=0.5 + abs(shift) * points / 100,
            curves={"loss": [1.0, 0.5 - shift / 100 if operator == "fixed" else 0.4]},
        )
        for seed, points in enumerate(POINTS)
    ]


def test_without_records_nothing_is_claimed(tmp_path: Path):
    rows = [line for line in found.verdicts(tmp_path).splitlines() if line.startswith("| ")][1:]
    theorems, *others = rows
    assert "holds" in theorems
    assert others
    assert all("not run yet" in row for row in others)
    assert "not run yet" in found.reasons(tmp_path)
    assert "not run yet" in found.instead(tmp_path)
    assert "not run yet" in found.gains(tmp_path)


def test_a_gain_on_validation_that_test_turns_round_is_told(tmp_path: Path):
    ledger = tmp_path / "node_classification" / "records.jsonl"
    write_ledger(ledger, [*runs("fixed", 0.0), *runs("pgso", -2.0)])
    table = found.verdicts(tmp_path)
    assert "1 of 24 models run; validation: 1 better, 0 worse; test: 0 better, 1 worse" in table
    assert "1 of 1 models are worse on test" in table
    reasons = found.reasons(tmp_path)
    assert "a lower training loss in 4 of 4 pairs of models that are worse on test" in reasons
    assert "Overfitting alone is not the reason" in reasons
    assert "1 models gain there; test confirms 0, and a mean of +2.1 points is -2.1" in reasons
    assert "reach the printed baseline on test in 0 of 1 cases" in reasons


def test_losses_on_validation_are_told_as_gains_are(tmp_path: Path):
    ledger = tmp_path / "node_classification" / "records.jsonl"
    lost = [run.model_copy(update={"val": 1 - run.val}) for run in runs("pgso", -2.0)]
    write_ledger(ledger, [*runs("fixed", 0.0), *lost])
    reasons = found.reasons(tmp_path)
    assert "gain there" not in reasons
    assert "Of the losses, test confirms 1 of 1, and -2.1 points are -2.1" in reasons


def test_what_the_paper_prints_is_reached_under_one_protocol_and_not_under_another(tmp_path: Path):
    """MUTAG, GCN is printed as 85.8: each fold has an epoch with 90 %, none is good for both."""
    curves = ([0.9, 0.5], [0.5, 0.9])
    records = [
        RunRecord(
            spec=RunSpec(dataset="MUTAG", operator="fixed", seed=fold, data_options=options),
            val=0.9,
            test=0.6,
            curves={"val": curves[fold]},
        )
        for options in ({}, {"protocol": "gin"})
        for fold in (0, 1)
    ]
    write_ledger(tmp_path / "graph_classification" / "records.jsonl", records, ("val",))
    cora = tmp_path / "node_classification" / "records.jsonl"
    write_ledger(cora, [*runs("fixed", 0.0), *runs("pgso", 1.0)])
    reasons = found.reasons(tmp_path)
    assert "1 of 1 on validation with an epoch for each fold, 0 of 1 with one epoch" in reasons


def test_a_residual_map_stands_beside_the_learned_operator(tmp_path: Path):
    ledger = tmp_path / "recipes" / "records.jsonl"
    records = [*runs("fixed", 0.0), *runs("pgso", 1.0), *runs("fixed", 3.0, residual=True)]
    write_ledger(ledger, [*records, *runs("pgso", 4.0, residual=True)])
    (row,) = [line for line in found.instead(tmp_path).splitlines() if line.startswith("| Cora")]
    assert [cell.split(" [")[0] for cell in row.strip("| ").split(" | ")] == [
        "Cora", "50.0", "+1.0", "+3.1", "+1.0", "–",
    ]  # fmt: skip


def test_every_page_has_the_marks_of_its_tables():
    for page, tables in found.PAGES.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert filled(text, dict.fromkeys(tables, "new")).count("\nnew\n") == len(tables)


@pytest.mark.parametrize("page", ["docs/what_we_found.md", "docs/beyond_one_s.md"])
def test_a_page_is_what_the_records_say(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    tables = {name: make(ROOT / "results") for name, make in found.PAGES[page].items()}
    assert text == filled(text, tables), "run: make readme"


def test_what_s_did_on_mutag_is_said_and_no_reason_is_given(tmp_path: Path):
    ends = (0.0, 1.0, 0.0, 0.0, -0.75, -0.5, 1.0)
    records = [
        RunRecord(
            spec=RunSpec(dataset="MUTAG", operator=operator, seed=fold),
            val=0.8,
            test=0.7 + (0.05 + fold / 1000 if operator == "pgso" else 0.0),
            parameters=(ends,),
        )
        for operator in ("fixed", "pgso")
        for fold in range(4)
    ]
    write_ledger(tmp_path / "graph_classification" / "records.jsonl", records)
    said = found.gains(tmp_path)
    assert "On MUTAG 1 of 1 models gain on test: gcn pgso." in said
    assert "e2 = -0.75 and e3 = -0.50 on average" in said
    assert "Why that helps is open." in said


def test_a_set_on_which_nothing_beats_guessing_is_named(tmp_path: Path):
    def folds(mean: float) -> list[RunRecord]:
        return [
            RunRecord(
                spec=RunSpec(dataset="PTC_MR", operator="fixed", seed=fold),
                test=mean + (-1) ** fold * 0.02,
            )
            for fold in range(6)
        ]

    ledger = tmp_path / "graph_classification" / "records.jsonl"
    write_ledger(ledger, folds(0.56))
    assert "On PTC_MR (55.8 by guessing) no model" in found.gains(tmp_path)
    write_ledger(ledger, folds(0.66))
    assert "PTC_MR" not in found.gains(tmp_path)


@pytest.mark.parametrize("dataset", LARGER_CLASS)
def test_the_share_of_the_larger_class_is_that_of_the_files(dataset):
    if DATASETS[dataset].missing(data_root()):
        pytest.skip("its files are not here")
    classes = load_task(dataset).y.bincount()
    assert LARGER_CLASS[dataset] == pytest.approx(classes.max().item() / classes.sum().item())


def test_where_direction_pays_is_said_with_its_intervals(tmp_path: Path):
    def runs(name: str, scores: list[float]) -> list[RunRecord]:
        base = RunSpec(dataset="Chameleon", **structure.GRAPHS["Chameleon"])
        spec = structure.structures(base)[name].but(**structure.SETTINGS[0])
        return [
            RunRecord(spec=spec.but(seed=seed), val=0.5, test=score)
            for seed, score in enumerate(scores)
        ]

    records = runs("bank", [0.50, 0.51, 0.50, 0.52]) + runs("directed", [0.60, 0.61, 0.61, 0.62])
    write_ledger(tmp_path / "structure" / "records.jsonl", records)
    said = found.gains(tmp_path)
    assert "directed minus bank: better on Chameleon (+10.2 [" in said
    assert "worse" not in said.partition("Directed terms")[2]
