"""The study of structure: what is run, what is chosen, what the page says."""

from pathlib import Path

import pytest

from pgso.records import RunRecord, RunSpec
from pgso_studies.structure import (
    GRAPHS,
    QUESTIONS,
    SEEDS,
    SETTINGS,
    STRUCTURES,
    TUNING_SEEDS,
    Answer,
    scores_of,
    settings_of,
    structure_of,
    structures,
)
from pgso_studies.study import EXPERIMENTS, Size

STUDY = EXPERIMENTS["structure"]


def record(spec: RunSpec, test: float, val: float = 0.5) -> RunRecord:
    return RunRecord(spec=spec, val=val, test=test, timing={"seconds": 2.0})


def runs_of(spec: RunSpec, scores: list[float], val: float = 0.5) -> list[RunRecord]:
    return [record(spec.but(seed=seed), score, val) for seed, score in enumerate(scores)]


@pytest.mark.parametrize("dataset", ["karate", "Chameleon", "minesweeper"])
def test_every_structure_is_told_from_the_others(dataset):
    base = RunSpec(dataset=dataset, **GRAPHS.get(dataset, {}))
    for name, spec in structures(base).items():
        for setting in settings_of(spec):
            assert structure_of(spec.but(seed=3, **setting)) == name


def test_directed_terms_are_tried_where_edges_have_a_direction():
    assert "directed" in structures(RunSpec(dataset="Chameleon"))
    assert "directed" not in structures(RunSpec(dataset="karate"))
    spec = structures(RunSpec(dataset="Texas"))["directed"]
    assert spec.data_options == {"undirected": False}


def test_there_are_fourteen_graphs_and_questions_about_known_structures():
    assert len(GRAPHS) >= 14
    for question in QUESTIONS:
        assert {question.one, question.other} <= set(STRUCTURES)


def test_settings_are_tried_on_a_few_seeds_and_validation_chooses_one_for_the_others():
    first = STUDY.runs(Size.QUICK, {})
    count = len(structures(RunSpec(dataset="karate")))
    tuning = len(SETTINGS) * (count - 1) * len(TUNING_SEEDS)
    assert len(first) == tuning + SEEDS[Size.QUICK]  # what find keeps is not tuned
    better = SETTINGS[1]["dropout"]
    done = {s.key: record(s, 0.1, 0.9 if s.dropout == better else 0.3) for s in first}
    more = [spec for spec in STUDY.runs(Size.QUICK, done) if spec.key not in done]
    assert len(more) == count - 1
    trained = [spec for spec in more if spec.head == "trained"]
    assert {(spec.seed, spec.dropout) for spec in trained} == {(len(TUNING_SEEDS), better)}


def test_scores_are_those_of_the_setting_that_validation_prefers():
    spec = structures(RunSpec(dataset="karate"))["bank"]
    runs = runs_of(spec.but(**SETTINGS[0]), [0.9, 0.9], val=0.4)
    runs += runs_of(spec.but(**SETTINGS[1]), [0.6, 0.7, 0.8], val=0.5)
    assert scores_of(runs) == {"bank": {0: 60.0, 1: 70.0, 2: 80.0}}


def test_of_two_settings_that_tie_the_page_shows_the_one_that_was_run_on():
    first = STUDY.runs(Size.QUICK, {})
    done = {spec.key: record(spec, 0.1) for spec in first}  # all tie on validation
    more = [record(s, 0.1) for s in STUDY.runs(Size.QUICK, done) if s.key not in done]
    records = [*reversed(done.values()), *more]  # in whatever order a ledger has them
    assert {len(by_seed) for by_seed in scores_of(records).values()} == {len(TUNING_SEEDS) + 1}


def test_the_page_answers_question_by_question():
    made = structures(RunSpec(dataset="karate"))
    runs = runs_of(made["bank"].but(**SETTINGS[0]), [0.80, 0.81, 0.83])
    runs += runs_of(made["residual"].but(**SETTINGS[0]), [0.70, 0.70, 0.72])
    page = STUDY.page(runs, Path("figures"))
    answer = page.split("## Does a bank pay over a residual map?")[1].split("##")[0]
    assert "| Does a bank pay over a residual map? | +10.7 | 1 | 0 | 1 | 0 | 1 |" in page
    assert "There are 1 intervals below" in page
    assert "| karate | +10.7 [" in answer
    assert "| Does direction pay? |  | 0 | 0 | 0 | 0 | 0 |" in page
    assert "## Does direction pay?" not in page


def test_two_versions_of_a_graph_count_once_and_all_are_tested_together():
    question = QUESTIONS[0]
    sure, weak = {0: 9.0, 1: 9.1, 2: 8.9}, {0: 1.0, 1: 0.4, 2: 0.7}  # alone, weak has p = 0.06
    weak[3] = 0.6
    scores = {
        dataset: {question.one: points, question.other: dict.fromkeys(points, 0.0)}
        for dataset, points in [
            ("minesweeper", sure),
            ("minesweeper-public", sure),
            ("karate", weak),
            ("Texas", {0: 1.0, 1: -1.1, 2: 0.2}),
        ]
    }
    text, _, better, worse, better_together, worse_together, graphs = Answer.of(
        question, scores
    ).summary()
    assert text == question.text
    assert (better, worse, graphs) == ("2", "0", "3")
    assert (better_together, worse_together) == ("2", "0")
    scores |= {f"noise {k}": scores["Texas"] for k in range(6)}
    assert Answer.of(question, scores).summary()[4] == "1"
