from types import SimpleNamespace
from unittest.mock import patch

import pytest

from pgso.data import load_task
from pgso.records import RunRecord
from pgso.training import choice
from pgso.training.choice import Candidate
from pgso.training.fit import fit
from pgso.training.session import Session
from tests.training.tasks import karate, minesweeper

GRID = {"rows": 20, "cols": 20}


def test_only_auto_and_learned_operators_that_need_evidence_are_a_choice():
    assert not karate(operator="pgso").is_choice
    assert not karate(operator="fixed", recipe="robust").is_choice
    assert karate(operator="mpgso", recipe="robust").is_choice
    assert karate(operator="auto").is_choice
    assert karate(operator="found").is_choice


def test_auto_starts_from_the_fixed_operator_that_is_best_on_validation():
    presets = ("mean", "symmetric_laplacian")
    spec = minesweeper(data_options=GRID, epochs=8, seed=1)
    fixed = [fit(spec.but(operator="fixed", preset=preset)) for preset in (None, *presets)]
    best = max(fixed, key=lambda record: record.val)
    record = fit(spec.but(operator="auto", presets=presets))
    assert record.start[0] == best.start[0]
    assert record.val >= best.val


def test_every_challenger_needs_the_evidence():
    spec = minesweeper(epochs=4, operator="auto", recipe="robust", evidence=0.999)
    record, fixed = fit(spec), fit(spec.but(operator="fixed"))
    assert record.ladder is not None
    assert len(record.confidence) == 4  # two networks of the ladder, pgso and mpgso
    assert {"pgso", "mpgso"} < set(record.confidence)
    assert max(record.confidence.values()) <= 0.99975
    assert (record.chosen, record.rung, record.test) == ("fixed", None, fixed.test)


PROPOSED = [
    Candidate("gcn, 2 hops", {"preset": "gcn"}, "fixed"),
    Candidate("mean, 1 hop", {"preset": "mean"}, "fixed"),
    Candidate("a bank", {"conv": "bank", "terms": ("self", "gcn"), "preset": None}, "fixed"),
    Candidate("too many", {"preset": "adjacency"}, "fixed"),
]


def chosen_of(spec, vals, sure, metric="accuracy"):
    """``choose`` on trainings that are told, not run: their scores, and confidence in each."""
    asked = []

    def train(candidate, name):
        asked.append((name, candidate.operator, candidate.terms or candidate.preset))
        session = SimpleNamespace(spec=candidate, name=name)
        return choice.Trained(session, RunRecord(spec=candidate, metric=metric, val=vals[name]))

    with (
        patch.object(choice, "confidence_of", lambda _, one: sure[one.session.name]),
        patch.object(choice, "candidates_of", lambda *_: PROPOSED),
    ):
        best, _, candidate = choice.choose(spec, load_task("karate"), train)
    return best.session.name, asked, candidate


def test_a_better_score_without_enough_evidence_is_not_kept():
    spec = karate(operator="pgso", recipe="robust", evidence=0.9)
    vals = {"fixed": 0.5, "pgso": 0.8}
    assert chosen_of(spec, vals, {"pgso": 0.89})[0] == "fixed"
    assert chosen_of(spec, vals, {"pgso": 0.91})[0] == "pgso"
    careless = spec.but(evidence=None, operator="auto", candidates=0)
    assert chosen_of(careless, {**vals, "mpgso": 0.8}, {})[0] == "pgso"


def test_of_errors_the_smaller_one_is_kept():
    spec = karate(operator="auto", evidence=None, candidates=0)
    vals = {"fixed": 0.5, "pgso": 0.8, "mpgso": 0.4}
    assert chosen_of(spec, vals, {}, "rmse")[0] == "mpgso"
    assert chosen_of(spec, vals, {}, "r2")[0] == "pgso"


def test_several_challengers_share_the_risk():
    spec = karate(operator="auto", recipe="robust", evidence=0.9, presets=("mean", "adjacency"))
    assert spec.candidates == 0
    vals = {"fixed": 0.5, "mean": 0.6, "adjacency": 0.6, "pgso": 0.9, "mpgso": 0.9}
    for certainty, kept in ((0.974, "fixed"), (0.976, "pgso")):  # 1 - 0.1 / 4
        sure = {"mean": 0.97, "adjacency": 0.97, "pgso": certainty, "mpgso": 0.0}
        assert chosen_of(spec, vals, sure)[0] == kept


def test_learned_operators_start_at_the_network_of_the_ladder_that_was_kept():
    spec = karate(operator="auto", recipe="robust", evidence=0.9)
    vals = {"fixed": 0.5, "mean, 1 hop": 0.9, "a bank": 0.7, "pgso": 0.9, "mpgso": 0.9}
    sure = {"mean, 1 hop": 0.5, "a bank": 0.98, "pgso": 0.0, "mpgso": 0.98}
    name, asked, candidate = chosen_of(spec, vals, sure)
    assert (name, candidate) == ("mpgso", PROPOSED[2])
    bank = ("self", "gcn")
    assert asked == [
        ("fixed", "fixed", None),
        ("mean, 1 hop", "fixed", "mean"),  # GCN's own is trained already, and two are wanted
        ("a bank", "fixed", bank),
        ("pgso", "pgso", bank),
        ("mpgso", "mpgso", bank),
    ]


def test_found_trains_the_network_of_the_rung_that_find_keeps():
    spec = karate(operator="found", recipe="robust")
    name, asked, candidate = chosen_of(spec, {"found": 0.5}, {})
    assert (name, candidate) == ("found", PROPOSED[0])
    assert asked == [("found", "fixed", "gcn")]


def test_found_where_find_has_no_answer_is_the_fixed_network():
    record = fit(karate(operator="found", terms=("self", "gcn"), epochs=2))
    assert (record.chosen, record.rung, record.network) == ("fixed", None, {})


def test_judging_labels_of_both_are_compared():
    """Labels that taught S judge nothing; those that chose the epoch neither."""
    spec = minesweeper(epochs=2, operator="pgso", recipe="robust", data_options=GRID)
    task = load_task("minesweeper", **GRID)
    fixed, learned = (Session(spec.but(operator=name), task) for name in ("fixed", "pgso"))
    n = len(task.val)
    both = fixed.selection.judges & learned.selection.judges
    assert not (both & ~learned.selection.chooses).any()
    assert both.sum() == learned.selection.judges.sum() == pytest.approx(n / 3, abs=1)
    assert fixed.selection.judges.sum() == pytest.approx(2 * n / 3, abs=1)


def test_the_number_of_trainings_is_known_before_they_start():
    robust = {"recipe": "robust"}
    auto = {"operator": "auto"}
    found_mode = {"operator": "found"}
    for changed in ({}, robust, auto, {**auto, **robust}, {"operator": "fixed"}, found_mode):
        asked, epochs = karate(epochs=1, **changed), []
        fit(asked, watch=lambda session, epochs=epochs: epochs.append(session.epoch))
        assert asked.num_trainings == len(epochs)
