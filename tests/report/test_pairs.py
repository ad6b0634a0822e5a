"""Runs are paired by seed; what has no partner, or no score, is left out."""

import pytest

from pgso.report.pairs import differences, pairs
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
