"""One decision from the labels of many seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from pgso.evaluation.statistics import clustered_confidence, confidence, decide
from pgso.objectives import OBJECTIVES
from pgso.records.record import Judged

ACCURACY = OBJECTIVES["accuracy"]


def judged(outcomes, items=None):
    return Judged(items=range(len(outcomes)) if items is None else items, outcomes=outcomes)


@given(st.integers(0, 2**32 - 1))
def test_one_seed_is_the_paired_t_test(seed):
    d = np.random.default_rng(seed).normal(0.2, 1, 40)
    p = ttest_1samp(d, 0, alternative="greater").pvalue
    actual = clustered_confidence(d, np.arange(40), np.zeros(40))
    assert actual == pytest.approx(1 - p, abs=1e-9)


def test_the_same_labels_again_are_no_new_evidence():
    rng = np.random.default_rng(0)
    before, after = rng.integers(0, 2, (2, 60)).astype(float)
    once = confidence(ACCURACY, {0: judged(before)}, {0: judged(after)})
    ten = confidence(
        ACCURACY, {s: judged(before) for s in range(10)}, {s: judged(after) for s in range(10)}
    )
    assert ten == pytest.approx(once, abs=1e-3)


def test_other_labels_are_more_evidence():
    rng = np.random.default_rng(1)
    sure = []
    for seeds in (1, 10):
        before, after = {}, {}
        for seed in range(seeds):
            right = rng.random(60) < 0.6
            better = np.where(rng.random(60) < 0.15, True, right)
            better = np.where(rng.random(60) < 0.05, False, better)
            items = range(60 * seed, 60 * seed + 60)
            before[seed] = judged(right.astype(float), items)
            after[seed] = judged(better.astype(float), items)
        sure.append(confidence(ACCURACY, before, after))
    assert sure[0] < 0.99 < sure[1]


def test_a_lucky_seed_among_ten_is_not_believed():
    """Networks differ from seed to seed: many labels of one seed are one piece of luck."""
    before = {
        seed: judged(np.zeros(200), range(200 * seed, 200 * seed + 200)) for seed in range(10)
    }
    after = dict(before) | {0: judged(np.ones(200), range(200))}
    assert confidence(ACCURACY, before, after) < 0.9


def test_labels_that_only_one_of_them_has_do_not_count():
    before = {0: judged([0.0] * 20), 1: judged([0.0] * 20)}
    after = {0: judged([1.0] * 30 + [0.0] * 10, range(10, 50))}
    assert confidence(ACCURACY, before, after) == 1.0  # ten labels, all put right
    assert confidence(ACCURACY, before, {2: judged([1.0] * 20)}) == 0.0


def test_few_labels_claim_nothing():
    assert confidence(ACCURACY, {0: judged([0.0] * 9)}, {0: judged([1.0] * 9)}) == 0.0


@pytest.mark.parametrize("name", ["roc_auc", "macro_f1", "average_precision"])
def test_scores_that_are_no_means_are_judged_by_the_jackknife(name):
    rng, objective = np.random.default_rng(2), OBJECTIVES[name]
    y = np.arange(300) % 2
    noise = rng.normal(size=(300, 2))
    truth = np.eye(2)[y]
    before, after = (
        {0: Judged.of(objective, np.arange(300), noise + k * truth, y)} for k in (0.5, 1.5)
    )
    assert confidence(objective, before, after) > 0.99
    assert confidence(objective, after, before) < 0.01


def test_errors_are_better_where_they_are_smaller():
    objective, rng = OBJECTIVES["mae"], np.random.default_rng(3)
    y = rng.normal(size=(50, 1))
    before, after = (
        {0: Judged.of(objective, np.arange(50), y + k * rng.normal(size=(50, 1)), y)}
        for k in (1.0, 0.3)
    )
    assert confidence(objective, before, after) > 0.99


def test_the_simple_one_stays_unless_the_labels_are_sure_of_another():
    rng = np.random.default_rng(4)
    fixed = {0: judged((rng.random(200) < 0.5).astype(float))}
    alike = {0: judged((rng.random(200) < 0.5).astype(float))}
    better = {0: judged((rng.random(200) < 0.8).astype(float))}
    kept, sure = decide(ACCURACY, {"fixed": fixed, "pgso": alike, "mpgso": better}, 0.975)
    assert kept == "mpgso"
    assert sure["mpgso"] > 0.975 > sure["pgso"]
    assert decide(ACCURACY, {"fixed": fixed, "pgso": alike}, 0.975)[0] == "fixed"
