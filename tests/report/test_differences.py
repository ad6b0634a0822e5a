"""Runs of one seed, paired, and what judging labels decide."""

import numpy as np
import pytest

from pgso.records import RunRecord, RunSpec
from pgso.records.record import Judged
from pgso.report.comparison import compare
from pgso.report.differences import decision_of, differences, pairs
from tests.report.records import make_record

FIXED = [make_record("fixed", seed, test, val=0.5) for seed, test in ((0, 0.70), (1, 0.72))]


def test_partners_have_the_same_seed_in_the_order_of_the_runs():
    learned = [make_record("pgso", seed, 0.8) for seed in (1, 7, 0)]
    assert [(pair.run.spec.seed, pair.baseline.spec.seed) for pair in pairs(learned, FIXED)] == [
        (1, 1),
        (0, 0),
    ]


def test_differences_are_in_points_of_the_part_that_is_asked_for():
    learned = [make_record("pgso", 0, 0.75, val=0.4), make_record("pgso", 1, 0.62, val=0.7)]
    assert differences(learned, FIXED) == pytest.approx([5.0, -10.0])
    assert differences(learned, FIXED, "val") == pytest.approx([-10.0, 20.0])


def test_runs_without_a_score_or_a_partner_have_no_difference():
    learned = [make_record("pgso", 0, None, val=0.5), make_record("pgso", 9, 0.9)]
    assert differences(learned, FIXED) == []
    assert pairs(learned, FIXED)[0].difference() is None


def test_scores_in_a_unit_of_their_own_are_not_multiplied():
    fixed, learned = (
        make_record(name, 0, test, metric="rmse") for name, test in (("fixed", 2.0), ("pgso", 1.5))
    )
    assert differences([learned], [fixed]) == [-0.5]


def runs(gain, seeds=10, labels=30, split=True):
    """Fixed, PGSO and mPGSO; mPGSO puts some labels right that fixed has wrong."""
    rng, actual = np.random.default_rng(0), []
    for seed in range(seeds):
        right = rng.random(labels) < 0.6
        other = np.where(rng.random(labels) < 0.1, rng.random(labels) < 0.6, right)
        better = np.where(rng.random(labels) < gain / 0.4, True, right)
        items = range(labels * seed, labels * (seed + 1)) if split else range(labels)
        for name, outcome in (("fixed", right), ("pgso", other), ("mpgso", better)):
            spec = RunSpec(dataset="karate", operator=name, seed=seed)
            judged = Judged(items=items, outcomes=outcome.astype(float).tolist())
            actual.append(RunRecord(spec=spec, val=0.6, test=0.6, judged=judged))
    return actual


def test_ten_seeds_see_a_gain_that_none_sees_alone():
    together = decision_of(runs(gain=0.05))
    assert (together.kept, together.seeds, together.labels) == ("mpgso", 10, 300)
    assert together.needed == 0.95
    alone = [decision_of([run for run in runs(0.05) if run.spec.seed == s]) for s in range(10)]
    assert sum(one.kept == "mpgso" for one in alone) < 5


def test_without_a_gain_the_fixed_operator_stays():
    decision = decision_of(runs(gain=0.0))
    assert decision.kept == "fixed"
    assert "keep the fixed operator" in decision.sentence


def test_it_is_part_of_the_comparison():
    comparison = compare(runs(gain=0.1))
    assert comparison.decision.kept == "mpgso"
    assert any(
        "300 validation labels of all 10 seeds together" in note for note in comparison.notes
    )


def test_without_labels_that_judge_there_is_none():
    records = [run.model_copy(update={"judged": None}) for run in runs(0.0)]
    assert decision_of(records) is None
    assert compare(records).decision is None
